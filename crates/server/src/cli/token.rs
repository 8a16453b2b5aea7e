//! Makes tokens, beside a server that may be running.

use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

use super::terminal::{remark, say};
use crate::config::{Config, config_directory};
use crate::token::{Tokens, make_private, write_private};

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and show it this once.
    New {
        /// What it is for.
        #[arg(long, default_value = "command line")]
        name: String,
        /// Save it for this command line instead of showing it.
        #[arg(long)]
        save: bool,
    },
}

impl Token {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let Self::New { name, save } = self;
        if save {
            save_for_command_line(config, &name)?;
        } else {
            make_private(&config.data)?;
            say(&format!("{}\n", Tokens::open(&config.data)?.make(&name)?))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes a token and keeps it where this command line finds it.
pub(crate) fn save_for_command_line(config: &Config, name: &str) -> anyhow::Result<()> {
    make_private(&config.data).with_context(|| format!("make {}", config.data.display()))?;
    let token = Tokens::open(&config.data)?.make(name)?;
    let path = config_directory().join("token");
    write_private(&path, token.as_bytes()).with_context(|| format!("write {}", path.display()))?;
    remark(&format!("A token for this command line is in {}.", path.display()));
    Ok(())
}
