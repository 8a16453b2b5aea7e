//! A batch of appends: one statement looks at every claim, holds it, and writes the entries of those that stand.
//!
//! Where a log ends is not kept in a row of its own: rewriting that row would double what an append costs. The store
//! remembers the ends that it wrote itself, and reads one from the entries when it does not know it. What it remembers
//! holds for as long as the claim under which it wrote does, because nobody else may append; that is what the statement
//! looks at.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use deadpool_postgres::{Client, GenericClient, Transaction};
use session::{BlobHash, Epoch, Event, Link, Seq, SessionId};

use crate::Append;
use crate::error::AppendError;

use super::{Fault, blobs, failed, int, notes};

/// Ends that are remembered; beyond that all are forgotten, and each is read once more.
const KNOWN_MAX: usize = 100_000;

/// Writes what stands under a claim that is its log's. The row of the claim is held, so that nobody takes the log over
/// before the transaction ends.
const APPEND: &str = "
INSERT INTO entries (no, seq, time, epoch, hash, body)
SELECT entry.no, entry.seq, entry.time, entry.epoch, entry.hash, entry.body
FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::BYTEA[], $7::TEXT[])
    AS entry (no, claim_epoch, seq, time, epoch, hash, body)
JOIN logs ON logs.no = entry.no AND logs.claim_epoch = entry.claim_epoch AND NOT logs.erased
FOR SHARE OF logs";

/// Which entries are there.
const WRITTEN: &str = "
SELECT no FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BYTEA[]) AS asked (no, seq, hash)
JOIN entries USING (no, seq, hash)";

const LOOK: &str = "
SELECT asked.at, logs.no, logs.claim_epoch, coalesce(last.seq, 0) AS seq, coalesce(last.epoch, 0) AS epoch, last.hash
FROM unnest($1::INT[], $2::UUID[]) AS asked (at, key) JOIN logs USING (key)
LEFT JOIN LATERAL (SELECT * FROM entries WHERE entries.no = logs.no ORDER BY seq DESC LIMIT 1) AS last ON TRUE
WHERE NOT logs.erased";

type Results = Vec<Result<(), AppendError>>;

/// A log as it was when it was last looked at or written.
#[derive(Debug, Clone, Copy)]
struct Known {
    no: i64,
    claim_epoch: Epoch,
    end: Link,
}

/// The logs that were written last.
#[derive(Debug, Default)]
pub(super) struct Ends(Mutex<HashMap<SessionId, Known>>);

impl Ends {
    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the logs of a batch. It is forgotten until it is put back, and only what is durable is.
    fn take(&self, batch: &[Append]) -> HashMap<SessionId, Known> {
        let mut known = self.known();
        batch.iter().filter_map(|append| known.remove_entry(&append.claim.session)).collect()
    }

    fn put_back(&self, durable: HashMap<SessionId, Known>) {
        let mut known = self.known();
        if known.len() + durable.len() > KNOWN_MAX {
            known.clear();
        }
        known.extend(durable);
    }
}

/// Appends a batch. What only adds output is one statement and so its own transaction.
pub(super) async fn append(client: &mut Client, ends: &Ends, batch: &[Append]) -> Results {
    let everyone = |error: AppendError| batch.iter().map(|_| Err(error.clone())).collect();
    let mut results: Results = batch.iter().map(|_| Ok(())).collect();
    let waves = waves(batch);
    let noted = batch.iter().any(|append| append.entries.iter().any(|entry| notes::concerns(&entry.event)));
    let mut known = ends.take(batch);
    if let ([wave], false) = (waves.as_slice(), noted) {
        let wave = Wave { batch, known: &mut known, results: &mut results, asked: wave };
        if let Err(error) = wave.write(&*client).await {
            return everyone(unknown(&error));
        }
        ends.put_back(known);
        return results;
    }
    let transaction = match client.transaction().await {
        Ok(transaction) => transaction,
        Err(error) => return everyone(failed("append")(error).into()),
    };
    let held = match blobs::hold(&transaction, batch).await {
        Ok(held) => held,
        Err(error) => return everyone(failed("append")(error).into()),
    };
    for wave in &waves {
        let wave = Wave { batch, known: &mut known, results: &mut results, asked: wave };
        if let Err(error) = wave.write_noted(&transaction, &held).await {
            // Dropping the transaction takes all of it back.
            return everyone(failed("append")(error).into());
        }
    }
    match transaction.commit().await {
        Ok(()) => {
            ends.put_back(known);
            results
        }
        Err(error) => everyone(unknown(&error)),
    }
}

