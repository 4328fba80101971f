//! `/usage`: the page with cost and tokens by model, by day and by tool.

use osier_base::clock;
use osier_llm::scripted::Script;
use osier_llm::{Price, Usage};
use serde_json::json;

use super::support::Screen;

/// A call that read from the cache.
const USED: Usage = Usage {
    input: 1_200,
    output: 80,
    cache_read: 4_000,
    cache_write: 0,
    reasoning: 0,
    cost: osier_llm::Cost {
        input: 0.0,
        output: 0.0,
        cache_read: 0.0,
        cache_write: 0.0,
        total: 0.0,
    },
    subscription: false,
};

/// A screen after a run with one tool call.
async fn after_run(columns: u16, rows: u16, input: f64) -> Screen {
    let script = Script::new()
        .turn(|turn| {
            let turn = turn.when_user("go").usage(USED);
            turn.tool("bash", json!({"command": "echo seven"}))
        })
        .turn(|turn| turn.usage(USED).text("Done."));
    let price = Price {
        input,
        cache_read: input / 10.0,
        ..Price::default()
    };
    let builder = Screen::new(columns, rows).script(script).price(price);
    let mut screen = builder.start().await;
    screen.send("go").settled().await;
    screen
}

/// The screen without the date of today.
fn page(screen: &mut Screen) -> String {
    let today = clock::day_before_today(0);
    screen.screen().replace(&today, "YYYY-MM-DD")
}

#[tokio::test]
async fn page_has_models_days_and_tools_in_every_size() {
    for (columns, rows) in [(60, 20), (80, 24), (160, 45)] {
        let mut screen = after_run(columns, rows, 30.0).await;
        screen.send("/usage").shows("Models").await;
        insta::assert_snapshot!(format!("usage_{columns}x{rows}"), page(&mut screen));
    }
}

#[tokio::test]
async fn period_and_sessions_are_selected_with_keys() {
    let mut screen = after_run(80, 24, 30.0).await;
    screen.send("/cost today").shows("Models").await;
    let shown = page(&mut screen);
    assert!(shown.contains("Usage ─"), "{shown}");
    assert!(shown.contains("─ this session ─"), "{shown}");
    screen.press("tab").shows("in 1 session").await;
    let shown = page(&mut screen);
    assert!(shown.contains("─ all sessions ─"), "{shown}");
    assert!(shown.contains("2 model calls, 1 tool call"), "{shown}");
    screen.press("right").shows("Models").await;
    screen.press("end").press("esc").shows("Done.").await;
    let shown = screen.screen();
    assert!(!shown.contains("Models"), "{shown}");
}

#[tokio::test]
async fn calls_without_a_price_and_sessions_without_calls_say_so() {
    let mut screen = after_run(80, 24, 0.0).await;
    screen
        .send("/usage")
        .shows("Cost    not known: the models have no price")
        .await;
    let mut screen = Screen::new(80, 24).start().await;
    screen
        .send("/usage")
        .shows("No model calls in this session yet")
        .await;
    screen
        .press("tab")
        .shows("No stored session has model calls yet")
        .await;
    screen
        .press("left")
        .shows("No model calls in this period")
        .await;
}
