//! Reads a keymap file and finds what is wrong with it.
//!
//! ```toml
//! leader = "ctrl+x"
//!
//! [editor]
//! "alt+left" = "word_left"
//! "leader s" = "submit"
//! "ctrl+g" = ""              # unbound
//! ```

use std::fmt::Display;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::notation::parse_sequence;
use super::{KeymapSource, describe_all};
use crate::document::{Document, did_you_mean};
use crate::input::KeyPress;
use osier_base::problem::Problem;

/// One line of a keymap file. No action takes a binding away.
#[derive(Debug)]
pub(super) struct Entry<C> {
    pub(super) context: Box<str>,
    pub(super) keys: Vec<KeyPress>,
    pub(super) action: Option<C>,
    /// From 1.
    pub(super) line: usize,
    offset: usize,
}

type Value<'a> = Spanned<DeValue<'a>>;

/// What stands at the top of a file.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Whether the editor has modes.
    pub(super) modes: Option<bool>,
    pub(super) inherit: Option<Box<str>>,
}

/// Reads the top of a file alone; its faults are left to the reading that follows.
pub(super) fn head(source: &KeymapSource) -> Head {
    let (_, table) = Document::parse(&source.path, &source.text);
    head_of(&table)
}

fn head_of(table: &DeTable<'_>) -> Head {
    let text = |value: &Value<'_>| value.get_ref().as_str().map(Box::from);
    Head {
        modes: table
            .get("modes")
            .and_then(|value| value.get_ref().as_bool()),
        inherit: table.get("inherit").and_then(text),
    }
}

/// Keys that stand at the top, before any context.
const HEAD: [&str; 3] = ["leader", "modes", "inherit"];

/// Actions of earlier versions: keymaps that bind one get a warning that says so.
const REMOVED_ACTIONS: &[&str] = &[
    "command_line",
    "end_keys",
    "keep_keys",
    "other_corner",
    "play",
    "play_keys",
    "record",
    "visual_block",
];

/// The sound entries of a file in their order, its top, and the problems of the others.
pub(super) fn read<C: Copy + Display>(
    source: &KeymapSource,
    contexts: &[&str],
    actions: &[(&str, C)],
) -> (Vec<Entry<C>>, Head, Vec<Problem>) {
    let (document, table) = Document::parse(&source.path, &source.text);
    let mut reader = Reader {
        document,
        actions,
        leader: None,
        entries: Vec::new(),
    };
    if let Some(leader) = table.get("leader") {
        reader.read_leader(leader);
    }
    for (name, value) in &table {
        let context = &**name.get_ref();
        match value.get_ref().as_table() {
            _ if HEAD.contains(&context) => {}
            Some(bindings) if contexts.contains(&context) => {
                for (keys, action) in bindings {
                    reader.read_binding(context, keys.get_ref(), keys.span().start, action);
                }
            }
            Some(_) => {
                let hint = did_you_mean(context, contexts.iter().copied())
                    .unwrap_or_else(|| format!("known are {}", contexts.join(", ")));
                let message = format!("unknown context `{context}`");
                reader.document.report(name.span(), message, Some(hint));
            }
            None => {
                let message = format!("`{context}` stands outside of any context");
                let hint = "write it under a heading such as `[editor]`".to_owned();
                reader.document.report(name.span(), message, Some(hint));
            }
        }
    }
    reader.entries.sort_by_key(|entry| entry.offset);
    reader.find_conflicts();
    let entries = reader.entries;
    let problems = reader.document.finish();
    let problems = name_first_lines(problems, &source.text);
    (entries, head_of(&table), problems)
}

struct Reader<'a, C> {
    document: Document<'a>,
    actions: &'a [(&'a str, C)],
    leader: Option<Vec<KeyPress>>,
    entries: Vec<Entry<C>>,
}

