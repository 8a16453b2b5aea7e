//! What was posted and is not durable yet. Who posted waits until `receive` is asked with a later cursor, which says that it is.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::platform::{Batch, Inbound};

/// Events that are remembered after they became durable. One that comes again later goes through once more, and the session
/// that it is for knows it.
const REMEMBERED_MAX: usize = 4_096;

/// Callers that may wait for the same event; more come again.
const CALLERS_MAX: usize = 16;

/// The queue.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Of this process: a cursor of an earlier one counted other events.
    era: String,
    most: usize,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of the first event in the queue.
    first: u64,
    queue: VecDeque<Post>,
    numbers: HashMap<String, u64>,
    remembered: VecDeque<String>,
    known: HashSet<String>,
}

#[derive(Debug)]
struct Post {
    event: Inbound,
    callers: Vec<oneshot::Sender<()>>,
}

/// The queue has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl Inbox {
    pub(super) fn new(era: String, most: usize) -> Self {
        Self { era, most, waiting: Mutex::default(), arrived: Notify::new() }
    }

    /// Takes an event in, once however often it comes. What is given back is told when it is durable.
    pub(super) fn put(&self, event: Inbound) -> Result<oneshot::Receiver<()>, Full> {
        let (tell, told) = oneshot::channel();
        let mut waiting = self.waiting();
        if waiting.known.contains(&event.event) {
            // Nobody can have left yet.
            tell.send(()).unwrap_or(());
            return Ok(told);
        }
        if let Some(post) = waiting.find(&event.event) {
            if post.callers.len() >= CALLERS_MAX {
                return Err(Full);
            }
            post.callers.push(tell);
            return Ok(told);
        }
        if waiting.queue.len() >= self.most {
            return Err(Full);
        }
        let number = waiting.first + waiting.queue.len() as u64;
        waiting.numbers.insert(event.event.clone(), number);
        waiting.queue.push_back(Post { event, callers: vec![tell] });
        drop(waiting);
        self.arrived.notify_waiters();
        Ok(told)
    }

    /// Everything before a cursor is durable: those who posted it are told.
    pub(super) fn confirm(&self, cursor: &str) {
        let number = cursor.rsplit_once('-').filter(|(era, _)| *era == self.era);
        let Some(end) = number.and_then(|(_, number)| number.parse::<u64>().ok()) else { return };
        let mut waiting = self.waiting();
        while waiting.first < end {
            let Some(post) = waiting.queue.pop_front() else { return };
            waiting.first += 1;
            waiting.numbers.remove(&post.event.event);
            waiting.remember(post.event.event);
            for caller in post.callers {
                // Who has left comes again, and is told then.
                caller.send(()).unwrap_or(());
            }
        }
    }

    /// Waits until there is something, and gives all of it.
    pub(super) async fn batch(&self) -> Batch {
        loop {
            let arrived = self.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            {
                let waiting = self.waiting();
                if !waiting.queue.is_empty() {
                    let events = waiting.queue.iter().map(|post| post.event.clone()).collect();
                    let end = waiting.first + waiting.queue.len() as u64;
                    return Batch { events, cursor: Some(format!("{}-{end}", self.era)) };
                }
            }
            arrived.await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn find(&mut self, event: &str) -> Option<&mut Post> {
        let number = *self.numbers.get(event)?;
        self.queue.get_mut(usize::try_from(number - self.first).ok()?)
    }

    fn remember(&mut self, event: String) {
        self.known.insert(event.clone());
        self.remembered.push_back(event);
        if self.remembered.len() > REMEMBERED_MAX
            && let Some(oldest) = self.remembered.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}
