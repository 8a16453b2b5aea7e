//! The only place that starts tasks.

use std::future::Future;

use tokio::task::JoinHandle;

/// Starts a task. Its panic is reported by whoever awaits it, or by the next open of the session that it served.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts tasks")]
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(fault::within(task))
}
