//! The screen during a run: queues, interrupts, retries.

use std::path::{Path, PathBuf};
use std::time::Duration;

use osier_llm::TurnStatus;
use osier_llm::scripted::{Hold, Script};
use osier_protocol::Event;
use osier_session::SessionChoice;
use osier_settings::Settings;
use osier_term::input::InputEvent;
use osier_tui::Effect;
use serde_json::json;

use super::support::Screen;

/// The placeholder of an empty editor.
const EMPTY: &str = "Ask, or type / for commands";

/// A run that waits at a gate and then receives queued messages.
fn gated(gate: &Hold) -> Script {
    Script::new()
        .turn(|turn| {
            turn.text("Working on it.")
                .gate(gate)
                .tool("bash", json!({"command": "true"}))
        })
        .turn(|turn| turn.text("ok").repeat())
}

#[tokio::test]
async fn queued_messages_are_shown_and_delivered_in_order() {
    let gate = Hold::new();
    let mut screen = Screen::new(60, 24).script(gated(&gate)).start().await;
    screen.send("start").shows("Working on it.").await;
    screen
        .send("steer\u{20}this")
        .shows("Steering: steer this")
        .await;
    screen.type_text("then that").press("alt+enter");
    screen.shows("Queued: then that").await;
    insta::assert_snapshot!("queue", screen.styled());
    gate.open();
    screen.settled().await;
    let shown = screen.conversation();
    let place = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text} in\n{shown}"))
    };
    assert!(place("● bash true") < place("▌ steer this"));
    assert!(place("▌ steer this") < place("▌ then that"));
    assert!(!screen.screen().contains("Steering:") && !screen.screen().contains("Queued: "));
}

#[tokio::test]
async fn more_than_four_queued_messages_are_counted() {
    let gate = Hold::new();
    let mut screen = Screen::new(60, 24).script(gated(&gate)).start().await;
    screen.send("start").shows("Working on it.").await;
    for number in 1..=6 {
        screen.send(&format!("message {number}"));
    }
    screen.shows("… and 3 more").await;
    assert!(
        screen
            .screen()
            .contains("  Steering: message 3\n  … and 3 more\n")
    );
}

#[tokio::test]
async fn queued_messages_are_recalled_into_the_editor() {
    let gate = Hold::new();
    let mut screen = Screen::new(60, 24).script(gated(&gate)).start().await;
    screen.send("start").shows("Working on it.").await;
    screen.send("one").send("two").shows("Steering: two").await;
    screen.type_text("draft").press("alt+up");
    screen.hides("Steering:").await;
    screen.type_text("!");
    assert_eq!(screen.editor(), "one\n\ntwo\n\ndraft!");
    gate.open();
    screen.settled().await;
    assert!(!screen.conversation().contains("▌ one"));
}

#[tokio::test]
async fn interrupt_returns_queued_messages_to_the_editor() {
    let gate = Hold::new();
    let mut screen = Screen::new(60, 24).script(gated(&gate)).start().await;
    screen.send("start").shows("Working on it.").await;
    screen.send("later").shows("Steering: later").await;
    screen.press("esc").settled().await;
    assert_eq!(screen.editor(), "later");
    assert_eq!(
        screen.conversation(),
        "▌ start\n\n  Working on it.\n\n! interrupted"
    );
    assert!(!screen.screen().contains("Steering:"));
    screen.press("esc");
    assert_eq!(screen.editor(), "later");
}

fn rate_limited(retry_after_ms: u64) -> TurnStatus {
    TurnStatus::RateLimit {
        message: "slow down".to_owned(),
        retry_after_ms: Some(retry_after_ms),
    }
}

#[tokio::test]
async fn retry_counts_down_and_can_be_cancelled() {
    let script = Script::new().turn(|turn| turn.fail(rate_limited(90_000)));
    let mut screen = Screen::new(76, 12).script(script).start().await;
    screen.send("go").shows("Retrying").await;
    let line = |screen: &mut Screen| screen.row(8);
    assert_eq!(
        line(&mut screen),
        "· Retrying in 90s (1/5) · esc to cancel · slow down"
    );
    screen.advance(Duration::from_secs(30));
    assert_eq!(
        line(&mut screen),
        "· Retrying in 60s (1/5) · esc to cancel · slow down"
    );
    screen.press("esc").settled().await;
    assert_eq!(line(&mut screen), "");
    assert!(screen.conversation().ends_with("! interrupted"));
}

