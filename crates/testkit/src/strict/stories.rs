//! A user's first session with each provider, through the released binary. They configure a wire format, an address, a
//! key and a model, and leave everything else at its default.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent::Wire;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::ability::{Ability, Outcome, Seen, Shown};
use super::pictures::GIF;
use super::serve::{Order, Served, deadline};
use super::speech::{COUNT, TITLE, answers};
use super::{PROVIDERS, Strict};
use crate::Report;
use crate::client::{Client, Stream};
use crate::trial::{Process, Setup, now};

/// Longest wait for one thing. Only a failing story waits this long.
const PATIENCE_SECONDS: u64 = 30;
/// Stories that run at once; they mostly wait.
const AT_ONCE: usize = 3;
/// Bytes of a long message, and how many of them are posted until the session must have been compacted.
const LONG_BYTES: usize = 6_000;
const LONG_MESSAGES_MAX: usize = 10;
/// Words of the counting answer that arrive before it is cut.
const WORDS_BEFORE_CUT: usize = 12;
/// The remark on thinking that a provider doesn't require back.
const KEPT_FOR_READERS: &str = "The thinking is kept in the session for readers. The provider doesn't require it, so it isn't sent back.";
/// Log entries and lines that are printed for a failed story.
const TOLD: usize = 8;

/// Runs the story with every provider whose name contains `only`.
///
/// # Errors
/// Returns an error if the servers can't be started.
pub fn run(report: &mut Report, only: Option<&str>) -> anyhow::Result<Vec<Shown>> {
    let chosen: Vec<&'static Strict> =
        PROVIDERS.iter().filter(|provider| only.is_none_or(|only| provider.name.contains(only))).collect();
    let next = Mutex::new(chosen.iter());
    let all = Mutex::new(Vec::new());
    let strangers = Mutex::new(Vec::new());
    let work = || {
        while let Some(provider) = next.lock().unwrap_or_else(PoisonError::into_inner).next() {
            let (shown, asked) = tell(provider)?;
            all.lock().unwrap_or_else(PoisonError::into_inner).extend(shown);
            strangers.lock().unwrap_or_else(PoisonError::into_inner).extend(asked);
        }
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        working.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| bail!("a story panicked")))
    })?;
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_by_key(|shown| PROVIDERS.iter().position(|provider| provider.name == shown.provider));
    for provider in &chosen {
        let fails =
            |shown: &&Shown| shown.provider == provider.name && matches!(shown.result, Outcome::Fails(_));
        let failed: Vec<&Shown> = all.iter().filter(fails).collect();
        for shown in &failed {
            if let Outcome::Fails(why) = &shown.result {
                report.note(&format!("{}, {}: {why}", provider.name, shown.ability.name()));
            }
        }
        report.line(&format!("stories.{}.failures", provider.name), failed.len(), 0, failed.is_empty());
    }
    let strangers = strangers.into_inner().unwrap_or_else(PoisonError::into_inner);
    strangers.iter().for_each(|host| report.note(&format!("asked for {host}")));
    report.line("stories.other_hosts", strangers.len(), 0, strangers.is_empty());
    Ok(all)
}

/// Runs the story with one provider. Returns the results, and the requested hosts that are not in the table.
fn tell(provider: &'static Strict) -> anyhow::Result<(Vec<Shown>, Vec<String>)> {
    let served = Served::start()?;
    let home = tempfile::tempdir()?;
    let mut story = Story::begin(provider, &served, home.path())?;
    let mut all = Vec::new();
    for ability in Ability::ALL {
        let result = match story.show(ability) {
            Ok(seen) => seen.outcome(provider, ability),
            Err(error) => Outcome::Fails(story.told(&error)),
        };
        all.push(Shown { provider: provider.name, ability, result });
    }
    Ok((all, served.strangers()))
}

/// A server with two models, and a session of it.
struct Story<'a> {
    provider: &'static Strict,
    /// Another model of another provider.
    other: &'static Strict,
    served: &'a Served,
    setup: Setup,
    server: Process,
    client: Client,
    session: String,
}

impl<'a> Story<'a> {
    fn begin(provider: &'static Strict, served: &'a Served, home: &Path) -> anyhow::Result<Self> {
        let at =
            PROVIDERS.iter().position(|known| known.name == provider.name).context("it is in the table")?;
        let other = &PROVIDERS[(at + 1) % PROVIDERS.len()];
        let setup = Setup::at(home, served.port)?;
        std::fs::write(setup.config(), configuration(&setup, &[provider, other], served.port))?;
        let client = Client { port: setup.port, token: setup.token()? };
        let server = serve(&setup, served, &[provider, other])?;
        let made = client.must("POST", "/sessions", &json!({}))?;
        let session = made["session"].as_str().context("a session has an id")?.to_owned();
        Ok(Self { provider, other, served, setup, server, client, session })
    }

