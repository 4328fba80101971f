//! The options of the interface.

use std::collections::BTreeMap;
use std::fs::File;

use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_protocol::Prompt;
use osier_settings::Settings;

/// The options of the interface, in addition to the session setup.
#[derive(Debug)]
pub struct Options {
    pub prompts: Vec<Prompt>,
    pub problems: Vec<Problem>,
    pub settings: Settings,
    pub folders: Folders,
    pub environment: BTreeMap<String, String>,
    /// Open the session picker at once.
    pub pick_session: bool,
    pub accounting: Option<File>,
    /// The agent runs on a server.
    pub elsewhere: Option<Elsewhere>,
    /// Called when the user has quit, with the exit code: work after this call may hang. Programs
    /// that embed the interface may continue afterwards.
    pub leaving: fn(i32),
}

/// The differences if the agent runs on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// The files of the agent are on this machine.
    pub files_are_here: bool,
    /// The command that reconnects.
    pub way_back: String,
}
