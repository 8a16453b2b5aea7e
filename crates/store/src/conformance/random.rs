//! Random operations give what the reference store gives: entries, list, turns, words, open runs, keys and blobs.

mod commands;

use std::collections::BTreeSet;
use std::sync::Arc;

use session::{BlobHash, MessageKey, Runs, Seq, SessionId, Time, TurnId, UserId};

use super::Fresh;
use super::author::{Author, NODE, id, read_all};
use super::lists::list;
use crate::blob::Blobs;
use crate::catalog::{Hit, ListQuery, SearchQuery, Shelf};
use crate::memory::MemoryStore;
use crate::{Append, Catalog, Claiming, LogStore, Snapshot, Store};

use commands::{KEYS, PROJECT, WORDS};

/// Worlds of one mix, each from its own seed.
const SEEDS: u64 = 50;
/// Operations in one world.
const STEPS: u64 = 40;

/// How often each operation happens, relative to the others.
struct Mix {
    create: u64,
    branch: u64,
    erase: u64,
    claim: u64,
    late: u64,
    snapshot: u64,
    settle: u64,
    reopen: u64,
    crash: u64,
    batch: u64,
    commands: u64,
}

const EVEN: Mix = Mix {
    create: 3,
    branch: 3,
    erase: 2,
    claim: 4,
    late: 4,
    snapshot: 4,
    settle: 6,
    reopen: 3,
    crash: 8,
    batch: 10,
    commands: 50,
};

pub async fn random_operations_give_what_the_reference_store_gives(fresh: &dyn Fresh) {
    run(fresh, &EVEN, 0).await;
}

pub async fn random_long_sessions_give_what_the_reference_store_gives(fresh: &dyn Fresh) {
    run(fresh, &Mix { create: 0, branch: 0, erase: 0, batch: 0, crash: 4, ..EVEN }, 1_000).await;
}

pub async fn random_branches_and_erasures_give_what_the_reference_store_gives(fresh: &dyn Fresh) {
    run(fresh, &Mix { create: 6, branch: 16, erase: 12, ..EVEN }, 2_000).await;
}

pub async fn random_cold_starts_give_what_the_reference_store_gives(fresh: &dyn Fresh) {
    run(fresh, &Mix { settle: 12, reopen: 12, batch: 20, ..EVEN }, 3_000).await;
}

async fn run(fresh: &dyn Fresh, mix: &Mix, first: u64) {
    for seed in first..first + SEEDS {
        let mut world = World::new(fresh, seed);
        for step in 0..STEPS {
            world.step(fresh, mix).await;
            if world.random.below(20) == 0 {
                world.compare(&format!("seed {seed}, step {step}")).await;
            }
        }
        world.compare(&format!("seed {seed}, at the end")).await;
        world.store = fresh.reopen(world.store);
        world.compare(&format!("seed {seed}, after a cold start")).await;
    }
}

/// A sequence of numbers that only its seed decides (SplitMix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(items.len()).unwrap();
        if count == 0 { None } else { items.get(usize::try_from(self.below(count)).unwrap()) }
    }
}

/// A store, the reference store beside it, and the writers of both.
struct World {
    store: Arc<dyn Store>,
    model: MemoryStore,
    authors: Vec<Author>,
    random: Random,
    /// Sessions made so far.
    made: u128,
    blobs: BTreeSet<BlobHash>,
}

impl World {
    fn new(fresh: &dyn Fresh, seed: u64) -> Self {
        let (model, random) = (MemoryStore::new(), Random(seed));
        Self { store: fresh.store(), model, authors: Vec::new(), random, made: 0, blobs: BTreeSet::new() }
    }

