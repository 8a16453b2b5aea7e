//! What the messaging gateway must know again after a restart: how far it read, who is let in, what it took.

use rusqlite::{Connection, OptionalExtension, params};
use session::{SessionId, Time, UserId};
use uuid::Uuid;

use super::{By, People, PeopleError, blob, uuid};

/// How long a stranger's code can be approved.
pub const PAIRING_LASTS_MICROS: i64 = 3_600 * 1_000_000;
/// How soon a stranger is told another code.
const PAIRING_AGAIN_MICROS: i64 = 600 * 1_000_000;
/// Strangers of one platform who can wait at the same time.
const PAIRINGS_MAX: i64 = 3;
/// How long it is known what was taken. No platform tells of anything older.
const TAKEN_KEPT_MICROS: i64 = 14 * 24 * 3_600 * 1_000_000;

/// Somebody who is let in from a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayPeer {
    pub platform: String,
    pub peer: String,
    /// In whose sessions they speak.
    pub user: UserId,
    pub name: String,
    pub since: Time,
}

/// A stranger who waits to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayPairing {
    pub platform: String,
    pub peer: String,
    pub name: String,
    pub asked_at: Time,
}

/// What was kept of an event: where it belongs, what it is about, whether it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatewayTaken {
    pub session: Option<SessionId>,
    pub about: Option<u64>,
    pub done: bool,
}

impl People {
    fn keep<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, PeopleError> {
        self.write(|connection| Ok(work(connection)?))
    }

