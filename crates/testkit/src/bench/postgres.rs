//! The store on PostgreSQL beside bare PostgreSQL: the same batches, by a multi-row insert into the same table without
//! looking at claims or ends. Both take turns in one run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use session::{Entry, Epoch, Event, Link, NodeId, RunId, SessionId, Time, UserId};
use store::postgres::{PostgresStore, Settings};
use store::{Append, Claim, Claiming, LogStore, Urgency};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::postgres::Postgres;
use crate::report::Report;

/// Sessions that append at once.
const SESSIONS: [usize; 2] = [64, 512];
/// What the store may cost: a share of the bare speed.
const RATIO_MIN: f64 = 0.6;
/// In CI a noisy neighbour must not fail it.
const RATIO_MIN_CI: f64 = 0.3;
/// Rounds in which both take turns.
const ROUNDS: u32 = 4;
const NODE: NodeId = NodeId(Uuid::from_u128(1));

/// Measures for so long on each side, and says whether it was fast enough.
///
/// # Errors
/// When PostgreSQL cannot be used.
pub fn run(report: &mut Report, full: bool) -> Result<()> {
    let server = Postgres::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let turn = Duration::from_secs(if full { 8 } else { 2 });
    for sessions in SESSIONS {
        let (ours, bare) = runtime.block_on(compare(&server.url(), sessions, turn))?;
        let ratio = ours / bare;
        report.note(&format!("{sessions} sessions: {ours:.0} entries/s, bare {bare:.0}"));
        let least = if full { RATIO_MIN } else { RATIO_MIN_CI };
        report.line(
            &format!("postgres.{sessions}_of_bare"),
            format!("{ratio:.2}"),
            format!(">={RATIO_MIN}"),
            ratio >= least,
        );
    }
    Ok(())
}

async fn compare(url: &str, sessions: usize, turn: Duration) -> Result<(f64, f64)> {
    let settings = Settings { url: url.to_owned(), schema: format!("ours{sessions}") };
    let store = PostgresStore::open(&settings).await?;
    let mut logs = Vec::new();
    for number in 0..sessions {
        logs.push(Log::create(&store, number).await?);
    }
    let bare = Bare::create(url, sessions).await?;
    let (mut ours, mut theirs) = (Spent::default(), Spent::default());
    for _ in 0..ROUNDS {
        let until = ours.time + turn / ROUNDS;
        while ours.time < until {
            let batch: Vec<Append> = logs.iter_mut().map(Log::next).collect();
            let begun = Instant::now();
            let results = store.append(batch).await;
            ours.add(begun, sessions);
            ensure!(results.iter().all(Result::is_ok), "an append was refused: {results:?}");
        }
        let until = theirs.time + turn / ROUNDS;
        while theirs.time < until {
            let batch: Vec<(i64, Arc<Entry>)> =
                logs.iter_mut().map(|log| (log.no, log.next_bare())).collect();
            let begun = Instant::now();
            bare.insert(&batch).await?;
            theirs.add(begun, sessions);
        }
    }
    Ok((ours.speed(), theirs.speed()))
}

/// How long so many entries took.
#[derive(Default)]
struct Spent {
    time: Duration,
    entries: usize,
}

impl Spent {
    fn add(&mut self, begun: Instant, entries: usize) {
        self.time += begun.elapsed();
        self.entries += entries;
    }

    fn speed(&self) -> f64 {
        self.entries as f64 / self.time.as_secs_f64()
    }
}

/// One session that streams.
struct Log {
    no: i64,
    claim: Claim,
    end: Link,
    bare_end: Link,
}

impl Log {
    async fn create(store: &PostgresStore, number: usize) -> Result<Self> {
        let id = SessionId(Uuid::from_u128(number as u128 + 1_000));
        let claim = store.claim(id, NODE, Claiming::New, Time(0)).await?;
        let first = Entry::seal(
            &Link::START,
            Time(0),
            claim.epoch,
            Event::SessionCreated { id, title: None, after: None, user: UserId::FIRST },
        );
        let end = first.link();
        let entries = vec![Arc::new(first)];
        let append = Append { claim, last: Link::START, entries, urgency: Urgency::Normal };
        store.append(vec![append]).await.pop().context("an answer")??;
        Ok(Self { no: i64::try_from(number)?, claim, end, bare_end: end })
    }

    fn next(&mut self) -> Append {
        let last = self.end;
        let entry = chunk(&last, self.claim.epoch);
        self.end = entry.link();
        Append { claim: self.claim, last, entries: vec![Arc::new(entry)], urgency: Urgency::Normal }
    }

    fn next_bare(&mut self) -> Arc<Entry> {
        let entry = chunk(&self.bare_end, self.claim.epoch);
        self.bare_end = entry.link();
        Arc::new(entry)
    }
}

/// A chunk of text; its entry has about 220 bytes.
fn chunk(last: &Link, epoch: Epoch) -> Entry {
    let text = "herons nest in reeds beside the lake ".repeat(5);
    Entry::seal(last, Time(1), epoch, Event::TextAdded { run: RunId(1), text })
}

/// The same table, and nothing that is asked about it.
struct Bare {
    client: Client,
    insert: tokio_postgres::Statement,
}

impl Bare {
    async fn create(url: &str, sessions: usize) -> Result<Self> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(async move { connection.await.unwrap_or(()) });
        let table = format!(
            "CREATE SCHEMA bare{sessions}; SET search_path = bare{sessions};
             CREATE TABLE entries (no BIGINT NOT NULL, seq BIGINT NOT NULL, time BIGINT NOT NULL,
             epoch BIGINT NOT NULL, hash BYTEA NOT NULL, body TEXT NOT NULL, PRIMARY KEY (no, seq))"
        );
        client.batch_execute(&table).await?;
        let insert = client
            .prepare(
                "INSERT INTO entries SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[],
                 $5::BYTEA[], $6::TEXT[])",
            )
            .await?;
        Ok(Self { client, insert })
    }

    async fn insert(&self, batch: &[(i64, Arc<Entry>)]) -> Result<()> {
        let int = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let no: Vec<i64> = batch.iter().map(|(no, _)| *no).collect();
        let seq: Vec<i64> = batch.iter().map(|(_, entry)| int(entry.seq.0)).collect();
        let time: Vec<i64> = batch.iter().map(|(_, entry)| entry.time.0).collect();
        let epoch: Vec<i64> = batch.iter().map(|(_, entry)| int(entry.epoch.0)).collect();
        let hash: Vec<&[u8]> = batch.iter().map(|(_, entry)| entry.hash.0.as_slice()).collect();
        let body: Vec<&str> = batch.iter().map(|(_, entry)| &*entry.body).collect();
        self.client.execute(&self.insert, &[&no, &seq, &time, &epoch, &hash, &body]).await?;
        Ok(())
    }
}
