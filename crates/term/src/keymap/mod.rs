//! Which key does what, and where. A keymap is a table per context of key sequences and the actions they
//! start. The application defines the action type `C`; names become actions when the files are loaded.
//!
//! Later files override earlier ones key by key. Lookups search the contexts from the innermost out.

pub mod edit;
mod file;
mod notation;

use std::fmt::Display;
use std::path::{Path, PathBuf};

pub use notation::{describe, describe_all, parse_key, parse_sequence};

use super::input::KeyPress;
use osier_base::problem::Problem;

/// The embedded default keymap.
pub const DEFAULT: &str = include_str!("../../../../keymaps/default.toml");

/// Embedded keymaps that are laid over the default one.
pub const EMBEDDED: &[(&str, &str)] = &[
    ("emacs", include_str!("../../../../keymaps/emacs.toml")),
    ("vim", include_str!("../../../../keymaps/vim.toml")),
];

/// The keymap that a file stands on beside the default one.
pub fn inherits(source: &KeymapSource) -> Option<Box<str>> {
    file::head(source).inherit
}

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

/// One sequence of keys in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding<C> {
    context: Box<str>,
    keys: Vec<KeyPress>,
    action: C,
    /// Which of the sources it comes from, and its line there from 1.
    origin: (usize, usize),
}

/// All bindings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap<C> {
    bindings: Vec<Binding<C>>,
    /// Where they come from.
    paths: Vec<PathBuf>,
    modes: bool,
}

impl<C> Default for Keymap<C> {
    fn default() -> Self {
        Self {
            bindings: Vec::new(),
            paths: Vec::new(),
            modes: false,
        }
    }
}

/// A binding as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound<'a, C> {
    pub context: &'a str,
    pub keys: String,
    pub action: C,
    pub path: &'a Path,
    /// From 1.
    pub line: usize,
}

/// What a key means after the keys pressed before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<C> {
    /// The actions bound to the key, the innermost context first. When a component does not use an action,
    /// the next one gets its turn (Ctrl+D deletes in an editor, and exits from an empty one).
    Actions(Vec<C>),
    /// The start of longer sequences.
    Prefix,
    None,
}

/// A key that can follow a prefix, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHint<C> {
    /// The keys still missing, as they are written in a keymap.
    pub keys: String,
    pub action: C,
}

impl<C: Copy + PartialEq + Display> Keymap<C> {
    /// Reads keymap files, later ones over earlier ones. `contexts` are the known contexts, `actions` the
    /// known actions by their names.
    pub fn load(
        sources: &[KeymapSource],
        contexts: &[&str],
        actions: &[(&str, C)],
    ) -> (Self, Vec<Problem>) {
        let mut keymap = Self::default();
        let mut problems = Vec::new();
        for source in sources {
            let (entries, head, mut found) = file::read(source, contexts, actions);
            problems.append(&mut found);
            if let Some(modes) = head.modes {
                keymap.modes = modes;
            }
            keymap.paths.push(source.path.clone());
            for entry in entries {
                keymap.bind(entry);
            }
        }
        (keymap, problems)
    }

    /// Whether the editor has modes.
    pub fn modes(&self) -> bool {
        self.modes
    }

