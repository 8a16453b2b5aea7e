//! Measures the store beside bare SQLite: `bench-store [--full] [a b c d e f g h]`. One line a figure, verdict last.

use std::process::ExitCode;

use testkit::bench::Bench;

fn main() -> anyhow::Result<ExitCode> {
    let (bench, sections) = Bench::from_args("bench-store [--full] [a b c d e f g h]")?;
    let reached = bench.run(&sections)?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
