//! Colours. Layout speaks of tokens (`face.rs`); a theme is the table that turns them into styles, made
//! once when it is loaded, with its colours already reduced to what the terminal can show.
//!
//! Nothing else in the program names a colour of its own.

mod adapt;
mod colour;
#[cfg(test)]
mod contrast_tests;
mod file;
mod ink;
mod store;

use ratatui::style::{Color, Modifier, Style};

pub use adapt::TerminalColours;
pub use colour::{Colour, ColourDepth, contrast};
pub use store::{ThemeEntry, ThemeStore};

use super::face::{Emphasis, Face, Ink, Token};
use super::linear;

/// What a theme is made for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThemeKind {
    Dark,
    Light,
    /// The terminal's own colours.
    #[default]
    System,
}

const TOKENS: usize = Token::ALL.len();

/// What text of other tokens is drawn on, beside the background.
const GROUNDS: &[Token] = &[
    Token::User,
    Token::CodeBlock,
    Token::DiffAdded,
    Token::DiffRemoved,
    Token::Selected,
];

/// Least contrast of text.
const READABLE: f32 = 4.5;

/// The look of one token before the colours are reduced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Look {
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
    /// The background the theme is made for. Painted unless the theme leaves it to the terminal.
    background: Option<Colour>,
    paints: bool,
    looks: [Look; TOKENS],
    styles: [Style; TOKENS],
    /// What is selected bears the mark of a linear screen.
    marks: bool,
}

/// Where a colour alone tells something, a modifier tells it without colours.
const WITHOUT_COLOUR: &[(Token, Modifier)] = &[
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

    /// Whether what is selected bears the mark that a linear screen looks for.
    pub fn mark_selected(&mut self, marks: bool) {
        self.marks = marks;
    }

    pub fn marks_selected(&self) -> bool {
        self.marks
    }

    pub fn depth(&self) -> ColourDepth {
        self.depth
    }

    /// The style of a face: that of its token, on the background of its ground, with its emphasis.
    pub fn style(&self, face: impl Into<Face>) -> Style {
        let face = face.into();
        let mut style = self.styles[face.token as usize];
        if let Some(ground) = face.ground {
            let ground = self.styles[ground as usize];
            style.bg = ground.bg.or(style.bg);
            if self.depth == ColourDepth::Ansi && ground.bg.is_some() {
                // One of the sixteen as a ground is no tint: only its own text is sure to be seen on it.
                style.fg = ground.fg;
            }
            if ground.add_modifier.contains(Modifier::REVERSED) {
                // A ground without a colour of its own shows by being reversed, and as one piece: another
                // colour of the text would be another ground.
                style.fg = ground.fg;
                style.add_modifier -= Modifier::DIM;
                style.add_modifier |= Modifier::REVERSED;
            }
        }
        if face.ink != Ink::default() {
            self.dip(&mut style, face);
        }
        if self.marks && (face.token == Token::Selected || face.ground == Some(Token::Selected)) {
            style.add_modifier |= linear::MARK;
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

    /// Foreground and background of a token as `#rrggbb`, for what is shown elsewhere than in a terminal.
    /// Colours that only a terminal knows are not set.
    pub fn hex(&self, token: Token) -> (Option<String>, Option<String>) {
        let look = self.looks[token as usize];
        (look.fg.and_then(hex), look.bg.and_then(hex))
    }

    /// The background the theme is made for, where it is known.
    pub fn background_rgb(&self) -> Option<(u8, u8, u8)> {
        self.background?.rgb()
    }

    /// The background the theme is made for, as `#rrggbb`.
    pub fn background_hex(&self) -> Option<String> {
        self.background.and_then(hex)
    }

    /// The style that the whole screen is filled with before anything is drawn.
    pub fn base(&self) -> Style {
        let text = self.styles[Token::Text as usize];
        let ground = self.background.filter(|_| self.paints);
        Style {
            bg: ground
                .and_then(|ground| self.depth.reduce(ground))
                .or(text.bg),
            ..text
        }
    }

    /// Fills the table from the looks.
    fn resolve(&mut self) {
        for index in 0..TOKENS {
            let (token, _) = Token::ALL[index];
            let look = self.looks[index];
            let bg = look.bg.filter(|bg| !self.is_lost_tint(token, *bg));
            let mut style = Style {
                fg: look.fg.and_then(|fg| self.shown(fg, bg)),
                bg: bg.and_then(|bg| self.depth.reduce(bg)),
                ..Style::new()
            };
            style.add_modifier = look.modifier;
            if self.depth == ColourDepth::Ansi && self.is_same_as_background(token, style.bg) {
                (style.fg, style.bg) = (None, None);
                style.add_modifier |= Modifier::REVERSED;
            }
            if self.depth == ColourDepth::None {
                let told = WITHOUT_COLOUR.iter().find(|(other, _)| *other == token);
                style.add_modifier |= told.map_or(Modifier::empty(), |(_, modifier)| *modifier);
            }
            self.styles[index] = style;
        }
    }

    /// The nearest colour the terminal has that is as readable as this one where it stands.
    fn shown(&self, fg: Colour, own: Option<Colour>) -> Option<Color> {
        if self.depth == ColourDepth::True {
            return self.depth.reduce(fg);
        }
        let grounds: Vec<Colour> = match (own, self.depth) {
            (Some(own), _) => vec![own],
            (None, ColourDepth::Indexed) => self.grounds(),
            (None, _) => self.background.into_iter().collect(),
        };
        let least = grounds
            .iter()
            .filter_map(|ground| contrast(fg, *ground))
            .fold(READABLE, f32::min);
        self.depth.reduce_readable(fg, &grounds, least)
    }

    /// The background, and what else text may stand on.
    fn grounds(&self) -> Vec<Colour> {
        let tints = GROUNDS.iter().map(|token| self.looks[*token as usize].bg);
        tints.chain([self.background]).flatten().collect()
    }

    /// Whether what has to stand out would be one with the background.
    fn is_same_as_background(&self, token: Token, bg: Option<Color>) -> bool {
        let background = self.background.and_then(|ground| self.depth.reduce(ground));
        matches!(token, Token::Selected | Token::Match | Token::Chip)
            && bg.is_some()
            && bg == background
    }

    /// Sixteen colours have no tints: the nearest one would be a glaring block.
    fn is_lost_tint(&self, token: Token, bg: Colour) -> bool {
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
            paints: false,
            looks: [Look::default(); TOKENS],
            styles: [Style::new(); TOKENS],
            marks: false,
        }
    }
}
