//! Entries, views and prompts as the short lines of a story.

use std::fmt::Write as _;

use session::event::{Flag, Message, Outcome, PostMode, RunCause, RunEnd, Usage};
use session::{
    DeliveredPart, Delivery, Entry, Event, Marker, MarkerKind, Part, Prompt, PromptMessage, ProviderPart,
    SessionId, Time, TurnView, View,
};

/// The stored name of an event's kind.
pub(crate) fn kind(event: &Event) -> String {
    if let Event::Unknown { kind } = event {
        return kind.clone();
    }
    let stored: serde_json::Map<String, serde_json::Value> =
        serde_json::from_value(serde_json::to_value(event).unwrap()).unwrap();
    stored.keys().next().unwrap().clone()
}

/// `seq kind` and what it is about.
pub(super) fn entry(entry: &Entry) -> String {
    let about = about(&entry.event);
    format!("{} {} {about}", entry.seq, kind(&entry.event)).trim_end().to_owned()
}

#[expect(clippy::too_many_lines, reason = "one flat arm an event")]
fn about(event: &Event) -> String {
    match event {
        Event::SessionCreated { id, title, after, .. } => {
            let title = title.as_ref().map_or(String::new(), |title| format!(" {}", text(title)));
            let after = after.map_or(String::new(), |after| format!(" after {}", name(after)));
            format!("{}{title}{after}", name(*id))
        }
        Event::SessionBranched { id, from, at } => format!("{} from {} at {at}", name(*id), name(*from)),
        Event::SessionRenamed { title } | Event::TitleGenerated { title } => text(title),
        Event::FlagSet { flag, on } => {
            let flag = match flag {
                Flag::Pinned => "pinned",
                Flag::Archived => "archived",
                Flag::Trashed => "trashed",
                Flag::Other(_) => "other",
            };
            format!("{flag} {on}")
        }
        Event::TagsSet { tags } => tags.join(", "),
        Event::ProjectSet { project } => {
            project.map_or("none".to_owned(), |project| name(session::SessionId(project.0)))
        }
        Event::IdAdded { id } | Event::IdRemoved { id } => name(*id),
        Event::MessagePosted { message: said, mode, key } => {
            let key = key.as_ref().map_or(String::new(), |key| format!(" key {}", key.0));
            format!("{} {}{key}", message(said), post_mode(mode))
        }
        Event::MessageEdited { turn, message: said, key, .. } => {
            let key = key.as_ref().map_or(String::new(), |key| format!(" key {}", key.0));
            format!("turn {turn} {}{key}", message(said))
        }
        Event::QueuedEdited { turn, message: said, mode } => {
            let steers = if mode.is_some() { " steer" } else { "" };
            format!("turn {turn} {}{steers}", message(said))
        }
        Event::QueuedRemoved { turn } => format!("turn {turn}"),
        Event::MessageSteered { turn, run } | Event::AnswerChosen { turn, run } => {
            format!("turn {turn} run {run}")
        }
        Event::TurnsUndone { from, .. } | Event::TurnsPutBack { from } => format!("from {from}"),
        Event::SessionCleared {} | Event::QueuePaused {} | Event::QueueResumed {} => String::new(),
        Event::ChatNotified { answer, run } => format!("answer {answer} run {run}"),
        Event::RunStarted { turn, cause, spool } => {
            let spool = spool.map_or(String::new(), |spool| format!(" slot {spool}"));
            format!("turn {turn} by {}{spool}", run_cause(cause))
        }
        Event::StepStarted { run, step, asked_to_continue } => {
            let asked = if *asked_to_continue { " asked to continue" } else { "" };
            format!("run {run} step {step}{asked}")
        }
        Event::TextAdded { run, text: added } | Event::ReasoningAdded { run, text: added } => {
            format!("run {run} {}", text(added))
        }
        Event::CallDrafted { run, call, tool, arguments } => {
            format!("run {run} call {call} {tool} {}", text(arguments))
        }
        Event::CallAsked { run, call, tool, arguments, provider_call } => {
            let provider_call = provider_call.as_ref().map_or(String::new(), |call| format!(" as {call}"));
            format!("run {run} call {call} {tool} {}{provider_call}", text(arguments))
        }
        Event::CallFinished { run, call, outcome } => format!("run {run} call {call} {}", result(outcome)),
        Event::UsageReported { run, usage } => {
            format!("run {run} in {} out {}", usage.input_tokens, usage.output_tokens)
        }
        Event::RequestBilled { run, purpose, usage, .. } => {
            format!("run {run} {purpose:?} in {} out {}", usage.input_tokens, usage.output_tokens)
        }
        Event::ProviderPartAdded { run, part } => format!("run {run} {}", provider_part(part)),
        Event::RetryScheduled { run, reason, error, wait_ms, request } => {
            let request = request.as_ref().map_or(String::new(), |request| format!(" request {request}"));
            format!("run {run} {reason:?} in {wait_ms} ms {}{request}", text(error))
        }
        Event::RunEnded { turn, run, end } => format!("turn {turn} run {run} {}", run_end(end)),
        Event::RecoveryAttempted { turn, run, attempts } => {
            format!("turn {turn} run {run} attempt {attempts}")
        }
        Event::RecoverySettled { turn, run, outcome } => format!("turn {turn} run {run} {outcome:?}"),
        Event::ContextCompacted { summary, through } => format!("through {through} {}", text(summary)),
        Event::EntriesSetAside { count } => count.to_string(),
        Event::ResumeMarked { reason, at } => {
            let at = at.map_or_else(|| "at no time".to_owned(), |at| format!("at {}", seconds(at)));
            format!("{} {at}", reason.0)
        }
        Event::ResumeCleared {} => String::new(),
        Event::MemoryOwnerSet { owner } => owner.as_ref().map_or("nobody", |owner| &owner.0).to_owned(),
        Event::MemoryReassigned { first, last, to, .. } => format!("turns {first} to {last} to {}", to.0),
        Event::MemoryCommitStarted { owner, first, last } => {
            format!("turns {first} to {last} to {}", owner.0)
        }
        Event::MemoryCommitAccepted { commit, task } => format!("commit {commit} as {task}"),
        Event::MemoryCommitEnded { commit, outcome, .. } => format!("commit {commit} {outcome:?}"),
        Event::DeliveryOwed { turn, answer, to } => {
            format!("turn {turn} answer {answer} to {} for {}", to.chat, to.message)
        }
        Event::DeliveryAttempted { answer, part } | Event::DeliveryUnsent { answer, part } => {
            format!("answer {answer} part {part}")
        }
        Event::PartDelivered { answer, part, receipt } => {
            format!("answer {answer} part {part} as {receipt}")
        }
        Event::DeliveryEnded { answer, outcome } => format!("answer {answer} {outcome:?}"),
        Event::Unknown { .. } => "(kept and skipped)".to_owned(),
    }
}

