//! The prompt editor.

use std::fmt::Write as _;
use std::time::Duration;

use osier_llm::scripted::Script;
use osier_term::input::{KeyModifiers, MouseButton, MouseEventKind, MouseInput};
use osier_tui::Effect;

use super::support::Screen;

#[tokio::test]
async fn unsupported_thinking_level_reports_the_nearest() {
    let mut screen = Screen::new(80, 24).start().await;
    screen
        .send("/thinking max")
        .shows("this model has no thinking level max; using high")
        .await;
    screen
        .send("/thinking low")
        .shows("mock/mock thinking low")
        .await;
}

#[tokio::test]
async fn editor_grows_to_two_fifths_of_the_screen() {
    let mut screen = Screen::new(60, 20)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.type_text("one").press("ctrl+j").type_text("two");
    assert_eq!(screen.editor(), "one\ntwo");
    assert_eq!(screen.cursor(), Some((5, 18)));
    screen.press("up").type_text("+");
    assert_eq!(screen.editor(), "one+\ntwo");
    for line in 3..=12 {
        screen.press("ctrl+j").type_text(&line.to_string());
    }
    assert_eq!(screen.editor().lines().count(), 8);
    screen.press("enter").settled().await;
    assert_eq!(
        screen.last_prompt(),
        "one+\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\ntwo"
    );
    assert_eq!(screen.editor(), "Ask, or type / for commands");
}

#[tokio::test]
async fn editing_keys_undo_and_redo() {
    let mut screen = Screen::new(60, 12).start().await;
    screen.type_text("alpha beta gamma").press("ctrl+w");
    assert_eq!(screen.editor(), "alpha beta");
    screen.press("ctrl+a ctrl+y");
    assert_eq!(screen.editor(), "gammaalpha beta");
    screen.press("ctrl+_");
    assert_eq!(screen.editor(), "alpha beta");
    screen.press("ctrl+_");
    assert_eq!(screen.editor(), "alpha beta gamma");
    screen.press("alt+_ alt+_");
    assert_eq!(screen.editor(), "gammaalpha beta");
    screen.press("home alt+f").type_text("!");
    assert_eq!(screen.editor(), "gammaalpha! beta");
    screen.press("ctrl+k ctrl+u");
    assert_eq!(screen.editor(), "Ask, or type / for commands");
    screen.press("ctrl+_");
    assert_eq!(screen.editor(), "gammaalpha!");
}

#[tokio::test]
async fn graphemes_are_deleted_completely() {
    let mut screen = Screen::new(60, 12).start().await;
    screen.type_text("a👩‍👩‍👧日e\u{301}");
    assert_eq!(screen.cursor(), Some((8, 10)));
    screen.press("backspace");
    assert_eq!(screen.editor(), "a👩‍👩‍👧日");
    screen.press("backspace backspace");
    assert_eq!(
        (screen.editor(), screen.cursor()),
        ("a".to_owned(), Some((3, 10)))
    );
}

#[tokio::test]
async fn ctrl_c_clears_and_a_second_one_exits() {
    let mut screen = Screen::new(60, 12).start().await;
    screen.type_text("draft").press("ctrl+c");
    assert_eq!(screen.editor(), "Ask, or type / for commands");
    screen.press("ctrl+_");
    assert_eq!(screen.editor(), "draft");
    screen.press("ctrl+c");
    let cleared = "cleared; press ctrl+c again to quit";
    assert!(screen.screen().contains(cleared), "{}", screen.screen());
    assert_eq!(screen.effects, []);
    // The second press counts only while the hint is shown.
    screen.advance(Duration::from_secs(5));
    assert!(!screen.screen().contains("press ctrl+c again to quit"));
    screen.press("ctrl+c");
    assert_eq!(screen.effects, []);
    screen.advance(Duration::from_secs(3));
    assert!(screen.screen().contains("press ctrl+c again to quit"));
    screen.press("ctrl+c");
    assert_eq!(screen.effects, [Effect::Quit]);
}

#[tokio::test]
async fn ctrl_d_deletes_forward_and_exits_only_from_an_empty_editor() {
    let mut screen = Screen::new(60, 12).start().await;
    screen.type_text("ab").press("ctrl+a ctrl+d");
    assert_eq!((screen.editor(), screen.effects.len()), ("b".to_owned(), 0));
    screen.press("ctrl+d");
    assert_eq!(screen.effects, []);
    screen.press("ctrl+d");
    assert_eq!(screen.effects, [Effect::Quit]);
}

