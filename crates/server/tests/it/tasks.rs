//! Backups and verifying that an owner asks a serving server for.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::stage::Stage;

fn tasks(stage: &Stage) -> Vec<Value> {
    stage.must("GET", "/server/tasks", &json!({}))["tasks"].as_array().unwrap().clone()
}

/// The newest task, once it has ended.
fn ended(stage: &Stage) -> Value {
    loop {
        let newest = tasks(stage)[0].clone();
        if newest["state"] != "running" {
            return newest;
        }
    }
}

#[test]
fn a_live_store_is_copied_and_verified_one_after_the_other() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 3 of word");
    let kept = stage.must("POST", "/attachments", &json!("a file"));
    let blob = kept["blob"].as_str().unwrap();
    assert_eq!(tasks(&stage), Vec::<Value>::new());
    // A copy that waits: it reads the attachment from a pipe that nobody writes into yet.
    let file = stage.setup.data.join("blobs").join(&blob[..2]).join(blob);
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let copy = stage.setup.home.join("copies").join("first");
    let place = json!({ "place": copy });
    let begun = stage.ask("POST", "/server/backup", &place);
    assert_eq!(begun.status, 202, "{}", begun.body);
    for path in ["/server/backup", "/server/verify"] {
        let busy = stage.ask("POST", path, &json!({ "place": stage.setup.home.join("second") }));
        assert_eq!((busy.status, &busy.body["code"]), (409, &json!("busy")), "{path}");
    }
    let running = tasks(&stage);
    assert_eq!((running.len(), &running[0]["task"]), (1, &begun.body["task"]));
    assert_eq!((&running[0]["kind"], &running[0]["state"]), (&json!("backup"), &json!("running")));
    assert!(running[0]["ended_at"].is_null() && !copy.exists());
    // The server serves meanwhile.
    stage.answered(&session, "say 3 of more");
    fs::write(&file, &bytes).unwrap();
    let done = ended(&stage);
    assert_eq!(done["state"], "done", "{done}");
    assert!(done["told"].as_str().unwrap().starts_with("Copied 1 sessions and 1 attachments to "), "{done}");
    assert!(done["ended_at"].as_i64().unwrap() >= done["begun_at"].as_i64().unwrap());
    fs::remove_file(&file).unwrap();
    fs::write(&file, &bytes).unwrap();
    assert_eq!(stage.ask("POST", "/server/verify", &json!({})).status, 202);
    let verified = ended(&stage);
    assert_eq!((&verified["kind"], &verified["state"]), (&json!("verify"), &json!("done")), "{verified}");
    assert!(verified["told"].as_str().unwrap().ends_with("No problems found."), "{verified}");
    assert_eq!(tasks(&stage).len(), 2);
    let lines = stage.must("GET", "/audit", &json!({}))["lines"].clone();
    let owner = stage.must("GET", "/me", &json!({}))["user"].clone();
    let noted: Vec<_> =
        (0..2).map(|at| (&lines[at]["action"], &lines[at]["about"], &lines[at]["user"])).collect();
    assert_eq!(noted[0], (&json!("verified"), &json!("1 sessions, 0 troubles"), &owner));
    assert_eq!(noted[1], (&json!("backup_made"), &json!(copy), &owner));
    // What was copied is whole, and goes on from there.
    drop(stage.server.take());
    fs::rename(&stage.setup.data, stage.setup.home.join("old")).unwrap();
    let restored = stage.setup.command().arg("restore").arg(&copy).stdin(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&restored.stdout).ends_with("verify ok\n"));
    stage.server = Some(stage.setup.serve().unwrap());
    assert_eq!(stage.view(&session)["turns"].as_array().unwrap().len(), 1);
    // Tasks are remembered by the process.
    assert_eq!(tasks(&stage), Vec::<Value>::new());
}

#[test]
fn a_copy_goes_to_a_new_or_empty_folder_outside_of_the_data() {
    let stage = Stage::new();
    let (data, home) = (&stage.setup.data, &stage.setup.home);
    for place in
        [json!("copy"), json!("/"), json!(home), json!(data.join("copy")), json!(home.join("x/../data/copy"))]
    {
        let reply = stage.ask("POST", "/server/backup", &json!({ "place": place }));
        assert_eq!((reply.status, &reply.body["code"]), (422, &json!("bad_place")), "{place}");
    }
    assert_eq!(tasks(&stage), Vec::<Value>::new());
    let empty = home.join("empty");
    fs::create_dir(&empty).unwrap();
    stage.must("POST", "/server/backup", &json!({ "place": empty }));
    assert_eq!(ended(&stage)["state"], "done");
    assert!(empty.join("backup.json").exists());
    // What cannot be written is told, and leaves nothing.
    stage.must("POST", "/server/backup", &json!({ "place": "/proc/nowhere/copy" }));
    let failed = ended(&stage);
    assert_eq!(failed["state"], "failed");
    assert!(failed["told"].as_str().unwrap().contains("/proc/nowhere"), "{failed}");
}

#[test]
fn damage_is_told() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 1 of word");
    let kept = stage.must("POST", "/attachments", &json!("a file"));
    let blob = kept["blob"].as_str().unwrap();
    let file = json!({ "name": "n", "media_type": "text/plain", "blob": blob, "size_bytes": 8 });
    let message = json!({ "text": "say 1 of word", "attachments": [file] });
    let turn = stage.must("POST", &format!("/sessions/{session}/messages"), &message)["turn"].as_u64();
    stage.client.follow(&session, turn).unwrap().until("run_ended").unwrap();
    fs::write(stage.setup.data.join("blobs").join(&blob[..2]).join(blob), "other bytes").unwrap();
    loop {
        stage.must("POST", "/server/verify", &json!({}));
        let found = ended(&stage);
        // Which session uses a file follows behind the log.
        if found["state"] == "failed" {
            let told = found["told"].as_str().unwrap();
            assert!(told.contains("found 1 problems: attachment ") && told.contains(&session), "{told}");
            assert!(told.contains("everturn repair"), "{told}");
            return;
        }
    }
}
