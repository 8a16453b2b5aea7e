//! The abilities that a provider or its model lacks, with the reason that people read in `docs/providers.md`.

use super::Strict;
use super::ability::Ability;

const NO_PICTURES: &str = "The model doesn't accept pictures; it gets their names.";
const PICTURES_UNKNOWN: &str = "Azure doesn't report which deployments accept pictures. A deployment that is named like its model is known; for others, set \
     `accepts = { pictures = true }`.";

const NO_THINKING: &str = "The model doesn't think.";
const NO_TOOLS: &str = "The model doesn't support tools.";
const RUNS_HERE: &str =
    "The model runs on your machine and has no price. To count a cost, set `input_price` and `output_price`.";

/// Names of strict providers, the ability that they lack, and the reason.
const LACKS: &[(&[&str], Ability, &str)] = &[
    (
        &["azure"],
        Ability::WindowKnown,
        "Azure lists models, not deployments. A deployment that is named like its model is known; for others, set \
         `window_tokens`.",
    ),
    (
        &["azure"],
        Ability::Cost,
        "A deployment that is named like its model has the model's prices; for others, set `input_price` and \
         `output_price`.",
    ),
    (&["groq-kimi"], Ability::Cost, "The model isn't in the catalog; set `input_price` and `output_price`."),
    (&["azure"], Ability::Pictures, PICTURES_UNKNOWN),
    (&["litellm"], Ability::WindowKnown, "LiteLLM lists only names; set `window_tokens`."),
    (
        &["litellm"],
        Ability::Cost,
        "LiteLLM's streams don't report the cost, and its operator chooses the names of models; set `input_price` and \
         `output_price`.",
    ),
    (
        &["litellm"],
        Ability::Caching,
        "Claude caches only what requests mark. Requests to LiteLLM have no marks by default; set `accepts = { cache_marks = true \
         }`, or LiteLLM's option `cache_control_injection_points`.",
    ),
    (&["lm-studio"], Ability::WindowKnown, "LM Studio lists only names at `/v1`; set `window_tokens`."),
    (
        &["mistral"],
        Ability::Caching,
        "Mistral caches only requests with a `prompt_cache_key`; none is sent by default.",
    ),
    (&["together"], Ability::Caching, "Together doesn't document that it reports cached tokens."),
    (
        &["ollama", "ollama-without-tools", "lm-studio"],
        Ability::Caching,
        "The server caches prompts but doesn't report cached tokens.",
    ),
    (
        &["vllm", "vllm-without-parser"],
        Ability::Caching,
        "vLLM reports cached tokens only with `--enable-prompt-tokens-details`.",
    ),
    (
        &["ollama", "ollama-without-tools", "vllm", "vllm-without-parser", "llama-cpp", "lm-studio"],
        Ability::Cost,
        RUNS_HERE,
    ),
];

/// Returns why a provider lacks an ability, if it does.
pub(crate) fn reason(provider: &Strict, ability: Ability) -> Option<&'static str> {
    match ability {
        Ability::Pictures if !provider.sees_pictures() => Some(NO_PICTURES),
        Ability::ThinkingKept if !provider.thinks() => Some(NO_THINKING),
        Ability::OneTool | Ability::TwoTools if !provider.has_tools() => Some(NO_TOOLS),
        _ => LACKS
            .iter()
            .find(|(names, lacking, _)| *lacking == ability && names.contains(&provider.name))
            .map(|(_, _, reason)| *reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_provider_and_stands_once_with_each_ability() {
        let mut rows: Vec<(&str, &str)> = LACKS
            .iter()
            .flat_map(|(names, ability, _)| names.iter().map(|name| (*name, ability.name())))
            .collect();
        assert!(rows.iter().all(|(name, _)| Strict::named(name).is_some()));
        let count = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), count);
    }
}
