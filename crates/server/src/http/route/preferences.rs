//! How a user likes the pages, on every device.

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use store::people::{Busy, Preferences};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::Body;
use super::super::gate::{Gate, Policy};

/// Characters of the name of a language.
const LANGUAGE_CHARS_MAX: usize = 35;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(read)).route(Policy::Write, routes!(put))
}

/// What a message does that is sent while a run is going on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BusyName {
    /// It waits its turn.
    Queue,
    /// It goes into the run, between two steps.
    Steer,
    /// It stops the run and goes first.
    Interrupt,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PreferencesBody {
    busy: BusyName,
    /// As browsers name it, for example `de` or `pt-BR`; null for that of the browser.
    language: Option<String>,
    /// Whether to be told of answers while looking elsewhere.
    notify: bool,
    /// Whether the first steps were shown.
    first_run_done: bool,
}

/// What the caller prefers.
#[utoipa::path(get, path = "/api/v1/me/preferences", tag = "people", security(("token" = [])),
    responses((status = 200, body = PreferencesBody), (status = "default", body = Problem)))]
async fn read(desk: Desk) -> Result<Json<PreferencesBody>, Problem> {
    let Preferences { busy, language, notify, first_run_done } = desk.people().preferences(desk.user())?;
    let busy = match busy {
        Busy::Queue => BusyName::Queue,
        Busy::Steer => BusyName::Steer,
        Busy::Interrupt => BusyName::Interrupt,
    };
    Ok(Json(PreferencesBody { busy, language, notify, first_run_done }))
}

/// Keeps what the caller prefers, all of it.
#[utoipa::path(put, path = "/api/v1/me/preferences", tag = "people", request_body = PreferencesBody,
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn put(desk: Desk, Body(body): Body<PreferencesBody>) -> Result<StatusCode, Problem> {
    let PreferencesBody { busy, language, notify, first_run_done } = body;
    let is_name = |language: &String| {
        (2..=LANGUAGE_CHARS_MAX).contains(&language.len())
            && language.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if language.as_ref().is_some_and(|language| !is_name(language)) {
        return Err(Problem::new(ErrorCode::BadSetting, "A language is named like `de` or `pt-BR`."));
    }
    let busy = match busy {
        BusyName::Queue => Busy::Queue,
        BusyName::Steer => Busy::Steer,
        BusyName::Interrupt => Busy::Interrupt,
    };
    let (user, preferences) = (desk.user(), Preferences { busy, language, notify, first_run_done });
    desk.keep(move |people| people.put_preferences(user, &preferences)).await?;
    Ok(StatusCode::NO_CONTENT)
}
