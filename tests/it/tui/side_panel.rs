//! The side panel: changed files, what runs, and the to-do list.

use osier_llm::Script;
use osier_llm::scripted::Turn;
use osier_protocol::{
    CheckpointOp, CodeServerInfo, CodeServerState, DiagnosticCounts, Event, FileDiagnostics, Op,
};
use osier_term::input::{InputEvent, KeyModifiers, MouseButton, MouseEventKind, MouseInput};
use serde_json::{Value, json};

use super::support::{Builder, Screen};

fn write(path: &str, lines: usize) -> Value {
    let content: String = (1..=lines).map(|line| format!("line {line}\n")).collect();
    json!({"file_path": path, "content": content})
}

/// One step of a turn that calls a tool.
fn calls(script: Script, tool: &'static str, arguments: Value) -> Script {
    script.turn(move |turn: Turn| turn.tool(tool, arguments))
}

/// Changes files of several folders, starts a job and a terminal, and has a to-do list.
fn busy() -> Script {
    let todo = json!({"items": [
        {"text": "Read the parser", "state": "done"},
        {"text": "Count errors while parsing", "state": "doing"},
        {"text": "Write tests", "state": "open"},
    ]});
    let command = "printf 'one\\nTWO\\n' > README.md; rm old.txt; printf 'a\\0b' > data.bin";
    let steps = [
        ("read", json!({"file_path": "src/main.rs"})),
        ("write", write("src/parser/lexer.rs", 12)),
        ("write", write("src/main.rs", 3)),
        (
            "write",
            write("tests/a_test_with_a_name_that_is_too_long.rs", 40),
        ),
        ("bash", json!({"command": command})),
        ("bash", json!({"command": "sleep 600", "background": true})),
        (
            "bash",
            json!({"command": "exec sleep 601", "terminal": true}),
        ),
        ("todo", todo),
    ];
    let script = steps
        .into_iter()
        .fold(Script::new(), |script, (tool, arguments)| {
            calls(script, tool, arguments)
        });
    script.turn(|turn| turn.text("Done.").repeat())
}

fn screen(columns: u16, rows: u16, script: Script) -> Builder {
    Screen::new(columns, rows)
        .file("README.md", "one\ntwo\n")
        .file("old.txt", "old\n")
        .file("src/main.rs", "fn main() {}\n")
        .script(script)
        .settings(|settings| settings.screen.side_panel = true)
}

/// Applies events until a row of the panel has this start and end.
async fn row(screen: &mut Screen, start: &str, end: &str) {
    let is_row = |row: &String| row.starts_with(start) && row.ends_with(end);
    while !panel(screen).iter().any(is_row) {
        screen.next_event().await;
    }
}

/// A language server that reports about files of the working directory: path, errors, warnings.
fn reports(screen: &mut Screen, files: &[(&str, u64, u64)]) {
    let work = screen.work();
    let files = files
        .iter()
        .map(|(path, errors, warnings)| FileDiagnostics {
            file_path: work.join(path).display().to_string(),
            diagnostics: DiagnosticCounts {
                errors: *errors,
                warnings: *warnings,
            },
        });
    let server = CodeServerInfo {
        name: "rust-analyzer".to_owned(),
        root: work.display().to_string(),
        state: CodeServerState::Ready,
        error: None,
        diagnostics: DiagnosticCounts::default(),
        problems: Vec::new(),
        files: files.collect(),
    };
    let servers = vec![server];
    let now = screen.now;
    screen.app.on_event(&Event::CodeServers { servers }, now);
}

/// The columns of the panel, without the rule.
fn panel(screen: &mut Screen) -> Vec<String> {
    let shown = screen.screen();
    let rows = shown.lines().filter_map(|row| row.split_once('│'));
    rows.map(|(_, row)| row.trim().to_owned()).collect()
}

#[tokio::test]
async fn changed_files_jobs_and_to_dos_are_shown() {
    for (name, columns, rows) in [("side_panel", 140, 40), ("side_panel_wide", 200, 60)] {
        let mut screen = screen(columns, rows, busy()).start().await;
        screen.send("go").settled().await;
        screen.shows("deleted -1").await.shows("│ term1").await;
        reports(
            &mut screen,
            &[
                ("src/main.rs", 2, 1),
                ("README.md", 0, 3),
                ("/other.rs", 9, 9),
            ],
        );
        insta::assert_snapshot!(name, screen.styled());
        screen.close().await;
    }
}

#[tokio::test]
async fn panel_needs_140_columns_and_no_screen_reader() {
    let mut screen = screen(139, 40, busy()).start().await;
    screen.send("go").settled().await;
    assert!(!screen.screen().contains("Changed files"));
    screen.resize(140, 40).shows("deleted -1").await;
    screen.resize(139, 40);
    let narrow = screen.screen();
    assert!(
        !narrow.contains("Changed files") && !narrow.contains('│'),
        "{narrow}"
    );
    screen.resize(140, 40).shows("deleted -1").await;
    screen.close().await;

    let aloud = screen_reader().start();
    let mut screen = aloud.await;
    screen.send("go").settled().await;
    assert!(!screen.screen().contains("Changed files"));
    screen.close().await;
}

fn screen_reader() -> Builder {
    screen(160, 40, busy()).settings(|settings| settings.screen.screen_reader = true)
}

