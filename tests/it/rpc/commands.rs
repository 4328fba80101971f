//! Runs every command. The schema is checked for every line; these tests check the meaning of the results.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::process::RpcProcess;
use super::{rpc, script};
use crate::support::cli::Home;

/// A newer query replaces one that runs: its answer is an error, not a success without sessions.
#[test]
fn each_of_many_searches_is_answered() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    let query = json!({"query": {"text": "first", "inWords": true, "all": true}});
    let ids: Vec<u64> = (0..30)
        .map(|_| wire.send("find_sessions", query.clone()))
        .collect();
    for id in ids {
        let answer = wire.answer(id);
        let is_found = answer["data"]["sessions"].is_array();
        let is_replaced = answer["error"] == "a newer query replaced this one";
        assert!(is_found != is_replaced, "{answer}");
    }
}

/// The switch is refused while the session selects its first model.
#[test]
fn a_switch_that_is_refused_at_the_start_fails() {
    let home = Home::new();
    let hook = json!([{"hooks": [{"command": "echo not now >&2; exit 2"}]}]);
    home.config(
        "hooks.json",
        json!({"hooks": {"PreModelSwitch": hook}}).to_string(),
    );
    for (reference, error) in [
        ("nope/none", "nope/none"),
        (
            "script/other.json",
            "script/other.json was not selected: not now",
        ),
    ] {
        let mut wire = RpcProcess::start(rpc(&home, &script()));
        let refused = wire.refused("set_model", json!({"reference": reference}));
        assert!(refused.contains(error), "{refused}");
        let state = wire.call("get_state", json!({}));
        assert_eq!(state["model"]["id"], "model.json");
        wire.call("shut_down", json!({}));
    }
}

#[test]
fn a_page_without_messages_is_refused() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    for command in ["get_messages", "get_fork_messages"] {
        let refused = wire.refused(command, json!({"limit": 0}));
        assert_eq!(refused, "`limit` must be at least 1");
    }
    wire.call("shut_down", json!({}));
}

#[test]
fn every_command_of_the_table_returns_its_result() {
    let home = Home::new();
    let mut wire = RpcProcess::start(rpc(&home, &script()));
    connect(&mut wire);
    talk(&mut wire);
    stop(&mut wire);
    look(&mut wire);
    walk(&mut wire);
    change_files(&mut wire, &home);
    choose_models(&mut wire);
    use_tools(&mut wire);
    give_permissions(&mut wire);
    look_around(&mut wire);
    keep_sessions(&mut wire);
    assert_eq!(wire.call("shut_down", json!({})), json!({}));
    let known: BTreeSet<&str> = osier_rpc::commands().map(|command| command.name).collect();
    let missing: Vec<&&str> = known.difference(&wire.played).collect();
    assert_eq!(
        missing,
        Vec::<&&str>::new(),
        "commands that were not played"
    );
    let (_, code, errors) = wire.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
}

fn settled(wire: &mut RpcProcess) -> Value {
    wire.event("agent_settled")["outcome"]["type"].take()
}

fn connect(wire: &mut RpcProcess) {
    let greeting = wire.call("hello", json!({"protocol": 1, "client": "a test"}));
    assert_eq!(greeting["protocol"], 1);
    assert_eq!(
        greeting["commands"].as_array().map(Vec::len),
        Some(osier_rpc::commands().count())
    );
    let refused = wire.refused("hello", json!({"protocol": 9}));
    assert_eq!(refused, "unsupported protocol version 9; expected 1");
    wire.event("session_opened");
    // A single client always has the write lock.
    assert_eq!(wire.call("take_over", json!({})), Value::Null);
}

fn talk(wire: &mut RpcProcess) {
    let started = json!({"disposition": "started"});
    assert_eq!(wire.call("prompt", json!({"message": "one"})), started);
    assert_eq!(settled(wire), "completed");
    assert_eq!(wire.call("steer", json!({"message": "two"})), started);
    settled(wire);
    assert_eq!(wire.call("follow_up", json!({"message": "three"})), started);
    settled(wire);
    wire.call("continue", json!({}));
    settled(wire);
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";
    let image = json!({"type": "image", "data": pixel, "mimeType": "image/png"});
    wire.call("prompt", json!({"message": "four", "images": [image]}));
    settled(wire);
    let messages = wire.call("get_messages", json!({}));
    let last = messages["messages"].as_array().unwrap().iter();
    let prompt = last.rev().find(|message| message["role"] == "user");
    assert_eq!(prompt.unwrap()["attachments"][0]["mimeType"], "image/png");
    let text = wire.call("get_last_assistant_text", json!({}));
    assert_eq!(text, json!({"text": "answer"}));
}

