//! Pictures and documents in attachments: models that accept them get their content, others only their names.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::sync::{Arc, Mutex};

use agent::{
    AnswerLimits, Broken, Dialect, LearnedDialect, Provider, ProviderError, Reply, Request, RequestOptions,
    Transport, Wire, World,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use session::{Attachment, BlobHash, Message, Prompt, PromptMessage, Time};

use crate::runs::{asks, model_with, run};

/// A model that answers in every format, and may refuse pictures.
#[derive(Clone, Default)]
struct Seeing {
    refusal: Option<&'static str>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Transport for Seeing {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let refusal = self.refusal.filter(|_| request.body.contains("image_url"));
        let (status, reply) = match refusal {
            Some(words) => (400, json!({ "error": { "message": words } })),
            None => (200, answer(&request.url)),
        };
        self.asked.lock().unwrap().push(body);
        let body = stream::iter([Ok::<_, Broken>(Bytes::from(reply.to_string()))]).boxed();
        std::future::ready(Ok(Reply { status, retry_after: None, request: None, body })).boxed()
    }
}

/// A whole answer in the format of an endpoint.
fn answer(url: &str) -> Value {
    if url.ends_with("/messages") {
        return json!({ "type": "message", "stop_reason": "end_turn", "content": [{ "type": "text", "text": "seen" }] });
    }
    if url.ends_with("/responses") {
        let said = json!({ "type": "output_text", "text": "seen" });
        let message = json!({ "type": "message", "id": "m", "role": "assistant", "content": [said] });
        return json!({ "object": "response", "status": "completed", "output": [message] });
    }
    json!({ "choices": [{ "message": { "content": "seen" }, "finish_reason": "stop" }] })
}

/// Files by their hash: a picture, a document, and text that claims to be a picture.
struct Files;

impl World for Files {
    fn now(&self) -> Time {
        Time(0)
    }

    fn blob(&self, blob: BlobHash) -> BoxFuture<'static, Result<Option<Vec<u8>>, String>> {
        let bytes = match blob.0.as_str() {
            "picture" => Some(picture()),
            "document" => Some(b"%PDF-1.7 herons".to_vec()),
            "liar" => Some(b"no picture".to_vec()),
            _ => None,
        };
        std::future::ready(Ok(bytes)).boxed()
    }
}

