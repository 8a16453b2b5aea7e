//! Chats on messaging platforms: the session that each one speaks in, and whether its next message continues there.

use axum::Json;
use hub::ChatStatus;
use serde::{Deserialize, Serialize};
use session::{ChatKey, ResumeMark, ResumeReason, SessionId};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::{Desk, no_chat};
use super::super::error::{ErrorCode, Problem};
use super::super::extract::Body;
use super::super::gate::{Gate, Policy};

/// The reason of a mark that a user set.
const BY_HAND: &str = "operator";

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(list))
        .route(Policy::Write, routes!(suspend))
        .route(Policy::Write, routes!(resume))
        .route(Policy::Write, routes!(clear))
        .route(Policy::Write, routes!(bind))
}

#[derive(Debug, Serialize, ToSchema)]
struct ChatsBody {
    chats: Vec<ChatBody>,
}

/// A chat and its session.
#[derive(Debug, Serialize, ToSchema)]
struct ChatBody {
    /// The chat's key, as messages give it in `from`.
    chat: String,
    platform: String,
    session: Uuid,
    /// Whether the chat is suspended: its next message starts a new session.
    suspended: bool,
    /// Set after an interruption: in the next turn, the model gets a note about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<ResumeMark>,
}

impl ChatBody {
    fn new(chat: &ChatKey, status: ChatStatus) -> Self {
        let SessionId(session) = status.session;
        let (suspended, resume) = (status.suspended, status.resume);
        Self { chat: chat.to_text(), platform: chat.platform.clone(), session, suspended, resume }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChatAsked {
    /// The chat's key, as `GET /chats` returns it.
    chat: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BindAsked {
    /// The chat's key, as `GET /chats` returns it.
    chat: String,
    /// One of the caller's sessions.
    session: Uuid,
}

/// Lists the chats bound to the caller's sessions.
#[utoipa::path(get, path = "/api/v1/chats", operation_id = "chats.list", tag = "chats",
    security(("token" = [])),
    responses((status = 200, body = ChatsBody), (status = "default", body = Problem)))]
async fn list(desk: Desk) -> Result<Json<ChatsBody>, Problem> {
    let chats = desk.chats().await?.into_iter().map(|(chat, status)| ChatBody::new(&chat, status));
    Ok(Json(ChatsBody { chats: chats.collect() }))
}

/// Suspends a chat: its next message starts a new session.
#[utoipa::path(post, path = "/api/v1/chats/suspend", operation_id = "chats.suspend", tag = "chats",
    request_body = ChatAsked, security(("token" = [])),
    responses((status = 200, body = ChatBody), (status = "default", body = Problem)))]
async fn suspend(desk: Desk, Body(asked): Body<ChatAsked>) -> Result<Json<ChatBody>, Problem> {
    // A chat that is suspended already stays so.
    desk.chat(&asked.chat).await?.suspend().await?;
    told(&desk, &asked.chat).await
}

/// Resumes a chat: its next message continues in its session, with a note to the model that the last turn was cut off.
#[utoipa::path(post, path = "/api/v1/chats/resume", operation_id = "chats.resume", tag = "chats",
    request_body = ChatAsked, security(("token" = [])),
    responses((status = 200, body = ChatBody), (status = "default", body = Problem)))]
async fn resume(desk: Desk, Body(asked): Body<ChatAsked>) -> Result<Json<ChatBody>, Problem> {
    let chat = desk.chat(&asked.chat).await?;
    if let Some(status) = chat.status().await?.filter(|status| status.suspended) {
        chat.bind(status.session).await?;
    }
    chat.mark_resume(Some(ResumeReason(BY_HAND.to_owned()))).await?;
    told(&desk, &asked.chat).await
}

/// Clears the interruption mark, so the model gets no note about it.
#[utoipa::path(post, path = "/api/v1/chats/clear", operation_id = "chats.clear", tag = "chats",
    request_body = ChatAsked, security(("token" = [])),
    responses((status = 200, body = ChatBody), (status = "default", body = Problem)))]
async fn clear(desk: Desk, Body(asked): Body<ChatAsked>) -> Result<Json<ChatBody>, Problem> {
    if !desk.chat(&asked.chat).await?.clear_resume().await? {
        return Err(Problem::new(ErrorCode::NoSuchThing, "This chat has no interruption mark to clear."));
    }
    told(&desk, &asked.chat).await
}

/// Binds a chat to another of the caller's sessions.
#[utoipa::path(post, path = "/api/v1/chats/bind", operation_id = "chats.bind", tag = "chats",
    request_body = BindAsked, security(("token" = [])),
    responses((status = 200, body = ChatBody), (status = "default", body = Problem)))]
async fn bind(desk: Desk, Body(asked): Body<BindAsked>) -> Result<Json<ChatBody>, Problem> {
    let session = desk.session(asked.session).await?.session();
    desk.chat(&asked.chat).await?.bind(session).await?;
    told(&desk, &asked.chat).await
}

async fn told(desk: &Desk, chat: &str) -> Result<Json<ChatBody>, Problem> {
    let key = ChatKey::from_text(chat).ok_or_else(no_chat)?;
    let status = desk.chat(chat).await?.status().await?.ok_or_else(no_chat)?;
    Ok(Json(ChatBody::new(&key, status)))
}