fn provider_part(part: &ProviderPart) -> String {
    let call = part.call.map_or(String::new(), |call| format!(" of {call}"));
    format!("{}{call} after {} {}", part.kind, part.text_before, text(&part.data))
}

/// Text in quotes; of long text, its beginning and its length.
fn text(text: &str) -> String {
    let short: String = text.chars().take(12).collect();
    if text.len() <= 90 { format!("{text:?}") } else { format!("{short:?}… {} bytes", text.len()) }
}

pub(super) fn message(message: &Message) -> String {
    let files = message.attachments.iter().map(|file| format!(" file {}", file.name));
    let files: Vec<_> = files.collect();
    let files = if files.len() > 4 { format!(" and {} files", files.len()) } else { files.concat() };
    text(&message.text) + &files
}

fn name(id: SessionId) -> String {
    format!("s{}", id.0.as_u128())
}

fn post_mode(mode: &PostMode) -> &'static str {
    match mode {
        PostMode::Queue => "queue",
        PostMode::Steer => "steer",
        PostMode::Interrupt => "interrupt",
        PostMode::Other(_) => "other",
    }
}

fn run_cause(cause: &RunCause) -> &'static str {
    match cause {
        RunCause::Message => "message",
        RunCause::Retry => "retry",
        RunCause::Continue => "continue",
        RunCause::Resume => "resume",
        RunCause::Other(_) => "other",
    }
}

