//! Navigation in the conversation: sticky prompts, selecting, copying and jumping.

use osier_llm::scripted::Script;
use osier_term::input::{KeyModifiers, MouseButton, MouseEventKind, MouseInput};
use osier_term::theme::ColourDepth;
use osier_tui::{Effect, Viewer};
use ratatui::buffer::Cell;
use ratatui::style::Modifier;
use serde_json::json;

use super::support::{Screen, rows_of, usage_of};

fn mouse(kind: MouseEventKind, column: u16, row: u16) -> MouseInput {
    MouseInput {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    }
}

const LEFT: MouseButton = MouseButton::Left;

impl Screen {
    fn drag(&mut self, from: (u16, u16), to: (u16, u16)) -> &mut Self {
        self.mouse(mouse(MouseEventKind::Down(LEFT), from.0, from.1));
        self.mouse(mouse(MouseEventKind::Drag(LEFT), to.0, to.1));
        self.mouse(mouse(MouseEventKind::Up(LEFT), to.0, to.1))
    }

    fn click(&mut self, column: u16, row: u16) -> &mut Self {
        self.mouse(mouse(MouseEventKind::Down(LEFT), column, row));
        self.mouse(mouse(MouseEventKind::Up(LEFT), column, row))
    }

    /// The text that was copied since the last call.
    fn copied(&mut self) -> Vec<String> {
        let effects = std::mem::take(&mut self.effects);
        let copied = effects.into_iter().filter_map(|effect| match effect {
            Effect::Copy(text, _) => Some(text),
            _ => None,
        });
        copied.collect()
    }
}

const ANSWER: &str = "A sentence that is long enough to be wrapped on a narrow screen.\n\n\
    - first item\n- second\n\n```rust\nlet a = 1;\nlet b = 2;\n```\n\n\
    | name | size |\n|---|---|\n| a.rs | 12 |\n\nThe [link](https://example.org/x) ends it.";

async fn answered(width: u16, height: u16) -> Screen {
    let mut screen = Screen::new(width, height)
        .script(Script::always(ANSWER))
        .start()
        .await;
    screen.send("say much").settled().await;
    screen.screen();
    screen
}

#[tokio::test]
async fn drag_copies_text_without_decoration() {
    let mut screen = answered(44, 30).await;
    insta::assert_snapshot!("answer_to_select", screen.styled());
    // The wrapped sentence is one line again.
    screen.drag((4, 2), (30, 3));
    assert_eq!(
        screen.copied(),
        ["sentence that is long enough to be wrapped on a narrow screen."]
    );
    // The bar of the prompt and the bullets are not copied; the blank line between blocks is.
    screen.drag((0, 0), (43, 6));
    assert_eq!(
        screen.copied(),
        [
            "say much\n\nA sentence that is long enough to be wrapped on a narrow screen.\n\n\
             first item\nsecond"
        ]
    );
    // Dragging up gives the same text; the label of the code and the borders of the table are not copied.
    screen.drag((43, 18), (0, 8));
    assert_eq!(
        screen.copied(),
        ["let a = 1;\nlet b = 2;\n\nname\tsize\na.rs\t12\n\nThe link ends it."]
    );
    screen.press("esc");
    assert!(!screen.styled().contains("reverse"));
}

#[tokio::test]
async fn the_last_code_block_and_output_are_copied() {
    let script = Script::new()
        .turn(|turn| {
            turn.text(ANSWER)
                .tool("bash", json!({"command": "echo out"}))
        })
        .turn(|turn| turn.text("Done."));
    let mut screen = Screen::new(60, 30).script(script).start().await;
    screen
        .send("/copy-code")
        .shows("no code block to copy yet")
        .await;
    screen
        .send("/copy-output")
        .shows("no output to copy yet")
        .await;
    screen.send("go").settled().await;
    screen.send("/copy-code").send("/copy-output");
    assert_eq!(screen.copied(), ["let a = 1;\nlet b = 2;", "out"]);
}

