//! Answers of providers as they send them, with status and headers: each is read whole, split and cut at every byte, and
//! stalled. The head of a file says what it is and what must be read from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::{
    AnswerLimits, Broken, BusyKind, Delta, Effort, Finish, LearnedDialect, Provider, ProviderError, Question,
    RefusalKind, Reply, Request, RequestOptions, Transport, Wire,
};
use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use session::{Message, PromptMessage};

use crate::Report;

/// Fixtures that there are at least, and providers that they come from.
const FIXTURES_MIN: usize = 90;
const PROVIDERS_MIN: usize = 17;
/// Places at which a long fixture is cut and split; a shorter one is at every byte.
const PLACES_MAX: usize = 2_000;

/// One answer of a provider.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// Provider and quirk, as `mistral/model-length`.
    pub name: String,
    pub wire: Wire,
    pub status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    expected: Read,
}

/// What was read from an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    text: String,
    reasoning: String,
    /// Tool and arguments of each call.
    calls: Vec<(String, String)>,
    /// Tokens in and out.
    usage: Option<(u64, u64)>,
    /// How it ended, in one word.
    end: String,
}

/// Reads every fixture below `fixtures/providers`.
///
/// # Errors
/// Returns an error if one of them can't be read.
pub fn fixtures() -> anyhow::Result<Vec<Fixture>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/providers");
    let mut fixtures = Vec::new();
    for folder in sorted(&root)? {
        for path in
            sorted(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "http"))
        {
            let name = format!("{}/{}", stem(&folder), stem(&path));
            let bytes = fs::read(&path)?;
            fixtures.push(Fixture::parse(name.clone(), &bytes).with_context(|| name)?);
        }
    }
    Ok(fixtures)
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

impl Fixture {
    fn parse(name: String, bytes: &[u8]) -> anyhow::Result<Self> {
        let at = bytes.windows(2).position(|pair| pair == b"\n\n").context("a head and a body")?;
        let head = std::str::from_utf8(&bytes[..at])?;
        let mut fixture = Self {
            name,
            wire: Wire::OpenAi,
            status: 200,
            headers: Vec::new(),
            body: Bytes::copy_from_slice(&bytes[at + 2..]),
            expected: Read::default(),
        };
        let mut source = None;
        for line in head.lines() {
            let (field, value) = line.split_once(": ").with_context(|| format!("a field: {line}"))?;
            let value = value.to_owned();
            match field {
                "source" => source = Some(value),
                "wire" => {
                    fixture.wire = match value.as_str() {
                        "openai" => Wire::OpenAi,
                        "responses" => Wire::Responses,
                        "anthropic" => Wire::Anthropic,
                        other => bail!("there is no wire {other}"),
                    }
                }
                "status" => fixture.status = value.parse()?,
                "end" => fixture.expected.end = value,
                "text" => fixture.expected.text = serde_json::from_str(&value)?,
                "reasoning" => fixture.expected.reasoning = serde_json::from_str(&value)?,
                "call" => {
                    let (tool, arguments) = value.split_once(' ').context("a tool and its arguments")?;
                    fixture.expected.calls.push((tool.to_owned(), arguments.to_owned()));
                }
                "usage" => {
                    let (input, output) = value.split_once(' ').context("tokens in and out")?;
                    fixture.expected.usage = Some((input.parse()?, output.parse()?));
                }
                header => fixture.headers.push((header.to_owned(), value)),
            }
        }
        ensure!(source.is_some(), "it does not say where it comes from");
        ensure!(!fixture.expected.end.is_empty(), "it does not say how it ends");
        Ok(fixture)
    }

    /// Whether the provider said that the answer is whole.
    fn is_whole(&self) -> bool {
        matches!(self.expected.end.as_str(), "said" | "calls")
    }

    /// Reads the answer as it arrives in these chunks, and what follows them.
    async fn read(&self, chunks: &[&[u8]], silent: bool) -> Read {
        let chunks: Vec<Bytes> = chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
        let transport = OneReply { fixture: self.clone(), chunks, silent };
        let provider = Provider {
            wire: self.wire,
            url: "http://provider.example/v1".to_owned(),
            key: None,
            takes_prefix: false,
            transport: Arc::new(transport),
            limits: AnswerLimits::default(),
            dialect: LearnedDialect::default(),
            options: RequestOptions::default(),
        };
        let question = Question {
            model: "m".to_owned(),
            instructions: None,
            messages: vec![PromptMessage::User(Message::text("?"))],
            tools: Vec::new(),
            output_tokens_max: 100,
            effort: Effort::Default,
            shown: agent::media::Shown::default(),
        };
        let mut read = Read::default();
        let mut deltas = match provider.ask(&question).await.answer {
            Ok(deltas) => deltas,
            Err(error) => {
                read.end = end_of(&error);
                return read;
            }
        };
        let mut places = Vec::new();
        while let Some(delta) = deltas.next().await {
            match delta {
                Ok(Delta::Text(text)) => read.text.push_str(&text),
                Ok(Delta::Reasoning(text)) => read.reasoning.push_str(&text),
                Ok(Delta::Call { place, tool, arguments, .. }) => {
                    let at = places.iter().position(|known| *known == place).unwrap_or_else(|| {
                        places.push(place);
                        read.calls.push((tool.unwrap_or_default(), String::new()));
                        places.len() - 1
                    });
                    read.calls[at].1.push_str(&arguments);
                }
                Ok(Delta::Part { .. }) => {}
                Ok(Delta::Usage(usage)) => read.usage = Some((usage.input_tokens, usage.output_tokens)),
                Ok(Delta::End(finish)) => read.end = finish_of(&finish),
                Err(error) => read.end = end_of(&error),
            }
        }
        read
    }
}

