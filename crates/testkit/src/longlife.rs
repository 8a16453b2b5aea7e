//! One process of the released binary that is never restarted. Descriptors, disk, readers, clock and I/O fail it, one
//! after another, while a judge plays; afterwards it must be as it was before.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Report;
use crate::client::Client;
use crate::crash::disk::{Disk, scratch};
use crate::trial::{Judge, Process, Setup, now, progress, scripted_model, violations};

/// The disk of the server. Its reserve is 256 MiB.
const DISK_BYTES: u64 = 640 << 20;
const RESERVE_BYTES: u64 = 256 << 20;
/// Sessions that the judge plays with meanwhile.
const SESSIONS: usize = 6;
/// How long the server may take until it works again after a fault.
const WORKS_WITHIN: Duration = Duration::from_secs(30);
/// How long a fault lasts.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(2);
/// How long the server may take until it let go of idle sessions: a minute, and time to spare.
const IDLE_WITHIN: Duration = Duration::from_secs(150);
/// What an idle process may hold beyond what it held after the first round.
const DESCRIPTORS_MORE: usize = 24;
const MEMORY_RATIO_MAX: f64 = 1.5;
const MEMORY_MORE: u64 = 48 << 20;

const DAY_SECONDS: i64 = 24 * 3_600;

/// What goes wrong, in this order, again and again.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    Descriptors,
    DiskFull,
    LongReader,
    Backup,
    Verify,
    ClockAhead,
    ClockBehind,
    WritesFail,
    ReadsFail,
    OpensFail,
    UploadAndErase,
}

const TROUBLES: [Trouble; 11] = [
    Trouble::Descriptors,
    Trouble::WritesFail,
    Trouble::LongReader,
    Trouble::DiskFull,
    Trouble::Backup,
    Trouble::ReadsFail,
    Trouble::ClockAhead,
    Trouble::Verify,
    Trouble::OpensFail,
    Trouble::ClockBehind,
    Trouble::UploadAndErase,
];

/// The process and what surrounds it.
struct Life {
    setup: Setup,
    client: Client,
    server: Process,
    switches: Switches,
    disk: Disk,
    home: TempDir,
}

/// What an idle process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    descriptors: usize,
    memory_bytes: u64,
    slots: usize,
}

/// The page that the shim looks at before each call.
struct Switches(File);

impl Switches {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::options().create(true).truncate(true).read(true).write(true).open(path)?;
        file.set_len(4_096)?;
        Ok(Self(file))
    }

    /// How many calls of one kind failed.
    fn failed(&self, kind: u64) -> anyhow::Result<i32> {
        let mut count = [0; 4];
        self.0.read_exact_at(&mut count, 20 + 4 * kind)?;
        Ok(i32::from_ne_bytes(count))
    }

    fn clock_seconds(&self, seconds: i64) -> anyhow::Result<()> {
        Ok(self.0.write_all_at(&seconds.to_ne_bytes(), 0)?)
    }

    /// Lets one kind of call fail: writes 0, reads 1, opens 2.
    fn fail(&self, kind: u64, fails: bool) -> anyhow::Result<()> {
        Ok(self.0.write_all_at(&i32::from(fails).to_ne_bytes(), 8 + 4 * kind)?)
    }

    /// Lets one kind of call fail for a moment.
    fn fail_shortly(&self, kind: u64) -> anyhow::Result<()> {
        self.fail(kind, true)?;
        std::thread::sleep(SHORT);
        self.fail(kind, false)
    }
}

