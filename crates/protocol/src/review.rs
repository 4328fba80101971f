//! Auto review: the judgement of a model about a tool call.

use crate::Effect;
use osier_llm::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The key of a review in the details of a tool result.
const KEY: &str = "review";

/// The judgement about a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The model that judged: `PROVIDER/ID`.
    pub model: String,
    /// `ask` also if the model gave no valid answer.
    pub decision: Effect,
    /// One line.
    pub reason: String,
    /// Of the model call.
    #[serde(default)]
    pub usage: Usage,
    /// An earlier judgement of the same call, for the same messages of the user: no model was called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

impl Review {
    /// The review in the details of a tool result.
    pub fn of(details: &Value) -> Option<Self> {
        serde_json::from_value(details.get(KEY)?.clone()).ok()
    }

    /// Adds the review to the details of a tool result, which are an object or nothing.
    pub fn add_to(&self, details: &mut Value) {
        if let Ok(review) = serde_json::to_value(self)
            && (details.is_object() || details.is_null())
        {
            details[KEY] = review;
        }
    }

    /// Removes details that a tool put there.
    pub fn remove_from(details: &mut Value) {
        if let Some(details) = details.as_object_mut() {
            details.remove(KEY);
        }
    }

    /// For the transcript: `auto review (MODEL): allowed: REASON`.
    pub fn line(&self) -> String {
        let decided = match self.decision {
            Effect::Allow => "allowed",
            Effect::Ask => "asked",
            Effect::Deny => "denied",
        };
        format!("auto review ({}): {decided}: {}", self.model, self.reason)
    }
}

/// The reviews of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReviewSpending {
    pub allowed: u64,
    pub asked: u64,
    pub denied: u64,
    /// Also part of the total.
    pub usage: Usage,
}

impl ReviewSpending {
    pub fn count(&self) -> u64 {
        self.allowed + self.asked + self.denied
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add(&mut self, review: &Review) {
        let count = match review.decision {
            Effect::Allow => &mut self.allowed,
            Effect::Ask => &mut self.asked,
            Effect::Deny => &mut self.denied,
        };
        *count += 1;
        self.usage += review.usage;
    }

    pub(crate) fn follow(&mut self, later: &Self) {
        self.allowed += later.allowed;
        self.asked += later.asked;
        self.denied += later.denied;
        self.usage += later.usage;
    }
}
