//! The themes and syntax highlighting of exported HTML pages, taken from the terminal interface.

use std::path::PathBuf;

use osier_serve::SyntaxHighlighter;
use osier_term::face::Token;
use osier_term::theme::{ColourDepth, ThemeKind, ThemeStore};
use osier_transfer::{Highlighter, HtmlThemes, Palette, TextStyle};

/// The built-in themes and those in the user's directory.
#[derive(Debug)]
pub(super) struct TerminalThemes(ThemeStore);

impl TerminalThemes {
    pub(super) fn new(themes: PathBuf) -> Self {
        Self(ThemeStore::new(Some(themes), ColourDepth::True))
    }
}

impl HtmlThemes for TerminalThemes {
    fn palette(&self, name: &str) -> Result<Palette, String> {
        let entries = self.0.entries();
        if !entries.iter().any(|entry| entry.name == name) {
            let names: Vec<String> = entries
                .iter()
                .map(|entry| format!("`{}`", entry.name))
                .collect();
            return Err(format!(
                "unknown theme `{name}`; expected one of {}",
                names.join(", ")
            ));
        }
        let (theme, _) = self.0.load(name);
        let background = theme.background_hex().ok_or_else(|| {
            format!(
                "the theme `{name}` takes its background from the terminal; choose another theme"
            )
        })?;
        let styles = Token::ALL.iter().map(|(token, name)| {
            let (foreground, background) = theme.hex(*token);
            let style = TextStyle {
                foreground,
                background,
            };
            (*name, style)
        });
        Ok(Palette {
            dark: theme.kind() == ThemeKind::Dark,
            background,
            styles: styles.collect(),
        })
    }

    fn highlighter(&self) -> Box<dyn Highlighter> {
        Box::new(SyntaxHighlighter::default())
    }
}
