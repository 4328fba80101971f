//! A permission rule: a tool and a pattern. `bash(git *)`, `edit(src/**)`, `mcp__github__*`, `read(.env)`.
//!
//! A pattern is compared with each simple command of `bash`, with the resolved path of file tools,
//! and with the main argument of other tools. `*` matches anything, `\*` a literal `*`. In paths,
//! `*` stops at a slash and `**` does not. `run(PROGRAM)` is `bash(PROGRAM *)`, `connect(HOST)` is
//! `web_fetch(domain:HOST)`; as deny rules, they also withhold the program or the host from
//! commands in the sandbox.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use globset::{GlobBuilder, GlobMatcher};

use crate::shell::{Word, is_assignment};
use crate::tool_names::ToolNames;
use crate::wildcard::{Symbol, fits, is_named, loose, strict, wildcard};
use osier_base::path;
use osier_peers::tools::{ending, likely, our_tool};
use osier_sandbox::network::HostRule;
use osier_tools::{BASH, ToolEffect, WebAddress};

/// The names of rules about programs and about hosts.
const PROGRAM: &str = "run";
const HOST: &str = "connect";
/// A tool name whose allow rules allow nothing.
const NO_TOOL: &str = "MultiEdit";
/// Maximum number of compiled globs that are remembered.
const MOST_GLOBS: usize = 256;
/// The tools that use the network.
const WEB: &str = "web_*";

/// A tool and a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The source text.
    pub text: String,
    tool: String,
    pattern: Option<String>,
    /// The suffix of the files that the rule is for: `NotebookEdit` is for every change of a
    /// notebook.
    ending: Option<&'static str>,
    /// Whether the rule can allow calls: `MultiEdit` names a tool that osier does not have.
    allows: bool,
    /// The host of a rule `connect(HOST)`.
    host: Option<HostRule>,
}

