//! Plugins in a complete session with a scripted model.

use std::path::Path;

use osier_agent::{AgentMessage, RunOutcome, Severity};
use osier_extensions::plugins::api;
use osier_llm::Script;
use osier_permissions::trust::{ProjectFiles, Trust};
use osier_protocol::questions::{Answer, QuestionKind};
use osier_protocol::{Event, Op};
use osier_session::SessionChoice;
use osier_testing::pages;
use serde_json::{Value, json};

use crate::support::cli::Home;
use crate::support::session::{OpenSession, TestProject};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    osier_base::atomic_file::write(path, text.as_bytes()).unwrap();
}

/// A project whose user has this plugin as `test.lua`.
fn with(code: &str) -> TestProject {
    let place = TestProject::new();
    write(&place.data().join("plugins/test.lua"), code);
    place
}

async fn open(place: &TestProject, script: Script) -> OpenSession {
    place
        .open_with(SessionChoice::New, script, |setup| {
            setup.answers_questions = true;
        })
        .await
}

/// The notices among events, with their severities.
fn notices(events: &[Event]) -> Vec<(Severity, String)> {
    let notices = events.iter().filter_map(|event| match event {
        Event::Notice { severity, text, .. } => Some((*severity, text.clone())),
        _ => None,
    });
    notices.collect()
}

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

fn bash(command: &str) -> Value {
    json!({"command": command})
}

async fn noticed(open: &mut OpenSession, part: &str) -> String {
    let seen = open
        .until(|event| matches!(event, Event::Notice { text, .. } if text.contains(part)))
        .await;
    notices(&seen).pop().unwrap().1
}

#[tokio::test]
async fn handlers_rewrite_and_block_events() {
    let place = with(
        r#"
        osier.on("input", function(message)
          if message.text == "forbidden" then return { block = "not today" } end
          return { text = message.text .. "!" }
        end)
        osier.on("input", function(message) return { text = message.text .. "?" } end)
        osier.on("before_request", function(request)
          return { system_prompt = "Pirate. " .. #request.messages .. " " .. request.tools[1] }
        end)
        osier.on("tool_call", function(call)
          if call.arguments.command == "one" then return { block = "not one" } end
          return { arguments = { command = "echo rewritten" } }
        end)
        osier.on("tool_result", function(result)
          if not result.is_error then return { text = "seen: " .. result.text } end
        end)
        local asked = false
        osier.on("before_settle", function()
          if not asked then
            asked = true
            return { message = "go on" }
          end
        end)
        osier.on("settled", function(run) print("over", run.outcome.type) end)
        "#,
    );
    let script = Script::new()
        .turn(|turn| turn.tool("bash", bash("one")).tool("bash", bash("two")))
        .turn(|turn| turn.text("done"))
        .turn(|turn| turn.text("more"));
    let mut open = open(&place, script).await;
    let events = open.run("hello").await;
    let results = results(&events);
    assert_eq!(
        results[0],
        ("This call was denied: not one".to_owned(), false)
    );
    assert!(results[1].0.starts_with("seen: rewritten"), "{results:?}");
    let request = &open.provider.requests()[0];
    assert_eq!(request.context.system_prompt, "Pirate. 1 read");
    let sent = open.last_request();
    assert_eq!(
        (sent[0].as_str(), sent.last().unwrap().as_str()),
        ("user: hello!?", "user: go on!?")
    );
    assert!(notices(&events).contains(&(Severity::Info, "test: over completed".to_owned())));
    let events = open.run("forbidden").await;
    let Some(Event::Agent(osier_agent::Event::AgentSettled { outcome })) = events.last() else {
        panic!("not settled");
    };
    let stopped = RunOutcome::Stopped {
        message: "not today".to_owned(),
    };
    assert_eq!(outcome, &stopped);
    open.close().await;
}

#[tokio::test]
async fn tool_streams_succeeds_fails_and_is_interrupted() {
    let place = with(
        r#"
        osier.tool {
          name = "count", description = "counts",
          parameters = { type = "object", properties = { to = { type = "integer" } }, required = { "to" } },
          run = function(arguments, cx)
            if arguments.to == 0 then error("nothing to count") end
            if arguments.to < 0 then cx.update("half\n") while true do osier.sleep(1000) end end
            cx.update("half\n")
            return { text = "counted " .. arguments.to, details = { to = arguments.to } }
          end,
        }
        "#,
    );
    let count = |to: i32| json!({"to": to});
    let script = Script::new()
        .turn(|turn| {
            turn.tool("count", count(3))
                .tool("count", count(0))
                .tool("count", json!({"to": "x"}))
        })
        .turn(|turn| turn.text("done"))
        .turn(|turn| turn.tool("count", count(-1)));
    let mut open = open(&place, script).await;
    let events = open.run("count").await;
    let mut results = results(&events);
    results.sort();
    assert_eq!(results[1], ("counted 3".to_owned(), true));
    let failure = "the plugin `test` failed: test.lua:6: nothing to count";
    assert_eq!(results[2], (failure.to_owned(), false));
    assert!(
        results[0].0.contains("Invalid arguments for"),
        "{results:?}"
    );
    let streamed = events.iter().any(|event| {
        serde_json::to_string(event).is_ok_and(|event| event.contains(r#""text":"half\n""#))
    });
    assert!(streamed);
    let details = events.iter().find_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. })
            if result.status.is_success() =>
        {
            Some(result.details.clone())
        }
        _ => None,
    });
    assert_eq!(details, Some(count(3)));
    open.prompt("again");
    open.until(|event| {
        let update = matches!(
            event,
            Event::Agent(osier_agent::Event::ToolExecutionUpdate { .. })
        );
        update && serde_json::to_string(event).is_ok_and(|event| event.contains("half"))
    })
    .await;
    open.host.send(osier_agent::Op::Abort.into());
    let events = open.settled().await;
    assert_eq!(self::results(&events), [("interrupted".to_owned(), false)]);
    open.close().await;
}