/// It may be durable or not; the writer reads the end of the log before it goes on.
fn unknown(error: &Fault) -> AppendError {
    AppendError::Unknown { reason: error.to_string() }
}

/// Appends to one session follow each other, so each goes into a wave of its own.
fn waves(batch: &[Append]) -> Vec<Vec<usize>> {
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut seen: BTreeMap<SessionId, usize> = BTreeMap::new();
    for (at, append) in batch.iter().enumerate() {
        let wave = seen.entry(append.claim.session).or_default();
        if waves.len() == *wave {
            waves.push(Vec::new());
        }
        waves[*wave].push(at);
        *wave += 1;
    }
    waves
}

/// Appends of a batch to different logs.
struct Wave<'a> {
    batch: &'a [Append],
    asked: &'a [usize],
    known: &'a mut HashMap<SessionId, Known>,
    results: &'a mut Results,
}

impl Wave<'_> {
    /// Writes entries from which nothing follows.
    async fn write<C: GenericClient>(mut self, client: &C) -> Result<(), Fault> {
        let fitting = self.fitting(client).await?;
        self.insert(client, fitting).await?;
        Ok(())
    }

    /// Writes entries and what follows from them.
    async fn write_noted(
        mut self,
        transaction: &Transaction<'_>,
        held: &BTreeSet<BlobHash>,
    ) -> Result<(), Fault> {
        let mut taken = BTreeSet::new();
        let mut free = Vec::new();
        // An old claim or another end comes before a name that is taken.
        for at in self.fitting(transaction).await? {
            let free_names = names(transaction, &self.batch[at], &mut taken).await?;
            match free_names.and_then(|()| stored(&self.batch[at], held)) {
                Ok(()) => free.push(at),
                Err(refused) => self.results[at] = Err(refused),
            }
        }
        let written = self.insert(transaction, free).await?;
        notes::keep(transaction, written.into_iter().map(|(at, no)| (no, &self.batch[at]))).await
    }

    /// The appends that fit where their logs end, as far as that is known; the others are told why not.
    async fn fitting<C: GenericClient>(&mut self, client: &C) -> Result<Vec<usize>, Fault> {
        let (mut fitting, mut others) = (Vec::with_capacity(self.asked.len()), Vec::new());
        for at in self.asked {
            let append = &self.batch[*at];
            let known = self.known.get(&append.claim.session);
            match known.is_some_and(|known| known.refuses(append).is_none()) {
                true => fitting.push(*at),
                false => others.push(*at),
            }
        }
        if !others.is_empty() {
            fitting.extend(self.look(client, &others).await?);
            // Of two that ask for one name, the first in the batch gets it.
            fitting.sort_unstable();
        }
        Ok(fitting)
    }

    /// Looks at logs anew. Answers which appends fit, and tells the others why not.
    async fn look<C: GenericClient>(&mut self, client: &C, asked: &[usize]) -> Result<Vec<usize>, Fault> {
        let at: Vec<i32> = (0..).take(asked.len()).collect();
        let keys: Vec<uuid::Uuid> = asked.iter().map(|at| self.batch[*at].claim.session.0).collect();
        for at in asked {
            self.known.remove(&self.batch[*at].claim.session);
        }
        let statement = client.prepare_cached(LOOK).await?;
        for row in client.query(&statement, &[&at, &keys]).await? {
            let position = usize::try_from(row.get::<_, i32>("at")).unwrap_or(usize::MAX);
            let Some(at) = asked.get(position) else { continue };
            let begun = row.get::<_, Option<&[u8]>>("hash").is_some();
            let known = Known {
                no: row.get("no"),
                claim_epoch: Epoch(super::number(&row, "claim_epoch")),
                end: if begun { super::link(&row, "seq", "epoch", "hash") } else { Link::START },
            };
            self.known.insert(self.batch[*at].claim.session, known);
        }
        let mut fitting = Vec::with_capacity(asked.len());
        for at in asked {
            let append = &self.batch[*at];
            let known = self.known.get(&append.claim.session);
            let deleted = || Some(AppendError::Deleted(append.claim.session));
            match known.map_or_else(deleted, |known| known.refuses(append)) {
                None => fitting.push(*at),
                Some(refused) => self.results[*at] = Err(refused),
            }
        }
        Ok(fitting)
    }

    /// Writes the entries of appends that fit, if their claims still stand. Answers which were written, with the numbers
    /// of their logs.
    async fn insert<C: GenericClient>(
        &mut self,
        client: &C,
        fitting: Vec<usize>,
    ) -> Result<Vec<(usize, i64)>, Fault> {
        let mut columns = Columns::default();
        let mut written = Vec::with_capacity(fitting.len());
        for at in fitting {
            let append = &self.batch[at];
            if let (Some(known), Some(last)) =
                (self.known.get_mut(&append.claim.session), append.entries.last())
            {
                columns.add(known.no, append);
                known.end = last.link();
                written.push((at, known.no));
            }
        }
        if written.is_empty() {
            return Ok(written);
        }
        if columns.insert(client).await? == columns.no.len() as u64 {
            return Ok(written);
        }
        let there = columns.written(client).await?;
        let (written, late): (Vec<_>, Vec<_>) = written.into_iter().partition(|(_, no)| there.contains(no));
        let late: Vec<usize> = late.into_iter().map(|(at, _)| at).collect();
        for at in self.look(client, &late).await? {
            // It stood elsewhere a moment ago; whoever moved it is the newer claim.
            self.results[at] = Err(AppendError::Conflict { head: self.batch[at].last.seq });
        }
        Ok(written)
    }
}

