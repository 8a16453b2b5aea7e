//! Crash points: the one list of every commit, sync and side-effect site, and what happens there in a test build.
//!
//! `EVERTURN_POINT=name@N:mode` acts at the N-th hit of a point: `kill` ends the process with SIGKILL, `freeze`
//! stops it (the harness then cuts the power), `error` makes the site fail as its disk would, `panic` panics there.

#[cfg(not(feature = "inject"))]
use std::io;

/// Every point, in the order in which a turn meets them.
pub const POINTS: &[&str] = &[
    // Opening a store.
    "store.lock",
    "store.open",
    "store.spawn",
    "reader.connect",
    "reader.read",
    "wal.before_rewrite",
    "wal.before_sync",
    "wal.after_sync",
    "migrate.before_commit",
    "migrate.after_commit",
    "store.tail_loaded",
    "nodes.before_commit",
    "nodes.after_commit",
    "use.before_note",
    "use.after_note",
    "search.before_made",
    "search.after_made",
    "heartbeat.before_commit",
    "heartbeat.after_commit",
    // The row of a chat.
    "bind.before_commit",
    "bind.after_commit",
    // Storing an attachment, and removing uploads that no message named.
    "upload.before_commit",
    "upload.after_commit",
    "expire.before_commit",
    "expire.after_commit",
    // A claim.
    "claim.before_commit",
    "claim.after_commit",
    // A message is accepted; a run starts.
    "accept.before_decide",
    "accept.before_append",
    "append.begin",
    "append.before_commit",
    "append.after_commit",
    "append.before_answer",
    "accept.after_append",
    "accept.before_acknowledge",
    "accept.after_acknowledge",
    "follow.before_publish",
    "follow.after_publish",
    // Effects follow durability.
    "effect.before_start_run",
    "effect.after_start_run",
    "effect.before_cancel_run",
    "effect.after_cancel_run",
    // Output of a run.
    "output.before_append",
    "output.after_append",
    "call.asked_durable",
    "call.finished_durable",
    "end.before_append",
    "end.after_append",
    "stop.before_append",
    "stop.after_append",
    // Behind the append: index, packs, snapshots, trimming.
    "project.connect",
    "project.read",
    "search.before_commit",
    "search.after_commit",
    "project.before_commit",
    "project.after_commit",
    "pack.before_commit",
    "pack.after_commit",
    "trim.before_commit",
    "trim.after_commit",
    "snapshot.before_commit",
    "snapshot.after_commit",
    "vacuum.before",
    "vacuum.after",
    "checkpoint.before",
    "checkpoint.after",
    // Blobs.
    "blob.before_sync",
    "blob.before_rename",
    "blob.before_directory_sync",
    "blob.after_directory_sync",
    // Spool: preallocation, frames, seal, healing.
    "spool.preallocate",
    "spool.before_frame",
    "spool.before_sync",
    "spool.after_sync",
    "spool.before_seal",
    "spool.after_seal",
    "heal.before_append",
    "heal.after_append",
    "spool.before_release",
    "spool.after_release",
    "spool.before_wipe",
    "spool.after_wipe",
    // Handing completed turns to memory.
    "memory.before_commit",
    "memory.before_handover",
    "memory.after_handover",
    "memory.after_accepted",
    // Recovery, drain, eviction, erasing.
    "recover.before_append",
    "recover.after_append",
    "drain.before_interrupt",
    "drain.after_interrupt",
    "retire.before_snapshot",
    "retire.after_snapshot",
    "erase.before_commit",
    "erase.after_commit",
    "erase.before_blobs",
    "erase.before_forget",
    "erase.after_forget",
    "erase.after_blobs",
    "forget.before_commit",
    "forget.after_commit",
    "scrub.before_commit",
    "scrub.after_commit",
    "erase.before_words_noted",
    "erase.after_words_noted",
    "revive.before_open",
    "revive.after_open",
    // A clean end.
    "close.before_note",
    "close.after_note",
];

/// Marks a site. Fails only in a test build, when told to.
///
/// # Errors
/// The error that a failing disk would give, when the point was armed with `error`.
#[cfg(not(feature = "inject"))]
#[inline(always)]
pub fn hit(_name: &'static str) -> io::Result<()> {
    Ok(())
}

/// How often each point was hit in this process; empty in a shipped build.
#[cfg(not(feature = "inject"))]
pub fn counts() -> Vec<(&'static str, u64)> {
    Vec::new()
}

