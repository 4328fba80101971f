//! Calls as models send them that were trained with the tools of other programs: what rules, the session file, the next
//! request and exports get of them.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use osier_agent::{Event as AgentEvent, ToolStatus};
use osier_llm::Script;
use osier_protocol::{Event, PermissionMode};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use crate::support::cli::Home;
use crate::support::session::TestProject;

/// A model that makes these calls, one per answer, and then finishes.
fn calls(calls: &[(&str, Value)]) -> Script {
    let script = calls
        .iter()
        .fold(Script::new(), |script, (name, arguments)| {
            script.turn(|turn| turn.tool(name, arguments.clone()))
        });
    script.turn(|turn| turn.text("done").repeat())
}

/// Name, status and text of the results of a run.
fn results(events: &[Event]) -> Vec<(String, ToolStatus, String)> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Agent(AgentEvent::ToolExecutionEnd {
            tool_name, result, ..
        }) => {
            let content = result.result.content.iter();
            let text = content.filter_map(|block| block.as_text()).collect();
            Some((tool_name.clone(), result.status.clone(), text))
        }
        _ => None,
    });
    ends.collect()
}

/// The attack: a deny rule must hold by every name of a tool and of its arguments.
#[tokio::test]
async fn another_name_does_not_pass_a_deny_rule() {
    let place = TestProject::new();
    let work = place.work();
    std::fs::write(work.join("secret.txt"), "hidden\n").unwrap();
    std::fs::create_dir(work.join("sub")).unwrap();
    let shells = [
        "Bash",
        "shell",
        "container.exec",
        "functions.bash",
        "run_shell_command",
    ];
    let mut attempts: Vec<(&str, Value)> = Vec::new();
    for name in shells {
        attempts.push((name, json!({"cmd": "rm secret.txt"})));
        attempts.push((name, json!({"command": ["bash", "-lc", "rm secret.txt"]})));
        attempts.push((
            name,
            json!({"command": "rm ../secret.txt", "workdir": "sub"}),
        ));
        attempts.push((
            name,
            json!({"arguments": "{\"command\": \"rm secret.txt\"}"}),
        ));
    }
    attempts.push(("Read", json!({"filePath": "secret.txt"})));
    attempts.push(("view", json!({"path": "./secret.txt"})));
    attempts.push(("read", json!({"file_path": null, "file": "secret.txt"})));
    for (command, more) in [
        ("view", json!({})),
        ("str_replace", json!({"old_str": "hidden", "new_str": ""})),
        ("insert", json!({"insert_line": 0, "insert_text": "x"})),
    ] {
        let mut arguments = more;
        arguments["command"] = json!(command);
        arguments["path"] = json!("secret.txt");
        attempts.push(("str_replace_based_edit_tool", arguments));
    }
    let mut open = place
        .open_with(SessionChoice::Unstored, calls(&attempts), |setup| {
            setup.permissions = Some(PermissionMode::Yolo);
            // Many attempts become the same call.
            setup.settings.loop_guard = false;
            setup.settings.deny = vec![
                "bash(rm *)".to_owned(),
                "read(secret.txt)".to_owned(),
                "edit(secret.txt)".to_owned(),
            ];
        })
        .await;
    let results = results(&open.run("go").await);
    assert_eq!(results.len(), attempts.len());
    for (attempt, (_, status, text)) in attempts.iter().zip(results) {
        assert!(
            matches!(status, ToolStatus::Denied { .. }),
            "{attempt:?} {status:?} {text}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(work.join("secret.txt")).unwrap(),
        "hidden\n"
    );
}

#[tokio::test]
async fn the_repaired_call_runs_and_is_stored_and_sent() {
    let place = TestProject::new();
    std::fs::write(place.work().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let attempts = [
        (
            "Read",
            json!({"path": "a.txt", "start_line": "2", "end_line": 2}),
        ),
        (
            "str_replace_based_edit_tool",
            json!({"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"}),
        ),
        (
            "Bash",
            json!({"command": "cat a.txt", "description": "Show", "timeout": 60_000}),
        ),
        (
            "shell",
            json!({"command": ["cat", "a.txt"], "sandboxed": true}),
        ),
    ];
    let mut open = place
        .open_with(SessionChoice::New, calls(&attempts), |setup| {
            setup.permissions = Some(PermissionMode::Yolo);
        })
        .await;
    let events = open.run("go").await;
    let texts: Vec<(String, String)> = results(&events)
        .into_iter()
        .map(|(name, _, text)| (name, text))
        .collect();
    let own = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        texts[1..],
        [
            own("edit", "Changed 1 place in `a.txt` (+1 -1 lines)\n"),
            own(
                "bash",
                "one\n2\nthree\n[timeout 60000 was taken as milliseconds]"
            ),
            own(
                "bash",
                "one\n2\nthree\n[unknown argument `sandboxed` was ignored; `bash` takes `command`, `timeout`, `background`, `terminal`, `job`, `action`]"
            ),
        ]
    );
    assert!(
        texts[0].1.contains("\ttwo\n") && !texts[0].1.contains("one"),
        "{texts:?}"
    );
    let stored = std::fs::read_to_string(open.path()).unwrap();
    for part in [
        r#""name":"read","arguments":{"file_path":"a.txt","offset":2,"limit":1}"#,
        r#""name":"edit","arguments":{"file_path":"a.txt","old_string":"two","new_string":"2"}"#,
        r#""name":"bash","arguments":{"command":"cat a.txt","description":"Show","timeout":60}"#,
    ] {
        assert!(stored.contains(part), "{part}\n{stored}");
    }
    assert!(!stored.contains("str_replace_based_edit_tool"));
    let sent = format!("{:?}", open.provider.last_request());
    assert!(!sent.contains("old_str\"") && sent.contains("old_string"));
    open.close().await;
}

#[test]
fn exports_show_the_repaired_call() {
    let home = Home::new();
    home.file("a.txt", "one\n");
    let turns = json!([
        {"steps": [{"tool": "Bash", "arguments": {"cmd": "cat a.txt"}}]},
        {"steps": [{"text": "done"}]},
    ]);
    let run = home
        .scripted(&turns)
        .args(["--permissions", "yolo", "--json", "go"])
        .run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for format in ["markdown", "html"] {
        let session = home.sessions()[0].display().to_string();
        let run = home
            .cli()
            .args(["export", &session, "-", "--format", format])
            .run();
        let other = ["\"cmd\"", "&quot;cmd&quot;", "<pre>Bash"];
        let has_other = other.iter().any(|name| run.stdout.contains(name));
        let is_repaired = run.stdout.contains("a.txt") && !has_other;
        assert!(is_repaired, "{}", run.stdout);
    }
}
