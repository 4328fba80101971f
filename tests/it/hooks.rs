//! Hooks in a complete session, with scripts as users write them for Claude Code.

mod contract;
mod events;
mod failures;
mod occasions;
mod recorder;
mod services;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use osier_agent::{AgentMessage, RunOutcome, Severity};
use osier_base::folders::Folders;
use osier_extensions::hooks::{answers_table, failures_table};
use osier_llm::Script;
use osier_permissions::trust::{ProjectFiles, Trust};
use osier_protocol::{Event, Op, PermissionMode, reference};
use osier_session::{SessionChoice, SessionSetup};
use osier_testing::{pages, skip};
use serde_json::{Value, json};

use crate::support::cli::Home;
use crate::support::session::{OpenSession, TestProject};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    osier_base::atomic_file::write(path, text.as_bytes()).unwrap();
}

/// An executable file.
fn program(path: &Path, text: &str) -> String {
    write(path, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

/// One hook without a matcher.
fn hook(command: &str) -> Value {
    matched("", command)
}

fn matched(matcher: &str, command: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}])
}

/// A project whose user has these hooks.
fn with(hooks: &Value) -> TestProject {
    let place = TestProject::new();
    let text = json!({"hooks": hooks}).to_string();
    write(&place.data().join("hooks.json"), &text);
    place
}

async fn open(place: &TestProject, script: Script) -> OpenSession {
    place.open(SessionChoice::New, script).await
}

fn asks(setup: &mut SessionSetup) {
    setup.permissions = Some(PermissionMode::Ask);
    setup.answers_questions = true;
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

/// A model that runs these commands, one per answer, and then finishes.
fn runs(commands: &[&str]) -> Script {
    let script = commands.iter().fold(Script::new(), |script, command| {
        script.turn(|turn| turn.tool("bash", bash(command)))
    });
    script.turn(|turn| turn.text("done").repeat())
}

/// The results of the calls, and whether they succeeded.
fn results(events: &[Event]) -> Vec<(String, bool)> {
    let results = events.iter().filter_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => {
            let text = AgentMessage::ToolResult((**result).clone()).text();
            Some((text, result.status.is_success()))
        }
        _ => None,
    });
    results.collect()
}

/// The only result.
fn result(events: &[Event]) -> (String, bool) {
    let mut results = results(events);
    assert_eq!(results.len(), 1, "{results:?}");
    results.remove(0)
}

fn notices(events: &[Event]) -> Vec<(Severity, String)> {
    let notices = events.iter().filter_map(|event| match event {
        Event::Notice { severity, text, .. } => Some((*severity, text.clone())),
        _ => None,
    });
    notices.collect()
}

fn outcome(events: &[Event]) -> RunOutcome {
    match events.last() {
        Some(Event::Agent(osier_agent::Event::AgentSettled { outcome })) => outcome.clone(),
        other => panic!("not settled: {other:?}"),
    }
}

async fn noticed(open: &mut OpenSession, part: &str) -> String {
    let seen = open
        .until(|event| matches!(event, Event::Notice { text, .. } if text.contains(part)))
        .await;
    notices(&seen).pop().unwrap().1
}

/// The lines of a file that hooks write.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn has_python() -> bool {
    skip::has(&["python3"], "apt install python3")
}

/// A script from the documentation of Claude Code.
const VALIDATOR: &str = r#"#!/usr/bin/env python3
import json, re, sys
RULES = [
    (r"\bgrep\b(?!.*\|)", "Use 'rg' instead of 'grep'"),
    (r"\bfind\s+\S+\s+-name\b", "Use 'rg --files' instead of 'find -name'"),
]
try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as error:
    print(f"Error: Invalid JSON input: {error}", file=sys.stderr)
    sys.exit(1)
if data.get("tool_name") != "Bash" or not data.get("tool_input", {}).get("command"):
    sys.exit(1)
issues = [message for pattern, message in RULES if re.search(pattern, data["tool_input"]["command"])]
if issues:
    for message in issues:
        print(f"• {message}", file=sys.stderr)
    sys.exit(2)
"#;

