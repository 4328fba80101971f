//! The names of a tool in rules. Rules use the names of an MCP server's tool from `mcp.json` and
//! from the server. Models can know the tool by another name, and a rule for one server must not
//! apply to another server with a similar name.

use std::borrow::Cow;
use std::fmt;

use osier_base::server_tool::is_of_changed_server;
use osier_base::visible::visible;

use super::rule::Rule;
use super::wildcard::is_named;

/// The prefix that other agents write before the name of a server.
const PREFIX: &str = "mcp__";

/// Finds the tools of MCP servers.
pub trait ServerTools: Send + Sync + fmt::Debug {
    /// The server and its tool that models call `name`.
    fn tool(&self, name: &str) -> Option<(String, String)>;

    /// The names of all configured servers.
    fn servers(&self) -> Vec<String>;
}

/// The names of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolNames {
    /// The name by which models call the tool.
    pub called: String,
    /// Other tools whose rules apply to the call.
    also: Also,
    server: Option<ServerTool>,
}

/// Other tools whose rules apply to a call. For example, the rules of `write` and `edit` apply to a
/// patch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Also {
    /// The tools whose allow rules apply, by the change of the file.
    allow: &'static [&'static str],
    /// The tools whose deny and ask rules apply.
    against: &'static [&'static str],
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServerTool {
    server: String,
    tool: String,
    /// The names of all servers.
    servers: Vec<String>,
}

impl From<&str> for ToolNames {
    fn from(called: &str) -> Self {
        Self {
            called: called.to_owned(),
            also: Also::of(called),
            server: None,
        }
    }
}

impl Also {
    fn of(called: &str) -> Self {
        Self {
            allow: &[],
            against: osier_tools::find(called).map_or(&[], |tool| tool.replaces),
        }
    }
}

impl ToolNames {
    pub(super) fn find(called: &str, known: Option<&dyn ServerTools>) -> Self {
        let found = known.filter(|_| called.contains("__"));
        let server = found.and_then(|known| {
            let (server, tool) = known.tool(called)?;
            let servers = known.servers();
            Some(ServerTool {
                server,
                tool,
                servers,
            })
        });
        Self {
            called: called.to_owned(),
            also: Also::of(called),
            server,
        }
    }

    /// The names for a part of the call that has the effect of `tool`.
    pub(super) fn doing(&self, tool: &'static [&'static str]) -> Self {
        let mut names = self.clone();
        names.also.allow = tool;
        names
    }

    /// Whether an allow rule with the tool `written` applies to this tool. No other reading of
    /// `written` may be possible.
    pub(super) fn is_named_by(&self, written: &str) -> bool {
        let Some(server) = &self.server else {
            let begin = written.strip_prefix(PREFIX).unwrap_or(written);
            let is_open = begin.split("__").next().is_some_and(has_wildcard);
            let is_called = self.is_called(written)
                || self.also.allow.iter().any(|name| is_named(written, name));
            return (is_open || !is_of_changed_server(&self.called)) && is_called;
        };
        let is_called = || written == self.called || written == format!("{PREFIX}{}", self.called);
        server.is_named_by(written) || (server.rule().is_none() && is_called())
    }

    /// Whether a deny or ask rule with the tool `written` applies to this tool, by any of its
    /// names.
    pub(super) fn may_be_named_by(&self, written: &str) -> bool {
        let is_real = |server: &ServerTool| {
            let real = format!("{}__{}", server.server, server.tool);
            is_named(written, &real) || is_named(written, &format!("{PREFIX}{real}"))
        };
        self.is_called(written)
            || self.also.against.iter().any(|name| is_named(written, name))
            || self.server.as_ref().is_some_and(is_real)
            || self.is_at_peers(written)
    }

    /// Whether the pattern `written` matches a name of the tool in another agent, as `Bash*` and
    /// `E*` do.
    fn is_at_peers(&self, written: &str) -> bool {
        let names = std::iter::once(self.called.as_str()).chain(self.also.against.iter().copied());
        let mut peers = names
            .filter_map(osier_tools::find)
            .flat_map(|tool| tool.peers);
        has_wildcard(written) && peers.any(|peer| is_named(written, peer.name))
    }

    fn is_called(&self, written: &str) -> bool {
        let called = &self.called;
        is_named(written, called)
            || (called.contains("__") && is_named(written, &format!("{PREFIX}{called}")))
    }

    /// The rule for every call of the tool.
    pub(super) fn rule(&self) -> String {
        let real = self.server.as_ref().and_then(ServerTool::rule);
        real.unwrap_or_else(|| self.called.clone())
    }
}

