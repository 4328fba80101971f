//! The bytes of images on terminals that support them.

use super::program::{Program, Setup};
use crate::tui::images::flag;

const SCRIPT: &str = r#"{"turns": [
  {"steps": [{"tool": "read", "arguments": {"file_path": "a.png"}}]},
  {"repeat": true, "steps": [{"text": "Seen.\n\n- and\n- more"}]}
]}"#;

/// A program on a terminal with these replies, with an image on its screen.
fn with_picture(answers: &str, settings: &str) -> Program {
    let settings = format!("discover_local_models = false\n{settings}");
    shows_picture(
        Program::new().home_file("settings.toml", &settings),
        answers,
    )
}

fn shows_picture(setup: Setup, answers: &str) -> Program {
    let mut program = setup.file("s.json", SCRIPT).model("s.json").start();
    std::fs::write(program.work().join("a.png"), flag(90, 72)).unwrap();
    program.shows("Ask, or type / for commands");
    program.write(answers);
    program.write("look\r");
    program.shows("• more");
    program
}

#[test]
fn kitty_image_is_sent_once_and_deleted_at_exit() {
    let mut program = with_picture("\x1bP>|kitty(0.40.0)\x1b\\\x1b[6;18;9t\x1b[?62;c", "");
    program.writes("\x1b_Ga=T,U=1,q=2,f=100,i=", 1);
    program.shows("\u{10eeee}");
    let written = program.written();
    let number = written.split("f=100,i=").nth(1).unwrap();
    let number = number.split(',').next().unwrap().to_owned();
    assert!(
        written.contains(&format!("i={number},c=10,r=4,")),
        "{number}"
    );
    program.resize(60, 20);
    program.write("again\r");
    program.shows("▌ again");
    program.hides("esc to interrupt");
    assert_eq!(program.written().matches("a=T,U=1").count(), 1);
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    let forget = format!("\x1b_Ga=d,d=I,q=2,i={number}\x1b\\");
    assert!(program.written().contains(&forget));
    program.is_restored();
}

#[test]
fn moved_sixel_strips_are_repainted() {
    let mut program = with_picture("\x1b[6;18;9t\x1b[?62;4c", "");
    let strip = "\x1bP0;1;0q\"1;1;90;18";
    program.writes(strip, 4);
    // Typing does not move them.
    program.write("again");
    program.shows("❯ again");
    assert_eq!(program.written().matches(strip).count(), 4);
    // A repaint draws them again.
    program.resize(60, 20);
    program.writes(strip, 8);
    program.write("\x03\x04");
    assert!(program.exit().success());
    program.is_restored();
}

#[test]
fn images_can_be_disabled() {
    let mut program = with_picture(
        "\x1bP>|kitty(0.40.0)\x1b\\\x1b[?62;4c",
        "images = \"off\"\n",
    );
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    let written = program.written();
    assert!(!written.contains("\x1b_Ga=T") && !written.contains("\x1bP0;1;0q"));
}

#[test]
fn answer_shows_local_images_and_loads_no_url() {
    let script = r#"{"turns": [{"repeat": true, "steps": [{"text":
        "![flag](a.png)\n\n![gone](b.png)\n\n![out](../s.png)\n\n![far](https://e.org/c.png)\n\nEnd."}]}]}"#;
    let mut program = Program::new()
        .file("s.json", script)
        .model("s.json")
        .start();
    std::fs::write(program.work().join("a.png"), flag(90, 72)).unwrap();
    std::fs::write(program.work().join("../s.png"), flag(90, 72)).unwrap();
    program.shows("Ask, or type / for commands");
    program.write("\x1bP>|kitty(0.40.0)\x1b\\\x1b[6;18;9t\x1b[?62;c");
    program.write("look\r");
    program.shows("▣ flag (a.png)");
    program.shows("▣ far (https://e.org/c.png)");
    program.writes("\x1b_Ga=T,U=1,q=2,f=100,i=", 1);
    program.shows("▣ gone: the file does not exist");
    program.shows("▣ out: it is outside the working directory");
    // The reopened session shows the same image and the same errors.
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    let mut again = program.again(&["-c"]);
    again.write("\x1bP>|kitty(0.40.0)\x1b\\\x1b[6;18;9t\x1b[?62;c");
    again.writes("\x1b_Ga=T,U=1,q=2,f=100,i=", 1);
    again.shows("▣ gone: the file does not exist");
    again.write("\x04");
    assert!(again.exit().success());
}

#[test]
fn cell_size_is_derived_from_the_window_size() {
    let mut program = shows_picture(Program::new().cell(10, 20), "\x1b[?62;4c");
    program.writes("\x1bP0;1;0q\"1;1;90;20", 4);
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
}

#[test]
fn kitty_protocol_without_placeholders_uses_half_blocks() {
    let mut program = with_picture("\x1bP>|kitty(0.26.5)\x1b\\\x1b[6;18;9t\x1b[?62;c", "");
    program.writes("48;2;255;0;0", 1);
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    assert!(!program.written().contains("\x1b_G"));
}

/// The program inside tmux with Sixel support and these properties of the outer terminal.
fn in_tmux(said: &str) -> Setup {
    Program::new()
        .terminal("tmux-256color", &[])
        .variable("TMUX", "/tmp/no-tmux,1,0")
        .program("tmux", &format!("#!/bin/sh\necho '{said}'\n"))
}

#[test]
fn tmux_passes_images_to_a_terminal_with_placeholders() {
    let answers = "\x1bP>|tmux 3.5a\x1b\\\x1b[6;18;9t\x1b[?62;4c";
    let mut program = shows_picture(in_tmux("1 0 kitty(0.41.1)"), answers);
    program.writes("\x1bPtmux;\x1b\x1b_Ga=T,U=1,q=2,f=100,i=", 1);
    program.shows("\u{10eeee}");
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
    // Without passthrough, and when only Sixel is available, osier uses half-blocks.
    for said in ["0 0 kitty(0.41.1)", "1 0 XTerm(379)"] {
        let mut program = shows_picture(in_tmux(said), answers);
        program.writes("48;5;196", 1);
        program.hides("esc to interrupt");
        program.write("\x04");
        assert!(program.exit().success());
        let written = program.written();
        assert!(
            !written.contains("_Ga=T") && !written.contains("\x1bP0;1;0q"),
            "{said}"
        );
    }
}

#[test]
fn terminal_name_determines_colours() {
    let answers = "\x1bP>|XTerm(379)\x1b\\\x1b[6;18;9t\x1b[?64;c";
    let setup = Program::new().terminal("xterm", &[]);
    let mut program = shows_picture(setup, answers);
    program.writes("48;5;196", 1);
    program.hides("esc to interrupt");
    program.write("\x04");
    assert!(program.exit().success());
}
