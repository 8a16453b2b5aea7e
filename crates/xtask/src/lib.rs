//! The targets that need logic, and the house rules as tests.
//!
//! [`house`] runs every static check, [`contract`] holds `docs/contract.md` against the tests that prove it,
//! `tidy` reads the tree for the rules that no compiler knows. All of them speak through [`report`].

pub mod contract;
pub mod house;
mod nextest;
pub mod prose;
pub mod report;
mod tidy;

use std::path::PathBuf;

/// The root of the checkout this binary was built from.
fn workspace_root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).map_or_else(|| manifest.clone(), PathBuf::from)
}