/// Does nothing in a shipped build.
#[cfg(not(feature = "inject"))]
pub fn fail_next(_name: &'static str) {}

/// Does nothing in a shipped build.
#[cfg(not(feature = "inject"))]
pub fn panic_next(_name: &'static str) {}

#[cfg(feature = "inject")]
pub use armed::{counts, fail_next, hit, panic_next};

#[cfg(feature = "inject")]
mod armed {
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::{LazyLock, Mutex, PoisonError};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::POINTS;

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Mode {
        Kill,
        Freeze,
        Error,
        Panic,
    }

    struct Armed {
        name: String,
        at: u64,
        mode: Mode,
    }

    static ARMED: LazyLock<Option<Armed>> = LazyLock::new(read_environment);
    /// A point whose next hit fails, by the workload's own wish; or panics.
    static FAILS: Mutex<Option<&'static str>> = Mutex::new(None);
    static PANICS: Mutex<Option<&'static str>> = Mutex::new(None);
    static COUNTS: LazyLock<Mutex<BTreeMap<&'static str, u64>>> = LazyLock::new(Mutex::default);

    #[expect(clippy::disallowed_methods, reason = "test builds are armed from the environment")]
    #[expect(clippy::panic, reason = "an armed point that cannot be read would test nothing")]
    fn read_environment() -> Option<Armed> {
        let text = std::env::var("EVERTURN_POINT").ok()?;
        let parse = || {
            let (name, rest) = text.split_once('@')?;
            let (at, mode) = rest.split_once(':')?;
            let mode = match mode {
                "kill" => Mode::Kill,
                "freeze" => Mode::Freeze,
                "error" => Mode::Error,
                "panic" => Mode::Panic,
                _ => return None,
            };
            POINTS.contains(&name).then_some(())?;
            Some(Armed { name: name.to_owned(), at: at.parse().ok()?, mode })
        };
        let Some(armed) = parse() else { panic!("EVERTURN_POINT={text} names no point, hit and mode") };
        Some(armed)
    }

    /// Marks a site and acts there when this hit is the armed one.
    ///
    /// # Errors
    /// `EIO`, when the point was armed with `error`.
    #[expect(clippy::panic, reason = "a point that is missing from the list would never be enumerated")]
    pub fn hit(name: &'static str) -> io::Result<()> {
        let count = {
            let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(name).or_insert_with(|| {
                if !POINTS.contains(&name) {
                    panic!("point {name} is not in the list");
                }
                0
            });
            *count += 1;
            *count
        };
        if fails_now(name) {
            return Err(io::Error::from_raw_os_error(nix::libc::EIO));
        }
        if PANICS.lock().unwrap_or_else(PoisonError::into_inner).take_if(|wanted| *wanted == name).is_some() {
            panic!("injected panic at point {name}");
        }
        let Some(armed) = ARMED.as_ref() else { return Ok(()) };
        if armed.name != name || armed.at != count {
            return Ok(());
        }
        match armed.mode {
            Mode::Kill => end_with(Signal::SIGKILL),
            Mode::Freeze => end_with(Signal::SIGSTOP),
            Mode::Error => return Err(io::Error::from_raw_os_error(nix::libc::EIO)),
            Mode::Panic => panic!("injected panic at point {name}"),
        }
        Ok(())
    }

    #[expect(clippy::panic, reason = "a signal to oneself cannot be refused")]
    fn end_with(signal: Signal) {
        if let Err(error) = kill(Pid::this(), signal) {
            panic!("signal {signal} to this process: {error}");
        }
        // The signal is delivered before the process runs on; give up this core until it is.
        loop {
            std::thread::yield_now();
        }
    }

    /// Lets the next hit of a point fail, whatever else is armed: a workload that wants a dead store asks for one.
    pub fn fail_next(name: &'static str) {
        *FAILS.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }

    /// Lets the next hit of a point panic.
    pub fn panic_next(name: &'static str) {
        *PANICS.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }

    fn fails_now(name: &'static str) -> bool {
        let mut fails = FAILS.lock().unwrap_or_else(PoisonError::into_inner);
        fails.take_if(|wanted| *wanted == name).is_some()
    }

    /// How often each point was hit in this process.
    pub fn counts() -> Vec<(&'static str, u64)> {
        let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(name, count)| (*name, *count)).collect()
    }
}
