//! Backups of the released binary under load, each restored and compared. `backups [--full]`.

use testkit::Report;

fn main() -> anyhow::Result<()> {
    let full = std::env::args().any(|word| word == "--full");
    let mut report = Report::default();
    testkit::backups::run(&mut report, full)?;
    if !report.verdict("backups") {
        std::process::exit(1);
    }
    Ok(())
}
