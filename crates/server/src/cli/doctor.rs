//! Looks whether everything is set up well, and says what to do where it is not.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hub::{Clock, SystemClock};
use nix::sys::statfs;
use store::directory::DataDirectory;
use store::people::People;
use store::sqlite::{self, OpenStoreError};

use super::terminal::{plain, say};
use crate::config::{Config, ModelConfig};
use crate::vault::Vault;
use crate::{app, models};

/// Syncs whose time is taken.
const SYNCS: usize = 200;
/// A disk that is faster than this either has memory that outlives the power, or does not sync.
const SYNC_HONEST: Duration = Duration::from_micros(40);
/// A disk that is slower than this delays what people see.
const SYNC_SLOW: Duration = Duration::from_millis(50);
const FREE_MIN: u64 = 1024 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);
/// How far clocks may be apart.
const CLOCK_SECONDS_MAX: i64 = 5;

/// What one look says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Careful,
    Wrong,
}

/// The looks so far.
#[derive(Debug, Default)]
struct Report {
    wrong: usize,
}

impl Report {
    fn line(&mut self, what: &str, found: &str, verdict: Verdict, advice: &str) -> anyhow::Result<()> {
        let (word, advice) = match verdict {
            Verdict::Ok => ("ok", ""),
            Verdict::Careful => ("careful", advice),
            Verdict::Wrong => ("wrong", advice),
        };
        self.wrong += usize::from(verdict == Verdict::Wrong);
        let gap = if advice.is_empty() { "" } else { ": " };
        Ok(say(&format!("{what} {} {word}{gap}{advice}\n", plain(found)))?)
    }
}

