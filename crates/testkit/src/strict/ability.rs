//! The abilities that the story tests with each provider, and their results.

use serde_json::{Value, json};

use super::lacks;

/// An ability that each provider must have, unless `lacks.rs` gives a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    Question,
    WindowKnown,
    Cost,
    Title,
    OneTool,
    TwoTools,
    ThinkingKept,
    SecondTurn,
    Caching,
    Pictures,
    ModelChange,
    TooLong,
    CutAndContinue,
    Crash,
}

impl Ability {
    /// All of them, in the order of the story.
    pub const ALL: [Self; 14] = [
        Self::Question,
        Self::WindowKnown,
        Self::Cost,
        Self::Title,
        Self::OneTool,
        Self::TwoTools,
        Self::ThinkingKept,
        Self::SecondTurn,
        Self::Caching,
        Self::Pictures,
        Self::ModelChange,
        Self::TooLong,
        Self::CutAndContinue,
        Self::Crash,
    ];

    /// Returns its name in reports and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::WindowKnown => "window_known",
            Self::Cost => "cost",
            Self::Title => "title",
            Self::OneTool => "one_tool",
            Self::TwoTools => "two_tools",
            Self::ThinkingKept => "thinking_kept",
            Self::SecondTurn => "second_turn",
            Self::Caching => "caching",
            Self::Pictures => "pictures",
            Self::ModelChange => "model_change",
            Self::TooLong => "too_long",
            Self::CutAndContinue => "cut_and_continue",
            Self::Crash => "crash",
        }
    }
}

/// The result for one ability of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub provider: &'static str,
    pub ability: Ability,
    pub result: Outcome,
}

/// The result of a part of a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Works,
    /// It works, with a remark.
    Noted(&'static str),
    /// The provider or its model doesn't offer it, for this reason.
    NotOffered(&'static str),
    /// The failure.
    Fails(String),
}

/// The observation in a part of a story that didn't fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Works,
    Noted(&'static str),
    /// Nothing failed, but the ability was not observed.
    Missing(String),
}

impl Seen {
    /// Returns the outcome for a provider. A missing ability needs a reason in `lacks.rs`, and one with a reason must be missing.
    pub(crate) fn outcome(self, provider: &super::Strict, ability: Ability) -> Outcome {
        match (self, lacks::reason(provider, ability)) {
            (Self::Missing(_), Some(reason)) => Outcome::NotOffered(reason),
            (Self::Missing(what), None) => Outcome::Fails(what),
            (Self::Works | Self::Noted(_), Some(reason)) => {
                Outcome::Fails(format!("it works, though `lacks.rs` says: {reason}"))
            }
            (Self::Works, None) => Outcome::Works,
            (Self::Noted(remark), None) => Outcome::Noted(remark),
        }
    }
}

impl Shown {
    /// The result as one JSON object.
    pub fn to_json(&self) -> Value {
        let (result, why) = match &self.result {
            Outcome::Works => ("works", None),
            Outcome::Noted(remark) => ("works", Some(*remark)),
            Outcome::NotOffered(reason) => ("not_offered", Some(*reason)),
            Outcome::Fails(why) => ("fails", Some(why.as_str())),
        };
        json!({ "provider": self.provider, "ability": self.ability.name(), "result": result, "why": why })
    }
}
