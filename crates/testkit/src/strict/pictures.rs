//! Pictures in requests: which models accept them, and how the others reject them.

use serde_json::Value;

use super::Strict;
use super::rules::Breach;

/// A GIF of one pixel.
pub const GIF: [u8; 35] = [
    0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x2c, 0, 0, 0, 0,
    1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3b,
];
/// The same in base64.
const GIF_BASE64: &str = "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAkQBADs=";

/// Providers whose model accepts pictures.
const SEES: [&str; 13] = [
    "openai",
    "openai-chat",
    "azure",
    "anthropic",
    "openrouter",
    "gemini",
    "kimi",
    "together",
    "xai",
    "ollama-without-tools",
    "vllm-without-parser",
    "llama-cpp",
    "litellm",
];
/// Error messages of the others that differ from the usual one.
const REFUSALS: [(&str, &str); 3] = [
    (
        "deepseek",
        "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`",
    ),
    ("vllm", "At most 0 image(s) may be provided in one prompt."),
    ("ollama", "this model is missing data required for image input"),
];

impl Strict {
    /// Whether its model accepts pictures.
    pub fn sees_pictures(&self) -> bool {
        SEES.contains(&self.name)
    }

    /// Returns the rejection of a request with a picture, if the model accepts none or the picture is damaged.
    pub(crate) fn refuses_picture(&self, body: &Value) -> Option<Breach> {
        let picture = picture_of(body)?;
        if !self.sees_pictures() {
            let words = REFUSALS.iter().find(|(name, _)| *name == self.name).map(|(_, words)| *words);
            return Some(Breach::of(words.unwrap_or("This model does not support image input.")));
        }
        (picture != GIF_BASE64)
            .then(|| Breach::of("The image data you provided does not represent a valid image."))
    }
}

/// Returns the data of the last picture of a request.
pub(crate) fn picture_of(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array().or(body["input"].as_array())?;
    let parts = messages.iter().rev().filter_map(|message| message["content"].as_array()).flatten();
    let data = |part: &Value| {
        let url = part["image_url"]["url"].as_str().or(part["image_url"].as_str());
        let url = url.and_then(|url| url.strip_prefix("data:image/gif;base64,"));
        let source = &part["source"];
        let block = source["data"].as_str().filter(|_| source["media_type"] == "image/gif");
        match part["type"].as_str() {
            Some("image_url" | "input_image") => Some(url.unwrap_or("no data URL").to_owned()),
            Some("image") => Some(block.unwrap_or("no data").to_owned()),
            _ => None,
        }
    };
    parts.filter_map(data).next()
}
