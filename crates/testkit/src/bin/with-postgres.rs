//! Runs a command beside a PostgreSQL server of its own: `with-postgres COMMAND ARGUMENTS…`. The command finds it by
//! `TEST_POSTGRES`.

use std::process::{Command, exit};

use anyhow::Context;
use testkit::postgres::{Postgres, VARIABLE};

fn main() -> anyhow::Result<()> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let (program, arguments) = words.split_first().context("usage: with-postgres COMMAND ARGUMENTS…")?;
    let server = Postgres::start()?;
    let status = Command::new(program).args(arguments).env(VARIABLE, server.url()).status();
    drop(server);
    exit(status.context("run the command")?.code().unwrap_or(1))
}
