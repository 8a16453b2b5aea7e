//! What a reply that is no answer means: which kind of error it is, and how long the provider asks to wait. Providers
//! agree neither on status codes nor on the shape of an error, so codes come first, then the words that they use.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{BusyKind, Decoder, Delta, ProviderError, RefusalKind, STATUS, said};

/// Smaller numbers in a refusal are no counts of tokens.
const TOKENS_MIN: u64 = 512;
/// Phrases for a prompt that the model's window does not hold, in lower case.
const TOO_LONG: [&str; 17] = [
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context window",
    "context length",
    "exceed context limit",
    "available context size",
    "prompt is too long",
    "input is too long",
    "input token count",
    "maximum prompt length",
    "too large for model",
    "reduce the length of the messages",
    "context the overflows",
    // GLM, Kimi, and servers built on text-generation-inference.
    "prompt exceeds max length",
    "exceeded model token limit",
    "`max_new_tokens` must be <=",
];
/// Phrases for an account without credit.
const QUOTA: [&str; 8] = [
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "insufficient_balance",
    "billing_hard_limit",
    "billing_not_active",
    "credit balance is too low",
    "requires more credits",
];
const KEY: [&str; 5] =
    ["api key not valid", "invalid_api_key", "invalid api key", "incorrect api key", "api_key_invalid"];
const UNKNOWN_MODEL: [&str; 6] = [
    "model_not_found",
    "not a valid model",
    "no such model",
    "unknown model",
    "invalid_model",
    "deploymentnotfound",
];
const POLICY: [&str; 6] = [
    "content_policy",
    "content_filter",
    "content management policy",
    "requires moderation",
    "safety system",
    "usage policies",
];
const PARAMETER: [&str; 8] = [
    "unsupported_parameter",
    "unsupported_value",
    "unsupported parameter",
    "unknown_parameter",
    "unknown parameter",
    "unrecognized request argument",
    "extra inputs are not permitted",
    "does not support",
];

/// Returns the error that a reply other than 200 stands for.
pub(crate) fn of_status(status: u16, body: &str, retry_after: Option<Duration>) -> ProviderError {
    let error = Told::read(body);
    let reason = format!("{STATUS}{status}: {}", said(&error.message));
    let retry_after = retry_after.or_else(|| error.wait());
    match status {
        402 => ProviderError::Refused { kind: RefusalKind::Quota, reason },
        _ if error.says(&QUOTA) => ProviderError::Refused { kind: RefusalKind::Quota, reason },
        429 => ProviderError::Busy { kind: BusyKind::RateLimit, reason, retry_after },
        408 | 409 | 425 | 500..=599 => {
            // Some servers answer 500 to a prompt that does not fit.
            if status == 500 && error.says(&TOO_LONG) {
                return ProviderError::Refused { kind: RefusalKind::TooLong, reason };
            }
            ProviderError::Busy { kind: BusyKind::Overloaded, reason, retry_after }
        }
        _ => ProviderError::Refused { kind: error.refusal(status), reason },
    }
}

/// Codes of errors that no retry can fix, and the status that each stands for.
const PERMANENT: [(&[&str], u16); 4] = [
    (&["authentication", "invalid_api_key", "\"401\""], 401),
    (&["permission", "\"403\""], 403),
    (&["not_found", "\"404\""], 404),
    (&["invalid_request", "content_policy", "moderation", "\"400\"", "\"422\""], 400),
];

/// Returns the error that arrived in a stream, or in a reply that says 200.
pub(crate) fn of_event(error: &Value) -> ProviderError {
    let error = Told::of(error);
    let reason = said(&error.message);
    if error.says(&QUOTA) {
        return ProviderError::Refused { kind: RefusalKind::Quota, reason };
    }
    if error.says(&TOO_LONG) {
        return ProviderError::Refused { kind: RefusalKind::TooLong, reason };
    }
    let retry_after = error.wait();
    let is = |words: &[&str]| words.iter().any(|word| error.codes.contains(word));
    if is(&["rate_limit", "\"429\"", "resource_exhausted"]) {
        return ProviderError::Busy { kind: BusyKind::RateLimit, reason, retry_after };
    }
    let overloaded = [
        "overloaded",
        "api_error",
        "server_error",
        "unavailable",
        "timeout",
        "\"500\"",
        "\"502\"",
        "\"503\"",
        "\"504\"",
        "\"529\"",
    ];
    if is(&overloaded) {
        return ProviderError::Busy { kind: BusyKind::Overloaded, reason, retry_after };
    }
    match PERMANENT.iter().find(|(codes, _)| is(codes)) {
        Some((_, status)) => ProviderError::Refused { kind: error.refusal(*status), reason },
        None => ProviderError::Cut { reason },
    }
}

