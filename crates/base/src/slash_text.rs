//! The first step of the slash rule of all clients: whether a text that a user typed names a command.

/// A text that a user typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashText<'a> {
    /// `/name arguments`.
    Command { name: &'a str, arguments: &'a str },
    /// `//text`, which stands for `/text` without a command.
    Literal(&'a str),
    /// Any other text, such as the path `/etc/hosts`, or the comment `// x`.
    Text,
}

impl<'a> SlashText<'a> {
    /// Reads a text.
    pub fn read(text: &'a str) -> Self {
        let text = text.trim();
        let Some(body) = text.strip_prefix('/') else {
            return Self::Text;
        };
        let (name, arguments) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
        match name.strip_prefix('/') {
            Some(rest) if !rest.is_empty() && !rest.starts_with('/') => Self::Literal(body),
            None if !name.is_empty() && !name.contains('/') => Self::Command { name, arguments },
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_command_a_literal_or_text() {
        for (text, name, arguments) in [
            ("/review a b", "review", "a b"),
            (" /review\n", "review", ""),
            ("/skill:x\ty", "skill:x", "y"),
        ] {
            let command = SlashText::Command { name, arguments };
            assert_eq!(SlashText::read(text), command, "{text}");
        }
        for (text, literal) in [
            ("//review a", "/review a"),
            (" //usr/bin/x is odd ", "/usr/bin/x is odd"),
        ] {
            assert_eq!(SlashText::read(text), SlashText::Literal(literal), "{text}");
        }
        for text in [
            "",
            "/",
            "/ x",
            "//",
            "// x",
            "///x",
            "/usr/bin/x",
            "a /review",
        ] {
            assert_eq!(SlashText::read(text), SlashText::Text, "{text}");
        }
    }
}
