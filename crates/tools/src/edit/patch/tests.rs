use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use super::*;
use crate::testing::{Bench, numbered, text};

fn patch(body: &str) -> Value {
    json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")})
}

async fn applied(bench: &Bench, body: &str) -> String {
    text(&bench.run(NAME, patch(body)).await)
}

/// A bench with a file of ten lines that was read.
async fn bench() -> Bench {
    let bench = Bench::new();
    bench.put("a.txt", numbered(1..=10));
    bench.put("b.txt", "one\ntwo\n");
    for name in ["a.txt", "b.txt"] {
        bench.run("read", json!({"file_path": name})).await;
    }
    bench
}

#[tokio::test]
async fn one_patch_creates_changes_moves_and_deletes() {
    let bench = bench().await;
    bench.put("old.txt", "x\n");
    fs::set_permissions(bench.path("b.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = bench
        .run(
            NAME,
            patch(
                "*** Add File: new/c.txt\n+made\n*** Update File: a.txt\n@@\n 2\n-3\n+three\n 4\n@@\n-9\n*** Update File: b.txt\n*** Move to: sub/d.sh\n-one\n+1\n*** Delete File: old.txt\n",
            ),
        )
        .await;
    assert_eq!(
        text(&output),
        "Changed 4 files:\nA new/c.txt (+1 lines)\nM a.txt (+1 -2 lines)\nR b.txt -> sub/d.sh (+1 -1 lines)\nD old.txt\n"
    );
    assert_eq!(bench.get("new/c.txt"), "made\n");
    assert_eq!(bench.get("a.txt"), "1\n2\nthree\n4\n5\n6\n7\n8\n10\n");
    assert_eq!(bench.get("sub/d.sh"), "1\ntwo\n");
    let mode = fs::metadata(bench.path("sub/d.sh")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
    assert!(!bench.path("b.txt").exists() && !bench.path("old.txt").exists());
    let path = |name: &str| bench.path(name).display().to_string();
    let diff = "diff --git a/new/c.txt b/new/c.txt\n--- /dev/null\n+++ b/new/c.txt\n@@ -0,0 +1 @@\n+made\n\
diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,10 +1,9 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n 7\n 8\n-9\n 10\n\
diff --git a/b.txt b/sub/d.sh\n--- a/sub/d.sh\n+++ b/sub/d.sh\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n\
diff --git a/old.txt b/old.txt\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    assert_eq!(
        output.details,
        json!({
            "files": [
                {"filePath": path("new/c.txt"), "kind": "add", "linesAdded": 1, "linesRemoved": 0},
                {"filePath": path("a.txt"), "kind": "update", "linesAdded": 1, "linesRemoved": 2},
                {"filePath": path("sub/d.sh"), "kind": "update", "movedFrom": path("b.txt"), "linesAdded": 1, "linesRemoved": 1},
                {"filePath": path("old.txt"), "kind": "delete", "linesAdded": 0, "linesRemoved": 1},
            ],
            "diff": diff,
            "linesAdded": 3,
            "linesRemoved": 4,
        })
    );
    let parts = crate::files::diff::by_file(diff).into_iter();
    let names: Vec<&str> = parts.map(|(name, _)| name).collect();
    assert_eq!(names, ["new/c.txt", "a.txt", "sub/d.sh", "old.txt"]);
    // The model knows the text that the patch wrote.
    let again = "*** Update File: sub/d.sh\n-1\n+uno\n*** Update File: new/c.txt\n-made\n";
    assert_eq!(
        applied(&bench, again).await,
        "Changed 2 files:\nM sub/d.sh (+1 -1 lines)\nM new/c.txt (+0 -1 lines)\n"
    );
}

#[tokio::test]
async fn nothing_is_changed_if_one_file_cannot_be() {
    let bench = bench().await;
    bench.put("dir/file", "");
    symlink("a.txt", bench.path("link")).unwrap();
    bench.put("twice.txt", "x\ny\nx\n");
    bench.run("read", json!({"file_path": "twice.txt"})).await;
    let change = "*** Update File: b.txt\n-one\n+1\n";
    for (section, expected) in [
        (
            "*** Update File: a.txt\n-11\n+eleven\n",
            "the text of the hunk was not found in `a.txt`, and nothing similar; read the file again; nothing was changed",
        ),
        (
            "*** Update File: twice.txt\n-x\n+z\n",
            "the text of the hunk occurs in `twice.txt` in lines 1, 3; add unchanged lines to make it unique, or a line such as `@@ class A` before the hunk; nothing was changed",
        ),
        (
            "*** Update File: a.txt\n+added\n",
            "hunk 1 of `a.txt` only adds lines, so its place is unknown; add unchanged lines before or after them; nothing was changed",
        ),
        (
            "*** Delete File: gone.txt\n",
            "`gone.txt` does not exist; did you mean `a.txt` or `b.txt` or `twice.txt`?; nothing was changed",
        ),
        (
            "*** Delete File: dir\n",
            "`dir` is not a regular file; delete it with a command; nothing was changed",
        ),
        (
            "*** Delete File: link\n",
            "`link` is a symbolic link; delete or move it with a command; nothing was changed",
        ),
        (
            "*** Add File: a.txt\n+x\n",
            "`a.txt` exists already; change it with `*** Update File: a.txt`; nothing was changed",
        ),
        (
            "*** Add File: a.txt/x\n+x\n",
            "a parent of `a.txt/x` is not a directory; choose another path; nothing was changed",
        ),
        (
            "*** Update File: a.txt\n*** Move to: dir/file\n-1\n",
            "`dir/file` exists already, so `a.txt` cannot be moved there; nothing was changed",
        ),
        (
            "*** Add File: ../outside.txt\n+x\n",
            "`../outside.txt` is outside of the working directory, and a patch changes only files in it; nothing was changed. Use a command for other files",
        ),
        (
            "*** Add File: /tmp/osier-outside.txt\n+x\n",
            "`/tmp/osier-outside.txt` is outside of the working directory, and a patch changes only files in it; nothing was changed. Use a command for other files",
        ),
        (
            "*** Update File: ./b.txt\n-two\n+2\n",
            "the patch names `./b.txt` twice, also by another path; combine its sections. Nothing was changed",
        ),
    ] {
        assert_eq!(
            applied(&bench, &format!("{change}{section}")).await,
            expected,
            "{section}"
        );
        assert_eq!(bench.get("b.txt"), "one\ntwo\n", "{section}");
    }
    assert_eq!(bench.get("a.txt"), numbered(1..=10));
}

#[tokio::test]
async fn a_directory_outside_cannot_be_reached_by_a_link() {
    let (bench, outside) = (bench().await, tempfile::tempdir().unwrap());
    symlink(outside.path(), bench.path("out")).unwrap();
    assert_eq!(
        applied(&bench, "*** Add File: out/x\n+x\n").await,
        "`out/x` is outside of the working directory, and a patch changes only files in it; nothing was changed. Use a command for other files"
    );
    assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
    let other = Bench::with(|workspace| {
        workspace.with_directories(vec![outside.path().canonicalize().unwrap()])
    });
    let inside = outside.path().canonicalize().unwrap().join("y");
    let body = format!("*** Add File: {}\n+y\n", inside.display());
    assert!(
        applied(&other, &body)
            .await
            .starts_with("Changed 1 file:\nA ")
    );
    assert_eq!(fs::read_to_string(inside).unwrap(), "y\n");
}

/// The last step fails, after every check has passed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn written_files_are_restored_if_a_later_one_fails() {
    let bench = bench().await;
    let section = "*** Update File: a.txt\n-1\n+one\n*** Add File: new/deep/c\n+c\n*** Update File: b.txt\n*** Move to: moved/b.txt\n-one\n+1\n";
    let body = format!("{section}*** Delete File: gone\n");
    bench.put("gone", "x");
    let arguments = patch(&body);
    let parsed = Patch::parse(arguments["input"].as_str().unwrap()).unwrap();
    let targets = bench.workspace.targets(&named(&parsed)).await.unwrap();
    let changes = Changes::plan(&bench.workspace, &parsed, targets).unwrap();
    // Another program changes a file between the checks and the writing.
    bench.put("gone", "y");
    assert_eq!(
        changes.carry_out(&bench.workspace).map(drop),
        Err("`gone` changed on disk since it was last read; nothing was written. Read it again first; nothing was changed".to_owned())
    );
    assert_eq!(bench.get("a.txt"), numbered(1..=10));
    assert_eq!(bench.get("b.txt"), "one\ntwo\n");
    assert!(!bench.path("new").exists() && !bench.path("moved").exists());
    assert_eq!(bench.get("gone"), "y");
}

#[tokio::test]
async fn an_unread_file_needs_exact_lines() {
    let bench = Bench::new();
    bench.put("a", "\tlet a = 1;\n\tlet b = 2;\n");
    let inexact = "*** Update File: a\n-    let a = 1;\n+    let a = 2;\n";
    assert_eq!(
        applied(&bench, inexact).await,
        "the text of the hunk does not occur exactly in `a`, which was not read in this session; read it first"
    );
    assert_eq!(
        applied(&bench, "*** Update File: a\n-\tlet a = 1;\n").await,
        "Changed 1 file:\nM a (+0 -1 lines)\n"
    );
    bench.run("read", json!({"file_path": "a"})).await;
    let inexact = "*** Update File: a\n-    let b = 2;\n+    let b = 3;\n";
    assert_eq!(
        applied(&bench, inexact).await,
        "Changed 1 file:\nM a (+1 -1 lines); hunk 1: the indentation was adapted to the file\n@@ -1 +1 @@\n-\tlet b = 2;\n+\tlet b = 3;\n"
    );
}

#[tokio::test]
async fn a_file_that_another_program_changed_is_merged_or_refused() {
    let bench = bench().await;
    bench.put("a.txt", numbered(1..=10).replace("10\n", "ten\n"));
    assert_eq!(
        applied(&bench, "*** Update File: a.txt\n-2\n+two\n").await,
        "Changed 1 file:\nM a.txt (+1 -1 lines)\n[another program had changed the file since you read it (+1 -1 lines); its changes are kept:\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+ten]\n"
    );
    bench.put("b.txt", "one\n2\n");
    assert_eq!(
        applied(&bench, "*** Update File: b.txt\n one\n-two\n").await,
        "`b.txt` changed on disk since it was last read; nothing was written. Read it again first"
    );
    assert_eq!(
        applied(&bench, "*** Delete File: b.txt\n").await,
        "`b.txt` changed on disk since it was last read; nothing was written. Read it again first"
    );
    assert_eq!(bench.get("b.txt"), "one\n2\n");
}

#[tokio::test]
async fn a_binary_file_is_not_patched_but_can_be_deleted() {
    let bench = Bench::new();
    bench.put("blob", [0xff, 0, 1]);
    assert_eq!(
        applied(&bench, "*** Update File: blob\n-x\n").await,
        "`blob` is not UTF-8 text (first invalid byte at 0); use bash to change it"
    );
    assert_eq!(
        applied(&bench, "*** Delete File: blob\n").await,
        "Changed 1 file:\nD blob\n"
    );
    assert!(!bench.path("blob").exists());
}

#[test]
fn a_command_with_a_patch_is_a_call_of_the_tool() {
    let bench = Bench::new();
    let names = ["bash".to_owned(), NAME.to_owned()];
    let tools = crate::build(&bench.workspace, Some(&names)).unwrap();
    let body = "*** Begin Patch\n*** Delete File: x\n*** End Patch\n";
    let bash = tools
        .iter()
        .find(|tool| tool.spec().name == "bash")
        .unwrap();
    let redirected = |command: &str| {
        let arguments = json!({"command": command});
        bash.redirect(arguments.as_object().unwrap())
    };
    let (name, arguments) = redirected(&format!("apply_patch <<'EOF'\n{body}EOF")).unwrap();
    assert_eq!((name, &arguments["input"]), (NAME, &json!(body)));
    assert_eq!(redirected("ls"), None);
}
