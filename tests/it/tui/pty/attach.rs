//! `osier attach`: a local interface for an agent in a server, through a socket and through ssh.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::program::{Program, Setup};
use super::{ANSWER, STUCK};
use crate::support::certificate::certified;
use crate::support::cli::{Home, Running};
use crate::support::connection::TestConnection;
use crate::support::sshd::Sshd;

/// Runs a command that waits until the test creates the file `go`.
const WAITS: &str = r#"{"turns": [
  {"when": {"toolResult": ""}, "steps": [{"text": "The command has ended."}]},
  {"repeat": true, "steps": [
    {"tool": "bash", "arguments": {"command": "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo seen"}}
  ]}
]}"#;

/// The background servers of this home, stopped at the end of the test.
struct Background(PathBuf);

impl Background {
    fn of(program: &Program) -> Self {
        Self(program.work().with_file_name("home"))
    }

    fn processes(&self) -> Vec<String> {
        let home = format!("OSIER_HOME={}", self.0.display());
        processes(|folder| {
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            let words = command_line(folder);
            words.contains(&"--detached".to_owned())
                && environment
                    .split(|byte| *byte == 0)
                    .any(|one| one == home.as_bytes())
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        for process in self.processes() {
            kill(&process);
        }
    }
}

/// Kills a process with the `kill` of the shell, which is always installed.
fn kill(process: &str) {
    let script = ["-c", "kill -9 \"$0\"", process];
    let _ = Command::new("sh").args(script).status();
}

/// Ids of the processes that `wanted` accepts.
pub(super) fn processes(wanted: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| wanted(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

pub(super) fn command_line(folder: &Path) -> Vec<String> {
    let line = fs::read(folder.join("cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0);
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The session of a process: the fourth value after its name.
fn process_session(process: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, values) = stat.rsplit_once(')').unwrap();
    values.split_whitespace().nth(3).unwrap().to_owned()
}

/// A run of `osier attach` whose sessions play `script`.
pub(super) fn attach(script: &str) -> Setup {
    Program::new()
        .file("s.json", script)
        .home_file(
            "settings.toml",
            "discover_local_models = false\nmodel = \"script/s.json\"\n",
        )
        .argument("attach")
}

#[test]
fn detached_session_continues_and_is_attached_again() {
    let mut program = attach(STUCK).start();
    let background = Background::of(&program);
    program.shows("Ask,");
    program.shows("on serve.sock");
    program.write("go\r");
    program.shows("The first half");
    program.write("\x04");
    assert!(program.exit().success());
    program.is_restored();
    program.shows("The session continues on the server. Reconnect with: osier attach");
    let servers = background.processes();
    assert_eq!(servers.len(), 1);
    // The server does not belong to the terminal.
    assert_eq!(process_session(&servers[0]), servers[0]);
    let mut again = program.again(&["attach"]);
    again.shows("The first half");
    again.shows("▌ go");
    again.shows("esc to interrupt");
    again.write("\x1b");
    again.hides("esc to interrupt");
    assert_eq!(background.processes().len(), 1);
}

#[test]
fn terminal_and_job_survive_a_detached_client_and_end_with_the_server() {
    let unique = format!("terminal-{}", std::process::id());
    let terminal = format!("echo up; cat; echo {unique}");
    let script = serde_json::json!({"turns": [
        {"steps": [{"tool": "bash", "arguments": {"command": terminal, "terminal": true}}]},
        {"steps": [{"tool": "bash", "arguments": {
            "command": format!("until [ -e go ]; do sleep 0.02; done; echo {unique}; exec sleep 600"),
            "background": true,
        }}]},
        {"repeat": true, "steps": [{"text": "Both run."}]},
    ]});
    let runs = || {
        processes(|folder| {
            command_line(folder)
                .iter()
                .any(|word| word.contains(&unique))
        })
    };
    let mut program = attach(&script.to_string()).size(100, 30).start();
    let background = Background::of(&program);
    program.shows("on serve.sock");
    program.write("start\r");
    program.shows("Both run.");
    program.hides("esc to interrupt");
    program.write("/terminal\r");
    program.shows("\nup");
    program.write("\r");
    program.shows("ctrl+] leave");
    program.write("first line\r");
    program.until("the line and its echo", |screen| {
        screen.matches("\nfirst line").count() == 2
    });
    program.write("\x1d");
    program.hides("ctrl+] leave");
    program.write("\x1b");
    program.hides("esc close");
    program.write("\x04");
    assert!(program.exit().success());
    program.shows("The session continues on the server.");

    let mut again = program.again(&["attach"]);
    again.shows("Both run.");
    // The cell shows the screen as it is now, not as the call of the model ended.
    again.shows("first line");
    again.write("/terminal\r");
    again.shows("\nfirst line");
    again.write("\r");
    again.shows("ctrl+] leave");
    again.write("second line\r");
    again.until("the line and its echo", |screen| {
        screen.matches("\nsecond line").count() == 2
    });
    again.write("\x1d");
    again.hides("ctrl+] leave");
    again.write("\x1b");
    again.hides("esc close");
    again.write("\x1bj");
    again.shows("Jobs");
    fs::write(again.work().join("go"), "").unwrap();
    again.shows(&unique);
    assert!(!runs().is_empty());
    assert_eq!(background.processes().len(), 1);
    drop(background);
    let deadline = Instant::now() + Duration::from_mins(2);
    while !runs().is_empty() {
        assert!(Instant::now() < deadline, "a program outlives the server");
        osier_testing::poll::pause();
    }
}

#[test]
fn server_sessions_open_in_tabs() {
    let mut program = attach(ANSWER).start();
    let background = Background::of(&program);
    program.shows("on serve.sock");
    program.write("hello\r");
    program.shows("• a list");
    program.hides("esc to interrupt");
    program.write("\x1bN");
    program.shows("2/2");
    program.shows("Ask, or type");
    program.write("second\r");
    program.shows("• a list");
    program.write("\x1b1");
    program.shows("▌ hello");
    program.shows("1/2");
    program.write("\x04");
    assert!(program.exit().success());
    // Both sessions are open on the server: the client attaches to the last used one, and opens the
    // other from the list.
    let mut again = program.again(&["attach"]);
    again.shows("▌ second");
    again.write("\x1bs");
    again.shows("▶ open on the server");
    again.write("hello\r");
    again.shows("▌ hello");
    again.shows("2/2");
    assert_eq!(background.processes().len(), 1);
}

#[test]
fn several_clients_show_the_same_session() {
    let mut one = attach(ANSWER).start();
    let _background = Background::of(&one);
    one.shows("on serve.sock");
    let mut two = one.again(&["attach"]);
    two.shows("on serve.sock");
    one.write("from one\r");
    one.shows("• a list");
    two.shows("▌ from one");
    two.shows("• a list");
    // A draft is not shared.
    one.write("a draft");
    one.shows("❯ a draft");
    two.hides("esc to interrupt");
    two.write("from two\r");
    two.shows("Another answer.");
    one.shows("▌ from two");
    one.shows("Another answer.");
    one.shows("❯ a draft");
    assert!(!two.screen().contains("a draft"), "{}", two.screen());
}

#[test]
fn take_over_changes_the_active_writer() {
    let mut one = attach(STUCK).argument("--as").argument("anna").start();
    let _background = Background::of(&one);
    one.shows("on serve.sock");
    assert!(!one.screen().contains("1 connected"), "{}", one.screen());
    let mut two = one.again(&["attach", "--as", "bob"]);
    two.shows("on serve.sock  2 connected");
    one.shows("2 connected");
    one.write("go\r");
    one.shows("2 connected · you have control");
    two.shows("2 connected · anna has control");
    two.shows("The first half");
    // The draft stays, and a message names the key for taking control.
    two.write("of bob\r");
    two.shows("anna has control: alt+T to take control");
    two.shows("❯ of bob");
    two.write("\x1bT");
    two.shows("2 connected · you have control");
    one.shows("bob took control");
    one.shows("2 connected · bob has control");
    two.write("\r");
    two.hides("❯ of bob");
    one.shows("of bob");
    // Every client can stop the run.
    one.write("\x1b");
    two.shows("anna stopped the run");
    two.write("\x04");
    assert!(two.exit().success());
    one.hides("2 connected");
}

#[test]
fn client_waits_for_an_unreachable_server() {
    let mut program = attach(ANSWER).argument("unix:nobody.sock").start();
    program.shows("disconnected: no server listens on");
    program.write("typed meanwhile\r");
    program.shows("Waiting to be sent: typed meanwhile");
    // The prompt can be changed until it is sent.
    program.write("\x1b[1;3A");
    program.shows("❯ typed meanwhile");
    program.hides("Waiting to be sent");
    program.write("\r");
    program.shows("Waiting to be sent: typed meanwhile");
    let server = program.work().join("nobody.sock");
    let mut server = Command::new(env!("CARGO_BIN_EXE_osier"))
        .args(["serve", "--unix"])
        .arg(server)
        .env("OSIER_HOME", program.work().with_file_name("home"))
        .current_dir(program.work())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    program.shows("on nobody.sock");
    program.shows("• a list");
    program.hides("Waiting to be sent");
    let _ = server.kill();
    let _ = server.wait();
    program.shows("disconnected:");
}

#[test]
fn draft_survives_the_exit_of_the_client() {
    let mut program = attach(ANSWER).start();
    let _background = Background::of(&program);
    program.shows("on serve.sock");
    program.write("a thought that is not done");
    program.waits_for_file("a thought that is not done");
    program.signal("KILL");
    program.exit();
    let mut again = program.again(&["attach"]);
    again.shows("❯ a thought that is not done");
    again.write("\r");
    again.shows("• a list");
    again.write("\x04");
    assert!(again.exit().success());
    let mut last = program.again(&["attach"]);
    last.shows("• a list");
    last.hides("❯ a thought");
}

#[test]
fn draft_of_a_second_client_survives_its_exit() {
    let mut one = attach(ANSWER).start();
    let _background = Background::of(&one);
    one.shows("on serve.sock");
    let mut two = one.again(&["attach"]);
    two.shows("on serve.sock");
    one.write("of the first");
    one.waits_for_file("of the first");
    two.write("of the second");
    two.waits_for_file("of the second");
    two.signal("KILL");
    two.exit();
    let mut again = one.again(&["attach"]);
    again.shows("❯ of the second");
    one.shows("❯ of the first");
}

/// A server at a port of this machine.
pub(super) fn listening(home: &Home) -> (Running, SocketAddr, String) {
    let mut running = home
        .cli()
        .args(["serve", "--listen", "127.0.0.1:0"])
        .start();
    let line = running.line().expect("a line that says where it listens");
    let (address, token) = line
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once("/#token="))
        .unwrap_or_else(|| panic!("no address: {line}"));
    (running, address.parse().unwrap(), token.to_owned())
}

#[test]
fn typing_and_reading_work_without_a_connection() {
    let home = Home::new();
    home.config("settings.toml", "discover_local_models = false\n");
    let (_server, address, token) = listening(&home);
    let (pem, config) = certified();
    let cable = TestConnection::to(address, Some(config));
    let place = format!("127.0.0.1:{}", cable.port());
    let rows: String = (1..=60).map(|row| format!("- row {row}\\n")).collect();
    let script = format!(
        r#"{{"turns": [{{"steps": [{{"text": "{rows}"}}]}}, {{"repeat": true, "steps": [{{"text": "Another answer."}}]}}]}}"#
    );
    let mut program = Program::new()
        .file("s.json", &script)
        .home_file("ca.pem", &pem)
        .home_file(
            "settings.toml",
            "discover_local_models = false\nca_file = \"ca.pem\"\n",
        )
        .argument("attach")
        .argument(&format!("https://{place}/#token={token}"))
        .argument("--model")
        .argument("script/s.json")
        .start();
    program.shows(&format!("on {place}"));
    program.write("go\r");
    program.shows("row 60");
    program.hides("esc to interrupt");
    cable.hold();
    program.write("typed meanwhile");
    program.shows("❯ typed meanwhile");
    for _ in 0..4 {
        program.write("\x1b[5~");
    }
    program.shows("• row 1\n");
    program.write("\x1bx");
    program.shows("╭─ Commands");
    program.write("\x1b");
    program.hides("╭─ Commands");
    // Sent requests wait for the connection.
    program.write("\r");
    cable.release();
    program.shows("Another answer.");
    program.shows("▌ typed meanwhile");
    cable.cut();
    program.shows("disconnected:");
    program.write("and again\r");
    program.shows("▌ and again");
    program.shows(&format!("on {place}"));
    program.hides("esc to interrupt");
    let screen = program.screen();
    assert_eq!(screen.matches("▌ and again").count(), 1, "{screen}");
}

/// Closes every connection to the server.
fn cut(sshd: &Sshd) -> usize {
    let config = sshd.client_config().display().to_string();
    let lines = processes(|folder| {
        let words = command_line(folder);
        words.first().is_some_and(|word| word.ends_with("ssh")) && words.contains(&config)
    });
    for line in &lines {
        kill(line);
    }
    lines.len()
}

#[test]
fn lost_connection_is_restored_without_losing_events() {
    let Some(sshd) = Sshd::start() else { return };
    let setup = attach(WAITS);
    let probe = setup.folder();
    let home = probe.join("home").display().to_string();
    let work = probe.join("work").display().to_string();
    let program = format!("env OSIER_HOME={home} {}", env!("CARGO_BIN_EXE_osier"));
    let mut program = setup
        .argument(&format!("ssh://root@127.0.0.1:{}{work}", sshd.port))
        .argument("--ssh")
        .argument(&sshd.command())
        .argument("--program")
        .argument(&program)
        .start();
    let _background = Background::of(&program);
    program.shows("Ask,");
    program.shows("on root@127.0.0.1");
    program.write("go on\r");
    let begun = program.work().join("begun");
    let deadline = Instant::now() + Duration::from_mins(2);
    while !begun.exists() {
        assert!(Instant::now() < deadline, "the command does not begin");
        osier_testing::poll::pause();
    }
    assert_eq!(cut(&sshd), 1);
    // The agent continues without clients.
    fs::write(program.work().join("go"), "").unwrap();
    program.shows("The command has ended.");
    program.shows("on root@127.0.0.1");
    program.hides("esc to interrupt");
    let screen = program.screen();
    assert_eq!(
        screen.matches("The command has ended.").count(),
        1,
        "{screen}"
    );
    assert_eq!(screen.matches("▌ go on").count(), 1, "{screen}");
    assert!(screen.contains("seen"), "{screen}");
}
