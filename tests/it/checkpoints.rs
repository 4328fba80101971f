//! Checkpoints in a complete session.
#![expect(clippy::disallowed_methods, reason = "a project of the test's own")]

mod killed;
mod reported_losses;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use osier_llm::Script;
use osier_protocol::{
    ChangeKind, CheckpointEvent, CheckpointOp, DiffRange, Event, FileChange, FilesAt, Op,
    Unrestored,
};
use osier_session::SessionChoice;
use serde_json::json;

use crate::support::session::{OpenSession, TestProject};

/// Two prompts: the first writes and runs, the second edits.
fn two_prompts() -> Script {
    Script::new()
        .turn(|turn| {
            turn.tool("write", json!({"file_path": "a.txt", "content": "one\n"}))
                .tool(
                    "bash",
                    json!({"command": "mkdir -p gen && echo made > gen/b.txt && rm old.txt"}),
                )
        })
        .turn(|turn| turn.text("First done."))
        .turn(|turn| turn.tool("bash", json!({"command": "echo two > a.txt"})))
        .turn(|turn| turn.text("Second done."))
}

fn change(path: &str, kind: ChangeKind) -> FileChange {
    FileChange {
        path: path.into(),
        kind,
        by_hand: false,
        obstacle: None,
    }
}

/// The entries of the user's prompts.
fn prompts(events: &[Event]) -> Vec<String> {
    let mut stored = None;
    let mut prompts = Vec::new();
    for event in events {
        match event {
            Event::MessageStored { entry_id, .. } => stored = Some(entry_id.clone()),
            Event::Agent(osier_agent::Event::MessageEnd { message, .. }) => {
                if let (osier_agent::AgentMessage::User(_), Some(id)) = (&**message, stored.take())
                {
                    prompts.push(id);
                }
            }
            _ => {}
        }
    }
    prompts
}

async fn preview(open: &mut OpenSession, entry: Option<&str>) -> (bool, Vec<FileChange>) {
    let at = match entry {
        Some(entry) => FilesAt::Entry {
            entry_id: entry.to_owned(),
        },
        None => FilesAt::Start,
    };
    open.host.send(Op::Checkpoint(CheckpointOp::PreviewFiles {
        request: 7,
        at,
    }));
    let events = open
        .until(|event| {
            matches!(
                event,
                Event::Checkpoint(CheckpointEvent::FilesPreview { request: 7, .. })
            )
        })
        .await;
    match events.last() {
        Some(Event::Checkpoint(CheckpointEvent::FilesPreview { known, changes, .. })) => {
            (*known, changes.clone())
        }
        _ => unreachable!("waited for it"),
    }
}

async fn send(open: &mut OpenSession, op: CheckpointOp) -> (Vec<FileChange>, Vec<Unrestored>) {
    open.host.send(Op::Checkpoint(op));
    let events = open
        .until(|event| {
            matches!(
                event,
                Event::Checkpoint(CheckpointEvent::FilesRestored { .. })
            )
        })
        .await;
    match events.last() {
        Some(Event::Checkpoint(CheckpointEvent::FilesRestored { changes, left, .. })) => {
            (changes.clone(), left.clone())
        }
        _ => unreachable!("waited for it"),
    }
}

fn restore(entry: &str, by_hand: bool) -> CheckpointOp {
    CheckpointOp::RestoreFiles {
        at: FilesAt::Entry {
            entry_id: entry.to_owned(),
        },
        by_hand,
    }
}

#[tokio::test]
async fn files_are_restored_to_a_prompt_and_the_restore_is_undone() {
    let place = TestProject::new();
    let work = place.work();
    std::fs::write(work.join("old.txt"), "old\n").unwrap();
    let mut open = place.open(SessionChoice::New, two_prompts()).await;
    let first = prompts(&open.run("first").await);
    let second = prompts(&open.run("second").await);
    let read = |name: &str| std::fs::read_to_string(work.join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("two\n"));

    let (known, changes) = preview(&mut open, Some(&second[0])).await;
    assert!(known);
    assert_eq!(changes, [change("a.txt", ChangeKind::Modify)]);
    let (changes, left) = send(&mut open, restore(&first[0], false)).await;
    assert_eq!(left, []);
    assert_eq!(
        changes,
        [
            change("a.txt", ChangeKind::Remove),
            change("gen/b.txt", ChangeKind::Remove),
            change("old.txt", ChangeKind::Create),
        ]
    );
    assert_eq!(read("old.txt").as_deref(), Some("old\n"));
    assert!(!work.join("gen").exists());

    let (_, left) = send(&mut open, CheckpointOp::UndoRestore).await;
    assert_eq!(left, []);
    assert_eq!(read("a.txt").as_deref(), Some("two\n"));
    assert_eq!(read("gen/b.txt").as_deref(), Some("made\n"));
    assert_eq!(read("old.txt"), None);
    let (_, left) = send(&mut open, CheckpointOp::RedoRestore).await;
    assert_eq!(left, []);
    assert_eq!(read("a.txt"), None);
    open.close().await;
}

