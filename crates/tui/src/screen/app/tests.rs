//! The parts of the app together.

use std::time::Instant;

use super::{App, AppOptions};
use crate::actions::{Command, command::Run, command::commands};
use crate::dialogs::Appearance;
use osier_base::folders::Folders;
use osier_settings::ScreenSettings;
use osier_term::Highlighter;
use osier_term::terminal::TerminalKind;

fn app() -> App {
    let kind = TerminalKind::detect(|_| None);
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::under(folder.path());
    let appearance = Appearance::new(&folders, &kind);
    App::new(AppOptions {
        theme: appearance.theme("dark").0,
        keymap: appearance.keymap("default").0,
        highlighter: Highlighter::new(drop),
        settings: ScreenSettings::default(),
        cwd: String::new(),
        model_hint: String::new(),
    })
}

#[test]
fn every_command_of_the_app_is_run_by_a_feature() {
    let now = Instant::now();
    let mut count = 0;
    for info in commands().filter(|info| matches!(info.run, Run::Feature)) {
        let applies = app().feature_command(info.command, info.category, now);
        assert!(applies.is_some(), "{}", info.name);
        count += 1;
    }
    assert!(count > 50, "{count}");
    let (command, now) = (Command::Newline, Instant::now());
    assert!(!app().app_command(command, now));
}
