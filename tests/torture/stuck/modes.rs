//! How osier runs, and how the user leaves.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::rpc::Rpc;
use crate::support::terminal::Terminal;
use crate::support::{exit, signal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Screen,
    /// The full screen, left with ctrl+d instead of a signal, and with the confirmation while
    /// something runs.
    ScreenQuit,
    Print,
    Json,
    Rpc,
    Acp,
    Serve,
}

impl Mode {
    pub(super) const ALL: [Self; 7] = [
        Self::Screen,
        Self::ScreenQuit,
        Self::Print,
        Self::Json,
        Self::Rpc,
        Self::Acp,
        Self::Serve,
    ];
}

const PATIENCE: Duration = Duration::from_mins(1);
/// A pipe with more bytes is full: the kernel stores 64 KiB, and a line does not fit any more.
const PIPE: u64 = 48 * 1024;

pub(super) enum Running {
    Screen(Terminal),
    Plain(Child),
    Lines(Rpc),
    /// A server and its client.
    Served(Child, Terminal),
}

impl Running {
    /// Starts osier in a mode with the prompt `GO KIND NUMBER`. The output of a loud print mode is not read.
    pub(super) fn start(
        mode: Mode,
        home: &Home,
        program: &Path,
        kind: &str,
        number: u64,
    ) -> Result<Self, String> {
        let reads = kind != "loud";
        let text = format!("GO {kind} {number}");
        let failed = |error: std::io::Error| error.to_string();
        match mode {
            Mode::Screen | Mode::ScreenQuit => {
                let mut terminal = Terminal::start(home, program, &[]).map_err(failed)?;
                type_line(&mut terminal, &text)?;
                Ok(Self::Screen(terminal))
            }
            Mode::Print => plain(home, program, &["-p", &text], reads).map(Self::Plain),
            Mode::Json => plain(home, program, &["--json", &text], reads).map(Self::Plain),
            Mode::Rpc => {
                let mut rpc = Rpc::start(home, program, &["rpc"]).map_err(failed)?;
                rpc.send(&json!({"type": "prompt", "message": text}));
                Ok(Self::Lines(rpc))
            }
            Mode::Acp => acp(home, program, &text).map(Self::Lines),
            Mode::Serve => {
                let socket = format!("{}/s.sock", home.home().display());
                let child = plain(home, program, &["serve", "--unix", &socket], true)?;
                if !crate::support::until(PATIENCE, || Path::new(&socket).exists()) {
                    return Err("the server does not listen".to_owned());
                }
                let address = format!("unix:{socket}");
                let mut client =
                    Terminal::start(home, program, &["attach", &address]).map_err(failed)?;
                type_line(&mut client, &text)?;
                Ok(Self::Served(child, client))
            }
        }
    }

    /// Types keys, or sends a line over RPC.
    pub(super) fn write(&mut self, (keys, line): (&str, &str)) -> Result<(), String> {
        match self {
            Self::Screen(terminal) | Self::Served(_, terminal) => match keys.strip_suffix('\r') {
                Some(text) => type_line(terminal, text)?,
                None => terminal.write(keys),
            },
            Self::Lines(rpc) => rpc.send(&serde_json::from_str(line).unwrap_or_default()),
            Self::Plain(_) => {}
        }
        Ok(())
    }

    /// Stops reading the output.
    pub(super) fn pause(&self) {
        match self {
            Self::Screen(terminal) => terminal.pause(true),
            Self::Lines(rpc) => rpc.pause(),
            Self::Plain(_) | Self::Served(..) => {}
        }
    }

    /// Whether the pipe of its output is full.
    pub(super) fn is_full(&self) -> bool {
        let id = match self {
            Self::Plain(child) => child.id(),
            Self::Lines(rpc) => rpc.id(),
            Self::Screen(_) | Self::Served(..) => return false,
        };
        let pipe = File::open(format!("/proc/{id}/fd/1"));
        pipe.is_ok_and(|pipe| rustix::io::ioctl_fionread(pipe).is_ok_and(|bytes| bytes > PIPE))
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Screen(terminal) | Self::Served(_, terminal) => terminal.screen(),
            _ => String::new(),
        }
    }

    pub(super) fn leave(&mut self, mode: Mode) {
        match self {
            Self::Screen(terminal) if mode == Mode::ScreenQuit => quit(terminal),
            Self::Screen(terminal) => signal(terminal.id(), Signal::TERM),
            Self::Plain(child) | Self::Served(child, _) => signal(child.id(), Signal::TERM),
            Self::Lines(rpc) => signal(rpc.id(), Signal::TERM),
        }
    }

    pub(super) fn exit(&mut self, patience: Duration) -> bool {
        match self {
            Self::Screen(terminal) => terminal.exit(patience).is_some(),
            Self::Plain(child) | Self::Served(child, _) => exit(child, patience).is_some(),
            Self::Lines(rpc) => rpc.exit(patience).is_some(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Plain(child) | Self::Served(child, _) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Presses ctrl+d, and the second choice if osier asks. A full terminal shows no question.
fn quit(terminal: &mut Terminal) {
    terminal.write("\x04");
    if terminal.is_paused() || terminal.shows(PATIENCE, "Quit and stop") {
        terminal.write("\x1b[B\r");
    }
}

fn type_line(terminal: &mut Terminal, text: &str) -> Result<(), String> {
    if !terminal.shows(PATIENCE, "Ask, or type") {
        return Err(format!("the editor is not shown:\n{}", terminal.screen()));
    }
    terminal.write(text);
    if !terminal.shows(PATIENCE, &format!("❯ {text}")) {
        return Err(format!("`{text}` is not shown:\n{}", terminal.screen()));
    }
    terminal.write("\r");
    Ok(())
}

fn plain(home: &Home, program: &Path, arguments: &[&str], reads: bool) -> Result<Child, String> {
    let mut command = home.command(program);
    command.args(arguments).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if reads && let Some(mut output) = child.stdout.take() {
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(1..) = output.read(&mut buffer) {}
        });
    }
    Ok(child)
}

fn acp(home: &Home, program: &Path, text: &str) -> Result<Rpc, String> {
    let mut rpc = Rpc::start(home, program, &["acp"]).map_err(|error| error.to_string())?;
    let request = |id: u64, method: &str, parameters: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters});
    rpc.send(&request(
        1,
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": {}}),
    ));
    rpc.send(&request(
        2,
        "session/new",
        json!({"cwd": home.work(), "mcpServers": []}),
    ));
    let opened = rpc.until(PATIENCE, |line| line["id"] == 2);
    let session = opened.and_then(|line| line["result"]["sessionId"].as_str().map(str::to_owned));
    let Some(session) = session else {
        return Err("no session over ACP".to_owned());
    };
    let prompt = json!([{"type": "text", "text": text}]);
    rpc.send(&request(
        3,
        "session/prompt",
        json!({"sessionId": session, "prompt": prompt}),
    ));
    Ok(rpc)
}
