//! Sweeps over the whole surface of the released binary: who is let in, what one user learns of another, what becomes of
//! nonsense. `sweeps [--full]`.

use testkit::Report;

fn main() -> anyhow::Result<()> {
    let full = std::env::args().any(|word| word == "--full");
    let mut report = Report::default();
    testkit::sweeps::run(&mut report, full)?;
    if !report.verdict("sweeps") {
        std::process::exit(1);
    }
    Ok(())
}
