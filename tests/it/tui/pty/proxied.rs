//! The whole program in a terminal, its calls through an osier server: whatever ends an answer here ends
//! it there, and what was said of it stays.

use super::program::Program;
use crate::support::held::{HALF, HeldProxy, TOKEN};

/// The program with half an answer on its screen.
fn asking(server: &HeldProxy) -> Program {
    let key = format!(r#"{{"proxy": {{"type": "api_key", "key": "{TOKEN}"}}}}"#);
    let mut program = Program::new()
        .home_file("auth.json", &key)
        .argument("--proxy")
        .argument(server.url())
        .start();
    program.shows("acme/large");
    program.write("hello\r");
    program.shows(HALF);
    assert!(server.is_held());
    program
}

#[test]
fn escape_ends_the_call_over_there() {
    let server = HeldProxy::start();
    let mut program = asking(&server);
    program.write("\x1b");
    server.is_left();
    program.shows("interrupted");
    assert!(program.screen().contains(HALF), "{}", program.screen());
    program.waits_for_file(HALF);
    program.waits_for_file("\"stopReason\":\"aborted\"");
    // The conversation goes on.
    program.write("again\r");
    program.until("a second answer", |screen| {
        screen.matches(HALF).count() == 2
    });
    assert!(server.is_held());
    program.write("\x04");
    program.exit();
    server.is_left();
}

#[test]
fn closing_the_program_or_its_terminal_ends_the_call_over_there() {
    for signal in ["INT", "TERM", "HUP"] {
        let server = HeldProxy::start();
        let mut program = asking(&server);
        program.signal(signal);
        server.is_left();
        program.exit();
        program.waits_for_file(HALF);
    }
}
