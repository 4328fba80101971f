//! States in which something hangs.

use std::any::Any;
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;

use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use super::modes::Mode;
use crate::support::home::Home;
use crate::support::model::ModelServer;

pub(super) const SETTINGS: &str = "model = \"openai-chat-completions/m\"\n";

/// A resource that is released when it is dropped.
type Held = Box<dyn Any>;

pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) prepare: fn(&Home, &ModelServer) -> io::Result<Held>,
    /// The kind of the prompt; empty for no prompt.
    pub(super) prompt: &'static str,
    /// Whether the program that hangs creates the file `reached`; otherwise the prompt has arrived at
    /// the server.
    pub(super) marks: bool,
    /// Milliseconds from the file or the prompt to the state itself.
    pub(super) settle: u64,
    /// Text that the user types after the prompt has arrived, and the same over RPC.
    pub(super) then: Option<(&'static str, &'static str)>,
    pub(super) modes: &'static [Mode],
}

const ALL: &[Mode] = &Mode::ALL;
const SCREEN: &[Mode] = &[Mode::Screen, Mode::ScreenQuit];
const PIPES: &[Mode] = &[Mode::Print, Mode::Json, Mode::Rpc, Mode::Acp];
/// The modes in which a user can compare with a commit.
const DIFFS: &[Mode] = &[Mode::Screen, Mode::ScreenQuit, Mode::Rpc, Mode::Serve];
/// The modes that open a session before its MCP servers have started: ACP waits for them.
const UNPREPARED: &[Mode] = &[
    Mode::Screen,
    Mode::ScreenQuit,
    Mode::Print,
    Mode::Json,
    Mode::Rpc,
    Mode::Serve,
];
/// The modes that stay open after a run.
const LASTING: &[Mode] = &[
    Mode::Screen,
    Mode::ScreenQuit,
    Mode::Rpc,
    Mode::Acp,
    Mode::Serve,
];

const fn arrived(
    name: &'static str,
    prompt: &'static str,
    prepare: fn(&Home, &ModelServer) -> io::Result<Held>,
) -> State {
    State {
        name,
        prepare,
        prompt,
        marks: false,
        settle: 400,
        then: None,
        modes: ALL,
    }
}

const fn command(name: &'static str, prompt: &'static str) -> State {
    State {
        marks: true,
        settle: 100,
        ..arrived(name, prompt, nothing)
    }
}

pub(super) const STATES: &[State] = &[
    arrived("the lock of the checkpoints", "tools", |home, _| {
        lock(home, "checkpoints/lock")
    }),
    State {
        modes: LASTING,
        ..arrived("the lock of the index", "text", |home, _| {
            lock(home, "index.lock")
        })
    },
    command("a command that ignores SIGTERM", "stubborn"),
    command("a command in its own session", "daemon"),
    command("a stopped command", "stopped"),
    command("a command that reads a pipe", "fifo"),
    command("a command that prints for ever", "flood"),
    command("eight commands that ignore SIGTERM", "many"),
    arrived("half of an answer", "half", nothing),
    State {
        marks: true,
        ..arrived("a server that does not answer", "text", |home, server| {
            silent(home, server, "http")
        })
    },
    State {
        marks: true,
        ..arrived("a TLS handshake", "text", |home, server| {
            silent(home, server, "https")
        })
    },
    State {
        marks: true,
        modes: UNPREPARED,
        ..arrived("an MCP server that does not start", "text", |home, _| {
            let reached = home.work().join("reached");
            mcp(
                home,
                &format!("touch '{}'; exec sleep 1000", reached.display()),
            )
        })
    },
    arrived("an MCP call", "hang", |home, _| mcp(home, "exec sh \"$0\"")),
    arrived("an MCP server that does not end", "mcp", |home, _| {
        mcp(
            home,
            "trap '' TERM HUP INT; sh \"$0\"; while :; do sleep 1; done",
        )
    }),
    State {
        marks: true,
        ..arrived("a hook before a tool", "tools", |home, _| {
            hook(home, "PreToolUse")
        })
    },
    State {
        marks: true,
        ..arrived("a hook at the end of a run", "text", |home, _| {
            hook(home, "Stop")
        })
    },
    arrived("a hook at the end of the session", "text", |home, _| {
        hook(home, "SessionEnd")
    }),
    State {
        marks: true,
        settle: 100,
        ..arrived("a plugin in a loop", "tools", plugin)
    },
    State {
        marks: true,
        then: Some((
            "/diff head\r",
            r#"{"type": "read_file_diffs", "request": 1, "range": {"over": "head"}}"#,
        )),
        modes: DIFFS,
        ..arrived("git", "text", |home, server| {
            let script = "#!/bin/sh\ntrap '' TERM\ntouch reached\nsleep 1000\n";
            home.program("git", script)?;
            fs::create_dir(home.work().join(".git"))?;
            nothing(home, server)
        })
    },
    // The checkpoint before the command does not end.
    arrived("a mount that does not answer", "mount", mount),
    State {
        modes: SCREEN,
        ..arrived("the terminal is full", "loud", nothing)
    },
    State {
        modes: PIPES,
        ..arrived("nobody reads the output", "loud", nothing)
    },
    State {
        marks: true,
        modes: &[Mode::Screen],
        then: Some(("\x07", "")),
        ..arrived("an open editor", "text", nothing)
    },
];

