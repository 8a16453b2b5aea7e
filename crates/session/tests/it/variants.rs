//! The serialized variants of every enum in entries and states. A new variant requires a new `SHAPE`, because a page
//! that does not know the variant must not fold states with it.

use serde_json::json;
use session::{
    CallState, CallStatus, CommitOutcome, DeliveryOutcome, Event, Flag, InterruptReason, Need, Piece,
    PostMode, Recovery, RecoveryOutcome, RequestPurpose, RetryReason, Run, RunCause, RunEnd, Title,
};

macro_rules! every_variant {
    ($($type:ident: $($variant:ident),+;)+) => {
        /// The enums and their variants; a new variant does not compile until it is listed here.
        fn listed() -> Vec<(&'static str, Vec<&'static str>)> {
            $(let _: fn($type) = |value| match value { $($type::$variant { .. } => {})+ };)+
            vec![$((stringify!($type), vec![$(stringify!($variant)),+])),+]
        }
    };
}

every_variant! {
    Event: SessionCreated, SessionBranched, SessionRenamed, TitleGenerated, FlagSet, TagsSet, ProjectSet, IdAdded, IdRemoved,
        MessagePosted, QueuedEdited, QueuedRemoved, QueuePaused, QueueResumed, MessageSteered, MessageEdited, TurnsUndone,
        TurnsPutBack, SessionCleared, AnswerChosen, RunStarted, StepStarted, TextAdded, ReasoningAdded, CallDrafted,
        CallAsked, CallFinished, UsageReported, ProviderPartAdded, RetryScheduled, RequestBilled, RunEnded, RecoveryAttempted, RecoverySettled, ContextCompacted,
        EntriesSetAside, ResumeMarked, ResumeCleared, MemoryOwnerSet, MemoryReassigned, MemoryCommitStarted,
        MemoryCommitAccepted, MemoryCommitEnded, DeliveryOwed, DeliveryAttempted, DeliveryUnsent, PartDelivered,
        ChatNotified, DeliveryEnded, Unknown;
    PostMode: Queue, Steer, Interrupt, Other;
    RunCause: Message, Retry, Continue, Resume, Other;
    RunEnd: Completed, Stopped, Failed, OutputLimit, Interrupted, Other;
    InterruptReason: Crash, ShutdownTimeout, RestartTimeout, SpoolFull, LostNode, Other;
    RecoveryOutcome: Recovered, Neutral, Other;
    CommitOutcome: Done, Failed, Other;
    CallStatus: Ok, Error, Other;
    RequestPurpose: Title, Summary, Other;
    RetryReason: RateLimit, Overloaded, Network, Silent, Cut, Other;
    Flag: Pinned, Archived, Trashed, Other;
    DeliveryOutcome: Delivered, Doubtful, Refused, Withdrawn, Other;
    Need: Failed, Interrupted;
    Title: Person, Generated, Provisional;
    Piece: Text, Reasoning, Call, Steered;
    CallState: Drafted, Asked, Finished;
    Recovery: None, Recovering, Recovered, Neutral;
}

/// The enums and their variants as they are written, without what stands for those of newer versions.
pub(crate) fn variants() -> Vec<(&'static str, Vec<String>)> {
    let written = listed().into_iter().map(|(name, variants)| {
        let known = variants.into_iter().filter(|variant| !["Other", "Unknown"].contains(variant));
        (name, known.map(snake_case).collect())
    });
    written.chain([("TagState", tag_states())]).collect()
}

/// The variants of an enum that is private, as its own reader lists them.
fn tag_states() -> Vec<String> {
    let error = serde_json::from_value::<Run>(json!({ "tags": "no such variant" })).expect_err("not a run");
    let error = error.to_string();
    let names = error.split_once("expected one of ").expect("the reader lists what it knows").1;
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn snake_case(name: &str) -> String {
    let mut written = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !written.is_empty() {
            written.push('_');
        }
        written.extend(letter.to_lowercase());
    }
    written
}
