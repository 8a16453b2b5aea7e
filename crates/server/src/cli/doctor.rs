//! Checks configuration, disk, store, models and clock, and suggests fixes.

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
use crate::config::{Config, ModelConfig, environment};
use crate::models::{HeaderConfig, Listing};
use crate::vault::Vault;
use crate::{app, models};

/// Number of syncs to measure.
const SYNCS: usize = 200;
/// A disk with a faster median sync either has a power-safe cache or doesn't sync.
const SYNC_HONEST: Duration = Duration::from_micros(40);
/// Slower syncs delay what users see.
const SYNC_SLOW: Duration = Duration::from_millis(50);
const FREE_MIN: u64 = 1024 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);
/// Tolerated difference between the clocks of this machine and of a provider.
const CLOCK_SECONDS_MAX: i64 = 5;
const FAILED: &str = "doctor found problems\n";

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Warning,
    Error,
}

/// Prints the result of each check and counts the errors.
#[derive(Debug, Default)]
struct Report {
    errors: usize,
}

impl Report {
    fn line(&mut self, what: &str, found: &str, verdict: Verdict, advice: &str) -> anyhow::Result<()> {
        let (word, advice) = match verdict {
            Verdict::Ok => ("ok", ""),
            Verdict::Warning => ("warning", advice),
            Verdict::Error => ("error", advice),
        };
        self.errors += usize::from(verdict == Verdict::Error);
        let gap = if advice.is_empty() { "" } else { "; " };
        Ok(say(&format!("{word:<7} {what}: {}{gap}{advice}\n", plain(found)))?)
    }
}

