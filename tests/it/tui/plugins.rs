//! Plugins on the screen.

use osier_llm::scripted::Script;

use super::support::Screen;

const PLUGIN: &str = r#"
osier.renderer("note", function(data)
  return { { { text = "✎ ", style = "accent" }, { text = data, bold = true } } }
end)
osier.command {
  name = "note",
  argument = "TEXT",
  description = "keep a note",
  run = function(text)
    osier.append_entry("note", text)
    osier.widget({ "one note", { { text = text, style = "muted" } } })
    osier.status("noted")
  end,
}
osier.keymap("alt+k n", "a note of the key", function() osier.append_entry("note", "by key") end)
osier.keymap("ctrl+l", "taken", function() end)
"#;

#[tokio::test]
async fn commands_keys_widgets_status_and_entries_are_shown() {
    let mut screen = Screen::new(80, 24)
        .script(Script::always("Done."))
        .home_file("plugins/note.lua", PLUGIN)
        .start()
        .await;
    screen
        .send("hello")
        .shows("cannot bind ctrl+l of plugin note: ctrl+l is bound to model_picker")
        .await;
    screen.settled().await;
    screen.type_text("/no");
    assert!(
        screen.screen().contains("/note TEXT"),
        "{}",
        screen.screen()
    );
    screen.press("tab").type_text("buy milk").press("enter");
    screen.shows("noted").await;
    screen.shows("✎ buy milk").await;
    insta::assert_snapshot!("plugins", screen.styled());
    screen.press("alt+k").press("n").shows("✎ by key").await;
    screen.press("f1 f1").type_text("alt+k");
    assert!(screen.screen().contains("note"), "{}", screen.screen());
}

#[tokio::test]
async fn key_of_a_plugin_is_unbound_in_the_list_of_shortcuts() {
    let mut screen = Screen::new(80, 24)
        .script(Script::always("Done."))
        .home_file("plugins/note.lua", PLUGIN)
        .start()
        .await;
    screen.shows("cannot bind ctrl+l").await;
    screen.press("alt+k").press("n").shows("✎ by key").await;
    screen.send("/keymap").type_text("a note of the key");
    screen.shows("alt+k n").await;
    screen.press("ctrl+d").shows("no command matches").await;
    screen.press("esc");
    let file = screen.home().join("keymaps/default.toml");
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text, "[global]\n\"alt+k n\" = \"\"\n");
    screen.press("alt+k").type_text("n");
    screen.shows("❯ n").await;
    let notes = screen.screen().matches("✎ by key").count();
    assert_eq!(notes, 1, "{}", screen.screen());
}
