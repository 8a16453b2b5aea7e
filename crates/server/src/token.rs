//! Tokens: random, shown once, kept only as hashes, in one file that only its owner may read.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How every token begins, so that one in the wrong place is recognised.
const PREFIX: &str = "evt_";
/// Random bytes of a token.
const RANDOM_BYTES: usize = 32;

/// The tokens of a server, as hashes.
#[derive(Debug)]
pub(crate) struct Tokens {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    file: TokenFile,
    /// When the file was last changed, as far as it was read.
    changed: Option<SystemTime>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct TokenFile {
    #[serde(default)]
    tokens: Vec<TokenLine>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct TokenLine {
    name: String,
    sha256: String,
}

impl Tokens {
    /// The tokens kept in a data directory.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub(crate) fn open(data: &Path) -> io::Result<Self> {
        let path = data.join("tokens.toml");
        let known = Mutex::new(read(&path)?);
        Ok(Self { path, known })
    }

    /// Whether any token was made.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).file.tokens.is_empty()
    }

    /// Makes a token and keeps its hash. The token itself is given once, here.
    ///
    /// # Errors
    /// When it could not be kept.
    pub(crate) fn make(&self, name: &str) -> io::Result<String> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let token = format!("{PREFIX}{}", hex(&random));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Another process may have made one meanwhile.
        let mut file = read(&self.path)?.file;
        file.tokens.push(TokenLine { name: name.to_owned(), sha256: hash(&token) });
        let text = toml::to_string(&file).map_err(io::Error::other)?;
        write_private(&self.path, text.as_bytes())?;
        *known = read(&self.path)?;
        Ok(token)
    }

    /// Whether a token is one of ours. One that was made since is found at once.
    pub(crate) fn allow(&self, token: &str) -> bool {
        let hash = hash(token);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.has(&hash) {
            return true;
        }
        let changed = fs::metadata(&self.path).and_then(|file| file.modified()).ok();
        if changed != known.changed {
            match read(&self.path) {
                Ok(read) => *known = read,
                Err(error) => tracing::error!(%error, "the file of tokens cannot be read"),
            }
        }
        known.has(&hash)
    }
}

impl Known {
    fn has(&self, hash: &str) -> bool {
        // Hashes are compared, so that the time it takes says nothing of a token.
        self.file.tokens.iter().any(|line| line.sha256 == hash)
    }
}

fn read(path: &Path) -> io::Result<Known> {
    let changed = fs::metadata(path).and_then(|file| file.modified()).ok();
    match fs::read_to_string(path) {
        Ok(text) => {
            let file = toml::from_str(&text).map_err(io::Error::other)?;
            Ok(Known { file, changed })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Known::default()),
        Err(error) => Err(error),
    }
}

/// Writes a file that only its owner may read, whole or not at all.
///
/// # Errors
/// When it could not be written.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = path.with_extension("new");
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
}

/// Makes a directory that only its owner may enter. One that is there stays as it is.
///
/// # Errors
/// When it could not be made.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
