//! Models that owners added while the server runs. Each is kept with its key, sealed, in one transaction: there is never one
//! without the other.

use rusqlite::params;

use super::{By, People, PeopleError, WireName};

/// Models that owners may add.
pub const MODELS_MAX: usize = 100;

/// A model that an owner added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptModel {
    /// What people call it here.
    pub name: String,
    pub provider: WireName,
    pub url: String,
    /// What the provider calls it.
    pub model: String,
    /// The secret that is its key.
    pub key_secret: Option<String>,
    pub window_tokens: u64,
    pub output_tokens_max: u32,
    pub takes_prefix: bool,
    pub tools: bool,
}

/// The sealed options of a model, and the name of their secret. `None` removes them.
#[derive(Debug, Clone, Copy)]
pub struct SealedOptions<'a> {
    pub name: &'a str,
    pub sealed: Option<&'a [u8]>,
}

impl People {
    /// The models that owners added, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn models(&self) -> Result<Vec<KeptModel>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT name, provider, url, model, key_secret, window_tokens, output_tokens_max, takes_prefix, tools
             FROM models ORDER BY rowid",
        )?;
        let rows = select.query_map([], |row| {
            Ok(KeptModel {
                name: row.get(0)?,
                provider: row.get(1)?,
                url: row.get(2)?,
                model: row.get(3)?,
                key_secret: row.get(4)?,
                window_tokens: row.get(5)?,
                output_tokens_max: row.get(6)?,
                takes_prefix: row.get(7)?,
                tools: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Keeps a model, in place of the one by its name, and its key if a new one is given. A key that it had and has no
    /// more is removed.
    ///
    /// # Errors
    /// When there are too many, or nothing could be kept.
    pub fn put_model(
        &self,
        by: By,
        model: &KeptModel,
        sealed: Option<&[u8]>,
        options: SealedOptions<'_>,
    ) -> Result<(), PeopleError> {
        let about = format!("{} at {}", model.name, model.url);
        self.change(by, "model_set", &about, |transaction| {
            transaction.execute(
                "DELETE FROM secrets WHERE name = (SELECT key_secret FROM models WHERE name = ?1) AND name IS NOT ?2",
                params![model.name, model.key_secret],
            )?;
            if let (Some(secret), Some(sealed)) = (&model.key_secret, sealed) {
                transaction.execute(
                    "INSERT OR REPLACE INTO secrets (name, sealed, changed_at) VALUES (?, ?, ?)",
                    params![secret, sealed, by.now.0],
                )?;
            }
            transaction.execute("DELETE FROM secrets WHERE name = ?", [options.name])?;
            if let Some(sealed) = options.sealed {
                transaction.execute(
                    "INSERT INTO secrets (name, sealed, changed_at) VALUES (?, ?, ?)",
                    params![options.name, sealed, by.now.0],
                )?;
            }
            transaction.execute(
                "INSERT INTO models (name, provider, url, model, key_secret, window_tokens, output_tokens_max,
                     takes_prefix, tools) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (name) DO UPDATE SET provider = ?2, url = ?3, model = ?4, key_secret = ?5,
                     window_tokens = ?6, output_tokens_max = ?7, takes_prefix = ?8, tools = ?9",
                params![
                    model.name,
                    model.provider,
                    model.url,
                    model.model,
                    model.key_secret,
                    model.window_tokens,
                    model.output_tokens_max,
                    model.takes_prefix,
                    model.tools
                ],
            )?;
            let count: usize =
                transaction.query_row("SELECT count(*) FROM models", [], |row| row.get(0))?;
            if count > MODELS_MAX { Err(PeopleError::TooManyModels) } else { Ok(()) }
        })
    }

    /// Removes a model, its key, and the secret `options`. Returns whether there was such a model.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn remove_model(&self, by: By, name: &str, options: &str) -> Result<bool, PeopleError> {
        self.change(by, "model_removed", name, |transaction| {
            transaction.execute("DELETE FROM secrets WHERE name = ?", [options])?;
            let sql = "DELETE FROM secrets WHERE name = (SELECT key_secret FROM models WHERE name = ?)";
            transaction.execute(sql, [name])?;
            Ok(transaction.execute("DELETE FROM models WHERE name = ?", [name])? == 1)
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

    const NONE: SealedOptions<'static> = SealedOptions { name: "options:one", sealed: None };

    fn model(name: &str, key_secret: Option<&str>) -> KeptModel {
        KeptModel {
            name: name.to_owned(),
            provider: WireName::Openai,
            url: "https://models.example/v1".to_owned(),
            model: "m-1".to_owned(),
            key_secret: key_secret.map(str::to_owned),
            window_tokens: 1_000,
            output_tokens_max: 100,
            takes_prefix: false,
            tools: true,
        }
    }

    #[test]
    fn a_model_comes_and_goes_with_its_key() {
        let directory = TempDir::new().unwrap();
        let people =
            People::open(&DataDirectory::enter(directory.path(), LogsAt::Elsewhere).unwrap(), Time(1))
                .unwrap();
        let by = By { user: None, now: Time(2), id: Uuid::from_u128(1) };
        people.put_model(by, &model("one", Some("key.one")), Some(b"sealed"), NONE).unwrap();
        people.put_model(by, &model("two", None), None, NONE).unwrap();
        assert_eq!(people.sealed("key.one").unwrap().unwrap(), b"sealed");
        // Changed without a new key: the key stays, and so does the order.
        let changed = KeptModel { tools: false, ..model("one", Some("key.one")) };
        people.put_model(by, &changed, None, NONE).unwrap();
        assert_eq!(people.models().unwrap(), [changed, model("two", None)]);
        assert_eq!(people.sealed("key.one").unwrap().unwrap(), b"sealed");
        let options = SealedOptions { sealed: Some(b"options"), ..NONE };
        people.put_model(by, &model("one", None), None, options).unwrap();
        assert_eq!(people.sealed("options:one").unwrap().unwrap(), b"options");
        assert_eq!(people.sealed("key.one").unwrap(), None);
        people.put_model(by, &model("one", Some("key.one")), Some(b"again"), options).unwrap();
        let remove = || people.remove_model(by, "one", "options:one").unwrap();
        assert!(remove() && !remove());
        assert_eq!(people.sealed("key.one").unwrap(), None);
        assert_eq!(people.sealed("options:one").unwrap(), None);
        assert_eq!(people.models().unwrap(), [model("two", None)]);
    }

    #[test]
    fn models_are_bounded() {
        let directory = TempDir::new().unwrap();
        let people =
            People::open(&DataDirectory::enter(directory.path(), LogsAt::Elsewhere).unwrap(), Time(1))
                .unwrap();
        let by = By { user: None, now: Time(2), id: Uuid::from_u128(1) };
        for number in 0..MODELS_MAX {
            people.put_model(by, &model(&number.to_string(), None), None, NONE).unwrap();
        }
        let refused = people.put_model(by, &model("more", Some("key")), Some(b"sealed"), NONE);
        assert!(matches!(refused, Err(PeopleError::TooManyModels)));
        assert_eq!((people.models().unwrap().len(), people.sealed("key").unwrap()), (MODELS_MAX, None));
        people.put_model(by, &model("7", None), None, NONE).unwrap();
    }
}
