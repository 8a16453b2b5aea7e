//! Histories of commands: what a server would write.

use session::{
    CallNo, CallStatus, Command, CommitOutcome, Context, Decision, DeliveryOutcome, DeliveryStep, Flag,
    InterruptReason, Journal, Outcome, Owner, PostMode, Progress, ProjectId, RequestPurpose, ResumeReason,
    RunEnd, RunId, Runs, SlotNo, Time, TurnId, Usage, UserId, decide, recover,
};

use crate::history::History;
use crate::words::{message, session_id, text, uuid};

const HOUR: i64 = 3_600_000_000;

pub(crate) fn play(history: &mut History) {
    let create = create(history);
    ask(history, create);
    for _ in 0..history.dice.below(50) {
        history.wait();
        match history.dice.below(640) {
            0 => many_turns(history),
            1 => repeat(history, 45, &Command::Retry),
            2 => repeat(history, 30, &Command::Undo { from: None }),
            3..20 => crash(history),
            number => {
                let command = command(history, number / 4);
                ask(history, command);
            }
        }
    }
}

fn create(history: &mut History) -> Command {
    let dice = &mut history.dice;
    let title = dice.chance(30).then(|| text(dice, false));
    Command::Create { id: session_id(dice), title, after: dice.maybe(session_id), user: UserId(uuid(dice)) }
}

fn ask(history: &mut History, command: Command) {
    let context = context(history);
    append(history, decide(&history.state, command, &context).unwrap_or_default());
}

fn append(history: &mut History, decision: Decision) {
    decision.events.into_iter().for_each(|event| history.append(event));
}

fn context(history: &mut History) -> Context {
    let dice = &mut history.dice;
    Context {
        now: Time(history.now),
        spool: dice.maybe(|dice| SlotNo::new(dice.below(SlotNo::SPOOL_MAX), 7)),
        runs: if dice.chance(5) { Runs::Held } else { Runs::Allowed },
        chat: dice.chance(30),
        resume_within_micros: if dice.chance(80) { HOUR } else { 0 },
    }
}

fn crash(history: &mut History) {
    history.take_over();
    let journal = journal(history, history.state.open_run.unwrap_or_default());
    let reason = history.dice.pick(&[InterruptReason::Crash, InterruptReason::LostNode]);
    let context = context(history);
    append(history, recover(&history.state, journal, reason, &context));
    ask(history, Command::Proceed);
}

fn journal(history: &mut History, run: RunId) -> Journal {
    match history.dice.below(6) {
        0 => Journal::Unused,
        1 | 2 => Journal::NotYet,
        3 => Journal::SealedEmpty,
        _ => {
            let events =
                (0..history.dice.below(4)).filter_map(|_| progress(history).into_output(run)).collect();
            Journal::Output { events, end: history.dice.chance(30).then_some(RunEnd::Completed) }
        }
    }
}

/// More turns than a state holds.
fn many_turns(history: &mut History) {
    for _ in 0..history.dice.below(80) {
        let message = message(&mut history.dice, history.large);
        ask(history, Command::PostMessage { message, mode: PostMode::Queue, key: None });
        bring(history, Progress::Text("so".to_owned()));
        bring(history, Progress::Completed);
    }
}

fn repeat(history: &mut History, most: u64, command: &Command) {
    for _ in 0..history.dice.below(most) {
        ask(history, command.clone());
        let text = text(&mut history.dice, history.large);
        bring(history, Progress::Text(text));
        bring(history, Progress::Completed);
    }
}

fn bring(history: &mut History, progress: Progress) {
    if let Some(run) = history.state.open_run {
        ask(history, Command::Progress { run, progress });
    }
}

fn command(history: &mut History, number: u64) -> Command {
    match number {
        0..30 => post(history),
        30..40 => about_queue(history),
        40..90 => Command::Progress { run: history.run(), progress: progress(history) },
        90..116 => about_turns(history),
        116..126 => about_session(history),
        126..136 => about_memory(history),
        136..148 => Command::Deliver { answer: history.delivered(), step: delivery(history) },
        148..152 => {
            let run = history.state.recovering.first().map_or_else(|| RunId(3), |known| known.run);
            Command::Heal { run, journal: journal(history, run) }
        }
        152..154 => {
            let reasons = [InterruptReason::ShutdownTimeout, InterruptReason::RestartTimeout];
            Command::Interrupt { reason: history.dice.pick(&reasons) }
        }
        154 => Command::MarkResume { reason: ResumeReason::default() },
        155 => Command::ClearResume,
        _ => Command::Proceed,
    }
}

fn post(history: &mut History) -> Command {
    let message = message(&mut history.dice, history.large);
    let modes = [PostMode::Queue, PostMode::Queue, PostMode::Steer, PostMode::Interrupt];
    Command::PostMessage { message, mode: history.dice.pick(&modes), key: None }
}

