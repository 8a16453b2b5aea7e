//! The crash campaign: a workload in a child process that is killed, cut from power or failed at every named point,
//! at random instants and at every write; and a checker that reopens what is left and holds it against what the
//! parent, as the witness, heard acknowledged and saw shown.

pub mod agent;
pub mod cases;
pub mod check;
pub mod child;
pub mod damage;
pub mod disk;
pub mod eio;
pub mod full;
pub mod images;
pub mod laws;
pub mod memory;
pub mod points;
pub mod random;
pub mod rebuild;
pub mod stage;
pub mod torn;
pub mod witness;
pub mod work;
