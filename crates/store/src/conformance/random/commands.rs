//! Random commands that fit what a session is doing.

use session::event::CallStatus;
use session::{
    Attachment, CallNo, Command, Event, Flag, InterruptReason, Journal, Message, MessageKey, Outcome,
    PostMode, Progress, ProjectId, RunId, TurnId, Usage,
};

use super::Random;
use crate::blob::hash_of;
use crate::conformance::author::{Author, id};

pub(super) const WORDS: &[&str] = &["heron", "crane", "stork", "lake", "reed", "nest", "Ünder"];
/// The project that sessions are put into.
pub(super) const PROJECT: ProjectId = ProjectId(uuid::Uuid::from_u128(7));
pub(super) const KEYS: &[&str] = &["k1", "k2", "k3", "k4"];
/// Numbers of ids that lead to a session besides its first.
pub(super) const OTHER_IDS: std::ops::Range<u128> = 1_000..1_006;

/// A command, and the bytes of the file that its message carries.
pub(super) fn command(random: &mut Random, author: &Author) -> (Command, Option<Vec<u8>>) {
    match author.state.open_run {
        Some(run) if random.below(3) > 0 => (Command::Progress { run, progress: progress(random) }, None),
        _ if random.below(3) == 0 => said(random, author),
        _ => (other(random, author), None),
    }
}

/// What may be found of the run that was open.
pub(super) fn journal(random: &mut Random, author: &Author) -> Journal {
    let output = author.state.open_run.map(|run| Event::TextAdded { run, text: text(random) });
    match random.below(5) {
        0 => Journal::Unused,
        1 => Journal::NotYet,
        2 => Journal::SealedEmpty,
        3 => Journal::Output { events: output.into_iter().collect(), end: None },
        _ => Journal::Output { events: output.into_iter().collect(), end: Some(session::RunEnd::Completed) },
    }
}

fn said(random: &mut Random, author: &Author) -> (Command, Option<Vec<u8>>) {
    let file = (random.below(4) == 0).then(|| vec![b'a' + random.below(6).to_le_bytes()[0]]);
    let attachments = file.iter().map(|bytes| Attachment {
        name: "notes.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        blob: hash_of(bytes),
        size_bytes: 1,
    });
    let message = Message { attachments: attachments.collect(), ..Message::text(text(random)) };
    // A used key refuses the message, and a file that came for nothing may stay: not both at once.
    let key = match random.below(3) {
        0 if file.is_none() => random.pick(KEYS).map(|key| MessageKey((*key).to_owned())),
        _ => None,
    };
    let mode = match random.below(3) {
        0 => PostMode::Queue,
        1 => PostMode::Steer,
        _ => PostMode::Interrupt,
    };
    let command = match random.below(6) {
        0 => Command::EditMessage { turn: turn(random, author), message, key },
        1 => Command::EditQueued { turn: queued(random, author), message },
        _ => Command::PostMessage { message, mode, key },
    };
    (command, file)
}

fn progress(random: &mut Random) -> Progress {
    let call = CallNo(u32::try_from(random.below(3)).unwrap());
    let tool = "shell".to_owned();
    match random.below(12) {
        0 => Progress::Step { asked_to_continue: false },
        1 => Progress::Reasoning(text(random)),
        2 => Progress::CallDrafted { call, tool, arguments: "{".to_owned() },
        3 => Progress::CallAsked { call, tool, arguments: "{}".to_owned(), provider_call: None },
        4 => Progress::CallFinished {
            call,
            outcome: Outcome { status: CallStatus::Ok, content: text(random) },
        },
        5 => Progress::Usage(Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() }),
        6 | 7 => Progress::Completed,
        8 => Progress::Failed { error: "out of reeds".to_owned() },
        9 => Progress::Text(format!("<think>{}</think>", text(random))),
        _ => Progress::Text(text(random)),
    }
}

fn other(random: &mut Random, author: &Author) -> Command {
    let other_id = id(OTHER_IDS.start + u128::from(random.below(6)));
    let on = random.below(2) == 0;
    match random.below(23) {
        0 => Command::RemoveQueued { turn: queued(random, author) },
        1 => Command::Stop { run: None, device: None },
        2 => Command::Undo { from: None },
        3 => Command::Undo { from: Some(turn(random, author)) },
        4 | 5 => Command::PutBack,
        6 => Command::Retry,
        7 => Command::Continue,
        8 => Command::Clear,
        9 => Command::Rename { title: text(random) },
        10 => Command::SuggestTitle { title: text(random) },
        11 => Command::SetFlag { flag: if on { Flag::Archived } else { Flag::Pinned }, on },
        12 => Command::SetFlag { flag: Flag::Trashed, on },
        13 => Command::AddId { id: other_id },
        14 => Command::RemoveId { id: random.pick(&author.state.ids).copied().unwrap_or(other_id) },
        15 => Command::CompactContext { run: None, summary: text(random), through: turn(random, author) },
        16 => Command::Interrupt { reason: InterruptReason::ShutdownTimeout },
        17 => heal(random, author),
        18 => Command::SetTags { tags: text(random).split(' ').map(str::to_owned).collect() },
        19 => Command::SetProject { project: on.then_some(PROJECT) },
        20 => Command::ResumeQueue,
        21 => Command::ClearQueue,
        _ => Command::Proceed,
    }
}

fn heal(random: &mut Random, author: &Author) -> Command {
    let run = author.state.recovering.first().map_or(RunId(0), |recovering| recovering.run);
    let journal = match random.below(3) {
        0 => Journal::NotYet,
        1 => Journal::SealedEmpty,
        _ => {
            let events = vec![Event::TextAdded { run, text: text(random) }];
            Journal::Output { events, end: None }
        }
    };
    Command::Heal { run, journal }
}

fn turn(random: &mut Random, author: &Author) -> TurnId {
    let turns: Vec<TurnId> = author.state.turns.iter().map(|turn| turn.id).collect();
    random.pick(&turns).copied().unwrap_or(TurnId(0))
}

fn queued(random: &mut Random, author: &Author) -> TurnId {
    let turns: Vec<TurnId> = author.state.queue.iter().map(|queued| queued.turn).collect();
    random.pick(&turns).copied().unwrap_or(TurnId(0))
}

fn text(random: &mut Random) -> String {
    let count = 1 + random.below(4);
    let words = (0..count).filter_map(|_| random.pick(WORDS));
    words.copied().collect::<Vec<_>>().join(" ")
}
