//! Events outside of a run: models, instructions, settings, to-dos, questions of MCP servers, variables for commands.

use osier_protocol::questions::Answer;
use osier_protocol::{Opening, TreeEvent, TreeOp};

use super::*;

/// A script for a model with the name `script/other.json`.
fn other_model(place: &TestProject) -> String {
    let script = json!({"turns": [{"repeat": true, "steps": [{"text": "from the other"}]}]});
    write(&place.work().join("other.json"), &script.to_string());
    "script/other.json".to_owned()
}

fn select(open: &OpenSession, reference: &str) {
    open.host.send(Op::SelectModel {
        reference: reference.to_owned(),
    });
}

async fn ran(open: &mut OpenSession, event: &str) {
    let is_it = |seen: &Event| matches!(seen, Event::HookRan { run } if run.event.name() == event);
    open.until(is_it).await;
}

/// The fields of the event that a hook wrote to `path`, without those of every event.
fn fields(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    let mut fields: Value = serde_json::from_str(&text).unwrap();
    let object = fields.as_object_mut().unwrap();
    for name in [
        "session_id",
        "transcript_path",
        "cwd",
        "permission_mode",
        "hook_event_name",
        "prompt_id",
    ] {
        object.shift_remove(name);
    }
    fields
}

#[tokio::test]
async fn session_start_names_a_fork_until_it_has_messages_of_its_own() {
    let place = with(&json!({"SessionStart": hook("cat >> starts.jsonl")}));
    let mut open = open(&place, Script::always("ok")).await;
    open.run("one").await;
    let source = open.session.id.clone();
    open.host.send(TreeOp::Clone.into());
    let stored = |event: &Event| matches!(event, Event::Tree(TreeEvent::Forked { .. }));
    let seen = open.until(stored).await;
    let Some(Event::Tree(TreeEvent::Forked { session: copy, .. })) = seen.last() else {
        panic!("{seen:?}");
    };
    for target in [copy, copy, &source, copy] {
        let (target, opening) = (target.clone(), Opening::Itself);
        open.host.send(Op::ResumeSession { target, opening });
        open.opened().await;
        ran(&mut open, "SessionStart").await;
        if *copy == open.session.id {
            open.run("two").await;
        }
    }
    let starts = std::fs::read_to_string(place.work().join("starts.jsonl")).unwrap();
    let sources = starts
        .lines()
        .map(|line| -> Value { serde_json::from_str::<Value>(line).unwrap()["source"].take() });
    assert_eq!(
        sources.collect::<Vec<_>>(),
        ["startup", "fork", "resume", "resume", "resume"]
    );
    open.close().await;
}

#[tokio::test]
async fn a_switch_of_the_model_is_judged_before_and_told_after() {
    let place = with(&json!({
        "PreModelSwitch": hook("cat > before.json; test -e go || { echo stay >&2; exit 2; }"),
        "PostModelSwitch": hook("cat > after.json; echo '{\"hookSpecificOutput\": {\"additionalContext\": \"mind the price\"}}'"),
    }));
    let other = other_model(&place);
    let mut open = open(&place, Script::always("ok")).await;
    select(&open, &other);
    let told = noticed(&mut open, "was not selected").await;
    assert_eq!(told, "script/other.json was not selected: stay");
    let switch = json!({"from_model": "test/one", "to_model": other, "requested_model": other, "source": "command",
        "context_tokens": 0, "prompt_cache_warm": false, "cache_ttl": "5m", "estimated_cache_write_usd": 0.0,
        "pricing": "default"});
    assert_eq!(fields(&place.work().join("before.json")), switch);
    assert!(!place.work().join("after.json").exists());
    write(&place.work().join("go"), "");
    select(&open, &other);
    ran(&mut open, "PostModelSwitch").await;
    assert_eq!(fields(&place.work().join("after.json"))["to_model"], other);
    select(&open, "test/one");
    ran(&mut open, "PostModelSwitch").await;
    open.run("go").await;
    let sent = open.last_request().join("\n");
    let context = "<hook event=\"PostModelSwitch\">\nmind the price\n</hook>";
    assert_eq!(sent.matches(context).count(), 2, "{sent}");
    open.close().await;
}

