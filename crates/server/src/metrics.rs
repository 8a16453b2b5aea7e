//! The figures of a running server, as Prometheus reads them. Names are told here and in the `metrics.rs` of the other
//! crates, and explained in `docs/operations.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hub::{Clock, Hub, SystemClock};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use session::Time;
use store::people::People;

use crate::samples::{Sample, Samples, figure};

/// How often what was counted is brought together.
const UPKEEP: Duration = Duration::from_secs(5);

/// Everything that figures are taken from.
#[derive(Clone)]
pub(crate) struct Figures {
    recorded: PrometheusHandle,
    hub: Hub,
    people: Arc<People>,
    data: Arc<PathBuf>,
    pub(crate) samples: Arc<Samples>,
    pub(crate) started_at: Time,
}

impl Figures {
    /// Begins to count. Once a process.
    ///
    /// # Errors
    /// When something else counts already.
    pub(crate) fn start(hub: Hub, people: Arc<People>, data: &Path) -> anyhow::Result<Self> {
        let recorder = PrometheusBuilder::new().build_recorder();
        let recorded = recorder.handle();
        metrics::set_global_recorder(recorder)?;
        metrics::gauge!("everturn_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        let (data, samples) = (Arc::new(data.to_owned()), Arc::default());
        let figures = Self { recorded, hub, people, data, samples, started_at: SystemClock.now() };
        let upkeep = figures.clone();
        crate::spawn::spawn(async move {
            loop {
                upkeep.samples.push(upkeep.sample().await);
                tokio::time::sleep(UPKEEP).await;
                upkeep.recorded.run_upkeep();
            }
        });
        Ok(figures)
    }

    /// A few figures as they are now.
    async fn sample(&self) -> Sample {
        let (health, text) = (self.hub.health().await, self.recorded.render());
        let commits = |label| micros(figure(&text, "everturn_commit_seconds", label));
        Sample {
            at: SystemClock.now().0,
            open_runs: self.hub.open_runs(),
            lag_micros: health.store.lag_micros,
            sync_p50_micros: commits("quantile=\"0.5\""),
            sync_p99_micros: commits("quantile=\"0.99\""),
            answers: whole(figure(&text, "everturn_runs_ended_total", "")),
        }
    }

    /// The hub and where its files are, for whoever tells how they are.
    pub(crate) fn place(&self) -> (&Hub, &Path) {
        (&self.hub, &self.data)
    }

    /// Every figure as it is now.
    pub(crate) async fn text(&self) -> String {
        let health = self.hub.health().await;
        metrics::gauge!("everturn_runs_open").set(number(self.hub.open_runs()));
        metrics::gauge!("everturn_writers").set(number(self.hub.writers() as u64));
        metrics::gauge!("everturn_projection_lag_seconds").set(seconds(health.store.lag_micros));
        metrics::gauge!("everturn_tail_bytes").set(number(health.store.tail_bytes));
        metrics::gauge!("everturn_store_writable").set(flag(health.store.dead.is_none()));
        metrics::gauge!("everturn_search_works").set(flag(!health.store.search_off));
        metrics::gauge!("everturn_sessions_damaged").set(number(health.store.damaged));
        metrics::gauge!("everturn_database_damaged").set(flag(health.store.malformed.is_some()));
        if let Some(owing) = health.owing {
            metrics::gauge!("everturn_sessions_owing_memory").set(number(owing));
        }
        if let Ok(disk) = nix::sys::statvfs::statvfs(self.data.as_path()) {
            metrics::gauge!("everturn_disk_free_bytes")
                .set(number(disk.blocks_available() * disk.fragment_size()));
        }
        for (action, name) in
            [("backup_made", "everturn_last_backup_seconds"), ("verified", "everturn_last_verify_seconds")]
        {
            if let Ok(Some(time)) = self.people.last(action) {
                metrics::gauge!(name).set(seconds(time.0));
            }
        }
        self.recorded.render()
    }
}

/// A request was answered.
pub(crate) fn count_answer(status: u16, took: Duration) {
    let class = match status {
        100..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    };
    metrics::counter!("everturn_requests_total", "status" => class).increment(1);
    metrics::histogram!("everturn_request_seconds").record(took.as_secs_f64());
}

/// A login was refused.
pub(crate) fn count_failed_login() {
    metrics::counter!("everturn_logins_failed_total").increment(1);
}

fn micros(seconds: f64) -> u64 {
    whole(seconds * 1_000_000.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, which is what is wanted"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "figures for people, not for counting on")]
fn number(value: u64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "figures for people, not for counting on")]
fn seconds(micros: i64) -> f64 {
    micros as f64 / 1_000_000.0
}

fn flag(on: bool) -> f64 {
    if on { 1.0 } else { 0.0 }
}