/// Returns whether a refusal is about a provider part, such as a signature or encrypted reasoning.
pub(crate) fn is_of_parts(reason: &str) -> bool {
    let told = reason.to_lowercase();
    let phrases = [
        "encrypted content could not",
        "could not be verified",
        "invalid `signature`",
        "thought signature is not valid",
        "corrupted thought signature",
    ];
    phrases.iter().any(|phrase| told.contains(phrase))
}

/// Returns whether a refusal says that the endpoint doesn't support the Responses API.
pub(crate) fn names_responses(reason: &str) -> bool {
    let told = reason.to_lowercase();
    told.contains("responses api") || told.contains("requested operation is unsupported")
}

/// Returns the fraction of a prompt that fits, from a refusal that tells both counts: the larger one is what was sent.
pub(crate) fn fraction_that_fits(reason: &str) -> Option<f64> {
    let words = reason.split(|c: char| !c.is_ascii_digit() && c != ',');
    let mut counts: Vec<u64> = words.filter_map(|word| word.replace(',', "").parse().ok()).collect();
    counts.sort_unstable();
    let sent = counts.pop()?;
    let limit = counts.into_iter().rev().find(|count| *count < sent && *count >= TOKENS_MIN)?;
    Some(limit as f64 / sent as f64)
}

/// Reads a reply that says 200 and is no stream: an error, a whole answer, or something else.
pub(crate) fn document(text: &str, decoder: &mut dyn Decoder) -> Result<Vec<Delta>, ProviderError> {
    let Ok(parsed) = serde_json::from_str::<Value>(text) else {
        let is_page = text.trim_start().starts_with('<');
        let reason = if is_page {
            "the URL returned a web page, not an API response; check the model's address".to_owned()
        } else {
            said(text.trim())
        };
        return Err(ProviderError::Refused { kind: RefusalKind::NotAModel, reason });
    };
    let first = parsed.get(0).unwrap_or(&parsed);
    if let Some(error) = first.get("error").filter(|error| !error.is_null()) {
        return Err(match of_event(error) {
            // Nothing was cut off: the provider answers with an error and says 200.
            ProviderError::Cut { reason } => ProviderError::Refused { kind: RefusalKind::Other, reason },
            other => other,
        });
    }
    decoder
        .document(&parsed)
        .ok_or_else(|| ProviderError::Refused { kind: RefusalKind::NotAModel, reason: said(text.trim()) })
}

/// What a provider says about an error.
struct Told {
    message: String,
    /// Its codes and kinds, in lower case and in quotes.
    codes: String,
    /// All of it, in lower case.
    all: String,
    /// Names the parameter that it is about.
    names_parameter: bool,
    details: Value,
}

impl Told {
    fn read(body: &str) -> Self {
        let parsed: Value = serde_json::from_str(body).unwrap_or_default();
        // Google wraps its errors in an array.
        let parsed = parsed.get(0).cloned().unwrap_or(parsed);
        let error = if parsed["error"].is_null() { parsed } else { parsed["error"].clone() };
        if error.is_null() {
            let text = if body.trim_start().starts_with('<') { "a web page" } else { body.trim() };
            return Self::of(&Value::String(text.to_owned()));
        }
        Self::of(&error)
    }

    fn of(error: &Value) -> Self {
        let message = error["message"].as_str().or(error["detail"].as_str()).or(error.as_str());
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        let codes = ["code", "type", "status", "name"].map(|field| match &error[field] {
            Value::Null => String::new(),
            Value::String(word) => format!("\"{}\" ", word.to_lowercase()),
            other => format!("\"{other}\" "),
        });
        Self {
            all: error.to_string().to_lowercase(),
            codes: codes.concat(),
            names_parameter: error["param"].is_string(),
            details: error["details"].clone(),
            message,
        }
    }

    fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.all.contains(phrase))
    }

    fn refusal(&self, status: u16) -> RefusalKind {
        let is_of_model = self.all.contains("model")
            && ["not found", "not exist"].iter().any(|phrase| self.all.contains(phrase));
        if status == 413 || self.says(&TOO_LONG) {
            RefusalKind::TooLong
        } else if status == 401 || self.says(&KEY) {
            RefusalKind::Key
        } else if self.says(&POLICY) {
            RefusalKind::Policy
        } else if self.says(&UNKNOWN_MODEL)
            || is_of_model
            || (status == 404 && self.all.contains("\"model: "))
        {
            RefusalKind::UnknownModel
        } else if self.names_parameter || self.says(&PARAMETER) {
            RefusalKind::Parameter
        } else if status == 403 {
            RefusalKind::Key
        } else if matches!(status, 404 | 405) {
            // The address is wrong, or a part of its path is missing.
            RefusalKind::NotAModel
        } else {
            RefusalKind::Other
        }
    }

    /// How long the error itself asks to wait: Google's `retryDelay`, or "try again in 20s".
    fn wait(&self) -> Option<Duration> {
        let details = self.details.as_array().into_iter().flatten();
        let delay = details.filter_map(|detail| detail["retryDelay"].as_str()).find_map(duration);
        delay.or_else(|| {
            let told = self.message.to_lowercase();
            let marks = ["try again in ", "retry after "];
            let (_, rest) = marks.iter().find_map(|mark| told.split_once(mark))?;
            let mut words = rest.split_whitespace();
            let number = words.next()?;
            let unit = words.next().map_or("", |word| match word.trim_end_matches(['.', ',', ';', 's']) {
                "millisecond" => "ms",
                "minute" => "m",
                "hour" => "h",
                _ => "",
            });
            duration(&format!("{}{unit}", number.trim_end_matches(['.', ',', ';'])))
        })
    }
}

/// Headers with the time until a limit resets. Each has a counterpart, `remaining`, with the unused part of the limit.
const RESETS: [&str; 7] = [
    "x-ratelimit-reset",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-input-tokens-reset",
    "anthropic-ratelimit-output-tokens-reset",
];

/// Returns how long the headers of a reply ask to wait. `header` looks one up by its lower-case name.
pub(crate) fn wait_of<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let header = |name: &str| header(name).map(str::trim);
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return seconds(millis / 1_000.0);
    }
    // Points in time are compared with the provider's own clock, because ours may be wrong.
    let now = header("date").and_then(http_date);
    let until = |moment: Timestamp| Some(Duration::try_from(moment.duration_since(now?)).unwrap_or_default());
    if let Some(text) = header("retry-after") {
        if let Ok(number) = text.parse::<f64>() {
            return seconds(number);
        }
        if let Some(wait) = http_date(text).and_then(until) {
            return Some(wait);
        }
    }
    let is_used_up = |name: &str| header(&name.replace("reset", "remaining")).is_none_or(|left| left == "0");
    let wait = |name: &str| {
        let text = header(name)?;
        moment(text).map_or_else(|| duration(text), until)
    };
    RESETS.into_iter().filter(|name| is_used_up(name)).filter_map(wait).max()
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp())
}

/// Parses a point in time: RFC 3339, or seconds or milliseconds since 1970. Smaller numbers are durations: `None`.
fn moment(text: &str) -> Option<Timestamp> {
    match text.parse::<i64>() {
        Ok(millis @ 1_000_000_000_000..) => Timestamp::from_millisecond(millis).ok(),
        Ok(seconds @ 1_000_000_000..) => Timestamp::from_second(seconds).ok(),
        Ok(_) => None,
        Err(_) => text.parse().ok(),
    }
}

