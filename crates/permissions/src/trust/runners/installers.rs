//! Installers, which build packages of the project and run their scripts: `pip install`, `npm ci` and the like.

use std::path::Path;

use osier_base::{path, regular_file};

use crate::shell::Word;
use crate::trust::facts::places::folders_below;
use crate::trust::reach::{FOLDERS, Search, TEXT};
use crate::trust::runners::python::{BUILDS, BUILT};

/// Commands of pip that build packages.
const BUILDING: [&str; 3] = ["install", "wheel", "download"];
/// Options of pip with a file that lists packages, with a folder of built packages, and with the folder of a package.
const LISTS: [&str; 4] = ["-r", "--requirement", "-c", "--constraint"];
const PLACES: [&str; 2] = ["-f", "--find-links"];
const FOLDER_OF: [&str; 2] = ["-e", "--editable"];
/// Scripts that an installation runs.
const LIFECYCLE: [&str; 6] = [
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "prepare",
    "postprepare",
];
/// Files that say which packages are installed, and from where.
const LOCKS: [&str; 7] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
];

impl Search<'_> {
    /// Adds the packages of the project that pip builds.
    pub(in crate::trust) fn pip(&mut self, arguments: &[Word]) {
        let command = arguments
            .iter()
            .find(|word| !word.text.starts_with('-'))
            .map_or("", |word| word.text.as_str());
        if !BUILDING.contains(&command) {
            return;
        }
        for folder in self.above() {
            self.environments(&folder);
        }
        let mut before = "";
        for word in arguments {
            if !word.is_fixed() {
                self.all();
                return;
            }
            let folder = self.cwd.clone();
            self.requirement(&folder, before, &word.text);
            before = &word.text;
        }
    }

    /// Adds the list or the package that a word names after the option `before`.
    fn requirement(&mut self, folder: &Path, before: &str, word: &str) {
        let (option, value) = word.split_once('=').unwrap_or((before, word));
        let (option, value) = match word.split_at_checked(2) {
            Some((start, rest)) if ["-r", "-c", "-e"].contains(&start) && !rest.is_empty() => {
                (start, rest)
            }
            _ => (option, value),
        };
        if LISTS.contains(&option) {
            self.requirements(&path::resolve(folder, value.trim()));
            return;
        }
        if PLACES.contains(&option) {
            self.reach
                .folders
                .insert(path::resolve(folder, value), true);
        }
        let value = value.trim().trim_start_matches("file:");
        let value = value.split(['[', ';']).next().unwrap_or_default().trim();
        if FOLDER_OF.contains(&option) || value.starts_with(['.', '/']) {
            self.python_package(&path::resolve(folder, value));
        }
    }

    /// Adds a file with a list of packages, and the packages of the project in it.
    fn requirements(&mut self, list: &Path) {
        if !self.tasks.insert((list.to_owned(), "packages".to_owned())) {
            return;
        }
        self.reach.files.insert(list.to_owned());
        let text = regular_file::read_text(list, TEXT).unwrap_or_default();
        let folder = list.parent().unwrap_or(self.project).to_owned();
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            let (option, value) = match line.split_once([' ', '=']) {
                Some((option, value)) if option.starts_with('-') => (option, value),
                _ => ("", line),
            };
            let value = value.split(" #").next().unwrap_or_default();
            // A line can name a package with its place: `foo @ file:./libs/foo`.
            let value = value.split_once("@ ").map_or(value, |(_, place)| place);
            self.requirement(&folder, option, value);
        }
    }

    /// Adds a package of Python that is built: all of its code, if the build can run other code than that of the build system.
    fn python_package(&mut self, folder: &Path) {
        if !folder.starts_with(self.project) {
            return;
        }
        if folder.is_file() {
            self.reach.files.insert(folder.to_owned());
        }
        let files = BUILT.map(|name| folder.join(name));
        let mut texts = files
            .iter()
            .filter_map(|file| regular_file::read_text(file, TEXT).ok());
        let runs = folder.join("setup.py").exists()
            || texts.any(|text| BUILDS.iter().any(|word| text.contains(word)));
        if runs && folder == self.project {
            self.all();
        } else if runs {
            self.reach.folders.insert(folder.to_owned(), true);
        }
        self.reach.files.extend(files);
    }

    /// Adds the scripts that an installation of packages of Node runs, and the files that select the packages.
    pub(in crate::trust) fn install_packages(&mut self) -> Result<(), String> {
        self.obeyed()?;
        self.packages(&self.cwd.clone());
        let above = self.above().into_iter();
        self.reach
            .files
            .extend(above.flat_map(|folder| LOCKS.map(|name| folder.join(name))));
        self.reach
            .names
            .extend(["package.json", "binding.gyp"].map(str::to_owned));
        let start = self.cwd.clone();
        let mut waiting = vec![(start.clone(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            self.cwd.clone_from(&folder);
            // A package with such a file is compiled by the commands in it.
            self.reach.all |= folder.join("binding.gyp").is_file();
            if folder.join("package.json").is_file() {
                for name in LIFECYCLE {
                    if self.has_script(name) {
                        self.script_named(name)?;
                    }
                }
            }
            waiting.extend(folders_below(&folder, depth, FOLDERS));
        }
        self.cwd = start;
        Ok(())
    }
}
