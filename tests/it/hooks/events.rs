//! Every hook event with its JSON.

use osier_agent::{CompactionOutcome, CompactionReason};
use osier_llm::TurnStatus;
use osier_protocol::{TreeEvent, TreeOp};

use super::*;

/// Appends its input to a file.
const LOG: &str = "cat >> \"$CLAUDE_PROJECT_DIR/events.jsonl\"";

/// A project where a hook logs every event.
fn logged() -> TestProject {
    let hooks = osier_protocol::EVENTS.map(|info| (info.name.to_owned(), hook(LOG)));
    with(&Value::Object(hooks.into_iter().collect()))
}

/// The logged events, by name and specific fields.
fn log(place: &TestProject, open: &OpenSession) -> Vec<(String, Value)> {
    let logged = lines(&place.work().join("events.jsonl"));
    let logged = logged.iter().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let fields = event.as_object_mut().unwrap();
        let mut take = |name: &str| fields.shift_remove(name).unwrap_or_default();
        assert_eq!(take("session_id"), open.session.id);
        assert_eq!(take("transcript_path"), json!(open.session.path));
        assert_eq!(take("cwd"), json!(place.work()));
        assert_eq!(take("permission_mode"), "bypassPermissions");
        let name = take("hook_event_name").as_str().unwrap().to_owned();
        fields.shift_remove("tool_use_id");
        (name, event)
    });
    logged.collect()
}

#[tokio::test]
async fn session_events_run_hooks_in_order() {
    let place = logged();
    let script = Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "a.txt"})))
        .turn(|turn| turn.text("It says hi."));
    write(&place.work().join("a.txt"), "hi\n");
    let mut open = open(&place, script).await;
    open.run("what does it say").await;
    let session = open.session.clone();
    open.host.send(Op::NewSession);
    open.opened().await;
    let started = |event: &Event| matches!(event, Event::HookRan { run } if run.event.name() == "SessionStart");
    open.until(started).await;
    let next = std::mem::replace(&mut open.session, session);
    let file = place.work().join("a.txt");
    let input = json!({"file_path": file});
    let mut told = log_until_end(&place, &open);
    let response = told[3].1["tool_response"]["file"].take();
    let batch = told[4].1["tool_calls"][0].take();
    assert_eq!(
        (
            &batch["tool_name"],
            &batch["tool_input"],
            &batch["tool_response"]
        ),
        (&json!("Read"), &input, &json!("1\thi\n"))
    );
    let mut ids = Vec::new();
    for (name, event) in &mut told {
        let fields = event.as_object_mut().unwrap();
        let duration = fields.shift_remove("duration_ms");
        assert_eq!(duration.is_some(), name == "PostToolUse", "{name}");
        ids.extend(fields.shift_remove("prompt_id"));
    }
    assert_eq!(ids.len(), 6, "{ids:?}");
    assert!(
        ids.iter().all(|id| id.is_string() && *id == ids[0]),
        "{ids:?}"
    );
    assert_eq!(
        (&response["filePath"], &response["totalLines"]),
        (&json!(file), &json!(1))
    );
    let expected = [
        (
            "SessionStart",
            json!({"source": "startup", "model": "test/one"}),
        ),
        ("UserPromptSubmit", json!({"prompt": "what does it say"})),
        (
            "PreToolUse",
            json!({"tool_name": "Read", "tool_input": input}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "Read", "tool_input": input, "tool_response": {"type": "text", "file": null}}),
        ),
        ("PostToolBatch", json!({"tool_calls": [null]})),
        (
            "Stop",
            json!({"stop_hook_active": false, "last_assistant_message": "It says hi.",
                "background_tasks": [], "session_crons": []}),
        ),
        ("SessionEnd", json!({"reason": "clear"})),
    ];
    let expected = expected.map(|(name, fields)| (name.to_owned(), fields));
    assert_eq!(told, expected);
    open.session = next;
    open.close().await;
    assert_eq!(
        reasons_after(&place, 7),
        [(json!("clear"), Value::Null), (Value::Null, json!("other")),]
    );
}

/// Why a session started or ended, in the events after the first ones.
fn reasons_after(place: &TestProject, first: usize) -> Vec<(Value, Value)> {
    let logged = lines(&place.work().join("events.jsonl"));
    let events = logged[first..].iter();
    let events = events.map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let reasons = events.map(|event| (event["source"].clone(), event["reason"].clone()));
    reasons.collect()
}

