//! Programs of Ruby: the gems of the project, and the files that load when a program reads their list.

use std::path::{Path, PathBuf};

use osier_base::{path, regular_file};

use crate::shell::Word;
use crate::trust::facts::programs::{is_in, is_known};
use crate::trust::reach::{Search, TEXT};
use crate::trust::texts::code::names;

/// Words that load a file.
const LOADS: &str = "require_relative require load autoload eval eval_gemfile instance_eval class_eval read readlines";
/// Such words that load a file of the project, or a computed text.
const OWN: &str = "require_relative load eval eval_gemfile instance_eval class_eval";
/// Words that run a command. The list of files from git is usual and runs nothing of the project.
const RUNS: [&str; 6] = ["`", "%x", "system(", "system \"", "popen", "spawn"];
const LISTS: &str = "git ls-files";

impl Search<'_> {
    /// Adds a program of the project's gems.
    pub(in crate::trust) fn gems(&mut self, words: &[Word]) -> Result<(), String> {
        self.gem_files();
        for folder in self.above() {
            let names = ["Gemfile.lock", "gems.locked", ".bundle/config"];
            self.reach.files.extend(names.map(|name| folder.join(name)));
            self.reach
                .folders
                .entry(folder.join("vendor/bundle"))
                .or_default();
        }
        match words.first().filter(|word| word.is_fixed()) {
            Some(head) if !head.text.contains('/') && is_known(&head.text, &words[1..]) => {
                self.run(words, false)
            }
            _ => {
                self.all();
                Ok(())
            }
        }
    }

    /// Adds the lists of gems with the files that they load.
    pub(in crate::trust) fn gem_files(&mut self) {
        for folder in self.above() {
            for name in ["Gemfile", "gems.rb"] {
                self.ruby_file(&folder.join(name));
            }
        }
    }

    /// Adds a file in Ruby with the files that it loads: the specifications of gems in the project, and the versions that these read.
    fn ruby_file(&mut self, file: &Path) {
        if !self.tasks.insert((file.to_owned(), "ruby".to_owned())) {
            return;
        }
        self.reach.files.insert(file.to_owned());
        let text = regular_file::read_text(file, TEXT).unwrap_or_default();
        let folder = file.parent().unwrap_or(self.project).to_owned();
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            self.reach.all |= RUNS.iter().any(|word| line.contains(word)) && !line.contains(LISTS);
            let is_gemspec = line == "gemspec" || line.starts_with("gemspec ");
            if is_gemspec || line.contains("path:") || line.starts_with("path ") {
                self.gem_of_project(&folder, line, is_gemspec);
            }
            let has = |list: &str| names(line).any(|name| is_in(list, name_of_call(name)));
            if !has(LOADS) {
                continue;
            }
            let texts: Vec<&str> = quoted(line).collect();
            let joined = texts.join("/");
            let names = texts.into_iter().chain([joined.as_str()]);
            let found: Vec<PathBuf> = names.flat_map(|text| files_of(&folder, text)).collect();
            // The name of the file is computed.
            let given = line.strip_prefix("require").unwrap_or("\"");
            let given = given.trim_start_matches(['(', ' ']);
            let is_computed = !given.starts_with(['"', '\'', ':', '_']);
            self.reach.all |= found.is_empty() && (is_computed || has(OWN));
            for file in found {
                self.ruby_file(&file);
            }
        }
    }

    /// Adds the specification of a gem in the project.
    fn gem_of_project(&mut self, folder: &Path, line: &str, is_gemspec: bool) {
        let place = line
            .split("path")
            .nth(1)
            .and_then(|rest| quoted(rest).next());
        let folder = match place {
            Some(place) => path::resolve(folder, place),
            None if is_gemspec && !line.contains("path") => folder.to_owned(),
            None => return self.all(),
        };
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let file = entry.path();
            if file.extension().is_some_and(|end| end == "gemspec") {
                self.ruby_file(&file);
            }
        }
    }
}

/// The last part of the name of a function: `read` in `File.read`.
fn name_of_call(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The texts in quotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split(['"', '\'']).skip(1).step_by(2)
}

/// The files of a gem that a name can mean.
fn files_of(folder: &Path, name: &str) -> Vec<PathBuf> {
    let places = [folder.to_owned(), folder.join("lib")];
    let files = places
        .iter()
        .flat_map(|place| ["", ".rb"].map(|end| path::resolve(place, &format!("{name}{end}"))));
    files
        .filter(|file| !name.is_empty() && file.is_file())
        .collect()
}
