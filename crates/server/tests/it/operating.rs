//! What lets somebody run the server for years: backups, verifying, repairing, figures, secrets, supervision.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, Read, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::json;

use testkit::sweeps::surface::{request, send};
use testkit::trial::until;

use crate::stage::{Stage, text};

fn run(stage: &Stage, words: &[&str]) -> Output {
    stage.setup.command().args(words).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn done(stage: &Stage, words: &[&str]) -> String {
    let output = run(stage, words);
    assert!(
        output.status.success(),
        "{words:?}: {}{}",
        said(&output),
        String::from_utf8_lossy(&output.stderr)
    );
    said(&output)
}

/// Gives the command line something to read.
fn fed(mut command: Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn terminate(server: &testkit::trial::Process) {
    let id = nix::unistd::Pid::from_raw(i32::try_from(server.0.id()).unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
}

/// Stops the server as its supervisor does.
pub(crate) fn stop(stage: &mut Stage) {
    let mut server = stage.server.take().unwrap();
    terminate(&server);
    assert!(server.0.wait().unwrap().success());
}

#[test]
fn a_backup_beside_the_server_is_restored_and_goes_on() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "first");
    let copy = stage.setup.home.join("copy");
    let copy_text = copy.to_string_lossy().into_owned();
    done(&stage, &["backup", &copy_text]);
    stage.answered(&session, "second");
    assert!(!run(&stage, &["backup", &copy_text]).status.success(), "nothing is written over");
    assert!(done(&stage, &["verify"]).ends_with("verify ok\n"));
    let before = stage.log(&session);
    drop(stage.server.take());
    assert!(!run(&stage, &["restore", &copy_text]).status.success(), "a directory in use is not restored to");
    fs::rename(&stage.setup.data, stage.setup.home.join("old")).unwrap();
    assert!(done(&stage, &["restore", &copy_text]).ends_with("verify ok\n"));
    stage.server = Some(stage.setup.serve().unwrap());
    // The token was in the backup, and so were the entries until then.
    let restored = stage.log(&session);
    assert!(before.starts_with(&restored) && restored.len() < before.len());
    stage.answered(&session, "instead of the second");
    let view = stage.view(&session);
    let turns = view["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[1]["message"]["text"], "instead of the second");
}

/// Every file of a directory with its bytes, except the shared memory of SQLite.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.to_string_lossy().ends_with("-shm") {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Runs the commands of a block of `docs/operations.md`, with another folder in place of the documented one.
fn documented(stage: &Stage, beginning: &str, folder: &str) {
    let text = include_str!("../../../../docs/operations.md");
    let block = text.split("```").find(|block| block.trim_start().starts_with(beginning)).unwrap();
    for line in block.trim().lines() {
        let line = line.split('#').next().unwrap().replace("/backups/2026-11-15", folder);
        let everturn = format!(
            "everturn() {{ {:?} --config {:?} \"$@\"; }}\n",
            stage.setup.binary,
            stage.setup.config()
        );
        let url = stage.setup.postgres.clone().unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", &format!("{everturn}{line}")])
            .env("EVERTURN_POSTGRES", url)
            .env("HOME", &stage.setup.home);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_documented_backup_on_postgres_brings_everything_back() {
    let server = testkit::postgres::Postgres::start().unwrap();
    let mut stage = Stage::new();
    stop(&mut stage);
    fs::remove_dir_all(&stage.setup.data).unwrap();
    stage.setup.postgres = Some(server.url());
    stage.client.token = stage.setup.prepare().unwrap();
    stage.server = Some(stage.setup.serve().unwrap());
    let session = stage.client.create().unwrap();
    stage.answered(&session, "first");
    done(&stage, &["user", "add", "ann"]);
    let before = stage.log(&session);
    let copy = stage.setup.home.join("copy").to_string_lossy().into_owned();
    documented(&stage, "everturn backup /backups/2026-11-15\npg_dump", &copy);
    stop(&mut stage);
    fs::rename(&stage.setup.data, stage.setup.home.join("old")).unwrap();
    let url = server.url();
    let drop_all = ["--dbname", &url, "--command", "DROP SCHEMA everturn CASCADE"];
    assert!(Command::new("psql").args(drop_all).output().unwrap().status.success());
    documented(&stage, "everturn restore /backups/2026-11-15\npg_restore", &copy);
    stage.server = Some(stage.setup.serve().unwrap());
    assert_eq!(stage.log(&session), before);
    assert!(done(&stage, &["user", "list"]).contains(" ann\n"));
}

#[test]
fn no_command_goes_on_without_a_lost_file() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "acknowledged");
    stage.must("POST", "/users", &json!({ "name": "ann", "role": "member" }));
    drop(stage.server.take());
    let kept = files(&stage.setup.data);
    let copy = stage.setup.home.join("copy").to_string_lossy().into_owned();
    let removed = ["everturn.db-wal", "everturn.db", "people.db-wal", "people.db"].map(|name| (name, true));
    let emptied = ["everturn.db-wal", "everturn.db", "people.db-wal", "people.db"].map(|name| (name, false));
    for (name, is_removed) in removed.into_iter().chain(emptied) {
        fs::remove_dir_all(&stage.setup.data).unwrap();
        for (path, bytes) in &kept {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let lost = stage.setup.data.join(name);
        if is_removed { fs::remove_file(&lost) } else { fs::write(&lost, b"") }.unwrap();
        let before = files(&stage.setup.data);
        for words in [&["doctor"] as &[&str], &["verify"], &["backup", &copy], &["token", "list"], &["serve"]]
        {
            let output = run(&stage, words);
            let told = format!("{}{}", said(&output), String::from_utf8_lossy(&output.stderr));
            assert!(!output.status.success() && told.contains(name), "{name} lost, {words:?}: {told}");
        }
        assert!(files(&stage.setup.data) == before, "{name} lost: a file was changed");
    }
    // A lost log can be gone on without, on request and told.
    fs::write(stage.setup.data.join("people.db"), &kept[&stage.setup.data.join("people.db")]).unwrap();
    fs::remove_file(stage.setup.data.join("everturn.db-wal")).unwrap();
    let repaired = done(&stage, &["repair"]);
    assert!(
        repaired.contains("continued without the missing writes") && repaired.ends_with("verify ok\n"),
        "{repaired}"
    );
    stage.server = Some(stage.setup.serve().unwrap());
}

#[test]
fn doctor_makes_no_users() {
    let stage = Stage::new();
    let data = stage.setup.home.join("elsewhere");
    let looked = stage.setup.command().arg("doctor").env("EVERTURN_DATA", &data).output().unwrap();
    assert!(said(&looked).contains("login: no"), "{}", said(&looked));
    assert!(!data.join("people.db").exists() && !data.join("secrets.key").exists());
}

#[test]
fn a_stopped_server_leaves_its_users_in_one_file() {
    let mut stage = Stage::new();
    done(&stage, &["user", "add", "ann"]);
    stop(&mut stage);
    drop(fs::remove_file(stage.setup.data.join("people.db-wal")));
    let listed = done(&stage, &["user", "list"]);
    assert!(listed.contains(" ann\n"), "{listed}");
    stage.server = Some(stage.setup.serve().unwrap());
    stage.client.create().unwrap();
}

#[test]
fn damage_stops_one_session_until_it_is_repaired() {
    let mut stage = Stage::new();
    let (whole, damaged) = (stage.client.create().unwrap(), stage.client.create().unwrap());
    stage.answered(&whole, "well");
    stage.answered(&damaged, "ill");
    stop(&mut stage);
    let database = rusqlite::Connection::open(stage.setup.data.join("everturn.db")).unwrap();
    let key = uuid::Uuid::parse_str(&damaged).unwrap();
    let changed = database
        .execute(
            "UPDATE packs SET body = x'00' WHERE no = (SELECT no FROM logs WHERE key = ?)",
            [key.as_bytes()],
        )
        .unwrap()
        + database
            .execute(
                "UPDATE tail SET body = 'no' WHERE no = (SELECT no FROM logs WHERE key = ?)",
                [key.as_bytes()],
            )
            .unwrap();
    assert!(changed > 0);
    drop(database);
    let found = run(&stage, &["verify"]);
    let told = format!("{}{}", said(&found), String::from_utf8_lossy(&found.stderr));
    assert!(!found.status.success() && told.contains(&format!("damaged {damaged}")), "{told}");
    stage.server = Some(stage.setup.serve().unwrap());
    assert!(!run(&stage, &["repair"]).status.success(), "not while the server runs");
    stage.answered(&whole, "still well");
    drop(stage.server.take());
    let repaired = done(&stage, &["repair"]);
    assert!(repaired.contains("set-aside") && repaired.ends_with("verify ok\n"), "{repaired}");
    stage.server = Some(stage.setup.serve().unwrap());
    assert_eq!(stage.view(&whole)["turns"].as_array().unwrap().len(), 2);
}

/// The last entry that is in a pack.
fn packed_to(database: &Path) -> u64 {
    let database = rusqlite::Connection::open(database).unwrap();
    database.query_row("SELECT coalesce(max(last_seq), 0) FROM packs", [], |row| row.get(0)).unwrap()
}

#[test]
fn repair_keeps_the_turns_behind_the_damage() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    // No pack has entries of two turns.
    let path = stage.setup.data.join("everturn.db");
    let turns = ["say 2 of one", "say 2 of two", "say 2 of three"].map(|text| {
        let turn = stage.answered(&session, text);
        until(|| packed_to(&path) == stage.log(&session).len() as u64);
        turn
    });
    stop(&mut stage);
    let database = rusqlite::Connection::open(path).unwrap();
    let (first, last): (u64, u64) = database
        .query_row(
            "SELECT first_seq, last_seq FROM packs WHERE ? BETWEEN first_seq AND last_seq",
            [turns[1]],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert!(turns[0] < first && last < turns[2]);
    let sql = "UPDATE packs SET body = x'00' WHERE first_seq = ?";
    assert_eq!(database.execute(sql, [first]).unwrap(), 1);
    drop(database);
    stage.server = Some(stage.setup.serve().unwrap());
    let last_turn = stage.answered(&session, "say 2 of four");
    let shown = stage.must("GET", &format!("/sessions/{session}/log?count=100"), &json!({}));
    let shown: Vec<u64> =
        shown["entries"].as_array().unwrap().iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert!(shown.contains(&last_turn) && shown.contains(&1), "the log shows what is intact: {shown:?}");
    assert!(!shown.iter().any(|seq| (first..=last).contains(seq)), "{shown:?}");
    stop(&mut stage);
    let repaired = done(&stage, &["repair"]);
    assert!(repaired.ends_with("verify ok\n"), "{repaired}");
    assert!(repaired.contains(&format!("set aside {} damaged entries in ", last - first + 1)), "{repaired}");
    stage.server = Some(stage.setup.serve().unwrap());
    stage.answered(&session, "say 2 of five");
    let texts: Vec<String> = stage.view(&session)["turns"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(texts, ["one.1 one.2 ", "three.1 three.2 ", "four.1 four.2 ", "five.1 five.2 "]);
}

#[test]
fn serve_waits_for_a_command_that_uses_the_data_directory() {
    let mut stage = Stage::new();
    stop(&mut stage);
    let lock = fs::File::options().read(true).write(true).open(stage.setup.data.join("lock")).unwrap();
    lock.lock().unwrap();
    let mut command = stage.setup.command();
    let server = command.arg("serve").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut server = testkit::trial::Process(server);
    let mut told = std::io::BufReader::new(server.0.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("data directory in use, waiting")));
    drop(lock);
    testkit::trial::until(|| stage.client.create().is_ok());
    drop(server);
}

#[test]
fn figures_are_for_owners_and_name_nobody() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "a canary in a mine");
    let authority = format!("host: localhost\r\nauthorization: Bearer {}\r\n", stage.client.token);
    let reply = send(stage.client.port, &request("GET", "/api/v1/metrics", &authority, "")).unwrap();
    assert_eq!(reply.status, 200);
    for name in [
        "everturn_commit_seconds{quantile=\"0.99\"}",
        "everturn_projection_lag_seconds",
        "everturn_tail_bytes",
        "everturn_runs_open 0",
        "everturn_runs_ended_total{end=\"completed\"} 1",
        "everturn_sessions_owing_memory",
        "everturn_disk_free_bytes",
        "everturn_store_writable 1",
        "everturn_sessions_damaged 0",
        "everturn_requests_total{status=\"2xx\"}",
        "everturn_provider_requests_total{model=\"trial\",purpose=\"answer\",outcome=\"ok\"} 1",
        "everturn_provider_first_token_seconds_count{model=\"trial\",purpose=\"answer\"} 1",
        "everturn_provider_tokens_total{model=\"trial\",purpose=\"answer\",kind=\"output\"}",
        "everturn_provider_cost_micros_total{model=\"trial\",purpose=\"answer\"}",
    ] {
        assert!(reply.body.contains(name), "{name} is not in {}", reply.body);
    }
    assert!(!reply.body.contains("canary") && !reply.body.contains(&session));
    let made = stage.must("POST", "/tokens", &json!({ "name": "figures", "scope": "read" }));
    let reader = testkit::client::Client {
        port: stage.client.port,
        token: made["token"].as_str().unwrap().to_owned(),
    };
    assert_eq!(
        reader.ask("GET", "/metrics", &json!({})).unwrap().status,
        200,
        "an owner's reading token is enough"
    );
    done(&stage, &["user", "add", "bob"]);
    let token = done(&stage, &["token", "new", "--user", "bob", "--scope", "write"]).trim().to_owned();
    let member = testkit::client::Client { port: stage.client.port, token };
    assert_eq!(member.ask("GET", "/metrics", &json!({})).unwrap().status, 403);
}

#[test]
fn a_secret_is_used_and_never_shown() {
    const CANARY: &str = "sk-canary-aaaabbbbccccdddd";
    let mut stage = Stage::new();
    let config = stage.setup.home.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}key_secret = \"mine\"\n")).unwrap();
    stage.restart();
    let session = stage.client.create().unwrap();
    let end = |stage: &Stage| {
        let log = stage.log(&session);
        log.iter().rev().find(|entry| entry["event"]["run_ended"].is_object()).unwrap()["event"].to_string()
    };
    stage.answered(&session, "without a key");
    assert!(end(&stage).contains("everturn secret set mine"), "{}", end(&stage));
    for (path, body, status) in [
        ("/secrets/mine", json!({ "secret": CANARY }), 204),
        ("/secrets/mine", json!({ "secret": "" }), 422),
        ("/secrets/a%2Fb", json!({ "secret": CANARY }), 422),
    ] {
        assert_eq!(stage.ask("PUT", path, &body).status, status, "{path}");
    }
    stage.answered(&session, "with a key");
    assert!(end(&stage).contains("completed"), "{}", end(&stage));
    let listed = stage.ask("GET", "/secrets", &json!({})).body.to_string();
    assert!(listed.contains("mine") && !listed.contains(CANARY));
    let set = fed(
        {
            let mut command = stage.setup.command();
            command.args(["secret", "set", "other"]);
            command
        },
        &format!("{CANARY}\n"),
    );
    assert!(set.status.success());
    assert_eq!(done(&stage, &["secret", "list"]), "mine\nother\n");
    assert_eq!(stage.ask("DELETE", "/secrets/mine", &json!({})).status, 204);
    assert_eq!(stage.ask("DELETE", "/secrets/mine", &json!({})).status, 404);
    drop(stage.server.take());
    let mut folders = vec![stage.setup.home.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                let plain = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
                assert!(!plain, "{} has it in the clear", path.display());
            }
        }
    }
}

