//! Backups, verifying and repairing.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use session::{Entry, Event, Seq, Time};
use store::backup::{self, BackupError};
use store::blob::Blobs;
use store::conformance::Author;
use store::directory::{DataDirectory, LogsAt};
use store::sqlite::{OpenStoreError, Repaired, SqliteStore, TroubleKind, Verified, repair, verify};
use store::{Catalog, Claiming, LogStore};
use tempfile::TempDir;

use crate::fresh::settings;
use crate::{node, session_id};

const NOW: Time = Time(1_800_000_000_000_000);

fn shared(directory: &Path) -> DataDirectory {
    DataDirectory::enter_shared(directory, LogsAt::Here).unwrap()
}

fn repair_in(directory: &Path) -> Result<Repaired, OpenStoreError> {
    repair(&DataDirectory::enter_to_repair(directory, LogsAt::Here)?, 1, NOW)
}

fn verified(directory: &Path) -> Verified {
    verify(&shared(directory), 2, &|_, _| {}).unwrap()
}

fn kinds(found: &Verified) -> Vec<TroubleKind> {
    found.troubles.iter().map(|trouble| trouble.kind).collect()
}

/// Three sessions: finished turns, a branch, and a run that goes on.
async fn filled(directory: &Path) -> (SqliteStore, Vec<Author>) {
    let store = SqliteStore::open(settings(directory)).unwrap();
    let mut first = Author::create(&store, session_id(1)).await;
    for round in 0..5 {
        first.turn(&store, &format!("question {round}"), &format!("answer {round}")).await;
    }
    let shared = first.end().seq;
    let mut branch = first.branch(&store, session_id(2), shared).await;
    branch.turn(&store, "elsewhere", "yes").await;
    store.settle().await.unwrap();
    let mut open = Author::create(&store, session_id(3)).await;
    open.post(&store, "a long one").await;
    open.progress(&store, session::Progress::Text("once upon ".to_owned())).await;
    open.progress(&store, session::Progress::Text("a time".to_owned())).await;
    (store, vec![first, branch, open])
}

fn change(directory: &Path, sql: &str) {
    let changed = Connection::open(directory.join("everturn.db")).unwrap().execute(sql, []).unwrap();
    assert!(changed > 0, "{sql} changed nothing");
}

#[tokio::test]
async fn a_backup_of_a_store_in_use_is_restored_as_a_prefix_under_higher_epochs() {
    let directory = TempDir::new().unwrap();
    let (data, copy, other) =
        (directory.path().join("data"), directory.path().join("copy"), directory.path().join("other"));
    let (store, mut authors) = filled(&data).await;
    let blob = store.put_blob(b"a picture".to_vec(), Time(1)).await.unwrap();
    let file =
        session::Attachment { name: "a".into(), media_type: "b".into(), size_bytes: 9, blob: blob.clone() };
    let message = session::Message { attachments: vec![file], ..session::Message::text("look") };
    let post = session::Command::PostMessage { message, mode: session::PostMode::Queue, key: None };
    authors[1].ask(&store, post).await;
    store.settle().await.unwrap();
    let made = backup::make(&shared(&data), &copy, NOW, &mut |_, _, _| {}).unwrap();
    assert_eq!((made.sessions, made.attachments, made.attachments_gone), (3, 1, 0));
    assert!(matches!(
        backup::make(&shared(&data), &copy, NOW, &mut |_, _, _| {}),
        Err(BackupError::Taken(_))
    ));
    let then: Vec<_> = authors.iter().map(|author| author.log.clone()).collect();
    // The original goes on, and is claimed again.
    authors[0].turn(&store, "later", "later").await;
    let claimed = store.claim(session_id(1), node(1), Claiming::Existing, NOW).await.unwrap();
    drop(store);
    backup::restore(&copy, &other, 7, &mut |_, _, _| {}).unwrap();
    assert!(matches!(backup::restore(&copy, &other, 7, &mut |_, _, _| {}), Err(BackupError::Taken(_))));
    assert_eq!(kinds(&verified(&other)), []);
    let restored = SqliteStore::open(settings(&other)).unwrap();
    for (at, log) in then.iter().enumerate() {
        let read = restored.read(session_id(at as u128 + 1), Seq(0), 1_000).await.unwrap();
        assert_eq!(read, *log);
    }
    let claim = restored.claim(session_id(1), node(2), Claiming::Existing, NOW).await.unwrap();
    assert!(claim.epoch.0 > claimed.epoch.0 + 1_000_000, "{claim:?} {claimed:?}");
    assert_eq!(restored.blob(blob).await.unwrap().unwrap(), b"a picture");
    restored.settle().await.unwrap();
    let hits =
        restored.search(store::SearchQuery::new(session::UserId::FIRST, "elsewhere", 10)).await.unwrap();
    assert_eq!(hits.len(), 1, "words are made anew");
}

