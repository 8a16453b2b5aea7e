//! A copy of a data directory that can be restored. It is made beside a server that goes on serving, and it is there
//! whole or not at all.
//!
//! The logs are copied in one read transaction, so that each session's copy is a beginning of its log, all of the same
//! moment. What can be rebuilt (the search index) and what belongs to the machine (spool, the key of the secrets) is
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, backup::Backup};
use serde::{Deserialize, Serialize};
use session::{BlobHash, Time};
use sha2::{Digest, Sha256};

use crate::blob::BlobDirectory;
use crate::directory::{DataDirectory, Database, LogsAt};
use crate::people::PEOPLE_FILE;
use crate::sqlite::disk::moment;
use crate::sqlite::{self, Fault};

const MANIFEST: &str = "backup.json";
/// What the logs are called until they are whole.
const UNFINISHED: &str = "everturn.db.unfinished";
/// The shape of the manifest and of what it describes.
const FORMAT: u32 = 1;
/// Pages copied in one step: 1 MiB. Each step is synced by itself, so that the commits of a running server never wait behind
/// hundreds of megabytes that the system writes out at once.
const PAGES: std::ffi::c_int = 256;
/// Bits by which epochs are raised: more claims than one server will ever make.
const EPOCH_BITS: u32 = 32;

/// Told how much is done of how much.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// What a backup says of itself. It is written last: without it there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// The version that made it.
    pub version: String,
    /// Microseconds since 1970.
    pub made_at: i64,
    pub sessions: u64,
    pub attachments: u64,
    /// Attachments of sessions that were erased while the backup was made.
    pub attachments_gone: u64,
    /// Attachments that sessions use and that are missing or changed in the data directory.
    #[serde(default)]
    pub attachments_damaged: u64,
    files: BTreeMap<String, Fingerprint>,
}

impl Manifest {
    /// Whether it has the logs of sessions. A backup of a server on PostgreSQL does not.
    pub fn has_sessions(&self) -> bool {
        self.files.contains_key(sqlite::LOGS_FILE)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fingerprint {
    bytes: u64,
    sha256: String,
}

/// Why there is no backup, or nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} already exists and is not an empty directory; nothing was changed", .0.display())]
    Taken(PathBuf),
    #[error("{} contains no data to back up", .0.display())]
    Nothing(PathBuf),
    #[error("{path} is not a complete backup: {reason}", path = .0.display(), reason = .1)]
    NotWhole(PathBuf, String),
    #[error("no backup was made, because {} is damaged; keep your older backups: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{0}")]
    Refused(String),
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    #[error("{0}: {1}")]
    Sqlite(String, #[source] rusqlite::Error),
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let what = path.display().to_string();
    move |error| BackupError::Io(what, error)
}

fn database(path: &Path) -> impl Fn(rusqlite::Error) -> BackupError {
    let what = path.display().to_string();
    move |error| BackupError::Sqlite(what.clone(), error)
}

/// Copies a data directory to `to`, which must not be there yet, or be empty.
///
/// # Errors
/// When it cannot be copied; nothing is left of the try.
pub fn make(
    directory: &DataDirectory,
    to: &Path,
    now: Time,
    progress: Progress<'_>,
) -> Result<Manifest, BackupError> {
    let data = directory.path();
    if is_taken(to) {
        return Err(BackupError::Taken(to.to_owned()));
    }
    let databases = directory.logs_at().databases();
    if databases.first().is_none_or(|first| !data.join(first.file()).exists()) {
        return Err(BackupError::Nothing(data.to_owned()));
    }
    let aside = to.with_extension("unfinished");
    if aside.exists() {
        fs::remove_dir_all(&aside).map_err(reading(&aside))?;
    }
    fs::create_dir_all(&aside).map_err(reading(&aside))?;
    let made = fill(data, databases, &aside, now, progress).and_then(|manifest| {
        fs::rename(&aside, to).map_err(reading(to))?;
        sync_parent(to)?;
        Ok(manifest)
    });
    if made.is_err() {
        // What cannot be removed either is told by its name.
        drop(fs::remove_dir_all(&aside));
    }
    made
}

/// Whether something is there that a backup would have to be written over.
pub fn is_taken(to: &Path) -> bool {
    let is_empty = || fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_none());
    fs::symlink_metadata(to).is_ok_and(|there| !there.is_dir() || !is_empty())
}

fn fill(
    data: &Path,
    databases: &[Database],
    to: &Path,
    now: Time,
    progress: Progress<'_>,
) -> Result<Manifest, BackupError> {
    let mut files = BTreeMap::new();
    for name in databases.iter().map(|database| database.file()).filter(|name| data.join(name).exists()) {
        copy_database(&data.join(name), &to.join(name), name, progress)?;
        check_copy(&data.join(name), &to.join(name))?;
        files.insert(name.to_owned(), fingerprint(&to.join(name))?);
    }
    let (mut sessions, mut names) = (0, BTreeSet::new());
    let (logs, people) = (to.join(sqlite::LOGS_FILE), to.join(PEOPLE_FILE));
    if logs.exists() {
        let copied = open(&logs)?;
        sessions = count(&copied, "SELECT count(*) FROM logs WHERE trunk = 0").map_err(database(&logs))?;
        names = texts(&copied, "SELECT DISTINCT blob FROM blob_uses").map_err(database(&logs))?;
        if people.exists() {
            // Brought, but not sent with a message yet.
            names.extend(texts(&open(&people)?, "SELECT blob FROM uploads").map_err(database(&people))?);
        }
    }
    let (from, into) = (BlobDirectory::beside(data.join("blobs")), blobs(to)?);
    let (mut attachments, mut attachments_gone, mut attachments_damaged) = (0, 0, 0);
    for (done, name) in names.iter().enumerate() {
        match from.get(&BlobHash(name.clone())) {
            Ok(Some(bytes)) => {
                into.put(&bytes).map_err(reading(&to.join("blobs")))?;
                attachments += 1;
            }
            Ok(None) if !is_used(&data.join(sqlite::LOGS_FILE), name)? => attachments_gone += 1,
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(reading(&data.join("blobs"))(error));
            }
            Ok(None) | Err(_) => attachments_damaged += 1,
        }
        progress("attachments", done as u64 + 1, names.len() as u64);
    }
    let manifest = Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: now.0,
        sessions,
        attachments,
        attachments_gone,
        attachments_damaged,
        files,
    };
    let path = to.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| reading(&path)(error.into()))?;
    fs::write(&path, text).map_err(reading(&path))?;
    sync_file(&path)?;
    sync_file(to)?;
    Ok(manifest)
}

