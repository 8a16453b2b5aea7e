//! What an HTTP reply of a platform brings: at most so much of it, and why there was none.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use reqwest::Response;

/// An error with what caused it. Without the address: that may carry a token.
pub(super) fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Whether a request that failed surely never got there.
pub(super) fn never_left(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_builder()
}

/// A body; nothing when it is longer than `most` bytes.
pub(super) async fn body(response: &mut Response, most: usize) -> reqwest::Result<Option<Bytes>> {
    let mut read = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if read.len() + chunk.len() > most {
            return Ok(None);
        }
        read.extend_from_slice(&chunk);
    }
    Ok(Some(read.freeze()))
}
