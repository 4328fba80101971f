//! Restoring files from the screen.

use std::path::PathBuf;

use osier_llm::{Script, TurnStatus};
use osier_protocol::{CheckpointEvent, Event, TreeEvent};
use serde_json::json;

use super::support::Screen;

#[tokio::test]
async fn files_are_restored_after_an_undo_and_redone() {
    let (mut screen, notes) = Box::pin(written()).await;
    let moved = |event: &Event| matches!(event, Event::Tree(TreeEvent::Moved { .. }));
    // The choice names what the last prompt changed.
    screen.send("/undo").shows("Undo the last prompt").await;
    for row in [
        "› Conversation and files            notes.txt +1 -0",
        "  Conversation only                 files stay",
        "  Files only                        the conversation stays",
    ] {
        assert!(screen.screen().contains(row), "{}", screen.screen());
    }
    screen.press("down enter").until(moved).await;
    screen.press("ctrl+u");
    // Only the conversation has moved; a message says that the files differ.
    screen.shows("1 file differs from this point").await;
    screen.send("/restore").shows("Restore 1 file").await;
    let shown = screen.screen();
    assert!(shown.contains("notes.txt"), "{shown}");
    screen.press("enter").until(restored).await;
    assert!(!notes.exists());
    screen.shows("1 file deleted").await;
    screen.send("/restore undo").until(restored).await;
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\n");
    // The conversation has not moved, so redo still works.
    screen.send("/restore").shows("Restore 1 file").await;
    screen.press("esc").send("/redo");
    screen.shows("Written.").await;
    screen
        .send("/restore never ever")
        .shows("unknown argument never ever; expected undo, redo or one entry")
        .await;
}

/// The text in an empty editor.
const EMPTY: &str = "Ask, or type / for commands";

