//! Roles of models: a name for a model and a level, so that one key goes from thinking about the work to doing
//! it. Which role is on follows from the model and the level that are chosen, which every branch remembers.

use serde::{Deserialize, Serialize};

/// What a model is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Plan,
    Edit,
}

impl Role {
    pub const ALL: [Self; 2] = [Self::Plan, Self::Edit];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Edit => "edit",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// The setting with its model.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Plan => "plan_model",
            Self::Edit => "edit_model",
        }
    }

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Plan => Self::Edit,
            Self::Edit => Self::Plan,
        }
    }
}
