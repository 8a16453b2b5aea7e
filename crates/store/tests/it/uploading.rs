//! Attachments are written beside the commits, and a new upload replaces a file that changed on the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::stat::Mode;
use session::{BlobHash, Time};
use store::blob::{Blobs, hash_of};
use store::conformance::Author;
use store::sqlite::SqliteStore;
use tempfile::TempDir;

use crate::fresh::settings;
use crate::session_id;

fn file_of(directory: &Path, blob: &BlobHash) -> PathBuf {
    directory.join("blobs").join(&blob.0[..2]).join(&blob.0)
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the upload blocks while the test continues")]
async fn an_upload_that_waits_for_the_disk_holds_up_no_append() {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(settings(directory.path())).unwrap());
    let mut author = Author::create(&*store, session_id(1)).await;
    // A FIFO stands in for a disk that does not respond: opening it blocks until the other end is opened.
    let pipe = file_of(directory.path(), &hash_of(b"a picture"));
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let uploading = store.clone();
    let upload = tokio::spawn(async move { uploading.put_blob(b"a picture".to_vec(), Time(1)).await });
    for _ in 0..3 {
        author.turn(&*store, "question", "answer").await;
    }
    assert!(!upload.is_finished());
    let opened = tokio::task::spawn_blocking(move || fs::File::options().write(true).open(pipe));
    drop(opened.await.unwrap().unwrap());
    let blob = upload.await.unwrap().unwrap();
    assert_eq!(store.blob(blob).await.unwrap().unwrap(), b"a picture");
}

#[tokio::test]
async fn a_new_upload_heals_a_file_that_changed() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let blob = store.put_blob(b"a picture".to_vec(), Time(1)).await.unwrap();
    for rotten in [&b"a pictur"[..], b"b picture", b""] {
        fs::write(file_of(directory.path(), &blob), rotten).unwrap();
        assert!(store.blob(blob.clone()).await.is_err());
        assert_eq!(store.put_blob(b"a picture".to_vec(), Time(1)).await.unwrap(), blob);
        assert_eq!(store.blob(blob.clone()).await.unwrap().unwrap(), b"a picture");
    }
    assert_eq!(fs::read_dir(directory.path().join("blobs/unfinished")).unwrap().count(), 0);
}
