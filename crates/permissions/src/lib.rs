//! Permissions: which tool calls run, which require a question, and which are denied; and trust in the files
//! of a project.
//!
//! Start at [`Permissions`], the mode and the rules of a session; [`Rule`], a tool and a pattern such as
//! `bash(git *)`; and [`Gate`], the interceptor that checks every call and asks the user. [`trust`] decides
//! whether a project can run code through its files.
//!
//! A deny rule overrides everything: other rules, granted permissions and the mode. A call that cannot be
//! fully parsed requires a question. Plan mode is read-only, whatever the rules say.
//!
//! The crate does not know how questions are displayed, where settings come from, or how the sandbox works.
//!
//! ```
//! use osier_permissions::{Mode, Permissions, RuleLists, Verdict};
//! use serde_json::json;
//!
//! let allow = ["bash(git *)".to_owned()];
//! let deny = ["bash(git push *)".to_owned()];
//! let rules = RuleLists { allow: &allow, deny: &deny, ..RuleLists::default() };
//! let store = "/nonexistent/permissions.json".into();
//! let permissions = Permissions::new("/work".as_ref(), store, Mode::Ask, rules);
//!
//! let decide = |command| permissions.decide("bash", &json!({"command": command}), None, false);
//! assert_eq!(decide("git status"), Verdict::Allow);
//! assert!(matches!(decide("git status && git push origin"), Verdict::Deny(_)));
//! assert!(matches!(decide("make"), Verdict::Ask { .. }));
//! ```

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

/// The permission mode: what runs without a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Runs everything unless a rule denies it.
    #[default]
    Yolo,
    /// Asks about every call that changes something or accesses the network, unless a rule allows it.
    Ask,
    /// Read-only: denies every call that writes.
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

    /// The next mode; the last is followed by the first.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Yolo => Self::Ask,
            Self::Ask => Self::Plan,
            Self::Plan => Self::Yolo,
        }
    }
}
