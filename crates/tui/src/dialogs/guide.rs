//! The guide of the first start: three steps, which one key skips. A file in the data directory says that it was shown.

use std::path::PathBuf;

use crate::actions::{Action, Command, Effect};
use crate::drawing::{Overlays, Picker};
use osier_base::folders::Folders;
use osier_term::widgets::columns::Columns;
use osier_term::widgets::select::Item;

/// The layer of the guide.
const ID: &str = "guide";

/// The steps: key, label, what it is for.
const STEPS: &[(&str, &str, &str)] = &[
    ("login", "1. Model: sign in", "with a provider"),
    ("model", "   or choose a model", "also of a local server"),
    (
        "trust",
        "2. Trust: permission mode",
        "what runs without asking",
    ),
    ("theme", "3. Theme", "previews each one"),
    ("start", "Start", "/guide shows this again"),
];

/// Opens the guide. It stays open while a step has its own list.
pub(crate) fn open(overlays: &mut Overlays) {
    let items = STEPS.iter().map(|(key, label, detail)| Item {
        key: (*key).to_owned(),
        label: (*label).to_owned(),
        details: vec![(*detail).into()],
        ..Item::default()
    });
    let title = "Welcome to osier: three steps, esc skips them";
    let picker = Picker::new(title, "no step matches", items.collect(), Box::new(run));
    // Who types has a first prompt in mind.
    let picker = picker.with_columns(Columns::SENTENCE).leaving_text();
    overlays.push(ID, picker.staying());
}

fn run(key: &str) -> Vec<Action> {
    vec![match key {
        "login" => Action::Run(Command::Login),
        "model" => Action::Run(Command::ModelPicker),
        "trust" => Action::Run(Command::Permissions),
        "theme" => Action::Effect(Effect::PickTheme),
        _ => Action::CloseLayer,
    }]
}

/// The file that says that the guide was shown.
fn mark(folders: &Folders) -> PathBuf {
    folders.data.join("guide-shown")
}

/// Whether osier was never used with these folders. Later starts look for one file.
pub(crate) fn is_first_start(folders: &Folders) -> bool {
    let known = [
        folders.data.join("sessions"),
        mark(folders),
        folders.settings(),
    ];
    !known.iter().any(|path| path.exists())
}

/// Remembers that the guide was shown. If that fails, it is shown again.
pub(crate) fn set_shown(folders: &Folders) {
    let path = mark(folders);
    let _ = std::fs::create_dir_all(&folders.data);
    let _ = osier_base::atomic_file::write(&path, b"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_is_shown_once_and_only_to_new_users() {
        let place = tempfile::tempdir().unwrap();
        let folders = Folders::under(&place.path().join("new"));
        assert!(is_first_start(&folders));
        set_shown(&folders);
        assert!(!is_first_start(&folders));
        let used = Folders::under(&place.path().join("used"));
        std::fs::create_dir_all(used.data.join("sessions")).unwrap();
        assert!(!is_first_start(&used));
    }

    #[test]
    fn each_step_of_the_guide_runs_what_it_names() {
        assert_eq!(run("login"), [Action::Run(Command::Login)]);
        assert_eq!(run("theme"), [Action::Effect(Effect::PickTheme)]);
        assert_eq!(run("start"), [Action::CloseLayer]);
        let mut overlays = Overlays::default();
        open(&mut overlays);
        assert_eq!(overlays.top(), Some(ID));
    }
}
