//! A batch of appends: one statement moves the end of every log whose claim and end are what its writer knows, writes
//! their entries, and answers which; the others are told why not.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::{Client, GenericClient, Transaction};
use session::{Epoch, Event, Seq, SessionId};

use crate::Append;
use crate::error::AppendError;

use super::{Fault, failed, int, notes};

const APPEND: &str = "
WITH asked AS (
    SELECT * FROM unnest($1::INT[], $2::UUID[], $3::BIGINT[], $4::BIGINT[], $5::BYTEA[], $6::BIGINT[], $7::BIGINT[],
        $8::BYTEA[]) AS asked (at, key, claim_epoch, last_seq, last_hash, end_seq, end_epoch, end_hash)
),
moved AS (
    UPDATE logs SET end_seq = asked.end_seq, end_epoch = asked.end_epoch, end_hash = asked.end_hash
    FROM asked
    WHERE logs.key = asked.key AND logs.claim_epoch = asked.claim_epoch AND logs.end_seq = asked.last_seq
        AND logs.end_hash = asked.last_hash AND NOT logs.erased
    RETURNING asked.at, logs.no
),
written AS (
    INSERT INTO entries (no, seq, time, epoch, hash, body)
    SELECT moved.no, entry.seq, entry.time, entry.epoch, entry.hash, entry.body
    FROM unnest($9::INT[], $10::BIGINT[], $11::BIGINT[], $12::BIGINT[], $13::BYTEA[], $14::TEXT[])
        AS entry (at, seq, time, epoch, hash, body)
    JOIN moved USING (at)
)
SELECT at, no FROM moved";

type Results = Vec<Result<(), AppendError>>;

