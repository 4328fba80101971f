//! Roles: a role is a name for a model and a thinking level, so that one key switches from planning to editing.
//! The active role follows from the selected model and level, which every branch stores.

use serde::{Deserialize, Serialize};

osier_base::words! {
    /// A role of a model.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        Plan = "plan",
        Edit = "edit",
    }
}

impl Role {
    /// The name of the setting that holds its model.
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
