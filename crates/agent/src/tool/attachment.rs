//! Lets the model read a file that came with a message of its session, and no other.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use session::Outcome;

use super::{Tool, ToolCall, done, failed};
use crate::provider::ToolOffer;

/// Bytes shown at once; the model asks for the next ones by their place.
const SHOWN_BYTES_MAX: usize = 32 * 1024;

/// Reads an attachment of the session.
#[derive(Debug, Clone, Copy)]
pub struct ReadAttachment;

impl Tool for ReadAttachment {
    fn offer(&self) -> ToolOffer {
        ToolOffer {
            name: "read_attachment".to_owned(),
            about: "The text of a file that was attached to a message.".to_owned(),
            arguments: json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "The file's name, as it is shown." },
                    "offset": { "type": "integer", "description": "The first byte to read; 0 if left out." },
                },
                "required": ["name"],
                "additionalProperties": false,
            }),
        }
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome> {
        async move {
            let Some(name) = call.arguments["name"].as_str() else {
                return failed("Which file? Give its name.");
            };
            let offset = call.arguments["offset"].as_u64().unwrap_or(0);
            // Of files with the same name, the one that came last.
            let Some(attachment) = call.attachments.iter().rev().find(|attachment| attachment.name == name)
            else {
                let names: Vec<_> =
                    call.attachments.iter().map(|attachment| attachment.name.as_str()).collect();
                return failed(format!("No file of that name is attached. There are: {}.", names.join(", ")));
            };
            match call.world.blob(attachment.blob.clone()).await {
                Ok(Some(bytes)) => shown(&bytes, offset, &attachment.media_type),
                Ok(None) => failed("The file is not here any more."),
                Err(reason) => failed(format!("The file could not be read: {reason}")),
            }
        }
        .boxed()
    }
}

fn shown(bytes: &[u8], offset: u64, media_type: &str) -> Outcome {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return failed(format!("The file is not text ({media_type}, {} bytes).", bytes.len()));
    };
    let start = text.ceil_char_boundary(usize::try_from(offset).unwrap_or(usize::MAX).min(text.len()));
    let end = text.floor_char_boundary((start + SHOWN_BYTES_MAX).min(text.len()));
    let rest = if end < text.len() {
        format!("\n[bytes {start} to {end} of {}; read on with offset {end}]", text.len())
    } else {
        String::new()
    };
    done(format!("{}{rest}", &text[start..end]))
}
