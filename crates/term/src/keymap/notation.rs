//! The notation of keys: `ctrl+x ctrl+s`, `alt+left`, `shift+f5`, `g`, `G`.

use crate::input::{KeyCode, KeyModifiers, KeyPress};

const MODIFIERS: [(&str, KeyModifiers); 6] = [
    ("ctrl", KeyModifiers::CONTROL),
    ("alt", KeyModifiers::ALT),
    ("shift", KeyModifiers::SHIFT),
    ("super", KeyModifiers::SUPER),
    ("hyper", KeyModifiers::HYPER),
    ("meta", KeyModifiers::META),
];

/// Names of keys that are not characters. The first name of a key is the one to display.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift+tab", KeyCode::BackTab),
    ("backtab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
    ("plus", KeyCode::Char('+')),
];

/// Parses one key; `None` if it is invalid.
pub fn parse_key(text: &str) -> Option<KeyPress> {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty()) {
        let name = name.to_ascii_lowercase();
        let (_, modifier) = MODIFIERS.iter().find(|(known, _)| *known == name)?;
        modifiers |= *modifier;
        rest = after;
    }
    Some(KeyPress::new(parse_code(rest)?, modifiers))
}

fn parse_code(text: &str) -> Option<KeyCode> {
    let mut chars = text.chars();
    if let (Some(char), None) = (chars.next(), chars.next()) {
        return (!char.is_control() && char != ' ').then_some(KeyCode::Char(char));
    }
    let name = text.to_ascii_lowercase();
    if let Some((_, code)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*code);
    }
    let number: u8 = name.strip_prefix('f')?.parse().ok()?;
    (1..=24).contains(&number).then_some(KeyCode::F(number))
}

/// Parses keys separated by spaces. The error is the invalid key.
pub fn parse_sequence(text: &str, leader: Option<&[KeyPress]>) -> Result<Vec<KeyPress>, String> {
    let mut keys = Vec::new();
    for word in text.split_whitespace() {
        match (word, leader) {
            ("leader", Some(leader)) => keys.extend_from_slice(leader),
            _ => keys.push(parse_key(word).ok_or_else(|| word.to_owned())?),
        }
    }
    if keys.is_empty() {
        return Err(text.to_owned());
    }
    Ok(keys)
}

/// A key in keymap notation.
pub fn describe(key: KeyPress) -> String {
    let mut text = String::new();
    for (name, modifier) in MODIFIERS {
        if key.modifiers.contains(modifier) {
            text.push_str(name);
            text.push('+');
        }
    }
    let named = NAMES.iter().find(|(_, known)| *known == key.code);
    match (named, key.code) {
        (Some((name, _)), _) => text.push_str(name),
        (None, KeyCode::Char(char)) => text.push(char),
        (None, KeyCode::F(number)) => text.extend(["f", &number.to_string()]),
        (None, other) => text.push_str(&format!("{other:?}").to_ascii_lowercase()),
    }
    text
}

/// A key sequence in keymap notation.
pub fn describe_all(keys: &[KeyPress]) -> String {
    let keys: Vec<String> = keys.iter().copied().map(describe).collect();
    keys.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_through_their_notation() {
        for (text, written) in [
            ("ctrl+x", "ctrl+x"),
            ("Ctrl+X", "ctrl+x"),
            ("ctrl+shift+p", "ctrl+shift+p"),
            ("shift+g", "G"),
            ("G", "G"),
            ("alt+<", "alt+<"),
            ("backtab", "shift+tab"),
            ("alt+enter", "alt+enter"),
            ("shift+F5", "shift+f5"),
            ("ctrl++", "ctrl+plus"),
            ("+", "plus"),
            ("ctrl+space", "ctrl+space"),
            ("escape", "esc"),
        ] {
            let key = parse_key(text).unwrap();
            assert_eq!(describe(key), written, "{text}");
            assert_eq!(parse_key(written), Some(key), "{text}");
        }
        for text in ["", "ctrl+", "cmd+x", "f0", "f25", "pgup", "ctrl+abc"] {
            assert_eq!(parse_key(text), None, "{text}");
        }
    }

    #[test]
    fn sequences_expand_the_leader() {
        let leader = [KeyPress::ctrl('x')];
        let keys = parse_sequence("leader s", Some(&leader)).unwrap();
        assert_eq!(keys, [KeyPress::ctrl('x'), KeyPress::char('s')]);
        assert_eq!(parse_sequence("leader s", None), Err("leader".to_owned()));
        assert_eq!(parse_sequence("  ", None), Err("  ".to_owned()));
    }
}
