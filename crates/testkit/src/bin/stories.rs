//! The released binary with a strict server for each provider, from the first question to a crash.
//! `stories [--only NAME] [--json FILE]`.

use testkit::Report;
use testkit::strict::stories;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).map(String::as_str)
    };
    let mut report = Report::default();
    let shown = stories::run(&mut report, value("--only"))?;
    if let Some(path) = value("--json") {
        let lines: Vec<String> = shown.iter().map(|shown| shown.to_json().to_string()).collect();
        std::fs::write(path, lines.join("\n") + "\n")?;
    }
    if !report.verdict("stories") {
        std::process::exit(1);
    }
    Ok(())
}
