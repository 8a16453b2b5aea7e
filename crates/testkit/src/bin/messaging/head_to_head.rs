//! A turn running, two follow-ups waiting, one message sent while the server is down, on a real Synapse.

use serde_json::{Value, json};
use testkit::Report;
use testkit::synapse::{MatrixPerson, Rates, Synapse};
use testkit::trial::{Setup, progress, scripted_model};

use super::{MATRIX_TOKEN, Server, matrix_platform, until};

/// The ways in which a turn, its followers and a message from meanwhile are cut.
const WAYS: [(&str, Way); 3] =
    [("sigterm", Way::Stop), ("kill_9", Way::Kill), ("synapse_restart", Way::PlatformRestart)];

#[derive(Clone, Copy)]
enum Way {
    Stop,
    Kill,
    PlatformRestart,
}

/// Every message is answered once, in order, whichever way the turn is cut.
pub(super) fn run(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_model, model_port) = scripted_model()?;
    let mut synapse = Synapse::start(Rates::Raised)?;
    let (bot, mut anna) = (synapse.person("bot")?, synapse.person("anna")?);
    let setup = Setup::at(home.path(), model_port)?;
    let platform = matrix_platform(&synapse.url(), &[&anna]);
    let mut server = Server::new(setup, platform, vec![(MATRIX_TOKEN, bot.token.clone())])?;
    // One room for all: a homeserver lets nobody make many.
    let room = anna.room_with(&bot)?;
    until("the bot joins", || {
        let events = anna.events(&room)?;
        let joined =
            |event: &Value| event["state_key"] == bot.id.as_str() && event["content"]["membership"] == "join";
        Ok(events.iter().any(joined).then_some(()))
    })?;
    for (name, way) in WAYS {
        let (mut answered, mut wrong) = (0, Vec::new());
        for round in 0..rounds {
            progress(&format!("{name} {round}"));
            let found = one_round(
                &mut server,
                &mut synapse,
                (&bot, &mut anna, &room),
                way,
                &format!("{name}{round}x"),
            )?;
            answered += found.answered;
            wrong.extend(found.wrong);
        }
        for wrong in wrong.iter().take(5) {
            report.note(wrong);
        }
        let sent = rounds * 4;
        report.line(&format!("head-to-head.{name}.answered_once"), answered, sent, answered == sent);
        report.line(&format!("head-to-head.{name}.out_of_order"), wrong.len(), 0, wrong.is_empty());
    }
    Ok(())
}

struct Round {
    answered: usize,
    wrong: Vec<String>,
}

fn one_round(
    server: &mut Server,
    synapse: &mut Synapse,
    (bot, anna, room): (&MatrixPerson, &mut MatrixPerson, &str),
    way: Way,
    name: &str,
) -> anyhow::Result<Round> {
    let words: Vec<String> =
        ["running", "first", "second", "meanwhile"].iter().map(|word| format!("{name}{word}")).collect();
    let ends: Vec<String> = [(0, 60), (1, 2), (2, 2), (3, 2)]
        .iter()
        .map(|(at, count)| format!("{}.{count}", words[*at]))
        .collect();
    anna.say(room, &format!("say 60 of {} pace 30", words[0]))?;
    until("the turn runs", || {
        Ok(anna.arrived(room, &bot.id)?.iter().any(|message| message.text.contains(&words[0])).then_some(()))
    })?;
    for word in &words[1..3] {
        anna.say(room, &format!("say 2 of {word}"))?;
    }
    until("both wait", || {
        let live = server.sessions()?.into_iter().find(|session| !session["run"].is_null());
        let Some(live) = live else { return Ok(None) };
        let path = format!("/sessions/{}", live["session"].as_str().unwrap_or_default());
        let view = server.client.must("GET", &path, &json!({}))?;
        Ok((view["queue"].as_array().map_or(0, Vec::len) == 2).then_some(()))
    })?;
    let meanwhile = format!("say 2 of {}", words[3]);
    match way {
        Way::Stop => {
            server.stop()?;
            anna.say(room, &meanwhile)?;
            server.start()?;
        }
        Way::Kill => {
            server.kill();
            anna.say(room, &meanwhile)?;
            server.start()?;
        }
        Way::PlatformRestart => {
            synapse.restart()?;
            anna.say(room, &meanwhile)?;
        }
    }
    until("all are answered", || {
        let all = anna.arrived(room, &bot.id)?;
        Ok(ends.iter().all(|end| all.iter().any(|message| message.text.contains(end.as_str()))).then_some(()))
    })?;
    until("nothing is owed", || {
        let told = server.client.must("GET", "/gateway", &json!({}))?;
        Ok((told["undelivered"] == 0).then_some(()))
    })?;
    let all = anna.arrived(room, &bot.id)?;
    let of = |word: &str| all.iter().positions(&format!("{word}."));
    let places: Vec<Vec<usize>> = words.iter().map(|word| of(word)).collect();
    let answered = places.iter().filter(|places| places.len() == 1).count();
    let order: Vec<usize> = places.iter().filter_map(|places| places.first().copied()).collect();
    let mut wrong = Vec::new();
    if !order.is_sorted() || answered != 4 {
        let texts: Vec<&str> = all.iter().map(|message| message.text.as_str()).collect();
        wrong.push(format!("{name}: {places:?} {texts:?}"));
    }
    Ok(Round { answered, wrong })
}

trait Positions {
    /// Where messages hold a text.
    fn positions(self, text: &str) -> Vec<usize>;
}

impl<'a, I: Iterator<Item = &'a testkit::synapse::Arrived>> Positions for I {
    fn positions(self, text: &str) -> Vec<usize> {
        self.enumerate().filter(|(_, message)| message.text.contains(text)).map(|(at, _)| at).collect()
    }
}
