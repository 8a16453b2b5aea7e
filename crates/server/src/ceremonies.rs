//! What was begun with a browser and is to be finished by it soon, once: challenges of passkeys, ways to a provider.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hub::SystemClock;
use tokio::time::Instant;
use uuid::Uuid;

use crate::throttle::Key;

/// Ceremonies of everybody. Beyond that, the oldest is forgotten.
const ALL_MAX: usize = 4_096;
/// Ceremonies of one address, so that one who begins many forgets his own.
const EACH_MAX: usize = 64;

/// Ceremonies of one kind.
#[derive(Debug)]
pub(crate) struct Ceremonies<T> {
    lasting: Duration,
    open: Mutex<HashMap<Uuid, Ceremony<T>>>,
}

#[derive(Debug)]
struct Ceremony<T> {
    from: Option<Key>,
    begun: Instant,
    what: T,
}

impl<T> Ceremonies<T> {
    pub(crate) fn lasting(lasting: Duration) -> Self {
        Self { lasting, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Uuid, Ceremony<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one from an address, and answers by what it is finished.
    pub(crate) fn begin(&self, from: Option<Key>, what: T) -> Uuid {
        let (now, id) = (Instant::now(), SystemClock.id());
        let mut open = self.open();
        open.retain(|_, ceremony| now.duration_since(ceremony.begun) < self.lasting);
        if open.values().filter(|ceremony| ceremony.from == from).count() >= EACH_MAX {
            forget_oldest(&mut open, |ceremony| ceremony.from == from);
        }
        if open.len() >= ALL_MAX {
            forget_oldest(&mut open, |_| true);
        }
        open.insert(id, Ceremony { from, begun: now, what });
        id
    }

    /// What was begun, this once; nothing when it was finished before, or took too long.
    pub(crate) fn finish(&self, id: Uuid) -> Option<T> {
        let ceremony = self.open().remove(&id)?;
        (ceremony.begun.elapsed() < self.lasting).then_some(ceremony.what)
    }
}

fn forget_oldest<T>(open: &mut HashMap<Uuid, Ceremony<T>>, among: impl Fn(&Ceremony<T>) -> bool) {
    let oldest =
        open.iter().filter(|(_, ceremony)| among(ceremony)).min_by_key(|(_, ceremony)| ceremony.begun);
    if let Some(id) = oldest.map(|(id, _)| *id) {
        open.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTING: Duration = Duration::from_secs(300);

    fn address(number: u8) -> Option<Key> {
        Some(Key::address([192, 0, 2, number].into()))
    }

    #[tokio::test(start_paused = true)]
    async fn each_is_finished_once_and_in_time() {
        let ceremonies = Ceremonies::lasting(LASTING);
        let (one, two) = (ceremonies.begin(address(1), 1), ceremonies.begin(address(1), 2));
        assert_eq!((ceremonies.finish(one), ceremonies.finish(one)), (Some(1), None));
        tokio::time::advance(LASTING).await;
        assert_eq!(ceremonies.finish(two), None);
        assert_eq!(ceremonies.finish(Uuid::nil()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_begins_many_forgets_his_own() {
        let ceremonies = Ceremonies::lasting(LASTING);
        let kept = ceremonies.begin(address(1), 0);
        let mut begun = Vec::new();
        for number in 0..EACH_MAX * 2 {
            begun.push(ceremonies.begin(address(2), number));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(ceremonies.open().len(), EACH_MAX + 1);
        assert_eq!(ceremonies.finish(begun[EACH_MAX - 1]), None);
        assert_eq!(ceremonies.finish(begun[EACH_MAX]), Some(EACH_MAX));
        assert_eq!(ceremonies.finish(kept), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn all_together_are_bounded() {
        let ceremonies = Ceremonies::lasting(LASTING);
        let first = ceremonies.begin(None, 0_usize);
        for number in 0..ALL_MAX {
            tokio::time::advance(Duration::from_micros(1)).await;
            let from = Key::address(std::net::Ipv4Addr::from_bits(u32::try_from(number).unwrap()).into());
            ceremonies.begin(Some(from), number);
        }
        assert_eq!(ceremonies.open().len(), ALL_MAX);
        assert_eq!(ceremonies.finish(first), None);
    }
}
