//! The command line of the workspace's own targets: `xtask house`, `xtask prose`,
//! `xtask contract [--bite] [MUTANT...]`.

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (target, rest) = match arguments.split_first() {
        Some((target, rest)) => (target.as_str(), rest),
        None => ("", arguments.as_slice()),
    };
    match target {
        "house" => xtask::house::run(),
        "contract" => xtask::contract::run(rest),
        "prose" => xtask::prose::lower().map(|()| ExitCode::SUCCESS),
        other => {
            anyhow::bail!("unknown target `{other}`: use `house`, `prose` or `contract [--bite] [MUTANT...]`")
        }
    }
}
