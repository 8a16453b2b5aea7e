//! Tells the model what time it is.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use session::Outcome;

use super::{Tool, ToolCall, done, failed};
use crate::provider::ToolOffer;

/// Reads the clock.
#[derive(Debug, Clone, Copy)]
pub struct ReadClock;

impl Tool for ReadClock {
    fn offer(&self) -> ToolOffer {
        ToolOffer {
            name: "clock".to_owned(),
            about: "The current date and time, in UTC.".to_owned(),
            arguments: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        }
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        let now = call.world.now();
        let told = jiff::Timestamp::from_microsecond(now.0).map_or_else(
            |error| failed(error.to_string()),
            |now| done(now.strftime("%A, %F %T UTC").to_string()),
        );
        std::future::ready(told).boxed()
    }
}