    fn show(&mut self, ability: Ability) -> anyhow::Result<Seen> {
        // Discard leftovers of an earlier part.
        self.served.forget_orders();
        match ability {
            Ability::WindowKnown => return self.lists_window(),
            Ability::Cost => return self.counts("cost_micros"),
            Ability::OneTool => return self.calls_tools("Look at the clock, please.", 1),
            Ability::TwoTools => return self.calls_tools("Look at both clocks, please.", 2),
            Ability::ThinkingKept => return self.keeps_thinking(),
            Ability::Caching => return self.counts("cached_tokens"),
            Ability::Pictures => return self.shows_picture(),
            Ability::Question => self.ask("Hello, who are you?", self.provider)?,
            Ability::Title => self.gets_title()?,
            Ability::SecondTurn => self.ask("And what else?", self.provider)?,
            Ability::ModelChange => self.changes_model()?,
            Ability::TooLong => self.grows_too_long()?,
            Ability::CutAndContinue => self.is_cut_and_continues()?,
            Ability::Crash => self.crashes()?,
        }
        Ok(Seen::Works)
    }

    /// Posts a message to a model and waits for the whole answer.
    fn ask(&self, text: &str, provider: &Strict) -> anyhow::Result<()> {
        let turn = self.answered(text, provider)?;
        let said = said(&turn);
        ensure!(said.trim() == answers(provider), "the answer is {said:?}");
        Ok(())
    }

    fn post(&self, text: &str, provider: &Strict) -> anyhow::Result<u64> {
        let message = json!({ "text": text, "model": provider.name });
        let kept = self.client.must("POST", &format!("/sessions/{}/messages", self.session), &message)?;
        kept["turn"].as_u64().context("a message begins a turn")
    }

    fn answered(&self, text: &str, provider: &Strict) -> anyhow::Result<Value> {
        let turn = self.post(text, provider)?;
        let (_, ended) = until(self.follow(turn)?, "run_ended")?;
        ensure!(ended["end"] == "completed", "the run ended with {}", ended["end"]);
        let turn = self.newest()?;
        ensure!(
            turn["answer"]["complete"] == true && turn["marker"].is_null(),
            "the answer is not whole: {turn}"
        );
        Ok(turn)
    }

    fn follow(&self, after: u64) -> anyhow::Result<Stream> {
        self.client.follow(&self.session, Some(after))
    }

    fn view(&self) -> anyhow::Result<Value> {
        self.client.must("GET", &format!("/sessions/{}", self.session), &json!({}))
    }

    fn newest(&self) -> anyhow::Result<Value> {
        let view = self.view()?;
        Ok(view["turns"].as_array().and_then(|turns| turns.last()).context("there is a turn")?.clone())
    }

    fn gets_title(&self) -> anyhow::Result<()> {
        let (_, given) = until(self.follow(0)?, "title_generated")?;
        ensure!(given["title"] == TITLE, "the title is {}", given["title"]);
        Ok(())
    }

    /// Asks for calls. A model without tools must still answer.
    fn calls_tools(&self, question: &str, expected: usize) -> anyhow::Result<Seen> {
        let turn = self.answered(question, self.provider)?;
        let parts = turn["answer"]["parts"].as_array().cloned().unwrap_or_default();
        let calls = parts.iter().filter(|part| part["call"]["tool"] == "clock").count();
        ensure!(said(&turn).trim() == answers(self.provider), "the answer is {turn}");
        if calls == 0 {
            return Ok(Seen::Missing(format!("no calls: {turn}")));
        }
        ensure!(calls == expected, "{calls} calls: {turn}");
        Ok(Seen::Works)
    }

    /// Checks that thinking was sent back with the calls that followed it. If the provider doesn't require that, thinking in
    /// the log is enough.
    fn keeps_thinking(&self) -> anyhow::Result<Seen> {
        if self.served.got_thinking_back(self.provider) {
            return Ok(Seen::Works);
        }
        ensure!(!self.provider.wants_thinking_back(), "no thinking came back with the calls");
        let is_thinking = |entry: &Value| !entry["event"]["reasoning_added"].is_null();
        if self.log()?.iter().any(is_thinking) {
            return Ok(Seen::Noted(KEPT_FOR_READERS));
        }
        Ok(Seen::Missing("the log has no thinking".to_owned()))
    }

