//! Invariants that hold for every keymap file.

use toml::Table;

use super::edit::set_binding;
use super::{BindingInfo, DEFAULT, Keymap, KeymapSource, Lookup, inherited_keymap, parse_sequence};
use crate::input::KeyPress;

/// A larger file takes longer and shows nothing else.
const MOST: usize = 4096;
const CONTEXTS: [&str; 3] = ["global", "editor", "list"];
const ACTIONS: [(&str, &str); 4] = [
    ("save", "save"),
    ("undo", "undo"),
    ("help", "help"),
    ("quit", "quit"),
];
/// A keymap that the file extends.
const BASE: &str = "[global]\n\"ctrl+q\" = \"quit\"\n[editor]\n\"ctrl+x ctrl+s\" = \"save\"\n\"alt+u\" = \"undo\"\n\
    [list]\n\"g g\" = \"help\"\n";

type Map = Keymap<&'static str>;
type Info<'a> = BindingInfo<'a, &'static str>;

/// The content of a keymap file.
pub fn keymap(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if text.len() > MOST {
        return;
    }
    let (alone, problems) = load(&[text]);
    assert_eq!((alone.clone(), problems.clone()), load(&[text]));
    let lines = text.split('\n').count();
    for problem in &problems {
        let line = problem.line.unwrap_or(1);
        assert!((1..=lines).contains(&line), "{problem:?}");
    }
    inherited_keymap(&KeymapSource::new("keys.toml", text));
    for binding in alone.bindings() {
        assert!((1..=lines).contains(&binding.line), "{binding:?}");
    }
    check_bindings(&alone);
    let (extended, _) = load(&[BASE, text]);
    check_bindings(&extended);
    check_extension(&alone, &extended);
    // With all actions of the default keymap unknown.
    load(&[DEFAULT, text]);
    if problems.is_empty() {
        let (damaged, problems) = load(&[&format!("{text}\n= broken\n")]);
        assert!(!problems.is_empty());
        assert!(damaged.all().eq(alone.all()), "valid bindings apply");
    }
    for (context, keys) in [("editor", "ctrl+x ctrl+s"), ("list", "f3"), ("new", "G")] {
        check_edit(text, context, keys);
    }
}

fn load(texts: &[&str]) -> (Map, Vec<osier_base::problem::Problem>) {
    let source = |text: &&str| KeymapSource::new("keys.toml", *text);
    let sources: Vec<KeymapSource> = texts.iter().map(source).collect();
    Keymap::load(&sources, &CONTEXTS, &ACTIONS)
}

fn keys_of(binding: &Info<'_>) -> Vec<KeyPress> {
    let Ok(keys) = parse_sequence(&binding.keys, None) else {
        unreachable!("keys are shown as they are written: {binding:?}");
    };
    keys
}

/// Every binding can be typed, and no other binding is in its way.
fn check_bindings(map: &Map) {
    for binding in map.bindings() {
        let keys = keys_of(&binding);
        let context = [binding.context];
        for (place, key) in keys.iter().enumerate() {
            let found = map.lookup(&context, &keys[..place], *key);
            let expected = if place + 1 == keys.len() {
                Lookup::Actions(vec![binding.action])
            } else {
                Lookup::Prefix
            };
            assert_eq!(found, expected, "{binding:?}");
        }
        assert_eq!(map.conflicts(binding.context, &keys), [binding]);
    }
}

/// A file adds its bindings, and all others stay unless it uses or unbinds their keys.
fn check_extension(alone: &Map, extended: &Map) {
    let (base, problems) = load(&[BASE]);
    assert_eq!(problems, []);
    let same = |one: &Info<'_>, other: &Info<'_>| {
        (one.context, &one.keys, one.action) == (other.context, &other.keys, other.action)
    };
    for binding in alone.bindings() {
        assert!(
            extended.bindings().any(|other| same(&binding, &other)),
            "{binding:?} is missing"
        );
    }
    for binding in extended.bindings() {
        let is_own = alone.bindings().any(|other| same(&binding, &other));
        let is_inherited = base.bindings().any(|other| same(&binding, &other));
        assert!(is_own || is_inherited, "{binding:?} is in no file");
    }
    for binding in base.bindings() {
        let keys = keys_of(&binding);
        let is_used = !alone.conflicts(binding.context, &keys).is_empty();
        let is_unbound = alone.is_blocked(binding.context, &keys);
        let is_there = extended.bindings().any(|other| same(&binding, &other));
        assert!(is_there || is_used || is_unbound, "{binding:?} is lost");
    }
}

/// One binding changes and everything else in the file stays.
fn check_edit(text: &str, context: &str, keys: &str) {
    let Ok(keys) = parse_sequence(keys, None) else {
        unreachable!("the keys are valid");
    };
    for action in ["help", ""] {
        let Ok(before) = text.parse::<Table>() else {
            assert!(set_binding(text, context, &keys, action).is_err());
            return;
        };
        let Ok(changed) = set_binding(text, context, &keys, action) else {
            continue;
        };
        let Ok(after) = changed.parse::<Table>() else {
            unreachable!("a file stays TOML: {text:?} becomes {changed:?}");
        };
        let leader = before.get("leader").and_then(toml::Value::as_str);
        let leader = leader.and_then(|leader| parse_sequence(leader, None).ok());
        let mut remaining = [before, after];
        let mut found = Vec::new();
        for table in &mut remaining {
            // The binding that changes is compared on its own.
            let Some(bindings) = table.get_mut(context).and_then(toml::Value::as_table_mut) else {
                continue;
            };
            found.clear();
            bindings.retain(|written, value| {
                let own = parse_sequence(written, leader.as_deref()).is_ok_and(|own| own == keys);
                if own {
                    found.push(value.clone());
                }
                !own
            });
            if bindings.is_empty() {
                table.remove(context);
            }
        }
        let [before, after] = remaining;
        assert_eq!(after, before, "{text:?} becomes {changed:?}");
        let action = toml::Value::String(action.to_owned());
        assert!(found.contains(&action), "{keys:?} is not set: {changed:?}");
    }
}
