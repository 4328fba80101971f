//! The answers of hooks, valid and invalid.

use tokio::task::JoinHandle;

use osier_protocol::questions::{Answer, Grant, QuestionKind};

use super::*;

/// `hookSpecificOutput` as a command that prints it.
fn says(output: &Value) -> String {
    format!("echo '{}'", json!({"hookSpecificOutput": output}))
}

fn decides(decision: &str) -> String {
    says(
        &json!({"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": format!("it is {decision}")}),
    )
}

fn all(commands: &[String]) -> Value {
    let hooks = commands.iter();
    let hooks = hooks.map(|command| json!({"type": "command", "command": command}));
    json!([{"hooks": hooks.collect::<Vec<_>>()}])
}

/// A named pipe that a hook writes to when it starts.
struct Pipe {
    path: PathBuf,
    /// Waits until the hook has written to it.
    read: JoinHandle<std::io::Result<Vec<u8>>>,
}

impl Pipe {
    #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
    fn new(path: PathBuf) -> Self {
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let wanted = path.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read(wanted));
        Self { path, read }
    }

    async fn written(self) {
        let over = tokio::time::timeout(std::time::Duration::from_mins(1), self.read);
        if over.await.is_err() {
            // The reading thread waits for a writer.
            drop(std::fs::File::options().write(true).open(&self.path));
            panic!("the hook has not begun");
        }
    }
}

async fn call(hooks: &Value) -> (Vec<Event>, (String, bool)) {
    let place = with(hooks);
    let mut open = open(&place, runs(&["echo ran"])).await;
    let events = open.run("go").await;
    open.close().await;
    let result = result(&events);
    (events, result)
}

#[tokio::test]
async fn strictest_decision_of_several_hooks_applies() {
    for (decisions, expected) in [
        (
            &["allow", "deny", "ask"][..],
            "This call was denied: it is deny",
        ),
        (
            &["allow", "ask"],
            "`bash` needs permission (a hook asks: it is ask)",
        ),
        (
            &["ask", "defer", "allow"],
            "`bash` needs permission (a hook defers to you: it is defer)",
        ),
        (&["allow"], "ran"),
    ] {
        let commands: Vec<String> = decisions.iter().map(|word| decides(word)).collect();
        let (_, (text, _)) = call(&json!({"PreToolUse": all(&commands)})).await;
        assert!(text.contains(expected), "{decisions:?}: {text}");
    }
}

#[tokio::test]
async fn allow_decision_skips_the_question_but_not_a_deny_rule() {
    let place = with(&json!({"PreToolUse": hook(&decides("allow"))}));
    let mut open = place
        .open_with(SessionChoice::New, runs(&["echo ran", "rm x"]), |setup| {
            asks(setup);
            setup.settings.deny = vec!["bash(rm *)".to_owned()];
        })
        .await;
    let events = open.run("go").await;
    let results = results(&events);
    assert!(results[0].0.contains("ran"), "{results:?}");
    assert!(
        results[1].0.contains("the rule `bash(rm *)` denies it"),
        "{results:?}"
    );
    open.close().await;
}

#[tokio::test]
async fn hook_answers_a_permission_request() {
    let answers = |decision: Value| {
        says(&json!({"hookEventName": "PermissionRequest", "decision": decision}))
    };
    let other = json!({"command": "echo other", "description": "d"});
    for (decision, expected) in [
        (json!({"behavior": "allow"}), "ran"),
        (json!({"behavior": "allow", "updatedInput": other}), "other"),
        (
            json!({"behavior": "deny", "message": "not at night"}),
            "not at night",
        ),
        (
            json!({"behavior": "allow", "updatedInput": {"command": "rm x"}}),
            "the rule `bash(rm *)` denies it",
        ),
    ] {
        let place = with(&json!({"PermissionRequest": matched("Bash", &answers(decision))}));
        // There is no other client.
        let mut open = place
            .open_with(
                SessionChoice::New,
                runs(&["touch made && echo ran"]),
                |setup| {
                    setup.permissions = Some(PermissionMode::Ask);
                    setup.settings.deny = vec!["bash(rm *)".to_owned()];
                },
            )
            .await;
        let events = open.run("go").await;
        let (text, _) = result(&events);
        assert!(text.contains(expected), "{text}");
        open.close().await;
    }
}