    /// How far a platform was read.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn gateway_cursor(&self, platform: &str) -> Result<Option<String>, PeopleError> {
        let connection = self.reading();
        let mut select =
            connection.prepare_cached("SELECT cursor FROM gateway_cursors WHERE platform = ?")?;
        Ok(select.query_row([platform], |row| row.get(0)).optional()?)
    }

    /// Keeps how far a platform was read.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn keep_gateway_cursor(&self, platform: &str, cursor: &str) -> Result<(), PeopleError> {
        self.keep(|connection| {
            let sql = "INSERT OR REPLACE INTO gateway_cursors (platform, cursor) VALUES (?, ?)";
            connection.prepare_cached(sql)?.execute([platform, cursor]).map(drop)
        })
    }

    /// In whose sessions a peer speaks, if they are let in and that user is not shut out.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn gateway_user(&self, platform: &str, peer: &str) -> Result<Option<UserId>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT user FROM gateway_peers JOIN users ON users.id = user
             WHERE platform = ? AND peer = ? AND disabled = 0",
        )?;
        Ok(select.query_row([platform, peer], |row| Ok(UserId(uuid(row, 0)?))).optional()?)
    }

    /// Everybody who is let in.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn gateway_peers(&self) -> Result<Vec<GatewayPeer>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT platform, peer, user, name, since FROM gateway_peers ORDER BY platform, since, peer",
        )?;
        let rows = select.query_map([], |row| {
            Ok(GatewayPeer {
                platform: row.get(0)?,
                peer: row.get(1)?,
                user: UserId(uuid(row, 2)?),
                name: row.get(3)?,
                since: Time(row.get(4)?),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Shuts a peer out. Says whether they were let in.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn remove_gateway_peer(&self, by: By, platform: &str, peer: &str) -> Result<bool, PeopleError> {
        self.change(by, "peer_removed", &format!("{peer} on {platform}"), |transaction| {
            let sql = "DELETE FROM gateway_peers WHERE platform = ? AND peer = ?";
            Ok(transaction.execute(sql, [platform, peer])? > 0)
        })
    }

    /// A stranger asks to be let in; `code` is the hash of what they are told. Says whether they are told anything: not when
    /// they were a short while ago, and not when many ask.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn ask_to_pair(
        &self,
        now: Time,
        platform: &str,
        (peer, name): (&str, &str),
        code: [u8; 32],
    ) -> Result<bool, PeopleError> {
        self.write(|connection| {
            let transaction = connection.transaction()?;
            let over = now.0 - PAIRING_LASTS_MICROS;
            transaction.execute("DELETE FROM gateway_pairings WHERE asked_at <= ?", [over])?;
            let sql = "SELECT asked_at FROM gateway_pairings WHERE platform = ? AND peer = ?";
            let asked: Option<i64> =
                transaction.query_row(sql, [platform, peer], |row| row.get(0)).optional()?;
            let sql = "SELECT count(*) FROM gateway_pairings WHERE platform = ? AND peer <> ?";
            let others: i64 = transaction.query_row(sql, [platform, peer], |row| row.get(0))?;
            let told = asked.is_none_or(|at| now.0 - at >= PAIRING_AGAIN_MICROS) && others < PAIRINGS_MAX;
            if told {
                let sql = "INSERT OR REPLACE INTO gateway_pairings (platform, peer, name, code, asked_at)
                           VALUES (?, ?, ?, ?, ?)";
                transaction.execute(sql, params![platform, peer, name, code, now.0])?;
            }
            transaction.commit()?;
            Ok(told)
        })
    }

    /// Strangers who wait to be let in.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn gateway_pairings(&self, now: Time) -> Result<Vec<GatewayPairing>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT platform, peer, name, asked_at FROM gateway_pairings WHERE asked_at > ? ORDER BY asked_at",
        )?;
        let rows = select.query_map([now.0 - PAIRING_LASTS_MICROS], |row| {
            Ok(GatewayPairing {
                platform: row.get(0)?,
                peer: row.get(1)?,
                name: row.get(2)?,
                asked_at: Time(row.get(3)?),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Lets the stranger in who has the code, to speak in a user's sessions. None when nobody has it.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn approve_pairing(
        &self,
        by: By,
        code: [u8; 32],
        user: UserId,
    ) -> Result<Option<GatewayPeer>, PeopleError> {
        let found = {
            let connection = self.reading();
            let sql = "SELECT platform, peer, name FROM gateway_pairings WHERE code = ? AND asked_at > ?";
            let mut select = connection.prepare_cached(sql)?;
            let over = by.now.0 - PAIRING_LASTS_MICROS;
            let found =
                select.query_row(params![code, over], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            found.optional()?
        };
        let Some((platform, peer, name)) = found else { return Ok(None) };
        let let_in = GatewayPeer { platform, peer, user, name, since: by.now };
        let about = format!("{} on {}", let_in.peer, let_in.platform);
        self.change(by, "peer_let_in", &about, |transaction| {
            let gone = "DELETE FROM gateway_pairings WHERE code = ?";
            // Approved twice at once, it is approved once.
            if transaction.execute(gone, [code])? == 0 {
                return Ok(None);
            }
            let sql = "INSERT OR REPLACE INTO gateway_peers (platform, peer, user, name, since)
                       VALUES (?, ?, ?, ?, ?)";
            let GatewayPeer { platform, peer, user, name, since } = &let_in;
            transaction.execute(sql, params![platform, peer, blob(*user), name, since.0])?;
            Ok(Some(let_in.clone()))
        })
    }

    /// What was kept of an event.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn gateway_taken(&self, platform: &str, event: &str) -> Result<Option<GatewayTaken>, PeopleError> {
        let connection = self.reading();
        let sql = "SELECT session, about, done FROM gateway_taken WHERE platform = ? AND event = ?";
        let mut select = connection.prepare_cached(sql)?;
        let taken = select.query_row([platform, event], |row| {
            let session: Option<[u8; 16]> = row.get(0)?;
            Ok(GatewayTaken {
                session: session.map(|id| SessionId(Uuid::from_bytes(id))),
                about: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
                done: row.get(2)?,
            })
        });
        Ok(taken.optional()?)
    }

    /// Keeps what is known of an event, in place of what was.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn keep_gateway_taken(
        &self,
        now: Time,
        platform: &str,
        event: &str,
        taken: GatewayTaken,
    ) -> Result<(), PeopleError> {
        self.keep(|connection| {
            let sql = "INSERT INTO gateway_taken (platform, event, session, about, done, at) VALUES (?, ?, ?, ?, ?, ?)
                       ON CONFLICT (platform, event) DO UPDATE SET done = excluded.done";
            let session = taken.session.map(|session| *session.0.as_bytes());
            let about = taken.about.map(u64::cast_signed);
            let values = params![platform, event, session, about, taken.done, now.0];
            connection.prepare_cached(sql)?.execute(values).map(drop)
        })
    }

    /// Which model a chat chose.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn gateway_model(&self, chat: &str) -> Result<Option<String>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached("SELECT model FROM gateway_models WHERE chat = ?")?;
        Ok(select.query_row([chat], |row| row.get(0)).optional()?)
    }

    /// Keeps which model a chat chose; none is the usual one.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn choose_gateway_model(&self, chat: &str, model: Option<&str>) -> Result<(), PeopleError> {
        self.keep(|connection| {
            match model {
                Some(model) => connection
                    .prepare_cached("INSERT OR REPLACE INTO gateway_models (chat, model) VALUES (?, ?)")?
                    .execute([chat, model])?,
                None => {
                    connection.prepare_cached("DELETE FROM gateway_models WHERE chat = ?")?.execute([chat])?
                }
            };
            Ok(())
        })
    }

    /// Forgets what was taken long ago.
    ///
    /// # Errors
    /// When nothing could be changed.
    pub fn forget_gateway_taken(&self, now: Time) -> Result<(), PeopleError> {
        self.keep(|connection| {
            let sql = "DELETE FROM gateway_taken WHERE at < ?";
            connection.prepare_cached(sql)?.execute([now.0 - TAKEN_KEPT_MICROS]).map(drop)
        })
    }
}