/// A session whose last prompt wrote `notes.txt`.
async fn written() -> (Screen, PathBuf) {
    let write = json!({"file_path": "notes.txt", "content": "one\n"});
    let script = Script::new()
        .turn(|turn| turn.when_user("hello").text("hi"))
        .turn(|turn| turn.tool("write", write))
        .turn(|turn| turn.text("Written."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    let notes = screen.work().join("notes.txt");
    screen.send("hello").settled().await;
    screen.send("write notes").settled().await;
    (screen, notes)
}

fn restored(event: &Event) -> bool {
    matches!(
        event,
        Event::Checkpoint(CheckpointEvent::FilesRestored { .. })
    )
}

#[tokio::test]
async fn undo_restores_files_only_or_files_and_conversation() {
    let (mut screen, notes) = Box::pin(written()).await;
    screen.send("/undo files").shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    assert!(!notes.exists());
    assert!(screen.conversation().contains("Written."));
    screen.send("/redo files").until(restored).await;
    assert!(notes.exists());
    screen.send("/undo both").shows("Restore 1 file").await;
    assert!(!screen.conversation().contains("Written."));
    assert!(notes.exists(), "nothing goes before it was looked at");
    screen.press("enter").until(restored).await;
    assert!(!notes.exists());
    assert_eq!(screen.editor(), "write notes");
    screen.press("ctrl+u");
    screen.send("/redo both").shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\n");
    screen.shows("Written.").await;
    screen
        .send("/undo all")
        .shows("unknown argument all; expected files or both")
        .await;
}

#[tokio::test]
async fn esc_in_the_list_of_an_undo_says_that_the_files_stay() {
    let (mut screen, notes) = Box::pin(written()).await;
    screen.send("/undo both").shows("Restore 1 file").await;
    let keys = "enter restore · esc keep files";
    assert!(screen.screen().contains(keys), "{}", screen.screen());
    screen.press("esc").shows("1 file differs").await;
    let conversation = "\
▌ hello

  hi

· moved in the session tree; alt+left goes back to where you were

· 1 file differs from this point: notes.txt; /restore to review, /redo to
  revert the undo";
    assert_eq!(screen.conversation(), conversation);
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\n");
    screen.press("ctrl+u").send("/redo").shows("Written.").await;
}

#[tokio::test]
async fn list_of_an_undo_names_changes_by_hand_on_a_small_screen() {
    let write = |path: &str| json!({"file_path": path, "content": "one\n"});
    let script = Script::new()
        .turn(|turn| {
            turn.tool("write", write("a.txt"))
                .tool("write", write("b.txt"))
        })
        .turn(|turn| turn.text("Written."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    screen.send("write").settled().await;
    std::fs::write(screen.work().join("a.txt"), "by hand\n").unwrap();
    screen.send("/undo both").shows("Restore 2 files").await;
    let shown = screen.screen();
    let rows = shown.lines().filter(|row| row.starts_with('│'));
    let rows: Vec<&str> = rows.map(|row| row.trim_matches(['│', ' '])).collect();
    let expected = [
        "❯ type to filter",
        "› Restore 1 file",
        "  Restore 2 files                   including those changed by hand",
        "  a.txt                             changed by hand · will be deleted",
        "  b.txt                             will be deleted",
    ];
    assert_eq!(rows, expected.map(str::trim), "{shown}");
}

#[tokio::test]
async fn tree_restores_an_entry_with_or_without_files() {
    let (mut screen, notes) = Box::pin(written()).await;
    screen.press("alt+t").shows("◂ current").await;
    screen.press("[ R").shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    assert!(!notes.exists());
    screen
        .press("q")
        .send("/restore undo")
        .until(restored)
        .await;
    assert!(notes.exists());
    screen.press("alt+t").shows("◂ current").await;
    screen.press("[ r").shows("Restore 1 file").await;
    assert_eq!(screen.editor(), "write notes");
    screen.press("esc");
    assert!(notes.exists(), "what is left alone stays");
}

#[tokio::test]
async fn tree_restores_the_files_before_the_prompt() {
    let write = |content: &str| json!({"file_path": "g", "content": content});
    let script = Script::new()
        .turn(|turn| turn.tool("write", write("base\n")))
        .turn(|turn| turn.text("First."))
        .turn(|turn| turn.tool("read", json!({"file_path": "g"})))
        .turn(|turn| turn.tool("write", write("agent\n")))
        .turn(|turn| turn.text("Second."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    let file = screen.work().join("g");
    let read = || std::fs::read_to_string(&file).unwrap();
    screen.send("write base").settled().await;
    std::fs::write(&file, "mine\n").unwrap();
    screen.send("write agent").settled().await;
    assert_eq!(read(), "agent\n");
    screen.press("alt+t").shows("◂ current").await;
    screen.press("[ r").shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    assert_eq!(
        (screen.editor().as_str(), read().as_str()),
        ("write agent", "mine\n")
    );
    // The command offers the same point.
    screen.press("ctrl+u").send("/restore");
    screen.shows("none differ from this point").await;
}

#[tokio::test]
async fn undo_never_offers_changes_by_hand_before_the_prompt() {
    let write = |path: &str, content: &str| json!({"file_path": path, "content": content});
    let script = Script::new()
        .turn(|turn| turn.tool("write", write("first.txt", "one\n")))
        .turn(|turn| turn.text("First."))
        .turn(|turn| turn.text("Only talk."))
        .turn(|turn| turn.tool("write", write("second.txt", "two\n")))
        .turn(|turn| turn.text("Second."))
        .turn(|turn| turn.tool("bash", json!({"command": "echo three > first.txt"})))
        .turn(|turn| turn.text("Third."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    let work = screen.work().clone();
    let read = |name: &str| std::fs::read_to_string(work.join(name)).ok();
    let write = |name: &str, text: &str| std::fs::write(work.join(name), text).unwrap();
    screen.send("write first").settled().await;
    write("first.txt", "edited by hand\n");
    write("mine.txt", "mine\n");
    // A turn without changes.
    screen.send("talk").settled().await;
    screen
        .send("/undo both")
        .shows("no files to restore: that turn changed none")
        .await;
    screen.press("ctrl+u");
    // A turn that changed another file.
    screen.send("write second").settled().await;
    screen.send("/undo files").shows("Restore 1 file").await;
    let shown = screen.screen();
    assert!(!shown.contains("by hand") && !shown.contains("mine.txt"));
    screen.press("esc");
    screen.send("/undo both").shows("Restore 1 file").await;
    let shown = screen.screen();
    assert!(!shown.contains("by hand") && !shown.contains("mine.txt"));
    screen.press("enter").until(restored).await;
    assert_eq!(read("second.txt"), None);
    assert_eq!(read("first.txt").unwrap(), "edited by hand\n");
    assert_eq!(read("mine.txt").unwrap(), "mine\n");
    screen.press("ctrl+u");
    // A file that was changed by hand after the turn is restored only on request.
    screen.send("write third").settled().await;
    write("first.txt", "edited again\n");
    screen.send("/undo both").shows("Keep 1 file").await;
    screen.press("enter");
    assert!(!screen.screen().contains("Restore files"));
    assert_eq!(read("first.txt").unwrap(), "edited again\n");
}

#[tokio::test]
async fn a_move_with_files_is_refused_where_they_cannot_be_restored() {
    let write = json!({"file_path": "notes.txt", "content": "one\n"});
    let script = Script::new()
        .turn(|turn| turn.tool("write", write))
        .turn(|turn| turn.text("Written."));
    let screen = Screen::new(80, 24).script(script);
    let screen = screen.settings(|settings| settings.checkpoints = false);
    let mut screen = screen.start().await;
    screen.send("write notes").settled().await;
    let refusal = "not moved: this session records no files";
    screen.send("/undo both").shows(refusal).await;
    screen.press("alt+t").shows("write notes").await;
    screen.press("g r").shows(&format!(" {refusal}")).await;
    // The tree stays open and says why.
    assert!(screen.screen().contains("Tree · conversation"));
    screen.press("q");
    let conversation = "\
▌ write notes

● write notes.txt
    1 + one

  Written.

! not moved: this session records no files

! not moved: this session records no files";
    assert_eq!(screen.conversation().trim(), conversation);
    assert_eq!(screen.editor(), EMPTY);
}

#[tokio::test]
async fn the_tree_does_not_move_with_files_where_none_were_recorded() {
    let script = Script::new().turn(|turn| turn.text("hi"));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    screen.send("hello").settled().await;
    screen.press("alt+t").shows("hello").await;
    let refusal = "not moved: no checkpoint of the files at that point";
    screen.press("g r").shows(&format!(" {refusal}")).await;
    assert!(screen.screen().contains("Tree · conversation"));
    // The next key clears the reason, and a move closes the tree.
    screen.press("down");
    assert!(!screen.screen().contains(refusal));
    screen.press("q");
    assert_eq!(screen.editor(), EMPTY);
    // Undoing a turn that changed no file restores no files.
    let unchanged = "no files to restore: that turn changed none";
    screen.send("/undo both").shows(unchanged).await;
    assert_eq!(screen.editor(), "hello");
    screen.press("ctrl+u").send("/redo both");
    screen
        .shows("went back; alt+right goes forward again")
        .await;
}

#[tokio::test]
async fn redo_restores_what_the_undo_reverted_and_not_what_a_review_reverted() {
    let lines = |third: &str, last: &str| -> String {
        let line = |number: usize| match number {
            3 => format!("{third}\n"),
            50 => format!("{last}\n"),
            number => format!("line {number}\n"),
        };
        (1..=60).map(line).collect()
    };
    let edit = json!({"command": "sed -i 's/line 3$/LINE 3/; s/line 50$/LINE 50/' long.txt"});
    let script = Script::new()
        .turn(|turn| turn.tool("bash", edit))
        .turn(|turn| turn.text("Changed."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    let path = screen.work().join("long.txt");
    let read = || std::fs::read_to_string(&path).unwrap();
    let original = lines("line 3", "line 50");
    std::fs::write(&path, &original).unwrap();
    screen.send("change").settled().await;
    screen.send("/diff").shows("+2 -2").await;
    screen.press("X").shows("+1 -1").await;
    let reviewed = lines("line 3", "LINE 50");
    assert_eq!(read(), reviewed);
    screen
        .press("q")
        .send("/undo both")
        .shows("will be reverted")
        .await;
    screen.press("enter").until(restored).await;
    assert_eq!(read(), original);
    screen
        .press("ctrl+u")
        .send("/redo both")
        .shows("Restore 1 file")
        .await;
    let shown = screen.screen();
    assert!(shown.contains("will be restored"), "{shown}");
    screen.press("enter").until(restored).await;
    assert_eq!(read(), reviewed);
    // An undo that restored nothing has nothing to redo.
    screen.send("/undo").shows("Conversation only").await;
    screen.press("down").press("enter");
    screen.shows("differs from this point").await;
    screen.press("ctrl+u").send("/redo both");
    screen.shows("none were restored after the undo").await;
    assert_eq!(read(), reviewed);
}

#[tokio::test]
async fn a_restore_before_a_failed_run_continues_is_no_change_of_its_turn() {
    let write = |path: &str| json!({"file_path": path, "content": "one\n"});
    let failed = TurnStatus::ModelError {
        message: "broken".into(),
        retryable: false,
    };
    let script = Script::new()
        .turn(|turn| turn.tool("write", write("a.txt")))
        .turn(|turn| turn.text("First."))
        .turn(|turn| turn.tool("bash", json!({"command": "true"})))
        .turn(|turn| turn.fail(failed))
        .turn(|turn| turn.tool("write", write("b.txt")))
        .turn(|turn| turn.text("Second."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    screen.send("write a").settled().await;
    screen.send("write b").settled().await;
    // The run has changed no file; the user goes back to the files before the first prompt.
    screen.press("alt+t").shows("write a").await;
    screen.press("g R").shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    screen.press("q").send("/retry").settled().await;
    screen.send("/undo both").shows("Restore 1 file").await;
    let shown = screen.screen();
    let rows = shown.lines().filter(|row| row.starts_with('│'));
    let rows: Vec<&str> = rows.map(|row| row.trim_matches(['│', ' '])).collect();
    let expected = [
        "❯ type to filter",
        "› Restore 1 file",
        "b.txt                             will be deleted",
    ];
    assert_eq!(rows, expected, "{shown}");
}