#[tokio::test]
async fn edits_between_prompts_are_not_overwritten() {
    let place = TestProject::new();
    let work = place.work();
    std::fs::write(work.join("old.txt"), "old\n").unwrap();
    std::fs::write(work.join("notes.md"), "mine\n").unwrap();
    let mut open = place.open(SessionChoice::New, two_prompts()).await;
    let first = prompts(&open.run("first").await);
    std::fs::write(work.join("notes.md"), "mine, and longer\n").unwrap();
    let _ = open.run("second").await;

    let by_hand = FileChange {
        by_hand: true,
        ..change("notes.md", ChangeKind::Modify)
    };
    let (_, changes) = preview(&mut open, Some(&first[0])).await;
    assert_eq!(changes[2], by_hand);
    let (_, left) = send(&mut open, restore(&first[0], false)).await;
    let expected = Unrestored {
        path: "notes.md".into(),
        reason: "it was changed by hand".into(),
    };
    assert_eq!(left, [expected]);
    let notes = || std::fs::read_to_string(work.join("notes.md")).unwrap();
    assert_eq!(notes(), "mine, and longer\n");

    let (changes, left) = send(&mut open, restore(&first[0], true)).await;
    assert_eq!((changes, left), (vec![by_hand], vec![]));
    assert_eq!(notes(), "mine\n");
    open.close().await;
}

/// Two prompts that do not touch files edited between them.
async fn unrestored_after_edits(names: &[&OsStr]) -> usize {
    let place = TestProject::new();
    let file = |name: &OsStr| place.work().join(name);
    std::fs::write(place.work().join("old.txt"), "old\n").unwrap();
    for name in names {
        std::fs::write(file(name), "before\n").unwrap();
    }
    let mut open = place.open(SessionChoice::New, two_prompts()).await;
    let first = prompts(&open.run("first").await);
    for name in names {
        std::fs::write(file(name), "by hand\n").unwrap();
    }
    let _ = open.run("second").await;
    let (changes, left) = send(&mut open, restore(&first[0], false)).await;
    let restored: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(restored, ["a.txt", "gen/b.txt", "old.txt"]);
    for name in names {
        assert_eq!(std::fs::read_to_string(file(name)).unwrap(), "by hand\n");
    }
    open.close().await;
    left.len()
}

#[tokio::test]
async fn edits_of_a_file_whose_name_is_not_text_are_recorded_too() {
    let odd = OsStr::from_bytes(b"odd\xff");
    assert_eq!(unrestored_after_edits(&[odd, OsStr::new("plain")]).await, 2);
}

#[tokio::test]
async fn any_number_of_edits_between_prompts_is_not_overwritten() {
    let names: Vec<String> = (0..1_200).map(|number| format!("file{number}")).collect();
    let names: Vec<&OsStr> = names.iter().map(OsStr::new).collect();
    assert_eq!(unrestored_after_edits(&names).await, 1_200);
}

#[tokio::test]
async fn states_are_available_after_the_session_is_reopened() {
    let place = TestProject::new();
    let work = place.work();
    std::fs::write(work.join("old.txt"), "old\n").unwrap();
    let mut open = place.open(SessionChoice::New, two_prompts()).await;
    let first = prompts(&open.run("first").await);
    open.close().await;
    std::fs::write(work.join("a.txt"), "by hand\n").unwrap();

    let mut open = place.open(SessionChoice::Continue, Script::new()).await;
    let (changes, left) = send(&mut open, restore(&first[0], false)).await;
    assert_eq!(
        changes,
        [
            change("gen/b.txt", ChangeKind::Remove),
            change("old.txt", ChangeKind::Create)
        ]
    );
    assert_eq!(left.len(), 1);
    let text = std::fs::read_to_string(work.join("a.txt")).unwrap();
    assert_eq!(text, "by hand\n");
    open.close().await;
}