pub(crate) async fn run(config: &Config, path: &Path) -> anyhow::Result<ExitCode> {
    let mut report = Report::default();
    let path_verdict = if path.exists() { Verdict::Ok } else { Verdict::Error };
    let advice = "the file doesn't exist; run `everturn init` to create it";
    report.line("config", &path.display().to_string(), path_verdict, advice)?;
    let entered = config.enter_shared();
    directory(&mut report, &config.data)?;
    let data = config.data.clone();
    let times = tokio::task::spawn_blocking(move || syncs(&data)).await??;
    disk(&mut report, &config.data, &times)?;
    let entered = match entered {
        Ok(entered) => entered,
        Err(error) => {
            let advice = "no database was changed; see \"Verifying and repairing\" in docs/operations.md";
            report.line("store", &format!("{error:#}"), Verdict::Error, advice)?;
            say(FAILED)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    if let Some(damage) = entered.damage_of_people()? {
        let advice = "restore a backup; `everturn repair` can't fix this file";
        report.line("people.db", &damage, Verdict::Error, advice)?;
        say(FAILED)?;
        return Ok(ExitCode::FAILURE);
    }
    store(&mut report, config, entered.clone()).await?;
    let people = People::look(&entered)?.map(Arc::new);
    let login = people.as_ref().map_or(Ok(false), |people| people.has_login())?;
    let open = !config.listen.ip().is_loopback();
    let verdict = if open && !login { Verdict::Error } else { Verdict::Ok };
    let advice =
        "other machines can reach `listen`, but no user has a password; run `everturn user password owner`";
    report.line("login", if login { "yes" } else { "no" }, verdict, advice)?;
    let (offered, vault) = models(&mut report, config, people)?;
    let verdict = if offered.is_empty() { Verdict::Warning } else { Verdict::Ok };
    let advice = "the server starts, but can't answer; add a model under Settings or as `[[models]]`";
    report.line("models", &offered.len().to_string(), verdict, advice)?;
    if let Some(name) = &config.background_model {
        let is_offered = offered.iter().any(|model| model.name == *name);
        let verdict = if is_offered { Verdict::Ok } else { Verdict::Warning };
        let advice =
            "no configured model has this name; the session's model writes titles and summaries instead";
        report.line("background_model", name, verdict, advice)?;
    }
    for model in &offered {
        if !misses_headers(&mut report, model, vault.as_ref())? {
            provider(&mut report, model, vault.as_ref()).await?;
        }
    }
    say(if report.errors == 0 { "doctor ok\n" } else { FAILED })?;
    Ok(if report.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the models from the file and from Settings, and the vault if they may need it.
fn models(
    report: &mut Report,
    config: &Config,
    people: Option<Arc<People>>,
) -> anyhow::Result<(Vec<ModelConfig>, Option<Arc<Vault>>)> {
    // Opening the vault creates its key, so open it only if a model may need a secret. Models from Settings may have
    // encrypted options.
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
        // The file overrides Settings.
        if config.models.iter().all(|model| model.name != added.name) {
            if let Err(error) = options {
                report.line("model_options", &added.name, Verdict::Error, &format!("{error:#}"))?;
            }
            offered.push(added);
        }
    }
    Ok((offered, vault))
}

fn directory(report: &mut Report, data: &Path) -> anyhow::Result<()> {
    let mode = fs::metadata(data)?.mode() & 0o777;
    let private = if mode & 0o077 == 0 { Verdict::Ok } else { Verdict::Error };
    let advice = format!("other users have access; run `chmod 700 {}`", data.display());
    report.line("data", &format!("{} {mode:o}", data.display()), private, &advice)?;
    let disk = nix::sys::statvfs::statvfs(data)?;
    let free = disk.blocks_available() * disk.fragment_size();
    let room = if free >= FREE_MIN { Verdict::Ok } else { Verdict::Warning };
    let advice = "below 256 MiB, runs pause until space is free; free up disk space";
    report.line("free_bytes", &free.to_string(), room, advice)?;
    let kind = statfs::statfs(data)?.filesystem_type();
    let (name, verdict) = match kind {
        statfs::TMPFS_MAGIC => ("memory", Verdict::Error),
        statfs::OVERLAYFS_SUPER_MAGIC => ("overlay", Verdict::Warning),
        statfs::NFS_SUPER_MAGIC => ("network", Verdict::Warning),
        _ => ("disk", Verdict::Ok),
    };
    let advice = "sessions may be lost on this file system; set `data` to a directory on a local disk";
    report.line("file_system", name, verdict, advice)
}

/// Measures syncs of one page. Returns their durations in ascending order.
#[expect(clippy::disallowed_methods, reason = "measures a disk, so it needs real time")]
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
    let verdict = if half < SYNC_HONEST { Verdict::Warning } else { Verdict::Ok };
    let advice = "too fast for a disk; unless its cache survives a power loss, a power loss can delete acknowledged \
                  messages";
    report.line("sync_p50_micros", &half.as_micros().to_string(), verdict, advice)?;
    let verdict = if most > SYNC_SLOW { Verdict::Warning } else { Verdict::Ok };
    let advice = format!("slow syncs delay every message; move {} to a faster disk", data.display());
    report.line("sync_p99_micros", &most.as_micros().to_string(), verdict, &advice)
}

async fn store(report: &mut Report, config: &Config, directory: DataDirectory) -> anyhow::Result<()> {
    if let Some(url) = &config.postgres {
        let opened = app::open_postgres(url).await;
        let (found, verdict) = match &opened {
            Ok(_) => ("postgres".to_owned(), Verdict::Ok),
            Err(error) => (format!("{error:#}"), Verdict::Error),
        };
        return report.line("store", &found, verdict, "check `postgres` in the configuration");
    }
    let looked = tokio::task::spawn_blocking(move || sqlite::look(&directory)).await?;
    let (found, verdict, advice) = match looked {
        Ok(None) => ("in use by a server".to_owned(), Verdict::Ok, ""),
        Ok(Some(found)) => (found, Verdict::Ok, ""),
        Err(OpenStoreError::Refused(why)) => (why, Verdict::Error, "use the version that created the store"),
        Err(error) => {
            let advice = "run `everturn verify` for details, and `everturn repair` to fix it";
            (error.to_string(), Verdict::Error, advice)
        }
    };
    report.line("store", &found, verdict, advice)
}

/// Reports header values that the model needs and lacks. Returns whether there are any.
fn misses_headers(
    report: &mut Report,
    model: &ModelConfig,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<bool> {
    let what = format!("model {}", model.name);
    let mut misses = false;
    for (header, value) in &model.headers {
        let (found, advice) = match value {
            HeaderConfig::Value(_) => continue,
            HeaderConfig::Variable { env } if environment(env).is_some() => continue,
            HeaderConfig::Variable { env } => (
                format!("the environment variable `{env}` for the header `{header}` is not set"),
                format!("set `{env}` in the environment of the server"),
            ),
            HeaderConfig::Secret { secret } => {
                let problem = match vault {
                    Some(vault) if vault.has(secret)? => match vault.plain(secret) {
                        Ok(_) => continue,
                        Err(_) => "can't be decrypted",
                    },
                    _ => "is not set",
                };
                (
                    format!("the secret `{secret}` for the header `{header}` {problem}"),
                    format!("run `everturn secret set {secret}`"),
                )
            }
        };
        report.line(&what, &found, Verdict::Error, &advice)?;
        misses = true;
    }
    Ok(misses)
}

/// Requests the provider's list of models, and reports the reply and the difference between the clocks.
async fn provider(
    report: &mut Report,
    model: &ModelConfig,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<()> {
    let what = format!("model {}", model.name);
    if let Err(error) = models::configured_key(model, vault) {
        return report.line(&what, &format!("{error:#}"), Verdict::Error, "");
    }
    let reply = match models::ask_provider(model, vault, PATIENCE).await {
        Ok(reply) => reply,
        Err(error) => {
            let advice = "check that the provider is running and that `url` is correct";
            return report.line(&what, &format!("{error:#}"), Verdict::Error, advice);
        }
    };
    let (verdict, advice) = match (reply.listing, reply.status) {
        (Some(Listing::Listed), _) => (Verdict::Ok, String::new()),
        (Some(Listing::NotListed), _) => (
            Verdict::Warning,
            format!(
                "the provider's list of models does not contain `{}`; check `model`",
                plain(&model.model)
            ),
        ),
        (Some(Listing::WebPage), _) => {
            (Verdict::Error, "the reply is a web page, not a provider's API; check `url`".to_owned())
        }
        (Some(Listing::NoList), _) => {
            (Verdict::Warning, "the reply is not a list of models; check `url`".to_owned())
        }
        (None, 401 | 403) => (Verdict::Error, "the provider rejected the key; check the key".to_owned()),
        (None, 404 | 405) => {
            (Verdict::Warning, "the provider does not list its models; check `url`".to_owned())
        }
        (None, 300..=399) => (Verdict::Error, "the address redirects elsewhere; check `url`".to_owned()),
        (None, _) => {
            (Verdict::Error, "the provider's API is not working; check `url`, or try again later".to_owned())
        }
    };
    report.line(&what, &format!("HTTP {}", reply.status), verdict, &advice)?;
    let theirs = reply.date.and_then(|date| jiff::fmt::rfc2822::parse(&date).ok());
    if let Some(theirs) = theirs {
        let apart = theirs.timestamp().as_second() - SystemClock.now().0 / 1_000_000;
        let verdict = if apart.abs() <= CLOCK_SECONDS_MAX { Verdict::Ok } else { Verdict::Warning };
        let advice = "set this machine's clock, for example with `timedatectl set-ntp true`";
        report.line("clock_seconds_apart", &apart.to_string(), verdict, advice)?;
    }
    Ok(())
}