#[tokio::test]
async fn key_and_command_toggle_the_panel_and_save_that() {
    let mut screen = screen(140, 30, Script::new())
        .settings(|settings| settings.screen.side_panel = false)
        .start()
        .await;
    let settings = screen.home().join("settings.toml");
    let saves = |line: &str| {
        let saved = std::fs::read_to_string(&settings).unwrap();
        saved.lines().any(|saved| saved == line)
    };
    assert!(!screen.screen().contains("Changed files"));
    screen.press("alt+U");
    assert!(screen.screen().contains("Changed files"));
    assert!(saves("side_panel = true"));
    screen.send("/panel");
    assert!(!screen.screen().contains("Changed files"));
    assert!(saves("side_panel = false"));
    screen.resize(120, 30).screen();
    screen
        .press("alt+U")
        .shows("the side panel is on; it needs 140 columns, this terminal has 120")
        .await;
}

#[tokio::test]
async fn hidden_panel_requests_nothing() {
    let mut screen = screen(140, 40, busy())
        .settings(|settings| settings.screen.side_panel = false)
        .start()
        .await;
    let is_request = |op: &Op| matches!(op, Op::Checkpoint(CheckpointOp::CountChangedLines { .. }));
    screen.send("go").settled().await.screen();
    assert!(!screen.app.take_ops().iter().any(is_request));
    screen.press("alt+U").screen();
    assert!(screen.app.take_ops().iter().any(is_request));
    screen.close().await;
}

#[tokio::test]
async fn counts_follow_the_edits() {
    let edit = json!({"file_path": "a.txt", "edits": [{"oldText": "line 2\n", "newText": "line two\nline 2.5\n"}]});
    let script = Script::new()
        .turn(|turn| turn.tool("write", write("a.txt", 3)))
        .turn(|turn| turn.text("Made."))
        .turn(|turn| turn.tool("edit", edit))
        .turn(|turn| turn.text("Changed."));
    let mut screen = screen(140, 24, script).start().await;
    assert_eq!(panel(&mut screen)[..2], ["Changed files", "none"]);
    screen.send("make").settled().await;
    row(&mut screen, "a.txt", "+3").await;
    screen.send("change").settled().await;
    row(&mut screen, "a.txt", "+4").await;
    // A command of the user changes files, too.
    screen.send("!rm a.txt; echo x >> README.md");
    row(&mut screen, "README.md", "+1").await;
    assert!(
        !panel(&mut screen)
            .iter()
            .any(|row| row.starts_with("a.txt"))
    );
}

#[tokio::test]
async fn restored_files_leave_the_list() {
    let script = calls(Script::new(), "write", write("a.txt", 3));
    let script = script.turn(|turn| turn.text("Made."));
    let mut screen = screen(140, 24, script).start().await;
    screen.send("make").settled().await;
    row(&mut screen, "a.txt", "+3").await;
    screen.send("/undo files").shows("1 file").await;
    screen.press("enter");
    row(&mut screen, "none", "none").await;
}

#[tokio::test]
async fn long_lists_are_cut_and_counted() {
    let command = "mkdir -p d; for i in $(seq 100 129); do echo x > d/f$i; done; echo x > top";
    let jobs = (0..9).fold(Script::new(), |script, number| {
        let command = format!("sleep 60{number}");
        calls(
            script,
            "bash",
            json!({"command": command, "background": true}),
        )
    });
    let items: Vec<Value> = (0..12)
        .map(|item| json!({"text": format!("item {item}"), "state": "open"}))
        .collect();
    let script = calls(jobs, "bash", json!({"command": command}));
    let script = calls(script, "todo", json!({"items": items}));
    let script = script.turn(|turn| turn.text("Done."));
    let mut screen = screen(140, 40, script).start().await;
    screen.send("go").settled().await.shows("│ d/").await;
    insta::assert_snapshot!("side_panel_cut", panel(&mut screen).join("\n"));
    screen.resize(140, 12);
    insta::assert_snapshot!("side_panel_low", panel(&mut screen).join("\n"));
    screen.close().await;
}

#[tokio::test]
async fn names_of_files_are_made_harmless() {
    let command = "printf x > \"$(printf 'evil\\033]0;t\\007\\nname')\"";
    let script = calls(Script::new(), "bash", json!({"command": command}));
    let mut screen = screen(140, 24, script.turn(|turn| turn.text("Done.")))
        .start()
        .await;
    screen.send("go").settled().await.shows("│ evil").await;
    let row = panel(&mut screen)[1].clone();
    assert!(row.starts_with("evil") && row.contains("name"), "{row}");
    assert!(!screen.screen().contains('\u{1b}'));
}

#[tokio::test]
async fn click_on_a_file_opens_its_changes() {
    let mut screen = screen(160, 40, busy()).start().await;
    screen.send("go").settled().await.shows("deleted -1").await;
    let row = screen
        .screen()
        .lines()
        .position(|row| row.contains("│   main.rs"));
    let click = |row: usize, kind| MouseInput {
        kind,
        column: 130,
        row: u16::try_from(row).unwrap(),
        modifiers: KeyModifiers::NONE,
    };
    for kind in [
        MouseEventKind::Down(MouseButton::Left),
        MouseEventKind::Up(MouseButton::Left),
    ] {
        screen.event(InputEvent::Mouse(click(row.unwrap(), kind)));
    }
    screen
        .shows("changed since the session start")
        .await
        .shows("fn main() {}")
        .await;
    screen.press("esc");
    let row = screen
        .screen()
        .lines()
        .position(|row| row.contains("│ job1"));
    screen.mouse(click(row.unwrap(), MouseEventKind::Down(MouseButton::Left)));
    screen.shows("─ Jobs ─").await;
    screen.close().await;
}
