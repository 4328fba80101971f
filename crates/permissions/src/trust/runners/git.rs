//! The code that git loads: the hooks of the repository, and the programs that its settings name.

use std::path::{Path, PathBuf};

use osier_base::{path, real_path, regular_file};

use crate::repository;
use crate::shell::Word;
use crate::trust::facts::programs::is_in;
use crate::trust::reach::{Search, TEXT};

/// Commands of git that run no hook, and commands that run only the hook `REFRESHED`.
const QUIET: &str = "log show blame ls-files ls-tree rev-parse rev-list grep config cat-file merge-base shortlog for-each-ref name-rev show-ref \
    check-ignore check-attr diff-tree diff-index diff-files version help var hash-object cherry count-objects whatchanged range-diff";
const REFRESHING: &str = "status diff describe difftool";
const REFRESHED: &str = "post-index-change";
/// Folders in which hooks lie.
const HOOKS: [&str; 3] = [".git/hooks", ".husky", ".githooks"];
/// The settings whose command any command of git can run, as the section and the name.
#[rustfmt::skip]
const PROGRAMS: [(&str, &str); 12] = [
    ("core", "fsmonitor"), ("core", "sshcommand"), ("core", "gitproxy"), ("filter", "clean"), ("filter", "smudge"), ("filter", "process"),
    ("diff", "external"), ("diff", "command"), ("diff", "textconv"), ("merge", "driver"), ("core", "alternaterefscommand"),
    ("uploadpack", "packobjectshook"),
];
/// Ends of the names of settings whose value is a file that git reads as data. A file in another setting is a program.
const DATA: [&str; 5] = ["file", "template", "mailmap", "path", "sslcert"];