fn nothing(_: &Home, _: &ModelServer) -> io::Result<Held> {
    Ok(Box::new(()))
}

/// A lock that this process holds.
fn lock(home: &Home, name: &str) -> io::Result<Held> {
    let path = home.home().join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = File::create(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(Box::new(file))
}

/// A model server that accepts connections and sends nothing.
fn silent(home: &Home, server: &ModelServer, scheme: &str) -> io::Result<Held> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("{scheme}://{}", listener.local_addr()?);
    home.config("models.json", &server.models_at(&address))?;
    let reached = home.work().join("reached");
    // The thread and its connections end with the program.
    std::thread::spawn(move || {
        let mut connections = Vec::new();
        for connection in listener.incoming().flatten() {
            connections.push(connection);
            let _ = File::create(&reached);
        }
    });
    Ok(Box::new(()))
}

fn mcp(home: &Home, script: &str) -> io::Result<Held> {
    let path = home.home().join("mcp_server.sh");
    fs::write(&path, include_str!("../../it/mcp_server.sh"))?;
    let server = json!({"command": "sh", "args": ["-c", script, path]});
    home.config(
        "mcp.json",
        &json!({"mcpServers": {"fake": server}}).to_string(),
    )?;
    Ok(Box::new(()))
}

fn hook(home: &Home, event: &str) -> io::Result<Held> {
    let command = format!(
        "trap '' TERM; touch {}/reached; sleep 1000",
        home.work().display()
    );
    let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
    home.config("hooks.json", &json!({"hooks": {event: hook}}).to_string())?;
    Ok(Box::new(()))
}

fn plugin(home: &Home, _: &ModelServer) -> io::Result<Held> {
    fs::create_dir(home.home().join("plugins"))?;
    let code = "osier.on(\"tool_call\", function()\n  osier.exec(\"touch\", {\"reached\"})\n  \
                while true do pcall(function() while true do end end) end\nend)\n";
    home.config("plugins/loop.lua", code)?;
    Ok(Box::new(()))
}

/// A FUSE file system whose daemon stops reading: a request waits endlessly.
const DEAD: &str = r#"
import ctypes, os, struct, sys, time
device = os.open("/dev/fuse", os.O_RDWR)
options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % device
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"dead", sys.argv[1].encode(), b"fuse", 0, options.encode()):
    sys.exit(1)
request = os.read(device, 1 << 20)
unique = struct.unpack_from("<Q", request, 8)[0]
reply = struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 1, 1, 65536, 1, 0, 0, 0, *[0] * 7)
os.write(device, struct.pack("<IiQ", 16 + len(reply), 0, unique) + reply)
open(sys.argv[2], "w").close()
time.sleep(1000)
"#;

struct Daemon(std::process::Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // Closing its device aborts all requests.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn mount(home: &Home, _: &ModelServer) -> io::Result<Held> {
    let (place, ready) = (home.work().join("dead"), home.work().join("mounted"));
    fs::create_dir(&place)?;
    #[expect(clippy::disallowed_methods, reason = "a daemon of the test")]
    let mut child = std::process::Command::new("python3")
        .args(["-c", DEAD])
        .args([&place, &ready])
        .spawn()?;
    let is_mounted = crate::support::until(std::time::Duration::from_secs(10), || {
        ready.exists() || child.try_wait().is_ok_and(|status| status.is_some())
    });
    if !is_mounted || !ready.exists() {
        let _ = child.kill();
        return Err(io::Error::other(
            "skipped: a FUSE file system cannot be mounted here",
        ));
    }
    Ok(Box::new(Daemon(child)))
}

/// Unmounts what [`mount`] has left.
pub(super) fn release(home: &Home) {
    let place = home.work().join("dead");
    #[expect(clippy::disallowed_methods, reason = "a helper of the test")]
    let mut umount = std::process::Command::new("umount");
    if place.is_dir() || fs::symlink_metadata(&place).is_err() {
        let _ = umount
            .arg("-l")
            .arg(place)
            .stderr(std::process::Stdio::null())
            .status();
    }
}
