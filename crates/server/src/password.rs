//! Passwords: kept as argon2id writes them, compared at the same price whether or not there is one.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use tokio::sync::Semaphore;

/// Characters of a password.
pub(crate) const LENGTH_MIN: usize = 10;
pub(crate) const LENGTH_MAX: usize = 200;

/// What a password that nobody has is compared with, so that an unknown name takes as long as a known one.
static NOBODY: std::sync::LazyLock<String> =
    std::sync::LazyLock::new(|| hash("a password that nobody has").unwrap_or_default());

/// Whether a password can be used.
pub(crate) fn is_usable(password: &str) -> bool {
    (LENGTH_MIN..=LENGTH_MAX).contains(&password.chars().count())
}

/// Each takes 19 MiB and a core for a tenth of a second: more at once than this wait for their turn.
static AT_ONCE: Semaphore = Semaphore::const_new(2);

/// Does something with a password off the threads that serve, in its turn.
///
/// # Errors
/// When the process ends.
pub(crate) async fn in_turn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<T> {
    let _turn = AT_ONCE.acquire().await?;
    Ok(tokio::task::spawn_blocking(work).await?)
}

/// The form in which a password is kept. Takes a tenth of a second.
///
/// # Errors
/// When the system has no randomness.
pub(crate) fn hash(password: &str) -> anyhow::Result<String> {
    let hashed = Argon2::default().hash_password(password.as_bytes());
    Ok(hashed.map_err(|error| anyhow::anyhow!("hash the password: {error}"))?.to_string())
}

/// Whether a password is the one that was kept. Nothing kept is never right.
pub(crate) fn is_right(password: &str, kept: Option<&str>) -> bool {
    let text = kept.unwrap_or(&NOBODY);
    let right = PasswordHash::new(text)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
    right && kept.is_some() && !password.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_itself_is_right() {
        let kept = hash("correct horse battery").unwrap();
        assert!(kept.starts_with("$argon2id$"));
        assert!(is_right("correct horse battery", Some(&kept)));
        for wrong in ["", "correct horse", "Correct horse battery", "a password that nobody has"] {
            assert!(!is_right(wrong, Some(&kept)), "{wrong}");
            assert!(!is_right(wrong, None), "{wrong}");
        }
        assert!(!is_right("anything at all", Some("")));
    }
}
