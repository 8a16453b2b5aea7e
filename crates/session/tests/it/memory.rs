//! Random debts: whatever is completed, offered, refused and cut off, each turn is taken once, by the one it is owed to.

use proptest::prelude::*;
use session::{
    Command, CommitOutcome, Context, Decision, Effect, Entry, Epoch, InterruptReason, Journal, MemoryCommit,
    Message, Owner, PostMode, Progress, Runs, Seq, Session, SessionId, Time, UserId, decide, fold, recover,
};

#[derive(Debug, Clone)]
enum Act {
    Complete,
    Fail,
    Own(Option<u8>),
    Commit(Option<u8>),
    Done,
    Refused,
    Crash,
    Clear,
}

fn act() -> impl Strategy<Value = Act> {
    let owner = || prop::option::of(0..3_u8);
    prop_oneof![
        4 => Just(Act::Complete),
        1 => Just(Act::Fail),
        2 => owner().prop_map(Act::Own),
        3 => owner().prop_map(Act::Commit),
        3 => Just(Act::Done),
        2 => Just(Act::Refused),
        1 => Just(Act::Crash),
        1 => Just(Act::Clear),
    ]
}

fn named(owner: Option<u8>) -> Option<Owner> {
    owner.map(|owner| Owner(format!("owner {owner}")))
}

/// A completed turn as someone with a pencil would note it.
#[derive(Debug, Clone)]
struct Noted {
    owner: Option<Owner>,
    /// The key it was offered under first.
    key: Option<(u64, u64)>,
    taken: u32,
}

struct Played {
    session: Session,
    noted: Vec<Noted>,
    owner: Option<Owner>,
    under_way: Option<MemoryCommit>,
}

impl Played {
    fn new() -> Self {
        let mut played =
            Self { session: Session::default(), noted: Vec::new(), owner: None, under_way: None };
        played.ask(Command::Create {
            id: SessionId(uuid::Uuid::nil()),
            title: None,
            after: None,
            user: UserId::FIRST,
        });
        played
    }

    fn context() -> Context {
        Context { now: Time(0), spool: None, runs: Runs::Allowed, chat: false, resume_within_micros: 0 }
    }

    fn ask(&mut self, command: Command) {
        let named = match &command {
            Command::CommitMemory { owner } => owner.clone(),
            _ => None,
        };
        let decision = decide(&self.session, command, &Self::context()).unwrap();
        self.apply(decision, named.as_ref());
    }

    fn apply(&mut self, decision: Decision, named: Option<&Owner>) {
        for event in decision.events {
            let entry = Entry::seal(&self.session.link, Time(0), Epoch(1), event);
            fold(&mut self.session, &entry);
        }
        for effect in decision.effects {
            if let Effect::CommitMemory(commit) = effect {
                self.offered(&commit, named);
                self.under_way = Some(commit);
            }
        }
    }

    /// What may be offered: the oldest that was not taken, a stretch of one owner, whole as it was offered before.
    fn offered(&mut self, commit: &MemoryCommit, named: Option<&Owner>) {
        assert!(self.under_way.is_none(), "one at a time");
        let oldest = self.noted.iter().position(|turn| turn.taken == 0).expect("something is owed");
        assert_eq!(commit.first, oldest as u64 + 1, "oldest first");
        let range = oldest..usize::try_from(commit.last).unwrap();
        let owner = self.noted[oldest].owner.clone();
        let expected = owner.clone().or(named.cloned()).or(self.owner.clone());
        assert_eq!(Some(&commit.owner), expected.as_ref());
        for turn in &mut self.noted[range] {
            assert_eq!((&turn.owner, turn.taken), (&owner, 0), "a stretch of one owner");
            let key = *turn.key.get_or_insert((commit.first, commit.last));
            assert_eq!(key, (commit.first, commit.last), "the same turns under the same key");
            turn.owner = Some(commit.owner.clone());
        }
    }

    fn end(&mut self, outcome: CommitOutcome) {
        let Some(commit) = self.under_way.take() else { return };
        if outcome == CommitOutcome::Done {
            for turn in commit.first..=commit.last {
                self.noted[usize::try_from(turn).unwrap() - 1].taken += 1;
            }
        }
        self.ask(Command::EndCommit { commit: commit.commit, outcome });
    }

    fn run(&mut self, progress: Progress) {
        self.ask(Command::PostMessage { message: Message::text("go"), mode: PostMode::Queue, key: None });
        let run = self.session.open_run.expect("a run goes on");
        self.ask(Command::Progress { run, progress: Progress::Text("said".to_owned()) });
        self.ask(Command::Progress { run, progress });
    }

    fn play(&mut self, act: &Act) {
        match act {
            Act::Complete => {
                self.run(Progress::Completed);
                self.noted.push(Noted { owner: self.owner.clone(), key: None, taken: 0 });
            }
            Act::Fail => self.run(Progress::Failed { error: "no".to_owned() }),
            Act::Own(owner) => {
                self.owner = named(*owner);
                self.ask(Command::SetMemoryOwner { owner: named(*owner) });
            }
            Act::Commit(owner) => self.ask(Command::CommitMemory { owner: named(*owner) }),
            Act::Done => self.end(CommitOutcome::Done),
            Act::Refused => self.end(CommitOutcome::Failed { error: "no".to_owned() }),
            Act::Crash => {
                self.under_way = None;
                let stored = Session::from_bytes(&self.session.to_bytes()).expect("a state can be read back");
                assert_eq!(stored, self.session);
                let decision =
                    recover(&self.session, Journal::Unused, InterruptReason::Crash, &Self::context());
                self.apply(decision, None);
            }
            Act::Clear => self.ask(Command::Clear),
        }
        let owed = self.noted.iter().filter(|turn| turn.taken == 0 && turn.owner.is_some()).count();
        let shown: u64 = session::view(&self.session).owed.iter().map(|owed| owed.turns).sum();
        assert_eq!(shown, owed as u64, "what is owed is shown");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_turn_is_taken_once_by_the_one_it_is_owed_to(acts in prop::collection::vec(act(), 0..60)) {
        let mut played = Played::new();
        for act in &acts {
            played.play(act);
        }
        // In the end a boundary or two settle all that anyone can be found for.
        for _ in 0..=acts.len() {
            played.end(CommitOutcome::Done);
            played.play(&Act::Commit(Some(0)));
        }
        prop_assert!(played.noted.iter().all(|turn| turn.taken == 1));
        prop_assert_eq!(played.session.memory.generation, played.noted.len() as u64);
    }
}

#[test]
fn an_end_that_comes_too_late_settles_nothing() {
    let mut played = Played::new();
    played.play(&Act::Own(Some(1)));
    played.play(&Act::Complete);
    played.play(&Act::Commit(None));
    let first = played.under_way.clone().unwrap();
    played.play(&Act::Crash);
    played.play(&Act::Commit(None));
    played.ask(Command::EndCommit { commit: first.commit, outcome: CommitOutcome::Done });
    played.ask(Command::EndCommit { commit: Seq(0), outcome: CommitOutcome::Done });
    assert_eq!(session::view(&played.session).owed.len(), 1);
}
