//! Who users are at providers of identities, by the provider's own id for each.

use rusqlite::{OptionalExtension, params};
use session::UserId;

use super::users::{USER_OF_JOIN, user};
use super::{By, People, PeopleError, Role, User, audit_line, blob};

/// How many names are tried for a new user before a name counts as taken.
const NAMES_MAX: usize = 1_000;

impl People {
    /// Whoever this is at a provider.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn identity(&self, provider: &str, subject: &str) -> Result<Option<User>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {USER_OF_JOIN} FROM identities JOIN users ON users.id = identities.user
             WHERE provider = ? AND subject = ?"
        ))?;
        Ok(select.query_row([provider, subject], user).optional()?)
    }

    /// Adds a user for whoever this is at a provider, called as suggested or, when that name is taken, with a number behind
    /// it. He is never made one of those who are there: a name proves nothing.
    ///
    /// # Errors
    /// When he is known, no name is free or nothing could be kept.
    pub fn link_identity(
        &self,
        by: By,
        provider: &str,
        subject: &str,
        suggested: &str,
        role: Role,
    ) -> Result<UserId, PeopleError> {
        let id = UserId(by.id);
        self.change(by, "identity_linked", &format!("{id}, {provider}"), |transaction| {
            let known = "SELECT 1 FROM identities WHERE provider = ? AND subject = ?";
            if transaction.prepare_cached(known)?.exists([provider, subject])? {
                return Err(PeopleError::IdentityKnown);
            }
            let numbered = (2..NAMES_MAX).map(|number| format!("{suggested} {number}"));
            for name in std::iter::once(suggested.to_owned()).chain(numbered) {
                let added = transaction.prepare_cached(
                    "INSERT INTO users (id, name, role, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
                )?
                .execute(params![blob(id), name, role, by.now.0])?;
                if added == 1 {
                    transaction.execute(
                        "INSERT INTO identities (provider, subject, user, created_at) VALUES (?, ?, ?, ?)",
                        params![provider, subject, blob(id), by.now.0],
                    )?;
                    audit_line(transaction, by, "user_added", &format!("{name}, {}", role.as_str()))?;
                    return Ok(id);
                }
            }
            Err(PeopleError::NameTaken)
        })
    }
}

#[cfg(test)]
mod tests {
    use session::Time;
    use tempfile::TempDir;
    use uuid::Uuid;

    use crate::directory::{DataDirectory, LogsAt};

    use super::*;

    fn by(id: u128) -> By {
        By { user: None, now: Time(5), id: Uuid::from_u128(id) }
    }

    #[test]
    fn somebody_of_a_provider_is_a_user_of_his_own_and_stays_that_one() {
        let directory = TempDir::new().unwrap();
        let people =
            People::open(&DataDirectory::enter(directory.path(), LogsAt::Elsewhere).unwrap(), Time(1))
                .unwrap();
        let link = |id, provider: &str, subject: &str, name: &str| {
            people.link_identity(by(id), provider, subject, name, Role::Member).unwrap()
        };
        // Nobody becomes the owner by being called so.
        let first = link(1, "house", "s1", "Owner");
        assert_ne!(first, UserId::FIRST);
        assert_eq!(people.identity("house", "s1").unwrap().unwrap().name, "Owner 2");
        // Known by his id there, whatever he is called now, and by no other provider's.
        let again = people.link_identity(by(2), "house", "s1", "somebody else", Role::Member);
        assert!(matches!(again, Err(PeopleError::IdentityKnown)));
        assert_eq!(people.identity("club", "s1").unwrap(), None);
        assert_ne!(link(3, "club", "s1", "Owner"), first);
        assert_eq!(people.identity("club", "s1").unwrap().unwrap().name, "Owner 3");
        assert_eq!(people.users().unwrap().len(), 3);
        let lines = people.audit(None, 10).unwrap();
        let added: Vec<&str> =
            lines.iter().filter(|line| line.action == "user_added").map(|line| line.about.as_str()).collect();
        assert_eq!(added, ["Owner 3, member", "Owner 2, member"]);
    }
}
