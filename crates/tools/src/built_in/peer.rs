//! The names that a tool has at other agents.

use osier_protocol::ImportSource;

/// A tool of another agent that does what the tool of the row does. Permission rules, hooks, definitions of agents, settings
/// of others and imported sessions read it by way of `osier-peers`.
#[derive(Debug, PartialEq, Eq)]
pub struct PeerTool {
    /// The agent; `None` if osier imports nothing from it, and the name is for advice only.
    pub source: Option<ImportSource>,
    /// The name of the tool there. The first name at Claude Code is the name that hooks and scripts see.
    pub name: &'static str,
    /// The tool does only a part of what osier's tool does: a rule that allows the part must not allow osier's tool.
    pub is_part: bool,
    /// The end of the file names that the tool handles, if it does not handle all files: a rule with the name of the tool
    /// applies to these files, for every tool.
    pub ending: Option<&'static str>,
    /// The names of the arguments at the other agent and in osier. Other arguments are left out.
    pub arguments: &'static [Renamed],
}

/// The name of an argument at another agent, and in osier.
pub type Renamed = (&'static str, &'static str);

impl PeerTool {
    const fn of(
        source: Option<ImportSource>,
        name: &'static str,
        arguments: &'static [Renamed],
    ) -> Self {
        Self {
            source,
            name,
            is_part: false,
            ending: None,
            arguments,
        }
    }

    pub(crate) const fn claude(name: &'static str, arguments: &'static [Renamed]) -> Self {
        Self::of(Some(ImportSource::Claude), name, arguments)
    }

    pub(crate) const fn codex(name: &'static str, arguments: &'static [Renamed]) -> Self {
        Self::of(Some(ImportSource::Codex), name, arguments)
    }

    pub(crate) const fn opencode(name: &'static str, arguments: &'static [Renamed]) -> Self {
        Self::of(Some(ImportSource::Opencode), name, arguments)
    }

    pub(crate) const fn pi(name: &'static str, arguments: &'static [Renamed]) -> Self {
        Self::of(Some(ImportSource::Pi), name, arguments)
    }

    pub(crate) const fn other(name: &'static str) -> Self {
        Self::of(None, name, &[])
    }

    pub(crate) const fn of_files(self, ending: &'static str) -> Self {
        Self {
            ending: Some(ending),
            ..self
        }
    }

    pub(crate) const fn part(self) -> Self {
        Self {
            is_part: true,
            ..self
        }
    }
}

/// Arguments that have the same name in osier.
pub(crate) const FILE: Renamed = ("file_path", "file_path");
pub(crate) const PATTERN: Renamed = ("pattern", "pattern");
pub(crate) const PATH: Renamed = ("path", "path");
pub(crate) const LIMIT: Renamed = ("limit", "limit");
pub(crate) const OFFSET: Renamed = ("offset", "offset");
pub(crate) const CONTENT: Renamed = ("content", "content");
pub(crate) const COMMAND: Renamed = ("command", "command");
pub(crate) const TIMEOUT: Renamed = ("timeout", "timeout");
pub(crate) const EDITS: Renamed = ("edits", "edits");
pub(crate) const QUESTIONS: Renamed = ("questions", "questions");

/// The name of a tool for models that are trained with Gemini CLI.
#[derive(Debug)]
pub(crate) struct GeminiForm {
    pub(crate) name: &'static str,
    /// The names of arguments, in osier and at Gemini CLI. `items.text` is an argument of each
    /// element of the list `items`.
    pub(crate) arguments: &'static [(&'static str, &'static str)],
}
