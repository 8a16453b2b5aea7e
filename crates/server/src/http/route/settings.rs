//! What owners may change while the server runs.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{Body, said};
use super::super::gate::{Gate, Policy};
use crate::config::AfterInterruptionConfig;
use crate::settings::{Change, ChangeError, Values};

/// Characters of what a model is told before a session.
const INSTRUCTIONS_CHARS_MAX: usize = 20_000;
/// A year: older output is nothing to resume.
const RESUME_WITHIN_SECONDS_MAX: u64 = 31_536_000;
/// A hundred years.
const TRASH_DAYS_MAX: u32 = 36_500;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Manage, routes!(read, change))
}

#[derive(Debug, Serialize, ToSchema)]
struct SettingsBody {
    #[serde(flatten)]
    values: Values,
    /// Settings fixed by environment variables, which can't be changed here.
    set_in_environment: Vec<&'static str>,
}

/// Returns the current settings.
#[utoipa::path(get, path = "/api/v1/settings", operation_id = "settings.get", tag = "settings",
    security(("token" = [])),
    responses((status = 200, body = SettingsBody), (status = "default", body = Problem)))]
async fn read(State(app): State<App>) -> Json<SettingsBody> {
    Json(body(&app))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SettingsChange {
    /// Takes effect immediately, also for runs interrupted earlier. `after_crash` is the old name.
    #[serde(default, alias = "after_crash")]
    after_interruption: Option<AfterInterruptionConfig>,
    /// In seconds, at most 31,536,000; 0 for never. Takes effect immediately.
    #[serde(default)]
    resume_within_seconds: Option<u64>,
    /// In days, at most 36,500; 0 keeps sessions in the trash until they are deleted by hand. Applied once an hour.
    #[serde(default)]
    trash_days: Option<u32>,
    /// At most 20,000 characters, from the next run on; null for none, even if the configuration file sets some.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<String>)]
    instructions: Option<Option<String>>,
}

/// Changes the given settings, all or none. They override the configuration file, also after a restart.
#[utoipa::path(patch, path = "/api/v1/settings", operation_id = "settings.update", tag = "settings",
    request_body = SettingsChange,
    security(("token" = [])), responses((status = 200, body = SettingsBody), (status = "default", body = Problem)))]
async fn change(
    State(app): State<App>,
    desk: Desk,
    Body(change): Body<SettingsChange>,
) -> Result<Json<SettingsBody>, Problem> {
    if change.trash_days.is_some_and(|days| days > TRASH_DAYS_MAX) {
        let detail = format!(
            "`trash_days` can be at most {TRASH_DAYS_MAX}. Use 0 to keep sessions in the trash until you \
             delete them."
        );
        return Err(Problem::new(ErrorCode::BadSetting, detail));
    }
    if change.resume_within_seconds.is_some_and(|seconds| seconds > RESUME_WITHIN_SECONDS_MAX) {
        let detail = format!("`resume_within_seconds` can be at most {RESUME_WITHIN_SECONDS_MAX}.");
        return Err(Problem::new(ErrorCode::BadSetting, detail));
    }
    let instructions = change.instructions.map(checked_instructions).transpose()?;
    let SettingsChange { after_interruption, resume_within_seconds, trash_days, .. } = change;
    let change = Change { after_interruption, resume_within_seconds, trash_days, instructions };
    let (settings, by) = (app.settings.clone(), desk.by());
    match tokio::task::spawn_blocking(move || settings.change(by, change)).await {
        Ok(Ok(())) => Ok(Json(body(&app))),
        Ok(Err(ChangeError::InEnvironment(name))) => Err(Problem::new(
            ErrorCode::SetInEnvironment,
            format!(
                "`{name}` is set by an environment variable of the server, so it can't be changed here. \
                 Nothing was changed."
            ),
        )),
        Ok(Err(ChangeError::People(error))) => Err(error.into()),
        Err(error) => Err(Problem::new(ErrorCode::Unavailable, error.to_string())),
    }
}

fn body(app: &App) -> SettingsBody {
    let set_in_environment = app.settings.in_environment().to_vec();
    SettingsBody { values: Values::clone(&app.settings.now()), set_in_environment }
}

/// What a model is to be told; nothing but space is nothing.
pub(super) fn checked_instructions(text: Option<String>) -> Result<Option<String>, Problem> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| text.chars().count() > INSTRUCTIONS_CHARS_MAX) {
        let detail = format!("Instructions can have at most {INSTRUCTIONS_CHARS_MAX} characters.");
        return Err(Problem::new(ErrorCode::BadSetting, detail));
    }
    Ok(text)
}
