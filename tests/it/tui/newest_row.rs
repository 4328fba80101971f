//! In every state, the newest row of the conversation stays on the screen, on screens of three sizes.

use osier_llm::Script;
use osier_llm::scripted::Hold;
use osier_protocol::PermissionMode;
use serde_json::json;

use super::support::Screen;

const SIZES: [(u16, u16); 3] = [(60, 20), (80, 24), (100, 30)];

/// A state: its name, the keys that lead to it, a text that shows it, and the rows of the conversation that it leaves at
/// least on 24 rows.
type State = (&'static str, &'static str, &'static str, usize);

/// States above an idle conversation.
const IDLE: &[State] = &[
    ("idle", "", "Ask", 18),
    ("command list", "/", "/model", 11),
    ("palette", "alt+x", "Commands", 6),
    ("model list", "ctrl+l", "Models", 6),
    ("settings", "", "Settings", 6),
    ("permissions", "f4", "Permissions", 6),
    ("keys", "f1", "all keys", 8),
    ("search", "ctrl+f", "esc close", 18),
    ("to-dos", "alt+u", "Report", 12),
    ("context", "alt+c", "Context", 2),
    ("jobs", "alt+j", "Jobs", 14),
    ("tools", "alt+o", "Tools", 6),
];

/// The number of rows down to the one that contains `text`.
fn rows_to(screen: &str, text: &str) -> Option<usize> {
    let row = screen.lines().position(|row| row.contains(text));
    row.map(|row| row + 1)
}

fn answer() -> String {
    let rows = (1..=60).map(|row| format!("row {row}\n\n"));
    rows.chain(["the newest row\n".to_owned()]).collect()
}

async fn answered((columns, rows): (u16, u16)) -> Screen {
    let todos =
        ["Read", "Fix", "Report"].map(|content| json!({"content": content, "status": "pending"}));
    let script = Script::new()
        .turn(|turn| turn.tool("todo", json!({"todos": todos})))
        .turn(|turn| turn.text(answer()));
    let mut screen = Screen::new(columns, rows).script(script).start().await;
    screen.send("go").settled().await;
    screen
}

#[tokio::test]
async fn lists_leave_the_newest_row_in_sight() {
    let mut table = Vec::new();
    for size in SIZES {
        for (name, keys, shows, least) in IDLE {
            let mut screen = answered(size).await;
            match *name {
                "settings" => screen.send("/settings"),
                "command list" => screen.type_text("/"),
                _ if keys.is_empty() => &mut screen,
                _ => screen.press(keys),
            };
            let shown = screen.shows(shows).await.screen();
            let found = rows_to(&shown, "the newest row");
            let is_enough = found.is_some_and(|found| size.1 != 24 || found >= *least);
            if !is_enough {
                table.push(format!("{name} at {size:?}: {found:?}\n{shown}"));
            }
        }
    }
    assert!(table.is_empty(), "{}", table.join("\n"));
}

/// Calls of each kind that ask: their newest row, and the reason before them.
#[tokio::test]
async fn questions_leave_the_newest_row_in_sight() {
    let code: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    let edit =
        json!({"file_path": "a.txt", "old_string": "line 20\n", "new_string": "line twenty\n"});
    let choices = json!([{
        "question": "How should it round?",
        "header": "Rounding",
        "options": [
            {"label": "Half up", "description": "2.5 becomes 3"},
            {"label": "Half down", "description": "2.5 becomes 2"},
            {"label": "Not at all", "description": "keep fractions"},
        ],
    }]);
    let calls = [
        (
            "bash",
            json!({"command": "touch made"}),
            "Run this command?",
            "touch made",
        ),
        ("edit", edit, "Make this change?", "line twenty"),
        (
            "ask_user",
            json!({"questions": choices}),
            "How should it round?",
            "because of this",
        ),
    ];
    let mut wrong = Vec::new();
    for size in SIZES {
        for (tool, arguments, asks, newest) in &calls {
            let reason = format!("{}because of this", answer());
            let arguments = arguments.clone();
            let script = Script::new()
                .turn(|turn| turn.tool("read", json!({"file_path": "a.txt"})))
                .turn(|turn| turn.text(reason).tool(tool, arguments));
            let mut screen = Screen::new(size.0, size.1)
                .script(script)
                .file("a.txt", &code)
                .settings(|settings| settings.permissions = PermissionMode::Ask)
                .start()
                .await;
            let shown = screen
                .send("go")
                .shows(asks)
                .await
                .shows(newest)
                .await
                .shows("because of this")
                .await
                .screen();
            let rows = [rows_to(&shown, "because of this"), rows_to(&shown, newest)];
            if rows.contains(&None) {
                wrong.push(format!("{tool} at {size:?}: {rows:?}\n{shown}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn newest_row_is_in_sight_while_the_model_works() {
    for size in SIZES {
        let gate = Hold::new();
        let script = Script::new()
            .turn(|turn| turn.text(answer()).tool("ls", json!({"path": "."})))
            .turn(|turn| turn.gate(&gate).text("Done."));
        let mut screen = Screen::new(size.0, size.1)
            .script(script)
            .file("seen.txt", "")
            .start()
            .await;
        let shown = screen.send("go").shows("1 entry").await.screen();
        assert!(shown.contains("the newest row"), "{shown}");
        assert!(shown.contains("Working"), "{shown}");
        gate.open();
        screen.settled().await;
    }
}