/// The events of the first session.
fn log_until_end(place: &TestProject, open: &OpenSession) -> Vec<(String, Value)> {
    let path = place.work().join("events.jsonl");
    let kept: Vec<String> = lines(&path)
        .into_iter()
        .filter(|line| line.contains(&open.session.id))
        .collect();
    let rest: Vec<String> = lines(&path)
        .into_iter()
        .filter(|line| !line.contains(&open.session.id))
        .collect();
    write(&path, &(kept.join("\n") + "\n"));
    let told = log(place, open);
    write(&path, &[kept, rest].concat().join("\n"));
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push('\n');
    write(&path, &text);
    told
}

#[tokio::test]
async fn session_start_context_is_added_to_the_first_prompt() {
    let place = with(&json!({"SessionStart": [
        {"matcher": "startup", "hooks": [{"command": "echo the branch is main"}]},
        {"matcher": "resume", "hooks": [{"command": "echo welcome back"}]},
    ]}));
    let mut first = open(&place, Script::always("ok")).await;
    first.run("hello").await;
    let context = |text: &str| format!("<file name=\"SessionStart hook\">\n{text}\n</file>");
    let expected = format!("user: hello|{}", context("the branch is main"));
    assert_eq!(first.last_request(), [expected.as_str()]);
    first.run("more").await;
    assert_eq!(first.last_request().last().unwrap(), "user: more");
    first.close().await;
    let mut second = place
        .open(SessionChoice::Continue, Script::always("ok"))
        .await;
    second.run("again").await;
    let sent = second.last_request();
    assert_eq!(sent[0], expected);
    assert_eq!(
        sent.last().unwrap(),
        &format!("user: again|{}", context("welcome back"))
    );
    second.close().await;
}

#[tokio::test]
async fn stop_hook_continues_the_model_until_it_allows_the_stop() {
    if !has_python() {
        return;
    }
    let place = TestProject::new();
    let script = "import json, sys\ndata = json.load(sys.stdin)\nif not data['stop_hook_active']:\n    print(json.dumps({'decision': 'block', 'reason': 'run the tests'}))\n";
    let command = format!("python3 {}", program(&place.data().join("stop.py"), script));
    let prompts = "echo x >> prompts";
    let hooks = json!({"hooks": {"Stop": hook(&command), "UserPromptSubmit": hook(prompts)}});
    write(&place.data().join("hooks.json"), &hooks.to_string());
    let mut open = open(&place, Script::always("done")).await;
    let events = open.run("go").await;
    assert_eq!(outcome(&events), RunOutcome::Completed);
    let sent = open.last_request();
    assert_eq!(
        sent.last().unwrap(),
        "user: A hook requires you to continue: run the tests"
    );
    assert_eq!(open.provider.requests().len(), 2);
    // The reason of a hook is not a prompt of the user.
    assert_eq!(lines(&place.work().join("prompts")), ["x"]);
    open.close().await;
}

#[tokio::test]
async fn stop_hook_continues_the_model_with_its_context() {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "the build failed"}});
    let command = format!("[ -e seen ] || echo '{answer}'; touch seen");
    let place = with(&json!({"Stop": hook(&command)}));
    let mut open = open(&place, Script::always("done")).await;
    let events = open.run("go").await;
    assert_eq!(outcome(&events), RunOutcome::Completed);
    let sent = open.last_request();
    assert_eq!(
        sent.last().unwrap(),
        "user: A hook reports: the build failed"
    );
    assert_eq!(open.provider.requests().len(), 2);
    open.close().await;
}

#[tokio::test]
async fn stop_hook_continues_at_most_eight_times() {
    let place = with(&json!({"Stop": hook("echo more >&2; exit 2")}));
    let mut open = open(&place, Script::always("done")).await;
    let events = open.run("go").await;
    assert_eq!(outcome(&events), RunOutcome::Completed);
    assert_eq!(open.provider.requests().len(), 9);
    let told = notices(&events);
    assert!(
        told.iter().any(|(_, text)| text.contains("8 times")),
        "{told:?}"
    );
    open.close().await;
}

