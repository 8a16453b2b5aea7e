//! Histories of well-formed events in random order. No command would lead to most of them.

use session::limits::{STATE_BYTES_MAX, TURN_BYTES_MAX};
use session::{
    CallNo, CallStatus, CommitOutcome, DeliveryOutcome, Event, Flag, InterruptReason, Message, MessageKey,
    Outcome, Owner, PostMode, ProjectId, ProviderPart, RecoveryOutcome, RequestPurpose, ResumeReason,
    RetryReason, RunCause, RunEnd, Seq, SlotNo, Time, TurnId, Usage, UserId,
};

use crate::dice::Dice;
use crate::history::History;
use crate::words::{chat, filling, message, newer, session_id, text, uuid};

/// The distance from a limit at which a history starts, and the largest step towards the limit.
const NEAR_BYTES: u64 = 20_000;
const STEP_BYTES: u64 = 2_500;

/// Bodies that no event of today is written as.
const BODIES: &[&str] = &[
    r#"{"approval_given":{"by":"a later version"}}"#,
    r#"{"resume_marked":{"reason":"crash","at":"soon"}}"#,
    r#"{"resume_marked":{"reason":"crash","at":1.5}}"#,
    r#"{"resume_marked":{"reason":"crash","at":null}}"#,
    r#"{"memory_owner_set":{"owner":null}}"#,
    r#"{"session_created":{"id":"00000000-0000-0000-0000-000000000003","title":null}}"#,
];

pub(crate) fn play(history: &mut History) {
    if history.large {
        let near = history.dice.pick(&[near_the_bytes_of_a_state, near_the_bytes_of_a_turn]);
        near(history);
    }
    for _ in 0..=history.dice.below(45) {
        history.wait();
        match history.dice.below(800) {
            0 => many_turns(history),
            1 => many_answers(history),
            2 => many_undo_steps(history),
            3 => many_deliveries(history),
            4..20 => {
                let body = history.dice.pick(BODIES);
                history.append_body(body);
            }
            number => {
                let event = event(history, number / 4);
                history.append(event);
            }
        }
    }
}

/// More turns than a state holds.
fn many_turns(history: &mut History) {
    for _ in 0..history.dice.below(80) {
        let turn = TurnId(history.state.head().0 + 1);
        let message = message(&mut history.dice, history.large);
        history.append(Event::MessagePosted { message, mode: PostMode::Queue, key: None });
        answer(history, turn, RunCause::Message);
    }
}

/// Turns that fill a state to its bound in small steps. The steps taken back fill theirs.
fn near_the_bytes_of_a_state(history: &mut History) {
    let mut bytes = STATE_BYTES_MAX as u64 - history.dice.below(NEAR_BYTES);
    for _ in 0..40 {
        let turn = TurnId(history.state.head().0 + 1);
        let message = Message::text(filling(&mut history.dice, bytes));
        history.append(Event::MessagePosted { message, mode: PostMode::Queue, key: None });
        answer(history, turn, RunCause::Message);
        bytes = history.dice.below(STEP_BYTES);
    }
    for turn in history.state.turns.iter().map(|turn| turn.id).rev().collect::<Vec<_>>() {
        history.append(Event::TurnsUndone { from: turn, hides: None });
    }
}

/// Answers that fill a turn to its bound in small steps.
fn near_the_bytes_of_a_turn(history: &mut History) {
    let turn = TurnId(history.state.head().0 + 1);
    let message = Message::text(filling(&mut history.dice, TURN_BYTES_MAX as u64 - NEAR_BYTES));
    history.append(Event::MessagePosted { message, mode: PostMode::Queue, key: None });
    for _ in 0..30 {
        history.append(Event::RunStarted { turn, cause: RunCause::Retry, spool: None });
        let run = history.state.open_run.unwrap_or_default();
        let bytes = history.dice.below(STEP_BYTES);
        let text = filling(&mut history.dice, bytes);
        history.append(Event::TextAdded { run, text });
    }
}

/// More answers to one turn than a state holds.
fn many_answers(history: &mut History) {
    let turn = history.turn();
    for _ in 0..history.dice.below(50) {
        let cause =
            history.dice.pick(&[RunCause::Retry, RunCause::Retry, RunCause::Continue, RunCause::Resume]);
        answer(history, turn, cause);
        if history.dice.chance(10) {
            let run = history.run();
            history.append(Event::AnswerChosen { turn, run });
        }
    }
}

