//! Backs up golden stores with today's binary and restores them. The restored store is the same and continues.

use std::fs;
use std::process::Output;

use anyhow::ensure;

use super::golden::Golden;
use super::reading::{at_rest, client_of, settle_in, visit};
use crate::Report;
use crate::trial::Setup;

/// Backs up and restores every golden store of which `people.db` was recorded.
///
/// # Errors
/// Returns an error if a server cannot be started or asked.
pub(super) fn all(report: &mut Report, goldens: &[Golden], model_port: u16) -> anyhow::Result<()> {
    let (mut restored, mut broken) = (0, Vec::new());
    for golden in goldens.iter().filter(|golden| golden.told.people.is_some()) {
        let found = one(golden, model_port).unwrap_or_else(|error| vec![format!("{error:#}")]);
        broken.extend(found.into_iter().map(|what| format!("{}: {what}", golden.name)));
        restored += 1;
    }
    report.line("restored.stores", restored, ">0", restored > 0);
    super::broken(report, "restored", &broken);
    Ok(())
}

fn one(golden: &Golden, model_port: u16) -> anyhow::Result<Vec<String>> {
    let home = tempfile::tempdir()?;
    let setup = settle_in(golden, &home.path().join("origin"), model_port)?;
    let copy = home.path().join("copy");
    {
        let _server = setup.serve()?;
        for told in golden.told.sessions.iter().filter(|told| told.cut_off.is_some()) {
            at_rest(&client_of(golden, setup.port, &told.user)?, told)?;
        }
        succeeded(setup.command().arg("backup").arg(&copy).output()?)?;
    }
    let other = Setup::at(&home.path().join("other"), model_port)?;
    other.configure()?;
    succeeded(other.command().arg("restore").arg(&copy).output()?)?;
    // A backup has no key, so that it alone opens no secret.
    fs::copy(setup.data.join("secrets.key"), other.data.join("secrets.key"))?;
    visit(golden, &other)
}

fn succeeded(output: Output) -> anyhow::Result<()> {
    let told = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&told));
    Ok(())
}
