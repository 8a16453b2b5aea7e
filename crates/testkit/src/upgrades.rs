//! Upgrades: what an older version wrote is read by this one, and what a newer one wrote is left alone.
//!
//! | file | question |
//! | --- | --- |
//! | `upgrades/golden.rs` | which golden stores are there, and what must be read from each? |
//! | `upgrades/reading.rs` | does today's binary tell the same of it, and go on with it? |
//! | `upgrades/people.rs` | does `people.db` have every row, and does the API show it? |
//! | `upgrades/passkeys.rs` | does each passkey still sign its user in? |
//! | `upgrades/backups.rs` | is a restored backup of it the same? |
//! | `upgrades/kills.rs` | and when its start was killed, at any moment? |
//! | `upgrades/crashes.rs` | and at every point of an opening, also by a power cut and a torn log? |
//! | `upgrades/refusals.rs` | what becomes of a store that is newer, or somebody else's? |
//! | `upgrades/damaged.rs` | what does each command say of a directory that lost a file or some of its bytes? |
//! | `upgrades/unknown.rs` | what becomes of entries that a newer version wrote? |
//! | `upgrades/furnish.rs` | which rows does a new golden store get without the API? |

mod backups;
mod crashes;
mod damaged;
mod furnish;
mod golden;
mod kills;
mod passkeys;
mod people;
mod reading;
mod refusals;
mod unknown;

use std::collections::BTreeSet;
use std::rc::Rc;

use rusqlite::Connection;
use store::sqlite::{Settings, SqliteStore};

use crate::Report;
use crate::postgres::Postgres;
use crate::trial::{now, scripted_model};
use golden::Golden;

pub use crashes::start;
pub use furnish::furnish;

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
    let postgres = Rc::new(Postgres::start()?);
    let dumps = Golden::on_postgres(&postgres)?;
    check_dumps(report, &postgres, &dumps)?;
    let (_model, model_port) = scripted_model()?;
    let there: BTreeSet<usize> =
        goldens.iter().filter_map(|golden| Some(golden.told.people.as_ref()?.schema)).collect();
    let today = refusals::schema_of_people(model_port)?;
    let missing = (FIRST_PEOPLE..today).filter(|schema| !there.contains(schema)).count();
    report.line("golden.people_missing", missing, 0, missing == 0);
    for part in PARTS {
        let begun = now();
        let done = match part {
            "read" => reading::all(report, "read", &goldens, model_port),
            "postgres" => reading::all(report, "postgres", &dumps, model_port),
            "restored" => backups::all(report, &goldens, model_port),
            "refused" => refusals::all(report, &goldens, model_port),
            "unknown" => unknown::all(report, &goldens, model_port),
            "damaged" => damaged::all(report, model_port, if full { 60 } else { 2 }),
            "kills" => {
                let count = if full { 200 } else { goldens.len() };
                kills::all(report, "kills", &goldens, model_port, count)
            }
            "kills_postgres" => {
                kills::all(report, "kills_postgres", &dumps, model_port, if full { 50 } else { 2 })
            }
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

const PARTS: [&str; 9] =
    ["read", "postgres", "restored", "refused", "unknown", "damaged", "kills", "kills_postgres", "crashes"];

/// Checks that every schema of the store on PostgreSQL since the first dump has one.
fn check_dumps(report: &mut Report, postgres: &Postgres, dumps: &[Golden]) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let settings = store::postgres::Settings { url: postgres.url(), schema: "everturn".to_owned() };
    drop(runtime.block_on(store::postgres::PostgresStore::open(&settings))?);
    let today: usize =
        postgres.execute("postgres", b"SELECT max(version) FROM everturn.migrations")?.parse()?;
    let there: BTreeSet<usize> = dumps.iter().map(|golden| golden.told.schema).collect();
    let missing: Vec<usize> = (FIRST_DUMP..today).filter(|schema| !there.contains(schema)).collect();
    missing
        .iter()
        .for_each(|schema| report.note(&format!("schema {schema} on PostgreSQL has no golden store")));
    report.line("golden.dumps", dumps.len(), ">0", !dumps.is_empty());
    report.line("golden.dumps_missing", missing.len(), 0, missing.is_empty());
    Ok(())
}

/// The first schema of `people.db` whose rows were recorded.
const FIRST_PEOPLE: usize = 9;
/// The first schema on PostgreSQL with a golden store.
const FIRST_DUMP: usize = 5;

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
