//! Whether a model answers: it is asked for one word, as a run would ask it.

use std::time::Duration;

use agent::{Delta, Model, ProviderError, Question};
use futures_util::StreamExt;
use session::{Message, PromptMessage};
use tokio::time::Instant;

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Tokens of the answer. Some providers take no less.
const TOKENS_MAX: u32 = 16;
const ASK: &str = "Answer with the one word: yes";

/// What was found, in words for a person. Never the key, and nothing that a provider says about it.
pub(crate) struct Found {
    pub(crate) ok: bool,
    pub(crate) told: String,
}

/// Asks a model for one word.
pub(crate) async fn try_out(model: &Model) -> Found {
    let question = Question {
        model: model.id.clone(),
        instructions: None,
        messages: vec![PromptMessage::User(Message::text(ASK))],
        tools: Vec::new(),
        output_tokens_max: TOKENS_MAX.min(model.output_tokens_max),
    };
    let begun = Instant::now();
    match tokio::time::timeout(PATIENCE, answered(model, &question)).await {
        Ok(Ok(())) => {
            Found { ok: true, told: format!("Answered in {:.1} s.", begun.elapsed().as_secs_f64()) }
        }
        Ok(Err(error)) => Found { ok: false, told: in_words(&error) },
        Err(_) => Found { ok: false, told: format!("There was no answer within {} s.", PATIENCE.as_secs()) },
    }
}

async fn answered(model: &Model, question: &Question) -> Result<(), ProviderError> {
    let mut deltas = model.provider.ask(question).await?;
    while let Some(delta) = deltas.next().await {
        if let Delta::End(_) = delta? {
            return Ok(());
        }
    }
    Err(ProviderError::Cut { reason: "it ended before its end".to_owned() })
}

fn in_words(error: &ProviderError) -> String {
    let told = match (error, error.status()) {
        // What it says about a key may show a part of it.
        (_, Some(status @ (401 | 403))) => format!("The provider refused the key ({status})."),
        (_, Some(404)) => format!("The provider knows no such model or address. {}", said(error)),
        (_, Some(429)) => format!("The provider has no room for more questions. {}", said(error)),
        (ProviderError::Busy { .. }, None) => format!("The provider was not reached: {}.", said(error)),
        (ProviderError::Busy { .. }, Some(_)) => format!("The provider is out of order. {}", said(error)),
        (ProviderError::Refused { .. }, _) => format!("It was refused: {}.", said(error)),
        (ProviderError::Cut { .. }, _) => format!("The answer was cut off: {}.", said(error)),
        (ProviderError::Unreadable { .. }, _) => {
            format!("What came back is not what this kind of provider says: {}.", said(error))
        }
    };
    told.replace("..", ".")
}

fn said(error: &ProviderError) -> &str {
    match error {
        ProviderError::Busy { reason, .. }
        | ProviderError::Refused { reason }
        | ProviderError::Cut { reason }
        | ProviderError::Unreadable { reason } => reason.trim_end_matches(['.', ' ', ':']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_words_and_a_key_not_at_all() {
        let refused = |reason: &str| in_words(&ProviderError::Refused { reason: reason.to_owned() });
        assert_eq!(refused("HTTP 401: Incorrect key: sk-ab***yz"), "The provider refused the key (401).");
        assert_eq!(
            refused("HTTP 404: no model `m`."),
            "The provider knows no such model or address. HTTP 404: no model `m`"
        );
        assert_eq!(refused("there is no secret"), "It was refused: there is no secret.");
        let busy =
            |reason: &str| in_words(&ProviderError::Busy { reason: reason.to_owned(), retry_after: None });
        assert_eq!(busy("connection refused"), "The provider was not reached: connection refused.");
        assert_eq!(busy("HTTP 503: "), "The provider is out of order. HTTP 503");
    }
}
