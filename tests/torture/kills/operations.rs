//! What is killed.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::Victim;
use crate::support::rpc::Rpc;

/// What to expect of the files of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// A command may have been killed between two files.
    Any,
    /// They are as before or as afterwards.
    BeforeOrAfter,
}

pub(crate) type Operation = (&'static str, fn(&mut Victim) -> Result<Files, String>);

pub(crate) const SETTINGS: &str =
    "model = \"openai-chat-completions/m\"\nsubagents = true\nauto_compact = false\n";

const PATIENCE: Duration = Duration::from_mins(1);

/// Every operation that changes a file.
pub(crate) const OPERATIONS: &[Operation] = &[
    ("prompt", |victim| prompt(victim, "text", 250)),
    ("edit", |victim| prompt(victim, "tools", 600)),
    ("restore", restore),
    ("lane", lane),
    ("login", login),
    ("rename", |victim| {
        on_session(victim, &["rename", "ID", "another name"])
    }),
    ("compact", |victim| {
        command(victim, &json!({"type": "compact"}), 80)
    }),
    ("settings", settings),
    ("fan", fan),
    ("command", |victim| prompt(victim, "files", 500)),
    ("subagent", |victim| prompt(victim, "agent", 700)),
    ("undo", |victim| {
        command(victim, &json!({"type": "undo_prompt"}), 30)
    }),
    ("redo", |victim| {
        command(victim, &json!({"type": "redo_prompt"}), 30)
    }),
    ("undo restore", undo_restore),
    ("branch", |victim| {
        command(victim, &json!({"type": "branch"}), 30)
    }),
    ("stash", |victim| {
        command(
            victim,
            &json!({"type": "stash_prompt", "text": "for later"}),
            20,
        )
    }),
    ("draft", |victim| {
        command(
            victim,
            &json!({"type": "keep_unsent", "text": "a draft"}),
            20,
        )
    }),
    ("history", |victim| {
        command(
            victim,
            &json!({"type": "add_history", "text": "an old prompt"}),
            20,
        )
    }),
    ("name", |victim| {
        command(
            victim,
            &json!({"type": "set_session_name", "name": "a name"}),
            20,
        )
    }),
    ("model", |victim| {
        let reference = "anthropic-messages/m";
        command(
            victim,
            &json!({"type": "set_model", "reference": reference}),
            20,
        )
    }),
    ("logout", |victim| {
        program(victim, &["auth", "logout", "anthropic"], "", 120)
    }),
    ("trash", trash),
    ("export", |victim| {
        program(victim, &["export", "newest.jsonl"], "", 150)
    }),
    ("export html", |victim| {
        let command = json!({"type": "export_session", "path": "session.html", "force": true});
        self::command(victim, &command, 60)
    }),
    ("import", import),
    ("reindex", |victim| {
        program(victim, &["sessions", "reindex"], "", 150)
    }),
    ("prune", |victim| {
        program(victim, &["checkpoints", "prune"], "", 150)
    }),
    ("start", |victim| {
        program(victim, &["-c", "-p", "GO text 1"], "", 300)
    }),
];

/// Opens the session that is continued, with one prompt if it is new.
fn open(victim: &mut Victim) -> Result<Rpc, String> {
    let is_new = victim.home.sessions().is_empty();
    let arguments: &[&str] = if is_new { &["rpc"] } else { &["rpc", "-c"] };
    let mut rpc =
        Rpc::start(&victim.home, &victim.program, arguments).map_err(|error| error.to_string())?;
    let state = rpc.ask(&json!({"id": 1, "type": "get_state"}), PATIENCE);
    if !state.as_ref().is_some_and(|state| state["success"] == true) {
        return Err(format!("the session does not open: {state:?}"));
    }
    if is_new {
        let number = victim.next_number();
        if !rpc.prompt(&format!("GO text {number}"), PATIENCE) {
            return Err("the first prompt does not end".to_owned());
        }
    }
    Ok(rpc)
}

fn prompt(victim: &mut Victim, kind: &str, most: u64) -> Result<Files, String> {
    let mut rpc = open(victim)?;
    let number = victim.next_number();
    victim.server.set_delay(victim.random.below(3));
    rpc.send(&json!({"type": "prompt", "message": format!("GO {kind} {number}")}));
    victim.wait(most);
    rpc.kill();
    Ok(Files::Any)
}

fn command(victim: &mut Victim, command: &Value, most: u64) -> Result<Files, String> {
    let mut rpc = open(victim)?;
    rpc.send(command);
    victim.wait(most);
    rpc.kill();
    Ok(Files::Any)
}

/// Two prompts that change many files.
fn two_states(victim: &mut Victim) -> Result<Rpc, String> {
    let mut rpc = open(victim)?;
    // What an earlier kill left is not a state of these prompts.
    let _ = fs::remove_dir_all(victim.home.work().join("many"));
    for _ in 0..2 {
        let number = victim.next_number();
        if !rpc.prompt(&format!("GO files {number}"), PATIENCE) {
            return Err("a prompt does not end".to_owned());
        }
    }
    Ok(rpc)
}

fn restore_command() -> Value {
    json!({"id": 2, "type": "restore_files", "at": {"at": "last_prompt"}, "byHand": true})
}

fn restore(victim: &mut Victim) -> Result<Files, String> {
    let mut rpc = two_states(victim)?;
    rpc.send(&restore_command());
    victim.wait(150);
    rpc.kill();
    Ok(Files::BeforeOrAfter)
}

fn undo_restore(victim: &mut Victim) -> Result<Files, String> {
    let mut rpc = two_states(victim)?;
    let restored = rpc.ask(&restore_command(), PATIENCE);
    if !restored
        .as_ref()
        .is_some_and(|answer| answer["success"] == true)
    {
        return Err(format!("not restored: {restored:?}"));
    }
    rpc.send(&json!({"type": "undo_restore"}));
    victim.wait(150);
    rpc.kill();
    Ok(Files::BeforeOrAfter)
}

fn fan_command(number: u64) -> Value {
    let models = ["openai-chat-completions/m", "anthropic-messages/m"];
    json!({"type": "fan_out", "models": models, "prompt": format!("GO files {number}")})
}

fn fan(victim: &mut Victim) -> Result<Files, String> {
    let mut rpc = two_states(victim)?;
    let number = victim.next_number();
    rpc.send(&fan_command(number));
    victim.wait(800);
    rpc.kill();
    Ok(Files::BeforeOrAfter)
}

fn lane(victim: &mut Victim) -> Result<Files, String> {
    let mut rpc = two_states(victim)?;
    let number = victim.next_number();
    rpc.send(&fan_command(number));
    let ended = rpc.until(PATIENCE, |line| line["type"] == "fan_ended");
    if ended.is_none() {
        return Err("the fan does not end".to_owned());
    }
    rpc.send(&json!({"type": "take_lane", "lane": victim.random.below(2)}));
    victim.wait(150);
    rpc.kill();
    Ok(Files::BeforeOrAfter)
}

/// Runs the program with this input and kills it.
fn program(
    victim: &mut Victim,
    arguments: &[&str],
    input: &str,
    most: u64,
) -> Result<Files, String> {
    if victim.home.sessions().is_empty() {
        open(victim)?.kill();
    }
    let mut child = victim
        .home
        .command(&victim.program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut pipe) = child.stdin.take() {
        let _ = pipe.write_all(input.as_bytes());
    }
    victim.wait(most);
    let _ = child.kill();
    let _ = child.wait();
    Ok(Files::Any)
}

fn login(victim: &mut Victim) -> Result<Files, String> {
    program(
        victim,
        &["auth", "login", "--key", "anthropic"],
        "sk-ant-a-test-key\n",
        150,
    )
}

/// Runs a subcommand of `osier sessions` with the id of a session in place of `ID`.
fn on_session(victim: &mut Victim, arguments: &[&str]) -> Result<Files, String> {
    if victim.home.sessions().is_empty() {
        open(victim)?.kill();
    }
    let sessions = victim.home.sessions();
    let path = victim.random.pick(&sessions).display().to_string();
    let mut words = vec!["sessions"];
    words.extend(
        arguments
            .iter()
            .map(|&word| if word == "ID" { path.as_str() } else { word }),
    );
    program(victim, &words, "", 120)
}

/// Deletes a session, or restores it if it is in the trash.
fn trash(victim: &mut Victim) -> Result<Files, String> {
    let action = if victim.random.once_in(2) {
        "delete"
    } else {
        "restore"
    };
    on_session(victim, &[action, "ID"])
}

fn import(victim: &mut Victim) -> Result<Files, String> {
    if victim.home.sessions().is_empty() {
        open(victim)?.kill();
    }
    let sessions = victim.home.sessions();
    let copy = victim.home.work().join("import.jsonl");
    fs::copy(victim.random.pick(&sessions), &copy).map_err(|error| error.to_string())?;
    program(victim, &["import", "import.jsonl"], "", 150)
}

/// A favourite is a setting.
fn settings(victim: &mut Victim) -> Result<Files, String> {
    let on = victim.random.once_in(2);
    let reference = "anthropic-messages/m";
    let command = json!({"type": "set_favourite", "reference": reference, "on": on});
    self::command(victim, &command, 30)
}