    /// Checks that a count in the usage of the newest answer isn't zero.
    fn counts(&self, field: &str) -> anyhow::Result<Seen> {
        let usage = self.newest()?["usage"].clone();
        if usage[field].as_u64().is_some_and(|count| count > 0) {
            return Ok(Seen::Works);
        }
        Ok(Seen::Missing(format!("the usage has no {field}: {usage}")))
    }

    /// Lists the provider's models as Settings does, and checks that the model's context window is known.
    fn lists_window(&self) -> anyhow::Result<Seen> {
        let query = json!({ "provider": wire_name(self.provider), "url": self.provider.url(self.served.port),
            "name": self.provider.name });
        let listed = self.client.must("POST", "/providers/models", &query)?;
        let models = listed["models"].as_array().cloned().unwrap_or_default();
        ensure!(!models.is_empty(), "no models are listed: {listed}");
        let is_known = |model: &Value| {
            model["model"] == self.provider.model
                && model["window_tokens"].as_u64().is_some_and(|tokens| tokens > 0)
        };
        if models.iter().any(is_known) {
            return Ok(Seen::Works);
        }
        Ok(Seen::Missing(format!("the list has no window: {listed}")))
    }

    /// Sends a picture. A model that doesn't accept pictures must still answer.
    fn shows_picture(&self) -> anyhow::Result<Seen> {
        let file = self.client.attach("pixel.gif", "image/gif", &GIF)?;
        let message =
            json!({ "text": "What is in the picture?", "model": self.provider.name, "attachments": [file] });
        let kept = self.client.must("POST", &format!("/sessions/{}/messages", self.session), &message)?;
        let (_, ended) = until(self.follow(kept["turn"].as_u64().context("a turn")?)?, "run_ended")?;
        ensure!(ended["end"] == "completed", "the run ended with {}", ended["end"]);
        let said = said(&self.newest()?);
        ensure!(said.trim() == answers(self.provider), "the answer is {said:?}");
        if self.served.got_picture(self.provider) {
            return Ok(Seen::Works);
        }
        Ok(Seen::Missing("the model got no picture".to_owned()))
    }

    /// There, with tools where the other model has some, and back.
    fn changes_model(&self) -> anyhow::Result<()> {
        self.answered("Look at both clocks twice, please.", self.other)?;
        self.ask("Are you still there?", self.other)?;
        self.ask("And you, are you back?", self.provider)?;
        self.answered("Look at the clock, please.", self.provider)?;
        self.ask("What else is there?", self.other)
    }

    /// Posts long messages until the model was asked for a summary.
    fn grows_too_long(&self) -> anyhow::Result<()> {
        for message in 0..LONG_MESSAGES_MAX {
            let words = format!("So it goes, {message}. ");
            let long = words.repeat(LONG_BYTES / words.len());
            self.answered(&format!("{long} What do you think?"), self.provider)?;
            if self.log()?.iter().any(|entry| !entry["event"]["context_compacted"].is_null()) {
                return self.ask("And now?", self.provider);
            }
        }
        bail!("the session was never compacted")
    }

    fn is_cut_and_continues(&self) -> anyhow::Result<()> {
        self.served.order(Order::Cut(WORDS_BEFORE_CUT));
        let turn = self.post("Count, please.", self.provider)?;
        let (seq, ended) = until(self.follow(turn)?, "run_ended")?;
        ensure!(!ended["end"]["failed"].is_null(), "the cut run ended with {}", ended["end"]);
        let cut = said(&self.newest()?);
        ensure!(cut.contains(&format!("w{WORDS_BEFORE_CUT}")), "text before the cut is missing: {cut:?}");
        self.client.must("POST", &format!("/sessions/{}/continue", self.session), &json!({}))?;
        let (_, ended) = until(self.follow(seq)?, "run_ended")?;
        ensure!(ended["end"] == "completed", "the resumed run ended with {}", ended["end"]);
        let words = said(&self.newest()?);
        let words: Vec<&str> = words.split_whitespace().collect();
        let expected: Vec<String> = (1..=COUNT).map(|word| format!("w{word}")).collect();
        ensure!(words == expected, "the words are {words:?}");
        self.ask("And after that?", self.provider)
    }

