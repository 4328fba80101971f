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
            return self.fault("hooks", "`hooks` is not an object", FORM);
        };
        for (name, groups) in hooks {
            match (HookEvent::find(name), groups.as_array()) {
                (Some(event), Some(groups)) => {
                    self.guards = event.info().guards;
                    for group in groups {
                        self.group(event, name, group);
                    }
                    self.guards = false;
                }
                (Some(_), None) => {
                    self.fault(name, &format!("`{name}` is not a list of hooks"), FORM);
                }
                (None, _) if OTHERS.contains(&name.as_str()) => {
                    let message = format!("osier has no event `{name}`");
                    self.warn(name, &message, "its hooks do not run");
                }
                (None, _) => {
                    let known = EVENTS.iter().map(|info| info.name);
                    let message = format!("unknown event `{name}`");
                    match nearest(name, known) {
                        Some(known) => {
                            self.fault(name, &message, &format!("did you mean `{known}`?"));
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
        let unknown = words.filter(|word| !word.contains("__") && !tools::is_seen(word));
        for word in unknown {
            let message = format!("no built-in tool has the name `{word}` of a matcher");
            match tools::likely(word) {
                Some(known) if self.file.of_settings => {
                    self.warn(&text, &message, &format!("did you mean `{known}`?"));
                }
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
mod tests {
    use super::*;

    fn file(path: &str, of_project: bool, of_settings: bool) -> HookFile {
        HookFile {
            file: PathBuf::from(path).into(),
            of_project,
            of_settings,
        }
    }

    fn parsed(text: &str) -> Parsed {
        parse(&file("hooks.json", false, false), text)
    }

    fn problems(text: &str) -> Vec<String> {
        let parsed = parsed(text);
        assert!(parsed.handlers.is_empty(), "{:?}", parsed.handlers);
        parsed.problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn hooks_of_each_type_need_their_fields() {
        for (hook, expected) in [
            (
                r#"{"type": "http", "url": "ftp://example.com"}"#,
                "`url` of a hook of `Stop` is not an address with http or https; the hook is ignored",
            ),
            (
                r#"{"type": "http", "url": "http://a", "headers": ["x"]}"#,
                "`headers` of a hook of `Stop` is not an object with texts; the hook is ignored",
            ),
            (
                r#"{"type": "prompt", "prompt": "x", "continueOnBlock": "yes"}"#,
                "`continueOnBlock` of a hook of `Stop` is not true or false; the hook is ignored",
            ),
            (
                r#"{"type": "mcp_tool", "server": "x"}"#,
                "`tool` of a hook of `Stop` is not a text; the hook is ignored",
            ),
            (
                r#"{"type": "webhook", "url": "https://example.com"}"#,
                "a hook of `Stop` has the type \"webhook\"; expected one of the types `command`, `http`, `prompt`, `mcp_tool`",
            ),
        ] {
            let text = format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{hook}]}}]}}}}"#);
            let found = problems(&text);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].ends_with(expected), "{}", found[0]);
        }
    }

    #[test]
    fn both_names_of_an_event_and_every_field_are_read() {
        let parsed = parsed(
            r#"{"hooks": {
                "PreToolUse": [{"matcher": "Bash|Edit", "hooks": [
                    {"type": "command", "command": "check", "timeout": 5},
                    {"command": "log", "args": ["a b"], "async": true, "if": "Bash(git *)"}
                ]}],
                "session_start": [{"hooks": [{"type": "command", "command": "hello"}]}],
                "Setup": [{"hooks": [{"type": "command", "command": "never"}]}]
            }}"#,
        );
        let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            ["hooks.json:7:17: osier has no event `Setup`; its hooks do not run"]
        );
        assert_eq!(parsed.faults, []);
        let found: Vec<_> = parsed
            .handlers
            .iter()
            .map(|handler| {
                let condition = handler.condition.as_ref().map(|rule| rule.text.as_str());
                (
                    handler.event,
                    handler.command.as_str(),
                    handler.matcher.text(),
                    condition,
                )
            })
            .collect();
        let bash = "Bash|Edit".to_owned();
        let expected = [
            (HookEvent::PreToolUse, "check", bash.clone(), None),
            (HookEvent::PreToolUse, "log", bash, Some("Bash(git *)")),
            (HookEvent::SessionStart, "hello", String::new(), None),
        ];
        assert_eq!(found, expected);
        assert_eq!(parsed.handlers[0].timeout, Some(Duration::from_secs(5)));
        assert_eq!(parsed.handlers[1].args, Some(vec!["a b".to_owned()]));
        assert!(parsed.handlers[1].in_background);
    }

    #[test]
    fn each_error_is_one_line_with_its_position() {
        assert_eq!(
            problems("{\n  \"hooks\": {,\n}"),
            ["hooks.json:2:13: key must be a string; its hooks are ignored until it is fixed"]
        );
        let wrong = "{\"hooks\": {\n\"PreToolUs\": [],\n\"Stop\": {},\n\"PostToolUse\": [{\"matcher\": \"Edit(\", \"hooks\": []}]\n}}";
        let told = problems(wrong);
        assert_eq!(
            told[0],
            "hooks.json:2:1: unknown event `PreToolUs`; did you mean `PreToolUse`?"
        );
        assert!(told[1].starts_with("hooks.json:3:1: `Stop` is not a list of hooks"));
        assert!(told[2].starts_with("hooks.json:4:29: invalid matcher `Edit(`: unclosed"));
        let kinds = "{\"hooks\": {\"Stop\": [{\"hooks\": [\n{\"type\": \"agent\", \"prompt\": \"x\"},\n{\"type\": \"command\"}]}]}}";
        let told = problems(kinds);
        assert_eq!(
            told[0],
            "hooks.json:2:10: a hook of `Stop` has the type \"agent\"; expected one of the types `command`, `http`, `prompt`, `mcp_tool`"
        );
        assert!(told[1].contains("has no `command`"), "{told:?}");
        assert!(problems("[]")[0].contains("`hooks` is missing"));
    }

    #[test]
    fn a_matcher_that_names_no_tool_is_a_warning() {
        let text = r#"{"hooks": {
            "PreToolUse": [
                {"matcher": "Bash|NotebookEdit|BashOutput|rename|mcp__x__y", "hooks": [{"command": "a"}]},
                {"matcher": "Wirte", "hooks": [{"command": "b"}]},
                {"matcher": "deploy", "hooks": [{"command": "c"}]},
                {"matcher": "^Deploy", "hooks": [{"command": "c"}]}
            ],
            "SessionStart": [{"matcher": "startup", "hooks": [{"command": "d"}]}]
        }}"#;
        let parsed = parsed(text);
        assert_eq!(parsed.handlers.len(), 5);
        let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "hooks.json:4:29: no built-in tool has the name `Wirte` of a matcher; did you mean `write`?",
                "hooks.json:5:29: no built-in tool has the name `deploy` of a matcher; its hooks run only for a tool of a plugin with this name",
                "hooks.json:6:29: no built-in tool matches `^Deploy`; its hooks run only for a tool of a plugin",
            ]
        );
        assert_eq!(parsed.faults, parsed.problems[..1]);
    }

    #[test]
    fn a_matcher_in_the_form_of_a_rule_is_refused_with_the_right_form() {
        for (matcher, expected) in [
            ("Bash(touch *)", Some("Bash")),
            ("Edit(*.py)", Some("Edit")),
            ("Bash(Output)?", None),
            ("Notebook(Edit|Read)", None),
            ("(Bash|Edit)", None),
        ] {
            let text = format!(
                r#"{{"hooks": {{"PreToolUse": [{{"matcher": "{matcher}", "hooks": [{{"command": "a"}}]}}]}}}}"#
            );
            let parsed = parsed(&text);
            let faults: Vec<String> = parsed.faults.iter().map(Problem::to_string).collect();
            let expected = expected.map(|name| {
                format!(
                    "hooks.json:1:39: the matcher `{matcher}` is a permission rule, not a name of tools; \
                     write `\"matcher\": \"{name}\"`, and `\"if\": \"{matcher}\"` in its hooks"
                )
            });
            assert_eq!(faults, Vec::from_iter(expected));
        }
    }

    #[test]
    fn a_condition_that_matches_nothing_is_named() {
        let text = r#"{"hooks": {
            "PreToolUse": [{"hooks": [
                {"command": "a", "if": "Bsh(git *)"},
                {"command": "b", "if": "Bash(git.*)"},
                {"command": "c", "if": "mcp__git__log"}
            ]}],
            "Stop": [{"hooks": [{"command": "d", "if": "Bash"}]}]
        }}"#;
        let parsed = parsed(text);
        assert_eq!(parsed.handlers.len(), 4);
        let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "hooks.json:3:40: no built-in tool has the name in the rule `Bsh(git *)`; did you mean `bash`?",
                "hooks.json:4:40: the rule `Bash(git.*)` is likely to match nothing; it looks like a regular expression: write `*` for any text",
                "hooks.json:3:34: `if` has no effect for `Stop`; the hook runs for all of them",
            ]
        );
        assert_eq!(parsed.faults, parsed.problems[..1]);
    }

    #[test]
    fn fields_that_are_not_known_are_named() {
        let text = r#"{"hooks": {"Stop": [{"matchr": "x", "hooks": [
            {"command": "a", "timeuot": 5, "once": true, "async": "yes", "onFailure": "deny", "statusMessage": "s"}
        ]}]}, "disableAllHooks": "true", "hook": {}}"#;
        let parsed = parsed(text);
        let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "hooks.json:3:15: `disableAllHooks` is \"true\", which is not true or false; the hooks run",
                "hooks.json:3:42: unknown field `hook` of the file; did you mean `hooks`?",
                "hooks.json:1:22: unknown field `matchr` of an entry of `Stop`; did you mean `matcher`?",
                "hooks.json:2:30: unknown field `timeuot` of a hook of `Stop`; did you mean `timeout`?",
                "hooks.json:2:44: unknown field `once` of a hook of `Stop`; osier does not support it",
                "hooks.json:2:58: `async` is \"yes\", which is not true or false; osier waits for the hook",
                "hooks.json:2:74: `onFailure` is \"deny\", which is not \"block\" or \"continue\"; \"block\" is used",
            ]
        );
        assert_eq!(parsed.handlers[0].on_failure, Some(OnFailure::Block));
        let wrong = r#"{"hooks": {"Stop": [{"hooks": [{"command": "a", "args": "b"}]}]}}"#;
        assert!(
            super::tests::problems(wrong)[0]
                .contains("`args` of a hook of `Stop` is not a list of texts")
        );
    }

    #[test]
    fn a_file_without_hooks_is_no_error_and_a_damaged_one_keeps_what_ran() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hooks.json");
        let files = [file(&path.to_string_lossy(), false, false)];
        let load = |text: &str| {
            osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
            load(&files)
        };
        let before = load(r#"{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}"#).handlers;
        for (text, is_damaged) in [
            ("", true),
            ("[]", true),
            (r#"{"PreToolUse": []}"#, true),
            ("{}", false),
            (r#"{"hooks": {}}"#, false),
        ] {
            let mut config = load(text);
            assert_eq!(config.handlers.len(), 0, "{text}");
            assert_eq!(!config.faults.is_empty(), is_damaged, "{text}");
            config.keep(&before);
            assert_eq!(config.handlers.len(), usize::from(is_damaged), "{text}");
        }
    }

    #[test]
    fn an_invalid_hook_does_not_affect_others() {
        let parsed = parsed(
            r#"{"hooks": {"Stop": [{"hooks": [{"command": ""}, {"command": "good", "timeout": -1}]}]}}"#,
        );
        assert_eq!(parsed.handlers.len(), 1);
        assert_eq!(
            (parsed.problems.len(), parsed.handlers[0].timeout),
            (2, None)
        );
    }

    #[test]
    fn project_files_disable_only_project_hooks() {
        let folder = tempfile::tempdir().unwrap();
        let one = r#""hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}"#;
        let write = |name: &str, text: String| {
            osier_base::atomic_file::write(&folder.path().join(name), text.as_bytes()).unwrap();
        };
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let files = [
            file(&path("user.json"), false, false),
            file(&path("missing.json"), false, false),
            file(&path("project.json"), true, true),
        ];
        let count = || {
            let config = load(&files);
            assert_eq!(config.problems, []);
            config.handlers.len()
        };
        write("user.json", format!("{{{one}}}"));
        write("project.json", format!("{{{one}}}"));
        assert_eq!(count(), 2);
        write(
            "project.json",
            format!("{{\"disableAllHooks\": true, {one}}}"),
        );
        assert_eq!(count(), 1);
        write("project.json", format!("{{{one}}}"));
        write("user.json", "{\"disableAllHooks\": true}".to_owned());
        assert_eq!(count(), 0);
    }
}
