//! Planned restarts, shutdowns and crashes under answers that chats and a browser wait for: every answer finishes by itself,
//! in the same message, with every word once. Half of it with a model that takes no prefix and continues badly.

use std::time::Duration;

use anyhow::Context;
use judge::shown::{self, ShownAnswer, will_resume};
use judge::verify::Judgement;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use testkit::Report;
use testkit::dice::Dice;
use testkit::synapse::{MatrixPerson, Rates, Synapse};
use testkit::telegram::{Person, Simulator, SimulatorSettings};
use testkit::trial::{Setup, now, progress, scripted_model};
use uuid::Uuid;

use super::{MATRIX_TOKEN, Server, TELEGRAM_TOKEN, matrix_platform, telegram_platform, until};

/// Seconds that runs have to end when the server is asked to stop.
const DRAIN_SECONDS: u64 = 1;
/// Crashes without output after which a session no longer resumes by itself.
const CRASHES: usize = 3;

/// How much of it.
pub(super) struct Size {
    pub(super) stops: usize,
    /// Restarts under one long answer.
    pub(super) deploys: usize,
    pub(super) apart: Duration,
    /// Factor by which a stop may exceed its limit: 2 on shared machines.
    pub(super) patience: f64,
}

/// How often an answer that still grows is waited for again.
const GROWING_MAX: usize = 20;

/// How the server is stopped.
const WAYS: [Way; 3] = [Way::Restart, Way::Shutdown, Way::Kill];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Restart,
    Shutdown,
    Kill,
}

/// Where in an answer it happens.
const PLACES: [Place; 3] = [Place::Text, Place::Reasoning, Place::BetweenSteps];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Reasoning,
    BetweenSteps,
}

#[derive(Default)]
struct Sums {
    judgement: Judgement,
    answers: usize,
    finished: usize,
    in_chats: usize,
    in_one_message: usize,
    chat_words_wrong: usize,
    notices_twice: usize,
    sessions_more: usize,
    interruptions: u64,
    stop_seconds: f64,
    deployed: usize,
    suspended: usize,
    told: usize,
    wrong: Vec<String>,
}

pub(super) fn run(report: &mut Report, size: &Size) -> anyhow::Result<()> {
    let synapse = Synapse::start(Rates::Raised)?;
    let mut anna = synapse.person("anna")?;
    let simulator = Simulator::start(SimulatorSettings::default())?;
    let mut sums = Sums::default();
    for (half, takes_prefix) in [true, false].into_iter().enumerate() {
        let mut world = World::start(half, takes_prefix, (&synapse, &mut anna), &simulator)?;
        let (from, to) =
            (half * size.stops.div_ceil(2), ((half + 1) * size.stops.div_ceil(2)).min(size.stops));
        for round in from..to {
            let (way, place) = (WAYS[round % 3], PLACES[round / 3 % 3]);
            progress(&format!("stop {} of {}: {way:?} in {place:?}", round + 1, size.stops));
            world.stop_under_answers(round, way, place, &mut sums)?;
        }
        progress("deploys under one answer");
        world.deploy_under_one_answer(size, &mut sums)?;
        progress("crashes without output");
        world.crash_without_output(&mut sums)?;
        world.count_sessions(&mut sums)?;
    }
    tell(report, size, &sums);
    Ok(())
}

fn tell(report: &mut Report, size: &Size, sums: &Sums) {
    for wrong in sums.wrong.iter().take(8) {
        report.note(wrong);
    }
    for violation in sums.judgement.violations.iter().take(8) {
        report.note(&violation.what);
    }
    let happened = |what: &str| sums.judgement.happened.get(what).copied().unwrap_or(0);
    report.note(&format!(
        "{} answers were interrupted {} times; {} words shown, {} seams of a model that takes no prefix",
        sums.answers,
        sums.interruptions,
        happened("words shown"),
        happened("seams repaired"),
    ));
    report.line("restarts.stops", size.stops, size.stops, true);
    report.line("restarts.interrupted", sums.interruptions, ">0", sums.interruptions > 0);
    report.line("restarts.finished_by_itself", sums.finished, sums.answers, sums.finished == sums.answers);
    for what in ["words missing", "words doubled", "words foreign"] {
        let count = happened(what);
        report.line(&format!("restarts.{}", what.replace(' ', "_")), count, 0, count == 0);
    }
    let wrong = sums.chat_words_wrong;
    report.line("restarts.chat_words_wrong", wrong, 0, wrong == 0);
    let one = sums.in_one_message == sums.in_chats;
    report.line("restarts.messages_per_answer", if one { "1" } else { "more" }, 1, one);
    report.line("restarts.told_twice", sums.notices_twice, 0, sums.notices_twice == 0);
    let more = sums.sessions_more;
    report.line("restarts.suspended_although_it_moved", more, 0, more == 0);
    let most = (DRAIN_SECONDS + 1) as f64 * size.patience;
    let in_time = sums.stop_seconds <= most;
    report.line(
        "restarts.stop_seconds_max",
        format!("{:.2}", sums.stop_seconds),
        format!("<={most}"),
        in_time,
    );
    let deploys = 2 * size.deploys;
    report.line("restarts.deploys_under_one_answer", sums.deployed, deploys, sums.deployed == deploys);
    report.line("restarts.suspended_after_idle_crashes", sums.suspended, 2, sums.suspended == 2);
    report.line("restarts.told_how_to_continue", sums.told, 2, sums.told == 2);
}