#[tokio::test]
async fn a_backup_that_is_not_whole_is_refused_and_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let (data, copy, other) =
        (directory.path().join("data"), directory.path().join("copy"), directory.path().join("other"));
    drop(filled(&data).await);
    backup::make(&shared(&data), &copy, NOW, &mut |_, _, _| {}).unwrap();
    let file = copy.join("everturn.db");
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for bytes in [&flipped[..], &whole[..whole.len() - 4_096], &[]] {
        fs::write(&file, bytes).unwrap();
        let refused = backup::restore(&copy, &other, 0, &mut |_, _, _| {});
        assert!(matches!(refused, Err(BackupError::NotWhole(..))), "{refused:?}");
        assert!(!other.exists());
    }
    fs::write(&file, &whole).unwrap();
    fs::rename(copy.join("backup.json"), copy.join("gone")).unwrap();
    let refused = backup::restore(&copy, &other, 0, &mut |_, _, _| {});
    assert!(matches!(refused, Err(BackupError::NotWhole(..))), "{refused:?}");
}

#[tokio::test]
async fn a_sound_store_is_verified_also_in_use() {
    let directory = TempDir::new().unwrap();
    let (store, authors) = filled(directory.path()).await;
    let entries: usize = authors.iter().map(|author| author.log.len()).sum();
    for _ in 0..2 {
        let found = verified(directory.path());
        assert_eq!(kinds(&found), []);
        assert_eq!(found.sessions, 3);
        // What a branch shares is counted once.
        assert_eq!(found.entries as usize, entries - authors[0].log.len());
    }
    drop(store);
    assert_eq!(kinds(&verified(directory.path())), []);
}

/// What is changed beside the server's back, and which sessions are in trouble for it.
const MEDDLING: &[(&str, &[u128])] = &[
    ("UPDATE tail SET body = replace(body, 'once', 'ONCE') WHERE no = 3", &[3]),
    ("UPDATE packs SET body = x'00' WHERE no = 1", &[1, 2]),
    ("DELETE FROM packs WHERE no = 2", &[2]),
    ("UPDATE list SET title = 'another' WHERE no = 1", &[1]),
    ("UPDATE list SET messages = messages + 1 WHERE no = 2", &[2]),
    ("DELETE FROM list WHERE no = 3", &[3]),
    (
        "INSERT INTO list_tags (user, tag, shelf, active_at, no) SELECT user, 'x', 0, 0, no FROM list WHERE no = 2",
        &[2],
    ),
    ("DELETE FROM turns WHERE no = 1 AND turn = (SELECT max(turn) FROM turns WHERE no = 1)", &[1]),
    ("DELETE FROM open_runs WHERE no = 3", &[3]),
    ("UPDATE logs SET epoch = 0 WHERE no = 1", &[1]),
];

#[tokio::test]
async fn whatever_is_changed_beside_its_back_is_found_and_repaired() {
    for (sql, sessions) in MEDDLING {
        let directory = TempDir::new().unwrap();
        drop(filled(directory.path()).await);
        change(directory.path(), sql);
        let found = verified(directory.path());
        let mut troubled: Vec<_> = found.troubles.iter().filter_map(|trouble| trouble.session).collect();
        troubled.dedup();
        let wanted: Vec<_> = sessions.iter().map(|number| session_id(*number)).collect();
        assert_eq!(troubled, wanted, "{sql}: {:?}", found.troubles);
        let repaired = repair_in(directory.path()).unwrap();
        assert_eq!(repaired.sessions.len(), wanted.len(), "{sql}");
        let after = verified(directory.path());
        assert_eq!(after.troubles, [], "{sql}");
    }
}