impl Rule {
    /// Parses `tool` or `tool(pattern)`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
        };
        let is_server = tool.contains("__");
        let named = |char: char| {
            // Servers and their tools can have any names.
            let is_other = is_server && char != ')' && !char.is_control();
            char.is_alphanumeric() || "_-.*/".contains(char) || is_other
        };
        if tool.is_empty() || !tool.chars().all(named) {
            return None;
        }
        let pattern = pattern
            .map(str::trim)
            .filter(|pattern| !matches!(*pattern, "" | "*"));
        if tool == PROGRAM {
            let program = pattern.filter(|program| !program.contains(char::is_whitespace))?;
            return Some(Self {
                text: text.to_owned(),
                tool: BASH.to_owned(),
                ending: None,
                allows: true,
                pattern: Some(format!("{program} *")),
                host: None,
            });
        }
        if tool == HOST {
            let host = pattern.map(HostRule::parse).transpose().ok()?;
            return Some(Self {
                text: text.to_owned(),
                tool: WEB.to_owned(),
                ending: None,
                allows: false,
                pattern: pattern.map(str::to_owned),
                host,
            });
        }
        let rule = Self {
            text: text.to_owned(),
            tool: our_tool(tool).to_owned(),
            ending: ending(tool),
            allows: tool != NO_TOOL,
            pattern: pattern.map(str::to_owned),
            host: None,
        };
        rule.can_match().then_some(rule)
    }

    /// The program of a rule `run(PROGRAM)`, with `*` for any text.
    pub fn program(&self) -> Option<&str> {
        let named = self.text.strip_prefix(PROGRAM)?.trim_start();
        Some(named.strip_prefix('(')?.strip_suffix(')')?.trim())
    }

    /// The absolute glob of a rule about the file tool `tool` that has a pattern.
    pub fn paths(&self, tool: &str, cwd: &Path) -> Option<PathBuf> {
        let pattern = self.full_pattern(cwd).filter(|_| self.names_tool(tool));
        let Some(ending) = self.ending else {
            return pattern;
        };
        // A pattern cannot be combined with the suffix: the sandbox only obeys a pattern that ends
        // with the suffix.
        let pattern = pattern.unwrap_or_else(|| cwd.join("**").join(format!("*.{ending}")));
        self.names_tool(tool)
            .then_some(pattern)
            .filter(|pattern| pattern.extension().is_some_and(|end| end == ending))
    }

    /// Whether the rule is `connect` or `connect(HOST)`.
    pub fn is_network(&self) -> bool {
        self.tool == WEB
    }

    /// The host of a rule `connect(HOST)`.
    pub fn host(&self) -> Option<&HostRule> {
        self.host.as_ref()
    }

    /// The program at the start of a rule that compares how a command is written; `*` if the start
    /// is not one program.
    pub fn spelling(&self) -> Option<&str> {
        let pattern = self.pattern.as_deref()?;
        let is_spelling = self.program().is_none() && self.names_tool(BASH);
        let first = pattern.split([' ', ':']).next().unwrap_or_default();
        let is_name = |char: char| char.is_alphanumeric() || "-_.+".contains(char);
        let first = if first.chars().all(is_name) {
            first
        } else {
            "*"
        };
        is_spelling.then_some(first)
    }

    /// Whether the rule names a built-in tool.
    pub fn is_built_in(&self) -> bool {
        osier_tools::find(&self.tool).is_some()
    }

    /// The built-in tool that the rule is likely to mean, if it names none.
    pub fn misspelt(&self) -> Option<&'static str> {
        let is_other = self.tool.contains("__") || self.tool.contains('*');
        likely(&self.tool).filter(|_| !self.is_built_in() && !is_other)
    }

    /// Whether the name of the rule looks like a tool of another agent, and osier has no such tool.
    pub fn is_foreign(&self) -> bool {
        let is_other = self.tool.contains("__") || self.tool.contains('*');
        self.tool.starts_with(char::is_uppercase) && !self.is_built_in() && !is_other
    }

    /// The tool that the rule names, if it is neither built in nor in `tools`. `None` for tools of MCP servers, which can be added later.
    pub fn unknown_tool(&self, tools: &[String]) -> Option<&str> {
        let is_other = self.tool.contains("__") || self.tool.contains('*');
        let is_known = is_other || self.is_built_in();
        let is_one = |tool: &String| self.names_tool(tool);
        (!is_known && !tools.iter().any(is_one)).then_some(&self.tool)
    }

    /// Whether the rule names an MCP server that is none of `servers`.
    pub fn is_of_other_server(&self, servers: &[String]) -> bool {
        let named = self.tool.strip_prefix("mcp__").unwrap_or(&self.tool);
        let server = named.split("__").next().unwrap_or_default();
        let is_server = named.contains("__") || named != self.tool;
        let is_one = |known: &String| {
            let known: &str = known;
            let rest = named.strip_prefix(known);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        is_server && !server.contains('*') && !servers.iter().any(is_one)
    }

    /// Why the pattern is likely not to match what its author intended.
    pub fn doubt(&self) -> Option<&'static str> {
        let pattern = self.pattern.as_deref()?;
        let count = |wanted: char| pattern.matches(wanted).count();
        if pattern.contains(|char: char| char.is_whitespace() && char != ' ') {
            return Some("it contains a blank that is not a plain space");
        }
        if count('(') < count(')') {
            return Some("it contains an extra `)`");
        }
        let is_expression = pattern.starts_with("re:") || pattern.contains(".*");
        let is_expression = is_expression && is_named(&self.tool, BASH);
        is_expression.then_some("it looks like a regular expression: write `*` for any text")
    }

    /// Whether the rule can match anything: false for a path pattern that is an invalid glob, and
    /// for a built-in tool in wrong letter case, as in `BASH`.
    fn can_match(&self) -> bool {
        let lower = self.tool.to_lowercase();
        let is_built_in = osier_tools::find(&lower).is_some();
        let mut of_files =
            osier_tools::all().filter(|tool| tool.file.is_some() || tool.files.is_some());
        let is_about_files = of_files.any(|tool| self.names_tool(tool.name));
        let pattern = self.pattern.as_deref().unwrap_or_default();
        (!is_built_in || lower == self.tool) && (!is_about_files || glob(pattern).is_some())
    }

    /// Whether the rule, as an allow rule, applies to `tool`.
    pub(super) fn allows_tool(&self, tool: &ToolNames) -> bool {
        !self.is_network() && tool.is_named_by(&self.tool)
    }

    /// Whether the rule, as a deny or ask rule, applies to `tool`.
    pub(super) fn denies_tool(&self, tool: &ToolNames) -> bool {
        tool.may_be_named_by(&self.tool) || self.is_about_changes(&tool.called)
    }

    /// Whether the rule is for certain files, changed by any tool, and `tool` changes files.
    fn is_about_changes(&self, tool: &str) -> bool {
        self.ending.is_some() && osier_tools::effect(tool) == Some(ToolEffect::Changes)
    }

    /// Whether the rule is only the name `tool`, without a pattern.
    pub(super) fn is_only(&self, tool: &str) -> bool {
        self.is_general() && self.tool == tool
    }

    /// Whether the rule applies to the built-in tool `tool`.
    pub(crate) fn names_tool(&self, tool: &str) -> bool {
        is_named(&self.tool, tool) || self.is_about_changes(tool)
    }

    /// Whether the rule applies to every call of its tool.
    pub(crate) fn is_general(&self) -> bool {
        self.pattern.is_none() && self.ending.is_none()
    }

    /// Whether the pattern matches `text`, the argument of a tool.
    pub(crate) fn matches_text(&self, text: &str) -> bool {
        let text: Vec<Symbol> = text.chars().map(Symbol::Char).collect();
        self.matches(&text)
    }

    /// Whether the pattern, as an allow rule, covers the page: `domain:example.org` covers one host,
    /// `domain:*.example.org` its subdomains, and any other pattern is compared with the address.
    pub(crate) fn allows_page(&self, page: &WebAddress) -> bool {
        match self.domain() {
            None => self.matches_text(&page.url),
            Some(domain) => match domain.strip_prefix("*.") {
                Some(above) => is_below(&page.host, above),
                None => page.host == domain,
            },
        }
    }

    /// Whether the pattern, as a deny or ask rule, applies to the page: `domain:example.org` also to the hosts below it.
    pub(crate) fn matches_page(&self, page: &WebAddress) -> bool {
        if let Some(host) = &self.host {
            return host.denies_host(&page.host, page.port);
        }
        match self.domain() {
            None => self.matches_text(&page.url),
            Some(domain) => {
                let above = domain.strip_prefix("*.").unwrap_or(&domain);
                is_below(&page.host, above) || page.host == domain
            }
        }
    }

    /// The domain that the pattern names.
    fn domain(&self) -> Option<String> {
        let domain = self.pattern.as_deref()?.strip_prefix("domain:")?;
        Some(domain.trim().trim_end_matches('.').to_lowercase())
    }

    /// Whether the pattern, as an allow rule, covers the command `words`: nothing that it fixes is unknown, a
    /// blank in it separates words, and it names the options that run other programs.
    pub(crate) fn allows_command(&self, words: &[Word]) -> bool {
        let Some(pattern) = &self.pattern else {
            return true;
        };
        // The value of an assignment ends with its word, so each assignment is compared separately.
        let mut rest = pattern.as_str();
        let mut words = words;
        while let Some((word, others)) = words.split_first().filter(|(word, _)| word.assigns) {
            let (wanted, after) = rest.split_once(' ').unwrap_or((rest, ""));
            if !is_assignment(wanted) || !wildcard(wanted, &strict(std::slice::from_ref(word))) {
                return false;
            }
            (rest, words) = (after, others);
        }
        fits(rest, &strict(words))
    }

    /// Whether the pattern names all the words `given`, such as options, without a `*`: each as
    /// often as it occurs in `given`.
    pub(crate) fn names(&self, given: &[&str]) -> bool {
        let option = |word: &str| word.split('=').next().map(str::to_owned);
        let parts = self.pattern.iter().flat_map(|pattern| pattern.split(' '));
        let parts = parts.filter(|part| !part.starts_with('*'));
        let mut named: Vec<_> = parts
            .map(|part| option(part.split('*').next().unwrap_or_default()))
            .collect();
        given.iter().all(|given| {
            let place = named.iter().position(|named| *named == option(given));
            place.map(|place| named.swap_remove(place)).is_some()
        })
    }

    /// Whether the pattern, as a deny or ask rule, matches the command `words`.
    pub(crate) fn matches_command(&self, words: &[Word]) -> bool {
        self.matches(&loose(words, false))
    }

    /// Whether the pattern matches `words` for some values of their unknown parts.
    pub(crate) fn may_match_command(&self, words: &[Word]) -> bool {
        self.matches(&loose(words, true))
    }

    fn matches(&self, text: &[Symbol]) -> bool {
        self.pattern
            .as_ref()
            .is_none_or(|pattern| fits(pattern, text))
    }

    /// Whether the pattern, as an allow rule, covers the path `file`.
    pub(crate) fn allows_path(&self, file: &Path, cwd: &Path) -> bool {
        self.allows && self.matches_path(file, cwd)
    }

    /// Whether the pattern matches the path `file`, for work in `cwd`.
    pub(crate) fn matches_path(&self, file: &Path, cwd: &Path) -> bool {
        let is_meant = |end: &str| {
            file.extension()
                .is_some_and(|found| found.eq_ignore_ascii_case(end))
        };
        self.ending.is_none_or(is_meant) && self.path_glob(cwd).fits(file)
    }

    /// The pattern for paths, compiled once for many files.
    pub(crate) fn path_glob(&self, cwd: &Path) -> PathGlob {
        match self.full_pattern(cwd) {
            None => PathGlob::Any,
            Some(full) => PathGlob::Pattern(glob(&full.to_string_lossy())),
        }
    }

    fn full_pattern(&self, cwd: &Path) -> Option<PathBuf> {
        let pattern = self.pattern.as_ref()?;
        // A file name without a slash matches anywhere below.
        Some(if pattern.contains('/') {
            path::resolve(cwd, pattern.trim_start_matches("./"))
        } else {
            cwd.join("**").join(pattern)
        })
    }
}

