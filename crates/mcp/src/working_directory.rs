//! Whether a server starts in the project. Those of the user do not, unless their entry says so.

use std::path::Path;

use osier_base::problem::Problem;

use super::config::{Launch, ServerConfig};

impl ServerConfig {
    /// Whether it asks for a working directory in the project, whose directory is `project`.
    pub fn wants_project(&self, project: &Path) -> bool {
        let cwd = match &self.launch {
            Launch::Command { cwd, .. } => cwd.as_deref(),
            Launch::Url { .. } => None,
        };
        // An absolute one can come from a variable such as `${PWD}`.
        !self.of_project && cwd.is_some_and(|cwd| cwd.is_relative() || cwd.starts_with(project))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::config;
    use super::*;

    #[test]
    fn relative_directories_and_those_below_the_project_are_in_it() {
        let environment = BTreeMap::from([("PWD".to_owned(), "/work/app".to_owned())]);
        for (cwd, expected) in [
            (".", true),
            ("sub", true),
            ("..", true),
            ("${PWD}", true),
            ("${PWD}/node_modules", true),
            ("/work", false),
            ("/work/application", false),
        ] {
            let text = serde_json::json!({"mcpServers": {"s": {"command": "npx", "cwd": cwd}}});
            let path = Path::new("/home/mcp.json");
            let mut servers = config::parse(path, &text.to_string(), &environment).servers;
            let server = servers.remove("s").unwrap();
            assert_eq!(
                server.wants_project(Path::new("/work/app")),
                expected,
                "{cwd}"
            );
        }
    }
}
