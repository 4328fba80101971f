//! The full name of an MCP server's tool: `server__tool`, in characters that every model API accepts, at most 64 of
//! them, and the same in every session. Different servers have different parts before the first `__`.

/// Maximum length of a name that every model API accepts.
const LIMIT: usize = 64;

/// Maximum length of the part of the server, so that a part of the tool always fits.
const SERVER_LIMIT: usize = 40;

/// The length of a hash with its `_`.
const HASH: usize = 9;

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
    let kept = &plain[..plain.len().min(LIMIT - HASH)];
    format!("{kept}_{sum:08x}")
}

/// The name of a server up to `__`, the only one in it. A name that models do not accept, or that looks like a changed
/// one, gets a hash: `git.`, `git__other` and `git_` are not `git`, and `my.server` is not `my_server`.
fn server_part(server: &str) -> String {
    let plain = plain(server);
    let is_own = plain == server && !plain.contains("__") && !plain.ends_with('_');
    if is_own && plain.len() <= SERVER_LIMIT && !is_hashed(&plain) {
        return plain;
    }
    let sum = crc32fast::hash(server.as_bytes());
    let mut kept = single(&plain);
    kept.truncate(SERVER_LIMIT - HASH);
    format!("{}_{sum:08x}", kept.trim_end_matches('_'))
}

/// Whether `name`, as a model calls it, can be of a server whose name was changed.
pub fn is_of_changed_server(name: &str) -> bool {
    name.split_once("__")
        .is_some_and(|(server, _)| is_hashed(server))
}

/// Whether a name looks as if a hash had been added.
fn is_hashed(name: &str) -> bool {
    let hash = name.rsplit_once('_').map_or("", |(_, hash)| hash);
    hash.len() == HASH - 1 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
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
        assert_eq!(odd, "my_server_8c17ce72__get_one_1ab688e4");
        assert_ne!(odd, tool_name("my_server", "get/one"));
        // The tool of another server cannot have this name.
        assert_ne!(odd, tool_name("my_server", "get_one_1ab688e4"));
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
    fn different_servers_have_different_parts() {
        let long = "s".repeat(60);
        let servers = [
            "my.server",
            "my_server",
            "my/server",
            "my server",
            "my-server",
        ];
        let servers = servers.iter().copied().chain([&*long, &long[1..]]);
        let names: Vec<String> = servers.map(|server| tool_name(server, "x")).collect();
        let mut parts: Vec<&str> = names
            .iter()
            .filter_map(|name| name.split("__").next())
            .collect();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), names.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= LIMIT && name.contains("__x"), "{name}");
        }
    }

    #[test]
    fn names_of_changed_servers_are_recognized() {
        for (server, expected) in [
            ("git", false),
            ("my_server", false),
            ("git.", true),
            ("git__x", true),
        ] {
            let name = tool_name(server, &"x".repeat(99));
            assert_eq!(is_of_changed_server(&name), expected, "{name}");
        }
    }
}
