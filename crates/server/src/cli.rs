//! The commands, one file each.

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

/// Conversations with AI agents that never lose a turn.
#[derive(Debug, Parser)]
#[command(name = "everturn", version, about)]
pub(crate) struct Everturn {
    /// The configuration file.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The server to talk to; by default the one of the configuration.
    #[arg(long, global = true, env = "EVERTURN_URL", value_name = "URL")]
    url: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Ask three questions and write the configuration.
    Init(init::Init),
    /// Run the server.
    Serve {
        /// End with the process that started this one, which has this id.
        #[arg(long, hide = true, value_name = "ID")]
        parent: Option<i32>,
    },
    /// Talk to the agent in this terminal. Ctrl-C stops an answer, twice leaves.
    #[command(name = "chat")]
    Talk {
        /// Go on in this session instead of a new one.
        #[arg(long, value_name = "ID")]
        session: Option<Uuid>,
    },
    /// Send one message and print the answer as it comes.
    Send {
        /// Say it in this session instead of a new one.
        #[arg(long, value_name = "ID")]
        session: Option<Uuid>,
        /// Do not wait for the answer.
        #[arg(long)]
        no_wait: bool,
        text: String,
    },
    /// Print what happens in a session, an entry a line, for as long as it goes on.
    Tail {
        session: Uuid,
        /// Begin after this entry, named by its number or by the id of its event.
        #[arg(long, default_value = "0")]
        after: Cursor,
        /// End once everything that happened so far is printed.
        #[arg(long)]
        once: bool,
    },
    /// List the sessions, latest activity first.
    Sessions {
        #[arg(long, default_value_t = 20)]
        count: usize,
    },
    /// Clear a session: it starts over without its messages. Its log and exports keep them.
    Clear {
        session: Uuid,
    },
    /// Compact a session: the model reads a summary of it from now on. The transcript stays.
    Compact {
        session: Uuid,
    },
    /// Look whether everything is set up well: configuration, disk, store, models, clock. Says what to do.
    Doctor,
    /// Copy everything that is kept to a new directory, while the server runs.
    Backup {
        directory: PathBuf,
    },
    /// Make the data directory of a backup. It must be empty.
    Restore {
        backup: PathBuf,
    },
    /// Look whether every session is as it was written. Changes nothing; the server may run.
    Verify,
    /// Set damaged parts aside, so that their sessions go on. The server must be stopped.
    Repair,
    Export(export::Export),
    /// Make, list and revoke tokens.
    #[command(subcommand)]
    Token(token::Token),
    /// Keep, list and remove secrets that the server uses, such as keys of providers.
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Add users, give them passwords, shut them out.
    #[command(subcommand)]
    User(user::User),
    /// The messaging gateway of the running server: how it is, and who is let in.
    #[command(subcommand)]
    Gateway(gateway::Gateway),
    /// Kill a server of its own at random under load, on a scratch store, and prove that nothing is lost.
    Selftest(selftest::Selftest),
}

/// Runs a command; an error is told on standard error.
pub(crate) fn run(everturn: Everturn) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return terminal::fail(&error.into()),
    };
    let ended = runtime.block_on(dispatch(everturn));
    // Nothing is left to do for a line that is being read from the terminal.
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
