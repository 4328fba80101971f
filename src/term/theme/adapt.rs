//! The system theme once the terminal has told its colours: tints mixed from its own foreground and
//! background, which no table of sixteen colours can hold.

use super::colour::luminance;
use super::{Colour, ColourDepth, Theme, ThemeKind, contrast};
use crate::term::face::Token;

/// Token, what is mixed into the background, and how much of it.
const TINTS: &[(Token, Tint, f32)] = &[
    (Token::User, Tint::Foreground, 0.07),
    (Token::Selected, Tint::Foreground, 0.17),
    (Token::Chip, Tint::Foreground, 0.12),
    (Token::CodeBlock, Tint::Foreground, 0.04),
    (Token::DiffAdded, Tint::Green, 0.13),
    (Token::DiffRemoved, Tint::Red, 0.13),
    (Token::DiffAddedWord, Tint::Green, 0.28),
    (Token::DiffRemovedWord, Tint::Red, 0.28),
];

/// Tokens that are quieter than the text, and how much of the background they take.
const QUIET: &[(Token, f32)] = &[
    (Token::Muted, 0.45),
    (Token::Placeholder, 0.45),
    (Token::Thinking, 0.35),
    (Token::ToolOutput, 0.3),
    (Token::Quote, 0.3),
    (Token::DiffGutter, 0.45),
    (Token::Footer, 0.45),
    (Token::SyntaxComment, 0.45),
];

#[derive(Debug, Clone, Copy)]
enum Tint {
    Foreground,
    Green,
    Red,
}

impl Theme {
    /// The theme for a terminal with these colours (red, green, blue). Only `system` changes, and only
    /// where there are more than sixteen colours.
    #[must_use]
    pub fn adapted(&self, foreground: (u8, u8, u8), background: (u8, u8, u8)) -> Self {
        let mut theme = self.clone();
        if self.kind != ThemeKind::System
            || !matches!(self.depth, ColourDepth::True | ColourDepth::Indexed)
        {
            return theme;
        }
        let rgb = |(red, green, blue)| Colour::Rgb(red, green, blue);
        let (text, ground) = (rgb(foreground), rgb(background));
        let dark = luminance(background) < 0.2;
        for (token, tint, part) in TINTS {
            let other = match tint {
                Tint::Foreground => text,
                Tint::Green if dark => Colour::Rgb(70, 220, 110),
                Tint::Green => Colour::Rgb(0, 160, 60),
                Tint::Red if dark => Colour::Rgb(255, 90, 90),
                Tint::Red => Colour::Rgb(220, 30, 40),
            };
            let look = &mut theme.looks[*token as usize];
            look.bg = Some(ground.mixed(other, *part));
            look.modifier.remove(ratatui::style::Modifier::REVERSED);
            if matches!(look.fg, Some(Colour::Ansi(_))) {
                look.fg = Some(Colour::Default);
            }
        }
        for (token, part) in QUIET {
            let look = &mut theme.looks[*token as usize];
            look.fg = Some(quiet(text, ground, *part));
            look.modifier.remove(ratatui::style::Modifier::DIM);
        }
        theme.resolve();
        theme
    }
}

/// `text` with as much of `ground` as leaves it readable.
fn quiet(text: Colour, ground: Colour, part: f32) -> Colour {
    (0..8)
        .map(|step| text.mixed(ground, part * (8 - step) as f32 / 8.0))
        .find(|colour| contrast(*colour, ground).is_some_and(|contrast| contrast >= 4.6))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::theme::ThemeStore;

    #[test]
    fn quiet_text_stays_readable_on_any_ground() {
        let (system, _) = ThemeStore::new(None, ColourDepth::True).load("system");
        for (foreground, background) in [
            ((230, 230, 230), (20, 20, 30)),
            ((40, 40, 40), (255, 255, 255)),
            ((101, 123, 131), (253, 246, 227)),
            ((131, 148, 150), (0, 43, 54)),
        ] {
            let theme = system.adapted(foreground, background);
            let rgb = |(red, green, blue)| Colour::Rgb(red, green, blue);
            let most = contrast(rgb(foreground), rgb(background)).unwrap();
            for (token, _) in QUIET {
                let fg = theme.looks[*token as usize].fg.unwrap();
                let contrast = contrast(fg, rgb(background)).unwrap();
                assert!(contrast >= most.min(4.5) - 0.01, "{token:?} {contrast}");
            }
        }
        let (dark, _) = ThemeStore::new(None, ColourDepth::True).load("dark");
        assert_eq!(dark.adapted((0, 0, 0), (255, 255, 255)), dark);
    }
}
