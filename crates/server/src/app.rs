//! The wiring: configuration to store, agent, hub and router. The only place that names them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::World;
use anyhow::{Context, bail};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{Clock, Hub, SystemClock};
use session::{BlobHash, InterruptReason, Time, UserId};
use store::Store;
use store::directory::DataDirectory;
use store::people::{Kind, Scope};
use store::postgres::PostgresStore;
use store::sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::answering::Answering;
use crate::config::Config;
use crate::housekeeping::Housekeeping;
use crate::http::{self, App, Desks, Front};
use crate::messaging::Messaging;
use crate::metrics::Figures;
use crate::models::Offered;
use crate::openid::OpenId;
use crate::passkeys::Passkeys;
use crate::settings::Settings;
use crate::supervisor;
use crate::tasks::Tasks;
use crate::throttle::Throttle;
use crate::uploads::Uploads;
use crate::vault::Vault;
use crate::{people, tls};

/// Time to deliver and close after `drain_seconds`. Writers that are still busy may add `RETIRE_MIN` to it.
const CLOSING_MAX: Duration = Duration::from_millis(900);

/// How long what is written has to reach its chats once the runs are over.
const DELIVERING_MAX: Duration = Duration::from_secs(5);

/// A server that is ready to be run.
pub(crate) struct Server {
    hub: Hub,
    app: App,
    housekeeping: Housekeeping,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    ready: Arc<AtomicBool>,
    stop: CancellationToken,
    drain: Duration,
    /// A token that was made because there was none; shown once.
    pub(crate) first_token: Option<String>,
}

/// SQLite in the data directory, unless the configuration names a PostgreSQL server.
async fn open_store(config: &Config, directory: &DataDirectory) -> anyhow::Result<Arc<dyn Store>> {
    if let Some(url) = &config.postgres {
        return Ok(Arc::new(open_postgres(url).await?));
    }
    let (settings, directory) = (store::sqlite::Settings::new(&config.data), directory.clone());
    let opening = tokio::task::spawn_blocking(move || SqliteStore::open_in(directory, settings));
    Ok(Arc::new(opening.await?.with_context(|| format!("failed to open {}", config.data.display()))?))
}

/// Opens the store on a PostgreSQL server.
///
/// # Errors
/// Returns an error if the server cannot be reached or another process uses the store.
pub(crate) async fn open_postgres(url: &str) -> anyhow::Result<PostgresStore> {
    let settings = store::postgres::Settings { url: url.to_owned(), schema: "everturn".to_owned() };
    PostgresStore::open(&settings).await.context("failed to open the PostgreSQL store")
}

impl Server {
    /// Opens the store, repairs what was cut off, and listens.
    ///
    /// # Errors
    /// When any of that cannot be done.
    pub(crate) async fn start(config: &Config) -> anyhow::Result<Self> {
        // Before the store is opened: a second server on the same port should not get that far.
        let listener = TcpListener::bind(config.listen).await.with_context(|| {
            format!("failed to listen on {}; another program may use the port", config.listen)
        })?;
        let directory = config.enter()?;
        let people = Arc::new(people::open(&directory)?);
        if !config.listen.ip().is_loopback() && !people.has_login()? {
            bail!(
                "`listen` is {}, which other machines can reach, but no user has a password yet. Set one with \
                 `everturn user password owner`, then start the server again.",
                config.listen
            );
        }
        let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
        let store = open_store(config, &directory).await?;
        let vault = Arc::new(Vault::open(&config.data, people.clone())?);
        let offered = Arc::new(Offered::open(config, people.clone(), vault.clone())?);
        let settings = Arc::new(Settings::open(config, people.clone())?);
        let answering = Answering {
            offered: offered.clone(),
            settings: settings.clone(),
            people: people.clone(),
            tools: agent::tool::built_in(),
            world: Arc::new(Outside { store: store.clone() }),
            media: Arc::default(),
            limits: config.run_limits(),
            background: config.background_model.clone(),
        };
        let mut of_hub = hub::Settings::new(config.data.join("spool"));
        of_hub.after_interruption = settings.resume_policy();
        of_hub.suspend_active_within = config.suspend_active_within();
        let hub = Hub::start(store, Arc::new(answering), Arc::new(SystemClock), of_hub).await?;
        let none_yet = people.credentials(None, Kind::Token)?.is_empty();
        let make_first = || {
            people::make_token(&people, people::by_hand(), UserId::FIRST, "first start", Scope::Manage, None)
        };
        let first_token = none_yet.then(make_first).transpose()?.map(|(_, token)| token);
        let (ready, stop) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let uploads = Arc::new(Uploads::open(&config.data).context("failed to open the uploads folder")?);
        let app = App {
            desks: Desks::new(hub.clone(), people.clone(), uploads.clone(), stop.clone()),
            front: Front {
                hosts: Arc::new(config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect()),
                proxy: config.proxy,
                tls: config.tls.is_some(),
            },
            throttle: Arc::new(Throttle::default()),
            passkeys: Arc::new(Passkeys::default()),
            messaging: Messaging::open(config, &hub, people.clone(), offered.clone(), &vault)?,
            openid: Arc::new(OpenId::new(&config.openid, &vault)?),
            vault,
            figures: Figures::start(hub.clone(), people.clone(), &config.data)?,
            on_postgres: config.postgres.is_some(),
            offered,
            settings: settings.clone(),
            tasks: Tasks::new(config, people.clone()),
            ready: ready.clone(),
        };
        let drain = Duration::from_secs(config.drain_seconds);
        let housekeeping = Housekeeping { hub: hub.clone(), people, uploads, settings };
        Ok(Self { hub, app, housekeeping, listener, tls, ready, stop, drain, first_token })
    }

