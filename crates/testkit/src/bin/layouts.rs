//! Measures row layouts for the append workload on a real SQLite file: group commits of 220-byte entries,
//! runs packed when they end, unpacked rows removed in the layout's own way. Choose the layout by its table.
//! `layouts [sessions=64,512,2000] [seconds=8] [passes=2] [only=A,B,C,D,D4,bare] [pin=100000] [cache_mb=64]
//! [checkpoint=1000]`; ratios travel to other machines, absolutes do not.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints its figures and reads the clock"
)]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, params};

const BATCH: usize = 512;
const RUN: i64 = 200;
const BODY: usize = 220;
const PACK_BUDGET: Duration = Duration::from_millis(5);
/// With more ended runs than this waiting, appends wait for packing: every figure is one that lasts.
const BACKLOG: usize = 64;
/// Entries whose rows one transaction removes from the front of a FIFO layout.
const TRIM: i64 = 2000;
const NAMES: [&str; 6] = ["A", "B", "C", "D", "D4", "bare"];
const ROWS: &str = "session integer not null, seq integer not null, time integer not null, epoch integer not null, \
                    hash blob not null, body blob not null";
const PACKS: &str = "create table packs(id integer primary key, session integer not null, first_seq integer not null, \
                     last_seq integer not null, body blob not null); \
                     create unique index packs_first on packs(session, first_seq);";

struct Options {
    sessions: Vec<usize>,
    seconds: f64,
    passes: usize,
    only: Vec<String>,
    pin: i64,
    cache_mb: i64,
    checkpoint: i64,
}

struct Entry<'a> {
    session: i64,
    seq: i64,
    time: i64,
    epoch: i64,
    hash: [u8; 16],
    body: &'a [u8],
}

impl Entry<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.session, self.seq, self.time, self.epoch] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.hash);
        out.extend_from_slice(&(self.body.len() as u32).to_le_bytes());
        out.extend_from_slice(self.body);
    }
}

/// Consecutive entries of one session that become one pack.
struct Run {
    session: i64,
    first: i64,
    last: i64,
}

