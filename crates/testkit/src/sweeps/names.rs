//! Whether a name that somebody sends becomes a path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Stage;
use super::surface::ask;
use crate::Report;

/// Names that lead elsewhere when they are taken for paths.
fn names() -> Vec<String> {
    let steps = [
        "..",
        "../..",
        "../../../../../../../../tmp",
        "....//....//",
        "..\\..",
        "%2e%2e",
        "%252e%252e",
        "..%2f",
        "..%c0%af",
        "．．",
    ];
    let ends = [
        "",
        "/escaped",
        "/escaped\0.txt",
        "%00escaped",
        "/people.db",
        "\\escaped",
        "/./escaped",
        "//escaped",
        "/escaped ",
        "/escaped.",
    ];
    let mut names: Vec<String> =
        steps.iter().flat_map(|step| ends.iter().map(move |end| format!("{step}{end}"))).collect();
    let whole = [
        "/etc/passwd",
        "/tmp/escaped",
        "C:\\escaped",
        "\\\\host\\share",
        "file:///tmp/escaped",
        "~/escaped",
        "$HOME/escaped",
        "`touch escaped`",
        "$(touch escaped)",
        "CON",
        "NUL",
        "COM1",
        "aux.txt",
        ".",
        "..",
        "",
        " ",
        "-rf",
        "--help",
        "a\nb",
        "a\0b",
        "people.db",
        "everturn.db",
        "spool/0",
        "blobs/unfinished/x",
        "\u{202e}txt.exe",
    ];
    names.extend(whole.map(str::to_owned));
    names.push("x".repeat(5_000));
    names
}

fn encode(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Every file below a folder that is not in the store.
fn outside(folder: &Path, store: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && path != store {
                folders.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

/// Requests that carry a name in their bodies or as an encoded part of the path.
fn bodies(name: &str, session: &str, blob: &Value) -> Vec<(&'static str, String, Value)> {
    let file = json!({ "name": name, "media_type": name, "blob": blob, "size_bytes": 6 });
    vec![
        ("PATCH", format!("/api/v1/sessions/{session}"), json!({ "title": name })),
        ("POST", "/api/v1/sessions".to_owned(), json!({ "title": name })),
        (
            "POST",
            format!("/api/v1/sessions/{session}/messages"),
            json!({ "text": "say 1", "attachments": [file] }),
        ),
        (
            "POST",
            format!("/api/v1/sessions/{session}/messages"),
            json!({ "text": "x", "attachments": [{ "name": "n", "media_type": "t", "blob": name, "size_bytes": 1 }] }),
        ),
        ("POST", "/api/v1/tokens".to_owned(), json!({ "name": name })),
        ("POST", "/api/v1/users".to_owned(), json!({ "name": name, "role": "member" })),
        ("POST", "/api/v1/projects".to_owned(), json!({ "name": name })),
        ("PATCH", format!("/api/v1/sessions/{session}"), json!({ "tags": [name] })),
        ("PUT", format!("/api/v1/secrets/{}", encode(name)), json!({ "secret": "a value" })),
    ]
}

/// T8: names of every kind, in every place for one; afterwards no file is where none should be.
///
/// # Errors
/// When the server does not answer.
pub(super) fn no_paths(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let names = names();
    let before = outside(&stage.setup.home, &stage.setup.data);
    let shelves = [
        "blobs",
        "everturn.db",
        "people.db",
        "search.db",
        "secrets.key",
        "spool",
        "uploads",
        "lock",
        "everturn.db-wal",
        "everturn.db-shm",
    ];
    let kept = ask(&stage.owner, "POST", "/api/v1/attachments", "a file")?;
    let kept: serde_json::Value = serde_json::from_str(&kept.body)?;
    let session = stage.owner.create()?;
    let (mut asked, mut failed) = (0, Vec::new());
    for name in &names {
        let bodies = bodies(name, &session, &kept["blob"]);
        for (method, path, body) in bodies {
            let answer = ask(&stage.owner, method, &path, &body.to_string())?;
            asked += 1;
            if answer.status >= 500 {
                failed.push(format!("{method} {path} with {name:?}: {}", answer.status));
            }
        }
        let encoded = encode(name);
        for (place, name) in ["attachments", "sessions", "shared", "uploads", "projects"]
            .iter()
            .flat_map(|place| [(place, &encoded), (place, name)])
        {
            if name.contains(['\n', '\0', ' ']) || name.len() > 4_000 {
                continue;
            }
            let answer = ask(&stage.owner, "GET", &format!("/api/v1/{place}/{name}"), "")?;
            asked += 1;
            // A path of nothing but the place itself is the place's own.
            if answer.status == 200 && !name.is_empty() {
                failed.push(format!("GET {place}/{name} was answered"));
            }
        }
    }
    let after = outside(&stage.setup.home, &stage.setup.data);
    let strange = std::fs::read_dir(&stage.setup.data)?.flatten().filter(|entry| {
        let name = entry.file_name();
        !shelves.iter().any(|shelf| name.to_string_lossy().starts_with(shelf))
    });
    let written: Vec<_> =
        after.difference(&before).cloned().chain(strange.map(|entry| entry.path())).collect();
    written.iter().take(10).for_each(|path| report.note(&path.display().to_string()));
    failed.iter().take(10).for_each(|line| report.note(line));
    report.line("t8.names", names.len(), ">=120", names.len() >= 120);
    report.line("t8.requests", asked, ">=700", asked >= 700);
    report.line("t8.failed", failed.len(), 0, failed.is_empty());
    report.line("t8.files_elsewhere", written.len(), 0, written.is_empty());
    Ok(())
}
