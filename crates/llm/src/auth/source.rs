//! The source of a configured key.

use crate::secret::Secret;

/// The source of a key, as written in configuration files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    Literal(Secret),
    /// The name of an environment variable: `$NAME` or `${NAME}`.
    Env(String),
    /// A shell command that prints the key: `!command`. Run on first use.
    Command(String),
}

impl KeySource {
    /// Parses the written form. `$$…` and `!!…` are literals that start with `$` or `!`.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.starts_with("$$") || text.starts_with("!!") {
            return Self::Literal(Secret::new(&text[1..]));
        }
        if let Some(command) = text.strip_prefix('!') {
            return Self::Command(command.trim().to_owned());
        }
        match text.strip_prefix('$') {
            Some(name) => {
                let bare = name
                    .strip_prefix('{')
                    .and_then(|name| name.strip_suffix('}'));
                Self::Env(bare.unwrap_or(name).to_owned())
            }
            None => Self::Literal(Secret::new(text)),
        }
    }

    /// The written form, used only for the credential store.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Literal(key) => match key.expose().chars().next() {
                Some(sign @ ('$' | '!')) => format!("{sign}{}", key.expose()),
                _ => key.expose().to_owned(),
            },
            Self::Env(name) => format!("${name}"),
            Self::Command(command) => format!("!{command}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_parsed() {
        for (text, expected) in [
            ("sk-1", KeySource::Literal(Secret::new("sk-1"))),
            ("$$x", KeySource::Literal(Secret::new("$x"))),
            ("!!x", KeySource::Literal(Secret::new("!x"))),
            ("$MY_KEY", KeySource::Env("MY_KEY".to_owned())),
            ("${MY_KEY}", KeySource::Env("MY_KEY".to_owned())),
            (
                "! pass show x ",
                KeySource::Command("pass show x".to_owned()),
            ),
        ] {
            assert_eq!(KeySource::parse(text), expected);
        }
    }
}
