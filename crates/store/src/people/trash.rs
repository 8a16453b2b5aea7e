//! Time that sessions have spent in the trash, counted across clock jumps. Erasing cannot be undone, so a clock that jumps
//! must not cause it.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use session::{SessionId, Time};

use super::{People, PeopleError};

/// The longest step of the clock that counts.
const STEP_MICROS_MAX: i64 = 2 * 24 * 3_600 * 1_000_000;

impl People {
    /// Records the sessions in the trash, each with the time at which it came there, and returns how long each has been
    /// there by observed time. The first call trusts the clock.
    ///
    /// # Errors
    /// Returns an error if the database cannot be written.
    pub fn observe_trash(
        &self,
        now: Time,
        trashed: &BTreeMap<SessionId, Time>,
    ) -> Result<BTreeMap<SessionId, Duration>, PeopleError> {
        self.write(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let known: Option<(i64, i64)> = transaction
                .query_row("SELECT micros, looked_at FROM observed", [], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let observed = known.map_or(0, |(micros, looked_at)| {
                let step = now.0.saturating_sub(looked_at);
                if (0..=STEP_MICROS_MAX).contains(&step) { micros + step } else { micros }
            });
            transaction.execute("DELETE FROM observed", [])?;
            transaction.execute(
                "INSERT INTO observed (micros, looked_at) VALUES (?, ?)",
                params![observed, now.0],
            )?;
            let mut ages = BTreeMap::new();
            let mut seen: BTreeMap<[u8; 16], (i64, i64)> = transaction
                .prepare("SELECT session, trashed_at, seen_at FROM trash")?
                .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
                .collect::<rusqlite::Result<_>>()?;
            for (session, trashed_at) in trashed {
                let first = match known {
                    Some(_) => observed,
                    None => observed.saturating_sub(now.0.saturating_sub(trashed_at.0).max(0)),
                };
                let before = seen.remove(session.0.as_bytes()).filter(|(at, _)| *at == trashed_at.0);
                let seen_at = before.map_or(first, |(_, seen_at)| seen_at);
                if before.is_none() {
                    transaction.execute(
                        "INSERT OR REPLACE INTO trash (session, trashed_at, seen_at) VALUES (?, ?, ?)",
                        params![session.0.as_bytes(), trashed_at.0, seen_at],
                    )?;
                }
                let micros = u64::try_from(observed.saturating_sub(seen_at)).unwrap_or(0);
                ages.insert(*session, Duration::from_micros(micros));
            }
            for session in seen.keys() {
                transaction.execute("DELETE FROM trash WHERE session = ?", [session])?;
            }
            transaction.commit()?;
            Ok(ages)
        })
    }
}
