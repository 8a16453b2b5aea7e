//! Lists, clears and compacts sessions.

use std::process::ExitCode;

use reqwest::Method;
use uuid::Uuid;

use super::client::Client;
use super::terminal::{plain, say};

pub(crate) async fn run(client: &Client, count: usize) -> anyhow::Result<ExitCode> {
    let page = client.ask(Method::GET, &format!("/sessions?count={count}"), None).await?;
    for line in page["sessions"].as_array().into_iter().flatten() {
        let time = jiff::Timestamp::from_microsecond(line["active_at"].as_i64().unwrap_or(0))?;
        let running = if line["run"].is_null() { " " } else { "*" };
        let title = line["title"].as_str().unwrap_or("(no title)");
        let session = line["session"].as_str().unwrap_or_default();
        say(&format!("{session} {running} {}  {}\n", time.strftime("%F %T"), plain(title)))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn clear(client: &Client, session: Uuid) -> anyhow::Result<ExitCode> {
    client.ask(Method::POST, &format!("/sessions/{session}/clear"), None).await?;
    say("Session cleared. The next message starts over; the log and exports keep the old messages.\n")?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn compact(client: &Client, session: Uuid) -> anyhow::Result<ExitCode> {
    client.ask(Method::POST, &format!("/sessions/{session}/compact"), None).await?;
    say("Session compacted. The model now gets a summary; the transcript is unchanged.\n")?;
    Ok(ExitCode::SUCCESS)
}