#[test]
fn the_supervisor_is_told_that_the_server_is_ready_alive_and_stopping() {
    let mut stage = Stage::new();
    drop(stage.server.take());
    let socket = stage.setup.home.join("notify");
    let heard = UnixDatagram::bind(&socket).unwrap();
    heard.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut command = stage.setup.command();
    command.arg("serve").env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "300000");
    let mut server =
        testkit::trial::Process(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    let wait_for = |what: &str| {
        let mut buffer = [0; 256];
        for _ in 0..200 {
            let count = heard.recv(&mut buffer).unwrap();
            if String::from_utf8_lossy(&buffer[..count]).contains(what) {
                return;
            }
        }
        panic!("{what} was not told");
    };
    wait_for("READY=1");
    wait_for("WATCHDOG=1");
    wait_for("WATCHDOG=1");
    terminate(&server);
    wait_for("STOPPING=1");
    assert!(server.0.wait().unwrap().success());
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_to_do() {
    let stage = Stage::new();
    let well = run(&stage, &["doctor"]);
    let told = said(&well);
    assert!(told.contains("ok      store: in use by a server") && told.contains("sync_p50_micros"), "{told}");
    assert!(told.contains("ok      model trial: HTTP 200\n"), "{told}");
    let config = stage.setup.home.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let nowhere = testkit::trial::free_port().unwrap();
    fs::write(&config, text.replace(&stage.setup.model_url, &format!("http://127.0.0.1:{nowhere}/v1")))
        .unwrap();
    let ill = run(&stage, &["doctor"]);
    assert!(!ill.status.success());
    let advice = "; check that the provider is running and that `url` is correct";
    assert!(said(&ill).contains("error   model trial: ") && said(&ill).contains(advice), "{}", said(&ill));
}

/// Serves a web page for every request. Returns a URL below it.
fn web_page() -> String {
    const PAGE: &str = "<!doctype html><title>Welcome</title>";
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            crate::peer::read(&mut socket);
            let length = PAGE.len();
            write!(socket, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{PAGE}")
                .unwrap();
        }
    });
    url
}

