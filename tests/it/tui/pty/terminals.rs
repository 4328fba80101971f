//! Terminals of all kinds: sizes, stops, exits, late, split or missing replies, and text in all scripts.

use std::time::{Duration, Instant};

use super::program::Program;

/// An answer of numbered lines that streams for a while.
pub(super) fn long() -> String {
    let lines: Vec<String> = (1..=900)
        .map(|line| format!("line {line} of an answer that goes on"))
        .collect();
    let text = lines.join("\n\n") + "\n\nThat was all of it.";
    let step = serde_json::json!({ "text": text, "chunk": 24, "delayMs": 2 });
    format!(r#"{{"turns": [{{"repeat": true, "steps": [{step}]}}]}}"#)
}

#[test]
fn dumb_terminal_error_names_print_mode() {
    let setup = || Program::new().file("s.json", super::ANSWER).model("s.json");
    let mut program = setup().terminal("dumb", &[]).start();
    assert_ne!(program.exit().exit_code(), 0);
    let said = program.screen();
    assert!(
        said.contains("`TERM` is `dumb`") && said.contains("pass a prompt"),
        "{said}"
    );
    assert!(!program.written().contains('\u{1b}'), "{said}");
    let mut program = setup()
        .argument("-p")
        .argument("hello")
        .terminal("dumb", &[])
        .start();
    assert!(program.exit().success());
    assert!(program.screen().contains("The first answer."));
    assert!(!program.written().contains('\u{1b}'));
}

#[test]
fn prompt_and_footer_fit_every_size() {
    for size @ (columns, rows) in [
        (40, 10),
        (41, 11),
        (80, 24),
        (133, 50),
        (250, 70),
        (400, 120),
    ] {
        let mut program = Program::new()
            .file("s.json", super::ANSWER)
            .model("s.json")
            .size(columns, rows)
            .start();
        program.shows("Ask, or");
        program.write("hello\r");
        program.shows("• a list");
        program.hides("esc to interrupt");
        let screen = program.screen();
        assert!(screen.trim_end().ends_with("s.json"), "{size:?}\n{screen}");
        assert_eq!(
            screen.lines().count(),
            usize::from(rows),
            "{size:?}\n{screen}"
        );
        assert!(
            screen
                .lines()
                .any(|line| line == "─".repeat(columns.into())),
            "{size:?}\n{screen}"
        );
        program.write("\x1bOP");
        program.shows("─ Keys ─");
        program.write("\x1bOP");
        program.until("the box", |screen| screen.contains('╰'));
        let widest = program
            .screen()
            .lines()
            .map(|line| line.chars().count())
            .max();
        assert!(widest <= Some(columns.into()), "{size:?}");
    }
}

#[test]
fn resizes_during_an_answer_end_with_a_correct_screen() {
    let mut program = Program::new()
        .file("s.json", &long())
        .model("s.json")
        .patience(Duration::from_mins(3))
        .start();
    program.shows("Ask,");
    program.write("go\r");
    program.shows("of an answer");
    for step in 0..100_u16 {
        program.resize(40 + (step * 37) % 90, 10 + (step * 13) % 35);
        // A frame for one size may arrive after the next resize.
        program.reads_until(Instant::now() + Duration::from_millis(5));
    }
    program.resize(80, 24);
    program.shows("That was all of it.");
    program.hides("esc to interrupt");
    let rule = "─".repeat(80);
    program.until("the prompt of this size", |screen| {
        screen.lines().any(|line| line == rule) && screen.trim_end().ends_with("script/s.json")
    });
    let drawn = program.seen();
    program.resize(79, 24);
    program.until("another size", |screen| {
        screen.lines().any(|line| line == "─".repeat(79))
    });
    program.resize(80, 24);
    program.until("the size again", |screen| {
        screen.lines().any(|line| line == rule)
    });
    assert_eq!(drawn, program.seen());
}

/// The queries at startup, and the replies of a modern terminal.
const REPLIES: &[&str] = &[
    "\x1b]11;rgb:1d1d/1f1f/2121\x1b\\",
    "\x1b[?0u",
    "\x1b[?2026;2$y",
    "\x1b[?69;0$y",
    "\x1bP>|kitty(0.40.0)\x1b\\",
    "\x1b]4;1;rgb:cccc/6666/6666\x07",
    "\x1b[?62;22c",
];

#[test]
fn late_or_split_terminal_replies_are_not_typed() {
    let start = || {
        let mut program = Program::new()
            .file("s.json", super::ANSWER)
            .model("s.json")
            .start();
        program.shows("Ask, or type / for commands");
        program
    };
    // The replies come three seconds later, with keys between them.
    let mut program = start();
    program.write("a");
    program.shows("❯ a");
    program.reads_for(Duration::from_secs(3));
    for reply in REPLIES {
        program.write(reply);
        program.write("b");
    }
    program.shows(&format!("❯ a{}", "b".repeat(REPLIES.len())));
    // The replies come in parts, each of which the program reads separately.
    let mut program = start();
    for reply in REPLIES {
        for piece in reply.as_bytes().chunks(3) {
            program.write(std::str::from_utf8(piece).unwrap());
            program.reads_for(Duration::from_millis(2));
        }
        program.write("c");
    }
    program.shows(&format!("❯ {}", "c".repeat(REPLIES.len())));
    // Without replies, typed text is shown as well, and late replies are still handled.
    let mut program = start();
    program.write("never");
    program.shows("❯ never");
    program.write("\r");
    program.shows("• a list");
}

#[test]
fn text_of_all_scripts_and_the_cursor_are_aligned() {
    let prompts = [
        ("漢字かな", 8),
        ("한글 조합", 9),
        ("שלום עולם", 9),
        ("مرحبا", 5),
        ("e\u{301}a\u{308}o\u{302}", 3),
        ("👩‍🔬🇩🇪👍🏽x", 7),
        ("ｆｕｌｌ", 8),
        ("नमस्ते", 0),
    ];
    for (prompt, width) in prompts {
        let mut program = Program::new()
            .file("s.json", super::ANSWER)
            .model("s.json")
            // A terminal that puts right-to-left text in visual order itself.
            .variable("VTE_VERSION", "7600")
            .start();
        program.shows("Ask,");
        program.write(prompt);
        program.shows("❯");
        program.hides("Ask,");
        // The typed text follows the prompt, and the cursor follows the typed text, because input
        // methods use its position.
        program.write("|");
        program.shows("|");
        let (row, column) = program.cursor();
        let line = program.row(row);
        assert!(line.trim_end().ends_with('|'), "{prompt}: {line}");
        if width > 0 {
            assert_eq!(column, width + 3, "{prompt}: {line}");
        }
        assert_eq!(program.cell(row, column - 1), "|", "{prompt}: {line}");
        program.write("\r");
        program.shows("• a list");
        let shown = program.screen();
        let first = shown.lines().next().unwrap_or_default();
        // The emulator of the test does not support joined characters.
        let whole = prompt.contains('\u{200d}') || first == format!("▌ {prompt}|");
        assert!(whole && first.ends_with('|'), "{prompt}\n{shown}");
    }
}

#[test]
fn right_to_left_text_is_shown_in_visual_order() {
    let mut program = Program::new()
        .file("s.json", super::ANSWER)
        .model("s.json")
        .start();
    program.shows("Ask,");
    program.write("שלום");
    program.shows("❯  םולש");
    // The cursor is at the end of the text, where the next letter appears.
    assert_eq!(program.cursor().1, 2);
    program.write("\x1b[H");
    program.shows("❯ םולש");
    assert_eq!(program.cursor().1, 5);
    program.write("\r");
    program.shows("▌ םולש");
}

/// The order of the words of a command matters, in the question and in the call above it.
#[test]
fn a_question_shows_a_command_in_logical_order() {
    const COMMAND: &str = "rm -f אב ; cp גד הו";
    let script = format!(
        r#"{{"turns": [{{"steps": [{{"text": "אבג"}}, {{"tool": "bash", "arguments": {{"command": "{COMMAND}"}}}}]}}, {{"steps": [{{"text": "done"}}]}}]}}"#
    );
    let mut program = Program::new()
        .file("s.json", &script)
        .model("s.json")
        .argument("--permissions")
        .argument("ask")
        .start();
    program.shows("Ask,");
    program.write("go\r");
    program.shows("Run this command?");
    program.shows(&format!("bash {COMMAND}"));
    program.shows("גבא");
}

#[test]
fn mosh_shows_the_screen() {
    let mut program = Program::new()
        .file("s.json", super::ANSWER)
        .model("s.json")
        .terminal("xterm-256color", super::mosh::ANSWERS)
        .through_mosh()
        .start();
    program.shows("Ask, or type / for commands");
    program.write("hello\r");
    program.shows("• a list");
    program.hides("esc to interrupt");
    let screen = program.screen();
    assert!(
        screen.starts_with("▌ hello\n\n  The first answer.\n\n  • with\n  • a list\n"),
        "{screen}"
    );
    assert!(screen.trim_end().ends_with("script/s.json"), "{screen}");
}
