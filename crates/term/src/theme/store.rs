//! Loads the built-in themes and those in the user's directory, which take precedence.

use osier_base::sort;
use std::path::PathBuf;

use super::file::{Palette, ThemeFile, ThemeHeader};
use super::{ColourDepth, Theme, ThemeKind};
use crate::document::did_you_mean;
use crate::text::face::Token;
use osier_base::problem::Problem;
use osier_base::regular_file;

macro_rules! theme {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../themes/", $name, ".toml")),
        )
    };
}

// recipe: a theme, 1: `themes/NAME.toml`: its palette
// recipe: a theme, 2: its row
/// Name and text of every built-in theme. Only themes in use are parsed.
const EMBEDDED: &[(&str, &str)] = &[
    theme!("system"),
    theme!("dark"),
    theme!("light"),
    theme!("catppuccin-latte"),
    theme!("catppuccin-mocha"),
    theme!("colour-blind-dark"),
    theme!("colour-blind-light"),
    theme!("dracula"),
    theme!("everforest-dark"),
    theme!("everforest-light"),
    theme!("github-dark"),
    theme!("github-light"),
    theme!("gruvbox-dark"),
    theme!("gruvbox-light"),
    theme!("high-contrast-dark"),
    theme!("high-contrast-light"),
    theme!("kanagawa"),
    theme!("monokai"),
    theme!("nord"),
    theme!("one-dark"),
    theme!("one-light"),
    theme!("rose-pine"),
    theme!("rose-pine-dawn"),
    theme!("solarized-dark"),
    theme!("solarized-light"),
    theme!("tokyo-day"),
    theme!("tokyo-night"),
];

/// Maximum depth of inheritance.
const MAX_DEPTH: usize = 8;

/// An available theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeEntry {
    pub name: String,
    /// The file of a user's theme.
    pub path: Option<PathBuf>,
}

/// One file in the inheritance chain of a theme.
struct ThemeSource {
    path: PathBuf,
    text: String,
    header: ThemeHeader,
}

/// Finds and loads themes.
///
/// ```
/// use osier_term::theme::{ColourDepth, ThemeKind, ThemeStore};
///
/// let store = ThemeStore::new(None, ColourDepth::True);
/// let (theme, problems) = store.load("nord");
/// assert!(problems.is_empty());
/// assert_eq!(theme.kind(), ThemeKind::Dark);
/// ```
#[derive(Debug, Clone)]
pub struct ThemeStore {
    directory: Option<PathBuf>,
    depth: ColourDepth,
}

impl ThemeStore {
    /// Creates a store. Themes in `directory` (`NAME.toml`) replace built-in ones.
    pub fn new(directory: Option<PathBuf>, depth: ColourDepth) -> Self {
        Self { directory, depth }
    }