/// Lives one life of about this length, with every trouble at least once.
///
/// # Errors
/// When the server cannot be started or asked.
pub fn run(report: &mut Report, length: Duration) -> anyhow::Result<()> {
    let (_model, model_port) = scripted_model()?;
    let life = Life::begin(model_port)?;
    let judge =
        Judge::start(&life.setup, &life.client.token, &life.home.path().join("history"), SESSIONS, 5)?;
    let begun = now();
    let (mut troubles, mut slowest, mut first_round) = (0, Duration::ZERO, None);
    while troubles < TROUBLES.len() || begun.elapsed() < length {
        let trouble = TROUBLES[troubles % TROUBLES.len()];
        progress(&format!("{trouble:?}, {} s of {}", begun.elapsed().as_secs(), length.as_secs()));
        life.trouble(trouble).with_context(|| format!("{trouble:?}"))?;
        let took = life.works().with_context(|| format!("after {trouble:?}"))?;
        slowest = slowest.max(took);
        troubles += 1;
        if troubles == TROUBLES.len() {
            first_round = Some(life.held()?);
        }
    }
    let (lines, _) = judge.verdict()?;
    violations(report, "longlife", &lines);
    for (kind, name) in ["writes", "reads", "opens"].into_iter().enumerate() {
        let failed = life.switches.failed(kind as u64)?;
        report.line(&format!("longlife.{name}_failed"), failed, ">0", failed > 0);
    }
    report.line("longlife.troubles", troubles, format!(">={}", TROUBLES.len()), troubles >= TROUBLES.len());
    report.note(&format!(
        "{:.0} s of life; working again after at most {:.1} s",
        begun.elapsed().as_secs_f64(),
        slowest.as_secs_f64()
    ));
    life.end(report, first_round.context("a whole round")?)
}

