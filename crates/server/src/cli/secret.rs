//! Saves, lists and deletes secrets for the server, which may be running.

use std::io::BufRead;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Subcommand;

use super::terminal::{plain, remark, say};
use crate::config::Config;
use crate::people::{self, by_hand};
use crate::vault::{self, Vault};

#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Save a secret from standard input. Replaces the secret of the same name.
    Set { name: String },
    /// List the names of all secrets.
    List,
    /// Delete a secret.
    Remove { name: String },
}

impl Secret {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let people = Arc::new(people::open(&config.enter_shared()?)?);
        match self {
            Self::Set { name } => {
                remark("Enter the secret:");
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).context("failed to read the secret")?;
                let secret = secrecy::zeroize::Zeroizing::new(line);
                let secret = secret.trim();
                if let Err(why) = vault::check(&name, secret) {
                    bail!("{why} The secret was not saved.");
                }
                Vault::open(&config.data, people)?.keep(by_hand(), &name, secret)?;
                remark(&format!("Saved. To use it as a model's API key, set `key_secret = \"{name}\"`."));
            }
            Self::List => {
                for secret in people.secrets()? {
                    say(&format!("{}\n", plain(&secret.name)))?;
                }
            }
            Self::Remove { name } => {
                if !people.remove_secret(by_hand(), &name)? {
                    bail!("secret `{}` does not exist; `everturn secret list` shows all names", plain(&name));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
