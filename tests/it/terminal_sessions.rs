//! Terminal sessions with real programs, through the complete program and a complete session.

use osier_agent::ToolStatus;
use osier_llm::Script;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind};
use osier_protocol::{Event, Op, PermissionMode, TerminalInfo};
use osier_session::{SessionChoice, SessionSetup};
use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::session::{OpenSession, TestProject};

pub(crate) fn start(command: &str) -> Value {
    json!({"steps": [{"tool": "bash", "arguments": {"command": command, "terminal": true}}]})
}

pub(crate) fn uses(arguments: &Value) -> Value {
    json!({"steps": [{"tool": "terminal", "arguments": arguments}]})
}

pub(crate) fn sees(part: &str, answer: &str) -> Value {
    json!({"when": {"toolResult": part}, "steps": [{"text": answer}]})
}

#[test]
fn print_mode_uses_a_repl() {
    if !skip::has(&["python3"], "apt install python3") {
        return;
    }
    let home = Home::new();
    let turns = json!([
        start("PYTHON_BASIC_REPL=1 python3 -q"),
        uses(&json!({"id": "term1", "text": "6 * 7\n", "wait": "^42"})),
        sees(">>> 6 * 7\n42\n>>>\n[term1 80x24]", "It is 42."),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "It is 42.\n", ""));
}

#[test]
fn print_mode_uses_a_debugger() {
    if !skip::has(&["python3"], "apt install python3") {
        return;
    }
    let home = Home::new();
    home.file(
        "add.py",
        "total = 0\nfor n in [1, 2, 3]:\n    total += n\nprint(total)\n",
    );
    let turns = json!([
        start("python3 -m pdb add.py"),
        uses(&json!({"id": "term1", "text": "b 4\nc\np total\n", "wait": "^6$"})),
        uses(&json!({"id": "term1", "text": "q\n", "wait": "exit"})),
        sees("[term1: exit code 0]", "The total is 6."),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "The total is 6.\n", ""));
}

#[test]
fn print_mode_uses_an_editor() {
    if !skip::has(&["vim"], "apt install vim") {
        return;
    }
    let home = Home::new();
    let turns = json!([
        start("vim -u NONE -N -i NONE -c 'set ttimeoutlen=10' new.txt"),
        uses(&json!({"id": "term1", "text": "ihello", "keys": ["esc"]})),
        uses(&json!({"id": "term1", "text": ":wq\n", "wait": "exit"})),
        sees("[term1: exit code 0]", "Written."),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "Written.\n", ""));
    let written = std::fs::read_to_string(home.work().join("new.txt")).unwrap();
    assert_eq!(written, "hello\n");
}

#[test]
fn flood_is_bounded_and_interrupted() {
    let home = Home::new();
    let flood = "trap 'echo stopped; exit 3' INT; while :; do seq 1000; done";
    let turns = json!([
        start(flood),
        uses(&json!({"id": "term1", "keys": ["ctrl+c"], "wait": "exit"})),
        sees("stopped\n[term1: exit code 3]", "It stopped."),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!(ended, ProgramOutput::new(0, "It stopped.\n", ""));
}

#[test]
fn sandbox_applies_to_a_terminal() {
    if !skip::has(&["bwrap"], "apt install bubblewrap") {
        return;
    }
    let home = Home::new();
    // Temporary directories are writable, so it is elsewhere.
    let outside = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let outside = outside.join(format!("terminal-{}", std::process::id()));
    let command = format!(
        "tty; touch {} || echo denied; touch inside; read answer </dev/tty; echo got $answer",
        outside.display()
    );
    let turns = json!([
        start(&command),
        uses(&json!({"id": "term1", "text": "yes\n", "wait": "exit"})),
        sees("got yes\n[term1: exit code 0]", "Done."),
    ]);
    let ended = home
        .scripted(&turns)
        .args([
            "--permissions",
            "yolo",
            "--sandbox",
            "workspace",
            "-p",
            "go",
        ])
        .run();
    assert_eq!(ended, ProgramOutput::new(0, "Done.\n", ""));
    assert!(home.work().join("inside").exists());
    assert!(!outside.exists());
}

/// Whether a process with this text in its command line runs.
#[cfg(target_os = "linux")]
fn runs(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(text))
}

#[cfg(target_os = "linux")]
#[test]
fn terminals_end_with_the_program_also_after_sigkill() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
        let home = Home::new();
        let seconds = format!("98{}.{}", signal.as_raw(), std::process::id());
        let command = format!("trap '' HUP TERM; sleep {seconds}; true");
        let turns = json!([
            start(&command),
            {"steps": [{"text": "started"}, {"wait": 600_000}]},
        ]);
        let mut program = home.scripted(&turns).args(["--mode", "json", "go"]).start();
        program.until_said("started");
        assert!(runs(&seconds));
        program.signal(signal);
        program.end();
        while runs(&seconds) {
            osier_testing::poll::pause();
        }
    }
}