    /// Whether there is a model to ask.
    pub(crate) fn has_model(&self) -> bool {
        !self.app.offered.now().is_empty()
    }

    /// Whether a model has this name.
    pub(crate) fn has_model_named(&self, name: &str) -> bool {
        self.app.offered.now().iter().any(|offer| offer.config.name == name)
    }

    /// A server that listens but is not run, with what its routes use and a token.
    #[cfg(test)]
    pub(crate) async fn for_test(mut config: Config) -> (Self, App, String) {
        let model = "name = 'none'\nprovider = 'openai'\nurl = 'http://127.0.0.1:9/v1'\nmodel = 'none'";
        config.models = vec![toml::from_str(model).unwrap()];
        let server = Self::start(&config).await.unwrap();
        let (app, token) = (server.app.clone(), server.first_token.clone().unwrap());
        (server, app, token)
    }

    #[cfg(test)]
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    #[cfg(test)]
    pub(crate) fn router(&self) -> axum::Router {
        http::router(self.app.clone()).0
    }

    /// Serves until `asked` to stop, then drains: chats are told, messages are kept, runs have their time, what was written
    /// goes out, everything is closed. Says how it was asked.
    pub(crate) async fn run(self, asked: impl Future<Output = Stopping>) -> Stopping {
        let accepting = CancellationToken::new();
        let people = self.housekeeping.people.clone();
        self.ready.store(true, Ordering::Release);
        crate::spawn::spawn(self.app.desks.clone().watch_access());
        crate::spawn::spawn(self.housekeeping.keep(self.stop.clone()));
        let gateway = self.app.messaging.gateway.clone();
        gateway.start();
        let (router, _) = http::router(self.app);
        let serving = crate::spawn::spawn(http::serve(self.listener, self.tls, router, accepting.clone()));
        supervisor::ready();
        crate::spawn::spawn(supervisor::keep_alive(self.hub.clone(), self.stop.clone()));
        let how = asked.await;
        supervisor::stopping(self.drain);
        self.ready.store(false, Ordering::Release);
        tracing::info!(runs = self.hub.open_runs(), "shutting down, accepting messages but starting no runs");
        let end = Instant::now() + self.drain + CLOSING_MAX;
        let left = || end.saturating_duration_since(Instant::now());
        let notices = gateway.tell_stopping(how == Stopping::Restart, self.drain);
        tokio::join!(notices, self.hub.hold_runs(self.drain));
        let reason = match how {
            Stopping::Stop => InterruptReason::ShutdownTimeout,
            Stopping::Restart => InterruptReason::RestartTimeout,
        };
        self.hub.interrupt_runs(&reason, left() / 2).await;
        // The next start finishes the rest.
        gateway.finish((left() / 2).min(DELIVERING_MAX)).await;
        self.hub.drain(reason, (left() / 2).min(DELIVERING_MAX)).await;
        self.stop.cancel();
        accepting.cancel();
        match tokio::time::timeout(left() / 2, serving).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "accept loop panicked"),
            Err(_) => tracing::debug!("connections still open at shutdown"),
        }
        drop(tokio::time::timeout(left(), self.hub.close()).await);
        if let Err(error) = people.close() {
            tracing::warn!(%error, "failed to close people.db");
        }
        tracing::info!("stopped");
        how
    }
}

/// How the server was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopping {
    Stop,
    /// Its supervisor starts it again.
    Restart,
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
