//! The kinds of symbols.

/// The kind of a symbol. The stored index has the numbers: add new kinds at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    Function,
    Class,
    Struct,
    Enum,
    Interface,
    Trait,
    Type,
    Module,
    Constant,
    Macro,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Function,
        Self::Class,
        Self::Struct,
        Self::Enum,
        Self::Interface,
        Self::Trait,
        Self::Type,
        Self::Module,
        Self::Constant,
        Self::Macro,
    ];

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Interface => "interface",
            Self::Trait => "trait",
            Self::Type => "type",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Macro => "macro",
        }
    }

    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether the braces of such a definition contain more definitions.
    pub(crate) fn contains(self) -> bool {
        !matches!(
            self,
            Self::Function | Self::Type | Self::Constant | Self::Macro
        )
    }
}
