//! Imports from other programs.

use std::path::Path;

use osier_peers::import::{ImportOptions, import};
use osier_protocol::Imported;
use osier_store::{Loaded, load};
use serde_json::json;

use super::{fixture, outline, sample};
use crate::support::cli::{Home, lines_of};

/// The imported fixture, and the report without paths.
fn imported(name: &str) -> (Imported, Loaded) {
    let data = tempfile::tempdir().unwrap();
    let file = fixture(name);
    let imported = import(
        data.path(),
        Path::new("/here"),
        &file,
        ImportOptions::default(),
    )
    .unwrap();
    let loaded = load(&imported.path).unwrap();
    assert_eq!(
        (loaded.damaged, loaded.reattached, loaded.torn_bytes),
        (0, 0, 0)
    );
    assert_eq!(loaded.entries.len(), imported.report.entries);
    (imported, loaded)
}

#[test]
fn pi_session_keeps_its_tree() {
    let (imported, loaded) = imported("pi.jsonl");
    insta::assert_snapshot!("import_pi", told(&imported, &loaded));
}

#[test]
fn claude_code_answers_are_joined() {
    let (imported, loaded) = imported("claude.jsonl");
    insta::assert_snapshot!("import_claude", told(&imported, &loaded));
}

#[test]
fn codex_session_has_turns_and_diffs() {
    let (imported, loaded) = imported("codex.jsonl");
    insta::assert_snapshot!("import_codex", told(&imported, &loaded));
}

#[test]
fn opencode_session_has_its_calls_and_diffs() {
    let (imported, loaded) = imported("opencode.json");
    insta::assert_snapshot!("import_opencode", told(&imported, &loaded));
}

