//! A session as JSON, on one line. `docs/api.md` says what is in it; it has a version of its own.

use hub::TranscriptTurn;
use serde_json::{Value, json};
use session::{Message, Run, RunEnd, Turn};

use super::{Head, VERSION, hidden_word};

/// The object without its end; turns follow.
pub(super) fn head(head: &Head) -> String {
    let mut told = json!({
        "everturn_export": VERSION,
        "session": head.session,
        "seq": head.seq,
        "title": head.title,
        "created_at": head.created_at,
        "active_at": head.active_at,
        "pinned": head.pinned,
        "archived": head.archived,
        "trashed": head.trashed,
        "tags": head.tags,
        "project": head.project,
    })
    .to_string();
    told.pop();
    told + r#","turns":["#
}

pub(super) fn turn(exported: &TranscriptTurn, is_first: bool) -> String {
    let Turn { id, message, posted_at, chosen, .. } = &exported.turn;
    let hidden = exported.hidden.map(|hidden| json!({ "by": hidden_word(hidden.by), "at": hidden.at }));
    let shown = |runs: &[Run]| runs.iter().any(|run| Some(run.id) == *chosen);
    let answers: Vec<Value> = exported
        .turn
        .answers()
        .map(|runs| {
            let text: Vec<String> = session::joined(runs).texts().map(str::to_owned).collect();
            let runs_told: Vec<Value> = runs.iter().map(run).collect();
            json!({ "shown": shown(runs), "text": text.join("\n\n"), "runs": runs_told })
        })
        .collect();
    let told = json!({
        "turn": id,
        "posted_at": posted_at,
        "message": said(message),
        "hidden": hidden,
        "answers": answers,
    });
    if is_first { told.to_string() } else { format!(",{told}") }
}

fn said(message: &Message) -> Value {
    json!({ "text": message.text, "attachments": message.attachments })
}

fn run(run: &Run) -> Value {
    let (end, error, reason) = match &run.end {
        None => ("running", None, None),
        Some(RunEnd::Completed) => ("completed", None, None),
        Some(RunEnd::Stopped { .. }) => ("stopped", None, None),
        Some(RunEnd::Failed { error }) => ("failed", Some(error), None),
        Some(RunEnd::OutputLimit { .. }) => ("output_limit", None, None),
        Some(RunEnd::Interrupted { reason, .. }) => ("interrupted", None, Some(reason)),
        Some(RunEnd::Other(_)) => ("other", None, None),
    };
    json!({
        "run": run.id,
        "cause": run.cause,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "end": end,
        "error": error,
        "reason": reason,
        "steps": run.steps,
        "usage": {
            "input_tokens": run.usage.input_tokens,
            "output_tokens": run.usage.output_tokens,
            "cached_tokens": run.usage.cached_tokens,
            "cache_write_tokens": run.usage.cache_write_tokens,
            "reasoning_tokens": run.usage.reasoning_tokens,
            "cost_micros": run.usage.cost_micros,
        },
        "parts": session::parts(run),
    })
}

pub(super) fn foot(head: &Head) -> String {
    let queue: Vec<Value> = head
        .queue
        .iter()
        .map(|queued| {
            json!({ "turn": queued.turn, "posted_at": queued.posted_at, "message": said(&queued.message), "mode": queued.mode })
        })
        .collect();
    format!(r#"],"queue":{}}}"#, Value::from(queue))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_pieces_join_to_one_line_of_json() {
        let evil = format!("{}\r\n", sample::EVIL);
        let whole =
            head(&sample::head(&evil)) + &turn(&sample::turn(&evil), true) + &turn(&sample::turn("b"), false);
        let whole = whole + &foot(&sample::head("a"));
        assert!(!whole.contains('\n'));
        let read: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(read["title"], evil);
        assert_eq!(read["turns"][0]["message"]["attachments"][0]["blob"], "ab".repeat(32));
        assert_eq!(read["turns"][1]["answers"][0]["runs"][0]["parts"][1]["text"], "b");
        assert_eq!(read["turns"][0]["answers"][0]["shown"], true);
        assert_eq!(read["queue"], json!([]));
    }
}
