//! Manages the messaging gateway of a running server: status, senders and chats.

use std::process::ExitCode;

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::Client;
use super::terminal::{plain, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Gateway {
    /// Show the status of each platform, pending replies and approved senders.
    Status,
    /// List senders who wait for approval.
    Pair,
    /// Approve the sender with this pairing code.
    Approve { code: String },
    /// Remove an approved sender, by their ID on the platform.
    Remove { platform: String, peer: String },
    /// Test the connection to a platform and show the account's name.
    Test { platform: String },
    /// List the chats that are bound to your sessions.
    Chats,
    /// Suspend a chat: its next message starts a new session.
    Suspend { chat: String },
    /// Resume a chat: its next message continues in its session.
    Resume { chat: String },
    /// Bind a chat to another of your sessions: its next message continues there.
    Bind { chat: String, session: String },
    /// Clear the interruption mark of a chat.
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
                    "approved {} ({}) on {}\n",
                    text(&peer, "name"),
                    text(&peer, "peer"),
                    text(&peer, "platform")
                ))?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Remove { platform, peer } => {
                let body = json!({ "platform": platform, "peer": peer });
                client.ask(Method::POST, "/gateway/remove", Some(&body)).await?;
                say(&format!("removed {peer} from {platform}\n"))?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Test { platform } => {
                let tested = client.ask(Method::POST, &format!("/gateway/test/{platform}"), None).await?;
                if let Some(account) = tested["account"].as_str() {
                    say(&format!("{platform} is connected as {}\n", plain(account)))?;
                    return Ok(ExitCode::SUCCESS);
                }
                say(&format!("{platform} is not working: {}\n", text(&tested, "problem")))?;
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

/// Returns a field as text that is safe for a terminal.
fn text(value: &Value, name: &str) -> String {
    plain(value[name].as_str().unwrap_or_default())
}

fn lines<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

async fn status(client: &Client) -> anyhow::Result<ExitCode> {
    let told = client.ask(Method::GET, "/gateway", None).await?;
    if lines(&told, "platforms").is_empty() {
        say("No platforms. See docs/messaging.md for how to add one.\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    for platform in lines(&told, "platforms") {
        let reason =
            platform["reason"].as_str().map_or(String::new(), |reason| format!(": {}", plain(reason)));
        say(&format!(
            "{} ({}) {}{reason}; received {}, sent {}, resent {}\n",
            text(platform, "name"),
            text(platform, "kind"),
            text(platform, "state"),
            platform["received"],
            platform["sent"],
            platform["repeated"],
        ))?;
    }
    say(&format!("sessions with pending replies: {}\n", told["undelivered"]))?;
    for peer in lines(&told, "peers") {
        say(&format!(
            "approved: {} ({}) on {}\n",
            text(peer, "name"),
            text(peer, "peer"),
            text(peer, "platform")
        ))?;
    }
    let waiting = lines(&told, "strangers").len();
    if waiting > 0 {
        say(&format!("pending requests: {waiting}; run `everturn gateway pair` to list them\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn chats(client: &Client) -> anyhow::Result<ExitCode> {
    let told = client.ask(Method::GET, "/chats", None).await?;
    if lines(&told, "chats").is_empty() {
        say("No chats are bound to your sessions.\n")?;
    }
    for chat in lines(&told, "chats") {
        say(&line_of(chat))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Changes a chat and prints its new state.
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
        say("No pending requests.\n")?;
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
        say("Ask the sender for their pairing code and run `everturn gateway approve CODE`.\n")?;
    }
    Ok(ExitCode::SUCCESS)
}