/// Begins a read transaction. The search index may be missing for a moment: after a failed write it is replaced.
fn reader(path: &Path) -> anyhow::Result<Connection> {
    let open = || -> rusqlite::Result<Connection> {
        let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        reader.busy_timeout(LONG)?;
        reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
        Ok(reader)
    };
    let until = now() + WORKS_WITHIN;
    loop {
        match open() {
            Ok(reader) => return Ok(reader),
            Err(error) if now() > until => return Err(error.into()),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn build_shim(directory: &Path) -> anyhow::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/trouble.c");
    let shim = directory.join("trouble.so");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&shim).arg(&source).arg("-ldl");
    ensure!(gcc.status()?.success(), "gcc does not build {}", source.display());
    Ok(shim)
}

impl Life {
    fn begin(model_port: u16) -> anyhow::Result<Self> {
        let (home, disk) = (scratch()?, Disk::memory(DISK_BYTES)?);
        let setup = Setup { data: disk.path().join("data"), ..Setup::at(home.path(), model_port)? }.judged();
        let client = Client { port: setup.port, token: setup.prepare()? };
        let (shim, page) = (build_shim(home.path())?, home.path().join("switches"));
        let switches = Switches::create(&page)?;
        let variables = [
            ("LD_PRELOAD", shim.to_string_lossy()),
            ("TROUBLE_PAGE", page.to_string_lossy()),
            ("TROUBLE_DIR", setup.data.to_string_lossy()),
        ];
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, &**value)).collect();
        let server = setup.serve_with(&variables)?;
        let life = Self { setup, client, server, switches, disk, home };
        life.works().context("at the start")?;
        Ok(life)
    }

    fn trouble(&self, trouble: Trouble) -> anyhow::Result<()> {
        match trouble {
            Trouble::Descriptors => self.exhaust_descriptors(),
            Trouble::DiskFull => self.fill_disk(),
            Trouble::LongReader => self.read_for_long(),
            Trouble::Backup => self.back_up(),
            Trouble::Verify => self.command(&["verify"]),
            Trouble::ClockAhead => self.jump(3 * DAY_SECONDS),
            Trouble::ClockBehind => self.jump(-400 * DAY_SECONDS),
            Trouble::WritesFail => self.switches.fail_shortly(0),
            Trouble::ReadsFail => self.switches.fail_shortly(1),
            Trouble::OpensFail => self.switches.fail_shortly(2),
            Trouble::UploadAndErase => self.upload_and_erase(),
        }
    }

    /// Lowers the limit of open files to what is open, for as long as connections come in.
    fn exhaust_descriptors(&self) -> anyhow::Result<()> {
        let (_, hard) = self.descriptor_limits()?;
        self.limit_descriptors(self.descriptors()? as u64)?;
        let until = now() + LONG;
        while now() < until {
            // Nobody may be let in.
            drop(self.client.ask("GET", "/sessions", &json!({})));
        }
        self.limit_descriptors(hard)
    }

    fn limit_descriptors(&self, soft: u64) -> anyhow::Result<()> {
        let limit = format!("--nofile={soft}:");
        let set =
            Command::new("prlimit").args(["--pid", &self.server.0.id().to_string(), &limit]).status()?;
        ensure!(set.success(), "prlimit does not set {limit}");
        Ok(())
    }

    fn descriptor_limits(&self) -> anyhow::Result<(u64, u64)> {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.server.0.id()))?;
        let line = limits.lines().find(|line| line.starts_with("Max open files")).context("its limits")?;
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match numbers.as_slice() {
            [soft, hard] => Ok((*soft, *hard)),
            _ => bail!("cannot read {line}"),
        }
    }

    fn fill_disk(&self) -> anyhow::Result<()> {
        let path = self.disk.path().join("filler");
        let mut filler = File::create(&path)?;
        let piece = vec![7_u8; 1 << 20];
        while free_bytes(self.disk.path())? > RESERVE_BYTES - (4 << 20) {
            filler.write_all(&piece)?;
        }
        let session = Self::refused(|| self.client.create());
        fs::remove_file(path)?;
        session.context("a full disk refuses no session")
    }

    /// Waits until something is refused.
    fn refused<T>(mut ask: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<()> {
        let until = now() + WORKS_WITHIN;
        while ask().is_ok() {
            ensure!(now() < until, "it is accepted again and again");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Holds a read transaction on every database, as a tool of the operator may.
    fn read_for_long(&self) -> anyhow::Result<()> {
        let mut readers = Vec::new();
        for name in ["everturn.db", "search.db", "people.db"] {
            readers.push(reader(&self.setup.data.join(name)).with_context(|| name)?);
        }
        std::thread::sleep(LONG);
        Ok(())
    }

    fn back_up(&self) -> anyhow::Result<()> {
        let copy = self.home.path().join("copy");
        self.command(&["backup", &copy.to_string_lossy()])?;
        Ok(fs::remove_dir_all(copy)?)
    }

    fn command(&self, words: &[&str]) -> anyhow::Result<()> {
        let output = self.setup.command().args(words).output()?;
        let told = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{words:?}: {} {}", told.0, told.1);
        Ok(())
    }

    fn jump(&self, seconds: i64) -> anyhow::Result<()> {
        self.switches.clock_seconds(seconds)?;
        std::thread::sleep(LONG);
        self.works()?;
        self.switches.clock_seconds(0)
    }

    fn upload_and_erase(&self) -> anyhow::Result<()> {
        let session = self.client.create()?;
        self.answered(&session)?;
        let erased = self.client.ask("DELETE", &format!("/sessions/{session}"), &json!({}))?;
        ensure!(erased.status == 204, "erasing answers {}", erased.status);
        Ok(())
    }

    /// Waits until a new session is made and answers. Says how long that took.
    fn works(&self) -> anyhow::Result<Duration> {
        let begun = now();
        loop {
            let worked = self.client.create().and_then(|session| self.answered(&session));
            match worked {
                Ok(()) => return Ok(begun.elapsed()),
                Err(error) if begun.elapsed() > WORKS_WITHIN => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn answered(&self, session: &str) -> anyhow::Result<()> {
        let posted = self.client.post(session, "say 2 of heron")?;
        let turn = posted["turn"].as_u64().context("where the message stands")?;
        self.client.follow(session, Some(turn))?.until("run_ended")?;
        Ok(())
    }

    fn descriptors(&self) -> anyhow::Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.server.0.id()))?.count())
    }

    fn held(&self) -> anyhow::Result<Held> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.0.id()))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("its memory")?;
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse()?;
        let slots = fs::read_dir(self.setup.data.join("spool"))?.count();
        Ok(Held { descriptors: self.descriptors()?, memory_bytes: kilobytes * 1_024, slots })
    }

    fn server_body(&self) -> anyhow::Result<Value> {
        self.client.must("GET", "/server", &json!({}))
    }

    /// Compares the process with its beginning: sessions accept messages, gauges are back, no resource leaked.
    fn end(mut self, report: &mut Report, first: Held) -> anyhow::Result<()> {
        let (mut sessions, mut silent) = (0, Vec::new());
        let list = self.client.must("GET", "/sessions?count=200", &json!({}))?;
        for row in list["sessions"].as_array().context("the list")? {
            let session = row["session"].as_str().context("its id")?;
            sessions += 1;
            if let Err(error) = self.goes_on(session) {
                silent.push(format!("{session}: {error:#}"));
            }
        }
        silent.iter().take(5).for_each(|session| report.note(session));
        report.line("longlife.sessions", sessions, ">0", sessions > 0);
        report.line("longlife.sessions_that_refuse", silent.len(), 0, silent.is_empty());
        self.gauges(report)?;
        self.figures(report, first)?;
        let alive = self.server.0.try_wait()?.is_none();
        report.line("longlife.same_process", alive, true, alive);
        let log = fs::read_to_string(self.setup.home.join("serve.log")).unwrap_or_default();
        let panics = log.matches("panicked").count();
        report.line("longlife.panics", panics, 0, panics == 0);
        let (deaths, off) = (
            log.matches("write failed, store is read-only").count(),
            log.matches("search disabled until").count(),
        );
        report.note(&format!("the store died {deaths} times and search {off} times, and both came back"));
        log.lines().filter(|line| line.contains("damaged")).take(5).for_each(|line| report.note(line));
        let sound = self.command(&["verify"]);
        if let Err(error) = &sound {
            report.note(&format!("{error:#}").chars().take(600).collect::<String>());
        }
        report.line("longlife.verified", sound.is_ok(), true, sound.is_ok());
        Ok(())
    }

    /// A message is accepted and answered. A queue that the judge paused is resumed first.
    fn goes_on(&self, session: &str) -> anyhow::Result<()> {
        let resumed = self.client.ask("POST", &format!("/sessions/{session}/queue/resume"), &json!({}))?;
        ensure!(resumed.status < 500, "resuming the queue answers {}", resumed.status);
        self.answered(session)
    }

    /// Waits until the server says that it is well.
    fn gauges(&self, report: &mut Report) -> anyhow::Result<()> {
        let until: Instant = now() + WORKS_WITHIN;
        let well = |body: &Value| {
            body["store"]["writable"] == true
                && body["store"]["search_works"] == true
                && body["store"]["damaged"] == 0
                && body["open_runs"] == 0
                && body["lag_micros"].as_i64().is_some_and(|lag| lag < 1_000_000)
        };
        let mut body = self.server_body()?;
        while !well(&body) && now() < until {
            std::thread::sleep(Duration::from_millis(100));
            body = self.server_body()?;
        }
        let (store, flag) = (&body["store"], |value: &Value| value.as_bool().unwrap_or(false));
        if let Some(problem) = store["problem"].as_str() {
            report.note(problem);
            let log = fs::read_to_string(self.setup.home.join("serve.log")).unwrap_or_default();
            let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
            warnings.iter().rev().take(10).rev().for_each(|line| report.note(line));
        }
        report.line("longlife.writable", flag(&store["writable"]), true, flag(&store["writable"]));
        report.line(
            "longlife.search_works",
            flag(&store["search_works"]),
            true,
            flag(&store["search_works"]),
        );
        let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
        report.line("longlife.damaged", number(&store["damaged"]), 0, store["damaged"] == 0);
        report.line("longlife.open_runs", number(&body["open_runs"]), 0, body["open_runs"] == 0);
        let lag = body["lag_micros"].as_i64().unwrap_or(i64::MAX);
        report.line("longlife.lag_micros", lag, "<1000000", lag < 1_000_000);
        Ok(())
    }

    /// Compares what the process holds with `first`, once it let go of idle sessions.
    fn figures(&self, report: &mut Report, first: Held) -> anyhow::Result<()> {
        let descriptors_max = first.descriptors + DESCRIPTORS_MORE;
        let memory_max = (first.memory_bytes as f64 * MEMORY_RATIO_MAX) as u64 + MEMORY_MORE;
        let until = now() + IDLE_WITHIN;
        let mut last = self.held()?;
        report.note(&format!("after the first round {first:?}, with every session open {last:?}"));
        while (last.descriptors > descriptors_max || last.memory_bytes > memory_max) && now() < until {
            std::thread::sleep(Duration::from_millis(500));
            last = self.held()?;
        }
        report.note(&format!("at the end {last:?}"));
        let ok = last.descriptors <= descriptors_max;
        report.line("longlife.descriptors", last.descriptors, format!("<={descriptors_max}"), ok);
        let ok = last.memory_bytes <= memory_max;
        report.line("longlife.memory_bytes", last.memory_bytes, format!("<={memory_max}"), ok);
        report.line("longlife.slots", last.slots, format!("<={}", first.slots), last.slots <= first.slots);
        Ok(())
    }
}

fn free_bytes(path: &Path) -> anyhow::Result<u64> {
    let disk = nix::sys::statvfs::statvfs(path)?;
    Ok(disk.blocks_available() * disk.fragment_size())
}
