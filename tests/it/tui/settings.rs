//! The settings editor and the key editor: lists, values, and the files that are written.

use std::fs;

use osier_tui::Effect;

use super::support::Screen;

const SETTINGS: &str = "# mine\nmouse = false   # selects with the terminal\ntheme = \"nord\"\n";

#[tokio::test]
async fn filter_lists_names_before_groups_and_descriptions() {
    let mut screen = Screen::new(120, 44).start().await;
    // The group of many settings, and the name of one.
    screen.send("/settings").type_text("agent");
    let shown = screen.screen();
    assert!(shown.contains("› agent    subagents"), "{shown}");
}

#[tokio::test]
async fn settings_are_listed_with_their_source_and_changed_in_place() {
    let mut screen = Screen::new(120, 44)
        .home_file("settings.toml", SETTINGS)
        .start()
        .await;
    screen.send("/settings").type_text("mouse");
    let shown = screen.screen();
    for text in [
        "› screen   mouse",
        "false ",
        "settings.toml:2",
        "││ Enable the mouse: the wheel",
        "default on",
        "set in",
        "/home/settings.toml:",
    ] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    screen.press("enter");
    let file = screen.home().join("settings.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, SETTINGS.replace("mouse = false", "mouse = true"));
    // The list stays open with the new value.
    assert!(
        screen.screen().contains("› screen   mouse"),
        "{}",
        screen.screen()
    );
    screen.press("ctrl+d");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "# mine\ntheme = \"nord\"\n");
    assert!(
        screen.screen().contains("using the default"),
        "{}",
        screen.screen()
    );
}

#[tokio::test]
async fn invalid_value_stays_in_its_input() {
    let mut screen = Screen::new(80, 24).start().await;
    screen.send("/settings").type_text("max_ret").press("enter");
    screen.press("backspace").type_text("many").press("enter");
    insta::assert_snapshot!("setting_fault", screen.screen());
    screen.press("ctrl+u").type_text("7").press("enter");
    let text = fs::read_to_string(screen.home().join("settings.toml")).unwrap();
    let schema = osier_settings::schema::SETTINGS_SCHEMA;
    assert_eq!(text, format!("#:schema {schema}\nmax_retries = 7\n"));
    screen.press("ctrl+u").type_text("models").press("enter");
    screen.press("ctrl+u").type_text("a/*").press("enter");
    let text = fs::read_to_string(screen.home().join("settings.toml")).unwrap();
    let lines = "max_retries = 7\nmodels = [\"a/*\"]\n";
    assert_eq!(text, format!("#:schema {schema}\n{lines}"));
}

#[tokio::test]
async fn key_is_bound_by_pressing_it_after_showing_conflicts() {
    let own = "# my keys\n[global]\n\"f12\" = \"help\"\n";
    let mut screen = Screen::new(120, 34)
        .home_file("keymaps/default.toml", own)
        .start()
        .await;
    screen.send("/keymap").type_text("choose a model");
    insta::assert_snapshot!("keymap", screen.screen());
    screen.press("enter").press("f12");
    let shown = screen.screen();
    assert!(
        shown.contains("f12 is bound to \"Show keyboard shortcuts and commands\" (default.toml:3)"),
        "{shown}"
    );
    screen.press("backspace").press("ctrl+l");
    assert!(screen.screen().contains("not bound"), "{}", screen.screen());
    screen.press("backspace").press("ctrl+shift+m");
    assert!(
        screen.screen().contains("Kitty keyboard protocol"),
        "{}",
        screen.screen()
    );
    screen.press("backspace").press("f12").press("enter");
    let file = screen.home().join("keymaps/default.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, own.replace("help", "model_picker"));
    screen.press("esc").press("f12");
    assert!(screen.screen().contains("Models"), "{}", screen.screen());
    screen.press("esc");
    // Removes every key of the action.
    screen
        .send("/keymap")
        .type_text("open the prompt in")
        .press("ctrl+u")
        .type_text("suspend osier");
    screen.press("ctrl+d").press("esc").press("ctrl+z");
    assert!(!screen.effects.contains(&Effect::Suspend));
}

#[tokio::test]
async fn a_model_of_the_list_becomes_the_default() {
    let mut screen = Screen::new(80, 24).start().await;
    screen.press("ctrl+l").shows("mock/mock").await;
    screen.press("alt+enter");
    let setting = Effect::WriteSetting {
        name: "model".to_owned(),
        value: Some("\"mock/mock\"".to_owned()),
    };
    assert!(screen.effects.contains(&setting), "{:?}", screen.effects);
}
