//! Files and variables that select the program which a name starts.

use std::path::{Path, PathBuf};

use osier_base::{path, regular_file};

use crate::shell;
use crate::trust::facts::places::{PACKAGES, installed_elsewhere, is_program};
use crate::trust::reach::{Search, TEXT};

/// The beginnings of the names of files that select the program which a name starts.
#[rustfmt::skip]
const SELECTORS: [&str; 10] = [
    ".tool-versions", ".mise", "mise", "rust-toolchain", ".python-version", ".ruby-version", ".node-version", ".nvmrc", ".prototools",
    ".rtx",
];
/// The same kind of file in folders.
const NESTED_SELECTORS: [&str; 4] = [
    ".config/mise.toml",
    ".config/mise/config.toml",
    ".mise/config.toml",
    "mise/config.toml",
];
/// Words in these files that name a program or other code of the project, each with the beginning of the file's name.
#[rustfmt::skip]
const SELECTING: [(&str, &str); 10] = [
    ("rust-toolchain", "path"), (".python-version", "/"), ("", "path:"), ("", "file:"), ("", "_.source"), ("", "_.path"), ("", "_.file"), ("", "[env._"), ("", "exec("), ("", "[hooks"),
];

impl Search<'_> {
    /// Whether the assigned value is a program of the project, such as `CC=tools/cc`.
    pub(in crate::trust) fn names_program(&self, assignment: &str) -> bool {
        let values = assignment.split_once('=').map(|(_, value)| value);
        let mut values = values
            .into_iter()
            .flat_map(|value| value.split([' ', ',', ':', '=']));
        values.any(|value| {
            let file = path::resolve(&self.cwd, value);
            value.contains('/') && file.starts_with(self.project) && is_program(&file)
        })
    }

    /// Whether the assignment only adds folders outside of the project to `PATH`.
    pub(in crate::trust) fn adds_programs(&self, assignment: &str) -> bool {
        let is_outside = |folder: &str| {
            let is_known = !folder.contains([shell::HOLE, shell::GLOB]);
            // The search looks up programs of packages in their folders itself.
            folder.ends_with(&format!("{PACKAGES}/.bin"))
                || folder.chars().eq([shell::HOLE])
                || is_known
                    && folder.starts_with(['/', '~'])
                    && !Path::new(folder).starts_with(self.project)
        };
        let value = assignment.strip_prefix("PATH=");
        value.is_some_and(|value| value.split(':').all(is_outside))
    }

    /// Adds the files with variables for the programs of the project.
    pub(in crate::trust) fn env_files(&mut self) {
        for folder in self.above() {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            let is_one = |file: &PathBuf| {
                let name = file.file_name().unwrap_or_default();
                name.as_encoded_bytes().starts_with(b".env") && file.is_file()
            };
            let files = entries.map(|entry| entry.path()).filter(is_one);
            self.reach.files.extend(files);
            self.reach.files.insert(folder.join(".env"));
        }
    }

    /// Adds the files that select the version of the program, if the name is that of a shim.
    pub(in crate::trust) fn shims(&mut self, name: &str) {
        let is_shim = |path: &Path| path.components().any(|part| part.as_os_str() == "shims");
        if installed_elsewhere(name).is_some_and(|path| is_shim(&path)) {
            self.selectors();
        }
    }

    /// Adds the files that select the program which a name starts.
    pub(in crate::trust) fn selectors(&mut self) {
        let is_one = |name: &str| SELECTORS.iter().any(|start| name.starts_with(start));
        for folder in self.above() {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            let files = entries.map(|entry| entry.path());
            let name = |file: &Path| {
                let name = file.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            };
            let nested = NESTED_SELECTORS.map(|name| folder.join(name));
            self.reach.files.extend(nested.clone());
            let files = files.filter(|file| is_one(&name(file)) && file.is_file());
            for file in files.chain(nested) {
                // The file names a program in a folder of the project, or code that runs before each program.
                let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                self.reach.all |= SELECTING
                    .iter()
                    .any(|(start, word)| name(&file).starts_with(start) && text.contains(word));
                self.reach.files.insert(file);
            }
        }
    }
}