#[tokio::test]
async fn a_hook_can_ask_about_a_switch() {
    let answer = json!({"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it is expensive"}});
    let place = with(&json!({"PreModelSwitch": hook(&format!("echo '{answer}'"))}));
    let other = other_model(&place);
    let mut open = place
        .open_with(SessionChoice::New, Script::always("ok"), asks)
        .await;
    select(&open, &other);
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = seen.last() else {
        panic!("a question");
    };
    assert_eq!(
        (question.origin.as_str(), question.title.as_str()),
        (
            "a hook asks: it is expensive",
            "Switch from test/one to script/other.json?"
        )
    );
    open.host.send(Op::AnswerQuestion {
        id: question.id.clone(),
        answer: Answer::Yes,
    });
    let is_selected = |event: &Event| matches!(event, Event::ModelSelected { model, .. } if model.reference() == other);
    open.until(is_selected).await;
    open.close().await;
}

#[tokio::test]
async fn instructions_and_settings_are_told() {
    let place = with(&json!({
        "InstructionsLoaded": hook("cat >> instructions.jsonl"),
        "ConfigChange": hook("cat > settings.json"),
    }));
    write(&place.data().join("AGENTS.md"), "Answer in rhyme.");
    write(&place.work().join("AGENTS.md"), "Use tabs.");
    let mut open = open(&place, Script::always("ok")).await;
    ran(&mut open, "InstructionsLoaded").await;
    ran(&mut open, "InstructionsLoaded").await;
    let told = lines(&place.work().join("instructions.jsonl"));
    let told = told.iter().map(|line| -> (Value, Value) {
        let fields: Value = serde_json::from_str(line).unwrap();
        (fields["file_path"].clone(), fields["memory_type"].clone())
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (json!(place.data().join("AGENTS.md")), json!("User")),
            (json!(place.work().join("AGENTS.md")), json!("Project")),
        ]
    );
    open.host.send(Op::Reload);
    ran(&mut open, "ConfigChange").await;
    let settings = place.data().join("settings.toml");
    assert_eq!(
        fields(&place.work().join("settings.json")),
        json!({"source": "user_settings", "file_path": settings})
    );
    open.close().await;
}

#[tokio::test]
async fn to_dos_are_judged_when_they_are_added_and_done() {
    let log = "jq -c '[.hook_event_name, .task_id, .task_subject]' >> tasks.jsonl";
    if !skip::has(&["jq"], "apt install jq") {
        return;
    }
    let place = with(&json!({
        "TaskCreated": hook(log),
        "TaskCompleted": hook(&format!("{log}; test -e tested || {{ echo run the tests first >&2; exit 2; }}")),
    }));
    let list = |states: [&str; 2]| {
        let items = ["build", "test"].into_iter().zip(states);
        let items = items.map(|(text, state)| json!({"text": text, "state": state}));
        json!({"items": items.collect::<Vec<_>>()})
    };
    let script = Script::new()
        .turn(|turn| turn.tool("todo", list(["doing", "open"])))
        .turn(|turn| turn.tool("todo", list(["done", "doing"])))
        .turn(|turn| turn.tool("bash", bash("touch tested")))
        .turn(|turn| turn.tool("todo", list(["done", "doing"])))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let events = open.run("go").await;
    let found = results(&events);
    let succeeded: Vec<bool> = found.iter().map(|(_, succeeded)| *succeeded).collect();
    assert_eq!(succeeded, [true, false, true, true], "{found:?}");
    assert_eq!(found[1].0, "This call was denied: run the tests first");
    assert_eq!(
        lines(&place.work().join("tasks.jsonl")),
        [
            r#"["TaskCreated","1","build"]"#,
            r#"["TaskCreated","2","test"]"#,
            r#"["TaskCompleted","1","build"]"#,
            r#"["TaskCompleted","1","build"]"#,
        ]
    );
    open.close().await;
}

#[tokio::test]
async fn questions_of_a_server_are_answered_by_hooks() {
    let answer = json!({"hookSpecificOutput": {"action": "accept", "content": {"size": "small"}}});
    let change = json!({"hookSpecificOutput": {"action": "accept", "content": {"size": "large"}}});
    let place = with(&json!({
        "Elicitation": [{"matcher": "fake", "hooks": [{"command": format!("cat > asked.json; echo '{answer}'")}]}],
        "ElicitationResult": hook(&format!("cat > answered.json; echo '{change}'")),
    }));
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_server.sh");
    let servers = json!({"mcpServers": {"fake": {"command": "sh", "args": [server, "good"]}}});
    write(&place.data().join("mcp.json"), &servers.to_string());
    osier_base::private::restrict(&place.data().join("mcp.json")).unwrap();
    let script = Script::new()
        .turn(|turn| turn.tool("fake__ask", json!({})).with_id("c"))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let is_ready = |event: &Event| match event {
        Event::McpServers { servers } => servers[0].state == osier_protocol::ServerState::Ready,
        _ => false,
    };
    open.until(is_ready).await;
    open.run("go").await;
    assert_eq!(open.last_request().last().unwrap(), "result c: a large one");
    assert_eq!(
        fields(&place.work().join("asked.json")),
        json!({"mcp_server_name": "fake", "message": "Which size?", "mode": "form",
            "requested_schema": {"type": "object", "properties": {"size": {"type": "string"}}}})
    );
    assert_eq!(
        fields(&place.work().join("answered.json")),
        json!({"mcp_server_name": "fake", "mode": "form", "action": "accept", "content": {"size": "small"}})
    );
    open.close().await;
}

