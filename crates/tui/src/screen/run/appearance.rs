//! Theme, keymap and settings while the program runs: edited files, choices of the user, and the
//! colours that the terminal reports.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tokio::sync::mpsc;

use super::screen::Screen;
use crate::actions::{Command, NewBinding, Toast};
use osier_base::path;
use osier_base::problem::Problem;
use osier_base::watch::{Watched, Watcher};
use osier_protocol::Op;
use osier_settings::{Group, Settings};
use osier_term::keymap::describe_all;

/// The keymap that is used from now on, and how to switch back.
fn keymap_notice(name: &str, settings: &Path) -> String {
    let back = match name {
        "default" => "",
        "vim" => "; `/vim` again, or `:vim`, switches back",
        _ => "; `/keymap default` switches back",
    };
    let settings = path::below_home(settings);
    format!("keymap {name} is in use{back} (saved in {settings})")
}

/// Settings are read up to this many seconds before the interface starts.
const BEFORE_START: u64 = 2;

impl Screen {
    /// Shows a theme that is not chosen yet; without one, the chosen one again.
    pub(super) fn preview_theme(&mut self, name: Option<&str>) {
        let name = name.unwrap_or(&self.options.settings.screen.theme);
        let (theme, _) = self.appearance.theme(name);
        self.tabs.front.app.set_theme(theme);
    }

    /// Applies a theme and writes it into the settings.
    pub(super) fn keep_theme(&mut self, name: &str) {
        if !self.appearance.has_theme(name) {
            let text = format!("unknown theme `{name}`; `/theme` lists them");
            return self.toast(Toast::error(text));
        }
        let (theme, problems) = self.appearance.theme(name);
        name.clone_into(&mut self.options.settings.screen.theme);
        self.tabs.front.app.set_theme(theme);
        self.tabs.front.app.report(&problems);
        self.write_setting("theme", Some(&osier_settings::quoted(name)));
    }

    /// Applies a keymap and writes it into the settings.
    pub(super) fn keep_keymap(&mut self, name: &str) {
        if self.knows_keymap(name) {
            let path = self.options.folders.settings();
            match osier_settings::write(&path, "keymap", Some(&osier_settings::quoted(name))) {
                Ok(()) => self.toast(Toast::info(keymap_notice(name, &path))),
                Err(error) => self.toast(Toast::error(error)),
            }
            self.reload_appearance();
        }
    }

    /// Whether there is such a keymap; if not, reports which ones there are.
    fn knows_keymap(&mut self, name: &str) -> bool {
        let is_known = self.appearance.has_keymap(name);
        if !is_known {
            let names = self.appearance.keymaps().join("`, `");
            let text = format!("unknown keymap `{name}`; expected one of `{names}`, or a file");
            self.toast(Toast::error(text));
        }
        is_known
    }

    /// Adds a text to a list in the user's settings, or removes it, and applies it at once.
    pub(super) fn edit_list(&mut self, name: &'static str, text: &str, adds: bool) {
        let path = self.options.folders.settings();
        let shown = path::below_home(&path);
        let toast = match osier_settings::edit_list(&path, name, text, adds) {
            Ok(true) if adds => Toast::info(format!("Added `{text}` to `{name}` in {shown}")),
            Ok(true) => Toast::info(format!("Removed `{text}` from `{name}` in {shown}")),
            Ok(false) if adds => Toast::error(format!("`{text}` is in `{name}` already")),
            Ok(false) => Toast::error(format!(
                "`{text}` is not in {shown}: it comes from the settings of the project or the command line"
            )),
            Err(error) => Toast::error(error),
        };
        self.toast(toast);
        self.reload_appearance();
        self.reload_sessions();
    }

    /// Shows every setting with its value.
    pub(super) fn list_settings(&mut self) {
        let place = PathBuf::from(&self.tabs.front.app.session.cwd);
        let mut settings = osier_settings::list(&self.options.folders, &place);
        let keymap = settings.iter_mut().find(|info| info.name == "keymap");
        if let Some(keymap) = keymap {
            let names = self.appearance.keymaps();
            keymap.choices = names
                .iter()
                .map(|name| osier_settings::quoted(name))
                .collect();
        }
        self.tabs.front.app.show_settings(settings);
    }