const FORMATTER: &str = r#"#!/usr/bin/env bash
set -euo pipefail
file=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["tool_input"]["file_path"])')
case "$file" in
  "$CLAUDE_PROJECT_DIR"/*.txt) python3 - "$file" <<'PY'
import sys
path = sys.argv[1]
text = open(path).read()
open(path, "w").write(text.upper())
PY
  echo '{"suppressOutput": true, "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "formatted"}}' ;;
esac
"#;

const PROMPT_LOGGER: &str = r#"#!/usr/bin/env python3
import json, os, sys
data = json.load(sys.stdin)
folder = os.path.join(os.environ["CLAUDE_PROJECT_DIR"], ".claude")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "prompts.log"), "a") as log:
    log.write(f'{data["hook_event_name"]} {data["prompt"]}\n')
if "password" in data["prompt"].lower():
    print(json.dumps({"decision": "block", "reason": "the prompt holds a password"}))
    sys.exit(0)
print("today is a holiday")
"#;

const NOTIFIER: &str = r#"#!/bin/sh
python3 -c '
import json, sys
data = json.load(sys.stdin)
print(data["notification_type"] + ": " + data["message"])' >> "$OSIER_PROJECT_DIR/notified.log"
"#;

#[tokio::test]
async fn pre_tool_use_hook_blocks_a_command_with_a_reason() {
    if !has_python() {
        return;
    }
    let place = TestProject::new();
    let command = program(&place.data().join("hooks/validate.py"), VALIDATOR);
    let hooks = json!({"hooks": {"PreToolUse": matched("Bash", &command)}});
    write(&place.data().join("hooks.json"), &hooks.to_string());
    let script = Script::new()
        .turn(|turn| {
            turn.tool("bash", bash("grep -r x ."))
                .tool("bash", bash("echo fine"))
                .tool("ls", json!({}))
        })
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let events = open.run("go").await;
    let results = results(&events);
    let reason = "This call was denied: • Use 'rg' instead of 'grep'";
    assert!(results.contains(&(reason.to_owned(), false)), "{results:?}");
    let fine = results.iter().filter(|(_, success)| *success).count();
    assert_eq!((fine, notices(&events)), (2, Vec::new()));
    open.close().await;
}

/// A project with a formatter hook in `.claude/settings.json`.
fn formatted() -> (TestProject, Script) {
    let place = TestProject::new();
    program(&place.work().join(".claude/hooks/format.sh"), FORMATTER);
    let command = "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/format.sh";
    let hooks = json!({"permissions": {"allow": []}, "hooks": {"PostToolUse": matched("Edit|MultiEdit|Write", command)}});
    let path = place.work().join(".claude/settings.json");
    write(&path, &hooks.to_string());
    let script = Script::new()
        .turn(|turn| {
            let edits = json!([{"old_string": "a", "new_string": "one"}, {"old_string": "b", "new_string": "two"}]);
            turn.tool("write", json!({"file_path": "a.txt", "content": "word\n"}))
                .tool("edit", json!({"file_path": "b.txt", "edits": edits}))
        })
        .turn(|turn| turn.text("done"));
    write(&place.work().join("b.txt"), "a b\n");
    (place, script)
}

#[tokio::test]
async fn post_tool_use_hook_runs_for_every_tool_that_changes_files() {
    if !has_python() {
        return;
    }
    let (place, script) = formatted();
    let trust = Trust::new(&Folders::under(&place.data()));
    trust
        .decide(&ProjectFiles::read(&place.work()), true)
        .unwrap();
    let mut open = open(&place, script).await;
    let events = open.run("go").await;
    let read = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
    assert_eq!(
        (read("a.txt"), read("b.txt")),
        ("WORD\n".into(), "ONE TWO\n".into())
    );
    for (text, success) in results(&events) {
        assert!(
            success && text.ends_with("<hook>\nformatted\n</hook>"),
            "{text}"
        );
    }
    open.close().await;
}

#[tokio::test]
async fn project_hooks_require_trust() {
    if !has_python() {
        return;
    }
    let (place, script) = formatted();
    let mut open = open(&place, script).await;
    open.run("go").await;
    let read = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
    assert_eq!(read("a.txt"), "word\n");
    open.host.send(Op::ListHooks);
    let listed = |event: &Event| matches!(event, Event::Hooks { .. });
    let seen = open.until(listed).await;
    assert_eq!(seen.last(), Some(&Event::Hooks { hooks: Vec::new() }));
    // After trust and a reload, they apply.
    let trust = Trust::new(&Folders::under(&place.data()));
    trust
        .decide(&ProjectFiles::read(&place.work()), true)
        .unwrap();
    open.host.send(Op::Reload);
    open.host.send(Op::ListHooks);
    let seen = open.until(listed).await;
    let Some(Event::Hooks { hooks }) = seen.last() else {
        panic!("no list");
    };
    assert_eq!(hooks.len(), 1);
    assert!(hooks[0].file.ends_with(".claude/settings.json"));
    open.close().await;
}

#[tokio::test]
async fn prompt_hook_adds_context_and_blocks_a_password() {
    if !has_python() {
        return;
    }
    let place = TestProject::new();
    let command = program(&place.data().join("prompts.py"), PROMPT_LOGGER);
    let hooks = json!({"hooks": {"UserPromptSubmit": hook(&command)}});
    write(&place.data().join("hooks.json"), &hooks.to_string());
    let mut open = open(&place, Script::always("ok")).await;
    open.run("hello").await;
    let context = "<file name=\"UserPromptSubmit hook\">\ntoday is a holiday\n</file>";
    assert_eq!(open.last_request(), [format!("user: hello|{context}")]);
    let events = open.run("my Password is x").await;
    let message = "a hook blocked the prompt: the prompt holds a password".to_owned();
    assert_eq!(outcome(&events), RunOutcome::Stopped { message });
    open.run("again").await;
    let sent = open.last_request();
    assert!(
        !sent.iter().any(|line| line.contains("Password")),
        "{sent:?}"
    );
    let log = lines(&place.work().join(".claude/prompts.log"));
    let expected = ["hello", "my Password is x", "again"];
    assert_eq!(
        log,
        expected.map(|prompt| format!("UserPromptSubmit {prompt}"))
    );
    open.close().await;
}

#[tokio::test]
async fn notification_hook_runs_when_osier_waits_for_the_user() {
    if !has_python() {
        return;
    }
    let place = TestProject::new();
    let command = program(&place.data().join("notify.sh"), NOTIFIER);
    let hooks = json!({"hooks": {"Notification": hook(&command)}});
    write(&place.data().join("hooks.json"), &hooks.to_string());
    let setup = |setup: &mut SessionSetup| {
        asks(setup);
        setup.idle_after = std::time::Duration::ZERO;
    };
    let mut open = place
        .open_with(SessionChoice::New, runs(&["touch x"]), setup)
        .await;
    open.prompt("go");
    let ran = |event: &Event| matches!(event, Event::HookRan { .. });
    let seen = open.until(ran).await;
    let id = seen.iter().find_map(|event| match event {
        Event::QuestionAsked { question } => Some(question.id.clone()),
        _ => None,
    });
    let answer = osier_protocol::questions::Answer::Refuse { reason: None };
    let id = id.unwrap();
    open.host.send(Op::AnswerQuestion { id, answer });
    open.settled().await;
    open.until(ran).await;
    let expected = [
        "permission_prompt: osier needs your permission to use Bash",
        "idle_prompt: osier is waiting for your input",
    ];
    assert_eq!(lines(&place.work().join("notified.log")), expected);
    open.close().await;
}

#[tokio::test]
async fn claude_code_user_hooks_run_when_enabled() {
    let place = TestProject::new();
    let claude = place.data().join("claude");
    let blocks = json!({"hooks": {"PreToolUse": hook("echo no >&2; exit 2")}});
    write(&claude.join("settings.json"), &blocks.to_string());
    for (wanted, success) in [(false, true), (true, false)] {
        let mut open = place
            .open_with(SessionChoice::New, runs(&["echo x"]), |setup| {
                setup.settings.claude_hooks = Some(wanted);
                let folder = claude.display().to_string();
                let variables = [("HOME", &folder), ("CLAUDE_CONFIG_DIR", &folder)];
                let variables = variables.map(|(name, value)| (name.to_owned(), value.clone()));
                setup.folders.environment = std::sync::Arc::new(variables.into());
            })
            .await;
        let events = open.run("go").await;
        assert_eq!(result(&events).1, success);
        open.close().await;
    }
}

#[tokio::test]
async fn invalid_hooks_file_is_reported_once_and_other_files_apply() {
    let place = with(&json!({"PreToolUse": hook("echo no >&2; exit 2")}));
    write(
        &place.work().join(".osier/hooks.json"),
        "{\"hooks\": {\n  \"Stop\": [},\n}}",
    );
    write(
        &place.work().join(".claude/settings.json"),
        "{\"model\": \"opus\"}",
    );
    let trust = Trust::new(&Folders::under(&place.data()));
    trust
        .decide(&ProjectFiles::read(&place.work()), true)
        .unwrap();
    let mut open = place
        .open_with(SessionChoice::New, runs(&["echo x"]), |setup| {
            setup.starts_with_faults = true;
        })
        .await;
    // Reported before the session opened, and again after a reload.
    open.host.send(Op::Reload);
    let told = noticed(&mut open, "hooks.json").await;
    let path: PathBuf = place
        .work()
        .canonicalize()
        .unwrap()
        .join(".osier/hooks.json");
    let expected = format!(
        "{}:2:12: expected value; its hooks are ignored until it is fixed",
        path.display()
    );
    assert_eq!(told, expected);
    let events = open.run("go").await;
    assert_eq!(
        result(&events),
        ("This call was denied: no".to_owned(), false)
    );
    open.close().await;
}

#[test]
fn documentation_has_the_tables_of_events_and_failures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hooks.md");
    for (name, expected) in [
        ("events", reference()),
        ("failures", failures_table()),
        ("answers", answers_table()),
    ] {
        pages::check_part(&path, name, &expected);
    }
}
