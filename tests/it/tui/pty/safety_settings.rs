//! The full screen with settings that cannot be read: it shows what applies, and takes over the corrected file.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::program::{Program, Setup};

/// Removes `precious` on every prompt.
const REMOVE: &str = r#"{"turns": [{"repeat": true, "when": {"toolResult": ""}, "steps": [{"text": "done"}]},
  {"repeat": true, "steps": [{"tool": "bash", "arguments": {"command": "rm precious"}}]}]}"#;

const VALID: &str = "discover_local_models = false\n";

fn program(settings: &str) -> Setup {
    let program = Program::new()
        .size(200, 40)
        .patience(Duration::from_secs(40))
        .home_file("settings.toml", settings)
        .file("precious", "")
        .file("s.json", REMOVE);
    program.model("s.json")
}

fn settings(program: &Program) -> PathBuf {
    program.work().join("../home/settings.toml")
}

/// Replaces the settings as editors do.
fn save(program: &Program, text: &str) {
    let path = settings(program);
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

/// Sends a prompt whose command needs an answer, and refuses it.
fn is_asked(program: &mut Program) {
    program.write("go\r");
    program.shows("Run this command?");
    program.write("\x1b");
    program.shows("f4 to answer");
    program.write("\x1b");
    program.hides("Run this command?");
    assert!(program.work().join("precious").exists());
}

/// Sends a prompt whose command runs.
fn runs(program: &mut Program) {
    program.write("go\r");
    program.shows("done");
}

#[test]
fn broken_settings_at_the_start_are_strict_until_they_are_saved_correctly() {
    let mut program = program("discover_local_models = false\npermissions = \"Ask\"\n").start();
    program.shows("invalid value \"Ask\" for permissions; expected yolo, auto, ask or plan");
    program.shows("the last valid safety settings apply, or stricter ones: permission mode ask");
    is_asked(&mut program);
    save(&program, VALID);
    program.shows("the safety settings can be read again: permission mode yolo, sandbox off");
    runs(&mut program);
    assert!(!program.work().join("precious").exists());
}

#[test]
fn settings_that_break_in_a_session_loosen_nothing() {
    let valid = "discover_local_models = false\npermissions = \"ask\"\n";
    let mut program = program(valid).start();
    program.shows("Ask, or type");
    // The files are watched after the first frame, and before the first key.
    is_asked(&mut program);
    for (broken, shown) in [
        ("theme = \n", ":1:9: "),
        ("", "settings.toml: is empty"),
        (
            "permissions = \"yolo\"\nsandbox = \"readonly\"\n",
            "invalid value \"readonly\" for sandbox",
        ),
    ] {
        save(&program, broken);
        program.shows(shown);
        is_asked(&mut program);
    }
    fs::remove_file(settings(&program)).unwrap();
    program.shows("settings.toml: does not exist");
    is_asked(&mut program);
    save(&program, valid);
    program.shows("the safety settings can be read again: permission mode ask, sandbox off");
    is_asked(&mut program);
}

#[test]
fn damaged_hooks_mean_questions() {
    let mut program = program(VALID)
        .home_file("hooks.json", "{\"hooks\": {")
        .start();
    program.shows("hooks.json is fixed, the last valid safety settings apply, or stricter ones");
    is_asked(&mut program);
}
