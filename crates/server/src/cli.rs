//! The command line: arguments, help and dispatch. Each command has its own file.

mod backup;
mod client;
mod doctor;
mod export;
mod gateway;
mod init;
mod secret;
mod selftest;
mod send;
mod serve;
mod sessions;
mod tail;
mod talk;
mod terminal;
mod token;
mod user;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use uuid::Uuid;

use crate::config::{self, Config};
use crate::cursor::Cursor;

/// A self-hosted server for AI agent sessions that never loses a turn.
#[derive(Debug, Parser)]
#[command(name = "everturn", version, about)]
pub(crate) struct Everturn {
    /// Path to the configuration file.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// URL of the server; taken from the configuration if omitted.
    #[arg(long, global = true, env = "EVERTURN_URL", value_name = "URL")]
    url: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a configuration by answering three questions.
    Init(init::Init),
    /// Start the server.
    Serve {
        /// Exit together with the parent process, which has this ID.
        #[arg(long, hide = true, value_name = "ID")]
        parent: Option<i32>,
    },
    /// Chat with the agent in this terminal. Ctrl-C stops an answer; press it again to exit.
    #[command(name = "chat")]
    Talk {
        /// Continue this session instead of starting a new one.
        #[arg(long, value_name = "ID")]
        session: Option<Uuid>,
    },
    /// Send one message and stream the answer.
    Send {
        /// Send to this session instead of a new one.
        #[arg(long, value_name = "ID")]
        session: Option<Uuid>,
        /// Exit once the message is saved, without waiting for the answer.
        #[arg(long)]
        no_wait: bool,
        /// The message.
        text: String,
    },
    /// Follow a session's log and print each entry as one line of JSON.
    Tail {
        session: Uuid,
        /// Start after this entry, given as its number or event ID.
        #[arg(long, default_value = "0")]
        after: Cursor,
        /// Exit after printing the entries that exist now.
        #[arg(long)]
        once: bool,
    },
    /// List sessions, most recently active first.
    Sessions {
        /// Maximum number of sessions to list.
        #[arg(long, default_value_t = 20)]
        count: usize,
    },
    /// Clear a session's context and start over. The log and exports keep the old messages.
    Clear {
        session: Uuid,
    },
    /// Replace a session's context with a summary. The transcript doesn't change.
    Compact {
        session: Uuid,
    },
    /// Check configuration, disk, store, models and clock, and suggest fixes.
    Doctor,
    /// Back up the data directory. Safe while the server runs.
    Backup {
        /// Destination; must be new or empty.
        directory: PathBuf,
    },
    /// Restore a backup into an empty data directory.
    Restore {
        /// Directory of the backup.
        backup: PathBuf,
    },
    /// Check the integrity of every session. Changes no session; safe while the server runs.
    Verify,
    /// Set damaged entries aside so that their sessions can continue. Stop the server first.
    Repair,
    Export(export::Export),
    /// Create, list and revoke API tokens.
    #[command(subcommand)]
    Token(token::Token),
    /// Save, list and delete secrets for the server, such as provider API keys.
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Add, list, disable and enable users, and set their passwords.
    #[command(subcommand)]
    User(user::User),
    /// Manage the messaging gateway of the running server.
    #[command(subcommand)]
    Gateway(gateway::Gateway),
    /// Kill a scratch server at random under load and check that it loses nothing.
    Selftest(selftest::Selftest),
}

/// Runs a command and prints its error, if any, to standard error.
pub(crate) fn run(everturn: Everturn) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return terminal::fail(&error.into()),
    };
    let ended = runtime.block_on(dispatch(everturn));
    // Reading a line from the terminal blocks a thread; don't wait for it.
    runtime.shutdown_background();
    match ended {
        Ok(code) => code,
        Err(error) => terminal::fail(&error),
    }
}

async fn dispatch(everturn: Everturn) -> anyhow::Result<ExitCode> {
    let path = everturn.config.unwrap_or_else(config::default_path);
    if let Command::Init(init) = everturn.command {
        return init.run(&path).await;
    }
    let config = Config::load(&path)?;
    let client = || client::Client::new(everturn.url.clone(), &config);
    match everturn.command {
        Command::Init(_) => Ok(ExitCode::SUCCESS),
        Command::Serve { parent } => serve::run(&config, parent).await,
        Command::Talk { session } => talk::run(client()?, session).await,
        Command::Send { session, no_wait, text } => send::run(client()?, session, text, no_wait).await,
        Command::Tail { session, after, once } => tail::run(client()?, session, after, once).await,
        Command::Gateway(gateway) => gateway.run(&client()?).await,
        Command::Sessions { count } => sessions::run(&client()?, count).await,
        Command::Clear { session } => sessions::clear(&client()?, session).await,
        Command::Compact { session } => sessions::compact(&client()?, session).await,
        Command::Doctor => doctor::run(&config, &path).await,
        Command::Backup { directory } => backup::make(&config, &directory),
        Command::Restore { backup } => backup::restore(&config, &backup),
        Command::Verify => verify::run(&config),
        Command::Repair => verify::repair(&config),
        Command::Export(export) => export.run(&client()?).await,
        Command::Token(token) => token.run(&config),
        Command::Secret(secret) => secret.run(&config),
        Command::User(user) => user.run(&config),
        Command::Selftest(selftest) => selftest.run(&config).await,
    }
}