#[tokio::test]
async fn commands_keys_questions_status_and_widgets_are_events() {
    let place = with(
        r#"
        local function ask()
          local colour = osier.ui.select("Which?", { "red", { value = "b", label = "blue" } })
          local sure = osier.ui.confirm("Sure?", "of " .. tostring(colour))
          local name = osier.ui.input("Name?", { placeholder = "a name" })
          osier.ui.notify(colour .. " " .. tostring(sure) .. " " .. tostring(name), "warning")
          osier.status("asked")
          osier.widget({ "plain", { { text = "styled", style = "accent" } } })
        end
        osier.command { name = "ask", argument = "[X]", description = "asks", values = { "x" }, run = ask }
        osier.keymap("ctrl+x q", "asks", ask)
        "#,
    );
    let mut open = open(&place, Script::always("ok")).await;
    let seen = open
        .until(|event| matches!(event, Event::Commands { .. }))
        .await;
    let told = serde_json::to_value(&seen).unwrap().to_string();
    assert!(
        told.contains(r#""keys":"ctrl+x q","description":"asks","plugin":"test""#),
        "{told}"
    );
    assert!(told.contains(
        r#""name":"ask","argument":"[X]","description":"asks","origin":"test","values":["x"]"#
    ));
    open.prompt("/ask");
    for answer in [
        Answer::Text { text: "b".into() },
        Answer::Yes,
        Answer::Dismissed,
    ] {
        let seen = open
            .until(|event| matches!(event, Event::QuestionAsked { .. }))
            .await;
        let Some(Event::QuestionAsked { question }) = seen.last() else {
            panic!("nothing was asked");
        };
        assert_eq!(question.origin, "the plugin `test`");
        if let QuestionKind::Select { choices, .. } = &question.kind {
            assert_eq!(
                (choices[1].value.as_str(), choices[1].label.as_str()),
                ("b", "blue")
            );
        }
        let id = question.id.clone();
        open.host.send(Op::AnswerQuestion { id, answer });
    }
    let seen = open
        .until(|event| matches!(event, Event::PluginWidget { .. }))
        .await;
    assert_eq!(
        notices(&seen),
        [(Severity::Warning, "test: b true nil".to_owned())]
    );
    assert!(seen.contains(&Event::PluginStatus {
        plugin: "test".into(),
        text: Some("asked".into())
    }));
    let widget = serde_json::to_value(seen.last().unwrap()).unwrap();
    assert_eq!(
        widget["lines"],
        json!([[{"text": "plain"}], [{"text": "styled", "style": "accent"}]])
    );
    open.host.send(Op::PressPluginKey {
        plugin: "test".into(),
        keys: "ctrl+x q".into(),
    });
    open.until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    open.close().await;
}

#[tokio::test]
async fn messages_and_entries_are_stored_with_rendered_lines() {
    let place = with(
        r#"
        osier.renderer("note", function(data) return { { { text = data.title, style = "title" } } } end)
        osier.command { name = "note", run = function(argument)
          osier.append_entry("note", { title = argument })
          osier.append_entry("hidden", { 1, 2 })
          osier.send_message("Remember " .. argument, { kind = "note", data = { title = "sent" }, trigger_turn = true })
        end }
        osier.command { name = "read", run = function()
          local hidden = osier.entries("hidden")
          print(#osier.entries("note"), osier.json.encode(hidden), osier.session().cwd == osier.cwd)
        end }
        "#,
    );
    let mut open = open(&place, Script::always("ok")).await;
    open.prompt("/note milk");
    open.settled().await;
    assert_eq!(open.last_request(), ["user: Remember milk"]);
    open.prompt("/read");
    assert_eq!(noticed(&mut open, "test: ").await, "test: 2 [[1,2]] true");
    let path = open.path();
    open.close().await;
    // A reopened session shows them, with or without the plugin.
    let stored = std::fs::read_to_string(path).unwrap();
    let lines = r#""lines":[[{"text":"milk","style":"title"}]]"#;
    assert!(stored.contains(lines), "{stored}");
}

#[tokio::test]
async fn exec_runs_in_the_working_directory_with_a_timeout() {
    let place = with(
        r#"
        osier.command { name = "run", run = function()
          local made = osier.exec("sh", { "-c", "cat; pwd; echo problem >&2; exit 3" }, { stdin = "in " })
          print(made.code, (made.stdout:gsub("\n", "")), (made.stderr:gsub("\n", "")))
          print(pcall(osier.exec, "sleep", { "60" }, { timeout_ms = 20 }))
          print(pcall(osier.exec, "no-such-program"))
        end }
        "#,
    );
    let mut open = open(&place, Script::always("ok")).await;
    open.prompt("/run");
    let work = place.work().canonicalize().unwrap();
    let expected = format!("test: 3 in {} problem", work.display());
    assert_eq!(noticed(&mut open, "test: 3").await, expected);
    assert!(
        noticed(&mut open, "test: false")
            .await
            .contains("did not end within 20 ms")
    );
    assert!(
        noticed(&mut open, "test: false")
            .await
            .contains("is not installed")
    );
    open.close().await;
}

#[tokio::test]
async fn plugin_errors_are_one_line_and_other_plugins_work() {
    let place = with("osier.command { name = 'good', run = function() print('still here') end }");
    let plugins = place.data().join("plugins");
    write(&plugins.join("a_syntax.lua"), "local x = 1\nlocal = 2\n");
    write(&plugins.join("b_endless.lua"), "\nwhile true do end\n");
    write(
        &plugins.join("c_memory.lua"),
        "local t = {}\nwhile true do t[#t + 1] = string.rep('x', 2 ^ 20) .. #t end\n",
    );
    write(
        &plugins.join("d_event.lua"),
        "osier.on('tool_cal', print)\n",
    );
    write(
        &plugins.join("e_late.lua"),
        "osier.command { name = 'late', run = function()\n  osier.on('input', print)\nend }\n",
    );
    write(&plugins.join("f_tool.lua"), "osier.tool { name = 'x y' }\n");
    write(
        &plugins.join("g_loop.lua"),
        "osier.on('tool_call', function() while true do end end)\n",
    );
    let script = Script::new()
        .turn(|turn| turn.tool("bash", bash("true")))
        .turn(|turn| turn.tool("bash", bash("true")))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    let events = open.run("hello").await;
    let folder = format!("{}/", plugins.display());
    let mut told: Vec<String> = notices(&events)
        .into_iter()
        .map(|(_, text)| text.replace(&folder, ""))
        .collect();
    // They load at the same time.
    told.sort();
    let stopped = "ran for 50 million instructions or 10 s without a pause and was stopped; the plugin is not called until it is reloaded";
    assert_eq!(
        told,
        [
            "a_syntax.lua:2: <name> expected near '='".to_owned(),
            format!("b_endless.lua:2: {stopped}"),
            "c_memory.lua: ran out of memory (64 MiB)".to_owned(),
            "d_event.lua:1: unknown event `tool_cal`: did you mean `tool_call`?".to_owned(),
            "f_tool.lua:1: invalid tool name `x y`: use a-z, 0-9, _ and -".to_owned(),
            format!("g_loop.lua:1: {stopped}"),
        ]
    );
    // A stopped plugin that handles `tool_call` denies every call.
    let refused: Vec<bool> = results(&events)
        .into_iter()
        .map(|(_, success)| success)
        .collect();
    assert_eq!(refused, [false, false]);
    open.prompt("/late");
    assert!(
        noticed(&mut open, "e_late.lua:2")
            .await
            .contains("only available while the file loads")
    );
    open.prompt("/good");
    assert_eq!(noticed(&mut open, "still").await, "test: still here");
    open.close().await;
}

/// Nobody sees in print mode that calls are denied, so that no model is called.
#[test]
fn print_mode_does_not_start_while_a_plugin_that_checks_calls_does_not_load() {
    let home = Home::new();
    std::fs::create_dir(home.home().join("plugins")).unwrap();
    let gate = "osier.on('tool_call', function() return { block = 'x'\nend)";
    home.config("plugins/gate.lua", gate);
    let turns = json!([
        {"steps": [{"tool": "bash", "arguments": bash("touch made")}]},
        {"steps": [{"text": "done"}]},
    ]);
    for format in ["text", "json", "stream-json"] {
        let run = home.scripted(&turns);
        let output = run.args(["-p", "go", "--output-format", format]).run();
        let told = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, Some(1), "{told}");
        assert!(
            told.contains(
                "the plugin `gate` checks calls and does not load: HOME/plugins/gate.lua:2: "
            ),
            "{told}"
        );
        assert!(!home.work().join("made").exists());
    }
    home.config("plugins/gate.lua", "osier.on('tool_call', function() end)");
    assert_eq!(home.scripted(&turns).args(["-p", "go"]).run().code, Some(0));
    assert!(home.work().join("made").exists());
}

/// A plugin that always continues the model, when it settles or with a message after the run, does so eight times.
#[tokio::test]
async fn plugins_do_not_continue_the_model_for_ever() {
    for code in [
        "osier.on('before_settle', function() return { message = 'go on' } end)",
        "osier.on('settled', function() osier.send_message('go on', { trigger_turn = true }) end)",
        "osier.on('agent_settled', function() osier.send_message('go on', { trigger_turn = true }) end)",
        "osier.on('before_settle', function() return { message = 'go on' } end)\n\
         osier.on('settled', function() osier.send_message('go on', { trigger_turn = true }) end)",
    ] {
        let place = with(code);
        let mut open = open(&place, Script::always("fine")).await;
        open.prompt("hello");
        let told = noticed(&mut open, "plugins continued the model").await;
        assert_eq!(told, "plugins continued the model 8 times: stopping now");
        assert_eq!(open.provider.requests().len(), 9, "{code}");
        open.close().await;
    }
}

#[tokio::test]
async fn changed_file_is_reloaded_and_require_loads_from_the_directory() {
    let place = with("osier.command { name = 'one', run = function() end }");
    let mut open = open(&place, Script::always("ok")).await;
    open.until(|event| matches!(event, Event::Commands { .. }))
        .await;
    write(
        &place.data().join("plugins/test.lua"),
        "osier.command { name = 'two', run = function() end }",
    );
    let seen = open
        .until(|event| matches!(event, Event::Commands { .. }))
        .await;
    let Some(Event::Commands { commands }) = seen.last() else {
        panic!("no commands");
    };
    assert_eq!((commands.len(), commands[0].name.as_str()), (1, "two"));
    let folder = place.data().join("plugins/more");
    write(&folder.join("words.lua"), "return { name = 'three' }");
    write(
        &folder.join("init.lua"),
        "osier.command { name = require('words').name, run = function() end }",
    );
    open.host.send(Op::Reload);
    let seen = open
        .until(|event| matches!(event, Event::Commands { .. }))
        .await;
    assert!(serde_json::to_string(&seen).unwrap().contains("\"three\""));
    open.close().await;
}

#[tokio::test]
async fn project_plugins_require_trust() {
    for trusts in [false, true] {
        let place = TestProject::new();
        write(
            &place.work().join(".osier/plugins/mine.lua"),
            "osier.on('input', function() return { text = 'mine' } end)",
        );
        let mut open = place
            .open_with(SessionChoice::Unstored, Script::always("ok"), |setup| {
                if trusts {
                    let trust = Trust::new(&setup.folders);
                    trust.decide(&ProjectFiles::read(&setup.cwd), true).unwrap();
                }
            })
            .await;
        open.run("yours").await;
        let expected = if trusts { "user: mine" } else { "user: yours" };
        assert_eq!(open.last_request(), [expected]);
        open.close().await;
    }
}

#[tokio::test]
async fn events_are_sent_to_plugins() {
    let place = with(
        r#"
        osier.on("session_opened", function(event) print("opened", event.session.cwd == osier.cwd) end)
        osier.on("message_end", function(event) print("message", event.message.role) end)
        "#,
    );
    let mut open = open(&place, Script::always("ok")).await;
    assert_eq!(noticed(&mut open, "opened").await, "test: opened true");
    open.prompt("hello");
    assert_eq!(noticed(&mut open, "message").await, "test: message user");
    assert_eq!(
        noticed(&mut open, "message").await,
        "test: message assistant"
    );
    open.close().await;
}

#[test]
fn documentation_is_generated_from_the_api_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/plugins.md");
    pages::check_part(&path, "api", &api::reference());
}
