//! Themes of exported pages. The crate has no themes or grammars of its own: the program provides them as
//! [`HtmlThemes`].

use std::fmt::{Debug, Write as _};
use std::ops::Range;

/// The source of a page's themes and syntax highlighting.
pub trait HtmlThemes: Debug + Send + Sync {
    /// The theme `name`; `dark` and `light` always exist.
    ///
    /// # Errors
    ///
    /// One sentence with the available themes.
    fn palette(&self, name: &str) -> Result<Palette, String>;

    /// A syntax highlighter for one page.
    fn highlighter(&self) -> Box<dyn Highlighter>;
}

/// Highlights code.
pub trait Highlighter {
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
    pub styles: Vec<(&'static str, TextStyle)>,
}

/// The style of one kind of text; colours are `#rrggbb`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextStyle {
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
        for (name, style) in &self.styles {
            let name = name.replace('_', "-");
            let text = colour(style.foreground.as_deref(), "currentColor");
            let ground = colour(style.background.as_deref(), "transparent");
            // Writing to a string cannot fail.
            let _ = write!(css, "--{name}:{text};--{name}-bg:{ground};");
        }
        css
    }
}

/// `text` if it is a valid colour, whatever the theme contains, else `otherwise`.
fn colour<'a>(text: Option<&'a str>, otherwise: &'a str) -> &'a str {
    let is_colour = |text: &&str| {
        let digits = text.strip_prefix('#').unwrap_or_default();
        digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.filter(is_colour).unwrap_or(otherwise)
}

/// Black on white and white on black, for programs without themes.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainThemes;

/// The colours of [`PlainThemes`]: name, on light, on dark.
const PLAIN: &[(&str, &str, &str)] = &[
    ("text", "#25282e", "#d5d8df"),
    ("muted", "#616876", "#9198a6"),
    ("accent", "#0b57b0", "#7fb4ff"),
    ("border", "#c3c6cc", "#4a505c"),
    ("link", "#00616e", "#6cc7d6"),
    ("error", "#b01c2e", "#ff8f8f"),
    ("success", "#1d6428", "#95cf8a"),
];

impl HtmlThemes for PlainThemes {
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
        let styles = PLAIN.iter().map(|(name, on_light, on_dark)| {
            let colour = if dark { on_dark } else { on_light };
            let style = TextStyle {
                foreground: Some((*colour).to_owned()),
                background: None,
            };
            (*name, style)
        });
        let background = if dark { "#15171c" } else { "#fbfaf7" };
        Ok(Palette {
            dark,
            background: background.to_owned(),
            styles: styles.collect(),
        })
    }

    fn highlighter(&self) -> Box<dyn Highlighter> {
        Box::new(Unpainted)
    }
}

struct Unpainted;

impl Highlighter for Unpainted {
    fn lines(&mut self, _language: &str, _code: &str) -> Option<Vec<MarkedLine>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palette_contains_only_variables() {
        let style = |foreground: &str| TextStyle {
            foreground: Some(foreground.into()),
            background: Some("#010203".into()),
        };
        let palette = Palette {
            dark: true,
            background: "#000000".into(),
            styles: vec![
                ("diff_added", style("#0a0b0c")),
                ("text", style("red;}</style>")),
            ],
        };
        assert_eq!(
            palette.variables(),
            "--ground:#000000;--diff-added:#0a0b0c;--diff-added-bg:#010203;--text:currentColor;--text-bg:#010203;"
        );
    }
}
