//! Today's binary, killed at random moments while it starts on a golden store for the first time.

use std::time::Duration;

use super::golden::Golden;
use super::reading::{settle_in, visit};
use crate::Report;
use crate::dice::Dice;
use crate::trial::{Process, now};

/// Kills so many starts, over all golden stores.
///
/// # Errors
/// When a server cannot be started or asked.
pub(super) fn all(
    report: &mut Report,
    name: &str,
    goldens: &[Golden],
    model_port: u16,
    count: usize,
) -> anyhow::Result<()> {
    let (mut dice, mut killed, mut broken) = (Dice::new(24), 0, Vec::new());
    // An undisturbed start says in which span the kills must fall.
    let span = {
        let home = tempfile::tempdir()?;
        let setup = settle_in(&goldens[0], home.path(), model_port)?;
        let begun = now();
        drop(setup.serve()?);
        begun.elapsed()
    };
    for at in 0..count {
        let golden = &goldens[at % goldens.len()];
        let home = tempfile::tempdir()?;
        let setup = settle_in(golden, home.path(), model_port)?;
        // Killed up to three times in a row, so that what one kill left is met by the next.
        for _ in 0..=dice.below(3) {
            let micros = dice.below(u64::try_from(span.as_micros())?);
            let mut starting =
                Process(setup.command().arg("serve").stdout(std::process::Stdio::null()).spawn()?);
            std::thread::sleep(Duration::from_micros(micros));
            starting.kill();
            killed += 1;
        }
        let found = visit(golden, &setup).unwrap_or_else(|error| vec![format!("{error:#}")]);
        broken.extend(found.into_iter().map(|what| format!("{}, kill {at}: {what}", golden.name)));
    }
    report.note(&format!("{name}: {killed} starts killed within {} ms", span.as_millis()));
    report.line(&format!("{name}.cases"), count, count, killed >= count);
    super::broken(report, name, &broken);
    Ok(())
}
