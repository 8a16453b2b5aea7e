//! A session that is asked one thing after another, without a store.

use session::{
    Command, Context, Entry, Epoch, Progress, Rejected, RunId, Runs, Session, SessionId, Time, TurnId,
    UserId, decide, fold,
};

pub(crate) struct Asked(pub(crate) Session);

impl Asked {
    pub(crate) fn new() -> Self {
        let mut asked = Self(Session::default());
        let id = SessionId(uuid::Uuid::nil());
        asked.ask(Command::Create { id, title: None, after: None, user: UserId::FIRST });
        asked
    }

    /// Asks for something that must be accepted.
    pub(crate) fn ask(&mut self, command: Command) -> TurnId {
        self.try_ask(command).unwrap()
    }

    pub(crate) fn try_ask(&mut self, command: Command) -> Result<TurnId, Rejected> {
        let context =
            Context { now: Time(0), spool: None, runs: Runs::Allowed, chat: false, resume_within_micros: 0 };
        let decision = decide(&self.0, command, &context)?;
        for event in decision.events {
            let entry = Entry::seal(&self.0.link, Time(0), Epoch(1), event);
            fold(&mut self.0, &entry);
        }
        Ok(decision.accepted.turn.unwrap_or_default())
    }

    /// Lets the open run report something.
    pub(crate) fn bring(&mut self, progress: Progress) {
        let run: RunId = self.0.open_run.unwrap();
        self.ask(Command::Progress { run, progress });
    }
}
