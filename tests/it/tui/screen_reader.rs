//! Screen reader mode: words, no decoration, and the cursor on the selection.

use std::time::Duration;

use osier_llm::Script;
use serde_json::json;

use super::support::Screen;

fn script() -> Script {
    let table = "Look:\n\n| file | lines |\n|---|---|\n| a.rs | 3 |\n| b.rs | 40 |\n\n- one\n- two\n\n> a quote\n\n\
                 ```mermaid\ngraph TD\nA --> B\n```\n";
    Script::new()
        .turn(|turn| {
            turn.thinking("Let me see.")
                .tool("bash", json!({"command": "echo out; exit 3"}))
                .tool(
                    "write",
                    json!({"file_path": "a.rs", "content": "fn a() {}\nfn b() {}\n"}),
                )
        })
        .turn(|turn| turn.text(table))
}

async fn start(columns: u16, rows: u16, script: Script) -> Screen {
    Screen::new(columns, rows)
        .settings(|settings| settings.screen.screen_reader = true)
        .script(script)
        .start()
        .await
}

/// Box drawing, blocks, geometric shapes, Braille, dingbats and arrows.
fn decoration(screen: &str) -> Vec<char> {
    let draws = |char: &char| matches!(*char, '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{27bf}' | '\u{2800}'..='\u{28ff}');
    screen.chars().filter(draws).collect()
}

/// The text from the cursor to the end of its line.
fn read(screen: &mut Screen) -> String {
    let text = screen.screen();
    assert_eq!(decoration(&text), Vec::<char>::new(), "{text}");
    let (x, y) = screen
        .cursor()
        .unwrap_or_else(|| panic!("no cursor:\n{text}"));
    let line = text.lines().nth(usize::from(y)).unwrap_or_default();
    line.chars().skip(usize::from(x)).collect()
}

#[tokio::test]
async fn authors_are_named() {
    let mut screen = start(80, 40, script()).await;
    assert_eq!(read(&mut screen), "Ask, or type / for commands");
    screen.send("go").settled().await;
    let text = screen.screen();
    assert_eq!(read(&mut screen), "Ask, or type / for commands");
    for line in [
        "You: go",
        "Thinking:",
        "Tool bash, failed, exit 3: echo out; exit 3",
        "Answer:",
        "file: a.rs",
        "lines: 40",
        "- two",
        " A --> B",
        "Message:",
    ] {
        assert!(text.lines().any(|row| row == line), "{line:?} in\n{text}");
    }
    assert!(text.contains("Tool write, done"), "{text}");
}

#[tokio::test]
async fn cursor_is_on_the_selection() {
    let mut screen = start(120, 30, script()).await;
    screen.send("go").settled().await;
    screen.press("alt+x");
    let first = read(&mut screen);
    screen.press("down");
    assert_ne!(read(&mut screen), first);
    screen.type_text("theme");
    assert!(
        read(&mut screen).contains("Change the theme"),
        "{}",
        screen.screen()
    );
    screen.press("esc ctrl+l").shows("mock/mock").await;
    assert!(
        read(&mut screen).starts_with("mock/mock"),
        "{}",
        screen.screen()
    );
    screen
        .press("esc")
        .send("/diff")
        .shows("1 file changed")
        .await;
    assert!(
        read(&mut screen).starts_with("1 + fn a()"),
        "{}",
        screen.screen()
    );
    screen.press("c").type_text("why");
    assert_eq!(read(&mut screen).trim(), "enter save, esc cancel");
    screen
        .press("esc esc")
        .send("/tree")
        .shows("echo out")
        .await;
    let here = read(&mut screen);
    screen.press("up");
    assert_ne!(read(&mut screen), here);
    // The selected block in browse mode.
    screen.press("esc alt+v g tab");
    assert_eq!(read(&mut screen), "You: go");
    screen.press("tab tab");
    assert_eq!(
        read(&mut screen),
        "Tool bash, failed, exit 3: echo out; exit 3"
    );
}

#[tokio::test]
async fn cursor_is_on_the_match_of_a_search() {
    let text = "needle one  \nother  \nneedle two  \n";
    let mut screen = start(80, 24, Script::always(text)).await;
    screen.send("go").settled().await;
    screen.press("ctrl+f");
    assert_eq!(
        read(&mut screen).trim_start(),
        "enter older, down newer, esc close, f1 keys"
    );
    screen.type_text("needle").shows("1/2").await;
    assert_eq!(read(&mut screen), "needle two");
    screen.press("enter").shows("2/2").await;
    assert_eq!(read(&mut screen), "needle one");
    assert!(screen.screen().contains("find: needle"));
}

#[tokio::test]
async fn screens_have_no_decoration() {
    let mut screen = start(120, 40, script()).await;
    screen.send("go").settled().await;
    for command in [
        "/help",
        "/keymap",
        "/settings",
        "/theme",
        "/context",
        "/tools",
        "/permissions",
        "/session",
        "/resume",
        "/jobs",
        "/skills",
        "/usage",
        "/mcp",
        "/hooks",
        "/login",
        "/tree",
        "/diff",
    ] {
        screen.send(command);
        for _ in 0..3 {
            let text = screen.screen();
            assert_eq!(decoration(&text), Vec::<char>::new(), "{command}\n{text}");
            screen.press("down");
        }
        screen.press("esc").advance(Duration::from_secs(5));
    }
    screen.type_text("/");
    screen.press("down down down down down down");
    assert!(read(&mut screen).starts_with("diff"), "{}", screen.screen());
    insta::assert_snapshot!("linear_completion", screen.screen());
}

#[tokio::test]
async fn tables_are_lines_and_trees_have_levels() {
    let text = "- item\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n\n> | x | y |\n> |---|---|\n> | 3 | 4 |\n\n\
                ```\n.\n├── src\n│   └── main.rs\n└── x\n```\n";
    let script = Script::new().turn(|turn| turn.text(text));
    let mut screen = start(60, 30, script).await;
    screen.send("go").settled().await;
    let shown = screen.screen();
    assert_eq!(decoration(&shown), Vec::<char>::new(), "{shown}");
    let said: Vec<&str> = shown.lines().map(str::trim).take(17).collect();
    let said: Vec<&str> = said.into_iter().filter(|line| !line.is_empty()).collect();
    let expected = [
        "You: go",
        "Answer:",
        "- item",
        "a: 1",
        "b: 2",
        "x: 3",
        "y: 4",
        ".",
        "1:  src",
        "2:  main.rs",
        "1:  x",
    ];
    assert_eq!(said, expected, "{shown}");
}
