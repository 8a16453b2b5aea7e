//! What becomes of requests that mean nothing.

use serde_json::{Value, json};

use super::Stage;
use super::surface::{Operation, UNKNOWN, ask, request, send};
use crate::Report;
use crate::dice::Dice;

/// Bytes of a text that is much too long.
const HUGE: usize = 300_000;

/// T17: every operation with fields that are missing, null, of another type, too many or too large. Nothing of it is the
/// server's failure, and it stays alive.
///
/// # Errors
/// When the server does not answer.
pub(super) fn refused(report: &mut Report, stage: &mut Stage, each: u64) -> anyhow::Result<()> {
    let (mut asked, mut failed) = (0_u64, Vec::new());
    let mut dice = Dice::new(17);
    for operation in stage.operations.clone() {
        let mut client = stage.token("owner", "manage")?;
        for _ in 0..each {
            let ids = [stage.session.as_str(), UNKNOWN, "x", "", "..", "%00", "-1", "999999999999999999999"];
            let id = dice.pick(&ids).copied().unwrap_or("x");
            // What the other rounds need is left alone.
            let spare = operation.method == "DELETE" || operation.path.contains("{user}");
            let id = if spare && id == stage.session { UNKNOWN } else { id };
            let body = nonsense(&operation, &mut dice);
            let Ok(answer) = ask(&client, &operation.method, &operation.filled(id), &body) else {
                failed.push(format!("{} {}: no answer to {}", operation.method, operation.path, cut(&body)));
                continue;
            };
            asked += 1;
            if answer.status >= 500 {
                failed.push(format!(
                    "{} {} with {}: {} {}",
                    operation.method,
                    operation.path,
                    cut(&body),
                    answer.status,
                    answer.body
                ));
            }
            if operation.path.ends_with("/logout") && answer.status == 204 {
                client = stage.token("owner", "manage")?;
            }
        }
    }
    // Heads that no client sends.
    let heads: [&[u8]; 8] = [
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n",
        b"GET /api/v1/health\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /api/v1/sessions/\xff\xfe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"POST /api/v1/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /api/v1/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc",
        b"POST /api/v1/login HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ];
    for head in heads {
        // A refusal, or no answer at all.
        if let Ok(answer) = send(stage.owner.port, head) {
            asked += 1;
            if answer.status >= 500 && answer.status != 505 {
                failed.push(format!("{:?}: {}", String::from_utf8_lossy(head), answer.status));
            }
        }
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let headers = format!("host: localhost\r\nauthorization: Bearer {}\r\n", stage.owner.token);
    let answer = send(stage.owner.port, &request("POST", "/api/v1/sessions", &headers, &deep))?;
    report.line("t17.deep_json", answer.status, "4xx", (400..500).contains(&answer.status));
    failed.iter().take(10).for_each(|line| report.note(line));
    let least = each * stage.operations.len() as u64 * 9 / 10;
    report.line("t17.requests", asked, format!(">={least}"), asked >= least);
    report.line("t17.failed", failed.len(), 0, failed.is_empty());
    let alive = stage.is_alive() && stage.owner.create().is_ok();
    report.line("t17.alive", alive, true, alive);
    Ok(())
}

fn cut(body: &str) -> String {
    body.chars().take(120).collect()
}

/// A body that is wrong in some way.
fn nonsense(operation: &Operation, dice: &mut Dice) -> String {
    let strange = |dice: &mut Dice| -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(-1),
            json!(1e308),
            json!(u64::MAX),
            json!(0.5),
            json!(""),
            json!("\u{0}\u{2028}\r\n\n"),
            json!("../../etc/passwd"),
            json!("${HOME}"),
            json!("x".repeat(HUGE)),
            json!([]),
            json!([[[[[]]]]]),
            json!({}),
            json!({ "x": { "y": null } }),
            json!("00000000-0000-0000-0000-000000000000"),
        ];
        dice.pick(&values).cloned().unwrap_or(Value::Null)
    };
    let mut body = operation.body();
    match dice.below(8) {
        0 => return String::new(),
        1 => {
            return ["{", "null", "[]", "\"x\"", "{\"text\":", "\u{feff}{}", "{}{}"][dice.below(7) as usize]
                .to_owned();
        }
        2 => return strange(dice).to_string(),
        3 => {
            // Something that nobody reads.
            body["unknown"] = strange(dice);
        }
        _ => {}
    }
    if let Some(fields) = body.as_object_mut() {
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            match dice.below(4) {
                0 => drop(fields.remove(&name)),
                1 | 2 => drop(fields.insert(name, strange(dice))),
                _ => {}
            }
        }
        // It would end what is asked here.
        fields.remove("disabled");
        fields.remove("password");
    }
    body.to_string()
}