impl<C: Copy + Display> Reader<'_, C> {
    fn read_leader(&mut self, value: &Value<'_>) {
        let text = value.get_ref().as_str().unwrap_or_default();
        match parse_sequence(text, None) {
            Ok(keys) => self.leader = Some(keys),
            Err(word) => self.unreadable(&word, value.span().start),
        }
    }

    fn read_binding(&mut self, context: &str, keys: &str, offset: usize, value: &Value<'_>) {
        let keys = match parse_sequence(keys, self.leader.as_deref()) {
            Ok(keys) => keys,
            Err(word) => return self.unreadable(&word, offset),
        };
        let action = match value.get_ref() {
            DeValue::Boolean(false) => None,
            DeValue::String(action) if action.is_empty() => None,
            DeValue::String(action) if REMOVED_ACTIONS.contains(&&**action) => {
                let message = format!("action `{action}` was removed from osier");
                let hint = "delete this binding".to_owned();
                return self.document.report(value.span(), message, Some(hint));
            }
            DeValue::String(action) => {
                let mut names = self.actions.iter().map(|(name, _)| *name);
                let Some(place) = names.position(|name| name == &**action) else {
                    let names = self.actions.iter().map(|(name, _)| *name);
                    let hint = did_you_mean(action, names);
                    let message = format!("unknown action `{action}`");
                    return self.document.report(value.span(), message, hint);
                };
                Some(self.actions[place].1)
            }
            other => {
                let message = format!("expected the name of an action, found {}", other.type_str());
                let hint = "an empty text takes the binding away".to_owned();
                return self.document.report(value.span(), message, Some(hint));
            }
        };
        let (line, _) = self.document.place(offset);
        self.entries.push(Entry {
            context: context.into(),
            keys,
            action,
            line,
            offset,
        });
    }

    fn unreadable(&mut self, word: &str, offset: usize) {
        let hint = if word == "leader" {
            "set one at the top of the file: leader = \"ctrl+x\""
        } else {
            "write keys as `ctrl+x`, `alt+left`, `shift+f5`, `pageup` or a character, and put a \
             space between the keys of a sequence"
        };
        let message = format!("unreadable key `{word}`");
        self.document
            .report(offset..offset, message, Some(hint.to_owned()));
    }

    /// Two actions on the same keys, and sequences that another binding keeps from ever being reached.
    fn find_conflicts(&mut self) {
        let mut lost = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            for (other_index, other) in self.entries.iter().enumerate() {
                let related = entry.context == other.context
                    && entry.action.is_some()
                    && other.action.is_some()
                    && entry.keys.starts_with(&other.keys);
                let same = entry.keys.len() == other.keys.len();
                if !related || index == other_index || (same && other_index > index) {
                    continue;
                }
                lost.push((index, other_index, same));
            }
        }
        for (index, other, same) in &lost {
            let (entry, other) = (&self.entries[*index], &self.entries[*other]);
            let (line, _) = self.document.place(other.offset);
            let keys = describe_all(&entry.keys);
            let first = other
                .action
                .map_or_else(String::new, |action| action.to_string());
            let message = if *same {
                format!("`{keys}` has an action already: `{first}` on line {line}")
            } else {
                let prefix = describe_all(&other.keys);
                format!("`{keys}` is never reached: line {line} binds `{prefix}` to `{first}`")
            };
            let offset = entry.offset;
            let hint = format!("in [{}] remove one of the two", entry.context);
            self.document.report(offset..offset, message, Some(hint));
        }
        let mut index = 0;
        self.entries.retain(|_| {
            let keep = lost.iter().all(|(lost, ..)| *lost != index);
            index += 1;
            keep
        });
    }
}

/// The parser rejects the second of two equal keys without saying where the first one is.
fn name_first_lines(mut problems: Vec<Problem>, text: &str) -> Vec<Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let key = |line: &str| line.split('=').next().unwrap_or_default().trim().to_owned();
    for problem in &mut problems {
        if !problem.message.contains("duplicate key") {
            continue;
        }
        let Some(line) = lines.get(problem.line.unwrap_or(1) - 1) else {
            continue;
        };
        let wanted = key(line);
        let first = lines[..problem.line.unwrap_or(1) - 1]
            .iter()
            .rposition(|line| key(line) == wanted);
        if let Some(first) = first {
            problem.message = format!("{wanted} has an action already on line {}", first + 1);
            "remove one of the two".clone_into(&mut problem.hint);
        }
    }
    problems
}
