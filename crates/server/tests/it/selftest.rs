//! The selftest: it ends in a verdict, notices what is wrong, and leaves nothing behind.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;
use tempfile::TempDir;
use testkit::client::Client;
use testkit::crash::child::signal;
use testkit::trial::now;

/// Long enough for several kills.
const MINUTES: &str = "0.05";
/// How long the test waits for something that takes a moment.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A configuration whose data directory is used by nobody.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.toml"), format!("data = {:?}", home.path().join("data")))
        .unwrap();
    home
}

fn selftest(home: &Path, minutes: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everturn"));
    command.arg("--config").arg(home.join("config.toml")).args(["selftest", "--minutes", minutes]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The scratch directories that are there now.
fn scratches(home: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
    found
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("everturn-selftest-"))
        .collect()
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = now() + WAIT_MAX;
    while !holds() {
        assert!(now() < deadline, "{what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A test that is under way, and where its server listens. It is ready: one that starts would end by itself when nobody
/// is left to be told.
fn under_way(home: &Path) -> (Child, SocketAddr) {
    let child = selftest(home, "5").spawn().unwrap();
    let mut address = None;
    wait_until("a server is ready", || {
        let config = scratches(home).first().map(|scratch| scratch.join("config.toml"));
        let config = config.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let listen = config.lines().find_map(|line| line.strip_prefix("listen = \"")?.strip_suffix('"'));
        address = listen.and_then(|listen| listen.parse::<SocketAddr>().ok());
        address.is_some_and(|address| {
            let client = Client { port: address.port(), token: String::new() };
            client.ask("GET", "/ready", &json!({})).is_ok_and(|reply| reply.status == 200)
        })
    });
    (child, address.unwrap())
}

fn ended(child: &mut Child) -> ExitStatus {
    let mut status = None;
    wait_until("it ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

#[test]
fn a_sound_server_passes_and_nothing_is_left() {
    let home = home();
    // What is set for the real server must not lead the test to its data.
    let real = home.path().join("real");
    let output = selftest(home.path(), MINUTES).env("EVERTURN_DATA", &real).output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    assert_eq!(report.lines().last(), Some("selftest ok"), "{report}");
    for figure in ["selftest.kills", "selftest.messages", "selftest.completed", "selftest.lost 0 0 ok"] {
        assert!(
            report.lines().any(|line| line.starts_with(figure) && line.ends_with("ok")),
            "{figure}: {report}"
        );
    }
    assert_eq!(scratches(home.path()), Vec::<PathBuf>::new());
    assert!(!real.exists() && !home.path().join("data").exists());
}

#[test]
fn a_store_that_forgets_keys_is_noticed_and_the_evidence_is_kept() {
    // Only the whole workspace is built with mutants; without them there is nothing to notice.
    if !fault::INJECTED {
        return;
    }
    let home = home();
    let output = selftest(home.path(), MINUTES).env("EVERTURN_MUTANT", "no_key").output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{report}");
    let verdict = report.lines().last().unwrap();
    assert!(verdict.starts_with("selftest short: ") && verdict.contains("doubled"), "{report}");
    let kept = scratches(home.path());
    let [scratch] = kept.as_slice() else { panic!("{kept:?}") };
    assert!(report.contains(&scratch.display().to_string()), "{report}");
    for file in ["data/everturn.db", "history.jsonl", "serve.log"] {
        assert!(scratch.join(file).exists(), "{file}");
    }
}

#[test]
fn an_interrupted_one_leaves_nothing() {
    let home = home();
    let (mut child, address) = under_way(home.path());
    signal(&child, Signal::SIGINT).unwrap();
    assert_eq!(ended(&mut child).code(), Some(130));
    assert_eq!(scratches(home.path()), Vec::<PathBuf>::new());
    assert!(TcpStream::connect(address).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn its_server_does_not_outlive_it() {
    let home = home();
    let (mut child, _) = under_way(home.path());
    signal(&child, Signal::SIGKILL).unwrap();
    ended(&mut child);
    let config = scratches(home.path())[0].join("config.toml");
    let running = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&*config.to_string_lossy())
    };
    wait_until("no process has its configuration", || {
        !std::fs::read_dir("/proc").unwrap().flatten().any(running)
    });
}

#[test]
fn a_length_that_is_none_is_refused() {
    let home = home();
    for minutes in ["0", "-1", "nan", "1e9"] {
        let output = selftest(home.path(), minutes).output().unwrap();
        assert!(!output.status.success(), "{minutes}");
    }
    assert_eq!(scratches(home.path()), Vec::<PathBuf>::new());
}
