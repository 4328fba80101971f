//! Permission and sandbox modes, and rules.

use serde::{Deserialize, Serialize};

osier_base::words! {
    /// The permission mode: it decides which calls run without a question.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum PermissionMode {
        /// Runs everything unless a rule denies it.
        #[default]
        Yolo = "yolo",
        /// Like `ask`, but a model judges calls that only the mode would ask about.
        Auto = "auto",
        /// Asks about every call that changes something or accesses the network, unless a rule allows it.
        Ask = "ask",
        /// Read-only: denies every call that writes.
        Plan = "plan",
    }
}

impl PermissionMode {
    /// The description of the mode, for lists.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Yolo => "run everything unless denied",
            Self::Auto => "auto review: a model allows, asks or denies",
            Self::Ask => "ask before changes",
            Self::Plan => "read-only",
        }
    }

    /// The next mode; the last is followed by the first.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Yolo => Self::Auto,
            Self::Auto => Self::Ask,
            Self::Ask => Self::Plan,
            Self::Plan => Self::Yolo,
        }
    }
}

/// The origin of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// `settings.toml`, of the user or of a trusted project.
    Settings,
    /// Granted in a dialog, always for this project.
    Project,
    /// Granted in a dialog, for this session.
    Session,
    /// Granted by a slash command of the user, until the run of the command ends.
    Command,
}

/// A rule, for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleInfo {
    /// `tool` or `tool(pattern)`.
    pub rule: String,
    pub effect: Effect,
    pub source: RuleSource,
    /// Why a deny rule is only advice for commands, and the form that is enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The effect of a rule on matching calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Allow,
    Ask,
    Deny,
}

osier_base::words! {
    /// The limits of child processes.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum SandboxMode {
        #[default]
        Off = "off",
        /// Writes below the working directory and in temporary directories.
        Workspace = "workspace",
        /// Writes only in its own temporary directory.
        ReadOnly = "read-only",
    }
}

/// The network of sandboxed commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    #[default]
    Off,
    /// Only these hosts: `example.org`, `*.example.org:443`, `10.0.0.0/8`.
    Hosts(Vec<String>),
    All,
}

impl From<bool> for NetworkAccess {
    fn from(all: bool) -> Self {
        if all { Self::All } else { Self::Off }
    }
}

impl NetworkAccess {
    /// The access that both allow: of two lists, the hosts in both.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::All, other) => other.clone(),
            (own, Self::All) => own,
            (Self::Hosts(mut hosts), Self::Hosts(others)) => {
                hosts.retain(|host| others.contains(host));
                Self::Hosts(hosts)
            }
        }
    }
}
