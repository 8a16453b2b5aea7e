//! Lists the sessions.

use std::process::ExitCode;

use reqwest::Method;

use super::client::Client;
use super::terminal::{plain, say};

pub(crate) async fn run(client: &Client, count: usize) -> anyhow::Result<ExitCode> {
    let page = client.ask(Method::GET, &format!("/sessions?count={count}"), None).await?;
    for line in page["sessions"].as_array().into_iter().flatten() {
        let time = jiff::Timestamp::from_microsecond(line["active_at"].as_i64().unwrap_or(0))?;
        let going_on = if line["run"].is_null() { " " } else { "*" };
        let title = line["title"].as_str().unwrap_or("(no title)");
        let session = line["session"].as_str().unwrap_or_default();
        say(&format!("{session} {going_on} {}  {}\n", time.strftime("%F %T"), plain(title)))?;
    }
    Ok(ExitCode::SUCCESS)
}
