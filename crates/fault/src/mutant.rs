//! Mutants: planted bugs in shipped code, one switched on at a time by `EVERTURN_MUTANT`, each of which must turn
//! the tests of its rules red.

/// A planted bug and the contract rules whose tests must notice it.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// The value of `EVERTURN_MUTANT` that plants it.
    pub name: &'static str,
    /// Rule ids in lower case.
    pub bites: &'static [&'static str],
}

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[];

/// Whether the mutant is planted. Always false in a shipped build.
#[cfg(not(feature = "inject"))]
#[inline(always)]
pub fn planted(_name: &'static str) -> bool {
    false
}

/// Whether the mutant is planted in this process.
#[cfg(feature = "inject")]
#[expect(clippy::disallowed_methods, reason = "test builds are armed from the environment")]
#[expect(clippy::panic, reason = "a mutant that is missing from the list would never be run")]
pub fn planted(name: &'static str) -> bool {
    use std::sync::LazyLock;
    static PLANTED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("EVERTURN_MUTANT").ok());
    match PLANTED.as_deref() {
        None => false,
        Some(_) if !MUTANTS.iter().any(|mutant| mutant.name == name) => panic!("mutant {name} is not in the list"),
        Some(planted) => planted == name,
    }
}
