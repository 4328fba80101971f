//! The theme and the keymap that the settings name, read from the binary and the user's folders.

pub(crate) mod schema;
mod themes;

use osier_base::sort;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::actions::{Command, NewBinding};
use crate::drawing::Overlays;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::regular_file::{self, ReadError};
use osier_base::{atomic_file, path};
use osier_settings::Settings;
use osier_term::input::TerminalReply;
use osier_term::keymap;
use osier_term::keymap::KeymapSource;
use osier_term::terminal::TerminalKind;
use osier_term::theme::{ColourDepth, TerminalColours, ThemeKind, ThemeStore};
use osier_term::{Keymap, Theme};
pub use themes::ThemeChoice;

/// All contexts of keymaps.
pub(crate) const CONTEXTS: &[&str] = &[
    "diff",
    "global",
    "editor",
    "insert",
    "normal",
    "operator",
    "visual",
    "list",
    "search",
    "question",
    "summary",
    "transcript",
    "sessions",
    "tree",
];

/// The sources of the theme and the keymap.
#[derive(Debug, Clone)]
pub struct Appearance {
    themes: ThemeStore,
    keymaps: PathBuf,
    /// The colours that the terminal has reported.
    colours: TerminalColours,
}

impl Appearance {
    pub fn new(folders: &Folders, kind: &TerminalKind) -> Self {
        let themes = ThemeStore::new(Some(folders.themes()), kind.depth);
        Self {
            themes,
            keymaps: folders.keymaps(),
            colours: TerminalColours::default(),
        }
    }

    /// The theme called `name`; for `DARK/LIGHT`, the one that suits the terminal. Invalid parts
    /// are returned as problems; the rest applies.
    pub fn theme(&self, name: &str) -> (Theme, Vec<Problem>) {
        let (theme, problems) = self.themes.load(self.chosen(name));
        (theme.adapted(&self.colours), problems)
    }

