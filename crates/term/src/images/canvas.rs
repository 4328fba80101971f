//! How a terminal shows images.

use crate::input::TerminalReply;
use crate::theme::ColourDepth;

/// How images are shown in the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Two coloured pixels per cell.
    #[default]
    Blocks,
    Kitty,
    Iterm,
    Sixel,
}

/// The device attribute of terminals that support Sixel.
const SIXEL: u16 = 4;

/// Prefixes of terminal names, the first version with image support, and the protocol. Other
/// terminals that support the Kitty protocol lack its placeholders, which were added later.
const TERMINALS: &[(&str, (u32, u32), Protocol)] = &[
    ("kitty", (0, 28), Protocol::Kitty),
    ("ghostty", (0, 0), Protocol::Kitty),
    ("iterm2", (0, 0), Protocol::Iterm),
    ("wezterm", (0, 0), Protocol::Iterm),
];

impl Protocol {
    /// The protocol that follows from a terminal's replies, if any.
    pub fn from_replies(replies: &[TerminalReply]) -> Option<Self> {
        replies.iter().fold(None, Self::with_reply)
    }

    /// Updates the known protocol with one more reply.
    pub fn with_reply(known: Option<Self>, reply: &TerminalReply) -> Option<Self> {
        match reply {
            TerminalReply::Version(name) => Self::from_name(name).or(known),
            TerminalReply::DeviceAttributes(numbers) if numbers.contains(&SIXEL) => {
                known.or(Some(Self::Sixel))
            }
            _ => known,
        }
    }

    /// The protocol of a terminal by its reported name: `kitty(0.41.1)`, `WezTerm 20240203-110809`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let known = TERMINALS.iter().find_map(|(start, first, protocol)| {
            let version = name.strip_prefix(start)?;
            Some((version, first, protocol))
        });
        let (version, first, protocol) = known?;
        let numbers = version.split(|char: char| !char.is_ascii_digit());
        let mut numbers = numbers.filter_map(|number| number.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        (version >= *first).then_some(*protocol)
    }
}

/// The terminal that images are rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Canvas {
    pub protocol: Protocol,
    /// Pixels of a cell: width, height.
    pub cell: (u16, u16),
    pub depth: ColourDepth,
    /// The colour behind transparent pixels.
    pub background: (u8, u8, u8),
    /// Wraps sequences so that tmux forwards them.
    pub passes_through: bool,
}

/// Pixels of a cell if the terminal does not report them.
pub const DEFAULT_CELL: (u16, u16) = (9, 18);
