//! A session as a file that stands by itself: for programs as JSON, for people as Markdown or one page of HTML. Each is
//! written turn by turn, so that the length of a session does not matter.

#[cfg(test)]
mod continued;
mod html;
mod json;
mod markdown;

use hub::{Transcript, TranscriptTurn};
use session::{Joined, QueuedView, Run, SessionId, Time};

/// The version of the JSON shape. It rises when a reader of the one before could misunderstand.
pub(crate) const VERSION: u32 = 1;
/// Characters of a title in the name of a file.
const NAME_CHARS_MAX: usize = 60;

/// Notes behind an answer: where it was interrupted and continued, and why it is not complete.
fn notes(runs: &[Run], joined: &Joined) -> Vec<String> {
    let continued = joined.interruptions.iter().map(|cut| {
        let at = readable(cut.marker.at);
        format!("{} ({at}, continued)", cut.marker.text)
    });
    let last = runs.last().and_then(session::marker).map(|marker| marker.text);
    continued.chain(last).collect()
}

/// How a session is written down.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, clap::ValueEnum, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    #[default]
    Json,
    Markdown,
    Html,
}

impl Format {
    /// How it is asked for.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }

    /// How the name of a file ends.
    fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// What comes before the turns.
    fn head(self, head: &Head) -> String {
        match self {
            Self::Json => json::head(head),
            Self::Markdown => markdown::head(head),
            Self::Html => html::head(head),
        }
    }

    fn turn(self, turn: &TranscriptTurn, is_first: bool) -> String {
        match self {
            Self::Json => json::turn(turn, is_first),
            Self::Markdown => markdown::turn(turn),
            Self::Html => html::turn(turn),
        }
    }

    /// What comes after the turns.
    fn foot(self, head: &Head) -> String {
        match self {
            Self::Json => json::foot(head),
            Self::Markdown => markdown::foot(head),
            Self::Html => html::foot(head),
        }
    }
}

/// What is told of a session as a whole.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) session: SessionId,
    pub(crate) seq: u64,
    pub(crate) title: Option<String>,
    pub(crate) created_at: Time,
    pub(crate) active_at: Time,
    pub(crate) pinned: bool,
    pub(crate) archived: bool,
    pub(crate) trashed: bool,
    pub(crate) tags: Vec<String>,
    /// The project that it stands in, by name.
    pub(crate) project: Option<String>,
    /// Messages that wait.
    pub(crate) queue: Vec<QueuedView>,
}

impl Head {
    pub(crate) fn new(session: SessionId, transcript: &Transcript, project: Option<String>) -> Self {
        let view = session::view(&transcript.state);
        Self {
            session,
            seq: view.seq.0,
            title: view.title,
            created_at: view.created_at,
            active_at: view.active_at,
            pinned: view.pinned,
            archived: view.archived,
            trashed: view.trashed,
            tags: view.tags,
            project,
            queue: view.queue,
        }
    }
}

/// A session on its way into a file, piece by piece.
pub(crate) struct Export {
    format: Format,
    head: Head,
    transcript: Transcript,
    at: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Head,
    Turns { is_first: bool },
    End,
}

impl Export {
    pub(crate) fn new(format: Format, head: Head, transcript: Transcript) -> Self {
        Self { format, head, transcript, at: Place::Head }
    }

    /// The title of the session.
    pub(crate) fn title(&self) -> Option<&str> {
        self.head.title.as_deref()
    }

    /// The next piece; none after the last.
    ///
    /// # Errors
    /// When the session is gone meanwhile or cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, hub::CommandError> {
        match self.at {
            Place::Head => {
                self.at = Place::Turns { is_first: true };
                Ok(Some(self.format.head(&self.head)))
            }
            Place::Turns { is_first } => match self.transcript.next().await? {
                Some(turn) => {
                    self.at = Place::Turns { is_first: false };
                    Ok(Some(self.format.turn(&turn, is_first)))
                }
                None => {
                    self.at = Place::End;
                    Ok(Some(self.format.foot(&self.head)))
                }
            },
            Place::End => Ok(None),
        }
    }
}

