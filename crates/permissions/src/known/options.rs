//! Reads the list of options of a row, and compares words with it.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use super::table::SETS;

/// The meaning of the value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Text,
    /// A file that is read.
    Read,
    /// A directory in which the program works.
    Folder,
    /// A path to write.
    Written,
    /// Columns of a list; none may show the arguments of a program.
    Columns,
}

/// A word that begins with a hyphen, compared with the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'w> {
    Unknown,
    /// Flags, or an option with a value in the same word.
    Complete(Option<(Value, &'w str)>),
    /// The next words are values of the option; the last one has the meaning.
    Next(Value, usize),
}

/// The options of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// The text of the row.
    pub text: &'static str,
    list: &'static List,
}

/// A word of the list: the name, the number of values, whether they must be attached, their meaning, and whether a rule
/// must name the option.
#[derive(Debug)]
struct Entry {
    name: &'static str,
    values: usize,
    is_optional: bool,
    value: Value,
    is_named: bool,
}

impl Entry {
    fn read(word: &'static str) -> Self {
        let (word, is_named) = match word.strip_suffix('!') {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (word, false),
        };
        let (word, value) = match word.rsplit_once(':') {
            Some((name, "r")) => (&word[..=name.len()], Value::Read),
            Some((name, "d")) => (&word[..=name.len()], Value::Folder),
            Some((name, "w")) => (&word[..=name.len()], Value::Written),
            Some((name, "c")) => (&word[..=name.len()], Value::Columns),
            _ => (word, Value::Text),
        };
        let name = word.trim_end_matches(':');
        let values = word.len() - name.len();
        let optional = name.strip_suffix('?').filter(|name| !name.is_empty());
        Self {
            name: optional.unwrap_or(name),
            values,
            is_optional: optional.is_some(),
            value,
            is_named,
        }
    }

    /// Whether the option is a group of flags of one letter.
    fn is_group(&self) -> bool {
        self.values == 0
            && !self.is_optional
            && self.name.len() > 1
            && self.name.starts_with('-')
            && !self.name.starts_with("--")
    }

    fn found(&self) -> Found<'static> {
        if self.values == 0 {
            Found::Complete(None)
        } else {
            Found::Next(self.value, self.values)
        }
    }
}

/// A list that was read.
#[derive(Debug)]
struct List {
    entries: Vec<Entry>,
    /// The words with `@`.
    marks: Vec<&'static str>,
}

