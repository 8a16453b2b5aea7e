//! Random texts, messages and names with characters that the two folds could treat differently.

use serde_json::{Value, json};
use session::{Attachment, BlobHash, FromChat, Message, SessionId};
use uuid::Uuid;

use crate::dice::Dice;

/// White space that one of the two languages might not take for it, tags whole and cut, signs of two and more units, and
/// what a continued answer begins with.
const PIECES: &[&str] = &[
    "",
    " ",
    "\n",
    "\t",
    "\u{b}",
    "\u{1c}",
    "\u{85}",
    "\u{a0}",
    "\u{180e}",
    "\u{200b}",
    "\u{2028}",
    "\u{202e}",
    "\u{3000}",
    "\u{feff}",
    "\0",
    "<",
    "<think>",
    "<thi",
    "nk>",
    "<thinking>",
    "ing>",
    "<reasoning>",
    "<THINK>",
    "</think>",
    "</thi",
    "</thinking>",
    "</reasoning>",
    "</",
    "herons",
    "terns and gulls",
    "é",
    "鷺",
    "🎉",
    "👩‍👩‍👧",
    "e\u{301}",
    "İ",
    "ẞ",
    "Count the herons of the lake and of the river, one by one",
    "```rust\n",
    "```\n",
    "- one\n",
    "Sorry, continuing where I left off: ",
    "herons of the lake",
    ". ",
    "\"\\",
];

/// What a large text is made of: signs of one to four bytes.
const FILLING: &[&str] = &["x", "é", "鷺", "🎉", "words "];
const LARGE_BYTES_MAX: u64 = 70_000;

/// A text of a few pieces; of many kilobytes now and then where `large` says so.
pub(crate) fn text(dice: &mut Dice, large: bool) -> String {
    if large && dice.chance(25) {
        let bytes = dice.below(LARGE_BYTES_MAX);
        return filling(dice, bytes);
    }
    (0..dice.below(5)).map(|_| dice.pick(PIECES)).collect()
}

/// A text of almost so many bytes.
pub(crate) fn filling(dice: &mut Dice, bytes: u64) -> String {
    let filling = dice.pick(FILLING);
    filling.repeat(usize::try_from(bytes).unwrap_or_default() / filling.len())
}

pub(crate) fn message(dice: &mut Dice, large: bool) -> Message {
    let attachments = (0..dice.below(12).saturating_sub(9)).map(|_| attachment(dice)).collect();
    Message {
        text: text(dice, large),
        attachments,
        model: dice.chance(10).then(|| "small".to_owned()),
        device: dice.chance(10).then(|| "phone".to_owned()),
        from: dice.chance(35).then(|| Box::new(chat(dice))),
    }
}

fn attachment(dice: &mut Dice) -> Attachment {
    let (name, media_type) = (text(dice, false), "text/plain".to_owned());
    Attachment { name, media_type, blob: BlobHash("b".repeat(64)), size_bytes: dice.below(1 << 40) }
}

pub(crate) fn chat(dice: &mut Dice) -> FromChat {
    let number = dice.below(4);
    let chat = format!("agent:platform:direct:{number}");
    let sender = dice.maybe(|dice| text(dice, false));
    FromChat { chat, message: format!("m{number}"), peer: format!("p{number}"), sender }
}

pub(crate) fn session_id(dice: &mut Dice) -> SessionId {
    SessionId(uuid(dice))
}

pub(crate) fn uuid(dice: &mut Dice) -> Uuid {
    Uuid::from_u128(u128::from(dice.below(6)))
}

/// A variant that only a newer version knows.
pub(crate) fn newer(dice: &mut Dice) -> Value {
    dice.pick(&[json!("eclipse"), json!({ "eclipse": { "at": 3 } })])
}