#[test]
fn doctor_reports_a_web_page_and_an_unlisted_model() {
    let stage = Stage::new();
    let config = stage.setup.home.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace(&stage.setup.model_url, &web_page())).unwrap();
    let page = run(&stage, &["doctor"]);
    let told = said(&page);
    assert!(told.contains("error   model trial: HTTP 200; the reply is a web page"), "{told}");
    assert!(!page.status.success() && told.ends_with("doctor found problems\n"), "{told}");
    fs::write(&config, text.replace("model = \"scripted\"", "model = \"unlisted\"")).unwrap();
    let told = said(&run(&stage, &["doctor"]));
    let unlisted = "warning model trial: HTTP 200; the provider's list of models does not contain `unlisted`";
    assert!(told.contains(unlisted), "{told}");
}

#[test]
fn an_unknown_background_model_is_reported() {
    let mut stage = Stage::new();
    let config = stage.setup.home.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("background_model = \"trial\"\n{text}")).unwrap();
    let told = said(&run(&stage, &["doctor"]));
    assert!(told.contains("ok      background_model: trial\n"), "{told}");
    fs::write(&config, format!("background_model = \"no-such\"\n{text}")).unwrap();
    let told = said(&run(&stage, &["doctor"]));
    let unknown = "warning background_model: no-such; no configured model has this name";
    assert!(told.contains(unknown), "{told}");
    stage.restart();
    let log = fs::read_to_string(stage.setup.home.join("serve.log")).unwrap();
    assert_eq!(log.matches("background_model names no configured model").count(), 1, "{log}");
}

