//! Colours in the output of programs. The sixteen named colours become hues of the theme, and
//! unreadable colours are adjusted.

use ratatui::style::{Modifier, Style};

use super::adapt::mix_until_readable;
use super::colour::luminance;
use super::{Colour, ColourDepth, MIN_CONTRAST, Theme, ThemeKind, contrast};
use crate::text::face::{Face, Token};
use osier_base::ansi::Hue;

/// The tokens of the eight hues, normal and bright. Black and white depend on the theme's
/// background.
const HUE_TOKENS: [Token; 8] = [
    Token::Text,
    Token::Error,
    Token::Success,
    Token::Warning,
    Token::SyntaxFunction,
    Token::SyntaxKeyword,
    Token::SyntaxType,
    Token::Text,
];

impl Theme {
    /// Applies the explicit colours of the face to `style`.
    pub(super) fn apply_colours(&self, style: &mut Style, face: Face) {
        if self.depth == ColourDepth::None {
            return;
        }
        if face.colours.exact {
            style.fg = face
                .colours
                .fg
                .and_then(|hue| self.depth.reduce(plain(hue)));
            style.bg = face
                .colours
                .bg
                .and_then(|hue| self.depth.reduce(plain(hue)));
            return;
        }
        // A background shown by reversing leaves no room for other colours.
        if style.add_modifier.contains(Modifier::REVERSED) {
            return;
        }
        // Text that a program coloured is not dimmed.
        style.add_modifier -= Modifier::DIM;
        let own = face.colours.bg.map(|hue| self.hue(hue, true));
        let background = face
            .background
            .and_then(|background| self.specs[background as usize].bg);
        let under = own.or(background).or(self.background);
        let text = self.specs[face.token as usize].fg;
        let wanted = match (face.colours.fg, own) {
            (Some(hue), _) => Some(self.hue(hue, false)),
            // Text without a colour on a background from the program.
            (None, Some(_)) => Some(text.unwrap_or(Colour::Default)),
            (None, None) => None,
        };
        if let Some(wanted) = wanted {
            let shown = under.map_or(wanted, |under| readable(wanted, under));
            style.fg = self
                .depth
                .reduce_readable(shown, &Vec::from_iter(under), MIN_CONTRAST);
        }
        if let Some(own) = own {
            style.bg = self.depth.reduce(own);
        }
    }

    /// The theme colour for a colour of a program.
    fn hue(&self, hue: Hue, is_ground: bool) -> Colour {
        let Hue::Named(index) = hue else {
            return plain(hue);
        };
        let light = self.kind == ThemeKind::Light;
        let token = match index {
            0 if is_ground => {
                return self
                    .background
                    .filter(|_| !light)
                    .unwrap_or(Colour::Ansi(0));
            }
            0 if !light => Token::Muted,
            7 if light && !is_ground => Token::ToolOutput,
            8 => Token::Muted,
            index => HUE_TOKENS[usize::from(index) % HUE_TOKENS.len()],
        };
        let known = self.specs[token as usize].fg;
        match known {
            // The terminal's own hue, bright if the program used the bright one.
            Some(Colour::Default | Colour::Ansi(_)) | None => Colour::Ansi(index),
            Some(known) => known,
        }
    }
}

/// Changes `colour` as little as readability on `ground` requires.
fn readable(colour: Colour, background: Colour) -> Colour {
    // How the terminal shows its own colours is unknown.
    if matches!(colour, Colour::Ansi(_) | Colour::Default) {
        return colour;
    }
    if contrast(colour, background).is_none_or(|found| found >= MIN_CONTRAST) {
        return colour;
    }
    let Some(under) = background.rgb() else {
        return colour;
    };
    let strong = if luminance(under) < 0.179 { 255 } else { 0 };
    mix_until_readable(
        colour,
        Colour::Rgb(strong, strong, strong),
        &[background],
        MIN_CONTRAST,
    )
}

fn plain(hue: Hue) -> Colour {
    match hue {
        Hue::Named(index) => Colour::Ansi(index),
        Hue::Indexed(index) => Colour::Indexed(index),
        Hue::Rgb(red, green, blue) => Colour::Rgb(red, green, blue),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;
    use crate::theme::ThemeStore;
    use osier_base::ansi;

    fn as_colour(color: Option<Color>) -> Option<Colour> {
        match color? {
            Color::Rgb(red, green, blue) => Some(Colour::Rgb(red, green, blue)),
            Color::Indexed(index) => Some(Colour::Indexed(index)),
            _ => None,
        }
    }

    #[test]
    fn coloured_output_is_readable_in_every_theme() {
        let named = (0..16).map(Hue::Named);
        let cube = (16..=255).map(Hue::Indexed);
        let pure = [(0, 0, 255), (255, 255, 0), (20, 20, 20), (240, 240, 240)];
        let pure = pure.map(|(red, green, blue)| Hue::Rgb(red, green, blue));
        let hues: Vec<Hue> = named.chain(cube).chain(pure).collect();
        for depth in [ColourDepth::True, ColourDepth::Indexed] {
            let store = ThemeStore::new(None, depth);
            for entry in store.entries() {
                let (theme, _) = store.load(&entry.name);
                let Some(background) = theme.background else {
                    continue;
                };
                let backgrounds = [None, Some(Hue::Named(1)), Some(Hue::Indexed(220))];
                for (fg, bg) in hues.iter().flat_map(|hue| backgrounds.map(|bg| (*hue, bg))) {
                    let style = theme.style(Face::from(Token::ToolOutput).styled(ansi::Style {
                        fg: Some(fg),
                        bg,
                        ..ansi::Style::default()
                    }));
                    let under = as_colour(style.bg).or(as_colour(theme.base().bg));
                    let under = under.unwrap_or(background);
                    let found = contrast(as_colour(style.fg).unwrap(), under).unwrap();
                    assert!(
                        found >= 4.4,
                        "{} {depth:?}: {fg:?} on {bg:?} has {found:.2}",
                        entry.name
                    );
                }
            }
        }
    }

    #[test]
    fn named_colours_map_to_theme_hues_or_stay_the_terminals_own() {
        let face = |hue| {
            Face::from(Token::ToolOutput).styled(ansi::Style {
                fg: Some(hue),
                ..ansi::Style::default()
            })
        };
        let (dark, _) = ThemeStore::new(None, ColourDepth::True).load("dark");
        let red = dark.style(Token::Error).fg;
        assert_eq!(dark.style(face(Hue::Named(1))).fg, red);
        assert_eq!(dark.style(face(Hue::Named(9))).fg, red);
        let (system, _) = ThemeStore::new(None, ColourDepth::Ansi).load("system");
        assert_eq!(system.style(face(Hue::Named(1))).fg, Some(Color::Red));
        assert_eq!(system.style(face(Hue::Named(9))).fg, Some(Color::LightRed));
        let (none, _) = ThemeStore::new(None, ColourDepth::None).load("dark");
        assert_eq!(none.style(face(Hue::Named(1))).fg, None);
        // The colours of an image are not adjusted.
        let exact = Face::exact(Some(Hue::Rgb(21, 23, 28)), None);
        assert_eq!(dark.style(exact).fg, Some(Color::Rgb(21, 23, 28)));
    }
}