#[tokio::test]
async fn what_stands_before_the_damage_goes_on_and_the_rest_is_set_aside() {
    let directory = TempDir::new().unwrap();
    let (store, authors) = filled(directory.path()).await;
    drop(store);
    change(directory.path(), "UPDATE tail SET body = replace(body, 'a time', 'A TIME') WHERE no = 3");
    let repaired = repair_in(directory.path()).unwrap();
    let [session] = repaired.sessions.as_slice() else { panic!("{repaired:?}") };
    let kept = authors[2].log.len() - 1;
    assert_eq!((session.session, session.kept), (session_id(3), Seq(kept as u64)));
    let aside = fs::read_to_string(session.aside.as_ref().unwrap()).unwrap();
    assert!(aside.contains("A TIME"), "{aside}");
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let read = store.read(session_id(3), Seq(0), 100).await.unwrap();
    assert_eq!(read[..kept], authors[2].log[..kept]);
    assert_eq!(read[kept].event, Event::EntriesSetAside { count: 1 });
    // It can be written again, by whoever claims it.
    let claim = store.claim(session_id(3), node(1), Claiming::Existing, NOW).await.unwrap();
    assert!(claim.epoch > read[kept].epoch);
    authors[0].assert_read(&store).await;
    authors[1].assert_read(&store).await;
}

#[tokio::test]
async fn repair_pauses_queued_messages_if_later_entries_are_missing() {
    let directory = TempDir::new().unwrap();
    let (store, mut authors) = filled(directory.path()).await;
    let open = &mut authors[2];
    open.post(&store, "next").await;
    open.progress(&store, session::Progress::Text("and then".to_owned())).await;
    let id = open.id();
    drop(store);
    change(directory.path(), "UPDATE tail SET body = replace(body, 'and then', 'AND THEN') WHERE no = 3");
    repair_in(directory.path()).unwrap();
    assert_eq!(kinds(&verified(directory.path())), []);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let read = store::read_all(&store, id, Seq(0)).await.unwrap();
    let [.., set_aside, paused] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!(set_aside.event, Event::EntriesSetAside { count: 1 });
    assert_eq!(paused.event, Event::QueuePaused {});
}

#[tokio::test]
async fn repair_keeps_the_turns_behind_a_damaged_pack() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut author = Author::create(&store, session_id(1)).await;
    // Each time, the turns so far become a pack.
    for round in 0..4 {
        author.turn(&store, &format!("question {round}"), &format!("answer {round}")).await;
        store.settle().await.unwrap();
    }
    let mut branch = author.branch(&store, session_id(2), author.end().seq).await;
    branch.turn(&store, "elsewhere", "yes").await;
    drop(store);
    let second = "first_seq = (SELECT min(first_seq) FROM packs WHERE no = 1 AND first_seq > 1)";
    let database = Connection::open(directory.path().join("everturn.db")).unwrap();
    let range = |row: &rusqlite::Row<'_>| Ok((row.get::<_, usize>(0)?, row.get::<_, usize>(1)?));
    let sql = format!("SELECT first_seq, last_seq FROM packs WHERE no = 1 AND {second}");
    let (first, last) = database.query_row(&sql, [], range).unwrap();
    drop(database);
    change(directory.path(), &format!("UPDATE packs SET body = x'00' WHERE no = 1 AND {second}"));
    // Nobody has read the damaged pack yet, so the session accepts another turn.
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.claim = store.claim(author.id(), node(1), Claiming::Existing, NOW).await.unwrap();
    author.turn(&store, "after the damage", "kept").await;
    drop(store);
    let repaired = repair_in(directory.path()).unwrap();
    let found: Vec<_> =
        repaired.sessions.iter().map(|session| (session.session, session.set_aside)).collect();
    let count = (last - first + 1) as u64;
    assert_eq!(found, [(session_id(1), count), (session_id(2), count)]);
    assert_eq!(repaired.sessions[0].kept, author.end().seq);
    assert_eq!(kinds(&verified(directory.path())), []);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    for author in [&author, &branch] {
        let read = store::read_all(&store, author.id(), Seq(0)).await.unwrap();
        let intact = |log: &[Entry]| [&log[..first - 1], &log[last..]].concat();
        assert_eq!(intact(&read), intact(&author.log));
        assert!(read[first - 1..last].iter().all(|entry| entry.event == Event::EntriesSetAside { count: 1 }));
    }
    // The session can be written and branched as before.
    author.claim = store.claim(author.id(), node(1), Claiming::Existing, NOW).await.unwrap();
    author.turn(&store, "and on", "it goes").await;
    store.settle().await.unwrap();
    drop(store);
    assert_eq!(kinds(&verified(directory.path())), []);
}

