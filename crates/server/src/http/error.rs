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
        /// What went wrong, as a word that programs can rely on.
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
    AnotherLog = "another_log", CONFLICT, "The log has another entry there";
    AnotherUser = "another_user", CONFLICT, "Another user is signed in";
    AttachmentNotFound = "attachment_not_found", NOT_FOUND, "There is no such attachment";
    BadModel = "bad_model", UNPROCESSABLE_ENTITY, "The model cannot be used";
    BadName = "bad_name", UNPROCESSABLE_ENTITY, "The name cannot be used";
    BadPasskey = "bad_passkey", UNPROCESSABLE_ENTITY, "The passkey cannot be used";
    BadPassword = "bad_password", UNPROCESSABLE_ENTITY, "The password cannot be used";
    BadPlace = "bad_place", UNPROCESSABLE_ENTITY, "The folder cannot be used";
    BadRequest = "bad_request", BAD_REQUEST, "The request cannot be read";
    BadSetting = "bad_setting", UNPROCESSABLE_ENTITY, "The setting cannot be used";
    BadTag = "bad_tag", UNPROCESSABLE_ENTITY, "The tag cannot be used";
    BadTitle = "bad_title", UNPROCESSABLE_ENTITY, "The title cannot be used";
    BeyondEnd = "beyond_end", CONFLICT, "There is no such entry yet";
    Busy = "busy", CONFLICT, "A task is going on";
    CeremonyOver = "ceremony_over", GONE, "It must be begun again";
    Damaged = "damaged", INTERNAL_SERVER_ERROR, "The session's log is damaged";
    Doubtful = "doubtful", SERVICE_UNAVAILABLE, "It is not known whether it was kept";
    DraftChanged = "draft_changed", CONFLICT, "The draft was changed elsewhere";
    EmptyMessage = "empty_message", UNPROCESSABLE_ENTITY, "A message needs text or an attachment";
    Forbidden = "forbidden", FORBIDDEN, "You may not do that";
    ForeignHost = "foreign_host", MISDIRECTED_REQUEST, "This server does not go by that name";
    ForeignOrigin = "foreign_origin", FORBIDDEN, "The request comes from another site";
    Internal = "internal", INTERNAL_SERVER_ERROR, "The server failed";
    KeyReused = "key_reused", UNPROCESSABLE_ENTITY, "The key was used for another request";
    LastOwner = "last_owner", CONFLICT, "An owner must stay";
    MessageTooLong = "message_too_long", PAYLOAD_TOO_LARGE, "The message is too long";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "This cannot be done here";
    Moved = "moved", SERVICE_UNAVAILABLE, "Another node writes the session";
    NameTaken = "name_taken", CONFLICT, "The name is taken";
    NoPasskeysHere = "no_passkeys_here", CONFLICT, "Passkeys do not work at this address";
    NoSuchAnswer = "no_such_answer", NOT_FOUND, "The turn has no such answer";
    NoSuchRoute = "no_such_route", NOT_FOUND, "There is nothing here";
    NoSuchThing = "no_such_thing", NOT_FOUND, "There is nothing by that id";
    NoSuchTurn = "no_such_turn", NOT_FOUND, "There is no such turn";
    NotAuthorised = "not_authorised", UNAUTHORIZED, "A login or a token is needed";
    NotQueued = "not_queued", CONFLICT, "No such message is waiting";
    NotReady = "not_ready", SERVICE_UNAVAILABLE, "The server is starting or stopping";
    NotScratch = "not_scratch", CONFLICT, "The session is not one to break";
    NothingToCompact = "nothing_to_compact", CONFLICT, "There is nothing to compact";
    NothingToContinue = "nothing_to_continue", CONFLICT, "There is nothing to continue";
    NothingToPutBack = "nothing_to_put_back", CONFLICT, "There is nothing to put back";
    NothingToRetry = "nothing_to_retry", CONFLICT, "There is no turn to answer again";
    NothingToUndo = "nothing_to_undo", CONFLICT, "There is nothing to take back";
    OnPostgres = "on_postgres", CONFLICT, "Sessions are on PostgreSQL";
    ProjectNotFound = "project_not_found", NOT_FOUND, "There is no such project";
    QueueFull = "queue_full", CONFLICT, "The queue is full";
    RunsHeld = "runs_held", SERVICE_UNAVAILABLE, "No run starts at the moment";
    SessionExists = "session_exists", CONFLICT, "The id is in use";
    SessionNotFound = "session_not_found", NOT_FOUND, "There is no such session";
    SetInEnvironment = "set_in_environment", CONFLICT, "It is set in the environment of the server";
    SetInFile = "set_in_file", CONFLICT, "It is set in the file of the configuration";
    TooLarge = "too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    TooMany = "too_many", TOO_MANY_REQUESTS, "That is too often or too many";
    TooManyAttachments = "too_many_attachments", UNPROCESSABLE_ENTITY, "Too many attachments";
    TooManyIds = "too_many_ids", CONFLICT, "The session has too many ids";
    TooManyModels = "too_many_models", CONFLICT, "There are too many models";
    TooManyProjects = "too_many_projects", CONFLICT, "There are too many projects";
    TooManyTags = "too_many_tags", UNPROCESSABLE_ENTITY, "The session has too many tags";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Nothing was kept";
    UploadNotFound = "upload_not_found", NOT_FOUND, "There is no such upload";
    WrongOffset = "wrong_offset", CONFLICT, "The upload goes on elsewhere";
}

/// An error in the form of RFC 9457: what happened, what was kept, what to do next.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Names the kind of problem.
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    code: ErrorCode,
    /// What happened, for a person.
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
            detail: detail.into(),
            wait_seconds: (code.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        }
    }

    /// The same, with a time before which asking again is in vain.
    pub(crate) fn after(mut self, wait: std::time::Duration) -> Self {
        self.wait_seconds = Some(wait.as_secs() + 1);
        self
    }
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
                let next = "Ask again with the same Idempotency-Key: it is kept once, or not yet.";
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
            PeopleError::UnknownUser => Self::new(ErrorCode::NoSuchThing, "There is no such user."),
            PeopleError::TooManyProjects => Self::new(ErrorCode::TooManyProjects, detail),
            PeopleError::TooManyPasskeys => Self::new(ErrorCode::TooMany, detail),
            PeopleError::PasskeyKnown => Self::new(ErrorCode::BadPasskey, detail),
            PeopleError::UnknownPasskey => Self::new(ErrorCode::NoSuchThing, "There is no such passkey."),
            PeopleError::IdentityKnown => Self::new(ErrorCode::NameTaken, detail),
            PeopleError::TooManyModels => Self::new(ErrorCode::TooManyModels, detail),
            PeopleError::LastOwner => Self::new(ErrorCode::LastOwner, detail),
            PeopleError::Newer { .. }
            | PeopleError::Foreign
            | PeopleError::Uploads(_)
            | PeopleError::Closed
            | PeopleError::Directory(_)
            | PeopleError::File(_) => {
                tracing::error!(%error, "the file of people cannot be used");
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
                tracing::error!(%error, "a passkey cannot be read");
                Self::new(ErrorCode::Unavailable, "The passkey could not be looked at; try again.")
            }
            PasskeyError::People(error) => error.into(),
        }
    }
}

impl From<getrandom::Error> for Problem {
    fn from(error: getrandom::Error) -> Self {
        Self::new(ErrorCode::Unavailable, format!("The system has no randomness for a secret: {error}."))
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
}
