//! Faults on both platforms while the server is killed again and again; then everything is counted.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;
use serde_json::json;
use testkit::Report;
use testkit::dice::Dice;
use testkit::synapse::{MatrixPerson, Rates, Synapse};
use testkit::telegram::{Fault, FaultPlan, Person, Simulator, SimulatorSettings};
use testkit::trial::{Setup, progress, scripted_model};

use super::{MATRIX_TOKEN, Server, TELEGRAM_TOKEN, matrix_platform, telegram_platform, until};

/// How what is sent again begins.
const MARK: &str = "↻";

/// One message that was said, by its word.
struct Said {
    word: String,
    /// The room, or the chat's number.
    place: String,
}

pub(super) fn run(report: &mut Report, kills: usize) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_model, model_port) = scripted_model()?;
    let synapse = Synapse::start(Rates::Raised)?;
    let (bot, mut anna) = (synapse.person("bot")?, synapse.person("anna")?);
    let simulator =
        Simulator::start(SimulatorSettings { faults: faults(7), ..SimulatorSettings::default() })?;
    let people: Vec<Person> = (1..=6).map(|id| Person::new(1_000 + id, "Anna")).collect();
    let platforms = matrix_platform(&synapse.url(), &[&anna]) + &telegram_platform(&simulator, &people);
    let variables = vec![(MATRIX_TOKEN, bot.token.clone()), (TELEGRAM_TOKEN, simulator.token())];
    let mut server = Server::new(Setup::at(home.path(), model_port)?, platforms, variables)?;
    let rooms: Vec<String> = (0..3).map(|_| anna.room_with(&bot)).collect::<anyhow::Result<_>>()?;
    let mut dice = Dice::new(11);
    let (mut on_matrix, mut on_telegram) = (Vec::new(), Vec::new());
    let (mut number, mut changes) = (0, 0);
    for round in 0..kills {
        progress(&format!("kill {round}"));
        for _ in 0..4 {
            number += 1;
            let word = format!("w{number}w");
            let text = format!("say 3 of {word} pace {}", dice.below(60));
            // Who changes what was said gets one answer all the same.
            let changed = (dice.below(6) == 0).then(|| format!("say 3 of {word} pace 61"));
            changes += usize::from(changed.is_some());
            if dice.below(3) == 0 {
                let room = &rooms[usize::try_from(dice.below(rooms.len() as u64))?];
                let message = anna.say(room, &text)?;
                if let Some(changed) = changed {
                    anna.change(room, &message, &changed)?;
                }
                on_matrix.push(Said { word, place: room.clone() });
            } else {
                let person = &people[usize::try_from(dice.below(people.len() as u64))?];
                let message = simulator.say(person, text.as_str());
                if let Some(changed) = changed {
                    simulator.change(person.id, message, &changed);
                }
                on_telegram.push(Said { word, place: person.id.to_string() });
            }
        }
        std::thread::sleep(Duration::from_millis(200 + dice.below(1_200)));
        server.kill();
        server.start()?;
    }
    simulator.set_faults(FaultPlan::default());
    settle(&server, &simulator, number)?;
    let posted = posted(&server)?;
    let lost_in =
        on_matrix.iter().chain(&on_telegram).filter(|said| !posted.contains_key(&said.word)).count();
    let taken_twice = posted.values().filter(|count| **count > 1).count();
    report.line("judge-gateway.kills", kills, kills, true);
    report.line("judge-gateway.messages", number, number, true);
    report.note(&format!("{changes} of the messages were changed after they were sent"));
    report.line("judge-gateway.inbound_lost", lost_in, 0, lost_in == 0);
    report.line("judge-gateway.taken_twice", taken_twice, 0, taken_twice == 0);
    judge_matrix(report, &anna, &bot, &on_matrix)?;
    judge_telegram(report, &simulator, &on_telegram, &given_up(&server)?);
    for (fault, count) in simulator.fault_counts() {
        report.note(&format!("{fault}: {count}"));
    }
    Ok(())
}

/// Faults of every kind to what a bot sends, and to what it is told.
fn faults(seed: u64) -> FaultPlan {
    let every = [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::CutInAnswer,
        Fault::BrokenBefore(502),
        Fault::BrokenAfter(500),
        Fault::Garbled,
        Fault::Slow(Duration::from_millis(300)),
        Fault::Flood(1),
    ];
    let each = |percent: u64| every.iter().map(|fault| (*fault, percent)).collect();
    FaultPlan { seed, of_messages: each(3), of_polls: each(2), repeated_updates: 10, shuffled_batches: 10 }
}

/// Waits until everything was taken, answered and brought.
fn settle(server: &Server, simulator: &Simulator, messages: usize) -> anyhow::Result<()> {
    until("everything is answered and brought", || {
        let told = server.client.must("GET", "/gateway", &json!({}))?;
        let posted: usize = posted(server)?.values().sum();
        let live = server.sessions()?.iter().any(|session| !session["run"].is_null());
        let done = told["undelivered"] == 0 && simulator.pending() == 0 && posted >= messages && !live;
        if !done {
            bail!(
                "undelivered {}, pending {}, posted {posted} of {messages}",
                told["undelivered"],
                simulator.pending()
            );
        }
        Ok(Some(()))
    })
}

