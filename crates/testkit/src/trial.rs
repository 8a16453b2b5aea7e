//! The released binary on trial: started, killed, cut from power and started again, beside a scripted model and the
//! judge. All of them are processes of their own.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use judge::play::ASKED_MODEL;

use crate::dice::Dice;
use crate::live;
use crate::report::Report;

/// How long a server may take until it is ready. Only a failing trial waits this long.
const READY_MAX: Duration = Duration::from_secs(30);

/// A free port of this machine, outside of those that the system lends to outgoing connections: nobody takes it while a
/// server is down.
///
/// # Errors
/// When there is none.
pub fn free_port() -> anyhow::Result<u16> {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let mut dice =
        Dice::new(u64::from(std::process::id()) << 32 | u64::from(TRIED.fetch_add(1, Ordering::Relaxed)));
    for _ in 0..1_000 {
        let port = 10_000 + u16::try_from(dice.below(20_000))?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port is free")
}

/// The current moment, for waiting.
#[expect(clippy::disallowed_methods, reason = "a trial waits in real time")]
pub fn now() -> Instant {
    Instant::now()
}

/// A binary beside this one.
///
/// # Errors
/// When it was not built.
pub fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!("{} is not built; the recipe in the justfile builds it", path.display());
    }
    Ok(path)
}

/// A process that ends with its owner.
#[derive(Debug)]
pub struct Process(pub Child);

impl Process {
    /// Kills it at once and waits until it is gone.
    pub fn kill(&mut self) {
        // One that ended by itself cannot be killed, which is as good.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The server's binary.
    pub binary: PathBuf,
    pub home: PathBuf,
    pub data: PathBuf,
    pub port: u16,
    pub model_url: String,
    /// The wire format: `openai` or `anthropic`.
    pub provider: &'static str,
    pub model: &'static str,
    pub takes_prefix: bool,
    pub tools: bool,
    pub window_tokens: u64,
    /// How long runs may take to end when the server is asked to stop.
    pub drain_seconds: u64,
    /// Where sessions are kept, when it is not in the data directory.
    pub postgres: Option<String>,
    /// What else the configuration says, at its end.
    pub more: String,
}

impl Setup {
    /// The binary beside this one on a free port, with its data in its home; the model on the other port is the
    /// scripted one unless told otherwise.
    ///
    /// # Errors
    /// When the binary was not built or no port is free.
    pub fn at(home: &Path, model_port: u16) -> anyhow::Result<Self> {
        Ok(Self {
            binary: binary("everturn")?,
            home: home.to_owned(),
            data: home.join("data"),
            port: free_port()?,
            model_url: format!("http://127.0.0.1:{model_port}/v1"),
            provider: "openai",
            model: "scripted",
            takes_prefix: true,
            tools: true,
            window_tokens: 1_000_000,
            drain_seconds: 5,
            postgres: None,
            more: String::new(),
        })
    }

    /// With the second model that the judge asks, which takes no prefix.
    pub fn judged(mut self) -> Self {
        let Self { provider, model_url, model, window_tokens, .. } = &self;
        let output_tokens_max = window_tokens / 4;
        self.more += &format!(
            "[[models]]\nname = {ASKED_MODEL:?}\nprovider = {provider:?}\nurl = {model_url:?}\nmodel = {model:?}\n\
             window_tokens = {window_tokens}\noutput_tokens_max = {output_tokens_max}\n"
        );
        self
    }

    /// Writes the configuration and makes a token.
    ///
    /// # Errors
    /// When either cannot be done.
    pub fn prepare(&self) -> anyhow::Result<String> {
        self.configure()?;
        self.token()
    }

    /// Creates a token with the configuration that exists.
    ///
    /// # Errors
    /// Returns an error if `token new` fails.
    pub fn token(&self) -> anyhow::Result<String> {
        let made = self.command().args(["token", "new"]).output()?;
        if !made.status.success() {
            bail!("no token: {}", String::from_utf8_lossy(&made.stderr));
        }
        Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
    }

    /// Writes the configuration.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn configure(&self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.home)?;
        let Self {
            data,
            port,
            provider,
            model_url,
            model,
            takes_prefix,
            tools,
            window_tokens,
            drain_seconds,
            ..
        } = self;
        let output_tokens_max = window_tokens / 4;
        let postgres = self.postgres.as_ref().map_or(String::new(), |url| format!("postgres = {url:?}\n"));
        let config = format!(
            "data = {data:?}\n{postgres}listen = \"127.0.0.1:{port}\"\ndrain_seconds = {drain_seconds}\n[[models]]\nname = \"trial\"\n\
             provider = {provider:?}\nurl = {model_url:?}\nmodel = {model:?}\ntakes_prefix = {takes_prefix}\n\
             tools = {tools}\nwindow_tokens = {window_tokens}\noutput_tokens_max = {output_tokens_max}\n{}",
            self.more
        );
        Ok(std::fs::write(self.config(), config)?)
    }

