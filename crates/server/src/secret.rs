//! Secrets that open the gate: random, shown once, kept only as hashes.

use sha2::{Digest, Sha256};

/// Random bytes of a secret.
const RANDOM_BYTES: usize = 32;

/// What a secret is for. Each kind begins with its own letters, so that one in the wrong place is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretKind {
    Token,
    Login,
    Share,
    /// What a browser keeps while it is at a provider of identities.
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

    /// Whether a text can be such a secret at all.
    pub(crate) fn fits(self, text: &str) -> bool {
        text.strip_prefix(self.prefix()).is_some_and(|rest| {
            rest.len() == RANDOM_BYTES * 2 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    }

    /// A new secret, which is given once, here, and what is kept of it.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub(crate) fn make(self) -> Result<(String, [u8; 32]), getrandom::Error> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random)?;
        let random = session::hex(&random);
        let secret = format!("{}{random}", self.prefix());
        let hash = hash(&secret);
        Ok((secret, hash))
    }
}

/// What is kept of a secret. Secrets are random and long, so that a plain hash cannot be turned back.
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
