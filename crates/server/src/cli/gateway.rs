//! The messaging gateway of a running server: how it is, and who is let in.

use std::process::ExitCode;

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::Client;
use super::terminal::{plain, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Gateway {
    /// Tell how the platforms are, and who is let in.
    Status,
    /// List strangers who asked to be let in.
    Pair,
    /// Let the stranger in who was told this code.
    Approve { code: String },
    /// Shut somebody out, by the platform's own id.
    Remove { platform: String, peer: String },
    /// Ask a platform who its account is there.
    Test { platform: String },
    /// List the chats that speak in your sessions.
    Chats,
    /// Suspend a chat: its next message begins a new session.
    Suspend { chat: String },
    /// Resume a chat: its next message continues in its session.
    Resume { chat: String },
    /// Bind a chat to another of your sessions: its next message continues there.
    Bind { chat: String, session: String },
    /// Clear the mark that an interruption left on a chat.
    Clear { chat: String },
}

impl Gateway {
    pub(crate) async fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        match self {
            Self::Status => status(client).await,
            Self::Pair => pair(client).await,
            Self::Approve { code } => {
                let peer =
                    client.ask(Method::POST, "/gateway/approve", Some(&json!({ "code": code }))).await?;
                say(&format!(
                    "{} ({}) is let in on {}\n",
                    text(&peer, "name"),
                    text(&peer, "peer"),
                    text(&peer, "platform")
                ))?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Remove { platform, peer } => {
                let body = json!({ "platform": platform, "peer": peer });
                client.ask(Method::POST, "/gateway/remove", Some(&body)).await?;
                say(&format!("{peer} is shut out of {platform}\n"))?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Test { platform } => {
                let tested = client.ask(Method::POST, &format!("/gateway/test/{platform}"), None).await?;
                if let Some(account) = tested["account"].as_str() {
                    say(&format!("{platform} knows this account as {}\n", plain(account)))?;
                    return Ok(ExitCode::SUCCESS);
                }
                say(&format!("{platform} does not answer well: {}\n", text(&tested, "problem")))?;
                Ok(ExitCode::FAILURE)
            }
            Self::Chats => chats(client).await,
            Self::Suspend { chat } => change(client, "suspend", &json!({ "chat": chat })).await,
            Self::Resume { chat } => change(client, "resume", &json!({ "chat": chat })).await,
            Self::Bind { chat, session } => {
                change(client, "bind", &json!({ "chat": chat, "session": session })).await
            }
            Self::Clear { chat } => change(client, "clear", &json!({ "chat": chat })).await,
        }
    }
}

/// A field that somebody else may have chosen, fit for a terminal.
fn text(value: &Value, name: &str) -> String {
    plain(value[name].as_str().unwrap_or_default())
}

fn lines<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

async fn status(client: &Client) -> anyhow::Result<ExitCode> {
    let told = client.ask(Method::GET, "/gateway", None).await?;
    if lines(&told, "platforms").is_empty() {
        say("There is no platform. `docs/messaging.md` tells how to add one.\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    for platform in lines(&told, "platforms") {
        let reason =
            platform["reason"].as_str().map_or(String::new(), |reason| format!(": {}", plain(reason)));
        say(&format!(
            "{} ({}) {}{reason}; received {}, sent {}, sent again {}\n",
            text(platform, "name"),
            text(platform, "kind"),
            text(platform, "state"),
            platform["received"],
            platform["sent"],
            platform["repeated"],
        ))?;
    }
    say(&format!("sessions that owe an answer: {}\n", told["undelivered"]))?;
    for peer in lines(&told, "peers") {
        say(&format!(
            "let in: {} ({}) on {}\n",
            text(peer, "name"),
            text(peer, "peer"),
            text(peer, "platform")
        ))?;
    }
    let waiting = lines(&told, "strangers").len();
    if waiting > 0 {
        say(&format!("{waiting} wait to be let in; `everturn gateway pair` lists them\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn chats(client: &Client) -> anyhow::Result<ExitCode> {
    let told = client.ask(Method::GET, "/chats", None).await?;
    if lines(&told, "chats").is_empty() {
        say("No chat belongs to your sessions yet.\n")?;
    }
    for chat in lines(&told, "chats") {
        say(&line_of(chat))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Changes a chat and says how it is then.
async fn change(client: &Client, what: &str, body: &Value) -> anyhow::Result<ExitCode> {
    let chat = client.ask(Method::POST, &format!("/chats/{what}"), Some(body)).await?;
    say(&line_of(&chat))?;
    Ok(ExitCode::SUCCESS)
}

fn line_of(chat: &Value) -> String {
    let suspended = if chat["suspended"] == true { ", suspended" } else { "" };
    let resume = chat["resume"]["reason"].as_str();
    let marked = resume.map_or(String::new(), |reason| format!(", interrupted ({})", plain(reason)));
    format!("{} in session {}{suspended}{marked}\n", text(chat, "chat"), text(chat, "session"))
}

async fn pair(client: &Client) -> anyhow::Result<ExitCode> {
    let told = client.ask(Method::GET, "/gateway", None).await?;
    let strangers = lines(&told, "strangers");
    if strangers.is_empty() {
        say("Nobody waits to be let in.\n")?;
    }
    for stranger in strangers {
        say(&format!(
            "{} ({}) on {}\n",
            text(stranger, "name"),
            text(stranger, "peer"),
            text(stranger, "platform")
        ))?;
    }
    if !strangers.is_empty() {
        say("`everturn gateway approve CODE` lets in who was told that code.\n")?;
    }
    Ok(ExitCode::SUCCESS)
}
