use std::os::unix::fs::symlink;
use std::sync::Mutex;

use super::*;
use crate::testing::{Bench, numbered, text};
use osier_agent::ToolUpdate;

async fn grep(bench: &Bench, arguments: Value) -> String {
    text(&bench.run("grep", arguments).await)
}

#[tokio::test]
async fn matches_are_ordered_by_file_and_line() {
    let bench = Bench::new();
    bench.put("b/z.rs", "fn one() {}\n\nfn two() {}\n");
    bench.put("a.rs", "// fn\r\nFN\r\n");
    bench.put("x.log", "fn\n");
    bench.put(".gitignore", "*.log\n");
    bench.put(".hidden", "fn\n");
    let output = bench.run("grep", json!({"pattern": "fn"})).await;
    assert_eq!(
        text(&output),
        "a.rs\n1:// fn\n\nb/z.rs\n1:fn one() {}\n3:fn two() {}\n"
    );
    let expected = GrepDetails {
        pattern: "fn".to_owned(),
        path: bench.workspace.cwd().display().to_string(),
        matches: 3,
        files: 2,
        truncated: false,
        unreadable: 0,
    };
    assert_eq!(output.details, to_value(&expected));
}

#[tokio::test]
async fn arguments_narrow_and_widen_the_search() {
    let bench = Bench::new();
    bench.put("src/a.rs", "one (a)\ntwo\nthree\n");
    bench.put("src/a.md", "ONE\n");
    bench.put("src/.env", "one\n");
    let none = "no matches; ignored and hidden files were skipped\n";
    for (arguments, expected) in [
        (json!({"pattern": "ONE"}), "src/a.md\n1:ONE\n"),
        (
            json!({"pattern": "ONE", "ignore_case": true}),
            "src/a.md\n1:ONE\n\nsrc/a.rs\n1:one (a)\n",
        ),
        (json!({"pattern": "one", "glob": "*.md"}), none),
        (
            json!({"pattern": "e$", "glob": "!*.rs", "ignore_case": true}),
            "src/a.md\n1:ONE\n",
        ),
        (
            json!({"pattern": "one", "glob": ".env"}),
            "src/.env\n1:one\n",
        ),
        (
            json!({"pattern": "one", "path": "src/.env"}),
            "src/.env\n1:one\n",
        ),
        (
            json!({"pattern": "(a)", "literal": true}),
            "src/a.rs\n1:one (a)\n",
        ),
        (
            json!({"pattern": "two", "context": 1}),
            "src/a.rs\n1-one (a)\n2:two\n3-three\n",
        ),
        (
            json!({"pattern": "two\nth", "path": "src"}),
            "src/a.rs\n2:two\n3:three\n",
        ),
        (json!({"pattern": "two\\sthree"}), none),
        (
            json!({"pattern": "four", "path": "src/a.rs"}),
            "no matches\n",
        ),
    ] {
        assert_eq!(
            grep(&bench, arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn a_limit_cuts_between_matches_and_is_reported() {
    let bench = Bench::new();
    bench.put("a", numbered(1..=9));
    bench.put("b", numbered(1..=9));
    let arguments = json!({"pattern": "[357]", "limit": 4, "context": 1});
    let expected = "a\n2-2\n3:3\n4-4\n5:5\n6-6\n7:7\n8-8\n\nb\n2-2\n3:3\n4-4\n\
            [stopped after 4 matches; there are more: narrow the pattern, path or glob, or raise limit]\n";
    assert_eq!(grep(&bench, arguments).await, expected);
    let arguments = json!({"pattern": "[357]", "limit": 1});
    let expected = "a\n3:3\n\
            [stopped after 1 match; there are more: narrow the pattern, path or glob, or raise limit]\n";
    assert_eq!(grep(&bench, arguments).await, expected);
    let all = bench
        .run("grep", json!({"pattern": "[357]", "limit": 6}))
        .await;
    assert_eq!(all.details["truncated"], false);
    assert_eq!(all.details["matches"], 6);
}

#[tokio::test]
async fn long_lines_show_the_part_around_the_match() {
    let bench = Bench::new();
    let line = format!("{}漢needle漢{}\n", "x漢".repeat(1000), "y".repeat(100_000));
    bench.put("long", &line);
    let shown = grep(&bench, json!({"pattern": "needle"})).await;
    assert!(shown.len() < 620, "{shown}");
    assert!(shown.starts_with("long\n1:…"), "{shown}");
    assert!(shown.contains("漢needle漢yyy"), "{shown}");
    let end = format!("yyy… [cut; the line has {} bytes]\n", line.len() - 1);
    assert!(shown.ends_with(&end), "{shown}");
    assert!(!shown.contains('\u{fffd}'), "{shown}");
}

#[tokio::test]
async fn binary_data_is_handled() {
    let bench = Bench::new();
    bench.put("object", b"\x7fELF\0needle\n");
    bench.put("binary", b"needle\n\0\nneedle\n");
    bench.put("latin", b"caf\xe9 needle\x1b[2J\rx\n");
    bench.put("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
    bench.put("bom", "\u{feff}needle\n");
    let shown = grep(&bench, json!({"pattern": "needle"})).await;
    let expected = "bom\n1:needle\n\nlatin\n1:caf\u{e9} needle␍x\n\nutf16\n1:needle\n";
    assert_eq!(shown.replace('\u{feff}', ""), expected);
    // As in ripgrep, matches before the first NUL byte are reported.
    let late = [
        b"early needle\n".as_slice(),
        &vec![b'x'; 100_000],
        b"\n\0needle\n",
    ]
    .concat();
    bench.put("late/file", late);
    let shown = grep(&bench, json!({"pattern": "needle", "path": "late"})).await;
    let note = "[binary data from here on; the rest was not searched]\n";
    assert_eq!(shown, format!("late/file\n1:early needle\n{note}"));
    // A file that is named explicitly is searched.
    let shown = grep(&bench, json!({"pattern": "needle", "path": "binary"})).await;
    assert_eq!(
        shown,
        "binary\n1:needle\n4:needle\n[a binary file; NUL bytes count as line ends]\n"
    );
}

#[tokio::test]
async fn links_are_not_followed_unless_named() {
    let bench = Bench::new();
    bench.put("dir/file", "needle\n");
    symlink("..", bench.path("dir/up")).unwrap();
    symlink("dir", bench.path("link")).unwrap();
    symlink("dir/file", bench.path("one")).unwrap();
    let expected = "dir/file\n1:needle\n";
    assert_eq!(grep(&bench, json!({"pattern": "needle"})).await, expected);
    let through = grep(&bench, json!({"pattern": "needle", "path": "link"})).await;
    assert_eq!(through, "link/file\n1:needle\n");
    let one = grep(&bench, json!({"pattern": "needle", "path": "one"})).await;
    assert_eq!(one, "one\n1:needle\n");
}

#[tokio::test]
async fn long_output_is_cut_and_live_results_come_first() {
    let bench = Bench::new();
    for file in 0..100 {
        bench.put(&format!("{file:03}"), "needle and more of it\n".repeat(100));
    }
    let sent: Arc<Mutex<String>> = Arc::default();
    let sink = Arc::clone(&sent);
    let updates = UpdateSink::new(move |update: ToolUpdate| {
        sink.lock().unwrap().push_str(update.text());
    });
    let arguments = json!({"pattern": "needle", "limit": 100_000});
    let cancel = CancellationToken::new();
    let output = bench.run_with("grep", arguments, &cancel, updates).await;
    assert!(text(&output).len() < 51 * 1024);
    let notice = "there are more: narrow the pattern, path or glob]\n";
    assert!(text(&output).ends_with(notice));
    assert_eq!(output.details["truncated"], true);
    let sent = sent.lock().unwrap();
    assert!(
        sent.starts_with("000\n1:needle and more of it\n2:"),
        "{sent}"
    );
}

#[tokio::test]
async fn an_interrupt_keeps_the_results() {
    let bench = Bench::new();
    bench.put("a", "needle\n");
    let cancel = CancellationToken::new();
    let from_update = cancel.clone();
    bench.put("z", "x\n".repeat(3_000_000));
    let updates = UpdateSink::new(move |_| from_update.cancel());
    let arguments = json!({"pattern": "needle"});
    let output = bench.run_with("grep", arguments, &cancel, updates).await;
    assert_eq!(output.status, ToolStatus::Aborted);
    assert_eq!(text(&output), "a\n1:needle\n[interrupted after 1 match]\n");
}

#[tokio::test]
async fn invalid_arguments_are_rejected() {
    let bench = Bench::new();
    bench.put("sources/x", "");
    for (arguments, expected) in [
        (
            json!({"pattern": ""}),
            "invalid arguments: the pattern is empty",
        ),
        (
            json!({"pattern": "x", "path": "souces"}),
            "`souces` does not exist; did you mean `sources`?",
        ),
        (
            json!({"pattern": "x", "path": "/dev/null"}),
            "`/dev/null` is neither a directory nor a regular file",
        ),
    ] {
        assert_eq!(grep(&bench, arguments).await, expected);
    }
    let refused = bench.run("grep", json!({"pattern": "f(x"})).await;
    assert_eq!(refused.status.name(), "invalid_parameters");
    let advice = "\nEscape special characters, or set literal";
    assert!(text(&refused).ends_with(advice), "{}", text(&refused));
}
