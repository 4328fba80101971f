//! Trouble from all sides: servers that restart in a storm, small models that fail, budgets, damaged plan files, subagents
//! that are killed, moves during a run, several osiers at once, odd files, interrupts at every point of an answer, a terminal
//! that vanishes. Each case ends with a prompt that works.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use osier_testing::skip;
use serde_json::{Value, json};

use crate::Report;
use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::{ModelServer, cut_turn};
use crate::support::random::Random;
use crate::support::rpc::Rpc;
use crate::support::terminal::Terminal;
use crate::support::until;
use crate::support::wires::Wire;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
const SETTINGS: &str = "model = \"openai-chat-completions/m\"\nsubagents = true\n";

/// An MCP server that ends as soon as its tools are known.
const STORM: &str = r#"#!/bin/sh
echo start >> starts
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"storm","version":"1"}}}' ;;
    *'"tools/list"'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}'
      exit 1 ;;
    *'"id"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"unknown"}}' ;;
  esac
done
"#;
/// Starts of that server by five prompts.
const MOST_STARTS: usize = 40;

type Case = fn(&mut Trial) -> Result<(), String>;

/// The name of each case, and whether the short version runs it.
const CASES: &[(&str, bool, Case)] = &[
    ("interrupts", false, interrupts),
    ("mcp storm", false, mcp_storm),
    ("small model", false, small_model),
    ("budget", false, budget),
    ("plan files", false, plan_files),
    ("moves during a run", false, moves),
    ("two osiers", false, two_osiers),
    ("odd files", false, odd_files),
    ("subagents", false, subagents),
    ("ten sessions", false, ten_sessions),
    ("vanished terminal", false, vanished_terminal),
    ("attached prompts", false, attached_prompts),
];

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("trouble")?;
    let mut report = Report::default();
    for (place, (name, in_short, case)) in CASES.iter().enumerate() {
        let is_wanted = |case: &String| name.contains(case.as_str());
        if options.case.as_ref().is_some_and(|case| !is_wanted(case)) {
            continue;
        }
        if options.is_short() && !in_short && !options.is_chosen {
            continue;
        }
        let server = Arc::new(ModelServer::start()?);
        let path = folder.path.join(place.to_string());
        let mut trial = Trial {
            home: Home::new(path.clone(), &server.models_json(), SETTINGS)?,
            server,
            program: options.program().to_owned(),
            random: Random::new(options.seed + place as u64),
            number: 1,
            is_short: options.is_short(),
            notes: Vec::new(),
        };
        report.tried += 1;
        let result = case(&mut trial).and_then(|()| trial.check());
        report
            .notes
            .extend(trial.notes.iter().map(|note| format!("{name}: {note}")));
        match result {
            Ok(()) => fs::remove_dir_all(path)?,
            Err(problem) => report.failures.push(format!("{name}: {problem}")),
        }
    }
    Ok(report)
}

/// One case: its home, and what it uses.
struct Trial {
    home: Home,
    server: Arc<ModelServer>,
    program: PathBuf,
    random: Random,
    number: u64,
    is_short: bool,
    notes: Vec<String>,
}

impl Trial {
    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }

    fn rpc(&self, arguments: &[&str]) -> Result<Rpc, String> {
        let arguments = [&["rpc"], arguments].concat();
        let started = Rpc::start(&self.home, &self.program, &arguments);
        started.map_err(|error| error.to_string())
    }

    /// Sends a prompt and checks the answer.
    fn prompt(&mut self, rpc: &mut Rpc, kind: &str) -> Result<(), String> {
        let number = self.next_number();
        if !rpc.prompt(&format!("GO {kind} {number}"), PATIENCE) {
            return Err(format!("the prompt {kind} {number} does not end"));
        }
        let answer = rpc.ask(
            &json!({"id": "text", "type": "get_last_assistant_text"}),
            PATIENCE,
        );
        let answer = answer.unwrap_or_default();
        let text = answer["data"]["text"].as_str().unwrap_or_default();
        if text.contains(&format!("done {number}")) {
            Ok(())
        } else {
            Err(format!(
                "the prompt {kind} {number} is answered with {answer}"
            ))
        }
    }

    /// After a case: no process is left, every prompt is stored, and a strict server accepts every request.
    fn check(&self) -> Result<(), String> {
        if !until(PATIENCE, || self.home.processes().is_empty()) {
            return Err(format!("processes are left: {:?}", self.home.processes()));
        }
        let (stored, broken) = self.home.stored_prompts();
        if !broken.is_empty() {
            return Err(format!("broken lines: {broken:?}"));
        }
        let lost = (1..self.number)
            .find(|number| self.server.has_arrived(*number) && !stored.contains(number));
        if let Some(number) = lost {
            return Err(format!("prompt {number} is in no session file"));
        }
        match self.server.take_violations().first() {
            Some(problem) => Err(format!("a strict server refuses: {problem}")),
            None => Ok(()),
        }
    }
}

