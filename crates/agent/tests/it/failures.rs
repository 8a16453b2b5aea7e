//! Failures of a provider, up to the message that a person reads. A case lists the provider's answers; its check compares
//! the requests, the pauses between them, and the log.

#![expect(clippy::unwrap_used, reason = "test code")]

mod limits;
mod log;
mod provider;
mod refusals;
mod silence;
mod streams;
mod wire;

use std::ops::RangeInclusive;
use std::sync::Arc;

use agent::{AnswerLimits, ApiKey, Dialect, LearnedDialect, NoHistory, Provider, RequestOptions, Wire, Work};

use crate::runs::{asks, model_with};
use log::Log;
use provider::{Answer, Asked, Scripted};

/// The key of every provider. Nothing that is reported may contain it.
const KEY: &str = "sk-a-key-of-this-test";
const URL: &str = "http://provider.example/v1";
/// The advice where trying again may help.
const AGAIN: &str = "Everything above is saved; press Continue to try again.";
/// Milliseconds by which the clock rounds a pause up.
const TICK_MS: u64 = 2;

/// Milliseconds between two requests.
type Pause = RangeInclusive<u64>;

/// A failure and its expected outcome.
struct Case {
    name: String,
    wire: Wire,
    model: &'static str,
    takes_prefix: bool,
    /// One for each request; the last is repeated.
    answers: Vec<Answer>,
    /// One for each request after the first.
    pauses: Vec<Pause>,
    log: Vec<String>,
    /// The beginning of the answer that the last request asks to continue.
    prefix: &'static str,
}

impl Case {
    fn new(name: impl Into<String>, wire: Wire, answers: impl Into<Vec<Answer>>) -> Self {
        Self {
            name: format!("{} ({wire:?})", name.into()),
            wire,
            model: "m",
            takes_prefix: false,
            answers: answers.into(),
            pauses: Vec::new(),
            log: Vec::new(),
            prefix: "",
        }
    }

    fn pauses(self, pauses: impl Into<Vec<Pause>>) -> Self {
        Self { pauses: pauses.into(), ..self }
    }

    /// Expects these lines, see [`Log::lines`].
    fn log(self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { log: lines.into_iter().map(Into::into).collect(), ..self }
    }

    /// Runs the case and returns the requests.
    async fn check(self) -> Vec<Asked> {
        let provider = Scripted::new(self.wire, self.answers);
        let mut agent = model_with(Provider {
            wire: self.wire,
            url: URL.to_owned(),
            key: Some(Arc::new(ApiKey::new(KEY))),
            takes_prefix: self.takes_prefix,
            transport: Arc::new(provider.clone()),
            limits: AnswerLimits::default(),
            dialect: LearnedDialect::new(Dialect::of(URL, self.model)),
            options: RequestOptions::default(),
        });
        agent.models[0].id = self.model.to_owned();
        let log = Log::default();
        agent.run(Work { prompt: asks("hello"), history: &NoHistory }, &log).await.unwrap();

        let (name, asked) = (self.name, provider.asked());
        assert_eq!(log.lines(), self.log, "{name}");
        assert_eq!(asked.len(), self.pauses.len() + 1, "{name}: requests");
        let passed = |pair: &[Asked]| u64::try_from((pair[1].at - pair[0].at).as_millis()).unwrap();
        let passed: Vec<u64> = asked.windows(2).map(passed).collect();
        let is_expected = |(passed, expected): (&u64, &Pause)| expected.contains(passed);
        assert!(
            passed.iter().zip(&self.pauses).all(is_expected),
            "{name}: {passed:?}, not {:?}",
            self.pauses
        );
        for announced in log.announced() {
            let late = |asked: &Asked| asked.at.checked_sub(announced).map(|late| late.as_millis());
            let is_kept = asked.iter().filter_map(late).any(|late| late <= TICK_MS.into());
            assert!(is_kept, "{name}: no request at {announced:?}, as the log says");
        }
        assert_eq!(wire::begun(&asked.last().unwrap().body), self.prefix, "{name}: the prefix");
        assert!(!format!("{:?}", log.lines()).contains(KEY), "{name}: the key is in the log");
        asked
    }
}

/// A pause of `ms` milliseconds that a provider asks for.
fn asked(ms: u64) -> Pause {
    ms.max(500)..=ms.max(125) + 500 + TICK_MS
}

/// A pause of our own choice, of at least `ms` milliseconds.
fn own(ms: u64) -> Pause {
    ms..=ms + ms / 4 + TICK_MS
}

/// A pause after a failure that took `seconds`.
fn after(seconds: u64, pause: &Pause) -> Pause {
    seconds * 1_000 + pause.start()..=seconds * 1_000 + pause.end()
}
