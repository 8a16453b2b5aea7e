//! Brings a file to today's schema, one migration a transaction; a file of a newer version is refused.

use rusqlite::Connection;

use super::Fault;

/// Every migration, in order. A released one is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_memory.sql"),
    include_str!("migrations/0003_chats.sql"),
    include_str!("migrations/0004_users.sql"),
    include_str!("migrations/0005_organising.sql"),
    include_str!("migrations/0006_needs.sql"),
    include_str!("migrations/0007_deliveries.sql"),
    include_str!("migrations/0008_uploads.sql"),
];

/// Marks a file as ours: "EvTn".
const APPLICATION_ID: i64 = 0x4576_546e;

/// Refuses a file that is not ours or of a newer version, before anything in it is changed. Answers its version.
pub(crate) fn check(connection: &Connection) -> Result<usize, Fault> {
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: usize = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = (application, version, objects) == (0, 0, 0);
    if application != APPLICATION_ID && !empty {
        return Err(Fault::Refused("the file is not an Everturn store".to_owned()));
    }
    if version > MIGRATIONS.len() {
        let ours = MIGRATIONS.len();
        return Err(Fault::Refused(format!(
            "the store has schema {version}, but this version supports only {ours}; nothing was changed, \
             start the newer version"
        )));
    }
    Ok(version)
}

/// Refuses a file that is not of today's schema.
pub(super) fn is_today(connection: &Connection) -> Result<(), Fault> {
    let (found, ours) = (check(connection)?, MIGRATIONS.len());
    match found == ours {
        true => Ok(()),
        false => Err(Fault::Refused(format!(
            "the store has schema {found}; start the server once to upgrade it to {ours}"
        ))),
    }
}

pub(super) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    let version = check(connection)?;
    for (at, migration) in MIGRATIONS.iter().enumerate().skip(version) {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", at + 1)?;
        fault::hit("migrate.before_commit")?;
        transaction.commit()?;
        fault::hit("migrate.after_commit")?;
    }
    Ok(())
}
