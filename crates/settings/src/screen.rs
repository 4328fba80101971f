//! The values of screen settings.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::Settings;
use super::value::texts;

/// How images are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// Detected from the terminal.
    Auto,
    Kitty,
    Iterm,
    Sixel,
    /// As coloured half-blocks.
    Blocks,
    Off,
}

impl Images {
    /// The value with this name in a settings file.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "kitty" => Self::Kitty,
            "iterm" => Self::Iterm,
            "sixel" => Self::Sixel,
            "blocks" => Self::Blocks,
            "off" => Self::Off,
            _ => return None,
        })
    }
}

/// What stays in the scrollback on exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitOutput {
    Nothing,
    Answer,
    Transcript,
}

impl ExitOutput {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "nothing" => Some(Self::Nothing),
            "answer" => Some(Self::Answer),
            "transcript" => Some(Self::Transcript),
            _ => None,
        }
    }
}

/// A part of the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FooterPart {
    /// The open sessions, when there are several.
    Sessions,
    /// The current directory.
    Cwd,
    /// The git branch.
    Branch,
    /// The session's name.
    Session,
    /// The connection to a remote agent.
    Connection,
    /// Status texts of plugins.
    Plugins,
    /// Running background jobs.
    Jobs,
    /// Errors and warnings of language servers.
    Diagnostics,
    /// The permission mode, if it is not the default, and whether the session is read-only.
    Permissions,
    /// The sandbox mode.
    Sandbox,
    /// Input, output and cached tokens.
    Tokens,
    /// The cost of the session.
    Cost,
    /// The use of the context window.
    Context,
    /// How long the provider still keeps the conversation in its cache.
    Cache,
    Model,
    /// The thinking level.
    Thinking,
}

impl FooterPart {
    pub const ALL: [(&'static str, Self); 16] = [
        ("sessions", Self::Sessions),
        ("cwd", Self::Cwd),
        ("branch", Self::Branch),
        ("session", Self::Session),
        ("connection", Self::Connection),
        ("plugins", Self::Plugins),
        ("jobs", Self::Jobs),
        ("diagnostics", Self::Diagnostics),
        ("permissions", Self::Permissions),
        ("sandbox", Self::Sandbox),
        ("tokens", Self::Tokens),
        ("cost", Self::Cost),
        ("context", Self::Context),
        ("cache", Self::Cache),
        ("model", Self::Model),
        ("thinking", Self::Thinking),
    ];
    pub const LEFT: [Self; 4] = [Self::Sessions, Self::Cwd, Self::Branch, Self::Session];
    pub const RIGHT: [Self; 12] = [
        Self::Connection,
        Self::Plugins,
        Self::Jobs,
        Self::Diagnostics,
        Self::Permissions,
        Self::Sandbox,
        Self::Tokens,
        Self::Cost,
        Self::Context,
        Self::Cache,
        Self::Model,
        Self::Thinking,
    ];

    fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, part)| *part)
    }
}

/// The possible parts of the footer.
pub(super) const PARTS: &str = "a list of sessions, cwd, branch, session, connection, plugins, jobs, \
                                diagnostics, permissions, sandbox, tokens, cost, context, cache, model, thinking";

pub(super) const LEFT: &str = r#"["sessions", "cwd", "branch", "session"]"#;
pub(super) const RIGHT: &str = r#"["connection", "plugins", "jobs", "diagnostics", "permissions", "sandbox", "tokens", "cost", "context", "cache", "model", "thinking"]"#;

/// Parses a list of parts; each is used once.
pub(super) fn parts(value: &DeValue<'_>) -> Option<Vec<FooterPart>> {
    let names = texts(value)?;
    let mut parts = Vec::with_capacity(names.len());
    for name in &names {
        let part = FooterPart::from_name(name)?;
        if parts.contains(&part) {
            return None;
        }
        parts.push(part);
    }
    Some(parts)
}

/// The environment variable for screen reader mode.
pub const READING: &str = "OSIER_SCREEN_READER";

/// Whether the environment enables screen reader mode.
pub fn wants_reading(environment: &BTreeMap<String, String>) -> bool {
    let value = environment.get(READING).map(String::as_str);
    !matches!(value, None | Some("" | "0" | "false"))
}

impl Settings {
    /// Disables what does not suit a screen reader; `asked` when a flag or the environment enables the mode.
    pub fn read_aloud(&mut self, asked: bool) {
        self.screen_reader |= asked;
        self.reduced_motion |= self.screen_reader;
        if self.screen_reader {
            self.images = Images::Off;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listed_footer_parts_are_complete() {
        let names: Vec<&str> = FooterPart::ALL.iter().map(|(name, _)| *name).collect();
        assert_eq!(PARTS, format!("a list of {}", names.join(", ")));
        let read = |text: &str| parts(DeValue::parse(text).unwrap().get_ref());
        assert_eq!(read(LEFT).unwrap(), FooterPart::LEFT);
        assert_eq!(read(RIGHT).unwrap(), FooterPart::RIGHT);
        assert_eq!(read("[\"model\", \"model\"]"), None);
        assert_eq!(read("[\"clock\"]"), None);
        assert_eq!(read("[]"), Some(Vec::new()));
    }
}