fn answer(history: &mut History, turn: TurnId, cause: RunCause) {
    history.append(Event::RunStarted { turn, cause, spool: None });
    let run = history.state.open_run.unwrap_or_default();
    let text = text(&mut history.dice, history.large);
    history.append(Event::TextAdded { run, text });
    let end = end(&mut history.dice);
    history.append(Event::RunEnded { turn, run, end });
}

/// More undo steps than a state holds, and some of them put back.
fn many_undo_steps(history: &mut History) {
    for _ in 0..history.dice.below(40) {
        let newest = history.state.turns.back().map(|turn| turn.id);
        let from = newest.filter(|_| history.dice.chance(80)).unwrap_or_else(|| history.turn());
        let hides = hides(history);
        history.append(Event::TurnsUndone { from, hides });
    }
    for _ in 0..history.dice.below(20) {
        let from = history.turn();
        history.append(Event::TurnsPutBack { from });
    }
}

/// More ended deliveries than a state holds.
fn many_deliveries(history: &mut History) {
    for _ in 0..history.dice.below(40) {
        let (turn, answer) = (history.turn(), history.run());
        let to = Box::new(chat(&mut history.dice));
        history.append(Event::DeliveryOwed { turn, answer, to });
        let outcome = delivery_outcome(&mut history.dice);
        history.append(Event::DeliveryEnded { answer, outcome });
    }
}

/// The number of turns that an event hides: none, those of the state, or some before it.
fn hides(history: &mut History) -> Option<u64> {
    let in_state = history.state.turns.len() as u64;
    history.dice.maybe(|dice| in_state + dice.below(5))
}

fn event(history: &mut History, number: u64) -> Event {
    match number {
        0..14 => about_session(history),
        14..36 => about_queue(history),
        36..60 => about_turns(history),
        60..90 => about_run(history),
        90..150 => output(history),
        150..160 => about_recovery(history),
        160..178 => about_memory(history),
        _ => about_delivery(history),
    }
}

fn about_session(history: &mut History) -> Event {
    let dice = &mut history.dice;
    match dice.below(12) {
        0 => Event::SessionCreated {
            id: session_id(dice),
            title: dice.maybe(|dice| text(dice, false)),
            after: dice.maybe(session_id),
            user: UserId(uuid(dice)),
        },
        1 => {
            let at = Seq(history.state.head().0);
            Event::SessionBranched { id: session_id(dice), from: session_id(dice), at }
        }
        2 => Event::SessionRenamed { title: text(dice, false) },
        3 => Event::TitleGenerated { title: text(dice, false) },
        4..7 => Event::FlagSet { flag: flag(dice), on: dice.chance(70) },
        7 => Event::TagsSet { tags: (0..dice.below(3)).map(|_| text(dice, false)).collect() },
        8 => Event::ProjectSet { project: dice.maybe(|dice| ProjectId(uuid(dice))) },
        9 => Event::IdAdded { id: session_id(dice) },
        10 => Event::IdRemoved { id: session_id(dice) },
        _ => Event::EntriesSetAside { count: dice.below(9) },
    }
}

fn about_queue(history: &mut History) -> Event {
    let (turn, run) = (history.queued(), history.run());
    let message = message(&mut history.dice, history.large);
    let dice = &mut history.dice;
    match dice.below(14) {
        0..7 => {
            let key = dice.maybe(|_| MessageKey("key".to_owned()));
            Event::MessagePosted { message, mode: mode(dice), key }
        }
        7 => Event::QueuedEdited { turn, message, mode: dice.maybe(mode) },
        8 => Event::QueuedRemoved { turn },
        9 => Event::QueuePaused {},
        10 => Event::QueueResumed {},
        _ => Event::MessageSteered { turn, run },
    }
}

fn about_turns(history: &mut History) -> Event {
    let (turn, run, hides) = (history.turn(), history.run(), hides(history));
    let message = message(&mut history.dice, history.large);
    match history.dice.below(16) {
        0..3 => Event::MessageEdited { turn, message, key: None, hides },
        3..7 => Event::TurnsUndone { from: turn, hides },
        7..10 => Event::TurnsPutBack { from: turn },
        10 => Event::SessionCleared {},
        11..14 => Event::AnswerChosen { turn, run },
        _ => Event::ContextCompacted { summary: text(&mut history.dice, false), through: turn },
    }
}