/// Appends a batch. What only adds output is one statement and so its own transaction.
pub(super) async fn append(client: &mut Client, batch: &[Append]) -> Results {
    let everyone = |error: AppendError| batch.iter().map(|_| Err(error.clone())).collect();
    let mut results: Results = batch.iter().map(|_| Ok(())).collect();
    let waves = waves(batch);
    let noted = batch.iter().any(|append| append.entries.iter().any(|entry| notes::concerns(&entry.event)));
    if let ([wave], false) = (waves.as_slice(), noted) {
        return match write(&*client, batch, wave, &mut results).await {
            Ok(_) => results,
            Err(error) => everyone(unknown(&error)),
        };
    }
    let transaction = match client.transaction().await {
        Ok(transaction) => transaction,
        Err(error) => return everyone(failed("append")(error).into()),
    };
    for wave in &waves {
        if let Err(error) = one_wave(&transaction, batch, wave, &mut results).await {
            // Dropping the transaction takes all of it back.
            return everyone(failed("append")(error).into());
        }
    }
    match transaction.commit().await {
        Ok(()) => results,
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

async fn one_wave(
    transaction: &Transaction<'_>,
    batch: &[Append],
    wave: &[usize],
    results: &mut Results,
) -> Result<(), Fault> {
    let mut taken = BTreeSet::new();
    let mut named = Vec::new();
    for at in wave {
        let names = names(transaction, &batch[*at], &mut taken).await?;
        if let Err(refused) = names {
            named.push((*at, refused))
        }
    }
    let free: Vec<usize> =
        wave.iter().copied().filter(|at| !named.iter().any(|(other, _)| other == at)).collect();
    let moved = write(transaction, batch, &free, results).await?;
    for (at, refused) in named {
        // An old claim or another end comes before a name that is taken.
        let state = state(transaction, &batch[at]).await?;
        results[at] = Err(state.err().unwrap_or(refused));
    }
    notes::keep(transaction, moved.iter().map(|(at, no)| (*no, &batch[*at]))).await
}

/// Moves the ends and writes the entries. Answers which were written, and tells the others why not.
async fn write<C: GenericClient>(
    client: &C,
    batch: &[Append],
    wave: &[usize],
    results: &mut Results,
) -> Result<Vec<(usize, i64)>, Fault> {
    let mut asked = Asked::default();
    for at in wave {
        asked.add(*at, &batch[*at]);
    }
    let rows = asked.run(client).await?;
    let moved: BTreeMap<usize, i64> = rows
        .iter()
        .map(|row| (usize::try_from(row.get::<_, i32>(0)).unwrap_or(usize::MAX), row.get(1)))
        .collect();
    for at in wave.iter().filter(|at| !moved.contains_key(at)) {
        let append = &batch[*at];
        results[*at] = match state(client, append).await? {
            // Nothing was to be written, and nothing was.
            Ok(()) if append.entries.is_empty() => Ok(()),
            // It stood elsewhere a moment ago; whoever moved it is the newer claim.
            Ok(()) => Err(AppendError::Conflict { head: append.last.seq }),
            Err(refused) => Err(refused),
        };
    }
    Ok(moved.into_iter().collect())
}

/// The columns of the statement.
#[derive(Default)]
struct Asked<'a> {
    at: Vec<i32>,
    key: Vec<uuid::Uuid>,
    claim_epoch: Vec<i64>,
    last_seq: Vec<i64>,
    last_hash: Vec<&'a [u8]>,
    end_seq: Vec<i64>,
    end_epoch: Vec<i64>,
    end_hash: Vec<&'a [u8]>,
    entry_at: Vec<i32>,
    seq: Vec<i64>,
    time: Vec<i64>,
    epoch: Vec<i64>,
    hash: Vec<&'a [u8]>,
    body: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    fn add(&mut self, at: usize, append: &'a Append) {
        let at = i32::try_from(at).unwrap_or(i32::MAX);
        let Some(end) = append.entries.last() else { return };
        self.at.push(at);
        self.key.push(append.claim.session.0);
        self.claim_epoch.push(int(append.claim.epoch.0));
        self.last_seq.push(int(append.last.seq.0));
        self.last_hash.push(&append.last.hash.0);
        self.end_seq.push(int(end.seq.0));
        self.end_epoch.push(int(end.epoch.0));
        self.end_hash.push(&end.hash.0);
        let mut next = append.last.seq.next();
        for entry in &append.entries {
            assert_eq!(entry.seq, next, "a writer numbers its entries without gap");
            next = next.next();
            self.entry_at.push(at);
            self.seq.push(int(entry.seq.0));
            self.time.push(entry.time.0);
            self.epoch.push(int(entry.epoch.0));
            self.hash.push(&entry.hash.0);
            self.body.push(&entry.body);
        }
    }

    async fn run<C: GenericClient>(&self, client: &C) -> Result<Vec<tokio_postgres::Row>, Fault> {
        let statement = client.prepare_cached(APPEND).await?;
        client
            .query(
                &statement,
                &[
                    &self.at,
                    &self.key,
                    &self.claim_epoch,
                    &self.last_seq,
                    &self.last_hash,
                    &self.end_seq,
                    &self.end_epoch,
                    &self.end_hash,
                    &self.entry_at,
                    &self.seq,
                    &self.time,
                    &self.epoch,
                    &self.hash,
                    &self.body,
                ],
            )
            .await
    }
}

/// Whether an append could be written as its log stands, or why not.
async fn state<C: GenericClient>(client: &C, append: &Append) -> Result<Result<(), AppendError>, Fault> {
    let sql = "SELECT claim_epoch, end_seq, end_hash FROM logs WHERE key = $1 AND NOT erased";
    let session = append.claim.session;
    let Some(row) = client.query_opt(sql, &[&session.0]).await? else {
        return Ok(Err(AppendError::Deleted(session)));
    };
    let current = Epoch(super::number(&row, "claim_epoch"));
    let head = Seq(super::number(&row, "end_seq"));
    if current != append.claim.epoch {
        return Ok(Err(AppendError::Fenced { current }));
    }
    if head != append.last.seq || super::hash(row.get("end_hash")) != append.last.hash {
        return Ok(Err(AppendError::Conflict { head }));
    }
    Ok(Ok(()))
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