#[test]
fn doctor_names_missing_header_values() {
    let stage = Stage::new();
    let config = stage.setup.home.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let headers = "X-Gateway-Token = { secret = \"gateway\" }\nX-Team = { env = \"TEAM_OF_DOCTOR\" }\n";
    fs::write(&config, format!("{text}[models.headers]\n{headers}")).unwrap();
    let missing = run(&stage, &["doctor"]);
    let told = said(&missing);
    for line in [
        "error   model trial: the secret `gateway` for the header `X-Gateway-Token` is not set; \
         run `everturn secret set gateway`\n",
        "error   model trial: the environment variable `TEAM_OF_DOCTOR` for the header `X-Team` is not set; \
         set `TEAM_OF_DOCTOR` in the environment of the server\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert!(!missing.status.success());
    let mut command = stage.setup.command();
    command.args(["secret", "set", "gateway"]);
    assert!(fed(command, "a-token\n").status.success());
    let complete = stage.setup.command().arg("doctor").env("TEAM_OF_DOCTOR", "birds").output().unwrap();
    assert!(said(&complete).contains("ok      model trial: HTTP 200\n"), "{}", said(&complete));
}

#[test]
fn a_collector_is_told_what_happens_and_nothing_that_was_said() {
    let mut stage = Stage::new();
    let collector = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let config = stage.setup.home.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    fs::write(&config, format!("{text}[telemetry]\nendpoint = {endpoint:?}\n")).unwrap();
    // At the default level: spans are told from there on.
    stop(&mut stage);
    let mut command = stage.setup.command();
    command.env("EVERTURN_LOG", "info").arg("serve").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = testkit::trial::Process(command.stderr(Stdio::null()).spawn().unwrap());
    let mut out = std::io::BufReader::new(server.0.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("ready"), "{line}");
    let heard = std::thread::spawn(move || {
        let (mut socket, _) = collector.accept().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let (mut bytes, mut buffer) = (Vec::new(), [0; 64 * 1024]);
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let length = text.split_once("\r\n\r\n").and_then(|(head, _)| {
                let line =
                    head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-length:"))?;
                Some((head.len() + 4, line.split(':').nth(1)?.trim().parse::<usize>().ok()?))
            });
            if length.is_some_and(|(head, body)| bytes.len() >= head + body) {
                socket
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .unwrap();
                return text;
            }
            let count = socket.read(&mut buffer).unwrap();
            assert!(count > 0, "the request was cut: {text}");
            bytes.extend_from_slice(&buffer[..count]);
        }
    });
    let session = stage.client.create().unwrap();
    stage.answered(&session, "a canary in a mine");
    terminate(&server);
    assert!(server.0.wait().unwrap().success());
    let told = heard.join().unwrap();
    assert!(told.starts_with("POST /v1/traces"), "{told}");
    for name in ["everturn", "request", "run", "ask", "/api/v1/sessions/{session}/messages"] {
        assert!(told.contains(name), "{name} is not in {told}");
    }
    assert!(!told.contains("canary") && !told.contains(&stage.client.token));
}

