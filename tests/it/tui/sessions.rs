//! The session list: opening, searching, renaming, deleting.

use osier_agent::AgentMessage;
use osier_llm::scripted::Script;
use osier_protocol::{Event, TreeEvent};
use osier_session::SessionChoice;
use serde_json::json;

use super::support::Screen;

fn conversation() -> Script {
    Script::new()
        .turn(|turn| {
            turn.thinking("I run it.")
                .text("Running.")
                .tool("bash", json!({"command": "echo out; exit 2"}))
        })
        .turn(|turn| turn.text("It **failed**."))
        .turn(|turn| turn.text("More.").repeat())
}

#[tokio::test]
async fn resumed_session_shows_its_messages() {
    let mut first = Screen::new(70, 24).script(conversation()).start().await;
    first.send("run it").settled().await;
    first
        .send("!echo mine")
        .until(|event| {
            matches!(event, Event::Agent(osier_agent::Event::MessageEnd { message, .. })
            if matches!(**message, AgentMessage::ShellRun(_)))
        })
        .await;
    let shown = first.conversation();
    first
        .send("/name kept\u{20}one")
        .shows("~/work · kept one")
        .await;
    let second = Screen::new(70, 24)
        .script(conversation())
        .session(SessionChoice::Continue)
        .with_files_of(&first);
    first.close().await;
    let mut second = second.start().await;
    assert_eq!(second.conversation(), shown);
    assert!(second.footer().starts_with("~/work · kept one"));
    second.send("go on").settled().await;
    assert!(second.conversation().contains("▌ go on"));
}

#[tokio::test]
async fn session_picker_opens_a_session() {
    let screen = Screen::new(80, 24).script(conversation()).with_tokens();
    let mut screen = screen.start().await;
    screen.send("first prompt").settled().await;
    let first = screen.conversation();
    let total = screen.footer();
    assert!(total.contains('↑'), "{total}");
    screen.press("alt+n").shows("Describe a task").await;
    assert!(!screen.footer().contains('↑'), "{}", screen.footer());
    screen.send("second prompt").settled().await;
    screen.press("alt+s").shows("   first prompt").await;
    let shown = screen.screen();
    assert!(shown.contains("Sessions · this directory"), "{shown}");
    screen.type_text("first").press("enter");
    screen.shows("▌ first prompt").await;
    assert_eq!(screen.conversation(), first);
    assert_eq!(screen.footer(), total);
    assert!(screen.editor().starts_with("Ask"));
}

#[tokio::test]
async fn session_list_shows_its_keys_and_not_those_of_the_editor() {
    let mut screen = two_sessions().await;
    let keys = "enter open · tab search text · alt+d all directories · ctrl+r rename";
    assert!(screen.row(22).contains(keys), "{}", screen.screen());
    screen.press("enter").hides("enter open").await;
    screen.press("esc");
    let hint = "esc again to go back to an earlier prompt";
    assert!(screen.screen().contains(hint), "{}", screen.screen());
    screen.press("alt+s").shows("enter open").await;
    assert!(screen.row(22).contains(keys), "{}", screen.screen());
    // Pressed again, this key would quit.
    screen.press("esc ctrl+c");
    assert!(screen.screen().contains("press ctrl+c again to quit"));
    screen.type_text("x");
    assert!(!screen.screen().contains("press ctrl+c again to quit"));
}

#[tokio::test]
async fn missing_session_is_an_error() {
    let mut screen = Screen::new(80, 24).start().await;
    screen
        .send("/resume nothing")
        .shows("✗ no session matches nothing; list the sessions with /resume")
        .await;
}

#[tokio::test]
async fn session_open_elsewhere_is_copied_or_opened_read_only() {
    let mut first = Screen::new(90, 24).script(conversation()).start().await;
    first.send("run it").settled().await;
    let shown = first.conversation();
    let second_screen = |first: &Screen| {
        Screen::new(90, 24)
            .script(Script::always("Elsewhere."))
            .session(SessionChoice::Continue)
            .with_files_of(first)
    };
    let mut second = second_screen(&first).start().await;
    second.shows("Session open elsewhere").await;
    second
        .type_text("read")
        .press("enter")
        .shows("It failed")
        .await;
    assert_eq!(second.conversation(), shown);
    assert!(second.footer().contains("read-only"), "{}", second.footer());
    second.send("my words").shows("read-only session").await;
    assert_eq!(second.editor(), "my words");
    // A copy opens in a tab of its own: here, as another screen.
    let mut copy = None;
    let stored = |event: &Event| match event {
        Event::Tree(TreeEvent::Forked { session, .. }) => {
            copy = Some(session.clone());
            true
        }
        _ => false,
    };
    second.press("ctrl+u").send("/clone").until(stored).await;
    assert!(second.footer().contains("read-only"), "{}", second.footer());
    second.close().await;
    let mut copy = Screen::new(90, 24)
        .script(Script::always("Elsewhere."))
        .session(SessionChoice::Resume(copy.unwrap()))
        .with_files_of(&first)
        .start()
        .await;
    assert_eq!(copy.conversation(), shown);
    assert!(!copy.footer().contains("read-only"));
    copy.send("go on").settled().await;
    assert!(copy.conversation().contains("Elsewhere."));
    copy.close().await;

    // The copy is the newest one now: the list has both.
    let mut third = second_screen(&first).start().await;
    third.press("alt+s").shows("open elsewhere").await;
    let above = third.screen();
    let first_row = above.lines().find(|line| line.contains("run it")).unwrap();
    if !first_row.contains("open elsewhere") {
        third.press("down");
    }
    third.press("enter").shows("Session open elsewhere").await;
    let opened = |event: &Event| matches!(event, Event::SessionOpened { .. });
    third.type_text("copy").press("enter").until(opened).await;
    assert_eq!(third.conversation(), shown);
    third.send("and on").settled().await;
    assert!(third.conversation().contains("Elsewhere."));
    first.send("more").settled().await;
    assert!(!first.conversation().contains("Elsewhere."));
}

