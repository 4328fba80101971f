use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};

use proptest::prelude::*;

use super::*;
use crate::edit::file::changed_on_disk;
use crate::files::ledger::Stamp;
use crate::testing::{Bench, patched, text};

/// A bench with the file `f`, which the model has already read.
async fn known(contents: &str) -> Bench {
    let bench = Bench::new();
    bench.put("f", contents);
    bench.run("read", json!({"file_path": "f"})).await;
    bench
}

async fn edit_text(bench: &Bench, arguments: Value) -> String {
    text(&bench.run("edit", arguments).await)
}

#[tokio::test]
async fn the_result_is_reported_to_model_and_interface() {
    let bench = known("\u{feff}a\r\nb\r\nc").await;
    let arguments = json!({"file_path": "f", "old_string": "b\nc", "new_string": "x\ny\nc"});
    let output = bench.run("edit", arguments).await;
    assert_eq!(bench.get("f"), "\u{feff}a\r\nx\r\ny\r\nc");
    assert_eq!(text(&output), "Changed 1 place in `f` (+2 -1 lines)\n");
    let expected = EditDetails {
        file_path: bench.path("f").display().to_string(),
        old_string: "b\nc".to_owned(),
        new_string: "x\ny\nc".to_owned(),
        match_count: 1,
        lines_changed: 2,
        lines_added: 2,
        lines_removed: 1,
        first_changed_line: Some(2),
        diff: output.details["diff"].as_str().unwrap().to_owned(),
        ..EditDetails::default()
    };
    assert_eq!(output.details, to_value(&expected));
}

#[tokio::test]
async fn several_edits_are_applied_atomically() {
    let bench = known("one\ntwo\nthree\n").await;
    let edits = json!({"file_path": "f", "edits": [
        {"old_string": "one", "new_string": "two"},
        {"old_string": "two", "new_string": "one"},
    ]});
    let output = bench.run("edit", edits).await;
    assert_eq!(bench.get("f"), "two\none\nthree\n");
    assert_eq!(output.details["matchCount"], 2);
    assert_eq!(output.details["edits"][1]["oldString"], "two");
    let failing = json!({"file_path": "f", "edits": [
        {"old_string": "three", "new_string": "3"},
        {"old_string": "four", "new_string": "4"},
    ]});
    let message = edit_text(&bench, failing).await;
    assert!(
        message.starts_with("edit 2: old_string was not found in `f`"),
        "{message}"
    );
    assert!(message.ends_with("\nNothing was changed"), "{message}");
    assert_eq!(bench.get("f"), "two\none\nthree\n");
}

#[tokio::test]
async fn failures_show_the_closest_lines() {
    let bench = known("fn main() {\n\tlet total = 1;\n}\nlet a;\nlet a;\n").await;
    for (old, expected) in [
        (
            "    let totals = 1;",
            "old_string was not found in `f`. The closest match:\n2\t\tlet total = 1;\nDifferences: line 2 has `total` where old_string has `totals`; the file indents with tabs, old_string with spaces",
        ),
        (
            "zzzqqq",
            "old_string was not found in `f`, and nothing similar; read the file again",
        ),
        (
            "let a;",
            "old_string occurs in `f` in lines 4, 5; add surrounding lines to make it unique, or set replace_all",
        ),
    ] {
        let arguments = json!({"file_path": "f", "old_string": old, "new_string": "new"});
        assert_eq!(edit_text(&bench, arguments).await, expected);
    }
}

#[tokio::test]
async fn a_normalised_match_is_reported_and_requires_a_read() {
    let bench = Bench::new();
    bench.put("f", "say \u{201c}hi\u{201d}\n");
    let arguments = json!({"file_path": "f", "old_string": "say \"hi\"", "new_string": "x"});
    let message = edit_text(&bench, arguments.clone()).await;
    assert!(message.ends_with("which was not read in this session; read it first"));
    bench.run("read", json!({"file_path": "f"})).await;
    let output = bench.run("edit", arguments).await;
    assert_eq!(
        text(&output),
        "Changed 1 place in `f` (+1 -1 lines); whitespace, quotes and dashes were normalised\n\
         @@ -1 +1 @@\n-say \u{201c}hi\u{201d}\n+x"
    );
    assert_eq!(output.details["fuzzy"], true);
    assert_eq!(bench.get("f"), "x\n");
}

#[tokio::test]
async fn an_unread_file_can_be_edited_with_an_exact_match() {
    let bench = Bench::new();
    bench.put("f", "a\n");
    for (old, new) in [("a", "b"), ("b", "c")] {
        let arguments = json!({"file_path": "f", "old_string": old, "new_string": new});
        assert!(bench.run("edit", arguments).await.status.is_success());
    }
    assert_eq!(bench.get("f"), "c\n");
}