/// A compiled pattern for paths.
#[derive(Debug)]
pub(crate) enum PathGlob {
    Any,
    /// An invalid pattern matches nothing.
    Pattern(Option<Arc<GlobMatcher>>),
}

impl PathGlob {
    pub(crate) fn fits(&self, file: &Path) -> bool {
        match self {
            Self::Any => true,
            Self::Pattern(glob) => glob.as_ref().is_some_and(|glob| glob.is_match(file)),
        }
    }
}

/// Whether `host` is below the domain `above`.
fn is_below(host: &str, above: &str) -> bool {
    host.strip_suffix(above)
        .is_some_and(|below| below.len() > 1 && below.ends_with('.'))
}

/// A compiled glob; the last ones are remembered, because the rules of a session are compared with
/// every call. Matchers are shared, because a copy would build its tables again.
fn glob(pattern: &str) -> Option<Arc<GlobMatcher>> {
    type Globs = HashMap<String, Option<Arc<GlobMatcher>>>;
    static KNOWN: LazyLock<Mutex<Globs>> = LazyLock::new(Mutex::default);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().get(pattern).cloned();
    found.unwrap_or_else(|| {
        let built = GlobBuilder::new(pattern).literal_separator(true).build();
        let built = built.ok().map(|glob| Arc::new(glob.compile_matcher()));
        let mut known = known();
        if known.len() >= MOST_GLOBS {
            known.clear();
        }
        known.insert(pattern.to_owned(), built.clone());
        built
    })
}