impl ServerTool {
    /// Whether `written` names the tool, with or without the prefix.
    fn is_named_by(&self, written: &str) -> bool {
        match written.strip_prefix(PREFIX) {
            // With a second `__`, `mcp__` is the prefix and not a server.
            Some(rest) if rest.contains("__") => self.is_named_plainly_by(rest),
            Some(rest) => self.is_named_plainly_by(rest) || self.is_named_plainly_by(written),
            None => self.is_named_plainly_by(written),
        }
    }

    fn is_named_plainly_by(&self, written: &str) -> bool {
        let begin = written.split("__").next().unwrap_or_default();
        if has_wildcard(begin) {
            return is_named(written, &format!("{}__{}", self.server, self.tool));
        }
        // Names can contain `__`, so the rule can mean several servers: the longest name is used.
        let splits = (0..written.len()).rev();
        let splits = splits.filter(|at| written.as_bytes()[*at..].starts_with(b"__"));
        let mut splits = splits.map(|at| (&written[..at], &written[at + 2..]));
        let named = splits.find(|(server, _)| self.servers.iter().any(|known| known == server));
        named.is_some_and(|(server, tool)| {
            server == self.server && (tool == self.tool || is_named(tool, &self.tool))
        })
    }

    /// The rule for every call of the tool, if a rule can contain its names.
    fn rule(&self) -> Option<String> {
        let real = format!("{}__{}", self.server, self.tool);
        let written = if real.starts_with(PREFIX) {
            format!("{PREFIX}{real}")
        } else {
            real
        };
        let can_be_written = !has_wildcard(&written)
            && matches!(visible(&written), Cow::Borrowed(_))
            && Rule::parse(&written).is_some_and(|rule| rule.is_only(&written))
            && self.is_named_by(&written);
        can_be_written.then_some(written)
    }
}

fn has_wildcard(text: &str) -> bool {
    text.contains('*')
}

#[cfg(test)]
mod tests {
    use osier_base::server_tool::tool_name;

    use super::*;

    #[derive(Debug)]
    struct Configured(Vec<(String, String)>);

    impl ServerTools for Configured {
        fn tool(&self, name: &str) -> Option<(String, String)> {
            let mut tools = self.0.iter();
            let found = tools.find(|(server, tool)| tool_name(server, tool) == name);
            found.cloned()
        }

        fn servers(&self) -> Vec<String> {
            self.0.iter().map(|(server, _)| server.clone()).collect()
        }
    }

    #[test]
    fn pattern_of_another_agents_names_denies_and_does_not_allow() {
        for (written, called, allows, denies) in [
            ("Bash*", "bash", false, true),
            ("B*", "bash", false, true),
            ("Edit*", "edit", false, true),
            ("Multi*", "edit", false, true),
            ("Write*", "write", false, true),
            ("Bash*", "read", false, false),
            ("bash*", "bash", true, true),
        ] {
            let names = ToolNames::from(called);
            let found = (names.is_named_by(written), names.may_be_named_by(written));
            assert_eq!(found, (allows, denies), "{written} {called}");
        }
    }

