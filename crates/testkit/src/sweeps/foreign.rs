//! What one user learns of another, and how soon what was taken away is gone.

use std::time::Duration;

use anyhow::Context;
use hub::{Clock, SystemClock};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Stage;
use super::surface::{Answer, UNKNOWN, ask};
use crate::Report;
use crate::client::Client;
use crate::trial::now;

/// How soon a stream of whom something was taken from must end.
const REVOKED_MAX: Duration = Duration::from_secs(5);

/// When a token ends that is to end while its stream is open.
const EXPIRES_MICROS: i64 = 1_000_000;

/// T2: every operation with an id of somebody else must be answered like one with an id of nobody.
///
/// # Errors
/// When the server does not answer.
pub(super) fn unknown(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let share = stage.owner.must("POST", &format!("/sessions/{}/shares", stage.session), &json!({}))?;
    let shared =
        Client { token: share["secret"].as_str().context("a secret")?.to_owned(), port: stage.owner.port };
    let former = stage.token("bob", "manage")?;
    for role in ["owner", "member"] {
        stage.owner.must("PATCH", &format!("/users/{}", stage.member_id), &json!({ "role": role }))?;
    }
    let token = stage.owner.must("GET", "/tokens", &json!({}))?["tokens"][0]["id"].clone();
    let kept = ask(&stage.owner, "POST", "/api/v1/attachments", "a file of the first user")?;
    let kept: Value = serde_json::from_str(&kept.body)?;
    let project =
        stage.owner.must("POST", "/projects", &json!({ "name": "of the first user" }))?["project"].clone();
    let upload = stage.owner.must("POST", "/uploads", &json!({ "length": 10 }))?["upload"].clone();
    let ids = [&share["share"], &token, &project, &upload];
    let ids: Vec<&str> = ids.iter().filter_map(|id| id.as_str()).chain([stage.session.as_str()]).collect();
    anyhow::ensure!(ids.len() == 5, "everything that was made has an id");
    let callers = [("another user", &stage.member), ("a former owner", &former), ("a share", &shared)];
    let (mut asked, mut told) = (0, Vec::new());
    for operation in stage.operations.iter().filter(|operation| operation.path.contains('{')) {
        if !operation.guarded {
            continue;
        }
        for (who, caller) in callers {
            for id in &ids {
                for body in [operation.body(), json!({})] {
                    let body = body.to_string();
                    let foreign = ask(caller, &operation.method, &operation.filled(id), &body)?;
                    let nobodys = ask(caller, &operation.method, &operation.filled(UNKNOWN), &body)?;
                    asked += 1;
                    let same = |answer: &Answer| (answer.status, answer.body.replace(*id, UNKNOWN));
                    if same(&foreign) != same(&nobodys) || !(400..500).contains(&foreign.status) {
                        told.push(format!(
                            "{} {} by {who}: {} {}",
                            operation.method, operation.path, foreign.status, foreign.body
                        ));
                    }
                }
            }
        }
    }
    let file = kept["blob"].as_str().context("a file")?;
    let (more, inside) = ids_inside(stage, &ids, &project, file)?;
    asked += more;
    told.extend(inside);
    // Nothing of it is listed or found.
    for path in ["/api/v1/sessions", "/api/v1/search?words=canary", "/api/v1/sessions?shelf=trash"] {
        let answer = ask(&stage.member, "GET", path, "")?;
        asked += 1;
        if answer.status != 200 || answer.body.contains(&stage.session) {
            told.push(format!("{path} shows a session of another"));
        }
    }
    let there = stage.owner.must("GET", &format!("/sessions/{}", stage.session), &json!({}))?;
    let whole = there["turns"].as_array().is_some_and(|turns| turns.len() == 1) && there["title"] == "trial";
    told.iter().take(10).for_each(|line| report.note(line));
    report.line("t2.requests", asked, ">=300", asked >= 300);
    report.line("t2.told", told.len(), 0, told.is_empty());
    report.line("t2.unchanged", whole, true, whole);
    Ok(())
}

