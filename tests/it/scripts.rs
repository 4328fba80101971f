//! Runs for programs: the formats of Claude Code and Codex, answers with a schema, and the real SDKs for Python and
//! TypeScript, which `.ci/run` installs in the directories `OSIER_TEST_SDK` and `OSIER_TEST_SDK_NODE`.

use std::path::{Path, PathBuf};

use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};

/// Calls a tool, then answers.
fn with_a_call() -> Value {
    json!([
        {"when": {"user": "run it"}, "steps": [
            {"thinking": "Let me run it."},
            {"tool": "bash", "arguments": {"command": "echo from the shell"}},
        ]},
        {"when": {"toolResult": "from the shell"}, "steps": [{"text": "It works."}]},
    ])
}

fn lines(output: &ProgramOutput) -> Vec<Value> {
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

/// The value without what differs between runs.
fn stable(mut line: Value) -> Value {
    for field in [
        "uuid",
        "timestamp",
        "session_id",
        "duration_ms",
        "duration_api_ms",
        "thread_id",
        "cwd",
        "tools",
    ] {
        if let Some(fields) = line.as_object_mut() {
            fields.remove(field);
        }
    }
    for holder in ["", "/message"] {
        if let Some(fields) = line.pointer_mut(holder).and_then(Value::as_object_mut) {
            fields.remove("usage");
            fields.remove("modelUsage");
        }
    }
    for pointer in [
        "/message/id",
        "/message/content/0/id",
        "/message/content/1/id",
        "/message/content/0/tool_use_id",
    ] {
        if let Some(id) = line.pointer_mut(pointer) {
            *id = json!("ID");
        }
    }
    line
}

#[test]
fn stream_json_has_the_messages_of_claude_code() {
    let home = Home::new();
    let ended = home
        .scripted(&with_a_call())
        .args(["-p", "--output-format", "stream-json", "run it"])
        .run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let lines = lines(&ended);
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["system", "assistant", "user", "assistant", "result"]
    );
    let sessions: Vec<&Value> = lines.iter().map(|line| &line["session_id"]).collect();
    assert!(
        sessions
            .iter()
            .all(|id| id.is_string() && *id == sessions[0])
    );
    let tools = lines[0]["tools"].as_array().unwrap();
    for tool in ["Read", "Write", "Edit", "Bash", "Grep", "Glob"] {
        assert!(tools.contains(&json!(tool)), "{tools:?}");
    }
    let tokens = |line: &Value| line["output_tokens"].as_u64().unwrap();
    let answers = [&lines[1], &lines[3]].map(|line| tokens(&line["message"]["usage"]));
    assert!(answers.iter().all(|count| *count > 0), "{answers:?}");
    assert_eq!(tokens(&lines[4]["usage"]), answers[0] + answers[1]);
    let of_model = &lines[4]["modelUsage"]["script/model.json"]["outputTokens"];
    assert_eq!(*of_model, answers[0] + answers[1]);
    let lines: Vec<Value> = lines.into_iter().map(stable).collect();
    assert_eq!(
        lines[1],
        json!({"type": "assistant", "parent_tool_use_id": null, "message": {
            "id": "ID", "type": "message", "role": "assistant", "model": "script/model.json",
            "content": [
                {"type": "thinking", "thinking": "Let me run it.", "signature": ""},
                {"type": "tool_use", "id": "ID", "name": "Bash", "input": {"command": "echo from the shell"}},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
        }})
    );
    assert_eq!(
        lines[2],
        json!({"type": "user", "parent_tool_use_id": null, "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "ID", "content": "from the shell\n", "is_error": false},
        ]}})
    );
    assert_eq!(
        lines[4],
        json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 2, "result": "It works.",
            "stop_reason": "end_turn", "total_cost_usd": 0.0, "permission_denials": [],
        })
    );
}

#[test]
fn json_is_the_result_alone() {
    let home = Home::new();
    let run = |turns: &Value| {
        let cli = home
            .scripted(turns)
            .args(["-p", "--output-format", "json", "hi"]);
        let ended = cli.run();
        let lines = lines(&ended);
        assert_eq!(lines.len(), 1, "{}", ended.stdout);
        (
            ended.code,
            lines[0]["subtype"].clone(),
            lines[0]["result"].clone(),
            ended.stderr,
        )
    };
    let good = json!([{"steps": [{"text": "yes"}]}]);
    assert_eq!(
        run(&good),
        (Some(0), json!("success"), json!("yes"), String::new())
    );
    let failing = json!([{"steps": [{"fail": {"type": "model_error", "message": "no", "retryable": false}}]}]);
    assert_eq!(
        run(&failing),
        (
            Some(1),
            json!("error_during_execution"),
            Value::Null,
            "osier: no\n".to_owned()
        )
    );
}

