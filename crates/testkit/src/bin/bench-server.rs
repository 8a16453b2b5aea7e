//! Measures the released binary: `bench-server [--full] [price streams starts requests]`. One line a figure, verdict
//! last.

use std::process::ExitCode;

use testkit::bench::Bench;

fn main() -> anyhow::Result<ExitCode> {
    let (bench, sections) = Bench::from_args("bench-server [--full] [price streams starts requests]")?;
    let reached = bench.run_server(&sections)?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
