//! Random histories: decide and fold against a simple reference, and the laws that hold after every step.

mod asks;
mod laws;
mod output;
mod project;
mod reference;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use session::{
    Command, Context, Decision, Entry, Epoch, Event, InterruptReason, Journal, Link, Message, PostMode,
    Progress, RunId, Runs, Session, Time, UserId, decide, fold, recover,
};

use self::asks::{Ask, asks, session_id};
use self::project::{kind, project};
use self::reference::Model;

/// Enough to meet every pair of commands many times, in a few seconds.
const CASES_MIN: u32 = 2_000;

/// `PROPTEST_CASES` raises the number of cases, and then they are new ones each time.
fn config() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let more = asked.cases > CASES_MIN;
    ProptestConfig {
        cases: asked.cases.max(CASES_MIN),
        rng_seed: if more { asked.rng_seed } else { RngSeed::Fixed(20_260_101) },
        failure_persistence: None,
        ..asked
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_asked_session_and_reference_agree_and_the_laws_hold(
        asks in asks(),
        at in any::<usize>(),
        bit in 0..1_000_usize,
    ) {
        let mut history = History::new();
        for ask in &asks {
            history.play(ask);
        }
        laws::hold_of_the_log(&history.entries);
        laws::pages_are_like_the_state(&history.session, &history.entries);
        laws::transcripts_hold_the_log(&history.entries);
        laws::the_chain_notices(&history.entries, at, bit);
    }
}

/// A session, its reference, and a copy that only ever reads stored bytes.
struct History {
    session: Session,
    model: Model,
    copy: Session,
    entries: Vec<Entry>,
    accepted: BTreeSet<u64>,
    epoch: Epoch,
}

impl History {
    fn new() -> Self {
        let mut history = Self {
            session: Session::default(),
            model: Model { now: 1_000_000, within: reference::HOUR, ..Default::default() },
            copy: Session::default(),
            entries: Vec::new(),
            accepted: BTreeSet::new(),
            epoch: Epoch(1),
        };
        history.command(Command::Create { id: session_id(1), title: None, after: None, user: UserId::FIRST });
        history
    }

    fn play(&mut self, ask: &Ask) {
        match ask {
            Ask::Crash(found, within) => {
                self.epoch = Epoch(self.epoch.0 + 1);
                let journal = found.journal(RunId(self.model.seen.open.unwrap_or_default()));
                self.crash(journal);
                self.model.within = *within;
                self.command(Command::Proceed);
                self.model.within = reference::HOUR;
            }
            Ask::Hold => self.model.held = true,
            Ask::Allow => self.model.held = false,
            Ask::Wait(micros) => self.model.now += micros,
            Ask::Turns(count) => (0..*count).for_each(|_| self.turn()),
            Ask::Retries(count) => (0..*count).for_each(|_| self.command(Command::Retry)),
            command => self.command(command.command(&self.model).expect("all else are commands")),
        }
        laws::hold_of_the_state(&self.session, &self.model, &self.accepted);
        self.copy = laws::snapshot(&self.copy);
        assert_eq!(self.copy, self.session, "a stored state goes on like the live one");
    }

    fn turn(&mut self) {
        let message = Message::text("again");
        self.command(Command::PostMessage { message, mode: PostMode::Queue, key: None });
        let run = RunId(self.model.seen.open.unwrap_or_default());
        self.command(Command::Progress { run, progress: Progress::Text("so".to_owned()) });
        self.command(Command::Progress { run, progress: Progress::Completed });
    }

    fn context(&self) -> Context {
        let runs = if self.model.held { Runs::Held } else { Runs::Allowed };
        let resume_within_micros = self.model.within;
        Context { now: Time(self.model.now), spool: None, runs, chat: false, resume_within_micros }
    }

    fn command(&mut self, command: Command) {
        let expected = self.model.ask(&command);
        let told = format!("{command:?}");
        let decided = decide(&self.session, command, &self.context());
        let kinds = decided.as_ref().map(kinds).map_err(|rejected| *rejected);
        assert_eq!(kinds, expected, "what comes of {told}");
        self.append(decided.unwrap_or_default());
    }

    fn crash(&mut self, journal: Journal) {
        let expected = self.model.crash(&journal);
        let told = format!("{journal:?}");
        let decision = recover(&self.session, journal, InterruptReason::Crash, &self.context());
        assert_eq!(kinds(&decision), expected, "what comes of a crash with {told}");
        self.append(decision);
    }

    fn append(&mut self, decision: Decision) {
        let going = self.session.open_run;
        let calls = going.and_then(|run| laws::calls(&self.session, run)).unwrap_or_default();
        let calls: Vec<_> = calls.into_iter().cloned().collect();
        for event in decision.events {
            let last: Link = self.session.link;
            let entry = Entry::seal(&last, Time(self.model.now), self.epoch, event);
            fold(&mut self.session, &entry);
            let read = laws::reopen(&last, &entry);
            assert_eq!(read, entry, "an entry is read as it was written");
            fold(&mut self.copy, &read);
            assert_eq!(self.copy, self.session, "replay at {} gives the live state", entry.seq);
            if matches!(entry.event, Event::MessagePosted { .. } | Event::MessageEdited { .. }) {
                self.accepted.insert(entry.seq.0);
            }
            self.entries.push(entry);
        }
        let kept = going.and_then(|run| laws::calls(&self.session, run));
        let kept = kept.map(|kept| kept.iter().take(calls.len()).map(|call| call.no).collect::<Vec<_>>());
        if let Some(kept) = kept {
            assert_eq!(kept, calls.iter().map(|call| call.no).collect::<Vec<_>>(), "no call is lost");
        }
        assert_eq!(project(&self.session), self.model.seen, "session and reference");
    }
}

fn kinds(decision: &Decision) -> Vec<&'static str> {
    decision.events.iter().map(kind).collect()
}
