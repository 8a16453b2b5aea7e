//! Measures the released binary: `bench-server [--full] [price streams starts requests]`. One line a figure, verdict
//! last.

use std::process::ExitCode;

use testkit::bench::{Bench, Size};

fn main() -> anyhow::Result<ExitCode> {
    let (options, sections): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let size = match options.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Size::Ci,
        ["--full"] => Size::Full,
        _ => anyhow::bail!("usage: bench-server [--full] [price streams starts requests]"),
    };
    let reached = Bench::new(size).run_server(&sections)?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
