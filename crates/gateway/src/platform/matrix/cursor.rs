//! How far was read: a place in the stream of the account, and the stretches before it that are still to be read.

use serde::{Deserialize, Serialize};

use super::wire::Event;

/// Events that are remembered as told already. More than that are told twice, which is allowed.
const AHEAD_MAX: usize = 500;

/// A place to go on from. It is kept as text, and read again by later releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The homeserver's token: all before it was told, but for the gaps.
    pub since: String,
    /// What a sync left out, in the order in which it is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Events behind the token that were told with a gap; the next sync brings them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<String>,
}

/// A stretch of a room that a sync left out: from here to where the room ends when it is read.
///
/// It names no end to the homeserver. Those order a room's past otherwise than what is new in it, so that an end could cut off
/// what belongs before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gap {
    pub room: String,
    pub from: String,
    /// The newest event that the sync did tell. What is read after it is likely to be ahead of the token; none once it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// Pages without any event, one after another.
    #[serde(default)]
    pub empty_pages: u32,
}

impl Cursor {
    /// Reads a cursor. A text that is none is taken as a homeserver's bare token.
    pub(super) fn read(text: String) -> Self {
        serde_json::from_str(&text).unwrap_or(Self { since: text, gaps: Vec::new(), ahead: Vec::new() })
    }

    /// Whether an event was told before this cursor, though it stands behind its token.
    pub(super) fn was_told(&self, event: &Event) -> bool {
        self.ahead.contains(&event.event_id)
    }

    /// Takes note of events that are told with a gap.
    pub(super) fn note_told(&mut self, gap: &mut Gap, events: &[Event]) {
        for event in events {
            if gap.newest.is_none() && self.ahead.len() < AHEAD_MAX {
                self.ahead.push(event.event_id.clone());
            }
            gap.newest.take_if(|newest| *newest == event.event_id);
        }
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(newest: Option<&str>) -> Gap {
        Gap {
            room: "!r:x".to_owned(),
            from: "s1".to_owned(),
            newest: newest.map(str::to_owned),
            empty_pages: 0,
        }
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for (gaps, ahead) in [(vec![], vec![]), (vec![gap(Some("$b")), gap(None)], vec!["$c".to_owned()])] {
            let cursor = Cursor { since: "s2_3".to_owned(), gaps, ahead };
            assert_eq!(Cursor::read(cursor.to_text()), cursor);
        }
        let bare = Cursor { since: "s7_8".to_owned(), gaps: vec![], ahead: vec![] };
        assert_eq!(Cursor::read("s7_8".to_owned()), bare);
    }

    #[test]
    fn what_is_read_behind_the_newest_known_event_is_ahead() {
        let events = ["$a", "$b", "$c"].map(|id| Event { event_id: id.to_owned(), ..Event::default() });
        let mut cursor = Cursor::read("s1".to_owned());
        let mut gap = gap(Some("$b"));
        cursor.note_told(&mut gap, &events);
        assert_eq!((cursor.ahead.as_slice(), gap.newest), (["$c".to_owned()].as_slice(), None));
        assert_eq!(events.each_ref().map(|event| cursor.was_told(event)), [false, false, true]);
    }
}