trait Layout {
    fn schema(&self) -> String;
    fn append(&mut self, db: &Connection, batch: &[Entry<'_>]) -> Result<()>;
    /// Reads the run into `out` and removes it, at once or when the rows before it are gone.
    fn take(&mut self, db: &Connection, run: &Run, out: &mut Vec<u8>) -> Result<()>;
    fn packs(&self) -> bool {
        true
    }
    /// A session whose oldest entry keeps too many packed rows from being removed.
    fn pinned(&self) -> Option<i64> {
        None
    }
    fn trim(&mut self, _db: &Connection) -> Result<()> {
        Ok(())
    }
}

/// Rows found by (session, seq): A clustered, B with an index, bare without packing.
struct Keyed {
    clustered: bool,
    packs: bool,
}

impl Layout for Keyed {
    fn schema(&self) -> String {
        if self.clustered {
            format!("create table entries({ROWS}, primary key (session, seq)) without rowid;")
        } else {
            format!("create table entries({ROWS}); create unique index entries_key on entries(session, seq);")
        }
    }

    fn append(&mut self, db: &Connection, batch: &[Entry<'_>]) -> Result<()> {
        let mut insert = db.prepare_cached(
            "insert into entries(session, seq, time, epoch, hash, body) values (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for e in batch {
            insert.execute(params![e.session, e.seq, e.time, e.epoch, e.hash, e.body])?;
        }
        Ok(())
    }

    fn take(&mut self, db: &Connection, run: &Run, out: &mut Vec<u8>) -> Result<()> {
        let mut select = db.prepare_cached(
            "select session, seq, time, epoch, hash, body from entries \
             where session = ?1 and seq between ?2 and ?3 order by seq",
        )?;
        let mut rows = select.query(params![run.session, run.first, run.last])?;
        while let Some(row) = rows.next()? {
            encode_row(row, out)?;
        }
        db.prepare_cached("delete from entries where session = ?1 and seq between ?2 and ?3")?
            .execute(params![run.session, run.first, run.last])?;
        Ok(())
    }

    fn packs(&self) -> bool {
        self.packs
    }
}

fn encode_row(row: &rusqlite::Row<'_>, out: &mut Vec<u8>) -> Result<()> {
    let entry = Entry {
        session: row.get(0)?,
        seq: row.get(1)?,
        time: row.get(2)?,
        epoch: row.get(3)?,
        hash: row.get(4)?,
        body: row.get_ref(5)?.as_blob()?,
    };
    entry.encode(out);
    Ok(())
}

/// Where an unpacked entry is; `ordinal` counts entries in the order of appending.
#[derive(Clone, Copy)]
struct Place {
    ordinal: i64,
    row: i64,
    offset: usize,
    len: usize,
}

/// The in-memory index of the unpacked tail of a FIFO table whose rows are numbered from 1.
struct Tail {
    places: HashMap<i64, VecDeque<Place>>,
    /// The oldest unpacked entry of every session, by ordinal: (session, row).
    oldest: BTreeMap<i64, (i64, i64)>,
    entries: i64,
    rows: i64,
    trimmed: i64,
    pin: i64,
}

impl Tail {
    fn new(pin: i64) -> Self {
        Self { places: HashMap::new(), oldest: BTreeMap::new(), entries: 0, rows: 0, trimmed: 0, pin }
    }

    fn push(&mut self, session: i64, row: i64, offset: usize, len: usize) {
        let place = Place { ordinal: self.entries, row, offset, len };
        self.entries += 1;
        let places = self.places.entry(session).or_default();
        if places.is_empty() {
            self.oldest.insert(place.ordinal, (session, row));
        }
        places.push_back(place);
    }

    fn take(&mut self, run: &Run) -> Result<Vec<Place>> {
        let places = self.places.get_mut(&run.session).context("a session without a tail")?;
        let count = usize::try_from(run.last - run.first + 1)?;
        if places.len() < count {
            bail!("session {} has {} entries in its tail, not {count}", run.session, places.len());
        }
        let taken: Vec<Place> = places.drain(..count).collect();
        if let Some(first) = taken.first() {
            self.oldest.remove(&first.ordinal);
        }
        if let Some(next) = places.front() {
            self.oldest.insert(next.ordinal, (run.session, next.row));
        }
        Ok(taken)
    }

    fn pinned(&self) -> Option<i64> {
        let (ordinal, (session, _)) = self.oldest.first_key_value()?;
        (self.entries - ordinal > self.pin).then_some(*session)
    }

    /// The last row that may go now, if a piece worth a delete is ready.
    fn trim_to(&mut self) -> Option<i64> {
        let piece = (TRIM * self.rows / self.entries.max(1)).max(1);
        let packed = self.oldest.first_key_value().map_or(self.rows, |(_, (_, row))| row - 1);
        if packed - self.trimmed < (piece / 2).max(1) {
            return None;
        }
        self.trimmed = packed.min(self.trimmed + piece);
        Some(self.trimmed)
    }
}

/// C: one row per entry, no index in the file, removed as a prefix.
struct Fifo {
    tail: Tail,
}

impl Layout for Fifo {
    fn schema(&self) -> String {
        format!("create table tail(id integer primary key, {ROWS});")
    }

    fn append(&mut self, db: &Connection, batch: &[Entry<'_>]) -> Result<()> {
        let mut insert = db.prepare_cached(
            "insert into tail(id, session, seq, time, epoch, hash, body) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for e in batch {
            self.tail.rows += 1;
            insert.execute(params![self.tail.rows, e.session, e.seq, e.time, e.epoch, e.hash, e.body])?;
            self.tail.push(e.session, self.tail.rows, 0, 0);
        }
        Ok(())
    }

    fn take(&mut self, db: &Connection, run: &Run, out: &mut Vec<u8>) -> Result<()> {
        let mut select =
            db.prepare_cached("select session, seq, time, epoch, hash, body from tail where id = ?1")?;
        for place in self.tail.take(run)? {
            let mut rows = select.query([place.row])?;
            encode_row(rows.next()?.context("a row of the tail is gone")?, out)?;
        }
        Ok(())
    }

    fn pinned(&self) -> Option<i64> {
        self.tail.pinned()
    }

    fn trim(&mut self, db: &Connection) -> Result<()> {
        if let Some(last) = self.tail.trim_to() {
            db.prepare_cached("delete from tail where id <= ?1")?.execute([last])?;
        }
        Ok(())
    }
}

/// D: the entries of a commit in one blob; D4: in blobs of at most `limit` bytes, so that a row fits a page.
struct Commits {
    tail: Tail,
    limit: usize,
    blob: Vec<u8>,
}

impl Commits {
    fn flush(&mut self, db: &Connection) -> Result<()> {
        db.prepare_cached("insert into commits(id, body) values (?1, ?2)")?
            .execute(params![self.tail.rows, self.blob])?;
        self.blob.clear();
        Ok(())
    }
}

impl Layout for Commits {
    fn schema(&self) -> String {
        "create table commits(id integer primary key, body blob not null);".into()
    }

    fn append(&mut self, db: &Connection, batch: &[Entry<'_>]) -> Result<()> {
        self.tail.rows += 1;
        for e in batch {
            let mut offset = self.blob.len();
            e.encode(&mut self.blob);
            if self.blob.len() > self.limit && offset > 0 {
                self.blob.truncate(offset);
                self.flush(db)?;
                self.tail.rows += 1;
                offset = 0;
                e.encode(&mut self.blob);
            }
            self.tail.push(e.session, self.tail.rows, offset, self.blob.len() - offset);
        }
        self.flush(db)
    }

    fn take(&mut self, db: &Connection, run: &Run, out: &mut Vec<u8>) -> Result<()> {
        let mut select = db.prepare_cached("select body from commits where id = ?1")?;
        for place in self.tail.take(run)? {
            let mut rows = select.query([place.row])?;
            let row = rows.next()?.context("a commit of the tail is gone")?;
            let body = row.get_ref(0)?.as_blob()?;
            out.extend_from_slice(
                body.get(place.offset..place.offset + place.len).context("a commit is cut short")?,
            );
        }
        Ok(())
    }

    fn pinned(&self) -> Option<i64> {
        self.tail.pinned()
    }

    fn trim(&mut self, db: &Connection) -> Result<()> {
        if let Some(last) = self.tail.trim_to() {
            db.prepare_cached("delete from commits where id <= ?1")?.execute([last])?;
        }
        Ok(())
    }
}

fn layout(name: &str, pin: i64) -> Result<Box<dyn Layout>> {
    Ok(match name {
        "A" => Box::new(Keyed { clustered: true, packs: true }),
        "B" => Box::new(Keyed { clustered: false, packs: true }),
        "C" => Box::new(Fifo { tail: Tail::new(pin) }),
        "D" => Box::new(Commits { tail: Tail::new(pin), limit: usize::MAX, blob: Vec::new() }),
        "D4" => Box::new(Commits { tail: Tail::new(pin), limit: 4040, blob: Vec::new() }),
        "bare" => Box::new(Keyed { clustered: false, packs: false }),
        _ => bail!("no layout {name}; there are {NAMES:?}"),
    })
}

/// splitmix64: the same workload for every layout.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn hash(&mut self) -> [u8; 16] {
        ((u128::from(self.next()) << 64) | u128::from(self.next())).to_le_bytes()
    }
}

fn prose(random: &mut Random) -> Vec<u8> {
    const WORDS: &str = "the of and to a in that it is was for on as with be by at from they have this which \
        one had not but what all were when we there can an your said use each she do how their if will up \
        other about out many then them these so some her would make like him into time has look two more \
        write go see number no way could people than first water been call who oil its now find long down \
        day did get come made may part session entry model answer tool result function because therefore \
        however between measure layout storage commit durable reader writer question example consider \
        several important different although reason simple careful explanation paragraph change error \
        return value should check before after while another through against without";
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut body = br#"{"type":"text_delta","index":0,"text":""#.to_vec();
    while body.len() < BODY - 2 {
        // The smaller of two draws: common words are more common.
        let word = words[random.below(words.len()).min(random.below(words.len()))];
        body.extend_from_slice(word.as_bytes());
        body.extend_from_slice(if random.below(12) == 0 { b". " } else { b" " });
    }
    body.truncate(BODY - 2);
    body.extend_from_slice(br#""}"#);
    body
}

#[derive(Clone, Copy)]
struct Session {
    next: i64,
    run_end: i64,
    unpacked: i64,
}

struct Driver {
    db: Connection,
    layout: Box<dyn Layout>,
    sessions: Vec<Session>,
    ended: VecDeque<Run>,
    bodies: Vec<Vec<u8>>,
    random: Random,
    compressor: zstd::bulk::Compressor<'static>,
    raw: Vec<u8>,
    events: u64,
    packs: u64,
    packed: i64,
}

impl Driver {
    fn open(path: &Path, layout: Box<dyn Layout>, sessions: usize, options: &Options) -> Result<Self> {
        let db = Connection::open(path)?;
        db.execute_batch(&format!(
            "pragma page_size = 4096; pragma journal_mode = wal; pragma synchronous = off; \
             pragma cache_size = -{}; pragma wal_autocheckpoint = {}; {PACKS} {}",
            options.cache_mb * 1024,
            options.checkpoint,
            layout.schema()
        ))?;
        let mut random = Random(7);
        let bodies = (0..4096).map(|_| prose(&mut random)).collect();
        let sessions = vec![Session { next: 0, run_end: RUN, unpacked: 0 }; sessions];
        let compressor = zstd::bulk::Compressor::new(3)?;
        Ok(Self {
            db,
            layout,
            sessions,
            ended: VecDeque::new(),
            bodies,
            random,
            compressor,
            raw: Vec::new(),
            events: 0,
            packs: 0,
            packed: 0,
        })
    }

    fn shuffled(&mut self, sessions: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut order: Vec<usize> = sessions.collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.random.below(i + 1));
        }
        order
    }

    fn commit(&mut self, batch: &[usize]) -> Result<()> {
        let mut entries = Vec::with_capacity(batch.len());
        for &index in batch {
            let session = &mut self.sessions[index];
            entries.push(Entry {
                session: index as i64 + 1,
                seq: session.next,
                time: 1_790_000_000_000_000 + self.events as i64 * 25,
                epoch: session.next / RUN + 1,
                hash: self.random.hash(),
                body: &self.bodies[self.random.below(self.bodies.len())],
            });
            session.next += 1;
            if session.next == session.run_end {
                session.run_end += RUN;
                if self.layout.packs() {
                    let first = std::mem::replace(&mut session.unpacked, session.next);
                    self.ended.push_back(Run { session: index as i64 + 1, first, last: session.next - 1 });
                }
            }
            self.events += 1;
        }
        let transaction = self.db.unchecked_transaction()?;
        self.layout.append(&transaction, &entries)?;
        Ok(transaction.commit()?)
    }

    fn next_run(&mut self) -> Option<Run> {
        if let Some(run) = self.ended.pop_front() {
            return Some(run);
        }
        let id = self.layout.pinned()?;
        let session = &mut self.sessions[id as usize - 1];
        let first = std::mem::replace(&mut session.unpacked, session.next);
        Some(Run { session: id, first, last: session.next - 1 })
    }

    fn pack(&mut self) -> Result<()> {
        let Some(mut run) = self.next_run() else { return Ok(()) };
        let start = Instant::now();
        self.db.execute_batch("begin immediate")?;
        loop {
            self.pack_run(&run)?;
            if start.elapsed() >= PACK_BUDGET && self.ended.len() <= BACKLOG {
                break;
            }
            let Some(next) = self.next_run() else { break };
            run = next;
        }
        self.layout.trim(&self.db)?;
        Ok(self.db.execute_batch("commit")?)
    }

    fn pack_run(&mut self, run: &Run) -> Result<()> {
        if run.last < run.first {
            return Ok(());
        }
        self.raw.clear();
        self.layout.take(&self.db, run, &mut self.raw)?;
        let entries = run.last - run.first + 1;
        if self.raw.len() != usize::try_from(entries)? * (BODY + 52) {
            bail!("session {} lost entries of {}..={}", run.session, run.first, run.last);
        }
        let body = self.compressor.compress(&self.raw)?;
        self.db
            .prepare_cached("insert into packs(session, first_seq, last_seq, body) values (?1, ?2, ?3, ?4)")?
            .execute(params![run.session, run.first, run.last, body])?;
        self.packs += 1;
        self.packed += entries;
        Ok(())
    }

    /// Starts the sessions one after another within the length of a run, so that ends are spread evenly.
    fn ramp(&mut self, path: &Path) -> Result<()> {
        let count = self.sessions.len();
        for round in 0..RUN as usize {
            for batch in self.shuffled(0..count * (round + 1) / RUN as usize).chunks(BATCH) {
                self.commit(batch)?;
                self.pack()?;
            }
        }
        self.db.execute_batch("pragma wal_checkpoint(truncate); pragma synchronous = full;")?;
        std::fs::File::open(path)?.sync_all()?;
        (self.events, self.packs, self.packed) = (0, 0, 0);
        Ok(())
    }

    fn measure(&mut self, seconds: f64) -> Result<Figures> {
        let (mut commits, mut cycles) = (Vec::new(), Vec::new());
        let (written, cpu, start) = (written_bytes()?, thread_cpu()?, Instant::now());
        'run: loop {
            for batch in self.shuffled(0..self.sessions.len()).chunks(BATCH) {
                let begin = Instant::now();
                self.commit(batch)?;
                commits.push(begin.elapsed().as_secs_f64() * 1e3);
                self.pack()?;
                cycles.push(begin.elapsed().as_secs_f64() * 1e3);
                if start.elapsed().as_secs_f64() > seconds {
                    break 'run;
                }
            }
        }
        let events = self.events as f64;
        Ok(Figures([
            events / start.elapsed().as_secs_f64(),
            quantile(&mut commits, 0.5),
            quantile(&mut commits, 0.99),
            quantile(&mut cycles, 0.99),
            (written_bytes()? - written) / events,
            0.0,
            (thread_cpu()? - cpu) * 1e5 / events,
            self.packed as f64 / self.packs.max(1) as f64,
            self.packed as f64 / events,
        ]))
    }
}

/// events/s, commit p50 and p99 ms, p99 ms with the packing behind it, bytes written per event, file MB,
/// CPU s per 100,000 events, entries per pack, packed per appended entry.
#[derive(Clone, Copy)]
struct Figures([f64; 9]);

impl Figures {
    fn mean(of: &[Self]) -> Self {
        let mut mean = [0.0; 9];
        for figures in of {
            for (sum, figure) in mean.iter_mut().zip(figures.0) {
                *sum += figure / of.len() as f64;
            }
        }
        Self(mean)
    }

