//! MCP servers that end all the time, and a language server that floods.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use super::{PATIENCE, Trial, end};
use crate::support::rpc::Rpc;
use crate::support::until;

/// An MCP server that ends at each call, and at every second start as soon as it has listed its
/// tools; once the file `starts.all` exists, at every start. It records its starts.
const STORM: &str = r#"#!/bin/sh
echo start >> "$1"
starts=$(wc -l < "$1")
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"storm","version":"1"}}' ;;
    *'"tools/list"'*)
      answer '"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}'
      [ $((starts % 2)) = 0 ] || [ -e "$1.all" ] && exit 1 ;;
    *'"tools/call"'*) exit 1 ;;
    *'"id"'*) answer '"error":{"code":-32601,"message":"unknown"}' ;;
  esac
done
"#;
/// The earliest seconds after a start at which osier restarts a server that ends, as docs/mcp.md
/// says.
const RESTARTS: [u64; 5] = [1, 3, 8, 23, 83];
/// The number of restarts that nobody waits for.
const BURST: usize = 20;

/// A language server that answers the handshake and then sends messages endlessly.
const FLOOD: &str = r#"#!/bin/sh
frame() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
read -r line
frame '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"textDocumentSync":1}}}'
while :; do frame '{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":4,"message":"flood"}}'; done
"#;
const FLOODS: &str = "the language server flood sends thousands of messages";

/// A session with the server `fake`.
struct Storm {
    rpc: Rpc,
    notes: PathBuf,
    /// The starts that are permitted so far, without those since the last request.
    permitted: usize,
    requested: Instant,
}

impl Storm {
    fn starts(&self) -> usize {
        let notes = fs::read_to_string(&self.notes).unwrap_or_default();
        notes.lines().count()
    }

    fn request(&mut self, action: &str) -> Result<(), String> {
        let command = json!({"id": action, "type": "mcp_server", "name": "fake", "action": action});
        let answer = self.rpc.ask(&command, PATIENCE);
        if !answer
            .as_ref()
            .is_some_and(|answer| answer["success"] == true)
        {
            return Err(format!("{action}: {answer:?}"));
        }
        self.permitted = self.most_starts();
        self.requested = Instant::now();
        Ok(())
    }

    /// The maximum number of starts: one for the last request, and those that the delays after it
    /// permit.
    fn most_starts(&self) -> usize {
        let seconds = self.requested.elapsed().as_secs();
        let restarts = RESTARTS.iter().filter(|after| **after <= seconds);
        self.permitted + 1 + restarts.count()
    }

    /// Waits until osier reports one of these states.
    fn reaches(&mut self, states: &[&str]) -> Result<(), String> {
        let mut last = Value::Null;
        let is_reached = until(PATIENCE, || {
            let list = json!({"id": "servers", "type": "list_mcp_servers"});
            let answer = self.rpc.ask(&list, PATIENCE).unwrap_or_default();
            last = answer["data"]["servers"][0].clone();
            states.iter().any(|state| last["state"]["type"] == *state)
        });
        if is_reached {
            return Ok(());
        }
        Err(format!("the server does not get {states:?}: {last}"))
    }
}

pub(super) fn mcp_storm(trial: &mut Trial) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let script = trial.home.home().join("storm.sh");
    let notes = trial.home.home().join("starts");
    fs::write(&script, STORM).map_err(failed)?;
    let server = json!({"command": "sh", "args": [script, notes]});
    let servers = json!({"mcpServers": {"fake": server}});
    trial
        .home
        .config("mcp.json", &servers.to_string())
        .map_err(failed)?;
    let mut storm = Storm {
        requested: Instant::now(),
        rpc: trial.rpc(&[])?,
        notes,
        permitted: 0,
    };
    storm.reaches(&["ready", "waiting"])?;
    let rounds = if trial.is_short { 4 } else { 40 };
    for _ in 0..rounds {
        trial.prompt(&mut storm.rpc, "mcp")?;
        storm.request("restart")?;
        storm.reaches(&["ready", "waiting"])?;
    }
    for _ in 0..BURST {
        storm.request("restart")?;
    }
    storm.reaches(&["ready", "waiting"])?;
    trial.prompt(&mut storm.rpc, "mcp")?;
    if !trial.is_short {
        // No further request arrives, and no start succeeds.
        fs::write(storm.notes.with_extension("all"), "").map_err(failed)?;
        storm.request("restart")?;
        storm.reaches(&["failed"])?;
        trial.prompt(&mut storm.rpc, "mcp")?;
    }
    let (starts, most) = (storm.starts(), storm.most_starts());
    trial.notes.push(format!("{starts} starts of {most}"));
    if starts < rounds || starts > most {
        return Err(format!(
            "the server was started {starts} times, not {rounds} to {most}"
        ));
    }
    storm.request("disable")?;
    storm.reaches(&["disabled"])?;
    let running = || {
        let processes = trial.home.processes().into_iter();
        processes.filter(|process| process.command.contains("storm.sh"))
    };
    if !until(PATIENCE, || running().next().is_none()) {
        let left: Vec<_> = running().collect();
        return Err(format!("a disabled server runs: {left:?}"));
    }
    trial.prompt(&mut storm.rpc, "mcp")?;
    end(storm.rpc)
}

/// The user hears once that a language server floods, and prompts work on.
pub(super) fn flood(trial: &mut Trial) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let script = trial.home.home().join("flood.sh");
    fs::write(&script, FLOOD).map_err(failed)?;
    let server = format!(
        "[lsp_servers.flood]\ncommand = [\"sh\", {}]\nextensions = [\"txt\"]\n",
        json!(script)
    );
    trial.settings(&server)?;
    let mut rpc = trial.rpc(&["--trust"])?;
    trial.prompt(&mut rpc, "tools")?;
    let mut notices = rpc.take_notices();
    if !notices.iter().any(|notice| notice.starts_with(FLOODS)) {
        rpc.until(PATIENCE, |line| {
            let title = line["title"].as_str().unwrap_or_default();
            title.starts_with(FLOODS)
        })
        .ok_or("nothing says that the server floods")?;
    }
    for _ in 0..3 {
        trial.prompt(&mut rpc, "tools")?;
    }
    notices.extend(rpc.take_notices());
    notices.retain(|notice| notice.starts_with(FLOODS));
    if notices.len() != 1 {
        return Err(format!("it is said {} times", notices.len()));
    }
    end(rpc)
}
