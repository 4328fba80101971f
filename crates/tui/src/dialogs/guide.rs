//! The guide of the first start: four steps, which one key skips. A file in the data directory says that it was shown.

use std::path::PathBuf;

use crate::actions::{Action, Command, Effect};
use crate::drawing::{MenuItem, Overlays, Picker};
use osier_base::atomic_file;
use osier_base::folders::Folders;
use osier_term::Columns;

/// The layer of the guide.
const ID: &str = "guide";

fn steps() -> [MenuItem; 8] {
    [
        MenuItem::new("1. Model: sign in", "with a provider", Command::Login),
        MenuItem::new(
            "   or choose a model",
            "also of a local server",
            Command::ModelPicker,
        ),
        MenuItem::new(
            "2. Trust: this folder",
            "whether its files can run code",
            Command::Trust,
        ),
        MenuItem::new(
            "   or the permission mode",
            "what runs without asking",
            Command::Permissions,
        ),
        MenuItem::new("3. Theme", "previews each one", Command::Themes),
        MenuItem::new(
            "4. Screen: full",
            "osier has the whole terminal",
            screen("full"),
        ),
        MenuItem::new(
            "   or inline",
            "text stays in the terminal",
            screen("inline"),
        ),
        MenuItem::new("Start", "/guide shows this again", Action::CloseLayer),
    ]
}

fn screen(mode: &str) -> Effect {
    Effect::WriteSetting {
        name: "screen".to_owned(),
        value: Some(osier_settings::quoted(mode)),
    }
}

/// Opens the guide. It stays open while a step has its own list.
pub(crate) fn open(overlays: &mut Overlays) {
    let title = "Welcome to osier: four steps, esc skips them";
    let picker = Picker::new(title, "no step matches", steps(), |item| {
        let action = item.action().cloned();
        // The question of the trust command replaces the guide.
        let closes = action == Some(Action::Run(Command::Trust));
        let close = closes.then_some(Action::CloseLayer);
        close.into_iter().chain(action)
    });
    // A user who types has a first prompt in mind.
    let picker = picker.with_columns(Columns::SENTENCE).leaving_text();
    overlays.push(ID, picker.staying());
}

/// The file that says that the guide was shown.
fn mark(folders: &Folders) -> PathBuf {
    folders.data.join("guide-shown")
}

/// Whether osier has no settings and the guide was not shown. Stored sessions can come from scripts.
pub(crate) fn is_first_start(folders: &Folders) -> bool {
    !mark(folders).exists() && !folders.settings().exists()
}

/// Remembers that the guide was shown. If that fails, it is shown again.
pub(crate) fn set_shown(folders: &Folders) {
    let path = mark(folders);
    let _ = atomic_file::write_with(&path, b"", atomic_file::Options::PRIVATE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_is_shown_once_and_only_without_settings() {
        let place = tempfile::tempdir().unwrap();
        let folders = Folders::under(&place.path().join("new"));
        assert!(is_first_start(&folders));
        set_shown(&folders);
        assert!(!is_first_start(&folders));
        let used = Folders::under(&place.path().join("used"));
        std::fs::create_dir_all(used.data.join("sessions")).unwrap();
        assert!(is_first_start(&used));
        let settings = used.settings();
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        osier_base::atomic_file::write(&settings, b"theme = \"dark\"\n").unwrap();
        assert!(!is_first_start(&used));
    }

    #[test]
    fn each_step_of_the_guide_runs_what_it_names() {
        let steps = steps();
        let runs: Vec<&Action> = steps.iter().filter_map(MenuItem::action).collect();
        let opens = [
            Command::Login,
            Command::ModelPicker,
            Command::Trust,
            Command::Permissions,
            Command::Themes,
        ];
        let [login, models, trust, mode, themes] = opens.map(Action::Run);
        let [full, inline] = ["full", "inline"].map(|mode| screen(mode).into());
        assert_eq!(
            runs,
            [
                &login,
                &models,
                &trust,
                &mode,
                &themes,
                &full,
                &inline,
                &Action::CloseLayer
            ]
        );
        let mut overlays = Overlays::default();
        open(&mut overlays);
        assert_eq!(overlays.top(), Some(ID));
    }
}
