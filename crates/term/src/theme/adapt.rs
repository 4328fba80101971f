//! The system theme once the terminal has told its colours: tints mixed from its own foreground and
//! background, which no table of sixteen colours can hold, and its own hues, moved only as far as it takes to
//! be read.

use super::colour::{NAMES, luminance};
use super::{Colour, ColourDepth, GROUNDS, READABLE, Theme, ThemeKind, contrast};
use crate::face::Token;

/// What a terminal said of its colours (red, green, blue).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TerminalColours {
    pub foreground: Option<(u8, u8, u8)>,
    pub background: Option<(u8, u8, u8)>,
    /// The sixteen.
    pub ansi: [Option<(u8, u8, u8)>; NAMES.len()],
    /// Dark or light, as it said last; its background tells otherwise.
    pub dark: Option<bool>,
}

impl TerminalColours {
    /// Whether the terminal is dark; not known before it has answered.
    pub fn is_dark(&self) -> Option<bool> {
        let told = self.background.map(|ground| luminance(ground) < 0.2);
        self.dark.or(told)
    }
}

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

/// Contrast of the text to the background that leaves room for tints under it.
const ROOMY: f32 = 5.4;

/// A little more than what is promised: colours are rounded.
const SAFE: f32 = READABLE + 0.05;

/// Hues for a terminal that keeps its own to itself.
const HUES: [(u8, u8, u8); 8] = [
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
    /// The theme for a terminal with these colours. Only `system` changes. All its text then has a contrast of
    /// 4.5:1 on everything it may stand on; with sixteen colours, those that cannot be read on the background
    /// are left for brighter ones or for that of the text.
    #[must_use]
    pub fn adapted(&self, told: &TerminalColours) -> Self {
        let mut theme = self.clone();
        let Some(background) = told.background.filter(|_| self.kind == ThemeKind::System) else {
            return theme;
        };
        match self.depth {
            ColourDepth::True | ColourDepth::Indexed => {}
            ColourDepth::Ansi => {
                theme.brighten(told, background);
                return theme;
            }
            ColourDepth::None => return theme,
        }
        let rgb = |(red, green, blue)| Colour::Rgb(red, green, blue);
        let ground = rgb(background);
        let strongest = if luminance(background) < 0.2 {
            Colour::Rgb(255, 255, 255)
        } else {
            Colour::Rgb(0, 0, 0)
        };
        let own = told.foreground.map_or(strongest, rgb);
        let text = towards(own, strongest, &[ground], ROOMY);
        theme.background = Some(ground);
        theme.mix_tints(text, ground);
        let grounds = theme.grounds();
        for (token, part) in QUIET {
            let look = &mut theme.looks[*token as usize];
            look.fg = Some(towards(text.mixed(ground, *part), text, &grounds, SAFE));
            look.modifier.remove(ratatui::style::Modifier::DIM);
        }
        for look in &mut theme.looks {
            look.fg = match look.fg {
                Some(Colour::Default) if text != own => Some(text),
                Some(Colour::Ansi(index)) => {
                    let known = told.ansi[usize::from(index) % NAMES.len()].map(rgb);
                    let hue = known.unwrap_or(rgb(HUES[usize::from(index) % HUES.len()]));
                    let readable = towards(hue, text, &grounds, SAFE);
                    let same = known == Some(readable);
                    Some(if same { Colour::Ansi(index) } else { readable })
                }
                other => other,
            };
        }
        theme.resolve();
        theme
    }

    /// Leaves those of the sixteen that cannot be read on the terminal's background: its blue on black.
    fn brighten(&mut self, told: &TerminalColours, background: (u8, u8, u8)) {
        let rgb = |(red, green, blue)| Colour::Rgb(red, green, blue);
        let is_readable = |index: u8| {
            let hue = told.ansi[usize::from(index) % NAMES.len()]?;
            let found = contrast(rgb(hue), rgb(background))?;
            Some(found >= READABLE)
        };
        let dark = luminance(background) < 0.2;
        for look in &mut self.looks {
            if let (Some(Colour::Ansi(index)), None) = (look.fg, look.bg)
                && is_readable(index) == Some(false)
            {
                let bright = index | 8;
                let helps = dark && index < 8 && is_readable(bright) != Some(false);
                look.fg = Some(if helps {
                    Colour::Ansi(bright)
                } else {
                    Colour::Default
                });
            }
        }
        self.resolve();
    }

    /// Grounds of their own for what is set apart, no stronger than the text on them allows.
    fn mix_tints(&mut self, text: Colour, ground: Colour) {
        let dark = ground.rgb().is_some_and(|ground| luminance(ground) < 0.2);
        for (token, tint, part) in TINTS {
            let other = match tint {
                Tint::Foreground => text,
                Tint::Green if dark => Colour::Rgb(70, 220, 110),
                Tint::Green => Colour::Rgb(0, 160, 60),
                Tint::Red if dark => Colour::Rgb(255, 90, 90),
                Tint::Red => Colour::Rgb(220, 30, 40),
            };
            let mixed = (0..10)
                .map(|step| ground.mixed(other, *part * 0.85_f32.powi(step)))
                .find(|tint| contrast(text, *tint).is_some_and(|found| found >= SAFE));
            let look = &mut self.looks[*token as usize];
            look.bg = Some(mixed.unwrap_or(ground));
            look.modifier.remove(ratatui::style::Modifier::REVERSED);
            if matches!(look.fg, Some(Colour::Ansi(_))) {
                look.fg = Some(Colour::Default);
            }
        }
        debug_assert!(
            GROUNDS
                .iter()
                .all(|token| self.looks[*token as usize].bg.is_some())
        );
    }
}

/// `colour` with as little of `strong` as makes it readable on every ground.
pub(super) fn towards(colour: Colour, strong: Colour, grounds: &[Colour], least: f32) -> Colour {
    let is_readable = |colour: Colour| {
        let enough = |ground: &Colour| contrast(colour, *ground).is_none_or(|found| found >= least);
        grounds.iter().all(enough)
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