/// How often each word was asked for, over all sessions.
fn posted(server: &Server) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut posted = BTreeMap::new();
    for session in server.sessions()? {
        let id = session["session"].as_str().unwrap_or_default().to_owned();
        let mut before = String::new();
        loop {
            let page =
                server.client.must("GET", &format!("/sessions/{id}/turns?count=50{before}"), &json!({}))?;
            let turns = page["turns"].as_array().cloned().unwrap_or_default();
            for turn in &turns {
                let text = turn["message"]["text"].as_str().unwrap_or_default();
                if let Some(word) = text.split(' ').nth(3) {
                    *posted.entry(word.to_owned()).or_insert(0) += 1;
                }
            }
            let Some(first) = turns.first().filter(|_| turns.len() == 50) else { break };
            before = format!("&before={}", first["turn"]);
        }
    }
    Ok(posted)
}

/// The words whose answer was given up after it was in doubt three times, and how the log tells of it.
fn given_up(server: &Server) -> anyhow::Result<BTreeMap<String, String>> {
    let mut given_up = BTreeMap::new();
    for session in server.sessions()? {
        let mut stream = server.client.follow(session["session"].as_str().unwrap_or_default(), Some(0))?;
        let (mut words, mut turns) = (BTreeMap::new(), BTreeMap::new());
        while let Some(event) = stream.event()? {
            if event.name == "caught_up" {
                break;
            }
            let Some((kind, body)) = event.happened() else { continue };
            match kind.as_str() {
                "message_posted" => {
                    let text = body["message"]["text"].as_str().unwrap_or_default();
                    words.insert(
                        event.id.unwrap_or_default(),
                        text.split(' ').nth(3).unwrap_or_default().to_owned(),
                    );
                }
                "delivery_owed" => drop(turns.insert(body["answer"].as_u64(), body["turn"].as_u64())),
                "delivery_ended" if body["outcome"] != "delivered" => {
                    let turn = turns.get(&body["answer"].as_u64()).copied().flatten().unwrap_or_default();
                    let word = words.get(&turn).cloned().unwrap_or_default();
                    given_up.insert(word, body["outcome"].to_string());
                }
                _ => {}
            }
        }
    }
    Ok(given_up)
}

/// On Matrix there is no excuse: every message is answered by one.
fn judge_matrix(
    report: &mut Report,
    anna: &MatrixPerson,
    bot: &MatrixPerson,
    said: &[Said],
) -> anyhow::Result<()> {
    let (mut missing, mut doubled) = (0, 0);
    for said in said {
        let all = anna.arrived(&said.place, &bot.id)?;
        let with = all.iter().filter(|message| message.text.contains(&format!("{}.", said.word))).count();
        let whole = all.iter().any(|message| message.text.contains(&format!("{}.3", said.word)));
        missing += usize::from(!whole);
        doubled += usize::from(with > 1);
    }
    report.note(&format!("matrix: {} messages", said.len()));
    report.line("judge-gateway.matrix.unanswered", missing, 0, missing == 0);
    report.line("judge-gateway.matrix.answered_twice", doubled, 0, doubled == 0);
    Ok(())
}

/// On Telegram a message whose arrival is in doubt is sent again, and says so.
fn judge_telegram(
    report: &mut Report,
    simulator: &Simulator,
    said: &[Said],
    given_up: &BTreeMap<String, String>,
) {
    let sent = simulator.sent();
    let (mut missing, mut unmarked, mut marked, mut doubtful) = (0, 0, 0, 0);
    for said in said {
        let with: Vec<_> = sent
            .iter()
            .filter(|sent| {
                sent.chat.to_string() == said.place && sent.shown().contains(&format!("{}.", said.word))
            })
            .collect();
        let whole = with.iter().any(|sent| sent.shown().contains(&format!("{}.3", said.word)));
        let plain = with.iter().filter(|sent| !sent.shown().starts_with(MARK)).count();
        // In doubt three times is told, and is no silence.
        let told = given_up.get(&said.word).is_some_and(|outcome| outcome.contains("doubtful"));
        doubtful += usize::from(!whole && told);
        missing += usize::from(!whole && !told);
        unmarked += plain.saturating_sub(1);
        marked += with.len() - plain;
        if !whole || plain > 1 {
            let texts: Vec<&str> = with.iter().map(|sent| sent.shown()).collect();
            report.note(&format!("{}: {:?} {texts:?}", said.word, given_up.get(&said.word)));
        }
    }
    report.note(&format!("telegram: {} messages, {marked} sent again with their mark", said.len()));
    report
        .note(&format!("telegram: {doubtful} given up after being in doubt three times, as their logs tell"));
    report.line("judge-gateway.telegram.unanswered", missing, 0, missing == 0);
    report.line("judge-gateway.telegram.doubled_without_mark", unmarked, 0, unmarked == 0);
}
