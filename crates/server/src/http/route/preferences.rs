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

/// How a message sent during an active run is handled.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BusyName {
    /// It waits for the run to end.
    Queue,
    /// It enters the run when the current step ends.
    Steer,
    /// It stops the run and is answered next.
    Interrupt,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PreferencesBody {
    busy: BusyName,
    /// A language tag, for example `de` or `pt-BR`; null for the browser's language.
    language: Option<String>,
    /// Whether to notify the user of answers while the page is in the background.
    notify: bool,
    /// Whether onboarding is complete.
    first_run_done: bool,
}

/// Returns the caller's preferences.
#[utoipa::path(get, path = "/api/v1/me/preferences", operation_id = "preferences.get", tag = "preferences",
    security(("token" = [])),
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

/// Replaces all of the caller's preferences.
#[utoipa::path(put, path = "/api/v1/me/preferences", operation_id = "preferences.replace", tag = "preferences",
    request_body = PreferencesBody,
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn put(desk: Desk, Body(body): Body<PreferencesBody>) -> Result<StatusCode, Problem> {
    let PreferencesBody { busy, language, notify, first_run_done } = body;
    let is_name = |language: &String| {
        (2..=LANGUAGE_CHARS_MAX).contains(&language.len())
            && language.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if language.as_ref().is_some_and(|language| !is_name(language)) {
        return Err(Problem::new(
            ErrorCode::BadSetting,
            "The language must be a tag such as `de` or `pt-BR`.",
        ));
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