#[tokio::test]
async fn changes_of_a_prompt_are_reported_as_diffs() {
    let place = TestProject::new();
    std::fs::write(place.work().join("old.txt"), "old\n").unwrap();
    let mut open = place.open(SessionChoice::New, two_prompts()).await;
    let first = prompts(&open.run("first").await);
    let second = prompts(&open.run("second").await);
    let edited = [(
        change("a.txt", ChangeKind::Modify),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n".to_owned(),
    )];
    let turn = |entry: &str| DiffRange::Turn {
        entry_id: entry.to_owned(),
    };
    let between = |from: &str, to: Option<&str>| DiffRange::Between {
        from: Some(from.to_owned()),
        to: to.map(str::to_owned),
    };
    let mut told = async |range| diffs(&mut open, range).await;
    assert_eq!(told(DiffRange::LastPrompt).await, (true, edited.to_vec()));
    assert_eq!(told(turn(&second[0])).await, (true, edited.to_vec()));
    assert_eq!(
        told(between(&second[0], None)).await,
        (true, edited.to_vec())
    );
    let made = vec![
        (
            change("a.txt", ChangeKind::Create),
            "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n".to_owned(),
        ),
        (
            change("gen/b.txt", ChangeKind::Create),
            "--- /dev/null\n+++ b/gen/b.txt\n@@ -0,0 +1 @@\n+made\n".to_owned(),
        ),
        (
            change("old.txt", ChangeKind::Remove),
            "--- a/old.txt\n+++ b/old.txt\n@@ -1 +0,0 @@\n-old\n".to_owned(),
        ),
    ];
    assert_eq!(told(turn(&first[0])).await, (true, made.clone()));
    assert_eq!(
        told(between(&first[0], Some(&second[0]))).await,
        (true, made.clone())
    );
    let mut all = made;
    all[0].1 = all[0].1.replace("+one", "+two");
    assert_eq!(told(DiffRange::Session).await, (true, all));
    assert_eq!(told(turn("nothing")).await, (false, vec![]));
    open.close().await;
}

#[tokio::test]
async fn changes_by_hand_belong_to_no_prompt() {
    let place = TestProject::new();
    std::fs::write(place.work().join("old.txt"), "old\n").unwrap();
    let mut open = place.open(SessionChoice::New, two_prompts()).await;
    let first = prompts(&open.run("first").await);
    std::fs::write(place.work().join("mine.txt"), "by hand\n").unwrap();
    let second = prompts(&open.run("second").await);
    let mut names = async |entry: &str| -> Vec<String> {
        let range = DiffRange::Turn {
            entry_id: entry.to_owned(),
        };
        let (known, files) = diffs(&mut open, range).await;
        assert!(known);
        files.into_iter().map(|(change, _)| change.path).collect()
    };
    assert_eq!(names(&first[0]).await, ["a.txt", "gen/b.txt", "old.txt"]);
    assert_eq!(names(&second[0]).await, ["a.txt"]);
    open.close().await;
}

#[tokio::test]
async fn changed_lines_are_unknown_without_checkpoints() {
    let place = TestProject::new();
    let script = Script::new().turn(|turn| turn.text("ok"));
    let mut open = place
        .open_with(SessionChoice::New, script, |setup| {
            setup.settings.checkpoints = false;
        })
        .await;
    open.host
        .send(Op::Checkpoint(CheckpointOp::CountChangedLines {
            request: 7,
            range: DiffRange::Session,
        }));
    let events = open
        .until(|event| matches!(event, Event::Checkpoint(_)))
        .await;
    // No notice: clients ask often.
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Notice { .. })),
        "{events:#?}"
    );
    let unknown = CheckpointEvent::ChangedLines {
        request: 7,
        known: false,
        files: Vec::new(),
        more: 0,
    };
    assert_eq!(events.last(), Some(&Event::Checkpoint(unknown)));
    open.close().await;
}

/// How files changed, and whether that is known.
async fn diffs(open: &mut OpenSession, range: DiffRange) -> (bool, Vec<(FileChange, String)>) {
    let request = 1;
    let op = CheckpointOp::ReadFileDiffs { request, range };
    open.host.send(Op::Checkpoint(op));
    let events = open
        .until(|event| matches!(event, Event::Checkpoint(_)))
        .await;
    let Some(Event::Checkpoint(CheckpointEvent::FileDiffs { files, known, .. })) = events.last()
    else {
        panic!("no diffs");
    };
    let files = files
        .iter()
        .map(|file| (file.change.clone(), file.diff.clone()));
    (*known, files.collect())
}

#[tokio::test]
async fn read_only_tools_record_no_state() {
    let place = TestProject::new();
    std::fs::write(place.work().join("old.txt"), "old\n").unwrap();
    let script = Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "old.txt"})))
        .turn(|turn| turn.text("Read."));
    let mut open = place.open(SessionChoice::New, script).await;
    let _ = open.run("look").await;
    assert_eq!(preview(&mut open, None).await, (false, vec![]));
    assert!(!place.data().join("data/checkpoints").exists());
    open.close().await;
}
