//! What the session changed in the files, on the screen.

use osier::llm::Script;
use serde_json::json;

use super::support::Screen;

/// Two prompts: three files come, then one of them changes.
fn script() -> Script {
    let write = |path: &str, content: &str| json!({"file_path": path, "content": content});
    let long: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let command = json!({"command": "sed -i 's/line 3$/LINE 3/; s/line 50$/line fifty/' long.txt; printf 'a\\0b' > data.bin"});
    Script::new()
        .turn(|turn| {
            turn.tool("write", write("long.txt", &long))
                .tool("write", write("src/a.rs", "fn a() {}\n"))
        })
        .turn(|turn| turn.text("Made."))
        .turn(|turn| turn.tool("bash", command))
        .turn(|turn| turn.text("Changed."))
}

#[tokio::test]
async fn changes_are_walked_by_file_and_by_hunk() {
    let mut screen = Screen::new(100, 20).script(script()).start().await;
    screen
        .send("/diff")
        .shows("no changes of files were recorded")
        .await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen
        .send("/diff last")
        .shows("2 files changed since the last prompt")
        .await;
    insta::assert_snapshot!("changes_last_prompt", screen.styled());
    screen.press("tab").shows("LINE 3").await;
    insta::assert_snapshot!("changes_second_file", screen.styled());
    screen.press("]").shows("line fifty").await;
    screen
        .press("s")
        .shows("3 files changed since the session began")
        .await;
    screen
        .press("esc")
        .send("/diff nothing")
        .shows("no changes of files were recorded in that turn")
        .await;
    screen.send("/diff a b c").shows("say `last`").await;
}

#[tokio::test]
async fn a_narrow_screen_shows_one_file_at_a_time() {
    let mut screen = Screen::new(48, 14).script(script()).start().await;
    screen.send("make").settled().await;
    screen.send("change").settled().await;
    screen.send("/diff").shows("3 files changed").await;
    screen.press("tab").shows("2/3").await;
    insta::assert_snapshot!("changes_narrow", screen.styled());
}