    /// Where its configuration is.
    pub fn config(&self) -> PathBuf {
        self.home.join("config.toml")
    }

    /// The base of the API.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The binary with this configuration.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("--config").arg(self.config()).env("HOME", &self.home).env("EVERTURN_LOG", "warn");
        command.env_remove("EVERTURN_TOKEN").env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        // The server would read them as fields of its configuration.
        for name in live::OWN_VARIABLES {
            command.env_remove(name);
        }
        command
    }

    /// Starts the server and waits until it is ready.
    ///
    /// # Errors
    /// When it is not.
    pub fn serve(&self) -> anyhow::Result<Process> {
        self.serve_with(&[])
    }

    /// The same with variables of the environment.
    ///
    /// # Errors
    /// When it is not ready.
    pub fn serve_with(&self, variables: &[(&str, &str)]) -> anyhow::Result<Process> {
        let log = std::fs::File::options().create(true).append(true).open(self.home.join("serve.log"))?;
        let mut command = self.command();
        command
            .arg("serve")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut server = Process(command.spawn()?);
        let out = server.0.stdout.take().context("its output")?;
        for line in BufReader::new(out).lines() {
            if line?.starts_with("ready on") {
                return Ok(server);
            }
        }
        let told = std::fs::read_to_string(self.home.join("serve.log")).unwrap_or_default();
        bail!("the server ended before it was ready: {}", told.lines().last().unwrap_or_default())
    }
}

/// Starts the scripted model.
///
/// # Errors
/// When it does not listen.
pub fn scripted_model() -> anyhow::Result<(Process, u16)> {
    let port = free_port()?;
    let model =
        Process(Command::new(binary("scripted-model")?).arg(port.to_string()).stdin(Stdio::null()).spawn()?);
    wait_for_port(port, READY_MAX)?;
    Ok((model, port))
}

/// Waits until something is so, looking again and again.
///
/// # Panics
/// When it never is.
pub fn until(mut so: impl FnMut() -> bool) {
    let deadline = now() + READY_MAX;
    while !so() {
        assert!(now() < deadline, "it never came to be");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until something listens.
///
/// # Errors
/// When nothing does for too long.
pub fn wait_for_port(port: u16, most: Duration) -> anyhow::Result<()> {
    let deadline = now() + most;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
        if now() > deadline {
            bail!("nothing listens on port {port}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The judge at work.
#[derive(Debug)]
pub struct Judge {
    process: Process,
}

impl Judge {
    /// Lets the judge play on a server.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        setup: &Setup,
        token: &str,
        history: &Path,
        sessions: usize,
        seed: u64,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(binary("judge")?);
        command.arg(setup.url()).arg(token).arg(history).arg(sessions.to_string()).arg(seed.to_string());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        Ok(Self { process: Process(child) })
    }

    /// Ends the play; answers what the judge says, and whether all was well.
    ///
    /// # Errors
    /// When the judge fails.
    pub fn verdict(mut self) -> anyhow::Result<(Vec<String>, bool)> {
        drop(self.process.0.stdin.take());
        let out = self.process.0.stdout.take().context("its output")?;
        let lines: Vec<String> = BufReader::new(out).lines().collect::<Result<_, _>>()?;
        let status = self.process.0.wait()?;
        let told = lines.last().is_some_and(|line| line.starts_with("verdict"));
        if !told {
            bail!("the judge ended without a verdict ({status}): {lines:?}");
        }
        Ok((lines, status.success()))
    }
}

/// Reports the judge's violation counts as figures of a trial. Coverage is not checked, because a trial may last only
/// seconds.
pub fn violations(report: &mut Report, trial: &str, lines: &[String]) {
    for line in lines.iter().filter(|line| line.starts_with('#')) {
        report.note(line.trim_start_matches("# "));
    }
    let mut figures = 0;
    for line in lines {
        if let [name, value, "0", _] = line.split_whitespace().collect::<Vec<_>>().as_slice() {
            figures += 1;
            report.line(&format!("{trial}.{name}"), value, 0, *value == "0");
        }
    }
    report.line(&format!("{trial}.judged"), figures, ">0", figures > 0);
}

/// Tells how far a long trial is.
#[expect(clippy::print_stderr, reason = "progress of a campaign, beside its figures")]
pub fn progress(text: &str) {
    eprint!("\r{text}    ");
    drop(std::io::stderr().flush());
}