#[tokio::test]
async fn repeated_clicks_select_word_and_line() {
    let mut screen = answered(44, 30).await;
    screen.click(4, 2);
    assert_eq!(screen.copied(), Vec::<String>::new());
    screen.click(4, 2);
    assert_eq!(screen.copied(), ["sentence"]);
    screen.click(4, 2);
    assert_eq!(
        screen.copied(),
        ["A sentence that is long enough to be wrapped on a narrow screen."]
    );
}

#[tokio::test]
async fn a_click_on_a_link_opens_it() {
    let mut screen = answered(44, 30).await;
    screen.click(7, 18);
    assert_eq!(
        screen.effects,
        [Effect::Open("https://example.org/x".to_owned())]
    );
}

#[tokio::test]
async fn selection_at_the_edge_scrolls() {
    let lines: Vec<String> = (1..=40).map(|number| format!("line {number}  ")).collect();
    let mut screen = Screen::new(44, 14)
        .script(Script::always(&lines.join("\n")))
        .start()
        .await;
    screen.send("count").settled().await;
    screen.press("ctrl+home");
    assert_eq!(screen.row(4), "  line 3");
    screen.mouse(mouse(MouseEventKind::Down(LEFT), 0, 4));
    let edge = screen.app.transcript.rows_shown() - 1;
    screen.mouse(mouse(MouseEventKind::Drag(LEFT), 5, edge));
    // One row per tick without mouse events.
    for _ in 0..5 {
        // Decoration would wait for another frame.
        let next = screen.app.next_change(screen.now);
        screen.now += std::time::Duration::from_millis(40);
        assert_eq!((next.decoration, next.work), (None, Some(screen.now)));
        screen.app.tick(screen.now);
    }
    screen.mouse(mouse(MouseEventKind::Drag(LEFT), 5, edge - 1));
    screen.mouse(mouse(MouseEventKind::Up(LEFT), 5, edge - 1));
    let copied = screen.copied().concat();
    let lines: Vec<&str> = copied.lines().collect();
    assert_eq!(lines[..3], ["line 3", "line 4", "line 5"]);
    assert_eq!(lines.len(), usize::from(edge) - 4 + 5);
    assert_eq!(*lines.last().unwrap(), "line");
}

#[tokio::test]
async fn answered_prompt_is_sticky() {
    let lines: Vec<String> = (1..=40).map(|number| format!("line {number}  ")).collect();
    let mut screen = Screen::new(44, 14)
        .script(Script::always(&lines.join("\n")))
        .start()
        .await;
    screen.send("count to forty\nin lines").settled().await;
    assert_eq!(screen.row(0), "▌ count to forty⏎in lines");
    let rows = usize::from(screen.app.transcript.rows_shown());
    assert_eq!(screen.row(rows - 1), "  line 40");
    screen.press("ctrl+home");
    assert_eq!(screen.row(0), "▌ count to forty");
    assert_eq!(screen.row(1), "▌ in lines");
    screen.press("shift+down shift+down shift+down");
    assert_eq!(screen.row(0), "▌ count to forty⏎in lines");
    assert_eq!(screen.row(1), "  line 2");
}

#[tokio::test]
async fn blocks_are_selected_copied_collapsed_and_opened_by_keyboard() {
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": "seq 12"})))
        .turn(|turn| turn.text(ANSWER).usage(usage_of(1_024, 50)));
    let mut screen = Screen::new(60, 40).script(script).start().await;
    screen.send("do it").settled().await;
    screen.screen();
    screen.press("alt+v tab");
    insta::assert_snapshot!("picked_prompt", screen.styled());
    screen.press("y tab y Y");
    let numbers: Vec<String> = (1..=12).map(|number| number.to_string()).collect();
    assert_eq!(
        screen.copied(),
        ["do it".to_owned(), numbers.join("\n"), "seq 12".to_owned()]
    );
    assert!(!screen.conversation().contains("  1\n  2\n"));
    screen.press("enter");
    assert!(screen.conversation().contains("1\n  2\n"));
    screen.press("enter tab y tab y");
    assert_eq!(screen.copied(), [ANSWER, "let a = 1;\nlet b = 2;"]);
    screen.press("o p");
    let text = "let a = 1;\nlet b = 2;".to_owned();
    assert_eq!(
        std::mem::take(&mut screen.effects),
        [
            Effect::View {
                text: text.clone(),
                with: Viewer::Editor
            },
            Effect::View {
                text,
                with: Viewer::Pager
            },
        ]
    );
    // Line selection starts at the selected block.
    screen.press("v j y");
    assert_eq!(screen.copied(), ["let a = 1;\nlet b = 2;"]);
    screen.press("esc esc");
    screen.press("x");
    assert_eq!(screen.app.prompt.editor.text(), "x");
}

