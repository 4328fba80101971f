//! Inline mode: the conversation is text of the terminal, above the rows that osier draws.

use super::program::Program;

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
