//! The semantic style of text. Layout uses faces and only a theme knows colours, so changing the
//! theme repaints without a new layout.

use osier_base::ansi::{Hue, Style};

/// Declares the tokens, one row each: `Name = "name in theme files" or Fallback`. A token that is less prominent than text
/// is `dimmed` by a part of the background.
macro_rules! tokens {
    ($($(#[$meta:meta])* $token:ident = $name:literal $(or $fallback:ident)? $(dimmed $part:literal)?,)+) => {
        /// The role of text. A theme has a style for every token.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Token {
            $($(#[$meta])* $token,)+
        }

        impl Token {
            /// Every token with its name in theme files, in enum order.
            pub const ALL: &[(Self, &str)] = &[$((Self::$token, $name)),+];

            /// The part of the background that the theme `system` mixes into the colour of text.
            pub(crate) fn dimmed(self) -> Option<f32> {
                match self {
                    $($(Self::$token => Some($part),)?)+
                    _ => None,
                }
            }

            /// The token that this one follows: a theme that sets only the followed token gives both tokens its style.
            fn fallback(self) -> Option<Self> {
                match self {
                    $($(Self::$token => Some(Self::$fallback),)?)+
                    _ => None,
                }
            }
        }
    };
}

// recipe: a colour, 1: its row, with the token whose style it has in themes that do not set it; `dimmed` if it is less prominent than text and follows no dimmed token
// recipe: a colour, 2: `themes/dark.toml`, `themes/system.toml`: its style, unless it is the one of the token that it follows
tokens! {
    #[default]
    Text = "text",
    Muted = "muted" dimmed 0.45,
    Accent = "accent",
    Border = "border",
    BorderActive = "border_active",
    Title = "title",
    Selected = "selected",
    Match = "match",
    Placeholder = "placeholder" or Muted dimmed 0.45,
    User = "user",
    UserMarker = "user_marker",
    Thinking = "thinking" dimmed 0.35,
    Tool = "tool",
    ToolName = "tool_name",
    ToolOutput = "tool_output" dimmed 0.3,
    Working = "working",
    Success = "success",
    Warning = "warning",
    Error = "error",
    Heading = "heading",
    Code = "code",
    CodeBlock = "code_block",
    Link = "link",
    Quote = "quote" dimmed 0.3,
    ListMarker = "list_marker",
    TableBorder = "table_border" or Border,
    Rule = "rule" or Border,
    DiffAdded = "diff_added",
    DiffRemoved = "diff_removed",
    DiffAddedWord = "diff_added_word",
    DiffRemovedWord = "diff_removed_word",
    DiffContext = "diff_context",
    DiffGutter = "diff_gutter" dimmed 0.45,
    DiffHunk = "diff_hunk",
    SyntaxAttribute = "syntax_attribute",
    SyntaxComment = "syntax_comment" dimmed 0.45,
    SyntaxConstant = "syntax_constant",
    SyntaxFunction = "syntax_function",
    SyntaxKeyword = "syntax_keyword",
    SyntaxNumber = "syntax_number" or SyntaxConstant,
    SyntaxOperator = "syntax_operator",
    SyntaxPunctuation = "syntax_punctuation",
    SyntaxString = "syntax_string",
    SyntaxTag = "syntax_tag",
    SyntaxType = "syntax_type",
    SyntaxVariable = "syntax_variable",
    Footer = "footer" dimmed 0.45,
    FooterAccent = "footer_accent",
    Chip = "chip",
    Backdrop = "backdrop",
}

impl Token {
    /// The name of the token in theme files.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// This token and its fallbacks, nearest first.
    pub(crate) fn with_fallbacks(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |token| token.fallback())
    }
}

/// A token with modifications. `ground` is the token that provides the background: a highlighted
/// word in a diff line keeps the line's tint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Face {
    pub token: Token,
    pub background: Option<Token>,
    pub emphasis: Emphasis,
    pub colours: FaceColours,
}

/// Explicit colours, for example from the output of a program or the pixels of an image. They
/// override the token's colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FaceColours {
    pub fg: Option<Hue>,
    pub bg: Option<Hue>,
    /// Shows the colours unchanged, as images and image ids require. Other colours are adjusted to
    /// be readable.
    pub exact: bool,
}

/// A set of emphasis flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Emphasis(u8);

impl Emphasis {
    pub const BOLD: Self = Self(1);
    pub const ITALIC: Self = Self(2);
    pub const UNDERLINE: Self = Self(4);
    pub const STRIKE: Self = Self(8);
    pub const DIM: Self = Self(16);
    pub const REVERSE: Self = Self(32);

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Face {
    /// The face of a title.
    #[must_use]
    pub fn bold(token: Token) -> Self {
        Self::from(token).emphasised(Emphasis::BOLD)
    }

    #[must_use]
    pub fn emphasised(mut self, emphasis: Emphasis) -> Self {
        self.emphasis = self.emphasis.with(emphasis);
        self
    }

    /// Applies the ANSI style of a program's output.
    #[must_use]
    pub fn styled(mut self, style: Style) -> Self {
        let emphases = [
            (style.bold, Emphasis::BOLD),
            (style.dim, Emphasis::DIM),
            (style.italic, Emphasis::ITALIC),
            (style.underline, Emphasis::UNDERLINE),
            (style.strike, Emphasis::STRIKE),
            (style.reverse, Emphasis::REVERSE),
        ];
        for (is_set, emphasis) in emphases {
            if is_set {
                self.emphasis = self.emphasis.with(emphasis);
            }
        }
        self.colours = FaceColours {
            fg: style.fg,
            bg: style.bg,
            exact: false,
        };
        self
    }

    /// The face of a cell with exactly these colours.
    pub(crate) fn exact(fg: Option<Hue>, bg: Option<Hue>) -> Self {
        Self {
            colours: FaceColours {
                fg,
                bg,
                exact: true,
            },
            ..Self::default()
        }
    }

    #[must_use]
    pub fn on(mut self, background: Token) -> Self {
        self.background = Some(background);
        self
    }
}

impl From<Token> for Face {
    fn from(token: Token) -> Self {
        Self {
            token,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fallback_is_listed_before_its_token() {
        for (token, name) in Token::ALL {
            let fallback = token.fallback();
            assert!(fallback.is_none_or(|fallback| fallback < *token), "{name}");
        }
    }
}
