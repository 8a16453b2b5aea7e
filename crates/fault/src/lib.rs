//! Named crash points and planted bugs for test builds; nothing at all in a shipped build.
//!
//! A **point** is a place where a commit, a sync or a side effect happens: the crash campaign kills, freezes or
//! fails the process there. A **mutant** is a planted bug that a rule's test must catch. Both are compiled to
//! nothing unless the feature `inject` is on, which only `testkit` asks for.

/// Whether crash points and mutants are compiled in.
pub const INJECTED: bool = cfg!(feature = "inject");

mod mutant;
mod point;

pub use mutant::{MUTANTS, Mutant, planted};
pub use point::{POINTS, counts, fail_next, hit};
