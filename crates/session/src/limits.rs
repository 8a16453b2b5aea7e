//! Every bound of a session's state and of what may be asked, named in one place.

/// Visible turns whose content stays in the state; older ones come by page. Undo, edit and retry reach this far.
pub const TURNS_IN_STATE_MAX: usize = 64;

/// Bytes of finished turns that stay in the state. A model's window rarely holds more than a megabyte of text, and
/// a writer for an idle-ish session should stay small; the newest turn stays whatever its size. Kept whenever a run
/// starts or turns are put back.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Messages that may wait behind a run. More is a mistake of a client, not a person's wish.
pub const QUEUE_MAX: usize = 100;

/// Mebibytes of text in a queue, bounded because every reader of the session receives all of it.
pub const QUEUE_MIB_MAX: usize = 8;

/// Undo steps that can be put back. The turns of all but the latest step have a bound of [`STATE_BYTES_MAX`] of their own;
/// turns beyond it stay only in the log.
pub const UNDONE_MAX: usize = 16;

/// Ids that lead to one session.
pub const SESSION_IDS_MAX: usize = 16;

/// Answers of one turn beyond which the state lets the oldest alternatives go. The answer that is shown is never cut.
pub const ANSWERS_PER_TURN_MAX: usize = 32;

/// Bytes of one turn beyond which the state lets the oldest alternatives go, and what a run counts besides its content.
pub const TURN_BYTES_MAX: usize = 1024 * 1024;
pub const RUN_BYTES: usize = 256;

/// Runs of one answer, more than anyone continues by hand. An answer with as many is neither continued nor resumed.
pub const RUNS_PER_ANSWER_MAX: usize = 1_000;

/// Bytes of a title.
pub const TITLE_BYTES_MAX: usize = 512;

/// Characters of a provisional title, and where it may be cut between words.
pub const PROVISIONAL_TITLE_CHARS_MAX: usize = 60;
pub const PROVISIONAL_TITLE_CHARS_MIN: usize = 40;

/// Tags on one session. More do not help to find it again.
pub const TAGS_MAX: usize = 20;

/// Characters of a tag: it is shown whole in a line of the list.
pub const TAG_CHARS_MAX: usize = 40;

/// Bytes of one message: its text, and the names of its model and its files.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Attachments on one message.
pub const ATTACHMENTS_MAX: usize = 32;

/// Reads that may find a sealed, empty journal before its marker settles.
pub const RECOVERY_ATTEMPTS_MAX: u32 = 12;

/// Age at which a marker settles without another look at the journal: 24 hours.
pub const RECOVERY_GIVE_UP_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// Interruptions without output between them, after which a run no longer resumes by itself and a chat is suspended.
pub const INTERRUPTED_IN_A_ROW_MAX: u32 = 3;

/// Age of its newest output beyond which an interrupted run waits for the user, unless the settings say otherwise: one hour.
pub const RESUME_WITHIN_MICROS: i64 = 3_600 * 1_000_000;

/// Looks at a readable but unused journal before its marker settles: the log has everything.
pub const RECOVERY_UNUSED_LOOKS: u32 = 2;

/// Ended deliveries that stay in the state, to be shown and for an answer that goes on.
pub const DELIVERIES_ENDED_MAX: usize = 16;

/// Bytes of a prompt, before a provider's own count: a hard cap that no history can pass.
pub const PROMPT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes of one call's result that a model is shown.
pub const PROMPT_RESULT_BYTES_MAX: usize = 64 * 1024;

/// The number of first turns after which a model is asked for a missing title. Later turns do not ask again.
pub const TITLE_TURNS_MAX: u64 = 2;

/// The most requests for a title in one session.
pub const TITLE_REQUESTS_MAX: u32 = 2;
