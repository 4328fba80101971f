//! Where themes come from: the embedded ones and the user's directory, whose files win.

use std::path::{Path, PathBuf};

use super::file::{Outline, Palette, ThemeFile};
use super::{ColourDepth, Look, Theme, ThemeKind};
use crate::document::did_you_mean;
use osier_base::problem::Problem;

macro_rules! theme {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../themes/", $name, ".toml")),
        )
    };
}

/// Name and text of every embedded theme. Only the one in use is ever parsed.
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

/// Most parents in a row.
const DEEPEST: usize = 8;

/// A theme that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeEntry {
    pub name: String,
    /// The file of a theme of the user.
    pub path: Option<PathBuf>,
}

/// One file of a theme that stands on others.
struct Link {
    path: PathBuf,
    text: String,
    outline: Outline,
}

/// Finds and loads themes.
#[derive(Debug, Clone)]
pub struct ThemeStore {
    directory: Option<PathBuf>,
    depth: ColourDepth,
}

impl ThemeStore {
    /// Themes in `directory` (`NAME.toml`) come before the embedded ones.
    pub fn new(directory: Option<PathBuf>, depth: ColourDepth) -> Self {
        Self { directory, depth }
    }

    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The names of the embedded themes.
    pub fn embedded() -> Vec<&'static str> {
        EMBEDDED.iter().map(|(name, _)| *name).collect()
    }

    /// Themes are made for so many colours from now on. True when that is another number.
    pub fn set_depth(&mut self, depth: ColourDepth) -> bool {
        std::mem::replace(&mut self.depth, depth) != depth
    }

    /// What a theme says it is made for, without all of it being read.
    pub fn kind(&self, name: &str) -> ThemeKind {
        let mut next = Some(name.to_owned());
        for _ in 0..DEEPEST {
            let Some((path, text, _)) = next.take().and_then(|name| self.read(&name, false)) else {
                break;
            };
            let outline = Outline::parse(&path, &text);
            if let Some(kind) = outline.kind {
                return kind;
            }
            next = outline.inherit;
        }
        ThemeKind::System
    }

    /// Every theme by name, the embedded ones first.
    pub fn entries(&self) -> Vec<ThemeEntry> {
        let mut entries: Vec<ThemeEntry> = EMBEDDED
            .iter()
            .map(|(name, _)| ThemeEntry {
                name: (*name).to_owned(),
                path: None,
            })
            .collect();
        let mut own: Vec<ThemeEntry> = self.own_files().collect();
        own.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in own {
            match entries.iter_mut().find(|known| known.name == entry.name) {
                Some(known) => *known = entry,
                None => entries.push(entry),
            }
        }
        entries
    }

    /// Loads a theme. What is wrong with it is told, and what it lacks comes from its parent; one that is
    /// not there at all gives `system`.
    pub fn load(&self, name: &str) -> (Theme, Vec<Problem>) {
        let mut theme = Theme {
            name: name.to_owned(),
            depth: self.depth,
            ..Theme::default()
        };
        let mut problems = Vec::new();
        let chain = self.collect(name, &mut problems);
        // A theme's own colours are those of every theme it stands on, too.
        let mut palette = Palette::new();
        for link in chain.iter().rev() {
            palette.extend(link.outline.palette.clone());
        }
        let mut found = Vec::new();
        for link in chain.into_iter().rev() {
            let mut file = ThemeFile::parse(&link.path, &link.text, &palette);
            found.splice(0..0, file.problems.drain(..));
            lay_over(&mut theme, file);
        }
        problems.append(&mut found);
        theme.resolve();
        (theme, problems)
    }

    /// A theme and its parents, in this order.
    fn collect(&self, name: &str, problems: &mut Vec<Problem>) -> Vec<Link> {
        let mut chain: Vec<Link> = Vec::new();
        let mut wanted = Some(name.to_owned());
        let mut seen: Vec<(String, bool)> = Vec::new();
        while let Some(name) = wanted.take() {
            // A theme of the user may stand on the embedded one of the same name.
            let again = seen.iter().any(|(known, _)| *known == name);
            let Some((path, text, own)) = self.read(&name, again) else {
                problems.push(self.missing(&name));
                if !seen.iter().any(|(known, _)| known == "system") {
                    wanted = Some("system".to_owned());
                    seen.push((name, false));
                }
                continue;
            };
            if seen.contains(&(name.clone(), own)) || seen.len() >= DEEPEST {
                let message = format!("theme `{name}` inherits from itself");
                problems.push(whole_file(path, message, None));
                break;
            }
            let outline = Outline::parse(&path, &text);
            wanted = match (&outline.inherit, outline.kind) {
                (Some(parent), _) => Some(parent.clone()),
                (None, _) if !own => None,
                (None, Some(ThemeKind::Dark)) => Some("dark".to_owned()),
                (None, Some(ThemeKind::Light)) => Some("light".to_owned()),
                (None, _) => Some("system".to_owned()),
            };
            seen.push((name, own));
            chain.push(Link {
                path,
                text,
                outline,
            });
        }
        chain
    }

    /// Path, text and whether it is the user's own.
    fn read(&self, name: &str, embedded_only: bool) -> Option<(PathBuf, String, bool)> {
        let own = self
            .own_path(name)
            .filter(|_| !embedded_only)
            .and_then(|path| {
                let text = std::fs::read_to_string(&path).ok()?;
                Some((path, text, true))
            });
        own.or_else(|| {
            let (_, text) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
            let path = PathBuf::from(format!("themes/{name}.toml"));
            Some((path, (*text).to_owned(), false))
        })
    }

    fn own_path(&self, name: &str) -> Option<PathBuf> {
        let is_name = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
        let directory = self.directory.as_ref().filter(|_| is_name)?;
        Some(directory.join(format!("{name}.toml")))
    }

    fn own_files(&self) -> impl Iterator<Item = ThemeEntry> {
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
        let path = self.own_path(name).unwrap_or_else(|| PathBuf::from(name));
        whole_file(path, format!("no theme is called `{name}`"), hint)
    }
}

