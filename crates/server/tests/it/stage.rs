//! A server for one test, on a directory of its own, with a scripted model in this process.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::client::{Client, Reply};
use testkit::model::ScriptedModel;
use testkit::trial::{Process, Setup, free_port};
use tokio::runtime::Runtime;

pub(crate) struct Stage {
    pub(crate) setup: Setup,
    pub(crate) client: Client,
    pub(crate) server: Option<Process>,
    _model: Option<Runtime>,
    _home: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let model =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = model.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        model.spawn(Arc::new(ScriptedModel::default()).serve(listener));
        Self::start(home, format!("http://127.0.0.1:{port}/v1"), 100_000, Some(model))
    }

    /// A server whose only model is elsewhere.
    pub(crate) fn asking(model_url: String, window_tokens: u64) -> Self {
        Self::start(tempfile::tempdir().unwrap(), model_url, window_tokens, None)
    }

    fn start(home: TempDir, model_url: String, window_tokens: u64, model: Option<Runtime>) -> Self {
        let setup = Setup {
            binary: PathBuf::from(env!("CARGO_BIN_EXE_everturn")),
            home: home.path().to_owned(),
            data: home.path().join("data"),
            port: free_port().unwrap(),
            model_url,
            provider: "openai",
            model: "scripted",
            takes_prefix: true,
            tools: true,
            window_tokens,
            drain_seconds: 5,
            postgres: None,
            more: String::new(),
        };
        let client = Client { port: setup.port, token: setup.prepare().unwrap() };
        let server = Some(setup.serve().unwrap());
        Self { setup, client, server, _model: model, _home: home }
    }

    /// Kills the server and starts it again.
    pub(crate) fn restart(&mut self) {
        drop(self.server.take());
        self.server = Some(self.setup.serve().unwrap());
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.client.ask(method, path, body).unwrap()
    }

    /// Asks something that must be done.
    pub(crate) fn must(&self, method: &str, path: &str, body: &Value) -> Value {
        self.client.must(method, path, body).unwrap()
    }

    /// Posts a message and waits for the end of its answer.
    pub(crate) fn answered(&self, session: &str, text: &str) -> u64 {
        let kept = self.client.post(session, text).unwrap();
        let turn = kept["turn"].as_u64().unwrap();
        self.client.follow(session, Some(turn)).unwrap().until("run_ended").unwrap();
        turn
    }

    /// Uploads a file and returns the attachment for a message.
    pub(crate) fn attach(&self, name: &str, media_type: &str, bytes: &[u8]) -> Value {
        self.client.attach(name, media_type, bytes).unwrap()
    }

    pub(crate) fn view(&self, session: &str) -> Value {
        self.must("GET", &format!("/sessions/{session}"), &json!({}))
    }

    /// Every entry of a session so far, as the API gives it.
    pub(crate) fn log(&self, session: &str) -> Vec<Value> {
        let mut stream = self.client.follow(session, Some(0)).unwrap();
        let mut log = Vec::new();
        loop {
            let event = stream.event().unwrap().unwrap();
            match event.name.as_str() {
                "entry" => log.push(serde_json::from_str(&event.data).unwrap()),
                "caught_up" => return log,
                _ => {}
            }
        }
    }
}

/// The text of a turn's answer.
pub(crate) fn text(turn: &Value) -> String {
    let parts = turn["answer"]["parts"].as_array().cloned().unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}