/// Two sessions, and the list of them open.
async fn two_sessions() -> Screen {
    let mut screen = Screen::new(110, 24).script(conversation()).start().await;
    screen.send("first prompt").settled().await;
    screen.press("alt+n").shows("Describe a task").await;
    screen.send("second prompt").settled().await;
    screen.press("alt+s").shows("   first prompt").await;
    screen
}

#[tokio::test]
async fn sessions_are_found_by_content() {
    let mut screen = two_sessions().await;
    assert!(screen.screen().contains("second prompt"));
    assert!(screen.screen().contains("◂ current"), "{}", screen.screen());
    screen
        .press("tab")
        .type_text("exit 2")
        .shows("call: echo out; exit 2")
        .await;
    let shown = screen.screen();
    assert!(shown.contains("text") && shown.contains(" 1/1 "), "{shown}");
    // The preview is next to the list.
    screen.shows("● It failed.").await;
    // The tree shows where the text stands.
    screen.press("enter").shows("bash echo out; exit 2").await;
    assert!(screen.screen().contains("Tree · "), "{}", screen.screen());
    screen.press("esc").shows("▌ first prompt").await;
    assert!(screen.conversation().contains("▌ first prompt"));
}

#[tokio::test]
async fn session_is_renamed_deleted_and_restored_in_the_list() {
    let mut screen = two_sessions().await;
    screen
        .press("down")
        .press("ctrl+r")
        .type_text("the old one")
        .press("enter");
    screen.shows(" the old one").await;
    screen.press("ctrl+n").shows(" 1/1 ").await;
    screen.press("ctrl+n").shows(" 1/2 ").await;
    screen.type_text("told").shows(" 1/1 ").await;
    screen.press("ctrl+d").shows("ctrl+d again to delete").await;
    // Another key cancels the deletion.
    screen
        .press("up")
        .press("ctrl+d")
        .shows("again to delete")
        .await;
    screen.press("ctrl+d").shows("restore").await;
    screen.shows("no session matches").await;
    screen.press("ctrl+z").shows("the old one").await;
    // The open session stays.
    screen.press("ctrl+u").shows(" 1/2 ").await;
    screen.type_text("second").shows(" 1/1 ").await;
    screen
        .press("ctrl+d")
        .press("ctrl+d")
        .shows("cannot delete the open session")
        .await;
    screen.press("enter").shows("▌ second prompt").await;
}

#[tokio::test]
async fn session_list_covers_all_directories_and_is_sorted() {
    let mut screen = two_sessions().await;
    screen.press("ctrl+t").shows("all directories").await;
    screen.press("ctrl+o").shows("created").await;
    screen.press("esc");
    screen.send("/session").shows("entries, 1 branch, ").await;
}

/// A screen that opens a session of another machine, and the file of that session.
async fn foreign_screen() -> (Screen, std::path::PathBuf) {
    let mut first = Screen::new(80, 24).script(conversation()).start().await;
    first.send("run it").settled().await;
    let second = Screen::new(80, 24)
        .script(conversation())
        .with_files_of(&first);
    let work = first.work().to_string_lossy().into_owned();
    let sessions = first.home().join("sessions");
    first.close().await;
    let folder = std::fs::read_dir(&sessions).unwrap().next().unwrap();
    let files = std::fs::read_dir(folder.unwrap().path()).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let path = files
        .find(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen(&work, "/gone/work", 1)).unwrap();
    let target = path.to_string_lossy().into_owned();
    let mut second = second.session(SessionChoice::Resume(target)).start().await;
    second.shows("Session of /gone/work (missing)").await;
    (second, path)
}

#[tokio::test]
async fn session_of_another_directory_asks_once_and_continues_here() {
    let (mut screen, path) = foreign_screen().await;
    screen.press("enter").hides("Session of /gone/work").await;
    screen.shows("It failed").await;
    let again = Screen::new(80, 24)
        .script(conversation())
        .session(SessionChoice::Continue)
        .with_files_of(&screen);
    screen.close().await;
    assert!(
        std::fs::read_to_string(&path).is_ok(),
        "the folder is the one of the project"
    );
    let mut again = again.start().await;
    again.shows("It failed").await;
    assert!(!again.screen().contains("Session of"), "{}", again.screen());
}

#[tokio::test]
async fn session_of_another_directory_is_forked_or_left() {
    let (mut screen, path) = foreign_screen().await;
    let before = std::fs::read_to_string(&path).unwrap();
    screen.press("down").press("enter").shows("It failed").await;
    screen.hides("Session of /gone/work").await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    screen.close().await;
    let (mut screen, path) = foreign_screen().await;
    let before = std::fs::read_to_string(&path).unwrap();
    screen.press("down").press("down").press("enter");
    screen.shows("Describe a task").await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    screen.close().await;
}
