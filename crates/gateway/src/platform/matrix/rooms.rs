//! Who is in which room: kept while this runs, asked for again when it is not known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use session::ChatKind;

use super::Matrix;
use super::api::Ask;
use super::wire::{Event, JoinedMembers};
use crate::platform::ReceiveError;

/// Rooms that are kept; beyond that all are forgotten and asked for again.
const ROOMS_MAX: usize = 2_000;

/// What is known of the rooms.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Who is in a room, and what they are called there.
    members: HashMap<String, BTreeMap<String, String>>,
    /// The rooms that this account itself has marked as talks with one person; none until asked.
    direct: Option<BTreeSet<String>>,
}

impl Rooms {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of who came, went or took another name.
    pub(super) fn note(&self, room: &str, events: &[Event]) {
        let mut known = self.known();
        let Some(members) = known.members.get_mut(room) else { return };
        for event in events {
            let Some(member) = event.member() else { continue };
            if event.joins() {
                let name = event.text("/displayname").map_or_else(|| local_part(member), str::to_owned);
                members.insert(member.to_owned(), name);
            } else {
                members.remove(member);
            }
        }
    }

    /// Forgets a room of which a part was not seen.
    pub(super) fn forget(&self, room: &str) {
        self.known().members.remove(room);
    }

    /// Takes note of the account's own list of talks with one person.
    pub(super) fn note_direct(&self, events: &[Event]) {
        for event in events.iter().filter(|event| event.kind == "m.direct") {
            self.known().direct = Some(rooms_of(&event.content));
        }
    }

    /// What a sender is called; anybody who is not there any more goes by the id.
    pub(super) fn name(&self, room: &str, user: &str) -> String {
        let known = self.known();
        let name = known.members.get(room).and_then(|members| members.get(user));
        name.cloned().unwrap_or_else(|| local_part(user))
    }
}

impl Matrix {
    /// What kind of room it is: of two, or marked as such by this account itself, or of many.
    pub(super) async fn room_kind(&self, room: &str) -> Result<ChatKind, ReceiveError> {
        self.know_members(room).await?;
        self.know_direct().await?;
        let known = self.rooms.known();
        let few = known.members.get(room).is_some_and(|members| (1..=2).contains(&members.len()));
        let marked = known.direct.as_ref().is_some_and(|direct| direct.contains(room));
        Ok(if few || marked { ChatKind::Direct } else { ChatKind::Group })
    }

    async fn know_members(&self, room: &str) -> Result<(), ReceiveError> {
        if self.rooms.known().members.contains_key(room) {
            return Ok(());
        }
        let asked = self.api.read(Ask::get(&["v3", "rooms", room, "joined_members"])).await;
        let joined: JoinedMembers = match asked {
            Ok(joined) => joined,
            // This account is not there any more, or there are too many to be told.
            Err(failed) if failed.is_final() => JoinedMembers { joined: BTreeMap::new() },
            Err(failed) => return Err(failed.into()),
        };
        let named = joined.joined.into_iter().map(|(user, member)| {
            let name = member.display_name.unwrap_or_else(|| local_part(&user));
            (user, name)
        });
        let members = named.collect();
        let mut known = self.rooms.known();
        if known.members.len() >= ROOMS_MAX {
            known.members.clear();
        }
        known.members.insert(room.to_owned(), members);
        Ok(())
    }

    async fn know_direct(&self) -> Result<(), ReceiveError> {
        if self.rooms.known().direct.is_some() {
            return Ok(());
        }
        let me = self.me().await?;
        let asked = self.api.read(Ask::get(&["v3", "user", &me.id, "account_data", "m.direct"])).await;
        let content: Value = match asked {
            Ok(content) => content,
            Err(failed) if failed.is_final() => Value::Null,
            Err(failed) => return Err(failed.into()),
        };
        self.rooms.known().direct = Some(rooms_of(&content));
        Ok(())
    }
}

/// All rooms that a list of talks with one person names.
fn rooms_of(content: &Value) -> BTreeSet<String> {
    let lists = content.as_object().into_iter().flat_map(|people| people.values());
    let rooms = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    rooms.map(str::to_owned).collect()
}

/// The part of a user's id before the server.
pub(super) fn local_part(user: &str) -> String {
    let local = user.split(':').next().unwrap_or_default();
    local.strip_prefix('@').unwrap_or(local).to_owned()
}
