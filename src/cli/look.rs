//! The colours of exported pages: the themes and grammars of the interface, for a layer that knows neither.

use std::path::PathBuf;

use crate::coding::exchange::{Ink, Look, MarkedLine, Paint, Palette};
use crate::term::face::Token;
use crate::term::highlight::BlockHighlighter;
use crate::term::theme::{ColourDepth, ThemeKind, ThemeStore};

/// Themes embedded and in the user's folder.
#[derive(Debug)]
pub(super) struct ThemeLook(ThemeStore);

impl ThemeLook {
    pub(super) fn new(themes: PathBuf) -> Self {
        Self(ThemeStore::new(Some(themes), ColourDepth::True))
    }
}

impl Look for ThemeLook {
    fn palette(&self, name: &str) -> Result<Palette, String> {
        let entries = self.0.entries();
        if !entries.iter().any(|entry| entry.name == name) {
            let names: Vec<String> = entries
                .iter()
                .map(|entry| format!("`{}`", entry.name))
                .collect();
            return Err(format!(
                "there is no theme `{name}`: they are {}",
                names.join(", ")
            ));
        }
        let (theme, _) = self.0.load(name);
        let background = theme.background_hex().ok_or_else(|| {
            format!("the theme `{name}` leaves its ground to the terminal: choose another")
        })?;
        let inks = Token::ALL.iter().map(|(token, name)| {
            let (foreground, background) = theme.hex(*token);
            let ink = Ink {
                foreground,
                background,
            };
            (*name, ink)
        });
        Ok(Palette {
            dark: theme.kind() == ThemeKind::Dark,
            background,
            inks: inks.collect(),
        })
    }

    fn painter(&self) -> Box<dyn Paint> {
        Box::new(Painter(BlockHighlighter::default()))
    }
}

struct Painter(BlockHighlighter);

impl Paint for Painter {
    fn lines(&mut self, language: &str, code: &str) -> Option<Vec<MarkedLine>> {
        let lines = self.0.lines(language, code)?;
        let named = |token: Token| Token::ALL[token as usize].1;
        let line = |tokens: Vec<_>| {
            tokens
                .into_iter()
                .map(|(range, token): (std::ops::Range<u32>, Token)| {
                    (range.start as usize..range.end as usize, named(token))
                })
                .collect()
        };
        Some(lines.into_iter().map(line).collect())
    }
}
