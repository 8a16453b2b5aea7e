//! Secrets of callers, such as API tokens: random, shown once and stored only as hashes.

use sha2::{Digest, Sha256};

/// Number of random bytes in a secret.
const RANDOM_BYTES: usize = 32;

/// The purpose of a secret. Each kind has its own prefix, so a misplaced secret can be recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretKind {
    Token,
    Login,
    Share,
    /// Ties a sign-in at an identity provider to the browser that started it.
    Browser,
}

impl SecretKind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Token => "evt_",
            Self::Login => "evl_",
            Self::Share => "evs_",
            Self::Browser => "evb_",
        }
    }

    /// Whether a text has the form of such a secret.
    pub(crate) fn fits(self, text: &str) -> bool {
        text.strip_prefix(self.prefix()).is_some_and(|rest| {
            rest.len() == RANDOM_BYTES * 2 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    }

    /// Creates a secret. Returns it with its hash.
    ///
    /// # Errors
    /// Returns an error if the system can't provide random bytes.
    pub(crate) fn make(self) -> Result<(String, [u8; 32]), getrandom::Error> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random)?;
        let random = session::hex(&random);
        let secret = format!("{}{random}", self.prefix());
        let hash = hash(&secret);
        Ok((secret, hash))
    }
}

/// Returns the hash of a secret. Secrets are long and random, so an unsalted hash can't be reversed.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_of_their_kind_and_never_the_same() {
        let ((one, kept), (other, _)) =
            (SecretKind::Token.make().unwrap(), SecretKind::Token.make().unwrap());
        assert_ne!(one, other);
        assert_eq!(kept, hash(&one));
        assert!(SecretKind::Token.fits(&one) && !SecretKind::Login.fits(&one));
        assert!(!SecretKind::Token.fits("evt_") && !SecretKind::Token.fits(&one[..one.len() - 1]));
        assert_ne!(hash(&one), hash(&other));
    }
}