/// A model that makes these calls, one per answer.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Script {
    let script = calls
        .iter()
        .fold(Script::new(), |script, (name, arguments)| {
            script.turn(|turn| turn.tool(name, arguments.clone()))
        });
    script.turn(|turn| turn.text("done").repeat())
}

fn asks(setup: &mut SessionSetup) {
    setup.permissions = Some(PermissionMode::Ask);
    setup.answers_questions = true;
}

async fn question(open: &mut OpenSession) -> (String, Question) {
    let seen = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = seen.last() else {
        panic!("nothing was asked");
    };
    let QuestionKind::Permission {
        tool, arguments, ..
    } = &question.kind
    else {
        panic!("{question:?}");
    };
    let asked = format!("{tool} {arguments}");
    (asked, (**question).clone())
}

fn allow(open: &OpenSession, question: &Question) {
    let answer = Answer::Allow {
        grant: Grant::Once,
        arguments: None,
    };
    let id = question.id.clone();
    open.host.send(Op::AnswerQuestion { id, answer });
}

#[tokio::test]
async fn line_for_a_shell_is_checked_like_a_command() {
    let project = TestProject::new();
    let typed = |text: &str| ("terminal", json!({"id": "term1", "text": text}));
    let script = calls(&[
        (
            "bash",
            json!({"command": "exec bash --norc", "terminal": true}),
        ),
        typed("touch "),
        typed("made\n"),
        ("terminal", json!({"id": "term1", "keys": ["up", "enter"]})),
        ("terminal", json!({"id": "term1", "screen": true})),
    ]);
    let mut open = project
        .open_with(SessionChoice::Unstored, script, asks)
        .await;
    open.prompt("go");
    let (asked, first) = question(&mut open).await;
    assert!(asked.starts_with("bash "), "{asked}");
    allow(&open, &first);
    // The beginning of a line runs nothing, so only its end is asked about.
    let (asked, second) = question(&mut open).await;
    assert_eq!(asked, r#"bash {"command":"touch made"}"#);
    allow(&open, &second);
    let (asked, third) = question(&mut open).await;
    assert!(asked.contains("(keys in a terminal: input "), "{asked}");
    let reason = Some("no".to_owned());
    let id = third.id.clone();
    let answer = Answer::Refuse { reason };
    open.host.send(Op::AnswerQuestion { id, answer });
    let seen = open.settled().await;
    let ends = seen.iter().filter_map(|event| match event {
        Event::Agent(osier_agent::Event::ToolExecutionEnd { result, .. }) => Some(&result.status),
        _ => None,
    });
    let ends: Vec<bool> = ends.map(ToolStatus::is_success).collect();
    // The end of the second call may come before or after the third question.
    assert!(ends.ends_with(&[false, true]), "{ends:?}");
    assert!(project.work().join("made").exists());
    open.close().await;
}

/// A line that rules allow in bash, and that does more in the shell that reads it, or with its history.
#[tokio::test]
async fn lines_for_other_shells_are_asked_about() {
    let after = "echo \"x;touch made\"\n";
    for (shell, command, before, line) in [
        ("zsh", "exec zsh -f", "", "echo x # ; touch made\n"),
        ("tcsh", "exec tcsh -f", "", "echo x # ; touch made\n"),
        (
            "fish",
            "exec fish --no-config",
            "",
            "echo 'a\\' 'b; touch made #'\n",
        ),
        (
            "bash",
            "exec bash --norc",
            after,
            "echo !!:1:s/\"x;/x;/:s/made\"/made/\n",
        ),
    ] {
        if !skip::has(&[shell], "apt install zsh fish tcsh") {
            continue;
        }
        let project = TestProject::new();
        let typed = |text: &str| ("terminal", json!({"id": "term1", "text": text}));
        let mut made = vec![("bash", json!({"command": command, "terminal": true}))];
        made.extend((!before.is_empty()).then(|| typed(before)));
        made.push(typed(line));
        let mut open = project
            .open_with(SessionChoice::Unstored, calls(&made), |setup| {
                asks(setup);
                let rules = ["bash(echo *)", "terminal"];
                setup.settings.allow.extend(rules.map(str::to_owned));
            })
            .await;
        open.prompt("go");
        let (asked, first) = question(&mut open).await;
        assert!(asked.contains(command), "{asked}");
        allow(&open, &first);
        let (asked, second) = question(&mut open).await;
        assert!(
            asked.contains("touch made") || asked.contains("!!:1"),
            "{shell}: {asked}"
        );
        let answer = Answer::Refuse { reason: None };
        let id = second.id.clone();
        open.host.send(Op::AnswerQuestion { id, answer });
        open.settled().await;
        assert!(!project.work().join("made").exists(), "{shell}");
        open.close().await;
    }
}

pub(crate) fn terminals(event: &Event) -> Option<&Vec<TerminalInfo>> {
    match event {
        Event::Terminals { terminals } => Some(terminals),
        _ => None,
    }
}

#[tokio::test]
async fn user_starts_types_a_password_and_closes() {
    let project = TestProject::new();
    let script = calls(&[("terminal", json!({"id": "term1"}))]);
    let mut open = project.open(SessionChoice::New, script).await;
    let command = "read -s -p 'Password: ' word; echo; echo got ${#word}; exec cat".to_owned();
    open.host.send(Op::StartTerminal { command });
    open.until(|event| terminals(event).is_some_and(|all| all.iter().any(|one| one.hidden_input)))
        .await;
    open.host.send(Op::TypeInTerminal {
        terminal: "term1".to_owned(),
        text: "hunter2\r".to_owned(),
        paste: false,
    });
    open.until(|event| match event {
        Event::TerminalScreen { screen, .. } => screen.output.text == "Password: \ngot 7",
        _ => false,
    })
    .await;
    open.host.send(Op::ResizeTerminal {
        terminal: "term1".to_owned(),
        rows: 10,
        columns: 40,
    });
    open.until(|event| match event {
        Event::TerminalScreen { screen, .. } => (screen.rows, screen.columns) == (10, 40),
        _ => false,
    })
    .await;
    let seen = open.run("go").await;
    let told = format!("{seen:?}");
    assert!(told.contains("got 7"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    open.host.send(Op::CloseTerminal {
        terminal: "term1".to_owned(),
    });
    open.until(|event| terminals(event).is_some_and(|all| all.iter().all(|one| !one.running)))
        .await;
    let stored = std::fs::read_to_string(open.path()).unwrap();
    assert!(!stored.contains("hunter2"));
    open.close().await;
}

#[tokio::test]
async fn watcher_wakes_the_agent() {
    let project = TestProject::new();
    let command = "until [ -e go ]; do sleep 0.01; done; echo 2 tests FAILED; exec sleep 600";
    let script = calls(&[
        ("bash", json!({"command": command, "background": true})),
        ("terminal", json!({"id": "job1", "watch": "FAILED"})),
    ]);
    let mut open = project.open(SessionChoice::Unstored, script).await;
    open.run("tell me when the tests fail").await;
    std::fs::File::create(project.work().join("go")).unwrap();
    open.settled().await;
    let request = open.last_request().join("\n");
    assert!(
        request.contains("[job1 printed a line that matches `FAILED`: 2 tests FAILED]"),
        "{request}"
    );
    open.close().await;
}

#[test]
fn waiting_sees_lines_that_are_longer_than_the_screen() {
    let home = Home::new();
    let command = "read _; printf '%070d tests FAILED_HERE_NOW end\\n' 0; exec cat";
    let turns = json!([
        start(command),
        uses(&json!({"id": "term1", "text": "\n", "wait": "FAILED_HERE_NOW", "timeout": 60})),
        sees(
            "0 tests FAILED_HERE_NOW end\n[term1 80x24]",
            "Two lines would be no match."
        ),
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    let expected = ProgramOutput::new(0, "Two lines would be no match.\n", "");
    assert_eq!(ended, expected);
}

#[tokio::test]
async fn a_password_in_a_long_line_is_hidden() {
    let project = TestProject::new();
    let script = calls(&[
        ("terminal", json!({"id": "term1"})),
        ("terminal", json!({"id": "term1", "screen": true})),
    ]);
    let mut open = project.open(SessionChoice::New, script).await;
    let command = "read -s -p 'Password: ' word; echo; printf '%070d %s\\n' 0 \"$word\"; exec cat";
    open.host.send(Op::StartTerminal {
        command: command.to_owned(),
    });
    open.until(|event| terminals(event).is_some_and(|all| all.iter().any(|one| one.hidden_input)))
        .await;
    open.host.send(Op::TypeInTerminal {
        terminal: "term1".to_owned(),
        text: "wrong\x17Ee5longsecretvalue99\r".to_owned(),
        paste: false,
    });
    open.until(|event| match event {
        Event::TerminalScreen { screen, .. } => screen.output.text.ends_with("\ncretvalue99"),
        _ => false,
    })
    .await;
    let seen = format!("{:?}", open.run("go").await);
    assert!(!seen.contains("Ee5"), "{seen}");
    let told = open.last_request().join("\n");
    assert_eq!(told.matches("0 [hidden input]").count(), 2, "{told}");
    let stored = std::fs::read_to_string(open.path()).unwrap();
    assert!(!stored.contains("Ee5") && !stored.contains("value99"));
    open.close().await;
}
