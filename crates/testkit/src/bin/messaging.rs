//! The released binary between people on messaging platforms and a scripted model: `messaging head-to-head`, `judge` and
//! `bench`, each with `--full`. Synapse is a real one; Telegram is simulated, because a real one cannot be told to fail.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::Report;
use testkit::client::Client;
use testkit::dice::Dice;
use testkit::synapse::{MatrixPerson, Rates, Synapse};
use testkit::telegram::{Fault, FaultPlan, Limits, Person, Simulator, SimulatorSettings};
use testkit::trial::{Process, Setup, now, progress, scripted_model};

/// How long anything may take. Only a failing trial waits this long.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);
/// How what is sent again begins.
const MARK: &str = "↻";
const MATRIX_TOKEN: &str = "MATRIX_TOKEN";
const TELEGRAM_TOKEN: &str = "TELEGRAM_TOKEN";

fn main() -> anyhow::Result<()> {
    let full = std::env::args().any(|word| word == "--full");
    let mut report = Report::default();
    let what = std::env::args().nth(1).unwrap_or_default();
    match what.as_str() {
        "head-to-head" => head_to_head(&mut report, if full { 20 } else { 2 })?,
        "judge" => judge(&mut report, if full { 200 } else { 20 })?,
        "bench" => bench(&mut report, full)?,
        _ => bail!("say head-to-head, judge or bench"),
    }
    let name = if what == "head-to-head" { what } else { format!("{what}-gateway") };
    if !report.verdict(&name) {
        std::process::exit(1);
    }
    Ok(())
}

/// Waits until something is so.
fn until<T>(what: &str, mut look: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
    let deadline = now() + PATIENCE;
    loop {
        let last = match look() {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => "not yet".to_owned(),
            Err(error) => error.to_string(),
        };
        if now() > deadline {
            bail!("never {what}: {last}");
        }
        std::thread::sleep(LOOK);
    }
}

/// The server with its platforms, which can be stopped and started.
struct Server {
    setup: Setup,
    client: Client,
    variables: Vec<(&'static str, String)>,
    process: Option<Process>,
}

impl Server {
    fn new(
        mut setup: Setup,
        platforms: String,
        variables: Vec<(&'static str, String)>,
    ) -> anyhow::Result<Self> {
        setup.more = platforms;
        let client = Client { port: setup.port, token: setup.prepare()? };
        let mut server = Self { setup, client, variables, process: None };
        server.start()?;
        Ok(server)
    }

    fn start(&mut self) -> anyhow::Result<()> {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.process = Some(self.setup.serve_with(&variables)?);
        Ok(())
    }

    fn kill(&mut self) {
        self.process = None;
    }

    /// Asks it to stop, and waits until it did.
    fn stop(&mut self) -> anyhow::Result<()> {
        let mut process = self.process.take().context("it runs")?;
        kill(Pid::from_raw(i32::try_from(process.0.id())?), Signal::SIGTERM)?;
        ensure!(process.0.wait()?.success(), "the server stopped badly");
        Ok(())
    }

    fn sessions(&self) -> anyhow::Result<Vec<Value>> {
        let listed = self.client.must("GET", "/sessions?count=200", &json!({}))?;
        Ok(listed["sessions"].as_array().cloned().unwrap_or_default())
    }

    /// The resident memory in bytes.
    fn memory(&self) -> anyhow::Result<u64> {
        let id = self.process.as_ref().context("it runs")?.0.id();
        let pages = std::fs::read_to_string(format!("/proc/{id}/statm"))?;
        let pages: u64 = pages.split(' ').nth(1).context("resident")?.parse()?;
        Ok(pages * 4_096)
    }
}

fn matrix_platform(url: &str, people: &[&MatrixPerson]) -> String {
    let allow: Vec<&str> = people.iter().map(|person| person.id.as_str()).collect();
    format!(
        "[[platforms]]\nname = \"matrix\"\nkind = \"matrix\"\nurl = {url:?}\ntoken_env = {MATRIX_TOKEN:?}\nallow = {allow:?}\n"
    )
}

fn telegram_platform(simulator: &Simulator, people: &[Person]) -> String {
    let allow: Vec<String> = people.iter().map(|person| person.id.to_string()).collect();
    format!(
        "[[platforms]]\nname = \"telegram\"\nkind = \"telegram\"\nurl = {:?}\ntoken_env = {TELEGRAM_TOKEN:?}\nallow = {allow:?}\n",
        simulator.api()
    )
}

/// The ways in which a turn, its followers and a message from meanwhile are cut.
const WAYS: [(&str, Way); 3] =
    [("sigterm", Way::Stop), ("kill_9", Way::Kill), ("synapse_restart", Way::PlatformRestart)];

#[derive(Clone, Copy)]
enum Way {
    Stop,
    Kill,
    PlatformRestart,
}

/// A turn running, two follow-ups waiting, one message sent while the server is down: every one answered once, in order.
fn head_to_head(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
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

/// One message that was said, by its word.
struct Said {
    word: String,
    /// The room, or the chat's number.
    place: String,
}

/// Faults on both platforms while the server is killed again and again; then everything is counted.
fn judge(report: &mut Report, kills: usize) -> anyhow::Result<()> {
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
    let (mut on_matrix, mut on_telegram, mut number) = (Vec::new(), Vec::new(), 0);
    for round in 0..kills {
        progress(&format!("kill {round}"));
        for _ in 0..4 {
            number += 1;
            let word = format!("w{number}w");
            let text = format!("say 3 of {word} pace {}", dice.below(60));
            if dice.below(3) == 0 {
                let room = &rooms[usize::try_from(dice.below(rooms.len() as u64))?];
                anna.say(room, &text)?;
                on_matrix.push(Said { word, place: room.clone() });
            } else {
                let person = &people[usize::try_from(dice.below(people.len() as u64))?];
                simulator.say(person, text.as_str());
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

/// Many chats at once under the platform's rates: nothing lost, memory flat, hardly slower than the rates allow.
fn bench(report: &mut Report, full: bool) -> anyhow::Result<()> {
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
    let (ratio, bar) = (took / allowed, if full { 1.2 } else { 2.4 });
    let goal = if full { "<=1.2".to_owned() } else { "<=2.4(twice_1.2)".to_owned() };
    report.line("bench-gateway.beside_what_rates_allow", format!("{ratio:.2}"), goal, ratio <= bar);
    let grown = server.memory()? as f64 / halfway.unwrap_or(1).max(1) as f64;
    report.line("bench-gateway.memory_end_beside_half", format!("{grown:.2}"), "<=1.3", grown <= 1.3);
    Ok(())
}
