//! One process that is never restarted, between failing disks, clocks and readers:
//! `longlife [--brief | --full | --seconds N]`.

use std::time::Duration;

use testkit::Report;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => 60,
        // Every trouble once.
        ["--brief"] => 0,
        ["--full"] => 1_800,
        ["--seconds", seconds] => seconds.parse()?,
        _ => anyhow::bail!("usage: longlife [--brief | --full | --seconds N]"),
    };
    let mut report = Report::default();
    testkit::longlife::run(&mut report, Duration::from_secs(seconds))?;
    if !report.verdict("longlife") {
        std::process::exit(1);
    }
    Ok(())
}
