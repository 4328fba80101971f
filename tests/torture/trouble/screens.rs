//! Screens: many of them, one that stays for a thousand prompts, and one whose terminal is killed.

use osier_testing::skip;

use super::{PATIENCE, Trial, end};
use crate::support::terminal::Terminal;
use crate::support::until;

/// A server with clients that each work in a session of their own.
pub(super) fn ten_sessions(trial: &mut Trial) -> Result<(), String> {
    let sessions = if trial.is_short { 3 } else { 10 };
    let mut clients = Vec::new();
    for _ in 0..sessions {
        let started = Terminal::start(&trial.home, &trial.program, &["attach", "--new"]);
        let client = started.map_err(|error| error.to_string())?;
        if !client.shows(PATIENCE, "Ask, or type") {
            return Err(format!("a client does not start:\n{}", client.screen()));
        }
        clients.push(client);
    }
    for _ in 0..3 {
        let mut sent = Vec::new();
        for client in &mut clients {
            let number = trial.next_number();
            type_line(client, &format!("GO tools {number}"))?;
            sent.push(number);
        }
        for (client, number) in clients.iter().zip(sent) {
            if !client.shows(PATIENCE, &format!("done {number}")) {
                return Err(format!("no answer to {number}:\n{}", client.screen()));
            }
        }
    }
    leave(trial, clients)
}

pub(super) fn type_line(terminal: &mut Terminal, line: &str) -> Result<(), String> {
    if !terminal.shows(PATIENCE, "Ask, or type") {
        return Err(format!("the editor is not empty:\n{}", terminal.screen()));
    }
    terminal.write(line);
    if !terminal.shows(PATIENCE, &format!("❯ {line}")) {
        return Err(format!("`{line}` is not shown:\n{}", terminal.screen()));
    }
    terminal.write("\r");
    Ok(())
}

/// Detaches the clients and stops the server.
fn leave(trial: &Trial, clients: Vec<Terminal>) -> Result<(), String> {
    for mut client in clients {
        client.write("\x04");
        if client.exit(PATIENCE).is_none() {
            return Err(format!("a client does not end:\n{}", client.screen()));
        }
    }
    let mut stop = trial.home.command(&trial.program);
    let stopped = stop.args(["serve", "stop"]).output();
    match stopped {
        Ok(output) if output.status.success() => Ok(()),
        other => Err(format!("serve stop: {other:?}")),
    }
}

/// The terminal emulator is killed while an answer streams: osier ends, and the session continues.
pub(super) fn vanished_terminal(trial: &mut Trial) -> Result<(), String> {
    let Some(tmux) = skip::program(&["tmux"], "apt install tmux") else {
        return Ok(());
    };
    let socket = trial.home.home().join("tmux.sock");
    let number = trial.next_number();
    let mut start = trial.home.command(&tmux);
    start
        .arg("-S")
        .arg(&socket)
        .args([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
        ])
        .arg(&trial.program)
        .arg(format!("GO half {number}"))
        .env("TERM", "xterm-256color");
    let started = start.output().map_err(|error| error.to_string())?;
    if !started.status.success() {
        return Err(format!(
            "tmux: {}",
            String::from_utf8_lossy(&started.stderr)
        ));
    }
    if !until(PATIENCE, || trial.server.held() > 0) {
        return Err("the answer does not begin".to_owned());
    }
    let is_tmux = |command: &str| command.starts_with("tmux") || command.contains("/tmux");
    for process in trial.home.processes() {
        if is_tmux(&process.command) {
            crate::support::signal(process.id, rustix::process::Signal::KILL);
        }
    }
    if !until(PATIENCE, || trial.home.processes().is_empty()) {
        return Err(format!("processes are left: {:?}", trial.home.processes()));
    }
    let mut rpc = trial.rpc(&["-c"])?;
    trial.prompt(&mut rpc, "text")?;
    end(rpc)
}

/// Many prompts in one session with a screen attached.
pub(super) fn attached_prompts(trial: &mut Trial) -> Result<(), String> {
    let prompts = if trial.is_short { 5 } else { 1_000 };
    let started = Terminal::start(&trial.home, &trial.program, &["attach"]);
    let mut client = started.map_err(|error| error.to_string())?;
    for _ in 0..prompts {
        let number = trial.next_number();
        type_line(&mut client, &format!("GO text {number}"))?;
        if !client.shows(PATIENCE, &format!("done {number}")) {
            return Err(format!("no answer to {number}:\n{}", client.screen()));
        }
    }
    for process in trial.home.processes() {
        let memory = process.usage().memory_kb / 1_000;
        trial.notes.push(format!(
            "{memory} MB after {prompts} prompts: {}",
            process.command
        ));
    }
    leave(trial, vec![client])
}
