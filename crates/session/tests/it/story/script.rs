//! Plays one story: each line is a command, a crash, or a change of the circumstances, and says what came of it.

use std::fmt::Write as _;

use session::{
    Command, CommitOutcome, Context, Decision, DeliveryOutcome, DeliveryStep, Effect, Entry, Epoch, Event,
    Flag, InterruptReason, Link, Owner, PostMode, Progress, ProjectId, Rejected, RequestPurpose,
    ResumeReason, RunId, Runs, Seq, Session, SlotNo, Time, TurnId, Usage, UserId, decide, fold, prompt,
    recover, view,
};

use session::limits::RESUME_WITHIN_MICROS;

use super::show;
use super::words::Words;

/// A session, its log and the circumstances.
pub(super) struct Script {
    pub(super) entries: Vec<Entry>,
    pub(super) rejected: Vec<Rejected>,
    pub(super) session: Session,
    context: Context,
    epoch: Epoch,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            rejected: Vec::new(),
            session: Session::default(),
            context: Context {
                now: Time(0),
                spool: None,
                runs: Runs::Allowed,
                chat: false,
                resume_within_micros: RESUME_WITHIN_MICROS,
            },
            epoch: Epoch(1),
        }
    }
}

impl Script {
    /// Plays a line and says what came out.
    pub(super) fn line(&mut self, line: &str) -> String {
        let mut words = Words::new(line);
        let verb = words.next();
        let told = match verb.as_str() {
            "show" => show::view(&view(&self.session)),
            "prompt" => show::prompt(&prompt(&self.session)),
            "crash" => {
                self.epoch = Epoch(self.epoch.0 + 1);
                let run = self.session.open_run.unwrap_or_default();
                let journal = words.journal(run);
                let reason =
                    if words.take("node") { InterruptReason::LostNode } else { InterruptReason::Crash };
                let decision = recover(&self.session, journal, reason, &self.context);
                let told = self.perform(decision);
                told + &self.line("proceed")
            }
            "repeat" => {
                // Only the last round is told.
                let (times, lines): (u32, _) = (words.number(), words.rest());
                let mut told = String::new();
                for _ in 0..times {
                    told = lines.iter().map(|line| self.line(line)).collect();
                }
                told
            }
            "future" => self.append_future(&words.next()),
            "newer" => self.append_newer(&words.next()),
            "set_aside" => self.append_mark(words.next().parse().unwrap()),
            _ if self.circumstance(&verb, &mut words) => String::new(),
            _ => {
                let command = self.command(&verb, &mut words);
                match decide(&self.session, command, &self.context) {
                    Ok(decision) => self.perform(decision),
                    Err(rejected) => {
                        self.rejected.push(rejected);
                        format!("x {rejected:?}: {rejected}\n")
                    }
                }
            }
        };
        words.end();
        told
    }

    fn circumstance(&mut self, verb: &str, words: &mut Words) -> bool {
        match verb {
            "chat" => self.context.chat = true,
            "hold" => self.context.runs = Runs::Held,
            "allow" => self.context.runs = Runs::Allowed,
            "slot" => self.context.spool = Some(SlotNo(words.number())),
            "resume_within" => {
                let within = if words.take("wait") { 0 } else { words.number::<i64>() * 1_000_000 };
                self.context.resume_within_micros = within;
            }
            "clock" => {
                let word = words.next();
                let seconds = word.strip_prefix('+').and_then(|word| word.strip_suffix('s'));
                let seconds = seconds.and_then(|digits| digits.parse::<i64>().ok());
                let Some(seconds) = seconds else { words.wrong("say it like +5s") };
                self.context.now = self.context.now.plus_micros(seconds * 1_000_000);
            }
            _ => return false,
        }
        true
    }

