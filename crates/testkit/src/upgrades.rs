//! Upgrades: what an older version wrote is read by this one, and what a newer one wrote is left alone.
//!
//! | file | question |
//! | --- | --- |
//! | `upgrades/golden.rs` | which golden stores are there, and what must be read from each? |
//! | `upgrades/reading.rs` | does today's binary tell the same of it, and go on with it? |
//! | `upgrades/kills.rs` | and when its start was killed, at any moment? |
//! | `upgrades/crashes.rs` | and at every point of an opening, also by a power cut and a torn log? |
//! | `upgrades/refusals.rs` | what becomes of a store that is newer, or somebody else's? |
//! | `upgrades/damaged.rs` | what does each command say of a directory that lost a file or some of its bytes? |
//! | `upgrades/unknown.rs` | what becomes of entries that a newer version wrote? |

mod crashes;
mod damaged;
mod golden;
mod kills;
mod reading;
mod refusals;
mod unknown;

use std::collections::BTreeSet;

use rusqlite::Connection;
use store::sqlite::{Settings, SqliteStore};

use crate::Report;
use crate::trial::{now, scripted_model};
use golden::Golden;

pub use crashes::start;

/// Does everything.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(report: &mut Report, full: bool) -> anyhow::Result<()> {
    let begun = now();
    let goldens = Golden::all()?;
    let today = schema_of_today()?;
    let there: BTreeSet<usize> = goldens.iter().map(|golden| golden.told.schema).collect();
    let missing: Vec<usize> = (1..today).filter(|schema| !there.contains(schema)).collect();
    missing.iter().for_each(|schema| report.note(&format!("schema {schema} has no golden store")));
    report.line("golden.stores", goldens.len(), today - 1, goldens.len() >= today - 1);
    report.line("golden.missing", missing.len(), 0, missing.is_empty());
    let (_model, model_port) = scripted_model()?;
    for part in PARTS {
        let begun = now();
        let done = match part {
            "read" => reading::all(report, &goldens, model_port),
            "refused" => refusals::all(report, &goldens, model_port),
            "unknown" => unknown::all(report, &goldens, model_port),
            "damaged" => damaged::all(report, model_port, if full { 60 } else { 2 }),
            "kills" => kills::all(report, &goldens, model_port, if full { 200 } else { 6 }),
            _ => crashes::all(report, &goldens, full),
        };
        if let Err(error) = done {
            report.note(&format!("{part}: {error:#}"));
            report.line(&format!("{part}.done"), 0, 1, false);
        }
        report.note(&format!("{part}: {:.0} s", begun.elapsed().as_secs_f64()));
    }
    report.note(&format!("{:.0} s", begun.elapsed().as_secs_f64()));
    Ok(())
}

const PARTS: [&str; 6] = ["read", "refused", "unknown", "damaged", "kills", "crashes"];

/// The schema of a store that is made today.
fn schema_of_today() -> anyhow::Result<usize> {
    let directory = tempfile::tempdir()?;
    drop(SqliteStore::open(Settings { directory: directory.path().to_owned(), reserve_bytes: 0 })?);
    let file = Connection::open(directory.path().join("everturn.db"))?;
    Ok(file.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Prints what was broken, and how often.
fn broken(report: &mut Report, name: &str, broken: &[String]) {
    for what in broken.iter().take(12) {
        report.note(&format!("{name}: {}", what.chars().take(900).collect::<String>()));
    }
    report.line(&format!("{name}.broken"), broken.len(), 0, broken.is_empty());
}
