//! The released binary on trial, with an independent judge: `trial judge [--full | --postgres]`, `trial campaign --hours N`.

use std::time::Duration;

use anyhow::{Context, bail};
use testkit::Report;
use testkit::crash::child::freeze;
use testkit::crash::disk::{Disk, Tools};
use testkit::dice::Dice;
use testkit::postgres::Postgres;
use testkit::trial::{Judge, Setup, now, progress, scripted_model};

/// Sessions that are played at once.
const SESSIONS: usize = 6;
/// Bytes of the disk that is cut from power.
const DISK_BYTES: u64 = 1024 * 1024 * 1024;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |name: &str| {
        words
            .iter()
            .position(|word| *word == name)
            .and_then(|at| words.get(at + 1))
            .and_then(|word| word.parse().ok())
    };
    let seed: u64 = number("--seed").unwrap_or(1);
    let mut report = Report::default();
    match words.first() {
        Some(&"judge") if words.contains(&"--postgres") => on_postgres(&mut report, seed)?,
        Some(&"judge") => {
            let (kills, cuts) = if words.contains(&"--full") { (500, 200) } else { (60, 40) };
            trial(&mut report, "judge", Until::Count { kills, cuts }, seed)?;
        }
        Some(&"campaign") => {
            let hours: f64 = words
                .iter()
                .position(|word| *word == "--hours")
                .and_then(|at| words.get(at + 1))
                .and_then(|word| word.parse().ok())
                .context("usage: campaign --hours N")?;
            trial(&mut report, "campaign", Until::Time(Duration::from_secs_f64(hours * 3_600.0)), seed)?;
        }
        _ => bail!("usage: trial judge [--full | --postgres] | campaign --hours N"),
    }
    let name = words.first().copied().unwrap_or("trial");
    if !report.verdict(name) {
        std::process::exit(1);
    }
    Ok(())
}

/// Kills of the server, and of the PostgreSQL server behind it.
const POSTGRES_TRIAL: (u64, u64) = (60, 20);

/// The same on PostgreSQL, which is killed as well, and comes back while the server waits for it.
fn on_postgres(report: &mut Report, seed: u64) -> anyhow::Result<()> {
    let mut postgres = Postgres::start()?;
    let home = tempfile::tempdir()?;
    let (_model, model_port) = scripted_model()?;
    let setup = Setup { postgres: Some(postgres.url()), ..Setup::at(home.path(), model_port)? }.judged();
    let token = setup.prepare()?;
    let mut server = setup.serve()?;
    let judge = Judge::start(&setup, &token, &home.path().join("history"), SESSIONS, seed)?;
    let mut dice = Dice::new(seed);
    let (mut kills, mut store_kills) = (0, 0);
    let (mut slowest, begun) = (Duration::ZERO, now());
    while (kills, store_kills) != POSTGRES_TRIAL {
        std::thread::sleep(Duration::from_millis(50 + dice.below(500)));
        if store_kills < POSTGRES_TRIAL.1 && (kills == POSTGRES_TRIAL.0 || dice.chance(25)) {
            postgres.kill()?;
            std::thread::sleep(Duration::from_millis(dice.below(300)));
            postgres.restart()?;
            store_kills += 1;
        } else {
            server.kill();
            kills += 1;
            let starting = now();
            server = setup.serve()?;
            slowest = slowest.max(starting.elapsed());
        }
        progress(&format!("{kills} kills, {store_kills} of PostgreSQL, {} s", begun.elapsed().as_secs()));
    }
    progress("");
    let well = tell(report, "judge-postgres", judge)?;
    report.line("judge-postgres.kills", kills, POSTGRES_TRIAL.0, kills >= POSTGRES_TRIAL.0);
    report.line("judge-postgres.store_kills", store_kills, POSTGRES_TRIAL.1, store_kills >= POSTGRES_TRIAL.1);
    report.note(&format!("slowest start {} ms; {} s in all", slowest.as_millis(), begun.elapsed().as_secs()));
    report.line("judge-postgres.verdict", if well { "sound" } else { "not sound" }, "sound", well);
    server.kill();
    Ok(())
}

/// How long a trial goes on.
#[derive(Debug, Clone, Copy)]
enum Until {
    Count { kills: u64, cuts: u64 },
    Time(Duration),
}

fn trial(report: &mut Report, name: &str, until: Until, seed: u64) -> anyhow::Result<()> {
    let tools = Tools::build()?;
    let disk = Disk::ext4(DISK_BYTES)?;
    let home = tempfile::tempdir()?;
    let (_model, model_port) = scripted_model()?;
    let setup = Setup { data: disk.path().join("data"), ..Setup::at(home.path(), model_port)? }.judged();
    let token = setup.prepare()?;
    let mut server = setup.serve()?;
    let judge = Judge::start(&setup, &token, &home.path().join("history"), SESSIONS, seed)?;
    let mut dice = Dice::new(seed);
    let (mut kills, mut cuts) = (0, 0);
    let mut slowest = Duration::ZERO;
    let begun = now();
    loop {
        let over = match until {
            Until::Count { kills: most_kills, cuts: most_cuts } => kills >= most_kills && cuts >= most_cuts,
            Until::Time(most) => begun.elapsed() >= most,
        };
        if over {
            break;
        }
        std::thread::sleep(Duration::from_millis(50 + dice.below(500)));
        let cut = match until {
            Until::Count { kills: most, cuts: most_cuts } => {
                cuts < most_cuts && (kills >= most || dice.chance(40))
            }
            Until::Time(_) => dice.chance(30),
        };
        if cut {
            // A machine without power does nothing more: the process stands still before its disk is gone.
            freeze(&mut server.0)?;
            disk.cut(&tools)?;
            server.kill();
            disk.power_on()?;
            cuts += 1;
        } else {
            server.kill();
            kills += 1;
        }
        let starting = now();
        server = setup.serve()?;
        slowest = slowest.max(starting.elapsed());
        progress(&format!("{kills} kills, {cuts} power cuts, {} s", begun.elapsed().as_secs()));
    }
    progress("");
    let well = tell(report, name, judge)?;
    report.line(&format!("{name}.kills"), kills, ">0", kills > 0);
    report.line(&format!("{name}.power_cuts"), cuts, ">0", cuts > 0);
    report.note(&format!("slowest start {} ms; {} s in all", slowest.as_millis(), begun.elapsed().as_secs()));
    report.line(&format!("{name}.verdict"), if well { "sound" } else { "not sound" }, "sound", well);
    server.kill();
    Ok(())
}

/// Tells what the judge says; answers whether all was well.
fn tell(report: &mut Report, name: &str, judge: Judge) -> anyhow::Result<bool> {
    let (lines, well) = judge.verdict()?;
    for line in lines {
        if let Some(note) = line.strip_prefix("# ") {
            report.note(note);
        }
        let mut words = line.split(' ');
        if let (Some(figure), Some(value), Some(goal), Some(verdict)) =
            (words.next(), words.next(), words.next(), words.next())
            && let Some(figure) = figure.strip_prefix("judge.")
        {
            report.line(&format!("{name}.{figure}"), value, goal, verdict == "ok");
        }
    }
    Ok(well)
}
