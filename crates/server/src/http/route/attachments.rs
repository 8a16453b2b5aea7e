//! Files that come with messages: kept by their content before a message names them.

use axum::Json;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use session::BlobHash;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::desk::{Desk, no_file};
use super::super::error::{ErrorCode, Problem};
use super::super::extract::AtPath;
use super::super::gate::{Gate, Policy};

/// Bytes of one attachment.
const ATTACHMENT_BYTES_MAX: usize = 32 * 1024 * 1024;

pub(crate) fn add(gate: Gate) -> Gate {
    let (schemas, paths, methods) = routes!(keep);
    let keep = (schemas, paths, methods.layer(DefaultBodyLimit::max(ATTACHMENT_BYTES_MAX)));
    gate.route(Policy::Write, keep).route(Policy::Read, routes!(read))
}

#[derive(Debug, Serialize, ToSchema)]
struct KeptBlob {
    /// The SHA-256 of the bytes. Messages refer to the file by it.
    blob: String,
    size_bytes: u64,
}

/// Stores a file to attach to a message. A file that no message uses may be deleted.
#[utoipa::path(post, path = "/api/v1/attachments", operation_id = "attachments.create", tag = "attachments",
    security(("token" = [])),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, body = KeptBlob), (status = "default", body = Problem)))]
async fn keep(
    desk: Desk,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<(StatusCode, Json<KeptBlob>), Problem> {
    let too_large = |_| {
        Problem::new(ErrorCode::TooLarge, format!("A file can have at most {ATTACHMENT_BYTES_MAX} bytes."))
    };
    let bytes = body.map_err(too_large)?;
    let size_bytes = bytes.len() as u64;
    let blob = desk.keep_file(bytes.to_vec()).await?;
    Ok((StatusCode::CREATED, Json(KeptBlob { blob: blob.0, size_bytes })))
}

/// Downloads an attachment. The response tells browsers to save the file, never to display it.
#[utoipa::path(get, path = "/api/v1/attachments/{blob}", operation_id = "attachments.download", tag = "attachments",
    params(("blob" = String, Path)),
    security(("token" = [])),
    responses((status = 200, content_type = "application/octet-stream"), (status = "default", body = Problem)))]
async fn read(desk: Desk, AtPath(blob): AtPath<String>) -> Result<Response, Problem> {
    let bytes = desk.file(BlobHash(blob)).await?.ok_or_else(no_file)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
    ];
    Ok((headers, bytes).into_response())
}
