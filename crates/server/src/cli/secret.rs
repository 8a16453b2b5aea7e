//! Keeps, lists and removes secrets that the server uses, beside a server that may be running.

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
    /// Keep a secret, read from standard input, in place of what was kept by that name.
    Set { name: String },
    /// List the names.
    List,
    /// Remove a secret.
    Remove { name: String },
}

impl Secret {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let people = Arc::new(people::open(&config.enter_shared()?)?);
        match self {
            Self::Set { name } => {
                remark("The secret:");
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).context("read the secret")?;
                let secret = secrecy::zeroize::Zeroizing::new(line);
                let secret = secret.trim();
                if let Err(why) = vault::check(&name, secret) {
                    bail!("{why} Nothing was changed.");
                }
                Vault::open(&config.data, people)?.keep(by_hand(), &name, secret)?;
                remark(&format!("A model uses it by `key_secret = \"{name}\"`."));
            }
            Self::List => {
                for secret in people.secrets()? {
                    say(&format!("{}\n", plain(&secret.name)))?;
                }
            }
            Self::Remove { name } => {
                if !people.remove_secret(by_hand(), &name)? {
                    bail!("there is no secret `{}`", plain(&name));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
