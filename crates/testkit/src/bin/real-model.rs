//! The released binary with a real model on a real llama.cpp server, in both wire formats: an answer, a stop in
//! mid-stream, and a kill -9 in mid-stream after which the same answer goes on. Then answers that are stopped and
//! continued,
//! with a prefix and without, and how their seams come out. `real-model SCRIPT [--full]`.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use testkit::Report;
use testkit::client::Client;
use testkit::trial::{Process, Setup, free_port, wait_for_port};

/// The first start fetches about 125 MB.
const MODEL_START_MAX: Duration = Duration::from_secs(600);
const STORY: &str = "Tell me a long story about a heron who lives by a lake.";

fn main() -> anyhow::Result<()> {
    let script = std::env::args().nth(1).context("usage: real-model SCRIPT")?;
    let model_port = free_port()?;
    let log = tempfile::tempfile()?;
    let _model = Process(
        Command::new(script)
            .arg(model_port.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("start the model")?,
    );
    wait_for_port(model_port, MODEL_START_MAX)?;
    let mut report = Report::default();
    for provider in ["openai", "anthropic"] {
        hold(&mut report, provider, model_port).with_context(|| provider)?;
    }
    let count = if std::env::args().any(|word| word == "--full") { 20 } else { 3 };
    for takes_prefix in [true, false] {
        seams(&mut report, takes_prefix, count, model_port)?;
    }
    if !report.verdict("real-model") {
        std::process::exit(1);
    }
    Ok(())
}

/// Holds a conversation in one wire format.
fn hold(report: &mut Report, provider: &'static str, model_port: u16) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let setup = Setup {
        provider,
        model: "smollm2-135m-instruct",
        tools: false,
        window_tokens: 4_096,
        ..Setup::at(home.path(), model_port)?
    };
    let client = Client { port: setup.port, token: setup.prepare()? };
    let mut server = setup.serve()?;

    let session = client.create()?;
    client.post(&session, "What is a heron? Answer in one short sentence.")?;
    client.follow(&session, Some(0))?.until("run_ended")?;
    let turn = newest(&client, &session)?;
    let said = text(&turn);
    let used = turn["usage"]["output_tokens"].as_u64().unwrap_or(0);
    report.note(&format!("{provider}: {}", said.replace('\n', " ")));
    report.line(&format!("real_model.{provider}.answer_bytes"), said.len(), ">0", !said.is_empty());
    report.line(&format!("real_model.{provider}.answer_tokens"), used, ">0", used > 0);

    // The second turn knows the first, and is stopped in mid-stream.
    let kept = client.post(&session, STORY)?;
    let mut stream = client.follow(&session, kept["turn"].as_u64())?;
    let mut seen = String::new();
    while seen.split_whitespace().count() < 8 {
        seen.push_str(stream.until("text_added")?.1["text"].as_str().unwrap_or_default());
    }
    client.must("POST", &format!("/sessions/{session}/stop"), &json!({}))?;
    let (_, ended) = stream.until("run_ended")?;
    let turn = newest(&client, &session)?;
    let kept_all = text(&turn).starts_with(&seen) && turn["marker"]["kind"] == "stopped";
    report.line(
        &format!("real_model.{provider}.stop_keeps"),
        kept_all && ended["end"]["stopped"].is_object(),
        true,
        kept_all,
    );

    // The third is killed in mid-stream, and goes on.
    let session = client.create()?;
    let kept = client.post(&session, STORY)?;
    let mut stream = client.follow(&session, kept["turn"].as_u64())?;
    let (mut seen, mut cursor) = (String::new(), 0);
    while seen.split_whitespace().count() < 12 {
        let (id, body) = stream.until("text_added")?;
        seen.push_str(body["text"].as_str().unwrap_or_default());
        cursor = id;
    }
    server.kill();
    server = setup.serve()?;
    let mut stream = client.follow(&session, Some(cursor))?;
    let (_, interrupted) = stream.until("run_ended")?;
    let (_, resumed) = stream.until("run_started")?;
    // Some more words, so that it is seen to go on; the end of a long story is not waited for.
    let mut more = String::new();
    while more.split_whitespace().count() < 12 {
        more.push_str(stream.until("text_added")?.1["text"].as_str().unwrap_or_default());
    }
    client.must("POST", &format!("/sessions/{session}/stop"), &json!({}))?;
    let answer = text(&newest(&client, &session)?);
    let by_itself = interrupted["end"]["interrupted"].is_object() && resumed["cause"] == "resume";
    // One answer: what was seen before, what was in flight, and what followed, none of it begun anew.
    let one_answer = answer.starts_with(&seen) && !answer[seen.len()..].contains(opening(&seen));
    report.note(&format!("{provider}: …{} | {}…", tail(&seen), head(&answer[seen.len()..])));
    report.line(&format!("real_model.{provider}.goes_on_by_itself"), by_itself, true, by_itself);
    report.line(&format!("real_model.{provider}.same_answer"), one_answer, true, one_answer);
    server.kill();
    Ok(())
}

