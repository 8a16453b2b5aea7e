//! The binary `everturn`: a server for conversations with AI agents that never loses a turn, and its command line.
//!
//! | file | question |
//! | --- | --- |
//! | `cli.rs`, `cli/` | what can be asked on the command line? |
//! | `config.rs`, `config/` | what can be set? |
//! | `app.rs` | how are store, agent, hub and router put together? |
//! | `models.rs`, `models/` | which models are offered, how is each asked, and does it answer? |
//! | `settings.rs` | what can be changed while the server runs? |
//! | `answering.rs` | with what does a run begin? |
//! | `http.rs`, `http/` | what can be asked over HTTP, and who may? |
//! | `people.rs` | where are the people of a server kept? |
//! | `secret.rs`, `password.rs`, `throttle.rs` | what opens the gate, and how often may one be wrong? |
//! | `passkeys.rs` | how does a device prove whose it is? |
//! | `openid.rs`, `openid/` | how does a provider of identities say who somebody is? |
//! | `ceremonies.rs` | what was begun with a browser, and is to be finished by it once? |
//! | `device.rs` | what is a device called? |
//! | `vault.rs` | how are secrets kept that the server uses? |
//! | `redact.rs` | what is never written to the log of the process? |
//! | `uploads.rs` | which files are on their way in? |
//! | `export.rs`, `export/` | how does a session leave as a file? |
//! | `housekeeping.rs` | what is removed when its time has come? |
//! | `tasks.rs`, `upkeep.rs` | how are backups made and logs verified beside serving? |
//! | `metrics.rs` | which figures does a server tell? |
//! | `telemetry.rs` | what is a collector told? |
//! | `supervisor.rs` | what is the supervisor of the machine told? |
//! | `tls.rs` | by which certificate is the server known? |
//! | `file.rs` | which files may only their owner read? |

mod answering;
mod app;
mod ceremonies;
mod cli;
mod config;
mod cursor;
mod device;
mod excerpt;
mod export;
mod file;
mod housekeeping;
mod http;
mod messaging;
mod metrics;
mod models;
mod openid;
mod passkeys;
mod password;
mod people;
mod redact;
mod samples;
mod secret;
mod settings;
mod spawn;
mod supervisor;
mod tasks;
mod telemetry;
mod throttle;
mod tls;
mod upkeep;
mod uploads;
mod vault;

use std::process::ExitCode;

use clap::Parser;
use tikv_jemallocator::Jemalloc;

/// Returns freed memory to the system within seconds. The allocator of glibc keeps it after a burst of large answers.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const _: () = assert!(
    !fault::INJECTED || cfg!(debug_assertions),
    "a shipped build has no crash points and no mutants: build it by itself, not with the whole workspace"
);

fn main() -> ExitCode {
    // What is written here is for nobody else's eyes.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    // One TLS provider for everything; a second install only means that it is there.
    drop(rustls::crypto::ring::default_provider().install_default());
    let command = cli::Everturn::parse();
    cli::run(command)
}