fn run_end(end: &RunEnd) -> String {
    match end {
        RunEnd::Completed => "completed".to_owned(),
        RunEnd::Stopped { by_message: false, .. } => "stopped".to_owned(),
        RunEnd::Stopped { by_message: true, .. } => "stopped by message".to_owned(),
        RunEnd::Failed { error } => format!("failed {}", text(error)),
        RunEnd::OutputLimit { tokens } => format!("output limit {tokens}"),
        RunEnd::Interrupted { reason, recovering, progress } => {
            let recovering = if *recovering { " recovering" } else { "" };
            let progress = if *progress { " progress" } else { "" };
            format!("interrupted {reason:?}{recovering}{progress}")
        }
        RunEnd::Other(value) => format!("other {value}"),
    }
}

fn result(outcome: &Outcome) -> String {
    format!("{:?} {}", outcome.status, text(&outcome.content)).to_lowercase()
}

fn seconds(time: Time) -> String {
    format!("{}s", time.0 / 1_000_000)
}

/// The view as lines that begin with `=`.
fn owed(delivery: &Delivery) -> String {
    let part =
        |part: &DeliveredPart| format!("{}/{}", part.attempts, part.receipt.as_deref().unwrap_or("none"));
    let parts: Vec<_> = delivery.parts.iter().map(part).collect();
    let outcome = delivery.outcome.as_ref().map_or("owed".to_owned(), |outcome| format!("{outcome:?}"));
    let before = delivery.before.map_or(String::new(), |before| {
        format!(", {} parts with {} letters before it went on", before.parts, before.letters)
    });
    let (chat, answer) = (&delivery.to.chat, delivery.answer);
    format!("to {chat}: answer {answer} [{}] {outcome}{before}", parts.join(" "))
}

pub(super) fn view(view: &View) -> String {
    let mut told = format!("= seq {} active {}", view.seq, seconds(view.active_at));
    if let Some(title) = &view.title {
        write!(told, " {}", text(title)).unwrap();
    }
    let marks = [
        (view.pinned, "pinned"),
        (view.archived, "archived"),
        (view.trashed, "trashed"),
        (view.can_put_back, "can put back"),
        (view.stuck, "stuck"),
    ];
    for (_, mark) in marks.iter().filter(|(on, _)| *on) {
        write!(told, ", {mark}").unwrap();
    }
    if !view.tags.is_empty() {
        write!(told, ", tags {}", view.tags.join("/")).unwrap();
    }
    if let Some(project) = view.project {
        write!(told, ", in {}", name(session::SessionId(project.0))).unwrap();
    }
    if let Some(since) = view.trashed_at {
        write!(told, ", since {}", seconds(since)).unwrap();
    }
    if let Some(run) = view.run {
        write!(told, ", run {run}").unwrap();
    }
    if view.turns_before > 0 {
        write!(told, ", {} turns before", view.turns_before).unwrap();
    }
    told.push('\n');
    // Of a long transcript, its ends.
    let shown = view.turns.len();
    for (at, turn_view) in view.turns.iter().enumerate() {
        if shown <= 8 || at < 2 || at >= shown - 2 {
            turn(&mut told, turn_view);
        } else if at == 2 {
            writeln!(told, "= … {} turns", shown - 4).unwrap();
        }
    }
    if let Some(mark) = &view.resume {
        writeln!(told, "= to be resumed after {}", mark.reason.0).unwrap();
    }
    for owed in &view.owed {
        let error = owed.error.as_ref().map_or(String::new(), |error| format!(", refused: {error}"));
        writeln!(told, "= owes {} turns to {}{error}", owed.turns, owed.owner.0).unwrap();
    }
    for delivery in &view.deliveries {
        writeln!(told, "= {}", owed(delivery)).unwrap();
    }
    if view.queue.len() > 8 {
        writeln!(told, "= {} messages wait", view.queue.len()).unwrap();
        return told;
    }
    for queued in &view.queue {
        let mode = post_mode(&queued.mode);
        let paused = if queued.paused { " paused" } else { "" };
        let at = seconds(queued.posted_at);
        writeln!(told, "= waits {} {} {mode}{paused}, at {at}", queued.turn, message(&queued.message))
            .unwrap();
    }
    told
}