#[test]
fn exec_json_has_the_events_of_codex() {
    let home = Home::new();
    home.file("model.json", json!({"turns": with_a_call()}).to_string());
    let ended = home
        .cli()
        .args(["exec", "--json", "-m", "script/model.json", "run it"])
        .run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let lines: Vec<Value> = lines(&ended).into_iter().map(stable).collect();
    let command = |status: &str, output: &str, code: Value| {
        json!({"id": "item_1", "type": "command_execution",
        "command": "echo from the shell", "aggregated_output": output, "exit_code": code, "status": status})
    };
    assert_eq!(
        lines,
        [
            json!({"type": "thread.started"}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "Let me run it."}}),
            json!({"type": "item.started", "item": command("in_progress", "", Value::Null)}),
            json!({"type": "item.completed", "item": command("completed", "from the shell\n", json!(0))}),
            json!({"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "It works."}}),
            json!({"type": "turn.completed"}),
        ]
    );
}

#[test]
fn an_answer_must_match_the_schema_after_at_most_one_repair() {
    let home = Home::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": false});
    home.file("schema.json", schema.to_string());
    let run = |answers: &[&str]| {
        let turns: Vec<Value> = answers
            .iter()
            .map(|text| json!({"steps": [{"text": text}]}))
            .collect();
        let cli = home.scripted(&json!(turns));
        cli.args(["-p", "--output-schema", "schema.json", "count"])
            .run()
    };
    assert_eq!(
        run(&["{\"n\": 1}", "unused"]),
        ProgramOutput::new(0, "{\"n\":1}\n", "")
    );
    assert_eq!(
        run(&["It is two.", "{\"n\": 2}"]),
        ProgramOutput::new(0, "{\"n\":2}\n", "")
    );
    let failed = run(&["three", "{\"n\": \"3\"}", "{\"n\": 3}"]);
    assert_eq!(
        (failed.code, failed.stdout.as_str()),
        (Some(1), "{\"n\": \"3\"}\n")
    );
    assert!(
        failed
            .stderr
            .starts_with("osier: the answer does not match the schema: "),
        "{}",
        failed.stderr
    );
    home.file("schema.json", "[]");
    let invalid = "osier: `--output-schema` is not a JSON Schema: it is not a JSON object\n";
    assert_eq!(run(&["unused"]), ProgramOutput::new(2, "", invalid));
}

#[test]
fn prompts_and_control_requests_are_read_as_lines() {
    let home = Home::new();
    let turns = json!([{"repeat": true, "steps": [{"text": "hello"}]}]);
    let ended = home
        .scripted(&turns)
        .args(["--output-format", "stream-json", "--input-format", "stream-json", "--replay-user-messages"])
        .stdin(
            [
                json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}).to_string(),
                json!({"type": "control_request", "request_id": "2", "request": {"subtype": "fly"}}).to_string(),
                "no JSON".to_owned(),
                json!({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}})
                    .to_string(),
            ]
            .join("\n"),
        )
        .run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let lines: Vec<Value> = lines(&ended).into_iter().map(stable).collect();
    assert_eq!(lines[0]["response"]["request_id"], "1");
    assert_eq!(lines[0]["response"]["subtype"], "success");
    assert_eq!(
        stable(lines[1].clone()),
        json!({"type": "control_response", "response": {"subtype": "error", "request_id": "2",
        "error": "osier does not support the control request `fly`"}})
    );
    assert_eq!(
        stable(lines[2].clone()),
        json!({"type": "system", "subtype": "error", "message": "invalid input line: not valid JSON"})
    );
    let kinds: Vec<&str> = lines[3..]
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["user", "system", "assistant", "result"]);
    assert_eq!(lines[3]["isReplay"], true);
}