#[tokio::test]
async fn jump_to_calls_errors_and_edits() {
    let filler = (1..=30)
        .map(|n| format!("{n}  "))
        .collect::<Vec<_>>()
        .join("\n");
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": "exit 3"})))
        .turn(|turn| turn.tool("write", json!({"file_path": "b.txt", "content": "new\n"})))
        .turn(|turn| turn.text(filler));
    let mut screen = Screen::new(60, 16).script(script).start().await;
    screen.send("go").settled().await;
    screen.press("alt+v E");
    assert!(
        screen.row(1).starts_with("✗ bash exit 3"),
        "{}",
        screen.screen()
    );
    screen.press("Y");
    assert_eq!(screen.copied(), ["exit 3"]);
    screen.press("d Y");
    assert_eq!(screen.copied(), ["b.txt"]);
    screen.press("C Y c Y");
    assert_eq!(screen.copied(), ["exit 3", "b.txt"]);
    screen.press("e");
    assert!(screen.screen().contains("no error below"));
}

/// The rows above the editor with reversed cells.
fn reversed(screen: &mut Screen) -> Vec<usize> {
    let (buffer, _) = screen.draw();
    let rows = rows_of(&buffer).enumerate().take(14);
    let is_reversed = |cell: &Cell| cell.modifier.contains(Modifier::REVERSED);
    let found = rows.filter(|(_, row)| row.iter().any(is_reversed));
    found.map(|(place, _)| place).collect()
}

#[tokio::test]
async fn current_match_of_a_search_has_its_own_face() {
    let lines = ["needle  "; 8].join("\n");
    for depth in [ColourDepth::True, ColourDepth::Ansi] {
        let mut screen = Screen::new(80, 24)
            .depth(depth)
            .script(Script::always(&lines))
            .start()
            .await;
        screen.send("count").settled().await;
        screen
            .press("ctrl+f")
            .type_text("needle")
            .shows("1/8")
            .await;
        assert_eq!(reversed(&mut screen), [9]);
        screen.press("up up").shows("3/8").await;
        assert_eq!(reversed(&mut screen), [7]);
        // The match is also on this row when the rows are wrapped in another way.
        screen.resize(60, 24);
        assert_eq!(reversed(&mut screen), [7]);
        screen.press("esc").hides("find:").await;
        assert_eq!(reversed(&mut screen), Vec::<usize>::new());
    }
}

#[tokio::test]
async fn search_counts_and_walks_each_match_of_a_message() {
    let line = |number: usize| match number {
        3 | 30 => format!("line {number} has a needle  "),
        10 => "line 10 has a needle and a needle  ".to_owned(),
        _ => format!("line {number}  "),
    };
    let lines: Vec<String> = (1..=40).map(line).collect();
    let mut screen = Screen::new(44, 14)
        .script(Script::always(&lines.join("\n")))
        .start()
        .await;
    screen.send("count").settled().await;
    screen.press("ctrl+f").type_text("needle");
    screen.shows("1/4").await.shows("line 30 has").await;
    for (place, shown) in [
        ("2/4", "line 10"),
        ("3/4", "line 10"),
        ("4/4", "line 3 has"),
    ] {
        screen.press("up").shows(place).await.shows(shown).await;
    }
    screen.press("up").shows("4/4").await;
    screen
        .press("down")
        .shows("3/4")
        .await
        .shows("line 10")
        .await;
    // The last query is there again, and the first typed character replaces it.
    screen.press("esc").hides("find:").await;
    screen.press("ctrl+f").shows("find: needle").await;
    screen.type_text("line 30").shows("1/1").await;
}
