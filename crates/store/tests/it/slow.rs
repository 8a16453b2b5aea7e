//! On PostgreSQL, reads that take long hold up no append.

use std::time::Duration;

use store::conformance::{Author, Fresh};
use tokio_postgres::NoTls;

use crate::fresh::Schemas;
use crate::session_id;

/// Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "readers block while the test continues")]
async fn readers_that_hang_hold_up_no_append() {
    let schemas = Schemas::new();
    let store = schemas.store();
    let mut author = Author::create(&*store, session_id(1)).await;
    let settings = schemas.settings();
    let (mut locking, connection) = tokio_postgres::connect(&settings.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = locking.transaction().await.unwrap();
    let sql = format!("LOCK TABLE {}.blobs IN ACCESS EXCLUSIVE MODE", settings.schema);
    lock.batch_execute(&sql).await.unwrap();
    let read = |number: u8| {
        let store = store.clone();
        tokio::spawn(async move { store.blob(store::blob::hash_of(&[number])).await })
    };
    // Half of the readers are canceled. Of the others, some hit the statement timeout and the rest get no connection.
    let readers: Vec<_> = (0..40).map(read).collect();
    for left in &readers[..20] {
        tokio::task::yield_now().await;
        left.abort();
    }
    for turn in 0..5 {
        let asked = author.turn(&*store, "question", "answer");
        tokio::time::timeout(PATIENCE, asked)
            .await
            .unwrap_or_else(|_| panic!("turn {turn} waits for readers"));
    }
    let told = tokio::time::timeout(PATIENCE, futures_util::future::join_all(readers)).await.unwrap();
    assert!(
        told.into_iter().flatten().all(|read| read.is_err()),
        "nothing can be read while the table is locked"
    );
    drop(lock);
    let after = tokio::time::timeout(PATIENCE, read(1)).await.unwrap().unwrap();
    assert_eq!(after, Ok(None));
}
