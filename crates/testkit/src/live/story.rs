//! Runs the short story with one provider through the released binary, and reads the provider's behavior from the log.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::places::Place;
use crate::client::Client;
use crate::strict::serve::deadline;
use crate::trial::{Setup, now};

/// Longest wait for one answer.
const ANSWER_SECONDS: u64 = 180;
/// Most steps of one answer.
const STEPS_MAX: u32 = 6;
/// The most that one answer may cost, even if more is left.
const ANSWER_DOLLARS_MAX: f64 = 1.0;
/// The names of the configured model, and of the one that is added from the provider's list.
const CONFIGURED: &str = "live";
const LISTED: &str = "listed";

/// A part of the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Question,
    TwoTools,
    SecondTurn,
}

impl Part {
    /// Returns the parts for a provider. One without tools is not asked for calls.
    pub(super) fn of(place: &Place) -> Vec<Self> {
        let all = [Self::Question, Self::TwoTools, Self::SecondTurn];
        all.into_iter().filter(|part| place.tools || *part != Self::TwoTools).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::TwoTools => "two_tools",
            Self::SecondTurn => "second_turn",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Question => "Hello, who are you?",
            Self::TwoTools => {
                "Call the clock tool two times at once to look at both clocks, then tell me the time."
            }
            Self::SecondTurn => "And what else?",
        }
    }
}

/// A provider's behavior, as read from the log.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) model: String,
    /// The parts, each with the end of its run.
    ends: Vec<(Part, String)>,
    pub(super) calls: usize,
    /// Names of the usage counts that are not zero.
    usage: BTreeSet<String>,
    /// Kinds of opaque parts.
    opaque: BTreeSet<String>,
    thinks: bool,
    cost_micros: u64,
    /// Retries and failures, for people.
    pub(super) told: Vec<String>,
}

impl Observed {
    pub(super) fn cost_micros(&self) -> u64 {
        self.cost_micros
    }

    /// Parts that were answered.
    pub(super) fn completed(&self) -> usize {
        self.ends.iter().filter(|(_, end)| end == "completed").count()
    }

    /// Returns the differences from the strict server. Counts of cached tokens are ignored, because most providers don't
    /// cache prompts as short as these.
    pub(super) fn differences(&self, strict: &Self) -> Vec<String> {
        let mut all = Vec::new();
        for ((part, end), (_, expected)) in self.ends.iter().zip(&strict.ends) {
            if end != expected {
                all.push(format!(
                    "{} ended with {end}; with the strict server, with {expected}",
                    part.name()
                ));
            }
        }
        let is_of_cache = |count: &&String| count.starts_with("cache");
        let lacking = |here: &BTreeSet<String>, there: &BTreeSet<String>| {
            here.difference(there).filter(|count| !is_of_cache(count)).cloned().collect::<Vec<_>>()
        };
        let mut tell = |what: &str, which: Vec<String>, who: &str| {
            if !which.is_empty() {
                all.push(format!("only the {who} has {what}: {}", which.join(", ")));
            }
        };
        tell("usage counts", lacking(&self.usage, &strict.usage), "provider");
        tell("usage counts", lacking(&strict.usage, &self.usage), "strict server");
        tell("opaque parts", lacking(&self.opaque, &strict.opaque), "provider");
        tell("opaque parts", lacking(&strict.opaque, &self.opaque), "strict server");
        if self.thinks != strict.thinks {
            let who = if self.thinks { "provider" } else { "strict server" };
            all.push(format!("only the {who} thinks"));
        }
        if self.calls != strict.calls {
            all.push(format!("{} calls; with the strict server, {}", self.calls, strict.calls));
        }
        all
    }

    /// Reads an entry of the log.
    fn see(&mut self, kind: &str, body: &Value) {
        match kind {
            "reasoning_added" => self.thinks = true,
            "call_asked" => self.calls += 1,
            "provider_part_added" => {
                self.opaque.extend(body["part"]["kind"].as_str().map(str::to_owned));
            }
            "usage_reported" => {
                let counts = body["usage"].as_object().into_iter().flatten();
                let counted = counts.filter(|(_, count)| count.as_u64().is_some_and(|count| count > 0));
                self.usage.extend(counted.map(|(name, _)| name.clone()));
                self.cost_micros += body["usage"]["cost_micros"].as_u64().unwrap_or(0);
            }
            "retry_scheduled" => self.told.push(format!("retried after: {}", body["error"])),
            _ => {}
        }
    }
}