fn turn(told: &mut String, turn: &TurnView) {
    let TurnView { turn, posted_at, message: said, answer, marker: end, alternatives, retry, usage } = turn;
    write!(told, "= turn {turn} {}, at {}", message(said), seconds(*posted_at)).unwrap();
    if alternatives.len() > 4 {
        write!(told, ", {} answers", alternatives.len()).unwrap();
    } else if alternatives.len() > 1 {
        let ids = alternatives.iter().map(ToString::to_string).collect::<Vec<_>>();
        write!(told, ", answers {}", ids.join(" ")).unwrap();
    }
    told.push('\n');
    if let Some(answer) = answer {
        let complete = if answer.complete { "complete" } else { "not complete" };
        writeln!(told, "=   answer {} {complete}", answer.run).unwrap();
        let shown = answer.parts.len();
        for (at, answered) in answer.parts.iter().enumerate() {
            if shown <= 8 || at < 2 || at >= shown - 2 {
                writeln!(told, "=     {}", part(answered)).unwrap();
            } else if at == 2 {
                writeln!(told, "=     … {} parts", shown - 4).unwrap();
            }
        }
        for cut in &answer.interruptions {
            writeln!(told, "=     at {}.{} {}", cut.part, cut.offset, marker(&cut.marker)).unwrap();
        }
    }
    if let Some(end) = end {
        writeln!(told, "=   {}", marker(end)).unwrap();
    }
    if let Some(retry) = retry {
        let until = seconds(retry.until);
        writeln!(told, "=   {:?} until {until}: {}", retry.reason, text(&retry.error)).unwrap();
    }
    if *usage != Usage::default() {
        writeln!(told, "=   used in {} out {}", usage.input_tokens, usage.output_tokens).unwrap();
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(said) => format!("text {}", text(said)),
        Part::Reasoning(thought) => format!("reasoning {}", text(thought)),
        Part::Call { call, tool, arguments, state, result } => {
            let result = result.as_ref().map_or(String::new(), |result| format!(" {}", text(result)));
            format!("call {call} {tool} {} {state:?}{result}", text(arguments))
        }
        Part::Steered { turn, message: said } => format!("steered {turn} {}", message(said)),
    }
}

fn marker(marker: &Marker) -> String {
    let Marker { kind, run, at, text, reason: _, attempts, first_seen, device } = marker;
    let kind = match kind {
        MarkerKind::Stopped => "stopped",
        MarkerKind::Failed => "failed",
        MarkerKind::Interrupted => "interrupted",
        MarkerKind::Recovering => "recovering",
        MarkerKind::Recovered => "recovered",
        MarkerKind::OutputLimit => "output limit",
        MarkerKind::Other => "other",
    };
    let attempts = attempts.map_or(String::new(), |attempts| format!(", attempts {attempts}"));
    let first_seen = first_seen.map_or(String::new(), |seen| format!(", first seen {}", seconds(seen)));
    let device = device.as_ref().map_or(String::new(), |device| format!(", on {device}"));
    format!("-- {kind} run {run} at {}{attempts}{first_seen}{device}: {text}", seconds(*at))
}

/// The prompt as lines that begin with `~`.
pub(super) fn prompt(prompt: &Prompt) -> String {
    let mut told =
        if prompt.earlier.is_some() { "~ older turns are left out\n".to_owned() } else { String::new() };
    for said in &prompt.messages {
        match said {
            PromptMessage::Summary(summary) => writeln!(told, "~ summary {}", text(summary)).unwrap(),
            PromptMessage::Note(note) => writeln!(told, "~ note {note}").unwrap(),
            PromptMessage::User(said) => writeln!(told, "~ user {}", message(said)).unwrap(),
            PromptMessage::Assistant { text: said, reasoning, calls, parts } => {
                writeln!(told, "~ assistant {} reasoning {}", text(said), text(reasoning)).unwrap();
                for part in parts {
                    writeln!(told, "~   part {}", provider_part(part)).unwrap();
                }
                for call in calls {
                    writeln!(told, "~   call {} {} {}", call.call, call.tool, text(&call.arguments)).unwrap();
                }
            }
            PromptMessage::Result { call, content, .. } => {
                writeln!(told, "~ result {call} {}", text(content)).unwrap();
            }
        }
    }
    told
}
