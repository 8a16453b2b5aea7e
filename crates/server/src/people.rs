//! Where the people of a server are kept, and how their secrets are made.

use std::path::Path;

use anyhow::Context;
use hub::{Clock, SystemClock};
use serde::Deserialize;
use session::{Time, UserId};
use store::directory::DataDirectory;
use store::people::{By, Kind, NewCredential, People, PeopleError, Scope};
use uuid::Uuid;

use crate::secret::SecretKind;

/// Characters of a name.
pub(crate) const NAME_MAX: usize = 80;

/// Opens the people of a data directory, and takes over the tokens of a version that kept them in a file of text.
///
/// # Errors
/// When they cannot be read.
pub(crate) fn open(directory: &DataDirectory) -> anyhow::Result<People> {
    let people = People::open(directory, SystemClock.now()).context("failed to open people.db")?;
    take_over(&people, &directory.path().join("tokens.toml")).context("failed to import tokens.toml")?;
    Ok(people)
}

/// Whoever does something at this moment.
pub(crate) fn by(user: Option<UserId>) -> By {
    By { user, now: SystemClock.now(), id: SystemClock.id() }
}

/// The command line on the server itself.
pub(crate) fn by_hand() -> By {
    by(None)
}

/// Makes a token and answers it, this once, with its id.
///
/// # Errors
/// When it could not be kept.
pub(crate) fn make_token(
    people: &People,
    by: By,
    user: UserId,
    name: &str,
    scope: Scope,
    expires_at: Option<Time>,
) -> anyhow::Result<(Uuid, String)> {
    let (token, hash) = SecretKind::Token.make()?;
    let new = NewCredential { user, kind: Kind::Token, name: name.to_owned(), scope, expires_at };
    let id = people.add_credential(by, &new, hash)?;
    Ok((id, token))
}

#[derive(Debug, Deserialize)]
struct TokenFile {
    #[serde(default)]
    tokens: Vec<TokenLine>,
}

#[derive(Debug, Deserialize)]
struct TokenLine {
    name: String,
    sha256: String,
}

fn take_over(people: &People, path: &Path) -> anyhow::Result<()> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    let file: TokenFile = toml::from_str(&text)?;
    for line in file.tokens {
        let digits = (0..64).step_by(2).map(|at| line.sha256.get(at..at + 2));
        let bytes: Option<Vec<u8>> =
            digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<_>>();
        let Some(hash) = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) else { continue };
        if people.verify(hash, SystemClock.now())?.is_some() {
            continue;
        }
        let new = NewCredential {
            user: UserId::FIRST,
            kind: Kind::Token,
            name: line.name,
            scope: Scope::Manage,
            expires_at: None,
        };
        people.add_credential(by_hand(), &new, hash)?;
    }
    // They are durable where they are now.
    Ok(std::fs::remove_file(path)?)
}

/// Finds a user by name.
///
/// # Errors
/// When there is none.
pub(crate) fn named(people: &People, name: &str) -> anyhow::Result<store::people::User> {
    let found = people.by_name(name)?.ok_or(PeopleError::UnknownUser);
    Ok(found.with_context(|| format!("failed to find the user `{name}`"))?.0)
}
