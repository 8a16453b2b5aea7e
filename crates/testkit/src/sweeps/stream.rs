//! Whether anything that is said can forge an event of a stream.

use anyhow::Context;
use serde_json::json;

use super::Stage;
use crate::Report;
use crate::dice::Dice;

/// Texts of random pieces, beside one for each sign.
const RANDOM: usize = 400;

/// Texts that end lines, events or more, in every way that a reader might know.
fn texts() -> Vec<String> {
    let signs = (0_u32..=0x1f).chain(0x7f..=0x9f).chain([0x85, 0x2028, 0x2029, 0xfeff, 0xfffe]);
    let signs: Vec<char> = signs.filter_map(char::from_u32).collect();
    let mut texts: Vec<String> = signs
        .iter()
        .map(|sign| format!("a{sign}event: entry{sign}id: 9{sign}data: {{}}{sign}{sign}b"))
        .collect();
    let pieces = [
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "id: 9",
        "event: cut_off",
        "data: {}",
        ":",
        "\u{2028}",
        "\\n",
        "\"",
        "}",
        "\0",
    ];
    let mut dice = Dice::new(4);
    for _ in 0..RANDOM {
        let count = 1 + dice.below(8);
        let text: String = (0..count).filter_map(|_| dice.pick(&pieces).copied()).collect();
        texts.push(format!("x{text}"));
    }
    texts
}

/// T4: what is said comes back as it was said, in one event with the number of its entry.
///
/// # Errors
/// When the server does not answer.
pub(super) fn unforged(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let texts = texts();
    let session = stage.owner.create()?;
    let mut stream = stage.owner.follow(&session, Some(0))?;
    let (mut seen, mut last, mut forged) = (0, 0, Vec::new());
    // Renaming starts no run, so that every entry is one of these.
    for text in &texts {
        let renamed = stage.owner.ask("PATCH", &format!("/sessions/{session}"), &json!({ "title": text }))?;
        if renamed.status != 200 {
            // A title that cannot be shown is refused.
            continue;
        }
        loop {
            let event = stream.event()?.context("an event")?;
            if event.name != "entry" {
                if !matches!(event.name.as_str(), "caught_up" | "heartbeat") {
                    forged.push(format!("{text:?} made an event {}", event.name));
                }
                continue;
            }
            if event.id != Some(last + 1) {
                forged.push(format!("{text:?} made an id {:?} after {last}", event.id));
            }
            last += 1;
            if let Some((kind, body)) = event.happened().filter(|(kind, _)| kind == "session_renamed") {
                seen += 1;
                if body["title"].as_str().map(str::trim) != Some(text.trim()) {
                    forged.push(format!("{text:?} came back as {body} of {kind}"));
                }
                break;
            }
        }
    }
    let before = seen;
    for chunk in texts.chunks(60) {
        let session = stage.owner.create()?;
        // They wait behind a run that takes its time.
        stage.owner.post(&session, "say 400 pace 25")?;
        let mut stream = stage.owner.follow(&session, Some(0))?;
        let mut last = 0;
        for text in chunk {
            let posted = stage.owner.ask(
                "POST",
                &format!("/sessions/{session}/messages"),
                &json!({ "text": text }),
            )?;
            let Some(turn) = posted.body["turn"].as_u64() else { continue };
            while last < turn {
                let event = stream.event()?.context("an event")?;
                if event.name != "entry" {
                    continue;
                }
                if event.id != Some(last + 1) {
                    forged.push(format!("{text:?} made an id {:?} after {last}", event.id));
                }
                last += 1;
                if last == turn {
                    let told = event.happened().map(|(_, body)| body["message"]["text"].clone());
                    seen += 1;
                    if told != Some(json!(text)) {
                        forged.push(format!("{text:?} came back as {told:?}"));
                    }
                }
            }
        }
        stage.owner.must("DELETE", &format!("/sessions/{session}"), &json!({}))?;
    }
    forged.iter().take(10).for_each(|line| report.note(line));
    report.note(&format!("{before} titles, {} messages", seen - before));
    report.line("t4.texts", seen, ">=500", seen >= 500);
    report.line("t4.forged", forged.len(), 0, forged.is_empty());
    Ok(())
}
