//! The binary `everturn`: a self-hosted server for AI agent sessions that never loses a turn, and its command line.
//!
//! | file | contents |
//! | --- | --- |
//! | `cli.rs`, `cli/` | the command line |
//! | `config.rs`, `config/` | the configuration file and its environment variables |
//! | `app.rs` | wiring of store, agent, hub and router |
//! | `models.rs`, `models/` | model configuration, requests to providers, connection tests |
//! | `settings.rs` | settings that owners change while the server runs |
//! | `answering.rs` | setup of a run: model, instructions, tools |
//! | `http.rs`, `http/` | the HTTP API and its permissions |
//! | `people.rs` | access to the database of users |
//! | `secret.rs`, `password.rs`, `throttle.rs` | tokens, passwords, limits on failed sign-ins |
//! | `passkeys.rs` | passkeys |
//! | `openid.rs`, `openid/` | sign-in with OpenID Connect |
//! | `ceremonies.rs` | pending passkey and OpenID challenges |
//! | `device.rs` | device names |
//! | `vault.rs` | encrypted secrets for the server's own use |
//! | `redact.rs` | redaction of secrets in log lines |
//! | `uploads.rs` | resumable uploads |
//! | `export.rs`, `export/` | export of sessions to files |
//! | `housekeeping.rs` | expiry of trash and unused uploads |
//! | `tasks.rs`, `upkeep.rs` | backup and verification while the server runs |
//! | `metrics.rs` | metrics |
//! | `telemetry.rs` | OpenTelemetry export |
//! | `supervisor.rs` | systemd notifications |
//! | `tls.rs` | TLS certificates |
//! | `file.rs` | private files |

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

/// Returns freed memory to the system within seconds. After a burst of large answers, glibc's allocator would hold it.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const _: () = assert!(
    !fault::INJECTED || cfg!(debug_assertions),
    "release builds must not contain crash points or mutants; build the server crate alone, not the whole workspace"
);

fn main() -> ExitCode {
    // New files are private to this user.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    // The only TLS provider. Installing it again fails, which is harmless.
    drop(rustls::crypto::ring::default_provider().install_default());
    let command = cli::Everturn::parse();
    cli::run(command)
}
