//! What the hub counts. Without a recorder, as in tests and in simulated worlds, this is nothing.

use session::{Event, RunEnd};

/// Something became durable.
pub(crate) fn count_event(event: &Event) {
    match event {
        Event::MessagePosted { .. } => metrics::counter!("everturn_messages_total").increment(1),
        Event::RunStarted { .. } => metrics::counter!("everturn_runs_started_total").increment(1),
        Event::RunEnded { end, .. } => {
            metrics::counter!("everturn_runs_ended_total", "end" => name(end)).increment(1);
        }
        _ => {}
    }
}

fn name(end: &RunEnd) -> &'static str {
    match end {
        RunEnd::Completed => "completed",
        RunEnd::Stopped { .. } => "stopped",
        RunEnd::Failed { .. } => "failed",
        RunEnd::OutputLimit { .. } => "output_limit",
        RunEnd::Interrupted { .. } => "interrupted",
        RunEnd::Other(_) => "other",
    }
}