/// A name for the file of a session: letters, digits and hyphens of its title, and its id. Nothing of it can leave a
/// folder or end a header.
pub(crate) fn file_name(title: Option<&str>, session: uuid::Uuid, format: Format) -> String {
    let mut name = String::new();
    for character in title.unwrap_or_default().chars() {
        match character.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
        if name.len() >= NAME_CHARS_MAX {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    let between = if name.is_empty() { "" } else { "-" };
    format!("{name}{between}{session}.{}", format.ending())
}

/// A time for people, in UTC.
fn readable(time: Time) -> String {
    let known = jiff::Timestamp::from_microsecond(time.0);
    known.map_or_else(|_| time.0.to_string(), |time| time.strftime("%F %T UTC").to_string())
}

/// Text on one line: whatever would break it is a space.
fn one_line(text: &str) -> String {
    let shown = |character: char| if session::organise::is_visible(character) { character } else { ' ' };
    text.chars().map(shown).collect()
}

/// Text without what a terminal or an editor would obey: lines and tabs stay, other control characters do not.
fn tame(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let keeps = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || turns(c));
    text.replace("\r\n", "\n").chars().map(|c| if keeps(c) { c } else { '\u{fffd}' }).collect()
}

/// What a call came to, in a word.
fn call_word(state: session::CallProgress) -> &'static str {
    match state {
        session::CallProgress::Incomplete => "incomplete",
        session::CallProgress::Running => "running",
        session::CallProgress::MayHaveRun => "may have run",
        session::CallProgress::Finished => "finished",
        session::CallProgress::Failed => "failed",
    }
}

/// Why a turn is out of sight, in a word.
fn hidden_word(by: hub::HiddenBy) -> &'static str {
    match by {
        hub::HiddenBy::Undo => "undone",
        hub::HiddenBy::Edit => "edited",
        hub::HiddenBy::Clear => "cleared",
    }
}

#[cfg(test)]
mod sample {
    //! A turn with everything in it, said by somebody who means harm.

    use super::*;
    use session::event::{CallStatus, RunCause};
    use session::{
        Attachment, BlobHash, Call, CallNo, CallState, Message, Outcome, Piece, RunEnd, RunId, TurnId,
    };

    pub(super) const EVIL: &str = "\"><script>alert(1)</script>'&\u{202e}\u{0}";

    pub(super) fn head(title: &str) -> Head {
        Head {
            session: SessionId(uuid::Uuid::nil()),
            seq: 9,
            title: Some(title.to_owned()),
            created_at: Time(0),
            active_at: Time(1_000_000),
            pinned: false,
            archived: false,
            trashed: false,
            tags: vec![title.to_owned()],
            project: Some(title.to_owned()),
            queue: Vec::new(),
        }
    }

    /// A turn whose every text is `text`.
    pub(super) fn turn(text: &str) -> TranscriptTurn {
        let attachment = Attachment {
            name: text.to_owned(),
            media_type: text.to_owned(),
            blob: BlobHash("ab".repeat(32)),
            size_bytes: 3,
        };
        let message = Message { attachments: vec![attachment], ..Message::text(text) };
        // A run is only made by a fold.
        let mut log = session::Session::default();
        let mut seal = |event| {
            let entry = session::Entry::seal(&log.link, Time(0), session::Epoch(1), event);
            session::fold(&mut log, &entry);
        };
        seal(session::Event::MessagePosted {
            message: message.clone(),
            mode: session::PostMode::Queue,
            key: None,
        });
        seal(session::Event::RunStarted { turn: TurnId(1), cause: RunCause::Message, spool: None });
        let mut turn = log.turns.pop_back().unwrap();
        let run = &mut turn.runs[0];
        run.pieces = vec![
            Piece::Reasoning(text.to_owned()),
            Piece::Text(text.to_owned()),
            Piece::Call(Call {
                no: CallNo(1),
                tool: text.to_owned(),
                arguments: text.to_owned(),
                provider_call: None,
                state: CallState::Finished(Outcome { status: CallStatus::Ok, content: text.to_owned() }),
            }),
            Piece::Steered { turn: TurnId(4), message },
        ];
        run.end = Some(RunEnd::Failed { error: text.to_owned() });
        run.ended_at = Some(Time(2));
        assert_eq!(run.id, RunId(2));
        TranscriptTurn { turn, hidden: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_stays_in_its_folder_and_on_its_line() {
        let id = uuid::Uuid::nil();
        for title in [
            "../../etc/passwd",
            "a\r\nset-cookie: x",
            "a\"; filename=\"b",
            "\0",
            ".",
            "",
            "ünïcödé/…",
            "C:\\x",
        ] {
            let name = file_name(Some(title), id, Format::Markdown);
            let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
            assert!(name.chars().all(safe) && !name.starts_with(['.', '-']), "{name}");
            assert!(name.ends_with(&format!("{id}.md")) && name.matches('.').count() == 1, "{name}");
        }
        assert_eq!(file_name(Some("Herons, Part 2!"), id, Format::Json), format!("herons-part-2-{id}.json"));
        assert!(file_name(Some(&"x".repeat(1_000)), id, Format::Json).len() < 120);
    }
}
