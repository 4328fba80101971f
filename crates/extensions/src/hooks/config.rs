//! Parses the files that configure hooks, in Claude Code's format. An error affects only its own hook.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::callback::Callback;
use super::matcher::Matcher;
use osier_base::config_file::ConfigFile;
use osier_base::problem::{Problem, nearest};
use osier_base::unique_json;
use osier_peers::tools;
use osier_permissions::Rule;
use osier_protocol::{EVENTS, HookEvent, OTHERS};

/// Maximum size of a file.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;
/// Default timeout of a hook, as in the contract.
pub(super) const TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum timeout of a hook, in seconds.
const LONGEST: f64 = 24.0 * 3600.0;

/// A file that may configure hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFile {
    pub file: ConfigFile,
    /// The file belongs to the project.
    pub of_project: bool,
    /// The file contains other settings too, so a missing `hooks` is not an error.
    pub of_settings: bool,
}

/// A configured hook.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub event: HookEvent,
    pub matcher: Matcher,
    /// A command line for the shell, or a program when there are `args`.
    pub command: String,
    pub args: Option<Vec<String>>,
    /// The program whose function it is; `command` is the name of the function.
    pub callback: Option<Callback>,
    /// The configured timeout.
    pub timeout: Option<Duration>,
    /// osier does not wait for it.
    pub in_background: bool,
    /// The calls of the tool that it applies to.
    pub condition: Option<Rule>,
    /// The file that configures it.
    pub file: PathBuf,
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
    /// Keeps the hooks in `before` of files that have faults now.
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
    };
    match unique_json::parse(text) {
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
}

impl Reader<'_> {
    fn root(&mut self, root: &Value) {
        self.parsed.disables = root.get("disableAllHooks") == Some(&Value::Bool(true));
        let Some(hooks) = root.get("hooks") else {
            if !self.file.of_settings && !self.parsed.disables {
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
        let matcher = match group.get("matcher") {
            None | Some(Value::Null) => Ok(Matcher::All),
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
        if event.info().fields.starts_with("tool_name") {
            self.unknown_tools(&matcher);
        }
        for hook in hooks {
            if let Some(handler) = self.hook(event, &matcher, hook) {
                self.parsed.handlers.push(Arc::new(handler));
            }
        }
    }

    /// Names the words of a matcher that no tool has: its hooks would guard nothing. Settings of Claude Code can name tools
    /// that only Claude Code has.
    fn unknown_tools(&mut self, matcher: &Matcher) {
        let unknown = matcher.words().iter();
        let unknown = unknown.filter(|word| !word.contains("__") && !tools::is_seen(word));
        for word in unknown {
            let hint = match tools::likely(word) {
                Some(known) => format!("did you mean `{known}`?"),
                None if self.file.of_settings => continue,
                None => "its hooks run only for a tool of a plugin with this name".to_owned(),
            };
            let message = format!("no built-in tool has the name `{word}` of a matcher");
            self.warn(&matcher.text(), &message, &hint);
        }
    }

    fn hook(&mut self, event: HookEvent, matcher: &Matcher, hook: &Value) -> Option<Handler> {
        let name = event.name();
        let Some(hook) = hook.as_object() else {
            self.fault(name, &format!("a hook of `{name}` is not an object"), FORM);
            return None;
        };
        if let Some(kind) = hook.get("type").filter(|kind| **kind != "command") {
            let place = kind.as_str().unwrap_or("type");
            let message = format!("a hook of `{name}` has the type {kind}");
            self.fault(place, &message, "expected the type `command`");
            return None;
        }
        let Some(command) = text(hook, "command").filter(|text| !text.trim().is_empty()) else {
            let message = format!("a hook of `{name}` has no `command`");
            self.fault(name, &message, FORM);
            return None;
        };
        let args = hook.get("args").and_then(Value::as_array);
        let args = args.map(|args| args.iter().filter_map(Value::as_str));
        Some(Handler {
            event,
            matcher: matcher.clone(),
            command: command.to_owned(),
            args: args.map(|args| args.map(str::to_owned).collect()),
            callback: None,
            timeout: self.timeout(hook),
            in_background: hook.get("async") == Some(&Value::Bool(true)),
            condition: self.condition(hook)?,
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

    /// `None` after a reported error.
    #[expect(clippy::option_option, reason = "an error and an absence differ")]
    fn condition(&mut self, hook: &Map<String, Value>) -> Option<Option<Rule>> {
        let Some(value) = hook.get("if") else {
            return Some(None);
        };
        let rule = value.as_str().and_then(Rule::parse);
        if rule.is_none() {
            let message = format!("`if` is {value}, which is not a rule");
            let hint = "write a tool, or a tool with a pattern, as in \"Bash(git *)\"; the hook is ignored";
            self.fault("if", &message, hint);
        }
        rule.map(Some)
    }

    /// Reports an error because of which hooks are missing. Files of Claude Code can have hooks that osier does not
    /// support.
    fn fault(&mut self, word: &str, message: &str, hint: &str) {
        self.warn(word, message, hint);
        if !self.file.of_settings {
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

fn text<'a>(hook: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    hook.get(key).and_then(Value::as_str)
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
        let kinds = "{\"hooks\": {\"Stop\": [{\"hooks\": [\n{\"type\": \"http\", \"url\": \"x\"},\n{\"type\": \"command\"}]}]}}";
        let told = problems(kinds);
        assert_eq!(
            told[0],
            "hooks.json:2:10: a hook of `Stop` has the type \"http\"; expected the type `command`"
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
                {"matcher": "deploy", "hooks": [{"command": "c"}]}
            ],
            "SessionStart": [{"matcher": "startup", "hooks": [{"command": "d"}]}]
        }}"#;
        let parsed = parsed(text);
        assert_eq!(parsed.handlers.len(), 4);
        let problems: Vec<String> = parsed.problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "hooks.json:4:29: no built-in tool has the name `Wirte` of a matcher; did you mean `write`?",
                "hooks.json:5:29: no built-in tool has the name `deploy` of a matcher; its hooks run only for a tool of a plugin with this name",
            ]
        );
        assert_eq!(parsed.faults, []);
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
