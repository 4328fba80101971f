//! Invariants that hold for every theme file.

use std::fmt::Write as _;
use std::path::Path;

use ratatui::style::Color;
use tempfile::TempDir;

use super::file::MODIFIERS;
use super::{Colour, ColourDepth, StyleSpec, Theme, ThemeKind, ThemeStore};
use crate::text::face::Token;
use osier_base::problem::Problem;

/// Separates a theme from `parent`, the theme that it may inherit from.
const SEPARATOR: &str = "\n=====\n";
/// A larger file takes longer and shows nothing else.
const MOST: usize = 4096;
const DEPTHS: [ColourDepth; 4] = [
    ColourDepth::True,
    ColourDepth::Indexed,
    ColourDepth::Ansi,
    ColourDepth::None,
];

thread_local! {
    /// The user's themes.
    static FOLDER: TempDir = match TempDir::new() {
        Ok(folder) => folder,
        Err(_) => unreachable!("a temporary folder can be created"),
    };
}

/// The content of a theme file, and of its parent.
pub fn theme(data: &[u8]) {
    let Ok(input) = std::str::from_utf8(data) else {
        return;
    };
    if input.len() > MOST {
        return;
    }
    FOLDER.with(|folder| check(folder.path(), input));
}

fn check(folder: &Path, input: &str) {
    let (text, parent) = input.split_once(SEPARATOR).unwrap_or((input, ""));
    write(folder, "mine", text);
    write(folder, "parent", parent);
    let (theme, problems) = load(folder, ColourDepth::True);
    assert_eq!(
        (theme.clone(), problems.clone()),
        load(folder, ColourDepth::True)
    );
    for problem in &problems {
        let own = [("mine", text), ("parent", parent)];
        let mut own = own
            .iter()
            .filter(|(name, _)| problem.path == folder.join(format!("{name}.toml")));
        let lines = own
            .next()
            .map_or(usize::MAX, |(_, text)| text.split('\n').count());
        assert!(
            (1..=lines).contains(&problem.line.unwrap_or(1)),
            "{problem:?}"
        );
    }
    let store = ThemeStore::new(Some(folder.to_owned()), ColourDepth::True);
    assert_eq!(store.kind("mine"), theme.kind(), "the kind of {text:?}");
    for depth in DEPTHS {
        check_depth(&load(folder, depth).0, depth);
    }
    check_untouched(text, &theme);
    if problems.is_empty() {
        write(folder, "mine", &format!("{text}\n= broken\n"));
        let (damaged, problems) = load(folder, ColourDepth::True);
        assert!(!problems.is_empty());
        assert_eq!(damaged, theme, "valid entries apply");
    }
    write(folder, "mine", &written(&theme));
    let (again, problems) = load(folder, ColourDepth::True);
    assert_eq!(problems, []);
    assert_eq!(again.specs, theme.specs, "a written theme is the same");
}

fn load(folder: &Path, depth: ColourDepth) -> (Theme, Vec<Problem>) {
    ThemeStore::new(Some(folder.to_owned()), depth).load("mine")
}

#[expect(clippy::disallowed_methods, reason = "nothing else reads the file")]
fn write(folder: &Path, name: &str, text: &str) {
    assert!(std::fs::write(folder.join(format!("{name}.toml")), text).is_ok());
}

/// A style has no colours that the terminal does not support.
fn check_depth(theme: &Theme, depth: ColourDepth) {
    for (token, name) in Token::ALL {
        let style = theme.style(*token);
        for colour in [style.fg, style.bg].into_iter().flatten() {
            let is_supported = match (depth, colour) {
                (ColourDepth::None, _) => false,
                (ColourDepth::True, _) => true,
                (ColourDepth::Indexed, colour) => !matches!(colour, Color::Rgb(..)),
                (ColourDepth::Ansi, colour) => {
                    !matches!(colour, Color::Rgb(..) | Color::Indexed(_))
                }
            };
            assert!(is_supported, "{name}: {colour:?} with {depth:?}");
        }
    }
}

/// Tokens that a file does not name, nor the one that they follow, are those of the theme for its kind.
fn check_untouched(text: &str, theme: &Theme) {
    if ["palette", "inherit", "\\"]
        .iter()
        .any(|word| text.contains(word))
    {
        return;
    }
    let base = match theme.kind() {
        ThemeKind::Dark => "dark",
        ThemeKind::Light => "light",
        ThemeKind::System => "system",
    };
    let (base, _) = ThemeStore::new(None, ColourDepth::True).load(base);
    for (token, name) in Token::ALL {
        let mut names = token.with_fallbacks().map(Token::name);
        if !names.any(|name| text.contains(name)) {
            let (own, expected) = (theme.specs[*token as usize], base.specs[*token as usize]);
            assert_eq!(own, expected, "{name} of {text:?}");
        }
    }
}

/// A theme file with every token.
fn written(theme: &Theme) -> String {
    let mut text = "[tokens]\n".to_owned();
    for (token, name) in Token::ALL {
        let StyleSpec { fg, bg, modifier } = theme.specs[*token as usize];
        let mut parts = Vec::new();
        for (key, colour) in [("fg", fg), ("bg", bg)] {
            parts.extend(colour.map(|colour| format!("{key} = {}", colour_text(colour))));
        }
        let names = MODIFIERS.iter().filter(|(_, one)| modifier.contains(*one));
        let names: Vec<String> = names.map(|(name, _)| format!("\"{name}\"")).collect();
        parts.push(format!("modifiers = [{}]", names.join(", ")));
        let _ = writeln!(text, "{name} = {{ {} }}", parts.join(", "));
    }
    text
}

fn colour_text(colour: Colour) -> String {
    match colour {
        Colour::Default => "\"default\"".to_owned(),
        Colour::Ansi(index) | Colour::Indexed(index) => index.to_string(),
        Colour::Rgb(red, green, blue) => format!("\"#{red:02x}{green:02x}{blue:02x}\""),
    }
}