#[tokio::test]
async fn an_externally_changed_line_is_rejected_until_read_again() {
    let bench = known("a\nb\n").await;
    bench.put("f", "a\nother\n");
    let arguments = json!({"file_path": "f", "old_string": "a\nb", "new_string": "x"});
    assert_eq!(
        edit_text(&bench, arguments).await,
        "`f` changed on disk since it was last read (line 2), and the edit has to do with that; nothing was written. Read it again first"
    );
    assert_eq!(bench.get("f"), "a\nother\n");
    bench.run("read", json!({"file_path": "f"})).await;
    let arguments = json!({"file_path": "f", "old_string": "other", "new_string": "x"});
    assert!(bench.run("edit", arguments).await.status.is_success());
    // The tool's own edits are not external changes.
    let again = json!({"file_path": "f", "old_string": "x", "new_string": "y"});
    assert!(bench.run("edit", again).await.status.is_success());
}

#[tokio::test]
async fn unchanged_lines_of_a_changed_file_are_edited_and_the_change_is_shown() {
    let bench = known("a\nb\nc\nd\n").await;
    bench.put("f", "a\nb\nc\nnew\nd\n");
    let arguments = json!({"file_path": "f", "old_string": "a", "new_string": "x"});
    assert_eq!(
        edit_text(&bench, arguments).await,
        "Changed 1 place in `f` (+1 -1 lines)\n[another program had changed the file since you read it (+1 -0 lines); its changes are kept:\n@@ -1,4 +1,5 @@\n a\n b\n c\n+new\n d]\n"
    );
    assert_eq!(bench.get("f"), "x\nb\nc\nnew\nd\n");
    // The model knows all of it now.
    let arguments = json!({"file_path": "f", "old_string": "new", "new_string": "y"});
    let changed = "Changed 1 place in `f` (+1 -1 lines)\n";
    assert_eq!(edit_text(&bench, arguments).await, changed);
    // A change that is too long to show stays unknown, also after an edit.
    let many: String = (1..=200).fold(String::new(), |text, line| format!("{text}line {line}\n"));
    bench.put("f", format!("x\nb\nc\ny\nd\n{many}"));
    for (old, new, expected) in [
        ("b", "B", "Changed 1 place"),
        (
            "line 150",
            "z",
            "`f` changed on disk since it was last read (lines 6-205)",
        ),
        ("c", "C", "Changed 1 place"),
    ] {
        let arguments = json!({"file_path": "f", "old_string": old, "new_string": new});
        let text = edit_text(&bench, arguments).await;
        assert!(text.starts_with(expected), "{text}");
        if text.starts_with("Changed") {
            assert!(
                text.ends_with("[…]\nRead the file for the rest]\n"),
                "{text}"
            );
        }
    }
    assert_eq!(bench.get("f"), format!("x\nB\nC\ny\nd\n{many}"));
    let write = json!({"file_path": "f", "content": "all\n"});
    let output = bench.run("write", write).await;
    assert_eq!(text(&output), changed_on_disk("f"));
}

#[tokio::test]
async fn commands_read_write_and_change_files_too() {
    let bench = Bench::new();
    bench.put("f", "let a = 1;\n\tbegin();\n");
    bench.put("g", "one\n");
    let run = async |command: &str| {
        let output = bench.run("bash", json!({"command": command})).await;
        assert!(output.status.is_success(), "{}", text(&output));
    };
    let write = json!({"file_path": "g", "content": "two\n"});
    let unread = "`g` exists and was not read in this session; nothing was written. Read it first, or change parts of it with edit";
    assert_eq!(text(&bench.run("write", write.clone()).await), unread);
    run("cat f | head -5; sed -n 1p g").await;
    let spaces =
        json!({"file_path": "f", "old_string": "    begin();", "new_string": "    close();"});
    assert!(
        edit_text(&bench, spaces)
            .await
            .starts_with("Changed 1 place")
    );
    assert_eq!(bench.get("f"), "let a = 1;\n\tclose();\n");
    assert!(bench.run("write", write).await.status.is_success());
    // A command that names the file, and a formatter that does not.
    run("sed -i s/two/three/ g").await;
    let write = json!({"file_path": "g", "content": "four\n"});
    assert!(bench.run("write", write).await.status.is_success());
    run("for x in *; do echo 'five' >> $x; done").await;
    let write = json!({"file_path": "g", "content": "six\n"});
    assert_eq!(
        text(&bench.run("write", write.clone()).await),
        "a command changed `g` since it was last read; nothing was written. Read it again first, or change parts of it with edit"
    );
    let edit = json!({"file_path": "g", "old_string": "five", "new_string": "5"});
    assert_eq!(
        edit_text(&bench, edit).await,
        "Changed 1 place in `g` (+1 -1 lines)\n"
    );
    // The model still does not know all of it.
    assert!(!bench.run("write", write.clone()).await.status.is_success());
    run("cat g").await;
    assert!(bench.run("write", write).await.status.is_success());
    // A file that the command wrote, and one that failed.
    run("cat > new <<'EOF'\nx\nEOF").await;
    let write = json!({"file_path": "new", "content": "y\n"});
    assert!(bench.run("write", write).await.status.is_success());
    bench.put("h", "x\n");
    bench.run("bash", json!({"command": "cat h missing"})).await;
    let write = json!({"file_path": "h", "content": "y\n"});
    assert!(!bench.run("write", write).await.status.is_success());
}

