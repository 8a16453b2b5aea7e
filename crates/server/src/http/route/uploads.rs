//! Files that come in pieces, over as many connections as it takes: what has arrived counts, wherever one was cut.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body as Bytes, BodyDataStream};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use hub::{Clock, SystemClock};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use crate::uploads::{Held, UNFINISHED_MAX, Upload, Uploads};

/// Bytes of one file.
const UPLOAD_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// Bytes that are gathered before they are written.
const PIECE_BYTES: usize = 256 * 1024;
/// Bytes after which what arrived is synced and told, also while more comes.
const SYNC_BYTES: u64 = 8 * 1024 * 1024;
/// Longest silence within a body; after that it counts as cut.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Write, routes!(begin))
        .route(Policy::Read, routes!(look))
        .route(Policy::Write, routes!(send, delete))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BeginBody {
    /// The size of the file in bytes, at most 134,217,728.
    length: u64,
}

/// The progress of an upload.
#[derive(Debug, Serialize, ToSchema)]
struct UploadBody {
    upload: Uuid,
    /// The number of bytes on disk: the offset of the next piece.
    offset: u64,
    length: u64,
    /// The SHA-256 of the file once it is complete and stored. Messages refer to the file by it.
    blob: Option<String>,
}

impl UploadBody {
    fn new(upload: Uuid, known: Upload) -> Self {
        Self { upload, offset: known.offset, length: known.length, blob: known.blob.map(|blob| blob.0) }
    }
}

/// Starts an upload. It is deleted if no data arrives for a day.
#[utoipa::path(post, path = "/api/v1/uploads", operation_id = "uploads.create", tag = "uploads",
    request_body = BeginBody, security(("token" = [])),
    responses((status = 201, body = UploadBody), (status = "default", body = Problem)))]
async fn begin(desk: Desk, Body(body): Body<BeginBody>) -> Result<(StatusCode, Json<UploadBody>), Problem> {
    if !(1..=UPLOAD_BYTES_MAX).contains(&body.length) {
        let detail = format!("A file must have 1 to {UPLOAD_BYTES_MAX} bytes.");
        return Err(Problem::new(ErrorCode::TooLarge, detail));
    }
    let (user, upload, length) = (desk.user(), SystemClock.id(), body.length);
    let made =
        aside(desk.uploads(), move |uploads| uploads.begin(user, upload, length, SystemClock.now())).await?;
    if !made {
        let detail = format!(
            "At most {UNFINISHED_MAX} uploads can be unfinished at once. Finish or delete one first."
        );
        return Err(Problem::new(ErrorCode::TooMany, detail));
    }
    Ok((StatusCode::CREATED, Json(UploadBody { upload, offset: 0, length, blob: None })))
}

/// Returns the progress of an upload.
#[utoipa::path(get, path = "/api/v1/uploads/{upload}", operation_id = "uploads.get", tag = "uploads",
    params(("upload" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = UploadBody), (status = "default", body = Problem)))]
async fn look(desk: Desk, AtPath(upload): AtPath<Uuid>) -> Result<Json<UploadBody>, Problem> {
    let key = (desk.user(), upload);
    let known = aside(desk.uploads(), move |uploads| uploads.look(key)).await?;
    Ok(Json(UploadBody::new(upload, known.ok_or_else(|| no_upload(upload))?)))
}

/// Appends bytes at an offset. When the file is complete, it is stored and the response has its `blob`; repeating the
/// request returns the same.
///
/// Bytes that arrived before the connection was lost count; `GET` returns how many. A different offset fails with
/// `wrong_offset` and changes nothing.
#[utoipa::path(patch, path = "/api/v1/uploads/{upload}", operation_id = "uploads.append", tag = "uploads",
    params(("upload" = Uuid, Path), ("Upload-Offset" = u64, Header)), security(("token" = [])),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = UploadBody), (status = "default", body = Problem)))]
