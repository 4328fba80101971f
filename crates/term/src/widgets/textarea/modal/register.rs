//! Registers: the unnamed one, `a` to `z`, `0` for copied text, `1` to `9` for deleted lines, `-`
//! for smaller deletions, `+` and `*` for the clipboard, `_` to discard text.

use std::collections::{BTreeMap, VecDeque};

use super::super::buffer::Fragment;

/// A text, and whether it is complete lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RegisterContent {
    pub(super) text: Fragment,
    pub(super) lines: bool,
}

/// How text was put into a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreKind {
    Copied,
    Deleted,
    /// Deleted by a jump, which always shifts the numbered registers.
    DeletedByJump,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Registers {
    named: BTreeMap<char, RegisterContent>,
    deleted: VecDeque<RegisterContent>,
    unnamed: RegisterContent,
}

/// Whether a character names a register.
pub(super) fn is_name(name: char) -> bool {
    name.is_ascii_alphanumeric() || "\"-+*_".contains(name)
}

pub(super) fn is_clipboard(name: Option<char>) -> bool {
    matches!(name, Some('+' | '*'))
}

impl Registers {
    /// Stores a text; returns it if it also goes to the clipboard.
    pub(super) fn store(
        &mut self,
        name: Option<char>,
        content: RegisterContent,
        kind: StoreKind,
    ) -> Option<String> {
        if name == Some('_') {
            return None;
        }
        let small =
            !content.lines && !content.text.text.contains('\n') && kind == StoreKind::Deleted;
        let own = if small { Some('-') } else { None };
        let own = if kind == StoreKind::Copied {
            Some('0')
        } else {
            own
        };
        match name.filter(|name| *name != '"').or(own) {
            Some(name) if name.is_ascii_uppercase() => {
                let stored = self.named.entry(name.to_ascii_lowercase()).or_default();
                if content.lines || stored.lines {
                    stored.text.append(&Fragment::plain("\n"));
                    stored.lines = true;
                }
                stored.text.append(&content.text);
                self.unnamed = stored.clone();
                return None;
            }
            name => self.named.extend(name.map(|name| (name, content.clone()))),
        }
        if kind != StoreKind::Copied && !small {
            self.deleted.push_front(content.clone());
            self.deleted.truncate(9);
        }
        self.unnamed = content;
        is_clipboard(name).then(|| {
            let end = if self.unnamed.lines { "\n" } else { "" };
            format!("{}{end}", self.unnamed.text.expand(|chip| &chip.text))
        })
    }

    pub(super) fn get(&self, name: Option<char>) -> Option<&RegisterContent> {
        let found = match name.map(|name| name.to_ascii_lowercase()) {
            None | Some('"') => Some(&self.unnamed),
            Some(digit @ '1'..='9') => self.deleted.get(digit as usize - '1' as usize),
            Some(name) => self.named.get(&name),
        };
        found.filter(|content| content.lines || !content.text.is_empty())
    }

    /// Sets the text of the clipboard.
    pub(super) fn set_clipboard(&mut self, text: &str) {
        let lines = text.ends_with('\n');
        let text = Fragment::plain(text.strip_suffix('\n').unwrap_or(text));
        let content = RegisterContent { text, lines };
        self.named.insert('+', content.clone());
        self.named.insert('*', content);
    }
}