#[tokio::test]
async fn large_paste_is_one_chip_and_is_sent_completely() {
    let mut text = String::new();
    for line in 1..=20_000 {
        let _ = writeln!(text, "line {line} of\ta paste");
    }
    let mut screen = Screen::new(60, 12)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.type_text("see ").paste(&text).type_text(" here");
    let shown = screen.editor();
    assert!(
        shown.starts_with("see [") && shown.ends_with("] here"),
        "{shown}"
    );
    assert!(
        shown.contains("20000 lines") || shown.contains("20,000 lines"),
        "{shown}"
    );
    screen.press("enter").settled().await;
    assert_eq!(screen.last_prompt(), format!("see {text} here"));
}

#[tokio::test]
async fn chip_is_deleted_with_one_key() {
    let mut screen = Screen::new(60, 12).start().await;
    screen
        .type_text("a")
        .paste(&"x\n".repeat(500))
        .press("backspace");
    assert_eq!(screen.editor(), "a");
    screen.press("ctrl+_");
    assert!(screen.editor().contains("500 lines") || screen.editor().contains("501 lines"));
}

#[tokio::test]
async fn commands_complete_with_their_arguments() {
    let mut screen = Screen::new(70, 16).start().await;
    screen.type_text("/th");
    insta::assert_snapshot!("command_completion", screen.styled());
    screen.press("down");
    let first = screen.styled();
    screen.press("down down down");
    // The list has three rows: three steps return to the first.
    assert_eq!(screen.styled(), {
        screen.press("up up up");
        screen.styled()
    });
    screen.press("up");
    assert_ne!(screen.styled(), first);
    screen.press("tab");
    assert_eq!(screen.editor(), "/theme");
    screen.type_text("da").press("tab");
    assert_eq!(screen.editor(), "/theme dark");
    screen.press("enter");
    assert_eq!(screen.effects, [Effect::LoadTheme("dark".to_owned())]);
    assert_eq!(screen.editor(), "Ask, or type / for commands");
}

#[tokio::test]
async fn completion_list_uses_arrows_and_esc() {
    let mut screen = Screen::new(70, 16).start().await;
    screen
        .type_text("/thinking ")
        .press("down down")
        .press("tab");
    assert_eq!(screen.editor(), "/thinking high");
    screen.press("esc ctrl+c").type_text("/thi").press("esc");
    assert!(!screen.screen().contains("set the thinking level"));
    assert_eq!(screen.editor(), "/thi");
}

#[tokio::test]
async fn invalid_command_stays_in_the_editor_with_an_error() {
    let mut screen = Screen::new(70, 16).start().await;
    screen.type_text("/nothing at all").press("enter");
    assert_eq!(screen.editor(), "/nothing at all");
    let shown = screen.screen();
    assert!(shown.contains("unknown command /nothing; type / to list the commands"));
    screen
        .press("ctrl+c")
        .type_text("/thinking hard")
        .press("enter");
    assert!(screen.screen().contains("unknown level hard"));
}

#[tokio::test]
async fn a_path_at_the_start_is_a_prompt() {
    let mut screen = Screen::new(70, 16)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.send("/etc/hosts looks odd").settled().await;
    assert_eq!(screen.last_prompt(), "/etc/hosts looks odd");
}

#[tokio::test]
async fn file_mentions_complete_from_the_working_directory() {
    let mut screen = Screen::new(70, 16)
        .file("src/main.rs", "")
        .file("src/deep/other.rs", "")
        .file("with space.txt", "")
        .file("ignored.log", "")
        .file(".gitignore", "*.log\n")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .start()
        .await;
    assert!(screen.footer().starts_with("~/work (main)"));
    screen.type_text("look at @").shows("src/main.rs").await;
    insta::assert_snapshot!("file_completion", screen.screen());
    screen.type_text("oth").press("tab");
    assert_eq!(screen.editor(), "look at @src/deep/other.rs");
    screen.type_text("and @space").press("enter");
    assert_eq!(
        screen.editor(),
        "look at @src/deep/other.rs and @\"with space.txt\""
    );
}