async fn send(
    desk: Desk,
    AtPath(upload): AtPath<Uuid>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<UploadBody>, Problem> {
    let number = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let key = (desk.user(), upload);
    // Looked at before it is held: nobody makes the server remember ids that are not there.
    let known = aside(desk.uploads(), move |uploads| uploads.look(key)).await?;
    known.ok_or_else(|| no_upload(upload))?;
    let held = desk.uploads().hold(key).await;
    let (held, known) = with(held, |held| held.look()).await?;
    let known = known.ok_or_else(|| no_upload(upload))?;
    if known.blob.is_some() {
        return Ok(Json(UploadBody::new(upload, known)));
    }
    let offset = number("upload-offset").ok_or_else(|| {
        Problem::new(
            ErrorCode::BadRequest,
            "The request needs an `Upload-Offset` header with the position of its first byte.",
        )
    })?;
    if offset != known.offset {
        let detail = format!("{} bytes have arrived. Continue from that offset.", known.offset);
        return Err(Problem::new(ErrorCode::WrongOffset, detail));
    }
    if number(header::CONTENT_LENGTH.as_str()).is_some_and(|length| length > known.length - known.offset) {
        return Err(too_much(&known));
    }
    // In a task of its own: it keeps what arrived also when the connection takes this request away with it.
    let received = crate::spawn::spawn(receive(desk, held, known, body.into_data_stream())).await;
    let known = received.map_err(|error| Problem::new(ErrorCode::Doubtful, error.to_string()))??;
    Ok(Json(UploadBody::new(upload, known)))
}

/// Cancels an upload and deletes its bytes.
#[utoipa::path(delete, path = "/api/v1/uploads/{upload}", operation_id = "uploads.cancel", tag = "uploads",
    params(("upload" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn delete(desk: Desk, AtPath(upload): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    let key = (desk.user(), upload);
    let known = aside(desk.uploads(), move |uploads| uploads.look(key)).await?;
    known.ok_or_else(|| no_upload(upload))?;
    let held = desk.uploads().hold(key).await;
    match with(held, |held| held.remove()).await?.1 {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(no_upload(upload)),
    }
}

/// Takes the bytes of one request until they end, are cut, or another connection takes over; what arrived is kept.
async fn receive(
    desk: Desk,
    held: Held,
    upload: Upload,
    mut body: BodyDataStream,
) -> Result<Upload, Problem> {
    let (held, file) = with_upload(held, upload.clone(), |held, upload| held.open(upload)).await?;
    let mut arrival = Arrival { held, file, unsynced: 0, upload };
    let mut piece = Vec::new();
    let stopped = loop {
        let leave = arrival.held.leave.clone();
        let next = tokio::select! {
            biased;
            () = leave.cancelled() => break Some("Another connection took over this upload."),
            next = tokio::time::timeout(SILENCE_MAX, body.next()) => next,
        };
        match next {
            Ok(Some(Ok(bytes))) => {
                let room = arrival.upload.length - arrival.upload.offset - piece.len() as u64;
                if bytes.len() as u64 > room {
                    break Some("The request has more bytes than the file.");
                }
                piece.extend_from_slice(&bytes);
                if piece.len() >= PIECE_BYTES {
                    arrival = arrival.write(std::mem::take(&mut piece), SYNC_BYTES).await?;
                }
            }
            Ok(None) => break None,
            Ok(Some(Err(_))) => break Some("The connection was lost."),
            Err(_) => break Some("The request timed out waiting for more bytes."),
        }
    };
    let Arrival { held, upload, .. } = arrival.write(piece, 0).await?;
    match stopped {
        None if upload.offset == upload.length => finish(&desk, held, upload).await,
        None => Ok(upload),
        Some(why) => {
            let detail = format!("{why} {} bytes are saved; continue from there.", upload.offset);
            Err(Problem::new(ErrorCode::BadRequest, detail))
        }
    }
}

/// Keeps a file that is whole.
async fn finish(desk: &Desk, held: Held, mut upload: Upload) -> Result<Upload, Problem> {
    let uploads = desk.uploads().clone();
    let stops = |_| {
        Problem::new(ErrorCode::NotReady, "The server is stopping. Send the request again after the restart.")
    };
    let _turn = uploads.finishing.acquire().await.map_err(stops)?;
    let (held, bytes) = with(held, |held| held.whole()).await?;
    upload.blob = Some(desk.keep_file(bytes).await?);
    with_upload(held, upload.clone(), |held, upload| held.finish(upload)).await?;
    Ok(upload)
}

/// What of an upload arrives over one connection.
struct Arrival {
    held: Held,
    file: File,
    /// Bytes that were written since the last sync.
    unsynced: u64,
    upload: Upload,
}

impl Arrival {
    /// Writes a piece; tells of it once so many bytes are not synced.
    async fn write(mut self, piece: Vec<u8>, sync_at: u64) -> Result<Self, Problem> {
        let written = tokio::task::spawn_blocking(move || {
            self.file.write_all(&piece)?;
            self.unsynced += piece.len() as u64;
            self.upload.offset += piece.len() as u64;
            self.upload.touched_at = SystemClock.now();
            if self.unsynced >= sync_at {
                self.held.keep(&mut self.file, &self.upload)?;
                self.unsynced = 0;
            }
            Ok(self)
        });
        done(written.await)
    }
}

/// Works with files off the threads that serve.
async fn aside<T: Send + 'static>(
    uploads: &Arc<Uploads>,
    work: impl FnOnce(&Uploads) -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let uploads = uploads.clone();
    done(tokio::task::spawn_blocking(move || work(&uploads)).await)
}

async fn with<T: Send + 'static>(
    held: Held,
    work: impl FnOnce(&Held) -> io::Result<T> + Send + 'static,
) -> Result<(Held, T), Problem> {
    done(tokio::task::spawn_blocking(move || work(&held).map(|done| (held, done))).await)
}

async fn with_upload<T: Send + 'static>(
    held: Held,
    upload: Upload,
    work: impl FnOnce(&Held, &Upload) -> io::Result<T> + Send + 'static,
) -> Result<(Held, T), Problem> {
    with(held, move |held| work(held, &upload)).await
}

fn done<T>(worked: Result<io::Result<T>, tokio::task::JoinError>) -> Result<T, Problem> {
    let failed = |reason: String| {
        tracing::error!(reason, "failed to save upload");
        Problem::new(
            ErrorCode::Unavailable,
            "The bytes couldn't be saved. Get the upload's offset, then continue from there.",
        )
    };
    worked.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
}

fn too_much(upload: &Upload) -> Problem {
    let left = upload.length - upload.offset;
    Problem::new(
        ErrorCode::TooLarge,
        format!("The request is too long: only {left} bytes of the file are missing."),
    )
}

/// An upload that is not there, in the same words whatever the reason.
fn no_upload(upload: Uuid) -> Problem {
    Problem::new(ErrorCode::UploadNotFound, format!("There is no upload {upload}."))
}
