//! The projects of users: a name that sessions can be put under. Which session stands where is in the sessions' logs.

use std::sync::PoisonError;

use rusqlite::{TransactionBehavior, params};
use session::{ProjectId, Time, UserId};

use super::{People, PeopleError, blob, uuid};

/// Projects of one user.
pub const PROJECTS_MAX: usize = 1_000;

/// What a user puts sessions into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    pub created_at: Time,
}

impl People {
    /// A user's projects, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn projects(&self, user: UserId) -> Result<Vec<Project>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT id, name, created_at FROM projects WHERE user = ? ORDER BY name COLLATE NOCASE, id",
        )?;
        let rows = select.query_map([blob(user)], |row| {
            Ok(Project { id: ProjectId(uuid(row, 0)?), name: row.get(1)?, created_at: Time(row.get(2)?) })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether a user has a project.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn has_project(&self, user: UserId, project: ProjectId) -> Result<bool, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached("SELECT 1 FROM projects WHERE user = ? AND id = ?")?;
        Ok(select.exists(params![blob(user), project.0.as_bytes()])?)
    }

    /// Makes a project. One of the same user with the same id gets the name: whoever asks again makes no second one.
    ///
    /// # Errors
    /// When the user has too many, or nothing could be kept.
    pub fn put_project(&self, user: UserId, project: &Project) -> Result<(), PeopleError> {
        let mut connection = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute(
            "INSERT INTO projects (user, id, name, created_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (user, id) DO UPDATE SET name = excluded.name",
            params![blob(user), project.id.0.as_bytes(), project.name, project.created_at.0],
        )?;
        let count: usize =
            transaction
                .query_row("SELECT count(*) FROM projects WHERE user = ?", [blob(user)], |row| row.get(0))?;
        if count > PROJECTS_MAX {
            return Err(PeopleError::TooManyProjects);
        }
        Ok(transaction.commit()?)
    }

    /// Gives a project another name. Answers no when the user has none by that id.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn rename_project(&self, user: UserId, project: ProjectId, name: &str) -> Result<bool, PeopleError> {
        let connection = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let sql = "UPDATE projects SET name = ? WHERE user = ? AND id = ?";
        Ok(connection.execute(sql, params![name, blob(user), project.0.as_bytes()])? == 1)
    }

    /// Takes a project away; its sessions stay, and stand in none. Answers no when the user has none by that id.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn delete_project(&self, user: UserId, project: ProjectId) -> Result<bool, PeopleError> {
        let connection = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let sql = "DELETE FROM projects WHERE user = ? AND id = ?";
        Ok(connection.execute(sql, params![blob(user), project.0.as_bytes()])? == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::*;

    const NOW: Time = Time(1_700_000_000_000_000);

    fn open(file: &Path) -> Result<People, PeopleError> {
        People::open(file, NOW)
    }

    fn project(number: u128, name: &str) -> Project {
        Project { id: ProjectId(Uuid::from_u128(number)), name: name.to_owned(), created_at: NOW }
    }

    #[test]
    fn a_file_of_the_first_version_is_brought_to_todays_and_a_newer_one_refused() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("people.db");
        drop(open(&file).unwrap());
        let set = |sql: &str| Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        set(
            "DROP TABLE drafts; DROP TABLE identities; DROP TABLE passkeys; DROP TABLE projects; DROP TABLE secrets;
             DROP INDEX audit_by_action; PRAGMA user_version = 1",
        );
        let people = open(&file).unwrap();
        assert_eq!(people.users().unwrap().len(), 1, "its users are still there, and no second first one");
        people.put_project(UserId::FIRST, &project(1, "Birds")).unwrap();
        drop(people);
        assert_eq!(open(&file).unwrap().projects(UserId::FIRST).unwrap(), [project(1, "Birds")]);
        set("PRAGMA user_version = 99");
        assert!(matches!(open(&file), Err(PeopleError::Newer { found: 99 })));
    }

    #[test]
    fn a_project_is_its_users_alone() {
        let directory = TempDir::new().unwrap();
        let people = open(&directory.path().join("people.db")).unwrap();
        let by = super::super::By { user: None, now: NOW, id: Uuid::from_u128(9) };
        let bob = people.add_user(by, "bob", super::super::Role::Member, None).unwrap();
        people.put_project(UserId::FIRST, &project(1, "Birds")).unwrap();
        people.put_project(UserId::FIRST, &project(2, "apples")).unwrap();
        // The same id is another project for somebody else.
        people.put_project(bob, &project(1, "Boats")).unwrap();
        let (one, two) = (project(1, "x").id, project(2, "x").id);
        assert!(
            !people.rename_project(bob, two, "mine").unwrap() && !people.delete_project(bob, two).unwrap()
        );
        assert!(people.has_project(bob, one).unwrap() && !people.has_project(bob, two).unwrap());
        assert!(people.delete_project(bob, one).unwrap());
        assert_eq!(people.projects(bob).unwrap(), []);
        // Asked again, there is still one; by name, whatever the case.
        people.put_project(UserId::FIRST, &project(1, "Bees")).unwrap();
        assert_eq!(people.projects(UserId::FIRST).unwrap(), [project(2, "apples"), project(1, "Bees")]);
    }

    #[test]
    fn projects_of_a_user_are_bounded() {
        let directory = TempDir::new().unwrap();
        let people = open(&directory.path().join("people.db")).unwrap();
        let filled = "INSERT INTO projects SELECT x'00000000000000000000000000000000', randomblob(16), 'n', 0
            FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n)";
        people.writing.lock().unwrap().execute_batch(filled).unwrap();
        let refused = people.put_project(UserId::FIRST, &project(1, "one more"));
        assert!(matches!(refused, Err(PeopleError::TooManyProjects)));
        assert_eq!(people.projects(UserId::FIRST).unwrap().len(), PROJECTS_MAX);
    }
}
