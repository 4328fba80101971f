//! Themes. Layout uses tokens (`face.rs`); a theme is the table that maps them to styles. It is
//! built once when the theme is loaded, with colours already reduced to what the terminal supports.
//!
//! Nothing else in the program names a colour.

mod adapt;
mod colour;
#[cfg(test)]
mod contrast_tests;
mod diff_colours;
mod explicit;
mod file;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod store;
mod vision;

use ratatui::style::{Color, Modifier, Style};

pub use adapt::TerminalColours;
pub use colour::ColourDepth;
pub(crate) use colour::{Colour, contrast};
use diff_colours::DIFF_TOKENS;
pub use store::{ThemeEntry, ThemeStore};

use crate::frame::linear;
use crate::text::face::{Emphasis, Face, FaceColours, Token};

/// The terminal background that a theme is made for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThemeKind {
    Dark,
    Light,
    /// The terminal's own colours.
    #[default]
    System,
}

const TOKENS: usize = Token::ALL.len();

/// Tokens that text of other tokens is drawn on, apart from the background.
const BACKGROUND_TOKENS: &[Token] = &[
    Token::User,
    Token::CodeBlock,
    Token::DiffAdded,
    Token::DiffRemoved,
    Token::Selected,
];

/// Minimum contrast of text.
const MIN_CONTRAST: f32 = 4.5;

/// The style of one token before its colours are reduced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct StyleSpec {
    fg: Option<Colour>,
    bg: Option<Colour>,
    modifier: Modifier,
}

/// A style for every token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    name: String,
    kind: ThemeKind,
    depth: ColourDepth,
    /// The background that the theme is made for. Painted unless the theme leaves it to the
    /// terminal.
    background: Option<Colour>,
    paints_background: bool,
    specs: [StyleSpec; TOKENS],
    styles: [Style; TOKENS],
    /// For each token, the lines of a diff on which it has the colour of the line, as bits.
    lost_on_diffs: [u8; TOKENS],
    /// Marks selected cells for screen reader output.
    marks_selection: bool,
}

/// Modifiers that replace colours with a meaning when there are no colours.
const MODIFIERS_WITHOUT_COLOUR: &[(Token, Modifier)] = &[
    (Token::Selected, Modifier::REVERSED),
    (Token::Match, Modifier::REVERSED),
    (Token::Chip, Modifier::REVERSED),
    (Token::Error, Modifier::BOLD),
    (Token::Warning, Modifier::BOLD),
    (Token::BorderActive, Modifier::BOLD),
    (Token::DiffAddedWord, Modifier::UNDERLINED),
    (Token::DiffRemovedWord, Modifier::UNDERLINED),
];

const EMPHASES: [(Emphasis, Modifier); 6] = [
    (Emphasis::BOLD, Modifier::BOLD),
    (Emphasis::ITALIC, Modifier::ITALIC),
    (Emphasis::UNDERLINE, Modifier::UNDERLINED),
    (Emphasis::STRIKE, Modifier::CROSSED_OUT),
    (Emphasis::DIM, Modifier::DIM),
    (Emphasis::REVERSE, Modifier::REVERSED),
];

impl Theme {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn kind(&self) -> ThemeKind {
        self.kind
    }

    /// Sets whether selected cells get the mark for screen reader output.
    pub fn mark_selected(&mut self, marks_selection: bool) {
        self.marks_selection = marks_selection;
    }

    pub fn marks_selected(&self) -> bool {
        self.marks_selection
    }

    /// The style of a face: that of its token, on the background of its ground, with its emphasis.
    pub fn style(&self, face: impl Into<Face>) -> Style {
        let face = face.into();
        let mut style = self.styles[face.token as usize];
        if let Some(background) = face.background {
            let is_lost = DIFF_TOKENS.iter().enumerate().any(|(place, token)| {
                *token == background && self.lost_on_diffs[face.token as usize] >> place & 1 == 1
            });
            let background = self.styles[background as usize];
            style.bg = background.bg.or(style.bg);
            if self.depth == ColourDepth::Ansi && background.bg.is_some() {
                // One of the sixteen colours is no tint: only the ground's own text is sure to be
                // readable on it.
                style.fg = background.fg;
            }
            if is_lost {
                style.fg = background.fg;
            }
            if background.add_modifier.contains(Modifier::REVERSED) {
                // A ground without a colour is shown by reversing. Text in another colour would
                // reverse to another background, so it gets the ground's colours.
                style.fg = background.fg;
                style.add_modifier -= Modifier::DIM;
                style.add_modifier |= Modifier::REVERSED;
            }
        }
        if face.colours != FaceColours::default() {
            self.apply_colours(&mut style, face);
        }
        if self.marks_selection
            && (face.token == Token::Selected || face.background == Some(Token::Selected))
        {
            style.add_modifier |= linear::SELECTION_MARK;
        }
        if face.emphasis != Emphasis::default() {
            for (emphasis, modifier) in EMPHASES {
                if face.emphasis.contains(emphasis) {
                    style.add_modifier |= modifier;
                }
            }
        }
        style
    }

