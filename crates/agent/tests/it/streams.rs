//! Streams of providers, recorded (`llama-cpp-text`) or written after the format (`tools`): whole, cut at every byte,
//! split at every byte, and silent.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use agent::provider::{anthropic, openai};
use agent::{AnswerLimits, Decoder, Delta, Finish, ProviderError, Secrets, answer};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::json;
use session::Usage;

/// A recorded stream and how it is read.
struct Recorded {
    name: String,
    bytes: Vec<u8>,
    decoder: MakeDecoder,
}

type MakeDecoder = fn() -> Box<dyn Decoder>;

/// Every stream under `fixtures/providers`.
fn recorded() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/providers");
    let formats: [(&str, MakeDecoder); 2] = [
        ("openai", || Box::new(openai::Chunks::default())),
        ("anthropic", || Box::new(anthropic::Events::default())),
    ];
    let mut all = Vec::new();
    for (format, decoder) in formats {
        for file in std::fs::read_dir(root.join(format)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|end| end != "sse") {
                continue;
            }
            let name = format!("{format}/{}", path.file_stem().unwrap().to_string_lossy());
            all.push(Recorded { name, bytes: std::fs::read(&path).unwrap(), decoder });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(all.len() >= 4, "there are streams to read");
    all
}

type Read = (Vec<Delta>, Option<ProviderError>);

async fn read_stream(
    chunks: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
    decoder: Box<dyn Decoder>,
) -> Read {
    let (mut deltas, mut error) = (Vec::new(), None);
    let mut answer = answer(chunks, decoder, AnswerLimits::default(), Secrets::default());
    while let Some(item) = answer.next().await {
        assert_eq!(error, None, "nothing follows an error");
        match item {
            Ok(delta) => deltas.push(delta),
            Err(failed) => error = Some(failed),
        }
    }
    (deltas, error)
}

async fn read(chunks: &[&[u8]], decoder: Box<dyn Decoder>) -> Read {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    read_stream(stream::iter(chunks), decoder).await
}

#[tokio::test]
async fn a_stream_gives_text_reasoning_calls_usage_and_its_end() {
    let whole = |name: &str| recorded().into_iter().find(|recorded| recorded.name == name).unwrap();
    let text = |text: &str| Delta::Text(text.to_owned());
    let reasoning = |text: &str| Delta::Reasoning(text.to_owned());
    let call = |place, id: Option<&str>, tool: Option<&str>, arguments: &str| Delta::Call {
        place,
        id: id.map(str::to_owned),
        tool: tool.map(str::to_owned),
        arguments: arguments.to_owned(),
    };
    let usage =
        |input_tokens, output_tokens| Delta::Usage(Usage { input_tokens, output_tokens, ..Usage::default() });

    let Recorded { bytes, decoder, .. } = whole("openai/tools");
    let expected = vec![
        reasoning("The clock tells. "),
        reasoning("Ask twice."),
        text("One moment, "),
        text("schön."),
        call(0, Some("call_a"), Some("clock"), ""),
        call(0, None, None, "{\"zone\":"),
        call(0, None, None, "\"UTC\"}"),
        call(1, Some("call_b"), Some("clock"), "{}"),
        usage(41, 17),
        Delta::End(Finish::Calls),
    ];
    assert_eq!(read(&[&bytes], decoder()).await, (expected, None));

    let Recorded { bytes, decoder, .. } = whole("anthropic/tools");
    let expected = vec![
        usage(41, 1),
        reasoning("The clock tells. "),
        reasoning("Ask twice."),
        Delta::Part {
            place: None,
            kind: "thinking",
            data: json!({ "type": "thinking", "thinking": "The clock tells. Ask twice.", "signature": "c2lnbmVk" })
                .to_string(),
        },
        text("One moment, "),
        text("schön."),
        call(2, Some("toolu_a"), Some("clock"), ""),
        call(2, None, None, "{\"zone\":"),
        call(2, None, None, "\"UTC\"}"),
        usage(41, 17),
        Delta::End(Finish::Calls),
    ];
    assert_eq!(read(&[&bytes], decoder()).await, (expected, None));
}