    fn command(&self, verb: &str, words: &mut Words) -> Command {
        match verb {
            "create" => Command::Create {
                id: words.session_id(),
                after: words.take("after").then(|| words.session_id()),
                title: words.maybe(),
                user: UserId::FIRST,
            },
            "branch" => {
                let id = words.session_id();
                let from = words.session_id();
                Command::Branch { id, from, at: Seq(words.number()) }
            }
            "post" | "queue" => post(words, PostMode::Queue),
            "steer" if words.take("queued") => Command::SteerQueued { turn: TurnId(words.number()) },
            "steer" => post(words, PostMode::Steer),
            "interrupt" => post(words, PostMode::Interrupt),
            "edit" if words.take("queued") => {
                Command::EditQueued { turn: TurnId(words.number()), message: words.message().0 }
            }
            "edit" => {
                let turn = TurnId(words.number());
                let (message, key) = words.message();
                Command::EditMessage { turn, message, key }
            }
            "remove" if words.take("queued") => Command::RemoveQueued { turn: TurnId(words.number()) },
            "remove" if words.take("id") => Command::RemoveId { id: words.session_id() },
            "add" if words.take("id") => Command::AddId { id: words.session_id() },
            "stop" => {
                Command::Stop { run: words.maybe().map(|run| RunId(run.parse().unwrap())), device: None }
            }
            "undo" => Command::Undo { from: words.maybe().map(|turn| TurnId(turn.parse().unwrap())) },
            "put" if words.take("back") => Command::PutBack,
            "retry" => Command::Retry,
            "continue" => Command::Continue,
            "choose" => Command::ChooseAnswer { turn: TurnId(words.number()), run: RunId(words.number()) },
            "clear" if words.take("queue") => Command::ClearQueue,
            "clear" => Command::Clear,
            "rename" => Command::Rename { title: words.next() },
            "suggest" => Command::SuggestTitle { title: words.next() },
            "bill" => bill(words),
            "compact" => {
                Command::CompactContext { run: None, through: TurnId(words.number()), summary: words.next() }
            }
            "mark" => Command::MarkResume { reason: words.maybe().map(ResumeReason).unwrap_or_default() },
            "unmark" => Command::ClearResume,
            "owe" => Command::SetMemoryOwner { owner: words.maybe().map(Owner) },
            "reassign" => Command::ReassignMemory { from: Owner(words.next()), to: Owner(words.next()) },
            "commit" => Command::CommitMemory { owner: words.maybe().map(Owner) },
            "accepted" => Command::AcceptCommit { commit: Seq(words.number()), task: words.next() },
            "committed" => Command::EndCommit { commit: Seq(words.number()), outcome: CommitOutcome::Done },
            "refused" => Command::EndCommit {
                commit: Seq(words.number()),
                outcome: CommitOutcome::Failed { error: words.next() },
            },
            "tags" => Command::SetTags { tags: std::iter::from_fn(|| words.maybe()).collect() },
            "project" if words.take("none") => Command::SetProject { project: None },
            "project" => Command::SetProject { project: Some(ProjectId(words.session_id().0)) },
            "drain" => Command::Interrupt { reason: words.interrupt_reason() },
            "deliver" => deliver(words),
            "proceed" => Command::Proceed,
            "resume" if words.take("queue") => Command::ResumeQueue,
            "heal" => {
                let run = RunId(words.number());
                Command::Heal { run, journal: words.journal(run) }
            }
            _ => flag(verb).unwrap_or_else(|| self.progress(verb, words)),
        }
    }

    /// Progress of the run that is going on, or of the one that `of` names.
    fn progress(&self, verb: &str, words: &mut Words) -> Command {
        let named = (verb == "of").then(|| (RunId(words.number()), words.next()));
        let (run, verb) =
            named.unwrap_or_else(|| (self.session.open_run.unwrap_or_default(), verb.to_owned()));
        let progress: Option<Progress> = words.progress(&verb);
        let Some(progress) = progress else { words.wrong("nobody knows this command") };
        Command::Progress { run, progress }
    }

