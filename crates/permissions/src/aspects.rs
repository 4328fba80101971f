//! What a call does, in the terms of the rules: the commands it runs and the files it touches.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::rule::{Rule, literal};
use super::shell::{self, Part, Word, is_assignment, is_unclear};
use osier_base::real_path::RealPath;
use osier_base::{path, real_path};
use osier_tools::FileTarget;

/// Programs that run a command given in their arguments.
const WRAPPERS: &[&str] = &[
    "sudo",
    "doas",
    "su",
    "env",
    "nohup",
    "nice",
    "ionice",
    "timeout",
    "time",
    "stdbuf",
    "setsid",
    "command",
    "builtin",
    "exec",
    "xargs",
    "watch",
    "strace",
    "ltrace",
    "busybox",
    "unshare",
    "nsenter",
    "chroot",
    "flock",
    "parallel",
    "find",
    "fd",
    "script",
    "setpriv",
    "systemd-run",
    "caffeinate",
    "gdb",
    "valgrind",
    "ssh",
    "trap",
];
/// Programs that run the text of an argument as a command.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "su"];
/// Files that accept any output and store nothing.
const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
/// Depth up to which nested shells are parsed.
const DEPTH: usize = 4;

/// What a call does, for the rules.
#[derive(Debug, Default)]
pub(super) struct Aspects {
    pub list: Vec<Aspect>,
    /// Files whose contents the call shows. They need no permission, but rules can deny them.
    pub reads: Vec<Aspect>,
    /// The call could not be fully parsed.
    pub unclear: bool,
    /// The complete command line, for `bash`.
    pub command: Option<String>,
}

/// One thing a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Aspect {
    tool: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// The text, and equivalent texts.
    Text(String, Vec<String>),
    /// Names of a file, and its path without symbolic links.
    File(Vec<PathBuf>, PathBuf),
}

impl Aspect {
    /// Whether the allow rule `rule` covers it.
    pub(super) fn is_covered(&self, rule: &Rule, cwd: &Path) -> bool {
        if !rule.is_about(&self.tool) {
            return false;
        }
        match &self.what {
            What::Text(text, _) => rule.fits_text(text),
            What::File(_, meant) => rule.fits_path(meant, cwd),
        }
    }

    /// Whether the deny or ask rule `rule` applies to it.
    pub(super) fn is_touched(&self, rule: &Rule, cwd: &Path) -> bool {
        if self.is_covered(rule, cwd) {
            return true;
        }
        if !rule.is_about(&self.tool) {
            return false;
        }
        match &self.what {
            What::Text(_, others) => others.iter().any(|text| rule.fits_text(text)),
            What::File(names, _) => names.iter().any(|name| rule.fits_path(name, cwd)),
        }
    }

    /// Showing a file.
    pub(super) fn shown_file(found: RealPath) -> Self {
        Self {
            tool: "read".to_owned(),
            what: What::File(found.names, found.real),
        }
    }

    /// Whether it writes a file.
    pub(super) fn writes(&self) -> bool {
        matches!(self.tool.as_str(), "write" | "edit") && !self.paths().is_empty()
    }

    /// The names of its file, the real path first.
    pub(super) fn paths(&self) -> Vec<&Path> {
        match &self.what {
            What::Text(..) => Vec::new(),
            What::File(names, real) => {
                let names = names.iter().map(PathBuf::as_path);
                [real.as_path()].into_iter().chain(names).collect()
            }
        }
    }
}

impl Aspects {
    /// What the call of `tool` with `arguments` does in `cwd`.
    pub(super) fn of(tool: &str, arguments: &Value, cwd: &Path) -> Self {
        let target = FileTarget::of(tool, arguments, cwd);
        Self::of_target(tool, arguments, target.as_ref(), cwd)
    }

    /// What showing the file at the real path `path` means, which a search has found.
    pub(super) fn of_found(path: &Path) -> [Aspect; 2] {
        ["read", "grep"].map(|tool| Aspect {
            tool: tool.to_owned(),
            what: What::File(Vec::new(), path.to_owned()),
        })
    }

