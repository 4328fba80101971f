//! `osier rpc`: every command of the table with the real program, invalid lines, disconnects, and the client
//! library.

mod branches;
mod changed_files;
mod client;
mod commands;
mod disconnect;
mod elsewhere;
mod invalid_lines;
mod process;
mod questions;
mod two_clients;

use serde_json::{Value, json};

use crate::support::cli::{Cli, Home};

/// A model that answers `answer`, is slow on `zzslow`, fails on `zzfail`, runs a command on `zztool`, writes a summary
/// on `zzshort`, and presents a plan on `zzplan`.
fn script() -> Value {
    let answer = json!([{"text": "answer"}, {"usage": {"input": 100, "output": 10}}]);
    json!([
        {"when": {"toolResult": ""}, "repeat": true, "steps": answer},
        {"when": {"user": "zzshort"}, "repeat": true, "steps": [{"text": "a summary"}]},
        {"when": {"user": "zzslow"}, "repeat": true, "steps": [{"text": "begun"}, {"wait": 3_600_000}]},
        {"when": {"user": "zzfail"}, "repeat": true, "steps": [
            {"fail": {"type": "rate_limit", "message": "slow down", "retryAfterMs": 30_000}},
        ]},
        {"when": {"user": "zztool"}, "repeat": true, "steps": [
            {"tool": "bash", "arguments": {"command": "echo made > made.txt"}},
        ]},
        {"when": {"user": "zzplan"}, "repeat": true, "steps": [
            {"tool": "exit_plan_mode", "arguments": {"plan": "# Plan"}},
        ]},
        {"repeat": true, "steps": answer},
    ])
}

/// A run of `osier rpc` with that model.
fn rpc<'a>(home: &'a Home, turns: &Value) -> Cli<'a> {
    let script = json!({"turns": turns}).to_string();
    let settings = "discover_local_models = false\ndescribe_environment = false\nrefresh_models = \"http://127.0.0.1:9/models.json\"\n";
    home.config("settings.toml", settings);
    home.file("model.json", &script);
    home.file("other.json", &script);
    home.cli().args(["rpc", "--model", "script/model.json"])
}