impl Search<'_> {
    /// Adds what git runs for this command: hooks, aliases and programs in its settings.
    pub(in crate::trust) fn git(&mut self, arguments: &[Word]) -> Result<(), String> {
        let command = self.git_command(arguments);
        let settings = self.git_settings();
        let mut hooks: Vec<PathBuf> = HOOKS.iter().map(|name| self.project.join(name)).collect();
        let main = repository::configurations(&self.cwd).into_iter().next();
        hooks.extend(main.map(|file| file.with_file_name("hooks")));
        for (key, value) in &settings {
            let (section, rest) = key.split_once('.').unwrap_or((key, ""));
            let name = rest.rsplit('.').next().unwrap_or_default();
            if key == "core.hookspath" {
                hooks.push(path::resolve(self.project, value));
                continue;
            }
            if section == "alias" {
                if command == Some(rest) {
                    match value.strip_prefix('!') {
                        Some(line) => self.line(line)?,
                        None => self.line(&format!("git {value}"))?,
                    }
                }
                continue;
            }
            if repository::is_plain(key, value)
                || !self.tasks.insert((self.project.to_owned(), key.clone()))
            {
                continue;
            }
            let is_end = |char: char| char.is_whitespace() || "!\"'=;&|".contains(char);
            let names_file = value.split(is_end).any(|word| {
                let file = path::resolve(self.project, word);
                !word.is_empty() && file.starts_with(self.project) && file.is_file()
            });
            let is_data = DATA.iter().any(|end| name.ends_with(end));
            let is_chosen = !section.ends_with("tool") || command == Some(section);
            let is_command =
                value.starts_with('!') || name.ends_with("cmd") || name.ends_with("command");
            if PROGRAMS.contains(&(section, name))
                || names_file && !is_data
                || is_command && is_chosen
            {
                self.configured(value)?;
            }
        }
        match command {
            Some(command) if is_in(QUIET, command) => Ok(()),
            Some(command) if is_in(REFRESHING, command) => {
                let names = hooks.iter().map(|folder| folder.join(REFRESHED));
                self.reach.files.extend(names);
                hooks
                    .iter()
                    .try_for_each(|folder| self.hooks_in(folder, REFRESHED))
            }
            _ => self.git_hooks(&hooks),
        }
    }

    /// The command of git, which follows its global options; `None` if it is computed.
    fn git_command<'a>(&mut self, arguments: &'a [Word]) -> Option<&'a str> {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.text.as_str() {
                "-C" | "--git-dir" | "--work-tree" | "--namespace" => drop(words.next()),
                // A setting that the command line gives can name a program.
                "-c" | "--exec-path" | "--config-env" => {
                    let value = words.next();
                    let is_plain = |word: &Word| {
                        let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
                        word.is_fixed()
                            && repository::is_plain(&name.to_lowercase(), value)
                            && !name.eq_ignore_ascii_case("core.hookspath")
                    };
                    self.reach.all |= !value.is_some_and(is_plain);
                }
                text if text.starts_with('-') => {}
                text => return Some(text).filter(|_| word.is_fixed()),
            }
        }
        None
    }

    /// Adds the command in a setting. `true` and `false` choose something that is built into git.
    fn configured(&mut self, value: &str) -> Result<(), String> {
        if ["", "true", "false"].contains(&value) {
            return Ok(());
        }
        // Git starts it at the root of the working tree.
        let cwd = std::mem::replace(&mut self.cwd, self.project.to_owned());
        let read = self.line(value.trim_start_matches('!'));
        self.cwd = cwd;
        read
    }

    /// The settings of the repository and of the user, and those of the files that they include.
    fn git_settings(&mut self) -> Vec<(String, String)> {
        let mut waiting = repository::configurations(&self.cwd);
        let mut found = Vec::new();
        let mut seen = Vec::new();
        while let Some(file) = waiting.pop() {
            if seen.contains(&file) || seen.len() > 32 {
                continue;
            }
            // Git itself changes its own files, and osier asks before the model writes to them.
            let is_of_git = file.components().any(|part| part.as_os_str() == ".git");
            if file.starts_with(self.project) && !is_of_git {
                self.reach.files.insert(file.clone());
            }
            let Ok(text) = regular_file::read_text(&file, TEXT) else {
                continue;
            };
            let settings = repository::settings(&text);
            // The model did not write the user's own settings, so that they count for nothing if they cannot be read.
            self.reach.all |= settings.is_none() && file.starts_with(self.project);
            for (key, value) in settings.unwrap_or_default() {
                let is_include = key == "include.path" || key.starts_with("includeif.");
                if is_include && key.rsplit('.').next() == Some("path") {
                    let folder = file.parent().unwrap_or(Path::new("/"));
                    waiting.push(real_path::resolve(&path::resolve(folder, &value)).real);
                }
                found.push((key, value));
            }
            seen.push(file);
        }
        found
    }

    /// Adds the hooks in a folder, or only the one named `only`. Git starts hooks at the root of the working tree.
    pub(in crate::trust) fn hooks_in(&mut self, folder: &Path, only: &str) -> Result<(), String> {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        for hook in entries.map(|entry| entry.path()) {
            let name = hook.file_name().unwrap_or_default().to_string_lossy();
            let is_other = !only.is_empty() && name != only;
            if !hook.is_file() || name.contains('.') || is_other {
                continue;
            }
            let text = regular_file::read_text(&hook, TEXT).unwrap_or_default();
            if text.contains("generated by pre-commit: https://pre-commit.com") {
                self.pre_commit()?;
            } else {
                self.script(&hook, "")?;
            }
        }
        Ok(())
    }

    fn git_hooks(&mut self, folders: &[PathBuf]) -> Result<(), String> {
        for folder in folders {
            self.hooks_in(folder, "")?;
            if !folder.starts_with(self.project) {
                continue;
            }
            // Git never runs the examples that it puts into each repository.
            let is_example = |entry: &Path| entry.extension().is_some_and(|end| end == "sample");
            let entries = folder.read_dir().into_iter().flatten().flatten();
            for entry in entries.map(|entry| entry.path()) {
                if entry.is_dir() {
                    self.reach.folders.insert(entry, true);
                } else if !is_example(&entry) {
                    self.reach.files.insert(entry);
                }
            }
        }
        Ok(())
    }
}
