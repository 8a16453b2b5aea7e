//! Golden stores: data directories that servers of earlier versions lived in, each with what their API told of it. Those on
//! PostgreSQL also have a dump. `scripts/golden-store` makes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;
use session::SessionId;
use uuid::Uuid;

use super::passkeys::PasskeyTold;
use super::people::PeopleTold;
use crate::postgres::Postgres;

/// The database that each server on PostgreSQL gets, copied from the loaded dump.
const SCRATCH: &str = "scratch";

/// One golden store, packed.
#[derive(Debug)]
pub(super) struct Golden {
    pub(super) name: String,
    pub(super) told: Told,
    archive: PathBuf,
    /// The server with the dump, loaded into a database of the golden store's name.
    postgres: Option<Rc<Postgres>>,
}

/// What the version that made it told last.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    pub(super) schema: usize,
    /// A token of each user.
    pub(super) tokens: BTreeMap<String, String>,
    /// Name and password of those who can log in.
    pub(super) logins: Vec<Value>,
    pub(super) sessions: Vec<SessionTold>,
    pub(super) erased: Vec<Uuid>,
    pub(super) keys: Vec<KeyTold>,
    pub(super) attachments: Vec<AttachmentTold>,
    pub(super) shares: Vec<ShareTold>,
    pub(super) words: Vec<WordsTold>,
    /// Recorded since schema 8.
    #[serde(default)]
    pub(super) people: Option<PeopleTold>,
    #[serde(default)]
    pub(super) passkeys: Vec<PasskeyTold>,
}

/// A session.
#[derive(Debug, Deserialize)]
pub(super) struct SessionTold {
    pub(super) session: Uuid,
    pub(super) user: String,
    pub(super) shelf: String,
    pub(super) title: Option<String>,
    pub(super) entries: u64,
    /// The session but for its turns; none when a run was going on.
    #[serde(default)]
    pub(super) view: Option<Value>,
    /// Every visible turn, but for the one that was going on.
    pub(super) turns: Vec<Value>,
    #[serde(default)]
    pub(super) cut_off: Option<CutOff>,
}

/// A run that was going on when the server was killed.
#[derive(Debug, Deserialize)]
pub(super) struct CutOff {
    pub(super) turn: u64,
    /// What a reader had seen of the answer.
    pub(super) seen: String,
    /// The turn that waited behind it.
    pub(super) waiting: u64,
    /// The words that the model was told to say, and how many.
    pub(super) tag: String,
    pub(super) count: u64,
}

/// A message that was posted with a key.
#[derive(Debug, Deserialize)]
pub(super) struct KeyTold {
    pub(super) session: Uuid,
    pub(super) key: String,
    pub(super) text: String,
    pub(super) turn: u64,
}

/// A file that came with a message.
#[derive(Debug, Deserialize)]
pub(super) struct AttachmentTold {
    pub(super) blob: String,
    pub(super) size_bytes: usize,
}

/// A link by which a session can be read.
#[derive(Debug, Deserialize)]
pub(super) struct ShareTold {
    pub(super) secret: String,
    pub(super) session: Uuid,
}

/// Words that lead to a session.
#[derive(Debug, Deserialize)]
pub(super) struct WordsTold {
    pub(super) words: String,
    pub(super) session: Uuid,
}

impl Golden {
    /// Every golden store on SQLite, oldest schema first.
    ///
    /// # Errors
    /// When there is none, or one cannot be read.
    pub(super) fn all() -> anyhow::Result<Vec<Self>> {
        Self::named("schema-")
    }

    /// Every golden store on PostgreSQL, oldest schema first, loaded into a server.
    ///
    /// # Errors
    /// Returns an error if there is none, or one cannot be read or loaded.
    pub(super) fn on_postgres(postgres: &Rc<Postgres>) -> anyhow::Result<Vec<Self>> {
        let mut goldens = Self::named("postgres-")?;
        for golden in &mut goldens {
            let dump = golden.archive.with_file_name(format!("{}.sql.gz", golden.name));
            let unpacked = Command::new("gzip").arg("-dc").arg(&dump).output()?;
            ensure!(unpacked.status.success(), "{} cannot be unpacked", dump.display());
            let made = format!("CREATE DATABASE {:?}", golden.name);
            postgres.execute("postgres", made.as_bytes())?;
            postgres
                .execute(&golden.name, &unpacked.stdout)
                .with_context(|| format!("load {}", dump.display()))?;
            golden.postgres = Some(postgres.clone());
        }
        Ok(goldens)
    }

    fn named(prefix: &str) -> anyhow::Result<Vec<Self>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stores");
        let mut goldens = Vec::new();
        for entry in fs::read_dir(&directory).with_context(|| format!("read {}", directory.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(name) = name.strip_suffix(".json").filter(|name| name.starts_with(prefix)) else {
                continue;
            };
            let told: Told = serde_json::from_str(&fs::read_to_string(&path)?)
                .with_context(|| format!("read {}", path.display()))?;
            let archive = directory.join(format!("{name}.tar.gz"));
            ensure!(archive.exists(), "{} is missing", archive.display());
            goldens.push(Self { name: name.to_owned(), told, archive, postgres: None });
        }
        ensure!(!goldens.is_empty(), "there is no golden store `{prefix}*`");
        goldens.sort_by_key(|golden| {
            (golden.told.schema, golden.told.people.as_ref().map_or(0, |people| people.schema))
        });
        Ok(goldens)
    }

    /// Unpacks it into a directory that is made for it.
    ///
    /// # Errors
    /// When it cannot be unpacked.
    pub(super) fn unpack(&self, directory: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(directory)?;
        let unpacked =
            Command::new("tar").arg("-xzf").arg(&self.archive).arg("-C").arg(directory).status()?;
        ensure!(unpacked.success(), "{} cannot be unpacked", self.archive.display());
        Ok(())
    }

    /// Makes the database of its server anew and returns its connection string; nothing for a store on SQLite. The one
    /// made before is removed, whoever still uses it.
    ///
    /// # Errors
    /// Returns an error if the database cannot be made.
    pub(super) fn database(&self) -> anyhow::Result<Option<String>> {
        let Some(postgres) = &self.postgres else { return Ok(None) };
        for sql in [
            format!("DROP DATABASE IF EXISTS {SCRATCH} WITH (FORCE)"),
            format!("CREATE DATABASE {SCRATCH} TEMPLATE {:?}", self.name),
        ] {
            postgres.execute("postgres", sql.as_bytes())?;
        }
        Ok(Some(postgres.url_of(SCRATCH)))
    }

    /// The ids of its sessions.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        self.told.sessions.iter().map(|told| SessionId(told.session)).collect()
    }
}
