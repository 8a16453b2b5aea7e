//! The list of models of a strict server, with the details that the provider reports.

use serde_json::{Value, json};

use super::{PROMPT_BYTES_MAX, PROVIDERS, Strict, tokens};

/// The content of a provider's list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// Names only.
    Names,
    /// Names only, all with this prefix.
    NamesAfter(&'static str),
    /// The window in a field of this name.
    Window(&'static str),
    /// The window in `meta.n_ctx`: llama.cpp.
    Meta,
    /// The window of loaded models, at an address of its own: Ollama.
    Loaded,
    /// Names of models, not of the deployments that it answers for: Azure.
    Others,
}

impl Lists {
    fn of(provider: &Strict) -> Self {
        match provider.name {
            "azure" => Self::Others,
            "gemini" => Self::NamesAfter("models/"),
            "openrouter" | "kimi" | "together" | "fireworks" => Self::Window("context_length"),
            "groq" | "groq-kimi" => Self::Window("context_window"),
            "mistral" => Self::Window("max_context_length"),
            "vllm" | "vllm-without-parser" => Self::Window("max_model_len"),
            "ollama" | "ollama-without-tools" => Self::Loaded,
            "llama-cpp" => Self::Meta,
            _ => Self::Names,
        }
    }
}

/// Returns the list at this address, if a provider has one there.
pub(super) fn at(place: &str) -> Option<Value> {
    if let Some(loaded) = loaded_at(place) {
        return Some(loaded);
    }
    let base = place.split('?').next().and_then(|place| place.strip_suffix("/models"))?;
    let mut models: Vec<Value> =
        PROVIDERS.iter().filter(|provider| provider.base == base).map(Strict::listed).collect();
    models.dedup();
    // Together sends a bare array.
    let is_bare = base.contains("together");
    (!models.is_empty())
        .then(|| if is_bare { models.into() } else { json!({ "object": "list", "data": models }) })
}

/// Returns the models that Ollama has loaded, with their windows.
fn loaded_at(place: &str) -> Option<Value> {
    let root = place.strip_suffix("/api/ps")?;
    let is_here = |provider: &&Strict| {
        Lists::of(provider) == Lists::Loaded && provider.base.strip_suffix("/v1") == Some(root)
    };
    let models: Vec<Value> = PROVIDERS
        .iter()
        .filter(is_here)
        .map(|provider| json!({ "name": provider.model, "context_length": window() }))
        .collect();
    (!models.is_empty()).then(|| json!({ "models": models }))
}

fn window() -> usize {
    tokens(PROMPT_BYTES_MAX)
}

impl Strict {
    /// Returns its model's entry in the list.
    fn listed(&self) -> Value {
        let mut model = json!({ "id": self.model, "object": "model", "owned_by": "organization" });
        match Lists::of(self) {
            Lists::Names => {}
            Lists::NamesAfter(prefix) => model["id"] = format!("{prefix}{}", self.model).into(),
            Lists::Window(field) => model[field] = window().into(),
            Lists::Meta => {
                model["owned_by"] = "llamacpp".into();
                model["meta"] = json!({ "n_ctx": window() });
            }
            Lists::Loaded => model["owned_by"] = "library".into(),
            Lists::Others => model["id"] = "gpt-5.5".into(),
        }
        model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_lists_models_and_ollama_its_loaded_ones() {
        for provider in PROVIDERS {
            let list = at(&format!("{}/models?limit=9", provider.base));
            assert!(list.is_some_and(|list| list.to_string().contains("\"id\"")), "{}", provider.name);
        }
        assert_eq!(
            at("https://api.openai.com/v1/models").map(|list| list["data"].as_array().map(Vec::len)),
            Some(Some(1))
        );
        assert_eq!(at("/ollama/api/ps").map(|list| list["models"].as_array().map(Vec::len)), Some(Some(2)));
        assert_eq!(at("/vllm/api/ps"), None);
        assert_eq!(at("https://elsewhere.example/v1/models"), None);
    }
}
