//! Runs the released binary with real providers, one for each key in the environment, and with llama.cpp. Costs money.
//! `providers-live SMALL_MODEL_SCRIPT [--most DOLLARS] [--only NAME] [--url URL] [--model MODEL] | --rehearse NAME`.

use std::path::PathBuf;

use anyhow::Context;
use testkit::{Report, live};

/// The default limit for the cost of all answers, in dollars.
const DOLLARS_USUAL: f64 = 0.25;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).cloned()
    };
    let mut report = Report::default();
    if let Some(name) = value("--rehearse") {
        live::rehearse(&mut report, &name)?;
    } else {
        let script =
            words.first().filter(|word| !word.starts_with('-')).context("usage: providers-live SCRIPT")?;
        let most: f64 = value("--most").map_or(Ok(DOLLARS_USUAL), |most| most.parse())?;
        let chosen = live::Chosen {
            variable: |name| std::env::var_os(name),
            only: value("--only"),
            url: value("--url"),
            model: value("--model"),
        };
        live::run(&mut report, &chosen, (most.max(0.0) * 1e6) as u64)?;
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let folder = live::small_model_folder(folder("XDG_CACHE_HOME"), folder("HOME"));
        if chosen.includes("llama-cpp") {
            live::run_small_model(&mut report, script, &folder)?;
        }
    }
    if !report.verdict("providers-live") {
        std::process::exit(1);
    }
    Ok(())
}
