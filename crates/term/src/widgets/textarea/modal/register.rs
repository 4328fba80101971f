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
    /// Stores a copied or deleted text; returns it if it also goes to the clipboard. Lines and what
    /// a jump deletes shift the numbered registers.
    pub(super) fn store(
        &mut self,
        name: Option<char>,
        mut content: RegisterContent,
        copied: bool,
        jumps: bool,
    ) -> Option<String> {
        if name == Some('_') {
            return None;
        }
        let shifts = content.lines || content.text.text.contains('\n') || jumps;
        let own = if copied {
            Some('0')
        } else {
            (!shifts).then_some('-')
        };
        let name = name.filter(|name| *name != '"').or(own);
        let appends = name.is_some_and(|name| name.is_ascii_uppercase());
        if let Some(name) = name {
            let stored = self.named.entry(name.to_ascii_lowercase()).or_default();
            if appends {
                let lines = content.lines || stored.lines;
                let mut text = stored.text.clone();
                text.append(&Fragment::plain(if lines { "\n" } else { "" }));
                text.append(&content.text);
                content = RegisterContent { text, lines };
            }
            stored.clone_from(&content);
        }
        if !appends && own.is_none() {
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
        self.named
            .extend(['+', '*'].map(|name| (name, content.clone())));
    }
}
