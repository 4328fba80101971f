//! Keymaps: per context, key sequences and the actions bound to them. The application defines the
//! action type `C`; names become actions when the files are loaded.
//!
//! Later files override earlier ones key by key. A lookup searches the contexts from the innermost
//! outwards.

pub mod edit;
mod file;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod notation;

use std::fmt::Display;
use std::path::{Path, PathBuf};

pub use file::KeymapSource;
pub use notation::{describe, describe_all, parse_key, parse_sequence};

use crate::input::KeyPress;
use osier_base::problem::Problem;

/// The built-in default keymap.
pub const DEFAULT: &str = include_str!("../../../../keymaps/default.toml");

/// Built-in keymaps that extend the default one.
pub const EMBEDDED: &[(&str, &str)] = &[
    ("emacs", include_str!("../../../../keymaps/emacs.toml")),
    ("vim", include_str!("../../../../keymaps/vim.toml")),
];

/// The keymap that a file inherits from, in addition to the default one.
pub fn inherited_keymap(source: &KeymapSource) -> Option<Box<str>> {
    file::header(source).inherit
}

/// One key sequence in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding<C> {
    context: Box<str>,
    keys: Vec<KeyPress>,
    action: C,
    /// Index of its source, and its line there from 1.
    origin: (usize, usize),
}

/// A set of key bindings.
///
/// ```
/// use osier_term::input::KeyPress;
/// use osier_term::keymap::{Keymap, KeymapSource, Lookup};
///
/// let file = KeymapSource::new("keys.toml", "[editor]\n\"ctrl+x ctrl+s\" = \"save\"\n");
/// let (keymap, problems) = Keymap::load(&[file], &["editor"], &[("save", "save")]);
/// assert!(problems.is_empty());
///
/// let (x, s) = (KeyPress::ctrl('x'), KeyPress::ctrl('s'));
/// assert_eq!(keymap.lookup(&["editor"], &[], x), Lookup::Prefix);
/// assert_eq!(keymap.lookup(&["editor"], &[x], s), Lookup::Actions(vec!["save"]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap<C> {
    bindings: Vec<Binding<C>>,
    /// Contexts and keys that a file unbinds although no earlier file binds them: keys of plugins.
    blocked: Vec<(Box<str>, Vec<KeyPress>)>,
    /// Paths of the sources.
    paths: Vec<PathBuf>,
    modes: bool,
}

impl<C> Default for Keymap<C> {
    fn default() -> Self {
        Self {
            bindings: Vec::new(),
            blocked: Vec::new(),
            paths: Vec::new(),
            modes: false,
        }
    }
}

/// A binding with its origin, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingInfo<'a, C> {
    pub context: &'a str,
    pub keys: String,
    pub action: C,
    pub path: &'a Path,
    /// From 1.
    pub line: usize,
}

/// The meaning of a key after the pending keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<C> {
    /// The actions bound to the key, innermost context first. If a component does not use an
    /// action, the next one is tried (Ctrl+D deletes in an editor and exits from an empty one).
    Actions(Vec<C>),
    /// The start of longer sequences.
    Prefix,
    None,
}

/// A key sequence that completes a prefix, and its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHint<C> {
    /// The remaining keys in keymap notation.
    pub keys: String,
    pub action: C,
}

