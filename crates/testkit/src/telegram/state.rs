//! What the simulated platform knows: its chats, what people said that the bot has not confirmed, and what the bot sent.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::faults::Faults;
use super::limits::{Flood, Limits};

/// Somebody with an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub id: i64,
    pub name: String,
}

impl Person {
    /// Somebody.
    pub fn new(id: i64, name: &str) -> Self {
        Self { id, name: name.to_owned() }
    }

    pub(super) fn json(&self) -> Value {
        json!({ "id": self.id, "is_bot": false, "first_name": self.name })
    }
}

/// A message of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub chat: i64,
    pub id: i64,
    pub topic: Option<i64>,
    pub answers: Option<i64>,
    /// What was shown first.
    pub text: String,
    /// The text as it came, with its marks.
    pub written: String,
    /// `HTML`, or nothing.
    pub parse_mode: Option<String>,
    pub file: Option<SentFile>,
    /// When, since the simulator began.
    pub at: Duration,
    pub edits: Vec<Edited>,
    /// Whether the bot cannot know that it was taken: a second one is then nobody's fault.
    pub answer_lost: bool,
    pub deleted: bool,
}

impl Sent {
    /// What is shown now.
    pub fn shown(&self) -> &str {
        self.edits.last().map_or(&self.text, |edited| &edited.text)
    }
}

/// A change of a message of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    pub at: Duration,
    pub answer_lost: bool,
}

/// A file of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFile {
    /// `photo` or `document`.
    pub kind: String,
    pub name: String,
    pub media_type: String,
    pub bytes: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Private,
    Group,
    Supergroup,
}

#[derive(Debug)]
pub(super) struct Chat {
    pub(super) kind: Kind,
    pub(super) title: String,
    next_message: i64,
    pub(super) topics: Vec<i64>,
    /// Why the bot may not write here.
    pub(super) barred: Option<&'static str>,
    pub(super) moved_to: Option<i64>,
    /// What people said, as it was told.
    pub(super) said: HashMap<i64, Value>,
}

impl Chat {
    pub(super) fn new(kind: Kind, title: &str) -> Self {
        Self {
            kind,
            title: title.to_owned(),
            next_message: 1,
            topics: Vec::new(),
            barred: None,
            moved_to: None,
            said: HashMap::new(),
        }
    }

    pub(super) fn message_id(&mut self) -> i64 {
        self.next_message += 1;
        self.next_message - 1
    }

    pub(super) fn json(&self, id: i64) -> Value {
        match self.kind {
            Kind::Private => json!({ "id": id, "type": "private", "first_name": self.title }),
            Kind::Group => json!({ "id": id, "type": "group", "title": self.title }),
            Kind::Supergroup => json!({ "id": id, "type": "supergroup", "title": self.title }),
        }
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) token: String,
    pub(super) username: String,
    pub(super) bot_id: i64,
    pub(super) limits: Option<Limits>,
    pub(super) flood: Flood,
    pub(super) faults: Faults,
    pub(super) chats: BTreeMap<i64, Chat>,
    pub(super) sent: Vec<Sent>,
    pub(super) sent_at: HashMap<(i64, i64), usize>,
    /// Files that can be downloaded, by id and by path.
    pub(super) files: HashMap<String, (String, Bytes)>,
    pub(super) commands: Value,
    /// Calls by method.
    pub(super) calls: BTreeMap<String, u64>,
    /// Requests that were refused as too fast.
    pub(super) refused_count: u64,
    /// The number of the newest poll: an older one that still waits is over.
    pub(super) newest_poll: u64,
    next_update: i64,
    updates: VecDeque<(i64, Value)>,
    last_confirmed: Option<Value>,
}

impl State {
    pub(super) fn new(token: String, username: String, limits: Option<Limits>, faults: Faults) -> Self {
        let bot_id = token.split(':').next().and_then(|id| id.parse().ok()).unwrap_or(1);
        Self {
            token,
            username,
            bot_id,
            limits,
            flood: Flood::default(),
            faults,
            chats: BTreeMap::new(),
            sent: Vec::new(),
            sent_at: HashMap::new(),
            files: HashMap::new(),
            commands: json!([]),
            calls: BTreeMap::new(),
            refused_count: 0,
            newest_poll: 0,
            next_update: 700_000_001,
            updates: VecDeque::new(),
            last_confirmed: None,
        }
    }

    pub(super) fn me(&self) -> Value {
        json!({ "id": self.bot_id, "is_bot": true, "first_name": "Ever", "username": self.username })
    }

    /// Keeps an update until it is confirmed.
    pub(super) fn tell(&mut self, kind: &str, message: &Value) {
        let number = self.next_update;
        self.next_update += 1;
        self.updates.push_back((number, json!({ "update_id": number, kind: message })));
    }

    /// Forgets what is before an offset.
    pub(super) fn confirm(&mut self, offset: i64) {
        if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            while self.updates.len() > keep {
                self.updates.pop_front();
            }
        }
        while self.updates.front().is_some_and(|(number, _)| *number < offset) {
            self.last_confirmed = self.updates.pop_front().map(|(_, update)| update);
        }
    }

    /// Updates that nobody has confirmed.
    pub(super) fn pending(&self) -> usize {
        self.updates.len()
    }

    /// What a poll is told, with what the dice say.
    pub(super) fn batch(&mut self, limit: usize) -> Vec<Value> {
        let mut batch: Vec<Value> =
            self.updates.iter().take(limit).map(|(_, update)| update.clone()).collect();
        if batch.is_empty() {
            return batch;
        }
        if self.faults.repeats() {
            let among = self.last_confirmed.iter().chain(&batch).cloned().collect::<Vec<_>>();
            batch.extend(self.faults.dice.pick(&among).cloned());
            self.faults.count("repeated update");
        }
        if batch.len() > 1 && self.faults.shuffles() {
            for last in (1..batch.len()).rev() {
                let other = self.faults.dice.below(last as u64 + 1);
                batch.swap(last, usize::try_from(other).unwrap_or(0));
            }
            self.faults.count("shuffled batch");
        }
        batch
    }

    /// A message of anybody in a chat, as it is quoted in an answer.
    pub(super) fn quoted(&self, chat: i64, message: i64) -> Option<Value> {
        if let Some(index) = self.sent_at.get(&(chat, message)) {
            return Some(self.sent_json(&self.sent[*index]));
        }
        let mut quoted = self.chats.get(&chat)?.said.get(&message)?.clone();
        quoted.as_object_mut()?.remove("reply_to_message");
        Some(quoted)
    }

    pub(super) fn sent_json(&self, sent: &Sent) -> Value {
        let chat = self.chats.get(&sent.chat).map(|chat| chat.json(sent.chat));
        let mut message = json!({
            "message_id": sent.id, "date": date(sent.id), "chat": chat, "from": self.me(),
        });
        match &sent.file {
            None => message["text"] = sent.shown().into(),
            Some(file) => {
                message["caption"] = sent.shown().into();
                message[&file.kind] = match file.kind.as_str() {
                    "photo" => json!([{ "file_id": "sent", "width": 1, "height": 1 }]),
                    _ => json!({ "file_id": "sent", "file_name": file.name, "mime_type": file.media_type }),
                };
            }
        }
        if let Some(topic) = sent.topic {
            message["message_thread_id"] = topic.into();
            message["is_topic_message"] = true.into();
        }
        message
    }
}

/// A time that looks like one.
pub(super) fn date(number: i64) -> i64 {
    1_790_000_000 + number
}