/// Closes the input; osier ends by itself.
fn end(mut rpc: Rpc) -> Result<(), String> {
    rpc.close_input();
    match rpc.exit(PATIENCE) {
        Some(status) if status.success() => Ok(()),
        other => Err(format!("it ends with {other:?}")),
    }
}

/// Interrupts an answer after each of its events, in every wire format.
fn interrupts(trial: &mut Trial) -> Result<(), String> {
    for wire in Wire::ALL {
        let model = format!("{}/m", wire.api());
        let mut rpc = trial.rpc(&["--model", &model])?;
        let events = wire.frames(&cut_turn()).len();
        let step = if trial.is_short { 5 } else { 1 };
        for event in (0..=events).step_by(step) {
            let (number, held) = (trial.next_number(), trial.server.held());
            rpc.send(&json!({"type": "prompt", "message": format!("GO cut{event} {number}")}));
            if !until(PATIENCE, || trial.server.held() > held) {
                return Err(format!("{model}: the answer does not reach event {event}"));
            }
            let left = trial.random.below(4);
            std::thread::sleep(Duration::from_millis(left));
            rpc.send(&json!({"type": "abort"}));
            let settled = rpc.until(PATIENCE, |line| line["type"] == "agent_settled");
            if settled.is_none() {
                return Err(format!(
                    "{model}: an interrupt after event {event} does not end the run"
                ));
            }
            trial
                .prompt(&mut rpc, "text")
                .map_err(|problem| format!("{model}, after event {event}: {problem}"))?;
        }
        end(rpc)?;
    }
    Ok(())
}

fn mcp_storm(trial: &mut Trial) -> Result<(), String> {
    let script = trial.home.home().join("storm.sh");
    let failed = |error: io::Error| error.to_string();
    fs::write(&script, STORM).map_err(failed)?;
    let servers = json!({"mcpServers": {"fake": {"command": "sh", "args": [script]}}});
    trial
        .home
        .config("mcp.json", &servers.to_string())
        .map_err(failed)?;
    let mut rpc = trial.rpc(&[])?;
    for _ in 0..5 {
        trial.prompt(&mut rpc, "mcp")?;
    }
    end(rpc)?;
    let starts = fs::read_to_string(trial.home.work().join("starts")).unwrap_or_default();
    let starts = starts.lines().count();
    trial.notes.push(format!("{starts} starts"));
    if starts > MOST_STARTS {
        return Err(format!("the server was started {starts} times"));
    }
    Ok(())
}

/// The small model, of titles, summaries and their check, fails in three ways.
fn small_model(trial: &mut Trial) -> Result<(), String> {
    let refused = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = refused
        .local_addr()
        .map_err(|error| error.to_string())?
        .port();
    drop(refused);
    let mut models: Value = serde_json::from_str(&trial.server.models_json()).unwrap_or_default();
    let own = models["providers"]["openai-chat-completions"].clone();
    let base = own["baseUrl"].as_str().unwrap_or_default().to_owned();
    let addresses = [
        (
            "missing",
            base.replace("openai-chat-completions", "nothing"),
        ),
        ("other", base.replace("openai-chat-completions", "ollama")),
        ("closed", format!("http://127.0.0.1:{port}/v1")),
    ];
    for (name, address) in &addresses {
        models["providers"][*name] = own.clone();
        models["providers"][*name]["baseUrl"] = json!(address);
    }
    let failed = |error: io::Error| error.to_string();
    trial
        .home
        .config("models.json", &models.to_string())
        .map_err(failed)?;
    for (name, _) in &addresses {
        let settings = format!(
            "discover_local_models = false\npermissions = \"yolo\"\nmax_retries = 0\nsmall_model = \"{name}/m\"\n{SETTINGS}"
        );
        trial
            .home
            .config("settings.toml", &settings)
            .map_err(failed)?;
        let mut rpc = trial.rpc(&[])?;
        trial.prompt(&mut rpc, "long")?;
        trial.prompt(&mut rpc, "long")?;
        let compacted = rpc.ask(&json!({"id": "compact", "type": "compact"}), PATIENCE);
        let compacted = compacted.ok_or(format!("{name}: the compaction does not end"))?;
        trial
            .notes
            .push(format!("{name}: {}", compacted["data"]["type"]));
        trial.prompt(&mut rpc, "tools")?;
        end(rpc)?;
    }
    Ok(())
}

