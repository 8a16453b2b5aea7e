//! (i) how fast a store of many sessions is verified, beside reading its file from the disk from end to end.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use store::Catalog;
use store::directory::{DataDirectory, LogsAt};
use store::sqlite;

use super::corpus;
use super::prose::Author;
use super::{Bench, place};

/// Turns of a session, and bytes that are said in one, by each.
const TURNS: usize = 5;
const SAID_BYTES: usize = 600;
/// Chunks of an answer, as they were streamed.
const CHUNKS: usize = 10;
/// Sessions appended at once while they are made.
const AT_ONCE: usize = 500;
const TRIALS: usize = 3;
const READ_BYTES: usize = 1024 * 1024;

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let sessions = bench.size.pick(5_000, 100_000);
    let directory = place::directory()?;
    let begun = Instant::now();
    make(directory.path(), sessions)?;
    let file = directory.path().join("everturn.db");
    let bytes = std::fs::metadata(&file)?.len() as f64;
    bench.note(
        "i.made_seconds",
        begun.elapsed().as_secs_f64(),
        &format!("{sessions} sessions, {:.0} MB", bytes / 1e6),
    );
    let workers = std::thread::available_parallelism()?.get();
    let (mut read, mut verified) = (f64::MAX, f64::MAX);
    for _ in 0..TRIALS {
        forget(&file)?;
        let begun = Instant::now();
        read_through(&file)?;
        read = read.min(begun.elapsed().as_secs_f64());
        forget(&file)?;
        let begun = Instant::now();
        let found =
            sqlite::verify(&DataDirectory::enter(directory.path(), LogsAt::Here)?, workers, &|_, _| {})?;
        verified = verified.min(begun.elapsed().as_secs_f64());
        ensure!(
            found.sessions == sessions as u64 && found.troubles.is_empty(),
            "{:?}",
            found.troubles.first()
        );
    }
    bench.note("i.disk_megabytes_a_second", bytes / read / 1e6, "read from end to end, not cached");
    bench.note(
        "i.verify_megabytes_a_second",
        bytes / verified / 1e6,
        &format!("{verified:.2} s, not cached"),
    );
    bench.at_least("i.verify_of_disk", read / verified, 0.5);
    Ok(())
}

fn make(directory: &Path, sessions: usize) -> Result<()> {
    let store = place::open_store(directory)?;
    let mut author = Author::new(9);
    place::runtime()?.block_on(async {
        let mut logs = corpus::logs(store.as_ref(), sessions).await?;
        for logs in logs.chunks_mut(AT_ONCE) {
            for log in &mut *logs {
                for _ in 0..TURNS {
                    let message = author.text(SAID_BYTES);
                    let answer: Vec<String> = (0..CHUNKS).map(|_| author.text(SAID_BYTES / CHUNKS)).collect();
                    log.turn(&message, answer.iter().map(String::as_str));
                }
            }
            corpus::append(store.as_ref(), logs).await?;
        }
        store.settle().await?;
        anyhow::Ok(())
    })
}

/// Lets the system forget what it has of a file in memory.
fn forget(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(())
}

fn read_through(path: &Path) -> Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; READ_BYTES];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}
