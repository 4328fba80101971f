//! Parses the files that configure hooks, in Claude Code's format. An error affects only its own hook.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::action::Action;
use super::kinds::{FIELDS, KINDS, text, texts};
use super::limits::TIMEOUT;
use super::matcher::Matcher;
use osier_base::config_file::ConfigFile;
use osier_base::json;
use osier_base::problem::{Problem, nearest};
use osier_peers::tools;
use osier_permissions::Rule;
use osier_protocol::{EVENTS, HookEvent, OTHERS, OnFailure};

/// Maximum size of a file.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;
/// Maximum timeout of a hook, in seconds.
const LONGEST: f64 = 24.0 * 3600.0;

/// A file that may configure hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFile {
    pub file: ConfigFile,
    /// The file belongs to the project.
    pub of_project: bool,
    /// The file also contains other settings, so a missing `hooks` is not an error.
    pub of_settings: bool,
}

/// A configured hook.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub event: HookEvent,
    pub matcher: Matcher,
    /// A command line for the shell, or a program when there are `args`; for another action, its name.
    pub command: String,
    pub args: Option<Vec<String>>,
    pub action: Action,
    /// The configured timeout.
    pub timeout: Option<Duration>,
    /// Whether the hook runs in the background: osier does not wait for it.
    pub in_background: bool,
    /// The calls of the tool that the hook applies to.
    pub condition: Option<Rule>,
    /// The configured effect of failures of the hook.
    pub on_failure: Option<OnFailure>,
    /// The file that configures the hook.
    pub file: PathBuf,
}

impl Handler {
    /// Whether the action of the hook is a program.
    pub(super) fn is_program(&self) -> bool {
        matches!(self.action, Action::Program)
    }

    /// Whether the hook is a function of the program that uses osier.
    pub(super) fn is_function(&self) -> bool {
        matches!(self.action, Action::Function(_))
    }

    /// The command and its arguments.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.command).chain(self.args.iter().flatten())
    }

    /// A hook with the default of every option.
    #[cfg(test)]
    pub(super) fn example(event: HookEvent, command: &str) -> Self {
        Self {
            event,
            matcher: Matcher::All,
            command: command.to_owned(),
            args: None,
            action: Action::Program,
            timeout: None,
            in_background: false,
            condition: None,
            on_failure: None,
            file: "hooks.json".into(),
        }
    }
}

/// The hooks of all files.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub handlers: Vec<Arc<Handler>>,
    pub problems: Vec<Problem>,
    /// The problems because of which hooks that could deny a call are missing.
    pub faults: Vec<Problem>,
}

impl Config {
    /// Keeps the hooks from `before` of files that now have faults.
    pub(super) fn keep(&mut self, before: &[Arc<Handler>]) {
        let is_damaged = |handler: &&Arc<Handler>| {
            let mut paths = self.faults.iter().map(|fault| &fault.path);
            paths.any(|path| *path == handler.file)
        };
        let kept: Vec<_> = before.iter().filter(is_damaged).cloned().collect();
        let paths: Vec<PathBuf> = kept.iter().map(|handler| handler.file.clone()).collect();
        self.handlers
            .retain(|handler| !paths.contains(&handler.file));
        self.handlers.extend(kept);
    }
}

/// Reads `files` in order; missing files are not an error. `disableAllHooks` in a file disables all hooks; in
/// a project file, only those of the project. Blocks.
pub(super) fn load(files: &[HookFile]) -> Config {
    let mut config = Config::default();
    let (mut all_off, mut project_off) = (false, false);
    let mut read_files = Vec::new();
    for file in files {
        let text = match file.file.text(FILE_LIMIT) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                let problem = Problem::of_file(&file.file.path, error.to_string(), IGNORED);
                config.faults.push(problem.clone());
                config.problems.push(problem);
                continue;
            }
        };
        let parsed = parse(file, &text);
        project_off |= parsed.disables && file.of_project;
        all_off |= parsed.disables && !file.of_project;
        config.problems.extend(parsed.problems);
        config.faults.extend(parsed.faults);
        read_files.push((file.of_project, parsed.handlers));
    }
    for (of_project, handlers) in read_files {
        let is_off = all_off || (project_off && of_project);
        if !is_off {
            config.handlers.extend(handlers);
        }
    }
    config
}

/// The content of one file.
#[derive(Debug, Default)]
struct Parsed {
    disables: bool,
    handlers: Vec<Arc<Handler>>,
    problems: Vec<Problem>,
    faults: Vec<Problem>,
}