/// A limit is reached between two calls of a run; after it is raised, the session continues.
fn budget(trial: &mut Trial) -> Result<(), String> {
    for limit in [json!({"turns": 2}), json!({"tokens": 2000})] {
        let mut rpc = trial.rpc(&[])?;
        let set = |budget: &Value| json!({"id": "budget", "type": "set_budget", "budget": budget});
        rpc.ask(&set(&limit), PATIENCE)
            .ok_or("the budget is not set")?;
        let number = trial.next_number();
        if !rpc.prompt(&format!("GO tools {number}"), PATIENCE) {
            return Err(format!("a run at the limit {limit} does not end"));
        }
        let text = rpc.ask(
            &json!({"id": "text", "type": "get_last_assistant_text"}),
            PATIENCE,
        );
        if text.is_some_and(|text| text.to_string().contains(&format!("done {number}"))) {
            return Err(format!("the limit {limit} did not stop the run"));
        }
        rpc.ask(&set(&json!({"turns": 0, "tokens": 0})), PATIENCE)
            .ok_or("the budget is not removed")?;
        trial.prompt(&mut rpc, "tools")?;
        end(rpc)?;
    }
    Ok(())
}

/// The folder of plans is a file, a link to nothing, and a link to a device.
fn plan_files(trial: &mut Trial) -> Result<(), String> {
    let plans = trial.home.home().join("plans");
    let failed = |error: io::Error| error.to_string();
    for target in ["", "/nowhere/at/all", "/dev/full"] {
        let _ = fs::remove_file(&plans);
        if target.is_empty() {
            fs::write(&plans, "no folder").map_err(failed)?;
        } else {
            std::os::unix::fs::symlink(target, &plans).map_err(failed)?;
        }
        let mut rpc = trial.rpc(&["--permissions", "plan"])?;
        trial.prompt(&mut rpc, "plan")?;
        trial.prompt(&mut rpc, "text")?;
        end(rpc)?;
    }
    let _ = fs::remove_file(&plans);
    // A plan that was replaced by a pipe between two runs.
    let mut rpc = trial.rpc(&["--permissions", "plan"])?;
    trial.prompt(&mut rpc, "plan")?;
    for plan in trial.home.files_named(".md") {
        fs::remove_file(&plan).map_err(failed)?;
        pipe(&plan)?;
    }
    trial.prompt(&mut rpc, "plan")?;
    end(rpc)
}

/// Moves in the tree and other requests while an answer streams. Each is answered, and the run goes its way.
fn moves(trial: &mut Trial) -> Result<(), String> {
    let mut rpc = trial.rpc(&[])?;
    trial.prompt(&mut rpc, "tools")?;
    trial.prompt(&mut rpc, "tools")?;
    for command in [
        json!({"type": "undo_prompt"}),
        json!({"type": "redo_prompt"}),
        json!({"type": "branch"}),
        json!({"type": "restore_files", "at": {"at": "last_prompt"}, "byHand": true}),
        json!({"type": "undo_restore"}),
        json!({"type": "compact"}),
        json!({"type": "set_model", "reference": "anthropic-messages/m"}),
    ] {
        let (number, held) = (trial.next_number(), trial.server.held());
        rpc.send(&json!({"type": "prompt", "message": format!("GO half {number}")}));
        if !until(PATIENCE, || trial.server.held() > held) {
            return Err(format!("the answer {number} does not begin"));
        }
        let mut command = command;
        command["id"] = json!("moved");
        rpc.send(&command);
        // Some wait for the end of the run.
        rpc.send(&json!({"type": "abort"}));
        let (mut is_answered, mut is_settled) = (false, false);
        while !(is_answered && is_settled) {
            let line = rpc.until(PATIENCE, |line| {
                line["id"] == "moved" || line["type"] == "agent_settled"
            });
            let Some(line) = line else {
                return Err(format!(
                    "{command}: answered {is_answered}, settled {is_settled}"
                ));
            };
            is_answered |= line["id"] == "moved";
            is_settled |= line["type"] == "agent_settled";
        }
        trial
            .prompt(&mut rpc, "text")
            .map_err(|problem| format!("after {command}: {problem}"))?;
    }
    end(rpc)
}

/// Two osiers on one session, then two sessions in one directory.
fn two_osiers(trial: &mut Trial) -> Result<(), String> {
    let mut first = trial.rpc(&[])?;
    trial.prompt(&mut first, "tools")?;
    let mut second = trial.rpc(&["-c"])?;
    // The second one gets the session, or says why not.
    let state = second.ask(&json!({"id": "state", "type": "get_state"}), PATIENCE);
    trial
        .notes
        .push(format!("the second one opens it: {}", state.is_some()));
    let number = trial.next_number();
    second.send(&json!({"type": "prompt", "message": format!("GO text {number}")}));
    second.close_input();
    if second.exit(PATIENCE).is_none() {
        return Err("the second osier on a session does not end".to_owned());
    }
    drop(first);
    let (mut one, mut other) = (trial.rpc(&[])?, trial.rpc(&[])?);
    for _ in 0..3 {
        trial.prompt(&mut one, "tools")?;
        trial.prompt(&mut other, "files")?;
        for rpc in [&mut one, &mut other] {
            let undo = json!({"id": "undo", "type": "undo_prompt"});
            rpc.ask(&undo, PATIENCE).ok_or("an undo is not answered")?;
        }
    }
    end(one)?;
    end(other)
}

