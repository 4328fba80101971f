//! The colours of diffs where a terminal has 256 or 16 of them: the nearest ones of two tints are often the same grey, so
//! they are chosen by their hue, and so that everybody can distinguish them from each other and from other lines.

use ratatui::style::{Color, Modifier};

use super::colour::{ansi_rgb, distance, indexed, nearest_indexed};
use super::vision::{are_apart, hue_difference};
use super::{Colour, ColourDepth, MIN_CONTRAST, Theme, ThemeKind, contrast};
use crate::text::face::Token;

/// Lines and their changed words.
pub(super) const DIFF_TOKENS: [Token; 4] = [
    Token::DiffAdded,
    Token::DiffRemoved,
    Token::DiffAddedWord,
    Token::DiffRemovedWord,
];

/// The colours of the cube, without the greys.
const CUBE: std::ops::Range<u8> = 16..232;

/// The greys of the sixteen colours.
const GREYS: [u8; 4] = [0, 7, 8, 15];

/// How much a degree of another hue weighs against other differences.
const HUE_WEIGHT: f32 = 8.0;

type Rgb = (u8, u8, u8);

impl Theme {
    /// Gives the diff colours that differ among the few of the terminal.
    pub(super) fn separate_diff_colours(&mut self) {
        let Some(background) = self.background.and_then(Colour::rgb) else {
            return;
        };
        match self.depth {
            // The theme `system` adapts its own to the terminal.
            ColourDepth::Indexed if self.kind == ThemeKind::System => {}
            ColourDepth::Indexed => self.choose_grounds(background),
            ColourDepth::Ansi => self.choose_inks(),
            ColourDepth::True | ColourDepth::None => {}
        }
    }

    fn text_of(&self, token: Token) -> Option<Colour> {
        let of = |token: Token| self.specs[token as usize].fg;
        of(token)
            .filter(|fg| *fg != Colour::Default)
            .or(of(Token::Text))
    }

    fn choose_grounds(&mut self, background: Rgb) {
        let mut taken = vec![indexed(nearest_indexed(background))];
        for token in DIFF_TOKENS {
            let spec = self.specs[token as usize];
            let Some(Colour::Rgb(red, green, blue)) = spec.bg else {
                continue;
            };
            let wanted = (red, green, blue);
            let text = self.text_of(token);
            let is_readable = |on: u8| {
                let found = text.and_then(|text| contrast(text, Colour::Indexed(on)));
                found.is_none_or(|found| found >= MIN_CONTRAST)
            };
            let fits = CUBE.filter(|index| {
                let colour = indexed(*index);
                let is_grey = colour.0 == colour.1 && colour.1 == colour.2;
                let is_new = taken.iter().all(|other| are_apart(*other, colour));
                !is_grey && is_new && is_readable(*index)
            });
            let nearest = fits.min_by_key(|index| cost(indexed(*index), wanted));
            if let Some(index) = nearest {
                taken.push(indexed(index));
                self.specs[token as usize].bg = Some(Colour::Indexed(index));
            }
        }
    }

    /// A tint of the sixteen colours would be a glaring block: the text of the line has the hue, and its changed words are
    /// reversed.
    fn choose_inks(&mut self) {
        let Some(background) = self
            .background
            .and_then(|colour| self.depth.reduced_rgb(colour))
        else {
            return;
        };
        let is_readable = |index: &u8| {
            let found = contrast(Colour::Ansi(*index), rgb(background));
            found.is_some_and(|found| found >= MIN_CONTRAST)
        };
        // Other lines are grey, so that the hues are left to the changed ones.
        let plain = self.specs[Token::DiffContext as usize].fg;
        let mut taken: Vec<Rgb> = Vec::new();
        if let Some(plain) = plain.and_then(Colour::rgb) {
            let greys = GREYS.into_iter().filter(is_readable);
            if let Some(index) = greys.min_by_key(|index| distance(ansi_rgb(*index), plain)) {
                taken.push(ansi_rgb(index));
                self.specs[Token::DiffContext as usize].fg = Some(Colour::Ansi(index));
            }
        }
        let pairs = [
            (Token::DiffRemoved, Token::DiffRemovedWord),
            (Token::DiffAdded, Token::DiffAddedWord),
        ];
        for (line, word) in pairs {
            let Some(wanted) = self.specs[line as usize].bg.and_then(Colour::rgb) else {
                continue;
            };
            let is_new = |index: &u8| {
                let colour = ansi_rgb(*index);
                taken.iter().all(|other| are_apart(*other, colour))
            };
            let is_coloured = |index: &u8| !GREYS.contains(index);
            let fits = (0..16)
                .filter(is_coloured)
                .filter(&is_readable)
                .filter(is_new);
            let nearest = fits.min_by_key(|index| cost(ansi_rgb(*index), wanted));
            let Some(index) = nearest else {
                continue;
            };
            taken.push(ansi_rgb(index));
            for token in [line, word] {
                let spec = &mut self.specs[token as usize];
                (spec.fg, spec.bg) = (Some(Colour::Ansi(index)), None);
                spec.modifier.set(Modifier::REVERSED, token == word);
            }
        }
    }

    /// For each line or word of a diff, a bit if text of this token, as the terminal shows it, cannot be read on it, or
    /// would hide what the line is.
    pub(super) fn lost_on_diffs(&self, token: Token) -> u8 {
        let is_few = matches!(self.depth, ColourDepth::Indexed | ColourDepth::Ansi);
        let shown = |colour: Option<Color>| Colour::of_terminal(colour?);
        let fg = shown(self.styles[token as usize].fg);
        let lost = |on: Token| {
            let line = self.styles[on as usize];
            let Some(bg) = line.bg else {
                return is_few && shown(line.fg).is_some();
            };
            let found = fg.and_then(|fg| contrast(fg, shown(Some(bg))?));
            is_few && found.is_some_and(|found| found < MIN_CONTRAST)
        };
        let bits = DIFF_TOKENS.iter().enumerate();
        bits.fold(0, |bits, (place, on)| bits | (u8::from(lost(*on)) << place))
    }
}

fn rgb((red, green, blue): Rgb) -> Colour {
    Colour::Rgb(red, green, blue)
}

fn cost(colour: Rgb, wanted: Rgb) -> i32 {
    let hue = hue_difference(colour, wanted);
    distance(colour, wanted).saturating_add((hue * hue * HUE_WEIGHT) as i32)
}