    /// Whether an allow rule and whether a deny rule matches the tool of a server, next to the servers `others`.
    fn named(written: &str, server: &str, tool: &str, others: &[&str]) -> (bool, bool) {
        let others = others
            .iter()
            .map(|other| ((*other).to_owned(), "x".to_owned()));
        let all = std::iter::once((server.to_owned(), tool.to_owned())).chain(others);
        let configured = Configured(all.collect());
        let names = ToolNames::find(&tool_name(server, tool), Some(&configured));
        let offered = names.rule();
        assert!(names.is_named_by(&offered), "{offered}");
        assert!(names.may_be_named_by(&offered), "{offered}");
        (names.is_named_by(written), names.may_be_named_by(written))
    }

    #[test]
    fn rules_name_servers_and_tools_as_their_configuration_does() {
        let long = "x".repeat(99);
        for (written, server, tool) in [
            ("git__*", "git", "log"),
            ("mcp__git__*", "git", "log"),
            ("mcp__git__log", "git", "log"),
            ("mcp__*", "git", "log"),
            ("mcp__g*", "git", "log"),
            ("*", "git", "log"),
            ("*__log", "git", "log"),
            ("my.server__*", "my.server", "get"),
            ("mcp__my.server__g*", "my.server", "get"),
            ("my.server__get/one", "my.server", "get/one"),
            ("git__x__*", "git__x", "log"),
            ("git__x__log", "git", "x__log"),
            ("git_57365134__*", "git_57365134", "x"),
            ("git.__*", "git.", "x"),
            ("mcp__mcp__x__*", "mcp", "x__log"),
            ("mcp__log", "mcp", "log"),
            (&format!("git__{long}"), "git", &long),
            (&format!("{long}__get"), &long, "get"),
            ("日本__x", "日本", "x"),
            ("my server__*", "my server", "get"),
            // Names that no rule can contain.
            (&tool_name("a(b", "c)"), "a(b", "c)"),
            (&tool_name("git", "x(y)"), "git", "x(y)"),
            (&tool_name("git", "a\u{202e}b"), "git", "a\u{202e}b"),
        ] {
            assert_eq!(named(written, server, tool, &[]), (true, true), "{written}");
        }
    }

    #[test]
    fn rules_do_not_hold_for_servers_that_get_their_name() {
        for (written, server, tool, others) in [
            ("git_57365134__*", "git.", "x", &[][..]),
            ("git_57365134__x", "git.", "x", &[]),
            ("mcp__git_57365134__x", "git.", "x", &["git_57365134"]),
            ("my_server__*", "my.server", "get", &["my_server"]),
            ("my_server__get_one_1ab688e4", "my.server", "get/one", &[]),
            ("git__*", "git__x", "log", &["git"]),
            ("git__x__*", "git", "x__log", &["git__x"]),
            ("mcp__git__*", "mcp", "git__log", &["git"]),
            ("mcp__git__log", "mcp", "git__log", &[]),
            ("git__log", "Git", "log", &["git"]),
            ("git__*", "git ", "log", &["git"]),
            ("git__*", "gi*", "log", &["git"]),
        ] {
            let (allows, _) = named(written, server, tool, others);
            assert!(!allows, "{written} for {tool} of {server}");
        }
    }

    #[test]
    fn deny_rules_hold_by_every_name() {
        for (written, server, tool) in [
            ("my.server__delete*", "my.server", "delete/all"),
            ("my_server*", "my.server", "delete"),
            ("git__x__*", "git", "x__log"),
            ("git__delete/*", "git", "delete/all"),
            ("mcp__git__x__*", "git__x", "log"),
            ("git_57365134__*", "git.", "x"),
        ] {
            assert!(named(written, server, tool, &[]).1, "{written}");
        }
    }

    #[test]
    fn a_tool_that_is_not_known_is_named_by_its_own_name() {
        for (written, called, expected) in [
            ("git__*", "git__log", true),
            ("mcp__git__*", "git__log", true),
            ("git_57365134__*", "git_57365134__x", false),
            ("git_57365134__x", "git_57365134__x", false),
            ("mcp__*", "git_57365134__x", true),
        ] {
            let names = ToolNames::find(called, None);
            assert_eq!(names.is_named_by(written), expected, "{written}");
            assert!(names.may_be_named_by(written), "{written}");
        }
    }
}
