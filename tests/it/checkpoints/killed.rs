//! A session is killed while it changes files, at every boundary between two changes. After the next start the files
//! are as before or as afterwards, and the files before can be restored.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_checkpoint::fault;
use osier_llm::Script;
use osier_protocol::{CheckpointOp, Event, FilesAt, Op, TreeEvent, TreeOp};
use osier_session::SessionChoice;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;

use super::send;
use crate::support::session::{OpenSession, TestProject};

/// The folder of the project, what the child does, and at which boundary it ends.
const ORDERS: &str = "OSIER_TEST_KILLED";

type Tree = BTreeMap<PathBuf, String>;

/// The files of the project, without anything that is ignored.
fn tree(work: &Path) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![work.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(work).unwrap().to_owned(), text);
            }
        }
    }
    found
}

/// Ends this process at the boundary `point`.
fn end_at(point: usize) {
    let seen = AtomicUsize::new(0);
    fault::at_every_point(move || {
        if seen.fetch_add(1, Ordering::Relaxed) + 1 == point {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    });
}

const CHANGES: &str = "echo agent > a.txt; mkdir gen; echo made > gen/b.txt; rm old.txt";

/// Files that nobody has recorded or committed.
fn put_files(work: &Path) {
    std::fs::write(work.join("a.txt"), "mine\n").unwrap();
    std::fs::write(work.join("old.txt"), "mine too\n").unwrap();
}

async fn changed_by_prompt(place: &TestProject) -> PathBuf {
    put_files(&place.work());
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": CHANGES})))
        .turn(|turn| turn.text("Done."));
    let mut open = place.open(SessionChoice::New, script).await;
    open.run("change it").await;
    let path = open.path();
    open.close().await;
    // By hand, and not recorded yet.
    std::fs::write(place.work().join("gen/b.txt"), "by hand\n").unwrap();
    path
}

const RESTORE: CheckpointOp = CheckpointOp::RestoreFiles {
    at: FilesAt::LastPrompt,
    by_hand: true,
};

/// The first prompt of a session is sent to two models.
async fn fan(place: &TestProject) -> OpenSession {
    let script = Script::new()
        .turn(|turn| turn.when_result("agent").text("Done.").repeat())
        .turn(|turn| {
            let command = format!("{CHANGES}; cat a.txt");
            turn.tool("bash", json!({"command": command})).repeat()
        });
    let mut open = place.open(SessionChoice::New, script).await;
    open.host.send(Op::Tree(TreeOp::FanOut {
        models: vec!["test/one".to_owned(), "test/one".to_owned()],
        prompt: Some("do it".to_owned()),
    }));
    open.until(|event| matches!(event, Event::Tree(TreeEvent::FanEnded { .. })))
        .await;
    open
}

async fn take_lane(open: &mut OpenSession) {
    open.host.send(Op::Tree(TreeOp::TakeLane {
        lane: 0,
        force: false,
    }));
    open.until(|event| matches!(event, Event::Tree(TreeEvent::LaneTaken { .. })))
        .await;
}

/// Not a test of its own: `run` starts it.
#[tokio::test]
#[ignore = "runs in a process that is killed"]
async fn child() {
    let Ok(orders) = std::env::var(ORDERS) else {
        return;
    };
    let orders: Vec<&str> = orders.lines().collect();
    let (place, point) = (TestProject::at(orders[0]), orders[2].parse().unwrap());
    match orders[1] {
        "lane" => {
            let mut open = fan(&place).await;
            end_at(point);
            take_lane(&mut open).await;
            open.close().await;
        }
        action => {
            let mut open = place.open(SessionChoice::Continue, Script::new()).await;
            end_at(point);
            let op = match action {
                "restore" => RESTORE,
                _ => CheckpointOp::UndoRestore,
            };
            let (_, left) = send(&mut open, op).await;
            assert!(left.iter().all(|left| left.path == "hand.txt"), "{left:?}");
            open.close().await;
        }
    }
}

/// Runs `action` in a process that is killed at the boundary `point`. Whether it was.
fn run(place: &TestProject, action: &str, point: usize) -> bool {
    let orders = [
        &place.folder().to_string_lossy(),
        action,
        &point.to_string(),
    ];
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "checkpoints::killed::child", "--ignored"])
        .env(ORDERS, orders.join("\n"))
        .output()
        .unwrap();
    let is_killed = output.status.signal() == Some(9);
    assert!(is_killed || output.status.success(), "{output:?}");
    is_killed
}

