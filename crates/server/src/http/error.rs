//! Every error that the API can answer, in one list: its code, status and words are chosen here and nowhere else.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hub::{CommandError, FollowError, StoreError};
use serde::Serialize;
use session::Rejected;
use store::people::PeopleError;
use utoipa::ToSchema;

use crate::passkeys::PasskeyError;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:ident, $title:literal;)*) => {
        /// A stable, machine-readable error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            /// All of them, in alphabetical order.
            #[cfg(test)]
            const ALL: &[(Self, &str)] = &[$((Self::$name, $text),)*];

            fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

error_codes! {
    AnotherLog = "another_log", CONFLICT, "The log has diverged";
    AnotherUser = "another_user", CONFLICT, "Signed in as another user";
    AttachmentNotFound = "attachment_not_found", NOT_FOUND, "Attachment not found";
    BadModel = "bad_model", UNPROCESSABLE_ENTITY, "Invalid model";
    BadName = "bad_name", UNPROCESSABLE_ENTITY, "Invalid name";
    BadPasskey = "bad_passkey", UNPROCESSABLE_ENTITY, "Invalid passkey";
    BadPassword = "bad_password", UNPROCESSABLE_ENTITY, "Invalid password";
    BadPlace = "bad_place", UNPROCESSABLE_ENTITY, "Invalid folder";
    BadRequest = "bad_request", BAD_REQUEST, "Invalid request";
    BadSetting = "bad_setting", UNPROCESSABLE_ENTITY, "Invalid setting";
    BadTag = "bad_tag", UNPROCESSABLE_ENTITY, "Invalid tag";
    BadTitle = "bad_title", UNPROCESSABLE_ENTITY, "Invalid title";
    BeyondEnd = "beyond_end", CONFLICT, "The log ends before this entry";
    Busy = "busy", CONFLICT, "Another task is running";
    CeremonyOver = "ceremony_over", GONE, "Challenge expired";
    Damaged = "damaged", INTERNAL_SERVER_ERROR, "Session log damaged";
    Doubtful = "doubtful", SERVICE_UNAVAILABLE, "Outcome unknown";
    DraftChanged = "draft_changed", CONFLICT, "Draft changed on another device";
    EmptyMessage = "empty_message", UNPROCESSABLE_ENTITY, "Empty message";
    Forbidden = "forbidden", FORBIDDEN, "Permission denied";
    ForeignHost = "foreign_host", MISDIRECTED_REQUEST, "Unknown host name";
    ForeignOrigin = "foreign_origin", FORBIDDEN, "Cross-site request rejected";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal server error";
    KeyReused = "key_reused", UNPROCESSABLE_ENTITY, "Idempotency key already used";
    LastOwner = "last_owner", CONFLICT, "At least one owner is required";
    MessageTooLong = "message_too_long", PAYLOAD_TOO_LARGE, "Message too long";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    Moved = "moved", SERVICE_UNAVAILABLE, "Session moved to another node";
    NameTaken = "name_taken", CONFLICT, "Name already taken";
    NoPasskeysHere = "no_passkeys_here", CONFLICT, "Passkeys unavailable at this address";
    NoSuchAnswer = "no_such_answer", NOT_FOUND, "Answer not found";
    NoSuchRoute = "no_such_route", NOT_FOUND, "Page or endpoint not found";
    NoSuchThing = "no_such_thing", NOT_FOUND, "Not found";
    NoSuchTurn = "no_such_turn", NOT_FOUND, "Turn not found";
    NotAuthorised = "not_authorised", UNAUTHORIZED, "Authentication required";
    NotQueued = "not_queued", CONFLICT, "Queued message not found";
    NotReady = "not_ready", SERVICE_UNAVAILABLE, "Server not ready";
    NotScratch = "not_scratch", CONFLICT, "Not a scratch session";
    NothingToCompact = "nothing_to_compact", CONFLICT, "Nothing to compact";
    NothingToContinue = "nothing_to_continue", CONFLICT, "Nothing to continue";
    NothingToPutBack = "nothing_to_put_back", CONFLICT, "Nothing to redo";
    NothingToRetry = "nothing_to_retry", CONFLICT, "Nothing to retry";
    NothingToUndo = "nothing_to_undo", CONFLICT, "Nothing to undo";
    OnPostgres = "on_postgres", CONFLICT, "Not available with PostgreSQL";
    ProjectNotFound = "project_not_found", NOT_FOUND, "Project not found";
    QueueFull = "queue_full", CONFLICT, "Queue full";
    RunsHeld = "runs_held", SERVICE_UNAVAILABLE, "New runs are paused";
    SessionExists = "session_exists", CONFLICT, "Session ID already in use";
    SessionNotFound = "session_not_found", NOT_FOUND, "Session not found";
    SetInEnvironment = "set_in_environment", CONFLICT, "Set by an environment variable";
    SetInFile = "set_in_file", CONFLICT, "Set in the configuration file";
    TooLarge = "too_large", PAYLOAD_TOO_LARGE, "Content too large";
    TooMany = "too_many", TOO_MANY_REQUESTS, "Limit exceeded";
    TooManyAttachments = "too_many_attachments", UNPROCESSABLE_ENTITY, "Too many attachments";
    TooManyIds = "too_many_ids", CONFLICT, "Too many session IDs";
    TooManyModels = "too_many_models", CONFLICT, "Too many models";
    TooManyProjects = "too_many_projects", CONFLICT, "Too many projects";
    TooManyTags = "too_many_tags", UNPROCESSABLE_ENTITY, "Too many tags";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Temporarily unavailable";
    UploadNotFound = "upload_not_found", NOT_FOUND, "Upload not found";
    WrongOffset = "wrong_offset", CONFLICT, "Wrong upload offset";
}

/// An error as RFC 9457 problem details.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// A URL that identifies the kind of error.
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    code: ErrorCode,
    /// A human-readable explanation of what happened and what to do next.
    detail: String,
    /// Seconds to wait before the next try.
    #[serde(skip)]
    wait_seconds: Option<u64>,
}

