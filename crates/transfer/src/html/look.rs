//! The colours of a page. This crate knows neither themes nor grammars: the program provides them as a
//! [`Look`].

use std::fmt::{Debug, Write as _};
use std::ops::Range;

/// The source of a page's colours.
pub trait Look: Debug + Send + Sync {
    /// The theme called `name`: `dark` and `light` are always there.
    ///
    /// # Errors
    /// One sentence naming the themes there are.
    fn palette(&self, name: &str) -> Result<Palette, String>;

    /// A syntax highlighter for one page.
    fn painter(&self) -> Box<dyn Paint>;
}

/// Marks the parts of code.
pub trait Paint {
    /// For every line of `code`, its highlighted parts by byte range, in order, each with a colour name of
    /// the palette; `None` for an unknown language.
    fn lines(&mut self, language: &str, code: &str) -> Option<Vec<MarkedLine>>;
}

/// The marked parts of one line.
pub type MarkedLine = Vec<(Range<usize>, &'static str)>;

/// The colours of one theme.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Palette {
    pub dark: bool,
    /// `#rrggbb`.
    pub background: String,
    /// By name, `text` and `syntax_keyword`.
    pub inks: Vec<(&'static str, Ink)>,
}

/// The style of one kind of text; colours are `#rrggbb`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ink {
    pub foreground: Option<String>,
    pub background: Option<String>,
}

impl Palette {
    /// Declarations of CSS variables: `--text:#…;--text-bg:#…`.
    pub(super) fn variables(&self) -> String {
        let mut css = format!(
            "--ground:{};",
            colour(Some(&self.background), "transparent")
        );
        for (name, ink) in &self.inks {
            let name = name.replace('_', "-");
            let text = colour(ink.foreground.as_deref(), "currentColor");
            let ground = colour(ink.background.as_deref(), "transparent");
            // Writing to a string cannot fail.
            let _ = write!(css, "--{name}:{text};--{name}-bg:{ground};");
        }
        css
    }
}

/// Only a valid colour, whatever the theme contains.
fn colour<'a>(text: Option<&'a str>, otherwise: &'a str) -> &'a str {
    let is_colour = |text: &&str| {
        let digits = text.strip_prefix('#').unwrap_or_default();
        digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.filter(is_colour).unwrap_or(otherwise)
}

/// Black on white and white on black, for programs that bring no themes.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainLook;

/// The colours of [`PlainLook`]: name, on light, on dark.
const PLAIN: &[(&str, &str, &str)] = &[
    ("text", "#25282e", "#d5d8df"),
    ("muted", "#616876", "#9198a6"),
    ("accent", "#0b57b0", "#7fb4ff"),
    ("border", "#c3c6cc", "#4a505c"),
    ("link", "#00616e", "#6cc7d6"),
    ("error", "#b01c2e", "#ff8f8f"),
    ("success", "#1d6428", "#95cf8a"),
];

impl Look for PlainLook {
    fn palette(&self, name: &str) -> Result<Palette, String> {
        let dark = match name {
            "dark" => true,
            "light" => false,
            name => {
                return Err(format!(
                    "unknown theme `{name}`; expected `dark` or `light`"
                ));
            }
        };
        let inks = PLAIN.iter().map(|(name, on_light, on_dark)| {
            let colour = if dark { on_dark } else { on_light };
            let ink = Ink {
                foreground: Some((*colour).to_owned()),
                background: None,
            };
            (*name, ink)
        });
        let background = if dark { "#15171c" } else { "#fbfaf7" };
        Ok(Palette {
            dark,
            background: background.to_owned(),
            inks: inks.collect(),
        })
    }

    fn painter(&self) -> Box<dyn Paint> {
        Box::new(Unpainted)
    }
}

struct Unpainted;

impl Paint for Unpainted {
    fn lines(&mut self, _language: &str, _code: &str) -> Option<Vec<MarkedLine>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palette_contains_only_variables() {
        let ink = |foreground: &str| Ink {
            foreground: Some(foreground.into()),
            background: Some("#010203".into()),
        };
        let palette = Palette {
            dark: true,
            background: "#000000".into(),
            inks: vec![
                ("diff_added", ink("#0a0b0c")),
                ("text", ink("red;}</style>")),
            ],
        };
        assert_eq!(
            palette.variables(),
            "--ground:#000000;--diff-added:#0a0b0c;--diff-added-bg:#010203;--text:currentColor;--text-bg:#010203;"
        );
    }
}