#[tokio::test]
async fn stop_failure_has_the_kind_of_error() {
    let place = with(&json!({"StopFailure": [
        {"matcher": "authentication_failed", "hooks": [{"command": "cat > failure.json"}]},
        {"matcher": "rate_limit", "hooks": [{"command": "touch wrong"}]},
    ]}));
    let status = TurnStatus::AuthError {
        message: "no key".to_owned(),
    };
    let script = Script::new().turn(|turn| turn.fail(status).repeat());
    let mut open = open(&place, script).await;
    open.run("go").await;
    let failure = std::fs::read_to_string(place.work().join("failure.json")).unwrap();
    let failure: Value = serde_json::from_str(&failure).unwrap();
    assert_eq!(
        (&failure["error"], &failure["error_details"]),
        (&json!("authentication_failed"), &json!("no key"))
    );
    assert!(!place.work().join("wrong").exists());
    open.close().await;
}

async fn compacted(open: &mut OpenSession) -> CompactionOutcome {
    let instructions = None;
    let review = false;
    let op = TreeOp::Compact {
        instructions,
        review,
        up_to: None,
    };
    open.host.send(Op::Tree(op));
    let seen = open
        .until(|event| {
            matches!(
                event,
                Event::Agent(osier_agent::Event::CompactionEnd { .. })
            )
        })
        .await;
    match seen.last() {
        Some(Event::Agent(osier_agent::Event::CompactionEnd { reason, outcome })) => {
            assert_eq!(*reason, CompactionReason::Manual);
            outcome.clone()
        }
        _ => panic!("no end"),
    }
}

#[tokio::test]
async fn pre_compact_blocks_and_session_start_runs_after_compaction() {
    let place = with(&json!({
        "PreCompact": [{"matcher": "manual", "hooks": [{"command": "test -e go || { echo not now >&2; exit 2; }; echo keep the names"}]}],
        "PostCompact": hook("cat > after.json"),
        "SessionStart": [{"matcher": "compact", "hooks": [{"command": "echo remember the branch"}]}],
    }));
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("Use exactly these headings")
                .text("## Goal\nx")
                .repeat()
        })
        .turn(|turn| turn.text("ok").repeat());
    let mut open = open(&place, script).await;
    open.run("one").await;
    open.run("two").await;
    let message = "not now".to_owned();
    assert_eq!(
        compacted(&mut open).await,
        CompactionOutcome::Refused { message }
    );
    write(&place.work().join("go"), "");
    let outcome = compacted(&mut open).await;
    assert!(
        matches!(outcome, CompactionOutcome::Done { .. }),
        "{outcome:?}"
    );
    let asked = open.last_request().join("\n");
    assert!(asked.contains("keep the names"), "{asked}");
    let after = std::fs::read_to_string(place.work().join("after.json")).unwrap();
    let after: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(after["trigger"], "manual");
    assert!(
        after["compact_summary"]
            .as_str()
            .unwrap()
            .contains("## Goal")
    );
    open.run("three").await;
    let sent = open.last_request().join("\n");
    assert!(
        sent.contains("<hook event=\"SessionStart\">\nremember the branch\n</hook>"),
        "{sent}"
    );
    open.close().await;
}

#[tokio::test]
async fn subagent_events_run_and_its_calls_are_checked() {
    let place = with(&json!({
        "SubagentStart": [{"matcher": "general-purpose", "hooks": [{"command":
            "cat >> start.json; echo '{\"hookSpecificOutput\": {\"hookEventName\": \"SubagentStart\", \"additionalContext\": \"be quick\"}}'"}]}],
        "SubagentStop": hook("cat >> stop.json"),
        "UserPromptSubmit": hook("echo x >> prompts"),
        "Stop": hook("echo x >> stops"),
        "PreToolUse": matched("Bash", "cat >> calls.json; echo no >&2; exit 2"),
    }));
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", json!({"prompt": "count"}))
        })
        .turn(|turn| turn.when_user("count").tool("bash", bash("ls")))
        .turn(|turn| turn.when_result("denied").text("I may not."))
        .turn(|turn| turn.when_result("I may not").text("done"));
    let mut open = place
        .open_with(SessionChoice::New, script, |setup| {
            setup.settings.subagents = true;
        })
        .await;
    open.run("go").await;
    let inner = crate::support::agent::sent(&open.provider.requests()[1]);
    assert_eq!(
        inner,
        ["user: count|<file name=\"SubagentStart hook\">\nbe quick\n</file>"]
    );
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(place.work().join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (start, stop, call) = (read("start.json"), read("stop.json"), read("calls.json"));
    assert_eq!(start["agent_type"], "general-purpose");
    assert_eq!(stop["last_assistant_message"], "I may not.");
    assert_eq!(
        (&call["agent_id"], &stop["agent_id"]),
        (&start["agent_id"], &start["agent_id"])
    );
    for name in ["prompts", "stops"] {
        assert_eq!(lines(&place.work().join(name)), ["x"], "{name}");
    }
    open.close().await;
}

