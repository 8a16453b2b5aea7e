//! The types of the API: mirrors of what happens inside, so that the inside can change and the API stays.

use serde::{Deserialize, Serialize};
use session::{Attachment, BlobHash, Message, PostMode};
use utoipa::ToSchema;
use uuid::Uuid;

/// A file attached to a message.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachmentBody {
    pub(crate) name: String,
    pub(crate) media_type: String,
    /// The `blob` that `POST /attachments` returned.
    pub(crate) blob: String,
    pub(crate) size_bytes: u64,
}

/// A user's message.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageBody {
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) attachments: Vec<AttachmentBody>,
    /// The model to use, by its name in `GET /models`. If omitted, the project's model or the default model.
    #[serde(default)]
    pub(crate) model: Option<String>,
}

impl From<MessageBody> for Message {
    fn from(body: MessageBody) -> Self {
        let attachments = body.attachments.into_iter().map(|file| Attachment {
            name: file.name,
            media_type: file.media_type,
            blob: BlobHash(file.blob),
            size_bytes: file.size_bytes,
        });
        Self {
            text: body.text,
            attachments: attachments.collect(),
            model: body.model,
            device: None,
            from: None,
        }
    }
}

/// How a message is handled while a run is active.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Wait for the run to end.
    #[default]
    Queue,
    /// Enter the run when its current step ends; wait if the run ends first.
    Steer,
    /// Stop the run, then go first.
    Interrupt,
}

impl From<Mode> for PostMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Queue => Self::Queue,
            Mode::Steer => Self::Steer,
            Mode::Interrupt => Self::Interrupt,
        }
    }
}

/// A message to post.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct PostBody {
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) attachments: Vec<AttachmentBody>,
    /// The model to use, by its name in `GET /models`. If omitted, the project's model or the default model.
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) mode: Mode,
}

/// Acknowledges a durable change.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Kept {
    /// The sequence number of the log's last entry after the change.
    pub(crate) seq: u64,
    /// The turn that the change created or affected.
    pub(crate) turn: Option<u64>,
    /// The run that the change started.
    pub(crate) run: Option<u64>,
}

impl From<hub::Acknowledged> for Kept {
    fn from(acknowledged: hub::Acknowledged) -> Self {
        Self {
            seq: acknowledged.seq.0,
            turn: acknowledged.turn.map(|turn| turn.0),
            run: acknowledged.run.map(|run| run.0),
        }
    }
}

/// A row in the list of sessions. Times are in microseconds since 1970.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Line {
    pub(crate) session: Uuid,
    pub(crate) title: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) active_at: i64,
    /// The active run.
    pub(crate) run: Option<u64>,
    /// Why the newest turn needs the user's attention; null if it doesn't.
    pub(crate) needs: Option<session::Need>,
    pub(crate) pinned: bool,
    pub(crate) archived: bool,
    pub(crate) trashed: bool,
    /// When the session was moved to the trash.
    pub(crate) trashed_at: Option<i64>,
    pub(crate) tags: Vec<String>,
    /// The session's project.
    pub(crate) project: Option<Uuid>,
    /// In a feed, the sequence number the row reflects. Of two rows for a session, the one with the higher number is
    /// newer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
}

impl From<hub::ListRow> for Line {
    fn from(row: hub::ListRow) -> Self {
        Self {
            session: row.session.0,
            title: row.title,
            created_at: row.created_at.0,
            active_at: row.active_at.0,
            run: row.run.map(|run| run.0),
            needs: row.needs,
            pinned: row.pinned,
            archived: row.archived,
            trashed: row.trashed,
            trashed_at: row.trashed_at.map(|time| time.0),
            tags: row.tags,
            project: row.project.map(|project| project.0),
            seq: None,
        }
    }
}

impl From<&hub::Line> for Line {
    fn from(line: &hub::Line) -> Self {
        Self {
            session: line.session.0,
            title: line.title.clone(),
            created_at: line.created_at.0,
            active_at: line.active_at.0,
            run: line.run.map(|run| run.0),
            needs: line.needs,
            pinned: line.pinned,
            archived: line.archived,
            trashed: line.trashed,
            trashed_at: line.trashed_at.map(|time| time.0),
            tags: line.tags.clone(),
            project: line.project.map(|project| project.0),
            seq: Some(line.seq.0),
        }
    }
}

/// A session's state at `seq`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionBody {
    pub(crate) session: Uuid,
    /// The state: title, turns with their answers and markers, queued messages, and the active run.
    #[serde(flatten)]
    pub(crate) view: session::View,
}

/// An entry of a session's log.
#[derive(Debug, Serialize)]
pub(crate) struct EntryBody<'a> {
    pub(crate) seq: u64,
    pub(crate) time: i64,
    pub(crate) event: EventBody<'a>,
}

/// An event. One of an unknown kind is passed through as it is stored: a reader may know it, or skip it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum EventBody<'a> {
    Known(&'a session::Event),
    Kept(serde_json::Value),
}

impl<'a> From<&'a session::Entry> for EntryBody<'a> {
    fn from(entry: &'a session::Entry) -> Self {
        let event = match &entry.event {
            session::Event::Unknown { .. } => {
                EventBody::Kept(serde_json::from_str(&entry.body).unwrap_or_default())
            }
            event => EventBody::Known(event),
        };
        Self { seq: entry.seq.0, time: entry.time.0, event }
    }
}

#[cfg(test)]
mod tests {
    use session::{Entry, Epoch, Link, Seq, Time};

    use super::EntryBody;

    #[test]
    fn an_entry_of_an_unknown_kind_is_told_as_it_stands() {
        let body = r#"{ "weather_changed" : {"to":"föhn"} }"#;
        let entry = Entry::open(&Link::START, Seq(1), Time(5), Epoch(1), body, None).unwrap();
        let told = serde_json::to_string(&EntryBody::from(&entry)).unwrap();
        assert_eq!(told, r#"{"seq":1,"time":5,"event":{"weather_changed":{"to":"föhn"}}}"#);
    }
}
