//! The semantic style of text. Layout uses faces and only a theme knows colours, so changing the
//! theme repaints without a new layout.

use osier_base::ansi::{Hue, Style};

/// The role of text. A theme has a style for every token; the names in [`Token::ALL`] are the keys
/// of a theme file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Token {
    #[default]
    Text,
    Muted,
    Accent,
    Border,
    BorderActive,
    Title,
    Selected,
    Match,
    Placeholder,
    User,
    UserMarker,
    Thinking,
    Tool,
    ToolName,
    ToolOutput,
    Working,
    Success,
    Warning,
    Error,
    Heading,
    Code,
    CodeBlock,
    Link,
    Quote,
    ListMarker,
    TableBorder,
    Rule,
    DiffAdded,
    DiffRemoved,
    DiffAddedWord,
    DiffRemovedWord,
    DiffContext,
    DiffGutter,
    DiffHunk,
    SyntaxAttribute,
    SyntaxComment,
    SyntaxConstant,
    SyntaxFunction,
    SyntaxKeyword,
    SyntaxNumber,
    SyntaxOperator,
    SyntaxPunctuation,
    SyntaxString,
    SyntaxTag,
    SyntaxType,
    SyntaxVariable,
    Footer,
    FooterAccent,
    Chip,
    Backdrop,
}

impl Token {
    /// The name of the token in theme files.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Every token with its name in theme files, in enum order.
    pub const ALL: &[(Self, &str)] = &[
        (Self::Text, "text"),
        (Self::Muted, "muted"),
        (Self::Accent, "accent"),
        (Self::Border, "border"),
        (Self::BorderActive, "border_active"),
        (Self::Title, "title"),
        (Self::Selected, "selected"),
        (Self::Match, "match"),
        (Self::Placeholder, "placeholder"),
        (Self::User, "user"),
        (Self::UserMarker, "user_marker"),
        (Self::Thinking, "thinking"),
        (Self::Tool, "tool"),
        (Self::ToolName, "tool_name"),
        (Self::ToolOutput, "tool_output"),
        (Self::Working, "working"),
        (Self::Success, "success"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Heading, "heading"),
        (Self::Code, "code"),
        (Self::CodeBlock, "code_block"),
        (Self::Link, "link"),
        (Self::Quote, "quote"),
        (Self::ListMarker, "list_marker"),
        (Self::TableBorder, "table_border"),
        (Self::Rule, "rule"),
        (Self::DiffAdded, "diff_added"),
        (Self::DiffRemoved, "diff_removed"),
        (Self::DiffAddedWord, "diff_added_word"),
        (Self::DiffRemovedWord, "diff_removed_word"),
        (Self::DiffContext, "diff_context"),
        (Self::DiffGutter, "diff_gutter"),
        (Self::DiffHunk, "diff_hunk"),
        (Self::SyntaxAttribute, "syntax_attribute"),
        (Self::SyntaxComment, "syntax_comment"),
        (Self::SyntaxConstant, "syntax_constant"),
        (Self::SyntaxFunction, "syntax_function"),
        (Self::SyntaxKeyword, "syntax_keyword"),
        (Self::SyntaxNumber, "syntax_number"),
        (Self::SyntaxOperator, "syntax_operator"),
        (Self::SyntaxPunctuation, "syntax_punctuation"),
        (Self::SyntaxString, "syntax_string"),
        (Self::SyntaxTag, "syntax_tag"),
        (Self::SyntaxType, "syntax_type"),
        (Self::SyntaxVariable, "syntax_variable"),
        (Self::Footer, "footer"),
        (Self::FooterAccent, "footer_accent"),
        (Self::Chip, "chip"),
        (Self::Backdrop, "backdrop"),
    ];
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
    fn tokens_are_listed_once_in_enum_order() {
        for (index, (token, _)) in Token::ALL.iter().enumerate() {
            assert_eq!(*token as usize, index, "{token:?}");
        }
        assert_eq!(Token::ALL.len(), Token::Backdrop as usize + 1);
    }
}
