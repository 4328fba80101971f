//! A use of programs, and the trait that decides whether it may run.

use std::fmt::Debug;
use std::path::PathBuf;

use async_trait::async_trait;

/// Decides whether programs of a project may run.
#[async_trait]
pub trait ProgramGuard: Debug + Send + Sync {
    /// Decides whether the programs may run. Asks the user if `may_ask` is set and the user can answer.
    ///
    /// # Errors
    /// The reason why the programs may not run.
    async fn permit(&self, run: &ProgramUse, may_ask: bool) -> Result<(), String>;
}

/// A variable and a folder that cannot exist: with them Python ignores compiled modules in the project, which osier does not compare.
pub const UNCOMPILED: (&str, &str) = ("PYTHONPYCACHEPREFIX", "/dev/null/none");

/// Programs that run together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramUse {
    /// The program or the command, for the user.
    pub name: String,
    /// The directory in which the programs start.
    pub cwd: PathBuf,
    /// The directory in which they start instead, if that is in a copy of the project, such as a lane of `/fan`, and the root of the copy.
    pub copy: Option<(PathBuf, PathBuf)>,
    /// The programs, and the files in their arguments.
    pub files: Vec<PathBuf>,
    /// A shell command, or the arguments and the variables.
    pub command: String,
    /// The settings that osier gives to the program.
    pub settings: String,
    /// The tools whose settings count in addition to those of the command.
    pub tools: &'static [&'static str],
}

impl ProgramUse {
    /// Identifies the use by its name and directory: a use with other files has the same key, so that the difference counts as a change.
    pub(super) fn key(&self) -> String {
        format!("{} in {}", self.name, self.cwd.display())
    }
}

/// A shell command of these words, for [`ProgramUse::command`].
pub fn command(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words = words.into_iter();
    let words: Vec<String> = words.map(|word| format!("'{}'", word.as_ref())).collect();
    words.join(" ")
}
