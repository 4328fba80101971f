//! Programs of Ruby: the gems of the project, and the files that load when a program reads their list.

use osier_base::regular_file;

use super::known_programs::is_known;
use super::reach::{Search, TEXT};
use crate::shell::Word;

/// Words in a `Gemfile` that load other files of the project.
const GEMS: [&str; 8] = [
    "gemspec",
    "path:",
    "path ",
    "eval",
    "require_relative",
    "require '",
    "require \"",
    "load ",
];

impl Search<'_> {
    /// Adds a program of the project's gems.
    pub(super) fn gems(&mut self, words: &[Word]) -> Result<(), String> {
        for folder in self.above() {
            for name in ["Gemfile", "gems.rb"].map(|name| folder.join(name)) {
                let text = regular_file::read_text(&name, TEXT).unwrap_or_default();
                // The `Gemfile` loads other files of the project.
                self.reach.all |= GEMS.iter().any(|word| text.contains(word));
                self.reach.files.insert(name);
            }
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
}
