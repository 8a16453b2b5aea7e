//! Readers: history, then live, no gap, no double. A slow reader is cut off and can resume; it never slows the writer.

use std::collections::VecDeque;
use std::sync::Arc;

use session::{Entry, Link, Seq, SessionId};
use store::{ReadError, Store};
use tokio::sync::mpsc;

use crate::error::{CommandError, FollowError};
use crate::handle::SessionHandle;

/// Entries that may wait for one reader. A reader that is further behind reads from the store instead.
const WAITING_MAX: usize = 256;
/// Entries of history read in one go.
const PAGE: usize = 1_024;

/// The live readers of a session, as its writer holds them.
#[derive(Default)]
pub(crate) struct Followers {
    senders: Vec<mpsc::Sender<Arc<Entry>>>,
}

/// A place in the live stream: everything after `from` comes through `live`.
pub(crate) struct Subscription {
    from: Link,
    live: mpsc::Receiver<Arc<Entry>>,
}

impl Followers {
    pub(crate) fn is_empty(&self) -> bool {
        self.senders.iter().all(mpsc::Sender::is_closed)
    }

    /// Takes a reader in between two batches, so that nothing falls in between.
    pub(crate) fn subscribe(&mut self, after: Seq, durable: Link) -> Result<Subscription, FollowError> {
        // The log has the entry, or the reader would not ask after it: this writer is behind its own log.
        if after > durable.seq {
            return Err(FollowError::Ended { after });
        }
        self.senders.retain(|sender| !sender.is_closed());
        let (sender, live) = mpsc::channel(WAITING_MAX);
        self.senders.push(sender);
        Ok(Subscription { from: durable, live })
    }

    /// Hands durable entries to every reader; one that has no room is cut off.
    pub(crate) fn publish(&mut self, entries: &[Arc<Entry>]) {
        self.senders.retain(|sender| entries.iter().all(|entry| sender.try_send(entry.clone()).is_ok()));
    }
}

/// What a reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    Entry(Arc<Entry>),
    /// Everything up to the end of the log at this moment was given; what follows is live.
    CaughtUp,
}

/// A reader that receives entries in order from a `seq`.
pub struct Follower {
    store: Arc<dyn Store>,
    handle: SessionHandle,
    session: SessionId,
    /// The last entry given.
    cursor: Seq,
    history: VecDeque<Arc<Entry>>,
    phase: Phase,
}

enum Phase {
    /// Reading the store; the live stream is joined near the end.
    History,
    /// Joined: the store up to `until`, then live.
    Joining {
        until: Seq,
        live: mpsc::Receiver<Arc<Entry>>,
    },
    Live(mpsc::Receiver<Arc<Entry>>),
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower")
            .field("session", &self.session)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl Follower {
    pub(crate) fn new(store: Arc<dyn Store>, handle: SessionHandle, session: SessionId, after: Seq) -> Self {
        Self { store, handle, session, cursor: after, history: VecDeque::new(), phase: Phase::History }
    }

    /// The last entry given; where a new follower goes on.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// The next thing. May be dropped while it waits without losing anything.
    ///
    /// # Errors
    /// When the reader was too slow, the writer went away, or the log cannot be read; it can resume after
    /// [`Self::cursor`].
    pub async fn next(&mut self) -> Result<Followed, FollowError> {
        loop {
            if let Some(entry) = self.history.pop_front() {
                return Ok(self.give(entry));
            }
            match &mut self.phase {
                Phase::History => {
                    let page = self.read().await?;
                    // An empty page means that the end is reached.
                    if page == 0 {
                        self.join().await?;
                    }
                }
                Phase::Joining { until, .. } if self.cursor < *until => {
                    if self.read().await? == 0 {
                        return Err(CommandError::Damaged { intact: self.cursor }.into());
                    }
                }
                Phase::Joining { .. } => {
                    let Phase::Joining { live, .. } = std::mem::replace(&mut self.phase, Phase::History)
                    else {
                        continue;
                    };
                    self.phase = Phase::Live(live);
                    return Ok(Followed::CaughtUp);
                }
                Phase::Live(live) => match live.recv().await {
                    Some(entry) if entry.seq <= self.cursor => {}
                    Some(entry) => return Ok(self.give(entry)),
                    None => return Err(self.cut_off()),
                },
            }
        }
    }

    fn give(&mut self, entry: Arc<Entry>) -> Followed {
        let skip = u64::from(fault::planted("resume_off_by_one"));
        assert!(entry.seq == self.cursor.next() || skip > 0, "a reader gets every entry once, in order");
        self.cursor = Seq(entry.seq.0);
        Followed::Entry(entry)
    }

    /// The sender is gone: either this reader was too slow, or the writer went away. Both resume the same way.
    fn cut_off(&self) -> FollowError {
        FollowError::CutOff { after: self.cursor }
    }

    async fn read(&mut self) -> Result<usize, FollowError> {
        match self.store.read(self.session, self.cursor, PAGE).await {
            Ok(entries) => {
                let count = entries.len();
                let until = match &self.phase {
                    Phase::Joining { until, .. } => *until,
                    Phase::History | Phase::Live(_) => Seq(u64::MAX),
                };
                // What came after joining also comes live.
                self.history.extend(entries.into_iter().filter(|entry| entry.seq <= until).map(Arc::new));
                Ok(count)
            }
            Err(ReadError::BeyondEnd { after, head }) => Err(FollowError::BeyondEnd { after, head }),
            Err(error) => Err(CommandError::from(error).into()),
        }
    }

    async fn join(&mut self) -> Result<(), FollowError> {
        let Subscription { from, live } = self.handle.subscribe(self.cursor).await?;
        self.phase = Phase::Joining { until: from.seq, live };
        Ok(())
    }
}
