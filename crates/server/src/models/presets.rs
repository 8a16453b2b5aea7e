//! Providers that people choose by name, with their addresses, wire formats and key variables.

use serde::Serialize;
use utoipa::ToSchema;

use crate::config::ProviderConfig;

/// A known provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    /// The API's base URL.
    pub(crate) url: &'static str,
    /// The wire format.
    pub(crate) provider: ProviderConfig,
    /// The environment variable that usually holds the key; null if no key is usually needed.
    pub(crate) key_env: Option<&'static str>,
}

/// Every preset, those that most people use first.
pub(crate) const PRESETS: [Preset; 18] = [
    cloud("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Preset {
        provider: ProviderConfig::Anthropic,
        ..cloud("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")
    },
    cloud("Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    cloud("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    local("Ollama", "http://127.0.0.1:11434/v1"),
    local("llama.cpp", "http://127.0.0.1:8080/v1"),
    local("vLLM", "http://127.0.0.1:8000/v1"),
    local("LM Studio", "http://127.0.0.1:1234/v1"),
    cloud("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    cloud("Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    cloud("xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    cloud("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    cloud("Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    cloud("Fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    cloud("Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    cloud("Moonshot (Kimi)", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    cloud("Z.ai (GLM)", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    local("LiteLLM", "http://127.0.0.1:4000/v1"),
];

const fn cloud(name: &'static str, url: &'static str, key_env: &'static str) -> Preset {
    Preset { name, url, provider: ProviderConfig::Openai, key_env: Some(key_env) }
}

const fn local(name: &'static str, url: &'static str) -> Preset {
    Preset { name, url, provider: ProviderConfig::Openai, key_env: None }
}

impl Preset {
    /// Finds a preset by its name, in any case; its first word is enough.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let is = |preset: &&Self| {
            let first = preset.name.split(' ').next().unwrap_or_default();
            [preset.name, first].iter().any(|known| known.eq_ignore_ascii_case(name.trim()))
                || (preset.name == "Google Gemini" && name.trim().eq_ignore_ascii_case("gemini"))
        };
        PRESETS.iter().find(is)
    }

    /// Finds the preset of an address, by its host and port.
    pub(crate) fn at(url: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| super::place(preset.url) == super::place(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_found_by_its_name_and_its_address() {
        for preset in &PRESETS {
            assert_eq!(Preset::named(&preset.name.to_lowercase()), Some(preset));
            assert_eq!(Preset::at(preset.url), Some(preset));
        }
        assert_eq!(Preset::named("kimi"), None);
        assert_eq!(Preset::named("gemini").map(|preset| preset.name), Some("Google Gemini"));
        assert_eq!(Preset::at("https://api.openai.com").map(|preset| preset.name), Some("OpenAI"));
        assert_eq!(Preset::at("https://elsewhere.example/v1"), None);
    }
}