    /// Writes a setting and applies it at once.
    pub(super) fn change_setting(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|_| name == "keymap") {
            let text = format!("keymap = {value}\n");
            let (settings, _) = Settings::parse(&PathBuf::new(), &text);
            if !self.knows_keymap(&settings.screen.keymap) {
                return;
            }
        }
        self.write_setting(name, value);
        self.reload_appearance();
        let group = osier_settings::setting(name).map(|setting| setting.group);
        if group != Some(Group::Screen) {
            self.reload_sessions();
        }
    }

    /// Saves a setting that a key has changed, and applies it to all tabs. Reports only errors.
    pub(super) fn remember(&mut self, name: &str, value: &str) {
        let path = self.options.folders.settings();
        match osier_settings::write(&path, name, Some(value)) {
            Ok(()) => self.reload_appearance(),
            Err(error) => self.toast(Toast::error(error)),
        }
    }

    /// Writes a binding into the user's keymap and applies it at once.
    pub(super) fn bind(&mut self, binding: &NewBinding) {
        match self
            .appearance
            .bind(&self.options.settings.screen.keymap, binding)
        {
            Ok(path) => {
                let keys = describe_all(&binding.keys);
                let place = path::below_home(&path);
                let text = match &*binding.action {
                    "" => format!("`{keys}` is unbound in [{}] ({place})", binding.context),
                    name => {
                        let command = Command::from_name(name);
                        let what = command.map_or(name, |command| command.description());
                        format!("`{keys}` is bound to \"{what}\" ({place})")
                    }
                };
                self.toast(Toast::info(text));
            }
            Err(error) => self.toast(Toast::error(error)),
        }
        self.reload_appearance();
    }

    /// Writes a setting of the user and reports where, or the error.
    pub(super) fn write_setting(&mut self, name: &str, value: Option<&str>) {
        let path = self.options.folders.settings();
        match osier_settings::write(&path, name, value) {
            Ok(()) => {
                let shown = path::below_home(&path);
                let text = match value {
                    Some(value) => format!("Saved `{name} = {value}` to {shown}"),
                    None => format!("Removed `{name}` from {shown}"),
                };
                self.toast(Toast::info(text));
            }
            Err(error) => self.toast(Toast::error(error)),
        }
    }

    /// Applies the colours that the terminal has reported for the first time or again.
    pub(super) fn apply_colours(&mut self) {
        let front = &mut self.tabs.front.app;
        let (mut theme, _) = self.appearance.theme(&self.options.settings.screen.theme);
        theme.mark_selected(front.theme.marks_selected());
        if theme != *front.theme {
            front.set_theme(theme);
        }
    }

    /// Reloads the appearance or the sessions after files changed. The folders contain other files,
    /// too, which are ignored.
    pub(super) fn on_files_changed(&mut self, paths: &[PathBuf]) {
        let folders = &self.options.folders;
        let (settings, themes, keymaps) = (folders.settings(), folders.themes(), folders.keymaps());
        let has_hooks = paths.contains(&folders.hooks());
        let concerns = |path: &PathBuf| {
            *path == settings || path.starts_with(&themes) || path.starts_with(&keymaps)
        };
        let before = self.safety();
        if paths.iter().any(concerns) {
            self.reload_appearance();
        }
        if has_hooks || self.safety() != before {
            self.reload_sessions();
        }
    }

    /// The safety settings as written, and the problems of settings that cannot be read.
    fn safety(&self) -> (String, Vec<Problem>) {
        let settings = &self.options.settings;
        (settings.written.clone(), settings.faults.clone())
    }

    fn reload_sessions(&mut self) {
        for tab in self.tabs.tabs() {
            tab.host.send(Op::Reload);
        }
    }

    pub(super) fn reload_appearance(&mut self) {
        let place = PathBuf::from(&self.tabs.front.app.session.cwd);
        let (folders, current) = (&self.options.folders, &self.options.settings);
        let (mut settings, mut problems) = Settings::reload_for(folders, &place, current);
        settings.read_aloud(osier_settings::wants_reading(&self.options.environment));
        let (theme, found) = self.appearance.theme(&settings.screen.theme);
        problems.extend(found);
        let (keymap, found) = self.appearance.keymap(&settings.screen.keymap);
        problems.extend(found);
        self.terminal.set_mouse(settings.screen.mouse);
        if self.terminal.set_bidi(settings.screen.bidi.is_on()) {
            self.writer.set_features(self.terminal.features());
            self.writer.repaint();
        }
        let before = &self.options.settings;
        let are_other_favourites = settings.favourites != before.favourites;
        self.options.settings = settings;
        self.place = place;
        let now = Instant::now();
        for tab in self.tabs.tabs() {
            tab.app.set_settings(&self.options.settings.screen);
            if are_other_favourites {
                tab.app.act(Op::ListModels, now);
            }
            tab.app.set_keymap(keymap.clone());
        }
        self.tabs.front.app.set_theme(theme);
        self.tabs.front.app.report(&problems);
    }

    /// Applies the settings of the project of the session in front, if the project has changed.
    pub(super) fn watch_project(&mut self) {
        let place = &self.tabs.front.app.session.cwd;
        if !place.is_empty() && self.place != *place {
            self.reload_appearance();
        }
    }

    /// Applies a change of the settings, the theme or the keymap since shortly before the start, which is older than the
    /// watcher.
    pub(super) fn catch_up(&mut self) {
        let file = self.options.folders.settings();
        let since = self.started.saturating_sub(BEFORE_START);
        // A file that was moved here keeps its other time.
        let is_new =
            |metadata: Metadata| u64::try_from(metadata.ctime()).is_ok_and(|time| time >= since);
        if self.has_new_looks(is_new) {
            self.reload_appearance();
        }
        let is_new = match file.metadata() {
            Ok(metadata) => is_new(metadata),
            Err(_) => !self.options.settings.written.is_empty(),
        };
        if !is_new {
            return;
        }
        let (folders, current) = (&self.options.folders, &self.options.settings);
        let (mut settings, _) = Settings::reload_for(folders, &self.place, current);
        settings.read_aloud(osier_settings::wants_reading(&self.options.environment));
        if settings != *current {
            self.on_files_changed(&[file]);
        }
    }

    /// Whether the file of the theme or the keymap is new and has other content than was read.
    fn has_new_looks(&self, is_new: impl Fn(Metadata) -> bool) -> bool {
        let (folders, settings) = (&self.options.folders, &self.options.settings.screen);
        let is_new = |folder: PathBuf, name: &str| {
            let file = folder.join(format!("{name}.toml"));
            file.metadata().is_ok_and(&is_new)
        };
        let front = &self.tabs.front.app;
        (is_new(folders.themes(), &settings.theme) && {
            let (mut theme, _) = self.appearance.theme(&settings.theme);
            theme.mark_selected(front.theme.marks_selected());
            theme != *front.theme
        }) || (is_new(folders.keymaps(), &settings.keymap)
            && self.appearance.keymap(&settings.keymap).0 != front.keymap)
    }

    /// Watches the files of themes, keymaps and settings.
    pub(super) fn watch(&mut self) -> (Option<Watcher>, mpsc::UnboundedReceiver<Vec<PathBuf>>) {
        let folders = &self.options.folders;
        let watched = vec![
            Watched::File(folders.settings()),
            Watched::File(folders.hooks()),
            Watched::Folder(folders.themes()),
            Watched::Folder(folders.keymaps()),
        ];
        match Watcher::start(watched) {
            Ok((watcher, changes)) => (Some(watcher), changes),
            // Without watching, `/reload` does the same.
            Err(_) => (None, mpsc::unbounded_channel().1),
        }
    }
}