#[tokio::test]
async fn successful_retry_replaces_the_partial_answer() {
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            turn.thinking("Wrong thought.")
                .text("Half an ans")
                .tool("bash", json!({"command": "echo never"}))
                .gate(&gate)
                .fail(rate_limited(1))
        })
        .turn(|turn| turn.text("A whole answer."));
    let mut screen = Screen::new(60, 16).script(script).start().await;
    screen.send("go").shows("echo never").await;
    assert!(screen.conversation().contains("Half an ans"));
    gate.open();
    screen.settled().await;
    assert_eq!(screen.conversation(), "▌ go\n\n  A whole answer.");
}

#[tokio::test]
async fn final_failure_shows_the_reason_and_can_be_retried() {
    let script = Script::new()
        .turn(|turn| {
            turn.fail(TurnStatus::ModelError {
                message: "the model is on fire".to_owned(),
                retryable: false,
            })
        })
        .turn(|turn| turn.text("Better now."));
    let mut screen = Screen::new(60, 16).script(script).start().await;
    screen.send("go").settled().await;
    assert_eq!(screen.conversation(), "▌ go\n\n✗ the model is on fire");
    screen
        .shows("/retry continues the run, /model changes the model")
        .await;
    screen.send("/retry").settled().await;
    assert_eq!(
        screen.conversation(),
        "▌ go\n\n✗ the model is on fire\n\n  Better now."
    );
}

#[tokio::test]
async fn toast_disappears() {
    let mut screen = Screen::new(60, 12).start().await;
    screen.press("ctrl+x");
    assert_eq!(screen.row(8), "  no answer to copy yet");
    let gone = screen.app.next_change(screen.now).decoration.unwrap();
    screen.now = gone;
    assert_eq!(screen.row(8), "");
    // The toast may have expired while the last frame was drawn.
    assert_eq!(screen.app.next_change(screen.now).decoration, Some(gone));
    screen.app.tick(screen.now);
    assert_eq!(screen.app.next_change(screen.now).decoration, None);
}

#[tokio::test]
async fn last_answer_is_copied_as_markdown() {
    let script = Script::always("Some **bold** text\n\n- a");
    let mut screen = Screen::new(60, 12).script(script).start().await;
    screen.send("go").settled().await;
    screen.press("ctrl+x");
    assert_eq!(
        screen.effects,
        [Effect::Copy(
            "Some **bold** text\n\n- a".to_owned(),
            "answer"
        )]
    );
}

#[tokio::test]
async fn long_run_notifies_an_unfocused_terminal() {
    let gate = Hold::new();
    let script = Script::new().turn(|turn| turn.text("x").gate(&gate).repeat());
    let mut screen = Screen::new(60, 12).script(script).start().await;
    for (focused, told) in [(true, 0), (false, 1)] {
        let focus = if focused {
            InputEvent::FocusGained
        } else {
            InputEvent::FocusLost
        };
        let now = screen.now;
        screen.app.on_input(focus, now);
        screen
            .send("go")
            .until(|event| matches!(event, Event::Agent(osier_agent::Event::AgentStart)))
            .await;
        screen.advance(Duration::from_secs(6));
        gate.open();
        screen.settled().await;
        assert_eq!(screen.effects.len(), told, "{:?}", screen.effects);
    }
    assert_eq!(screen.effects, [Effect::Notify("done".to_owned())]);
}

#[tokio::test]
async fn prompt_that_cannot_be_stored_returns_to_the_editor() {
    let mut screen = Screen::new(60, 20)
        .script(Script::always("Just an answer."))
        .start()
        .await;
    // A directory cannot be created at the path of a file.
    let sessions = screen.home().join("sessions");
    std::fs::write(&sessions, "").unwrap();
    screen.send("do it").settled().await;
    screen.type_text(" now");
    assert_eq!(screen.editor(), "do it now");
    assert!(screen.screen().contains("✗ "), "{}", screen.screen());
    std::fs::remove_file(&sessions).unwrap();
    screen.press("enter").settled().await;
    assert_eq!(screen.editor(), EMPTY);
    assert_eq!(screen.last_prompt(), "do it now");
    // A stored prompt does not return to the editor when something else fails.
    screen.send("and this").settled().await;
    assert_eq!(screen.editor(), EMPTY);
}

