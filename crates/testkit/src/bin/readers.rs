//! Readers of the released binary: a reconnect at every byte of three streams, a reader that never reads, and a
//! thousand followers of one session. `readers [--full]`.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::Report;
use testkit::client::{Client, parse};
use testkit::trial::{Setup, now, scripted_model};

/// Every so many bytes, when not at every one.
const STRIDE: usize = 7;
const FOLLOWERS: usize = 1_000;

fn main() -> anyhow::Result<()> {
    let full = std::env::args().any(|word| word == "--full");
    let home = tempfile::tempdir()?;
    let (_model, model_port) = scripted_model()?;
    let setup = Setup::at(home.path(), model_port)?;
    let client = Client { port: setup.port, token: setup.prepare()? };
    let _server = setup.serve()?;
    let mut report = Report::default();
    reconnect(&mut report, &client, if full { 1 } else { STRIDE })?;
    never_reads(&mut report, &client, full)?;
    followers(&mut report, &client)?;
    if !report.verdict("readers") {
        std::process::exit(1);
    }
    Ok(())
}

/// The whole log of a session, as bytes, up to `caught_up`.
fn whole(client: &Client, session: &str) -> anyhow::Result<Vec<u8>> {
    let mut stream = client.follow(session, Some(0))?;
    let mut bytes = Vec::new();
    while !bytes.windows(16).any(|window| window == b"event: caught_up") {
        bytes.extend(stream.more()?.context("the stream ended early")?);
    }
    let end = bytes.windows(16).position(|window| window == b"event: caught_up").unwrap_or(bytes.len());
    bytes.truncate(end);
    Ok(bytes)
}

/// Whole events of some bytes: the entries' ids and data.
fn entries(bytes: &[u8]) -> Vec<(u64, String)> {
    let text = String::from_utf8_lossy(bytes);
    let end = text.rfind("\n\n").map_or(0, |at| at + 2);
    let events = text[..end].split_inclusive("\n\n").map(parse);
    events.filter_map(|event| Some((event.id.filter(|_| event.name == "entry")?, event.data))).collect()
}

/// Cuts the connection after every byte and comes back with the last id that was whole.
fn reconnect(report: &mut Report, client: &Client, stride: usize) -> anyhow::Result<()> {
    let texts = ["say 12 of grüße-日本-🦢 think 3", "say 20 of two call", "say 30 of three pace 1"];
    let (mut cuts, mut wrong) = (0, 0);
    for text in texts {
        let session = client.create()?;
        client.post(&session, text)?;
        client.follow(&session, Some(0))?.until("run_ended")?;
        let bytes = whole(client, &session)?;
        let expected = entries(&bytes);
        for at in (0..bytes.len()).step_by(stride) {
            let mut seen = entries(&bytes[..at]);
            let cursor = seen.last().map_or(0, |(id, _)| *id);
            let mut stream = client.follow(&session, Some(cursor))?;
            let mut rest = Vec::new();
            while !rest.ends_with(b"event: caught_up\ndata: {}\n\n") {
                rest.extend(stream.more()?.context("the stream ended early")?);
            }
            seen.extend(entries(&rest));
            cuts += 1;
            wrong += usize::from(seen != expected);
        }
        for cursor in [expected.len() as u64 + 1, u64::MAX] {
            wrong += usize::from(client.follow(&session, Some(cursor)).is_ok());
        }
    }
    report.line("readers.reconnects", cuts, ">0", cuts > 0);
    report.line("readers.not_contiguous", wrong, 0, wrong == 0);
    Ok(())
}

/// How long an answer takes from its post to its end.
fn answered(client: &Client, session: &str, text: &str) -> anyhow::Result<Duration> {
    let begun = now();
    let kept = client.post(session, text)?;
    let after = kept["turn"].as_u64().context("a turn")?;
    client.follow(session, Some(after))?.until("run_ended")?;
    Ok(begun.elapsed())
}

