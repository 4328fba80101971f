//! Every row of the table of failures, played for every event that hooks guard, and for others. The tests of the crate play
//! them for all events, without a session.

use osier_extensions::hooks::{FAILURES, Failure};
use osier_protocol::HookEvent;

use super::*;

/// A hook that gets no more than a moment if it has to be killed.
fn fails(command: &str) -> Value {
    let timeout = if command.starts_with("sleep") {
        0.2
    } else {
        60.0
    };
    json!([{"hooks": [{"command": command, "timeout": timeout}]}])
}

/// The result of a run whose hook for `event` is `command`.
async fn play(event: &str, command: &str) -> String {
    let place = with(&json!({ event: fails(command) }));
    write(&place.work().join("not-executable"), "#!/bin/sh\n");
    program(&place.work().join("no-interpreter"), "#!/no/such/program\n");
    let setup = |setup: &mut SessionSetup| {
        if event == "PermissionRequest" {
            asks(setup);
            setup.answers_questions = false;
        }
    };
    let script = runs(&["touch made && echo ran"]);
    let mut open = place.open_with(SessionChoice::New, script, setup).await;
    let events = open.run("go").await;
    open.close().await;
    match outcome(&events) {
        RunOutcome::Stopped { message } => message,
        _ => result(&events).0,
    }
}

async fn hold(failure: &Failure, command: &str) {
    for (event, denied, passed) in [
        ("PreToolUse", "This call was denied: ", "ran"),
        ("PermissionRequest", "", "`bash` needs permission"),
        ("UserPromptSubmit", "a hook blocked the prompt: ", "ran"),
        ("SessionStart", "", "ran"),
    ] {
        let happened = play(event, command).await;
        let info = HookEvent::find(event).unwrap().info();
        let blocks = failure.blocks.applies_to(info);
        let is_denied = happened.starts_with(denied) && !happened.contains(passed);
        let is_passed = happened.contains(passed);
        assert_eq!(
            (is_denied, is_passed),
            (blocks, !blocks),
            "{event}, {command}: {happened}"
        );
    }
}

#[tokio::test]
async fn every_failure_blocks_what_the_table_says() {
    for failure in FAILURES {
        for command in failure.commands {
            hold(failure, command).await;
        }
    }
}

/// `osier doctor` names the guards that cannot start before they block.
#[test]
fn doctor_names_guards_that_cannot_start() {
    let home = Home::new();
    for (command, obstacle) in [
        (
            "/no/such/check",
            Some("`/no/such/check` does not exist or is not executable"),
        ),
        (
            "no-such-check --all",
            Some("`no-such-check` does not exist or is not executable"),
        ),
        (
            "./not-executable",
            Some("`./not-executable` does not exist or is not executable"),
        ),
        (
            "./no-interpreter",
            Some("the interpreter `/no/such/program` of `./no-interpreter` does not exist"),
        ),
        ("sh missing.sh", Some("`missing.sh` does not exist")),
        ("echo checked; exit 2", None),
        ("\"$CLAUDE_PROJECT_DIR\"/check.sh", None),
        ("$CHECK", None),
    ] {
        home.file("not-executable", "#!/bin/sh\n");
        program(&home.work().join("no-interpreter"), "#!/no/such/program\n");
        program(&home.work().join("check.sh"), "#!/usr/bin/env sh\n");
        let hooks = json!({"hooks": {"PreToolUse": hook(command)}});
        home.config("hooks.json", hooks.to_string());
        let output = home.cli().args(["doctor"]).run().stdout;
        let expected = match obstacle {
            Some(obstacle) => format!(
                "!! hooks      the PreToolUse hook `{command}` cannot start: {obstacle}: it blocks\n"
            ),
            None => {
                "ok hooks      1 can block calls or prompts, and do so if they fail\n".to_owned()
            }
        };
        assert!(output.contains(&expected), "{expected}\n{output}");
    }
}

#[test]
fn an_unreadable_guard_of_claude_code_stops_a_run_without_a_person() {
    let run = |event: &str, matcher: &str| {
        let home = Home::new();
        let hooks = json!({"hooks": {event: matched(matcher, "exit 2")}}).to_string();
        write(&home.work().join(".claude/settings.json"), &hooks);
        let turns = json!([{"steps": [{"text": "done"}], "repeat": true}]);
        let ran = home.scripted(&turns).args(["-p", "--trust", "hello"]).run();
        (ran.code, ran.stderr)
    };
    let look_ahead = "(?!mcp__).*";
    let (code, error) = run("PreToolUse", look_ahead);
    assert_ne!(code, Some(0));
    assert!(error.contains("invalid matcher `(?!mcp__).*`"), "{error}");
    // A hook that guards nothing is only reported.
    let (code, error) = run("PostToolUse", look_ahead);
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("invalid matcher `(?!mcp__).*`"), "{error}");
}
