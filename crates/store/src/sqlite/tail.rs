//! Which rows of the tail belong to which session: kept in memory, found by one scan at start.

use std::collections::HashMap;

use session::{Link, Seq};

/// The not yet packed end of all logs.
#[derive(Debug, Default)]
pub(super) struct Tail {
    sessions: HashMap<i64, TailSession>,
    /// The id that the next row gets. Never reused, so that an emptied table starts no second count.
    pub(super) next_row: i64,
    /// The first row that the table still has.
    pub(super) first_row: i64,
}

/// The tail of one log: rows for consecutive entries.
#[derive(Debug, Clone)]
pub(super) struct TailSession {
    /// The link before the first row.
    pub(super) prev: Link,
    /// The link of the last row.
    pub(super) last: Link,
    pub(super) rows: Vec<i64>,
    pub(super) size_bytes: usize,
}

impl Tail {
    pub(super) fn get(&self, no: i64) -> Option<&TailSession> {
        self.sessions.get(&no)
    }

    /// Bytes of all entries in it.
    pub(super) fn size_bytes(&self) -> u64 {
        self.sessions.values().map(|session| session.size_bytes as u64).sum()
    }

    /// Takes the next row for an entry of a session whose log ended at `prev`.
    pub(super) fn push(&mut self, no: i64, row: i64, prev: Link, entry: Link, size_bytes: usize) {
        let session = self.sessions.entry(no).or_insert_with(|| TailSession {
            prev,
            last: prev,
            rows: Vec::new(),
            size_bytes: 0,
        });
        session.rows.push(row);
        session.last = entry;
        session.size_bytes += size_bytes;
        self.next_row = self.next_row.max(row + 1);
    }

    /// Forgets the rows up to and including `packed`: they stand in a pack now.
    pub(super) fn packed(&mut self, no: i64, packed: Link, size_bytes: usize) {
        let Some(session) = self.sessions.get_mut(&no) else { return };
        let count = usize::try_from(packed.seq.0.saturating_sub(session.prev.seq.0)).unwrap_or(usize::MAX);
        session.rows.drain(..count.min(session.rows.len()));
        session.prev = packed;
        session.size_bytes = session.size_bytes.saturating_sub(size_bytes);
        if session.rows.is_empty() {
            self.sessions.remove(&no);
        }
    }

    /// Rows at the beginning of the table that no session needs any more.
    pub(super) fn needless_rows(&self) -> i64 {
        let needed = self.sessions.values().filter_map(TailSession::first_row).min();
        needed.unwrap_or(self.next_row) - self.first_row
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = (i64, &TailSession)> {
        self.sessions.iter().map(|(no, session)| (*no, session))
    }
}

impl TailSession {
    /// The first row that is not packed.
    pub(super) fn first_row(&self) -> Option<i64> {
        self.rows.first().copied()
    }

    /// The rows of the entries after `after`, in order.
    pub(super) fn rows_after(&self, after: Seq) -> &[i64] {
        let skip = usize::try_from(after.0.saturating_sub(self.prev.seq.0)).unwrap_or(usize::MAX);
        self.rows.get(skip..).unwrap_or_default()
    }
}