    async fn step(&mut self, fresh: &dyn Fresh, mix: &Mix) {
        let Some(at) = self.any() else { return self.create().await };
        let counts = [
            mix.create,
            mix.branch,
            mix.erase,
            mix.claim,
            mix.late,
            mix.snapshot,
            mix.settle,
            mix.reopen,
            mix.crash,
            mix.batch,
            mix.commands,
        ];
        let mut drawn = self.random.below(counts.iter().sum());
        let operation = counts.iter().position(|count| {
            let hit = drawn < *count;
            drawn = drawn.saturating_sub(*count);
            hit
        });
        match operation.unwrap() {
            0 => self.create().await,
            1 => self.branch(at).await,
            2 => self.erase(at).await,
            3 => self.claim(at).await,
            4 => self.late(at).await,
            5 => self.snapshot(at).await,
            6 => self.store.settle().await.unwrap(),
            7 => self.reopen(fresh),
            8 => self.crash(at).await,
            9 => self.batch().await,
            _ => {
                for _ in 0..4 {
                    self.command(at).await;
                }
            }
        }
    }

    fn any(&mut self) -> Option<usize> {
        let places: Vec<usize> = (0..self.authors.len()).collect();
        self.random.pick(&places).copied()
    }

    fn reopen(&mut self, fresh: &dyn Fresh) {
        let store = std::mem::replace(&mut self.store, Arc::new(MemoryStore::new()));
        self.store = fresh.reopen(store);
    }

    async fn create(&mut self) {
        self.made += 1;
        let author = Author::create(&*self.store, id(self.made)).await;
        assert_eq!(Author::create(&self.model, id(self.made)).await.log, author.log);
        self.authors.push(author);
    }

    async fn branch(&mut self, at: usize) {
        self.made += 1;
        let origin = self.authors[at].clone();
        let seq = Seq(1 + self.random.below(origin.end().seq.0));
        let branch = origin.branch(&*self.store, id(self.made), seq).await;
        assert_eq!(origin.branch(&self.model, id(self.made), seq).await.log, branch.log);
        self.authors.push(branch);
    }

    async fn erase(&mut self, at: usize) {
        let author = self.authors.swap_remove(at);
        let erased = self.store.erase(author.claim).await;
        assert_eq!(erased, self.model.erase(author.claim).await);
    }

    async fn claim(&mut self, at: usize) {
        let author = &mut self.authors[at];
        let claim = self.store.claim(author.id(), NODE, Claiming::Existing, author.now).await;
        assert_eq!(claim, self.model.claim(author.id(), NODE, Claiming::Existing, author.now).await);
        if let Ok(claim) = claim {
            author.claim = claim;
        }
    }

    /// An append of a writer that missed what happened.
    async fn late(&mut self, at: usize) {
        let author = &self.authors[at];
        let mut late = author.at(Seq(author.end().seq.0 - 1));
        late.claim.epoch.0 -= self.random.below(2);
        let append = late.append(vec![session::Event::SessionCleared {}]);
        let results = self.store.append(vec![append.clone()]).await;
        assert!(results[0].is_err());
        assert_eq!(results, self.model.append(vec![append]).await);
    }

    async fn snapshot(&mut self, at: usize) {
        let author = &self.authors[at];
        let past = author.at(Seq(1 + self.random.below(author.end().seq.0)));
        let snapshot = Snapshot { at: past.end(), state: past.state.to_bytes() };
        self.store.save_snapshot(author.id(), snapshot.clone()).await.unwrap();
        self.model.save_snapshot(author.id(), snapshot).await.unwrap();
        // A snapshot that was not written yet may be lost.
        self.store.settle().await.unwrap();
    }

    /// What a writer appends first after a crash.
    async fn crash(&mut self, at: usize) {
        let author = &self.authors[at];
        let decision = author.recover(commands::journal(&mut self.random, author));
        self.append(vec![(at, author.append(decision.events))]).await;
    }

    async fn command(&mut self, at: usize) {
        let append = self.decide(at).await;
        self.append(append.into_iter().map(|append| (at, append)).collect()).await;
    }

    async fn batch(&mut self) {
        let mut batch = Vec::new();
        for at in 0..self.authors.len() {
            batch.extend(self.decide(at).await.map(|append| (at, append)));
        }
        self.append(batch).await;
    }

