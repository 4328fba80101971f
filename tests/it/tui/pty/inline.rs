//! Inline mode: the conversation is text of the terminal, above the rows that osier draws.

use std::time::{Duration, Instant};

use super::program::Program;
use super::tmux::Tmux;

const SCRIPT: &str = r#"{"turns": [
  {"when": {"user": "hello"}, "steps": [{"text": "The first answer.\n\n- with\n- a list"}]},
  {"steps": [{"tool": "bash", "arguments": {"command": "touch made; seq 3"}}]},
  {"steps": [{"text": "Three numbers.\n\n```rust\nfn main() {}\n```\n\nThat was all of it."}]},
  {"repeat": true, "steps": [{"text": "Another answer."}]}
]}"#;

const ALTERNATE: &str = "\x1b[?1049h";
const MOUSE: &str = "\x1b[?1000";
const ESCAPE: &str = "\x1b";

/// The rows of a text that are not empty, from the one that begins with `from` to the end of the conversation.
fn rows_from(text: &str, from: &str) -> Vec<String> {
    let rows = text.lines().map(str::trim_end);
    let rows = rows.skip_while(|row| !row.starts_with(from));
    let rows = rows.take_while(|row| !row.starts_with("Resume with:"));
    rows.filter(|row| !row.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn conversation_stays_in_the_terminal_and_lists_borrow_the_alternate_screen() {
    let setup = Program::new().file("s.json", SCRIPT).model("s.json");
    let setup = setup.argument("--inline");
    let mut program = setup.argument("--permissions").argument("ask").start();
    program.shows("Ask, or type / for commands");
    program.write("hello\r");
    program.shows("• a list");
    program.write("count\r");
    // The question is answered in place.
    program.shows("Run this command?");
    program.write(ESCAPE);
    program.shows("f4 to answer");
    program.write("\x1bOS");
    program.shows("enter select");
    program.write("y");
    program.shows("That was all of it.");
    let written = program.written();
    assert!(!written.contains(ALTERNATE) && !written.contains(MOUSE));

    program.write("/theme\r");
    program.writes(ALTERNATE, 1);
    program.shows("catppuccin-mocha");
    assert!(program.written().contains(MOUSE));
    program.write(ESCAPE);
    program.writes("\x1b[?1049l", 1);
    program.shows("Ask, or type / for commands");
    program.write("again\r");
    program.shows("Another answer.");
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());

    let text = program.text();
    assert_eq!(
        rows_from(&text, "▌ hello"),
        [
            "▌ hello",
            "  The first answer.",
            "  • with",
            "  • a list",
            "▌ count",
            "● bash touch made; seq 3",
            "  1",
            "  2",
            "  3",
            "  Three numbers.",
            "   rust",
            "   fn main() {}",
            "  That was all of it.",
            "▌ again",
            "  Another answer.",
        ],
        "{text}"
    );
}

#[test]
fn a_long_answer_is_in_the_scrollback_once() {
    let answer: String = (1..=100).map(|row| format!("- point {row}\\n")).collect();
    let script = format!(r#"{{"turns": [{{"steps": [{{"text": "{answer}\n\nDone."}}]}}]}}"#);
    let setup = Program::new().file("s.json", &script).model("s.json");
    let mut program = setup.argument("--inline").start();
    program.shows("Ask, or type / for commands");
    program.write("points\r");
    program.shows("Done.");
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    let rows = rows_from(&program.text(), "▌ points");
    let expected = (1..=100).map(|row| format!("  • point {row}"));
    let expected = ["▌ points".to_owned()].into_iter().chain(expected);
    let expected: Vec<String> = expected.chain(["  Done.".to_owned()]).collect();
    assert_eq!(rows, expected);
}

#[test]
fn a_continued_conversation_begins_with_its_end() {
    let setup = Program::new().file("s.json", SCRIPT).model("s.json");
    let mut program = setup.argument("--inline").start();
    program.shows("Ask, or type / for commands");
    program.write("hello\r");
    program.shows("• a list");
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    let mut program = program.again(&["--inline", "-c"]);
    program.shows("• a list");
    program.write("\x04");
    assert!(program.exit().success());
    let rows = rows_from(&program.text(), "▌ hello");
    assert_eq!(
        rows[..4],
        ["▌ hello", "  The first answer.", "  • with", "  • a list"]
    );
}

#[test]
fn an_answer_goes_on_while_a_view_is_open() {
    const LONG: &str = r#"{"turns": [
      {"steps": [{"text": "The first words.\n\nThe second words.\n\nThe third words.", "chunk": 1, "delayMs": 20}, {"tool": "bash", "arguments": {"command": "touch made"}}]},
      {"repeat": true, "steps": [{"text": "Done."}]}
    ]}"#;
    let setup = Program::new().file("s.json", LONG).model("s.json");
    let mut program = setup.argument("--inline").start();
    program.shows("Ask, or type / for commands");
    program.write("go\r");
    program.shows("The first words.");
    program.write("\x0c");
    program.writes(ALTERNATE, 1);
    let made = program.work().join("made");
    let deadline = Instant::now() + Duration::from_mins(2);
    while !made.exists() {
        assert!(program.reads_until(deadline), "the answer stands still");
    }
    program.write(ESCAPE);
    program.shows("Done.");
}

/// Starts the program in tmux below a cleared screen.
fn start_in_tmux(tmux: &Tmux, script: &str) {
    tmux.shows("$");
    let program = env!("CARGO_BIN_EXE_osier");
    tmux.keys(&[
        "-l",
        &format!("clear; {program} --inline --model script/{script}"),
    ]);
    tmux.keys(&["Enter"]);
    tmux.shows("Ask, or type / for commands");
}

/// tmux stores a screen that is cleared from its first cell.
#[test]
fn a_resize_leaves_no_rows_of_osier_in_the_history_of_tmux() {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    start_in_tmux(&tmux, "s.json");
    for (columns, rows) in [(90, 24), (100, 20), (110, 24)] {
        tmux.sized(columns, rows);
        let rule = "─".repeat(columns.into());
        tmux.shows(&rule);
    }
    let rows = tmux.rows();
    let prompts = rows.iter().filter(|row| row.contains("Ask, or type"));
    assert_eq!(prompts.count(), 1, "{rows:#?}");
}

#[test]
fn a_stop_during_an_answer_prints_its_complete_rows() {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    tmux.put("stuck.json", super::STUCK);
    start_in_tmux(&tmux, "stuck.json");
    tmux.keys(&["-l", "go"]);
    tmux.keys(&["Enter"]);
    tmux.shows("The first half");
    tmux.keys(&["C-z"]);
    let stopped = tmux.shows("Stopped");
    assert!(stopped.contains("▌ go"), "{stopped}");
    assert!(!stopped.contains("❯"), "{stopped}");
    tmux.keys(&["-l", "fg"]);
    tmux.keys(&["Enter"]);
    tmux.shows("❯");
    let rows = tmux.rows();
    let prompts = rows.iter().filter(|row| row.contains("▌ go"));
    assert_eq!(prompts.count(), 1, "{rows:#?}");
}