fn parse(file: &HookFile, text: &str) -> Parsed {
    let mut reader = Reader {
        file,
        text,
        parsed: Parsed::default(),
        guards: false,
    };
    match json::from_people(text) {
        Ok(root) => reader.root(&root),
        Err(error) => {
            let message = error.to_string();
            let end = message.find(" at line ").unwrap_or(message.len());
            let mut problem = Problem::of_file(&file.file.path, &message[..end], IGNORED);
            (problem.line, problem.column) = (Some(error.line()), Some(error.column()));
            reader.parsed.faults.push(problem.clone());
            reader.parsed.problems.push(problem);
        }
    }
    reader.parsed
}

/// Parses one file.
struct Reader<'a> {
    file: &'a HookFile,
    text: &'a str,
    parsed: Parsed,
    /// Whether the part that is read belongs to a guard.
    guards: bool,
}

impl Reader<'_> {
    fn root(&mut self, root: &Value) {
        let disables = root.get("disableAllHooks");
        self.parsed.disables = disables == Some(&Value::Bool(true));
        if let Some(other) = disables.filter(|value| !value.is_boolean()) {
            let message = format!("`disableAllHooks` is {other}, which is not true or false");
            self.warn("disableAllHooks", &message, "the hooks run");
        }
        let fields = root.as_object().filter(|_| !self.file.of_settings);
        let unknown = self.unknown_fields(fields, ROOT, "the file");
        let Some(hooks) = root.get("hooks") else {
            let is_without = fields.is_some() && !unknown;
            if !self.file.of_settings && !is_without {
                self.fault("", "`hooks` is missing", FORM);
            }
            return;
        };
        let Some(hooks) = hooks.as_object() else {
            // The unreadable value can contain guards.
            self.guards = true;
            return self.fault("hooks", "`hooks` is not an object", FORM);
        };
        for (name, groups) in hooks {
            let known = EVENTS.iter().map(|info| info.name);
            let likely =
                HookEvent::find(name).or_else(|| nearest(name, known).and_then(HookEvent::find));
            self.guards = likely.is_some_and(|event| event.info().guards);
            match (HookEvent::find(name), groups.as_array()) {
                (Some(event), Some(groups)) => {
                    for group in groups {
                        self.group(event, name, group);
                    }
                }
                (Some(_), None) => {
                    self.fault(name, &format!("`{name}` is not a list of hooks"), FORM);
                }
                (None, _) if OTHERS.contains(&name.as_str()) => {
                    let message = format!("osier has no event `{name}`");
                    self.warn(name, &message, "its hooks do not run");
                }
                (None, _) => {
                    let message = format!("unknown event `{name}`");
                    match likely {
                        Some(event) => {
                            let hint = format!("did you mean `{}`?", event.name());
                            self.fault(name, &message, &hint);
                        }
                        None => self.warn(name, &message, "docs/hooks.md lists the events"),
                    }
                }
            }
        }
    }

    fn group(&mut self, event: HookEvent, name: &str, group: &Value) {
        let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
            let message = format!("an entry of `{name}` has no list `hooks`");
            return self.fault(name, &message, FORM);
        };
        self.unknown_fields(group.as_object(), GROUP, &format!("an entry of `{name}`"));
        let matcher = match group.get("matcher") {
            None | Some(Value::Null) => Ok(Matcher::All),
            Some(Value::String(text)) if is_rule(text) => return self.rule(text),
            Some(Value::String(text)) => Matcher::parse(text)
                .map_err(|error| (text.clone(), format!("invalid matcher `{text}`: {error}"))),
            Some(other) => Err((
                "matcher".to_owned(),
                format!("the matcher `{other}` of `{name}` is not a string"),
            )),
        };
        let matcher = match matcher {
            Ok(matcher) => matcher,
            Err((place, message)) => {
                let hint = "write tool names separated by `|`, or a regular expression; its hooks are ignored";
                return self.fault(&place, &message, hint);
            }
        };
        if event.info().is_about_calls() {
            self.unknown_tools(&matcher);
        }
        for hook in hooks {
            if let Some(handler) = self.hook(event, &matcher, hook) {
                self.parsed.handlers.push(Arc::new(handler));
            }
        }
    }

    /// Reports a matcher that is a permission rule: as a regular expression it would match no tool.
    fn rule(&mut self, text: &str) {
        let message = format!("the matcher `{text}` is a permission rule, not a name of tools");
        let name = text.split('(').next().unwrap_or_default();
        let hint =
            format!("write `\"matcher\": \"{name}\"`, and `\"if\": \"{text}\"` in its hooks");
        self.fault(text, &message, &hint);
    }

    /// Reports the fields of the object `of` that are not `known`. Returns whether there are any.
    fn unknown_fields(
        &mut self,
        fields: Option<&Map<String, Value>>,
        known: &[&str],
        of: &str,
    ) -> bool {
        let unknown = fields.into_iter().flat_map(Map::keys);
        let unknown: Vec<&String> = unknown
            .filter(|name| !known.contains(&name.as_str()))
            .collect();
        for name in &unknown {
            let hint = match nearest(name, known.iter().copied()) {
                _ if UNSUPPORTED.contains(&name.as_str()) => "osier does not support it".to_owned(),
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("expected {}", known.join(", ")),
            };
            self.warn(name, &format!("unknown field `{name}` of {of}"), &hint);
        }
        !unknown.is_empty()
    }

    /// Reports names in a matcher that no tool has: its hooks would guard nothing. Settings of
    /// Claude Code can name tools that only Claude Code has.
    fn unknown_tools(&mut self, matcher: &Matcher) {
        let text = matcher.text();
        let words = matcher.words().iter();
        let is_foreign = |word: &str| {
            word.contains("__") || (self.file.of_settings && OF_CLAUDE_CODE.contains(&word))
        };
        let unknown = words.filter(|word| !is_foreign(word) && !tools::is_seen(word));
        let unknown: Vec<&String> = unknown.collect();
        for word in unknown {
            let message = format!("no built-in tool has the name `{word}` of a matcher");
            match tools::likely(word) {
                Some(known) => self.fault(&text, &message, &format!("did you mean `{known}`?")),
                None if self.file.of_settings => {}
                None => self.warn(
                    &text,
                    &message,
                    "its hooks run only for a tool of a plugin with this name",
                ),
            }
        }
        let is_pattern = matcher.words().is_empty() && !text.is_empty();
        if is_pattern
            && !text.contains("__")
            && !tools::seen_names().any(|name| matcher.fits(&[name]))
        {
            let message = format!("no built-in tool matches `{text}`");
            self.warn(&text, &message, "its hooks run only for a tool of a plugin");
        }
    }

    fn hook(&mut self, event: HookEvent, matcher: &Matcher, hook: &Value) -> Option<Handler> {
        let name = event.name();
        let Some(hook) = hook.as_object() else {
            self.fault(name, &format!("a hook of `{name}` is not an object"), FORM);
            return None;
        };
        let kind = match hook.get("type") {
            None => Some(&KINDS[0]),
            Some(kind) => KINDS.iter().find(|known| *kind == known.name),
        };
        let Some(kind) = kind else {
            let word = &hook["type"];
            let message = format!("a hook of `{name}` has the type {word}");
            let known: Vec<String> = KINDS
                .iter()
                .map(|kind| format!("`{}`", kind.name))
                .collect();
            let hint = format!("expected one of the types {}", known.join(", "));
            self.fault(word.as_str().unwrap_or("type"), &message, &hint);
            return None;
        };
        let Some(command) = text(hook, kind.needs).filter(|text| !text.trim().is_empty()) else {
            let message = format!("a hook of `{name}` has no `{}`", kind.needs);
            self.fault(name, &message, FORM);
            return None;
        };
        let known: Vec<&str> = kind.fields.iter().chain(FIELDS).copied().collect();
        self.unknown_fields(Some(hook), &known, &format!("a hook of `{name}`"));
        let action = match (kind.read)(hook, command, self.file.of_project) {
            Ok(action) => action,
            Err((field, expected)) => {
                let message = format!("`{field}` of a hook of `{name}` is not {expected}");
                self.fault(field, &message, "the hook is ignored");
                return None;
            }
        };
        let Some(args) = args(hook) else {
            let message = format!("`args` of a hook of `{name}` is not a list of texts");
            self.fault("args", &message, "the hook is ignored");
            return None;
        };
        if let Action::Service(service) = &action
            && self.file.of_project
            && let Some(model) = service.played_file()
        {
            let message = format!("the model `{model}` of a hook of `{name}` plays a file");
            let hint = "a hook of a project names a model of a provider; the hook is ignored";
            self.fault(model, &message, hint);
            return None;
        }
        if let Some(value) = hook.get("async").filter(|value| !value.is_boolean()) {
            let message = format!("`async` is {value}, which is not true or false");
            self.warn("async", &message, "osier waits for the hook");
        }
        Some(Handler {
            event,
            matcher: matcher.clone(),
            command: match &action {
                Action::Service(service) => service.shown(),
                Action::Program | Action::Function(_) => command.to_owned(),
            },
            args,
            action,
            timeout: self.timeout(hook),
            in_background: kind.fields.contains(&"async")
                && hook.get("async") == Some(&Value::Bool(true)),
            condition: self.condition(event, hook)?,
            on_failure: self.on_failure(hook),
            file: self.file.file.path.clone(),
        })
    }

    fn timeout(&mut self, hook: &Map<String, Value>) -> Option<Duration> {
        let value = hook.get("timeout")?;
        match value.as_f64() {
            Some(seconds) if seconds > 0.0 => Some(Duration::from_secs_f64(seconds.min(LONGEST))),
            _ => {
                let message = format!("the timeout `{value}` is not a number of seconds");
                let hint = format!("the default of {} is used", TIMEOUT.as_secs());
                self.warn("timeout", &message, &hint);
                None
            }
        }
    }

    fn on_failure(&mut self, hook: &Map<String, Value>) -> Option<OnFailure> {
        let value = hook.get("onFailure")?;
        let found = value.as_str().and_then(OnFailure::find);
        if found.is_none() {
            let message = format!("`onFailure` is {value}, which is not \"block\" or \"continue\"");
            self.warn("onFailure", &message, "\"block\" is used");
        }
        found.or(Some(OnFailure::Block))
    }

    /// Reads the condition of a hook; `None` after a reported error.
    #[expect(clippy::option_option, reason = "an error and an absence differ")]
    fn condition(&mut self, event: HookEvent, hook: &Map<String, Value>) -> Option<Option<Rule>> {
        let Some(value) = hook.get("if") else {
            return Some(None);
        };
        let rule = value.as_str().and_then(Rule::parse);
        let place = value.as_str().unwrap_or("if");
        match &rule {
            None => {
                let message = format!("`if` is {value}, which is not a rule");
                let hint = "write a tool, or a tool with a pattern, as in \"Bash(git *)\"; the hook is ignored";
                self.fault("if", &message, hint);
            }
            Some(_) if !event.info().is_about_calls() => {
                let message = format!("`if` has no effect for `{}`", event.name());
                self.warn("if", &message, "the hook runs for all of them");
            }
            Some(rule) => {
                if let Some(known) = rule.misspelt() {
                    let message = format!("no built-in tool has the name in the rule `{place}`");
                    self.fault(place, &message, &format!("did you mean `{known}`?"));
                }
                if let Some(doubt) = rule.doubt() {
                    let message = format!("the rule `{place}` is likely to match nothing");
                    self.warn(place, &message, doubt);
                }
            }
        }
        rule.map(Some)
    }

    /// Reports an error because of which hooks are missing. In settings of Claude Code, a missing
    /// hook is a fault only if it is a guard.
    fn fault(&mut self, word: &str, message: &str, hint: &str) {
        self.warn(word, message, hint);
        if self.guards || !self.file.of_settings {
            self.parsed
                .faults
                .extend(self.parsed.problems.last().cloned());
        }
    }

    /// Reports an error at the first occurrence of `word`.
    fn warn(&mut self, word: &str, message: &str, hint: &str) {
        let quoted = serde_json::to_string(word).unwrap_or_default();
        let offset = self.text.find(&quoted).unwrap_or(0);
        let problem = Problem::of_file(&self.file.file.path, message, hint);
        self.parsed.problems.push(problem.at(self.text, offset));
    }
}