fn picture() -> Vec<u8> {
    let mut bytes = Vec::new();
    let picture = image::DynamicImage::from(image::RgbImage::new(4, 4));
    picture.write_to(&mut std::io::Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    bytes
}

fn with_files(files: &[(&str, &str)]) -> Prompt {
    let attachment = |(blob, media_type): &(&str, &str)| Attachment {
        name: format!("{blob}.file"),
        media_type: (*media_type).to_owned(),
        blob: BlobHash((*blob).to_owned()),
        size_bytes: 100,
    };
    let attachments = files.iter().map(attachment).collect();
    let mut prompt = asks("");
    prompt.messages = vec![PromptMessage::User(Message { attachments, ..Message::text("what is it?") })];
    prompt
}

async fn asked(model: &Seeing, wire: Wire, dialect: Dialect, prompt: Prompt) -> Vec<Value> {
    asked_with(model, wire, LearnedDialect::new(dialect), prompt).await
}

async fn asked_with(model: &Seeing, wire: Wire, dialect: LearnedDialect, prompt: Prompt) -> Vec<Value> {
    let mut agent = model_with(Provider {
        wire,
        url: "http://a.example/v1".to_owned(),
        key: None,
        takes_prefix: false,
        transport: Arc::new(model.clone()),
        limits: AnswerLimits::default(),
        dialect,
        options: RequestOptions::default(),
    });
    agent.models[0].window_tokens = 100_000;
    agent.world = Arc::new(Files);
    let recorder = run(&agent, prompt).await;
    assert_eq!((recorder.failure(), recorder.text().as_str()), (None, "seen"));
    std::mem::take(&mut *model.asked.lock().unwrap())
}

fn sees() -> Dialect {
    Dialect { pictures: true, documents: true, ..Dialect::default() }
}

const FILES: [(&str, &str); 2] = [("picture", "image/png"), ("document", "application/pdf")];
const NAMES: &str = "what is it?\n[attached: picture.file (image/png, 100 bytes)]\n[attached: document.file (application/pdf, 100 bytes)]";

#[tokio::test]
async fn each_format_shows_pictures_and_documents_in_its_own_way() {
    let data = STANDARD.encode(picture());
    let pdf = STANDARD.encode("%PDF-1.7 herons");
    let (picture_url, pdf_url) =
        (format!("data:image/png;base64,{data}"), format!("data:application/pdf;base64,{pdf}"));
    let text = |kind: &str| json!({ "type": kind, "text": NAMES });

    let chat = &asked(&Seeing::default(), Wire::OpenAi, sees(), with_files(&FILES)).await[0];
    let expected = json!([
        text("text"),
        { "type": "image_url", "image_url": { "url": picture_url } },
        { "type": "file", "file": { "filename": "document.file", "file_data": pdf_url } },
    ]);
    assert_eq!(chat["messages"][0]["content"], expected);

    let responses = &asked(&Seeing::default(), Wire::Responses, sees(), with_files(&FILES)).await[0];
    let expected = json!([
        text("input_text"),
        { "type": "input_image", "image_url": picture_url },
        { "type": "input_file", "filename": "document.file", "file_data": pdf_url },
    ]);
    assert_eq!(responses["input"][0]["content"], expected);

    let messages = &asked(&Seeing::default(), Wire::Anthropic, sees(), with_files(&FILES)).await[0];
    let source =
        |media_type: &str, data: &str| json!({ "type": "base64", "media_type": media_type, "data": data });
    let expected = json!([
        { "type": "image", "source": source("image/png", &data) },
        { "type": "document", "source": source("application/pdf", &pdf), "title": "document.file" },
        text("text"),
    ]);
    assert_eq!(messages["messages"][0]["content"], expected);
}

#[tokio::test]
async fn a_model_that_accepts_no_files_gets_their_names() {
    let chat = &asked(&Seeing::default(), Wire::OpenAi, Dialect::default(), with_files(&FILES)).await[0];
    assert_eq!(chat["messages"][0]["content"], NAMES);
    // A file that is no picture, whatever its declared type, and a missing file are also sent by name.
    let files = [("liar", "image/png"), ("gone", "image/png")];
    let chat = &asked(&Seeing::default(), Wire::OpenAi, sees(), with_files(&files)).await[0];
    assert!(chat["messages"][0]["content"].is_string(), "{chat}");
}

#[tokio::test]
async fn a_refused_picture_is_left_out_and_not_sent_again() {
    for (words, is_blind) in
        [("This model does not support image input.", true), ("Could not process image", false)]
    {
        let model = Seeing { refusal: Some(words), ..Seeing::default() };
        let dialect = LearnedDialect::new(sees());
        let both = asked_with(&model, Wire::OpenAi, dialect.clone(), with_files(&FILES[..1])).await;
        assert!(
            both[0]["messages"][0]["content"].is_array() && both[1]["messages"][0]["content"].is_string()
        );
        assert_eq!(both.len(), 2);
        // One bad picture says nothing about the next one.
        assert_eq!(dialect.takes_pictures(), !is_blind, "{words}");
    }
}

#[tokio::test]
async fn the_newest_pictures_are_shown_as_far_as_they_fit() {
    let mut prompt = with_files(&FILES[..1]);
    prompt.messages.push(PromptMessage::said("a heron"));
    prompt.messages.extend(with_files(&[("picture", "image/png"), ("document", "application/pdf")]).messages);
    let model = Seeing::default();
    let mut agent = model_with(Provider {
        wire: Wire::OpenAi,
        url: "http://a.example/v1".to_owned(),
        key: None,
        takes_prefix: false,
        transport: Arc::new(model.clone()),
        limits: AnswerLimits::default(),
        dialect: LearnedDialect::new(sees()),
        options: RequestOptions::default(),
    });
    // Half of the window has room for the document, but not for the picture before it.
    agent.models[0].window_tokens = 6_000;
    agent.world = Arc::new(Files);
    run(&agent, prompt).await;
    let asked = model.asked.lock().unwrap();
    let kinds = |at: usize| -> Vec<Value> {
        let parts = asked[0]["messages"][at]["content"].as_array().cloned().unwrap_or_default();
        parts.iter().map(|part| part["type"].clone()).collect()
    };
    assert_eq!((kinds(0), kinds(2)), (vec![], vec![json!("text"), json!("file")]));
}
