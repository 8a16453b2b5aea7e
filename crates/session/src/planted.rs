//! Planted bugs of the fold: what the end of a run must not lose. Nothing of it is in a shipped build.

use crate::event::RunEnd;
use crate::id::TurnId;
use crate::state::{CallState, Piece, Run, Session};

/// Spoils a run that just ended, when a mutant says so.
pub(crate) fn spoil_run(run: &mut Run, end: &RunEnd) {
    if !matches!(end, RunEnd::Stopped { .. }) {
        return;
    }
    run.pieces.retain(|piece| match piece {
        Piece::Reasoning(_) => !fault::planted("stop_drops_reasoning"),
        Piece::Call(call) if call.state == CallState::Drafted => !fault::planted("half_call_is_dropped"),
        Piece::Call(_) => !fault::planted("stop_drops_calls"),
        Piece::Text(_) | Piece::Steered { .. } => true,
    });
    if run.pieces.is_empty() && fault::planted("stop_invents_answer") {
        run.pieces.push(Piece::Text(String::new()));
    }
}

/// Spoils the session of a run that just ended, when a mutant says so.
pub(crate) fn spoil_session(session: &mut Session, turn: TurnId, end: &RunEnd) {
    match end {
        RunEnd::Failed { .. } if fault::planted("failure_loses_message") => {
            session.turns.retain(|candidate| candidate.id != turn);
        }
        RunEnd::Failed { .. } if fault::planted("failure_drops_attachments") => {
            let failed = session.turns.iter_mut().find(|candidate| candidate.id == turn);
            failed.into_iter().for_each(|turn| turn.message.attachments.clear());
        }
        RunEnd::Interrupted { .. } if fault::planted("interruption_loses_queue") => session.queue.clear(),
        RunEnd::Completed
        | RunEnd::Stopped { .. }
        | RunEnd::Failed { .. }
        | RunEnd::OutputLimit { .. }
        | RunEnd::Interrupted { .. }
        | RunEnd::Other(_) => {}
    }
}
