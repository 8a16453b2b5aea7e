//! Sweeps over the whole surface of the released binary: who is let in, what one user learns of another, what becomes of
//! nonsense. `sweeps [--full] [PART]`.

use testkit::Report;

fn main() -> anyhow::Result<()> {
    let (options, parts): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let full = options.iter().any(|word| word == "--full");
    let mut report = Report::default();
    testkit::sweeps::run(&mut report, full, parts.first().map(String::as_str))?;
    if !report.verdict("sweeps") {
        std::process::exit(1);
    }
    Ok(())
}
