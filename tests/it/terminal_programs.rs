//! Well-known programs that need a terminal: ssh, sudo, su, gdb, npm and htop.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use osier_protocol::{Event, Op};
use osier_session::SessionChoice;
use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::session::{OpenSession, TestProject};
use crate::support::sshd::Sshd;
use crate::terminal_sessions::{calls, sees, start, terminals, uses};

#[test]
fn model_works_in_a_shell_on_another_host() {
    let Some(sshd) = Sshd::start() else { return };
    let command = format!(
        "{} -tt -o ConnectionAttempts=50 -p {} root@127.0.0.1 'PS1=\"far> \" exec bash --norc --noprofile'",
        sshd.command(),
        sshd.port
    );
    let home = Home::new();
    let typed = |text: &str, wait: &str| json!({"id": "term1", "text": text, "wait": wait});
    let turns = json!([
        start(&command),
        uses(&typed("echo $((6 * 7)) ${SSH_TTY%/*}\n", "^42 /dev/pts")),
        uses(&typed("exit 5\n", "exit")),
        sees("[term1: exit code 5]", "It was 42."),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "It was 42.\n", ""));
}

#[test]
fn model_debugs_a_c_program() {
    if !skip::has(&["gdb", "cc"], "apt install gdb gcc libc6-dev") {
        return;
    }
    let home = Home::new();
    home.file(
        "add.c",
        "int main(void) {\n  int total = 0;\n  for (int n = 1; n <= 3; n++)\n    total += n;\n  return total;\n}\n",
    );
    let typed = |text: &str, wait: &str| json!({"id": "term1", "text": text, "wait": wait});
    let turns = json!([
        start("cc -g -O0 -o add add.c && DEBUGINFOD_URLS= exec gdb -q -nx ./add"),
        uses(&typed("break 5\nrun\n", "Breakpoint 1, main")),
        uses(&typed("print total\n", r"^\$1 = 6")),
        uses(&typed("kill\n", r"\(y or n\)")),
        uses(&typed("y\n", "killed")),
        uses(&typed("quit\n", "exit")),
        sees("[term1: exit code 0]", "The total is 6."),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "The total is 6.\n", ""));
}

/// Presses enter when the last result contains `question`.
fn accepts(question: &str, wait: &str) -> Value {
    let call = json!({"id": "term1", "text": "\n", "wait": wait});
    json!({"when": {"toolResult": question}, "steps": uses(&call)["steps"]})
}

#[test]
fn model_answers_the_questions_of_an_installer() {
    if !skip::has(&["npm"], "apt install npm") {
        return;
    }
    let question = r"^[a-z ]+:( \(.*\))?$|Is this OK";
    let answers = |question: &str, text: &str, wait: &str| {
        let call = json!({"id": "term1", "text": text, "wait": wait});
        json!({"when": {"toolResult": question}, "steps": uses(&call)["steps"]})
    };
    let mut turns = vec![
        start("npm init"),
        answers("package name:", "shop\n", "version:"),
        answers("version:", "2.0.0\n", question),
        sees("[term1: exit code 0]", "Created."),
    ];
    // Releases of npm ask different questions.
    let questions =
        "description entry_point test_command git_repository keywords author license type";
    let questions = questions
        .split(' ')
        .map(|name| name.replace('_', " ") + ":");
    turns.extend(questions.map(|name| accepts(&name, question)));
    turns.push(accepts("Is this OK", "exit"));
    let waits = uses(&json!({"id": "term1", "wait": "quiet"}));
    turns.push(json!({"repeat": true, "steps": waits["steps"]}));
    let home = Home::new();
    let ended = home.scripted(&json!(turns)).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "Created.\n", ""));
    let written = fs::read_to_string(home.work().join("package.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        (&written["name"], &written["version"]),
        (&json!("shop"), &json!("2.0.0"))
    );
}

fn screen(event: &Event) -> Option<&str> {
    match event {
        Event::TerminalScreen { screen, .. } => Some(&screen.output.text),
        _ => None,
    }
}

fn types(open: &OpenSession, text: &str) {
    open.host.send(Op::TypeInTerminal {
        terminal: "term1".to_owned(),
        text: text.to_owned(),
        paste: false,
    });
}

#[tokio::test]
async fn process_list_redraws_itself() {
    if !skip::has(&["htop"], "apt install htop") {
        return;
    }
    let project = TestProject::new();
    let mut open = project.open(SessionChoice::Unstored, calls(&[])).await;
    let command = "HTOPRC=/dev/null exec htop --delay=1".to_owned();
    open.host.send(Op::StartTerminal { command });
    let shows = |event: &Event| screen(event).is_some_and(|text| text.contains("Load average"));
    let seen = open.until(shows).await;
    let first = seen.last().and_then(screen).unwrap().to_owned();
    open.until(|event| shows(event) && screen(event) != Some(&first))
        .await;
    types(&open, "q");
    open.until(|event| terminals(event).is_some_and(|all| all.iter().all(|one| !one.running)))
        .await;
    open.close().await;
}

