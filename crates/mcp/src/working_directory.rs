//! Whether a server starts in the project. Those of the user do not, unless their entry says so.

use std::path::Path;

use osier_base::problem::Problem;

use super::config::{Launch, ServerConfig};

impl ServerConfig {
    /// Whether it asks for a working directory in the project.
    pub(crate) fn wants_project(&self) -> bool {
        let cwd = match &self.launch {
            Launch::Command { cwd, .. } => cwd.as_deref(),
            Launch::Url { .. } => None,
        };
        !self.of_project && cwd.is_some_and(Path::is_relative)
    }

    /// Why it does not start.
    pub(crate) fn untrusted(&self) -> Problem {
        let message = format!(
            "the server `{}` starts in the project, which is not trusted",
            self.name
        );
        Problem::of_file(
            &self.file,
            message,
            "it is ignored; trust the project with `--trust`",
        )
    }

    /// A warning about an argument that names a file of the project, while the server starts elsewhere.
    pub(crate) fn relative_argument(&self) -> Option<Problem> {
        let Launch::Command {
            program,
            args,
            cwd: None,
            ..
        } = &self.launch
        else {
            return None;
        };
        let is_relative =
            |word: &&String| *word == "." || word.starts_with("./") || word.starts_with("../");
        let word = std::iter::once(program).chain(args).find(is_relative)?;
        let message = format!(
            "the server `{}` uses `{word}`, but does not start in the project",
            self.name
        );
        let hint = "to start it there, add \"cwd\": \".\"";
        (!self.of_project).then(|| Problem::of_file(&self.file, message, hint))
    }
}
