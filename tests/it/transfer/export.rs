//! Exports.

use osier_store::load;
use serde_json::json;

use super::{key, outline, sample};
use crate::support::cli::{Home, lines_of};

/// A home whose working directory contains `session.jsonl`.
fn home_with(session: &str) -> Home {
    let home = Home::new();
    home.file("session.jsonl", session);
    home
}

#[test]
fn markdown_document() {
    let home = home_with(&sample(&[]));
    let ended = home
        .cli()
        .environment("TZ", "UTC")
        .args([
            "export",
            "./session.jsonl",
            "-",
            "--format",
            "markdown",
            "--tree",
        ])
        .run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    insta::assert_snapshot!("export_markdown", ended.stdout);
}

#[test]
fn html_page_has_every_branch_and_shows_the_current_one() {
    let home = home_with(&sample(&[]));
    let export = home.cli().environment("TZ", "UTC");
    let ended = export.args(["export", "./session.jsonl", "-"]).run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let body = ended.stdout.split("<main id=top>").nth(1).unwrap();
    let body = body.split("<script>").next().unwrap();
    insta::assert_snapshot!(
        "export_page",
        body.replace("<article", "\n<article").replace("><", ">\n<")
    );
}

#[test]
fn exported_branch_is_a_complete_session() {
    let home = home_with(&sample(&[]));
    let ended = home
        .cli()
        .args(["export", "./session.jsonl", "branch.jsonl", "--branch"])
        .run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let loaded = load(&home.work().join("branch.jsonl")).unwrap();
    let rows = outline(&loaded.entries);
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0], "- user first prompt []");
    assert_eq!(rows[5], "4 label Some(\"here\") on 0");
    assert_eq!((loaded.damaged, loaded.reattached), (0, 0));
}

#[test]
fn exports_contain_no_keys() {
    let key = key();
    let extra = [
        json!({"id": "00000009", "parentId": "00000005", "timestamp": "2026-01-02T03:04:05.000Z",
            "type": "message", "message": {"role": "user", "text": format!("use {key}"), "timestamp": 1}}),
        json!({"id": "0000000a", "parentId": "00000009", "timestamp": "2026-01-02T03:04:05.000Z",
            "type": "message", "message": {"role": "assistant", "content": [
                {"type": "thinking", "thinking": format!("{key}!")},
                {"type": "text", "text": format!("`{key}`")},
                {"type": "toolCall", "id": "c9", "name": "bash", "arguments": {"command": format!("curl -H 'x: {key}' \\\n x")}}],
                "provider": "p", "model": "m", "stopReason": "toolUse"}}),
        json!({"id": "0000000b", "parentId": "0000000a", "timestamp": "2026-01-02T03:04:05.000Z",
            "type": "message", "message": {"role": "toolResult", "toolCallId": "c9", "toolName": "bash",
                "content": [{"type": "text", "text": format!("KEY={key}\n")}], "isError": false, "timestamp": 1,
                "details": {"diff": format!("@@ -1 +1 @@\n-{key}\n+x\n")}}}),
        json!({"id": "0000000c", "parentId": "0000000b", "timestamp": "2026-01-02T03:04:05.000Z",
            "type": "session_info", "name": format!("about {key}")}),
    ];
    let home = home_with(&sample(&extra));
    for format in ["html", "markdown", "jsonl"] {
        let ended = home
            .cli()
            .args(["export", "./session.jsonl", "-", "--format", format])
            .run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(!ended.stdout.contains("aB3dE6gH9jK2"), "{format}");
        assert!(ended.stdout.contains("[key removed]"), "{format}");
    }
    // A session with removed keys is valid.
    let ended = home
        .cli()
        .args(["export", "./session.jsonl", "copy.jsonl"])
        .run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(load(&home.work().join("copy.jsonl")).unwrap().damaged, 0);
}

