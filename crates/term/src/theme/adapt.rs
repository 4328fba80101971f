//! Adapts the theme `system` to the colours that the terminal reports: tints mixed from its
//! foreground and background, and its own hues, changed only as far as readability requires.

use super::colour::{ANSI_NAMES, luminance};
use super::{
    BACKGROUND_TOKENS, Colour, ColourDepth, DIFF_TOKENS, MIN_CONTRAST, Theme, ThemeKind, contrast,
};
use crate::text::face::Token;

/// The colours that a terminal reports (red, green, blue).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TerminalColours {
    pub foreground: Option<(u8, u8, u8)>,
    pub background: Option<(u8, u8, u8)>,
    /// The sixteen colours.
    pub ansi: [Option<(u8, u8, u8)>; ANSI_NAMES.len()],
    /// The reported colour scheme; without it, the background decides.
    pub dark: Option<bool>,
}

impl TerminalColours {
    /// Whether the terminal is dark; `None` before it has replied.
    pub fn is_dark(&self) -> Option<bool> {
        let reported = self.background.map(|base| luminance(base) < 0.2);
        self.dark.or(reported)
    }
}

/// Token, the colour mixed into the background, and its proportion.
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

/// The backgrounds of `DIFF_TOKENS` with 256 colours.
const DARK_DIFF: [u8; 4] = [22, 52, 28, 88];
const LIGHT_DIFF: [u8; 4] = [194, 224, 157, 217];

/// Contrast between text and background that leaves room for tints.
const TEXT_CONTRAST: f32 = 5.4;

/// Slightly above [`READABLE`], because colours are rounded.
const SAFE_CONTRAST: f32 = MIN_CONTRAST + 0.05;

/// Hues for a terminal that does not report its own.
const FALLBACK_HUES: [(u8, u8, u8); 8] = [
    (0, 0, 0),
    (205, 60, 60),
    (60, 160, 70),
    (180, 140, 40),
    (70, 120, 220),
    (170, 90, 200),
    (50, 150, 170),
    (220, 220, 220),
];

#[derive(Debug, Clone, Copy)]
enum Tint {
    Foreground,
    Green,
    Red,
}

impl Theme {
    /// Adapts the theme `system` to these colours; other themes do not change. All text of the theme then has a
    /// contrast of 4.5:1 on every background that it is used on. With sixteen colours, an unreadable colour is replaced
    /// by its bright variant or by the text colour.
    #[must_use]
    pub fn adapted(&self, reported: &TerminalColours) -> Self {
        let mut theme = self.clone();
        let Some(background) = reported
            .background
            .filter(|_| self.kind == ThemeKind::System)
        else {
            return theme;
        };
        match self.depth {
            ColourDepth::True | ColourDepth::Indexed => {}
            ColourDepth::Ansi => {
                theme.replace_unreadable(reported, background);
                return theme;
            }
            ColourDepth::None => return theme,
        }
        let rgb = |(red, green, blue)| Colour::Rgb(red, green, blue);
        let base = rgb(background);
        let strongest = if luminance(background) < 0.2 {
            Colour::Rgb(255, 255, 255)
        } else {
            Colour::Rgb(0, 0, 0)
        };
        let own = reported.foreground.map_or(strongest, rgb);
        let text = mix_until_readable(own, strongest, &[base], TEXT_CONTRAST);
        theme.background = Some(base);
        theme.mix_tints(text, base);
        if theme.depth == ColourDepth::Indexed {
            theme.set_diff_backgrounds(text, strongest, base);
        }
        for &(token, _) in Token::ALL {
            let Some(part) = token.dimmed() else { continue };
            let backgrounds = theme.backgrounds_of(token);
            let dimmed = text.mixed(base, part);
            let spec = &mut theme.specs[token as usize];
            spec.fg = Some(mix_until_readable(
                dimmed,
                text,
                &backgrounds,
                SAFE_CONTRAST,
            ));
            spec.modifier.remove(ratatui::style::Modifier::DIM);
        }
        for &(token, _) in Token::ALL {
            let backgrounds = theme.backgrounds_of(token);
            let depth = theme.depth;
            let spec = &mut theme.specs[token as usize];
            spec.fg = match spec.fg {
                Some(Colour::Default) if text != own => Some(text),
                Some(Colour::Ansi(index)) => {
                    let known = reported.ansi[usize::from(index) % ANSI_NAMES.len()].map(rgb);
                    let mut hue = known
                        .unwrap_or(rgb(FALLBACK_HUES[usize::from(index) % FALLBACK_HUES.len()]));
                    let is_readable = |background: &Colour| {
                        contrast(hue, *background).is_none_or(|found| found >= SAFE_CONTRAST)
                    };
                    let lightens = strongest == Colour::Rgb(255, 255, 255);
                    if depth == ColourDepth::Indexed
                        && lightens
                        && !backgrounds.iter().all(is_readable)
                    {
                        // With few colours, a hue that is mixed with white becomes grey: first as bright as it can be.
                        hue = hue.brightest();
                    }
                    let strong = match depth {
                        ColourDepth::Indexed => strongest,
                        _ => text,
                    };
                    let readable = mix_until_readable(hue, strong, &backgrounds, SAFE_CONTRAST);
                    let same = known == Some(readable);
                    Some(if same { Colour::Ansi(index) } else { readable })
                }
                other => other,
            };
        }
        for (token, fallback) in self.followers() {
            theme.specs[token as usize] = theme.specs[fallback as usize];
        }
        theme.resolve();
        theme
    }

