//! What a store counts. Without a recorder, as in tests and on the command line, this is nothing.

use std::time::Duration;

/// A group of appends became durable: how long its transaction took, with the sync.
pub(crate) fn observe_commit(took: Duration) {
    metrics::histogram!("everturn_commit_seconds").record(took.as_secs_f64());
}

/// A session could not be projected, and is tried again.
pub(crate) fn count_failed_projection() {
    metrics::counter!("everturn_projection_failures_total").increment(1);
}
