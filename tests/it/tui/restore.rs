//! Bringing files back from the screen.

use osier::coding::host::{CheckpointEvent, Event, TreeEvent};
use osier::llm::Script;
use serde_json::json;

use super::support::Screen;

#[tokio::test]
async fn files_come_back_after_an_undo_and_go_again() {
    let write = json!({"file_path": "notes.txt", "content": "one\n"});
    let script = Script::new()
        .turn(|turn| turn.when_user("hello").text("hi"))
        .turn(|turn| turn.tool("write", write))
        .turn(|turn| turn.text("Written."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    let notes = screen.work().join("notes.txt");
    screen.send("hello").settled().await;
    screen.send("write notes").settled().await;
    screen
        .send("/undo")
        .until(|event| matches!(event, Event::Tree(TreeEvent::Moved { .. })))
        .await;
    screen.press("ctrl+u");
    screen.send("/restore").shows("Bring 1 file back").await;
    let shown = screen.screen();
    assert!(shown.contains("notes.txt"), "{shown}");
    let restored = |event: &Event| {
        matches!(
            event,
            Event::Checkpoint(CheckpointEvent::FilesRestored { .. })
        )
    };
    screen.press("enter").until(restored).await;
    assert!(!notes.exists());
    screen.shows("1 file brought back").await;
    screen.send("/restore undo").until(restored).await;
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\n");
    // The conversation has not moved: what was undone can be redone, and the offer still stands.
    screen.send("/restore").shows("Bring 1 file back").await;
    screen.press("esc").send("/redo");
    screen.shows("Written.").await;
    screen.send("/restore never").shows("say `undo`").await;
}
