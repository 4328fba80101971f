//! Decides whether a server may start, and whether it starts in the project. A server of the user
//! does not start in the project unless its entry says so.

use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use osier_base::problem::Problem;

use super::config::{Launch, ServerConfig};

/// Decides whether the program of a server may start.
#[async_trait]
pub trait StartGuard: fmt::Debug + Send + Sync {
    /// # Errors
    /// Why the server `name` may not start with the command in `cwd`.
    async fn permit(&self, name: &str, command: Vec<String>, cwd: PathBuf) -> Result<(), String>;
}

impl ServerConfig {
    /// Whether the server asks for a working directory in the project, whose directory is `project`.
    pub fn wants_project(&self, project: &Path) -> bool {
        let cwd = match &self.launch {
            Launch::Command { cwd, .. } => cwd.as_deref(),
            Launch::Url { .. } | Launch::Program(_) => None,
        };
        // An absolute path can come from a variable such as `${PWD}`, or lead into the project by a
        // link.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_below =
            |cwd: &Path| cwd.starts_with(project) || real(cwd).starts_with(real(project));
        !self.of_project && cwd.is_some_and(|cwd| cwd.is_relative() || is_below(cwd))
    }

    /// The reason why the server does not start.
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
            "the server `{}` uses `{}`, but does not start in the project",
            self.name,
            self.hidden.hide(word)
        );
        let hint = "to start it there, add \"cwd\": \".\"";
        (!self.of_project).then(|| Problem::of_file(&self.file, message, hint))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::config;
    use super::*;

    #[test]
    fn links_and_parents_that_lead_to_the_project_are_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("app");
        std::fs::create_dir_all(project.join("sub")).unwrap();
        std::fs::create_dir(folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink(&project, folder.path().join("link")).unwrap();
        for (cwd, expected) in [
            ("link", true),
            ("link/sub", true),
            ("other/../app", true),
            ("other", false),
            ("app/../other", true),
        ] {
            let cwd = folder.path().join(cwd);
            assert_eq!(
                in_project(&cwd.display().to_string(), &project),
                expected,
                "{cwd:?}"
            );
        }
    }

    /// Whether a server with `cwd` is in `project`.
    fn in_project(cwd: &str, project: &Path) -> bool {
        let environment = BTreeMap::from([("PWD".to_owned(), "/work/app".to_owned())]);
        let text = serde_json::json!({"mcpServers": {"s": {"command": "npx", "cwd": cwd}}});
        let path = Path::new("/home/mcp.json");
        let mut servers = config::parse(path, &text.to_string(), &environment).servers;
        servers.remove("s").unwrap().wants_project(project)
    }

    #[test]
    fn relative_directories_and_those_below_the_project_are_in_it() {
        for (cwd, expected) in [
            (".", true),
            ("sub", true),
            ("..", true),
            ("${PWD}", true),
            ("${PWD}/node_modules", true),
            ("/work", false),
            ("/work/application", false),
        ] {
            let project = Path::new("/work/app");
            assert_eq!(in_project(cwd, project), expected, "{cwd}");
        }
    }
}