/// Stops and continues answers, and looks at where they were joined.
fn seams(report: &mut Report, takes_prefix: bool, count: usize, model_port: u16) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let setup = Setup {
        model: "smollm2-135m-instruct",
        takes_prefix,
        tools: false,
        window_tokens: 4_096,
        ..Setup::at(home.path(), model_port)?
    };
    let client = Client { port: setup.port, token: setup.prepare()? };
    let _server = setup.serve()?;
    let name = if takes_prefix { "prefix" } else { "asked" };
    let (mut grown, mut repaired, mut doubled) = (0, 0, 0);
    for round in 0..count {
        let session = client.create()?;
        let kept = client.post(&session, STORY)?;
        let mut stream = client.follow(&session, kept["turn"].as_u64())?;
        words(&mut stream, 10 + 5 * round)?;
        client.must("POST", &format!("/sessions/{session}/stop"), &json!({}))?;
        let before = text(&newest(&client, &session)?);
        let continued = client.must("POST", &format!("/sessions/{session}/continue"), &json!({}))?;
        let mut stream = client.follow(&session, continued["seq"].as_u64())?;
        let raw = words(&mut stream, 90)?;
        client.ask("POST", &format!("/sessions/{session}/stop"), &json!({}))?;
        let answer = text(&newest(&client, &session)?);
        let after = answer.strip_prefix(&before).context("the shown text is gone")?;
        grown += usize::from(!after.is_empty());
        repaired += usize::from(!after.starts_with(&raw));
        doubled += usize::from(!tail(&before).is_empty() && first(after, 400).contains(last(&before, 24)));
        report.note(&format!("{name}: …{} | {}…", tail(&before), head(after)));
    }
    // Text that may be a comment or a repetition is held back, so a seam that ends early need not show more.
    report.note(&format!(
        "{name}: of {count} seams, {grown} show more text, {repaired} were repaired, {doubled} show a repetition"
    ));
    report.line(&format!("real_model.{name}.seams_with_more_text"), grown, ">0", grown > 0);
    Ok(())
}

/// Reads so many words of an answer, or all of them if it ends before.
fn words(stream: &mut testkit::client::Stream, count: usize) -> anyhow::Result<String> {
    let mut text = String::new();
    while text.split_whitespace().count() < count {
        let Some(event) = stream.event()? else { break };
        match event.happened() {
            Some((kind, body)) if kind == "text_added" => {
                text.push_str(body["text"].as_str().unwrap_or_default());
            }
            Some((kind, _)) if kind == "run_ended" => break,
            _ => {}
        }
    }
    Ok(text)
}

fn first(text: &str, count: usize) -> &str {
    &text[..text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)]
}

fn last(text: &str, count: usize) -> &str {
    &text[text.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at)..]
}

fn newest(client: &Client, session: &str) -> anyhow::Result<Value> {
    let view = client.must("GET", &format!("/sessions/{session}"), &json!({}))?;
    match view["turns"].as_array().and_then(|turns| turns.last()) {
        Some(turn) => Ok(turn.clone()),
        None => bail!("there is no turn"),
    }
}

/// The text of a turn's answer.
fn text(turn: &Value) -> String {
    let parts = turn["answer"]["parts"].as_array().cloned().unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

/// The first words of an answer: if they stood in it again, it would have begun anew.
fn opening(text: &str) -> &str {
    let end = text
        .char_indices()
        .filter(|(_, character)| *character == ' ')
        .nth(5)
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn tail(text: &str) -> String {
    let from = text.char_indices().rev().nth(40).map_or(0, |(at, _)| at);
    text[from..].replace('\n', " ")
}

fn head(text: &str) -> String {
    text.chars().take(40).collect::<String>().replace('\n', " ")
}
