//! Theme and keymap as the settings ask for them, read from the binary and the user's folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::command::Command;
use crate::base::problem::Problem;
use crate::coding::folders::Folders;
use crate::coding::settings::Settings;
use crate::term::keymap::{self, Keymap, KeymapSource};
use crate::term::terminal::TerminalKind;
use crate::term::theme::{Theme, ThemeStore};

/// Keymap contexts there are.
const CONTEXTS: &[&str] = &[
    "diff",
    "global",
    "editor",
    "list",
    "search",
    "question",
    "summary",
    "transcript",
    "sessions",
    "tree",
];

/// Where theme and keymap come from.
#[derive(Debug, Clone)]
pub struct Looks {
    themes: ThemeStore,
    keymaps: PathBuf,
}

impl Looks {
    pub fn new(folders: &Folders, kind: &TerminalKind) -> Self {
        let themes = ThemeStore::new(Some(folders.themes()), kind.depth);
        Self {
            themes,
            keymaps: folders.keymaps(),
        }
    }

    /// The theme called `name`; what is wrong with it is told and the rest of it still counts.
    pub fn theme(&self, name: &str) -> (Theme, Vec<Problem>) {
        self.themes.load(name)
    }

    /// Whether there is a theme called `name`.
    pub fn has_theme(&self, name: &str) -> bool {
        self.themes.entries().iter().any(|entry| entry.name == name)
    }

    /// The default keymap with the file `name` of the user laid over it.
    pub fn keymap(&self, name: &str) -> (Keymap, Vec<Problem>) {
        let mut sources = vec![KeymapSource::new("default.toml", keymap::DEFAULT)];
        let mut problems = Vec::new();
        let path = self.keymaps.join(format!("{name}.toml"));
        match fs::read_to_string(&path) {
            Ok(text) => sources.push(KeymapSource::new(path, text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && name == "default" => {}
            Err(error) => {
                let message = format!("the keymap cannot be read: {error}");
                problems.push(Problem::of_file(path, message, "the default keys are used"));
            }
        }
        let (keymap, mut found) = Keymap::load(&sources, CONTEXTS, &Command::names());
        problems.append(&mut found);
        (keymap, problems)
    }
}

/// What is wrong with the theme and the keymap that the settings name.
pub fn check_files(folders: &Folders, settings: &Settings) -> Vec<Problem> {
    let kind = TerminalKind::detect(|_| None);
    let looks = Looks::new(folders, &kind);
    let (_, mut problems) = looks.theme(&settings.theme);
    problems.extend(looks.keymap(&settings.keymap).1);
    problems
}

/// What the terminal says of itself.
pub(super) fn terminal_kind(environment: &BTreeMap<String, String>) -> TerminalKind {
    TerminalKind::detect(|name| environment.get(name).cloned())
}