/// A server with one chat on each platform and one session of a browser.
struct World<'a> {
    half: usize,
    loose: bool,
    server: Server,
    simulator: &'a Simulator,
    bot: MatrixPerson,
    anna: &'a mut MatrixPerson,
    room: String,
    person: Person,
    browser: String,
    dice: Dice,
    _model: testkit::trial::Process,
    _home: tempfile::TempDir,
}

/// An answer that someone waits for, by the word it is made of.
struct Awaited {
    tag: String,
    /// Where it is read.
    session: String,
    words: u64,
    chat: Option<Chat>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chat {
    Matrix,
    Telegram,
}

impl<'a> World<'a> {
    fn start(
        half: usize,
        takes_prefix: bool,
        (synapse, anna): (&Synapse, &'a mut MatrixPerson),
        simulator: &'a Simulator,
    ) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let bot = synapse.person(&format!("bot{half}"))?;
        let (model, model_port) = scripted_model()?;
        let person = Person::new(2_000 + i64::try_from(half)?, "Anna");
        let mut setup = Setup::at(home.path(), model_port)?;
        setup.takes_prefix = takes_prefix;
        setup.drain_seconds = DRAIN_SECONDS;
        let platforms = matrix_platform(&synapse.url(), &[anna])
            + &telegram_platform(simulator, std::slice::from_ref(&person));
        let variables = vec![(MATRIX_TOKEN, bot.token.clone()), (TELEGRAM_TOKEN, simulator.token())];
        let server = Server::new(setup, platforms, variables)?;
        let room = anna.room_with(&bot)?;
        until("the bot joins", || {
            let joined = |event: &Value| {
                event["state_key"] == bot.id.as_str() && event["content"]["membership"] == "join"
            };
            Ok(anna.events(&room)?.iter().any(joined).then_some(()))
        })?;
        let browser = server.client.create()?;
        let dice = Dice::new(half as u64 + 5);
        let (loose, _model, _home) = (!takes_prefix, model, home);
        Ok(Self { half, loose, server, simulator, bot, anna, room, person, browser, dice, _model, _home })
    }

    /// Asks in both chats and in the browser, each with a word of its own.
    fn ask(&mut self, name: &str, words: u64, how: &str) -> anyhow::Result<Vec<Awaited>> {
        let loose = match self.loose {
            true if self.dice.chance(50) => " loose code",
            true => " loose",
            false => "",
        };
        let mut awaited = Vec::new();
        for (letter, chat) in [("m", Some(Chat::Matrix)), ("t", Some(Chat::Telegram)), ("b", None)] {
            let tag = format!("{name}{letter}");
            let text = format!("say {words} of {tag} {how}{loose}");
            self.say(chat, &text)?;
            let session = match chat {
                None => self.browser.clone(),
                Some(_) => self.session_with(&tag)?,
            };
            awaited.push(Awaited { tag, session, words, chat });
        }
        Ok(awaited)
    }

    fn say(&mut self, chat: Option<Chat>, text: &str) -> anyhow::Result<()> {
        match chat {
            None => drop(self.server.client.post(&self.browser, text)?),
            Some(Chat::Matrix) => drop(self.anna.say(&self.room, text)?),
            Some(Chat::Telegram) => drop(self.simulator.say(&self.person, text)),
        }
        Ok(())
    }

