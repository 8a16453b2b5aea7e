//! How requests are read: body, path and query, each refused with a problem that says why.

use axum::body::HttpBody;
use axum::extract::{FromRequest, FromRequestParts, Json, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use session::MessageKey;

use super::error::{ErrorCode, Problem};

/// Characters of an idempotency key.
const KEY_MAX: usize = 200;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => {
                let too_large = rejection.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE;
                let code = if too_large { ErrorCode::TooLarge } else { ErrorCode::BadRequest };
                Err(Problem::new(code, rejection.body_text()))
            }
        }
    }
}

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if request.body().is_end_stream() {
            return Ok(Self(T::default()));
        }
        let Body(body) = Body::from_request(request, state).await?;
        Ok(Self(body))
    }
}

/// What the path names.
#[derive(Debug)]
pub(crate) struct AtPath<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for AtPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(named) = Path::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::new(ErrorCode::BadRequest, rejection.body_text()))?;
        Ok(Self(named))
    }
}

/// What the query asks.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::new(ErrorCode::BadRequest, rejection.body_text()))?;
        Ok(Self(asked))
    }
}

/// What was said of a field, also when that is null.
pub(crate) fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The caller's idempotency key, if one was sent.
#[derive(Debug)]
pub(crate) struct Key(pub(crate) Option<MessageKey>);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        match value.to_str() {
            Ok(key) if !key.is_empty() && key.len() <= KEY_MAX => Ok(Self(Some(MessageKey(key.to_owned())))),
            _ => {
                let detail = format!("An Idempotency-Key must have 1 to {KEY_MAX} visible ASCII characters.");
                Err(Problem::new(ErrorCode::BadRequest, detail))
            }
        }
    }
}
