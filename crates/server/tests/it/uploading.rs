//! Files that come in pieces: over cut connections and through a killed server.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};
use testkit::dice::Dice;
use testkit::trial::now;

use crate::people::user;
use crate::stage::Stage;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

fn begin(stage: &Stage, length: usize) -> String {
    let made = stage.must("POST", "/uploads", &json!({ "length": length }));
    assert_eq!(made["offset"], 0);
    made["upload"].as_str().unwrap().to_owned()
}

fn look(stage: &Stage, upload: &str) -> Value {
    stage.must("GET", &format!("/uploads/{upload}"), &json!({}))
}

/// Opens a request that promises so many bytes.
fn open(stage: &Stage, upload: &str, offset: usize, length: usize) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", stage.client.port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        socket,
        "PATCH /api/v1/uploads/{upload} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         upload-offset: {offset}\r\ncontent-length: {length}\r\n\r\n",
        stage.client.token
    )
    .unwrap();
    socket
}

fn answer(mut socket: TcpStream) -> (u16, Value) {
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let status = reply.split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap())
}

/// Sends all of a piece and answers what the server says.
fn send(stage: &Stage, upload: &str, offset: usize, bytes: &[u8]) -> (u16, Value) {
    let mut socket = open(stage, upload, offset, bytes.len());
    // A server that refuses may not read it all.
    drop(socket.write_all(bytes));
    answer(socket)
}

#[test]
fn whoever_sends_too_much_hears_the_reason() {
    let stage = Stage::new();
    let head = |token: &str, path: &str, length: usize| {
        format!(
            "POST /api/v1{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    // More than the system keeps of a connection, so that the answer is there before the last byte is sent.
    let (much, more) = (14 * 1024 * 1024, 44 * 1024 * 1024);
    let token = stage.client.token.as_str();
    let cases = [
        ("too large for a file", head(token, "/attachments", more), more, 413),
        ("too large for words", head(token, "/sessions", much), much, 413),
        ("not let in", head("nobody", "/attachments", much), much, 401),
    ];
    for (what, head, length, expected) in cases {
        let mut socket = TcpStream::connect(("127.0.0.1", stage.client.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(head.as_bytes()).unwrap();
        socket
            .write_all(&vec![b'x'; length])
            .unwrap_or_else(|error| panic!("{what}: not taken to its end: {error}"));
        let (status, problem) = answer(socket);
        assert_eq!(status, expected, "{what}: {problem}");
    }
}

fn sha256(bytes: &[u8]) -> String {
    store::blob::hash_of(bytes).0
}

#[test]
fn a_file_arrives_whole_over_cut_connections_and_a_killed_server() {
    let mut stage = Stage::new();
    let mut dice = Dice::new(7);
    let file: Vec<u8> = (0..3_000_000).map(|_| dice.roll().to_le_bytes()[0]).collect();
    let upload = begin(&stage, file.len());
    let (mut offset, mut cuts) = (0, 0);
    while offset < file.len() {
        let rest = &file[offset..];
        let cut = usize::try_from(dice.below(600_000)).unwrap();
        if cut >= rest.len() {
            let (status, told) = send(&stage, &upload, offset, rest);
            assert_eq!((status, &told["offset"]), (200, &json!(file.len())), "{told}");
            break;
        }
        let mut socket = open(&stage, &upload, offset, rest.len());
        socket.write_all(&rest[..cut]).unwrap();
        cuts += 1;
        if cuts % 3 == 0 {
            // Whatever of it was told counts; the rest is sent again.
            stage.restart();
            offset = usize::try_from(look(&stage, &upload)["offset"].as_u64().unwrap()).unwrap();
            continue;
        }
        socket.shutdown(Shutdown::Write).unwrap();
        drop(socket);
        // What arrived before the cut counts, as soon as the server has seen the cut.
        let deadline = now() + PATIENCE;
        while look(&stage, &upload)["offset"] != json!(offset + cut) {
            assert!(now() < deadline, "{} of {} arrived", look(&stage, &upload), offset + cut);
            std::thread::yield_now();
        }
        offset += cut;
    }
    assert!(cuts >= 3, "{cuts}");
    let told = look(&stage, &upload);
    assert_eq!(told["blob"], sha256(&file));
    // The last piece asked again says it again, and so it does after a restart.
    assert_eq!(send(&stage, &upload, file.len() - 1, &file[file.len() - 1..]), (200, told.clone()));
    stage.restart();
    assert_eq!(look(&stage, &upload), told);
    let blob = told["blob"].as_str().unwrap();
    let attachment = json!({ "name": "f", "media_type": "x/y", "blob": blob, "size_bytes": file.len() });
    let session = stage.client.create().unwrap();
    let message = json!({ "text": "say 1 of x", "attachments": [attachment] });
    stage.must("POST", &format!("/sessions/{session}/messages"), &message);
    let mut socket = TcpStream::connect(("127.0.0.1", stage.client.port)).unwrap();
    let token = &stage.client.token;
    write!(
        socket,
        "GET /api/v1/attachments/{blob} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let mut reply = Vec::new();
    socket.read_to_end(&mut reply).unwrap();
    assert!(reply.ends_with(&file), "the bytes are those that were sent");
    let left = std::fs::read_dir(stage.setup.data.join("uploads")).unwrap();
    let files = left.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    assert!(
        files.map(|file| file.unwrap().file_name()).all(|name| !name.to_str().unwrap().ends_with(".bytes"))
    );
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let stage = Stage::new();
    let upload = begin(&stage, 10);
    assert_eq!(send(&stage, &upload, 0, b"heron").1["offset"], 5);
    for (offset, bytes, status, code) in [
        (0, &b"heron"[..], 409, "wrong_offset"),
        (6, b"tork", 409, "wrong_offset"),
        (5, b"storks", 413, "too_large"),
    ] {
        let (answered, told) = send(&stage, &upload, offset, bytes);
        assert_eq!((answered, told["code"].as_str()), (status, Some(code)), "{told}");
        assert_eq!(look(&stage, &upload)["offset"], 5);
    }
    let without = stage.ask("PATCH", &format!("/uploads/{upload}"), &json!({}));
    assert_eq!((without.status, &without.body["code"]), (400, &json!("bad_request")));
    for length in [json!(0), json!(200_000_000), json!(-1), json!("x")] {
        assert!((400..500).contains(&stage.ask("POST", "/uploads", &json!({ "length": length })).status));
    }
    assert_eq!(send(&stage, &upload, 5, b"stork").1["blob"], sha256(b"heronstork"));
    // Another user's is as unknown as none, and each has so many.
    let (_, bob) = user(&stage, "bob", "write");
    let unknown = "00000000-0000-0000-0000-000000000001";
    for method in ["GET", "PATCH", "DELETE"] {
        let foreign = bob.ask(method, &format!("/uploads/{upload}"), &json!({})).unwrap();
        let none = bob.ask(method, &format!("/uploads/{unknown}"), &json!({})).unwrap();
        assert_eq!((foreign.status, none.status), (404, 404));
        assert_eq!(foreign.body.to_string().replace(&upload, unknown), none.body.to_string());
    }
    let many: Vec<String> = (0..20).map(|_| begin(&stage, 1)).collect();
    assert_eq!(stage.ask("POST", "/uploads", &json!({ "length": 1 })).body["code"], "too_many");
    assert_eq!(stage.ask("DELETE", &format!("/uploads/{}", many[0]), &json!({})).status, 204);
    assert_eq!(
        stage.ask("GET", &format!("/uploads/{}", many[0]), &json!({})).body["code"],
        "upload_not_found"
    );
    begin(&stage, 1);
}
