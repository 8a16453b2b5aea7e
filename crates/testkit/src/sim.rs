//! Many small worlds: the shipped hub (writer, follower, claim, spool, committer) on one thread in virtual time, with
//! everything around it drawn from a seed. A world is troubled for a while, then left in peace; what the invariants
//! say must hold in both, and in peace everything must come to its end.
//!
//! | file | question |
//! | --- | --- |
//! | `world.rs` | what is there, and what was promised so far? |
//! | `line.rs` | how does the store answer, and when does it not? |
//! | `slots.rs` | what does a disk keep of the journals? |
//! | `provider.rs` | what does the agent bring? |
//! | `memory.rs` | what does the memory provider take? |
//! | `client.rs` | what do people ask, and what do they check? |
//! | `chat.rs` | what is written in chats, and what is left on them? |
//! | `reader.rs` | what is shown? |
//! | `trouble.rs` | what goes wrong, and when? |
//! | `resume.rs` | does what was interrupted resume? |
//! | `check.rs` | what must hold at the end? |
//! | `seeds.rs` | which worlds were broken once? |

mod chat;
mod check;
mod client;
mod line;
mod memory;
mod provider;
mod reader;
mod resume;
#[cfg(test)]
mod seeds;
pub(crate) mod slots;
mod trouble;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use world::World;

/// Mutants with a rule that the simulation must find too. It also finds [`fault::FOUND_BY_SIMULATION`].
pub const HUNTED: &[&str] = &[
    "missing_journal_is_unused",
    "heal_reverses_output",
    "spool_flushed_twice",
    "missing_journal_costs_attempt",
    "sealed_empty_never_settles",
    "stop_drops_gathered",
    "stop_drops_reasoning",
    "stop_ends_twice",
    "stop_drops_calls",
    "stop_invents_answer",
    "failure_drops_attachments",
    "failure_loses_message",
    "no_repair",
    "no_fence",
    "no_key",
    "interruption_loses_queue",
    "half_call_is_dropped",
    "end_leaves_list",
    "flush_waits_for_end",
    "quiet_run_writes",
    "answer_before_append",
    "two_writers",
    "end_overtakes_output",
    "silent_end_completes",
    "panic_leaves_run_open",
    "refused_command_ends_run",
    "unknown_id_creates",
    "title_overwrites_name",
    "operation_in_two_appends",
    "resume_off_by_one",
    "deleted_id_leads_on",
    "commit_clears_newer_generation",
    "failed_commit_forgets_owner",
    "replacement_takes_over",
    "named_owner_takes_over",
    "clean_session_commits",
    "unregistering_drops_debt",
    "every_turn_is_owed",
    "offered_segment_grows",
    "restart_forgets_debt",
    "interruption_leaves_no_mark",
    "completed_turn_keeps_mark",
    "drain_marks_its_begin",
    "resume_note_needs_results",
    "note_for_everyone",
    "drained_run_waits",
    "progress_counts_as_loop",
    "stop_sends_queue",
    "message_names_lost_file",
    "marker_never_gives_up",
];

/// What a seed led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The same for the same seed, whatever the build.
    pub trace: u64,
    /// Time that passed in the world.
    pub simulated: Duration,
    /// How often each rare situation occurred.
    pub met: BTreeMap<&'static str, u64>,
    /// The first promise that was broken, in words, with the invariant's number first.
    pub broken: Option<String>,
}

/// Lives one world.
///
/// # Panics
/// When the runtime cannot be made.
#[expect(clippy::expect_used, reason = "without a runtime there is nothing to simulate")]
pub fn live(seed: u64) -> Outcome {
    quiet_panics();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads or sockets");
    runtime.block_on(async {
        let world = World::new(seed);
        let begun = tokio::time::Instant::now();
        trouble::live(&world).await;
        let outcome = world.outcome(begun.elapsed());
        // Its nodes hold it, and it holds them.
        world.end();
        outcome
    })
}

/// Lets the panics that a world asks for pass without a word.
fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.payload().is::<provider::Planned>() {
                usual(panic);
            }
        }));
    });
}
