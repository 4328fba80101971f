//! Branches by hand: every jump has a way back, the files follow it, and no draft is lost.

use std::path::PathBuf;

use osier_llm::scripted::Script;
use osier_protocol::{CheckpointEvent, Event, TreeEvent};
use serde_json::json;

use super::support::Screen;

fn moved(event: &Event) -> bool {
    matches!(event, Event::Tree(TreeEvent::Moved { .. }))
}

fn restored(event: &Event) -> bool {
    matches!(
        event,
        Event::Checkpoint(CheckpointEvent::FilesRestored { .. })
    )
}

/// A session with a plan and a prompt that wrote `notes.txt`.
async fn written() -> (Screen, PathBuf) {
    let write =
        |text: &str| json!({"command": format!("echo {text} > notes.txt; echo wrote-{text}")});
    let script = Script::new()
        .turn(|turn| turn.when_result("wrote-").text("Written.").repeat())
        .turn(|turn| {
            turn.when_user("write one")
                .tool("bash", write("one"))
                .repeat()
        })
        .turn(|turn| {
            turn.when_user("write two")
                .tool("bash", write("two"))
                .repeat()
        })
        .turn(|turn| turn.text("A plan.").repeat());
    let mut screen = Screen::new(80, 24)
        .file("notes.txt", "zero\n")
        .script(script)
        .start()
        .await;
    let notes = screen.work().join("notes.txt");
    screen.send("make a plan").settled().await;
    screen.send("write one").settled().await;
    (screen, notes)
}

