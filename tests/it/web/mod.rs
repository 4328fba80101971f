//! The web chat in a real browser, at the size of a phone and of a desktop: each play is a script that starts
//! the server with a scripted model and does what a person would.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use osier_testing::skip;

/// Debian's name, and that of others.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// Installs the packages; the script sets `OSIER_TEST_PLAYWRIGHT`.
const INSTALL: &str = ".ci/run";

/// Runs a play, or skips the test where a program is missing.
fn play(name: &str) {
    let Some(packages) = std::env::var_os("OSIER_TEST_PLAYWRIGHT").map(PathBuf::from) else {
        skip::missing("playwright-core", INSTALL);
        return;
    };
    if !packages.join("node_modules/playwright-core").is_dir() {
        skip::missing("playwright-core", INSTALL);
        return;
    }
    let Some(browser) = skip::program(BROWSERS, "apt install chromium") else {
        return;
    };
    if !skip::has(&["node"], "apt install nodejs") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/web/{name}.mjs"));
    #[expect(clippy::disallowed_methods, reason = "a play is run")]
    let mut command = Command::new("node");
    let output = command
        .arg(script)
        .env("OSIER_BIN", env!("CARGO_BIN_EXE_osier"))
        .env("OSIER_WEB_FOLDER", folder.path())
        .env("OSIER_TEST_CHROMIUM", browser)
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "played\n");
}

#[test]
fn a_conversation_from_the_first_prompt_to_the_drawer() {
    play("conversation");
}

#[test]
fn branches_are_made_and_walked() {
    play("branches");
}

#[test]
fn answers_are_put_beside_one_another() {
    play("compare");
}

#[test]
fn files_are_brought_back() {
    play("files");
}

#[test]
fn a_long_session_comes_as_one_scrolls() {
    play("length");
}

#[test]
fn servers_ask_and_are_turned_off() {
    play("servers");
}

#[test]
fn two_people_write_one_at_a_time() {
    play("presence");
}

#[test]
fn pictures_voice_queue_and_colours() {
    play("composer");
}

#[test]
fn a_lost_connection_comes_back_and_the_shell_opens_without_a_server() {
    play("connection");
}

#[test]
fn everybody_can_use_it() {
    play("access");
}

#[test]
fn hostile_output_runs_nothing() {
    play("hostile");
}