#[tokio::test]
async fn hook_without_an_answer_leaves_the_question_open() {
    let place = with(&json!({"PermissionRequest": hook("cat > /dev/null")}));
    let mut open = place
        .open_with(SessionChoice::New, runs(&["touch made && echo ran"]), asks)
        .await;
    open.prompt("go");
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = seen.last() else {
        panic!("nothing was asked");
    };
    assert!(matches!(question.kind, QuestionKind::Permission { .. }));
    let answer = Answer::Allow {
        grant: Grant::Once,
        arguments: None,
    };
    let id = question.id.clone();
    open.host.send(Op::AnswerQuestion { id, answer });
    let events = open.settled().await;
    assert!(result(&events).1);
    open.close().await;
}

#[tokio::test]
async fn hooks_rewrite_arguments_and_outputs_and_add_context() {
    let before = says(
        &json!({"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "echo other", "timeout": 5000, "description": "says other"},
        "additionalContext": "before"}),
    );
    let after = says(&json!({"hookEventName": "PostToolUse",
        "updatedToolOutput": {"stdout": "changed", "stderr": ""}, "additionalContext": "after"}));
    let log = "cat > \"$OSIER_PROJECT_DIR/seen.json\"";
    let place =
        with(&json!({"PreToolUse": hook(&before), "post_tool_use": all(&[after, log.to_owned()])}));
    let mut open = open(&place, runs(&["echo ran"])).await;
    let events = open.run("go").await;
    let expected = "changed\n<hook>\nbefore\n</hook>\n<hook>\nafter\n</hook>".to_owned();
    assert_eq!(result(&events), (expected, true));
    // Later hooks receive the rewritten call.
    let seen = std::fs::read_to_string(place.work().join("seen.json")).unwrap();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(
        seen["tool_input"],
        json!({"command": "echo other", "timeout": 5000})
    );
    assert_eq!(seen["tool_response"]["exitCode"], 0);
    assert!(
        seen["tool_response"]["stdout"]
            .as_str()
            .unwrap()
            .starts_with("other")
    );
    open.close().await;
}

#[tokio::test]
async fn post_tool_use_block_reason_is_sent_to_the_model() {
    for command in [
        "echo 'unused import' >&2; exit 2",
        "echo '{\"decision\": \"block\", \"reason\": \"unused import\"}'",
    ] {
        let (_, (text, success)) = call(&json!({"PostToolUse": matched("Bash", command)})).await;
        let objection = "<hook>\nA hook blocked this: unused import\n</hook>";
        assert!(success && text.ends_with(objection), "{text}");
    }
}

#[tokio::test]
async fn failed_call_runs_post_tool_use_failure() {
    let place = with(&json!({
        "PostToolUse": hook("touch wrong"),
        "PostToolUseFailure": hook("cat > failure.json; echo '{\"systemMessage\": \"seen\"}'"),
    }));
    let mut open = open(&place, runs(&["echo bad; exit 3"])).await;
    let events = open.run("go").await;
    assert!(!place.work().join("wrong").exists());
    let failure = std::fs::read_to_string(place.work().join("failure.json")).unwrap();
    let failure: Value = serde_json::from_str(&failure).unwrap();
    assert_eq!(failure["is_interrupt"], false);
    assert_eq!(failure["error"], "Exit code 3\nbad");
    assert_eq!(notices(&events), [(Severity::Warning, "seen".to_owned())]);
    open.close().await;
}

