//! What may run without a person: modes, rules, and what was remembered. A rule is data; [`Permissions`]
//! holds them for one host, [`Gate`] asks them before each call.
//!
//! Deny wins over everything, also over what was remembered and in every mode. What is not surely
//! understood is asked. Plan mode lets nothing write, whatever the rules say.

mod aspects;
mod gate;
mod policy;
mod remembered;
mod rule;
pub mod shell;
pub mod trust;

use serde::{Deserialize, Serialize};

pub use gate::{Advised, Advisor, Gate, Hints};
pub use policy::{Hint, Permissions, RuleInfo, RuleLists, RuleSource, Verdict};
pub use rule::{Effect, Rule};

/// How much is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Everything runs that no rule stops.
    #[default]
    Yolo,
    /// What changes something or goes elsewhere is asked, unless a rule allows it.
    Ask,
    /// Nothing that writes runs.
    Plan,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Yolo, Self::Ask, Self::Plan];

    pub fn name(self) -> &'static str {
        match self {
            Self::Yolo => "yolo",
            Self::Ask => "ask",
            Self::Plan => "plan",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The one after it, and from the last back to the first.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Yolo => Self::Ask,
            Self::Ask => Self::Plan,
            Self::Plan => Self::Yolo,
        }
    }
}
