//! Normalized keys: one form for every way a terminal can encode a key.

use bitflags::bitflags;

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCode {
    Backspace,
    Enter,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Tab,
    BackTab,
    Delete,
    Insert,
    F(u8),
    Char(char),
    Esc,
    PrintScreen,
    Pause,
    Menu,
    KeypadBegin,
}

bitflags! {
    /// The modifiers of a key or a mouse event.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub struct KeyModifiers: u8 {
        const NONE = 0;
        const SHIFT = 1;
        const CONTROL = 1 << 1;
        const ALT = 1 << 2;
        const SUPER = 1 << 3;
        const HYPER = 1 << 4;
        const META = 1 << 5;
    }
}

/// A key press in normal form. A shifted character is the character itself without the shift
/// modifier; with Ctrl, letters are lower case and shift stays. Shift+Tab is `BackTab`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

impl KeyPress {
    /// Normalizes a key.
    pub(crate) fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let (code, modifiers) = match code {
            KeyCode::Char(char) if modifiers.contains(KeyModifiers::CONTROL) => {
                (KeyCode::Char(to_lower(char)), modifiers)
            }
            KeyCode::Char(char) if modifiers.contains(KeyModifiers::SHIFT) => (
                KeyCode::Char(to_upper(char)),
                modifiers - KeyModifiers::SHIFT,
            ),
            KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => {
                (KeyCode::BackTab, modifiers - KeyModifiers::SHIFT)
            }
            KeyCode::BackTab => (KeyCode::BackTab, modifiers - KeyModifiers::SHIFT),
            code => (code, modifiers),
        };
        Self { code, modifiers }
    }

    pub fn plain(code: KeyCode) -> Self {
        Self::new(code, KeyModifiers::NONE)
    }

    pub fn char(char: char) -> Self {
        Self::plain(KeyCode::Char(char))
    }

    pub fn ctrl(char: char) -> Self {
        Self::new(KeyCode::Char(char), KeyModifiers::CONTROL)
    }

    pub(crate) fn alt(char: char) -> Self {
        Self::new(KeyCode::Char(char), KeyModifiers::ALT)
    }

    /// The character that this key types, if any.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(char) if self.modifiers.is_empty() => Some(char),
            _ => None,
        }
    }

    #[must_use]
    pub(super) fn with(self, modifiers: KeyModifiers) -> Self {
        Self::new(self.code, self.modifiers | modifiers)
    }
}

fn to_lower(char: char) -> char {
    single_char(char, char.to_lowercase())
}

fn to_upper(char: char) -> char {
    single_char(char, char.to_uppercase())
}

/// The letter in the other case, if that is a single character.
fn single_char(char: char, mut cased: impl Iterator<Item = char>) -> char {
    match (cased.next(), cased.next()) {
        (Some(cased), None) => cased,
        _ => char,
    }
}