    /// Kills the server while the step after a call waits for its answer. For a model without tools, that is the only
    /// step.
    fn crashes(&mut self) -> anyhow::Result<()> {
        if self.provider.has_tools() {
            self.served.order(Order::Pass);
        }
        self.served.order(Order::Hold);
        let turn = self.post("Look at both clocks twice, please.", self.provider)?;
        self.served.wait_for_held(Duration::from_secs(PATIENCE_SECONDS))?;
        self.server.kill();
        self.served.release();
        self.server = serve(&self.setup, self.served, &[self.provider, self.other])?;
        let (seq, interrupted) = until(self.follow(turn)?, "run_ended")?;
        ensure!(
            !interrupted["end"]["interrupted"].is_null(),
            "the killed run ended with {}",
            interrupted["end"]
        );
        let (_, ended) = until(self.follow(seq)?, "run_ended")?;
        ensure!(ended["end"] == "completed", "the resumed run ended with {}", ended["end"]);
        let said = said(&self.newest()?);
        ensure!(said.contains(&answers(self.provider)), "the answer is {said:?}");
        self.ask("Is all well?", self.provider)
    }

    /// Every entry of the session so far.
    fn log(&self) -> anyhow::Result<Vec<Value>> {
        let mut stream = self.follow(0)?;
        let mut log = Vec::new();
        while let Some(event) = stream.event()? {
            match event.name.as_str() {
                "entry" => log.push(serde_json::from_str(&event.data)?),
                "caught_up" => break,
                _ => {}
            }
        }
        Ok(log)
    }

    /// Returns details of a failed part.
    fn told(&self, error: &anyhow::Error) -> String {
        let last = |lines: Vec<String>| lines[lines.len().saturating_sub(TOLD)..].join("\n#     ");
        let log = self.log().unwrap_or_default();
        let entries = last(log.iter().map(|entry| shortened(&entry["event"].to_string())).collect());
        let lines = std::fs::read_to_string(self.setup.home.join("serve.log")).unwrap_or_default();
        let lines = last(lines.lines().map(shortened).collect());
        let requests = last(self.served.remembered().iter().map(|line| shortened(line)).collect());
        format!(
            "{error:#}\n#   entries:\n#     {entries}\n#   requests:\n#     {requests}\n#   log:\n#     {lines}"
        )
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(400).collect()
}

/// Returns a configuration with an address, a key and a model, and everything else at its default.
fn configuration(setup: &Setup, models: &[&Strict], port: u16) -> String {
    let mut config = format!("data = {:?}\nlisten = \"127.0.0.1:{}\"\n", setup.data, setup.port);
    for model in models {
        let provider = wire_name(model);
        config += &format!(
            "[[models]]\nname = {:?}\nprovider = {provider:?}\nurl = {:?}\nmodel = {:?}\nkey_env = {:?}\n",
            model.name,
            model.url(port),
            model.model,
            key_variable(model),
        );
    }
    config
}

/// The wire format as it is configured.
pub(crate) fn wire_name(model: &Strict) -> &'static str {
    match model.wire {
        Wire::OpenAi | Wire::Responses => "openai",
        Wire::Anthropic => "anthropic",
    }
}

fn key_variable(model: &Strict) -> String {
    format!("KEY_{}", model.name.replace('-', "_").to_uppercase())
}

/// Starts the server with the proxy and the certificate of the strict servers.
fn serve(setup: &Setup, served: &Served, models: &[&Strict]) -> anyhow::Result<Process> {
    let of_server = served.variables(&setup.home)?;
    let keys: Vec<(String, String)> = models.iter().map(|model| (key_variable(model), model.key())).collect();
    let mut variables: Vec<(&str, &str)> =
        of_server.iter().map(|(name, value)| (*name, value.as_str())).collect();
    variables.extend(keys.iter().map(|(name, key)| (name.as_str(), key.as_str())));
    setup.serve_with(&variables)
}

/// The next entry of a kind, within patience.
fn until(mut stream: Stream, kind: &str) -> anyhow::Result<(u64, Value)> {
    let end: Instant = deadline(PATIENCE_SECONDS);
    while let Some(event) = stream.event().with_context(|| format!("waiting for {kind}"))? {
        if let (Some(id), Some((happened, body))) = (event.id, event.happened())
            && happened == kind
        {
            return Ok((id, body));
        }
        ensure!(now() < end, "{kind} did not come within {PATIENCE_SECONDS} s");
    }
    bail!("the stream ended before {kind}")
}

/// The text of a turn's answer.
fn said(turn: &Value) -> String {
    let parts = turn["answer"]["parts"].as_array().cloned().unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}
