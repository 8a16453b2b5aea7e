//! What tests, campaigns and benches share: a scripted agent, a clock that is set by hand, a store that can be told
//! to refuse, and a world that can be crashed and started again.

pub mod agent;
pub mod attached;
pub mod backups;
pub mod bench;
pub mod client;
pub mod clock;
pub mod crash;
#[cfg(feature = "inject")]
pub mod cuts;
pub mod dice;
pub mod live;
pub mod longlife;
pub mod memory;
pub mod platform_suite;
pub mod postgres;
#[cfg(feature = "inject")]
pub mod providers;
pub mod races;
pub mod refusing;
pub mod report;
#[cfg(feature = "inject")]
pub mod sim;
pub mod strict;
pub mod swallow;
pub mod sweeps;
pub mod synapse;
pub mod telegram;
pub mod trial;
pub mod upgrades;
pub mod world;

pub use agent::{Gate, Script, ScriptedAgent, script};
pub use clock::HandClock;
// The judge knows what its messages ask for, so that the model that says it is its own.
pub use judge::model;
pub use memory::ScriptedMemory;
pub use refusing::RefusingStore;
pub use report::Report;
pub use world::{World, WorldSettings};
