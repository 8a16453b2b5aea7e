//! The only place of the gateway that starts tasks.

use std::future::Future;

use tokio::task::JoinHandle;

/// Starts a task.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts tasks")]
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(fault::within(task))
}
