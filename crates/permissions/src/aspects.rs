//! The aspects of a call, in the terms of the rules: the commands that it runs and the files that it touches.

mod command;
mod folders;
mod line;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::programs;
use super::rule::Rule;
use super::tool_names::ToolNames;
use super::wildcard::literal;
pub(super) use command::{Command, Search, is_plain_name};
use osier_agent::{FileTarget, FileUse};
use osier_base::real_path::RealPath;
use osier_base::visible::visible;
use osier_tools::{BASH, BuiltIn, EDIT, GREP, READ, RuleText, ToolEffect, WRITE, WebAddress};

/// The aspects of a call that rules decide about.
#[derive(Debug, Default)]
pub(super) struct Aspects {
    /// The tool of the call.
    pub tool: ToolNames,
    pub list: Vec<Aspect>,
    /// Files whose contents the call shows or a command reads by a redirection. Reading these files needs no permission,
    /// but a rule can deny it.
    pub reads: Vec<Aspect>,
    /// Whether the call could not be fully understood.
    pub unclear: bool,
    /// Whether a command runs its input, or a text that is not understood.
    pub runs_input: bool,
    /// Files whose contents a command shows: rules can deny them, and those with secrets need permission.
    pub operands: Vec<Aspect>,
    /// Paths that a command with a rule writes.
    pub written: Vec<Aspect>,
    /// The searches of the commands.
    pub searches: Vec<Search>,
    /// Whether another command can decide which file a redirection reads, so that a rule could deny
    /// that file.
    pub reads_unknown: bool,
    /// Whether a redirection reads an unknown file, or a device.
    pub reads_lost: bool,
    /// Why a rule with `*` does not cover the call.
    pub refused: Option<String>,
    /// Whether the parts of the call depend on one another: rules that allow each part do not allow
    /// the call.
    pub is_connected: bool,
    /// The complete command line, for `bash`.
    pub command: Option<String>,
}

/// One action of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Aspect {
    tool: ToolNames,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Command(Box<Command>),
    /// The main argument of a tool.
    Text(String),
    /// A page of the web.
    Page(WebAddress),
    /// The names of a file, and its path without symbolic links.
    File(Vec<PathBuf>, PathBuf),
}

impl Aspect {
    pub(super) fn of_command(command: Command) -> Self {
        Self::of(BASH, What::Command(Box::new(command)))
    }

    /// The command, if the aspect is one.
    pub(super) fn command(&self) -> Option<&Command> {
        match &self.what {
            What::Command(command) => Some(command),
            _ => None,
        }
    }

    fn of(tool: &str, what: What) -> Self {
        let tool = tool.into();
        Self { tool, what }
    }

    /// Whether the allow rule `rule` covers the aspect.
    pub(super) fn is_covered(&self, rule: &Rule, cwd: &Path) -> bool {
        if !rule.allows_tool(&self.tool) {
            return false;
        }
        match &self.what {
            What::Command(command) => rule.is_general() || command.is_covered(rule),
            What::Text(text) => rule.matches_text(text),
            What::Page(page) => rule.allows_page(page),
            What::File(_, meant) => rule.allows_path(meant, cwd),
        }
    }

    /// Whether the deny or ask rule `rule` applies to the aspect.
    pub(super) fn is_touched(&self, rule: &Rule, cwd: &Path) -> bool {
        if !rule.denies_tool(&self.tool) {
            return false;
        }
        match &self.what {
            What::Command(command) => command.is_touched(rule),
            What::Text(text) => rule.matches_text(text),
            What::Page(page) => rule.matches_page(page),
            What::File(names, real) => {
                rule.matches_path(real, cwd)
                    || names.iter().any(|name| rule.matches_path(name, cwd))
            }
        }
    }

    /// Whether the deny or ask rule `rule` applies to the aspect for some values of its unknown parts.
    pub(super) fn may_be_touched(&self, rule: &Rule) -> bool {
        match &self.what {
            What::Command(command) => rule.denies_tool(&self.tool) && command.may_be_touched(rule),
            _ => false,
        }
    }