#[cfg(test)]
mod tests {
    use osier_peers::tools::tools_of;
    use osier_protocol::ImportSource;

    use super::*;
    use crate::wildcard::literal;

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
            assert_eq!(
                rule(pattern).matches_text(text),
                expected,
                "{pattern} {text}"
            );
        }
        assert!(rule(&format!("bash({})", literal("rm * \\x"))).matches_text("rm * \\x"));
    }

    #[test]
    fn a_rule_about_a_program_is_one_about_its_commands() {
        for (text, command, expected, program) in [
            ("run(touch)", "touch", true, Some("touch")),
            ("run( touch )", "touch a b", true, Some("touch")),
            ("run(touch)", "touchpad", false, Some("touch")),
            ("run(git-*)", "git-lfs pull", true, Some("git-*")),
            ("bash(touch *)", "touch a", true, None),
        ] {
            let rule = rule(text);
            assert_eq!(
                (rule.matches_text(command), rule.program()),
                (expected, program),
                "{text}"
            );
            assert!(rule.names_tool(BASH));
        }
        assert_eq!(
            ["run", "run()", "run(a b)"].map(Rule::parse),
            [None, None, None]
        );
    }

    #[test]
    fn a_rule_names_paths_for_the_sandbox() {
        for (text, expected) in [
            ("read(.env)", Some("/w/**/.env")),
            ("Read(secrets/key)", Some("/w/secrets/key")),
            ("read(./*.pem)", Some("/w/*.pem")),
            ("read(/etc/**)", Some("/etc/**")),
            ("read", None),
            ("edit(.env)", None),
            ("bash(cat *)", None),
        ] {
            let found = rule(text).paths("read", Path::new("/w"));
            assert_eq!(found, expected.map(PathBuf::from), "{text}");
        }
    }

    #[test]
    fn a_rule_about_a_host_is_one_about_its_pages() {
        for (text, page, expected) in [
            ("connect", "https://a.org", true),
            ("connect(a.org)", "https://a.org/x", true),
            ("connect(a.org)", "https://b.a.org/x", true),
            ("connect(a.org)", "https://ba.org/x", false),
            ("connect(*.a.org:443)", "https://b.a.org/x", true),
            ("connect(*.a.org:443)", "http://b.a.org/x", false),
            ("connect(10.0.0.0/8)", "http://10.1.2.3:8080/", true),
            ("connect(10.0.0.0/8)", "http://11.1.2.3/", false),
        ] {
            let (rule, page) = (rule(text), WebAddress::parse(page).unwrap());
            let touches = rule.is_general() || rule.matches_page(&page);
            assert_eq!(touches, expected, "{text} {page:?}");
            assert!(rule.is_network() && rule.names_tool("web_fetch") && !rule.names_tool(BASH));
        }
        for text in ["connect(a b)", "connect(http://a.org)", "connect(*)x"] {
            assert_eq!(Rule::parse(text), None, "{text}");
        }
    }

    #[test]
    fn rules_about_spellings_name_their_program() {
        for (text, expected) in [
            ("bash(rm *)", Some("rm")),
            ("bash(git push *)", Some("git")),
            ("Bash(rm:*)", Some("rm")),
            ("bash(* --force)", Some("*")),
            ("bash", None),
            ("run(rm)", None),
            ("read(x)", None),
        ] {
            assert_eq!(rule(text).spelling(), expected, "{text}");
        }
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
            let fits = rule(pattern).matches_path(Path::new(file), cwd);
            assert_eq!(fits, expected, "{pattern} {file}");
        }
    }

    #[test]
    fn rules_accept_alternative_tool_names_and_wildcards() {
        assert!(rule("Bash(x)").names_tool("bash"));
        assert!(rule("mcp__github__*").names_tool("mcp__github__search"));
        assert!(!rule("mcp__github__*").names_tool("mcp__gitlab__search"));
        for (text, tool, expected) in [
            ("github__*", "github__search", true),
            ("mcp__github__*", "github__search", true),
            ("mcp__github__search", "github__search", true),
            ("mcp__github__*", "gitlab__search", false),
            ("mcp__*", "github__search", true),
            ("mcp__*", "bash", false),
        ] {
            let tool = ToolNames::from(tool);
            assert_eq!(rule(text).allows_tool(&tool), expected, "{text}");
        }
        assert!(rule("*").names_tool("anything"));
        for wrong in ["", "(x)", "bash(x", "a b", "bash)x(", "a__b)x(y)"] {
            assert_eq!(Rule::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn rules_mean_the_tools_that_claude_code_names() {
        for row in tools_of(ImportSource::Claude) {
            let rule = rule(row.name);
            let found = (rule.names_tool(row.ours), rule.misspelt());
            let expected = if row.is_part {
                (false, Some(row.ours))
            } else {
                (true, None)
            };
            assert_eq!(found, expected, "{row:?}");
        }
        assert!(
            rule("NotebookEdit(*.ipynb)").matches_path(Path::new("/w/a.ipynb"), Path::new("/w"))
        );
        for (text, file, expected) in [
            ("NotebookEdit", "/w/a.ipynb", [true, true]),
            ("NotebookEdit", "/w/a.IPYNB", [true, true]),
            ("NotebookEdit", "/w/a.rs", [false, false]),
            ("NotebookEdit(sub/**)", "/w/sub/a.ipynb", [true, true]),
            ("NotebookEdit(sub/**)", "/w/sub/a.rs", [false, false]),
            ("NotebookEdit(sub/**)", "/w/a.ipynb", [false, false]),
            ("MultiEdit", "/w/a.rs", [false, true]),
            ("Edit", "/w/a.rs", [true, true]),
        ] {
            let (rule, file, cwd) = (rule(text), Path::new(file), Path::new("/w"));
            let found = [rule.allows_path(file, cwd), rule.matches_path(file, cwd)];
            assert_eq!(found, expected, "{text} {file:?}");
        }
        let paths = |text: &str, tool: &str| rule(text).paths(tool, Path::new("/w"));
        for tool in ["edit", "write"] {
            let all = paths("NotebookEdit", tool);
            assert_eq!(all, Some("/w/**/*.ipynb".into()));
            assert_eq!(paths("NotebookEdit(sub/**)", tool), None);
        }
        assert_eq!(paths("NotebookEdit", "read"), None);
        assert!(rule("Monitor").is_foreign());
        assert!(!rule("count").is_foreign());
        assert_eq!(Rule::parse("rename(src/[)"), None);
    }
}