/// A change that another program made before a command is not the change of the command.
#[tokio::test]
async fn a_change_before_a_command_is_still_external() {
    let bench = known("a\nb\n").await;
    bench.put("f", "a\ntheirs\n");
    bench.run("bash", json!({"command": "true"})).await;
    let write = json!({"file_path": "f", "content": "x\n"});
    assert_eq!(text(&bench.run("write", write).await), changed_on_disk("f"));
}

#[tokio::test]
async fn lines_are_inserted_by_number_and_replacements_are_counted() {
    let bench = Bench::new();
    bench.put("f", "a\r\nb");
    let insert =
        |line: u64, text: &str| json!({"file_path": "f", "insert_line": line, "new_string": text});
    let unread = "`f` must be read before lines are inserted by their number; read it first";
    assert_eq!(edit_text(&bench, insert(1, "x")).await, unread);
    bench.run("read", json!({"file_path": "f"})).await;
    for (line, new, expected) in [
        (0, "x\n", "x\r\na\r\nb"),
        (2, "y\nz", "x\r\na\r\ny\r\nz\r\nb"),
        (5, "end", "x\r\na\r\ny\r\nz\r\nb\r\nend"),
    ] {
        let text = edit_text(&bench, insert(line, new)).await;
        assert!(text.starts_with("Changed 1 place"), "{text}");
        assert_eq!(bench.get("f"), expected);
    }
    let beyond = "`f` has 6 lines, so nothing can be inserted after line 7";
    assert_eq!(edit_text(&bench, insert(7, "x")).await, beyond);
    bench.put("g", "a b a\n");
    let count = |count: u64| json!({"file_path": "g", "old_string": "a", "new_string": "c", "expected_replacements": count});
    assert_eq!(
        edit_text(&bench, count(3)).await,
        "old_string occurs 2 times in `g`, not 3 times; nothing was changed"
    );
    assert_eq!(
        edit_text(&bench, count(2)).await,
        "Changed 2 places in `g` (+1 -1 lines)\n"
    );
    assert_eq!(bench.get("g"), "c b c\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The change on disk equals the change in the diff, whatever the surrounding text.
    #[test]
    fn the_file_changes_as_the_diff_says(
        mark in "\u{feff}?",
        before in "([ab“é]{0,4}\r?\n){0,8}[ab \t]{0,3}",
        new in "[abé \n]{0,12}",
        after in "[ab \t]{0,3}(\r?\n[ab“é]{0,4}){0,8}",
    ) {
        let old = format!("{mark}{before}<old>{after}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (text, output) = runtime.block_on(async {
            let bench = known(&old).await;
            let arguments = json!({"file_path": "f", "old_string": "<old>", "new_string": new});
            let output = bench.run("edit", arguments).await;
            (bench.get("f"), output)
        });
        let diff = output.details["diff"].as_str().unwrap();
        prop_assert_eq!(patched(&old, diff), text.as_str());
        let inside = text
            .strip_prefix(&format!("{mark}{before}"))
            .and_then(|rest| rest.strip_suffix(after.as_str()))
            .expect("the surroundings changed");
        prop_assert_eq!(inside.replace("\r\n", "\n"), new);
    }
}

#[tokio::test]
async fn a_file_replaced_by_a_link_is_rejected() {
    let bench = known("a\n").await;
    bench.put("elsewhere/g", "a\n");
    fs::remove_file(bench.path("f")).unwrap();
    symlink("elsewhere/g", bench.path("f")).unwrap();
    let edit = json!({"file_path": "f", "old_string": "a", "new_string": "b"});
    assert_eq!(edit_text(&bench, edit.clone()).await, changed_on_disk("f"));
    let write = json!({"file_path": "f", "content": "b"});
    let output = bench.run("write", write).await;
    assert_eq!(text(&output), changed_on_disk("f"));
    assert_eq!(bench.get("elsewhere/g"), "a\n");
    // After a read, the new target is known.
    bench.run("read", json!({"file_path": "f"})).await;
    assert!(bench.run("edit", edit).await.status.is_success());
    assert_eq!(bench.get("elsewhere/g"), "b\n");
    assert!(bench.path("f").is_symlink());
}

