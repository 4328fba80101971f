//! Adds the settings of Claude Code: permission rules, environment variables and directories.

use std::path::Path;

use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::regular_file::{ReadError, read_text};
use osier_peers::PeerFolders;
use osier_peers::settings::{ClaudeSettings, PROJECT_FILES};
use osier_permissions::Rule;
use osier_permissions::trust::{ProjectFiles, Trust, TrustState, project_root};
use osier_protocol::Effect;

use super::{FILE_LIMIT, Settings};

impl Settings {
    /// Adds the settings files of Claude Code: the files of the user, and the files of the project if it is trusted. If
    /// the files of a trusted project have changed, only settings that restrict are added.
    pub(super) fn add_claude(&mut self, folders: &Folders, cwd: &Path) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(peers) = PeerFolders::of(&folders.environment) {
            let path = peers.claude.join("settings.json");
            let text = match read_text(&path, FILE_LIMIT) {
                Ok(text) => Some(Ok(text)),
                Err(ReadError::Missing) => None,
                Err(error) => Some(Err(error.to_string())),
            };
            if let Some(text) = text {
                let parsed = text.and_then(|text| {
                    let parsed = ClaudeSettings::parse(&text, &peers.claude, cwd, is_rule)?;
                    Ok((parsed, text))
                });
                problems.extend(self.add_file(&path, parsed, Source::User));
            }
        }
        let root = project_root(cwd);
        if PROJECT_FILES.iter().any(|name| root.join(name).exists()) {
            problems.extend(self.add_claude_of_project(folders, cwd));
        }
        problems
    }

    fn add_claude_of_project(&mut self, folders: &Folders, cwd: &Path) -> Vec<Problem> {
        let (files, trust) = (ProjectFiles::read(cwd), Trust::new(folders));
        let source = match trust.state(&files) {
            TrustState::Trusted => Source::Project,
            TrustState::Changed(_) if trust.was_trusted(&files) => Source::Changed,
            _ => return Vec::new(),
        };
        let mut problems = Vec::new();
        for name in PROJECT_FILES {
            let Some(file) = files.get(name) else {
                continue;
            };
            let text = file.text(FILE_LIMIT).map(Option::unwrap_or_default);
            let parsed = text.map_err(|error| error.to_string()).and_then(|text| {
                let parsed = ClaudeSettings::parse(&text, files.root(), cwd, is_rule)?;
                Ok((parsed, text))
            });
            problems.extend(self.add_file(&file.path, parsed, source));
        }
        problems
    }

    /// Adds one file. If the file cannot be read, its deny rules are unknown.
    fn add_file(
        &mut self,
        path: &Path,
        parsed: Result<(ClaudeSettings, String), String>,
        source: Source,
    ) -> Vec<Problem> {
        let (claude, text) = match parsed {
            Ok(parsed) => parsed,
            Err(message) => {
                let hint = "its permission rules are not known until it is fixed";
                let problem = Problem::of_file(path, message, hint);
                self.ask_at_least();
                self.faults.push(problem.clone());
                return vec![problem];
            }
        };
        self.ask.extend(claude.rules_of(Effect::Ask).cloned());
        self.deny.extend(claude.rules_of(Effect::Deny).cloned());
        if claude.no_bypass {
            self.ask_at_least();
        }
        if source != Source::Changed {
            self.allow.extend(claude.rules_of(Effect::Allow).cloned());
            self.command_environment.extend(claude.environment.clone());
            let directories = match source {
                Source::User => &mut self.directories,
                _ => &mut self.project_directories,
            };
            directories.extend(claude.directories.iter().cloned());
        }
        claude.problems(path, &text)
    }
}

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    User,
    /// A project that is trusted.
    Project,
    /// A project that was trusted before its files changed.
    Changed,
}

fn is_rule(text: &str) -> bool {
    Rule::parse(text).is_some()
}