fn stop(wire: &mut RpcProcess) {
    wire.call("prompt", json!({"message": "zzslow"}));
    wire.until(|line| line["delta"]["delta"] == "begun");
    let queued = json!({"disposition": "queued"});
    assert_eq!(wire.call("steer", json!({"message": "left"})), queued);
    assert_eq!(
        wire.call(
            "prompt",
            json!({"message": "later", "streamingBehavior": "followUp"})
        ),
        queued
    );
    let state = wire.call("get_state", json!({}));
    assert_eq!(
        (&state["isStreaming"], &state["pendingMessageCount"]),
        (&json!(true), &json!(2))
    );
    let cleared = wire.call("clear_queue", json!({}));
    assert_eq!(
        (
            &cleared["steering"][0]["text"],
            &cleared["followUp"][0]["text"]
        ),
        (&json!("left"), &json!("later"))
    );
    let refused = wire.refused("replace_messages", json!({"messages": []}));
    assert_eq!(refused, "the conversation was not replaced: a run is on");
    let refused = wire.refused("undo_prompt", json!({}));
    assert_eq!(refused, "the agent is working: press esc to stop it first");
    wire.call("abort", json!({}));
    assert_eq!(settled(wire), "interrupted");
    wire.call("prompt", json!({"message": "zzfail"}));
    wire.event("retry_scheduled");
    wire.call("abort_retry", json!({}));
    assert_eq!(settled(wire), "failed");
    let off = wire.call("set_auto_retry", json!({"enabled": false}));
    assert_eq!(off, json!({"enabled": false}));
    wire.forget();
    wire.call("prompt", json!({"message": "zzfail"}));
    assert_eq!(settled(wire), "failed");
    assert!(!wire.seen.contains("provider_switched"));
    wire.call("set_auto_retry", json!({"enabled": true}));
    let modes = wire.call("set_queue_mode", json!({"mode": "all"}));
    assert_eq!(modes, json!({"steering": "all", "followUp": "all"}));
    let one = json!({"mode": "one-at-a-time"});
    let modes = wire.call("set_steering_mode", one.clone());
    assert_eq!(
        modes,
        json!({"steering": "one-at-a-time", "followUp": "all"})
    );
    let modes = wire.call("set_follow_up_mode", one);
    assert_eq!(modes["followUp"], "one-at-a-time");
}

fn look(wire: &mut RpcProcess) {
    let state = wire.call("get_state", json!({}));
    assert_eq!(state["model"]["id"], "model.json");
    assert_eq!(state["autoRetryEnabled"], true);
    assert!(state["tokenUsage"]["input"].as_u64().unwrap() >= 100);
    let agent = wire.call("get_agent_state", json!({}));
    assert_eq!(agent["isStreaming"], false);
    let commands = wire.call("get_commands", json!({}));
    assert!(commands["commands"].is_array());
    assert_eq!(commands["builtIn"][0]["name"], "model");
    let level = wire.call("run_command", json!({"command": "/thinking off"}));
    assert_eq!(level, json!({"text": "Thinking level: `off`."}));
    let reloaded = wire.call("run_command", json!({"command": "/reload"}));
    assert_eq!(reloaded, json!({"text": null}));
    let session = wire.call("run_command", json!({"command": "/session"}));
    let text = session["text"].as_str().unwrap();
    assert!(text.starts_with("Session: "), "{text}");
    for command in ["/undo", "/redo"] {
        let moved = wire.call("run_command", json!({"command": command}));
        assert_eq!(moved, json!({"text": null}), "{command}");
    }
    let again = wire.call("get_state", json!({}));
    assert_eq!(again["messageCount"], state["messageCount"]);
    let stats = wire.call("get_session_stats", json!({}));
    assert_eq!(stats["sessionId"], state["sessionId"]);
    wire.call("get_usage", json!({}));
    let report = wire.call(
        "get_usage_report",
        json!({"scope": "all", "period": "week"}),
    );
    let report = &report["report"];
    assert_eq!(
        (&report["scope"], &report["period"]),
        (&json!("all"), &json!("week"))
    );
    assert!(report["total"]["calls"].as_u64() > Some(0), "{report}");
    assert_eq!(report["models"][0]["calls"], report["total"]["calls"]);
    wire.call("get_about", json!({}));
    wire.call("get_log", json!({}));
    wire.call("get_context", json!({}));
    wire.call("describe_session", json!({}));
}