/// A command that was refused because of its control characters is exported with all that it contains.
#[test]
fn exports_hide_nothing_of_a_command() {
    let call = |id: &str, parent: &str, command: &str| {
        json!({"id": id, "parentId": parent, "timestamp": "2026-01-02T03:04:05.000Z",
            "type": "message", "message": {"role": "assistant", "content": [
                {"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": command}}],
                "provider": "p", "model": "m", "stopReason": "toolUse"}})
    };
    let extra = [
        call(
            "00000009",
            "00000005",
            "touch one\rls \u{202e}-la \u{1b}]0;touch two\u{7}\u{9b}2K",
        ),
        call("0000000a", "00000009", "touch three\rls\ntouch four\rls"),
    ];
    let home = home_with(&sample(&extra));
    let lines = [
        r"touch one␍ls \u{202e}-la ^[]0;touch two^G\x9b2K",
        "touch three␍ls⏎touch four␍ls",
    ];
    for (format, shown) in [
        (
            "html",
            &[lines[0], lines[1], "touch three␍ls\ntouch four␍ls"][..],
        ),
        ("markdown", &lines),
    ] {
        let ended = home
            .cli()
            .args(["export", "./session.jsonl", "-", "--format", format])
            .run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let text = without_tags(&ended.stdout);
        for shown in shown {
            assert!(text.contains(shown), "{format}: {shown}\n{text}");
        }
    }
}

/// The text of a page or document. Parts of highlighted code have tags of their own.
fn without_tags(page: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for char in page.chars() {
        match char {
            '<' => in_tag = true,
            '>' => in_tag = false,
            char if !in_tag => text.push(char),
            _ => {}
        }
    }
    text
}

#[test]
fn export_errors_are_one_line_and_change_no_file() {
    let home = home_with(&sample(&[]));
    home.file("there.md", "mine");
    let run = |words: [&str; 3]| {
        let ended = home.cli().args(words).run();
        assert_eq!(ended.code, Some(2), "{}", ended.stdout);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        ended.stderr
    };
    let there = run(["export", "./session.jsonl", "there.md"]);
    assert!(
        there.contains("`WORK/there.md` exists; choose another name, or add `--force`"),
        "{there}"
    );
    let read = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
    assert_eq!(read("there.md"), "mine");
    let folder = run(["export", "./session.jsonl", "missing/x.html"]);
    assert!(
        folder.contains("cannot write `WORK/missing/x.html`"),
        "{folder}"
    );
    assert!(run(["export", "nothing", "x.html"]).contains("no session matches `nothing`"));
    assert!(
        run(["export", "./session.jsonl", "--format=pdf"])
            .contains("expected one of `html`, `markdown`, `jsonl`")
    );
    assert!(run(["export", "./session.jsonl", "--theme=none"]).contains("unknown theme `none`"));
    let forced = home
        .cli()
        .args(["export", "./session.jsonl", "there.md", "--force"])
        .run();
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert!(read("there.md").starts_with("# Session"));
    let left: Vec<_> = std::fs::read_dir(home.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn export_skips_and_reports_damaged_entries() {
    let mut text = sample(&[]);
    let at = text.find("the other answer").unwrap();
    text.replace_range(at..=at, "\"");
    let home = home_with(&text);
    let ended = home
        .cli()
        .args(["export", "./session.jsonl", "copy.jsonl"])
        .run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let copied = lines_of(&home.work().join("copy.jsonl"));
    assert_eq!(copied.len(), lines_of_all(&text) - 1);
    assert!(
        ended.stderr.contains("skipped 1 damaged entries"),
        "{}",
        ended.stderr
    );
}

fn lines_of_all(text: &str) -> usize {
    text.lines().count()
}

#[test]
fn default_file_name_does_not_exist_yet() {
    let home = home_with(&sample(&[]));
    let run = || home.cli().args(["export", "./session.jsonl"]).run();
    let (first, second) = (run(), run());
    assert!(
        first
            .stdout
            .starts_with("WORK/osier-2026-01-02-00000001.html (6 entries, 2 branches, "),
        "{}",
        first.stdout
    );
    assert!(
        second
            .stdout
            .starts_with("WORK/osier-2026-01-02-00000001-2.html"),
        "{}",
        second.stdout
    );
}
