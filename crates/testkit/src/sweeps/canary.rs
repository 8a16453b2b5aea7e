//! Whether a secret is ever written down.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use serde_json::json;

use super::PASSWORD;
use super::surface::{ask, request, send};
use crate::Report;
use crate::client::Client;
use crate::trial::{Process, Setup, scripted_model, wait_for_port};

/// Every file below a folder that has one of these.
fn found(folder: &Path, canaries: &[String]) -> anyhow::Result<(usize, Vec<String>)> {
    let (mut files, mut told) = (0, Vec::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let bytes = std::fs::read(&path)?;
            for canary in canaries {
                if bytes.windows(canary.len()).any(|window| window == canary.as_bytes()) {
                    told.push(format!(
                        "{} has {}…",
                        path.display(),
                        canary.chars().take(8).collect::<String>()
                    ));
                }
            }
        }
    }
    Ok((files, told))
}

/// The key of a model that an owner adds.
const ADDED_KEY: &str = "sk-canary-of-settings-0123456789";
/// What an owner can be shown.
const SHOWN: [&str; 12] = [
    "/sessions",
    "/users",
    "/tokens",
    "/logins",
    "/audit",
    "/models",
    "/settings",
    "/secrets",
    "/server/tasks",
    "/me",
    "/openapi.json",
    "/nowhere",
];

/// Adds a model with a key of its own, and has it asked once.
fn add_model(owner: &Client, setup: &Setup) -> anyhow::Result<()> {
    let (url, key) = (&setup.model_url, ADDED_KEY);
    let described = json!({ "provider": "openai", "url": url, "model": "scripted", "key": key });
    owner.must("PUT", "/models/added", &described)?;
    owner.must("POST", "/models/added/test", &json!({}))?;
    Ok(())
}

/// T14: tokens, passwords, logins, shares and a model's key through every way, with every word logged; none is in a log, a
/// file or an answer.
///
/// # Errors
/// When the server does not answer.
pub(super) fn never_told(report: &mut Report, home: &Path) -> anyhow::Result<()> {
    let home = home.join("canary");
    let (_model, model_port) = scripted_model()?;
    let setup = Setup::at(&home, model_port)?;
    let owner = Client { port: setup.port, token: setup.prepare()? };
    let log = std::fs::File::create(home.join("trace.log"))?;
    let key = "sk-canary-0123456789abcdef";
    let mut command = setup.command();
    command
        .arg("serve")
        .env("EVERTURN_LOG", "trace")
        .env("EVERTURN_MODELS__0__KEY_ENV", "CANARY")
        .env("CANARY", key);
    let server = Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?);
    wait_for_port(setup.port, std::time::Duration::from_secs(30))?;
    let session = owner.create()?;
    let turn = owner.post(&session, "say 3")?["turn"].as_u64();
    owner.follow(&session, turn)?.until("run_ended")?;
    let refused = owner.post(&session, "say 3 refuse 1")?["turn"].as_u64();
    owner.follow(&session, refused)?.until("run_ended")?;
    owner.must("POST", "/users", &json!({ "name": "bob", "role": "member", "password": PASSWORD }))?;
    let share = owner.must("POST", &format!("/sessions/{session}/shares"), &json!({}))?;
    let token = owner.must("POST", "/tokens", &json!({ "name": "canary", "scope": "read" }))?;
    let login = json!({ "name": "bob", "password": PASSWORD }).to_string();
    let logged_in = send(setup.port, &request("POST", "/api/v1/login", "host: localhost\r\n", &login))?;
    let cookie = logged_in.head.split("__host-everturn=").nth(1).and_then(|rest| rest.split(';').next());
    let cookie = cookie.context("a cookie")?.to_owned();
    add_model(&owner, &setup)?;
    let wrong = json!({ "name": "bob", "password": "a-canary-of-a-wrong-password" }).to_string();
    send(setup.port, &request("POST", "/api/v1/login", "host: localhost\r\n", &wrong))?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("missing").to_owned();
    let canaries = [
        owner.token.clone(),
        text(&token["token"]),
        text(&share["secret"]),
        cookie,
        PASSWORD.to_owned(),
        "a-canary-of-a-wrong-password".to_owned(),
        key.to_owned(),
        ADDED_KEY.to_owned(),
    ];
    let mut answers = Vec::new();
    for path in SHOWN {
        answers.push((path.to_owned(), ask(&owner, "GET", &format!("/api/v1{path}"), "")?));
    }
    for path in [
        format!("/sessions/{session}"),
        format!("/sessions/{session}/shares"),
        format!("/shared/{}", canaries[2]),
    ] {
        answers.push((path.clone(), ask(&owner, "GET", &format!("/api/v1{path}"), "")?));
    }
    answers.push(("a wrong body".to_owned(), ask(&owner, "POST", "/api/v1/login", &login.replace('}', ""))?));
    answers.push((
        "a wrong field".to_owned(),
        ask(&owner, "POST", "/api/v1/users", &json!({ "name": 1, "password": PASSWORD }).to_string())?,
    ));
    drop(server);
    let (files, mut told) = found(&home, &canaries)?;
    for (path, answer) in &answers {
        let shown = canaries.iter().filter(|canary| answer.body.contains(canary.as_str()));
        told.extend(
            shown.map(|canary| format!("GET {path} shows {}…", canary.chars().take(8).collect::<String>())),
        );
    }
    let logged = std::fs::metadata(home.join("trace.log"))?.len();
    told.iter().take(10).for_each(|line| report.note(line));
    report.line("t14.logged_bytes", logged, ">=1000", logged >= 1_000);
    report.line("t14.files", files, ">=5", files >= 5);
    report.line("t14.told", told.len(), 0, told.is_empty());
    Ok(())
}