/// The password of the user `casey`, and its hash.
const PASSWORD: &str = "correct horse 42";
const HASH: &str = "$6$osiersalt$nTjHU.2VG9415F0W0PSCQMHO5C4VDK.Db6.52jcKXmkGHpbScuulb19AjZXLL67mTxX//3Cxu.dgpWBCNB8gK.";

/// Writes a script to `folder` that runs `command` as the user `casey`, who exists only for it: copies of the files that
/// list users are mounted over them. `None`, reported as a skip, if that is not possible.
fn as_casey(folder: &Path, command: &str) -> Option<String> {
    if !skip::has(
        &["unshare", "setpriv", "mount"],
        "apt install util-linux mount",
    ) {
        return None;
    }
    let may_mount = rustix::process::geteuid().is_root()
        && std::process::Command::new("unshare")
            .args(["-m", "true"])
            .status()
            .is_ok_and(|ended| ended.success());
    if !may_mount {
        skip::unsupported("mount", "a private list of users needs root and `unshare`");
        return None;
    }
    let mut script = "set -e\n".to_owned();
    let files = [
        ("passwd", "casey:x:4321:4321::/:/bin/sh\n".to_owned()),
        ("shadow", format!("casey:{HASH}:19000:0:99999:7:::\n")),
        (
            "sudoers",
            "casey ALL=(ALL) ALL\nDefaults lecture=never\n".to_owned(),
        ),
    ];
    for (name, lines) in files {
        let path = folder.join(name);
        let system = Path::new("/etc").join(name);
        let before = if name == "sudoers" {
            String::new()
        } else {
            fs::read_to_string(&system).unwrap()
        };
        fs::write(&path, before + &lines).unwrap();
        if system.exists() {
            osier_base::private::restrict(&path).unwrap();
            let (path, system) = (path.display(), system.display());
            let _ = writeln!(script, "mount --bind '{path}' {system}");
        }
    }
    // The copy of the list of users must be readable by the user.
    script += "chmod 644 /etc/passwd\ncd /\n";
    let _ = writeln!(
        script,
        "exec setpriv --reuid 4321 --regid 4321 --clear-groups {command}"
    );
    let path = folder.join("as-casey.sh");
    fs::write(&path, script).unwrap();
    Some(format!("exec unshare -m sh '{}'", path.display()))
}

/// The files below `folder` that contain `text`.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path)
            .is_ok_and(|content| String::from_utf8_lossy(&content).contains(text))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// The user types passwords for `command`, which then prints `result`, and the last password.
async fn passwords_stay_secret(command: &str, passwords: &[&str], result: &str) {
    let users = tempfile::tempdir().unwrap();
    let Some(command) = as_casey(users.path(), command) else {
        return;
    };
    let project = TestProject::new();
    let script = calls(&[("terminal", json!({"id": "term1"}))]);
    let mut open = project.open(SessionChoice::New, script).await;
    open.host.send(Op::StartTerminal { command });
    open.until(|event| terminals(event).is_some_and(|all| all.iter().any(|one| one.hidden_input)))
        .await;
    for (number, password) in passwords.iter().enumerate() {
        if number > 0 {
            // The program turns the echo off, which discards what was typed, and then asks again.
            let asks = |text: &str| text.matches("password for casey").count() > number;
            open.until(|event| screen(event).is_some_and(asks)).await;
        }
        types(&open, &format!("{password}\r"));
    }
    open.until(|event| terminals(event).is_some_and(|all| all.iter().all(|one| !one.running)))
        .await;
    let seen = format!("{:?}", open.run("go").await);
    let request = open.last_request().join("\n");
    assert!(request.contains(result), "{request}");
    assert!(request.contains("[hidden input]"), "{request}");
    for password in passwords {
        assert!(!seen.contains(password), "{seen}");
        assert!(!request.contains(password), "{request}");
        assert_eq!(files_with(project.folder(), password), Vec::<String>::new());
    }
    open.close().await;
}

#[tokio::test]
async fn passwords_for_sudo_stay_secret() {
    if skip::has(&["sudo"], "apt install sudo") {
        let command = "sudo -k sh -c 'id -un; echo correct horse 42'";
        passwords_stay_secret(command, &["wrong horse 41", PASSWORD], "root").await;
    }
}

#[tokio::test]
async fn password_for_su_stays_secret() {
    if skip::has(&["su"], "apt install util-linux") {
        let command = "su casey -c 'id -un; echo correct horse 42'";
        passwords_stay_secret(command, &[PASSWORD], "casey").await;
    }
}
