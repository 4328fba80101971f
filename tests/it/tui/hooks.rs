//! Hooks on the screen: denials, errors, and their list.

use osier_llm::scripted::Script;
use serde_json::json;

use super::support::Screen;

const HOOKS: &str = r#"{"hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "echo 'use rg' >&2; exit 2"}]}],
    "UserPromptSubmit": [{"hooks": [{"command": "echo 'the branch is main'"}]}],
    "PostToolUse": [{"hooks": [{"command": "never"}]}],
    "Stop": [{"hooks": [{"command": "echo broken >&2; exit 1"}]}]
}}"#;

#[tokio::test]
async fn blocked_prompts_warnings_context_and_the_hook_list_are_shown() {
    let script = Script::new()
        .turn(|turn| turn.tool("bash", json!({"command": "grep x ."})))
        .turn(|turn| turn.text("I will."));
    let mut screen = Screen::new(90, 24)
        .script(script)
        .home_file("hooks.json", HOOKS)
        .start()
        .await;
    screen.send("look").settled().await;
    screen.shows("echo broken").await;
    let shown = screen.conversation();
    for part in [
        "▣ UserPromptSubmit hook (text/plain, 18 bytes)",
        "denied: use rg",
        "the Stop hook echo broken >&2; exit 1: exit code 1: broken",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    screen.send("/hooks").shows("failed: exit code 1: ").await;
    let list = screen.screen();
    for part in [
        "● PreToolUse Bash   echo 'use rg' >&2; exit 2",
        "blocked: use rg",
        "hooks.json",
        "○ PostToolUse       never",
        "has not run",
    ] {
        assert!(list.contains(part), "{part} is not in\n{list}");
    }
    screen.type_text("never").press("enter");
    let copied = screen
        .effects
        .iter()
        .any(|effect| matches!(effect, osier_tui::Effect::Copy(text, _) if text == "never"));
    assert!(copied, "{:?}", screen.effects);
}