#[tokio::test]
async fn hooks_run_in_the_directory_of_each_lane() {
    let place = with(&json!({
        "PreToolUse": matched("Bash", "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"cwd\"])' >> \"$CLAUDE_PROJECT_DIR/places\"; echo no >&2; exit 2"),
    }));
    if !has_python() {
        return;
    }
    let script = Script::new()
        .turn(|turn| turn.when_user("hello").text("hi"))
        .turn(|turn| turn.when_result("denied: no").text("finished").repeat())
        .turn(|turn| {
            turn.when_user("do it")
                .tool("bash", bash("touch x"))
                .repeat()
        });
    let mut open = open(&place, script).await;
    open.run("hello").await;
    open.host.send(Op::Tree(TreeOp::FanOut {
        models: vec!["test/one".to_owned(), "test/one".to_owned()],
        prompt: Some("do it".to_owned()),
    }));
    open.until(|event| matches!(event, Event::Tree(TreeEvent::FanEnded { .. })))
        .await;
    let mut places = lines(&place.work().join("places"));
    places.sort();
    places.dedup();
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(!places.contains(&place.work().to_string_lossy().into_owned()));
    open.close().await;
}

#[tokio::test]
async fn the_calls_of_an_answer_are_one_batch() {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PostToolBatch", "additionalContext": "two ran"}});
    let log = "tee -a \"$CLAUDE_PROJECT_DIR/batches.jsonl\"";
    let command = format!("{log} | grep -q stop && exit 2; echo '{answer}'");
    let place = with(&json!({"PostToolBatch": hook(&command)}));
    let script = Script::new()
        .turn(|turn| {
            turn.tool("bash", bash("echo one"))
                .tool("bash", bash("echo two"))
        })
        .turn(|turn| turn.tool("bash", bash("echo stop")));
    let mut open = open(&place, script).await;
    let events = open.run("go").await;
    // The second one was blocked.
    assert!(
        matches!(outcome(&events), RunOutcome::Stopped { .. }),
        "{:?}",
        outcome(&events)
    );
    let sent = open.last_request().join("\n");
    let context = "<hook event=\"PostToolBatch\">\ntwo ran\n</hook>";
    assert!(sent.ends_with(context), "{sent}");
    let batches = lines(&place.work().join("batches.jsonl"));
    assert_eq!(batches.len(), 2);
    let batch: Value = serde_json::from_str(&batches[0]).unwrap();
    let commands = batch["tool_calls"].as_array().unwrap().iter();
    let commands: Vec<_> = commands
        .map(|call| (&call["tool_input"]["command"], &call["tool_response"]))
        .collect();
    let call = |word: &str| (json!(format!("echo {word}")), json!(format!("{word}\n")));
    let (one, two) = (call("one"), call("two"));
    assert_eq!(commands, [(&one.0, &one.1), (&two.0, &two.1)]);
    open.close().await;
}

#[tokio::test]
async fn a_slash_command_is_checked_before_its_prompt() {
    let place = with(&json!({
        "UserPromptExpansion": matched("greet", "tee \"$CLAUDE_PROJECT_DIR/command.json\" | grep -q Eve && exit 2; echo kindly"),
        "UserPromptSubmit": hook("cat > prompt.json"),
    }));
    write(&place.data().join("prompts/greet.md"), "Greet $1.");
    let mut open = open(&place, Script::always("hello")).await;
    open.run("/greet Ada").await;
    let context = "<file name=\"UserPromptExpansion hook\">\nkindly\n</file>";
    assert_eq!(open.last_request(), [format!("user: Greet Ada.|{context}")]);
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(place.work().join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let command = read("command.json");
    let fields = ["expansion_type", "command_name", "command_args", "prompt"];
    assert_eq!(
        fields.map(|name| command[name].as_str().unwrap()),
        ["slash_command", "greet", "Ada", "/greet Ada"]
    );
    assert_eq!(read("prompt.json")["prompt"], "/greet Ada");
    let events = open.run("/greet Eve").await;
    assert!(
        matches!(outcome(&events), RunOutcome::Stopped { .. }),
        "{:?}",
        outcome(&events)
    );
    open.close().await;
}