/// What a backup says of itself.
///
/// # Errors
/// When there is none, or it is not whole.
pub fn look(from: &Path) -> Result<Manifest, BackupError> {
    let broken = |reason: String| BackupError::NotWhole(from.to_owned(), reason);
    let text = fs::read(from.join(MANIFEST)).map_err(|error| broken(format!("{MANIFEST}: {error}")))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| broken(format!("{MANIFEST}: {error}")))?;
    if manifest.format != FORMAT {
        let found = manifest.format;
        return Err(broken(format!("its format is {found}, but this version supports only {FORMAT}")));
    }
    Ok(manifest)
}

/// Makes a data directory of a backup. Epochs are raised beyond all that the original may have given out since, so that
/// what goes on here is never taken for what went on there; `lift` is different each time.
///
/// # Errors
/// When the backup is not whole, or there is something in the directory. Nothing is left of a try that failed.
pub fn restore(from: &Path, data: &Path, lift: u16, progress: Progress<'_>) -> Result<Manifest, BackupError> {
    let manifest = look(from)?;
    let taken = fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        return Err(BackupError::Taken(data.to_owned()));
    }
    for (name, wanted) in &manifest.files {
        let path = from.join(name);
        let is_known = LogsAt::Here.databases().iter().any(|database| database.file() == name);
        if !is_known || fingerprint(&path)? != *wanted {
            return Err(BackupError::NotWhole(
                from.to_owned(),
                format!("{name} has changed since the backup was made"),
            ));
        }
    }
    fs::create_dir_all(data).map_err(reading(data))?;
    let restored = refill(from, data, &manifest, lift, progress);
    if restored.is_err() {
        // What cannot be removed either keeps a server from starting there.
        for name in manifest.files.keys().map(String::as_str).chain([UNFINISHED, "blobs"]) {
            drop(fs::remove_file(data.join(name)).or_else(|_| fs::remove_dir_all(data.join(name))));
        }
        DataDirectory::forget(data).map_err(reading(data))?;
    }
    restored.map(|()| manifest)
}