/// The program sends its prompt without waiting for the answer to `initialize`: a field that is
/// refused there may have been meant to protect the run.
#[test]
fn refused_initialization_ends_the_run_before_the_first_call() {
    for (field, value) in [
        ("toolAliases", json!({"Read": "x"})),
        ("skills", json!(["pdf"])),
        ("plugins", json!([{"type": "local", "path": "/p"}])),
        ("settings", json!({"model": "x"})),
    ] {
        let home = Home::new();
        let turns = json!([{"steps": [{"tool": "bash", "arguments": {"command": "touch made"}}]}]);
        let user = json!({"type": "user", "message": {"role": "user", "content": "go"}});
        let initialize = json!({"type": "control_request", "request_id": "1",
            "request": {"subtype": "initialize", field: value}});
        let ended = home
            .scripted(&turns)
            .args([
                "--output-format",
                "stream-json",
                "--input-format",
                "stream-json",
            ])
            .stdin(format!("{initialize}\n{user}\n"))
            .run();
        let lines = lines(&ended);
        let error = format!(
            "osier does not support `{field}` of the SDK; configure it in osier's own files"
        );
        assert_eq!(lines[0]["response"]["error"], json!(error));
        let last = lines.last().unwrap();
        assert_eq!(
            (&last["type"], &last["is_error"]),
            (&json!("result"), &json!(true))
        );
        assert!(last.to_string().contains(&error), "{last}");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(!home.work().join("made").exists());
        assert!(lines.iter().all(|line| line["type"] != "assistant"));
    }
}

/// The program gets the answer when the session has selected the model or refused it.
#[test]
fn a_switch_to_an_unknown_model_is_an_error() {
    let home = Home::new();
    home.file(
        "other.json",
        json!({"turns": [{"steps": [{"text": "from the other"}]}]}).to_string(),
    );
    let select = |id: &str, model: &str| json!({"type": "control_request", "request_id": id, "request": {"subtype": "set_model", "model": model}});
    let user = json!({"type": "user", "message": {"role": "user", "content": "go"}});
    let (unknown, other) = (select("1", "nope/none"), select("2", "script/other.json"));
    let ended = home
        .scripted(&json!([{"steps": [{"text": "from the first"}]}]))
        .args([
            "--output-format",
            "stream-json",
            "--input-format",
            "stream-json",
        ])
        .stdin(format!("{unknown}\n{other}\n{user}\n"))
        .run();
    let lines = lines(&ended);
    let answers = lines
        .iter()
        .filter(|line| line["type"] == "control_response");
    let answers: Vec<Value> = answers.map(|line| line["response"].clone()).collect();
    assert_eq!(
        answers,
        [
            json!({"subtype": "error", "request_id": "1", "error": "unknown model `nope/none`"}),
            json!({"subtype": "success", "request_id": "2", "response": {}}),
        ]
    );
    assert_eq!(lines.last().unwrap()["result"], "from the other");
}

#[test]
fn hooks_of_an_unknown_event_end_the_run() {
    let home = Home::new();
    let turns = json!([{"steps": [{"text": "ran"}]}]);
    for (hooks, error) in [
        (
            json!({"TeammateIdle": [{"hookCallbackIds": ["a"]}]}),
            "osier has no hooks for the event `TeammateIdle`",
        ),
        (
            json!({"PreToolUse": [{"matcher": "Edit(", "hookCallbackIds": ["a"]}]}),
            "invalid matcher `Edit(` of `PreToolUse`: ",
        ),
        (
            json!({"PreToolUse": [{"matcher": "Bash", "callbacks": ["a"]}]}),
            "`hookCallbackIds` of a hook of `PreToolUse` is invalid",
        ),
    ] {
        let initialize = json!({"type": "control_request", "request_id": "1",
            "request": {"subtype": "initialize", "hooks": hooks}});
        let user = json!({"type": "user", "message": {"role": "user", "content": "go"}});
        let ended = home
            .scripted(&turns)
            .args([
                "--output-format",
                "stream-json",
                "--input-format",
                "stream-json",
            ])
            .stdin(format!("{initialize}\n{user}\n"))
            .run();
        let lines = lines(&ended);
        assert!(
            lines.last().unwrap().to_string().contains(error),
            "{lines:?}"
        );
        assert!(lines.iter().all(|line| line["type"] != "assistant"));
        assert_eq!(ended.code, Some(1));
    }
}

