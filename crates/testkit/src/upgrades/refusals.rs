//! A store that a newer version left, or that is somebody else's: refused in words, and left as it is, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::golden::Golden;
use super::reading::settle_in;
use crate::Report;
use crate::trial::{Process, Setup, now};

/// How long a refusal may take. Only a failing campaign waits this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// One directory that must be refused.
struct Case<'a> {
    name: &'a str,
    /// Makes it what must be refused.
    spoil: &'a dyn Fn(&Path) -> anyhow::Result<()>,
    /// What its refusal must say.
    words: &'a [String],
}

/// Every golden store in every way.
///
/// # Errors
/// When the binary cannot be run.
pub(super) fn all(report: &mut Report, goldens: &[Golden], model_port: u16) -> anyhow::Result<()> {
    let store = super::schema_of_today()?;
    let people = schema_of_people(model_port)?;
    let words = |today: usize| {
        let found = format!("schema {}", today + 1);
        [found, format!("this version supports only {today}"), "nothing was changed".to_owned()]
    };
    let (of_store, of_people) = (words(store), words(people));
    let cases = [
        Case {
            name: "a newer store",
            spoil: &|data| raise(&data.join("everturn.db"), store + 1),
            words: &of_store,
        },
        Case {
            name: "newer people",
            spoil: &|data| raise(&data.join("people.db"), people + 1),
            words: &of_people,
        },
        Case {
            name: "a database of someone else",
            spoil: &|data| foreign(data, "everturn.db"),
            words: &["not an Everturn store".to_owned()],
        },
        Case {
            name: "people of someone else",
            spoil: &|data| foreign(data, "people.db"),
            words: &["not an Everturn user database".to_owned()],
        },
        Case { name: "a letter", spoil: &|data| letter(data, "everturn.db"), words: &[] },
        Case { name: "a letter for people", spoil: &|data| letter(data, "people.db"), words: &[] },
    ];
    let (mut refused, mut broken) = (0, Vec::new());
    for golden in goldens {
        for case in &cases {
            let home = tempfile::tempdir()?;
            let setup = settle_in(golden, home.path(), model_port)?;
            let wanted = case.name != "newer people" || setup.data.join("people.db").exists();
            if !wanted {
                continue;
            }
            (case.spoil)(&setup.data)?;
            let before = files(&setup.data)?;
            let found = match refusal(&setup)? {
                None => vec!["was opened".to_owned()],
                Some(told) => {
                    refused += 1;
                    let missing = case.words.iter().filter(|word| !told.contains(word.as_str()));
                    missing.map(|word| format!("does not say `{word}`: {told}")).collect()
                }
            };
            let found = found.into_iter().chain(changes(&before, &files(&setup.data)?));
            broken.extend(found.map(|what| format!("{}, {}: {what}", golden.name, case.name)));
        }
    }
    report.line("refused.cases", refused, goldens.len() * 5, refused >= goldens.len() * 5);
    super::broken(report, "refused", &broken);
    Ok(())
}

/// The schema of a file of people that is made today.
pub(super) fn schema_of_people(model_port: u16) -> anyhow::Result<usize> {
    let home = tempfile::tempdir()?;
    let setup = Setup::at(home.path(), model_port)?;
    setup.prepare()?;
    let file = Connection::open(setup.data.join("people.db"))?;
    Ok(file.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Gives a file a schema. The write-ahead log stays: a store that was not closed is refused without it.
fn raise(file: &Path, schema: usize) -> anyhow::Result<()> {
    let connection = Connection::open(file)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection.pragma_update(None, "user_version", schema)?)
}

/// Puts a database of someone else in the place of one of ours.
fn foreign(data: &Path, name: &str) -> anyhow::Result<()> {
    replace(data, name)?;
    Ok(Connection::open(data.join(name))?.execute_batch("CREATE TABLE birds (name TEXT)")?)
}

fn letter(data: &Path, name: &str) -> anyhow::Result<()> {
    replace(data, name)?;
    Ok(fs::write(data.join(name), "a letter, not a database\n".repeat(100))?)
}

fn replace(data: &Path, name: &str) -> anyhow::Result<()> {
    for name in [name.to_owned(), format!("{name}-wal"), format!("{name}-shm"), "lock".to_owned()] {
        let path = data.join(name);
        if path.exists() {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// What a server says that does not start; nothing when it does.
fn refusal(setup: &Setup) -> anyhow::Result<Option<String>> {
    let (told, begun) = (setup.home.join("refusal"), now());
    let mut command = setup.command();
    command.arg("serve").stdout(Stdio::null()).stderr(fs::File::create(&told)?);
    let mut server = Process(command.spawn()?);
    while begun.elapsed() < PATIENCE {
        if let Some(status) = server.0.try_wait()? {
            return Ok((!status.success()).then_some(fs::read_to_string(&told)?));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(None)
}

/// Every file with its bytes, except the shared memory of SQLite and an empty lock.
fn files(data: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![data.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let (name, bytes) = (path.to_string_lossy().into_owned(), fs::read(&path)?);
            let is_new_lock = name.ends_with("/lock") && bytes.is_empty();
            if !is_new_lock && !name.ends_with("-shm") {
                files.insert(path, bytes);
            }
        }
    }
    Ok(files)
}

fn changes(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let paths = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path)));
    let changed = paths.filter(|path| before.get(*path) != after.get(*path));
    changed.map(|path| format!("{} is not as it was", path.display())).collect()
}
