//! Many small worlds: the shipped hub (writer, follower, claim, spool, committer) on one thread in virtual time, with
//! everything around it drawn from a seed. A world is troubled for a while, then left in peace; what the invariants
//! say must hold in both, and in peace everything must come to its end.
//!
//! | file | question |
//! | --- | --- |
//! | `world.rs` | what is there, and what was promised so far? |
//! | `medium.rs` | how do the store and the slots behave, and misbehave? |
//! | `provider.rs` | what does the agent bring? |
//! | `client.rs` | what do people ask, and what do they check? |
//! | `reader.rs` | what is shown? |
//! | `trouble.rs` | what goes wrong, and when? |
//! | `check.rs` | what must hold at the end? |

mod check;
mod client;
mod medium;
mod provider;
mod reader;
mod trouble;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use world::World;

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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads or sockets");
    runtime.block_on(async {
        let world = World::new(seed);
        let begun = tokio::time::Instant::now();
        trouble::live(&world).await;
        world.outcome(begun.elapsed())
    })
}
