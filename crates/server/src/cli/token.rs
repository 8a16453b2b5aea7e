//! Creates, lists and revokes API tokens. The server may be running.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use store::people::{Kind, People, Scope};
use uuid::Uuid;

use super::terminal::{plain, remark, say};
use crate::config::{Config, config_directory};
use crate::file::write_private;
use crate::people::{self, by_hand, make_token, named};

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Create a token and print it once.
    New {
        /// Name of the token.
        #[arg(long, default_value = "command line")]
        name: String,
        /// User that the token acts for.
        #[arg(long, default_value = "owner", value_name = "NAME")]
        user: String,
        /// Permissions: `read`, `write` or `manage`, limited to those of the user.
        #[arg(long, default_value = Scope::Manage.as_str())]
        scope: Scope,
        /// Save the token for this command line instead of printing it.
        #[arg(long)]
        save: bool,
    },
    /// List the tokens of all users.
    List,
    /// Revoke a token. Its open connections close within seconds.
    Revoke { id: Uuid },
}

impl Token {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let people = people::open(&config.enter_shared()?)?;
        match self {
            Self::New { name, user, scope, save } => {
                let user = named(&people, &user)?.id;
                let (_, token) = make_token(&people, by_hand(), user, &name, scope, None)?;
                if save { keep(&token)? } else { say(&format!("{token}\n"))? }
            }
            Self::List => list(&people)?,
            Self::Revoke { id } => {
                if !people.revoke(by_hand(), None, Kind::Token, id)? {
                    bail!("token {id} does not exist; `everturn token list` shows all tokens");
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(people: &People) -> anyhow::Result<()> {
    let users = people.users()?;
    for token in people.credentials(None, Kind::Token)? {
        let user = users.iter().find(|user| user.id == token.user).map_or("", |user| &user.name);
        say(&format!("{} {} {} {}\n", token.id, token.scope.as_str(), plain(user), plain(&token.name)))?;
    }
    Ok(())
}

/// Creates a token and saves it for this command line.
pub(crate) fn save_for_command_line(config: &Config, name: &str) -> anyhow::Result<()> {
    let people = people::open(&config.enter_shared()?)?;
    let (_, token) = make_token(&people, by_hand(), session::UserId::FIRST, name, Scope::Manage, None)?;
    keep(&token)
}

fn keep(token: &str) -> anyhow::Result<()> {
    let path = config_directory().join("token");
    write_private(&path, token.as_bytes()).with_context(|| format!("failed to write {}", path.display()))?;
    remark(&format!("Saved a token for this command line to {}.", path.display()));
    Ok(())
}