fn about_run(history: &mut History) -> Event {
    let waiting = history.state.queue.front().map(|queued| queued.turn);
    let turn = waiting.filter(|_| history.dice.chance(60)).unwrap_or_else(|| history.turn());
    let run = history.run();
    let dice = &mut history.dice;
    if dice.chance(60) {
        let spool = dice.maybe(|dice| SlotNo::new(dice.below(SlotNo::SPOOL_MAX), 7));
        return Event::RunStarted { turn, cause: cause(dice), spool };
    }
    Event::RunEnded { turn, run, end: end(dice) }
}

fn output(history: &mut History) -> Event {
    let (turn, run) = (history.turn(), history.run());
    let text = text(&mut history.dice, history.large);
    let dice = &mut history.dice;
    let (call, tool) = (CallNo(dice.small(4)), "shell".to_owned());
    match dice.below(23) {
        22 => {
            let newer = RequestPurpose::Other(newer(dice));
            let purpose = dice.pick(&[RequestPurpose::Title, RequestPurpose::Summary, newer]);
            Event::RequestBilled { turn, run, purpose, usage: usage(dice) }
        }
        0..3 => Event::StepStarted { run, step: dice.small(5), asked_to_continue: dice.chance(30) },
        3..11 => Event::TextAdded { run, text },
        11..13 => Event::ReasoningAdded { run, text },
        13 | 14 => Event::CallDrafted { run, call, tool, arguments: text },
        15 | 16 => {
            let provider_call = dice.maybe(|_| "call_7".to_owned());
            Event::CallAsked { run, call, tool, arguments: text, provider_call }
        }
        17 | 18 => {
            Event::CallFinished { run, call, outcome: Outcome { status: status(dice), content: text } }
        }
        19 => Event::UsageReported { run, usage: usage(dice) },
        20 => Event::ProviderPartAdded { run, part: provider_part(dice, text) },
        _ => {
            let newer = RetryReason::Other(newer(dice));
            let reason = dice.pick(&[
                RetryReason::RateLimit,
                RetryReason::Overloaded,
                RetryReason::Network,
                RetryReason::Silent,
                RetryReason::Cut,
                newer,
            ]);
            let request = dice.maybe(|_| "request".to_owned());
            Event::RetryScheduled { run, reason, error: text, wait_ms: dice.below(60_000), request }
        }
    }
}

fn about_recovery(history: &mut History) -> Event {
    let (turn, run) = (history.turn(), history.run());
    let waiting: Vec<_> = history.state.recovering.iter().map(|known| known.run).collect();
    let run = if waiting.is_empty() { run } else { history.dice.pick(&waiting) };
    let dice = &mut history.dice;
    match dice.below(5) {
        0 | 1 => Event::RecoveryAttempted { turn, run, attempts: dice.small(12) },
        2 => Event::RecoverySettled { turn, run, outcome: recovery_outcome(dice) },
        3 => {
            let reason = ResumeReason(dice.pick(&["crash", "restart_timeout", "eclipse"]).to_owned());
            Event::ResumeMarked { reason, at: dice.maybe(|_| Time(9)) }
        }
        _ => Event::ResumeCleared {},
    }
}

fn about_memory(history: &mut History) -> Event {
    let commit = history.commit();
    let dice = &mut history.dice;
    let (first, last) = (1 + dice.below(4), 1 + dice.below(4));
    match dice.below(8) {
        0 | 1 => Event::MemoryOwnerSet { owner: dice.maybe(owner) },
        2 => Event::MemoryReassigned { first, last, from: dice.maybe(owner), to: owner(dice) },
        3 | 4 => Event::MemoryCommitStarted { owner: owner(dice), first, last },
        5 => Event::MemoryCommitAccepted { commit, task: "task".to_owned() },
        _ => Event::MemoryCommitEnded { commit, first, last, outcome: commit_outcome(dice) },
    }
}

