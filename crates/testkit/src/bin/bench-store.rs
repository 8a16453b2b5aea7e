//! Measures the store beside bare SQLite: `bench-store [--brief | --full] [a b c d e f g h i j]`, or the one on PostgreSQL beside bare
//! PostgreSQL: `bench-store --postgres [--full]`. One line a figure, verdict last.

use std::process::ExitCode;

use testkit::Report;
use testkit::bench::{Bench, postgres};

fn main() -> anyhow::Result<ExitCode> {
    if std::env::args().any(|word| word == "--postgres") {
        let mut report = Report::default();
        postgres::run(&mut report, std::env::args().any(|word| word == "--full"))?;
        return Ok(if report.verdict("bench-store") { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (bench, sections) = Bench::from_args("bench-store [--brief | --full] [a b c d e f g h i j]")?;
    let reached = bench.run(&sections)?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