    /// The names of the built-in themes.
    pub fn embedded() -> Vec<&'static str> {
        EMBEDDED.iter().map(|(name, _)| *name).collect()
    }

    /// Sets the colour depth of loaded themes. Returns true if it changed.
    pub fn set_depth(&mut self, depth: ColourDepth) -> bool {
        std::mem::replace(&mut self.depth, depth) != depth
    }

    /// The kind of a theme, without loading all of it.
    pub fn kind(&self, name: &str) -> ThemeKind {
        let mut next = Some(name.to_owned());
        for _ in 0..MAX_DEPTH {
            let Some((path, text, _)) = next.take().and_then(|name| self.read(&name, false)) else {
                break;
            };
            let header = ThemeHeader::parse(&path, &text);
            if let Some(kind) = header.kind {
                return kind;
            }
            next = header.inherit;
        }
        ThemeKind::System
    }

    /// Every theme by name, built-in ones first.
    pub fn entries(&self) -> Vec<ThemeEntry> {
        let mut entries: Vec<ThemeEntry> = EMBEDDED
            .iter()
            .map(|(name, _)| ThemeEntry {
                name: (*name).to_owned(),
                path: None,
            })
            .collect();
        let mut own: Vec<ThemeEntry> = self.user_files().collect();
        sort::by(&mut own, |a, b| a.name.cmp(&b.name));
        for entry in own {
            match entries.iter_mut().find(|known| known.name == entry.name) {
                Some(known) => *known = entry,
                None => entries.push(entry),
            }
        }
        entries
    }

    /// Loads a theme and reports its problems. Missing tokens come from its parent; a missing theme
    /// gives `system`.
    pub fn load(&self, name: &str) -> (Theme, Vec<Problem>) {
        let mut theme = Theme {
            name: name.to_owned(),
            depth: self.depth,
            ..Theme::default()
        };
        let mut problems = Vec::new();
        let chain = self.collect(name, &mut problems);
        // A theme's palette also applies to the themes it inherits from.
        let mut palette = Palette::new();
        for link in chain.iter().rev() {
            palette.extend(link.header.palette.clone());
        }
        let mut found = Vec::new();
        for link in chain.into_iter().rev() {
            let mut file = ThemeFile::parse(&link.path, &link.text, &palette);
            found.splice(0..0, file.problems.drain(..));
            apply_file(&mut theme, file);
        }
        problems.append(&mut found);
        theme.resolve();
        (theme, problems)
    }

    /// A theme and its ancestors, in this order.
    fn collect(&self, name: &str, problems: &mut Vec<Problem>) -> Vec<ThemeSource> {
        let mut chain: Vec<ThemeSource> = Vec::new();
        let mut wanted = Some(name.to_owned());
        let mut visited: Vec<(String, bool)> = Vec::new();
        while let Some(name) = wanted.take() {
            // A user's theme may inherit from the built-in one with the same name.
            let again = visited.iter().any(|(known, _)| *known == name);
            let Some((path, text, own)) = self.read(&name, again) else {
                problems.push(self.missing(&name));
                if !visited.iter().any(|(known, _)| known == "system") {
                    wanted = Some("system".to_owned());
                    visited.push((name, false));
                }
                continue;
            };
            if visited.contains(&(name.clone(), own)) || visited.len() >= MAX_DEPTH {
                let message = format!("theme `{name}` inherits from itself");
                problems.push(file_problem(path, message, None));
                break;
            }
            let header = ThemeHeader::parse(&path, &text);
            wanted = match (&header.inherit, header.kind) {
                (Some(parent), _) => Some(parent.clone()),
                (None, _) if !own => None,
                (None, Some(ThemeKind::Dark)) => Some("dark".to_owned()),
                (None, Some(ThemeKind::Light)) => Some("light".to_owned()),
                (None, _) => Some("system".to_owned()),
            };
            visited.push((name, own));
            chain.push(ThemeSource { path, text, header });
        }
        chain
    }

    /// Path, text, and whether the theme is the user's.
    fn read(&self, name: &str, embedded_only: bool) -> Option<(PathBuf, String, bool)> {
        let own = self
            .user_path(name)
            .filter(|_| !embedded_only)
            .and_then(|path| {
                let text = regular_file::read_text(&path, regular_file::SMALL).ok()?;
                Some((path, text, true))
            });
        own.or_else(|| {
            let (_, text) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
            let path = PathBuf::from(format!("themes/{name}.toml"));
            Some((path, (*text).to_owned(), false))
        })
    }

    fn user_path(&self, name: &str) -> Option<PathBuf> {
        let is_name = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
        let directory = self.directory.as_ref().filter(|_| is_name)?;
        Some(directory.join(format!("{name}.toml")))
    }

    fn user_files(&self) -> impl Iterator<Item = ThemeEntry> {
        let files = self
            .directory
            .as_ref()
            .and_then(|path| path.read_dir().ok());
        files.into_iter().flatten().flatten().filter_map(|file| {
            let path = file.path();
            let is_theme = path
                .extension()
                .is_some_and(|extension| extension == "toml");
            let name = path.file_stem()?.to_str()?.to_owned();
            is_theme.then_some(ThemeEntry {
                name,
                path: Some(path),
            })
        })
    }

    fn missing(&self, name: &str) -> Problem {
        let entries = self.entries();
        let hint = did_you_mean(name, entries.iter().map(|entry| entry.name.as_str()));
        let path = self.user_path(name).unwrap_or_else(|| PathBuf::from(name));
        file_problem(path, format!("unknown theme `{name}`"), hint)
    }
}

fn file_problem(path: PathBuf, message: String, hint: Option<String>) -> Problem {
    Problem {
        path,
        line: None,
        column: None,
        message,
        hint: hint.unwrap_or_default(),
    }
}

