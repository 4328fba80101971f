//! Colours that texts of programs bring along. The sixteen that have names take the hues of the theme, and
//! what could not be read where it stands is moved as far as it takes.

use ratatui::style::{Modifier, Style};

use super::adapt::towards;
use super::colour::luminance;
use super::{Colour, ColourDepth, READABLE, Theme, ThemeKind, contrast};
use crate::face::{Face, Token};
use osier_base::ansi::Hue;

/// What the eight hues are in a theme; the bright ones are the same. Black and white are told by its ground.
const HUES: [Token; 8] = [
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
    /// Gives `style` the colours of the face's ink.
    pub(super) fn dip(&self, style: &mut Style, face: Face) {
        if self.depth == ColourDepth::None {
            return;
        }
        if face.ink.exact {
            style.fg = face.ink.fg.and_then(|hue| self.depth.reduce(plain(hue)));
            style.bg = face.ink.bg.and_then(|hue| self.depth.reduce(plain(hue)));
            return;
        }
        // A ground that shows by being reversed has no room for other colours.
        if style.add_modifier.contains(Modifier::REVERSED) {
            return;
        }
        // What a program colours is not quiet.
        style.add_modifier -= Modifier::DIM;
        let own = face.ink.bg.map(|hue| self.hue(hue, true));
        let ground = face
            .ground
            .and_then(|ground| self.looks[ground as usize].bg);
        let under = own.or(ground).or(self.background);
        let text = self.looks[face.token as usize].fg;
        let wanted = match (face.ink.fg, own) {
            (Some(hue), _) => Some(self.hue(hue, false)),
            // Text on a ground of its own that does not say its colour.
            (None, Some(_)) => Some(text.unwrap_or(Colour::Default)),
            (None, None) => None,
        };
        if let Some(wanted) = wanted {
            let shown = under.map_or(wanted, |under| readable(wanted, under));
            style.fg = self
                .depth
                .reduce_readable(shown, &Vec::from_iter(under), READABLE);
        }
        if let Some(own) = own {
            style.bg = self.depth.reduce(own);
        }
    }

    /// The colour of the theme for a colour of a program.
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
            index => HUES[usize::from(index) % HUES.len()],
        };
        let known = self.looks[token as usize].fg;
        match known {
            // The terminal's own hue, bright where a bright one was asked for.
            Some(Colour::Default | Colour::Ansi(_)) | None => Colour::Ansi(index),
            Some(known) => known,
        }
    }
}

/// `colour`, moved as little as it takes to be read on `ground`.
fn readable(colour: Colour, ground: Colour) -> Colour {
    // How the terminal shows its own colours is not known.
    if matches!(colour, Colour::Ansi(_) | Colour::Default) {
        return colour;
    }
    if contrast(colour, ground).is_none_or(|found| found >= READABLE) {
        return colour;
    }
    let Some(under) = ground.rgb() else {
        return colour;
    };
    let strong = if luminance(under) < 0.179 { 255 } else { 0 };
    towards(
        colour,
        Colour::Rgb(strong, strong, strong),
        &[ground],
        READABLE,
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
                let grounds = [None, Some(Hue::Named(1)), Some(Hue::Indexed(220))];
                for (fg, bg) in hues.iter().flat_map(|hue| grounds.map(|bg| (*hue, bg))) {
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
    fn the_named_colours_are_those_of_the_theme_or_of_the_terminal() {
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
        // A picture is not made readable.
        let exact = Face::exact(Some(Hue::Rgb(21, 23, 28)), None);
        assert_eq!(dark.style(exact).fg, Some(Color::Rgb(21, 23, 28)));
    }
}
