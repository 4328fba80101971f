//! Themes and keymaps, and the errors in their files.

use osier_base::folders::Folders;
use osier_llm::scripted::Script;
use osier_term::face::Token;
use osier_term::input::TerminalReply;
use osier_term::terminal::TerminalKind;
use osier_term::theme::ColourDepth;
use osier_tui::{Appearance, Effect};
use serde_json::json;

use super::support::{Builder, Screen, usage_of};

fn everything() -> Builder {
    let script = Script::new()
        .turn(|turn| {
            turn.thinking("Hm.")
                .tool("bash", json!({"command": "echo out"}))
        })
        .turn(|turn| {
            turn.tool("write", json!({"file_path": "n.txt", "content": "new\n"}))
                .tool("read", json!({"file_path": "absent"}))
                .usage(usage_of(1_024, 14))
        })
        .turn(|turn| {
            turn.text("# Title\n\nSome **bold** `code`, a [link](https://a.b).\n\n> quote")
                .usage(usage_of(1_224, 18))
        });
    Screen::new(60, 30).script(script)
}

#[tokio::test]
async fn dark_theme() {
    let mut screen = everything()
        .settings(|settings| settings.screen.theme = "dark".to_owned())
        .start()
        .await;
    screen.send("go").settled().await;
    insta::assert_snapshot!("dark", screen.styled());
}

#[tokio::test]
async fn light_theme_in_256_colours() {
    let mut screen = everything()
        .settings(|settings| settings.screen.theme = "light".to_owned())
        .depth(ColourDepth::Indexed)
        .start()
        .await;
    screen.send("go").settled().await;
    insta::assert_snapshot!("light_256", screen.styled());
}

#[tokio::test]
async fn no_colours_uses_modifiers() {
    let mut screen = everything()
        .settings(|settings| settings.screen.theme = "dark".to_owned())
        .depth(ColourDepth::None)
        .start()
        .await;
    screen.send("go").settled().await;
    screen.press("alt+x");
    let shown = screen.styled();
    let legend = shown.rsplit("── styles ──").next().unwrap();
    assert!(!legend.contains("Rgb") && !legend.contains('#') && !legend.contains(" on "));
    // The selection is visible without colours.
    assert!(legend.contains("reversed"), "{legend}");
    insta::assert_snapshot!("no_colour", shown);
}

#[tokio::test]
async fn theme_command_changes_the_theme() {
    let mut screen = Screen::new(60, 12).start().await;
    let before = screen.styled();
    screen.send("/theme light");
    assert_eq!(screen.effects, [Effect::LoadTheme("light".to_owned())]);
    assert_eq!(screen.app.theme.name(), "Light");
    assert_ne!(screen.styled(), before);
}

#[tokio::test]
async fn invalid_theme_is_reported_and_valid_entries_apply() {
    let theme = "inherit = \"dark\"\n\n[tokens]\ntext = \"no such colour\"\naccent = \"#123456\"\n";
    let mut screen = Screen::new(78, 16)
        .home_file("themes/mine.toml", theme)
        .settings(|settings| settings.screen.theme = "mine".to_owned())
        .start()
        .await;
    insta::assert_snapshot!("broken_theme", screen.screen());
    assert!(screen.styled().contains("#123456"));
}

#[tokio::test]
async fn keys_are_rebound_and_errors_have_a_line() {
    let keymap =
        "[global]\n\"f9\" = \"help\"\n\"f1\" = \"\"\n\"ctrl+q\" = \"fly\"\n\"f9\" = \"palette\"\n";
    let mut screen = Screen::new(78, 20)
        .home_file("keymaps/mine.toml", keymap)
        .settings(|settings| settings.screen.keymap = "mine".to_owned())
        .start()
        .await;
    insta::assert_snapshot!("keymap_faults", screen.screen());
}

#[tokio::test]
async fn key_sequence_shows_pressed_keys_and_runs() {
    let keymap = "leader = \"ctrl+x\"\n\n[global]\n\"ctrl+x\" = \"\"\n\"leader m\" = \"model_picker\"\n\"f1\" = \"\"\n";
    let mut screen = Screen::new(78, 20)
        .home_file("keymaps/mine.toml", keymap)
        .settings(|settings| settings.screen.keymap = "mine".to_owned())
        .start()
        .await;
    screen.press("ctrl+x");
    assert!(screen.row(16).ends_with("ctrl+x …"), "{}", screen.screen());
    screen.type_text("m");
    assert!(screen.screen().contains("Models"));
    screen.press("esc ctrl+x").type_text("q");
    assert_eq!(screen.editor(), "Ask, or type / for commands");
    screen.press("f1");
    assert!(!screen.screen().contains("all keys"));
}

#[tokio::test]
async fn missing_keymap_is_reported() {
    let mut screen = Screen::new(78, 20)
        .settings(|settings| settings.screen.keymap = "absent".to_owned())
        .start()
        .await;
    let shown = screen.screen();
    assert!(
        shown.contains("absent.toml") && shown.contains("default keys"),
        "{shown}"
    );
}

#[tokio::test]
async fn sixteen_colours_use_terminal_colours() {
    let mut screen = everything()
        .settings(|settings| settings.screen.theme = "gruvbox-light".to_owned())
        .depth(ColourDepth::Ansi)
        .start()
        .await;
    screen.send("go").settled().await;
    screen.press("alt+x");
    insta::assert_snapshot!("gruvbox_16", screen.styled());
}

#[tokio::test]
async fn theme_list_previews_and_esc_restores() {
    let mut screen = Screen::new(120, 30)
        .home_file(
            "themes/mine.toml",
            "inherit = \"nord\"\n[palette]\nblue = \"#abcdef\"\n",
        )
        .settings(|settings| settings.screen.theme = "nord".to_owned())
        .start()
        .await;
    screen.send("/theme");
    assert_eq!(screen.app.theme.name(), "Nord");
    screen.press("down");
    assert_ne!(screen.app.theme.name(), "Nord");
    screen.type_text("mine");
    // Changing a colour of the palette changes every token that uses it.
    assert_eq!(
        screen.app.theme.hex(Token::ListMarker).0.as_deref(),
        Some("#abcdef")
    );
    insta::assert_snapshot!("themes", screen.screen());
    screen.press("esc");
    assert_eq!(screen.app.theme.name(), "Nord");
    screen
        .send("/theme")
        .type_text("gruvbox-light")
        .press("enter");
    assert_eq!(screen.app.theme.name(), "Gruvbox light");
    let kept = Effect::LoadTheme("gruvbox-light".to_owned());
    assert_eq!(screen.effects.last(), Some(&kept));
}

#[test]
fn theme_pair_follows_the_terminal_background() {
    let home = tempfile::tempdir().unwrap();
    let kind = TerminalKind::detect(|_| None);
    let mut looks = Appearance::new(&Folders::under(home.path()), &kind);
    let name = |looks: &Appearance| looks.theme("nord/one-light").0.name().to_owned();
    assert_eq!(name(&looks), "Nord");
    assert!(looks.on_reply(&TerminalReply::Background((250, 250, 250))));
    assert_eq!(name(&looks), "One Light");
    assert!(looks.on_reply(&TerminalReply::DarkScheme(true)));
    assert_eq!(name(&looks), "Nord");
    assert!(looks.has_theme("nord/one-light") && !looks.has_theme("nord/one-lite"));
}
