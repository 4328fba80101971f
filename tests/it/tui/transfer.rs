//! Export and import from the screen.

use osier_llm::Script;
use osier_protocol::{Event, TransferEvent};

use super::support::Screen;

#[tokio::test]
async fn session_is_exported_and_another_imported_and_opened() {
    let script = Script::new()
        .turn(|turn| turn.text("Hello back."))
        .turn(|turn| turn.text("I go on with it."));
    let mut screen = Screen::new(100, 30).script(script).start().await;
    screen.send("hello").settled().await;
    screen.send("/export talk.md").shows("exported to").await;
    let talk = std::fs::read_to_string(screen.work().join("talk.md")).unwrap();
    assert!(
        talk.contains("> hello\n") && talk.contains("Hello back."),
        "{talk}"
    );
    screen
        .send("/export talk.md")
        .shows("exists; choose another name")
        .await;
    screen.send("/export --force talk.md").until(exported).await;
    screen
        .send("/import")
        .shows("expected a file: /import FILE")
        .await;
    screen.press("ctrl+u");
    screen
        .send("/import nothing.jsonl")
        .shows("cannot read")
        .await;

    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/exchange/pi.jsonl"
    );
    screen
        .send(&format!("/import {fixture}"))
        .until(imported)
        .await;
    screen.shows("imported from pi as 01a1fe68").await;
    screen.shows("One line then.").await;
    // The session is from a directory that does not exist here.
    screen.shows("Continue here").await;
    screen.press("enter");
    screen
        .until(|event| matches!(event, Event::SessionOpened { .. }))
        .await;
    screen.send("go on").settled().await;
    screen.shows("I go on with it.").await;
    screen
        .send(&format!("/import {fixture}"))
        .shows("was imported before")
        .await;
}

fn exported(event: &Event) -> bool {
    matches!(
        event,
        Event::Transfer(TransferEvent::SessionExported { .. })
    )
}

fn imported(event: &Event) -> bool {
    matches!(
        event,
        Event::Transfer(TransferEvent::SessionImported { .. })
    )
}