    fn perform(&mut self, decision: Decision) -> String {
        let mut told = String::new();
        for event in decision.events {
            let entry = Entry::seal(&self.session.link, self.context.now, self.epoch, event);
            writeln!(told, "{}", show::entry(&entry)).unwrap();
            self.append(entry);
        }
        for effect in decision.effects {
            match effect {
                Effect::StartRun { turn, run } => writeln!(told, "! start_run {run} of turn {turn}").unwrap(),
                Effect::CancelRun { run } => writeln!(told, "! cancel_run {run}").unwrap(),
                Effect::SuggestTitle { .. } => writeln!(told, "! suggest_title").unwrap(),
                Effect::CommitMemory(commit) => writeln!(
                    told,
                    "! commit_memory {} turns {} to {} to {}",
                    commit.commit, commit.first, commit.last, commit.owner.0
                )
                .unwrap(),
                Effect::ReleaseOwner { owner } => writeln!(told, "! release_owner {}", owner.0).unwrap(),
            }
        }
        for message in decision.accepted.steered {
            writeln!(told, "> into the step: {}", show::message(&message)).unwrap();
        }
        told
    }

    /// What an operator's repair leaves in a log.
    fn append_mark(&mut self, count: u64) -> String {
        let event = Event::EntriesSetAside { count };
        let entry = Entry::seal(&self.session.link, self.context.now, self.epoch, event);
        let told = format!("{}\n", show::entry(&entry));
        self.append(entry);
        told
    }

    /// An entry of a kind that only a later version knows.
    fn append_future(&mut self, kind: &str) -> String {
        let last: Link = self.session.link;
        let body = format!(r#"{{"{kind}":{{"by":"a later version"}}}}"#);
        let entry = Entry::open(&last, last.seq.next(), self.context.now, self.epoch, body, None).unwrap();
        assert_eq!(entry.event, Event::Unknown { kind: kind.to_owned() });
        let told = format!("{}\n", show::entry(&entry));
        self.append(entry);
        told
    }

    /// An entry of today's kind with a variant that only a later version knows.
    fn append_newer(&mut self, body: &str) -> String {
        let last: Link = self.session.link;
        let entry = Entry::open(&last, last.seq.next(), self.context.now, self.epoch, body, None).unwrap();
        assert_eq!(serde_json::to_string(&entry.event).unwrap(), body, "nothing of it is lost");
        let told = format!("{}\n", show::entry(&entry));
        self.append(entry);
        told
    }

    fn append(&mut self, entry: Entry) {
        fold(&mut self.session, &entry);
        self.entries.push(entry);
    }
}

fn post(words: &mut Words, mode: PostMode) -> Command {
    let (message, key) = words.message();
    Command::PostMessage { message, mode, key }
}

fn bill(words: &mut Words) -> Command {
    let purpose = match words.next().as_str() {
        "title" => RequestPurpose::Title,
        _ => RequestPurpose::Summary,
    };
    let (turn, run) = (TurnId(words.number()), RunId(words.number()));
    let (input_tokens, output_tokens) = (words.number(), words.number());
    Command::BillRequest {
        turn,
        run,
        purpose,
        usage: Usage { input_tokens, output_tokens, ..Usage::default() },
    }
}

fn deliver(words: &mut Words) -> Command {
    let answer = RunId(words.number());
    let step = match words.next().as_str() {
        "attempt" => DeliveryStep::Attempt { part: words.number() },
        "unsent" => DeliveryStep::Unsent { part: words.number() },
        "receipt" => DeliveryStep::Receipt { part: words.number(), receipt: words.next() },
        "notified" => DeliveryStep::Notified { run: RunId(words.number()) },
        "done" => DeliveryStep::End(DeliveryOutcome::Delivered),
        "doubt" => DeliveryStep::End(DeliveryOutcome::Doubtful),
        _ => words.wrong("nobody knows this step"),
    };
    Command::Deliver { answer, step }
}

fn flag(verb: &str) -> Option<Command> {
    let (verb, on) = verb.strip_prefix("un").map_or((verb, true), |verb| (verb, false));
    let flag = match verb {
        "pin" => Flag::Pinned,
        "archive" => Flag::Archived,
        "trash" => Flag::Trashed,
        _ => return None,
    };
    Some(Command::SetFlag { flag, on })
}
