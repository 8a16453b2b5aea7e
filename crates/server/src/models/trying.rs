//! Whether a model answers: it is asked for one word, as a run would ask it.

use std::time::Duration;

use agent::{BusyKind, Delta, Effort, Model, ProviderError, Purpose, Question, RefusalKind};
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
        effort: Effort::Default,
        shown: agent::media::Shown::default(),
    };
    let begun = Instant::now();
    match tokio::time::timeout(PATIENCE, answered(model, &question)).await {
        Ok(Ok(())) => {
            Found { ok: true, told: format!("Answered in {:.1} s.", begun.elapsed().as_secs_f64()) }
        }
        Ok(Err(error)) => Found { ok: false, told: in_words(&error) },
        Err(_) => {
            Found { ok: false, told: format!("The model didn't answer within {} s.", PATIENCE.as_secs()) }
        }
    }
}

async fn answered(model: &Model, question: &Question) -> Result<(), ProviderError> {
    let mut deltas = model.ask(question, Purpose::Test).await.answer?;
    while let Some(delta) = deltas.next().await {
        if let Delta::End(_) = delta? {
            return Ok(());
        }
    }
    Err(ProviderError::Cut { reason: "the stream ended early".to_owned() })
}

fn in_words(error: &ProviderError) -> String {
    let told = match error {
        // What it says about a key may show a part of it.
        ProviderError::Refused { kind: RefusalKind::Key, .. } => match error.status() {
            Some(status) => format!("The provider rejected the key ({status})."),
            None => format!("The API key can't be read: {}.", said(error)),
        },
        ProviderError::Refused { kind: RefusalKind::UnknownModel, .. } => {
            format!("The provider doesn't know this model. {}", said(error))
        }
        ProviderError::Refused { kind: RefusalKind::Quota, .. } => {
            format!("The provider account has no credit left. {}", said(error))
        }
        ProviderError::Refused { .. } if error.status() == Some(404) => {
            format!("No model API was found at this URL. {}", said(error))
        }
        ProviderError::Refused { .. } => format!("The provider rejected the request: {}.", said(error)),
        ProviderError::Busy { kind: BusyKind::RateLimit, .. } => {
            format!("The provider's rate limit was reached. {}", said(error))
        }
        ProviderError::Busy { kind: BusyKind::Overloaded, .. } => {
            format!("The provider is overloaded or failing. {}", said(error))
        }
        ProviderError::Busy { kind: BusyKind::Network, .. } => {
            format!("The provider can't be reached: {}.", said(error))
        }
        ProviderError::Cut { .. } => format!("The answer was cut off: {}.", said(error)),
        ProviderError::Silent { seconds } => format!("The provider sent nothing for {seconds} s."),
        ProviderError::Unreadable { .. } => format!("The provider's answer can't be read: {}.", said(error)),
    };
    told.replace("..", ".")
}

fn said(error: &ProviderError) -> &str {
    match error {
        ProviderError::Busy { reason, .. }
        | ProviderError::Refused { reason, .. }
        | ProviderError::Cut { reason }
        | ProviderError::Unreadable { reason } => reason.trim_end_matches(['.', ' ', ':']),
        ProviderError::Silent { .. } => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_words_and_a_key_not_at_all() {
        let refused =
            |kind, reason: &str| in_words(&ProviderError::Refused { kind, reason: reason.to_owned() });
        let rejected = refused(RefusalKind::Key, "HTTP 401: Incorrect key: sk-ab***yz");
        assert_eq!(rejected, "The provider rejected the key (401).");
        let unknown = refused(RefusalKind::UnknownModel, "HTTP 404: no model `m`.");
        assert_eq!(unknown, "The provider doesn't know this model. HTTP 404: no model `m`");
        assert_eq!(
            refused(RefusalKind::Key, "there is no secret"),
            "The API key can't be read: there is no secret."
        );
        let busy = |kind, reason: &str| {
            in_words(&ProviderError::Busy { kind, reason: reason.to_owned(), retry_after: None })
        };
        assert_eq!(
            busy(BusyKind::Network, "connection refused"),
            "The provider can't be reached: connection refused."
        );
        assert_eq!(
            busy(BusyKind::Overloaded, "HTTP 503: "),
            "The provider is overloaded or failing. HTTP 503"
        );
    }
}
