//! `just races`: races the operations of one session under load and checks every state that was seen.

use std::process::ExitCode;

use anyhow::{Context, bail};
use testkit::races::{Options, run};

fn main() -> anyhow::Result<ExitCode> {
    let mut options = Options { seconds: 20, seed: 1 };
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            None if argument == "--full" => options.seconds = 60,
            Some(("seconds", value)) => options.seconds = value.parse().context("seconds=N")?,
            Some(("seed", value)) => options.seed = value.parse().context("seed=N")?,
            _ => bail!("unknown argument {argument}; known are --full, seconds=N and seed=N"),
        }
    }
    Ok(if run(options)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
