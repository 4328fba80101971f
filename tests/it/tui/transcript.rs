//! The conversation on the screen, during and after a run.

use osier_llm::scripted::{Hold, Script};
use osier_term::input::{KeyModifiers, MouseButton, MouseEventKind, MouseInput};
use serde_json::json;

use super::support::{Screen, usage_of};

#[tokio::test]
async fn empty_session_shows_hints() {
    let mut screen = Screen::new(80, 24).start().await;
    insta::assert_snapshot!("welcome", screen.styled());
}

#[tokio::test]
async fn streamed_markdown_equals_the_final_markdown() {
    let gate = Hold::new();
    let script = Script::new().turn(|turn| {
        turn.thinking("The user greets.")
            .text("# Hello\n\nSome **bold** and `code`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |")
            .gate(&gate)
            .text("The *end*, see [here](https://example.org).")
    });
    let mut screen = Screen::new(60, 24).script(script).start().await;
    screen.send("hi").shows("two").await;
    assert!(screen.screen().contains("Working · esc to interrupt · 0s"));
    gate.open();
    screen.settled().await;
    insta::assert_snapshot!("answer", screen.styled());
}

#[tokio::test]
async fn thinking_is_shown_while_streaming_and_collapses() {
    let gate = Hold::new();
    let script = Script::new().turn(|turn| turn.thinking("Let me see.").gate(&gate).text("Done."));
    let mut screen = Screen::new(60, 12).script(script).start().await;
    screen.press("ctrl+t").send("hi").shows("Thinking…").await;
    gate.open();
    screen.settled().await;
    assert_eq!(screen.conversation(), "▌ hi\n\n  Thought\n\n  Done.");
    screen.press("ctrl+t");
    assert_eq!(screen.conversation(), "▌ hi\n\n  Let me see.\n\n  Done.");
    screen.press("ctrl+t");
    assert_eq!(screen.conversation(), "▌ hi\n\n  Thought\n\n  Done.");
    // A click expands only the clicked block.
    click(&mut screen, 2);
    assert_eq!(screen.conversation(), "▌ hi\n\n  Let me see.\n\n  Done.");
}

fn mouse(kind: MouseEventKind, row: u16) -> MouseInput {
    MouseInput {
        kind,
        column: 1,
        row,
        modifiers: KeyModifiers::NONE,
    }
}

fn click(screen: &mut Screen, row: u16) {
    screen.mouse(mouse(MouseEventKind::Down(MouseButton::Left), row));
    screen.mouse(mouse(MouseEventKind::Up(MouseButton::Left), row));
}

#[tokio::test]
async fn a_command_shows_its_output_while_it_runs() {
    let script = Script::new()
        .turn(|turn| {
            turn.text("Looking.").tool(
                "bash",
                json!({"command": "seq 8; echo live; until test -e go; do :; done; echo end"}),
            )
        })
        .turn(|turn| turn.text("Seen.").usage(usage_of(1_024, 2)));
    let mut screen = Screen::new(70, 20).script(script).start().await;
    screen.send("look").shows("\n  live").await;
    insta::assert_snapshot!("bash_live", screen.styled());
    std::fs::write(screen.work().join("go"), "").unwrap();
    screen.settled().await;
    insta::assert_snapshot!("bash_done", screen.styled());
    screen.press("ctrl+o");
    assert!(screen.conversation().contains("  1\n  2\n  3\n"));
    // The view `quiet` shows no output, `normal` shows its end.
    screen.press("ctrl+o");
    assert!(!screen.conversation().contains("  live\n"));
    screen.press("ctrl+o");
    assert!(!screen.conversation().contains("  1\n  2\n  3\n"));
    assert!(screen.conversation().contains("  live\n"));
}

#[tokio::test]
async fn an_edit_shows_what_changed() {
    let script = Script::new()
        .turn(|turn| turn.tool("read", json!({"file_path": "a.txt"})))
        .turn(|turn| {
            turn.tool(
                "edit",
                json!({"file_path": "a.txt", "old_string": "two", "new_string": "2\n2a"}),
            )
        })
        .turn(|turn| turn.tool("write", json!({"file_path": "b.txt", "content": "new\n"})))
        .turn(|turn| turn.text("Changed."));
    let mut screen = Screen::new(70, 30)
        .script(script)
        .file("a.txt", "one\ntwo\nthree\n")
        .start()
        .await;
    screen.send("change it").settled().await;
    insta::assert_snapshot!("edit", screen.styled());
    let text = std::fs::read_to_string(screen.work().join("a.txt")).unwrap();
    assert_eq!(text, "one\n2\n2a\nthree\n");
}

