//! Shell commands in messages of other crates: the screen names the slash command that does the same.

/// Texts with shell commands, and those with slash commands.
const COMMANDS: &[(&str, &str)] = &[
    ("`osier auth login`", "`/login`"),
    ("`osier auth login ", "`/login "),
    ("`osier sessions`", "`/resume`"),
    ("`--trust`", "`/trust`"),
];

/// `text` with slash commands instead of shell commands.
pub(crate) fn as_slash_commands(text: &str) -> String {
    let mut text = text.to_owned();
    for (shell, slash) in COMMANDS {
        if text.contains(shell) {
            text = text.replace(shell, slash);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_slash_commands() {
        for (text, expected) in [
            (
                "run `osier auth login acme` or `osier auth login`",
                "run `/login acme` or `/login`",
            ),
            (
                "list the sessions with `osier sessions`",
                "list the sessions with `/resume`",
            ),
            (
                "read it with `osier sessions show`",
                "read it with `osier sessions show`",
            ),
        ] {
            assert_eq!(as_slash_commands(text), expected);
        }
    }
}
