//! Losses that users reported of the undo of other agents: opencode #3148, #10287 and #3176.
#![expect(clippy::disallowed_methods, reason = "a project of the test's own")]

use std::path::Path;
use std::process::Command;

use osier_llm::Script;
use osier_protocol::{ChangeKind, Event, Op, Unrestored};
use osier_session::SessionChoice;
use osier_testing::skip;
use serde_json::json;

use super::{change, preview, prompts, restore, send};
use crate::support::session::TestProject;

fn edit() -> Script {
    Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": "echo agent >> a.txt"})))
        .turn(|turn| turn.text("Done."))
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-C"];
    let output = Command::new("git")
        .args(identity)
        .arg(folder)
        .args(arguments)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// In the reported loss, another instance had deleted the snapshots, and undo deleted every file
/// that the session had changed.
#[tokio::test]
async fn restore_without_recorded_objects_changes_no_file() {
    let place = TestProject::new();
    let file = place.work().join("a.txt");
    std::fs::write(&file, "mine\n").unwrap();
    let mut open = place.open(SessionChoice::New, edit()).await;
    let first = prompts(&open.run("edit it").await);
    std::fs::remove_dir_all(place.data().join("checkpoints")).unwrap();
    open.host.send(Op::Checkpoint(restore(&first[0], true)));
    let events = open
        .until(|event| matches!(event, Event::Notice { .. }))
        .await;
    let Some(Event::Notice { text, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert!(text.contains("is missing in"), "{text}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\nagent\n");
    open.close().await;
}

/// In the reported loss, undo in an old session restored old files over later commits.
#[tokio::test]
async fn restore_keeps_later_commits() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let place = TestProject::new();
    let work = place.work();
    let put = |name: &str, text: &str| std::fs::write(work.join(name), text).unwrap();
    let read = |name: &str| std::fs::read_to_string(work.join(name)).unwrap();
    put("a.txt", "one\n");
    put("b.txt", "one\n");
    git(&work, &["init", "-q"]);
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "one"]);
    let mut open = place.open(SessionChoice::New, edit()).await;
    let first = prompts(&open.run("edit it").await);
    open.close().await;

    git(&work, &["checkout", "-q", "a.txt"]);
    put("b.txt", "weeks of work\n");
    put("c.txt", "more of it\n");
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "two"]);
    put("a.txt", "weeks of work\n");
    let mut open = place.open(SessionChoice::Continue, edit()).await;
    let (changes, left) = send(&mut open, restore(&first[0], false)).await;
    assert_eq!(changes, []);
    let stays = |path: &str| Unrestored {
        path: path.into(),
        reason: "it was changed by hand".into(),
    };
    assert_eq!(left, [stays("c.txt"), stays("a.txt"), stays("b.txt")]);
    // Undoing the next prompt restores the state before that prompt, not the first state.
    let second = prompts(&open.run("edit it again").await);
    assert_eq!(read("a.txt"), "weeks of work\nagent\n");
    let (changes, left) = send(&mut open, restore(&second[0], false)).await;
    assert_eq!(
        (changes, left),
        (vec![change("a.txt", ChangeKind::Modify)], vec![])
    );
    assert_eq!(read("a.txt"), "weeks of work\n");
    assert_eq!(
        (read("b.txt").as_str(), read("c.txt").as_str()),
        ("weeks of work\n", "more of it\n")
    );
    open.close().await;
}

/// In the reported loss, undo in one directory of a repository reverted changes in another
/// directory.
#[tokio::test]
async fn restore_keeps_files_outside_the_working_directory() {
    if !skip::has(&["git"], "apt install git") {
        return;
    }
    let place = TestProject::new();
    let root = place.work();
    for name in ["mine", "theirs"] {
        std::fs::create_dir(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("a.txt"), "one\n").unwrap();
    }
    git(&root, &["init", "-q"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "one"]);
    let cwd = root.join("mine");
    let mut open = place
        .open_with(SessionChoice::New, edit(), |setup| setup.cwd = cwd)
        .await;
    let first = prompts(&open.run("edit it").await);
    let theirs = root.join("theirs/a.txt");
    std::fs::write(&theirs, "their work\n").unwrap();
    let expected = vec![change("a.txt", ChangeKind::Modify)];
    assert_eq!(preview(&mut open, Some(&first[0])).await, (true, expected));
    let (_, left) = send(&mut open, restore(&first[0], true)).await;
    assert_eq!(left, []);
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "their work\n");
    let mine = std::fs::read_to_string(root.join("mine/a.txt")).unwrap();
    assert_eq!(mine, "one\n");
    open.close().await;
}