/// A project with many files, other repositories, special files, loops and odd names: what a run changed is restored.
fn odd_files(trial: &mut Trial) -> Result<(), String> {
    let work = trial.home.work();
    let failed = |error: io::Error| error.to_string();
    let count = if trial.is_short { 2_000 } else { 100_000 };
    for folder in 0..count / 500 {
        let folder = work.join(format!("many/{folder}"));
        fs::create_dir_all(&folder).map_err(failed)?;
        for file in 0..500 {
            fs::write(folder.join(format!("{file}.txt")), format!("{file}\n")).map_err(failed)?;
        }
    }
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, work.join(name)).map_err(failed)
    };
    link("loop-b", "loop-a")?;
    link("loop-a", "loop-b")?;
    link("..", "parent")?;
    link("/dev/zero", "zero")?;
    pipe(&work.join("pipe"))?;
    let _socket = std::os::unix::net::UnixListener::bind(work.join("socket")).map_err(failed)?;
    for name in [
        &b"\xff\xfe"[..],
        b"new\nline",
        b" space ",
        b"-rf",
        b"\x1b[31m",
        "ü\u{202e}x".as_bytes(),
    ] {
        let name = std::ffi::OsStr::from_bytes(name);
        fs::write(work.join(name), "odd\n").map_err(failed)?;
    }
    if let Some(git) = skip::program(&["git"], "apt install git") {
        repositories(&git, &work);
    }
    let mut rpc = trial.rpc(&[])?;
    trial.prompt(&mut rpc, "text")?;
    let number = trial.number;
    let file = work.join(format!("by-{number}.txt"));
    trial.prompt(&mut rpc, "write")?;
    if !file.exists() {
        return Err("the file was not written".to_owned());
    }
    let restore =
        json!({"id": "back", "type": "restore_files", "at": {"at": "last_prompt"}, "byHand": true});
    let restored = rpc.ask(&restore, PATIENCE).unwrap_or_default();
    if restored["success"] != true || file.exists() {
        return Err(format!("not restored: {restored}"));
    }
    let odd = work.join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    if fs::read(odd).map_err(failed)? != b"odd\n" {
        return Err("a file with an odd name changed".to_owned());
    }
    end(rpc)
}

/// A repository in the repository, one as a submodule, and one that is damaged.
fn repositories(git: &Path, work: &Path) {
    let lines = "git init -q . && git init -q inner && git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m one \
         && git -c protocol.file.allow=always submodule -q add ./inner module; mkdir -p broken/.git; echo x > broken/.git/HEAD; \
         echo 'gitdir: /nowhere' > inner/gitfile";
    let _ = Command::new("sh")
        .args(["-c", lines])
        .current_dir(work)
        .env("PATH", git.parent().unwrap_or(Path::new("/usr/bin")))
        .stdin(Stdio::null())
        .output();
}

fn pipe(path: &Path) -> Result<(), String> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .map_err(|error| error.to_string())
}

/// Kills osier while twenty subagents work.
fn subagents(trial: &mut Trial) -> Result<(), String> {
    let rounds = if trial.is_short { 2 } else { 20 };
    for _ in 0..rounds {
        let number = trial.next_number();
        let mut rpc = trial.rpc(&["-c"])?;
        rpc.send(&json!({"type": "prompt", "message": format!("GO agents {number}")}));
        if !until(PATIENCE, || trial.server.has_arrived(number)) {
            return Err(format!("prompt {number} does not arrive"));
        }
        std::thread::sleep(Duration::from_millis(trial.random.below(1_500)));
        rpc.kill();
        let mut next = trial.rpc(&["-c"])?;
        trial.prompt(&mut next, "text")?;
        end(next)?;
    }
    let mut rpc = trial.rpc(&["-c"])?;
    trial.prompt(&mut rpc, "agents")?;
    end(rpc)
}

/// A server with clients that each work in a session of their own.
fn ten_sessions(trial: &mut Trial) -> Result<(), String> {
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

fn type_line(terminal: &mut Terminal, line: &str) -> Result<(), String> {
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
fn vanished_terminal(trial: &mut Trial) -> Result<(), String> {
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
fn attached_prompts(trial: &mut Trial) -> Result<(), String> {
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
