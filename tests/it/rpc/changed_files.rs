//! Files that change while a session uses them.

use serde_json::json;

use super::process::RpcProcess;
use super::rpc;
use crate::support::cli::{Home, without_time};

#[test]
fn event_names_files_that_were_changed_outside_of_osier() {
    let turns = json!([
        {"when": {"user": "read"}, "steps": [{"tool": "read", "arguments": {"file_path": "a.txt"}}]},
        {"repeat": true, "steps": [{"text": "answer"}]},
    ]);
    let home = Home::new();
    home.file("a.txt", "one\n");
    let mut wire = RpcProcess::start(rpc(&home, &turns));
    wire.call("prompt", json!({"message": "read"}));
    wire.event("agent_settled");
    wire.forget();
    home.file("a.txt", "two\n");
    wire.call("prompt", json!({"message": "more"}));
    let event = wire.event("files_changed_outside");
    assert_eq!(
        without_time(&event),
        json!({"type": "files_changed_outside", "paths": ["a.txt"], "more": 0})
    );
    wire.event("agent_settled");
}