    /// Foreground and background of a token as `#rrggbb`, for output other than a terminal. `None`
    /// for the terminal's own colours.
    pub fn hex(&self, token: Token) -> (Option<String>, Option<String>) {
        let spec = self.specs[token as usize];
        (spec.fg.and_then(hex), spec.bg.and_then(hex))
    }

    /// The background that the theme is made for, if known.
    pub fn background_rgb(&self) -> Option<(u8, u8, u8)> {
        self.background?.rgb()
    }

    /// The background that the theme is made for, as `#rrggbb`.
    pub fn background_hex(&self) -> Option<String> {
        self.background.and_then(hex)
    }

    /// The style that fills the screen before anything is drawn.
    pub fn base(&self) -> Style {
        let text = self.styles[Token::Text as usize];
        let background = self.background.filter(|_| self.paints_background);
        Style {
            bg: background
                .and_then(|background| self.depth.reduce(background))
                .or(text.bg),
            ..text
        }
    }

    /// Computes the styles from the unreduced ones.
    fn resolve(&mut self) {
        self.separate_diff_colours();
        for index in 0..TOKENS {
            let (token, _) = Token::ALL[index];
            let spec = self.specs[index];
            let bg = spec.bg.filter(|bg| !self.loses_tint(token, *bg));
            let mut style = Style {
                fg: spec.fg.and_then(|fg| self.reduced(token, fg, bg)),
                bg: bg.and_then(|bg| self.depth.reduce(bg)),
                ..Style::new()
            };
            style.add_modifier = spec.modifier;
            if self.depth == ColourDepth::Ansi && self.is_same_as_background(token, style.bg) {
                (style.fg, style.bg) = (None, None);
                style.add_modifier |= Modifier::REVERSED;
            }
            if self.depth == ColourDepth::None {
                let replacement = MODIFIERS_WITHOUT_COLOUR
                    .iter()
                    .find(|(other, _)| *other == token);
                style.add_modifier |=
                    replacement.map_or(Modifier::empty(), |(_, modifier)| *modifier);
            }
            self.styles[index] = style;
        }
        for (index, (token, _)) in Token::ALL.iter().enumerate() {
            self.lost_on_diffs[index] = self.lost_on_diffs(*token);
        }
    }

    /// The nearest terminal colour that is as readable as `fg` on its backgrounds.
    fn reduced(&self, token: Token, fg: Colour, own: Option<Colour>) -> Option<Color> {
        if self.depth == ColourDepth::True {
            return self.depth.reduce(fg);
        }
        let backgrounds: Vec<Colour> = match (own, self.depth) {
            (Some(own), _) => vec![own],
            (None, ColourDepth::Indexed) => self.backgrounds_of(token),
            (None, _) => self.background.into_iter().collect(),
        };
        let least = backgrounds
            .iter()
            .filter_map(|background| contrast(fg, *background))
            .fold(MIN_CONTRAST, f32::min);
        self.depth.reduce_readable(fg, &backgrounds, least)
    }

    /// The background and all other backgrounds of text.
    fn backgrounds(&self) -> Vec<Colour> {
        let tints = BACKGROUND_TOKENS
            .iter()
            .map(|token| self.specs[*token as usize].bg);
        tints.chain([self.background]).flatten().collect()
    }

    /// Whether a token that must be visible has the same colour as the background.
    fn is_same_as_background(&self, token: Token, bg: Option<Color>) -> bool {
        let background = self
            .background
            .and_then(|background| self.depth.reduce(background));
        matches!(token, Token::Selected | Token::Match | Token::Chip)
            && bg.is_some()
            && bg == background
    }

    /// Whether a tint is lost: the nearest of sixteen colours would be a glaring block.
    fn loses_tint(&self, token: Token, bg: Colour) -> bool {
        let Some(background) = self.background else {
            return false;
        };
        self.depth == ColourDepth::Ansi
            && !matches!(token, Token::Selected | Token::Match | Token::Chip)
            && contrast(bg, background).is_some_and(|contrast| contrast < 3.0)
    }
}

fn hex(colour: Colour) -> Option<String> {
    let (red, green, blue) = colour.rgb()?;
    Some(format!("#{red:02x}{green:02x}{blue:02x}"))
}

impl Default for Theme {
    /// The terminal's own foreground and background for everything.
    fn default() -> Self {
        Self {
            name: "plain".to_owned(),
            kind: ThemeKind::System,
            depth: ColourDepth::None,
            background: None,
            paints_background: false,
            specs: [StyleSpec::default(); TOKENS],
            styles: [Style::new(); TOKENS],
            lost_on_diffs: [0; TOKENS],
            marks_selection: false,
        }
    }
}
