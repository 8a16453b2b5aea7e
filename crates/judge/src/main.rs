//! `judge URL TOKEN HISTORY SESSIONS SEED`: plays until its input ends, then judges. One line a figure, the verdict
//! last.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::Context;
use judge::api::Api;
use judge::history::History;
use judge::play::Play;
use judge::verify::{Class, Violation, judge};
use tokio::io::AsyncReadExt;

/// Violations that are told in full.
const TOLD: usize = 20;

fn main() -> anyhow::Result<ExitCode> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, token, history, sessions, seed] = words.as_slice() else {
        anyhow::bail!("usage: judge URL TOKEN HISTORY SESSIONS SEED");
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let play = Play::new(
        Api::new(url, token)?,
        History::create(&PathBuf::from(history)).context("make the history")?,
        seed.parse()?,
        sessions.parse()?,
    );
    let ended = runtime.block_on(play_and_judge(&play));
    runtime.shutdown_background();
    Ok(if ended? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn play_and_judge(play: &Play) -> anyhow::Result<bool> {
    let (logs, restless) = play
        .run(async {
            // Whoever started this closes its input when it is enough.
            let mut rest = Vec::new();
            drop(tokio::io::stdin().read_to_end(&mut rest).await);
        })
        .await?;
    let mut judgement = judge(&play.history.records(), &logs);
    judgement.violations.extend(restless.into_iter().map(|session| Violation {
        class: Class::Wedged,
        session,
        what: "the session does not come to rest".to_owned(),
    }));
    for Violation { class, session, what } in judgement.violations.iter().take(TOLD) {
        say(&format!("# {} in {session}: {what}", class.name()));
    }
    let counts = &play.counts;
    let figures = [
        ("sessions", logs.len() as u64),
        ("messages", judgement.messages),
        ("entries", judgement.entries),
        ("entries_seen", judgement.seen),
        ("tokens", judgement.tokens),
        ("reader_connections", counts.connections.load(Ordering::Acquire)),
        ("answers_dropped", counts.dropped.load(Ordering::Acquire)),
        ("requests_doubled", counts.doubled.load(Ordering::Acquire)),
        ("keys_reused", counts.reused.load(Ordering::Acquire)),
    ];
    let mut all_well = true;
    for (name, value) in figures {
        all_well &= value > 0;
        say(&format!("judge.{name} {value} >0 {}", if value > 0 { "ok" } else { "short" }));
    }
    for what in ["completed", "stopped", "undone", "retried", "continued"] {
        let count = judgement.happened.get(what).copied().unwrap_or(0);
        all_well &= count > 0;
        say(&format!(
            "judge.{} {count} >0 {}",
            what.replace(' ', "_"),
            if count > 0 { "ok" } else { "short" }
        ));
    }
    for what in ["interrupted", "gone on by itself", "steered", "withdrawn", "put back", "failed"] {
        say(&format!(
            "# judge.{} {}",
            what.replace(' ', "_"),
            judgement.happened.get(what).copied().unwrap_or(0)
        ));
    }
    let wrong_keys = counts.wrong.load(Ordering::Acquire);
    let classes = Class::ALL.map(|class| {
        let count = judgement.violations.iter().filter(|violation| violation.class == class).count() as u64;
        (class.name(), count)
    });
    for (name, count) in classes.into_iter().chain([("keys_answered_wrong", wrong_keys)]) {
        all_well &= count == 0;
        say(&format!("judge.{name} {count} 0 {}", if count == 0 { "ok" } else { "short" }));
    }
    say(if all_well { "verdict ok" } else { "verdict short" });
    Ok(all_well)
}

#[expect(clippy::print_stdout, reason = "figures are printed for whoever started it")]
fn say(text: &str) {
    println!("{text}");
}