impl<C: Copy + PartialEq + Display> Keymap<C> {
    /// Loads keymap files; later ones override earlier ones. `contexts` are the known contexts,
    /// `actions` the known actions by name.
    pub fn load(
        sources: &[KeymapSource],
        contexts: &[&str],
        actions: &[(&str, C)],
    ) -> (Self, Vec<Problem>) {
        let mut keymap = Self::default();
        let mut problems = Vec::new();
        for source in sources {
            let (entries, header, mut found) = file::read(source, contexts, actions);
            problems.append(&mut found);
            if let Some(modes) = header.modes {
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

    /// The bindings in a context that conflict with `keys`: the same keys, a prefix of them, or an
    /// extension.
    pub fn conflicts(&self, context: &str, keys: &[KeyPress]) -> Vec<BindingInfo<'_, C>> {
        self.in_context(context)
            .filter(|binding| binding.keys.starts_with(keys) || keys.starts_with(&binding.keys))
            .map(|binding| self.info(binding))
            .collect()
    }

    /// Every binding with its origin.
    pub fn bindings(&self) -> impl Iterator<Item = BindingInfo<'_, C>> {
        self.bindings.iter().map(|binding| self.info(binding))
    }

    /// The completions of a partly typed sequence.
    pub fn hints_after(&self, contexts: &[&str], pending: &[KeyPress]) -> Vec<KeyHint<C>> {
        match pending.split_last() {
            Some((last, before)) => self.hints(contexts, before, *last),
            None => Vec::new(),
        }
    }

    fn info<'a>(&'a self, binding: &'a Binding<C>) -> BindingInfo<'a, C> {
        let (source, line) = binding.origin;
        BindingInfo {
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

    /// The meaning of `key` after the `pending` keys. `contexts` are ordered from the innermost
    /// outwards.
    pub fn lookup(&self, contexts: &[&str], pending: &[KeyPress], key: KeyPress) -> Lookup<C> {
        for (index, context) in contexts.iter().enumerate() {
            if self.exact(context, pending, key).is_some() {
                let outward = contexts[index..].iter();
                let actions = outward.filter_map(|context| self.exact(context, pending, key));
                return Lookup::Actions(actions.collect());
            }
            if self.continuations(context, pending, key).next().is_some() {
                return Lookup::Prefix;
            }
        }
        Lookup::None
    }

    /// The key sequences bound to an action in a context, in file order.
    pub fn keys_for(&self, context: &str, action: C) -> Vec<String> {
        self.bindings
            .iter()
            .filter(|binding| *binding.context == *context && binding.action == action)
            .map(|binding| describe_all(&binding.keys))
            .collect()
    }

    /// The first single key of an action in a context.
    pub fn key_for(&self, context: &str, action: C) -> Option<KeyPress> {
        let mut bindings = self
            .bindings
            .iter()
            .filter(|binding| *binding.context == *context && binding.action == action);
        bindings.find_map(|binding| match binding.keys[..] {
            [key] => Some(key),
            _ => None,
        })
    }

    /// Every binding as (context, keys, action), for help and the palette.
    pub fn all(&self) -> impl Iterator<Item = (&str, String, C)> {
        self.bindings.iter().map(|binding| {
            (
                &*binding.context,
                describe_all(&binding.keys),
                binding.action,
            )
        })
    }

    /// Removes the bindings of actions for which `keep` returns false.
    pub fn retain_actions(&mut self, keep: impl Fn(C) -> bool) {
        self.bindings.retain(|binding| keep(binding.action));
    }

    /// Binds `keys` in a context if they are free. Does nothing if a file unbinds them.
    ///
    /// # Errors
    /// The keys are invalid or conflict with a binding.
    pub fn bind_if_free(&mut self, context: &str, keys: &str, action: C) -> Result<(), String> {
        let keys = parse_sequence(keys, None)?;
        if self.is_blocked(context, &keys) {
            return Ok(());
        }
        let taken = self.bindings.iter().find(|binding| {
            *binding.context == *context
                && (binding.keys.starts_with(&keys) || keys.starts_with(&binding.keys))
        });
        if let Some(taken) = taken {
            let bound = describe_all(&taken.keys);
            return Err(format!("`{bound}` is bound to `{}`", taken.action));
        }
        self.bindings.push(Binding {
            context: context.into(),
            keys,
            action,
            origin: (usize::MAX, 0),
        });
        Ok(())
    }

    fn is_blocked(&self, context: &str, keys: &[KeyPress]) -> bool {
        let mut blocked = self.blocked.iter();
        blocked.any(|(place, unbound)| **place == *context && unbound == keys)
    }

    fn exact(&self, context: &str, pending: &[KeyPress], key: KeyPress) -> Option<C> {
        self.in_context(context)
            .find(|binding| {
                matches!(binding.keys.split_last(), Some((last, rest)) if *last == key && rest == pending)
            })
            .map(|binding| binding.action)
    }

    /// Bindings that continue after `pending` and `key`.
    fn continuations(
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
            for binding in self.continuations(context, pending, key) {
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

    /// Applies a binding of a later file: adds it, or removes one if it has no action. Conflicting
    /// earlier bindings are removed.
    fn bind(&mut self, entry: file::KeymapEntry<C>) {
        let before = self.bindings.len();
        self.bindings.retain(|binding| {
            let clash = if entry.action.is_some() {
                binding.keys.starts_with(&entry.keys) || entry.keys.starts_with(&binding.keys)
            } else {
                binding.keys == entry.keys
            };
            binding.context != entry.context || !clash
        });
        self.blocked
            .retain(|(context, keys)| *context != entry.context || *keys != entry.keys);
        if let Some(action) = entry.action {
            self.bindings.push(Binding {
                context: entry.context,
                keys: entry.keys,
                action,
                origin: (self.paths.len() - 1, entry.line),
            });
        } else if self.bindings.len() == before {
            self.blocked.push((entry.context, entry.keys));
        }
    }
}

#[cfg(test)]
mod tests;
