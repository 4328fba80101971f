//! The complete program in a terminal with calls through an osier server: whatever ends an answer also cancels the
//! call on the server, and the partial answer is stored.

use super::program::Program;
use crate::support::stalled_proxy::{HALF, StalledProxy, TOKEN};

/// A program that shows half of an answer.
fn asking(server: &StalledProxy) -> Program {
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
fn escape_cancels_the_call_on_the_proxy() {
    let server = StalledProxy::start();
    let mut program = asking(&server);
    program.write("\x1b");
    server.is_left();
    program.shows("interrupted");
    assert!(program.screen().contains(HALF), "{}", program.screen());
    program.waits_for_file(HALF);
    program.waits_for_file("\"stopReason\":\"aborted\"");
    // The conversation continues.
    program.write("again\r");
    program.until("a second answer", |screen| {
        screen.matches(HALF).count() == 2
    });
    assert!(server.is_held());
    program.write("\x04");
    program.shows("This session is still running");
    program.write("\x1b[B\r");
    program.exit();
    server.is_left();
}

#[test]
fn exit_and_terminal_close_cancel_the_call_on_the_proxy() {
    for signal in ["INT", "TERM", "HUP"] {
        let server = StalledProxy::start();
        let mut program = asking(&server);
        program.signal(signal);
        server.is_left();
        program.exit();
        program.waits_for_file(HALF);
    }
}