/// Kills `action` at every boundary. Returns the number of kills.
async fn kill_everywhere(action: &str) -> usize {
    for point in 1.. {
        let place = TestProject::new();
        let work = place.work();
        if action == "lane" {
            put_files(&work);
        } else {
            changed_by_prompt(&place).await;
        }
        if action == "undo" {
            let mut open = place.open(SessionChoice::Continue, Script::new()).await;
            send(&mut open, RESTORE).await;
            open.close().await;
            // Not recorded.
            std::fs::write(work.join("hand.txt"), "by hand\n").unwrap();
        }
        let old = tree(&work);
        let was_killed = run(&place, action, point);
        // The next start, in a session of its own.
        let mut open = place.open(SessionChoice::New, Script::new()).await;
        let now = tree(&work);
        let is_old = now == old;
        let mut new: Vec<(&str, &str)> = match action {
            "restore" => vec![("a.txt", "mine\n"), ("old.txt", "mine too\n")],
            "lane" => vec![("a.txt", "agent\n"), ("gen/b.txt", "made\n")],
            _ => vec![("a.txt", "agent\n"), ("gen/b.txt", "by hand\n")],
        };
        if action == "undo" {
            new.push(("hand.txt", "by hand\n"));
        }
        let new = new.into_iter();
        let new: Tree = new
            .map(|(path, text)| (path.into(), text.to_owned()))
            .collect();
        assert!(is_old || now == new, "{action} {point}: {now:?}");
        if !was_killed {
            assert!(!is_old, "{action}");
            open.close().await;
            return point - 1;
        }
        if !is_old {
            // The restore was completed now, or before the kill: in both cases the killed session
            // can undo it.
            open.close().await;
            let session = killed_session(&place);
            let text = std::fs::read_to_string(&session).unwrap();
            let mut newest = text.lines().rev();
            let newest = newest.find(|line| line.contains(r#""type":"checkpoint""#));
            // An undo that the kill interrupted is recorded as a restore.
            let revert = if newest.unwrap().contains(r#""step":"undo""#) {
                CheckpointOp::RedoRestore
            } else {
                CheckpointOp::UndoRestore
            };
            open = place
                .open(SessionChoice::File(session), Script::new())
                .await;
            let (_, left) = send(&mut open, revert).await;
            assert_eq!(left, [], "{action} {point}");
            assert_eq!(tree(&work), old, "{action} {point}");
        }
        open.close().await;
    }
    unreachable!("it ends without a kill")
}

/// The session that was killed has a conversation.
fn killed_session(place: &TestProject) -> PathBuf {
    let projects = std::fs::read_dir(place.data().join("sessions")).unwrap();
    let files = projects.flat_map(|project| std::fs::read_dir(project.unwrap().path()).unwrap());
    let mut paths = files.map(|file| file.unwrap().path());
    paths
        .find(|path| {
            let is_session = path.extension().is_some_and(|ending| ending == "jsonl");
            is_session && std::fs::read_to_string(path).unwrap().contains("\"user\"")
        })
        .unwrap()
}

#[tokio::test]
async fn restore_is_complete_or_not_begun_after_a_kill_anywhere() {
    let kills = kill_everywhere("restore").await;
    assert!(kills >= 20, "{kills}");
}

#[tokio::test]
async fn undo_is_complete_or_not_begun_after_a_kill_anywhere() {
    let kills = kill_everywhere("undo").await;
    assert!(kills >= 20, "{kills}");
}

#[tokio::test]
async fn lane_is_taken_completely_or_not_at_all_after_a_kill_anywhere() {
    // The files of the lane are recorded already.
    let kills = kill_everywhere("lane").await;
    assert!(kills >= 15, "{kills}");
}

/// The files before a lane is taken are recorded, also in the first prompt of a session.
#[tokio::test]
async fn lane_can_be_undone_with_the_changes_by_hand_before_it() {
    for op in [
        CheckpointOp::UndoRestore,
        CheckpointOp::RestoreFiles {
            at: FilesAt::LastPrompt,
            by_hand: false,
        },
    ] {
        let place = TestProject::new();
        put_files(&place.work());
        let mut open = fan(&place).await;
        // Not in a file that the lanes change.
        std::fs::write(place.work().join("notes.txt"), "by hand\n").unwrap();
        let before = tree(&place.work());
        take_lane(&mut open).await;
        assert_ne!(tree(&place.work()), before);
        let (_, left) = send(&mut open, op).await;
        assert_eq!(left, []);
        assert_eq!(tree(&place.work()), before);
        open.close().await;
    }
}