fn walk(wire: &mut RpcProcess) {
    let prompts = wire.call("get_fork_messages", json!({}));
    let prompts = prompts["messages"].as_array().unwrap().clone();
    assert_eq!(prompts[0]["text"], "one");
    let (first, second) = (&prompts[0]["entryId"], &prompts[1]["entryId"]);
    for command in ["get_messages", "get_fork_messages"] {
        let page = wire.call(command, json!({"limit": 1}));
        assert_eq!(
            (&page["messages"][0]["entryId"], &page["more"]),
            (first, &json!(true))
        );
    }
    let next = wire.call("get_fork_messages", json!({"limit": 1, "after": first}));
    assert_eq!(
        next["messages"],
        json!([{"entryId": second, "text": "two"}])
    );
    let page = wire.call(
        "read_transcript",
        json!({"request": 77, "page": {"at": "start"}}),
    );
    assert_eq!(page["messages"][0]["entryId"], *first);
    let hits = wire.call("search_transcript", json!({"query": "three"}));
    assert_eq!(hits["hits"].as_array().map(Vec::len), Some(1));
    let entries = wire.call("get_entries", json!({"limit": 2}));
    assert_eq!(
        (
            &entries["more"],
            entries["entries"].as_array().map(Vec::len)
        ),
        (&json!(true), Some(2))
    );
    let since = entries["entries"][1]["id"].clone();
    let later = wire.call("get_entries", json!({"since": since}));
    assert_eq!(
        (&later["found"], &later["more"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        wire.call("get_entries", json!({"since": "nothing"}))["found"],
        false
    );
    wire.call("get_tree", json!({}));
    let glimpses = wire.call("read_entries", json!({"entryIds": [first]}));
    assert_eq!(glimpses["entries"].as_array().map(Vec::len), Some(1));
    let found = wire.call("search_tree", json!({"query": "two"}));
    assert!(!found["entries"].as_array().unwrap().is_empty());
    let leaf = later["leaf"].clone();
    wire.call("compare_branches", json!({"left": first, "right": leaf}));
    let moved = wire.call("move_to", json!({"entryId": second}));
    assert_eq!(moved["prompt"]["text"], "two");
    let refused = wire.refused("move_to", json!({"entryId": "nothing"}));
    assert_eq!(refused, "no entry `nothing` in this session");
    wire.call("branch", json!({"entryId": leaf}));
    wire.call("label_entry", json!({"entryId": first, "label": "start"}));
    let refused = wire.refused("label_entry", json!({"entryId": "nothing", "label": "x"}));
    assert_eq!(refused, "no entry `nothing` in this session");
    let refused = wire.refused("hide_branch", json!({"entryId": first, "hidden": true}));
    assert!(
        refused.starts_with("cannot delete the current branch"),
        "{refused}"
    );
    let refused = wire.refused("delete_branch", json!({"entryId": first}));
    let current = "the current branch cannot be deleted: go to another branch first";
    assert_eq!(refused, current);
    wire.call("fold_branch", json!({"entryId": first, "folded": true}));
    let refused = wire.refused("fork_worktree", json!({}));
    assert_eq!(refused, "a worktree needs a git repository with a commit");
    walk_back(wire);
    compact(wire);
    fan(wire);
}

fn walk_back(wire: &mut RpcProcess) {
    wire.call("prompt", json!({"message": "five"}));
    settled(wire);
    assert_eq!(
        wire.call("undo_prompt", json!({}))["prompt"]["text"],
        "five"
    );
    wire.call("redo_prompt", json!({}));
    let refused = wire.refused("redo_prompt", json!({}));
    assert_eq!(refused, "there is nothing to redo");
    let forward = wire.call("go_forward", json!({}));
    assert_eq!(forward["prompt"]["text"], "five");
    wire.call("go_back", json!({}));
    // A follower continues after a move of the current entry, too.
    let entries = wire.call("get_entries", json!({}));
    let moved = entries["entries"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(moved["type"], "leaf");
    let later = wire.call("get_entries", json!({"since": moved["id"]}));
    assert_eq!(
        (&later["found"], &later["entries"]),
        (&json!(true), &json!([]))
    );
    wire.call("retry_prompt", json!({}));
    settled(wire);
}

fn compact(wire: &mut RpcProcess) {
    let done = wire.call("compact", json!({"instructions": "zzshort"}));
    assert_eq!(done["type"], "done");
    let summary = done["summary"].as_str().unwrap();
    assert!(summary.starts_with("a summary\n"), "{summary}");
    let refused = wire.refused("store_summary", json!({"summary": "all of it"}));
    assert_eq!(refused, "no summary to store; `/compact` creates one");
    wire.call("drop_summary", json!({}));
    let set = wire.call("set_auto_compaction", json!({"enabled": false}));
    assert_eq!(set, json!({"enabled": false}));
    assert_eq!(
        wire.call("get_state", json!({}))["autoCompactionEnabled"],
        false
    );
}

fn fan(wire: &mut RpcProcess) {
    let models = json!({"models": ["script/model.json", "script/other.json"], "prompt": "both"});
    let started = wire.call("fan_out", models);
    assert_eq!(started["models"].as_array().map(Vec::len), Some(2));
    wire.event("fan_ended");
    let taken = wire.call("take_lane", json!({"lane": 1}));
    assert_eq!(taken["lane"], 1);
    let refused = wire.refused("take_lane", json!({"lane": 0}));
    assert_eq!(refused, "no lane to apply; run `/fan` first");
    wire.call("end_fan", json!({}));
}

fn change_files(wire: &mut RpcProcess, home: &Home) {
    wire.call("prompt", json!({"message": "zztool"}));
    assert_eq!(settled(wire), "completed");
    let made = home.work().join("made.txt");
    assert!(made.exists());
    let range = json!({"range": {"over": "last_prompt"}});
    let diffs = wire.call("read_file_diffs", range);
    assert_eq!(diffs["files"][0]["path"], "made.txt");
    let counted = wire.call("count_changed_lines", json!({}));
    assert_eq!(
        counted["files"],
        json!([{"path": "made.txt", "kind": "create", "added": 1, "removed": 0}])
    );
    let prompts = wire.call("get_fork_messages", json!({}));
    let last = prompts["messages"].as_array().unwrap().last().unwrap();
    let at = json!({"at": {"at": "entry", "entryId": last["entryId"]}});
    let preview = wire.call("preview_files", at.clone());
    assert_eq!(preview["known"], true);
    wire.call("restore_files", at);
    assert!(!made.exists());
    wire.call("undo_restore", json!({}));
    assert!(made.exists());
    wire.call("redo_restore", json!({}));
    assert!(!made.exists());
    wire.call("undo_restore", json!({}));
    assert!(made.exists());
    let diff = diffs["files"][0]["diff"].as_str().unwrap();
    let hunk = &diff[diff.find("@@").unwrap()..];
    let piece = json!({"path": "made.txt", "hunk": hunk, "rejected": true});
    wire.call("review", json!({"pieces": [piece]}));
    assert!(!made.exists());
    wire.call("undo_restore", json!({}));
    assert!(made.exists());
    let files = wire.call("list_files", json!({}));
    let files = files["paths"].as_array().unwrap();
    assert!(files.contains(&json!("made.txt")), "{files:?}");
    let cart = made.with_file_name("cart.py");
    osier_base::atomic_file::write(&cart, b"def cart_total():\n    pass\n").unwrap();
    let map = wire.call("get_map", json!({"query": "cart"}));
    let symbol =
        json!({"name": "cart_total", "kind": "function", "line": 1, "code": "def cart_total():"});
    let file = json!({"path": "cart.py", "symbols": [symbol], "more": 0});
    assert_eq!(map, json!({"files": [file], "notices": []}));
    let found = wire.call("find_symbols", json!({"query": "total"}));
    let symbol = json!({"name": "cart_total", "kind": "function", "path": "cart.py", "line": 1});
    assert_eq!(found, json!({"symbols": [symbol]}));
}

fn choose_models(wire: &mut RpcProcess) {
    let models = wire.call("get_available_models", json!({}));
    assert!(!models["models"].as_array().unwrap().is_empty());
    let chosen = wire.call(
        "set_model",
        json!({"provider": "script", "modelId": "other.json"}),
    );
    assert_eq!(chosen["model"]["id"], "other.json");
    let refused = wire.refused("set_model", json!({"reference": "no such model"}));
    assert!(refused.contains("no such model"), "{refused}");
    wire.refused("set_model", json!({}));
    let refused = wire.refused("cycle_model", json!({}));
    assert_eq!(
        refused,
        "no other model with an API key to switch to; `/login` signs in to a provider"
    );
    wire.call("set_model", json!({"model": "script/model.json"}));
    let refused = wire.refused("switch_role", json!({}));
    assert!(
        refused.contains("the role `plan` has no model:"),
        "{refused}"
    );
    let plan = json!({"role": "plan", "reference": "script/other.json"});
    wire.call("set_role", plan);
    let chosen = wire.call("switch_role", json!({"role": "plan"}));
    assert_eq!(
        (&chosen["model"]["id"], &chosen["role"]),
        (&json!("other.json"), &json!("plan"))
    );
    let back = wire.call("switch_role", json!({}));
    assert_eq!(
        (&back["model"]["id"], &back["role"]),
        (&json!("model.json"), &Value::Null)
    );
    wire.call("set_role", json!({"role": "plan"}));
    for on in [true, false] {
        let favourite = json!({"reference": "script/other.json", "on": on});
        wire.call("set_favourite", favourite);
    }
    // Nothing listens at the URL of the settings.
    let refused = wire.refused("refresh_models", json!({}));
    assert!(refused.contains("127.0.0.1"), "{refused}");
    let level = wire.call("set_thinking_level", json!({"level": "high"}));
    assert_eq!(level["level"], "high");
    wire.refused("cycle_thinking_level", json!({}));
    let levels = wire.call("get_available_thinking_levels", json!({}));
    assert!(levels["levels"].is_array());
    wire.refused("set_models", json!({"models": []}));
    wire.call("enable_provider", json!({"provider": "script"}));
    wire.call("list_accounts", json!({}));
    let refused = wire.refused("login", json!({"provider": "nobody"}));
    assert!(refused.contains("nobody"), "{refused}");
    let started = wire.call("login", json!({"provider": "groq", "method": "key"}));
    assert_eq!(started["input"], "key");
    // A key of another form is stored only if it is entered twice.
    wire.call("login_input", json!({"text": "a-key-of-a-test"}));
    assert_eq!(
        wire.event("login_refused")["message"],
        "keys of `groq` start with `gsk_`; enter it again to store it anyway"
    );
    wire.call("login_input", json!({"text": "a-key-of-a-test"}));
    assert_eq!(wire.event("login_ended")["error"], Value::Null);
    wire.call("logout", json!({"provider": "groq"}));
    wire.call("cancel_login", json!({}));
}

fn use_terminals(wire: &mut RpcProcess) {
    assert_eq!(
        wire.call("list_terminals", json!({})),
        json!({"terminals": []})
    );
    let started = wire.call("start_terminal", json!({"command": "cat"}));
    assert_eq!(started["terminals"][0]["id"], "term1");
    let size = json!({"terminal": "term1", "rows": 10, "columns": 40});
    let screen = wire.call("resize_terminal", size);
    assert_eq!(
        (&screen["screen"]["rows"], &screen["screen"]["columns"]),
        (&json!(10), &json!(40))
    );
    wire.call(
        "type_in_terminal",
        json!({"terminal": "term1", "text": "hello\r"}),
    );
    let screen = wire.call("show_terminal", json!({"terminal": "term1"}));
    assert_eq!(screen["id"], "term1");
    let refused = wire.refused("show_terminal", json!({"terminal": "term9"}));
    assert_eq!(refused, "no terminal with the id `term9`");
    wire.call("close_terminal", json!({"terminal": "term1"}));
}

fn use_tools(wire: &mut RpcProcess) {
    let run = wire.call("bash", json!({"command": "echo hello; exit 3"}));
    assert_eq!(
        (&run["output"], &run["exitCode"]),
        (&json!("hello\n"), &json!(3))
    );
    let slow = wire.send(
        "bash",
        json!({"command": "echo up; sleep 3600", "excludeFromContext": true}),
    );
    wire.until(|line| line["type"] == "shell_update" && line["text"] == "up\n");
    let refused = wire.refused("bash", json!({"command": "true"}));
    assert_eq!(refused, "a command is running: press esc to stop it first");
    wire.call("abort_bash", json!({}));
    assert_eq!(wire.answer(slow)["data"]["cancelled"], true);
    assert_eq!(wire.call("list_jobs", json!({})), json!({"jobs": []}));
    // No command of the model is running.
    wire.refused("move_to_background", json!({}));
    let raised = wire.call("set_budget", json!({"budget": {"turns": 1000}}));
    assert_eq!(raised["budget"]["limits"], json!({"turns": 1000}));
    assert_eq!(wire.call("get_budget", json!({})), raised);
    let refused = wire.refused("follow_job", json!({"jobId": "1"}));
    assert_eq!(refused, "no background job with the id `1`");
    wire.call("follow_job", json!({}));
    let refused = wire.refused("kill_job", json!({"jobId": "1"}));
    assert_eq!(refused, "no background job with the id `1`");
    assert_eq!(
        wire.call("list_subagents", json!({})),
        json!({"subagents": []})
    );
    for (command, parameters) in [
        ("follow_subagent", json!({"subagent": "agent1"})),
        ("unfollow_subagent", json!({"subagent": "agent1"})),
        (
            "steer_subagent",
            json!({"subagent": "agent1", "text": "go on"}),
        ),
        ("stop_subagent", json!({"subagent": "agent1"})),
        ("move_subagent_to_background", json!({"subagent": "agent1"})),
    ] {
        let refused = wire.refused(command, parameters);
        assert_eq!(refused, "no subagent with the id `agent1`");
    }
    use_terminals(wire);
    let tools = wire.call("list_tools", json!({}));
    assert!(tools["tools"].as_array().unwrap().len() > 5);
    let offered = |tools: &Value| {
        let tools = tools["tools"].as_array().unwrap().iter();
        tools.filter(|tool| tool["offered"] == true).count()
    };
    let tools = wire.call("set_tools", json!({"names": ["read", "bash"]}));
    assert_eq!(offered(&tools), 2);
    wire.call("set_system_prompt", json!({"prompt": "Be brief."}));
    let message = json!({"role": "user", "text": "by the way", "timestamp": 0});
    wire.call("append_message", json!({"message": message}));
    let replaced = wire.call("replace_messages", json!({"messages": [message]}));
    assert_eq!(replaced, json!({"count": 1}));
}

fn give_permissions(wire: &mut RpcProcess) {
    let set = wire.call("set_permissions", json!({"mode": "ask"}));
    assert_eq!(set["mode"], "ask");
    assert_eq!(wire.call("cycle_permissions", json!({}))["mode"], "plan");
    let grant = json!({"grant": {"type": "session", "pattern": "bash(ls*)"}});
    wire.call("add_permission", grant);
    let listed = wire.call("list_permissions", json!({}));
    assert_eq!(listed["rules"].as_array().map(Vec::len), Some(1));
    let rule = listed["rules"][0]["rule"].clone();
    wire.call("remove_permission", json!({"rule": rule}));
    wire.refused("remove_permission", json!({"rule": rule}));
    wire.call("set_permissions", json!({"mode": "yolo"}));
    let none = json!({"questions": []});
    assert_eq!(wire.call("list_questions", json!({})), none);
    let reply = json!({"questionId": "x", "answer": {"type": "yes"}});
    let refused = wire.refused("answer_question", reply);
    assert_eq!(
        refused,
        "no question `x` is pending: it was answered or withdrawn"
    );
    wire.played.insert("ui_response");
}

fn look_around(wire: &mut RpcProcess) {
    wire.call("list_mcp_servers", json!({}));
    let offered = wire.call("complete_mcp", json!({"text": "look at @none:x"}));
    assert_eq!(offered, json!({"values": []}));
    assert_eq!(
        wire.call("list_code_servers", json!({})),
        json!({"servers": []})
    );
    wire.call("mcp_server", json!({"name": "none", "action": "restart"}));
    wire.call("list_hooks", json!({}));
    wire.call("list_context", json!({}));
    wire.call("reload", json!({}));
    wire.call("ask_trust", json!({}));
    let mut asked = wire.event("ui_request");
    while asked["method"] == "notify" {
        asked = wire.event("ui_request");
    }
    assert_eq!(asked["method"], "confirm", "{asked}");
    let reply = json!({"type": "ui_response", "id": asked["id"], "confirmed": false});
    wire.say(&reply);
    wire.event("ui_closed");
    wire.call(
        "press_plugin_key",
        json!({"plugin": "none", "keys": "alt+x"}),
    );
    wire.call("add_history", json!({"text": "as before"}));
    let history = wire.call("list_history", json!({}));
    assert_eq!(history, json!({"prompts": ["as before"]}));
    let parts = json!([{"type": "paste", "label": "[paste]", "text": "for later"}]);
    let given = json!({"text": "for later", "parts": parts});
    let stash = wire.call("stash_prompt", given);
    assert_eq!(stash["prompts"][0]["text"], "for later");
    assert_eq!(stash["prompts"][0]["parts"], parts);
    let id = stash["prompts"][0]["id"].clone();
    assert_eq!(wire.call("list_stash", json!({})), stash);
    let stash = wire.call("drop_stashed", json!({"stashed": id}));
    assert_eq!(stash, json!({"prompts": []}));
    wire.call("keep_unsent", json!({"text": "half a"}));
    wire.call("save_draft_files", json!({"files": []}));
    assert_eq!(wire.call("find_unsent", json!({})), Value::Null);
    wire.call("keep_unsent", json!({"text": ""}));
    wire.call(
        "op",
        json!({"op": {"type": "rename_session", "name": "by an op"}}),
    );
    assert_eq!(wire.event("session_renamed")["name"], "by an op");
}

fn keep_sessions(wire: &mut RpcProcess) {
    let named = wire.call("set_session_name", json!({"name": "the first"}));
    assert_eq!(named, json!({"name": "the first"}));
    let state = wire.call("get_state", json!({}));
    let (id, path) = (&state["sessionId"], &state["sessionFile"]);
    let exported = wire.call("export_html", json!({"outputPath": "page.html"}));
    assert!(
        exported["exported"]["path"]
            .as_str()
            .unwrap()
            .ends_with("page.html")
    );
    let refused = wire.refused("export_html", json!({"outputPath": "page.html"}));
    assert!(refused.contains("page.html"), "{refused}");
    wire.call(
        "export_session",
        json!({"path": "copy.jsonl", "scope": "tree"}),
    );
    let forked = wire.call("fork", json!({}));
    assert_eq!(forked["parentSession"], *id);
    let cloned = wire.call("clone", json!({}));
    assert_eq!(cloned["parentSession"], *id);
    let clone = &cloned["path"];
    let fresh = wire.call("new_session", json!({}));
    assert_eq!(fresh["session"]["resumed"], false);
    let back = wire.call("switch_session", json!({"target": id}));
    assert_eq!(back["session"]["path"], *path);
    let here = wire.call("continue_here", json!({}));
    assert_eq!(here["session"]["path"], *path);
    let refused = wire.refused("switch_session", json!({"target": "ffffffff"}));
    assert!(refused.contains("ffffffff"), "{refused}");
    let listed = wire.call("list_sessions", json!({"all": false}));
    assert!(listed["sessions"].as_array().unwrap().len() >= 3);
    wire.call("find_sessions", json!({"query": {"text": "first"}}));
    let preview = wire.call("preview_session", json!({"path": path}));
    assert_eq!(preview["path"], *path);
    wire.call("name_session", json!({"path": clone, "name": "a clone"}));
    let mark = json!({"session": "0190", "mark": "pinned", "on": true});
    wire.call("mark_session", mark);
    let refused = wire.refused("delete_session", json!({"path": path}));
    assert_eq!(refused, "cannot delete the open session: leave it first");
    let deleted = wire.call("delete_session", json!({"path": clone}));
    wire.call("restore_session", json!({"path": deleted["trashed"]}));
    let imported = wire.call(
        "import_session",
        json!({"path": "copy.jsonl", "again": true}),
    );
    assert!(imported["imported"]["id"].is_string());
}
