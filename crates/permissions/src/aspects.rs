//! The aspects of a call, in the terms of the rules: the commands that it runs and the files that it touches.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::equivalents::{self, Equivalent, Equivalents};
use super::programs;
use super::rule::{Rule, literal};
use super::shell::{self, CommandLine, Part, Word};
use super::tool_names::ToolNames;
use osier_agent::{FileTarget, FileUse};
use osier_base::real_path::RealPath;
use osier_base::visible::visible;
use osier_base::{path, real_path};
use osier_tools::{BASH, EDIT, GREP, READ, RuleText, ToolEffect, WRITE, WebAddress};

/// Files that accept any output and store nothing.
const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// The aspects of a call that rules decide about.
#[derive(Debug, Default)]
pub(super) struct Aspects {
    /// The tool of the call.
    pub tool: ToolNames,
    pub list: Vec<Aspect>,
    /// Files whose contents the call shows or a command reads by a redirection. They need no permission, but rules can
    /// deny them.
    pub reads: Vec<Aspect>,
    /// The call could not be fully understood.
    pub unclear: bool,
    /// A command runs its input, or a text that is not understood.
    pub runs_input: bool,
    /// A redirection reads an unknown file.
    pub reads_unknown: bool,
    /// The parts of the call depend on one another: rules that allow each part do not allow the call.
    pub is_connected: bool,
    /// The complete command line, for `bash`.
    pub command: Option<String>,
}

/// One thing a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Aspect {
    tool: ToolNames,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// A command, and commands that it stands for.
    Command(Vec<Word>, Vec<Equivalent>),
    /// The main argument of a tool.
    Text(String),
    /// A page of the web.
    Page(WebAddress),
    /// Names of a file, and its path without symbolic links.
    File(Vec<PathBuf>, PathBuf),
}

impl Aspect {
    fn of(tool: &str, what: What) -> Self {
        let tool = tool.into();
        Self { tool, what }
    }

    /// Whether the allow rule `rule` covers it.
    pub(super) fn is_covered(&self, rule: &Rule, cwd: &Path) -> bool {
        if !rule.is_for(&self.tool) {
            return false;
        }
        match &self.what {
            What::Command(words, others) => {
                let names_dangers = |words: &[Word]| {
                    programs::dangerous(words).is_some_and(|found| rule.names(&found))
                };
                rule.is_general()
                    || (rule.covers(words)
                        && names_dangers(words)
                        && others
                            .iter()
                            .all(|other| !other.is_complete || names_dangers(&other.words)))
            }
            What::Text(text) => rule.fits_text(text),
            What::Page(page) => rule.covers_page(page),
            What::File(_, meant) => rule.fits_path(meant, cwd),
        }
    }

    /// Whether the deny or ask rule `rule` applies to it.
    pub(super) fn is_touched(&self, rule: &Rule, cwd: &Path) -> bool {
        if !rule.is_against(&self.tool) {
            return false;
        }
        match &self.what {
            What::Command(words, others) => {
                rule.fits_command(words)
                    || others.iter().any(|other| rule.fits_command(&other.words))
            }
            What::Text(text) => rule.fits_text(text),
            What::Page(page) => rule.touches_page(page),
            What::File(names, real) => {
                rule.fits_path(real, cwd) || names.iter().any(|name| rule.fits_path(name, cwd))
            }
        }
    }

    /// Whether the deny or ask rule `rule` applies to the aspect for some values of its unknown parts.
    pub(super) fn may_be_touched(&self, rule: &Rule) -> bool {
        let may_fit =
            |words: &[Word]| !words.iter().all(Word::is_fixed) && rule.may_fit_command(words);
        match &self.what {
            What::Command(words, others) if rule.is_against(&self.tool) => {
                may_fit(words) || others.iter().any(|other| may_fit(&other.words))
            }
            _ => false,
        }
    }

    /// Showing a file.
    pub(super) fn shown_file(found: RealPath) -> Self {
        Self::of(READ, What::File(found.names, found.real))
    }

    /// Whether it writes a file.
    pub(super) fn writes(&self) -> bool {
        osier_tools::effect(&self.tool.called) == Some(ToolEffect::Changes)
            && !self.paths().is_empty()
    }

