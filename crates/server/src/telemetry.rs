//! Exports spans to an OpenTelemetry collector. Off by default.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use agent::Outgoing;
use anyhow::Context;
use bytes::Bytes;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::config::TelemetryConfig;

/// Timeout for one batch. Batches that the collector does not accept in time are dropped.
const PATIENCE: Duration = Duration::from_secs(10);

/// The exporter of spans.
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Starts the export.
    ///
    /// # Errors
    /// Returns an error if the endpoint is invalid.
    pub(crate) fn start(config: &TelemetryConfig) -> anyhow::Result<Self> {
        let outgoing = Outgoing::new([config.endpoint.as_str()]).context("invalid `telemetry.endpoint`")?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector { outgoing, runtime: Handle::current() })
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", config.endpoint.trim_end_matches('/')))
            .with_timeout(PATIENCE)
            .build()
            .context("invalid `telemetry.endpoint`")?;
        let resource = Resource::builder_empty().with_service_name("everturn").build();
        Ok(Self(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build()))
    }

    /// Returns a layer that exports spans only. Log lines stay on this machine.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let told = filter_fn(|told| told.is_span() && *told.level() <= Level::INFO);
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("everturn")).with_filter(told)
    }

    /// Exports the remaining spans.
    pub(crate) fn end(&self) {
        if let Err(error) = self.0.shutdown_with_timeout(PATIENCE) {
            tracing::warn!(%error, "failed to export all spans");
        }
    }
}

/// Sends batches with the egress client.
struct Collector {
    outgoing: Outgoing,
    /// The exporter sends from its own thread, which has no runtime.
    runtime: Handle,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}

impl HttpClient for Collector {
    fn send_bytes<'life, 'sent>(
        &'life self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'life: 'sent,
        Self: 'sent,
    {
        let (answer, answered) = oneshot::channel();
        let built = self.outgoing.request(reqwest::Method::POST, &request.uri().to_string());
        let _entered = self.runtime.enter();
        crate::spawn::spawn(async move {
            // The exporter may have stopped waiting.
            drop(answer.send(send(built, request).await));
        });
        Box::pin(async move { answered.await? })
    }
}

async fn send<E: std::error::Error + Send + Sync + 'static>(
    built: Result<reqwest::RequestBuilder, E>,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let (parts, body) = request.into_parts();
    let reply = built?.headers(parts.headers).timeout(PATIENCE).body(body).send().await?;
    let status = reply.status();
    let mut response = Response::new(reply.bytes().await?);
    *response.status_mut() = status;
    Ok(response)
}
