//! Terminals on the screen: their cell, their panel, and typing in them.

use osier_llm::Script;
use osier_protocol::Event;
use serde_json::json;

use super::support::Screen;

/// Shows what it reads.
const PROGRAM: &str =
    "printf '\\033[31mready\\033[m\\n'; while read -r line; do echo \"<$line>\"; done; echo bye";

fn starts() -> Script {
    let arguments = json!({"command": PROGRAM, "terminal": true});
    Script::new()
        .turn(|turn| turn.tool("bash", arguments))
        .turn(|turn| turn.text("It runs.").repeat())
}

#[tokio::test]
async fn cell_shows_the_screen_and_the_user_types_in_it() {
    let mut screen = Screen::new(80, 24).script(starts()).start().await;
    screen.send("start").settled().await;
    screen.shows("1 terminal").await;
    screen.send("/terminal").shows("\nready").await;
    let hints = "enter type · n new terminal · x kill · esc close";
    assert!(screen.screen().contains(hints), "{}", screen.screen());
    // Keys are commands of the panel until it is entered.
    screen.press("enter").shows("ctrl+] leave").await;
    screen.type_text("x q").press("enter");
    screen.shows("\n<x q>").await;
    // The terminal has the size of the panel, and the cursor is in it.
    screen.shows("80x").await;
    screen.press("tab").press("esc").press("ctrl+c");
    screen.press("ctrl+]");
    assert!(!screen.screen().contains("ctrl+] leave"));
    screen.press("esc");
    assert!(!screen.screen().contains("esc close"));
}

#[tokio::test]
async fn cell_follows_the_terminal() {
    let mut screen = Screen::new(80, 24).script(starts()).start().await;
    screen.send("start").settled().await;
    screen.send("/terminal").shows("\nready").await;
    screen.press("enter").type_text("one").press("enter");
    screen.shows("\n<one>").await;
    screen.press("ctrl+]").press("esc");
    screen.shows("  <one>").await;
    assert!(screen.conversation().contains("ready"));
}

#[tokio::test]
async fn user_starts_and_kills_a_terminal() {
    let mut screen = Screen::new(80, 24).start().await;
    screen
        .send("!> echo up; exec sleep 600")
        .shows("\nup")
        .await;
    screen.shows("ctrl+] leave").await;
    screen.press("ctrl+]").type_text("x");
    assert!(screen.screen().contains("press x again to kill it"));
    // The shell gets SIGHUP when its terminal is closed, and SIGTERM as every killed process does:
    // the faster signal ends it.
    screen.type_text("x").shows("─ SIG").await;
    let hints = "enter restart · n new terminal · esc close";
    assert!(screen.screen().contains(hints), "{}", screen.screen());
    assert!(!screen.footer().contains("terminal"), "{}", screen.footer());
    screen.press("enter").shows("─ term2  echo up").await;
    screen.shows("ctrl+] leave").await;
}

#[tokio::test]
async fn hostile_sequences_never_reach_the_outer_terminal() {
    let mut screen = Screen::new(80, 24).start().await;
    let hostile = "printf 'a\\033]0;evil\\007\\033]52;c;aGk=\\007\\033[6n\\033[?1049h\\033[8;5;5tb'; exec sleep 600";
    screen.send(&format!("!> {hostile}"));
    screen
        .until(|event| matches!(event, Event::TerminalScreen { screen, .. } if screen.output.text == "b" || screen.output.text == " b"))
        .await;
    let shown = screen.styled();
    assert!(
        !shown.contains("evil]") && !shown.contains('\x1b'),
        "{shown}"
    );
}