    /// The aspect of showing a file.
    pub(super) fn shown_file(found: RealPath) -> Self {
        Self::of(READ, What::File(found.names, found.real))
    }

    /// Whether the aspect is a change of a file.
    pub(super) fn writes(&self) -> bool {
        osier_tools::effect(&self.tool.called) == Some(ToolEffect::Changes)
            && !self.paths().is_empty()
    }

    /// The names of the aspect's file, the real path first.
    pub(super) fn paths(&self) -> Vec<&Path> {
        match &self.what {
            What::Command(_) | What::Text(_) | What::Page(_) => Vec::new(),
            What::File(names, real) => {
                let names = names.iter().map(PathBuf::as_path);
                [real.as_path()].into_iter().chain(names).collect()
            }
        }
    }
}

impl Aspects {
    /// The aspects of showing the file at the real path `path`, which a search has found.
    pub(super) fn of_found(path: &Path) -> [Aspect; 2] {
        [READ, GREP].map(|tool| Aspect::of(tool, What::File(Vec::new(), path.to_owned())))
    }

    /// The aspects of a call on these files in `cwd`.
    pub(super) fn of_targets(
        names: ToolNames,
        arguments: &Value,
        targets: &[FileTarget],
        cwd: &Path,
    ) -> Self {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let tool = names.called.as_str();
        let known = osier_tools::find(tool);
        let rule_text = known.map_or(RuleText::None, BuiltIn::rule_text);
        let main = rule_text.argument().and_then(text);
        if let RuleText::Command(_) = rule_text {
            let command = main.map(|command| Self::of_command(command, cwd));
            return Self {
                tool: names,
                ..command.unwrap_or_default()
            };
        }
        if known.is_some_and(|known| known.files.is_some()) {
            return Self::of_files(names, targets);
        }
        let target = targets.first();
        let argument = known.and_then(|known| known.file);
        let is_given = argument.is_some_and(|argument| text(argument.name).is_some());
        let file = target.map(|target| What::File(target.names.clone(), target.real.clone()));
        let shows = target.is_some_and(|target| target.purpose.shows() && tool != READ);
        let reads = file.clone().filter(|_| shows);
        let reads = reads.map(|what| Aspect::of(READ, what));
        let what = file.filter(|_| is_given).unwrap_or_else(|| {
            let main = main.unwrap_or_default();
            let page = match rule_text {
                RuleText::Page(_) => WebAddress::parse(main),
                _ => None,
            };
            page.map_or_else(|| What::Text(main.to_owned()), What::Page)
        });
        Self {
            list: vec![Aspect {
                tool: names.clone(),
                what,
            }],
            tool: names,
            reads: reads.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The aspects of a call that changes several files. A call without files does nothing.
    fn of_files(names: ToolNames, targets: &[FileTarget]) -> Self {
        let file = |target: &FileTarget| What::File(target.names.clone(), target.real.clone());
        let changed = targets.iter().map(|target| Aspect {
            tool: names.doing(match target.purpose {
                FileUse::Edit => &[EDIT],
                _ => &[WRITE],
            }),
            what: file(target),
        });
        let shown = targets.iter().filter(|target| target.purpose.shows());
        let shown = shown.map(|target| Aspect::of(READ, file(target)));
        Self {
            list: changed.collect(),
            reads: shown.collect(),
            tool: names,
            ..Self::default()
        }
    }

    /// The files whose contents the call shows.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Aspect> {
        let own = self.list.iter().filter(|aspect| aspect.tool.called == READ);
        own.chain(&self.reads)
    }

    /// Whether an allow rule names exactly this command line.
    pub(super) fn is_allowed_exactly(&self, allow: &[&Rule]) -> bool {
        self.command.as_ref().is_some_and(|command| {
            let exactly = format!("{BASH}({})", literal(command));
            allow.iter().any(|rule| rule.text == exactly)
        })
    }

    /// A rule with the start of a command and a wildcard, if one such rule allows every part of the
    /// line that does more than read. A part that writes a file has no such rule.
    fn start(&self) -> Option<String> {
        let mut start = None;
        for aspect in self.list.iter().filter(|_| !self.unclear) {
            let command = aspect.command()?;
            if command.reads_only {
                continue;
            }
            let rule = format!("{BASH}({} *)", literal(&programs::prefix(&command.words)?));
            let covers = Rule::parse(&rule).is_some_and(|rule| command.is_covered(&rule));
            let is_first = start.as_ref().is_none_or(|start| *start == rule);
            if !covers || !is_first {
                return None;
            }
            start = Some(rule);
        }
        start
    }

    /// Rules that the user can save for the call of `tool`, the narrowest first.
    pub(super) fn patterns(&self, tool: &str, cwd: &Path) -> Vec<String> {
        let mut patterns = Vec::new();
        if let Some(command) = &self.command {
            patterns.push(format!("{BASH}({})", literal(command)));
            patterns.extend(self.start());
            patterns.retain(|pattern| can_be_offered(pattern));
            return patterns;
        }
        if self.list.len() > 1 {
            // A rule for one of several files would not allow the call.
            let mut files = self
                .list
                .iter()
                .filter_map(|aspect| aspect.paths().first().copied());
            if files.all(|file| file.starts_with(cwd)) {
                patterns.push(format!("{tool}(./**)"));
            }
        } else if let Some(What::File(_, meant)) = self.list.first().map(|aspect| &aspect.what) {
            let below = meant.strip_prefix(cwd).ok();
            let shown = below.filter(|path| !path.as_os_str().is_empty());
            let shown = shown.unwrap_or(meant);
            let escape = |path: &Path| globset::escape(&path.to_string_lossy());
            patterns.push(format!("{tool}({})", escape(shown)));
            let folder = shown
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty() && meant != cwd);
            if let Some(folder) = folder {
                patterns.push(format!("{tool}({}/**)", escape(folder)));
            }
            if meant.starts_with(cwd) {
                patterns.push(format!("{tool}(./**)"));
            }
            patterns.retain(|pattern| can_be_offered(pattern));
        }
        if let Some(What::Page(page)) = self.list.first().map(|aspect| &aspect.what) {
            patterns.push(format!("{tool}(domain:{})", page.host));
        }
        patterns.push(if tool == self.tool.called {
            self.tool.rule()
        } else {
            tool.to_owned()
        });
        patterns.dedup();
        patterns
    }
}

/// Whether `pattern` can be offered: it hides nothing from the user, and it is a rule for some
/// calls. A blank command or file name would become a rule without a pattern, which allows every
/// call.
fn can_be_offered(pattern: &str) -> bool {
    matches!(visible(pattern), Cow::Borrowed(_))
        && Rule::parse(pattern).is_some_and(|rule| !rule.is_general())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offered_rule_allows_the_complete_command_line() {
        let cwd = Path::new("/w");
        let offers = |command: &str| Aspects::of_command(command, cwd).patterns("bash", cwd);
        let exact = |command: &str| vec![format!("bash({command})")];
        assert_eq!(
            offers("git add a && git add -u"),
            ["bash(git add a && git add -u)", "bash(git add *)"]
        );
        // A part that only reads needs no permission.
        assert_eq!(
            offers("git status && cargo build"),
            ["bash(git status && cargo build)", "bash(cargo build *)"]
        );
        for command in [
            // After a rule for one part, the other parts would still need permission.
            "git add a && cargo build",
            "cargo build; rm -rf build",
            "cargo test | tee log",
            // A part that writes a file is not covered by a rule for its command.
            "git add > a",
        ] {
            assert_eq!(offers(command), exact(command), "{command}");
        }
    }
}
