//! `judge URL TOKEN HISTORY SESSIONS SEED`: plays until its input ends, then judges. One line a figure, the verdict
//! last.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use judge::api::Api;
use judge::figures::{Figure, figures, violations};
use judge::history::History;
use judge::play::Play;
use tokio::io::AsyncReadExt;

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
    let (judgement, _) = play
        .judged(async {
            // Whoever started this closes its input when it is enough.
            let mut rest = Vec::new();
            drop(tokio::io::stdin().read_to_end(&mut rest).await);
        })
        .await?;
    for violation in violations(&judgement) {
        say(&format!("# {violation}"));
    }
    let figures = figures(&judgement, &play.counts);
    for figure in &figures {
        say(&figure.line("judge"));
    }
    let all_well = figures.iter().all(Figure::is_reached);
    say(if all_well { "verdict ok" } else { "verdict short" });
    Ok(all_well)
}

#[expect(clippy::print_stdout, reason = "figures are printed for whoever started it")]
fn say(text: &str) {
    println!("{text}");
}
