//! A use of programs, and the question whether it may run.

use std::fmt::Debug;
use std::path::PathBuf;

use async_trait::async_trait;

/// Decides whether programs of a project may run.
#[async_trait]
pub trait ProgramGuard: Debug + Send + Sync {
    /// Asks if `may_ask` and the user can answer.
    ///
    /// # Errors
    /// Why it may not run.
    async fn permit(&self, run: &ProgramUse, may_ask: bool) -> Result<(), String>;
}

/// The variable with which Python reads no compiled modules of the project, which are not compared, and a folder that cannot exist.
pub const UNCOMPILED: (&str, &str) = ("PYTHONPYCACHEPREFIX", "/dev/null/none");

/// Programs that run together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramUse {
    /// The program or the command, for the user.
    pub name: String,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Where it starts instead, if that is a copy of the project, such as a lane of `/fan`, and the root of the copy.
    pub copy: Option<(PathBuf, PathBuf)>,
    /// The programs and the files that they are given.
    pub files: Vec<PathBuf>,
    /// A command, or arguments and variables.
    pub command: String,
    /// The settings that the program gets from osier.
    pub settings: String,
    /// The tools whose settings count, next to those of the command.
    pub tools: &'static [&'static str],
}

impl ProgramUse {
    /// Identifies the use: the same use with fewer files is a change, too.
    pub(super) fn key(&self) -> String {
        format!("{} in {}", self.name, self.cwd.display())
    }
}

/// The command of these words, for [`ProgramUse::command`].
pub fn command(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words = words.into_iter();
    let words: Vec<String> = words.map(|word| format!("'{}'", word.as_ref())).collect();
    words.join(" ")
}
