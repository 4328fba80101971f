//! Subagents on the screen: the row of the call, the list, and the page with the conversation of one.

use osier_llm::scripted::{Hold, Script};
use osier_protocol::{Event, PermissionMode, SubagentStatus};
use serde_json::json;

use super::support::{Builder, Screen};

fn subagents(columns: u16, rows: u16, script: Script) -> Builder {
    Screen::new(columns, rows)
        .script(script)
        .settings(|settings| settings.subagents = true)
}

fn doing(event: &Event, activity: &str) -> bool {
    matches!(event, Event::Subagents { subagents }
        if subagents.iter().any(|info| info.activity == activity))
}

#[tokio::test]
async fn subagent_is_opened_steered_and_stopped() {
    let (first, second) = (Hold::new(), Hold::new());
    let script = Script::new()
        .turn(|turn| {
            let task = json!({"prompt": "count the files"});
            turn.when_user("go").tool("task", task)
        })
        .turn(|turn| {
            let turn = turn.when_user("count the files").text("I look first.");
            turn.gate(&first)
                .tool("bash", json!({"command": "echo seven"}))
        })
        .turn(|turn| {
            turn.when_user("also the folders")
                .text("Both")
                .gate(&second)
        })
        .turn(|turn| turn.text("Done."));
    let mut screen = subagents(80, 24, script).start().await;
    screen.send("go");
    screen.until(|event| doing(event, "answering")).await;
    screen.shows("  agent1 running · answering · ").await;
    // Enter on the block of the call opens the conversation.
    screen.press("alt+v").press("shift+tab").press("enter");
    screen.shows("I look first.").await;
    let shown = screen.screen();
    assert!(shown.starts_with("─ agent1 ─"), "{shown}");
    assert!(shown.contains("▌ count the files"), "{shown}");
    assert!(shown.contains("❯ Message to agent1"), "{shown}");
    assert!(
        shown.contains("esc back · enter send · ctrl+d stop"),
        "{shown}"
    );
    screen.type_text("also the folders").press("enter");
    screen.shows("Steering: also the folders").await;
    first.open();
    screen.shows("▌ also the folders").await;
    screen.shows("Both").await;
    assert!(screen.screen().contains("● bash echo seven"));
    // The first press asks.
    screen.press("ctrl+d");
    assert!(
        screen
            .screen()
            .contains("press ctrl+d again to stop agent1")
    );
    screen.press("ctrl+d").shows("stopped").await;
    assert!(!screen.screen().contains("Message to agent1"));
    screen.press("esc").shows("Done.").await;
    let shown = screen.screen();
    assert!(shown.contains("  agent1 stopped"), "{shown}");
    assert!(shown.contains("the user stopped it"), "{shown}");
}

#[tokio::test]
async fn list_shows_each_subagent_and_sends_one_to_the_background() {
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            let turn = turn.when_user("go").tool("task", json!({"prompt": "one"}));
            turn.tool("task", json!({"prompt": "two"}))
        })
        .turn(|turn| turn.when_user("one").gate(&gate).text("First."))
        .turn(|turn| turn.when_user("two").text("Second."))
        .turn(|turn| turn.when_result("second").text("It continues."))
        .turn(|turn| turn.when_user("agent1 ended").text("Noted."));
    let mut screen = subagents(80, 24, script).start().await;
    screen.send("go");
    screen
        .until(|event| {
            matches!(event, Event::Subagents { subagents }
                if matches!(&subagents[..], [one, two]
                    if one.activity == "thinking" && two.status == SubagentStatus::Done))
        })
        .await;
    screen.send("/agents").shows("1 active, 1 ended").await;
    let shown = screen.screen();
    assert!(shown.contains("agent2  done "), "{shown}");
    assert!(shown.contains("agent1  running "), "{shown}");
    screen.press("down").type_text("b");
    screen.shows("in the background").await;
    screen.press("esc").shows("It continues.").await;
    assert!(screen.footer().contains("1 job"), "{}", screen.footer());
    gate.open();
    screen.shows("Noted.").await;
    assert!(screen.screen().contains("agent1 done · in the background"));
}

#[tokio::test]
async fn question_of_a_subagent_opens_on_its_page() {
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", json!({"prompt": "touch it"}))
        })
        .turn(|turn| {
            let turn = turn.when_user("touch it").text("I will.").gate(&gate);
            turn.tool("bash", json!({"command": "touch made"}))
        })
        .turn(|turn| turn.when_result("").text("Touched."))
        .turn(|turn| turn.text("Done."));
    let mut screen = subagents(80, 24, script)
        .settings(|settings| {
            settings.allow = vec!["task".to_owned()];
            settings.permissions = PermissionMode::Ask;
        })
        .start()
        .await;
    screen.send("go");
    screen.until(|event| doing(event, "answering")).await;
    screen.send("/agents").shows("1 active").await;
    screen.press("enter").shows("I will.").await;
    gate.open();
    screen.shows("Run this command?").await;
    let shown = screen.screen();
    assert!(shown.starts_with("─ agent1 ─"), "{shown}");
    assert!(shown.contains("agent1 · bash"), "{shown}");
}

#[tokio::test]
async fn page_keeps_the_draft_and_confirms_the_move_to_the_background() {
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", json!({"prompt": "count"}))
        })
        .turn(|turn| turn.when_user("count").text("I look.").gate(&gate))
        .turn(|turn| turn.when_result("background").text("It continues."))
        .turn(|turn| turn.when_user("agent1 ended").text("Noted."));
    let mut screen = subagents(80, 24, script).start().await;
    screen.send("go");
    screen.until(|event| doing(event, "answering")).await;
    screen.send("/agents").shows("1 active").await;
    screen.press("enter").shows("❯ Message to agent1").await;
    screen.type_text("also folders").press("esc");
    // The list lies below the page.
    screen.press("enter").shows("❯ also folders").await;
    screen.press("alt+B");
    screen.shows("agent1 continues in the background").await;
    screen
        .press("esc")
        .press("esc")
        .shows("It continues.")
        .await;
    gate.open();
    screen.shows("Noted.").await;
    let shown = screen.screen();
    assert!(
        shown.contains("agent1 ended. Its answer: I look."),
        "{shown}"
    );
    assert!(!shown.contains("▌ [agent1"), "{shown}");
}
