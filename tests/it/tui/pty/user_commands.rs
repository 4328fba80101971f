//! Commands of the user that need the terminal: osier steps aside for them.

use super::ANSWER;
use super::program::{Program, Setup};

/// Reads a line from the terminal and writes it to its last argument.
const EDITOR: &str = r#"#!/bin/sh
test -t 0 && test -t 1 || exit 9
echo "EDITING $*"
read line
for file; do :; done
echo "$line" >"$file"
"#;

fn setup() -> Setup {
    Program::new()
        .file("s.json", ANSWER)
        .model("s.json")
        .program("own-editor", EDITOR)
        .program("less", EDITOR)
        .variable("EDITOR", "own-editor --wait")
}

#[test]
fn the_editor_of_a_user_command_gets_the_terminal() {
    let mut program = setup().start();
    program.shows("Ask, or type / for commands");
    program.write("!$EDITOR note.txt; echo code $?; cat note.txt\r");
    program.shows("EDITING --wait note.txt");
    program.write("typed by hand\r");
    program.shows("code 0");
    program.shows("typed by hand");
    program.shows("script/s.json");
}

#[test]
fn a_pager_of_the_user_gets_the_terminal() {
    let mut program = setup().start();
    program.shows("Ask, or type / for commands");
    program.write("!less page.txt\r");
    program.shows("EDITING page.txt");
    // The key belongs to the pager, not to osier.
    program.write("\x03");
    program.shows("script/s.json");
    program.shows("exit 130");
}