fn about_delivery(history: &mut History) -> Event {
    let (turn, run, answer) = (history.turn(), history.run(), history.delivered());
    let dice = &mut history.dice;
    let part = dice.small(3);
    match dice.below(10) {
        0..2 => Event::DeliveryOwed { turn, answer: run, to: Box::new(chat(dice)) },
        2 => Event::DeliveryOwed { turn, answer, to: Box::new(chat(dice)) },
        3 | 4 => Event::DeliveryAttempted { answer, part },
        5 => Event::DeliveryUnsent { answer, part },
        6 => Event::PartDelivered { answer, part, receipt: "receipt".to_owned() },
        7 => Event::ChatNotified { answer, run },
        _ => Event::DeliveryEnded { answer, outcome: delivery_outcome(dice) },
    }
}

fn owner(dice: &mut Dice) -> Owner {
    Owner(dice.pick(&["notes", "diary"]).to_owned())
}

fn provider_part(dice: &mut Dice, data: String) -> ProviderPart {
    ProviderPart {
        wire: "messages".to_owned(),
        family: "provider.example/model".to_owned(),
        kind: "thinking".to_owned(),
        call: dice.maybe(|dice| CallNo(dice.small(4))),
        text_before: dice.below(30),
        data,
    }
}

fn usage(dice: &mut Dice) -> Usage {
    let cost_micros = if dice.chance(50) { 0 } else { dice.below(1 << 40) };
    let (cached_tokens, reasoning_tokens) = (dice.below(2), dice.below(2));
    Usage {
        input_tokens: dice.below(3),
        output_tokens: dice.below(3),
        cached_tokens,
        cache_write_tokens: dice.below(2),
        reasoning_tokens,
        cost_micros,
    }
}

fn mode(dice: &mut Dice) -> PostMode {
    let newer = PostMode::Other(newer(dice));
    dice.pick(&[PostMode::Queue, PostMode::Queue, PostMode::Steer, PostMode::Interrupt, newer])
}

fn cause(dice: &mut Dice) -> RunCause {
    let newer = RunCause::Other(newer(dice));
    dice.pick(&[RunCause::Message, RunCause::Retry, RunCause::Continue, RunCause::Resume, newer])
}

pub(crate) fn reason(dice: &mut Dice) -> InterruptReason {
    let newer = InterruptReason::Other(newer(dice));
    dice.pick(&[
        InterruptReason::Crash,
        InterruptReason::ShutdownTimeout,
        InterruptReason::RestartTimeout,
        InterruptReason::SpoolFull,
        InterruptReason::LostNode,
        newer,
    ])
}

fn end(dice: &mut Dice) -> RunEnd {
    match dice.below(12) {
        0..3 => RunEnd::Completed,
        3 | 4 => {
            let device = dice.maybe(|_| "phone".to_owned());
            RunEnd::Stopped { by_message: dice.chance(50), device }
        }
        5 => RunEnd::Failed { error: text(dice, false) },
        6 => RunEnd::OutputLimit { tokens: dice.below(9_000) },
        7..11 => {
            let (recovering, progress) = (dice.chance(40), dice.chance(30));
            RunEnd::Interrupted { reason: reason(dice), recovering, progress }
        }
        _ => RunEnd::Other(newer(dice)),
    }
}

fn status(dice: &mut Dice) -> CallStatus {
    let newer = CallStatus::Other(newer(dice));
    dice.pick(&[CallStatus::Ok, CallStatus::Error, newer])
}

fn flag(dice: &mut Dice) -> Flag {
    let newer = Flag::Other(newer(dice));
    dice.pick(&[Flag::Pinned, Flag::Archived, Flag::Trashed, newer])
}

fn recovery_outcome(dice: &mut Dice) -> RecoveryOutcome {
    let newer = RecoveryOutcome::Other(newer(dice));
    dice.pick(&[RecoveryOutcome::Recovered, RecoveryOutcome::Neutral, newer])
}

fn commit_outcome(dice: &mut Dice) -> CommitOutcome {
    let newer = CommitOutcome::Other(newer(dice));
    let failed = CommitOutcome::Failed { error: text(dice, false) };
    dice.pick(&[CommitOutcome::Done, CommitOutcome::Done, failed, newer])
}

fn delivery_outcome(dice: &mut Dice) -> DeliveryOutcome {
    let newer = DeliveryOutcome::Other(newer(dice));
    let reason = || "gone".to_owned();
    dice.pick(&[
        DeliveryOutcome::Delivered,
        DeliveryOutcome::Doubtful,
        DeliveryOutcome::Refused { reason: reason() },
        DeliveryOutcome::Withdrawn { reason: reason() },
        newer,
    ])
}