    /// The session whose newest turn is about a word.
    fn session_with(&self, tag: &str) -> anyhow::Result<String> {
        until("the message arrives", || {
            for session in self.server.sessions()? {
                let id = session["session"].as_str().unwrap_or_default().to_owned();
                let last = self.newest(&id)?;
                let text = last["message"]["text"].as_str().unwrap_or_default();
                if text.split(' ').any(|word| word == tag) {
                    return Ok(Some(id));
                }
            }
            Ok(None)
        })
    }

    fn view(&self, session: &str) -> anyhow::Result<Value> {
        self.server.client.must("GET", &format!("/sessions/{session}"), &json!({}))
    }

    /// The newest turn of a session.
    fn newest(&self, session: &str) -> anyhow::Result<Value> {
        let view = self.view(session)?;
        Ok(view["turns"].as_array().and_then(|turns| turns.last()).cloned().unwrap_or_default())
    }

    fn stop(&mut self, way: Way, sums: &mut Sums) -> anyhow::Result<()> {
        let begun = now();
        match way {
            Way::Kill => self.server.kill(),
            Way::Restart => self.server.stop_by(Signal::SIGHUP)?,
            Way::Shutdown => self.server.stop_by(Signal::SIGTERM)?,
        }
        if way != Way::Kill {
            sums.stop_seconds = sums.stop_seconds.max((now() - begun).as_secs_f64());
        }
        self.server.start()
    }

    fn stop_under_answers(
        &mut self,
        round: usize,
        way: Way,
        place: Place,
        sums: &mut Sums,
    ) -> anyhow::Result<()> {
        let name = format!("h{}r{round}", self.half);
        let notices = self.notices()?;
        let awaited = match place {
            Place::Text => self.ask(&name, 220, "pace 15")?,
            Place::Reasoning => self.ask(&name, 30, "think 160 pace 15")?,
            Place::BetweenSteps => self.ask(&name, 30, "call wait 2500 pace 10")?,
        };
        let far = 8 + self.dice.below(60);
        for one in &awaited {
            until("the answer is under way", || {
                let turn = self.newest(&one.session)?;
                Ok(has_come(&turn, one, place, far).then_some(()))
            })?;
        }
        self.stop(way, sums)?;
        self.judge(&awaited, sums)?;
        let told = self.notices()? - notices;
        // One notice in each of the two chats, once the server is back.
        sums.notices_twice += told.saturating_sub(2);
        Ok(())
    }

    /// Notices in both chats that an answer is resumed.
    fn notices(&self) -> anyhow::Result<usize> {
        let matrix = self.anna.arrived(&self.room, &self.bot.id)?;
        let matrix = matrix.iter().filter(|message| message.text.starts_with('▶')).count();
        let telegram = self.simulator.sent();
        let telegram = telegram.iter().filter(|sent| sent.chat == self.person.id);
        Ok(matrix + telegram.filter(|sent| sent.shown().starts_with('▶')).count())
    }

    /// Waits for answers, and looks at what readers and chats got.
    fn judge(&mut self, awaited: &[Awaited], sums: &mut Sums) -> anyhow::Result<()> {
        for one in awaited {
            sums.answers += 1;
            let finish = || {
                until("the answer finishes by itself", || {
                    let view = self.view(&one.session)?;
                    let turn = self.newest(&one.session)?;
                    let over = view["run"].is_null() && !will_resume(&view);
                    Ok(over.then_some(turn))
                })
            };
            // A slow answer has time for as long as it grows.
            let (mut finished, mut length) = (finish(), 0);
            for _ in 0..GROWING_MAX {
                let grown = self.newest(&one.session)?.to_string().len();
                if finished.is_ok() || grown <= length {
                    break;
                }
                (finished, length) = (finish(), grown);
            }
            let Ok(turn) = finished else {
                sums.wrong.push(format!("{} never finishes: {}", one.tag, self.newest(&one.session)?));
                continue;
            };
            let answer = ShownAnswer::read(&turn);
            sums.interruptions += answer.interruptions;
            if answer.complete && answer.message.contains(&one.tag) {
                sums.finished += 1;
            } else {
                sums.wrong.push(format!("{} is not complete: {turn}", one.tag));
            }
            shown::judge(Uuid::parse_str(&one.session)?, &[answer], &mut sums.judgement);
        }
        until("nothing is owed", || {
            let told = self.server.client.must("GET", "/gateway", &json!({}))?;
            Ok((told["undelivered"] == 0).then_some(()))
        })?;
        for one in awaited {
            self.judge_chat(one, sums)?;
        }
        Ok(())
    }