    /// A random command of one author, with its blobs put.
    async fn decide(&mut self, at: usize) -> Option<Append> {
        let author = &mut self.authors[at];
        author.runs = if self.random.below(8) == 0 { Runs::Held } else { Runs::Allowed };
        author.now =
            author.now.plus_micros([0, 400_000, -90_000][usize::try_from(self.random.below(3)).unwrap()]);
        let (command, file) = commands::command(&mut self.random, author);
        let events = author.decide(command).ok()?.events;
        if let Some(bytes) = file {
            let put = self.store.put_blob(bytes.clone(), Time(1)).await;
            assert_eq!(put, self.model.put_blob(bytes, Time(1)).await);
            self.blobs.insert(put.unwrap());
        }
        Some(author.append(events))
    }

    async fn append(&mut self, batch: Vec<(usize, Append)>) {
        let appends: Vec<Append> = batch.iter().map(|(_, append)| append.clone()).collect();
        let results = self.store.append(appends.clone()).await;
        assert_eq!(results, self.model.append(appends).await);
        for ((at, append), result) in batch.iter().zip(results) {
            if result.is_ok() {
                self.authors[*at].accept(append);
            }
        }
    }

    async fn compare(&self, when: &str) {
        let (store, model) = (&*self.store, &self.model);
        store.settle().await.unwrap();
        for shelf in [Shelf::Active, Shelf::Archived, Shelf::Trash] {
            assert_eq!(list(store, shelf).await, list(model, shelf).await, "{when}");
        }
        for (shelf, project, tag) in [
            (Shelf::Active, None, Some("heron")),
            (Shelf::Active, Some(PROJECT), None),
            (Shelf::Archived, Some(PROJECT), Some("reed")),
        ] {
            let of = ListQuery::of(UserId::FIRST, shelf);
            let query = ListQuery { project, tag: tag.map(str::to_owned), ..of };
            assert_eq!(store.list(query.clone()).await, model.list(query).await, "{when}");
        }
        assert_eq!(store.tags(UserId::FIRST, 100).await, model.tags(UserId::FIRST, 100).await, "{when}");
        let (ever, all) = (Time(i64::MAX), usize::MAX);
        assert_eq!(store.trashed(ever, None, all).await, model.trashed(ever, None, all).await, "{when}");
        assert_eq!(store.open_runs().await, model.open_runs().await, "{when}");
        assert_eq!(store.waiting().await, model.waiting().await, "{when}");
        for words in WORDS.iter().map(|word| (*word).to_owned()).chain([WORDS[..2].join(" ")]) {
            assert_eq!(found(store, &words).await, found(model, &words).await, "{words}, {when}");
        }
        for blob in &self.blobs {
            assert_eq!(store.blob(blob.clone()).await, model.blob(blob.clone()).await, "{when}");
        }
        for number in (1..=self.made).chain(commands::OTHER_IDS) {
            let session = id(number);
            assert_eq!(store.open(session).await, model.open(session).await, "{when}");
            self.compare_turns(session, when).await;
            for key in KEYS {
                let key = MessageKey((*key).to_owned());
                let used = model.find_key(session, key.clone()).await;
                assert_eq!(store.find_key(session, key).await, used, "{when}");
            }
        }
        for author in &self.authors {
            assert_eq!(read_all(store, author.id()).await, author.log, "{when}");
            if author.state.turns_before == 0 {
                let rows = model.turns(author.id(), None, usize::MAX).await.unwrap();
                let shown: Vec<TurnId> = rows.iter().rev().map(|row| row.turn).collect();
                let state: Vec<TurnId> = author.state.turns.iter().map(|turn| turn.id).collect();
                assert_eq!(shown, state, "the index and the state show the same turns, {when}");
            }
        }
    }

    async fn compare_turns(&self, session: SessionId, when: &str) {
        let rows = self.model.turns(session, None, usize::MAX).await.unwrap();
        assert_eq!(self.store.turns(session, None, usize::MAX).await.unwrap(), rows, "{when}");
        let before = rows.get(rows.len() / 2).map(|row| row.turn);
        let page = self.model.turns(session, before, 2).await;
        assert_eq!(self.store.turns(session, before, 2).await, page, "{when}");
    }
}

/// Everything that is found, in order.
async fn found(store: &dyn Store, words: &str) -> Vec<Hit> {
    store.search(SearchQuery::new(UserId::FIRST, words, usize::MAX)).await.unwrap()
}