#[tokio::test]
async fn variables_of_a_hook_reach_later_commands() {
    let leave = "printf 'export COLOUR=blue\\nexport BASH_ENV=\"%s/env.sh\"\\n' \"$CLAUDE_PROJECT_DIR\" >> \"$CLAUDE_ENV_FILE\"";
    let place = with(&json!({"SessionStart": hook(leave)}));
    let mut open = open(&place, runs(&["echo \"$COLOUR,$BASH_ENV\""])).await;
    let told = noticed(&mut open, "is not set").await;
    assert_eq!(
        told,
        "`BASH_ENV` of a SessionStart hook is not set: it chooses code that the model can change"
    );
    let (text, _) = result(&open.run("go").await);
    assert_eq!(text.trim_end(), "blue,");
    open.close().await;
}

#[tokio::test]
async fn setup_runs_before_the_session_starts_and_adds_context() {
    let answer =
        json!({"hookSpecificOutput": {"hookEventName": "Setup", "additionalContext": "installed"}});
    let setup = format!("echo setup >> order; cat > setup.json; echo '{answer}'");
    let place = with(&json!({
        "Setup": [{"matcher": "init", "hooks": [{"command": setup}]},
            {"matcher": "maintenance", "hooks": [{"command": "touch wrong"}]}],
        "SessionStart": hook("echo start >> order"),
    }));
    let opened = place.open_with(SessionChoice::New, Script::always("ok"), |setup| {
        setup.setup_hooks = Some("init");
    });
    let mut open = opened.await;
    open.run("hello").await;
    assert_eq!(
        open.last_request(),
        ["user: hello|<file name=\"SessionStart hook\">\ninstalled\n</file>"]
    );
    assert_eq!(lines(&place.work().join("order")), ["setup", "start"]);
    assert_eq!(
        fields(&place.work().join("setup.json")),
        json!({"trigger": "init"})
    );
    assert!(!place.work().join("wrong").exists());
    open.close().await;
}

#[tokio::test]
async fn changes_of_watched_files_run_hooks() {
    if !skip::has(&["jq"], "apt install jq") {
        return;
    }
    let more = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": ["late/x.txt"]}});
    let log = "jq -c '[.event, (.file_path | sub(\".*/\"; \"\"))]' >> changed.jsonl";
    let place = with(&json!({
        "SessionStart": hook(&format!("echo '{more}'")),
        "FileChanged": [{"matcher": "a.env|x.txt", "hooks": [{"command": log}]}],
    }));
    let mut open = open(&place, Script::always("ok")).await;
    // The first prompt waits until the watch runs.
    open.run("hello").await;
    let path = place.work().join("a.env");
    write(&path, "A=1\n");
    ran(&mut open, "FileChanged").await;
    write(&path, "A=22\n");
    ran(&mut open, "FileChanged").await;
    std::fs::remove_file(&path).unwrap();
    ran(&mut open, "FileChanged").await;
    write(&place.work().join("other.env"), "");
    write(&place.work().join("late/x.txt"), "");
    ran(&mut open, "FileChanged").await;
    let expected = [
        r#"["add","a.env"]"#,
        r#"["change","a.env"]"#,
        r#"["unlink","a.env"]"#,
        r#"["add","x.txt"]"#,
    ];
    assert_eq!(lines(&place.work().join("changed.jsonl")), expected);
    open.close().await;
}

#[tokio::test]
async fn each_of_two_equal_to_dos_is_completed() {
    let place = with(&json!({"TaskCompleted": hook("echo x >> completed")}));
    let list = |states: [&str; 2]| {
        let items = states.map(|state| json!({"text": "check", "state": state}));
        json!({ "items": items })
    };
    let script = Script::new()
        .turn(|turn| turn.tool("todo", list(["doing", "open"])))
        .turn(|turn| turn.tool("todo", list(["done", "doing"])))
        .turn(|turn| turn.tool("todo", list(["done", "done"])))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    open.run("go").await;
    assert_eq!(lines(&place.work().join("completed")), ["x", "x"]);
    open.close().await;
}