#[test]
fn steps_of_a_claude_code_subagent_are_details_of_its_call() {
    let name = "22301800-cbda-46e4-bdea-4dff3bcb2872";
    let (imported, loaded) = imported(&format!("claude-subagent/{name}.jsonl"));
    assert_eq!(imported.report.subagents, 1);
    let details = loaded
        .entries
        .iter()
        .find_map(|entry| match entry.kind.as_message()? {
            osier_agent::AgentMessage::ToolResult(result) => Some(result.details.clone()),
            _ => None,
        });
    let details = details.unwrap();
    assert_eq!(
        (
            &details["agent"],
            &details["model"],
            &details["turns"],
            &details["steps"]
        ),
        (
            &json!(null),
            &json!("anthropic/claude-opus-5-5"),
            &json!(2),
            &json!([{"callId": "toolu_Bash0s", "tool": "bash", "arguments": {"command": "ls"}, "status": "success"}])
        )
    );
    assert_eq!(details["spending"]["total"]["input"], 20);

    // The file of the subagent is no session of its own.
    let home = Home::new();
    for file in [
        format!("{name}.jsonl"),
        format!("{name}/subagents/agent-a7e1b9544ec9e156e.jsonl"),
    ] {
        let text = std::fs::read_to_string(fixture(&format!("claude-subagent/{file}"))).unwrap();
        let text = text.replace("/home/me/project", &home.work().to_string_lossy());
        let path = home.home().join(".claude/projects/-work").join(&file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        home.config(&format!(".claude/projects/-work/{file}"), text);
    }
    let output = home.cli().args(["import", "--claude"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert_eq!(home.sessions().len(), 1);
}

fn told(imported: &Imported, loaded: &Loaded) -> String {
    let mut lines = imported.described();
    lines.push(format!(
        "{} in {} at {}",
        loaded.header.id, loaded.header.cwd, loaded.header.timestamp
    ));
    let rows = outline(&loaded.entries);
    lines.extend(
        rows.iter()
            .enumerate()
            .map(|(place, row)| format!("{place}: on {row}")),
    );
    lines.join("\n")
}

#[test]
fn rolled_back_codex_turn_is_a_branch() {
    let home = Home::new();
    let item = |role: &str, kind: &str, text: &str| {
        json!({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload":
            {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}})
    };
    let lines = [
        json!({"timestamp": "t", "type": "session_meta", "payload": {"id": "0199b3c4-0000-7000-8000-00000000000a",
            "timestamp": "2026-01-01T00:00:00Z", "cwd": "/p", "model_provider": "openai"}}),
        item("user", "input_text", "one"),
        item("assistant", "output_text", "first"),
        item("user", "input_text", "two"),
        item("assistant", "output_text", "second"),
        json!({"timestamp": "t", "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}),
        item("user", "input_text", "three"),
        json!({"timestamp": "t", "type": "compacted", "payload": {"message": "all of it"}}),
    ];
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    text.insert_str(text.find('\n').unwrap() + 1, "{\"torn\n");
    let file = home.file("rollout.jsonl", text);
    let imported = import(&home.home(), &home.work(), &file, ImportOptions::default()).unwrap();
    assert_eq!(
        (imported.report.damaged, &imported.report.damaged_lines[..]),
        (1, &[2][..])
    );
    let loaded = load(&imported.path).unwrap();
    assert_eq!(
        outline(&loaded.entries),
        [
            "- user one []",
            "0 assistant  Stop (0, 0, 0) first",
            "1 user two []",
            "2 assistant  Stop (0, 0, 0) second",
            "1 user three []",
            "4 compaction from ?: all of it",
        ]
    );
}

#[test]
fn imported_session_continues_with_any_model_and_is_imported_once() {
    let home = Home::new();
    let file = fixture("claude.jsonl").to_string_lossy().into_owned();
    let first = home.cli().args(["import", &file]).run();
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(
        first
            .stdout
            .starts_with("imported from Claude Code as 997c97e6"),
        "{}",
        first.stdout
    );
    let second = home.cli().args(["import", &file]).run();
    assert!(
        second.stdout.contains("was imported before as 997c97e6"),
        "{}",
        second.stdout
    );
    assert_eq!(home.sessions().len(), 1);

    let answer = json!([{"steps": [{"text": "I go on."}]}]);
    let went_on = home
        .scripted(&answer)
        .args(["-p", "--resume", "997c97e6", "and now?"])
        .run();
    assert_eq!(
        (went_on.code, went_on.stdout.trim()),
        (Some(0), "I go on."),
        "{}",
        went_on.stderr
    );
    let lines = lines_of(&home.sessions()[0]);
    let last = lines
        .iter()
        .rev()
        .find(|line| line["message"]["role"] == "assistant");
    assert_eq!(last.unwrap()["message"]["content"][0]["text"], "I go on.");

    let again = home.cli().args(["import", "--again", &file]).run();
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(home.sessions().len(), 2);
}

#[test]
fn sessions_of_other_programs_are_listed() {
    let home = Home::new();
    let put = |place: &str, name: &str| {
        let folder = home.home().join(place);
        std::fs::create_dir_all(&folder).unwrap();
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        let text = text.replace("/home/me/project", &home.work().to_string_lossy());
        home.config(&format!("{place}/{name}"), text);
    };
    put(".claude/projects/-work", "claude.jsonl");
    put(".codex/sessions/2026/11/21", "codex.jsonl");
    put(".pi/agent/sessions/--work--", "pi.jsonl");
    let listed = home.cli().args(["import", "--list"]).run();
    let rows: Vec<&str> = listed.stdout.lines().step_by(2).collect();
    let named: Vec<String> = rows
        .iter()
        .map(|row| {
            let words: Vec<&str> = row.split("  ").filter(|word| !word.is_empty()).collect();
            format!(
                "{} {} {}",
                words[0].trim(),
                words[2].trim(),
                words[3].trim()
            )
        })
        .collect();
    assert_eq!(
        named,
        [
            "pi WORK make notes",
            "Claude Code WORK make notes",
            "Codex WORK make notes"
        ]
    );
    let some = home.cli().args(["import", "--codex", "--pi"]).run();
    assert_eq!(
        (some.code, home.sessions().len()),
        (Some(0), 2),
        "{}",
        some.stderr
    );
}

#[test]
fn file_that_is_not_a_session_is_an_error() {
    let home = Home::new();
    home.file("notes.jsonl", "{\"a\":1}\n");
    home.file("empty.jsonl", "");
    let run = |name: &str| home.cli().args(["import", name]).run();
    for (name, reason) in [
        (
            "notes.jsonl",
            "is not a session of osier, pi, Claude Code, Codex or opencode: its first lines match none of these formats",
        ),
        ("empty.jsonl", "it is empty"),
        ("missing.jsonl", "cannot read `WORK/missing.jsonl`"),
        (".", "it is not a regular file"),
    ] {
        let ended = run(name);
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(reason), "{name}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert!(home.sessions().is_empty());
}

#[test]
fn exported_osier_session_is_imported_unchanged() {
    let home = Home::new();
    let file = home.file("session.jsonl", sample(&[]));
    let imported = import(&home.home(), &home.work(), &file, ImportOptions::default()).unwrap();
    let copy = home
        .cli()
        .args(["export", &imported.id, "copy.jsonl"])
        .run();
    assert_eq!(copy.code, Some(0), "{}", copy.stderr);
    let copied = home.work().join("copy.jsonl");
    assert_eq!(lines_of(&copied), lines_of(&file));
    let elsewhere = Home::new();
    let arrived = import(
        &elsewhere.home(),
        &elsewhere.work(),
        &copied,
        ImportOptions::default(),
    );
    let arrived = load(&arrived.unwrap().path).unwrap();
    let left = load(&file).unwrap();
    assert_eq!((arrived.entries, arrived.leaf), (left.entries, left.leaf));
}
