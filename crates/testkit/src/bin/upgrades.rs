//! Golden stores of every schema that there was, opened by today's version: read, gone on with, killed in the middle of
//! it, restored from a backup, refused where they are newer. `upgrades [--full]`. `upgrades furnish` is for
//! `scripts/golden-store`.

use std::fs;
use std::path::Path;

use store::directory::LogsAt;
use testkit::Report;
use testkit::crash::check;
use testkit::crash::witness::{Witness, read};
use testkit::crash::work::in_child;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let witness =
        |path: &str| -> anyhow::Result<Witness> { Ok(Witness::of(&read(&fs::read_to_string(path)?))) };
    match words.as_slice() {
        ["start", directory] => in_child(testkit::upgrades::start(Path::new(directory))),
        ["check", directory, lines, round] => {
            in_child(check::check(Path::new(directory), &witness(lines)?, round.parse()?))
        }
        ["again", directory, lines, _] => in_child(check::again(Path::new(directory), &witness(lines)?)),
        ["furnish", directory, logs @ ("sqlite" | "postgres"), session] => {
            let logs = if *logs == "sqlite" { LogsAt::Here } else { LogsAt::Elsewhere };
            testkit::upgrades::furnish(Path::new(directory), logs, session.parse()?)
        }
        [] | ["--full"] => {
            let mut report = Report::default();
            testkit::upgrades::run(&mut report, !words.is_empty())?;
            if report.verdict("upgrades") { Ok(()) } else { std::process::exit(1) }
        }
        other => anyhow::bail!("upgrades [--full], not {other:?}"),
    }
}
