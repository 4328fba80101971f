//! The panels of tools and background jobs.

use std::fs::File;

use osier_llm::Usage;
use osier_llm::scripted::Script;
use osier_protocol::Event;
use serde_json::json;

use super::support::{Screen, TOOLS};

const FIRST: &str = "echo begun; until [ -e go ]; do sleep 0.01; done; echo more; sleep 600";

#[tokio::test]
async fn jobs_are_listed_streamed_and_killed() {
    let start = |command: &str| json!({"command": command, "background": true});
    let script = Script::new()
        .turn(|turn| {
            turn.tool("bash", start(FIRST))
                .tool("bash", start("echo the second; sleep 600"))
        })
        .turn(|turn| turn.text("Both run."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    screen.send("start").settled().await;
    screen.shows("2 jobs").await;
    screen.send("/jobs").shows("│ the second").await;
    let shown = screen.screen();
    assert!(shown.contains("2 running, 0 ended"), "{shown}");
    assert!(
        shown.contains("› job2  echo the second; sleep 600"),
        "{shown}"
    );
    // The output of the other job replaces this one.
    screen.press("down").shows("│ begun").await;
    assert!(screen.screen().contains("› job1  echo begun"));
    File::create(screen.work().join("go")).unwrap();
    screen.shows("│ more").await;
    // The first key asks, the second one confirms.
    screen.type_text("x");
    assert!(screen.screen().contains("press x again to kill job1"));
    screen.press("esc");
    assert!(screen.screen().contains("2 running, 0 ended"));
    screen.type_text("xx").shows("1 running, 1 ended").await;
    assert!(screen.screen().contains("SIGTERM after"));
    assert!(screen.footer().contains("1 job "), "{}", screen.footer());
    screen.press("enter");
    let shown = screen.screen();
    assert!(!shown.contains("job2  echo"), "{shown}");
    screen.press("esc");
    assert!(!screen.screen().contains("Jobs"));
}

#[tokio::test]
async fn empty_jobs_panel() {
    let mut screen = Screen::new(60, 12).start().await;
    screen.press("alt+j");
    screen
        .until(|event| matches!(event, Event::Jobs { jobs } if jobs.is_empty()))
        .await;
    insta::assert_snapshot!("no_jobs", screen.styled());
}

#[tokio::test]
async fn disabled_tool_is_not_offered() {
    let script = Script::always("done");
    let mut screen = Screen::new(80, 24).script(script).tools().start().await;
    screen.send("/tools").shows("✓ grep").await;
    insta::assert_snapshot!("tools", screen.styled());
    screen
        .type_text("grep")
        .press("enter")
        .shows("· grep")
        .await;
    assert!(screen.screen().contains("❯ grep"));
    screen.press("esc");
    screen.send("hi").settled().await;
    let names = |screen: &Screen| -> Vec<String> {
        let tools = screen.request().context.tools;
        tools.into_iter().map(|tool| tool.name).collect()
    };
    let others = TOOLS.into_iter().filter(|name| *name != "grep");
    assert_eq!(names(&screen), others.collect::<Vec<&str>>());
    let prompt = screen.request().context.system_prompt;
    assert!(prompt.contains("with the commands rg"), "{prompt}");
    screen
        .send("/tools")
        .type_text("grep")
        .shows("· grep")
        .await;
    screen.press("enter").shows("✓ grep").await;
    screen.press("esc").send("again").settled().await;
    assert_eq!(names(&screen).len(), TOOLS.len());
}

#[tokio::test]
async fn search_results_collapse_to_their_first_lines() {
    let script = Script::new()
        .turn(|turn| {
            let grep = json!({"pattern": "needle", "path": ".", "glob": "*.rs"});
            turn.tool("grep", grep)
                .tool("find", json!({"pattern": "*.rs"}))
        })
        .turn(|turn| turn.text("And here:").tool("ls", json!({"path": "."})))
        .turn(|turn| turn.text("Found."));
    let mut screen = Screen::new(60, 30)
        .script(script)
        .file("a.rs", &"needle\n".repeat(7))
        .start()
        .await;
    screen.send("look").settled().await;
    let folded = "\
▌ look

● grep needle in . (*.rs) · 7 matches in 1 file
  a.rs
  1:needle
  2:needle
  3:needle
  4:needle
  … 3 lines below · ctrl+o to show

● find *.rs · 1 path
  a.rs

  And here:

● ls . · 1 entry

  Found.";
    assert_eq!(screen.conversation(), folded);
    screen.press("ctrl+o");
    assert!(screen.conversation().contains("  7:needle\n"));
}

#[tokio::test]
async fn task_shows_its_subagent_and_expanded_its_steps() {
    let echo = |word: &str| json!({"command": format!("echo {word}")});
    let script = Script::new()
        .turn(|turn| {
            turn.when_user("go")
                .tool("task", json!({"prompt": "count"}))
        })
        .turn(|turn| {
            let words = ["one", "two", "three", "four", "five"];
            words
                .into_iter()
                .fold(turn.when_user("count"), |turn, word| {
                    turn.tool("bash", echo(word))
                })
        })
        .turn(|turn| {
            turn.when_result("five")
                .text("There are five.")
                .usage(Usage {
                    input: 500,
                    ..Usage::default()
                })
        })
        .turn(|turn| turn.text("Done."));
    let mut screen = Screen::new(80, 24)
        .script(script)
        .settings(|settings| settings.subagents = true)
        .start()
        .await;
    screen.send("go").settled().await;
    let folded = screen.conversation();
    assert!(folded.contains("\n  agent1 done · "), "{folded}");
    assert!(!folded.contains("bash echo"), "{folded}");
    assert!(folded.contains("  There are five.\n"), "{folded}");
    let unfolded = screen.press("ctrl+o").conversation();
    assert!(unfolded.contains("  ● bash echo one\n"), "{unfolded}");
    assert!(unfolded.contains("  ● bash echo five\n"), "{unfolded}");
}
