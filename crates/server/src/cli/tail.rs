//! Prints a session's entries as they are written, one per line. Reconnects when the server restarts.

use std::process::ExitCode;

use uuid::Uuid;

use crate::cursor::Cursor;

use super::client::{Client, Pause};
use super::terminal::{escaped, remark, say};

pub(crate) async fn run(
    client: Client,
    session: Uuid,
    after: Cursor,
    once: bool,
) -> anyhow::Result<ExitCode> {
    let mut cursor = after;
    let mut pause = Pause::default();
    loop {
        match client.follow(session, cursor).await {
            Ok(mut events) => {
                while let Some(event) = events.next().await {
                    pause = Pause::default();
                    match (event.name.as_str(), event.id) {
                        ("entry", Some(id)) => {
                            say(&format!("{}\n", escaped(&event.data)))?;
                            cursor = id;
                        }
                        ("caught_up", _) if once => return Ok(ExitCode::SUCCESS),
                        _ => {}
                    }
                }
            }
            Err(error) if error.is_passing() => {
                if pause.tries == 0 {
                    remark(&format!("{error}; retrying"));
                }
            }
            Err(error) => return Err(error.into()),
        }
        pause.wait().await;
    }
}
