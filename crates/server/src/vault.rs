//! Secrets for the server's own use, such as provider API keys. They are stored encrypted.

use std::path::Path;
use std::sync::Arc;

use agent::{ApiKey, KeySource};
use anyhow::{Context, bail};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use store::people::{By, People, PeopleError};

use crate::config::environment;
use crate::file::write_private;

const KEY_BYTES: usize = 32;
/// The encryption key, in the data directory unless the supervisor passes it as a credential. Never part of a backup.
const KEY_FILE: &str = "secrets.key";

/// Maximum length of a secret in bytes.
const SECRET_MAX: usize = 10_000;

/// Checks the name and the value of a secret.
///
/// # Errors
/// Returns the reason if either is invalid.
pub(crate) fn check(name: &str, secret: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > 60 || !name.bytes().all(plain) {
        return Err(
            "A secret's name must be 1 to 60 characters long and can only contain letters, digits, `-`, `_` and `.`.",
        );
    }
    if secret.is_empty() || secret.len() > SECRET_MAX || secret.chars().any(char::is_control) {
        return Err("A secret must be 1 to 10,000 bytes long and can't contain control characters.");
    }
    Ok(())
}

/// Encrypts and decrypts secrets.
pub(crate) struct Vault {
    people: Arc<People>,
    key: LessSafeKey,
}

impl Vault {
    /// Opens the vault of a data directory. Creates the key if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the key can't be read or created.
    pub(crate) fn open(data: &Path, people: Arc<People>) -> anyhow::Result<Self> {
        let brought = environment("CREDENTIALS_DIRECTORY").map(|folder| Path::new(&folder).join(KEY_FILE));
        let path = brought.filter(|path| path.exists()).unwrap_or_else(|| data.join(KEY_FILE));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut random = Zeroizing::new([0; KEY_BYTES]);
                getrandom::fill(random.as_mut())?;
                let text = Zeroizing::new(session::hex(&*random));
                write_private(&path, text.as_bytes())
                    .with_context(|| format!("failed to write {}", path.display()))?;
                text
            }
            Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
        };
        let digits = text.trim();
        let pairs = (0..KEY_BYTES).map(|at| digits.get(at * 2..at * 2 + 2));
        let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
        let bytes = bytes.filter(|_| digits.len() == KEY_BYTES * 2).map(Zeroizing::new);
        let Some(bytes) = bytes else {
            bail!("{} must contain {KEY_BYTES} bytes in hexadecimal", path.display())
        };
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes)
            .map_err(|_| anyhow::anyhow!("the encryption key is invalid"))?;
        Ok(Self { people, key: LessSafeKey::new(key) })
    }

    /// Saves a secret.
    ///
    /// # Errors
    /// Returns an error if it can't be saved.
    pub(crate) fn keep(&self, by: By, name: &str, secret: &str) -> anyhow::Result<()> {
        Ok(self.people.keep_sealed(by, name, &self.seal(name, secret)?)?)
    }

    /// Encrypts a secret for this name.
    ///
    /// # Errors
    /// Returns an error if encryption fails.
    pub(crate) fn seal(&self, name: &str, secret: &str) -> anyhow::Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce)?;
        let mut sealed = secret.as_bytes().to_vec();
        // The name is authenticated too, so one secret can't replace another.
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(name), &mut sealed)
            .map_err(|_| anyhow::anyhow!("failed to encrypt the secret"))?;
        Ok([&nonce, sealed.as_slice()].concat())
    }

    /// Returns whether a secret has this name.
    ///
    /// # Errors
    /// Returns an error if the secrets can't be read.
    pub(crate) fn has(&self, name: &str) -> Result<bool, PeopleError> {
        Ok(self.people.sealed(name)?.is_some())
    }

    /// Decrypts a secret.
    ///
    /// # Errors
    /// Returns an error if no secret has this name, or the key can't decrypt it.
    pub(crate) fn plain(&self, name: &str) -> Result<SecretString, String> {
        let set = format!("run `everturn secret set {name}`");
        let failed = |error: PeopleError| error.to_string();
        let sealed = self.people.sealed(name).map_err(failed)?;
        let sealed = sealed.ok_or_else(|| format!("secret `{name}` is not set; {set}"))?;
        let unsealed = sealed.split_first_chunk::<NONCE_LEN>().and_then(|(nonce, sealed)| {
            let mut sealed = Zeroizing::new(sealed.to_vec());
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let plain = self.key.open_in_place(nonce, Aad::from(name), &mut sealed).ok()?;
            String::from_utf8(plain.to_vec()).ok()
        });
        unsealed
            .map(SecretString::from)
            .ok_or_else(|| format!("secret `{name}` can't be decrypted with `{KEY_FILE}`; {set}"))
    }

    /// Decrypts a secret that is a provider's API key.
    pub(crate) fn secret(&self, name: &str) -> Result<ApiKey, String> {
        self.plain(name).map(|secret| ApiKey::new(secret.expose_secret()))
    }
}

/// A secret that is looked up by name each time it is used.
pub(crate) struct NamedSecret {
    pub(crate) vault: Arc<Vault>,
    pub(crate) name: String,
}

impl KeySource for NamedSecret {
    fn key(&self) -> Result<ApiKey, String> {
        self.vault.secret(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use store::directory::{DataDirectory, LogsAt};

    use super::*;
    use crate::people::{by_hand, open};

    #[test]
    fn a_secret_is_opened_by_its_name_and_key_alone() {
        let data = tempfile::tempdir().unwrap();
        let directory = DataDirectory::enter(data.path(), LogsAt::Here).unwrap();
        let people = Arc::new(open(&directory).unwrap());
        let vault = Vault::open(data.path(), people.clone()).unwrap();
        assert!(vault.secret("one").unwrap_err().contains("everturn secret set one"));
        vault.keep(by_hand(), "one", "sk-canary-0123456789").unwrap();
        assert!(vault.secret("one").is_ok());
        // The files contain it in no readable form.
        for file in std::fs::read_dir(data.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"canary"));
        }
        // It can't be decrypted under another name or with another key.
        let sealed = people.sealed("one").unwrap().unwrap();
        people.keep_sealed(by_hand(), "two", &sealed).unwrap();
        assert!(vault.secret("two").is_err());
        let mut changed = sealed.clone();
        changed[NONCE_LEN] ^= 1;
        people.keep_sealed(by_hand(), "one", &changed).unwrap();
        assert!(vault.secret("one").is_err());
        people.keep_sealed(by_hand(), "one", &sealed).unwrap();
        std::fs::remove_file(data.path().join(KEY_FILE)).unwrap();
        let other = Vault::open(data.path(), people).unwrap();
        assert!(other.secret("one").is_err());
        assert!(vault.secret("one").is_ok());
    }
}