fn apply_file(theme: &mut Theme, file: ThemeFile) {
    theme.kind = file.kind.unwrap_or(theme.kind);
    theme.background = file.background.or(theme.background);
    theme.paints_background = file.paints_background.unwrap_or(theme.paints_background);
    theme.name = file.name.unwrap_or_else(|| std::mem::take(&mut theme.name));
    for (token, _) in Token::ALL {
        let own = |token: Token| file.specs[token as usize];
        if let Some(spec) = token.with_fallbacks().find_map(own) {
            theme.specs[*token as usize] = spec;
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Modifier, Style};
    use tempfile::TempDir;

    use super::*;
    use crate::text::face::{Emphasis, Face};
    use crate::theme::{Colour, StyleSpec};

    fn store(depth: ColourDepth) -> ThemeStore {
        ThemeStore::new(None, depth)
    }

    #[test]
    fn every_built_in_theme_is_valid_and_complete() {
        for entry in store(ColourDepth::True).entries() {
            let (theme, problems) = store(ColourDepth::True).load(&entry.name);
            assert_eq!(problems, [], "{}", entry.name);
            for (token, name) in Token::ALL {
                let spec = theme.specs[*token as usize];
                assert_ne!(spec, StyleSpec::default(), "{} lacks {name}", entry.name);
            }
        }
    }

    #[test]
    fn system_theme_uses_only_terminal_colours() {
        let (theme, _) = store(ColourDepth::True).load("system");
        for spec in theme.specs {
            for colour in [spec.fg, spec.bg].into_iter().flatten() {
                assert!(
                    matches!(colour, Colour::Default | Colour::Ansi(_)),
                    "{colour:?}"
                );
            }
        }
    }

    #[test]
    fn face_combines_token_background_and_emphasis() {
        let directory = TempDir::new().unwrap();
        let text = "kind = \"dark\"\n[palette]\nsky = \"#0080ff\"\n[tokens]\n\
            diff_added = { fg = \"sky\", bg = 22 }\n\
            syntax_keyword = { fg = \"bright-blue\", modifiers = [\"bold\"] }\n";
        std::fs::File::create(directory.path().join("mine.toml"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .unwrap();
        let store = ThemeStore::new(Some(directory.path().to_owned()), ColourDepth::True);
        let (theme, problems) = store.load("mine");
        assert_eq!(problems, []);
        assert_eq!(theme.kind(), ThemeKind::Dark);
        let face = Face::from(Token::SyntaxKeyword)
            .on(Token::DiffAdded)
            .emphasised(Emphasis::ITALIC);
        let expected = Style::new()
            .fg(Color::LightBlue)
            .bg(Color::Indexed(22))
            .add_modifier(Modifier::BOLD | Modifier::ITALIC);
        assert_eq!(theme.style(face), expected);
        // Missing tokens come from the built-in theme of its kind.
        let (dark, _) = store.load("dark");
        assert_eq!(theme.style(Token::Error), dark.style(Token::Error));
        assert!(store.entries().iter().any(|entry| entry.name == "mine"));
    }

    /// Themes of users that were written before a token existed give it the colour of its fallback.
    #[test]
    fn tokens_that_a_theme_does_not_set_follow_those_that_it_sets() {
        let directory = TempDir::new().unwrap();
        let theme = |name: &str, text: &str| {
            let path = directory.path().join(format!("{name}.toml"));
            osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
            let store = ThemeStore::new(Some(directory.path().to_owned()), ColourDepth::True);
            let (theme, problems) = store.load(name);
            assert_eq!(problems, []);
            [Token::Border, Token::Rule].map(|token| theme.style(token).fg)
        };
        let red = Some(Color::Rgb(255, 0, 0));
        let blue = Some(Color::Rgb(0, 0, 255));
        let border = "kind = \"dark\"\n[tokens]\nborder = \"#f00\"\n";
        assert_eq!(theme("old", border), [red, red]);
        assert_eq!(
            theme("new", &format!("{border}rule = \"#00f\"\n")),
            [red, blue]
        );
        // A theme that inherits from it decides again.
        let child = "inherit = \"new\"\n[tokens]\nborder = \"#00f\"\n";
        assert_eq!(theme("child", child), [blue, blue]);
        assert_eq!(theme("grandchild", "inherit = \"new\"\n"), [red, blue]);
    }

    #[test]
    fn problems_have_a_position_and_valid_entries_apply() {
        let directory = TempDir::new().unwrap();
        let text = "kind = \"drak\"\n[tokens]\nheadng = \"red\"\ntext = \"bleu\"\nerror = \"#ff0000\"\n\
            title = { fg = \"red\", modifiers = [\"blod\"] }\n";
        std::fs::File::create(directory.path().join("odd.toml"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .unwrap();
        let store = ThemeStore::new(Some(directory.path().to_owned()), ColourDepth::True);
        let (theme, problems) = store.load("odd");
        let reported: Vec<(usize, &str)> = problems
            .iter()
            .map(|problem| (problem.line.unwrap_or(0), problem.message.as_str()))
            .collect();
        assert_eq!(
            reported,
            [
                (1, "expected `dark`, `light` or `system`, found string"),
                (3, "unknown token `headng`"),
                (4, "unknown colour `bleu`"),
                (6, "unknown modifier `blod`"),
            ]
        );
        assert_eq!(problems[1].hint, "did you mean `heading`?");
        assert_eq!(theme.style(Token::Error).fg, Some(Color::Rgb(255, 0, 0)));
        // An invalid colour leaves the one of the parent.
        let (system, _) = store.load("system");
        assert_eq!(theme.style(Token::Text), system.style(Token::Text));

        let (theme, problems) = store.load("sytsem");
        assert_eq!(problems[0].hint, "did you mean `system`?");
        assert_eq!(theme.kind(), ThemeKind::System);
    }

    #[test]
    fn selection_is_visible_without_colours() {
        let (theme, _) = store(ColourDepth::None).load("dark");
        let selected = theme.style(Token::Selected);
        assert_eq!((selected.fg, selected.bg), (None, None));
        assert!(selected.add_modifier.contains(Modifier::REVERSED));
        assert_eq!(theme.base().bg, None);
    }
}
