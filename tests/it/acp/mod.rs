//! `osier acp` with an editor that validates every line against the published schema, and with real clients.
//!
//! `schema.json` is the schema of version 1 with its unstable part from npm's `@agentclientprotocol/sdk`, without
//! descriptions.

mod capabilities;
mod clients;
mod disconnect;
mod editor;
mod sessions;
mod turns;

use serde_json::{Value, json};

use crate::support::cli::{Cli, Home};

/// A model that answers `answer`, never finishes `zzslow`, fails on `zzfail`, changes or reads a file on `zzwrite`,
/// `zzaway`, `zzread` and `zzedit`, stops early on `zzlong`, runs a command on `zzrun`, and calls the MCP server
/// `given` on `zzask`.
fn script() -> Value {
    json!([
        {"when": {"toolResult": ""}, "repeat": true, "steps": answer()},
        {"when": {"user": "zzslow"}, "repeat": true, "steps": [{"text": "begun"}, {"wait": 3_600_000}]},
        {"when": {"user": "zzfail"}, "repeat": true, "steps": [
            {"fail": {"type": "auth_error", "message": "who are you?"}},
        ]},
        {"when": {"user": "zzwrite"}, "repeat": true, "steps": [
            {"tool": "write", "arguments": {"file_path": "made.txt", "content": "one\ntwo\n"}},
        ]},
        {"when": {"user": "zzaway"}, "repeat": true, "steps": [
            {"tool": "write", "arguments": {"file_path": "../away.txt", "content": "one\n"}},
        ]},
        {"when": {"user": "zzread"}, "repeat": true, "steps": [
            {"tool": "read", "arguments": {"file_path": "note.txt"}},
        ]},
        {"when": {"user": "zzedit"}, "repeat": true, "steps": [
            {"tool": "edit", "arguments": {"file_path": "note.txt", "old_string": "buffer", "new_string": "editor"}},
        ]},
        {"when": {"user": "zzask"}, "repeat": true, "steps": [
            {"tool": "given__ask", "arguments": {}},
        ]},
        {"when": {"user": "zzplan"}, "repeat": true, "steps": [
            {"tool": "exit_plan_mode", "arguments": {"plan": "# Plan\n\n1. **Test**"}},
        ]},
        {"when": {"user": "zzlong"}, "repeat": true, "steps": [{"text": "and so"}, {"stop": "length"}]},
        {"when": {"user": "zzrun"}, "repeat": true, "steps": [
            {"thinking": "Let me see."},
            {"tool": "bash", "arguments": {"command": "touch made && echo ran"}},
        ]},
        {"repeat": true, "steps": answer()},
    ])
}

fn answer() -> Value {
    json!([{"text": "answer"}, {"usage": {"input": 100, "output": 10}}])
}

/// A run of `osier acp` with that model.
fn acp(home: &Home) -> Cli<'_> {
    home.file("model.json", json!({"turns": script()}).to_string());
    home.cli().args(["acp", "--model", "script/model.json"])
}
