//! The full name of a server's tool: `server__tool`, in characters that every model API accepts, at most 64
//! of them, and the same in every session.

/// Maximum length of a name that every model API accepts.
const LIMIT: usize = 64;

/// The name of `tool` of `server`. A name that was changed or cut ends in a hash of both, so that different
/// tools have different names.
pub fn tool_name(server: &str, tool: &str) -> String {
    let plain = format!("{}__{}", plain(server), plain(tool));
    let is_clear = !server.contains("__") && plain == format!("{server}__{tool}");
    if plain.len() <= LIMIT && is_clear {
        return plain;
    }
    let sum = crc32fast::hash(format!("{server}\0{tool}").as_bytes());
    let kept = &plain[..plain.len().min(LIMIT - 9)];
    format!("{kept}_{sum:08x}")
}

/// Letters, digits, `_` and `-`; all other characters become `_`.
fn plain(text: &str) -> String {
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let plain = text
        .chars()
        .map(|char| if allowed(char) { char } else { '_' });
    plain.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_for_every_api_and_unique() {
        assert_eq!(tool_name("git", "git_log"), "git__git_log");
        let odd = tool_name("my.server", "get/one");
        assert_eq!(odd, "my_server__get_one_1ab688e4");
        assert_ne!(odd, tool_name("my_server", "get/one"));
        let long = tool_name("server", &"x".repeat(100));
        assert_eq!(long.len(), 64);
        assert_ne!(long, tool_name("server", &"x".repeat(101)));
        assert_eq!(tool_name("ü", "ß").len(), "___".len() + 1 + 9);
    }
}