fn words(deltas: &[Delta]) -> Vec<&Delta> {
    deltas.iter().filter(|delta| !matches!(delta, Delta::Usage(_))).collect()
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_gives_what_came_before_and_says_that_it_was_cut() {
    for Recorded { name, bytes, decoder } in recorded() {
        let (whole, error) = read(&[&bytes], decoder()).await;
        assert_eq!(error, None, "{name}");
        assert!(matches!(whole.last(), Some(Delta::End(_))), "{name}: {whole:?}");
        for cut in 0..bytes.len() {
            let (deltas, error) = read(&[&bytes[..cut]], decoder()).await;
            // An answer is whole without its bill.
            assert!(words(&whole).starts_with(&words(&deltas)), "{name} cut at {cut} gives {deltas:?}");
            let ended = matches!(deltas.last(), Some(Delta::End(_)));
            let cut_off = matches!(error, Some(ProviderError::Cut { .. }));
            assert!(
                ended != cut_off && ended == error.is_none(),
                "{name} cut at {cut}: {deltas:?} {error:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_stream_is_the_same_wherever_the_network_splits_it() {
    for Recorded { name, bytes, decoder } in recorded() {
        let whole = read(&[&bytes], decoder()).await;
        for at in 0..bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(read(&[head, tail], decoder()).await, whole, "{name} split at {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_is_cut() {
    for Recorded { name, bytes, decoder } in recorded() {
        let begun = tokio::time::Instant::now();
        let half = Bytes::copy_from_slice(&bytes[..bytes.len() / 2]);
        let silent = stream::iter([Ok(half)]).chain(stream::pending());
        let (deltas, error) = read_stream(silent, decoder()).await;
        assert!(!deltas.is_empty(), "{name}");
        assert!(matches!(error, Some(ProviderError::Silent { .. })), "{name}: {error:?}");
        assert!(begun.elapsed() >= AnswerLimits::default().silence_max, "{name}");
        assert!(begun.elapsed() < AnswerLimits::default().silence_max + Duration::from_secs(5), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn c26_comments_keep_an_answer_alive() {
    for Recorded { name, bytes, decoder } in recorded() {
        let comments = stream::iter(0..20).then(|_| async {
            tokio::time::sleep(AnswerLimits::default().silence_max / 2).await;
            Ok(Bytes::from_static(b": still working\n\n"))
        });
        let answer = stream::iter([Ok(Bytes::copy_from_slice(&bytes))]);
        let (deltas, error) = read_stream(comments.chain(answer), decoder()).await;
        assert_eq!(error, None, "{name}");
        assert!(matches!(deltas.last(), Some(Delta::End(_))), "{name}: {deltas:?}");
    }
}

#[tokio::test]
async fn a_stream_without_end_is_cut_at_its_limit() {
    let piece: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"more \"}}]}\n\n";
    let endless = stream::repeat_with(move || Ok::<_, Infallible>(Bytes::from_static(piece)));
    let limits = AnswerLimits { stream_bytes_max: 10 * piece.len(), ..AnswerLimits::default() };
    let given: Vec<_> =
        answer(endless, Box::new(openai::Chunks::default()), limits, Secrets::default()).collect().await;
    let texts = given.iter().filter(|item| matches!(item, Ok(Delta::Text(_)))).count();
    assert_eq!(texts, 10);
    assert!(matches!(given.last(), Some(Err(ProviderError::Cut { .. }))), "{given:?}");
}

#[tokio::test]
async fn a_line_without_end_is_cut_at_its_limit() {
    let limits = AnswerLimits { line_bytes_max: 100, ..AnswerLimits::default() };
    let said = b"data: {\"choices\":[{\"delta\":{\"content\":\"more \"}}]}\n\n";
    let endless = stream::iter([&said[..], said, b"data: "]).chain(stream::repeat(&b"aaaaaaaaaa"[..]));
    let endless = endless.map(|piece: &'static [u8]| Ok::<_, Infallible>(Bytes::from_static(piece)));
    let given: Vec<_> =
        answer(endless, Box::new(openai::Chunks::default()), limits, Secrets::default()).collect().await;
    let texts = given.iter().filter(|item| matches!(item, Ok(Delta::Text(_)))).count();
    assert_eq!(texts, 2);
    assert!(matches!(given.last(), Some(Err(ProviderError::Cut { .. }))), "{given:?}");
}

#[tokio::test]
async fn what_is_not_the_wire_format_is_told_and_ends_the_answer() {
    for (bytes, decoder) in [
        ("data: {\"choices\":\n\n", Box::new(openai::Chunks::default()) as Box<dyn Decoder>),
        ("data: {\"type\":7}\n\n", Box::new(anthropic::Events::default())),
    ] {
        let (deltas, error) = read(&[bytes.as_bytes()], decoder).await;
        assert_eq!(deltas, []);
        assert!(matches!(error, Some(ProviderError::Unreadable { .. })), "{error:?}");
    }
    let failed = b"data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n";
    let (_, error) = read(&[failed], Box::new(openai::Chunks::default())).await;
    assert_eq!(
        error,
        Some(ProviderError::Busy {
            kind: agent::BusyKind::Overloaded,
            reason: "out of memory".to_owned(),
            retry_after: None
        })
    );
}