const IGNORED: &str = "its hooks are ignored until it is fixed";
const FORM: &str = r#"write {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}}"#;

/// The fields of a file, of an entry of an event, and of a hook.
const ROOT: &[&str] = &["hooks", "disableAllHooks", "description", "$schema"];
const GROUP: &[&str] = &["matcher", "hooks", "description"];
/// Tools of Claude Code that osier lacks. Without this list, osier would suggest a tool with a similar name.
const OF_CLAUDE_CODE: &[&str] = &["LSP", "NotebookRead", "TaskGet", "TaskList"];
/// Fields of Claude Code that osier does not have.
const UNSUPPORTED: &[&str] = &["shell", "once", "asyncRewake", "holdsTools"];

/// Whether a matcher has the form of a permission rule for a tool, as in `Bash(git *)`, and matches no tool.
pub(super) fn is_rule(text: &str) -> bool {
    let name = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let matches_tool = || {
        let matcher = Matcher::parse(text);
        matcher.is_ok_and(|matcher| tools::seen_names().any(|name| matcher.fits(&[name])))
    };
    name.is_some_and(|(name, _)| tools::is_seen(name)) && !matches_tool()
}

/// The arguments, if there are any; `None` if they are no list of texts.
#[expect(clippy::option_option, reason = "an error and an absence differ")]
fn args(hook: &Map<String, Value>) -> Option<Option<Vec<String>>> {
    let Some(value) = hook.get("args") else {
        return Some(None);
    };
    texts(value).map(Some)
}

#[cfg(test)]
mod tests;
