//! Files on their way in: what has arrived so far, and how much is still to come. They survive a restart. What is told to
//! have arrived is synced; what came after that counts once it is.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use session::{BlobHash, Time, UserId};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::file::{make_private, write_private};

/// Uploads of one user that are not finished.
pub(crate) const UNFINISHED_MAX: usize = 20;
/// Finished uploads of one user that are still known; beyond that the oldest is forgotten. Its file stays.
const FINISHED_MAX: usize = 200;
/// How long an upload is kept after something of it came.
const KEPT_MICROS: i64 = 24 * 3_600 * 1_000_000;
/// Files that are handed over at once: each is in memory as a whole for a moment.
const FINISHING_MAX: usize = 2;

/// The progress of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Upload {
    pub(crate) length: u64,
    /// Bytes that arrived and are synced.
    pub(crate) offset: u64,
    /// When something of it came last.
    pub(crate) touched_at: Time,
    /// What the file is kept by, once it is whole.
    pub(crate) blob: Option<BlobHash>,
}

type Key = (UserId, Uuid);

/// The uploads of a data directory.
#[derive(Debug)]
pub(crate) struct Uploads {
    root: PathBuf,
    /// Uploads that a connection works on, and how it is told to leave.
    held: Mutex<HashMap<Key, CancellationToken>>,
    released: Notify,
    /// Held while uploads are counted, made and dropped.
    making: Mutex<()>,
    pub(crate) finishing: Semaphore,
}

impl Uploads {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn open(data: &Path) -> io::Result<Self> {
        let root = data.join("uploads");
        make_private(&root)?;
        let (held, released, making) = (Mutex::default(), Notify::new(), Mutex::default());
        Ok(Self { root, held, released, making, finishing: Semaphore::new(FINISHING_MAX) })
    }

    fn folder(&self, user: UserId) -> PathBuf {
        self.root.join(user.to_string())
    }

    /// What is known of an upload.
    fn note(&self, (user, upload): Key) -> PathBuf {
        self.folder(user).join(format!("{upload}.json"))
    }

    /// The bytes of it.
    fn bytes(&self, (user, upload): Key) -> PathBuf {
        self.folder(user).join(format!("{upload}.bytes"))
    }

    fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an upload. Answers no when the user has too many that are not finished.
    ///
    /// # Errors
    /// When it could not be kept.
    pub(crate) fn begin(&self, user: UserId, upload: Uuid, length: u64, now: Time) -> io::Result<bool> {
        let _making = self.making();
        let known = self.known(user)?;
        let (mut finished, unfinished): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|(_, upload)| upload.blob.is_some());
        if unfinished.len() >= UNFINISHED_MAX {
            return Ok(false);
        }
        if finished.len() >= FINISHED_MAX {
            finished.sort_by_key(|(_, upload)| upload.touched_at);
            self.remove((user, finished[0].0))?;
        }
        make_private(&self.folder(user))?;
        fs::File::options().write(true).create_new(true).mode(0o600).open(self.bytes((user, upload)))?;
        self.keep((user, upload), &Upload { length, offset: 0, touched_at: now, blob: None })?;
        Ok(true)
    }

    fn known(&self, user: UserId) -> io::Result<Vec<(Uuid, Upload)>> {
        let entries = match fs::read_dir(self.folder(user)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut known = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json")?.parse().ok());
            let Some(id) = id else { continue };
            known.extend(self.look((user, id))?.map(|upload| (id, upload)));
        }
        Ok(known)
    }

    /// How far an upload is; none when the user has no such one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn look(&self, key: Key) -> io::Result<Option<Upload>> {
        match fs::read(self.note(key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => Ok(serde_json::from_slice(&read?).ok()),
        }
    }

    fn keep(&self, key: Key, upload: &Upload) -> io::Result<()> {
        write_private(&self.note(key), &serde_json::to_vec(upload)?)
    }

    fn remove(&self, key: Key) -> io::Result<()> {
        for path in [self.note(key), self.bytes(key)] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes an upload for one connection. Another one that still holds it, because nobody told it that its caller is
    /// gone, keeps what it has and leaves.
    pub(crate) async fn hold(self: &Arc<Self>, key: Key) -> Held {
        loop {
            let mut released = pin!(self.released.notified());
            released.as_mut().enable();
            let leave = CancellationToken::new();
            let vacant = {
                let mut held = self.held();
                match held.get(&key) {
                    Some(other) => {
                        other.cancel();
                        false
                    }
                    None => held.insert(key, leave.clone()).is_none(),
                }
            };
            if vacant {
                return Held { uploads: self.clone(), key, leave };
            }
            released.await;
        }
    }

    /// Drops uploads of which nothing came for a day before `now`, and bytes that belong to none. Answers how many.
    ///
    /// # Errors
    /// When the folder cannot be read or changed.
    pub(crate) fn drop_old(&self, now: Time) -> io::Result<u64> {
        let _making = self.making();
        let mut count = 0;
        for folder in fs::read_dir(&self.root)? {
            let folder = folder?;
            let Some(user) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            for file in fs::read_dir(folder.path())? {
                let name = file?.file_name();
                let id = name.to_str().and_then(|name| name.split('.').next()?.parse().ok());
                let Some(id) = id else { continue };
                let upload = self.look((user, id))?;
                let is_old = upload.is_none_or(|upload| now.micros_since(upload.touched_at) >= KEPT_MICROS);
                if is_old && !self.held().contains_key(&(user, id)) {
                    self.remove((user, id))?;
                    count += u64::from(name.to_str().is_some_and(|name| name.ends_with(".json")));
                }
            }
        }
        Ok(count)
    }
}