    fn judge_chat(&self, one: &Awaited, sums: &mut Sums) -> anyhow::Result<()> {
        let prefix = format!("{}.", one.tag);
        let texts: Vec<String> = match one.chat {
            None => return Ok(()),
            Some(Chat::Matrix) => {
                let arrived = self.anna.arrived(&self.room, &self.bot.id)?;
                arrived.into_iter().map(|message| message.text).collect()
            }
            Some(Chat::Telegram) => {
                let sent = self.simulator.sent();
                let here = sent.iter().filter(|sent| sent.chat == self.person.id);
                here.map(|sent| sent.shown().to_owned()).collect()
            }
        };
        let with: Vec<&String> = texts.iter().filter(|text| text.contains(&prefix)).collect();
        sums.in_chats += 1;
        sums.in_one_message += usize::from(with.len() == 1);
        let words = with.iter().flat_map(|text| text.split_whitespace());
        let numbers = words.filter_map(|word| word.strip_prefix(&prefix)?.parse::<u64>().ok());
        let numbers: Vec<u64> = numbers.collect();
        if !numbers.iter().copied().eq(1..=one.words) || with.len() != 1 {
            sums.chat_words_wrong += usize::from(!numbers.iter().copied().eq(1..=one.words));
            sums.wrong.push(format!("{} in its chat: {with:?}", one.tag));
        }
        Ok(())
    }

    /// Many restarts while one answer is written: it completes, in its own session.
    fn deploy_under_one_answer(&mut self, size: &Size, sums: &mut Sums) -> anyhow::Result<()> {
        let whole = size.apart * u32::try_from(size.deploys)? + Duration::from_secs(8);
        let pace = u64::try_from(whole.as_millis())? / 300;
        let awaited = self.ask(&format!("h{}d", self.half), 300, &format!("pace {pace}"))?;
        for _ in 0..size.deploys {
            let before = self.newest(&awaited[0].session)?;
            std::thread::sleep(size.apart);
            let after = self.newest(&awaited[0].session)?;
            sums.deployed += usize::from(before["answer"] != after["answer"]);
            self.stop(Way::Restart, sums)?;
        }
        self.judge(&awaited, sums)
    }

    /// Crashes before anything is said: the session is suspended, and its chat is told why and what to do.
    fn crash_without_output(&mut self, sums: &mut Sums) -> anyhow::Result<()> {
        let tag = format!("h{}silent", self.half);
        self.say(Some(Chat::Telegram), &format!("say 3 of {tag} wait 600000"))?;
        let session = self.session_with(&tag)?;
        for _ in 0..CRASHES {
            until("a run is open", || Ok(self.view(&session)?["run"].is_u64().then_some(())))?;
            self.stop(Way::Kill, sums)?;
        }
        let suspended = until("the session is suspended", || {
            let view = self.view(&session)?;
            Ok((view["stuck"] == true && view["run"].is_null()).then_some(()))
        });
        sums.suspended += usize::from(suspended.is_ok());
        let told = until("the chat is told", || {
            let sent = self.simulator.sent();
            let last = sent.iter().rfind(|sent| sent.chat == self.person.id).context("a message")?;
            Ok(last.shown().contains("/continue").then_some(()))
        });
        sums.told += usize::from(told.is_ok());
        Ok(())
    }

    /// Every chat and the browser still have the session they began with.
    fn count_sessions(&self, sums: &mut Sums) -> anyhow::Result<()> {
        let sessions = self.server.sessions()?;
        let more = sessions.len().saturating_sub(3);
        if more > 0 {
            let titles: Vec<_> = sessions.iter().map(|session| session["title"].to_string()).collect();
            sums.wrong.push(format!("sessions: {titles:?}"));
        }
        sums.sessions_more += more;
        Ok(())
    }
}

/// Whether an answer has come as far as it is to be stopped.
fn has_come(turn: &Value, one: &Awaited, place: Place, far: u64) -> bool {
    let parts = turn["answer"]["parts"].as_array().cloned().unwrap_or_default();
    let has = |kind: &str, word: &str| {
        parts.iter().any(|part| part[kind].as_str().is_some_and(|text| text.contains(word)))
    };
    match place {
        Place::Text => has("text", &format!("{}.{far}", one.tag)),
        Place::Reasoning => has("reasoning", &format!("thought.{far}")),
        Place::BetweenSteps => parts.iter().any(|part| part["call"]["state"] == "finished"),
    }
}
