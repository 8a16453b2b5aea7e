//! The projects of users: a name that sessions can be put under. Which session stands where is in the sessions' logs.

use rusqlite::{OptionalExtension, Row, TransactionBehavior, params};
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
    /// Who answers there unless a message says otherwise; none: as elsewhere.
    pub model: Option<String>,
    /// What the model is told there, after what it is told everywhere.
    pub instructions: Option<String>,
}

/// What is to be changed of a project; what is none stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectChange {
    pub name: Option<String>,
    pub model: Option<Option<String>>,
    pub instructions: Option<Option<String>>,
}

const PROJECT: &str = "id, name, created_at, model, instructions";

fn project(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        id: ProjectId(uuid(row, 0)?),
        name: row.get(1)?,
        created_at: Time(row.get(2)?),
        model: row.get(3)?,
        instructions: row.get(4)?,
    })
}

impl People {
    /// A user's projects, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn projects(&self, user: UserId) -> Result<Vec<Project>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {PROJECT} FROM projects WHERE user = ? ORDER BY name COLLATE NOCASE, id"
        ))?;
        let rows = select.query_map([blob(user)], project)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// A project of a user.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn project(&self, user: UserId, id: ProjectId) -> Result<Option<Project>, PeopleError> {
        let connection = self.reading();
        let sql = format!("SELECT {PROJECT} FROM projects WHERE user = ? AND id = ?");
        let mut select = connection.prepare_cached(&sql)?;
        Ok(select.query_row(params![blob(user), id.0.as_bytes()], project).optional()?)
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
        self.write(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(
                "INSERT INTO projects (user, id, name, created_at, model, instructions) VALUES (?, ?, ?, ?, ?, ?)
                 ON CONFLICT (user, id) DO UPDATE SET name = excluded.name",
                params![
                    blob(user),
                    project.id.0.as_bytes(),
                    project.name,
                    project.created_at.0,
                    project.model,
                    project.instructions
                ],
            )?;
            let count: usize =
                transaction
                    .query_row("SELECT count(*) FROM projects WHERE user = ?", [blob(user)], |row| row.get(0))?;
            if count > PROJECTS_MAX {
                return Err(PeopleError::TooManyProjects);
            }
            Ok(transaction.commit()?)
        })
    }

    /// Changes a project. Answers no when the user has none by that id.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn change_project(
        &self,
        user: UserId,
        project: ProjectId,
        change: &ProjectChange,
    ) -> Result<bool, PeopleError> {
        let ProjectChange { name, model, instructions } = change;
        self.write(|connection| {
            let changed = connection.execute(
                "UPDATE projects SET name = coalesce(?3, name), model = iif(?4, ?5, model),
                     instructions = iif(?6, ?7, instructions) WHERE user = ?1 AND id = ?2",
                params![
                    blob(user),
                    project.0.as_bytes(),
                    name,
                    model.is_some(),
                    model.clone().flatten(),
                    instructions.is_some(),
                    instructions.clone().flatten()
                ],
            )?;
            Ok(changed == 1)
        })
    }

    /// Takes a project away; its sessions stay, and stand in none. Answers no when the user has none by that id.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn delete_project(&self, user: UserId, project: ProjectId) -> Result<bool, PeopleError> {
        self.write(|connection| {
            let sql = "DELETE FROM projects WHERE user = ? AND id = ?";
            Ok(connection.execute(sql, params![blob(user), project.0.as_bytes()])? == 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;
    use tempfile::TempDir;
    use uuid::Uuid;

    use crate::directory::{DataDirectory, LogsAt};

    use super::*;

    const NOW: Time = Time(1_700_000_000_000_000);

    fn open(directory: &Path) -> People {
        People::open(&DataDirectory::enter(directory, LogsAt::Elsewhere).unwrap(), NOW).unwrap()
    }

    fn project(number: u128, name: &str) -> Project {
        Project {
            id: ProjectId(Uuid::from_u128(number)),
            name: name.to_owned(),
            created_at: NOW,
            model: None,
            instructions: None,
        }
    }

    #[test]
    fn a_file_of_the_first_version_is_migrated() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("people.db");
        drop(open(directory.path()));
        let set = |sql: &str| Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        set(
            "DROP TABLE observed; DROP TABLE trash; DROP TABLE gateway_cursors; DROP TABLE gateway_peers; DROP TABLE gateway_pairings; DROP TABLE gateway_taken;
             DROP TABLE gateway_models; DROP TABLE drafts; DROP TABLE identities; DROP TABLE passkeys; DROP TABLE projects; DROP TABLE secrets;
             DROP TABLE settings; DROP TABLE models; DROP TABLE preferences; DROP INDEX audit_by_action;
             PRAGMA user_version = 1",
        );
        let people = open(directory.path());
        assert_eq!(people.users().unwrap().len(), 1, "its users are still there, and no second first one");
        people.put_project(UserId::FIRST, &project(1, "Birds")).unwrap();
        drop(people);
        assert_eq!(open(directory.path()).projects(UserId::FIRST).unwrap(), [project(1, "Birds")]);
    }

    #[test]
    fn a_project_is_its_users_alone() {
        let directory = TempDir::new().unwrap();
        let people = open(directory.path());
        let by = super::super::By { user: None, now: NOW, id: Uuid::from_u128(9) };
        let bob = people.add_user(by, "bob", super::super::Role::Member, None).unwrap();
        people.put_project(UserId::FIRST, &project(1, "Birds")).unwrap();
        people.put_project(UserId::FIRST, &project(2, "apples")).unwrap();
        // The same id is another project for somebody else.
        people.put_project(bob, &project(1, "Boats")).unwrap();
        let (one, two) = (project(1, "x").id, project(2, "x").id);
        let mine = ProjectChange { name: Some("mine".to_owned()), ..ProjectChange::default() };
        assert!(
            !people.change_project(bob, two, &mine).unwrap() && !people.delete_project(bob, two).unwrap()
        );
        assert!(people.has_project(bob, one).unwrap() && !people.has_project(bob, two).unwrap());
        assert!(people.delete_project(bob, one).unwrap());
        assert_eq!(people.projects(bob).unwrap(), []);
        // Asked again, there is still one; by name, whatever the case.
        people.put_project(UserId::FIRST, &project(1, "Bees")).unwrap();
        assert_eq!(people.projects(UserId::FIRST).unwrap(), [project(2, "apples"), project(1, "Bees")]);
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let directory = TempDir::new().unwrap();
        let people = open(directory.path());
        let birds = project(1, "Birds");
        people.put_project(UserId::FIRST, &birds).unwrap();
        let text = |text: &str| Some(text.to_owned());
        let change = |change: ProjectChange| {
            assert!(people.change_project(UserId::FIRST, birds.id, &change).unwrap());
            people.project(UserId::FIRST, birds.id).unwrap().unwrap()
        };
        let both =
            ProjectChange { name: None, model: Some(text("big")), instructions: Some(text("Be brief.")) };
        let expected = Project { model: text("big"), instructions: text("Be brief."), ..birds.clone() };
        assert_eq!(change(both), expected);
        let renamed = ProjectChange { name: text("Bees"), ..ProjectChange::default() };
        assert_eq!(change(renamed), Project { name: "Bees".to_owned(), ..expected });
        let cleared = ProjectChange { model: Some(None), ..ProjectChange::default() };
        assert_eq!(change(cleared).model, None);
        // Made again, it gets the name and stays as it is otherwise.
        people.put_project(UserId::FIRST, &birds).unwrap();
        let again = people.project(UserId::FIRST, birds.id).unwrap().unwrap();
        assert_eq!(again, Project { instructions: text("Be brief."), ..birds });
    }

    #[test]
    fn projects_of_a_user_are_bounded() {
        let directory = TempDir::new().unwrap();
        let people = open(directory.path());
        let filled = "INSERT INTO projects (user, id, name, created_at) SELECT x'00000000000000000000000000000000', randomblob(16), 'n', 0
            FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n)";
        people.write(|connection| Ok(connection.execute_batch(filled)?)).unwrap();
        let refused = people.put_project(UserId::FIRST, &project(1, "one more"));
        assert!(matches!(refused, Err(PeopleError::TooManyProjects)));
        assert_eq!(people.projects(UserId::FIRST).unwrap().len(), PROJECTS_MAX);
    }
}
