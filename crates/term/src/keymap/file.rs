//! Reads a keymap file and finds its mistakes.
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
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::notation::{describe_all, parse_sequence};
use crate::document::{Document, did_you_mean};
use crate::input::KeyPress;
use osier_base::problem::Problem;
use osier_base::sort;

/// The text of a keymap file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeymapSource {
    pub path: PathBuf,
    pub text: String,
}

impl KeymapSource {
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }
}

/// One binding in a keymap file. `None` as the action removes a binding.
#[derive(Debug)]
pub(super) struct KeymapEntry<C> {
    pub(super) context: Box<str>,
    pub(super) keys: Vec<KeyPress>,
    pub(super) action: Option<C>,
    /// From 1.
    pub(super) line: usize,
    offset: usize,
}

type Value<'a> = Spanned<DeValue<'a>>;

/// The settings at the top of a keymap file.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Whether the editor has modes.
    pub(super) modes: Option<bool>,
    pub(super) inherit: Option<Box<str>>,
}

/// Parses only the header. `read` reports its problems.
pub(super) fn header(source: &KeymapSource) -> Header {
    let (_, table) = Document::parse(&source.path, &source.text);
    header_of(&table)
}

fn header_of(table: &DeTable<'_>) -> Header {
    let text = |value: &Value<'_>| value.get_ref().as_str().map(Box::from);
    Header {
        modes: table
            .get("modes")
            .and_then(|value| value.get_ref().as_bool()),
        inherit: table.get("inherit").and_then(text),
    }
}

/// Keys at the top of the file, before any context.
const HEADER_KEYS: [&str; 3] = ["leader", "modes", "inherit"];

/// Actions of earlier versions. A keymap that binds one gets a specific warning.
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

/// The valid bindings of a file in order, its header, and its problems.
pub(super) fn read<C: Copy + Display>(
    source: &KeymapSource,
    contexts: &[&str],
    actions: &[(&str, C)],
) -> (Vec<KeymapEntry<C>>, Header, Vec<Problem>) {
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
            _ if HEADER_KEYS.contains(&context) => {}
            Some(bindings) if contexts.contains(&context) => {
                for (keys, action) in bindings {
                    reader.read_binding(context, keys.get_ref(), keys.span().start, action);
                }
            }
            Some(_) => {
                let hint = did_you_mean(context, contexts.iter().copied())
                    .unwrap_or_else(|| format!("expected one of {}", contexts.join(", ")));
                let message = format!("unknown context `{context}`");
                reader.document.report(name.span(), message, Some(hint));
            }
            None => {
                let message = format!("`{context}` is outside of any context");
                let hint = "move it under a header such as `[editor]`".to_owned();
                reader.document.report(name.span(), message, Some(hint));
            }
        }
    }
    sort::by_key(&mut reader.entries, |entry| entry.offset);
    reader.find_conflicts();
    let entries = last_of_each(reader.entries);
    let problems = reader.document.finish();
    let problems = name_first_lines(problems, &source.text);
    (entries, header_of(&table), problems)
}

struct Reader<'a, C> {
    document: Document<'a>,
    actions: &'a [(&'a str, C)],
    leader: Option<Vec<KeyPress>>,
    entries: Vec<KeymapEntry<C>>,
}

impl<C: Copy + Display> Reader<'_, C> {
    fn read_leader(&mut self, value: &Value<'_>) {
        let text = value.get_ref().as_str().unwrap_or_default();
        match parse_sequence(text, None) {
            Ok(keys) => self.leader = Some(keys),
            Err(word) => self.report_invalid_key(&word, value.span().start),
        }
    }

    fn read_binding(&mut self, context: &str, keys: &str, offset: usize, value: &Value<'_>) {
        let keys = match parse_sequence(keys, self.leader.as_deref()) {
            Ok(keys) => keys,
            Err(word) => return self.report_invalid_key(&word, offset),
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
                let Some(index) = names.position(|name| name == &**action) else {
                    let names = self.actions.iter().map(|(name, _)| *name);
                    let hint = did_you_mean(action, names);
                    let message = format!("unknown action `{action}`");
                    return self.document.report(value.span(), message, hint);
                };
                Some(self.actions[index].1)
            }
            other => {
                let message = format!("expected the name of an action, found {}", other.type_str());
                let hint = "use an empty string to remove the binding".to_owned();
                return self.document.report(value.span(), message, Some(hint));
            }
        };
        let (line, _) = self.document.position(offset);
        self.entries.push(KeymapEntry {
            context: context.into(),
            keys,
            action,
            line,
            offset,
        });
    }

    fn report_invalid_key(&mut self, word: &str, offset: usize) {
        let hint = if word == "leader" {
            "set one at the top of the file: leader = \"ctrl+x\""
        } else {
            "write keys as `ctrl+x`, `alt+left`, `shift+f5`, `pageup` or a character, and put a \
             space between the keys of a sequence"
        };
        let message = format!("invalid key `{word}`");
        self.document
            .report(offset..offset, message, Some(hint.to_owned()));
    }

    /// Reports two actions on the same keys, and sequences that a shorter binding makes
    /// unreachable.
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
            let (line, _) = self.document.position(other.offset);
            let keys = describe_all(&entry.keys);
            let first = other
                .action
                .map_or_else(String::new, |action| action.to_string());
            let message = if *same {
                format!("`{keys}` is already bound to `{first}` on line {line}")
            } else {
                let prefix = describe_all(&other.keys);
                format!("`{keys}` is unreachable: line {line} binds `{prefix}` to `{first}`")
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

/// The last entry for each sequence of keys: a binding that the file itself removes again must not remove
/// bindings of the keymap that the file extends.
fn last_of_each<C>(entries: Vec<KeymapEntry<C>>) -> Vec<KeymapEntry<C>> {
    let mut last: Vec<KeymapEntry<C>> = Vec::new();
    for entry in entries {
        last.retain(|earlier| (&earlier.context, &earlier.keys) != (&entry.context, &entry.keys));
        last.push(entry);
    }
    last
}

/// Adds the line of the first key to the parser's error for a duplicate key, which lacks it.
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
            problem.message = format!("{wanted} is already bound on line {}", first + 1);
            "remove one of the two".clone_into(&mut problem.hint);
        }
    }
    problems
}