#[tokio::test]
async fn partial_answer_stays_while_a_retry_waits_and_after_its_interrupt() {
    let script = Script::new().turn(|turn| turn.text("The first half").fail(rate_limited(60_000)));
    let mut screen = Screen::new(80, 20).script(script).start().await;
    screen
        .send("go")
        .shows("partial answer: ")
        .await
        .shows("The first half")
        .await;
    screen.press("esc").settled().await;
    let shown = screen.screen();
    assert!(shown.contains("The first half"), "{shown}");
    assert!(shown.contains("interrupted"), "{shown}");
    assert!(!shown.contains("partial answer: "), "{shown}");
}

/// The rows of turn summaries, without the duration.
fn summaries(screen: &mut Screen) -> Vec<String> {
    let shown = screen.conversation();
    let rows = shown.lines().filter(|row| row.contains(" · "));
    let parts = rows.map(|row| row.split(" · ").collect::<Vec<&str>>());
    let parts = parts.map(|mut parts| {
        assert!(parts[1].ends_with('s'), "{parts:?} has a duration");
        parts.remove(1);
        parts.join(" · ")
    });
    parts.collect()
}

#[tokio::test]
async fn each_turn_ends_with_its_model_duration_and_tools() {
    let script = Script::new()
        .turn(|turn| {
            turn.tool("bash", json!({"command": "echo one"}))
                .tool("bash", json!({"command": "echo two"}))
        })
        .turn(|turn| turn.text("Both ran."))
        .turn(|turn| turn.text("Nothing to run."));
    let mut screen = Screen::new(60, 24)
        .script(script)
        .settings(|settings| settings.screen.turn_summary = true)
        .start()
        .await;
    screen.send("run").settled().await;
    screen.send("again").settled().await;
    assert_eq!(summaries(&mut screen), ["  mock · 2 tools", "  mock"]);
    let mut hidden = Settings::default().screen;
    hidden.turn_summary = false;
    screen.app.set_settings(&hidden);
    assert_eq!(
        screen.conversation(),
        "▌ run\n\n● bash echo one\n  one\n\n● bash echo two\n  two\n\n  Both ran.\n\n▌ again\n\n  Nothing to run."
    );
}

/// The files below `folder`.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| {
        if path.is_dir() {
            files_below(&path)
        } else {
            vec![path]
        }
    });
    below.collect()
}

#[tokio::test]
async fn calls_that_a_crash_cut_off_say_so() {
    let script = || {
        Script::new()
            .turn(|turn| {
                turn.tool("bash", json!({"command": "echo one"}))
                    .tool("bash", json!({"command": "echo two"}))
            })
            .turn(|turn| turn.text("Done."))
    };
    let mut first = Screen::new(80, 24).script(script()).start().await;
    first.send("run it").settled().await;
    let again = Screen::new(80, 24)
        .script(Script::always("Again."))
        .session(SessionChoice::Continue)
        .with_files_of(&first);
    let sessions = files_below(&first.home());
    first.close().await;
    // The file ends with the calls, as after a kill.
    let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let with_calls = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let calls = lines.position(|line| line.contains("echo two"))?;
        let lines: Vec<&str> = text.lines().take(calls + 1).collect();
        std::fs::write(path, format!("{}\n", lines.join("\n"))).unwrap();
        Some(())
    };
    let cut = sessions.into_iter().filter(is_session);
    assert_eq!(cut.filter_map(with_calls).count(), 1);
    let mut screen = again.start().await;
    let expected = "▌ run it\n\n\
        ■ bash echo one · interrupted\n\n\
        ■ bash echo two · interrupted\n\n\
        ! the calls above were interrupted: /retry to continue";
    assert_eq!(screen.conversation(), expected);
    screen.send("/retry").settled().await;
    let shown = screen.conversation();
    assert_eq!(shown, format!("{expected}\n\n  Again."));
}
