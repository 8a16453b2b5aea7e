//! What the test found, for whoever runs a server: a line a figure, what a failure means, the verdict last.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use judge::figures::{Figure, Kind, figures, violations};
use judge::play;
use judge::verify::Judgement;

use super::scratch::SyncTime;
use super::trouble;

/// What became of everything.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) judgement: Judgement,
    /// Sessions that were not the same after one more restart.
    pub(super) changed: u64,
}

/// A test that came to its end, or could not.
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

/// What it means that a figure is not 0.
const MEANINGS: [(&str, &str); 16] = [
    ("lost", "a message was accepted, or an entry shown, and it is gone"),
    ("doubled", "a message, an entry or a word is there twice"),
    ("reordered", "something is there in another order than it was said or shown"),
    ("phantom", "a message is there that nobody sent, or that was refused"),
    ("changed", "an entry is not what a reader was shown"),
    ("wedged", "a session does not come to rest: something in it never ends"),
    ("keys_answered_wrong", "a message that was sent twice under one key was not recognised"),
    ("changed_by_restart", "a session was not the same after one more restart"),
    ("ended_by_itself", "the server ended though nobody had ended it"),
    ("stops_failed", "the server was asked to stop and did not, or not well"),
    ("stops_late", "the server took more than twice its time to stop"),
    ("words_missing", "an answer that was interrupted and continued lacks words"),
    ("words_doubled", "an answer that was interrupted and continued shows words twice"),
    ("words_foreign", "an answer shows words that the model did not mean as part of it"),
    ("suspended_although_it_moved", "a session stopped resuming although its runs made progress"),
    ("finished", "the test could not be carried through"),
];

impl Outcome<'_> {
    /// Whether every figure is as it should be.
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
                // A short test need not have met everything.
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
                "# kept in {}: the store (data), what clients did and saw (history.jsonl), what the server said \
                 (serve.log)",
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

    /// What was tested, with what, and what that cannot show.
    fn heading(&self) -> Vec<String> {
        let SyncTime { median, slowest } = self.sync;
        let mut lines = vec![
            format!("# everturn {}, seed {}", env!("CARGO_PKG_VERSION"), self.seed),
            format!(
                "# For {} s this program was killed, frozen, stopped and restarted at random moments while clients wrote and read.",
                self.length.as_secs()
            ),
            "# Then every message, every entry that was shown and every word of every answer was looked up.".to_owned(),
            format!(
                "# a small write is on this disk after {:.1} ms (median), {:.1} ms (slowest)",
                median.as_secs_f64() * 1e3,
                slowest.as_secs_f64() * 1e3
            ),
            "# Not shown by this: what the disk keeps when the power fails, as the system itself was never killed."
                .to_owned(),
        ];
        if self.on_postgres {
            lines.push(
                "# Not shown by this: your PostgreSQL server; the scratch store was on this machine's disk."
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
            "# Do not trust this program on this machine until the cause is known. Look at the disk and the system's \
             own log first, run it again with --dir on another disk, and report it with what was kept."
                .to_owned(),
        );
        lines
    }
}