fn about_queue(history: &mut History) -> Command {
    let turn = history.queued();
    match history.dice.below(6) {
        0 => Command::EditQueued { turn, message: message(&mut history.dice, history.large) },
        1 | 2 => Command::SteerQueued { turn },
        3 => Command::RemoveQueued { turn },
        4 => Command::ResumeQueue,
        _ => Command::ClearQueue,
    }
}

fn about_turns(history: &mut History) -> Command {
    let (turn, run) = (history.turn(), history.run());
    let large = history.large;
    let dice = &mut history.dice;
    match dice.below(26) {
        0..3 => Command::Stop { run: None, device: dice.maybe(|_| "phone".to_owned()) },
        3..6 => Command::Undo { from: None },
        6 => Command::Undo { from: Some(turn) },
        7..11 => Command::PutBack,
        11..14 => Command::Retry,
        14..18 => Command::Continue,
        18..21 => Command::ChooseAnswer { turn, run },
        21 | 22 => Command::EditMessage { turn, message: message(dice, large), key: None },
        23 => Command::Clear,
        _ => Command::CompactContext { run: None, summary: text(dice, false), through: turn },
    }
}

fn about_session(history: &mut History) -> Command {
    let at = history.state.head();
    let dice = &mut history.dice;
    match dice.below(10) {
        9 => {
            let newest = history.state.turns.back();
            let turn = newest.map_or(TurnId(1), |turn| turn.id);
            let run = newest.and_then(|turn| turn.runs.last()).map_or(RunId(1), |run| run.id);
            let purpose = dice.pick(&[RequestPurpose::Title, RequestPurpose::Summary]);
            Command::BillRequest { turn, run, purpose, usage: Usage { input_tokens: 3, ..Usage::default() } }
        }
        0 => Command::Rename { title: text(dice, false) },
        1 => Command::SuggestTitle { title: text(dice, false) },
        2 | 3 => {
            let flag = dice.pick(&[Flag::Pinned, Flag::Archived, Flag::Trashed]);
            Command::SetFlag { flag, on: dice.chance(60) }
        }
        4 => Command::SetTags { tags: vec!["herons".to_owned(), text(dice, false)] },
        5 => Command::SetProject { project: dice.maybe(|dice| ProjectId(uuid(dice))) },
        6 => Command::AddId { id: session_id(dice) },
        7 => Command::RemoveId { id: session_id(dice) },
        _ => Command::Branch { id: session_id(dice), from: session_id(dice), at },
    }
}

fn about_memory(history: &mut History) -> Command {
    let commit = history.commit();
    let dice = &mut history.dice;
    let [notes, diary] = ["notes", "diary"].map(|name| Owner(name.to_owned()));
    match dice.below(8) {
        0 | 1 => Command::SetMemoryOwner { owner: dice.pick(&[Some(notes), Some(diary), None]) },
        2 => Command::ReassignMemory { from: notes, to: diary },
        3 | 4 => Command::CommitMemory { owner: Some(notes) },
        5 => Command::AcceptCommit { commit, task: "task".to_owned() },
        6 => Command::EndCommit { commit, outcome: CommitOutcome::Done },
        _ => Command::EndCommit { commit, outcome: CommitOutcome::Failed { error: text(dice, false) } },
    }
}

fn delivery(history: &mut History) -> DeliveryStep {
    let run = history.run();
    let dice = &mut history.dice;
    let part = dice.small(3);
    match dice.below(9) {
        0..3 => DeliveryStep::Attempt { part },
        3 => DeliveryStep::Unsent { part },
        4 | 5 => DeliveryStep::Receipt { part, receipt: "receipt".to_owned() },
        6 => DeliveryStep::Notified { run },
        7 => DeliveryStep::End(DeliveryOutcome::Delivered),
        _ => DeliveryStep::End(DeliveryOutcome::Doubtful),
    }
}

fn progress(history: &mut History) -> Progress {
    let text = text(&mut history.dice, history.large);
    let dice = &mut history.dice;
    let (call, tool) = (CallNo(dice.small(3)), "shell".to_owned());
    match dice.below(30) {
        0..4 => Progress::Step { asked_to_continue: dice.chance(30) },
        4 | 5 => Progress::StepEnded,
        6..15 => Progress::Text(text),
        15..18 => Progress::Reasoning(text),
        18 | 19 => Progress::CallDrafted { call, tool, arguments: text },
        20 | 21 => Progress::CallAsked { call, tool, arguments: text, provider_call: None },
        22 | 23 => {
            let status = dice.pick(&[CallStatus::Ok, CallStatus::Error]);
            Progress::CallFinished { call, outcome: Outcome { status, content: text } }
        }
        24 => Progress::Usage(Usage {
            input_tokens: dice.below(9),
            output_tokens: 1,
            cost_micros: dice.below(2),
            ..Usage::default()
        }),
        25..28 => Progress::Completed,
        28 => Progress::OutputLimit { tokens: 100 },
        _ => Progress::Failed { error: "No credit.".to_owned() },
    }
}
