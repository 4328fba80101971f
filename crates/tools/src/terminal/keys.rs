//! The keys of a terminal by name.

/// The sequences of keys that have no character: name, in normal and in application mode.
const SEQUENCES: [(&str, &str, &str); 32] = [
    ("enter", "\r", "\r"),
    ("return", "\r", "\r"),
    ("tab", "\t", "\t"),
    ("shift+tab", "\x1b[Z", "\x1b[Z"),
    ("space", " ", " "),
    ("esc", "\x1b", "\x1b"),
    ("escape", "\x1b", "\x1b"),
    ("backspace", "\x7f", "\x7f"),
    ("up", "\x1b[A", "\x1bOA"),
    ("down", "\x1b[B", "\x1bOB"),
    ("right", "\x1b[C", "\x1bOC"),
    ("left", "\x1b[D", "\x1bOD"),
    ("home", "\x1b[H", "\x1bOH"),
    ("end", "\x1b[F", "\x1bOF"),
    ("insert", "\x1b[2~", "\x1b[2~"),
    ("delete", "\x1b[3~", "\x1b[3~"),
    ("pageup", "\x1b[5~", "\x1b[5~"),
    ("pagedown", "\x1b[6~", "\x1b[6~"),
    ("f1", "\x1bOP", "\x1bOP"),
    ("f2", "\x1bOQ", "\x1bOQ"),
    ("f3", "\x1bOR", "\x1bOR"),
    ("f4", "\x1bOS", "\x1bOS"),
    ("f5", "\x1b[15~", "\x1b[15~"),
    ("f6", "\x1b[17~", "\x1b[17~"),
    ("f7", "\x1b[18~", "\x1b[18~"),
    ("f8", "\x1b[19~", "\x1b[19~"),
    ("f9", "\x1b[20~", "\x1b[20~"),
    ("f10", "\x1b[21~", "\x1b[21~"),
    ("f11", "\x1b[23~", "\x1b[23~"),
    ("f12", "\x1b[24~", "\x1b[24~"),
    ("ctrl+space", "\0", "\0"),
    ("ctrl+?", "\x7f", "\x7f"),
];

/// The name as the table has it: `C-c`, `Ctrl-C` and `^C` are `ctrl+c`.
pub(super) fn normalized(name: &str) -> String {
    let name = name.trim();
    if name.chars().count() == 1 {
        return name.to_owned();
    }
    let name = name.trim_start_matches('<').trim_end_matches('>');
    let lower = name.to_ascii_lowercase().replace('_', "+");
    let replaced = [
        ("^", "ctrl+"),
        ("c-", "ctrl+"),
        ("ctrl-", "ctrl+"),
        ("control+", "ctrl+"),
        ("m-", "alt+"),
        ("alt-", "alt+"),
        ("meta+", "alt+"),
        ("shift-", "shift+"),
    ]
    .iter()
    .find_map(|(from, to)| lower.strip_prefix(from).map(|rest| format!("{to}{rest}")));
    replaced.unwrap_or(lower)
}

/// The bytes that the key `name` sends.
pub(super) fn bytes(name: &str, application: bool) -> Option<Vec<u8>> {
    let name = normalized(name);
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return Some(character.to_string().into_bytes());
    }
    let known = SEQUENCES.iter().find(|(known, ..)| *known == name);
    if let Some((_, normal, special)) = known {
        let sequence = if application { special } else { normal };
        return Some(sequence.as_bytes().to_vec());
    }
    if let Some(rest) = name.strip_prefix("alt+") {
        let mut all = vec![0x1b];
        all.extend(bytes(rest, application)?);
        return Some(all);
    }
    let mut rest = name.strip_prefix("ctrl+")?.bytes();
    match (rest.next()?, rest.next()) {
        (letter @ (b'a'..=b'z' | b'@' | b'['..=b'_'), None) => Some(vec![letter & 0x1f]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_sequences_of_a_terminal() {
        for (name, sequence) in [
            ("enter", "\r"),
            ("ctrl+c", "\x03"),
            ("C-d", "\x04"),
            ("^[", "\x1b"),
            ("<Up>", "\x1b[A"),
            ("alt+b", "\x1bb"),
            ("F5", "\x1b[15~"),
            ("q", "q"),
            ("G", "G"),
            ("é", "é"),
        ] {
            assert_eq!(bytes(name, false).unwrap(), sequence.as_bytes(), "{name}");
        }
        assert_eq!(bytes("up", true).unwrap(), b"\x1bOA");
        assert_eq!(bytes("hyper+x", false), None);
        assert_eq!(bytes("ctrl+1", false), None);
    }
}