#[tokio::test]
async fn paths_complete_from_the_working_directory() {
    let mut screen = Screen::new(70, 16)
        .file("sources/alpha.rs", "")
        .file("sources/alphabet/a", "")
        .file("sources/.hidden", "")
        .start()
        .await;
    screen.type_text("see sou").press("tab");
    assert_eq!(screen.editor(), "see sources/");
    screen.type_text("a").press("tab");
    assert_eq!(screen.editor(), "see sources/alpha");
    let shown = screen.screen();
    assert!(
        shown.contains("alphabet/") && shown.contains("alpha.rs"),
        "{shown}"
    );
    screen.press("down tab");
    assert_eq!(screen.editor(), "see sources/alpha.rs");
}

#[tokio::test]
async fn arrows_walk_the_history_and_return_to_the_draft() {
    let mut screen = Screen::new(60, 16)
        .script(Script::always("ok"))
        .start()
        .await;
    for prompt in ["first", "/thinking off", "third"] {
        screen.type_text(prompt).press("esc enter");
    }
    screen.settled().await;
    screen.type_text("draft").press("up");
    assert_eq!(screen.editor(), "third");
    screen.press("up");
    assert_eq!(screen.editor(), "/thinking off");
    // A recalled command opens no completion list, which would take the next arrow.
    screen.press("up");
    assert_eq!(screen.editor(), "first");
    screen.press("down down down");
    assert_eq!(screen.editor(), "draft");
}

#[tokio::test]
async fn history_is_searched_and_shared_by_sessions() {
    let mut screen = Screen::new(60, 16)
        .script(Script::always("ok"))
        .start()
        .await;
    for prompt in ["fix the parser", "write a\u{20}poem", "fix the lexer"] {
        screen.send(prompt).settled().await;
    }
    let mut later = Screen::new(60, 16).with_files_of(&screen).start().await;
    later.type_text("dr").press("ctrl+r").type_text("fix");
    insta::assert_snapshot!("history_search", later.screen());
    later.press("down enter");
    assert_eq!(later.editor(), "fix the parser");
    later.press("ctrl+r esc");
    assert_eq!(later.editor(), "fix the parser");
}

#[tokio::test]
async fn user_command_runs_and_is_sent_to_the_model() {
    let mut screen = Screen::new(60, 16)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.send("!echo out; exit 4").shows("exit 4 ·").await;
    assert_eq!(
        screen.conversation(),
        "! echo out; exit 4\n  out\n  exit 4 · 0ms"
    );
    screen.send("!!echo secret").shows("\n  secret").await;
    screen.send("what was it").settled().await;
    let request = screen.provider.last_request().unwrap();
    let sent = serde_json::to_string(&request.context.messages).unwrap();
    assert!(
        sent.contains("echo out; exit 4") && !sent.contains("secret"),
        "{sent}"
    );
    assert_eq!(screen.conversation().matches("echo out").count(), 1);
}

#[tokio::test]
async fn esc_stops_a_user_command() {
    let mut screen = Screen::new(60, 16).start().await;
    screen
        .send("!echo begun; sleep 1000")
        .shows("\n  begun")
        .await;
    assert!(screen.screen().contains("Running · esc to stop · 0s"));
    screen.press("esc").shows("interrupted").await;
    assert!(!screen.screen().contains("esc to stop"));
}

#[tokio::test]
async fn esc_stops_a_user_command_after_a_run() {
    let mut screen = Screen::new(60, 16)
        .script(Script::always("ok"))
        .start()
        .await;
    screen
        .send("!echo begun; sleep 1000")
        .shows("\n  begun")
        .await;
    screen.send("meanwhile").settled().await;
    assert!(
        screen.screen().contains("Running · esc to stop · 0s"),
        "{}",
        screen.screen()
    );
    screen.press("esc").shows("interrupted").await;
}

#[tokio::test]
async fn external_editor_edits_the_prompt() {
    let mut screen = Screen::new(60, 12).start().await;
    screen.type_text("draft").press("ctrl+g");
    assert_eq!(screen.effects, [Effect::ExternalEditor("draft".to_owned())]);
    screen.app.edited("better\ntext");
    assert_eq!(screen.editor(), "better\ntext");
}

/// Presses and releases the button.
fn click(screen: &mut Screen, column: u16, row: u16) {
    for kind in [
        MouseEventKind::Down(MouseButton::Left),
        MouseEventKind::Up(MouseButton::Left),
    ] {
        screen.mouse(MouseInput {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        });
    }
}

