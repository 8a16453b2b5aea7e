//! Many chats at once under the platform's rates: nothing lost, memory flat, hardly slower than the rates allow.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use testkit::Report;
use testkit::telegram::{Limits, Person, Simulator, SimulatorSettings};
use testkit::trial::{Setup, now, progress, scripted_model};

use super::{Server, TELEGRAM_TOKEN, telegram_platform};

pub(super) fn run(report: &mut Report, full: bool) -> anyhow::Result<()> {
    let chats = if full { 1_000 } else { 100 };
    const EACH: usize = 10;
    let home = tempfile::tempdir()?;
    let (_model, model_port) = scripted_model()?;
    let limits = Limits::documented();
    let simulator =
        Simulator::start(SimulatorSettings { limits: Some(limits), ..SimulatorSettings::default() })?;
    let people: Vec<Person> = (0..chats).map(|id| Person::new(10_000 + id, "Anna")).collect();
    let platform = telegram_platform(&simulator, &people);
    let server = Server::new(
        Setup::at(home.path(), model_port)?,
        platform,
        vec![(TELEGRAM_TOKEN, simulator.token())],
    )?;
    let began = now();
    for round in 0..EACH {
        for person in &people {
            simulator.say(person, format!("say 3 of c{}r{round}", person.id).as_str());
        }
    }
    let total = people.len() * EACH;
    let seconds = |count: usize| count as f64 / limits.overall_most as f64 * limits.overall_per.as_secs_f64();
    let allowed = seconds(total);
    let deadline = began + Duration::from_secs_f64(allowed * 4.0 + 60.0);
    let (mut halfway, mut last) = (None, 0);
    loop {
        let whole = simulator.sent().iter().filter(|sent| sent.shown().contains(".3")).count();
        if whole >= total / 2 && halfway.is_none() {
            halfway = Some(server.memory()?);
        }
        if whole >= total {
            break;
        }
        if whole / 500 != last / 500 {
            progress(&format!("{whole} of {total} after {:.0} s", (now() - began).as_secs_f64()));
            last = whole;
        }
        ensure!(now() < deadline, "only {whole} of {total} were answered");
        std::thread::sleep(Duration::from_millis(200));
    }
    let took = (now() - began).as_secs_f64();
    let sent = simulator.sent();
    let mut each: BTreeMap<String, usize> = BTreeMap::new();
    for sent in &sent {
        *each.entry(sent.shown().split('.').next().unwrap_or_default().to_owned()).or_insert(0) += 1;
    }
    let lost = total - each.len().min(total);
    let doubled = each.values().filter(|count| **count > 1).count();
    report.note(&format!(
        "{total} answers in {took:.1} s; the rates allow {allowed:.1} s; {} calls refused",
        simulator.refused_count()
    ));
    report.line("bench-gateway.lost", lost, 0, lost == 0);
    report.line("bench-gateway.doubled", doubled, 0, doubled == 0);
    report.at_most("bench-gateway.beside_what_rates_allow", took / allowed, 1.2, full);
    let grown = server.memory()? as f64 / halfway.unwrap_or(1).max(1) as f64;
    report.line("bench-gateway.memory_end_beside_half", format!("{grown:.2}"), "<=1.3", grown <= 1.3);
    Ok(())
}