/// Opens the list of prompts with two presses.
async fn list_prompts(screen: &mut Screen) {
    screen.press("esc");
    screen.shows("esc again to go back").await;
    screen.press("esc").shows("stay here").await;
    screen.shows("❯ write one").await;
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn a_step_back_or_forward_offers_the_files_of_that_place_once() {
    let (mut screen, notes) = Box::pin(written()).await;
    // A change by hand belongs to the place, too.
    std::fs::write(&notes, "mine\n").unwrap();
    list_prompts(&mut screen).await;
    screen.press("up r").shows("Restore files").await;
    screen.shows("including those changed by hand").await;
    screen.press("down enter").until(restored).await;
    assert_eq!(read(&notes), "zero\n");
    // Back: the conversation is there at once, and one question is about the files.
    screen.press("alt+left").until(moved).await;
    screen.shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    assert_eq!(read(&notes), "mine\n");
    screen.hides("Restore files").await;
    screen.press("alt+right").until(moved).await;
    screen.shows("Restore 1 file").await;
    // The next step closes the list of the position that it leaves.
    screen.press("alt+left").until(moved).await;
    screen.hides("Restore files").await;
    assert_eq!(read(&notes), "mine\n");
}

#[tokio::test]
async fn steps_between_places_with_the_same_files_ask_nothing() {
    let (mut screen, notes) = Box::pin(written()).await;
    list_prompts(&mut screen).await;
    screen.press("up enter").until(moved).await;
    screen.press("alt+left").until(moved).await;
    screen.press("alt+right").until(moved).await;
    screen.press("alt+left").until(moved).await;
    screen.send("/restore").shows("none differ").await;
    assert!(!screen.screen().contains("Restore files"));
    assert_eq!(read(&notes), "one\n");
}

#[tokio::test]
async fn undo_asks_once_and_redo_brings_the_files_back() {
    let (mut screen, notes) = Box::pin(written()).await;
    screen.send("/undo").shows("Undo the last prompt").await;
    screen.press("enter").until(restored).await;
    assert_eq!(read(&notes), "zero\n");
    assert_eq!(screen.editor(), "write one");
    assert!(!screen.screen().contains("Restore files"));
    screen
        .press("ctrl+u")
        .send("/redo")
        .shows("Restore 1 file")
        .await;
    screen.press("enter").until(restored).await;
    assert_eq!(read(&notes), "one\n");
    screen.shows("Written.").await;
    // Files only: one question, too.
    screen.send("/undo").shows("Undo the last prompt").await;
    screen.press("down down enter").until(restored).await;
    assert_eq!(read(&notes), "zero\n");
    assert!(screen.conversation().contains("Written."));
}

#[tokio::test]
async fn undo_leaves_files_alone_that_were_changed_by_hand() {
    let (mut screen, notes) = Box::pin(written()).await;
    std::fs::write(&notes, "mine\n").unwrap();
    screen.send("/undo").shows("Undo the last prompt").await;
    screen.press("enter").until(restored).await;
    screen
        .shows("notes.txt was not restored: it was changed by hand")
        .await;
    assert_eq!(read(&notes), "mine\n");
}

#[tokio::test]
async fn restores_are_undone_and_redone_one_by_one() {
    let (mut screen, notes) = Box::pin(written()).await;
    screen.send("write two").settled().await;
    screen.press("alt+t").shows("◂ current").await;
    // Before the second and before the first prompt that wrote.
    for (prompt, content) in [("[", "one\n"), ("[ [", "zero\n")] {
        screen.press("G").press(prompt).press("R");
        screen.shows("Restore 1 file").await;
        screen.press("enter").until(restored).await;
        assert_eq!(read(&notes), content);
    }
    screen.press("esc");
    for (step, content, notice) in [
        ("undo", "one\n", "/restore redo makes it again"),
        ("undo", "two\n", "/restore redo makes it again"),
        ("redo", "one\n", "/restore undo reverts this"),
        ("redo", "zero\n", "/restore undo reverts this"),
        ("undo", "one\n", "/restore redo makes it again"),
    ] {
        screen
            .send(&format!("/restore {step}"))
            .until(restored)
            .await;
        assert_eq!(read(&notes), content, "{step}");
        screen.shows(notice).await;
    }
    screen.send("/restore undo").until(restored).await;
    screen
        .send("/restore undo")
        .shows("no restore to undo since the last turn that changed files")
        .await;
}

#[tokio::test]
async fn a_draft_outlasts_the_list_of_prompts_and_a_jump() {
    let (mut screen, _) = Box::pin(written()).await;
    screen.type_text("my draft");
    list_prompts(&mut screen).await;
    // A third key by accident changes nothing.
    for key in ["f", "w", "x", "u", "d", "L", "D", "R", "r", "s"] {
        screen.press(key);
        screen.shows("select a prompt first").await;
    }
    screen.press("enter").hides("stay here").await;
    assert_eq!(screen.editor(), "my draft");
    list_prompts(&mut screen).await;
    screen.press("up enter").until(moved).await;
    assert_eq!(screen.editor(), "write one");
    screen.shows("the draft is stashed").await;
    screen.press("up");
    assert_eq!(screen.editor(), "my draft");
    screen.press("down alt+left").until(moved).await;
    assert_eq!(screen.editor(), "my draft");
}

#[tokio::test]
async fn the_conversation_does_not_move_behind_a_list() {
    let (mut screen, _) = Box::pin(written()).await;
    list_prompts(&mut screen).await;
    screen.press("up enter").until(moved).await;
    screen
        .press("ctrl+u alt+r")
        .shows("Send the last prompt to")
        .await;
    screen.press("alt+left");
    screen
        .shows("the conversation does not move behind this: esc closes it")
        .await;
    screen.press("esc alt+left").until(moved).await;
}

#[tokio::test]
async fn search_finds_hidden_branches_and_opens_their_hits() {
    let (mut screen, _) = Box::pin(written()).await;
    screen.send("/undo").shows("Conversation only").await;
    screen.press("down enter").until(moved).await;
    screen.press("ctrl+u").send("write two").settled().await;
    screen.press("alt+t").shows("◂ current").await;
    screen.press("} x").hides("write one").await;
    // Words in any order; the line names the keys.
    screen.press("/").type_text("one write");
    screen.shows("write one").await;
    screen
        .shows("down next · enter keep the results · esc show all")
        .await;
    screen.press("enter").shows("q show all").await;
    screen.press("G [ enter").until(moved).await;
    assert_eq!(screen.editor(), "write one");
    screen.press("alt+t").shows("◂ current").await;
    screen.shows("write one").await;
}

#[tokio::test]
async fn several_hidden_branches_are_shown_again_one_by_one() {
    let (mut screen, _) = Box::pin(written()).await;
    screen.send("/undo").shows("Conversation only").await;
    screen.press("down enter").until(moved).await;
    screen.press("ctrl+u").send("write two").settled().await;
    screen.press("alt+t").shows("◂ current").await;
    // The keys come faster than the answers of the session.
    screen.press("} e x e x").hides("wrote-one").await;
    screen.shows("hidden; u shows it again").await;
    screen.press("u u");
    assert!(!screen.screen().contains("no branch is hidden"));
    screen.shows("wrote-one").await;
    let selected = |screen: &str| {
        let line = screen.lines().find(|line| line.starts_with('›'));
        line.unwrap_or_default().to_owned()
    };
    let shown = screen.screen();
    assert!(selected(&shown).contains("Written."), "{shown}");
}

#[tokio::test]
async fn differences_of_two_branches_can_only_be_read() {
    let (mut screen, notes) = Box::pin(written()).await;
    screen.send("/undo").shows("Conversation only").await;
    screen.press("down enter").until(moved).await;
    screen.press("ctrl+u").send("write two").settled().await;
    screen.press("alt+t").shows("◂ current").await;
    screen.press("d } d").shows("Compare branches").await;
    screen.press("tab").shows("1 file changed").await;
    let shown = screen.screen();
    for verdict in ["accept", "reject", "undo", "send"] {
        assert!(!shown.contains(verdict), "{verdict}: {shown}");
    }
    for key in ["x", "a", "c", "X", "S"] {
        screen.press(key);
        screen.shows("nothing to review here").await;
    }
    screen.press("esc esc esc").hides("Compare branches").await;
    assert_eq!(read(&notes), "two\n");
    assert_eq!(screen.last_prompt(), "write two");
}

#[tokio::test]
async fn retry_completes_the_names_of_models() {
    let (mut screen, _) = Box::pin(written()).await;
    screen.type_text("/retry mock/").shows("› mock/mock").await;
    screen.press("ctrl+u").type_text("/fan mock/mock mock/");
    screen.shows("› mock/mock").await;
}

#[tokio::test]
async fn a_second_key_while_a_fork_is_made_says_so() {
    let (mut screen, _) = Box::pin(written()).await;
    screen.press("alt+t").shows("◂ current").await;
    screen.press("f f").shows("the fork is being made").await;
    screen.hides("◂ current").await;
    assert_eq!(screen.editor(), "Ask, or type / for commands");
}

#[tokio::test]
async fn lanes_that_were_left_as_branches_have_their_files() {
    let write = json!({"command": "echo lane > lane.txt"});
    let script = Script::new()
        .turn(|turn| turn.when_result("").text("It is done.").repeat())
        .turn(|turn| turn.when_user("do it").tool("bash", write).repeat())
        .turn(|turn| turn.text("Hello.").repeat());
    let mut screen = Screen::new(80, 24)
        .file("notes.txt", "zero\n")
        .script(script)
        .start()
        .await;
    let (lane, notes) = (
        screen.work().join("lane.txt"),
        screen.work().join("notes.txt"),
    );
    screen.send("hello").settled().await;
    screen.send("/fan mock/mock mock/mock -- do it");
    screen.shows("enter apply").await;
    // Changed by hand after the lanes began: it is not theirs.
    std::fs::write(&notes, "mine\n").unwrap();
    screen
        .press("esc")
        .shows("the answers remain as branches")
        .await;
    assert!(!lane.exists());
    screen.press("alt+t").shows("◂ current").await;
    screen.press("G r").shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    assert_eq!(
        (read(&lane).as_str(), read(&notes).as_str()),
        ("lane\n", "mine\n")
    );
    screen.press("alt+left").until(moved).await;
    screen.shows("Restore 1 file").await;
    screen.press("enter").until(restored).await;
    assert!(!lane.exists());
    assert_eq!(read(&notes), "mine\n");
    screen.press("alt+t").shows("◂ current").await;
    screen.press("G d { d").shows("Compare branches").await;
    let shown = screen.screen();
    assert_eq!(shown.matches("lane.txt +1 -0").count(), 2, "{shown}");
}

#[tokio::test]
async fn a_worktree_that_cannot_be_made_says_why_in_the_tree() {
    let (mut screen, _) = Box::pin(written()).await;
    screen.press("alt+t").shows("◂ current").await;
    for _ in 0..2 {
        screen.press("w");
        screen.shows("making the fork").await;
        screen.shows("a worktree needs a git repository").await;
    }
    screen.press("esc").hides("◂ current").await;
}
