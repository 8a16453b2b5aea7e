//! An erased session leaves no byte of its text in any file.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use session::{Attachment, Command, Message, MessageKey, PostMode, Time};
use store::blob::Blobs;
use store::conformance::Author;
use store::sqlite::SqliteStore;
use store::{Catalog, LogStore, Snapshot};
use tempfile::TempDir;

use crate::fresh::settings;
use crate::session_id;

/// A word that stands nowhere else; an index may keep a word without the letters that it shares with another.
const MARKER: &str = "qwolpertinger";
const NEEDLE: &[u8] = b"wolpertinger";

/// The files under a directory that hold some bytes.
fn files_with(directory: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, needle));
        } else if fs::read(&path).unwrap().windows(needle.len()).any(|window| window == needle) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

/// What stands compressed in the file: packs and snapshots, as stored.
fn compressed(directory: &Path) -> Vec<Vec<u8>> {
    let file = directory.join("everturn.db");
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut select =
        connection.prepare("SELECT body FROM packs UNION ALL SELECT body FROM snapshots").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn holds_marker(body: &[u8]) -> bool {
    zstd::stream::decode_all(body).unwrap().windows(NEEDLE.len()).any(|window| window == NEEDLE)
}

/// Text that compresses badly, so that a pack has bytes of its own to look for.
fn noise(seed: u64) -> String {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26).to_le_bytes()[0])
    };
    (0..3_000).map(|_| next()).collect()
}

async fn others(store: &SqliteStore) -> Vec<Author> {
    let mut others = Vec::new();
    for number in 100..120 {
        let mut author = Author::create(store, session_id(number)).await;
        author.turn(store, &format!("other {}", noise(number.try_into().unwrap())), "qwerty answer").await;
        others.push(author);
    }
    others
}

/// Everything that a store can keep of a session, all of it marked. What comes after round `packed_after` stands in
/// the tail.
async fn marked(store: &SqliteStore, packed_after: u64) -> Author {
    let mut author = Author::create(store, session_id(1)).await;
    author.ask(store, Command::Rename { title: format!("About the {MARKER}") }).await;
    let blob = store.put_blob(format!("a picture of a {MARKER}").into_bytes(), Time(1)).await.unwrap();
    let file =
        Attachment { name: format!("{MARKER}.png"), media_type: "image/png".to_owned(), blob, size_bytes: 1 };
    for round in 0..4 {
        let text = format!("{MARKER} {}", noise(7 + round));
        let message = Message { attachments: vec![file.clone()], ..Message::text(text) };
        let key = Some(MessageKey(format!("{MARKER}-{round}")));
        author.ask(store, Command::PostMessage { message, mode: PostMode::Queue, key }).await;
        author.answer(store, &format!("The {MARKER} lives in {}", noise(70 + round))).await;
        store
            .save_snapshot(author.id(), Snapshot { at: author.end(), state: author.state.to_bytes() })
            .await
            .unwrap();
        if round == packed_after {
            store.settle().await.unwrap();
        }
    }
    author
}

#[tokio::test]
async fn no_byte_of_an_erased_session_stays_in_any_file() {
    for packed_after in [1, 3] {
        assert_erased(packed_after).await;
    }
}

async fn assert_erased(packed_after: u64) {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let others = others(&store).await;
    let author = marked(&store, packed_after).await;
    assert_ne!(files_with(directory.path(), NEEDLE), Vec::<String>::new());
    let bodies: Vec<Vec<u8>> =
        compressed(directory.path()).into_iter().filter(|body| holds_marker(body)).collect();
    assert!(bodies.len() >= 2, "a pack and a snapshot hold it before");

    store.erase(author.claim).await.unwrap();
    store.settle().await.unwrap();
    assert_eq!(files_with(directory.path(), NEEDLE), Vec::<String>::new());
    for body in &bodies {
        for piece in body.chunks_exact(48) {
            assert_eq!(files_with(directory.path(), piece), Vec::<String>::new(), "a piece of a pack");
        }
    }
    for other in &others {
        other.assert_read(&store).await;
    }
    drop(store);
    assert_eq!(files_with(directory.path(), NEEDLE), Vec::<String>::new());
}

#[tokio::test]
async fn a_branch_keeps_nothing_of_what_its_origin_wrote_after_it() {
    for packed in [true, false] {
        let directory = TempDir::new().unwrap();
        let store = SqliteStore::open(settings(directory.path())).unwrap();
        let mut origin = Author::create(&store, session_id(1)).await;
        origin.turn(&store, "shared", "beginning").await;
        let at = origin.end().seq;
        origin.turn(&store, MARKER, "secret").await;
        if packed {
            store.settle().await.unwrap();
        }
        let branch = origin.branch(&store, session_id(2), at).await;
        store.erase(origin.claim).await.unwrap();
        store.settle().await.unwrap();
        assert_eq!(files_with(directory.path(), NEEDLE), Vec::<String>::new());
        assert!(
            !compressed(directory.path()).iter().any(|body| holds_marker(body)),
            "packed first: {packed}"
        );
        branch.assert_read(&store).await;
    }
}

#[tokio::test]
async fn erased_words_are_scrubbed_at_a_clean_stop() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let _others = others(&store).await;
    let author = marked(&store, 3).await;
    store.erase(author.claim).await.unwrap();
    drop(store);
    assert_eq!(files_with(directory.path(), NEEDLE), Vec::<String>::new());
}

#[tokio::test]
async fn a_scrub_that_was_cut_off_goes_on_at_the_next_start() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let _others = others(&store).await;
    marked(&store, 3).await;
    drop(store);
    let words = directory.path().join("search.db");
    let holds = || files_with(directory.path(), NEEDLE).iter().any(|file| file.starts_with("search.db"));
    assert!(holds());
    // As it stands after an erase and before its scrub.
    let connection = Connection::open(&words).unwrap();
    let no: i64 = connection.query_row("SELECT max(no) FROM logs", [], |row| row.get(0)).unwrap();
    connection.execute("UPDATE documents SET no = 0 WHERE no = ?", [no]).unwrap();
    drop(connection);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    store.settle().await.unwrap();
    assert!(!holds());
}
