//! Failures that pass after a wait, and every way of saying how long to wait.

use agent::Wire;

use super::provider::Answer;
use super::wire::{WIRES, error, says};
use super::{AGAIN, Case, Pause, asked, own};

/// The provider's clock; 1,795,082,400 seconds after 1970.
const NOW: (&str, &str) = ("date", "Thu, 19 Nov 2026 10:00:00 GMT");
const PAGE: &str = "<html><body><h1>Busy</h1></body></html>";

/// One way of asking for a wait.
struct Told {
    headers: &'static [(&'static str, &'static str)],
    words: &'static str,
    pause: Pause,
}

fn headers(headers: &'static [(&'static str, &'static str)], pause: Pause) -> Told {
    Told { headers, words: "Slow down", pause }
}

fn words(words: &'static str, pause: Pause) -> Told {
    Told { headers: &[], words, pause }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_for_in_whatever_form_it_names_the_wait() {
    for wire in WIRES {
        for Told { headers, words, pause } in [
            headers(&[("retry-after", "7")], asked(7_000)),
            headers(&[("retry-after", "1.5")], asked(1_500)),
            headers(&[("retry-after", "300")], asked(300_000)),
            headers(&[NOW, ("retry-after", "Thu, 19 Nov 2026 10:00:12 GMT")], asked(12_000)),
            headers(&[NOW, ("retry-after", "Thu, 19 Nov 2026 09:59:00 GMT")], asked(0)),
            headers(&[("retry-after-ms", "1500")], asked(1_500)),
            headers(&[("retry-after-ms", "1500"), ("retry-after", "2")], asked(1_500)),
            headers(&[("x-ratelimit-reset-requests", "1m30s")], asked(90_000)),
            headers(&[("x-ratelimit-reset-requests", "250ms")], asked(250)),
            headers(
                &[("x-ratelimit-reset-tokens", "6s"), ("x-ratelimit-reset-requests", "2s")],
                asked(6_000),
            ),
            headers(
                &[
                    ("x-ratelimit-reset-tokens", "6s"),
                    ("x-ratelimit-remaining-tokens", "900"),
                    ("x-ratelimit-reset-requests", "2s"),
                    ("x-ratelimit-remaining-requests", "0"),
                ],
                asked(2_000),
            ),
            headers(&[NOW, ("anthropic-ratelimit-requests-reset", "2026-11-19T10:00:20Z")], asked(20_000)),
            headers(&[NOW, ("x-ratelimit-reset", "1795082430")], asked(30_000)),
            headers(&[NOW, ("x-ratelimit-reset", "1795082430000")], asked(30_000)),
            words("Limit reached. Please try again in 3.2s. Visit the console.", asked(3_200)),
            words("Please retry after 26 seconds.", asked(26_000)),
            words("Try again in 2 minutes.", asked(120_000)),
            words("Slow down", own(5_000)),
        ] {
            let limited = Answer::refuses(429, error(wire, words)).with(headers);
            let log = [&format!("retry rate_limit req_1: HTTP 429: {words}"), "text Hello.", "answered"];
            let name = format!("{headers:?} {words}");
            let case = Case::new(name, wire, [limited, Answer::streams(says(wire, "Hello."))]);
            case.pauses([pause]).log(log).check().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_more_than_five_minutes_fails_the_run_at_once() {
    for wire in WIRES {
        for (headers, words, minutes) in [
            (&[("retry-after", "301")][..], "Slow down", 6),
            (&[("retry-after", "3600")], "Slow down", 60),
            (&[("x-ratelimit-reset-requests", "6h0m0s")], "Slow down", 360),
            (&[NOW, ("anthropic-ratelimit-tokens-reset", "2026-11-19T10:10:00Z")], "Slow down", 10),
            (&[NOW, ("x-ratelimit-reset", "1795086000")], "Slow down", 60),
            (&[], "Please try again in 7m12.48s", 8),
            (&[], "Try again in 2 hours", 120),
        ] {
            let limited = Answer::refuses(429, error(wire, words)).with(headers);
            let told = format!(
                "failed: The provider's rate limit was reached: HTTP 429: {words}. Everything above is saved; press \
                 Continue to try again in {minutes} minutes. Request ID: req_1"
            );
            Case::new(format!("{headers:?} {words}"), wire, [limited]).log([told]).check().await;
        }
    }
}

/// The status and body of each failure that may pass, and the reason in the log.
const PASSING: [(u16, Option<&str>, &str); 9] = [
    (408, None, "overloaded"),
    (409, None, "overloaded"),
    (425, None, "overloaded"),
    (429, None, "rate_limit"),
    (500, None, "overloaded"),
    (502, Some(PAGE), "overloaded"),
    (503, Some(PAGE), "overloaded"),
    (504, Some(""), "overloaded"),
    (529, None, "overloaded"),
];

/// Returns the answer, and the words that the log has for it.
fn passing(wire: Wire, status: u16, body: Option<&str>) -> (Answer, String) {
    let words = match body {
        None => "Later",
        Some(PAGE) => "a web page",
        Some(other) => other,
    };
    let body = body.map_or_else(|| error(wire, "Later"), str::to_owned);
    (Answer::refuses(status, body), format!("HTTP {status}: {words}"))
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_passes_shows_only_as_a_retry_in_the_log() {
    for wire in WIRES {
        for (status, body, kind) in PASSING {
            let (failure, words) = passing(wire, status, body);
            let answers = [failure, Answer::streams(says(wire, "Hello."))];
            let pause = if status == 429 { own(5_000) } else { own(500) };
            let log = [&format!("retry {kind} req_1: {words}"), "text Hello.", "answered"];
            Case::new(status.to_string(), wire, answers).pauses([pause]).log(log).check().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_lasts_fails_the_run_after_five_tries() {
    for wire in WIRES {
        for (status, body, kind) in PASSING {
            let (failure, words) = passing(wire, status, body);
            let (first, happened) = match kind {
                "rate_limit" => (5_000, "The provider's rate limit was reached"),
                _ => (500, "The provider is overloaded or failing"),
            };
            let retries = (1..5).map(|number| format!("retry {kind} req_{number}: {words}"));
            let reason = words.trim_end_matches([':', ' ']);
            let told = format!("failed: {happened}: {reason}. {AGAIN} Request ID: req_5");
            let case = Case::new(status.to_string(), wire, [failure]).log(retries.chain([told]));
            case.pauses([1, 2, 4, 8].map(|times| own(first * times))).check().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_provider_is_retried_after_the_wait_that_it_asks_for() {
    for wire in WIRES {
        let failure = Answer::refuses(503, error(wire, "Later")).with(&[("retry-after", "7")]);
        let case = Case::new("503", wire, [failure, Answer::streams(says(wire, "Hello."))]);
        let log = ["retry overloaded req_1: HTTP 503: Later", "text Hello.", "answered"];
        case.pauses([asked(7_000)]).log(log).check().await;
    }
}
