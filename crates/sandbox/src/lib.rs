//! Keeps the children of tools inside the working directory: what they may write, whether they reach the
//! network. Linux: bubblewrap where it is installed and allowed, else Landlock and seccomp; macOS:
//! sandbox-exec.
//!
//! A child that was to be confined never runs otherwise: when nothing here can confine it, it does not
//! start and the error says why.

pub mod denial;
#[cfg(target_os = "linux")]
pub mod helper;
#[cfg(target_os = "linux")]
mod landlock;
mod plan;
#[cfg(target_os = "macos")]
mod seatbelt;

use serde::{Deserialize, Serialize};

pub use plan::{Backend, Confinement, SandboxError};

/// The hidden subcommand that confines itself and becomes the command.
pub const HELPER: &str = "__sandbox";

/// What children may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    #[default]
    Off,
    /// Write below the working directory and in temporary folders.
    Workspace,
    /// Write in a temporary folder of their own.
    ReadOnly,
}

impl SandboxMode {
    pub const ALL: [Self; 3] = [Self::Off, Self::Workspace, Self::ReadOnly];

    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::ReadOnly => "read-only",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
