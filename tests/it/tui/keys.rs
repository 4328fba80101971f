//! Keymaps with modes and regions, and the display of unfinished key sequences.

use osier_term::frame::CursorShape;
use osier_term::keymap;
use osier_term::keymap::parse_sequence;
use osier_tui::Effect;

use super::support::Screen;

fn with(keymap: &str) -> super::support::Builder {
    let keymap = keymap.to_owned();
    Screen::new(78, 20).settings(|settings| settings.screen.keymap = keymap)
}

#[tokio::test]
async fn vim_mode_is_shown_and_every_mode_sends() {
    let mut screen = with("vim").start().await;
    assert_eq!(screen.app.cursor_shape(), CursorShape::Bar);
    screen.type_text("fix the teh bug");
    assert!(
        screen.screen().contains(" insert ──"),
        "{}",
        screen.screen()
    );
    screen.press("esc").type_text("bbciw");
    screen.type_text("big").press("esc");
    assert_eq!(screen.editor(), "fix the big bug");
    assert_eq!(screen.app.cursor_shape(), CursorShape::Block);
    screen.type_text("2d");
    assert!(
        screen.screen().contains(" normal delete 2 ──"),
        "{}",
        screen.screen()
    );
    screen.press("esc").type_text("vb");
    insta::assert_snapshot!("vim_visual", screen.styled());
    screen.press("esc").type_text("\"+yy");
    assert_eq!(
        screen.effects,
        [Effect::Copy("fix the big bug\n".to_owned(), "text")]
    );
    screen.press("enter").settled().await;
    assert_eq!(screen.last_prompt(), "fix the big bug");
    // The next prompt starts in insert mode.
    screen.type_text("dd");
    assert_eq!(screen.editor(), "dd");
    // `k` on the first line recalls the earlier prompt.
    screen.press("esc").type_text("k");
    assert_eq!(screen.editor(), "fix the big bug");
}

#[tokio::test]
async fn vim_argument_characters_ignore_bindings() {
    let mut screen = with("vim").start().await;
    screen.type_text("a/b i:c").press("esc").type_text("0f:r/");
    assert_eq!(screen.editor(), "a/b i/c");
    screen.type_text("0/i").press("enter").type_text("x");
    assert_eq!(screen.editor(), "a/b /c");
    screen.type_text("u.");
    assert_eq!(screen.editor(), "a/b /c");
}

#[tokio::test]
async fn keys_of_removed_vim_commands_change_nothing() {
    let mut screen = with("vim").start().await;
    screen.type_text("alpha").press("esc");
    screen.press("ctrl+v").type_text("q@");
    assert_eq!(
        (screen.editor().as_str(), screen.effects.len()),
        ("alpha", 0)
    );
    assert!(
        screen.screen().contains(" normal ──"),
        "{}",
        screen.screen()
    );
}

#[tokio::test]
async fn colon_opens_the_palette_in_normal_mode_only() {
    let mut screen = with("vim").start().await;
    screen.type_text("a:b");
    assert_eq!(screen.editor(), "a:b");
    screen.press("esc").type_text(":quit");
    for text in ["─ Commands ─", "Application: Quit osier"] {
        assert!(screen.screen().contains(text), "{}", screen.screen());
    }
    assert_eq!(screen.editor(), "a:b");
    screen.press("enter");
    assert_eq!(screen.effects, [Effect::Quit]);
}

#[tokio::test]
async fn ex_commands_of_vim_run_their_equivalent_or_nothing_that_changes_the_session() {
    for quit in ["q", "q!", "wq", "x", "qa"] {
        let mut screen = with("vim").start().await;
        screen.press("esc").type_text(&format!(":{quit}"));
        screen.press("enter");
        assert_eq!(screen.effects, [Effect::Quit], "{quit}");
    }
    for (typed, effect) in [
        (":vim", Effect::ToggleVim),
        (":keymap default", Effect::LoadKeymap("default".to_owned())),
    ] {
        let mut screen = with("vim").start().await;
        screen.press("esc").type_text(typed).press("enter");
        assert_eq!(screen.effects, [effect], "{typed}");
    }
    let mut screen = with("vim").start().await;
    screen.press("esc").type_text(":w").press("enter");
    let saved = "sessions are saved automatically";
    assert!(screen.screen().contains(saved), "{}", screen.screen());
    screen.type_text(":help").press("enter");
    let help = "all keys, with a filter";
    assert!(screen.screen().contains(help), "{}", screen.screen());
    for other in [
        "r", "d", "s", "u", "y", "bd", "sp", "vs", "wn", "%s/a/b/", "noh",
    ] {
        let mut screen = with("vim").start().await;
        screen.press("esc").type_text(&format!(":{other}"));
        for text in [
            "Continue a failed run",
            "Quit",
            "Fork",
            "Stop the model",
            "Close the tab",
            "Go back to",
        ] {
            assert!(
                !screen.screen().contains(text),
                "{other}: {}",
                screen.screen()
            );
        }
    }
}

