//! The full name of an MCP server's tool: `server__tool`, in characters that every model API accepts, at most 64 of
//! them, and the same in every session. Rules name servers and tools as the user does, so they are compared by
//! [`is_tool_of`] too.

/// Maximum length of a name that every model API accepts.
const LIMIT: usize = 64;

/// The name of `tool` of `server`. A name that was changed or cut ends in a hash of both, so that different
/// tools have different names.
pub fn tool_name(server: &str, tool: &str) -> String {
    let mut tool_part = plain(tool);
    // `mcp__` is also a prefix for the name of any server.
    if server == "mcp" {
        tool_part = single(&tool_part);
    }
    let plain = format!("{}__{tool_part}", server_part(server));
    if plain.len() <= LIMIT && plain == format!("{server}__{tool}") {
        return plain;
    }
    let sum = crc32fast::hash(format!("{server}\0{tool}").as_bytes());
    let kept = &plain[..plain.len().min(LIMIT - 9)];
    format!("{kept}_{sum:08x}")
}

/// The name of a server up to `__`, the only one in it: a rule for `git__*` must not apply to the server `git__other` or
/// `git_`.
fn server_part(server: &str) -> String {
    let plain = plain(server);
    if !plain.contains("__") && !plain.ends_with('_') && !is_hashed(&plain) {
        return plain;
    }
    let sum = crc32fast::hash(server.as_bytes());
    format!("{}_{sum:08x}", single(&plain))
}

/// Whether `name`, as a model sees it, is the tool `tool` of `server`, where `tool` may be `*` for all of them.
pub fn is_tool_of(name: &str, server: &str, tool: &str) -> bool {
    if tool != "*" {
        return name == tool_name(server, tool);
    }
    let part = server_part(server);
    let rest = name
        .strip_prefix(&part)
        .and_then(|rest| rest.strip_prefix("__"));
    // A server with the plain name has names without a hash, unless they were changed too.
    rest.is_some_and(|rest| part == server || is_hashed(rest))
}

/// Whether a name looks as if a hash had been added.
fn is_hashed(name: &str) -> bool {
    let hash = name.rsplit_once('_').map_or("", |(_, hash)| hash);
    hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `text` with single underscores, and none at the end.
fn single(text: &str) -> String {
    let parts = text.split('_').enumerate();
    let parts = parts.filter(|(at, part)| *at == 0 || !part.is_empty());
    parts.map(|(_, part)| part).collect::<Vec<_>>().join("_")
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
        assert_eq!(tool_name("ü", "ß").len(), 9 + "___".len() + 9);
    }

    #[test]
    fn the_first_double_underscore_ends_the_name_of_the_server() {
        for (server, tool, prefix) in [
            ("git", "log", "git"),
            ("git", "evil__x", "git"),
            ("git__evil", "x", "git_evil_e2acbb1d"),
            ("git__", "x", "git_3e1129bb"),
            ("git_", "_x", "git_7034109e"),
            ("git.", "x", "git_57365134"),
            ("git/", "x", "git_203161a2"),
            ("__git", "x", "_git_41c0089d"),
            ("日本", "x", "_c7b7cdcc"),
            ("mcp", "git__x", "mcp"),
            ("my_server", "x", "my_server"),
            // Not the name that the server `git.` gets.
            ("git_57365134", "x", "git_57365134_652aa841"),
        ] {
            let name = tool_name(server, tool);
            assert_eq!(name.split("__").next(), Some(prefix), "{name}");
        }
        assert_eq!(tool_name("mcp", "git__x"), "mcp__git_x_6fbe074a");
    }

    #[test]
    fn tools_are_known_by_the_names_that_users_write() {
        let long = "x".repeat(100);
        for (server, tool) in [
            ("git", "log"),
            ("my.server", "get/one"),
            ("git__x", "log"),
            ("git", "x__log"),
            ("git", &long),
            ("日本", "x"),
        ] {
            let name = tool_name(server, tool);
            assert!(is_tool_of(&name, server, tool), "{name}");
            assert!(is_tool_of(&name, server, "*"), "{name}");
            assert!(!is_tool_of(&name, server, "other"), "{name}");
            assert!(!is_tool_of(&name, "other", "*"), "{name}");
        }
        assert!(!is_tool_of(&tool_name("git.", "x"), "git_57365134", "*"));
    }
}