/// A program whose hook for `event` answers with `answer`; without one it exits. Returns the lines of osier, and whether
/// the command of the model ran.
fn with_hook(event: &str, answer: Option<&Value>) -> (Vec<Value>, bool) {
    let home = Home::new();
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": {"command": "touch made"}}]},
        {"steps": [{"text": "done"}]},
    ]);
    let format = [
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
    ];
    let run = home.scripted(&turns).args(format);
    let mut running = run.args(["--permissions", "yolo"]).start();
    let hooks = json!({event: [{"matcher": null, "hookCallbackIds": ["hook_0"], "timeout": 60}]});
    running.say(
        &json!({"type": "control_request", "request_id": "1",
            "request": {"subtype": "initialize", "hooks": hooks}})
        .to_string(),
    );
    let user = json!({"type": "user", "message": {"role": "user", "content": "go"}});
    running.say(&user.to_string());
    let mut seen = Vec::new();
    while let Some(line) = running.line() {
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["request"]["subtype"] == "hook_callback" {
            assert_eq!(line["request"]["callback_id"], "hook_0");
            assert_eq!(line["request"]["input"]["hook_event_name"], event);
            match &answer {
                None => running.close_input(),
                Some(answer) => running.say(
                    &json!({"type": "control_response", "response": {"subtype": "success",
                        "request_id": line["request_id"], "response": answer}})
                    .to_string(),
                ),
            }
        }
        if line["type"] == "result" {
            running.close_input();
        }
        seen.push(line);
    }
    (seen, home.work().join("made").exists())
}

#[test]
fn hooks_of_the_program_are_called_for_every_event_of_a_run() {
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
    ] {
        let (lines, ran) = with_hook(event, Some(&json!({})));
        let calls = lines
            .iter()
            .filter(|line| line["request"]["subtype"] == "hook_callback");
        assert_eq!(calls.count(), 1, "{event}: {lines:?}");
        assert!(ran, "{event}");
    }
}

#[test]
fn hook_of_the_program_decides_about_a_call() {
    let denies = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "NO"}});
    for (answer, reason) in [
        (Some(denies), "This call was denied: NO"),
        (
            Some(json!({"decision": "perhaps"})),
            "the PreToolUse hook `hook_0`: invalid decision",
        ),
        (
            Some(json!("deny")),
            "the PreToolUse hook `hook_0`: invalid answer `deny`",
        ),
        (
            None,
            "the PreToolUse hook `hook_0`: the program did not answer",
        ),
    ] {
        let (lines, ran) = with_hook("PreToolUse", answer.as_ref());
        assert!(!ran, "{lines:?}");
        let told = json!(lines).to_string();
        assert!(told.contains(reason), "{reason}: {told}");
    }
}

fn python() -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os("OSIER_TEST_SDK").unwrap_or_default());
    let path = directory.join("bin/python");
    if !path.exists() {
        skip::missing("claude-agent-sdk", ".ci/run");
        return None;
    }
    Some(path)
}

/// Node.js, and the directory of the SDK for TypeScript.
fn node() -> Option<(PathBuf, PathBuf)> {
    let directory = PathBuf::from(std::env::var_os("OSIER_TEST_SDK_NODE").unwrap_or_default());
    let package = "node_modules/@anthropic-ai/claude-agent-sdk";
    if !directory.join(package).exists() {
        skip::missing(package, ".ci/run");
        return None;
    }
    Some((skip::program(&["node"], ".ci/run")?, directory))
}

/// Runs a script of `tests/fixtures/sdk` with the SDK for Python; its output.
fn sdk(python: &Path, script: &str, turns: &Value) -> String {
    sdk_script(python, script, &[], turns)
}