#[tokio::test]
async fn hook_errors_are_one_line() {
    for (command, expected, runs) in [
        (
            "echo '{\"decision\": '",
            "the PreToolUse hook `echo '{\"decision\": '`: its output looks like JSON but is invalid",
            false,
        ),
        ("head -c 3000 /dev/zero", "", true),
        ("printf '\\033[31m\\377\\376 red'", "", true),
        (
            "echo first >&2; echo 'no such file' >&2; exit 1",
            "exit code 1: no such file",
            true,
        ),
        ("/no/such/hook", "exit code 127: ", false),
        ("kill -9 $$", "ended by a signal", false),
        ("echo '[1, 2]'", "", true),
        (
            "echo '{\"decision\": \"perhaps\"}'",
            "invalid decision `perhaps`",
            false,
        ),
    ] {
        let (events, (text, success)) = call(&json!({"PreToolUse": hook(command)})).await;
        assert_eq!(success, runs, "{command}: {text}");
        let notices = notices(&events);
        match expected {
            "" => assert_eq!(notices, []),
            expected => {
                assert_eq!(notices.len(), 1, "{notices:?}");
                let (severity, text) = &notices[0];
                assert!(text.contains(expected) && !text.contains('\n'), "{text}");
                assert_eq!(*severity, Severity::Warning);
            }
        }
    }
}

#[tokio::test]
async fn hanging_hook_is_killed_after_its_timeout() {
    let hooks = json!([{"hooks": [{"command": "sleep 600", "timeout": 0.2}]}]);
    let (events, result) = call(&json!({"PreToolUse": hooks})).await;
    let expected = "the PreToolUse hook `sleep 600`: it did not end within 0.2 s and was killed";
    assert_eq!(result, (format!("This call was denied: {expected}"), false));
    assert_eq!(notices(&events), [(Severity::Warning, expected.to_owned())]);
}

#[tokio::test]
async fn interrupt_kills_a_hanging_hook() {
    let hangs = "mkfifo waiting; echo > started; cat waiting";
    for event in [
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionStart",
    ] {
        let place = with(&json!({event: hook(hangs)}));
        let started = Pipe::new(place.work().join("started"));
        let mut open = open(&place, runs(&["echo ran"])).await;
        open.prompt("go");
        started.written().await;
        open.host.send(osier_agent::Op::Abort.into());
        let events = open.settled().await;
        let ran = results(&events).iter().any(|(_, success)| *success);
        let before = matches!(event, "UserPromptSubmit" | "PreToolUse" | "SessionStart");
        assert_eq!(ran, !before, "{event}");
        open.close().await;
    }
}

#[tokio::test]
async fn exit_does_not_wait_for_a_hanging_hook() {
    let hangs = "echo > started; exec sleep 600";
    let place = with(&json!({"PostToolUse": hook(hangs)}));
    let started = Pipe::new(place.work().join("started"));
    let open = open(&place, runs(&["echo ran"])).await;
    open.prompt("go");
    started.written().await;
    open.close().await;
}

#[tokio::test]
async fn hooks_of_one_event_run_in_parallel_without_duplicates() {
    // Each waits for the other: sequential hooks would never end.
    let left = "mkfifo a 2>/dev/null; echo x >> count; echo hello > a".to_owned();
    let right = "until [ -p a ]; do :; done; cat a > heard".to_owned();
    let twice = [left.clone(), right, left];
    let place = with(&json!({"PreToolUse": all(&twice)}));
    let mut open = open(&place, runs(&["echo ran"])).await;
    let events = open.run("go").await;
    assert!(result(&events).1);
    assert_eq!(lines(&place.work().join("heard")), ["hello"]);
    assert_eq!(lines(&place.work().join("count")), ["x"]);
    open.close().await;
}