impl Problem {
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("/api/v1/reference#{}", code.text()),
            title: code.title(),
            status: code.status().as_u16(),
            code,
            detail: sentence(detail.into()),
            wait_seconds: (code.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        }
    }

    /// Adds the time to wait before a retry.
    pub(crate) fn after(mut self, wait: std::time::Duration) -> Self {
        self.wait_seconds = Some(wait.as_secs() + 1);
        self
    }
}

/// Turns the text of an error, which is lower-case and has no period, into a sentence. Names in backticks stay as they are.
fn sentence(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if text.ends_with(|last: char| !last.is_ascii_punctuation() || "`)\"'".contains(last)) {
        text.push('.');
    }
    text
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (code, wait) = (self.code, self.wait_seconds);
        let mut response = (code.status(), Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if code == ErrorCode::NotAuthorised {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        let detail = error.to_string();
        let code = match error {
            // A session that was deleted is as unknown as one that never was.
            CommandError::Unknown(session) | CommandError::Deleted(session) => {
                return Self::new(ErrorCode::SessionNotFound, format!("There is no session {session}."));
            }
            CommandError::Exists(_) => ErrorCode::SessionExists,
            CommandError::Rejected(rejected) => of_rejected(rejected),
            CommandError::KeyReused => ErrorCode::KeyReused,
            CommandError::AttachmentMissing(_) => ErrorCode::AttachmentNotFound,
            CommandError::Unavailable { .. } | CommandError::Retired => ErrorCode::Unavailable,
            CommandError::Doubtful { .. } => {
                let next = "Retry with the same Idempotency-Key; the request is applied at most once.";
                return Self::new(ErrorCode::Doubtful, format!("{detail}. {next}"));
            }
            CommandError::Moved => ErrorCode::Moved,
            CommandError::Damaged { .. } => ErrorCode::Damaged,
        };
        Self::new(code, detail)
    }
}

impl From<FollowError> for Problem {
    fn from(error: FollowError) -> Self {
        let detail = error.to_string();
        match error {
            FollowError::Command(error) => error.into(),
            FollowError::AnotherLog { .. } => Self::new(ErrorCode::AnotherLog, detail),
            FollowError::BeyondEnd { .. } => Self::new(ErrorCode::BeyondEnd, detail),
            FollowError::CutOff { .. } | FollowError::Ended { .. } => {
                Self::new(ErrorCode::Unavailable, detail)
            }
        }
    }
}

impl From<PeopleError> for Problem {
    fn from(error: PeopleError) -> Self {
        let detail = error.to_string();
        match error {
            PeopleError::NameTaken => Self::new(ErrorCode::NameTaken, detail),
            PeopleError::UnknownUser => Self::new(ErrorCode::NoSuchThing, "User not found."),
            PeopleError::TooManyProjects => Self::new(ErrorCode::TooManyProjects, detail),
            PeopleError::TooManyPasskeys => Self::new(ErrorCode::TooMany, detail),
            PeopleError::PasskeyKnown => Self::new(ErrorCode::BadPasskey, detail),
            PeopleError::UnknownPasskey => Self::new(ErrorCode::NoSuchThing, "Passkey not found."),
            PeopleError::IdentityKnown => Self::new(ErrorCode::NameTaken, detail),
            PeopleError::TooManyModels => Self::new(ErrorCode::TooManyModels, detail),
            PeopleError::LastOwner => Self::new(ErrorCode::LastOwner, detail),
            PeopleError::Newer { .. }
            | PeopleError::Foreign
            | PeopleError::Uploads(_)
            | PeopleError::Closed
            | PeopleError::Directory(_)
            | PeopleError::File(_) => {
                tracing::error!(%error, "user database unavailable");
                Self::new(
                    ErrorCode::Unavailable,
                    "The user database is unavailable right now. Try again later.",
                )
            }
        }
    }
}

impl From<PasskeyError> for Problem {
    fn from(error: PasskeyError) -> Self {
        let detail = error.to_string();
        match error {
            PasskeyError::NoName => Self::new(ErrorCode::NoPasskeysHere, detail),
            PasskeyError::Over => Self::new(ErrorCode::CeremonyOver, detail),
            PasskeyError::Wrong(_) | PasskeyError::Unknown => Self::new(ErrorCode::BadPasskey, detail),
            PasskeyError::Unreadable(_) => {
                tracing::error!(%error, "failed to decode passkey");
                Self::new(ErrorCode::Unavailable, "The passkey couldn't be checked. Try again.")
            }
            PasskeyError::People(error) => error.into(),
        }
    }
}

impl From<getrandom::Error> for Problem {
    fn from(error: getrandom::Error) -> Self {
        Self::new(
            ErrorCode::Unavailable,
            format!("The operating system's random number generator failed: {error}."),
        )
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(ErrorCode::Unavailable, error.to_string())
    }
}

fn of_rejected(rejected: Rejected) -> ErrorCode {
    match rejected {
        Rejected::Exists => ErrorCode::SessionExists,
        Rejected::EmptyMessage => ErrorCode::EmptyMessage,
        Rejected::MessageTooLong => ErrorCode::MessageTooLong,
        Rejected::TooManyAttachments => ErrorCode::TooManyAttachments,
        Rejected::QueueFull => ErrorCode::QueueFull,
        Rejected::NotQueued => ErrorCode::NotQueued,
        Rejected::NoSuchTurn => ErrorCode::NoSuchTurn,
        Rejected::NoSuchAnswer => ErrorCode::NoSuchAnswer,
        Rejected::NothingToUndo => ErrorCode::NothingToUndo,
        Rejected::NothingToPutBack => ErrorCode::NothingToPutBack,
        Rejected::NothingToRetry => ErrorCode::NothingToRetry,
        Rejected::NothingToContinue | Rejected::RunOver => ErrorCode::NothingToContinue,
        Rejected::BadTitle => ErrorCode::BadTitle,
        Rejected::BadTag => ErrorCode::BadTag,
        Rejected::TooManyTags => ErrorCode::TooManyTags,
        Rejected::TooManyIds => ErrorCode::TooManyIds,
        Rejected::NoSuchId | Rejected::LastId | Rejected::NotMarked | Rejected::NotOwed => {
            ErrorCode::BadRequest
        }
        Rejected::RunsHeld => ErrorCode::RunsHeld,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_say_their_own_name() {
        let texts: Vec<&str> = ErrorCode::ALL.iter().map(|(_, text)| *text).collect();
        assert!(texts.is_sorted());
        for (code, text) in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).ok(), Some(serde_json::Value::from(*text)));
        }
    }

    #[test]
    fn details_are_sentences() {
        for (text, expected) in [
            ("the queue is full", "The queue is full."),
            ("Already a sentence.", "Already a sentence."),
            ("`trash_days` is too large", "`trash_days` is too large."),
            ("try again (in 5 s)", "Try again (in 5 s)."),
            ("éclair", "éclair."),
            ("", ""),
        ] {
            assert_eq!(sentence(text.to_owned()), expected);
        }
    }
}