/// Answers with one fixture.
struct OneReply {
    fixture: Fixture,
    chunks: Vec<Bytes>,
    silent: bool,
}

impl Transport for OneReply {
    fn send(&self, _: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let chunks = futures_util::stream::iter(self.chunks.clone()).map(Ok::<_, Broken>);
        let body: BoxStream<'static, _> =
            if self.silent { chunks.chain(futures_util::stream::pending()).boxed() } else { chunks.boxed() };
        let headers = &self.fixture.headers;
        let header = |name: &str| {
            headers
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.as_str())
        };
        let retry_after = agent::transport::retry_after(header);
        std::future::ready(Ok(Reply { status: self.fixture.status, retry_after, request: None, body }))
            .boxed()
    }
}

fn finish_of(finish: &Finish) -> String {
    match finish {
        Finish::Said => "said",
        Finish::Calls => "calls",
        Finish::Length => "length",
        Finish::WindowFull => "window_full",
        Finish::Withheld => "withheld",
        Finish::Other(_) => "other",
    }
    .to_owned()
}

fn end_of(error: &ProviderError) -> String {
    match error {
        ProviderError::Busy { kind, retry_after, .. } => {
            let kind = match kind {
                BusyKind::RateLimit => "rate_limit",
                BusyKind::Overloaded => "overloaded",
                BusyKind::Network => "network",
            };
            match retry_after {
                Some(wait) => format!("busy {kind} {}", wait.as_millis()),
                None => format!("busy {kind}"),
            }
        }
        ProviderError::Refused { kind, .. } => {
            let kind = match kind {
                RefusalKind::TooLong => "too_long",
                RefusalKind::Quota => "quota",
                RefusalKind::Key => "key",
                RefusalKind::UnknownModel => "unknown_model",
                RefusalKind::Parameter => "parameter",
                RefusalKind::Policy => "policy",
                RefusalKind::NotAModel => "not_a_model",
                RefusalKind::Other => "other",
            };
            format!("refused {kind}")
        }
        ProviderError::Cut { .. } => "cut".to_owned(),
        ProviderError::Silent { .. } => "silent".to_owned(),
        ProviderError::Unreadable { .. } => "unreadable".to_owned(),
    }
}

/// What is wrong with each way to read the fixtures.
#[derive(Debug, Default)]
struct Wrong {
    whole: Vec<String>,
    split: Vec<String>,
    cut: Vec<String>,
    stalled: Vec<String>,
    complete: Vec<String>,
}

/// Reads every fixture in every way.
///
/// # Errors
/// Returns an error if a fixture can't be read.
pub async fn run(report: &mut Report) -> anyhow::Result<()> {
    tokio::time::pause();
    let fixtures = fixtures()?;
    let mut providers: Vec<&str> = fixtures.iter().filter_map(|one| one.name.split('/').next()).collect();
    providers.dedup();
    let mut wrong = Wrong::default();
    for fixture in &fixtures {
        try_fixture(fixture, &mut wrong).await;
    }
    let enough = fixtures.len() >= FIXTURES_MIN;
    report.line("providers.fixtures", fixtures.len(), format!(">={FIXTURES_MIN}"), enough);
    let enough = providers.len() >= PROVIDERS_MIN;
    report.line("providers.providers", providers.len(), format!(">={PROVIDERS_MIN}"), enough);
    let ways = [
        ("read_wrong", wrong.whole),
        ("split_wrong", wrong.split),
        ("cut_wrong", wrong.cut),
        ("stalled_wrong", wrong.stalled),
        ("complete_though_not_whole", wrong.complete),
    ];
    for (way, wrong) in ways {
        wrong.iter().take(8).for_each(|line| report.note(line));
        report.line(&format!("providers.{way}"), wrong.len(), 0, wrong.is_empty());
    }
    Ok(())
}

async fn try_fixture(fixture: &Fixture, wrong: &mut Wrong) {
    let Fixture { name, body, expected, .. } = fixture;
    let whole = fixture.read(&[body], false).await;
    if whole != *expected {
        wrong.whole.push(format!("{name}: {whole:?}, expected {expected:?}"));
        return;
    }
    let stride = body.len().div_ceil(PLACES_MAX).max(1);
    for at in (0..body.len()).step_by(stride) {
        let (head, tail) = body.split_at(at);
        let split = fixture.read(&[head, tail], false).await;
        if split != whole {
            wrong.split.push(format!("{name} split at {at}: {split:?}"));
        }
        if fixture.status != 200 {
            continue;
        }
        let cut = fixture.read(&[head], false).await;
        let says_whole = matches!(cut.end.as_str(), "said" | "calls");
        if says_whole && (!fixture.is_whole() || cut.text != whole.text || cut.calls != whole.calls) {
            wrong.complete.push(format!("{name} cut at {at}: {cut:?}"));
        }
        if !whole.text.starts_with(&cut.text) || !whole.reasoning.starts_with(&cut.reasoning) {
            wrong.cut.push(format!("{name} cut at {at}: {cut:?}"));
        }
    }
    if fixture.status == 200 && whole.end != "unreadable" {
        let begun = tokio::time::Instant::now();
        let stalled = fixture.read(&[&body[..body.len() / 3]], true).await;
        let limits = AnswerLimits::default();
        let in_time = begun.elapsed() <= limits.first_byte_max + Duration::from_secs(1);
        if !(stalled.end == "silent" || stalled.end == whole.end) || !in_time {
            wrong.stalled.push(format!("{name}: {stalled:?} after {:?}", begun.elapsed()));
        }
    }
}
