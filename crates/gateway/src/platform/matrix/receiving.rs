//! What is new since a cursor. A sync tells the newest of each room; where it leaves something out, the gap goes into the cursor
//! and is read before anything later, from its beginning, a page a call. So the order holds, and no absence is too long.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use super::Matrix;
use super::api::{Ask, Failed};
use super::cursor::{Cursor, Gap};
use super::wire::{Context, Event, JoinedRoom, Page, Sync};
use crate::platform::{Batch, Inbound, ReceiveError};

/// How long the homeserver waits for something new.
const WAIT: Duration = Duration::from_secs(25);
/// Longest wait for a sync: one that waits, and one of very many rooms.
const SYNC_MAX: Duration = Duration::from_secs(180);
/// Events of a room that one sync tells at most. Small, as every room has as many; the rest comes page by page.
const TIMELINE_EVENTS_MAX: usize = 20;
/// Events of a page of a gap.
const PAGE_EVENTS_MAX: usize = 100;
/// Pages without an event after which a gap has ended. A page of events that this account may not see is empty; but a homeserver
/// that never says that there are no more must not hold up everything else.
const EMPTY_PAGES_MAX: u32 = 200;
/// The events of a room that are listened to. The room's creation is told only to whom the whole room is new.
const EVENTS: [&str; 4] = ["m.room.message", "m.room.encrypted", "m.room.member", "m.room.create"];

impl Matrix {
    pub(super) async fn receive_after(&self, cursor: Option<String>) -> Result<Batch, ReceiveError> {
        let cursor = cursor.map(Cursor::read);
        match cursor {
            Some(cursor) if !cursor.gaps.is_empty() => self.read_gap(cursor).await,
            cursor => self.sync(cursor).await,
        }
    }

    async fn sync(&self, cursor: Option<Cursor>) -> Result<Batch, ReceiveError> {
        let since = cursor.as_ref().map(|cursor| cursor.since.as_str());
        let told = self.ask_sync(since).await?;
        self.rooms.note_direct(&told.account_data.events);
        let mut events = Vec::new();
        let mut gaps = Vec::new();
        for (room, invited) in &told.rooms.invite {
            let state = &invited.invite_state.events;
            events.extend(self.invitation(room, state, since.unwrap_or("first")).await?);
        }
        for (room, mut joined) in told.rooms.join {
            if let Some(from) = self.gap_before(&room, &joined, since).await? {
                self.rooms.forget(&room);
                let newest = joined.timeline.events.pop().map(|event| event.event_id);
                gaps.push(Gap { room, from, newest, empty_pages: 0 });
                continue;
            }
            self.rooms.note(&room, &joined.state.events);
            self.rooms.note(&room, &joined.timeline.events);
            joined
                .timeline
                .events
                .retain(|event| !cursor.as_ref().is_some_and(|cursor| cursor.was_told(event)));
            events.extend(self.read_all(&room, &joined.timeline.events).await?);
        }
        if since == Some(&told.next_batch) {
            return Ok(Batch { events, cursor: None });
        }
        // What was told ahead may stand in a gap again.
        let ahead = cursor.filter(|_| !gaps.is_empty()).map(|cursor| cursor.ahead).unwrap_or_default();
        Ok(Batch { events, cursor: Some(Cursor { since: told.next_batch, gaps, ahead }.to_text()) })
    }

    async fn ask_sync(&self, since: Option<&str>) -> Result<Sync, Failed> {
        // Whoever has read nothing yet is answered at once.
        let wait = if since.is_some() { WAIT } else { Duration::ZERO };
        let mut ask = Ask::get(&["v3", "sync"])
            .with("timeout", wait.as_millis().to_string())
            .with("filter", sync_filter())
            .patience(SYNC_MAX);
        if let Some(since) = since {
            ask = ask.with("since", since);
        }
        self.api.read(ask).await
    }

