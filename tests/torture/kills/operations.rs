//! The operations that are killed.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::Victim;
use crate::support::rpc::Rpc;

/// Conditions that must hold after the next start.
#[derive(Debug)]
pub(crate) struct After {
    pub(crate) files: Files,
    /// Writes that osier has acknowledged before the kill.
    pub(crate) promises: Vec<Promise>,
}

/// A file below the home contains a text, or not.
#[derive(Debug)]
pub(crate) struct Promise {
    pub(crate) file: &'static str,
    pub(crate) text: String,
    pub(crate) is_there: bool,
}

impl Promise {
    fn contains(file: &'static str, text: impl Into<String>) -> Self {
        Self {
            file,
            text: text.into(),
            is_there: true,
        }
    }
}

impl From<Files> for After {
    fn from(files: Files) -> Self {
        Self {
            files,
            promises: Vec::new(),
        }
    }
}

/// The expected files of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// A command may have been killed between two files.
    Any,
    /// The files are as before or as after the operation.
    BeforeOrAfter,
}

pub(crate) type Operation = (&'static str, fn(&mut Victim) -> Result<After, String>);

pub(crate) const SETTINGS: &str = "model = \"openai-chat-completions/m\"\nsmall_model = \"openai-chat-completions/m\"\nsubagents = true\nauto_compact = false\n";

const PATIENCE: Duration = Duration::from_mins(1);

/// Every operation that changes a file.
pub(crate) const OPERATIONS: &[Operation] = &[
    ("prompt", |victim| prompt(victim, "text", 250)),
    ("restore", restore),
    ("stash", stash),
    ("lane", lane),
    ("compact", compact),
    ("login", login),
    ("settings", settings),
    ("branch", |victim| {
        command(victim, &json!({"type": "branch"}), 30)
    }),
    ("fan", fan),
    ("edit", |victim| prompt(victim, "tools", 600)),
    ("rename", rename),
    ("command", |victim| prompt(victim, "files", 500)),
    ("subagent", |victim| prompt(victim, "agent", 700)),
    ("undo", |victim| {
        command(victim, &json!({"type": "undo_prompt"}), 30)
    }),
    ("redo", |victim| {
        command(victim, &json!({"type": "redo_prompt"}), 30)
    }),
    ("undo restore", undo_restore),
    ("fork", |victim| {
        command(victim, &json!({"type": "fork"}), 60)
    }),
    ("clone", |victim| {
        command(victim, &json!({"type": "clone"}), 60)
    }),
    ("label", label),
    ("draft", |victim| {
        command(
            victim,
            &json!({"type": "keep_unsent", "text": "a draft"}),
            20,
        )
    }),
    ("history", history),
    ("name", name),
    ("model", |victim| {
        let reference = "anthropic-messages/m";
        command(
            victim,
            &json!({"type": "set_model", "reference": reference}),
            20,
        )
    }),
    ("logout", |victim| {
        program(victim, &["auth", "logout", "anthropic"], "", 120).map(|(after, _)| after)
    }),
    ("trash", trash),
    ("export", |victim| {
        program(victim, &["export", "newest.jsonl"], "", 150).map(|(after, _)| after)
    }),
    ("export html", |victim| {
        let command = json!({"type": "export_session", "path": "session.html", "force": true});
        self::command(victim, &command, 60)
    }),
    ("import", import),
    ("reindex", |victim| {
        program(victim, &["sessions", "reindex"], "", 150).map(|(after, _)| after)
    }),
    ("prune", |victim| {
        program(victim, &["checkpoints", "prune"], "", 150).map(|(after, _)| after)
    }),
    ("start", |victim| {
        program(victim, &["-c", "-p", "GO text 1"], "", 300).map(|(after, _)| after)
    }),
    ("worktrees", worktrees),
    ("fork worktree", fork_worktree),
    ("end lanes", end_lanes),
    ("terminal", terminal),
    ("close terminal", close_terminal),
    ("title", title),
    ("first name", first_name),
    ("import title", import_title),
    ("import name", import_name),
];

/// Opens the session that is continued, with one prompt if it is new.
fn open(victim: &mut Victim) -> Result<Rpc, String> {
    if !victim.home.sessions().is_empty() {
        return started(victim, &["rpc", "-c"]);
    }
    let mut rpc = new(victim)?;
    let number = victim.next_number();
    if !rpc.prompt(&format!("GO text {number}"), PATIENCE) {
        return Err("the first prompt does not end".to_owned());
    }
    Ok(rpc)
}

/// Opens a new session.
fn new(victim: &Victim) -> Result<Rpc, String> {
    started(victim, &["rpc"])
}

fn started(victim: &Victim, arguments: &[&str]) -> Result<Rpc, String> {
    let started = Rpc::start(&victim.home, &victim.program, arguments);
    let mut rpc = started.map_err(|error| error.to_string())?;
    let state = rpc.ask(&json!({"id": 1, "type": "get_state"}), PATIENCE);
    if !state.as_ref().is_some_and(|state| state["success"] == true) {
        return Err(format!("the session does not open: {state:?}"));
    }
    Ok(rpc)
}

fn prompt(victim: &mut Victim, kind: &str, most: u64) -> Result<After, String> {
    let mut rpc = open(victim)?;
    let number = victim.next_number();
    victim.server.set_delay(victim.random.below(3));
    rpc.send(&json!({"type": "prompt", "message": format!("GO {kind} {number}")}));
    victim.wait(most);
    rpc.kill();
    Ok(Files::Any.into())
}

fn command(victim: &mut Victim, command: &Value, most: u64) -> Result<After, String> {
    promised(victim, command, most, None)
}

/// Sends a command and kills the program. The answer to the command promises `promise`.
fn promised(
    victim: &mut Victim,
    command: &Value,
    most: u64,
    promise: Option<Promise>,
) -> Result<After, String> {
    let mut rpc = open(victim)?;
    send_and_kill(victim, &mut rpc, command, most, promise)
}

fn send_and_kill(
    victim: &mut Victim,
    rpc: &mut Rpc,
    command: &Value,
    most: u64,
    promise: Option<Promise>,
) -> Result<After, String> {
    let mut command = command.clone();
    command["id"] = json!("killed");
    rpc.send(&command);
    victim.wait(most);
    rpc.kill();
    let is_acknowledged = promise.is_some() && rpc.has_succeeded(&command["id"], PATIENCE);
    Ok(After {
        files: Files::Any,
        promises: promise.into_iter().filter(|_| is_acknowledged).collect(),
    })
}

fn stash(victim: &mut Victim) -> Result<After, String> {
    let text = format!("for later {}", victim.next_number());
    let command = json!({"type": "stash_prompt", "text": text});
    promised(
        victim,
        &command,
        60,
        Some(Promise::contains("stash.json", text)),
    )
}

fn history(victim: &mut Victim) -> Result<After, String> {
    let text = format!("an old prompt {}", victim.next_number());
    let command = json!({"type": "add_history", "text": text});
    promised(
        victim,
        &command,
        60,
        Some(Promise::contains("history.jsonl", text)),
    )
}

fn name(victim: &mut Victim) -> Result<After, String> {
    let name = format!("name {}", victim.next_number());
    let command = json!({"type": "set_session_name", "name": name});
    promised(
        victim,
        &command,
        60,
        Some(Promise::contains("sessions", name)),
    )
}

fn label(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = open(victim)?;
    let prompts = rpc.ask(&json!({"id": 2, "type": "get_fork_messages"}), PATIENCE);
    let prompts = prompts.unwrap_or_default();
    let entry = prompts.pointer("/data/messages/0/entryId").cloned();
    let label = format!("label {}", victim.next_number());
    let command = json!({"type": "label_entry", "entryId": entry, "label": label});
    let promise = Promise::contains("sessions", label);
    send_and_kill(victim, &mut rpc, &command, 60, Some(promise))
}

/// Kills a compaction of a conversation that is long enough.
fn compact(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = open(victim)?;
    for _ in 0..2 {
        let number = victim.next_number();
        if !rpc.prompt(&format!("GO long {number}"), PATIENCE) {
            return Err("a prompt does not end".to_owned());
        }
    }
    let promise = Promise::contains("sessions", "A summary of the conversation.");
    send_and_kill(
        victim,
        &mut rpc,
        &json!({"type": "compact"}),
        400,
        Some(promise),
    )
}

/// Two prompts that change many files.
fn two_states(victim: &mut Victim) -> Result<Rpc, String> {
    let mut rpc = open(victim)?;
    // Files of an earlier kill are not a state of these prompts.
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

fn restore(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = two_states(victim)?;
    rpc.send(&restore_command());
    victim.wait(150);
    rpc.kill();
    Ok(Files::BeforeOrAfter.into())
}

fn undo_restore(victim: &mut Victim) -> Result<After, String> {
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
    Ok(Files::BeforeOrAfter.into())
}

fn fan_command(number: u64) -> Value {
    let models = ["openai-chat-completions/m", "anthropic-messages/m"];
    json!({"type": "fan_out", "models": models, "prompt": format!("GO files {number}")})
}

fn fan(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = two_states(victim)?;
    let number = victim.next_number();
    rpc.send(&fan_command(number));
    victim.wait(800);
    rpc.kill();
    Ok(Files::BeforeOrAfter.into())
}

fn lane(victim: &mut Victim) -> Result<After, String> {
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
    Ok(Files::BeforeOrAfter.into())
}

/// A fan whose lanes are worktrees of a repository.
fn worktrees(victim: &mut Victim) -> Result<After, String> {
    repository(victim)?;
    fan(victim)
}

/// A fork in a worktree next to the repository.
fn fork_worktree(victim: &mut Victim) -> Result<After, String> {
    repository(victim)?;
    let mut rpc = open(victim)?;
    rpc.send(&json!({"type": "fork_worktree"}));
    victim.wait(400);
    rpc.kill();
    let forked = rpc.until(PATIENCE, |line| line["type"] == "forked");
    let cwd = forked.and_then(|line| line["cwd"].as_str().map(str::to_owned));
    victim.forks.extend(cwd);
    Ok(Files::Any.into())
}

/// Makes the directory a repository.
fn repository(victim: &mut Victim) -> Result<(), String> {
    let has_git = osier_testing::skip::program(&["git"], "apt install git").is_some();
    if has_git && !victim.home.work().join(".git").exists() {
        let lines =
            "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one";
        let made = victim
            .home
            .command("sh".as_ref())
            .args(["-c", lines])
            .output();
        if !made.as_ref().is_ok_and(|output| output.status.success()) {
            return Err(format!("git: {made:?}"));
        }
    }
    Ok(())
}

fn end_lanes(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = two_states(victim)?;
    let number = victim.next_number();
    rpc.send(&fan_command(number));
    let ended = rpc.until(PATIENCE, |line| line["type"] == "fan_ended");
    if ended.is_none() {
        return Err("the fan does not end".to_owned());
    }
    rpc.send(&json!({"type": "end_fan"}));
    victim.wait(100);
    rpc.kill();
    Ok(Files::BeforeOrAfter.into())
}

/// A terminal with a program in the foreground and one in the background.
const TERMINAL: &str = "sleep 1000 & sleep 1000";

fn terminal(victim: &mut Victim) -> Result<After, String> {
    command(
        victim,
        &json!({"type": "start_terminal", "command": TERMINAL}),
        200,
    )
}

fn close_terminal(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = open(victim)?;
    let start = json!({"id": 2, "type": "start_terminal", "command": TERMINAL});
    let started = rpc.ask(&start, PATIENCE).unwrap_or_default();
    let terminal = started.pointer("/data/terminals/0/id").cloned();
    let terminal = terminal.ok_or_else(|| format!("no terminal: {started}"))?;
    let close = json!({"type": "close_terminal", "terminal": terminal});
    send_and_kill(victim, &mut rpc, &close, 60, None)
}

/// The small model writes a title for a new session.
fn title(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = new(victim)?;
    let number = victim.next_number();
    rpc.send(&json!({"type": "prompt", "message": format!("GO text {number}")}));
    victim.wait(400);
    rpc.kill();
    // A client has seen it: it is stored.
    let renamed = rpc.until(PATIENCE, |line| line["type"] == "session_renamed");
    let name = renamed.and_then(|line| line["name"].as_str().map(str::to_owned));
    Ok(After {
        files: Files::Any,
        promises: name
            .map(|name| Promise::contains("sessions", name))
            .into_iter()
            .collect(),
    })
}

/// A name of a session without prompts.
fn first_name(victim: &mut Victim) -> Result<After, String> {
    let mut rpc = new(victim)?;
    let name = format!("a first name {}", victim.next_number());
    let command = json!({"type": "set_session_name", "name": name});
    let promise = Promise::contains("sessions", name);
    send_and_kill(victim, &mut rpc, &command, 60, Some(promise))
}

/// Runs the program with this input and kills it. Returns whether it had ended with success.
fn program(
    victim: &mut Victim,
    arguments: &[&str],
    input: &str,
    most: u64,
) -> Result<(After, bool), String> {
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
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok((Files::Any.into(), status.success()))
}

/// Runs an operation whose success promises this content.
fn promised_by_program(
    victim: &mut Victim,
    arguments: &[&str],
    input: &str,
    promise: Promise,
) -> Result<After, String> {
    let (mut after, has_succeeded) = program(victim, arguments, input, 200)?;
    after.promises.extend(has_succeeded.then_some(promise));
    Ok(after)
}

fn login(victim: &mut Victim) -> Result<After, String> {
    let key = format!("sk-ant-a-test-key-{}", victim.next_number());
    let promise = Promise::contains("auth.json", key.as_str());
    let arguments = ["auth", "login", "--key", "anthropic"];
    promised_by_program(victim, &arguments, &format!("{key}\n"), promise)
}

/// The path of a session.
fn session(victim: &mut Victim) -> Result<String, String> {
    if victim.home.sessions().is_empty() {
        open(victim)?.kill();
    }
    let sessions = victim.home.sessions();
    Ok(victim.random.pick(&sessions).display().to_string())
}

fn rename(victim: &mut Victim) -> Result<After, String> {
    let path = session(victim)?;
    let name = format!("another name {}", victim.next_number());
    let promise = Promise::contains("", name.as_str());
    promised_by_program(victim, &["sessions", "rename", &path, &name], "", promise)
}

/// Deletes a session, or restores it if it is in the trash.
fn trash(victim: &mut Victim) -> Result<After, String> {
    let action = if victim.random.once_in(2) {
        "delete"
    } else {
        "restore"
    };
    let path = session(victim)?;
    program(victim, &["sessions", action, &path], "", 120).map(|(after, _)| after)
}

fn import(victim: &mut Victim) -> Result<After, String> {
    if victim.home.sessions().is_empty() {
        open(victim)?.kill();
    }
    let sessions = victim.home.sessions();
    let copy = victim.home.work().join("import.jsonl");
    fs::copy(victim.random.pick(&sessions), &copy).map_err(|error| error.to_string())?;
    program(victim, &["import", "import.jsonl"], "", 150).map(|(after, _)| after)
}

/// A session of Claude Code, which has written a title.
fn import_title(victim: &mut Victim) -> Result<After, String> {
    let number = victim.next_number();
    let id = format!("997c97e6-520a-4c98-bb16-{number:012}");
    let title = format!("a title {number}");
    let time = "2026-11-21T14:00:56.284Z";
    let lines = [
        json!({"parentUuid": null, "type": "user", "message": {"role": "user", "content": "make notes"}, "uuid": "a1",
            "timestamp": time, "cwd": victim.home.work(), "sessionId": id, "version": "2.1.197"}),
        json!({"parentUuid": "a1", "type": "assistant", "uuid": "a2", "timestamp": time, "sessionId": id,
            "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 6, "output_tokens": 5}}}),
        json!({"type": "ai-title", "aiTitle": title, "sessionId": id}),
    ];
    import_lines(victim, &lines, &title)
}

/// A session of pi, which the user has named.
fn import_name(victim: &mut Victim) -> Result<After, String> {
    let number = victim.next_number();
    let name = format!("a given name {number}");
    let time = "2026-11-21T14:00:34.914Z";
    let lines = [
        json!({"type": "session", "version": 3, "id": format!("01a1fe68-ab59-70ba-9294-{number:012}"), "timestamp": time,
            "cwd": victim.home.work()}),
        json!({"type": "message", "id": "b1", "parentId": null, "timestamp": time,
            "message": {"role": "user", "content": [{"type": "text", "text": "make notes"}], "timestamp": 1_795_269_635_085_u64}}),
        json!({"type": "session_info", "id": "b2", "parentId": "b1", "timestamp": time, "name": name}),
    ];
    import_lines(victim, &lines, &name)
}

fn import_lines(victim: &mut Victim, lines: &[Value], name: &str) -> Result<After, String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(victim.home.work().join("foreign.jsonl"), text).map_err(|error| error.to_string())?;
    let promise = Promise::contains("sessions", name);
    promised_by_program(victim, &["import", "foreign.jsonl"], "", promise)
}

/// A favourite is a setting.
fn settings(victim: &mut Victim) -> Result<After, String> {
    let on = victim.random.once_in(2);
    let reference = "anthropic-messages/m";
    let command = json!({"type": "set_favourite", "reference": reference, "on": on});
    let promise = Promise {
        is_there: on,
        ..Promise::contains("settings.toml", reference)
    };
    promised(victim, &command, 80, Some(promise))
}
