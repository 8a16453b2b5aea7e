//! The report for operators: one metric per line, explanations of failures, and the verdict in the last line.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use judge::figures::{Figure, Kind, figures, violations};
use judge::play;
use judge::verify::Judgement;

use super::scratch::SyncTime;
use super::trouble;

/// The result of a test that finished.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) judgement: Judgement,
    /// Number of sessions that differ after the final restart.
    pub(super) changed: u64,
}

/// The result of a test and everything to report about it.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) length: Duration,
    pub(super) seed: u64,
    pub(super) sync: SyncTime,
    pub(super) on_postgres: bool,
    pub(super) troubles: &'a trouble::Counts,
    pub(super) plays: &'a play::Counts,
    pub(super) verdict: anyhow::Result<Judged>,
}

/// The meaning of each metric that is not at its target.
const MEANINGS: [(&str, &str); 16] = [
    ("lost", "an accepted message or a displayed entry is missing"),
    ("doubled", "a message, an entry or a word is duplicated"),
    ("reordered", "messages or entries are in a different order than they were sent or displayed"),
    ("phantom", "a message exists that no client sent, or that the server rejected"),
    ("changed", "an entry differs from the one that a reader received"),
    ("wedged", "a session never becomes idle"),
    ("keys_answered_wrong", "a repeated message with the same idempotency key was not recognized"),
    ("changed_by_restart", "a session changed during the final restart"),
    ("ended_by_itself", "the server exited although the test did not stop it"),
    ("stops_failed", "the server did not stop on request, or exited with an error"),
    ("stops_late", "the server took more than twice its time limit to stop"),
    ("words_missing", "words are missing from an answer that was interrupted and continued"),
    ("words_doubled", "words are duplicated in an answer that was interrupted and continued"),
    ("words_foreign", "an answer contains words that are not part of it"),
    (
        "suspended_although_it_moved",
        "a session stopped resuming automatically although its runs made progress",
    ),
    ("finished", "the test could not be completed"),
];

impl Outcome<'_> {
    /// Whether every metric reached its target.
    pub(super) fn is_well(&self) -> bool {
        self.figures().iter().all(Figure::is_reached)
    }

    fn figures(&self) -> Vec<Figure> {
        let trouble::Counts { kills, kills_at_start, freezes, stops, restarts, .. } = self.troubles;
        let mut all = vec![Figure::new("kills", kills.load(Ordering::Acquire), Kind::Done)];
        all.extend(
            [
                ("kills_at_start", kills_at_start),
                ("freezes", freezes),
                ("stops", stops),
                ("restarts", restarts),
                ("slowest_stop_ms", &self.troubles.slowest_stop_ms),
                ("slowest_start_ms", &self.troubles.slowest_start_ms),
            ]
            .map(|(name, count)| Figure::new(name, count.load(Ordering::Acquire), Kind::Told)),
        );
        if let Ok(Judged { judgement, changed }) = &self.verdict {
            all.extend(figures(judgement, self.plays).into_iter().map(|figure| match figure.kind {
                // A short test may not produce every event.
                Kind::Met => Figure { kind: Kind::Told, ..figure },
                _ => figure,
            }));
            all.push(Figure::new("changed_by_restart", *changed, Kind::Wrong));
        }
        let wrong = [
            ("ended_by_itself", &self.troubles.ended_by_itself),
            ("stops_failed", &self.troubles.stops_failed),
            ("stops_late", &self.troubles.stops_late),
        ];
        all.extend(wrong.map(|(name, count)| Figure::new(name, count.load(Ordering::Acquire), Kind::Wrong)));
        all.push(Figure::new("finished", u64::from(self.verdict.is_ok()), Kind::Done));
        all
    }

    /// The report.
    pub(super) fn text(&self, kept: Option<&Path>) -> String {
        let mut lines = self.heading();
        let figures = self.figures();
        lines.extend(figures.iter().map(|figure| figure.line("selftest")));
        let short = figures.iter().filter(|figure| !figure.is_reached());
        let short: Vec<&str> = short.map(|figure| figure.name.as_str()).collect();
        if !short.is_empty() {
            lines.extend(self.explained(&short));
        }
        if let Some(kept) = kept {
            lines.push(format!(
                "# kept in {}: the store (data), the requests and responses of the clients (history.jsonl), the server's \
                 log (serve.log)",
                kept.display()
            ));
        }
        lines.push(if short.is_empty() {
            "selftest ok".to_owned()
        } else {
            format!("selftest short: {}", short.join(" "))
        });
        lines.join("\n") + "\n"
    }

    /// The subject of the test, its setup and its limits.
    fn heading(&self) -> Vec<String> {
        let SyncTime { median, slowest } = self.sync;
        let mut lines = vec![
            format!("# everturn {}, seed {}", env!("CARGO_PKG_VERSION"), self.seed),
            format!(
                "# For {} s, the server was killed, frozen, stopped and restarted at random while clients wrote and read.",
                self.length.as_secs()
            ),
            "# Then every message, every displayed entry and every word of every answer was checked."
                .to_owned(),
            format!(
                "# Time to sync a small write on this disk: {:.1} ms (median), {:.1} ms (slowest).",
                median.as_secs_f64() * 1e3,
                slowest.as_secs_f64() * 1e3
            ),
            "# Not tested: power failures, because the machine itself kept running.".to_owned(),
        ];
        if self.on_postgres {
            lines.push(
                "# Not tested: your PostgreSQL server, because the scratch store was on this machine's disk."
                    .to_owned(),
            );
        }
        lines
    }

    fn explained(&self, short: &[&str]) -> Vec<String> {
        let mut lines = Vec::new();
        match &self.verdict {
            Ok(judged) => {
                lines.extend(violations(&judged.judgement).into_iter().map(|found| format!("# {found}")))
            }
            Err(error) => lines.push(format!("# {error:#}")),
        }
        let meanings = MEANINGS.iter().filter(|(name, _)| short.contains(name));
        lines.extend(meanings.map(|(name, meaning)| format!("# {name}: {meaning}")));
        lines.push(
            "# Do not rely on Everturn on this machine until you know the cause. First check the disk and the system log, \
             then repeat the test with --dir on another disk, and report the problem with the kept directory."
                .to_owned(),
        );
        lines
    }
}