/// Bodies with an id of somebody else in them. Answers how many were tried, and which of them told something.
fn ids_inside(
    stage: &Stage,
    ids: &[&str],
    project: &Value,
    file: &str,
) -> anyhow::Result<(usize, Vec<String>)> {
    let (mut asked, mut told) = (0, Vec::new());
    let own = stage.member.create()?;
    let attachment = |blob: &str| json!({ "text": "x", "attachments": [{ "name": "n", "media_type": "text/plain", "blob": blob, "size_bytes": 1 }] });
    let inside = [
        (
            "POST",
            "/api/v1/sessions".to_owned(),
            json!({ "after": stage.session }),
            json!({ "after": UNKNOWN }),
        ),
        (
            "PATCH",
            format!("/api/v1/sessions/{own}"),
            json!({ "project": project }),
            json!({ "project": UNKNOWN }),
        ),
        ("POST", format!("/api/v1/sessions/{own}/messages"), attachment(file), attachment(&"0".repeat(64))),
    ];
    for (method, path, foreign, nobodys) in inside {
        let foreign = ask(&stage.member, method, &path, &foreign.to_string())?;
        let nobodys = ask(&stage.member, method, &path, &nobodys.to_string())?;
        asked += 1;
        let renamed = ids.iter().fold(foreign.body.clone(), |body, id| body.replace(id, UNKNOWN));
        let same = renamed == nobodys.body;
        if foreign.status != nobodys.status || !same || foreign.status < 400 {
            told.push(format!("{method} {path} with an id inside: {} {}", foreign.status, foreign.body));
        }
    }
    Ok((asked, told))
}

/// Lets a token expire soon: as its end was told a while ago.
fn expire(stage: &Stage, token: &str) -> anyhow::Result<()> {
    let at = SystemClock.now().plus_micros(EXPIRES_MICROS);
    let people = rusqlite::Connection::open(stage.setup.data.join("people.db"))?;
    people.busy_timeout(REVOKED_MAX)?;
    let id = Uuid::parse_str(token)?;
    let changed = people.execute(
        "UPDATE credentials SET expires_at = ? WHERE id = ?",
        rusqlite::params![at.0, id.as_bytes()],
    )?;
    anyhow::ensure!(changed == 1, "there is no token {token}");
    Ok(())
}

/// T3: streams that are open when access is taken away.
///
/// # Errors
/// When the server does not answer.
pub(super) fn revoked(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let ways = ["api", "command line", "logout", "disabled", "disabled by command line", "expired"];
    let (mut slowest, mut after) = (Duration::ZERO, 0);
    for way in ways {
        let reader = stage.token("bob", "write")?;
        let session = reader.create()?;
        let own = || -> anyhow::Result<String> {
            let tokens = reader.must("GET", "/tokens", &json!({}))?;
            let this =
                tokens["tokens"].as_array().and_then(|all| all.iter().find(|token| token["this"] == true));
            Ok(this.and_then(|token| token["id"].as_str()).context("its own id")?.to_owned())
        };
        if way == "expired" {
            expire(stage, &own()?)?;
        }
        let mut stream = reader.follow(&session, None)?;
        while stream.event()?.context("an event")?.name != "caught_up" {}
        let command = |words: &[&str]| -> anyhow::Result<()> {
            anyhow::ensure!(stage.setup.command().args(words).status()?.success(), "{words:?} failed");
            Ok(())
        };
        let user = format!("/users/{}", stage.member_id);
        let begun = now();
        match way {
            "api" => drop(stage.owner.must("DELETE", &format!("/tokens/{}", own()?), &json!({}))?),
            "command line" => command(&["token", "revoke", &own()?])?,
            "logout" => drop(reader.must("POST", "/logout", &json!({}))?),
            // It does by itself, a moment after the stream was opened.
            "expired" => {}
            "disabled" => drop(stage.owner.must("PATCH", &user, &json!({ "disabled": true }))?),
            _ => command(&["user", "disable", "bob"])?,
        }
        while let Ok(Some(event)) = stream.event() {
            after += usize::from(event.name != "heartbeat");
        }
        slowest = slowest.max(begun.elapsed());
        stage.owner.must("PATCH", &user, &json!({ "disabled": false }))?;
    }
    let millis = slowest.as_millis();
    report.line(
        "t3.slowest_end_ms",
        millis,
        format!("<={}", REVOKED_MAX.as_millis()),
        slowest <= REVOKED_MAX,
    );
    report.line("t3.kinds", ways.len(), 6, ways.len() == 6);
    report.line("t3.events_after", after, 0, after == 0);
    Ok(())
}
