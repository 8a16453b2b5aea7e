//! How a session gets its name: the model is asked for one, once it has answered.

use futures_util::StreamExt;
use session::{Prompt, PromptMessage};

use crate::media::Shown;
use crate::meter::Purpose;
use crate::model::Model;
use crate::provider::{Delta, Effort, Question};
use crate::run::Billed;
use crate::window::{self, Window};

/// Characters of a generated title.
const TITLE_MAX: usize = 60;
/// Bytes of each side of the conversation that the model is shown for it.
const SHOWN_BYTES: usize = 2_000;
/// Room for a model that thinks first. The others need a few tokens of it.
const TITLE_TOKENS_MAX: u32 = 1_024;

const ASK: &str = "Give this conversation a title of two to six words, in its own language. \
    Answer with the title alone: no quotes, no full stop.";

/// Asks the model for a title.
pub(crate) async fn title(model: &Model, prompt: Prompt) -> Billed<String> {
    let first: Vec<PromptMessage> = prompt.messages.into_iter().take(3).filter_map(short).collect();
    let mut messages = first;
    messages.push(PromptMessage::User(session::Message::text(ASK)));
    window::fit(&mut messages, Window::new(model, None, &[]));
    let question = Question {
        model: model.id.clone(),
        instructions: None,
        messages,
        tools: Vec::new(),
        output_tokens_max: TITLE_TOKENS_MAX.min(model.output_tokens_max),
        effort: Effort::Lowest,
        shown: Shown::default(),
    };
    let (mut said, mut counted, mut value) = (String::new(), None, None);
    if let Ok(mut deltas) = model.ask(&question, Purpose::Title).await.answer {
        while let Some(Ok(delta)) = deltas.next().await {
            match delta {
                Delta::Text(text) => said.push_str(&text),
                Delta::Usage(usage) => counted = Some(usage),
                Delta::End(_) => value = clean(&said),
                Delta::Reasoning(_) | Delta::Call { .. } | Delta::Part { .. } => {}
            }
        }
    }
    Billed { value, usage: counted.map(|usage| model.prices.priced(usage)).unwrap_or_default() }
}

fn short(message: PromptMessage) -> Option<PromptMessage> {
    let cut = |text: String| text[..text.floor_char_boundary(SHOWN_BYTES.min(text.len()))].to_owned();
    match message {
        PromptMessage::User(message) => Some(PromptMessage::User(session::Message::text(cut(message.text)))),
        PromptMessage::Assistant { text, .. } if !text.trim().is_empty() => {
            Some(PromptMessage::said(cut(text)))
        }
        PromptMessage::Assistant { .. }
        | PromptMessage::Summary(_)
        | PromptMessage::Note(_)
        | PromptMessage::Result { .. } => None,
    }
}

/// The first line that says something, without quotes and marks.
fn clean(said: &str) -> Option<String> {
    let after_reasoning = said.rsplit("</think>").next().unwrap_or(said);
    let line = after_reasoning.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_matches(|mark: char| "\"'`*#“”„«».: ".contains(mark));
    let line = line.strip_prefix("Title:").unwrap_or(line).trim();
    let line: String = line.chars().filter(|character| !character.is_control()).collect();
    // A model that answers with a sentence still gives a name: its first words.
    let mut title = String::new();
    for word in line.split_whitespace() {
        if !title.is_empty() && title.chars().count() + 1 + word.chars().count() > TITLE_MAX {
            break;
        }
        let room = TITLE_MAX.saturating_sub(title.chars().count() + 1);
        title.extend((!title.is_empty()).then_some(' '));
        title.extend(word.chars().take(room));
    }
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_not_shown_for_a_title() {
        assert_eq!(short(PromptMessage::said("\n\n")), None);
        assert_eq!(short(PromptMessage::said("\n\nYes.")), Some(PromptMessage::said("\n\nYes.")));
    }

    #[test]
    fn a_title_is_one_plain_line() {
        assert_eq!(clean("\n \"Herons in Winter.\"\nBecause"), Some("Herons in Winter".to_owned()));
        assert_eq!(clean("<think>hm</think>\n**Herons**"), Some("Herons".to_owned()));
        assert_eq!(clean("Title: Herons"), Some("Herons".to_owned()));
        assert_eq!(clean(" \n\"\""), None);
        let sentence = clean(&"long ".repeat(20)).unwrap_or_default();
        assert_eq!(sentence, "long ".repeat(12).trim_end());
        assert_eq!(clean(&"x".repeat(99)).map(|title| title.len()), Some(59));
    }
}