#[tokio::test]
async fn emacs_keys_take_a_numeric_prefix() {
    let mut screen = with("emacs").start().await;
    screen.press("alt+3").type_text("ab");
    assert_eq!(screen.editor(), "aaab");
    screen
        .press("ctrl+u")
        .press("ctrl+b")
        .press("ctrl+u")
        .type_text("12-");
    assert_eq!(screen.editor(), "------------aaab");
    screen
        .press("ctrl+a")
        .press("alt+1")
        .type_text("2")
        .press("ctrl+d");
    assert_eq!(screen.editor(), "aaab");
    screen.press("ctrl+u");
    assert!(screen.screen().contains("4 times"), "{}", screen.screen());
    screen.press("ctrl+g").type_text("x");
    assert_eq!(screen.editor(), "xaaab");
    screen.press("alt+z").type_text("b");
    assert_eq!(screen.editor(), "x");
}

#[tokio::test]
async fn key_prefix_shows_its_continuations() {
    let mut screen = with("emacs").start().await;
    screen.type_text("some words here").press("ctrl+x");
    insta::assert_snapshot!("next_keys", screen.screen());
    screen.press("h").press("ctrl+w");
    assert_eq!(screen.editor(), "Ask, or type / for commands");
    screen.press("ctrl+y");
    assert_eq!(screen.editor(), "some words here");
    screen.press("ctrl+a").press("ctrl+s").type_text("wor");
    assert_eq!(screen.cursor(), Some((7, 18)));
    screen.press("alt+u");
    assert_eq!(screen.editor(), "some WORDS here");
    screen.press("ctrl+x").press("ctrl+c");
    assert_eq!(screen.effects, []);
}

#[tokio::test]
async fn keymap_extends_another_and_is_switched_at_runtime() {
    let file = "inherit = \"vim\"\n[insert]\n\"j k\" = \"normal_mode\"\n";
    let mut screen = Screen::new(78, 20)
        .home_file("keymaps/mine.toml", file)
        .settings(|settings| settings.screen.keymap = "mine".to_owned())
        .start()
        .await;
    screen.type_text("word").type_text("jk").type_text("x");
    assert_eq!(screen.editor(), "wor");
    screen.keymap("default");
    screen.type_text("d");
    assert!(screen.editor().contains('d') && !screen.screen().contains("normal"));
}

/// Keys that do not reach osier inside a multiplexer: tmux's prefix, and the keys that zellij's
/// default keymap binds in every mode.
const TAKEN: &[&str] = &[
    "ctrl+b",
    "ctrl+g",
    "ctrl+p",
    "ctrl+t",
    "ctrl+n",
    "ctrl+h",
    "ctrl+s",
    "ctrl+o",
    "ctrl+q",
    "alt+f",
    "alt+n",
    "alt+h",
    "alt+left",
    "alt+l",
    "alt+right",
    "alt+j",
    "alt+down",
    "alt+k",
    "alt+up",
    "alt+=",
    "alt++",
    "alt+-",
    "alt+[",
    "alt+]",
    "alt+p",
    "alt+i",
    "alt+o",
];

#[test]
fn keys_used_by_multiplexers_have_a_second_binding() {
    let taken: Vec<_> = TAKEN
        .iter()
        .map(|key| parse_sequence(key, None).unwrap()[0])
        .collect();
    let mut missing = Vec::new();
    let (context, mut bindings) = (std::cell::Cell::new(""), Vec::new());
    for line in keymap::DEFAULT.lines() {
        if let Some(name) = line.strip_prefix('[') {
            context.set(name.trim_end_matches(']'));
        } else if let Some((keys, action)) =
            line.split_once(" = ").filter(|_| line.starts_with('"'))
        {
            let keys = keys.trim_matches('"').replace("\\\\", "\\");
            bindings.push((
                context.get(),
                parse_sequence(&keys, None).unwrap(),
                action.trim_matches('"'),
            ));
        }
    }
    for (context, keys, action) in &bindings {
        let lost = |keys: &[_]| taken.contains(&keys[0]);
        // A global key works in every context.
        let other = bindings.iter().any(|(place, keys, also)| {
            also == action && (place == context || *place == "global") && !lost(keys)
        });
        if lost(keys) && !other {
            missing.push(format!("[{context}] {action}"));
        }
    }
    assert_eq!(missing, [""; 0]);
}
