//! The binary `everturn`: a server for conversations with AI agents that never loses a turn, and its command line.
//!
//! | file | question |
//! | --- | --- |
//! | `cli.rs`, `cli/` | what can be asked on the command line? |
//! | `config.rs` | what can be set? |
//! | `app.rs` | how are store, agent, hub and router put together? |
//! | `http.rs`, `http/` | what can be asked over HTTP, and who may? |
//! | `token.rs` | who is let in? |

mod app;
mod cli;
mod config;
mod http;
mod spawn;
mod token;

use std::process::ExitCode;

use clap::Parser;

const _: () = assert!(
    !fault::INJECTED || cfg!(debug_assertions),
    "a shipped build has no crash points and no mutants: build it by itself, not with the whole workspace"
);

fn main() -> ExitCode {
    // One TLS provider for everything; a second install only means that it is there.
    drop(rustls::crypto::ring::default_provider().install_default());
    let command = cli::Everturn::parse();
    cli::run(command)
}