/// Runs the story with a provider, until the cost reaches `micros_max`.
///
/// # Errors
/// Returns an error if the server doesn't start or rejects a message.
pub(super) fn tell(place: &Place, micros_max: u64) -> anyhow::Result<Observed> {
    let home = tempfile::tempdir()?;
    let setup = Setup::at(home.path(), 0)?;
    std::fs::write(setup.config(), configuration(&setup, place, micros_max))?;
    let client = Client { port: setup.port, token: setup.token()? };
    let mut variables: Vec<(&str, &str)> =
        place.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    variables.extend(place.key.as_deref().map(|key| ("LIVE_KEY", key)));
    let _server = setup.serve_with(&variables)?;
    let (name, model) = asked_model(&client, place)?;
    let made = client.must("POST", "/sessions", &json!({}))?;
    let session = made["session"].as_str().context("a session has an id")?.to_owned();
    let mut seen = Observed { model, ..Observed::default() };
    for part in Part::of(place) {
        if seen.cost_micros >= micros_max {
            seen.told.push(format!("{}: not asked, because the limit is reached", part.name()));
            break;
        }
        let message = json!({ "text": part.words(), "model": name });
        let kept = client.must("POST", &format!("/sessions/{session}/messages"), &message)?;
        let turn = kept["turn"].as_u64().context("a message begins a turn")?;
        // The cost so far counts even if the answer doesn't end.
        let end = match follow(&client, &session, turn, &mut seen) {
            Ok(end) => end,
            Err(error) => {
                seen.told.push(format!("{}: {error:#}", part.name()));
                break;
            }
        };
        seen.ends.push((part, end));
    }
    if place.key.is_some() && seen.cost_micros == 0 {
        seen.told.push("the cost is unknown and doesn't count towards the limit".to_owned());
    }
    Ok(seen)
}

/// Reads the log until the run ends. Returns how it ended.
fn follow(client: &Client, session: &str, turn: u64, seen: &mut Observed) -> anyhow::Result<String> {
    let end: Instant = deadline(ANSWER_SECONDS);
    let mut stream = client.follow(session, Some(turn))?;
    while let Some(event) = stream.event()? {
        if let Some((kind, body)) = event.happened() {
            if kind == "run_ended" {
                let end = &body["end"];
                if let Some(error) = end["failed"]["error"].as_str() {
                    seen.told.push(format!("failed: {error}"));
                }
                let name = end.as_object().and_then(|end| end.keys().next()).cloned();
                return Ok(name.or(end.as_str().map(str::to_owned)).unwrap_or_default());
            }
            seen.see(&kind, &body);
        }
        ensure!(now() < end, "the answer did not end within {ANSWER_SECONDS} s");
    }
    anyhow::bail!("the stream ended before the answer")
}

/// Returns the name of the model here, and its name at the provider. If the place names none, adds the first model that the
/// provider lists.
fn asked_model(client: &Client, place: &Place) -> anyhow::Result<(&'static str, String)> {
    if let Some(model) = &place.model {
        return Ok((CONFIGURED, model.clone()));
    }
    let mut query = json!({ "provider": place.wire, "url": place.url, "name": CONFIGURED });
    let listed = client.must("POST", "/providers/models", &query)?;
    let first = &listed["models"][0];
    let model = first["model"].as_str().with_context(|| format!("no model is listed: {listed}"))?.to_owned();
    query = json!({ "provider": place.wire, "url": place.url, "model": model, "key": place.key,
        "window_tokens": first["window_tokens"] });
    client.must("PUT", &format!("/models/{LISTED}"), &query)?;
    Ok((LISTED, model))
}

fn configuration(setup: &Setup, place: &Place, micros_max: u64) -> String {
    let dollars = (micros_max as f64 / 1e6).min(ANSWER_DOLLARS_MAX);
    let mut config = format!(
        "data = {:?}\nlisten = \"127.0.0.1:{}\"\ninstructions = \"Answer in one short sentence.\"\n\
         [run]\nsteps_max = {STEPS_MAX}\ncost_max = {dollars:.6}\n\
         [[models]]\nname = {CONFIGURED:?}\nprovider = {:?}\nurl = {:?}\nmodel = {:?}\ntools = {}\n",
        setup.data,
        setup.port,
        place.wire,
        place.url,
        place.model.as_deref().unwrap_or("unnamed"),
        place.tools,
    );
    if place.key.is_some() {
        config += "key_env = \"LIVE_KEY\"\n";
    }
    if let Some(tokens) = place.window_tokens {
        config += &format!("window_tokens = {tokens}\noutput_tokens_max = {}\n", tokens / 4);
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(entries: &[(&str, Value)]) -> Observed {
        let mut seen =
            Observed { ends: vec![(Part::Question, "completed".to_owned())], ..Observed::default() };
        entries.iter().for_each(|(kind, body)| seen.see(kind, body));
        seen
    }

    #[test]
    fn differences_in_either_direction_are_reported() {
        let strict = seen(&[
            ("usage_reported", json!({ "usage": { "input_tokens": 3, "cached_tokens": 2 } })),
            ("provider_part_added", json!({ "part": { "kind": "thinking" } })),
            ("reasoning_added", json!({ "text": "Hm." })),
        ]);
        assert!(strict.differences(&strict).is_empty());
        let live = seen(&[("usage_reported", json!({ "usage": { "input_tokens": 3, "cost_micros": 4 } }))]);
        assert_eq!(
            live.differences(&strict),
            [
                "only the provider has usage counts: cost_micros",
                "only the strict server has opaque parts: thinking",
                "only the strict server thinks",
            ]
        );
        assert_eq!(live.cost_micros(), 4);
    }
}