fn whole_file(path: PathBuf, message: String, hint: Option<String>) -> Problem {
    Problem {
        path,
        line: None,
        column: None,
        message,
        hint: hint.unwrap_or_default(),
    }
}

fn lay_over(theme: &mut Theme, file: ThemeFile) {
    theme.kind = file.kind.unwrap_or(theme.kind);
    theme.background = file.background.or(theme.background);
    theme.paints = file.paints.unwrap_or(theme.paints);
    theme.name = file.name.unwrap_or_else(|| std::mem::take(&mut theme.name));
    let looks = theme.looks.iter_mut().zip(file.looks);
    for (look, own) in looks {
        let own: Option<Look> = own;
        *look = own.unwrap_or(*look);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Modifier, Style};
    use tempfile::TempDir;

    use super::*;
    use crate::face::{Emphasis, Face, Token};
    use crate::theme::Colour;

    fn store(depth: ColourDepth) -> ThemeStore {
        ThemeStore::new(None, depth)
    }

    #[test]
    fn every_embedded_theme_is_sound_and_complete() {
        for entry in store(ColourDepth::True).entries() {
            let (theme, problems) = store(ColourDepth::True).load(&entry.name);
            assert_eq!(problems, [], "{}", entry.name);
            for (token, name) in Token::ALL {
                let look = theme.looks[*token as usize];
                assert_ne!(look, Look::default(), "{} lacks {name}", entry.name);
            }
        }
    }

    #[test]
    fn the_system_theme_has_only_the_colours_of_the_terminal() {
        let (theme, _) = store(ColourDepth::True).load("system");
        for look in theme.looks {
            for colour in [look.fg, look.bg].into_iter().flatten() {
                assert!(
                    matches!(colour, Colour::Default | Colour::Ansi(_)),
                    "{colour:?}"
                );
            }
        }
    }

    #[test]
    fn a_face_is_its_token_on_its_ground_with_its_emphasis() {
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
        // What it does not say comes from the embedded theme of its kind.
        let (dark, _) = store.load("dark");
        assert_eq!(theme.style(Token::Error), dark.style(Token::Error));
        assert!(store.entries().iter().any(|entry| entry.name == "mine"));
    }

    #[test]
    fn faults_are_told_with_their_place_and_the_rest_counts() {
        let directory = TempDir::new().unwrap();
        let text = "kind = \"drak\"\n[tokens]\nheadng = \"red\"\ntext = \"bleu\"\nerror = \"#ff0000\"\n\
            title = { fg = \"red\", modifiers = [\"blod\"] }\n";
        std::fs::File::create(directory.path().join("odd.toml"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .unwrap();
        let store = ThemeStore::new(Some(directory.path().to_owned()), ColourDepth::True);
        let (theme, problems) = store.load("odd");
        let told: Vec<(usize, &str)> = problems
            .iter()
            .map(|problem| (problem.line.unwrap_or(0), problem.message.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (1, "expected `dark`, `light` or `system`, found string"),
                (3, "unknown token `headng`"),
                (4, "unknown colour `bleu`"),
                (6, "unknown modifier `blod`"),
            ]
        );
        assert_eq!(problems[1].hint, "did you mean `heading`?");
        assert_eq!(theme.style(Token::Error).fg, Some(Color::Rgb(255, 0, 0)));

        let (theme, problems) = store.load("sytsem");
        assert_eq!(problems[0].hint, "did you mean `system`?");
        assert_eq!(theme.kind(), ThemeKind::System);
    }

    #[test]
    fn without_colours_the_selection_still_shows() {
        let (theme, _) = store(ColourDepth::None).load("dark");
        let selected = theme.style(Token::Selected);
        assert_eq!((selected.fg, selected.bg), (None, None));
        assert!(selected.add_modifier.contains(Modifier::REVERSED));
        assert_eq!(theme.base().bg, None);
    }
}
