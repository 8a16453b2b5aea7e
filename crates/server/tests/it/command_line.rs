//! The command line as a person uses it, and what it refuses.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::stage::Stage;

const KEY: &str = "sk-canary-of-the-command-line";

fn run(stage: &Stage, words: &[&str]) -> Output {
    stage.setup.command().env("EVERTURN_TOKEN", &stage.client.token).args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn send_sessions_and_tail() {
    let stage = Stage::new();
    let sent = run(&stage, &["send", "say 3 of word"]);
    assert!(sent.status.success());
    assert!(said(&sent).starts_with("word.1 word.2 word.3 "), "{}", said(&sent));
    let listed = said(&run(&stage, &["sessions"]));
    let session = listed.split_whitespace().next().unwrap();
    let log = said(&run(&stage, &["tail", "--once", session]));
    assert!(log.lines().count() >= 6 && log.lines().next().unwrap().contains("session_created"), "{log}");
    let more = run(&stage, &["send", "--session", session, "--no-wait", "say 1 of more"]);
    assert!(said(&more).contains("\"turn\":"));
    let failing = run(&stage, &["tail", "--once", "00000000-0000-0000-0000-000000000009"]);
    assert!(!failing.status.success());
    assert!(String::from_utf8_lossy(&failing.stderr).contains("There is no session"));
}

#[test]
fn a_talk_through_a_pipe_is_answered_to_its_end_and_through_a_restart() {
    let mut stage = Stage::new();
    let mut command = stage.setup.command();
    let talk = command.env("EVERTURN_TOKEN", &stage.client.token).arg("chat");
    let mut talk = talk.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = talk.stdin.take().unwrap();
    writeln!(input, "say 300 of word pace 20").unwrap();
    // The server goes away in the middle of the answer.
    let session = loop {
        let listed = said(&run(&stage, &["sessions"]));
        if let Some(line) = listed.lines().find(|line| line.contains('*')) {
            break line.split_whitespace().next().unwrap().to_owned();
        }
    };
    stage.client.follow(&session, Some(0)).unwrap().until("text_added").unwrap();
    stage.restart();
    drop(input);
    let output = talk.wait_with_output().unwrap();
    let words: Vec<String> = said(&output)
        .split_whitespace()
        .filter(|word| word.starts_with("word."))
        .map(str::to_owned)
        .collect();
    let expected: Vec<String> = (1..=300).map(|no| format!("word.{no}")).collect();
    assert_eq!(words, expected);
    assert!(!said(&output).contains("interrupted"), "it resumed by itself: {}", said(&output));
}

#[test]
fn c14_a_sent_message_is_answered_in_one_text_by_a_model_that_repeats() {
    let mut stage = Stage::new();
    stage.setup.takes_prefix = false;
    stage.setup.configure().unwrap();
    stage.restart();
    let mut command = stage.setup.command();
    let send = command
        .env("EVERTURN_TOKEN", &stage.client.token)
        .args(["send", "say 300 of word pace 20 code loose"]);
    let sending = send.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let session = loop {
        let listed = said(&run(&stage, &["sessions"]));
        if let Some(line) = listed.lines().find(|line| line.contains('*')) {
            break line.split_whitespace().next().unwrap().to_owned();
        }
    };
    let mut stream = stage.client.follow(&session, Some(0)).unwrap();
    for _ in 0..3 {
        stream.until("text_added").unwrap();
    }
    stage.restart();
    let printed = said(&sending.wait_with_output().unwrap());
    let answer = crate::stage::text(&stage.view(&session)["turns"][0]);
    assert_eq!(printed.trim_end(), answer.trim_end());
    let words = answer.split_whitespace().filter(|word| word.starts_with("word."));
    let expected: Vec<String> = (1..=300).map(|no| format!("word.{no}")).collect();
    assert_eq!(words.collect::<Vec<_>>(), expected);
}

#[test]
fn without_a_token_or_a_server_it_says_what_to_do() {
    let stage = Stage::new();
    let output = stage.setup.command().arg("sessions").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("everturn token new --save"));
    let saved = stage.setup.command().args(["token", "new", "--save"]).output().unwrap();
    assert!(saved.status.success() && saved.stdout.is_empty());
    assert!(stage.setup.command().arg("sessions").output().unwrap().status.success());
    let away = stage.setup.command().args(["--url", "http://127.0.0.1:1", "sessions"]).output().unwrap();
    assert!(String::from_utf8_lossy(&away.stderr).contains("can't reach the server"));
}

#[test]
fn a_server_that_others_could_reach_does_not_start() {
    let home = tempfile::tempdir().unwrap();
    let serve = |config: &str| {
        let path = home.path().join("config.toml");
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_everturn"));
        command.env("HOME", home.path()).arg("--config").arg(path).arg("serve").output().unwrap()
    };
    let open = serve("listen = '0.0.0.0:8440'");
    assert!(!open.status.success());
    assert!(String::from_utf8_lossy(&open.stderr).contains("which other machines can reach"));
}

#[test]
fn init_asks_the_provider_for_its_models_and_takes_what_is_known() {
    let peer = crate::peer::Peer::new(KEY);
    let init = |home: &std::path::Path, arguments: &[&str], typed: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everturn"));
        command.env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        command.env("THE_KEY", KEY).arg("init").args(arguments);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        let written = std::fs::read_to_string(home.join(".config/everturn/config.toml"));
        (written.unwrap_or_default(), told)
    };
    let home = tempfile::tempdir().unwrap();
    let (written, told) = init(home.path(), &[], &format!("{}\nTHE_KEY\nbig-1\n", peer.url));
    assert!(
        told.contains("Providers: OpenAI, Anthropic") && told.contains("Models: big-1, big-2."),
        "{told}"
    );
    assert!(
        written.contains("key_env = \"THE_KEY\"") && written.contains("window_tokens = 40960"),
        "{written}"
    );

    let home = tempfile::tempdir().unwrap();
    let (written, told) = init(home.path(), &["--model-url", "nowhere"], "");
    assert!(written.is_empty() && told.contains("neither a known provider nor a URL"), "{told}");

    let home = tempfile::tempdir().unwrap();
    let (written, told) = init(home.path(), &["--model-url", &peer.url, "--key-env", "THE_KEY"], "\n");
    assert!(
        written.is_empty() && told.contains("a model ID is required; no configuration was written"),
        "{told}"
    );

    let home = tempfile::tempdir().unwrap();
    let typed = format!("localhost:1\n{}\nsk-a-wrong-key\n{KEY}\nbig-9\n", peer.url);
    let (written, told) = init(home.path(), &[], &typed);
    for told_of in [
        "a URL starts with http://",
        "rejected the key (401)",
        "The provider's list does not contain `big-9`",
    ] {
        assert!(told.contains(told_of), "{told}");
    }
    assert!(written.contains("model = \"big-9\"") && !written.contains(KEY), "{written}");
}

#[test]
fn init_writes_a_configuration_that_serves() {
    let stage = Stage::new();
    let home = tempfile::tempdir().unwrap();
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everturn"));
        command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        command
    };
    let made = command()
        .args(["init", "--model-url", &stage.setup.model_url, "--model", "scripted", "--key-env", ""])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let twice = command()
        .args(["init", "--model-url", "http://x", "--model", "m", "--key-env", ""])
        .output()
        .unwrap();
    assert!(!twice.status.success());
    let folder = home.path().join(".config/everturn");
    for file in ["config.toml", "token"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}
