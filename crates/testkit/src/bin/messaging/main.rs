//! The released binary between people on messaging platforms and a scripted model: `messaging head-to-head`, `judge`,
//! `bench` and `restarts`, each with `--full`. Synapse is a real one; Telegram is simulated, because a real one cannot be told to fail.

mod bench;
mod head_to_head;
mod judge;
mod restarts;

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::Report;
use testkit::client::Client;
use testkit::synapse::MatrixPerson;
use testkit::telegram::{Person, Simulator};
use testkit::trial::{Process, Setup, now};

/// How long anything may take. Only a failing trial waits this long.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);
/// The exit code that asks a supervisor to start the server again.
const RESTART: i32 = 75;
const MATRIX_TOKEN: &str = "MATRIX_TOKEN";
const TELEGRAM_TOKEN: &str = "TELEGRAM_TOKEN";

fn main() -> anyhow::Result<()> {
    let full = std::env::args().any(|word| word == "--full");
    let mut report = Report::default();
    let what = std::env::args().nth(1).unwrap_or_default();
    match what.as_str() {
        "head-to-head" => head_to_head::run(&mut report, if full { 20 } else { 2 })?,
        "judge" => judge::run(&mut report, if full { 200 } else { 20 })?,
        "bench" => bench::run(&mut report, full)?,
        "restarts" => {
            let brief = std::env::args().any(|word| word == "--brief");
            let (stops, deploys, seconds) = match (full, brief) {
                (true, _) => (200, 10, 60),
                (false, false) => (40, 10, 6),
                (false, true) => (9, 3, 3),
            };
            let apart = Duration::from_secs(seconds);
            let patience = if brief { 2.0 } else { 1.0 };
            restarts::run(&mut report, &restarts::Size { stops, deploys, apart, patience })?;
        }
        _ => bail!("say head-to-head, judge, bench or restarts"),
    }
    let of_gateway = matches!(what.as_str(), "judge" | "bench");
    let name = if of_gateway { format!("{what}-gateway") } else { what };
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
        self.stop_by(Signal::SIGTERM)
    }

    fn stop_by(&mut self, signal: Signal) -> anyhow::Result<()> {
        let mut process = self.process.take().context("it runs")?;
        kill(Pid::from_raw(i32::try_from(process.0.id())?), signal)?;
        let code = if signal == Signal::SIGHUP { RESTART } else { 0 };
        ensure!(process.0.wait()?.code() == Some(code), "the server stopped badly");
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
