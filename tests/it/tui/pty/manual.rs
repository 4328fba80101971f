//! `osier man` on a terminal: the page is formatted by `man`, and without it the help is printed.

use super::program::Program;

#[test]
fn page_is_opened_with_man() {
    let mut program = Program::new()
        .program(
            "man",
            "#!/bin/sh\necho \"man: ${1##*/}\"\ngrep '^.TH' \"$1\"\n",
        )
        .argument("man")
        .argument("sessions")
        .start();
    assert!(program.exit().success());
    let screen = program.screen();
    assert!(
        screen.starts_with("man: osier-sessions.1\n.TH osier-sessions 1"),
        "{screen}"
    );
}

#[test]
fn help_is_printed_without_man() {
    let mut program = Program::new()
        .variable("PATH", "/nowhere")
        .size(100, 60)
        .argument("man")
        .argument("doctor")
        .start();
    assert!(program.exit().success());
    let screen = program.screen();
    assert!(screen.contains("Usage: osier doctor"), "{screen}");
    assert!(
        screen
            .trim_end()
            .ends_with("`man` is not installed; this is the help of the command."),
        "{screen}"
    );
}