/// Runs a script of `tests/fixtures/sdk` with the path of osier and `more` arguments; its output.
#[expect(
    clippy::disallowed_methods,
    reason = "the script runs as a user starts it"
)]
fn sdk_script(program: &Path, script: &str, more: &[&Path], turns: &Value) -> String {
    let home = Home::new();
    home.file("model.json", json!({"turns": turns}).to_string());
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/sdk")
        .join(script);
    let output = std::process::Command::new(program)
        .arg(file)
        .arg(env!("CARGO_BIN_EXE_osier"))
        .args(more)
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home())
        .env("CLAUDE_AGENT_SDK_SKIP_VERSION_CHECK", "1")
        .output()
        .expect("python");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    home.normal(&String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn the_python_sdk_runs_a_query() {
    let Some(python) = python() else { return };
    assert_eq!(
        sdk(&python, "query.py", &with_a_call()),
        "system init script/model.json True True\n\
         tool_use Bash {'command': 'echo from the shell'}\n\
         tool_result from the shell False\n\
         text It works.\n\
         result success False 2 It works.\n"
    );
}

/// The plan goes to the program as a call of `ExitPlanMode`; its approval sets the mode.
#[test]
fn the_python_sdk_approves_a_plan() {
    let Some(python) = python() else { return };
    let turns = json!([
        {"when": {"user": "plan it"}, "steps": [{"tool": "exit_plan_mode", "arguments": {"plan": "# Plan"}}]},
        {"when": {"toolResult": "approved the plan"}, "steps": [
            {"tool": "write", "arguments": {"file_path": "made.txt", "content": "made\n"}},
        ]},
        {"when": {"toolResult": "made.txt"}, "steps": [{"text": "carried out"}]},
    ]);
    assert_eq!(
        sdk(&python, "plan.py", &turns),
        "can_use_tool ExitPlanMode {'plan': '# Plan'}\n\
         result success carried out\n\
         made\n"
    );
}

#[test]
fn the_python_sdk_decides_about_tools() {
    let Some(python) = python() else { return };
    let turns = json!([
        {"when": {"user": "first"}, "steps": [{"tool": "bash", "arguments": {"command": "touch file"}}]},
        {"when": {"toolResult": "changed"}, "steps": [{"text": "it was changed", "chunk": 3}]},
        {"when": {"user": "second"}, "steps": [{"tool": "bash", "arguments": {"command": "rm file"}}]},
        {"when": {"toolResult": "not that one"}, "steps": [{"text": "it was denied"}]},
    ]);
    assert_eq!(
        sdk(&python, "client.py", &turns),
        "can_use_tool Bash {'command': 'touch file'}\n\
         text it was changed True\n\
         result success it was changed []\n\
         can_use_tool Bash {'command': 'rm file'}\n\
         text it was denied True\n\
         result success it was denied ['Bash']\n"
    );
}

/// A model that calls a command, and can be continued once.
fn guarded_turns() -> Value {
    json!([
        {"when": {"user": "go"}, "steps": [{"tool": "bash", "arguments": {"command": "touch made"}}]},
        {"steps": [{"text": "done"}]},
        {"steps": [{"text": "done again"}]},
    ])
}

#[test]
fn hooks_of_the_python_sdk_guard() {
    let Some(python) = python() else { return };
    assert_eq!(
        sdk(&python, "hooks.py", &guarded_turns()),
        "denies: [PreToolUse Bash] did not run: done\n\
         misspells: [PreToolUse Bash] did not run: done\n\
         fails: [PreToolUse Bash] did not run: done\n\
         stops: [PreToolUse Bash] did not run: enough\n\
         blocks the prompt: [UserPromptSubmit go] did not run: a hook blocked the prompt: not this\n\
         sees everything: [UserPromptSubmit go, PreToolUse Bash, PostToolUse Bash, Stop False] ran: done\n\
         continues: [Stop False, Stop True] ran: done again\n\
         has a hook of an unknown event: [] did not run: osier has no hooks for the event `TeammateIdle`\n"
    );
}

#[test]
fn hooks_of_the_typescript_sdk_guard() {
    let Some((node, directory)) = node() else {
        return;
    };
    let output = sdk_script(&node, "hooks.mjs", &[&directory], &guarded_turns());
    assert_eq!(
        output,
        "denies: [PreToolUse Bash] did not run: done\n\
         has no matching hook: [] ran: done\n\
         misspells: [PreToolUse Bash] did not run: done\n\
         fails: [PreToolUse Bash] did not run: done\n\
         may fail: [PreToolUse Bash] ran: done\n\
         must not fail: [PreToolUse Bash] did not run: done\n\
         blocks the prompt: [UserPromptSubmit go] did not run: a hook blocked the prompt: not this\n\
         sees everything: [UserPromptSubmit go, PreToolUse Bash, PostToolUse Bash, Stop false] ran: done\n\
         continues: [Stop false, Stop true] ran: done again\n\
         has a hook of an unknown event: [] did not run: osier has no hooks for the event `TeammateIdle`\n\
         has a rule as a matcher: [] did not run: invalid matcher `Bash(touch *)` of `PreToolUse`: \
         it is a permission rule; write a name of tools\n"
    );
}

/// The system prompt, subagents and tools of the program reach the session; it saves a rule that osier suggested, and learns the
/// state of servers and of the context window.
#[test]
fn the_python_sdk_sets_up_the_session() {
    let Some(python) = python() else { return };
    let turns = json!([
        {"when": {"user": "first"}, "steps": [
            {"tool": "calc__add", "arguments": {"a": 2, "b": 3}},
        ]},
        {"when": {"toolResult": "the sum is 5"}, "steps": [{"text": "5"}]},
        {"when": {"user": "second"}, "steps": [{"tool": "calc__add", "arguments": {"a": 4, "b": 4}}]},
        {"when": {"toolResult": "the sum is 8"}, "steps": [{"text": "8"}]},
    ]);
    let rule = "{'type': 'addRules', 'destination': 'session', 'rules': [{'toolName': 'mcp__calc__add'}], 'behavior': 'allow'}";
    assert_eq!(
        sdk(&python, "options.py", &turns),
        format!(
            "init [{{'name': 'calc', 'status': 'connected'}}] ['critic'] True\n\
             can_use_tool mcp__calc__add [{rule}]\n\
             add 2 3\n\
             result success 5\n\
             init [{{'name': 'calc', 'status': 'connected'}}] ['critic'] True\n\
             add 4 4\n\
             result success 8\n\
             servers [('calc', 'connected')]\n\
             context True True\n"
        )
    );
}

#[test]
fn accept_edits_needs_no_function_of_the_program() {
    let Some(python) = python() else { return };
    let turns = json!([
        {"when": {"user": "go"}, "steps": [{"tool": "write", "arguments": {"file_path": "made.txt", "content": "x"}}]},
        {"steps": [{"text": "done"}]},
    ]);
    assert_eq!(
        sdk(&python, "edits.py", &turns),
        "acceptEdits: success done, made True\n\
         default: success done, made False\n\
         betas: refused, made False\n\
         maxTurns of an agent: refused, made False\n"
    );
}

#[test]
fn the_typescript_sdk_sets_up_the_session() {
    let Some((node, directory)) = node() else {
        return;
    };
    let turns = json!([
        {"when": {"user": "system prompt"}, "steps": [{"text": "one"}]},
        {"when": {"user": "append"}, "steps": [{"text": "two"}]},
        {"when": {"user": "schema"}, "steps": [{"text": "{\"a\": 1}"}]},
        {"steps": [{"text": "done"}], "repeat": true},
    ]);
    assert_eq!(
        sdk_script(&node, "options.mjs", &[&directory], &turns),
        "system prompt: agents  success one undefined\n\
         append: agents  success two undefined\n\
         schema: agents  success {\"a\": 1} {\"a\":1}\n\
         skips: agents  success done undefined\n\
         agents: agents critic success done undefined\n\
         aliases: refused: osier does not support `toolAliases` of the SDK; configure it in osier's own files\n\
         thinking: agents  success done undefined\n"
    );
}

/// The Codex SDK starts, continues and limits threads with its own words.
#[test]
fn the_codex_sdk_runs_threads() {
    let directory = PathBuf::from(std::env::var_os("OSIER_TEST_SDK_NODE").unwrap_or_default());
    let package = "node_modules/@openai/codex-sdk";
    if !directory.join(package).exists() {
        return skip::missing(package, ".ci/run");
    }
    let Some(node) = skip::program(&["node"], ".ci/run") else {
        return;
    };
    let turns = json!([
        {"when": {"user": "first"}, "steps": [{"tool": "bash", "arguments": {"command": "echo one"}}]},
        {"when": {"toolResult": "one"}, "steps": [{"text": "ran"}]},
        {"when": {"user": "second"}, "steps": [{"text": "seen"}]},
        {"when": {"user": "third"}, "steps": [{"text": "{\"a\": 1}"}]},
        {"when": {"user": "fourth"}, "steps": [{"text": "known"}]},
    ]);
    assert_eq!(
        sdk_script(&node, "codex.mjs", &[&directory], &turns),
        "ran command_execution,agent_message 5\n\
         seen agent_message 5\n\
         {\"a\": 1} agent_message 5\n\
         one thread true\n\
         known agent_message 5\n\
         resumed true\n\
         unknown argument `--thread-source`\n"
    );
}