    fn print(&self, sessions: usize, name: &str, pass: &str, bare: Option<f64>) {
        let [rate, p50, p99, cycle, bytes, file, cpu, pack, packed] = self.0;
        let ratio = bare.map_or_else(String::new, |bare| format!("{:.2}x", rate / bare));
        println!(
            "| {sessions} | {name} | {pass} | {rate:.0} | {ratio} | {p50:.1} / {p99:.1} | {cycle:.1} | {bytes:.0} \
             | {file:.0} | {cpu:.2} | {pack:.0} | {packed:.2} |"
        );
    }
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * q) as usize).copied().unwrap_or(0.0)
}

fn written_bytes() -> Result<f64> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.context("no write_bytes in /proc/self/io")?.parse()?)
}

fn thread_cpu() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos: f64 = stat.split_whitespace().next().context("an empty schedstat")?.parse()?;
    Ok(nanos / 1e9)
}

fn run_one(name: &str, sessions: usize, options: &Options) -> Result<Figures> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("layout.db");
    let mut driver = Driver::open(&path, layout(name, options.pin)?, sessions, options)?;
    driver.ramp(&path)?;
    let mut figures = driver.measure(options.seconds)?;
    driver.db.execute_batch("pragma wal_checkpoint(truncate);")?;
    figures.0[5] = std::fs::metadata(&path)?.len() as f64 / 1e6;
    Ok(figures)
}

