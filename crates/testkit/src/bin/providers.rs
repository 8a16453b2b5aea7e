//! Replays recorded responses of providers in every way that a network delivers them, then searches for sessions in
//! which no further message can succeed. `providers [--brief] [--sessions COUNT] [--seed FIRST]`.

use testkit::strict::search;
use testkit::{Report, providers};

/// Sessions of the search.
const SESSIONS: u64 = 10_000;
const SESSIONS_BRIEF: u64 = 2_000;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    let usual = if words.iter().any(|word| word == "--brief") { SESSIONS_BRIEF } else { SESSIONS };
    let mut report = Report::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(providers::run(&mut report))?;
    search::run(&mut report, number("--seed").unwrap_or(1), number("--sessions").unwrap_or(usual))?;
    if !report.verdict("providers") {
        std::process::exit(1);
    }
    Ok(())
}
