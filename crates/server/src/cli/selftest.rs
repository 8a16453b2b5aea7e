//! Kills a server from this binary at random under load, on a scratch store, and checks that it loses nothing.
//!
//! | file | contents |
//! | --- | --- |
//! | `scratch.rs` | the scratch directory |
//! | `subject.rs` | the server under test: start and stop |
//! | `trouble.rs` | kills, freezes, stops and restarts |
//! | `report.rs` | the report |
//!
//! The crate `judge` simulates the clients and verifies the result. It shares no code with the server.

mod report;
mod scratch;
mod subject;
mod trouble;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use judge::api::Api;
use judge::history::History;
use judge::model::ScriptedModel;
use judge::play::Play;
use session::UserId;
use store::directory::{DataDirectory, LogsAt};
use store::people::Scope;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::report::{Judged, Outcome};
use self::scratch::Scratch;
use self::subject::Setup;
use self::trouble::Trouble;
use super::terminal::{remark, say};
use crate::config::Config;
use crate::people;

/// Number of concurrent sessions.
const SESSIONS: usize = 6;
/// Maximum length of a test: one week.
const MINUTES_MAX: f64 = 7.0 * 24.0 * 60.0;
/// Time limit after the last kill: to finish all runs, read the logs and restart once more.
const REST_MAX: Duration = Duration::from_secs(180);
/// Interval between two progress lines.
const TOLD_EVERY: Duration = Duration::from_secs(5);
/// Conventional exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Options of the test.
#[derive(Debug, Args)]
pub(crate) struct Selftest {
    /// Length of the test in minutes, such as 0.5.
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    minutes: f64,
    /// Parent of the scratch directory; by default a directory on the disk of the data directory.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Keep the scratch directory even if the test passes.
    #[arg(long)]
    keep: bool,
    /// Reuse the seed of an earlier test. Timing still varies.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Selftest {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        if !(self.minutes > 0.0 && self.minutes <= MINUTES_MAX) {
            bail!("`--minutes` must be greater than 0 and at most {MINUTES_MAX}");
        }
        let length = Duration::from_secs_f64(self.minutes * 60.0);
        let asked = asked_to_end()?;
        let seed = self.seed.map_or_else(random_seed, Ok)?;
        let scratch = Scratch::make(self.dir.as_deref(), &config.data)?;
        let sync = scratch.sync_time().context("failed to measure disk syncs")?;
        let (setup, token) = prepare(&scratch, seed).await.context("failed to prepare the scratch store")?;
        let api = Api::new(&setup.url, &token)?;
        let play = Play::new(api, History::create(&scratch.path().join("history.jsonl"))?, seed, SESSIONS);
        let mut trouble = Trouble::new(setup, seed);
        let ended = tokio::select! {
            ended = Box::pin(test(&play, &mut trouble, length)) => Some(ended),
            () = asked => None,
        };
        trouble.end().await;
        let Some(verdict) = ended else {
            scratch.leave(self.keep);
            remark("selftest: interrupted, no verdict");
            return Ok(ExitCode::from(INTERRUPTED));
        };
        let outcome = Outcome {
            length,
            seed,
            sync,
            on_postgres: config.postgres.is_some(),
            troubles: &trouble.counts,
            plays: &play.counts,
            verdict,
        };
        let well = outcome.is_well();
        let kept = scratch.leave(self.keep || !well);
        say(&outcome.text(kept.as_deref()))?;
        Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Runs clients and faults, waits until all runs have finished, and verifies the logs. Then restarts the server and reads
/// the logs again.
async fn test(play: &Play, trouble: &mut Trouble, length: Duration) -> anyhow::Result<Judged> {
    let counts = trouble.counts.clone();
    let begun = Instant::now();
    let testing = async {
        trouble.start().await?;
        let (enough, over) = oneshot::channel::<()>();
        let playing = play.judged(async { drop(over.await) });
        let troubling = async {
            trouble.make(begun + length).await?;
            drop(enough);
            anyhow::Ok(())
        };
        let ((judgement, logs), ()) = tokio::try_join!(playing, troubling)?;
        trouble.stop().await?;
        trouble.start().await?;
        let again = play.logs().await?;
        // New entries such as titles may follow, but existing entries must not change.
        let same = |session, log: &[_]| again.get(session).is_some_and(|again| again.starts_with(log));
        let changed = logs.iter().filter(|(session, log)| !same(session, log)).count() as u64;
        anyhow::Ok(Judged { judgement, changed })
    };
    let telling = async {
        loop {
            tokio::time::sleep(TOLD_EVERY).await;
            let doing = match length.saturating_sub(begun.elapsed()) {
                Duration::ZERO => "finishing runs".to_owned(),
                left => format!("{} s left", left.as_secs()),
            };
            remark(&format!(
                "selftest: {doing}; {} kills, {} messages, {} entries",
                counts.kills.load(Ordering::Acquire),
                play.counts.accepted.load(Ordering::Acquire),
                play.counts.shown.load(Ordering::Acquire),
            ));
        }
    };
    tokio::select! {
        tested = testing => tested,
        () = tokio::time::sleep(length + REST_MAX) => {
            bail!("the test did not finish within {} s after the last kill", REST_MAX.as_secs())
        }
        () = telling => bail!("the progress output ended"),
    }
}

/// Starts a scripted model, and creates a configuration and a token for a server that uses it.
async fn prepare(scratch: &Scratch, seed: u64) -> anyhow::Result<(Setup, String)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let model_url = format!("http://{}/v1", listener.local_addr()?);
    crate::spawn::spawn(Arc::new(ScriptedModel::default()).serve(listener));
    let setup = Setup::make(scratch.path(), model_url, seed)?;
    let people = people::open(&DataDirectory::enter(&setup.data, LogsAt::Here)?)?;
    let (_, token) =
        people::make_token(&people, people::by_hand(), UserId::FIRST, "selftest", Scope::Manage, None)?;
    Ok((setup, token))
}

/// Completes when a signal asks the test to stop.
fn asked_to_end() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

fn random_seed() -> anyhow::Result<u64> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes)?;
    Ok(u64::from(u32::from_ne_bytes(bytes)))
}
