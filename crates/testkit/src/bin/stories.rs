//! The released binary with a strict server for each provider, from the first question to a crash.
//! `stories [--only NAME] [--json FILE] [--docs FILE | --check FILE]`.

use anyhow::{Context, ensure};
use testkit::Report;
use testkit::strict::{page, stories};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).map(String::as_str)
    };
    let (only, docs, check) = (value("--only"), value("--docs"), value("--check"));
    ensure!(
        only.is_none() || docs.or(check).is_none(),
        "--docs and --check need every provider; leave out --only"
    );
    let mut report = Report::default();
    let shown = stories::run(&mut report, only)?;
    if let Some(path) = value("--json") {
        let lines: Vec<String> = shown.iter().map(|shown| shown.to_json().to_string()).collect();
        std::fs::write(path, lines.join("\n") + "\n")?;
    }
    if report.has_failures() {
        report.note("a story failed, so the page is neither written nor compared");
    } else if let Some(path) = docs {
        std::fs::write(path, page::write(&shown)?)?;
    } else if let Some(path) = check {
        let page = std::fs::read_to_string(path).with_context(|| format!("read {path}"))?;
        page::check(&mut report, &page, &shown)?;
    }
    if !report.verdict("stories") {
        std::process::exit(1);
    }
    Ok(())
}
