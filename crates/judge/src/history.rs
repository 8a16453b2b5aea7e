//! What was done and seen, a line each, on disk before it counts.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One thing that was done or seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A message is about to be sent. `by` tells the clients of a session apart; `no` counts what each sends.
    Sent { session: Uuid, by: u32, no: u64, key: String, text: String },
    /// What came of it, once that is known.
    Answered { session: Uuid, key: String, outcome: Outcome },
    /// Something else was asked.
    Asked { session: Uuid, what: String, outcome: Outcome },
    /// A reader was shown an entry.
    Seen { session: Uuid, reader: u32, seq: u64, hash: String },
}

/// What is known of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// 2xx, with the turn that it named.
    Kept { turn: u64 },
    /// The server said no.
    Refused { code: String },
    /// No answer came.
    Unknown,
}

/// The history file.
#[derive(Debug, Clone)]
pub struct History {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    records: Vec<Record>,
}

impl History {
    /// A new one in a file.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let inner = Inner { file: File::create(path)?, records: Vec::new() };
        Ok(Self { inner: Arc::new(Mutex::new(inner)) })
    }

    /// Writes records down and syncs; they count from then on.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn note(&self, records: Vec<Record>) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        for record in &records {
            serde_json::to_writer(&mut lines, record)?;
            lines.push(b'\n');
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.file.write_all(&lines)?;
        inner.file.sync_data()?;
        inner.records.extend(records);
        Ok(())
    }

    /// Everything so far.
    pub fn records(&self) -> Vec<Record> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).records.clone()
    }
}

/// Reads a history that was kept, so that a better judge can judge it again.
///
/// # Errors
/// When a line cannot be read.
pub fn read(text: &str) -> anyhow::Result<Vec<Record>> {
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
