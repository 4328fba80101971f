//! A key as the rest of the program sees it: one form for every way a terminal can send it.

use crossterm::event::{KeyCode, KeyModifiers};

/// A pressed key in normal form: a shifted character is the character itself, without shift, except
/// together with Ctrl, where letters are small and shift is kept; Shift+Tab is `BackTab`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

impl KeyPress {
    /// A key in normal form.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let (code, modifiers) = match code {
            KeyCode::Char(char) if modifiers.contains(KeyModifiers::CONTROL) => {
                (KeyCode::Char(small(char)), modifiers)
            }
            KeyCode::Char(char) if modifiers.contains(KeyModifiers::SHIFT) => (
                KeyCode::Char(capital(char)),
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

    pub fn alt(char: char) -> Self {
        Self::new(KeyCode::Char(char), KeyModifiers::ALT)
    }

    /// The character that this key types, if it types one.
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

fn small(char: char) -> char {
    single(char, char.to_lowercase())
}

fn capital(char: char) -> char {
    single(char, char.to_uppercase())
}

/// The other case of a letter where that is one letter, too.
fn single(char: char, mut cased: impl Iterator<Item = char>) -> char {
    match (cased.next(), cased.next()) {
        (Some(cased), None) => cased,
        _ => char,
    }
}