pub(crate) async fn run(config: &Config, path: &Path) -> anyhow::Result<ExitCode> {
    let mut report = Report::default();
    let there = if path.exists() { Verdict::Ok } else { Verdict::Wrong };
    report.line("config", &path.display().to_string(), there, "`everturn init` writes it")?;
    let entered = config.enter_shared();
    directory(&mut report, &config.data)?;
    let data = config.data.clone();
    let times = tokio::task::spawn_blocking(move || syncs(&data)).await??;
    disk(&mut report, &config.data, &times)?;
    let entered = match entered {
        Ok(entered) => entered,
        Err(error) => {
            let advice = "no database was changed; see \"Verifying and repairing\" in docs/operations.md";
            report.line("store", &format!("{error:#}"), Verdict::Wrong, advice)?;
            say("doctor found something wrong\n")?;
            return Ok(ExitCode::FAILURE);
        }
    };
    if let Some(damage) = entered.damage_of_people()? {
        report.line(
            "people.db",
            &damage,
            Verdict::Wrong,
            "restore a backup; `repair` can't mend this file",
        )?;
        say("doctor found something wrong\n")?;
        return Ok(ExitCode::FAILURE);
    }
    store(&mut report, config, entered.clone()).await?;
    let people = People::look(&entered)?.map(Arc::new);
    let login = people.as_ref().map_or(Ok(false), |people| people.has_login())?;
    let open = !config.listen.ip().is_loopback();
    let verdict = if open && !login { Verdict::Wrong } else { Verdict::Ok };
    report.line(
        "login",
        if login { "yes" } else { "no" },
        verdict,
        "`everturn user password owner` sets one",
    )?;
    let (offered, vault) = models(&mut report, config, people)?;
    let verdict = if offered.is_empty() { Verdict::Careful } else { Verdict::Ok };
    let advice = "the server starts without one; add one under Settings, or `everturn init` asks for one";
    report.line("models", &offered.len().to_string(), verdict, advice)?;
    for model in &offered {
        provider(&mut report, model, vault.as_ref()).await?;
    }
    say(match report.wrong {
        0 => "doctor ok\n",
        _ => "doctor found something wrong\n",
    })?;
    Ok(if report.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the models of the file and those that owners added, and the vault if they may need it.
fn models(
    report: &mut Report,
    config: &Config,
    people: Option<Arc<People>>,
) -> anyhow::Result<(Vec<ModelConfig>, Option<Arc<Vault>>)> {
    // Opening the vault creates its key, so open it only if a model may need a secret. Added models may have sealed options.
    let names_secret = |model: &ModelConfig| model.key_secret.is_some() || !model.headers.is_empty();
    let has_added =
        people.as_ref().map_or(Ok(false), |people| people.models().map(|added| !added.is_empty()))?;
    let vault = match people.clone().filter(|_| has_added || config.models.iter().any(names_secret)) {
        Some(people) => Some(Arc::new(Vault::open(&config.data, people)?)),
        None => None,
    };
    let added = match (&people, &vault) {
        (Some(people), Some(vault)) => models::kept(people, vault)?,
        _ => Vec::new(),
    };
    let mut offered: Vec<ModelConfig> = config.models.clone();
    for (added, options) in added {
        // The file goes first.
        if config.models.iter().all(|model| model.name != added.name) {
            if let Err(error) = options {
                report.line("model_options", &added.name, Verdict::Wrong, &format!("{error:#}"))?;
            }
            offered.push(added);
        }
    }
    Ok((offered, vault))
}

fn directory(report: &mut Report, data: &Path) -> anyhow::Result<()> {
    let mode = fs::metadata(data)?.mode() & 0o777;
    let private = if mode & 0o077 == 0 { Verdict::Ok } else { Verdict::Wrong };
    let advice = format!("others can read it; `chmod 700 {}`", data.display());
    report.line("data", &format!("{} {mode:o}", data.display()), private, &advice)?;
    let disk = nix::sys::statvfs::statvfs(data)?;
    let free = disk.blocks_available() * disk.fragment_size();
    let room = if free >= FREE_MIN { Verdict::Ok } else { Verdict::Careful };
    let advice = "below 256 MiB runs pause until there is room again";
    report.line("free_bytes", &free.to_string(), room, advice)?;
    let kind = statfs::statfs(data)?.filesystem_type();
    let (name, verdict) = match kind {
        statfs::TMPFS_MAGIC => ("memory", Verdict::Wrong),
        statfs::OVERLAYFS_SUPER_MAGIC => ("overlay", Verdict::Careful),
        statfs::NFS_SUPER_MAGIC => ("network", Verdict::Careful),
        _ => ("disk", Verdict::Ok),
    };
    let advice = "sessions do not survive there for sure; put `data` on a disk of this machine";
    report.line("file_system", name, verdict, advice)
}

/// How long syncs of one page take, shortest first.
#[expect(clippy::disallowed_methods, reason = "the time of a disk is taken in real time")]
fn syncs(data: &Path) -> anyhow::Result<Vec<Duration>> {
    let path = data.join("doctor.unfinished");
    let file = File::options().create(true).truncate(true).write(true).open(&path)?;
    let page = [7_u8; 4_096];
    (&file).write_all(&page)?;
    file.sync_all()?;
    let mut times = Vec::with_capacity(SYNCS);
    for round in 0..SYNCS {
        let begun = std::time::Instant::now();
        file.write_all_at(&page, (round % 64) as u64 * 4_096)?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    fs::remove_file(&path)?;
    times.sort_unstable();
    Ok(times)
}

fn disk(report: &mut Report, data: &Path, times: &[Duration]) -> anyhow::Result<()> {
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    let (half, most) = (at(50), at(99));
    let verdict = if half < SYNC_HONEST { Verdict::Careful } else { Verdict::Ok };
    let advice = "too fast to reach a disk: unless it has memory that outlives the power, a power cut loses what was \
                  acknowledged";
    report.line("sync_p50_micros", &half.as_micros().to_string(), verdict, advice)?;
    let verdict = if most > SYNC_SLOW { Verdict::Careful } else { Verdict::Ok };
    let advice = format!("people wait for it; move {} to a faster disk", data.display());
    report.line("sync_p99_micros", &most.as_micros().to_string(), verdict, &advice)
}

async fn store(report: &mut Report, config: &Config, directory: DataDirectory) -> anyhow::Result<()> {
    if let Some(url) = &config.postgres {
        let opened = app::open_postgres(url).await;
        let (found, verdict) = match &opened {
            Ok(_) => ("postgres".to_owned(), Verdict::Ok),
            Err(error) => (format!("{error:#}"), Verdict::Wrong),
        };
        return report.line("store", &found, verdict, "see `postgres` in the configuration");
    }
    let looked = tokio::task::spawn_blocking(move || sqlite::look(&directory)).await?;
    let (found, verdict, advice) = match looked {
        Ok(None) => ("in use by a server".to_owned(), Verdict::Ok, ""),
        Ok(Some(found)) => (found, Verdict::Ok, ""),
        Err(OpenStoreError::Refused(why)) => (why, Verdict::Wrong, "start the version that made it"),
        Err(error) => {
            (error.to_string(), Verdict::Wrong, "`everturn verify` says more, `everturn repair` mends")
        }
    };
    report.line("store", &found, verdict, advice)
}

async fn provider(
    report: &mut Report,
    model: &ModelConfig,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<()> {
    let what = format!("model {}", model.name);
    let asked = models::ask_provider(model, vault, PATIENCE).await;
    let reply = match asked {
        Ok(reply) => reply,
        Err(error) => {
            let advice = "is it running, and is `url` right?";
            return report.line(&what, &format!("{error:#}"), Verdict::Wrong, advice);
        }
    };
    let (verdict, advice) = match reply.status {
        200..=299 => (Verdict::Ok, ""),
        401 | 403 => (Verdict::Wrong, "its key is not accepted"),
        404 | 405 => (Verdict::Careful, "it answers, but does not list its models"),
        _ => (Verdict::Wrong, "it does not work at the moment"),
    };
    report.line(&what, &format!("HTTP {}", reply.status), verdict, advice)?;
    let theirs = reply.date.and_then(|date| jiff::fmt::rfc2822::parse(&date).ok());
    if let Some(theirs) = theirs {
        let apart = theirs.timestamp().as_second() - SystemClock.now().0 / 1_000_000;
        let verdict = if apart.abs() <= CLOCK_SECONDS_MAX { Verdict::Ok } else { Verdict::Careful };
        let advice = "set the clock of this machine (`timedatectl set-ntp true`)";
        report.line("clock_seconds_apart", &apart.to_string(), verdict, advice)?;
    }
    Ok(())
}