    /// From where a room must be read page by page; nothing when the sync told all of it.
    ///
    /// A room that is new to this account is read from the invitation on: who invites somebody speaks to them from then on, and
    /// does not wait until they have come.
    async fn gap_before(
        &self,
        room: &str,
        joined: &JoinedRoom,
        since: Option<&str>,
    ) -> Result<Option<String>, ReceiveError> {
        let Some(since) = since else { return Ok(None) };
        // The newest first: who was here before has come before, too.
        let told = || joined.timeline.events.iter().rev().chain(&joined.state.events);
        if told().any(|event| event.kind == "m.room.create") {
            let me = &self.me().await?.id;
            let own = told().find(|event| event.member() == Some(me) && event.joins());
            for event in own.into_iter().flat_map(beginnings) {
                if let Some(from) = self.place_of(room, event).await? {
                    return Ok(Some(from));
                }
            }
            return Ok(Some(since.to_owned()));
        }
        Ok(joined.timeline.limited.then(|| since.to_owned()))
    }

    /// The place in a room right before an event; nothing when it may not be seen.
    async fn place_of(&self, room: &str, event: &str) -> Result<Option<String>, ReceiveError> {
        let ask = Ask::get(&["v3", "rooms", room, "context", event]).with("limit", "0");
        match self.api.read::<Context>(ask).await {
            Ok(context) => Ok(Some(context.start)),
            Err(failed) if failed.is_final() => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }

    /// Reads one page of the oldest gap.
    async fn read_gap(&self, mut cursor: Cursor) -> Result<Batch, ReceiveError> {
        let mut gap = cursor.gaps.remove(0);
        let ask = Ask::get(&["v3", "rooms", &gap.room, "messages"])
            .with("dir", "f")
            .with("from", &gap.from)
            .with("limit", PAGE_EVENTS_MAX.to_string())
            .with("filter", json!({ "types": EVENTS }).to_string());
        let mut page: Page = match self.api.read(ask).await {
            Ok(page) => page,
            Err(failed) if failed.is_final() => self.unreadable(&failed),
            Err(failed) => return Err(failed.into()),
        };
        gap.empty_pages = if page.chunk.is_empty() { gap.empty_pages + 1 } else { 0 };
        page.chunk.retain(|event| !cursor.was_told(event));
        let events = self.read_all(&gap.room, &page.chunk).await?;
        cursor.note_told(&mut gap, &page.chunk);
        let end = page.end.filter(|end| *end != gap.from && gap.empty_pages < EMPTY_PAGES_MAX);
        if let Some(from) = end {
            cursor.gaps.insert(0, Gap { from, ..gap });
        }
        Ok(Batch { events, cursor: Some(cursor.to_text()) })
    }

    /// A gap that nobody may read any more, mostly since this account was sent out of the room. It must not stop the others.
    fn unreadable(&self, failed: &Failed) -> Page {
        tracing::warn!(platform = self.name, %failed, "failed to read messages missed in a room");
        Page::default()
    }

    async fn read_all(&self, room: &str, events: &[Event]) -> Result<Vec<Inbound>, ReceiveError> {
        let mut told = Vec::new();
        for event in events {
            if event.kind == "m.room.encrypted" && !self.encryption_told.swap(true, Ordering::Relaxed) {
                tracing::warn!(platform = self.name, "encrypted room not readable, messages skipped");
            }
            if event.kind == "m.room.message" {
                told.extend(self.message(room, event).await?);
            }
        }
        Ok(told)
    }
}

/// The events from which on somebody was spoken to, best first: the invitation that led here, or the coming itself.
fn beginnings(joining: &Event) -> impl Iterator<Item = &str> {
    let text = |pointer: &str| joining.unsigned.pointer(pointer).and_then(serde_json::Value::as_str);
    let was_invited = text("/prev_content/membership") == Some("invite");
    let invitation = text("/replaces_state").filter(|_| was_invited);
    invitation.into_iter().chain([joining.event_id.as_str()])
}

/// Only what is listened to; of the members only those who speak.
fn sync_filter() -> String {
    let none = json!({ "types": [] });
    json!({
        "presence": none,
        "account_data": { "types": ["m.direct"] },
        "room": {
            "account_data": none,
            "ephemeral": none,
            "state": { "types": ["m.room.member", "m.room.create"], "lazy_load_members": true },
            "timeline": { "types": EVENTS, "limit": TIMELINE_EVENTS_MAX },
        },
    })
    .to_string()
}