/// An upload that one connection works on.
#[derive(Debug)]
pub(crate) struct Held {
    uploads: Arc<Uploads>,
    key: Key,
    /// Says that another connection wants it.
    pub(crate) leave: CancellationToken,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.uploads.held().remove(&self.key);
        self.uploads.released.notify_waiters();
    }
}

impl Held {
    /// How far it is; none when there is no such upload.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn look(&self) -> io::Result<Option<Upload>> {
        self.uploads.look(self.key)
    }

    /// Opens the bytes behind what is told to have arrived; anything beyond that was never told.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub(crate) fn open(&self, upload: &Upload) -> io::Result<File> {
        let mut file = File::options().write(true).open(self.uploads.bytes(self.key))?;
        file.set_len(upload.offset)?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(upload.offset))?;
        Ok(file)
    }

    /// Syncs what arrived, then tells of it.
    ///
    /// # Errors
    /// When that is not known to be kept.
    pub(crate) fn keep(&self, file: &mut File, upload: &Upload) -> io::Result<()> {
        file.flush()?;
        file.sync_all()?;
        self.uploads.keep(self.key, upload)
    }

    /// All bytes of an upload that is whole.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn whole(&self) -> io::Result<Vec<u8>> {
        fs::read(self.uploads.bytes(self.key))
    }

    /// Notes that the file is kept, and lets the bytes here go.
    ///
    /// # Errors
    /// When that could not be kept.
    pub(crate) fn finish(&self, upload: &Upload) -> io::Result<()> {
        self.uploads.keep(self.key, upload)?;
        match fs::remove_file(self.uploads.bytes(self.key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Gives the upload up. Answers no when there is none.
    ///
    /// # Errors
    /// When it could not be removed.
    pub(crate) fn remove(&self) -> io::Result<bool> {
        let there = self.look()?.is_some();
        self.uploads.remove(self.key)?;
        Ok(there)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOW: Time = Time(1_700_000_000_000_000);

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[tokio::test]
    async fn uploads_are_bounded_private_and_go_after_a_day() {
        let home = tempfile::tempdir().unwrap();
        let uploads = Arc::new(Uploads::open(home.path()).unwrap());
        let (ann, bob) = (UserId(id(1)), UserId(id(2)));
        for number in 0..UNFINISHED_MAX as u128 {
            assert!(uploads.begin(ann, id(number), 10, NOW).unwrap());
        }
        assert!(!uploads.begin(ann, id(99), 10, NOW).unwrap());
        assert!(uploads.begin(bob, id(99), 10, NOW).unwrap(), "each user has his own");
        assert_eq!(uploads.look((bob, id(0))).unwrap(), None, "what is another's is not there");
        for path in [uploads.folder(ann), uploads.note((ann, id(0))), uploads.bytes((ann, id(0)))] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o077, 0);
        }
        let later = |micros| NOW.plus_micros(micros);
        assert_eq!(uploads.drop_old(later(KEPT_MICROS - 1)).unwrap(), 0);
        let held = uploads.hold((ann, id(3))).await;
        assert_eq!(uploads.drop_old(later(KEPT_MICROS)).unwrap(), UNFINISHED_MAX as u64);
        assert!(held.look().unwrap().is_some(), "what somebody works on stays");
        assert!(uploads.begin(ann, id(100), 10, NOW).unwrap());
    }

    #[tokio::test]
    async fn bytes_that_were_never_told_do_not_count() {
        let home = tempfile::tempdir().unwrap();
        let uploads = Arc::new(Uploads::open(home.path()).unwrap());
        let key = (UserId::FIRST, id(1));
        uploads.begin(key.0, key.1, 10, NOW).unwrap();
        let held = uploads.hold(key).await;
        let mut upload = held.look().unwrap().unwrap();
        let mut file = held.open(&upload).unwrap();
        file.write_all(b"heron").unwrap();
        upload.offset = 5;
        held.keep(&mut file, &upload).unwrap();
        // The process dies here, with more on its way.
        file.write_all(b"junk").unwrap();
        drop((file, held));
        let uploads = Arc::new(Uploads::open(home.path()).unwrap());
        let held = uploads.hold(key).await;
        let mut upload = held.look().unwrap().unwrap();
        assert_eq!(upload.offset, 5);
        let mut file = held.open(&upload).unwrap();
        file.write_all(b"stork").unwrap();
        upload.offset = 10;
        held.keep(&mut file, &upload).unwrap();
        assert_eq!(held.whole().unwrap(), b"heronstork");
    }

    #[tokio::test]
    async fn who_comes_later_takes_an_upload_over() {
        let home = tempfile::tempdir().unwrap();
        let uploads = Arc::new(Uploads::open(home.path()).unwrap());
        let key = (UserId::FIRST, id(1));
        let first = uploads.hold(key).await;
        let leave = first.leave.clone();
        let leaves = async {
            leave.cancelled().await;
            drop(first);
        };
        let ((), second) = tokio::join!(leaves, uploads.hold(key));
        assert!(!second.leave.is_cancelled());
    }
}