#[tokio::test]
async fn failed_and_unknown_tools_are_shown() {
    let script = Script::new()
        .turn(|turn| {
            turn.tool("bash", json!({"command": "echo no >&2; exit 3"}))
                .tool("read", json!({"file_path": "absent.txt"}))
                .tool("fly", json!({"to": "the moon"}))
                .tool_raw("bash", "{\"command\": \"ec")
        })
        .turn(|turn| turn.text("That failed.").usage(usage_of(1_224, 3)));
    let mut screen = Screen::new(76, 30).script(script).tools().start().await;
    screen.send("try").settled().await;
    insta::assert_snapshot!("tool_failures", screen.styled());
}

#[tokio::test]
async fn interrupted_command_is_shown_and_stops() {
    let script = Script::new()
        .turn(|turn| {
            turn.tool(
                "bash",
                json!({"command": "echo $$ > pid; echo begun; while :; do sleep 1000; done"}),
            )
        })
        .turn(|turn| turn.text("never"));
    let mut screen = Screen::new(70, 16).script(script).start().await;
    screen.send("wait").shows("\n  begun").await;
    screen.press("esc").settled().await;
    insta::assert_snapshot!("tool_interrupted", screen.screen());
    let pid = std::fs::read_to_string(screen.work().join("pid")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[tokio::test]
async fn truncated_call_is_marked() {
    let gate = Hold::new();
    let script = Script::new().turn(|turn| {
        turn.text("Now")
            .tool("bash", json!({"command": "echo one"}))
            .gate(&gate)
    });
    let mut screen = Screen::new(60, 14).script(script).start().await;
    screen.send("go").shows("echo one").await;
    screen.press("esc").settled().await;
    insta::assert_snapshot!("call_cut_off", screen.screen());
}

#[tokio::test]
async fn interrupted_answer_keeps_its_text() {
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| turn.text("The first half").gate(&gate))
        .turn(|turn| turn.text("Again."));
    let mut screen = Screen::new(60, 16).script(script).start().await;
    screen.send("go").shows("The first half").await;
    screen.press("esc").settled().await;
    assert_eq!(
        screen.conversation(),
        "▌ go\n\n  The first half\n\n! interrupted"
    );
    screen.send("on").settled().await;
    assert_eq!(
        screen.conversation(),
        "▌ go\n\n  The first half\n\n! interrupted\n\n▌ on\n\n  Again."
    );
}

const DIFF: &str = " context *stays*\n-# old\n+1. new `x`\n\n @@ -1 +1 @@";

#[tokio::test]
async fn pasted_text_is_unchanged() {
    let script = Script::always("ok");
    let mut screen = Screen::new(60, 20).script(script).start().await;
    screen.paste(DIFF).press("enter").settled().await;
    assert_eq!(screen.last_prompt(), DIFF);
    let shown = screen.conversation();
    assert_eq!(
        shown,
        "▌  context *stays*\n▌ -# old\n▌ +1. new `x`\n▌\n▌  @@ -1 +1 @@\n\n  ok"
    );
}

fn numbered(from: usize, to: usize) -> String {
    (from..=to).map(|line| format!("line {line}\n\n")).collect()
}

#[tokio::test]
async fn scroll_position_is_kept_until_the_end_is_reached() {
    let gate = Hold::new();
    let script = Script::new()
        .turn(|turn| {
            turn.text(numbered(1, 30))
                .gate(&gate)
                .text(numbered(31, 40))
                .tool("bash", json!({"command": "echo made"}))
        })
        .turn(|turn| turn.text("All done."));
    let mut screen = Screen::new(50, 14).script(script).start().await;
    screen.send("count").shows("line 30").await;
    screen.press("pageup pageup");
    let before = screen.conversation();
    assert!(!before.contains("line 30"), "{before}");
    let shown = screen.screen();
    assert!(shown.contains("↓ ctrl+end go to end"), "{shown}");
    gate.open();
    screen.settled().await;
    // The first frame after the events counts the new rows.
    let shown = screen.screen();
    assert!(
        shown.contains("↓ 25 new rows · ctrl+end go to end"),
        "{shown}"
    );
    assert_eq!(screen.conversation(), before);
    screen.press("ctrl+end");
    assert!(screen.conversation().ends_with("All done."));
    assert!(!screen.screen().contains("go to end"));
}

#[tokio::test]
async fn paging_to_the_end_follows_the_stream() {
    let script = Script::new()
        .turn(|turn| turn.text(numbered(1, 30)))
        .turn(|turn| turn.text("More."));
    let mut screen = Screen::new(50, 14).script(script).start().await;
    screen.send("count").settled().await;
    let end = screen.conversation();
    screen.press("shift+up");
    assert_ne!(screen.conversation(), end);
    screen.press("shift+down");
    assert_eq!(screen.conversation(), end);
    screen.press("ctrl+home");
    assert!(screen.conversation().starts_with("▌ count\n\n  line 1\n"));
    for _ in 0..12 {
        screen.press("pagedown");
    }
    assert_eq!(screen.conversation(), end);
    screen.send("more").settled().await;
    assert!(screen.conversation().ends_with("More."));
}

#[tokio::test]
async fn page_overlaps_by_two_rows() {
    let script = Script::always(&numbered(1, 30));
    let mut screen = Screen::new(50, 14).script(script).start().await;
    screen.send("count").settled().await;
    screen.press("ctrl+home");
    let first: Vec<String> = (0..10).map(|row| screen.row(row)).collect();
    screen.press("pagedown");
    let second: Vec<String> = (0..10).map(|row| screen.row(row)).collect();
    // The prompt stays above the rows.
    assert_eq!(second[0], "▌ count");
    assert_eq!(first[8..10], second[1..3]);
}

#[tokio::test]
async fn short_conversation_does_not_scroll() {
    let script = Script::new()
        .turn(|turn| turn.text("Short."))
        .turn(|turn| turn.text(numbered(1, 20)));
    let mut screen = Screen::new(50, 14).script(script).start().await;
    screen.send("one").settled().await;
    screen.press("pageup");
    assert!(!screen.screen().contains("go to end"));
    screen.send("two").settled().await;
    assert!(screen.conversation().contains("line 20"));
}

#[tokio::test]
async fn jump_between_prompts() {
    let script = Script::new().turn(|turn| turn.text(numbered(1, 12)).repeat());
    let mut screen = Screen::new(50, 14).script(script).start().await;
    for prompt in ["first", "second", "third"] {
        screen.send(prompt).settled().await;
    }
    screen.press("ctrl+up");
    assert_eq!(screen.row(0), "▌ third");
    screen.press("ctrl+up");
    assert_eq!(screen.row(0), "▌ second");
    screen.press("ctrl+up");
    assert_eq!(screen.row(0), "▌ first");
    screen.press("ctrl+down");
    assert_eq!(screen.row(0), "▌ second");
    screen.press("ctrl+down ctrl+down");
    assert!(!screen.screen().contains("go to end"));
}

#[tokio::test]
async fn wheel_scrolls_and_clicks_below_are_ignored() {
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": "seq 30"})))
        .turn(|turn| turn.text(numbered(1, 12)));
    let mut screen = Screen::new(50, 14).script(script).start().await;
    screen.send("count").settled().await;
    let wheel = |kind| mouse(kind, 3);
    let end = screen.conversation();
    screen.mouse(wheel(MouseEventKind::ScrollUp));
    assert_ne!(screen.conversation(), end);
    screen.mouse(wheel(MouseEventKind::ScrollDown));
    assert_eq!(screen.conversation(), end);
    screen.press("ctrl+home");
    let top = screen.conversation();
    // The row of the editor: the click does not reach the conversation.
    click(&mut screen, 12);
    assert_eq!(screen.conversation(), top);
    click(&mut screen, 3);
    assert_ne!(screen.conversation(), top);
}

#[tokio::test]
async fn resize_lays_out_again() {
    let text =
        "A sentence that is long enough to be wrapped on a narrow screen but not on a wide one.";
    let script = Script::always(text);
    let mut screen = Screen::new(100, 12).script(script).start().await;
    screen.send("go").settled().await;
    assert_eq!(screen.conversation(), format!("▌ go\n\n  {text}"));
    screen.resize(44, 14);
    assert_eq!(
        screen.conversation(),
        "▌ go\n\n  A sentence that is long enough to be\n  wrapped on a narrow screen but not on a\n  wide one."
    );
    screen.resize(100, 12);
    assert_eq!(screen.conversation(), format!("▌ go\n\n  {text}"));
}

#[tokio::test]
async fn too_small_screen_shows_a_message_and_recovers() {
    let mut screen = Screen::new(39, 9).start().await;
    assert_eq!(
        screen.screen().trim_end(),
        "osier needs 27x10 cells; this terminal\nhas 39x9"
    );
    assert_eq!(screen.cursor(), None);
    screen.resize(3, 1).screen();
    screen.resize(0, 0).screen();
    screen.resize(40, 10);
    insta::assert_snapshot!("smallest", screen.screen());
}

#[tokio::test]
async fn wide_characters_keep_their_columns() {
    let script = Script::always("日本語の答え 👩‍👩‍👧 ok\n\n| 名 | b |\n|---|---|\n| 你好 | 🎉 |");
    let mut screen = Screen::new(44, 16).script(script).start().await;
    screen.send("你好 👋").settled().await;
    screen.type_text("한국어 e\u{301}🇩🇪");
    insta::assert_snapshot!("wide", screen.styled());
}

#[tokio::test]
async fn control_sequences_in_output_do_not_reach_the_screen() {
    let script = Script::new()
        .turn(|turn| {
            turn.tool(
                "bash",
                json!({"command": "printf 'a\\033[2Jb\\033]0;t\\007c\\r\\nd\\n'"}),
            )
        })
        .turn(|turn| turn.text("x\u{1b}[31my\u{7}z"));
    let mut screen = Screen::new(60, 14).script(script).start().await;
    screen.send("go").settled().await;
    let shown = screen.conversation();
    assert!(
        !shown.chars().any(|c| c.is_control() && c != '\n'),
        "{shown:?}"
    );
    assert!(shown.contains("  abc\n  d\n"), "{shown}");
}

#[tokio::test]
async fn denied_call_is_shown() {
    use osier_agent::{Event as AgentEvent, ToolResultMessage, ToolStatus};
    use osier_protocol::Event;
    let mut screen = Screen::new(60, 12).start().await;
    let now = screen.now;
    let start = AgentEvent::ToolExecutionStart {
        call_id: "1".to_owned(),
        tool_name: "bash".to_owned(),
        arguments: json!({"command": "rm -rf /"}),
    };
    let mut result = ToolResultMessage {
        status: ToolStatus::Denied {
            reason: "not in this project".to_owned(),
        },
        ..ToolResultMessage::default()
    };
    result.result.content = vec![osier_llm::ContentBlock::text("not in this project")];
    let end = AgentEvent::ToolExecutionEnd {
        call_id: "1".to_owned(),
        tool_name: "bash".to_owned(),
        result: std::sync::Arc::new(result),
    };
    for event in [start, end] {
        screen.app.on_event(&Event::Agent(event), now);
    }
    assert_eq!(
        screen.conversation(),
        "■ bash rm -rf / · denied\n  not in this project"
    );
}

#[tokio::test]
async fn formulas_are_shown_as_symbols() {
    let script = Script::new().turn(|turn| {
        turn.text("With $x_1^2 \\le \\frac{1}{2}$ and \\(\\alpha\\) it costs $5 to $10.\n\n\\[\nA = \\begin{pmatrix} 1 & 0 \\\\ 0 & 1 \\end{pmatrix}\n\\]\n\nNot $\\mystery{x}$.")
    });
    let mut screen = Screen::new(60, 16).script(script).start().await;
    screen.send("hi").settled().await;
    assert_eq!(
        screen.conversation(),
        "▌ hi\n\n  With x₁² ≤ ½ and α it costs $5 to $10.\n\n  A =\n  ⎛ 1  0 ⎞\n  ⎝ 0  1 ⎠\n\n  Not $\\mystery{x}$."
    );
}