#[test]
fn a_run_of_a_disabled_user_does_not_resume() {
    let mut stage = Stage::new();
    done(&stage, &["user", "add", "ann"]);
    let token = done(&stage, &["token", "new", "--user", "ann", "--scope", "write"]).trim().to_owned();
    let ann = testkit::client::Client { port: stage.client.port, token };
    let session = ann.create().unwrap();
    ann.post(&session, "say 200 of heron pace 50").unwrap();
    ann.follow(&session, Some(0)).unwrap().until("text_added").unwrap();
    done(&stage, &["user", "disable", "ann"]);
    stage.restart();
    done(&stage, &["user", "enable", "ann"]);
    let mut stream = ann.follow(&session, Some(0)).unwrap();
    stream.until("run_ended").unwrap();
    let (_, ended) = stream.until("run_ended").unwrap();
    assert!(ended.to_string().contains("disabled or no longer exists"), "{ended}");
}

#[test]
fn a_stop_needs_no_body() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.client.post(&session, "say 200 of heron pace 50").unwrap();
    let authority = format!("host: localhost\r\nauthorization: Bearer {}\r\n", stage.client.token);
    let path = format!("/api/v1/sessions/{session}/stop");
    assert_eq!(send(stage.client.port, &request("POST", &path, &authority, "")).unwrap().status, 200);
    assert_eq!(stage.view(&session)["turns"][0]["marker"]["kind"], "stopped");
}
