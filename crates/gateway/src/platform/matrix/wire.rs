//! What a homeserver says, as far as it is listened to. Contents of events are anybody's: they are read field by field, so that
//! a strange one hides nothing else.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Complaint {
    pub errcode: String,
    pub error: String,
    pub retry_after_ms: Option<u64>,
}

/// An answer of which only its coming matters.
#[derive(Debug, Deserialize)]
pub(super) struct Nothing {}

#[derive(Debug, Deserialize)]
pub(super) struct WhoAmI {
    pub user_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct DisplayName {
    pub displayname: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LoggedIn {
    pub access_token: SecretString,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    pub event_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Uploaded {
    pub content_uri: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sync {
    pub next_batch: String,
    #[serde(default)]
    pub rooms: SyncRooms,
    #[serde(default)]
    pub account_data: Events,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SyncRooms {
    pub join: BTreeMap<String, JoinedRoom>,
    pub invite: BTreeMap<String, InvitedRoom>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JoinedRoom {
    pub state: Events,
    pub timeline: Timeline,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InvitedRoom {
    pub invite_state: Events,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Events {
    pub events: Vec<Event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Timeline {
    pub events: Vec<Event>,
    /// Whether there is more between the cursor and the first of these.
    pub limited: bool,
}

/// A page of a room's past.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Page {
    pub chunk: Vec<Event>,
    /// Where the next page begins; none behind the last.
    pub end: Option<String>,
}

/// Where an event stands.
#[derive(Debug, Deserialize)]
pub(super) struct Context {
    pub start: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct JoinedMembers {
    pub joined: BTreeMap<String, JoinedMember>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JoinedMember {
    pub display_name: Option<String>,
}

/// An event; in an invitation without an id.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    pub event_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub sender: String,
    pub state_key: Option<String>,
    pub content: Value,
    pub unsigned: Value,
}

impl Event {
    /// The text at a place of the content, if there is one.
    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.content.pointer(pointer).and_then(Value::as_str)
    }

    /// Whose membership this says something about.
    pub(super) fn member(&self) -> Option<&str> {
        if self.kind == "m.room.member" { self.state_key.as_deref() } else { None }
    }

    /// Whether this user is in the room from here on.
    pub(super) fn joins(&self) -> bool {
        self.text("/membership") == Some("join")
    }
}
