//! Named crash points and planted bugs for test builds; nothing at all in a shipped build.
//!
//! A **point** is a place where a commit, a sync or a side effect happens: the crash campaign kills, freezes or
//! fails the process there. A **mutant** is a planted bug that a rule's test must catch. A **process** is a set of tasks
//! that a simulation pauses and kills as one. All are compiled to nothing unless the feature `inject` is on, which only
//! `testkit` asks for.

/// Whether crash points and mutants are compiled in.
pub const INJECTED: bool = cfg!(feature = "inject");

mod mutant;
mod point;
mod process;

pub use mutant::{FOUND_BY_SIMULATION, MUTANTS, Mutant, planted};
pub use point::{POINTS, counts, fail_next, hit, panic_next};
pub use process::within;
#[cfg(feature = "inject")]
pub use process::{Killed, Process, Within};
