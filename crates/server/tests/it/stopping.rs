//! SIGTERM: messages are kept, runs have their time, and the process ends well.

use nix::sys::signal::Signal;
use serde_json::json;
use testkit::crash::child::signal;

use crate::stage::{Stage, text};

#[test]
fn a_run_that_can_end_ends_and_a_message_that_came_meanwhile_is_answered_after_the_start() {
    let mut stage = Stage::new();
    stage.setup.drain_seconds = 60;
    stage.setup.configure().unwrap();
    stage.restart();
    let session = stage.client.create().unwrap();
    let kept = stage.client.post(&session, "say 200 of first pace 20").unwrap();
    stage.client.follow(&session, kept["turn"].as_u64()).unwrap().until("text_added").unwrap();
    let mut server = stage.server.take().unwrap();
    signal(&server.0, Signal::SIGTERM).unwrap();
    // It says that it stops, and still keeps what is said.
    while stage.ask("GET", "/ready", &json!({})).status == 200 {}
    let meanwhile = stage.client.post(&session, "say 3 of second").unwrap();
    assert!(meanwhile["run"].is_null());
    assert!(server.0.wait().unwrap().success());
    stage.server = Some(stage.setup.serve().unwrap());
    let mut stream = stage.client.follow(&session, meanwhile["turn"].as_u64()).unwrap();
    while stream.until("run_ended").unwrap().1["turn"] != meanwhile["turn"] {}
    let view = stage.view(&session);
    assert_eq!(text(&view["turns"][0]).split_whitespace().count(), 200, "the first answer came to its end");
    assert_eq!(view["turns"][0]["marker"], json!(null));
    assert_eq!(text(&view["turns"][1]), "second.1 second.2 second.3 ");
}

#[test]
fn a_server_that_was_stopped_left_everything_in_the_database_itself() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    let turn = stage.client.post(&session, "say 3 of kept").unwrap()["turn"].as_u64();
    stage.client.follow(&session, turn).unwrap().until("run_ended").unwrap();
    let mut server = stage.server.take().unwrap();
    signal(&server.0, Signal::SIGTERM).unwrap();
    assert!(server.0.wait().unwrap().success());
    for name in ["everturn.db-wal", "everturn.db-shm"] {
        let path = stage.setup.data.join(name);
        if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
    }
    stage.server = Some(stage.setup.serve().unwrap());
    assert_eq!(text(&stage.view(&session)["turns"][0]), "kept.1 kept.2 kept.3 ");
}
