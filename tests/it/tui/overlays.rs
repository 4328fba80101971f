//! Pickers, palette and help.

use osier_llm::scripted::{Hold, Script};
use osier_protocol::Event;

use super::support::Screen;

const MODELS: &str = r#"{"providers": {
  "acme": {"baseUrl": "http://127.0.0.1:9", "api": "openai-chat-completions", "apiKey": "$ACME_KEY", "models": [
    {"id": "anvil-large", "name": "Anvil Large", "contextWindow": 128000, "maxTokens": 4096, "reasoning": true,
     "input": ["text", "image"], "cost": {"input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0}},
    {"id": "anvil-small", "name": "Anvil Small", "contextWindow": 32000, "maxTokens": 4096,
     "cost": {"input": 0.25, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]},
  "bolt": {"baseUrl": "http://127.0.0.1:9", "api": "openai-chat-completions", "apiKey": "$BOLT_KEY", "models": [
    {"id": "anvil-clone", "contextWindow": 1000000, "maxTokens": 4096}]}
}}"#;

/// The answer of the second model in the tests of switching.
const OTHER: &str =
    r#"{"turns": [{"repeat": true, "steps": [{"text": "The other model speaks."}]}]}"#;

#[tokio::test]
async fn model_picker_shows_keys_prices_and_windows() {
    let mut screen = Screen::new(90, 24)
        .home_file("models.json", MODELS)
        .variable("ACME_KEY", "k")
        .start()
        .await;
    screen.press("ctrl+l").type_text("anvil");
    insta::assert_snapshot!("model_picker", screen.styled());
    screen.type_text("zzz");
    assert!(screen.screen().contains("no model matches"));
    screen.press("enter");
    screen.press("esc");
    assert!(!screen.screen().contains("Models"));
    assert_eq!(screen.footer().split_whitespace().last(), Some("mock/mock"));
}

/// The boxes on the screen, without their empty rows at the end: how many rows each has, and how many are empty.
fn boxes(screen: &mut Screen) -> Vec<(usize, usize)> {
    let shown = screen.screen();
    let mut boxes = Vec::new();
    for row in shown.lines() {
        let is_empty = row.trim_matches(['│', ' ']).is_empty();
        match (row.chars().next(), boxes.last_mut()) {
            (Some('╭'), _) => boxes.push((1, 0)),
            (Some('│'), Some((rows, empty))) => {
                *rows += 1;
                *empty += usize::from(is_empty);
            }
            (Some('╰'), Some((rows, _))) => *rows += 1,
            _ => {}
        }
    }
    boxes
}

#[tokio::test]
async fn list_is_as_high_as_its_content_and_keeps_its_height_while_typing() {
    let mut screen = Screen::new(80, 24).start().await;
    screen.press("ctrl+l").shows("mock/mock").await;
    let opened = boxes(&mut screen);
    // Only the preview has an empty row, between its parts.
    assert_eq!(opened, [(7, 0), (7, 1)], "{}", screen.screen());
    // A query that matches a model without a key would list more.
    screen.type_text("§§");
    let rows = |boxes: Vec<(usize, usize)>| -> Vec<usize> {
        boxes.into_iter().map(|(rows, _)| rows).collect()
    };
    let filtered = boxes(&mut screen);
    assert_eq!(rows(filtered), rows(opened), "{}", screen.screen());
    screen.press("esc").send("/theme").shows("Theme").await;
    let list = boxes(&mut screen)[0];
    assert_eq!(list.1, 0, "{}", screen.screen());
}

#[tokio::test]
async fn picker_keeps_the_filter_typed_before_loading() {
    let mut screen = Screen::new(90, 24)
        .home_file("models.json", MODELS)
        .start()
        .await;
    let models = Event::Models { models: Vec::new() };
    screen.app.on_event(&models, screen.now);
    screen.press("ctrl+l").type_text("anvil-sm");
    screen.shows("acme/anvil-small").await;
    let shown = screen.screen();
    assert!(shown.contains("❯ anvil-sm"), "{shown}");
    assert!(!shown.contains("bolt/"), "{shown}");
}

#[tokio::test]
async fn favourites_are_first_and_cycled() {
    let mut screen = Screen::new(110, 24)
        .home_file("models.json", MODELS)
        .variable("ACME_KEY", "k")
        .start()
        .await;
    for model in ["anvil-small", "anvil-large"] {
        screen.press("ctrl+l").type_text(model);
        screen.shows("alt+s favourite").await;
        screen.press("ctrl+s");
        screen.shows(&format!("★ acme/{model}")).await;
        screen.press("esc");
    }
    let kept = std::fs::read_to_string(screen.home().join("settings.toml")).unwrap();
    let schema = osier_settings::schema::SETTINGS_SCHEMA;
    let line = "favourites = [\"acme/anvil-small\", \"acme/anvil-large\"]\n";
    assert_eq!(kept, format!("#:schema {schema}\n{line}"));
    // The list has its own order; the key uses the order in which the favourites were added.
    screen.press("ctrl+l");
    let listed = screen.screen();
    let place = |text: &str| listed.find(text).unwrap_or(usize::MAX);
    assert!(
        place("★ acme/anvil-large") < place("› mock/mock"),
        "{listed}"
    );
    screen.press("esc").press("ctrl+p");
    screen.shows("acme/anvil-small").await;
    screen.press("ctrl+p").shows("acme/anvil-large").await;
    screen.press("ctrl+p").shows("acme/anvil-small").await;
    screen.press("ctrl+l").type_text("anvil-large");
    screen.press("ctrl+s").hides("★").await;
    screen.press("esc").press("ctrl+p");
    screen.shows("no other model with an API key").await;
}

#[tokio::test]
async fn model_switch_changes_the_footer_and_the_next_request() {
    let mut screen = Screen::new(90, 24)
        .script(Script::always("I am the mock."))
        .file("other.json", OTHER)
        .start()
        .await;
    screen.send("who are you").settled().await;
    screen
        .send("/model script/other.json")
        .shows("model switched from mock/mock to script/other.json")
        .await;
    screen.send("and now").settled().await;
    assert_eq!(
        screen.conversation(),
        "▌ who are you\n\n  I am the mock.\n\n· model switched from mock/mock to script/other.json\n\n▌ and now\n\n  The other model speaks."
    );
    assert_eq!(screen.provider.requests().len(), 1);
    screen.press("ctrl+l").type_text("mock/mock").press("enter");
    screen
        .shows("model switched from script/other.json to mock/mock")
        .await;
    screen.send("again").settled().await;
    assert_eq!(screen.provider.requests().len(), 2);
    assert!(screen.footer().ends_with("mock/mock"));
}

#[tokio::test]
async fn model_without_a_key_is_selected_with_a_warning() {
    let mut screen = Screen::new(90, 24)
        .home_file("models.json", MODELS)
        .start()
        .await;
    screen
        .send("/model bolt/anvil-clone")
        .shows("bolt/anvil-clone")
        .await;
    screen
        .shows("! no key for bolt: run /login bolt or set apiKey in models.json")
        .await;
    screen.send("/model nothing-like-it").shows("✗").await;
    assert!(
        screen.footer().ends_with("bolt/anvil-clone"),
        "{}",
        screen.footer()
    );
}

#[tokio::test]
async fn thinking_level_cycles_through_supported_levels() {
    let mut screen = Screen::new(60, 12)
        .script(Script::always("ok"))
        .start()
        .await;
    assert!(screen.footer().ends_with("mock/mock"));
    screen
        .press("backtab")
        .shows("mock/mock thinking low")
        .await;
    screen
        .press("backtab")
        .shows("mock/mock thinking high")
        .await;
    screen
        .send("/thinking medium")
        .shows("mock/mock thinking low")
        .await;
    screen.send("go").settled().await;
    let request = screen.provider.last_request().unwrap();
    assert_eq!(request.options.thinking, osier_llm::ThinkingLevel::Low);
    screen
        .press("backtab backtab")
        .hides("mock/mock thinking low")
        .await;
    screen.hides("mock/mock thinking high").await;
    assert!(screen.footer().ends_with("mock/mock"));
}

#[tokio::test]
async fn palette_runs_commands() {
    let mut screen = Screen::new(80, 20).start().await;
    screen.press("alt+x").type_text("tool output");
    insta::assert_snapshot!("palette", screen.styled());
    screen
        .press("esc alt+x")
        .type_text("shortcuts and commands")
        .press("enter");
    assert!(screen.screen().contains("all keys"));
    screen.press("alt+x").type_text("/name").press("enter");
    screen
        .press("ctrl+c alt+x")
        .type_text("rename the session")
        .press("enter");
    assert_eq!(screen.editor(), "/name");
    screen
        .type_text("mine")
        .press("enter")
        .shows("~/work · mine")
        .await;
}

#[tokio::test]
async fn palette_begins_with_what_fits_the_moment() {
    let gate = Hold::new();
    let script = Script::new().turn(|turn| turn.gate(&gate).text("Done."));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    let first = |screen: &mut Screen| {
        let shown = screen.press("alt+x").screen();
        let row = shown.lines().find(|row| row.starts_with("│›"));
        let row = row.unwrap().trim_matches(['│', '›', ' ']).to_owned();
        screen.press("esc");
        row.split("  ").next().unwrap().to_owned()
    };
    let attach = "Prompt: Attach the image in the clipboard, or paste its text";
    assert_eq!(first(&mut screen), attach);
    screen.send("go").shows("Working").await;
    let stop = "Run: Stop the model and its commands";
    assert_eq!(first(&mut screen), stop);
    gate.open();
    screen.settled().await;
}

#[tokio::test]
async fn every_line_of_keys_ends_with_the_key_for_all_of_them() {
    let mut screen = Screen::new(80, 24)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.send("go").settled().await;
    for (command, shows) in [
        ("/settings", "Settings"),
        ("/theme", "Themes"),
        ("/permissions", "Permissions"),
        ("/context", "Context"),
        ("/jobs", "no background jobs"),
        ("/terminal", "no terminals"),
        ("/mcp", "MCP servers"),
        ("/login", "Sign in"),
        ("/model", "Models"),
        ("/resume", "Sessions"),
        ("/tree", "Tree"),
        ("/keymap", "Keyboard shortcuts"),
    ] {
        let shown = screen.send(command).shows(shows).await.screen();
        let has_keys = |row: &str| row.trim_end_matches(['─', '╯', ' ']).ends_with(" keys");
        assert!(shown.lines().any(has_keys), "{command}:\n{shown}");
        screen.press("esc");
    }
}

#[tokio::test]
async fn picker_blocks_editor_keys() {
    let mut screen = Screen::new(80, 20).file("alpha", "").start().await;
    screen
        .type_text("al")
        .press("alt+x")
        .press("tab")
        .type_text("x")
        .press("esc");
    assert_eq!(screen.editor(), "al");
    screen.press("alt+x").paste("copy\n");
    assert!(screen.screen().contains("❯ copy"));
    screen.press("esc");
    assert_eq!(screen.editor(), "al");
}

#[tokio::test]
async fn help_shows_the_keys_of_the_moment_and_then_all() {
    let keymap = "[global]\n\"f9\" = \"model_picker\"\n\"ctrl+l\" = \"\"\n";
    let mut screen = Screen::new(100, 60)
        .home_file("keymaps/default.toml", keymap)
        .start()
        .await;
    screen.press("f1");
    let shown = screen.screen();
    let line = shown.lines().find(|line| line.contains("f9 model"));
    let line = line.unwrap_or_else(|| panic!("{shown}"));
    assert!(!line.contains("ctrl+l"), "{line}");
    let mut screen = Screen::new(80, 24).start().await;
    screen.press("f1");
    insta::assert_snapshot!("help", screen.screen());
    // The next key closes the page and then has its usual effect; esc only closes the page.
    screen.press("x");
    assert_eq!(screen.editor(), "x");
    assert!(!screen.screen().contains("all keys"));
    screen.press("f1 esc");
    assert_eq!(screen.editor(), "x");
    screen.press("f1 f1").type_text("favourite");
    let shown = screen.screen();
    assert!(shown.contains("Keyboard shortcuts"), "{shown}");
    assert!(shown.contains("alt+m"), "{shown}");
}

#[tokio::test]
async fn browse_mode_uses_single_keys_until_text_is_typed() {
    let script = Script::new().turn(|turn| turn.text("one\n\ntwo\n\nthree\n\n").repeat());
    let mut screen = Screen::new(90, 12).script(script).start().await;
    for prompt in ["first", "second", "third"] {
        screen.send(prompt).settled().await;
    }
    let end = screen.conversation();
    screen.type_text("draft").press("alt+v");
    let status = screen.screen();
    assert!(
        status.contains(
            "q back · { select · y copy · C to a call · Y copy the call · [ previous prompt · ? keys"
        ),
        "{status}"
    );
    assert_eq!(screen.cursor(), None);
    screen.press("g");
    assert!(screen.conversation().starts_with("▌ first"));
    screen.press("]");
    assert!(screen.conversation().trim_start().starts_with("▌ second"));
    screen.press("g j");
    assert!(screen.conversation().starts_with("▌ first\n  one\n"));
    screen.press("G");
    assert_eq!(screen.conversation(), end);
    // Esc leaves browse mode, and so does a character without a binding, which is typed.
    screen.press("esc x alt+v X");
    assert!(
        screen.editor().starts_with("draftxX"),
        "{}",
        screen.editor()
    );
    screen.press("alt+v").paste(" pasted");
    screen.type_text("j");
    assert!(
        screen.editor().starts_with("draftxX pastedj"),
        "{}",
        screen.editor()
    );
}
