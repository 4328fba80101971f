//! The text of a call that the patterns of permission rules are compared with. It follows from the subject of the tool.

use super::view::{Part, PartKind};

/// The argument that the patterns of rules are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleText {
    None,
    Argument(&'static str),
    /// A command line, whose commands are compared one by one.
    Command(&'static str),
    /// The address of a web page.
    Page(&'static str),
}

impl RuleText {
    /// The name of the argument.
    pub fn argument(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Argument(name) | Self::Command(name) | Self::Page(name) => Some(name),
        }
    }

    /// The first text of a subject, other than the argument `file`. The subject can be `file` alone.
    pub(super) fn of(subject: &[Part], file: Option<&'static str>) -> Self {
        let texts = subject.iter().filter(|part| Some(part.argument) != file);
        let first = texts.map(Self::of_part).find(|text| *text != Self::None);
        first.unwrap_or_else(|| file.map_or(Self::None, Self::Argument))
    }

    fn of_part(part: &Part) -> Self {
        match part.kind {
            PartKind::Command => Self::Command(part.argument),
            PartKind::Page => Self::Page(part.argument),
            PartKind::Text | PartKind::Path | PartKind::Patch => Self::Argument(part.argument),
            // Lists and Markdown have no text for a pattern.
            PartKind::Lines | PartKind::Questions | PartKind::Title | PartKind::Progress => {
                Self::None
            }
        }
    }
}