#[tokio::test]
async fn async_hook_continues_in_the_background() {
    let place = with(&json!({"PreToolUse": hook(
        "mkfifo go; echo '{\"async\": true}'; cat go; echo late >&2; exit 1"
    )}));
    let mut open = open(&place, runs(&["echo > go"])).await;
    open.prompt("go");
    let late = noticed(&mut open, "late").await;
    assert!(late.ends_with("exit code 1: late"), "{late}");
    open.close().await;
}

#[tokio::test]
async fn hook_can_stop_the_run() {
    let stops = "echo '{\"continue\": false, \"stopReason\": \"enough for today\"}'";
    let message = "enough for today".to_owned();
    for event in ["PreToolUse", "PostToolUse"] {
        let place = with(&json!({event: hook(stops)}));
        let mut open = open(&place, runs(&["echo ran", "echo again"])).await;
        let events = open.run("go").await;
        let message = message.clone();
        assert_eq!(outcome(&events), RunOutcome::Stopped { message });
        assert_eq!(results(&events).len(), 1);
        open.close().await;
    }
}

#[tokio::test]
async fn if_condition_selects_calls_of_a_tool() {
    let hooks = json!([{"matcher": "Bash", "hooks": [
        {"command": "echo no >&2; exit 2", "if": "Bash(git push *)"}
    ]}]);
    let place = with(&json!({"PreToolUse": hooks}));
    let mut open = open(&place, runs(&["echo fine", "true && git push origin"])).await;
    let events = open.run("go").await;
    let success: Vec<bool> = results(&events)
        .iter()
        .map(|(_, success)| *success)
        .collect();
    assert_eq!(success, [true, false]);
    open.close().await;
}

#[tokio::test]
async fn hook_list_has_the_last_outcome() {
    let place = with(&json!({
        "PreToolUse": matched("Bash|Edit", "echo no >&2; exit 2"),
        "Stop": hook("exit 3"),
    }));
    let mut open = open(&place, runs(&["echo x"])).await;
    open.run("go").await;
    open.host.send(Op::ListHooks);
    let seen = open
        .until(|event| matches!(event, Event::Hooks { .. }))
        .await;
    let Some(Event::Hooks { hooks }) = seen.last() else {
        panic!("no list");
    };
    let listed: Vec<_> = hooks
        .iter()
        .map(|hook| {
            let last = hook.last.as_ref().unwrap();
            (
                hook.event.name(),
                hook.matcher.as_str(),
                last.outcome.as_str(),
                last.message.as_str(),
            )
        })
        .collect();
    let expected = [
        ("PreToolUse", "Bash|Edit", "blocked", "no"),
        ("Stop", "", "failed", "exit code 3"),
    ];
    assert_eq!(listed, expected);
    open.close().await;
}

/// A formatter after each edit: the file is not taken for one that another program changed.
#[tokio::test]
async fn what_a_hook_changes_in_an_edited_file_is_no_conflict() {
    let place = with(&json!({"PostToolUse": matched("Edit", "sed -i 's/  */ /g' f")}));
    write(&place.work().join("f"), "one  =  1\ntwo  =  2\n");
    let edit =
        |old: &str, new: &str| json!({"file_path": "f", "old_string": old, "new_string": new});
    let script = Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "f"})))
        .turn(|turn| turn.tool("edit", edit("one  =  1", "one  =  10")))
        .turn(|turn| turn.tool("edit", edit("two = 2 ", "two = 20")))
        .turn(|turn| turn.tool("write", json!({"file_path": "f", "content": "x\n"})))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let results = results(&open.run("go").await);
    let starts = [
        "1\t",
        "Changed 1 place in `f` (+1 -1 lines)\n",
        "Changed 1 place in `f` (+1 -1 lines); whitespace",
        "a command changed `f` since it was last read; nothing was written.",
    ];
    for (result, start) in results.iter().zip(starts) {
        assert!(result.0.starts_with(start), "{results:?}");
    }
    let text = std::fs::read_to_string(place.work().join("f")).unwrap();
    assert_eq!(text, "one = 10\ntwo = 20\n");
    open.close().await;
}
