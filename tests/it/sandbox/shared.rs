//! Files that commands in the sandbox share with the file tools, and with each other after their end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use osier_base::process::Invocation;
use osier_protocol::SandboxMode;
use osier_testing::skip;
use serde_json::{Value, json};

use super::{Yard, ways};
use crate::support::cli::Home;

/// The results of tool calls that a model makes one after the other, in the sandbox `workspace`.
fn results(home: &Home, calls: &[(&str, Value)]) -> Vec<String> {
    let turn = |(tool, arguments): &(&str, Value)| json!({"steps": [{"tool": tool, "arguments": arguments}]});
    let mut turns: Vec<Value> = calls.iter().map(turn).collect();
    turns.push(json!({"steps": [{"text": "done"}]}));
    let run = home.scripted(&json!(turns));
    let run = run.args(["--permissions", "yolo", "--sandbox", "workspace"]);
    let output = run.args(["--json", "go"]).run();
    let events = output.stdout.lines().map(serde_json::from_str);
    let events: Vec<Value> = events.collect::<Result<_, _>>().unwrap();
    let ends = events
        .iter()
        .filter(|event| event["type"] == "tool_execution_end");
    ends.map(|event| {
        event["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    })
    .collect()
}

/// `/tmp` is private in bubblewrap, so the file tools must find the one of the commands.
#[test]
fn file_tools_and_commands_use_the_same_temporary_files() {
    if !skip::has(&["bwrap"], "apt install bubblewrap") {
        return;
    }
    let name = format!("/tmp/osier-shared-{}", std::process::id());
    let calls = [
        ("bash", json!({"command": format!("echo one > {name}")})),
        ("read", json!({"file_path": name})),
        ("write", json!({"file_path": name, "content": "two\n"})),
        ("bash", json!({"command": format!("cat {name}")})),
    ];
    let found = results(&Home::new(), &calls);
    assert_eq!(found.len(), calls.len(), "{found:?}");
    assert!(found[1].contains("one"), "{found:?}");
    assert_eq!(found[3].trim(), "two", "{found:?}");
    assert!(!std::path::Path::new(&name).exists());
}

#[test]
fn a_background_job_reports_what_it_created_once() {
    if !skip::has(&["bwrap"], "apt install bubblewrap") {
        return;
    }
    let read = json!({"job": "job1", "action": "read", "timeout": 60});
    let calls = [
        (
            "bash",
            json!({"command": "touch .mcp.json", "background": true}),
        ),
        ("bash", read.clone()),
        ("bash", read),
    ];
    let found = results(&Home::new(), &calls);
    let note = "The command created or replaced `.mcp.json` in the working directory";
    let notes: Vec<bool> = found.iter().map(|text| text.contains(note)).collect();
    assert_eq!(notes, [false, true, false], "{found:?}");
}

/// The outermost process of the sandbox cannot end its processes when it is killed: the kernel does, because they are in a
/// namespace. Landlock has none.
#[tokio::test]
async fn nothing_of_a_command_outlives_a_killed_sandbox() {
    let yard = Yard::new();
    for (way, confinement) in ways(&yard).await {
        if way == "landlock" {
            continue;
        }
        confinement.set(SandboxMode::Workspace, false, Vec::new());
        // The process of another session keeps the pipe open as long as it runs.
        let script = "setsid sh -c 'echo up; exec sleep 600' & wait";
        let invocation = Invocation {
            cwd: Some(yard.work.clone()),
            ..Invocation::new("/bin/bash", ["-c", script])
        };
        let confined = confinement.wrap(invocation).unwrap();
        let mut outermost = Command::new(&confined.program)
            .args(&confined.args)
            .envs(confined.env)
            .current_dir(&yard.work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(outermost.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n", "{way}");
        outermost.kill().unwrap();
        outermost.wait().unwrap();
        let (send, ended) = mpsc::channel();
        std::thread::spawn(move || send.send(output.read_to_end(&mut Vec::new()).unwrap()));
        assert_eq!(ended.recv_timeout(Duration::from_mins(1)), Ok(0), "{way}");
    }
}
