//! (f) bytes on disk for a byte of transcript, once everything is packed.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use store::Catalog;

use super::corpus::{self, Log};
use super::prose::Author;
use super::{Bench, place};

const TURNS: usize = 100;
/// Bytes that a person says in a turn, and the agent.
const SAID_BYTES: usize = 900;

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let sessions = bench.size.pick(20, 100);
    let directory = place::directory()?;
    let begun = Instant::now();
    let transcript = make(directory.path(), sessions)? as f64;
    let made = begun.elapsed().as_secs_f64();
    bench.note("f.made_seconds", made, &format!("{sessions} sessions of {TURNS} turns"));
    let size = place::size_bytes(directory.path(), &place::spool(directory.path()))? as f64;
    for file in ["everturn.db", "search.db"] {
        for (part, bytes) in parts(&directory.path().join(file))? {
            bench.note(&format!("f.{file}.{part}"), bytes / transcript, "bytes for a byte of transcript");
        }
    }
    bench.note("f.transcript_megabytes", transcript / 1e6, "as JSON");
    // The search index keeps the words of each text, about 1.3 bytes: FTS5 removes a text by its words.
    bench.within("f.bytes_of_transcript", size / transcript, 3.5);
    Ok(())
}

/// Makes the sessions, lets the store settle and closes it. Answers the bytes of their transcripts.
fn make(directory: &Path, sessions: usize) -> Result<usize> {
    let store = place::open_store(directory)?;
    let mut author = Author::new(8);
    let transcript = place::runtime()?.block_on(async {
        let mut logs = corpus::logs(store.as_ref(), sessions).await?;
        let mut transcript = 0;
        for log in &mut logs {
            let mut said = Vec::new();
            for _ in 0..TURNS {
                say(&mut author, log, &mut said);
            }
            corpus::append(store.as_ref(), [&mut *log]).await?;
            log.keep_snapshot(store.as_ref()).await?;
            transcript += serde_json::to_string(&said)?.len();
        }
        store.settle().await?;
        Ok::<_, anyhow::Error>(transcript)
    })?;
    Ok(transcript)
}

fn say(author: &mut Author, log: &mut Log, said: &mut Vec<serde_json::Value>) {
    let (message, answer) = (author.text(SAID_BYTES), author.text(SAID_BYTES));
    let chunks = author.streamed(&answer);
    log.turn(&message, chunks);
    for (role, content) in [("user", message), ("assistant", answer)] {
        said.push(json!({ "role": role, "content": content, "timestamp": log.now().0 }));
    }
}

/// Bytes of the file by what they hold, whole pages.
fn parts(database: &Path) -> Result<Vec<(String, f64)>> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut select = connection.prepare(
        "SELECT CASE WHEN name LIKE 'packs%' THEN 'packs' WHEN name LIKE 'fulltext%' THEN 'fulltext'
                WHEN name = 'snapshots' THEN 'snapshots' WHEN name LIKE 'tail%' THEN 'tail'
                WHEN name LIKE '%turns%' THEN 'turns' WHEN name LIKE '%documents%' THEN 'documents'
                ELSE 'other' END AS part,
         CAST(sum(pgsize) AS REAL) FROM dbstat GROUP BY part ORDER BY 2 DESC",
    )?;
    let mut parts =
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let free = "SELECT CAST(freelist_count * page_size AS REAL) FROM pragma_freelist_count, pragma_page_size";
    parts.push(("free".to_owned(), connection.query_row(free, [], |row| row.get(0))?));
    Ok(parts)
}