/// A reader that opens a stream and never reads does not slow the writer, and is cut off.
fn never_reads(report: &mut Report, client: &Client, full: bool) -> anyhow::Result<()> {
    let session = client.create()?;
    let text = "say 200000 of long";
    // The first answer warms everything up.
    answered(client, &session, "say 10 of warm")?;
    let alone = answered(client, &session, text)?;
    let mut still: Vec<TcpStream> = Vec::new();
    for _ in 0..20 {
        still.push(raw_follow(client, &session)?);
    }
    let beside = answered(client, &session, text)?;
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    report.note(&format!(
        "an answer of 200,000 tokens: {} ms alone, {} ms beside 20 readers that never read",
        alone.as_millis(),
        beside.as_millis()
    ));
    report.at_most("readers.never_read_slows", ratio, 1.5, full);
    // Each reads now what was sent, up to its end: it was cut off, or got everything.
    let mut ended = 0;
    for mut socket in still {
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        let (mut bytes, mut piece) = (Vec::new(), vec![0; 256 * 1024]);
        let told =
            |bytes: &[u8]| contains(bytes, b"event: cut_off", 1) || contains(bytes, b"\"run_ended\"", 1);
        while !told(&bytes) {
            match socket.read(&mut piece) {
                Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
                _ => break,
            }
        }
        ended += usize::from(told(&bytes));
    }
    report.line("readers.never_read_told", ended, 20, ended == 20);
    Ok(())
}

/// Opens a stream and reads nothing of it.
fn raw_follow(client: &Client, session: &str) -> anyhow::Result<TcpStream> {
    use std::io::Write;
    let mut socket = TcpStream::connect(("127.0.0.1", client.port))?;
    let token = &client.token;
    let head = format!(
        "GET /api/v1/sessions/{session}/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    socket.write_all(head.as_bytes())?;
    Ok(socket)
}

/// A thousand followers of one session get the same bytes.
fn followers(report: &mut Report, client: &Client) -> anyhow::Result<()> {
    let session = client.create()?;
    client.post(&session, "say 5 of before")?;
    client.follow(&session, Some(0))?.until("run_ended")?;
    let begun = now();
    let (client, session_id) = (client.clone(), session);
    let bytes = std::thread::scope(|scope| -> anyhow::Result<Vec<Vec<u8>>> {
        let mut readers = Vec::new();
        for _ in 0..FOLLOWERS {
            let mut stream = client.follow(&session_id, Some(0))?;
            let reader =
                std::thread::Builder::new().stack_size(128 * 1024).spawn_scoped(scope, move || {
                    let mut bytes = Vec::new();
                    let ends = b"event: entry\nid: ";
                    while !(contains(&bytes, b"\"run_ended\"", 2)
                        && bytes.ends_with(b"\n\n")
                        && contains(&bytes, ends, 1))
                    {
                        match stream.more() {
                            Ok(Some(more)) => bytes.extend(more),
                            _ => break,
                        }
                    }
                    bytes
                })?;
            readers.push(reader);
        }
        client.must(
            "POST",
            &format!("/sessions/{session_id}/messages"),
            &json!({ "text": "say 100 of live pace 20" }),
        )?;
        readers
            .into_iter()
            .map(|reader| reader.join().map_err(|_| anyhow::anyhow!("a reader panicked")))
            .collect()
    })?;
    let first = entries(&bytes[0]);
    ensure!(first.len() > 30, "a follower got the answer");
    let same = bytes.iter().filter(|one| entries(one) == first).count();
    report.note(&format!(
        "{FOLLOWERS} followers, {} entries each, {:.1} s",
        first.len(),
        Instant::elapsed(&begun).as_secs_f64()
    ));
    report.line("readers.followers_with_the_same_bytes", same, FOLLOWERS, same == FOLLOWERS);
    Ok(())
}

fn contains(bytes: &[u8], what: &[u8], times: usize) -> bool {
    bytes.windows(what.len()).filter(|window| *window == what).count() >= times
}
