//! A provider's stream that is cut, stalled, corrupted, repeated or stopped at every byte: whatever happens to the
//! bytes, the session keeps exactly what came, once, and says how it ended.

pub mod expect;
pub mod laws;
pub mod play;
pub mod wire;

use std::path::Path;

use anyhow::Context;

use agent::Wire;

/// What happens to a stream at a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends there; the provider would begin anew.
    Cut,
    /// The connection ends there; the provider goes on from a prefix.
    CutWithPrefix,
    /// Nothing comes any more.
    Stall,
    /// The byte is another one.
    Corrupt,
    /// What came just before comes again.
    Repeat,
    /// A person stops the run there.
    Stop,
}

impl Fault {
    pub const ALL: [Self; 6] =
        [Self::Cut, Self::CutWithPrefix, Self::Stall, Self::Corrupt, Self::Repeat, Self::Stop];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::CutWithPrefix => "cut_with_prefix",
            Self::Stall => "stall",
            Self::Corrupt => "corrupt",
            Self::Repeat => "repeat",
            Self::Stop => "stop",
        }
    }
}

/// A stream as a provider sent it.
#[derive(Debug, Clone)]
pub struct Stream {
    pub name: String,
    pub wire: Wire,
    pub bytes: Vec<u8>,
}

/// One fault at one byte of one stream.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub stream: &'a Stream,
    pub fault: Fault,
    pub at: usize,
}

impl Case<'_> {
    /// How a person finds it again.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.stream.name, self.fault.name(), self.at)
    }

    /// The bytes that the first answer sends before it ends, or falls silent.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = &self.stream.bytes;
        match self.fault {
            Fault::Cut | Fault::CutWithPrefix | Fault::Stall | Fault::Stop => bytes[..self.at].to_vec(),
            Fault::Corrupt => {
                let mut bytes = bytes.clone();
                let others = [0xFF, b'"', b'\n', b'}', 0, bytes[self.at] ^ 0x20];
                bytes[self.at] = others[self.at % others.len()];
                bytes
            }
            Fault::Repeat => {
                let from = self.at.saturating_sub(64);
                [&bytes[..self.at], &bytes[from..self.at], &bytes[self.at..]].concat()
            }
        }
    }
}

/// Every stream below `fixtures/providers`.
///
/// # Errors
/// When they cannot be read.
pub fn streams() -> anyhow::Result<Vec<Stream>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/providers");
    let mut streams = Vec::new();
    let wires = [("openai", Wire::OpenAi), ("responses", Wire::Responses), ("anthropic", Wire::Anthropic)];
    for (folder, wire) in wires {
        for file in std::fs::read_dir(root.join(folder)).context("read the recorded streams")? {
            let path = file?.path();
            if path.extension().is_none_or(|end| end != "sse") {
                continue;
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            streams.push(Stream { name: format!("{folder}/{name}"), wire, bytes: std::fs::read(&path)? });
        }
    }
    streams.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(streams)
}
