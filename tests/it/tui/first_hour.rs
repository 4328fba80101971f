//! The first hour of users of other programs.

use osier_llm::Script;
use osier_protocol::{Event, TreeEvent};
use serde_json::json;

use super::support::Screen;

const MODELS: &str = r#"{"providers": {
  "acme": {"baseUrl": "http://127.0.0.1:9", "api": "openai-chat-completions", "apiKey": "$ACME_KEY", "models": [
    {"id": "anvil", "contextWindow": 128000, "maxTokens": 4096}]},
  "bolt": {"baseUrl": "http://127.0.0.1:9", "api": "openai-chat-completions", "apiKey": "$BOLT_KEY", "models": [
    {"id": "clone", "contextWindow": 1000000, "maxTokens": 4096}]}
}}"#;

#[tokio::test]
async fn first_prompt_that_is_typed_into_the_guide_goes_to_the_editor() {
    let mut screen = Screen::new(80, 24)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.send("/guide").shows("1. Model: sign in").await;
    screen.send("explain this repo").settled().await;
    assert_eq!(screen.last_prompt(), "explain this repo");
    screen.send("/guide").shows("1. Model: sign in").await;
    screen.paste("and this");
    assert_eq!(screen.editor(), "and this");
}

#[tokio::test]
async fn empty_list_is_not_cut_on_a_narrow_screen() {
    let mut screen = Screen::new(60, 24).start().await;
    screen.send("/hooks").shows("no hooks").await;
    let shown = screen.screen();
    assert!(shown.contains("folder or in .osier"), "{shown}");
    // A command without anything to do says so.
    screen.press("esc").send("/answer");
    screen.shows("no question waits for an answer").await;
}

#[tokio::test]
async fn commands_of_other_programs_work_and_unknown_ones_name_the_nearest() {
    let mut screen = Screen::new(90, 24)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.send("/modle");
    screen
        .shows("unknown command /modle; did you mean /model?")
        .await;
    screen.press("ctrl+u");
    screen.send("/init name the port").settled().await;
    let request = serde_json::to_string(&screen.request().context).unwrap();
    assert!(request.contains("Write `AGENTS.md`"), "{request}");
    assert!(request.contains("name the port"), "{request}");
    screen.send("/plan").shows(" plan ").await;
    screen.send("/clear");
    screen
        .until(|event| matches!(event, Event::SessionOpened { .. }))
        .await;
    assert!(!screen.screen().contains("name the port"));
    // The list begins with what is used most.
    screen.type_text("/");
    let shown = screen.screen();
    let place = |name: &str| shown.find(name).unwrap_or(usize::MAX);
    assert!(place("/model") < place("/compact"), "{shown}");
    assert_eq!(place("/archive"), usize::MAX, "{shown}");
}

#[tokio::test]
async fn two_presses_of_esc_go_back_to_an_earlier_prompt() {
    let write = json!({"file_path": "notes.txt", "content": "one\n"});
    let script = Script::new()
        .turn(|turn| turn.when_user("hello").text("hi"))
        .turn(|turn| turn.tool("write", write))
        .turn(|turn| turn.text("Written."));
    let mut screen = Screen::new(90, 24).script(script).start().await;
    let hint = "esc esc to go back to an earlier prompt";
    screen.send("hello").settled().await;
    assert!(!screen.screen().contains(hint));
    screen.send("write notes").settled().await;
    assert!(screen.screen().contains(hint), "{}", screen.screen());
    screen.press("esc");
    screen
        .shows("esc again to go back to an earlier prompt")
        .await;
    screen.press("esc").shows("prompts").await;
    screen.shows("hello").await;
    // `up` selects the last prompt, which returns to the editor.
    screen.press("up").press("enter");
    screen
        .until(|event| matches!(event, Event::Tree(TreeEvent::Moved { .. })))
        .await;
    assert_eq!(screen.editor(), "write notes");
    // Outside of this list the tree shows the conversation.
    screen
        .press("ctrl+u")
        .press("alt+t")
        .shows("conversation")
        .await;
}

#[tokio::test]
async fn models_that_can_be_used_are_listed_first_and_a_key_shows_the_others() {
    let mut screen = Screen::new(110, 24)
        .home_file("models.json", MODELS)
        .variable("ACME_KEY", "k")
        .start()
        .await;
    screen.press("ctrl+l").shows("acme/anvil").await;
    let without = "anthropic/claude-opus-5";
    assert!(!screen.screen().contains(without), "{}", screen.screen());
    screen.press("tab").shows(without).await;
    screen.press("tab").hides(without).await;
    // A query that finds no usable model searches all.
    screen.type_text("clone").shows("bolt/clone").await;
}

#[tokio::test]
async fn switch_of_the_model_is_marked_in_the_conversation() {
    let mut screen = Screen::new(110, 24)
        .home_file("models.json", MODELS)
        .variable("ACME_KEY", "k")
        .variable("BOLT_KEY", "k")
        .script(Script::always("ok"))
        .start()
        .await;
    screen.send("/model acme/anvil").hides("mock/mock").await;
    assert!(!screen.screen().contains("switched"), "{}", screen.screen());
    screen.send("/model mock/mock").shows("mock/mock").await;
    screen.send("hello").settled().await;
    screen.send("/model acme/anvil");
    screen
        .shows("model switched from mock/mock to acme/anvil")
        .await;
    screen.send("/model bolt/clone");
    screen
        .shows("model switched from mock/mock to bolt/clone")
        .await;
    assert!(!screen.screen().contains("to acme/anvil"));
}

#[tokio::test]
async fn answering_without_a_question_says_so() {
    let mut screen = Screen::new(80, 24).start().await;
    let text = "no question waits for an answer";
    screen.send("/answer").shows(text).await;
    screen.advance(std::time::Duration::from_secs(5));
    screen.hides(text).await;
    screen.press("alt+a").shows(text).await;
    // The key that opens a question also opens the permissions.
    screen.press("f4").shows("Permissions").await;
}