    /// Like `of` for a call whose file was resolved.
    pub(super) fn of_target(
        tool: &str,
        arguments: &Value,
        target: Option<&FileTarget>,
        cwd: &Path,
    ) -> Self {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        if tool == "bash" {
            return text("command")
                .map_or_else(Self::default, |command| Self::of_command(command, cwd));
        }
        let known = osier_tools::find(tool);
        let argument = known.and_then(|known| known.file);
        let is_given = argument.is_some_and(|argument| text(argument.name).is_some());
        let file = target.map(|target| What::File(target.names.clone(), target.real.clone()));
        let shows = target.is_some_and(|target| target.purpose.shows() && tool != "read");
        let reads = file.clone().filter(|_| shows).map(|what| Aspect {
            tool: "read".to_owned(),
            what,
        });
        let what = file.filter(|_| is_given).unwrap_or_else(|| {
            let main = known.map(|known| known.main_argument).and_then(text);
            What::Text(main.unwrap_or_default().to_owned(), Vec::new())
        });
        Self {
            list: vec![Aspect {
                tool: tool.to_owned(),
                what,
            }],
            reads: reads.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The files whose contents the call shows.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Aspect> {
        let own = self.list.iter().filter(|aspect| aspect.tool == "read");
        own.chain(&self.reads)
    }

    /// Whether a rule is for this command line alone.
    pub(super) fn is_allowed_exactly(&self, allow: &[&Rule]) -> bool {
        self.command.as_ref().is_some_and(|command| {
            let exactly = format!("bash({})", literal(command));
            allow.iter().any(|rule| rule.text == exactly)
        })
    }

    fn of_command(command: &str, cwd: &Path) -> Self {
        let mut aspects = Self {
            command: Some(command.trim().to_owned()),
            ..Self::default()
        };
        match shell::parts(command) {
            None => aspects.unclear = true,
            Some(parts) => parts.into_iter().for_each(|part| aspects.add(part, cwd)),
        }
        aspects
    }

    fn add(&mut self, part: Part, cwd: &Path) {
        match part {
            Part::Run(words) => {
                let mut others = Vec::new();
                self.unclear |= hidden(&words, 0, &mut others).is_none();
                self.list.push(Aspect {
                    tool: "bash".to_owned(),
                    what: What::Text(join(&words), others),
                });
            }
            Part::WriteTo(word) if SINKS.contains(&word.text.as_str()) => {}
            Part::WriteTo(word) => {
                self.unclear |= word.dynamic;
                self.list.push(Aspect {
                    tool: "write".to_owned(),
                    what: file_of(&word.text, cwd),
                });
            }
        }
    }

    /// Rules that the user can save for the call of `tool`, the narrowest first.
    pub(super) fn patterns(&self, tool: &str, cwd: &Path) -> Vec<String> {
        let mut patterns = Vec::new();
        if let Some(command) = &self.command {
            patterns.push(format!("bash({})", literal(command)));
            if let (
                [
                    Aspect {
                        what: What::Text(text, _),
                        ..
                    },
                ],
                false,
            ) = (self.list.as_slice(), self.unclear)
            {
                let words: Vec<&str> = text.split(' ').collect();
                for count in (1..words.len().min(3)).rev() {
                    let start = words[..count].join(" ");
                    // A prefix that ends in an option or a path is too specific to be useful.
                    if !words[count - 1].starts_with('-') && !words[count - 1].contains('/') {
                        patterns.push(format!("bash({} *)", literal(&start)));
                    }
                }
            }
        } else if let Some(What::File(_, meant)) = self.list.first().map(|aspect| &aspect.what) {
            let shown = meant.strip_prefix(cwd).unwrap_or(meant);
            let escape = |path: &Path| globset::escape(&path.to_string_lossy());
            patterns.push(format!("{tool}({})", escape(shown)));
            let folder = shown
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            if let Some(folder) = folder {
                patterns.push(format!("{tool}({}/**)", escape(folder)));
            }
            if meant.starts_with(cwd) {
                patterns.push(format!("{tool}(./**)"));
            }
        }
        patterns.push(tool.to_owned());
        patterns.dedup();
        patterns
    }
}

/// The file of a redirection.
fn file_of(given: &str, cwd: &Path) -> What {
    let given = path::resolve(cwd, given);
    let found = real_path::resolve(&given);
    let mut names = found.names;
    names.push(given);
    What::File(names, found.real)
}

fn join(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    texts.join(" ")
}

/// Equivalent texts of `words`: without assignments, directories and wrappers, and the commands of a nested
/// shell. `None` when they cannot be determined.
fn hidden(words: &[Word], depth: usize, others: &mut Vec<String>) -> Option<()> {
    let start = words.iter().position(|word| !is_assignment(&word.text));
    let Some(words) = start.map(|start| &words[start..]) else {
        return Some(());
    };
    let head = &words[0];
    let name = head.text.rsplit('/').next().unwrap_or_default();
    others.push(join(words));
    if name != head.text {
        let rest = join(&words[1..]);
        others.push(format!("{name} {rest}").trim_end().to_owned());
    }
    if is_unclear(head) || depth > DEPTH {
        return None;
    }
    if SHELLS.contains(&name) {
        // The position of the command depends on the options, so every argument is a candidate.
        let whole = (name == "eval").then(|| join(&words[1..]));
        let scripts = words[1..]
            .iter()
            .filter(|word| word.text.contains([' ', ';', '|', '&', '$', '`', '\n']));
        if words[1..].iter().any(|word| word.dynamic) {
            return None;
        }
        for script in scripts.map(|word| word.text.clone()).chain(whole) {
            for part in shell::parts(&script)? {
                if let Part::Run(words) = part {
                    others.push(join(&words));
                    hidden(&words, depth + 1, others)?;
                }
            }
        }
    }
    if WRAPPERS.contains(&name) {
        for place in 1..words.len() {
            let rest = &words[place..];
            // An option cannot be a command.
            if !rest[0].text.starts_with('-') && !is_assignment(&rest[0].text) {
                hidden_name(rest, depth, others)?;
            }
        }
    }
    Some(())
}

/// `hidden` for the argument of a wrapper. An argument with a glob is most likely no command.
fn hidden_name(words: &[Word], depth: usize, others: &mut Vec<String>) -> Option<()> {
    let head = &words[0];
    if head.dynamic {
        return None;
    }
    if is_unclear(head) {
        others.push(join(words));
        return Some(());
    }
    let name = head.text.rsplit('/').next().unwrap_or_default();
    if SHELLS.contains(&name) || WRAPPERS.contains(&name) {
        return hidden(words, depth + 1, others);
    }
    others.push(join(words));
    let rest = join(&words[1..]);
    others.push(format!("{name} {rest}").trim_end().to_owned());
    Some(())
}