    /// The tokens with the style of their fallback, and that token.
    fn followers(&self) -> impl Iterator<Item = (Token, Token)> {
        let pairs = Token::ALL.iter().filter_map(|(token, _)| {
            let fallback = token.with_fallbacks().nth(1)?;
            Some((*token, fallback))
        });
        let style = |token: Token| self.specs[token as usize];
        pairs.filter(move |(token, fallback)| style(*token) == style(*fallback))
    }

    /// Replaces colours of the sixteen that are unreadable on the terminal's background, such as
    /// blue on black.
    fn replace_unreadable(&mut self, reported: &TerminalColours, background: (u8, u8, u8)) {
        let rgb = |(red, green, blue)| Colour::Rgb(red, green, blue);
        let is_readable = |index: u8| {
            let hue = reported.ansi[usize::from(index) % ANSI_NAMES.len()]?;
            let found = contrast(rgb(hue), rgb(background))?;
            Some(found >= MIN_CONTRAST)
        };
        let dark = luminance(background) < 0.2;
        for spec in &mut self.specs {
            if let (Some(Colour::Ansi(index)), None) = (spec.fg, spec.bg)
                && is_readable(index) == Some(false)
            {
                let bright = index | 8;
                let helps = dark && index < 8 && is_readable(bright) != Some(false);
                spec.fg = Some(if helps {
                    Colour::Ansi(bright)
                } else {
                    Colour::Default
                });
            }
        }
        self.resolve();
    }

    /// The backgrounds that a token is drawn on. With 256 colours the backgrounds of a diff are strong, so that only
    /// the text of diffs of the terminal's own colours has to be readable on them.
    pub(super) fn backgrounds_of(&self, token: Token) -> Vec<Colour> {
        let name = token.name();
        let in_diffs = self.kind == ThemeKind::System
            && (token == Token::Text
                || ["diff_", "syntax_"]
                    .iter()
                    .any(|start| name.starts_with(start)));
        if self.depth != ColourDepth::Indexed || in_diffs {
            return self.backgrounds();
        }
        let tints = BACKGROUND_TOKENS
            .iter()
            .filter(|token| !DIFF_TOKENS.contains(token))
            .map(|token| self.specs[*token as usize].bg);
        tints.chain([self.background]).flatten().collect()
    }

    /// Gives added and removed lines backgrounds of their own among the 256 colours. Where the text would not be readable
    /// on them, the lines differ by the colour of their signs.
    fn set_diff_backgrounds(&mut self, text: Colour, strongest: Colour, base: Colour) {
        let dark = base.rgb().is_some_and(|base| luminance(base) < 0.2);
        let indices = if dark { DARK_DIFF } else { LIGHT_DIFF };
        let is_readable =
            |on: Colour| contrast(text, on).is_some_and(|found| found >= MIN_CONTRAST);
        let fits = indices[..2]
            .iter()
            .all(|index| is_readable(Colour::Indexed(*index)));
        for (place, (token, index)) in DIFF_TOKENS.into_iter().zip(indices).enumerate() {
            let spec = &mut self.specs[token as usize];
            let is_word = place >= 2;
            if fits {
                let on = Colour::Indexed(index);
                spec.bg = Some(on);
                let needs_more = is_word && !is_readable(on);
                spec.fg = Some(if needs_more {
                    strongest
                } else {
                    Colour::Default
                });
            } else {
                let is_added = place % 2 == 0;
                spec.bg = Some(base);
                spec.fg = Some(Colour::Ansi(if is_added { 2 } else { 1 }));
                if is_word {
                    spec.modifier.insert(ratatui::style::Modifier::REVERSED);
                }
            }
        }
    }

    /// Sets the tinted backgrounds, no stronger than the text on them allows.
    fn mix_tints(&mut self, text: Colour, base: Colour) {
        let dark = base.rgb().is_some_and(|base| luminance(base) < 0.2);
        for (token, tint, part) in TINTS {
            let other = match tint {
                Tint::Foreground => text,
                Tint::Green if dark => Colour::Rgb(70, 220, 110),
                Tint::Green => Colour::Rgb(0, 160, 60),
                Tint::Red if dark => Colour::Rgb(255, 90, 90),
                Tint::Red => Colour::Rgb(220, 30, 40),
            };
            let mixed = (0..10)
                .map(|step| base.mixed(other, *part * 0.85_f32.powi(step)))
                .find(|tint| contrast(text, *tint).is_some_and(|found| found >= SAFE_CONTRAST));
            let spec = &mut self.specs[*token as usize];
            spec.bg = Some(mixed.unwrap_or(base));
            spec.modifier.remove(ratatui::style::Modifier::REVERSED);
            if matches!(spec.fg, Some(Colour::Ansi(_))) {
                spec.fg = Some(Colour::Default);
            }
        }
        debug_assert!(
            BACKGROUND_TOKENS
                .iter()
                .all(|token| self.specs[*token as usize].bg.is_some())
        );
    }
}

/// Mixes as little of `strong` into `colour` as makes it readable on every background.
pub(super) fn mix_until_readable(
    colour: Colour,
    strong: Colour,
    backgrounds: &[Colour],
    least: f32,
) -> Colour {
    let is_readable = |colour: Colour| {
        let enough =
            |background: &Colour| contrast(colour, *background).is_none_or(|found| found >= least);
        backgrounds.iter().all(enough)
    };
    (0..=20)
        .map(|step| {
            if step == 0 {
                colour
            } else {
                colour.mixed(strong, step as f32 / 20.0)
            }
        })
        .find(|mixed| is_readable(*mixed))
        .unwrap_or(strong)
}
