//! The wiring: configuration to store, agent, hub and router. The only place that names them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::{AnswerLimits, ApiKey, HttpTransport, Model, Outgoing, Prices, Provider, Transport, Wire, World};
use anyhow::{Context, bail};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{Clock, Hub, SystemClock};
use session::{AfterCrash, BlobHash, InterruptReason, Time, UserId};
use store::Store;
use store::people::{Kind, Scope};
use store::postgres::PostgresStore;
use store::sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::config::{AfterCrashConfig, Config, ModelConfig, ProviderConfig, environment, micros};
use crate::http::{self, App, Desks, Front};
use crate::throttle::Throttle;
use crate::{file, people, tls};

/// A server that is ready to be run.
pub(crate) struct Server {
    hub: Hub,
    desks: Desks,
    router: axum::Router,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    ready: Arc<AtomicBool>,
    stop: CancellationToken,
    drain: Duration,
    /// A token that was made because there was none; shown once.
    pub(crate) first_token: Option<String>,
}

/// SQLite in the data directory, unless the configuration names a PostgreSQL server.
async fn open_store(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    if let Some(url) = &config.postgres {
        let settings = store::postgres::Settings { url: url.clone(), schema: "everturn".to_owned() };
        return Ok(Arc::new(PostgresStore::open(&settings).await.context("open the store on PostgreSQL")?));
    }
    let settings = store::sqlite::Settings::new(&config.data);
    let opening = tokio::task::spawn_blocking(move || SqliteStore::open(settings));
    Ok(Arc::new(opening.await?.with_context(|| format!("open {}", config.data.display()))?))
}

impl Server {
    /// Opens the store, repairs what was cut off, and listens.
    ///
    /// # Errors
    /// When any of that cannot be done.
    pub(crate) async fn start(config: &Config) -> anyhow::Result<Self> {
        if config.models.is_empty() {
            bail!("no model is configured; `everturn init` asks three questions and writes the file");
        }
        // Before the store is opened: a second server on the same port should not get that far.
        let listener =
            TcpListener::bind(config.listen).await.with_context(|| format!("listen on {}", config.listen))?;
        file::make_private(&config.data).with_context(|| format!("make {}", config.data.display()))?;
        let people = Arc::new(people::open(&config.data)?);
        if !config.listen.ip().is_loopback() && !people.has_login()? {
            bail!(
                "`listen` is {}, which others can reach, and nobody can log in yet. `everturn user password owner` \
                 sets a password; then start again.",
                config.listen
            );
        }
        let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
        let store = open_store(config).await?;
        let transport: Arc<dyn Transport> =
            Arc::new(HttpTransport(Outgoing::new(config.models.iter().map(|model| model.url.as_str()))?));
        let models =
            config.models.iter().map(|model| make_model(model, &transport)).collect::<anyhow::Result<_>>()?;
        let agent = agent::Agent {
            models,
            tools: agent::tool::built_in(),
            world: Arc::new(Outside { store: store.clone() }),
            limits: config.run_limits(),
            instructions: config.instructions.clone(),
        };
        let mut settings = hub::Settings::new(config.data.join("spool"));
        settings.after_crash = match config.after_crash {
            AfterCrashConfig::Continue => AfterCrash::Continue,
            AfterCrashConfig::Wait => AfterCrash::Wait,
        };
        let hub = Hub::start(store, Arc::new(agent), Arc::new(SystemClock), settings).await?;
        let none_yet = people.credentials(None, Kind::Token)?.is_empty();
        let make_first = || {
            people::make_token(&people, people::by_hand(), UserId::FIRST, "first start", Scope::Manage, None)
        };
        let first_token = none_yet.then(make_first).transpose()?.map(|(_, token)| token);
        let (ready, stop) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let desks = Desks::new(hub.clone(), people.clone(), stop.clone());
        let (router, _) = http::router(App {
            desks: desks.clone(),
            front: Front {
                hosts: Arc::new(config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect()),
                proxy: config.proxy,
                safe: config.tls.is_some() || config.proxy.is_some(),
            },
            throttle: Arc::new(Throttle::default()),
            models: Arc::new(config.models.clone()),
            ready: ready.clone(),
        });
        let drain = Duration::from_secs(config.drain_seconds);
        Ok(Self { hub, desks, router, listener, tls, ready, stop, drain, first_token })
    }

    /// Serves until `asked` to stop, then drains: messages are kept, runs have their time, everything is closed.
    pub(crate) async fn run(self, asked: impl Future<Output = ()>) {
        let accepting = CancellationToken::new();
        self.ready.store(true, Ordering::Release);
        let serving =
            crate::spawn::spawn(http::serve(self.listener, self.tls, self.router, accepting.clone()));
        crate::spawn::spawn(self.desks.look_for_changes());
        asked.await;
        self.ready.store(false, Ordering::Release);
        tracing::info!(runs = self.hub.open_runs(), "stopping: messages are kept, no run starts");
        self.hub.drain(InterruptReason::ShutdownTimeout, self.drain).await;
        self.stop.cancel();
        accepting.cancel();
        if let Err(error) = serving.await {
            tracing::error!(%error, "the accept loop failed");
        }
        tracing::info!("stopped");
    }
}

/// What tools may look at.
struct Outside {
    store: Arc<dyn Store>,
}

impl World for Outside {
    fn now(&self) -> Time {
        SystemClock.now()
    }

    fn blob(&self, blob: BlobHash) -> BoxFuture<'static, Result<Option<Vec<u8>>, String>> {
        let store = self.store.clone();
        async move { store.blob(blob).await.map_err(|error| error.to_string()) }.boxed()
    }
}

fn make_model(config: &ModelConfig, transport: &Arc<dyn Transport>) -> anyhow::Result<Model> {
    let name = &config.name;
    let key = match (&config.key_env, &config.key_file) {
        (Some(_), Some(_)) => bail!("model `{name}`: give `key_env` or `key_file`, not both"),
        (Some(variable), None) => {
            Some(environment(variable).with_context(|| format!("model `{name}`: {variable} is not set"))?)
        }
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("model `{name}`: read {}", path.display()))?;
            Some(text.trim().to_owned())
        }
        (None, None) => None,
    };
    Ok(Model {
        name: name.clone(),
        id: config.model.clone(),
        provider: Provider {
            wire: match config.provider {
                ProviderConfig::Openai => Wire::OpenAi,
                ProviderConfig::Anthropic => Wire::Anthropic,
            },
            url: config.url.clone(),
            key: key.map(ApiKey),
            takes_prefix: config.takes_prefix,
            transport: transport.clone(),
            limits: AnswerLimits {
                silence_max: Duration::from_secs(config.silence_seconds),
                ..AnswerLimits::default()
            },
        },
        window_tokens: config.window_tokens,
        output_tokens_max: config.output_tokens_max,
        prices: Prices {
            input_micros: micros(config.input_price),
            output_micros: micros(config.output_price),
        },
        uses_tools: config.tools,
    })
}