impl Known {
    /// Why an append does not fit.
    fn refuses(&self, append: &Append) -> Option<AppendError> {
        if self.claim_epoch != append.claim.epoch {
            return Some(AppendError::Fenced { current: self.claim_epoch });
        }
        let fits = self.end.seq == append.last.seq && self.end.hash == append.last.hash;
        (!fits).then_some(AppendError::Conflict { head: self.end.seq })
    }
}

/// The columns of entries that are to be written.
#[derive(Default)]
struct Columns<'a> {
    no: Vec<i64>,
    claim_epoch: Vec<i64>,
    seq: Vec<i64>,
    time: Vec<i64>,
    epoch: Vec<i64>,
    hash: Vec<&'a [u8]>,
    body: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    fn add(&mut self, no: i64, append: &'a Append) {
        let mut next = append.last.seq.next();
        for entry in &append.entries {
            assert_eq!(entry.seq, next, "a writer numbers its entries without gap");
            next = next.next();
            self.no.push(no);
            self.claim_epoch.push(int(append.claim.epoch.0));
            self.seq.push(int(entry.seq.0));
            self.time.push(entry.time.0);
            self.epoch.push(int(entry.epoch.0));
            self.hash.push(&entry.hash.0);
            self.body.push(&entry.body);
        }
    }

    /// Writes those whose claim stands, and answers how many.
    async fn insert<C: GenericClient>(&self, client: &C) -> Result<u64, Fault> {
        let statement = client.prepare_cached(APPEND).await?;
        let Self { no, claim_epoch, seq, time, epoch, hash, body } = self;
        client.execute(&statement, &[no, claim_epoch, seq, time, epoch, hash, body]).await
    }

    /// The logs to which something was written.
    async fn written<C: GenericClient>(&self, client: &C) -> Result<BTreeSet<i64>, Fault> {
        let rows = client.query(WRITTEN, &[&self.no, &self.seq, &self.hash]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// The attachments that messages name must be stored.
fn stored(append: &Append, held: &BTreeSet<BlobHash>) -> Result<(), AppendError> {
    let messages = append.entries.iter().filter_map(|entry| entry.event.message());
    let mut named = messages.flat_map(|message| &message.attachments).map(|attachment| &attachment.blob);
    let missing = named.find(|blob| !held.contains(*blob));
    match missing.filter(|_| !fault::planted("message_names_lost_file")) {
        Some(blob) => Err(AppendError::BlobMissing(blob.clone())),
        None => Ok(()),
    }
}

/// Keys and ids must be free before anything of the append is written.
async fn names(
    transaction: &Transaction<'_>,
    append: &Append,
    taken: &mut BTreeSet<SessionId>,
) -> Result<Result<(), AppendError>, Fault> {
    let mut keys = BTreeMap::new();
    for entry in &append.entries {
        if let Some((key, _)) = entry.event.key() {
            let sql = "SELECT seq FROM keys JOIN logs USING (no) WHERE logs.key = $1 AND keys.key = $2";
            let used = transaction.query_opt(sql, &[&append.claim.session.0, &key.0.as_bytes()]).await?;
            let used = used.map(|row| Seq(super::number(&row, "seq")));
            if let Some(seq) = used.or(keys.insert(key, entry.seq)) {
                return Ok(Err(AppendError::KeyUsed { seq }));
            }
        }
        if let Event::IdAdded { id } = &entry.event {
            let used = transaction.query_opt("SELECT 1 FROM session_ids WHERE id = $1", &[&id.0]).await?;
            if used.is_some() || !taken.insert(*id) {
                return Ok(Err(AppendError::IdTaken(*id)));
            }
        }
    }
    Ok(Ok(()))
}
