//! How often somebody may be wrong: after a few failures each further try has to wait, longer and longer.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The longest wait. Who was quiet for as long begins anew.
const WAIT_MAX: Duration = Duration::from_secs(15 * 60);
/// Accounts and addresses that are remembered. Beyond that, those that wait least are forgotten.
const KNOWN_MAX: usize = 10_000;
/// Characters of a name that tell two accounts apart.
const NAME_MAX: usize = 80;

/// Who tries.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Account(String),
    Address(IpAddr),
}

impl Key {
    pub(crate) fn account(name: &str) -> Self {
        Self::Account(name.chars().take(NAME_MAX).flat_map(char::to_lowercase).collect())
    }

    /// Whoever has one address of the newer kind has the other 2^64 of its network too.
    pub(crate) fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// Failures that cost nothing. Behind one address may be a whole house.
    fn free(&self) -> u32 {
        match self {
            Self::Account(_) => 5,
            Self::Address(_) => 20,
        }
    }
}

/// What is known of failures, by account and by address.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<HashMap<Key, Failures>>);

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    until: Instant,
}

impl Throttle {
    fn known(&self) -> MutexGuard<'_, HashMap<Key, Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a try as failed until it is known to be right, so that many at once are not one.
    ///
    /// # Errors
    /// How long there is to wait before the next try, when it is too early for one.
    pub(crate) fn attempt(&self, keys: &[Key]) -> Result<(), Duration> {
        let mut known = self.known();
        let now = Instant::now();
        let waits = keys.iter().filter_map(|key| known.get(key));
        let wait = waits.map(|failures| failures.until.saturating_duration_since(now)).max();
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            return Err(wait);
        }
        for key in keys {
            let failures = known.entry(key.clone()).or_insert(Failures { count: 0, until: now });
            let quiet = now.saturating_duration_since(failures.until) > WAIT_MAX;
            failures.count = if quiet { 1 } else { failures.count.saturating_add(1) };
            failures.until = now + wait_after(failures.count, key.free());
        }
        if known.len() > KNOWN_MAX {
            let mut ends: Vec<Instant> = known.values().map(|failures| failures.until).collect();
            ends.sort_unstable();
            let middle = ends.get(ends.len() / 2).copied().unwrap_or(now);
            known.retain(|_, failures| failures.until > middle);
        }
        Ok(())
    }

    /// A try was right. That clears the account, but of the address only this one try: who has an account must not be able
    /// to try others for nothing.
    pub(crate) fn succeeded(&self, keys: &[Key]) {
        let mut known = self.known();
        let now = Instant::now();
        for key in keys {
            match key {
                Key::Account(_) => drop(known.remove(key)),
                Key::Address(_) => {
                    if let Some(failures) = known.get_mut(key) {
                        failures.count = failures.count.saturating_sub(1);
                        failures.until = failures.until.min(now + wait_after(failures.count, key.free()));
                    }
                }
            }
        }
    }
}

fn wait_after(count: u32, free: u32) -> Duration {
    match count.saturating_sub(free).min(20) {
        0 => Duration::ZERO,
        doublings => Duration::from_secs(1 << (doublings - 1)).min(WAIT_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Key {
        Key::address(text.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn each_failure_beyond_a_few_doubles_the_wait() {
        let throttle = Throttle::default();
        let (ann, bob) = ([Key::account("ann")], [Key::account("bob")]);
        for _ in 0..ann[0].free() {
            assert_eq!(throttle.attempt(&ann), Ok(()));
        }
        let mut waits = Vec::new();
        for _ in 0..12 {
            assert_eq!(throttle.attempt(&ann), Ok(()));
            let wait = throttle.attempt(&ann).unwrap_err();
            waits.push(wait.as_secs());
            tokio::time::advance(wait).await;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
        assert_eq!(throttle.attempt(&bob), Ok(()));
        throttle.succeeded(&ann);
        assert_eq!(throttle.attempt(&ann), Ok(()));
        assert_eq!(throttle.attempt(&ann), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_is_forgiven() {
        let (throttle, ann) = (Throttle::default(), [Key::account("ann")]);
        while throttle.attempt(&ann).is_ok() {}
        tokio::time::advance(WAIT_MAX * 2).await;
        for _ in 0..ann[0].free() {
            assert_eq!(throttle.attempt(&ann), Ok(()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_an_account_cannot_try_others_for_nothing() {
        let throttle = Throttle::default();
        let here = address("192.0.2.7");
        let mut tries = 0;
        for victim in 0..100 {
            let own = [Key::account("mine"), here.clone()];
            if throttle.attempt(&own).is_ok() {
                throttle.succeeded(&own);
            }
            tries +=
                usize::from(throttle.attempt(&[Key::account(&victim.to_string()), here.clone()]).is_ok());
        }
        assert_eq!(tries, 21);
    }

    #[test]
    fn one_network_is_one_address_and_one_name_one_account() {
        assert_eq!(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff::9"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_eq!(address("::ffff:192.0.2.7"), address("192.0.2.7"));
        assert_ne!(address("192.0.2.7"), address("192.0.2.8"));
        assert_eq!(Key::account("Ann"), Key::account("aNN"));
    }

    #[tokio::test(start_paused = true)]
    async fn many_names_do_not_fill_the_memory() {
        let throttle = Throttle::default();
        for name in 0..KNOWN_MAX * 3 {
            throttle.attempt(&[Key::account(&format!("{name}{}", "x".repeat(1_000)))]).unwrap();
        }
        let known = throttle.known();
        assert!(known.len() <= KNOWN_MAX);
        assert!(known.keys().all(|key| matches!(key, Key::Account(name) if name.len() <= NAME_MAX)));
    }
}
