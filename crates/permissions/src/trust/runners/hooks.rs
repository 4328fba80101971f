//! Runners of hooks: the commands in the settings of `lint-staged` and `pre-commit`.

use std::fs::DirEntry;

use serde_json::Value;

use osier_base::regular_file;

use crate::trust::facts::places::folders_below;
use crate::trust::facts::programs::{is_in, is_known, settings_of};
use crate::trust::reach::{FOLDERS, Search, TEXT};
use crate::trust::texts::node;
use crate::trust::texts::shell::unquoted;

/// Hooks of `pre-commit` that only read or rewrite files.
const CHECKS: &str = "check-added-large-files check-ast check-builtin-literals check-byte-order-marker check-case-conflict check-dependabot \
    check-docstring-first check-executables-have-shebangs check-github-actions check-github-workflows check-gitlab-ci \
    check-illegal-windows-names check-json check-json5 check-merge-conflict check-renovate check-shebang-scripts-are-executable \
    check-symlinks check-toml check-vcs-permalinks check-xml check-yaml check-hooks-apply check-useless-excludes trailing-whitespace end-of-file-fixer mixed-line-ending detect-private-key fix-byte-order-marker forbid-new-submodules \
    no-commit-to-branch pretty-format-json sort-simple-yaml file-contents-sorter requirements-txt-fixer name-tests-test codespell \
    debug-statements destroyed-symlinks double-quote-string-fixer fix-encoding-pragma ruff-format ruff-check pyupgrade gitleaks";

impl Search<'_> {
    /// Adds the commands in the settings of `lint-staged`.
    pub(in crate::trust) fn staged(&mut self) -> Result<(), String> {
        self.settings("lint-staged")?;
        self.staged_texts()?;
        let mut waiting = vec![(self.cwd.clone(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            let is_staged = |entry: &DirEntry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let name = name.trim_start_matches('.');
                name.starts_with("lintstagedrc") || name.starts_with("lint-staged.config")
            };
            let entries = folder.read_dir().into_iter().flatten().flatten();
            self.reach.all |= depth > 0 && entries.into_iter().any(|entry| is_staged(&entry));
            waiting.extend(folders_below(&folder, depth, FOLDERS));
        }
        self.packages(&self.cwd.clone());
        if let Some((file, manifest)) = self.manifest() {
            self.reach.files.insert(file);
            self.staged_commands(&manifest["lint-staged"])?;
        }
        for file in self.above().into_iter().flat_map(|folder| {
            [".lintstagedrc", ".lintstagedrc.json"].map(|name| folder.join(name))
        }) {
            if let Ok(text) = regular_file::read(&file, TEXT) {
                match serde_json::from_slice(&text) {
                    Ok(commands) => self.staged_commands(&commands)?,
                    Err(_) => self.all(),
                }
            }
        }
        Ok(())
    }

    /// Adds the commands in settings of `lint-staged` that are JavaScript.
    pub(in crate::trust) fn staged_texts(&mut self) -> Result<(), String> {
        for folder in self.above() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let (file, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                let name = name.trim_start_matches('.');
                let is_one =
                    name.starts_with("lint-staged.config.") || name.starts_with("lintstagedrc.");
                let end = file.extension().and_then(|end| end.to_str());
                let end = end.unwrap_or_default();
                if !is_one || end == "json" {
                    continue;
                }
                let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                if is_in("yml yaml", end) {
                    // Settings in YAML have commands without quotes.
                    for line in text.lines() {
                        let value = line.split_once(": ").map_or(line, |(_, value)| value);
                        let value = value
                            .trim()
                            .trim_start_matches("- ")
                            .trim_matches(['"', '\'']);
                        self.line(value.trim_end_matches(':'))?;
                    }
                    continue;
                }
                let texts = node::texts(&text);
                for (command, is_key) in &texts.all {
                    if !is_key && command.len() > 1 {
                        self.line(command)?;
                    }
                }
                self.reach.all |= text.contains("+ ") || text.contains(" +");
            }
        }
        Ok(())
    }

    pub(in crate::trust) fn staged_commands(&mut self, commands: &Value) -> Result<(), String> {
        match commands {
            Value::String(text) => self.line(text),
            Value::Array(all) => all.iter().try_for_each(|value| self.staged_commands(value)),
            Value::Object(all) => all
                .values()
                .try_for_each(|value| self.staged_commands(value)),
            _ => Ok(()),
        }
    }

    /// Adds the hooks in the settings of `pre-commit`, by their names and commands.
    pub(in crate::trust) fn pre_commit(&mut self) -> Result<(), String> {
        let file = self.project.join(".pre-commit-config.yaml");
        let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
        self.reach.files.insert(file);
        let cwd = std::mem::replace(&mut self.cwd, self.project.to_owned());
        self.reach.all |= text.is_empty();
        let mut is_local = false;
        for line in text
            .lines()
            .map(|line| line.trim().trim_start_matches("- "))
        {
            let Some((key, value)) = line.split_once(": ") else {
                // A value on the next lines is not read, and a package can be a path in the project.
                let line = line.trim_end().trim_matches(['"', '\'']);
                self.reach.all |= ["entry:", "args:"].contains(&line) || line.starts_with("./");
                continue;
            };
            let value = value.split(" #").next().unwrap_or_default();
            let value = unquoted(value.trim());
            // The value is not a plain text, or the repository is a folder of the project.
            let is_named = ["repo", "entry", "id", "language"].contains(&key.trim());
            self.reach.all |= line.starts_with('{')
                || is_named && value.starts_with(['{', '&', '*', '|', '>'])
                || key.trim() == "repo" && value.starts_with(['.', '/']);
            match key.trim() {
                "repo" => is_local = value == "local",
                "entry" => self.line(value)?,
                // The `entry` of a local hook says what it runs.
                "id" if is_local => {}
                "id" => {
                    let is_check = is_in(CHECKS, value);
                    let tool = value.strip_prefix("mirrors-").unwrap_or(value);
                    if settings_of(tool).is_some() {
                        self.tool(tool, &[], false)?;
                    } else {
                        self.reach.all |= !is_check && !is_known(tool, &[]);
                    }
                }
                "language" => {
                    let runs = ["docker_image", "docker", "lua", "r"];
                    self.reach.all |= runs.contains(&value);
                }
                "args" | "additional_dependencies" => self.settings_text(value)?,
                _ => {}
            }
        }
        self.cwd = cwd;
        Ok(())
    }
}
