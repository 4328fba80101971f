//! The folders of other coding agents on this machine, found as these programs find them, and their instruction files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names of instruction files in a folder, in order of priority; the first that exists is used.
pub const INSTRUCTIONS: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
];

/// The folders of other agents. They need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerFolders {
    /// The user's home folder.
    pub home: PathBuf,
    pub claude: PathBuf,
    /// The file with Claude Code's MCP servers and state.
    pub claude_state: PathBuf,
    pub codex: PathBuf,
    pub pi: PathBuf,
    /// The settings of opencode.
    pub opencode: PathBuf,
    /// The sessions of opencode.
    pub opencode_data: PathBuf,
    pub gemini: PathBuf,
    pub copilot: PathBuf,
}

impl PeerFolders {
    pub fn new(home: &Path, environment: &BTreeMap<String, String>) -> Self {
        let variable = |name: &str| {
            let value = environment.get(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let folder = |name: &str, usual: &str| variable(name).unwrap_or_else(|| home.join(usual));
        let claude = variable("CLAUDE_CONFIG_DIR");
        Self {
            home: home.to_owned(),
            claude_state: claude.as_deref().unwrap_or(home).join(".claude.json"),
            claude: claude.unwrap_or_else(|| home.join(".claude")),
            codex: folder("CODEX_HOME", ".codex"),
            pi: folder("PI_CODING_AGENT_DIR", ".pi/agent"),
            opencode: variable("OPENCODE_CONFIG_DIR")
                .unwrap_or_else(|| folder("XDG_CONFIG_HOME", ".config").join("opencode")),
            opencode_data: folder("XDG_DATA_HOME", ".local/share").join("opencode"),
            gemini: home.join(".gemini"),
            copilot: folder("COPILOT_HOME", ".copilot"),
        }
    }

    /// The folders for this environment; `None` without a home folder.
    pub fn of(environment: &BTreeMap<String, String>) -> Option<Self> {
        let home = environment.get("HOME").filter(|home| !home.is_empty())?;
        Some(Self::new(Path::new(home), environment))
    }

    /// The user's instruction files; the first that exists is used.
    pub fn instructions(&self) -> Vec<PathBuf> {
        vec![
            self.claude.join("CLAUDE.md"),
            self.codex.join("AGENTS.override.md"),
            self.codex.join("AGENTS.md"),
            self.pi.join("AGENTS.md"),
            self.opencode.join("AGENTS.md"),
            self.gemini.join("GEMINI.md"),
            self.copilot.join("copilot-instructions.md"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_programs_move_their_folders() {
        let variables = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            PeerFolders::of(&pairs.collect())
        };
        assert_eq!(variables(&[("HOME", "")]), None);
        let usual = variables(&[("HOME", "/h"), ("CODEX_HOME", "")]).unwrap();
        assert_eq!(usual.claude, Path::new("/h/.claude"));
        assert_eq!(usual.claude_state, Path::new("/h/.claude.json"));
        assert_eq!(usual.codex, Path::new("/h/.codex"));
        assert_eq!(usual.opencode, Path::new("/h/.config/opencode"));
        let moved = variables(&[
            ("HOME", "/h"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("CODEX_HOME", "/x"),
            ("PI_CODING_AGENT_DIR", "/p"),
            ("XDG_CONFIG_HOME", "/config"),
            ("XDG_DATA_HOME", "/data"),
        ])
        .unwrap();
        assert_eq!(moved.claude_state, Path::new("/c/.claude.json"));
        assert_eq!((moved.claude, moved.codex), ("/c".into(), "/x".into()));
        assert_eq!(moved.pi, Path::new("/p"));
        assert_eq!(moved.opencode, Path::new("/config/opencode"));
        assert_eq!(moved.opencode_data, Path::new("/data/opencode"));
    }
}