    /// The names of its file, the real path first.
    pub(super) fn paths(&self) -> Vec<&Path> {
        match &self.what {
            What::Command(..) | What::Text(_) | What::Page(_) => Vec::new(),
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
        let rule_text = known.map_or(RuleText::None, |known| known.rule_text);
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

    /// Whether a rule is for this command line alone.
    pub(super) fn is_allowed_exactly(&self, allow: &[&Rule]) -> bool {
        self.command.as_ref().is_some_and(|command| {
            let exactly = format!("{BASH}({})", literal(command));
            allow.iter().any(|rule| rule.text == exactly)
        })
    }

    fn of_command(command: &str, cwd: &Path) -> Self {
        let mut aspects = Self {
            command: Some(command.trim_matches([' ', '\t', '\n']).to_owned()),
            ..Self::default()
        };
        match shell::read(command) {
            None => aspects.unclear = true,
            Some(line) => aspects.add(line, cwd),
        }
        aspects
    }

    fn add(&mut self, line: CommandLine, cwd: &Path) {
        self.is_connected = line.changes_shell;
        for part in line.parts {
            match part {
                Part::Run(words) => {
                    let program = words.iter().find(|word| !word.assigns);
                    self.is_connected |= line.changes_directory
                        && program.is_some_and(|program| {
                            program.text.contains('/') && !program.text.starts_with(['/', '~'])
                        });
                    let mut others = Equivalents {
                        feeds_input: line.feeds_input,
                        ..Equivalents::default()
                    };
                    self.unclear |= equivalents::add(&words, 0, &mut others).is_none();
                    self.runs_input |= others.runs_input;
                    let command = What::Command(words, others.list);
                    self.list.push(Aspect::of(BASH, command));
                }
                Part::WriteTo(word) if SINKS.contains(&word.text.as_str()) => {}
                Part::WriteTo(word) => {
                    self.unclear |= is_unknown(&word, line.changes_directory);
                    self.list
                        .push(Aspect::of(WRITE, target_of(&word.text, cwd)));
                }
                Part::ReadFrom(word) => {
                    self.reads_unknown |= is_unknown(&word, line.changes_directory);
                    self.reads
                        .push(Aspect::of(READ, target_of(&word.text, cwd)));
                }
            }
        }
    }

    /// A rule for each part of a command line, by the start of its command. A part that writes a file has none.
    fn starts(&self) -> Vec<String> {
        let mut starts = Vec::new();
        for aspect in self.list.iter().filter(|_| !self.unclear) {
            let What::Command(words, _) = &aspect.what else {
                return Vec::new();
            };
            let start = programs::prefix(words);
            let rule = start.map(|start| format!("{BASH}({} *)", literal(&start)));
            starts.extend(rule.filter(|rule| !starts.contains(rule)));
        }
        starts
    }

    /// Rules that the user can save for the call of `tool`, the narrowest first.
    pub(super) fn patterns(&self, tool: &str, cwd: &Path) -> Vec<String> {
        let mut patterns = Vec::new();
        if let Some(command) = &self.command {
            patterns.push(format!("{BASH}({})", literal(command)));
            patterns.extend(self.starts());
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

/// Whether `pattern` can be offered: it hides nothing from the user, and it is a rule for some calls. Of a blank command or
/// file name nothing would be left, which means every call.
fn can_be_offered(pattern: &str) -> bool {
    matches!(visible(pattern), Cow::Borrowed(_))
        && Rule::parse(pattern).is_some_and(|rule| !rule.is_general())
}

/// The file of a redirection: the shell takes its name literally, a file tool does not.
fn target_of(text: &str, cwd: &Path) -> What {
    let given = path::resolve(cwd, text);
    let exact = if text.starts_with('~') {
        given.clone()
    } else {
        cwd.join(text)
    };
    let found = real_path::resolve(&exact);
    let mut names = found.names;
    names.extend([given, exact]);
    What::File(names, found.real)
}

/// Whether it is unknown which file the word names.
fn is_unknown(word: &Word, moved: bool) -> bool {
    !word.is_fixed() || (moved && !word.text.starts_with(['/', '~']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_command_line_can_be_allowed() {
        let cwd = Path::new("/w");
        let offers = |command: &str| Aspects::of_command(command, cwd).patterns("bash", cwd);
        assert_eq!(
            offers("git status && cargo build"),
            [
                "bash(git status && cargo build)",
                "bash(git status *)",
                "bash(cargo build *)"
            ]
        );
        assert_eq!(
            offers("git log && git log -p"),
            ["bash(git log && git log -p)", "bash(git log *)"]
        );
        // A part that writes a file is not covered by a rule for its command.
        assert_eq!(offers("git log > a"), ["bash(git log > a)"]);
    }
}
