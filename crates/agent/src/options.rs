//! Headers, query parameters and body fields that an operator adds to every request of a model.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::provider::{ApiKey, KeySource, Secrets};

/// Headers that the connection sets itself.
const RESERVED_HEADERS: [&str; 8] =
    ["connection", "content-length", "content-type", "host", "te", "trailer", "transfer-encoding", "upgrade"];
/// Fields of a request that only the server may set.
const RESERVED_FIELDS: [&str; 17] = [
    "background",
    "container",
    "conversation",
    "functions",
    "input",
    "instructions",
    "mcp_servers",
    "messages",
    "model",
    "n",
    "previous_response_id",
    "prompt",
    "prompt_id",
    "store",
    "stream",
    "system",
    "tools",
];

/// An option that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("The header `{0}` can't be set.")]
    Header(String),
    #[error("The value of the header `{0}` contains characters that headers don't allow.")]
    HeaderValue(String),
    #[error("The request field `{0}` is set by the server and can't be changed.")]
    Field(String),
}

/// Headers, query parameters and body fields that are added to a model's requests.
#[derive(Clone, Default)]
pub struct RequestOptions {
    /// By lower-case name. Each replaces the wire format's own header of that name. Values are secrets.
    pub headers: Vec<(String, Arc<dyn KeySource>)>,
    pub query: Vec<(String, String)>,
    /// A JSON merge patch for the body: `null` removes a field.
    pub fields: Map<String, Value>,
}

impl std::fmt::Debug for RequestOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("RequestOptions").field("headers", &names).finish_non_exhaustive()
    }
}

impl RequestOptions {
    /// Adds the headers to those of the wire format and replaces any of the same name.
    ///
    /// # Errors
    /// Returns an error if a header has no value; the text says what to do.
    pub fn complete(
        &self,
        mut headers: Vec<(Cow<'static, str>, String)>,
    ) -> Result<Vec<(Cow<'static, str>, String)>, String> {
        for (name, source) in &self.headers {
            headers.retain(|(known, _)| known != name);
            headers.push((Cow::Owned(name.clone()), source.key()?.expose().to_owned()));
        }
        Ok(headers)
    }

    /// Returns everything that must not be shown: the key, and the values of headers and query parameters.
    ///
    /// # Errors
    /// Returns an error if a header has no value; the text says what to do.
    pub fn secrets(&self, key: Option<&ApiKey>) -> Result<Secrets, String> {
        let of_headers: Vec<ApiKey> =
            self.headers.iter().map(|(_, source)| source.key()).collect::<Result<_, _>>()?;
        let of_query = self.query.iter().map(|(_, value)| ApiKey::new(value.clone()));
        Ok(key.cloned().into_iter().chain(of_headers).chain(of_query).collect())
    }

    /// Appends the query parameters to a URL.
    pub fn add_query(&self, url: String) -> String {
        let Ok(mut parsed) = reqwest::Url::parse(&url) else { return url };
        if self.query.is_empty() {
            return url;
        }
        parsed.query_pairs_mut().extend_pairs(&self.query);
        parsed.into()
    }

    pub(crate) fn patch(&self, body: &mut Value) {
        merge(body, &self.fields);
    }
}

/// Returns the lower-case name of a header that may be set.
///
/// # Errors
/// Returns [`OptionError::Header`] if it may not be set.
pub fn header_name(name: &str) -> Result<String, OptionError> {
    let parsed = reqwest::header::HeaderName::from_bytes(name.as_bytes()).ok();
    let allowed = parsed.filter(|parsed| !RESERVED_HEADERS.contains(&parsed.as_str()));
    allowed.map(|parsed| parsed.as_str().to_owned()).ok_or_else(|| OptionError::Header(name.to_owned()))
}

/// Checks whether a header can have this value.
///
/// # Errors
/// Returns [`OptionError::HeaderValue`] if it can't.
pub fn check_header_value(name: &str, value: &str) -> Result<(), OptionError> {
    match reqwest::header::HeaderValue::from_str(value) {
        Ok(_) => Ok(()),
        Err(_) => Err(OptionError::HeaderValue(name.to_owned())),
    }
}

/// Checks whether these fields of a body may be set.
///
/// # Errors
/// Returns [`OptionError::Field`] for a field that only the server may set.
pub fn check_fields(fields: &Map<String, Value>) -> Result<(), OptionError> {
    match fields.keys().find(|field| RESERVED_FIELDS.contains(&field.as_str())) {
        Some(field) => Err(OptionError::Field(field.clone())),
        None => Ok(()),
    }
}

/// Applies a JSON merge patch (RFC 7396) to an object.
pub(crate) fn merge(value: &mut Value, patch: &Map<String, Value>) {
    for (name, change) in patch {
        match change {
            Value::Null => {
                if let Some(fields) = value.as_object_mut() {
                    fields.remove(name);
                }
            }
            Value::Object(inner) => {
                if !value[name.as_str()].is_object() {
                    value[name.as_str()] = Value::Object(Map::new());
                }
                merge(&mut value[name.as_str()], inner);
            }
            other => value[name.as_str()] = other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_patch_adds_replaces_and_removes() {
        let mut body = json!({ "a": 1, "b": { "c": 1, "d": 2 }, "e": [1] });
        merge(&mut body, &fields(json!({ "a": null, "b": { "c": 3, "x": { "y": 1, "z": null } }, "e": 5 })));
        assert_eq!(body, json!({ "b": { "c": 3, "d": 2, "x": { "y": 1 } }, "e": 5 }));
    }

    #[test]
    fn reserved_headers_and_fields_cannot_be_set() {
        assert!(check_fields(&fields(json!({ "temperature": 0.2, "provider": { "order": ["a"] } }))).is_ok());
        for field in RESERVED_FIELDS {
            let refused = check_fields(&fields(json!({ field: null })));
            assert_eq!(refused, Err(OptionError::Field(field.to_owned())));
        }
        assert_eq!(header_name("X-Org"), Ok("x-org".to_owned()));
        for name in ["Host", "content-length", "Transfer-Encoding", "", "a b", "a\n", "ä"] {
            assert!(header_name(name).is_err(), "{name}");
        }
        assert!(check_header_value("x", "a\r\nb: c").is_err());
    }

    #[test]
    fn query_parameters_are_escaped_and_appended_to_those_of_the_url() {
        let options =
            RequestOptions { query: vec![("v".to_owned(), "a&b".to_owned())], ..RequestOptions::default() };
        let url = options.add_query("https://a.example/v1/x?k=1".to_owned());
        assert_eq!(url, "https://a.example/v1/x?k=1&v=a%26b");
    }
}