#[tokio::test]
async fn rows_that_are_missing_and_a_torn_log_keep_a_store_closed_until_it_is_repaired() {
    let directory = TempDir::new().unwrap();
    let (store, _) = filled(directory.path()).await;
    drop(store);
    change(directory.path(), "DELETE FROM tail WHERE id = (SELECT max(id) - 1 FROM tail)");
    assert!(matches!(SqliteStore::open(settings(directory.path())), Err(OpenStoreError::Failed(_))));
    let repaired = repair_in(directory.path()).unwrap();
    assert_eq!(repaired.sessions.len(), 1, "{repaired:?}");
    assert_eq!(kinds(&verified(directory.path())), []);
    drop(SqliteStore::open(settings(directory.path())).unwrap());
}

#[tokio::test]
async fn a_store_in_use_is_not_repaired() {
    let directory = TempDir::new().unwrap();
    let (store, _) = filled(directory.path()).await;
    assert!(matches!(repair_in(directory.path()), Err(OpenStoreError::InUse(_))));
    drop(store);
}

#[tokio::test]
async fn an_attachment_that_is_missing_or_changed_is_found() {
    let directory = TempDir::new().unwrap();
    let (store, mut authors) = filled(directory.path()).await;
    let blob = store.put_blob(b"a picture".to_vec(), Time(1)).await.unwrap();
    let file =
        session::Attachment { name: "a".into(), media_type: "b".into(), size_bytes: 9, blob: blob.clone() };
    let message = session::Message { attachments: vec![file], ..session::Message::text("look") };
    let post = session::Command::PostMessage { message, mode: session::PostMode::Queue, key: None };
    authors[0].ask(&store, post).await;
    store.settle().await.unwrap();
    drop(store);
    let path = directory.path().join("blobs").join(&blob.0[..2]).join(&blob.0);
    let backed_up = |name: &str| {
        let copy = TempDir::new().unwrap();
        let made = backup::make(&shared(directory.path()), &copy.path().join(name), NOW, &mut |_, _, _| {});
        let made = made.unwrap();
        (made.attachments, made.attachments_gone, made.attachments_damaged)
    };
    assert_eq!(backed_up("sound"), (1, 0, 0));
    fs::write(&path, b"another picture").unwrap();
    assert_eq!(kinds(&verified(directory.path())), [TroubleKind::Attachment]);
    assert_eq!(backed_up("changed"), (0, 0, 1));
    fs::remove_file(&path).unwrap();
    assert_eq!(kinds(&verified(directory.path())), [TroubleKind::Attachment]);
    assert_eq!(backed_up("missing"), (0, 0, 1));
}

#[tokio::test]
async fn a_damaged_database_is_not_backed_up() {
    let directory = TempDir::new().unwrap();
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    drop(filled(&data).await);
    let file = data.join("everturn.db");
    let root: usize = Connection::open(&file)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'turns'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes[(root - 1) * 4_096..][..64].fill(0xff);
    fs::write(&file, bytes).unwrap();
    let refused = backup::make(&shared(&data), &copy, NOW, &mut |_, _, _| {});
    assert!(matches!(refused, Err(BackupError::Damaged { .. })), "{refused:?}");
    assert!(!copy.exists());
}