    /// The theme of `DARK/LIGHT` that suits the terminal now.
    fn chosen<'a>(&self, name: &'a str) -> &'a str {
        match name.split_once('/') {
            Some((_, light)) if self.colours.is_dark() == Some(false) => light,
            Some((dark, _)) => dark,
            None => name,
        }
    }

    /// Whether the theme called `name` exists; for `DARK/LIGHT`, whether both exist.
    pub fn has_theme(&self, name: &str) -> bool {
        let entries = self.themes.entries();
        let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
        match name.split_once('/') {
            Some((dark, light)) => is_there(dark) && is_there(light),
            None => is_there(name),
        }
    }

    /// Every theme, dark ones first, then light ones.
    pub fn choices(&self) -> Vec<ThemeChoice> {
        let entries = self.themes.entries().into_iter();
        let mut choices: Vec<ThemeChoice> = entries
            .map(|entry| ThemeChoice {
                kind: self.themes.kind(&entry.name),
                name: entry.name,
                path: entry.path,
            })
            .collect();
        sort::by_key(&mut choices, |choice| match choice.kind {
            ThemeKind::System => 0,
            ThemeKind::Dark => 1,
            ThemeKind::Light => 2,
        });
        choices
    }

    /// Sets the number of colours of the terminal. Returns true when the number changed.
    pub fn set_depth(&mut self, depth: ColourDepth) -> bool {
        self.themes.set_depth(depth)
    }

    /// Records a colour report of the terminal. True when it may change a theme.
    pub fn on_reply(&mut self, reply: &TerminalReply) -> bool {
        let before = self.colours;
        match reply {
            TerminalReply::Foreground(colour) => self.colours.foreground = Some(*colour),
            TerminalReply::Background(colour) => self.colours.background = Some(*colour),
            TerminalReply::Palette(index, colour) => {
                if let Some(place) = self.colours.ansi.get_mut(usize::from(*index)) {
                    *place = Some(*colour);
                }
            }
            TerminalReply::DarkScheme(dark) => self.colours.dark = Some(*dark),
            _ => {}
        }
        self.colours != before
    }

    /// The default keymap, extended by the keymap `name`: an embedded one, and a file of the user, which may
    /// inherit from an embedded one.
    pub fn keymap(&self, name: &str) -> (Keymap<Command>, Vec<Problem>) {
        let mut sources = vec![KeymapSource::new("default.toml", keymap::DEFAULT)];
        let mut problems = Vec::new();
        let embedded = |name: &str| {
            let (name, text) = keymap::EMBEDDED.iter().find(|(known, _)| *known == name)?;
            Some(KeymapSource::new(format!("{name}.toml"), *text))
        };
        let below = embedded(name);
        let path = self.keymap_path(name);
        match regular_file::read_text(&path, regular_file::SMALL) {
            Ok(text) => {
                let own = KeymapSource::new(path, text);
                let inherited = keymap::inherited_keymap(&own).and_then(|name| embedded(&name));
                sources.extend(below.or(inherited));
                sources.push(own);
            }
            Err(ReadError::Missing) if name == "default" => {}
            Err(ReadError::Missing) if below.is_some() => sources.extend(below),
            Err(error) => {
                let message = format!("the keymap {error}");
                problems.push(Problem::of_file(path, message, "using the default keys"));
            }
        }
        let (keymap, mut found) = Keymap::load(&sources, CONTEXTS, &Command::names());
        problems.append(&mut found);
        (keymap, problems)
    }

    /// The embedded keymaps, and those of the user's folder.
    pub fn keymaps(&self) -> Vec<String> {
        let embedded = keymap::EMBEDDED.iter().map(|(name, _)| (*name).to_owned());
        let mut names: Vec<String> = std::iter::once("default".to_owned())
            .chain(embedded)
            .collect();
        let files = std::fs::read_dir(&self.keymaps)
            .into_iter()
            .flatten()
            .flatten();
        let mut own: Vec<String> = files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|name| !names.contains(name))
            .collect();
        sort::by(&mut own, Ord::cmp);
        names.append(&mut own);
        names
    }

    /// Whether there is a keymap called `name`, or a file at the path `name`.
    pub fn has_keymap(&self, name: &str) -> bool {
        self.keymaps().iter().any(|known| known == name) || self.keymap_path(name).is_file()
    }

    /// Writes a binding into the user's file of the keymap `name`, which is created if it is
    /// missing. Returns its path.
    pub fn bind(&self, name: &str, binding: &NewBinding) -> Result<PathBuf, String> {
        let path = self.keymap_path(name);
        let text = match regular_file::read_text(&path, regular_file::SMALL) {
            Ok(text) => text,
            Err(ReadError::Missing) => String::new(),
            Err(error) => return Err(format!("`{}` {error}", path.display())),
        };
        let NewBinding {
            context,
            keys,
            action,
        } = binding;
        let changed = keymap::edit::set_binding(&text, context, keys, action)
            .map_err(|error| format!("{}: {error}; fix the file first", path.display()))?;
        let options = atomic_file::Options::PRIVATE;
        atomic_file::write_with(&path, changed.as_bytes(), options)
            .map_err(|error| error.to_string())?;
        Ok(path)
    }

    /// The user's file of a keymap: in the folder of keymaps, or where a path leads.
    pub fn keymap_path(&self, name: &str) -> PathBuf {
        let is_file = Path::new(name).extension().is_some_and(|end| end == "toml");
        if name.contains('/') || is_file {
            let home = self.keymaps.parent().unwrap_or(&self.keymaps);
            return path::resolve(home, name);
        }
        self.keymaps.join(format!("{name}.toml"))
    }
}

/// Lists the themes; `current` is the chosen one.
pub(crate) fn list_themes(choices: &[ThemeChoice], current: &str, overlays: &mut Overlays) {
    overlays.push(themes::ID, themes::picker(choices, current));
}

/// The problems of the theme and the keymap that the settings name.
pub fn check_files(folders: &Folders, settings: &Settings) -> Vec<Problem> {
    let kind = TerminalKind::detect(|_| None);
    let appearance = Appearance::new(folders, &kind);
    let (_, mut problems) = appearance.theme(&settings.screen.theme);
    problems.extend(appearance.keymap(&settings.screen.keymap).1);
    problems
}

/// The kind of terminal, from the environment.
pub(crate) fn terminal_kind(environment: &BTreeMap<String, String>) -> TerminalKind {
    TerminalKind::detect(|name| environment.get(name).cloned())
}