    /// The bindings of `keys` in a context: the same, what they are the start of, and what keeps them from
    /// being reached.
    pub fn clashes(&self, context: &str, keys: &[KeyPress]) -> Vec<Bound<'_, C>> {
        self.in_context(context)
            .filter(|binding| binding.keys.starts_with(keys) || keys.starts_with(&binding.keys))
            .map(|binding| self.bound(binding))
            .collect()
    }

    /// Every binding with where it comes from.
    pub fn bindings(&self) -> impl Iterator<Item = Bound<'_, C>> {
        self.bindings.iter().map(|binding| self.bound(binding))
    }

    /// What can follow the keys of a begun sequence.
    pub fn hints_after(&self, contexts: &[&str], pending: &[KeyPress]) -> Vec<KeyHint<C>> {
        match pending.split_last() {
            Some((last, before)) => self.hints(contexts, before, *last),
            None => Vec::new(),
        }
    }

    fn bound<'a>(&'a self, binding: &'a Binding<C>) -> Bound<'a, C> {
        let (source, line) = binding.origin;
        Bound {
            context: &binding.context,
            keys: describe_all(&binding.keys),
            action: binding.action,
            path: self
                .paths
                .get(source)
                .map_or(Path::new(""), PathBuf::as_path),
            line,
        }
    }

    /// What `key` means after the `pending` keys in `contexts`, the innermost first.
    pub fn lookup(&self, contexts: &[&str], pending: &[KeyPress], key: KeyPress) -> Lookup<C> {
        for (place, context) in contexts.iter().enumerate() {
            if self.exact(context, pending, key).is_some() {
                let outward = contexts[place..].iter();
                let actions = outward.filter_map(|context| self.exact(context, pending, key));
                return Lookup::Actions(actions.collect());
            }
            if self.following(context, pending, key).next().is_some() {
                return Lookup::Prefix;
            }
        }
        Lookup::None
    }

    /// The keys of an action in a context, as they are written, in the order of the files.
    pub fn keys_for(&self, context: &str, action: C) -> Vec<String> {
        self.bindings
            .iter()
            .filter(|binding| *binding.context == *context && binding.action == action)
            .map(|binding| describe_all(&binding.keys))
            .collect()
    }

    /// Every binding: context, keys, action. For help and the palette.
    pub fn all(&self) -> impl Iterator<Item = (&str, String, C)> {
        self.bindings.iter().map(|binding| {
            (
                &*binding.context,
                describe_all(&binding.keys),
                binding.action,
            )
        })
    }

    /// Drops the bindings of the actions that `keep` does not want.
    pub fn retain_actions(&mut self, keep: impl Fn(C) -> bool) {
        self.bindings.retain(|binding| keep(binding.action));
    }

    /// Binds `keys` in a context where they are free.
    ///
    /// # Errors
    /// Why they cannot be bound.
    pub fn add_under(&mut self, context: &str, keys: &str, action: C) -> Result<(), String> {
        let keys = parse_sequence(keys, None)?;
        let taken = self.bindings.iter().find(|binding| {
            *binding.context == *context
                && (binding.keys.starts_with(&keys) || keys.starts_with(&binding.keys))
        });
        if let Some(taken) = taken {
            let bound = describe_all(&taken.keys);
            return Err(format!("`{bound}` is `{}`", taken.action));
        }
        self.bindings.push(Binding {
            context: context.into(),
            keys,
            action,
            origin: (usize::MAX, 0),
        });
        Ok(())
    }

    fn exact(&self, context: &str, pending: &[KeyPress], key: KeyPress) -> Option<C> {
        self.in_context(context)
            .find(|binding| {
                matches!(binding.keys.split_last(), Some((last, rest)) if *last == key && rest == pending)
            })
            .map(|binding| binding.action)
    }

    /// Bindings that go on after `pending` and `key`.
    fn following(
        &self,
        context: &str,
        pending: &[KeyPress],
        key: KeyPress,
    ) -> impl Iterator<Item = &Binding<C>> {
        self.in_context(context).filter(move |binding| {
            binding.keys.len() > pending.len() + 1
                && binding.keys.starts_with(pending)
                && binding.keys[pending.len()] == key
        })
    }

    fn hints(&self, contexts: &[&str], pending: &[KeyPress], key: KeyPress) -> Vec<KeyHint<C>> {
        let mut hints: Vec<KeyHint<C>> = Vec::new();
        for context in contexts {
            for binding in self.following(context, pending, key) {
                let keys = describe_all(&binding.keys[pending.len() + 1..]);
                if hints.iter().all(|hint| hint.keys != keys) {
                    hints.push(KeyHint {
                        keys,
                        action: binding.action,
                    });
                }
            }
        }
        hints
    }

    fn in_context(&self, context: &str) -> impl Iterator<Item = &Binding<C>> {
        self.bindings
            .iter()
            .filter(move |binding| *binding.context == *context)
    }

    /// Adds a binding of a later file, or with no action takes one away. What it hides, or what would hide
    /// it, goes.
    fn bind(&mut self, entry: file::Entry<C>) {
        self.bindings.retain(|binding| {
            let clash = if entry.action.is_some() {
                binding.keys.starts_with(&entry.keys) || entry.keys.starts_with(&binding.keys)
            } else {
                binding.keys == entry.keys
            };
            binding.context != entry.context || !clash
        });
        if let Some(action) = entry.action {
            self.bindings.push(Binding {
                context: entry.context,
                keys: entry.keys,
                action,
                origin: (self.paths.len() - 1, entry.line),
            });
        }
    }
}

#[cfg(test)]
mod tests;
