//! Stored bytes to today's [`Event`] and back. Old shapes are lifted here; kinds of a newer version are kept and
//! skipped.

use crate::event::Event;

/// Bytes that are no event of any version.
#[derive(Debug, thiserror::Error)]
#[error("not an event: {0}")]
pub struct Undecodable(#[from] serde_json::Error);

/// The stored form of an event.
pub(crate) fn encode(event: &Event) -> String {
    // An event holds strings, numbers and lists only, so there is nothing that JSON cannot carry.
    serde_json::to_string(event).unwrap_or_default()
}

/// Reads a stored event.
pub(crate) fn decode(body: &str) -> Result<Event, Undecodable> {
    match serde_json::from_str(body) {
        Ok(event) => Ok(event),
        Err(error) => unknown_kind(body).ok_or(Undecodable(error)),
    }
}

/// An event of a kind that this version does not know is an object with that kind as its only key.
fn unknown_kind(body: &str) -> Option<Event> {
    let value: serde_json::Map<String, serde_json::Value> = serde_json::from_str(body).ok()?;
    let (kind, _) = value.iter().next().filter(|_| value.len() == 1)?;
    let mut probe = serde_json::Map::new();
    probe.insert(kind.clone(), serde_json::Value::Null);
    let probe = serde_json::from_value::<Event>(probe.into()).err()?;
    // A known kind with a wrong shape is damage, not news.
    probe.to_string().starts_with("unknown variant").then(|| Event::Unknown { kind: kind.clone() })
}
