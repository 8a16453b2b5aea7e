//! Attachments by content hash. An upload is durable before it is acknowledged, and stays for a message to name it. A
//! message that names bytes which are not stored is refused by the append itself.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use session::{BlobHash, Time};
use sha2::{Digest, Sha256};

use crate::error::StoreError;

/// Bytes kept by their hash.
pub trait Blobs: Send + Sync + 'static {
    /// Stores an upload. Once this answers `Ok`, the bytes survive a power cut, and an erase of another session that
    /// uses them, until a message names them or [`Self::expire_uploads`] removes them.
    fn put_blob(&self, bytes: Vec<u8>, now: Time) -> BoxFuture<'_, Result<BlobHash, StoreError>>;

    /// Whether a message may name these bytes.
    fn has_blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Removes some uploads from before this time that no message named. Answers how many; 0 when none are left.
    fn expire_uploads(&self, before: Time) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// The bytes, checked against their name; `None` when there are none.
    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;
}

/// The name of some bytes.
pub fn hash_of(bytes: &[u8]) -> BlobHash {
    BlobHash(session::hex(&Sha256::digest(bytes)))
}

/// Bytes written between two syncs.
const STEP_BYTES: usize = 1024 * 1024;
/// Where bytes are until they are whole.
const UNFINISHED: &str = "unfinished";

/// A directory of blobs, one file each, spread over 256 folders.
#[derive(Debug, Clone)]
pub(crate) struct BlobDirectory {
    root: PathBuf,
    /// Numbers unfinished files: the same bytes may be put twice at once.
    begun: Arc<AtomicU64>,
}

impl BlobDirectory {
    pub(crate) fn open(root: PathBuf) -> io::Result<Self> {
        // What an earlier process did not finish writing belongs to nobody.
        match fs::remove_dir_all(root.join(UNFINISHED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(root.join(UNFINISHED))?;
        sync_directory(&root)?;
        root.parent().map_or(Ok(()), sync_directory)?;
        Ok(Self::beside(root))
    }

    /// A directory that is only read, and may not be there; another process may be writing to it.
    pub(crate) fn beside(root: PathBuf) -> Self {
        Self { root, begun: Arc::default() }
    }

    /// Every blob that is kept.
    pub(crate) fn names(&self) -> io::Result<Vec<BlobHash>> {
        let mut names = kept_in(&self.root)?;
        names.sort();
        Ok(names)
    }

    fn path(&self, hash: &BlobHash) -> Option<PathBuf> {
        let plain = hash.0.len() == 64 && hash.0.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| self.root.join(&hash.0[..2]).join(&hash.0))
    }

    /// Keeps bytes under their hash, and returns it.
    pub(crate) fn put(&self, bytes: &[u8]) -> io::Result<BlobHash> {
        let hash = hash_of(bytes);
        self.put_as(&hash, bytes)?;
        Ok(hash)
    }

    /// Keeps bytes whose hash is known. They are written aside, synced, renamed, and the directories synced: a name never
    /// stands for half the bytes. A file whose bytes changed or cannot be read is replaced.
    pub(crate) fn put_as(&self, hash: &BlobHash, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(hash).ok_or(io::ErrorKind::InvalidInput)?;
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)?;
        if !matches!(self.get(hash), Ok(Some(_))) {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            let aside = self.root.join(UNFINISHED).join(format!("{}.{number}", hash.0));
            write_file(&aside, bytes).and_then(|()| fs::rename(&aside, &path)).inspect_err(|_| {
                // If it cannot be removed now, the next start removes it.
                drop(fs::remove_file(&aside));
            })?;
        }
        // An earlier try may have come this far and failed here, so the name is synced also when it is there.
        fault::hit("blob.before_directory_sync")?;
        sync_directory(folder)?;
        sync_directory(&self.root)?;
        fault::hit("blob.after_directory_sync")?;
        Ok(())
    }

    pub(crate) fn get(&self, hash: &BlobHash) -> io::Result<Option<Vec<u8>>> {
        let Some(path) = self.path(hash) else { return Ok(None) };
        match fs::read(path) {
            Ok(bytes) if hash_of(&bytes) == *hash => Ok(Some(bytes)),
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the bytes don't match their hash")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a file of this name is there. Its bytes are not looked at.
    pub(crate) fn has(&self, hash: &BlobHash) -> io::Result<bool> {
        self.path(hash).map_or(Ok(false), |path| path.try_exists())
    }

    pub(crate) fn remove(&self, hash: &BlobHash) -> io::Result<()> {
        let Some(path) = self.path(hash) else { return Ok(()) };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => path.parent().map_or(Ok(()), sync_directory),
        }
    }
}

/// The names of all blobs in a directory; none when there is no such directory.
pub(crate) fn kept_in(root: &Path) -> io::Result<Vec<BlobHash>> {
    let read = |path: &Path| match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.collect::<io::Result<Vec<_>>>(),
    };
    let mut kept = Vec::new();
    for folder in read(root)?.into_iter().filter(|folder| folder.file_name() != UNFINISHED) {
        let names = read(&folder.path())?.into_iter().filter_map(|file| file.file_name().into_string().ok());
        kept.extend(names.map(BlobHash));
    }
    Ok(kept)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    // Synced step by step, so that the commits of other sessions never wait behind all of it.
    for step in bytes.chunks(STEP_BYTES) {
        file.write_all(step)?;
        file.sync_data()?;
    }
    fault::hit("blob.before_sync")?;
    file.sync_all()?;
    fault::hit("blob.before_rename")
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