fn refill(
    from: &Path,
    to: &Path,
    manifest: &Manifest,
    lift: u16,
    progress: Progress<'_>,
) -> Result<(), BackupError> {
    let refused = |error: sqlite::OpenStoreError| BackupError::Refused(error.to_string());
    // From here until the logs have their name, no server starts there.
    let has_logs = manifest.has_sessions();
    let logs_at = if has_logs { LogsAt::Here } else { LogsAt::Elsewhere };
    let _directory = DataDirectory::announce(to, logs_at).map_err(refused)?;
    let unfinished = to.join(UNFINISHED);
    for (done, name) in manifest.files.keys().enumerate() {
        let into = if name == sqlite::LOGS_FILE { unfinished.clone() } else { to.join(name) };
        fs::copy(from.join(name), &into).map_err(reading(&into))?;
        sync_file(&into)?;
        progress("files", done as u64 + 1, manifest.files.len() as u64);
    }
    let (kept, into) = (BlobDirectory::beside(from.join("blobs")), blobs(to)?);
    let names = kept.names().map_err(reading(&from.join("blobs")))?;
    if names.len() as u64 != manifest.attachments {
        let reason = format!("it has {} of {} attachments", names.len(), manifest.attachments);
        return Err(BackupError::NotWhole(from.to_owned(), reason));
    }
    for (done, name) in names.iter().enumerate() {
        let bytes = kept.get(name).map_err(reading(&from.join("blobs")))?;
        into.put(&bytes.unwrap_or_default()).map_err(reading(&to.join("blobs")))?;
        progress("attachments", done as u64 + 1, names.len() as u64);
    }
    if !has_logs {
        return sync_file(to);
    }
    sqlite::raise_epochs(&unfinished, EPOCH_BITS, lift).map_err(refused)?;
    for empty in ["-wal", "-shm"].map(|end| to.join(format!("{UNFINISHED}{end}"))) {
        if empty.exists() {
            fs::remove_file(&empty).map_err(reading(&empty))?;
        }
    }
    sync_file(to)?;
    fs::rename(&unfinished, to.join(sqlite::LOGS_FILE)).map_err(reading(to))?;
    sync_file(to)
}

fn open(path: &Path) -> Result<Connection, BackupError> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(database(path))
}

/// Copies a database as it is at one moment, while others write to it.
fn copy_database(from: &Path, to: &Path, name: &str, progress: Progress<'_>) -> Result<(), BackupError> {
    let failed = database(from);
    let source = open(from)?;
    source.busy_timeout(Duration::from_secs(5)).map_err(&failed)?;
    // One read transaction over all steps: otherwise each write of others would restart the copy.
    let snapshot = source.unchecked_transaction().map_err(&failed)?;
    snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(&failed)?;
    let mut target = Connection::open(to).map_err(database(to))?;
    // Synced step by step.
    target.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").map_err(database(to))?;
    {
        let backup = Backup::new(&snapshot, &mut target).map_err(&failed)?;
        let written = File::open(to).map_err(reading(to))?;
        loop {
            let step = backup.step(PAGES).map_err(&failed)?;
            let begun = moment();
            written.sync_data().map_err(reading(to))?;
            // Leaves the disk to the server for as long as the sync took.
            std::thread::sleep(begun.elapsed());
            let pages = backup.progress();
            let number = |pages: std::ffi::c_int| u64::try_from(pages).unwrap_or(0);
            progress(name, number(pages.pagecount - pages.remaining), number(pages.pagecount));
            if step == rusqlite::backup::StepResult::Done {
                break;
            }
        }
    }
    target.close().map_err(|(_, error)| database(to)(error))?;
    sync_file(to)
}

/// Returns an error if SQLite finds the copy malformed, which it is if the original is. A damaged copy must not replace an
/// older, intact backup.
fn check_copy(original: &Path, copy: &Path) -> Result<(), BackupError> {
    let damaged = |reason: String| BackupError::Damaged { path: original.to_owned(), reason };
    let found = open(copy)?.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match found {
        Ok(found) if found == "ok" => Ok(()),
        Ok(found) => Err(damaged(found)),
        Err(error) if Fault::is_malformed(&error) => Err(damaged(error.to_string())),
        Err(error) => Err(database(copy)(error)),
    }
}

/// Returns whether a session uses the attachment now, or a message may still name it.
fn is_used(logs: &Path, blob: &str) -> Result<bool, BackupError> {
    let connection = open(logs)?;
    connection.busy_timeout(Duration::from_secs(5)).map_err(database(logs))?;
    let sql = "SELECT 1 FROM blob_uses WHERE blob = ?1 UNION ALL SELECT 1 FROM pending_blobs WHERE blob = ?1";
    connection.prepare(sql).and_then(|mut used| used.exists([blob])).map_err(database(logs))
}

fn count(connection: &Connection, sql: &str) -> rusqlite::Result<u64> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<BTreeSet<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn blobs(directory: &Path) -> Result<BlobDirectory, BackupError> {
    BlobDirectory::open(directory.join("blobs")).map_err(reading(&directory.join("blobs")))
}

fn fingerprint(path: &Path) -> Result<Fingerprint, BackupError> {
    let mut file = File::open(path).map_err(reading(path))?;
    let (mut sha, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1024 * 1024]);
    loop {
        let count = file.read(&mut buffer).map_err(reading(path))?;
        if count == 0 {
            break;
        }
        sha.update(&buffer[..count]);
        bytes += count as u64;
    }
    Ok(Fingerprint { bytes, sha256: session::hex(&sha.finalize()) })
}

fn sync_file(path: &Path) -> Result<(), BackupError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(reading(path))
}

fn sync_parent(path: &Path) -> Result<(), BackupError> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => sync_file(folder),
        _ => sync_file(Path::new(".")),
    }
}