#[tokio::test]
async fn click_places_the_cursor() {
    let mut screen = Screen::new(40, 20).start().await;
    screen.type_text("漢字 wide, then a line that is wrapped where it ends");
    screen.press("ctrl+j").type_text("a\tb 👩‍👩‍👧 c");
    let rows: Vec<String> = screen.editor().lines().map(str::to_owned).collect();
    assert_eq!(rows.len(), 3, "{rows:?}");
    let top = 19 - 3;
    // A click on either half of a wide character places the cursor before it.
    for (at, expected) in [
        ((2, top), "|漢字 wide"),
        ((3, top), "|漢字 wide"),
        ((4, top), "漢|字 wide"),
        ((7, top), "漢字 |wide"),
        ((0, top), "|漢字 wide"),
    ] {
        click(&mut screen, at.0, at.1);
        screen.type_text("|");
        assert!(
            screen.editor().starts_with(expected),
            "{at:?} {}",
            screen.editor()
        );
        screen.press("backspace");
    }
    // After the end of a wrapped row, after the end of a line, and below all rows.
    click(&mut screen, 39, top);
    assert_eq!(screen.cursor().map(|at| at.1), Some(top));
    click(&mut screen, 39, top + 1);
    screen.type_text("|");
    assert!(screen.editor().contains("ends|\n"), "{}", screen.editor());
    screen.press("backspace");
    // A grapheme cluster is one position, and so is a tab.
    for (column, expected) in [
        (3, "a|    b"),
        (7, "a    |b"),
        (10, "b |👩‍👩‍👧 c"),
        (11, "👩‍👩‍👧| c"),
    ] {
        click(&mut screen, column, top + 2);
        screen.type_text("|");
        assert!(
            screen.editor().contains(expected),
            "{column} {}",
            screen.editor()
        );
        screen.press("backspace");
    }
    // A chip is one position, too.
    screen.press("ctrl+c").paste(&"line\n".repeat(20));
    screen.type_text(" behind");
    assert_eq!(screen.editor(), "[paste #1 +20 lines] behind");
    click(&mut screen, 9, 18);
    screen.type_text("|");
    assert_eq!(screen.editor(), "|[paste #1 +20 lines] behind");
    click(&mut screen, 26, 18);
    screen.press("backspace");
    assert_eq!(screen.editor(), "|[paste #1 +20 lines] bhind");
}

#[tokio::test]
async fn click_in_a_scrolled_prompt_places_the_cursor_and_focuses() {
    let mut screen = Screen::new(40, 20)
        .script(Script::always("ok"))
        .start()
        .await;
    screen.send("first").settled().await;
    for line in 0..30 {
        screen.type_text(&format!("line {line}")).press("ctrl+j");
    }
    screen.screen();
    screen.press("alt+v");
    assert_eq!(screen.cursor(), None);
    click(&mut screen, 4, 12);
    screen.type_text("#");
    assert!(screen.editor().contains("\nli#ne 2"), "{}", screen.editor());
}

#[tokio::test]
async fn double_click_selects_a_word() {
    let mut screen = Screen::new(40, 20).start().await;
    screen.keymap("vim").type_text("some words here");
    screen.press("esc");
    screen.screen();
    click(&mut screen, 8, 18);
    click(&mut screen, 8, 18);
    screen.press("d");
    assert_eq!(screen.editor(), "some  here");
    let mut screen = Screen::new(40, 20).start().await;
    screen.keymap("emacs").type_text("some words here");
    screen.screen();
    click(&mut screen, 8, 18);
    click(&mut screen, 8, 18);
    screen.press("ctrl+w");
    assert_eq!(screen.editor(), "some  here");
    let mut screen = Screen::new(40, 20).start().await;
    screen.type_text("some words here");
    screen.screen();
    click(&mut screen, 8, 18);
    click(&mut screen, 8, 18);
    screen.type_text("|");
    assert_eq!(screen.editor(), "some w|ords here");
}

#[tokio::test]
async fn a_long_line_that_was_pasted_comes_back_as_a_chip() {
    let mut screen = Screen::new(80, 24)
        .script(Script::always("ok"))
        .start()
        .await;
    let line = "a long line ".repeat(275);
    screen.paste(line.trim_end());
    assert_eq!(screen.editor(), "[paste #1 3299 chars]");
    screen.press("enter").settled().await;
    screen.press("up");
    assert_eq!(screen.editor(), "[paste #2 3299 chars]");
    assert_eq!(screen.app.prompt.editor.text(), line.trim_end());
}