/// Reads `20s`, `1.5s`, `250ms` or `6m0s`.
fn duration(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        total += number
            * match &rest[digits..unit_end] {
                "ms" => 0.001,
                "s" | "" => 1.0,
                "m" => 60.0,
                "h" => 3_600.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    (!text.is_empty()).then(|| seconds(total)).flatten()
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wait(headers: &[(&str, &str)]) -> Option<Duration> {
        wait_of(|name| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        for (headers, millis) in [
            (vec![("retry-after", "7")], Some(7_000)),
            (vec![("retry-after", "3.5")], Some(3_500)),
            (vec![("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
            (vec![("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"), ("date", date)], Some(30_000)),
            (vec![("retry-after", "Wed, 21 Oct 2026 07:27:30 GMT"), ("date", date)], Some(0)),
            (vec![("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")], None),
            (vec![("retry-after", "soon")], None),
            (vec![("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-reset-tokens", "6m0s")], Some(360_000)),
            (vec![("x-ratelimit-reset", "12")], Some(12_000)),
            (vec![("x-ratelimit-reset", "1792567710"), ("date", date)], Some(30_000)),
            (vec![("x-ratelimit-reset", "1792567710500"), ("date", date)], Some(30_500)),
            (vec![("x-ratelimit-reset", "1792567710")], None),
            (
                vec![("anthropic-ratelimit-tokens-reset", "2026-10-21T07:28:30Z"), ("date", date)],
                Some(30_000),
            ),
            (
                vec![
                    ("anthropic-ratelimit-tokens-reset", "2026-10-21T07:28:30Z"),
                    ("anthropic-ratelimit-tokens-remaining", "5000"),
                    ("date", date),
                ],
                None,
            ),
            (
                vec![
                    ("x-ratelimit-reset-requests", "8.64s"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "5000"),
                ],
                Some(8_640),
            ),
            (vec![], None),
        ] {
            assert_eq!(wait(&headers), millis.map(Duration::from_millis), "{headers:?}");
        }
    }

    #[test]
    fn a_refusal_tells_how_much_fits() {
        let percent = |reason| fraction_that_fits(reason).map(|fraction| (fraction * 100.0).round() as u32);
        for (reason, expected) in [
            ("HTTP 400: prompt is too long: 250000 tokens > 200000 maximum", Some(80)),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 16384 tokens",
                Some(50),
            ),
            (
                "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1048576).",
                Some(87),
            ),
            ("HTTP 400: the prompt is too long", None),
        ] {
            assert_eq!(percent(reason), expected, "{reason}");
        }
    }

    #[test]
    fn the_words_of_an_error_tell_how_long_to_wait() {
        for (words, millis) in [
            ("Please try again in 3.2s.", Some(3_200)),
            ("Try again in 6m0s; see the documentation.", Some(360_000)),
            ("Retry after 26 seconds.", Some(26_000)),
            ("Please try again in 2 minutes.", Some(120_000)),
            ("Please try again in 1 hour, or pay.", Some(3_600_000)),
            ("Please try again in 500 milliseconds", Some(500)),
            ("Please try again in a while.", None),
        ] {
            let wait = Told::of(&Value::String(words.to_owned())).wait();
            assert_eq!(wait, millis.map(Duration::from_millis), "{words}");
        }
        let told = r#"{"error":{"message":"Rate limit reached. Please try again in 20s. Visit the site.","code":"rate_limit_exceeded"}}"#;
        let error = of_status(429, told, None);
        let ProviderError::Busy { kind: BusyKind::RateLimit, retry_after, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(20)));
        let google = r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.",
            "details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"41s"}]}}]"#;
        let ProviderError::Busy { kind: BusyKind::RateLimit, retry_after, .. } = of_status(429, google, None)
        else {
            panic!()
        };
        assert_eq!(retry_after, Some(Duration::from_secs(41)));
    }

    #[test]
    fn a_permanent_error_in_a_stream_is_not_retried() {
        let kind = |code: &str| match of_event(&json!({ "code": code, "message": "no" })) {
            ProviderError::Refused { kind, .. } => Some(kind),
            _ => None,
        };
        assert_eq!(kind("authentication_error"), Some(RefusalKind::Key));
        assert_eq!(kind("permission_error"), Some(RefusalKind::Key));
        assert_eq!(kind("content_policy_violation"), Some(RefusalKind::Policy));
        assert_eq!(kind("not_found_error"), Some(RefusalKind::NotAModel));
        assert_eq!(kind("invalid_request_error"), Some(RefusalKind::Other));
        for code in ["500", "server_error", "something_else"] {
            assert_eq!(kind(code), None, "{code}");
        }
    }
}
