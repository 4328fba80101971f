//! Exports and the real programs of other agents: they refuse an export of osier and leave it unchanged. Sessions that
//! they wrote are imported.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::sample;
use crate::support::cli::Home;
use crate::support::peers::{PeerOutput, find};

const ID: &str = "0199b3c4-0000-7000-8000-000000000001";

/// Writes an export of osier to `place`. Returns its path and content.
fn export(home: &Home, place: &Path) -> (PathBuf, Vec<u8>) {
    home.file("session.jsonl", sample(&[]));
    let copy = place.to_string_lossy().into_owned();
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    let imported = home.cli().args(["import", "session.jsonl"]).run();
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let exported = home.cli().args(["export", ID, &copy]).run();
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    (place.to_owned(), std::fs::read(place).unwrap())
}

/// Asserts that the program refused the file for this reason and did not change it.
fn is_refused(output: &PeerOutput, reason: &str, file: &(PathBuf, Vec<u8>)) {
    assert!(
        !output.success && output.text.contains(reason),
        "{}",
        output.text
    );
    assert_eq!(std::fs::read(&file.0).unwrap(), file.1);
}

#[test]
fn pi_refuses_an_export() {
    let Some(pi) = find("@earendil-works/pi-coding-agent") else {
        return;
    };
    let home = Home::new();
    let file = export(&home, &home.work().join("talk.jsonl"));
    for arguments in [
        ["--session", "talk.jsonl", "-p", "go on"].as_slice(),
        &["--export", "talk.jsonl", "talk.html"],
    ] {
        let output = pi.run(&home.home(), &home.work(), arguments);
        is_refused(&output, "is not a valid pi session", &file);
    }
}

#[test]
fn claude_code_refuses_an_export() {
    let Some(claude) = find("@anthropic-ai/claude-code") else {
        return;
    };
    let home = Home::new();
    let work = home.work().canonicalize().unwrap();
    let folder = work.to_string_lossy().replace(['/', '.', '_'], "-");
    let place = format!(".claude/projects/{folder}/{ID}.jsonl");
    let file = export(&home, &home.home().join(place));
    let output = claude.run(&home.home(), &work, &["-p", "--resume", ID, "go on"]);
    is_refused(&output, "No conversation found", &file);
}

#[test]
fn codex_refuses_an_export() {
    let Some(codex) = find("@openai/codex") else {
        return;
    };
    let home = Home::new();
    let place = format!(".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{ID}.jsonl");
    let file = export(&home, &home.home().join(place));
    let arguments = ["exec", "--skip-git-repo-check", "resume", ID, "go on"];
    let output = codex.run(&home.home(), &home.work(), &arguments);
    assert!(!output.success, "{}", output.text);
    assert_eq!(std::fs::read(&file.0).unwrap(), file.1);
}

#[test]
fn opencode_refuses_an_export_and_its_own_database_is_imported() {
    let Some(opencode) = find("opencode-ai") else {
        return;
    };
    let home = Home::new();
    let file = export(&home, &home.work().join("talk.jsonl"));
    let output = opencode.run(&home.home(), &home.work(), &["import", "talk.jsonl"]);
    is_refused(&output, "Invalid JSON", &file);

    // The program stores the session of the fixture in its database.
    let text = std::fs::read_to_string(super::fixture("opencode.json")).unwrap();
    let work = home.work().canonicalize().unwrap();
    let text = text.replace("/home/me/project", &work.to_string_lossy());
    home.file("theirs.json", &text);
    let stored = opencode.run(&home.home(), &work, &["import", "theirs.json"]);
    assert!(stored.success, "{}", stored.text);
    let listed = home
        .cli()
        .args(["import", "--list", "--opencode", "--all"])
        .run();
    assert!(
        listed.stdout.contains("All done."),
        "{}{}",
        listed.stdout,
        listed.stderr
    );
    let imported = home.cli().args(["import", "--opencode", "--all"]).run();
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    assert!(
        imported.stdout.starts_with("imported from opencode as ")
            && imported
                .stdout
                .contains("1 prompt, 9 answers, 8 tool results"),
        "{}",
        imported.stdout
    );
}

/// Without osier's own header pi would accept the file as its own, as it did with exports of early
/// versions.
#[test]
fn the_header_of_an_export_is_no_other_programs() {
    let home = Home::new();
    let file = export(&home, &home.work().join("talk.jsonl"));
    let text = String::from_utf8(file.1).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["type"], &first["version"]),
        (&json!("osier_session"), &json!(1))
    );
}