#[tokio::test]
async fn a_directory_replaced_by_a_link_is_rejected_and_a_removed_one_reported() {
    let bench = Bench::new();
    bench.put("dir/f", "a\n");
    bench.put("other/f", "a\n");
    bench.run("read", json!({"file_path": "dir/f"})).await;
    fs::remove_dir_all(bench.path("dir")).unwrap();
    let edit = json!({"file_path": "dir/f", "old_string": "a", "new_string": "b"});
    assert_eq!(
        edit_text(&bench, edit.clone()).await,
        "`dir/f` does not exist"
    );
    symlink("other", bench.path("dir")).unwrap();
    assert_eq!(edit_text(&bench, edit).await, changed_on_disk("dir/f"));
    assert_eq!(bench.get("other/f"), "a\n");
}

#[tokio::test]
async fn mode_and_owner_stay_and_hard_links_are_reported() {
    let bench = known("a\n").await;
    let path = bench.path("f");
    let root = rustix::process::geteuid().is_root();
    if root {
        chown(&path, Some(1234), Some(2345)).unwrap();
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o741)).unwrap();
    fs::hard_link(&path, bench.path("twin")).unwrap();
    let edit = json!({"file_path": "f", "old_string": "a", "new_string": "b"});
    let told = edit_text(&bench, edit).await;
    let note = "[the file had another hard link, which still has the old contents]";
    assert!(told.ends_with(note), "{told}");
    assert_eq!(
        (bench.get("f").as_str(), bench.get("twin").as_str()),
        ("b\n", "a\n")
    );
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o741);
    if root {
        assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
    }
}

#[tokio::test]
async fn unicode_composition_does_not_matter() {
    let bench = Bench::new();
    // The name and the text are decomposed on disk and composed in the call.
    bench.put("cafe\u{301}.txt", "un cafe\u{301}\ndeux\n");
    bench
        .run("read", json!({"file_path": "caf\u{e9}.txt"}))
        .await;
    let edit = json!({"file_path": "caf\u{e9}.txt", "old_string": "un caf\u{e9}", "new_string": "un th\u{e9}"});
    let output = bench.run("edit", edit).await;
    assert_eq!(output.details["fuzzy"], true, "{}", text(&output));
    assert_eq!(bench.get("cafe\u{301}.txt"), "un th\u{e9}\ndeux\n");
    assert_eq!(fs::read_dir(bench.path("")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_huge_file_is_checked_without_loading_it() {
    let bench = Bench::new();
    let path = bench.path("big");
    let file = fs::File::create(&path).unwrap();
    file.set_len(100 * 1024 * 1024).unwrap();
    let edit = json!({"file_path": "big", "old_string": "a", "new_string": "b"});
    assert_eq!(
        edit_text(&bench, edit).await,
        "`big` is too large to edit (104857600 bytes); use bash: `sed -i`"
    );
    // Identified by size, times and inode.
    let stamp = Stamp::large(&fs::metadata(&path).unwrap());
    bench
        .workspace
        .ledger
        .record(&bench.target("big"), stamp, None);
    let write = json!({"file_path": "big", "content": "small\n"});
    std::io::Write::write_all(&mut &file, b"theirs").unwrap();
    let output = bench.run("write", write.clone()).await;
    assert_eq!(text(&output), changed_on_disk("big"));
    let stamp = Stamp::large(&fs::metadata(&path).unwrap());
    bench
        .workspace
        .ledger
        .record(&bench.target("big"), stamp, None);
    assert!(bench.run("write", write).await.status.is_success());
    assert_eq!(bench.get("big"), "small\n");
}

#[tokio::test]
async fn errors_explain_what_to_do() {
    let bench = Bench::new();
    bench.put("main.rs", "x");
    bench.put("latin", b"caf\xe9");
    let strings = json!({"old_string": "x", "new_string": "y"});
    for (path, more, expected) in [
        (
            "mian.rs",
            strings.clone(),
            "`mian.rs` does not exist; did you mean `main.rs`?",
        ),
        (
            "latin",
            strings.clone(),
            "old_string was not found in `latin`, and nothing similar; read the file again",
        ),
        ("/", strings, "`/` is not a regular file"),
        (
            "main.rs",
            json!({}),
            "invalid arguments: set old_string and new_string, or edits",
        ),
        (
            "main.rs",
            json!({"old_string": "x"}),
            "invalid arguments: old_string and new_string must be set together",
        ),
        (
            "main.rs",
            json!({"old_string": "x", "new_string": "x"}),
            "old_string and new_string are the same; nothing to change",
        ),
    ] {
        let mut arguments = more;
        arguments["file_path"] = json!(path);
        assert_eq!(edit_text(&bench, arguments).await, expected);
    }
}