fn options() -> Result<Options> {
    let mut options = Options {
        sessions: vec![64, 512, 2000],
        seconds: 8.0,
        passes: 2,
        only: NAMES.iter().map(ToString::to_string).collect(),
        pin: 100_000,
        cache_mb: 64,
        checkpoint: 1000,
    };
    for argument in std::env::args().skip(1) {
        let (key, value) = argument.split_once('=').context("arguments are key=value")?;
        match key {
            "sessions" => options.sessions = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "seconds" => options.seconds = value.parse()?,
            "passes" => options.passes = value.parse()?,
            "only" => options.only = value.split(',').map(Into::into).collect(),
            "pin" => options.pin = value.parse()?,
            "cache_mb" => options.cache_mb = value.parse()?,
            "checkpoint" => options.checkpoint = value.parse()?,
            _ => bail!("no argument {key}"),
        }
    }
    Ok(options)
}

fn main() -> Result<()> {
    let options = options()?;
    println!(
        "| sessions | layout | pass | events/s | of bare | commit p50 / p99 ms | with packing p99 ms | bytes/event \
         | file MB | CPU s/100k | entries/pack | packed |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for &sessions in &options.sessions {
        let mut found: BTreeMap<&str, Vec<Figures>> = BTreeMap::new();
        let mut order: Vec<&str> = options.only.iter().map(String::as_str).collect();
        for pass in 1..=options.passes {
            for name in &order {
                let figures = run_one(name, sessions, &options)?;
                figures.print(sessions, name, &pass.to_string(), None);
                found.entry(name).or_default().push(figures);
            }
            order.reverse();
        }
        let bare = found.get("bare").map(|figures| Figures::mean(figures).0[0]);
        for name in &options.only {
            let figures = found.get(name.as_str()).context("a layout without figures")?;
            Figures::mean(figures).print(sessions, name, "mean", bare);
        }
    }
    Ok(())
}
