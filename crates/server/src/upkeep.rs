//! What backups and verifying have in common, whoever asks for them: the command line beside the server, or an owner through it.

use std::path::{Component, Path, PathBuf};

use anyhow::bail;
use store::backup;
use store::people::{By, People, PeopleError};
use store::sqlite::{Trouble, TroubleKind, Verified};

use crate::config::Config;

/// Bytes of the path of a folder.
const PLACE_BYTES_MAX: usize = 4_096;

/// Printed with every backup.
pub(crate) const KEY_NOT_INCLUDED: &str = "The backup does not include `secrets.key`; keep a copy elsewhere.";

/// Printed with a backup of a server on PostgreSQL.
pub(crate) const SESSIONS_ON_POSTGRES: &str = "Sessions and attachments are in PostgreSQL and not part of this backup. Back \
    them up with `pg_dump --schema=everturn`.";

/// Why sessions that are on PostgreSQL are not verified.
pub(crate) fn can_be_verified(config: &Config) -> Result<(), String> {
    match config.postgres {
        None => Ok(()),
        Some(_) => Err(
            "`verify` works only with SQLite. Sessions in PostgreSQL are checked each time they are read."
                .to_owned(),
        ),
    }
}

/// Notes in the audit trail that a backup was made.
///
/// # Errors
/// When nothing could be kept.
pub(crate) fn note_backup(people: &People, by: By, to: &Path) -> Result<(), PeopleError> {
    people.note(by, "backup_made", &to.display().to_string())
}

/// Notes in the audit trail that everything was looked through, and how many troubles were found.
///
/// # Errors
/// When nothing could be kept.
pub(crate) fn note_verify(people: &People, by: By, found: &Verified) -> Result<(), PeopleError> {
    let about = format!("{} sessions, {} troubles", found.sessions, found.troubles.len());
    people.note(by, "verified", &about)
}

/// A trouble as one line.
pub(crate) fn line(trouble: &Trouble) -> String {
    let Trouble { session, kind, what } = trouble;
    let whose = session.map_or_else(|| "-".to_owned(), |session| session.to_string());
    let intact = match kind {
        TroubleKind::Damaged { intact } => format!(" (intact up to entry {intact})"),
        _ => String::new(),
    };
    format!("{} {whose} {what}{intact}", kind.as_str())
}

/// Workers that verifying may have.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The folder that a backup can be made in, when somebody names it who does not stand on the machine itself.
///
/// # Errors
/// When it is not a whole path, is taken, or lies inside the data directory.
pub(crate) fn place(data: &Path, named: &str) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(named);
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let too_long = named.len() > PLACE_BYTES_MAX;
    if too_long || !path.is_absolute() || !plain || named.contains('\0') || path.parent().is_none() {
        bail!("Enter the absolute path of a folder on the server, starting with `/` and without `..`.");
    }
    // As the system sees it, whatever leads there.
    let there = path.ancestors().find_map(|folder| {
        let known = folder.canonicalize().ok()?;
        Some(known.join(path.strip_prefix(folder).ok()?))
    });
    let data = data.canonicalize()?;
    if there.is_none_or(|there| there.starts_with(&data)) {
        bail!("The folder is inside the data directory. Choose one outside of it.");
    }
    if backup::is_taken(&path) {
        bail!("The folder isn't empty, and backups never overwrite files. Choose a new or empty one.");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_goes_to_a_new_or_empty_folder_outside_of_the_data() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name).to_string_lossy().into_owned();
        let data = home.path().join("data");
        for folder in ["data", "empty", "full/some"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(&data, home.path().join("link")).unwrap();
        std::fs::write(home.path().join("file"), "x").unwrap();
        for good in ["new", "empty", "new/and/deep", "full/other"] {
            assert_eq!(place(&data, &at(good)).unwrap(), home.path().join(good), "{good}");
        }
        for bad in ["data", "data/copy", "link", "link/copy", "full", "file", "empty/../data/copy"] {
            assert!(place(&data, &at(bad)).is_err(), "{bad}");
        }
        let long = format!("/{}", "x/".repeat(3_000));
        for bad in [&long, "", "copy", "./copy", "../copy", "/", "~/copy", "/tmp/a\0b"] {
            assert!(place(&data, bad).is_err(), "{bad:?}");
        }
    }
}
