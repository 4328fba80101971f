//! Sessions: stored, listed, resumed, left.

use osier::agent::{self, AgentMessage};
use osier::coding::host::{Event, SessionChoice};
use osier::llm::scripted::Script;
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
async fn a_resumed_session_shows_what_it_showed() {
    let mut first = Screen::new(70, 24).script(conversation()).start().await;
    first.send("run it").settled().await;
    first
        .send("!echo mine")
        .until(|event| {
            matches!(event, Event::Agent(agent::Event::MessageEnd { message, .. })
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
        .beside(&first);
    first.close().await;
    let mut second = second.start().await;
    assert_eq!(second.conversation(), shown);
    assert!(second.footer().starts_with("~/work · kept one"));
    second.send("go on").settled().await;
    assert!(second.conversation().contains("▌ go on"));
}

#[tokio::test]
async fn the_session_picker_opens_an_earlier_conversation() {
    let mut screen = Screen::new(80, 24).script(conversation()).start().await;
    screen.send("first prompt").settled().await;
    let first = screen.conversation();
    let total = screen.footer();
    assert!(total.contains('↑'), "{total}");
    screen.press("alt+n").shows("Say what you want done").await;
    assert!(!screen.footer().contains('↑'), "{}", screen.footer());
    screen.send("second prompt").settled().await;
    screen.press("alt+s").shows("│  first prompt").await;
    let shown = screen.screen();
    assert!(shown.contains("Sessions of this directory"), "{shown}");
    screen.type_text("first").press("enter");
    screen.shows("▌ first prompt").await;
    assert_eq!(screen.conversation(), first);
    assert_eq!(screen.footer(), total);
    assert!(screen.editor().starts_with("Ask"));
}

#[tokio::test]
async fn a_session_that_is_not_there_is_told() {
    let mut screen = Screen::new(80, 24).start().await;
    screen.send("/resume nothing").shows("✗").await;
    assert!(screen.conversation().contains("nothing"));
}
