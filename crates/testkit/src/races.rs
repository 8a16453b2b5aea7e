//! Races everything that can be asked of one session, and judges each state that anyone saw.
//!
//! Operators, readers and followers share one session through several of its ids, on SQLite through the real hub.
//! What they asked, got and saw is written down; afterwards an independent model replays the log entry by entry and
//! says what each of them may have seen.
//!
//! | file | question |
//! | --- | --- |
//! | `races/scenario.rs` | what happens, for how long, and what is counted? |
//! | `races/place.rs` | where does it happen, and what is a crash there? |
//! | `races/stage.rs` | what do all of them share, and what is written down? |
//! | `races/ask.rs` | what is asked of the session, how often? |
//! | `races/operator.rs` | how is it asked, and what must come of it? |
//! | `races/watch.rs` | who looks meanwhile? |
//! | `races/words.rs` | what does the agent say, so that a gap shows? |
//! | `races/seen.rs` | what is one state, in a form that can be compared? |
//! | `races/model.rs` | what does each entry mean to a reader? |
//! | `races/answer.rs` | how do the runs of an answer become one text? |
//! | `races/judge.rs` | was every observed state allowed? |
//! | `races/account.rs` | did every operation happen once, and none that nobody asked for? |
//! | `races/ending.rs` | do list, pages and search agree with the log? |

mod account;
mod answer;
mod ask;
mod ending;
mod judge;
mod model;
mod operator;
mod place;
mod scenario;
mod seen;
mod stage;
mod watch;
mod words;

pub use scenario::{Options, run};
