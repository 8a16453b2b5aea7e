//! Sends one message and streams the answer.

use std::process::ExitCode;

use uuid::Uuid;

use super::client::Client;
use super::talk::{Shown, Teller, follow_turn};
use super::terminal::{remark, say};

pub(crate) async fn run(
    client: Client,
    session: Option<Uuid>,
    text: String,
    no_wait: bool,
) -> anyhow::Result<ExitCode> {
    let session = match session {
        Some(session) => session,
        None => client.create().await?,
    };
    remark(&format!("session {session}"));
    let kept = client.post(session, &text, "queue").await?;
    let turn = kept["turn"].as_u64().unwrap_or(0);
    if no_wait {
        say(&format!("{kept}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut teller = Teller::new(turn);
    match follow_turn(&client, session, turn, &mut teller).await? {
        Shown::Completed => Ok(ExitCode::SUCCESS),
        Shown::NotCompleted => Ok(ExitCode::FAILURE),
    }
}
