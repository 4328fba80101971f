//! A permission rule: a tool and a pattern. `bash(git *)`, `edit(src/**)`, `mcp__github__*`, `read(.env)`.
//!
//! A pattern is compared with each simple command of `bash`, with the resolved path of file tools, and with
//! the main argument of other tools. `*` matches anything, `\*` a literal `*`. In paths, `*` stops at a slash
//! and `**` does not.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use osier_base::path;

/// A tool and a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The source text.
    pub text: String,
    tool: String,
    pattern: Option<String>,
}

impl Rule {
    /// Parses `tool` or `tool(pattern)`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
        };
        let named = |char: char| char.is_alphanumeric() || "_-.*/".contains(char);
        if tool.is_empty() || !tool.chars().all(named) {
            return None;
        }
        let pattern = pattern
            .map(str::trim)
            .filter(|pattern| !matches!(*pattern, "" | "*"));
        Some(Self {
            text: text.to_owned(),
            tool: internal_name(tool),
            pattern: pattern.map(str::to_owned),
        })
    }

    /// Whether the rule applies to `tool`. An MCP tool, `server__tool`, also has the name that other agents
    /// use for it: `mcp__server__tool`.
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        wildcard(&self.tool, tool)
            || (tool.contains("__") && wildcard(&self.tool, &format!("mcp__{tool}")))
    }

    /// Whether the rule applies to every call of its tool.
    pub(crate) fn is_general(&self) -> bool {
        self.pattern.is_none()
    }

    /// Whether the pattern matches `text`, a command or an argument.
    pub(crate) fn fits_text(&self, text: &str) -> bool {
        let Some(pattern) = &self.pattern else {
            return true;
        };
        // `git:*` is the same as `git *` in other agents; both also match `git` alone.
        let start = pattern
            .strip_suffix(":*")
            .or_else(|| pattern.strip_suffix(" *"));
        match start {
            Some(start) => wildcard(start, text) || wildcard(&format!("{start} *"), text),
            None => wildcard(pattern, text),
        }
    }

    /// Whether the pattern matches the path `file`, for work in `cwd`.
    pub(crate) fn fits_path(&self, file: &Path, cwd: &Path) -> bool {
        self.path_glob(cwd).fits(file)
    }

    /// The pattern for paths, compiled once for many files.
    pub(crate) fn path_glob(&self, cwd: &Path) -> PathGlob {
        let Some(pattern) = &self.pattern else {
            return PathGlob::Any;
        };
        let rooted = path::resolve(cwd, pattern.trim_start_matches("./"));
        // A file name without a slash matches anywhere below.
        let full = if pattern.contains('/') {
            rooted
        } else {
            cwd.join("**").join(pattern)
        };
        PathGlob::Pattern(glob(&full.to_string_lossy()))
    }
}

/// A compiled pattern for paths.
#[derive(Debug)]
pub(crate) enum PathGlob {
    Any,
    /// An invalid pattern matches nothing.
    Pattern(Option<GlobMatcher>),
}

impl PathGlob {
    pub(crate) fn fits(&self, file: &Path) -> bool {
        match self {
            Self::Any => true,
            Self::Pattern(glob) => glob.as_ref().is_some_and(|glob| glob.is_match(file)),
        }
    }
}

/// Maps the tool names of other agents to osier's.
fn internal_name(tool: &str) -> String {
    const NAMES: [(&str, &str); 11] = [
        ("Bash", "bash"),
        ("Read", "read"),
        ("Write", "write"),
        ("Edit", "edit"),
        ("MultiEdit", "edit"),
        ("Grep", "grep"),
        ("Glob", "find"),
        ("LS", "ls"),
        ("Task", "task"),
        ("TodoWrite", "todo"),
        ("AskUserQuestion", "ask_user"),
    ];
    let known = NAMES.iter().find(|(theirs, _)| *theirs == tool);
    known.map_or(tool, |(_, ours)| ours).to_owned()
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    let built = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .ok()?;
    Some(built.compile_matcher())
}

/// Whether `text` matches `pattern`; `*` matches anything, `\*` a literal `*`.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = vec![String::new()];
    let mut rest = pattern.chars();
    while let Some(char) = rest.next() {
        let last = pieces.len() - 1;
        match char {
            '*' => pieces.push(String::new()),
            '\\' => pieces[last].push(rest.next().unwrap_or('\\')),
            char => pieces[last].push(char),
        }
    }
    let last = pieces.len() - 1;
    if last == 0 {
        return text == pieces[0];
    }
    let Some(mut rest) = text.strip_prefix(pieces[0].as_str()) else {
        return false;
    };
    for piece in &pieces[1..last] {
        match rest.find(piece.as_str()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(pieces[last].as_str())
}

/// `text` as a pattern that matches only itself.
pub(super) fn literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(text).unwrap()
    }

    #[test]
    fn patterns_match_complete_commands() {
        for (pattern, text, expected) in [
            ("bash(git status)", "git status", true),
            ("bash(git status)", "git status --short", false),
            ("bash(git *)", "git status", true),
            ("bash(git *)", "git", true),
            ("Bash(git:*)", "git push", true),
            ("bash(git *)", "gitk x", false),
            ("bash(npm run *:fix)", "npm run lint:fix", true),
            ("bash(* --version)", "rustc --version", true),
            ("bash(rm \\*)", "rm *", true),
            ("bash(rm \\*)", "rm x", false),
            ("bash", "anything", true),
            ("bash(*)", "anything", true),
            ("bash(a*a)", "a", false),
        ] {
            assert_eq!(rule(pattern).fits_text(text), expected, "{pattern} {text}");
        }
        assert!(rule(&format!("bash({})", literal("rm * \\x"))).fits_text("rm * \\x"));
    }

    #[test]
    fn patterns_match_paths_from_the_working_directory() {
        let cwd = Path::new("/work");
        for (pattern, file, expected) in [
            ("edit(src/**)", "/work/src/a/b.rs", true),
            ("edit(src/*)", "/work/src/a/b.rs", false),
            ("edit(./src/*)", "/work/src/a.rs", true),
            ("edit(src/**)", "/other/src/a.rs", false),
            ("edit(.env)", "/work/deep/.env", true),
            ("edit(*.rs)", "/work/deep/a.rs", true),
            ("edit(*.rs)", "/other/a.rs", false),
            ("edit(/etc/**)", "/etc/hosts", true),
            ("edit", "/anything", true),
        ] {
            let fits = rule(pattern).fits_path(Path::new(file), cwd);
            assert_eq!(fits, expected, "{pattern} {file}");
        }
    }

    #[test]
    fn rules_accept_alternative_tool_names_and_wildcards() {
        assert!(rule("Bash(x)").is_about("bash"));
        assert!(rule("mcp__github__*").is_about("mcp__github__search"));
        assert!(!rule("mcp__github__*").is_about("mcp__gitlab__search"));
        for (text, tool, expected) in [
            ("github__*", "github__search", true),
            ("mcp__github__*", "github__search", true),
            ("mcp__github__search", "github__search", true),
            ("mcp__github__*", "gitlab__search", false),
            ("mcp__*", "github__search", true),
            ("mcp__*", "bash", false),
        ] {
            assert_eq!(rule(text).is_about(tool), expected, "{text} {tool}");
        }
        assert!(rule("*").is_about("anything"));
        for wrong in ["", "(x)", "bash(x", "a b", "bash)x("] {
            assert_eq!(Rule::parse(wrong), None, "{wrong}");
        }
    }
}