/// The words of a list, with those of its sets.
pub(super) fn words(list: &'static str) -> Box<dyn Iterator<Item = &'static str>> {
    Box::new(list.split_whitespace().flat_map(|word| {
        let set = SETS.iter().find(|(name, _)| *name == word);
        match set {
            Some((_, set)) => words(set),
            None => Box::new(std::iter::once(word)),
        }
    }))
}

impl Options {
    /// The options of a text, which is parsed only once.
    pub(super) fn of(text: &'static str) -> Self {
        type Lists = RwLock<HashMap<(usize, usize), &'static List>>;
        static READ: LazyLock<Lists> = LazyLock::new(RwLock::default);
        let key = (text.as_ptr().addr(), text.len());
        let known = || READ.read().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&key).copied();
        let list = found.unwrap_or_else(|| {
            let (marks, own): (Vec<_>, Vec<_>) =
                words(text).partition(|word| word.starts_with('@'));
            let list = Box::leak(Box::new(List {
                entries: own.into_iter().map(Entry::read).collect(),
                marks,
            }));
            let mut lists = READ.write().unwrap_or_else(PoisonError::into_inner);
            lists.entry(key).or_insert(list)
        });
        Self { text, list }
    }

    /// Whether the list has the mark `mark`, such as `@words`.
    pub(super) fn has(self, mark: &str) -> bool {
        self.list.marks.contains(&mark)
    }

    /// The options before `--`, and those after it.
    pub(super) fn split(self) -> (Self, Option<Self>) {
        match self.text.split_once("-- ") {
            Some((before, after)) if before.is_empty() || before.ends_with(' ') => {
                (Self::of(before), Some(Self::of(after)))
            }
            _ => (self, None),
        }
    }

    fn entries(self) -> impl Iterator<Item = &'static Entry> {
        self.list.entries.iter()
    }

    /// Finds `word`, a complete word of a program such as `find`.
    pub(super) fn find_word(self, word: &str) -> Found<'_> {
        let found = self.entries().find(|entry| {
            entry.name == word
                || (entry.is_optional && entry.name.len() == 2 && word.starts_with(entry.name))
        });
        match found {
            Some(entry) if !entry.is_named => entry.found(),
            Some(_) => Found::Unknown,
            None => self.find_long(word).unwrap_or(Found::Unknown),
        }
    }

    /// Finds `--name=value`.
    fn find_long(self, word: &str) -> Option<Found<'_>> {
        let (name, value) = word.split_once('=').filter(|_| word.starts_with("--"))?;
        let mut entries = self.entries();
        let entry = entries.find(|entry| entry.name == name && entry.values == 1)?;
        (!entry.is_named).then_some(Found::Complete(Some((entry.value, value))))
    }

    /// The number of values of the option `word`, if it is one that a rule must name.
    pub(super) fn named(self, word: &str) -> Option<usize> {
        let (name, value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word, false),
        };
        let mut entries = self.entries().filter(|entry| entry.is_named);
        let entry = entries.find(|entry| {
            let is_attached = !entry.name.starts_with("--") && word.starts_with(entry.name);
            entry.name == name || is_attached
        })?;
        let is_attached = value || word.len() > entry.name.len();
        Some(if is_attached { 0 } else { entry.values })
    }

    /// Finds the option `word`, with the names of the options in it. `bare` says that a group of
    /// flags needs no hyphen.
    pub(super) fn find(self, word: &str, bare: bool) -> (Found<'_>, Vec<String>) {
        let mut seen = Vec::new();
        if !bare && let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            seen.push(format!("--{name}"));
            let mut entries = self.entries();
            let known = entries.find(|entry| entry.name.strip_prefix("--") == Some(name));
            let found = match (known, value) {
                (Some(entry), _) if entry.is_named => Found::Unknown,
                (Some(entry), Some(value)) if entry.values == 1 || entry.is_optional => {
                    Found::Complete(Some((entry.value, value)))
                }
                (Some(entry), None) => entry.found(),
                _ => Found::Unknown,
            };
            return (found, seen);
        }
        // `xxd -cols 8`.
        let mut entries = self.entries();
        let is_word =
            |entry: &&Entry| entry.values > 0 && entry.name.len() > 2 && entry.name == word;
        if let Some(entry) = entries.find(is_word) {
            return (entry.found(), seen);
        }
        let group = if bare {
            word
        } else {
            word.strip_prefix('-').unwrap_or(word)
        };
        let is_number = !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && self.entries().any(|entry| entry.name == "-#") {
            return (Found::Complete(None), seen);
        }
        (self.find_group(group, bare, &mut seen), seen)
    }

    /// In a bare group, values are the next words, also of an option that is not the last letter.
    fn find_group<'w>(self, group: &'w str, bare: bool, seen: &mut Vec<String>) -> Found<'w> {
        let mut pending = None;
        for (at, letter) in group.char_indices() {
            seen.push(format!("-{letter}"));
            let mut entries = self.entries();
            let known = entries.find(|entry| {
                let name = entry.name.strip_prefix('-').unwrap_or_default();
                if entry.is_group() || name.chars().count() == 1 {
                    !name.starts_with('-') && name.contains(letter)
                } else {
                    false
                }
            });
            let Some(entry) = known.filter(|entry| !entry.is_named) else {
                return Found::Unknown;
            };
            if entry.is_optional {
                return Found::Complete(None);
            }
            if entry.values == 0 {
                continue;
            }
            let rest = &group[at + letter.len_utf8()..];
            if bare && pending.is_some() {
                return Found::Unknown;
            }
            if bare {
                pending = Some(Found::Next(entry.value, entry.values));
                continue;
            }
            if rest.is_empty() {
                pending = Some(Found::Next(entry.value, entry.values));
                break;
            }
            let rest = rest.strip_prefix('=').unwrap_or(rest);
            return Found::Complete(Some((entry.value, rest)));
        }
        match pending {
            Some(found) => found,
            None if group.is_empty() => Found::Unknown,
            None => Found::Complete(None),
        }
    }
}
