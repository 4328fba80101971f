//! Tests of the editor's behaviour.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn typed(text: &str) -> TextArea {
    let mut area = TextArea::default();
    for (_, cluster) in text::graphemes(text) {
        area.insert(cluster);
    }
    area
}

/// The visible rows with `|` at the cursor, and the number of hidden rows.
fn screen(area: &mut TextArea, width: usize, height: usize) -> String {
    let view = area.view(width, height);
    let mut shown = String::new();
    for (index, row) in view.rows.iter().enumerate() {
        let text = row.text();
        if index == usize::from(view.cursor.1) {
            let head = text::prefix_of_width(&text, usize::from(view.cursor.0));
            writeln!(shown, "{head}|{}", &text[head.len()..]).unwrap();
        } else {
            writeln!(shown, "{text}").unwrap();
        }
    }
    write!(shown, "{} above, {} below", view.above, view.below).unwrap();
    shown
}

#[test]
fn backspace_removes_one_grapheme_cluster() {
    for (text, expected) in [
        ("a👨‍👩‍👧", "a"),
        ("ae\u{301}", "a"),
        ("漢字", "漢"),
        ("🇩🇪🇫🇷", "🇩🇪"),
    ] {
        let mut area = TextArea::default();
        area.insert(text);
        assert!(area.delete(Motion::Left));
        assert_eq!(area.text(), expected);
    }
}

#[test]
fn tab_is_preserved_and_is_one_cursor_step() {
    let mut area = TextArea::default();
    area.insert("all:\n\tcc -o\tx");
    assert_eq!(area.text(), "all:\n\tcc -o\tx");
    assert_eq!(
        screen(&mut area, 20, 3),
        "all:\n    cc -o    x|\n0 above, 0 below"
    );
    area.move_by(Motion::Left);
    area.move_by(Motion::Left);
    assert_eq!(
        screen(&mut area, 20, 3),
        "all:\n    cc -o|    x\n0 above, 0 below"
    );
    assert_eq!(
        screen(&mut area, 12, 4),
        "all:\n    cc \n-o|    x\n0 above, 0 below"
    );
    assert!(area.delete(Motion::LineStart));
    assert_eq!(area.text(), "all:\n\tx");
}

#[test]
fn view_scrolls_to_the_cursor() {
    let mut area = typed("hello world été end");
    assert_eq!(
        screen(&mut area, 9, 5),
        "hello \nworld \nété end|\n0 above, 0 below"
    );
    area.move_by(Motion::Up(1));
    assert_eq!(
        screen(&mut area, 9, 5),
        "hello \nworld| \nété end\n0 above, 0 below"
    );
    area.move_by(Motion::Up(1));
    assert!(!area.move_by(Motion::Up(1)));
    area.move_by(Motion::Down(2));
    assert_eq!(
        screen(&mut area, 9, 2),
        "world \nété end|\n1 above, 0 below"
    );
    area.move_by(Motion::BufferStart);
    assert_eq!(screen(&mut area, 9, 2), "|hello \nworld \n0 above, 1 below");
    area.move_by(Motion::RowEnd);
    assert_eq!(screen(&mut area, 9, 1), "hello| \n0 above, 2 below");
    area.move_by(Motion::LineEnd);
    assert_eq!(screen(&mut area, 9, 1), "été end|\n2 above, 0 below");
}

#[test]
fn vertical_motion_keeps_its_column_over_short_lines() {
    let mut area = typed("a long line\nx\nanother line");
    area.set_cursor(Position::new(0, 8));
    area.move_by(Motion::Down(1));
    assert_eq!(area.cursor(), Position::new(1, 1));
    area.move_by(Motion::Down(1));
    assert_eq!(area.cursor(), Position::new(2, 8));
}

#[test]
fn typing_is_undone_word_by_word() {
    let mut area = typed("two words");
    let mut texts = Vec::new();
    while area.undo() {
        texts.push(area.text());
    }
    assert_eq!(texts, ["two ", "two", ""]);
    while area.redo() {}
    assert_eq!(area.text(), "two words");
    area.delete(Motion::Left);
    area.delete(Motion::Left);
    assert_eq!(area.text(), "two wor");
    area.undo();
    assert_eq!(area.text(), "two words");
    area.insert("!");
    assert!(!area.redo());
}

#[test]
fn consecutive_kills_are_one_entry_and_yank_pop_cycles() {
    let mut area = typed("one two three");
    area.kill(Motion::WordLeft);
    area.kill(Motion::WordLeft);
    assert_eq!(area.text(), "one ");
    area.move_by(Motion::LineStart);
    area.kill(Motion::LineEnd);
    area.yank();
    assert_eq!(area.text(), "one ");
    assert!(area.yank_pop());
    assert_eq!(area.text(), "two three");
    assert!(area.yank_pop());
    assert_eq!(area.text(), "one ");
    area.insert("x");
    assert!(!area.yank_pop());
}

#[test]
fn kill_at_line_end_cuts_the_line_break() {
    let mut area = typed("a\nb");
    area.set_cursor(Position::new(0, 1));
    area.kill(Motion::LineEnd);
    assert_eq!(area.text(), "ab");
}

#[test]
fn large_paste_becomes_a_chip() {
    let body = "line\n".repeat(120);
    let mut area = typed("see  now");
    area.set_cursor(Position::new(0, 4));
    area.paste(&body);
    assert_eq!(
        area.buffer.all().expand(|chip| &chip.label),
        "see [paste #1 +120 lines] now"
    );
    assert_eq!(area.text(), format!("see {body} now"));
    assert_eq!(
        area.view(40, 1).rows,
        [Row::new(vec![
            crate::text::row::Span::new("see ", Token::Text),
            crate::text::row::Span::new("[paste #1 +120 lines]", Token::Chip),
            crate::text::row::Span::new(" now", Token::Text),
        ])]
    );
    area.move_by(Motion::Left);
    assert_eq!(area.cursor(), Position::new(0, 4));
    area.move_by(Motion::Right);
    area.delete(Motion::Left);
    assert_eq!(area.text(), "see  now");
    area.undo();
    assert_eq!(area.text(), format!("see {body} now"));
    area.kill(Motion::LineStart);
    area.yank();
    assert_eq!(area.text(), format!("see {body} now"));
    let mut other = TextArea::default();
    other.restore(&area.snapshot());
    assert_eq!(other.snapshot(), area.snapshot());
    assert_eq!(other.text(), format!("see {body} now"));
}

#[test]
fn chip_wraps_as_a_unit_and_is_truncated() {
    let mut area = typed("abc ");
    area.insert_chip(Chip {
        label: "[image]".into(),
        ..Chip::default()
    });
    area.insert("xy");
    assert_eq!(
        screen(&mut area, 11, 5),
        "abc \n[image]xy|\n0 above, 0 below"
    );
    assert_eq!(
        screen(&mut area, 6, 5),
        "abc \n[ima…\nxy|\n0 above, 0 below"
    );
}

#[test]
fn empty_editor_shows_its_placeholder() {
    let mut area = TextArea::new("Ask anything");
    let view = area.view(8, 3);
    assert_eq!(view.rows, [Row::plain("Ask any…", Token::Placeholder)]);
    assert_eq!(view.cursor, (0, 0));
}

#[test]
fn click_moves_to_the_nearest_boundary() {
    let mut area = typed("漢字 text\nsecond");
    area.view(20, 5);
    area.click(3, 0);
    assert_eq!(area.cursor(), Position::new(0, 3));
    area.click(50, 1);
    assert_eq!(area.cursor(), Position::new(1, 6));
    area.click(1, 9);
    assert_eq!(area.cursor(), Position::new(1, 1));
}

/// Runs one command of a random session.
fn perform(area: &mut TextArea, command: u8) {
    const MOTIONS: [Motion; 14] = [
        Motion::Left,
        Motion::Right,
        Motion::WordLeft,
        Motion::WordRight,
        Motion::NextWord,
        Motion::Up(1),
        Motion::Down(1),
        Motion::LineStart,
        Motion::LineText,
        Motion::LineEnd,
        Motion::RowStart,
        Motion::RowEnd,
        Motion::BufferStart,
        Motion::BufferEnd,
    ];
    const TEXTS: [&str; 8] = [
        "a",
        " ",
        "\n",
        "漢",
        "👨‍👩‍👧",
        "e\u{301}",
        "two words\nx",
        "\u{301}",
    ];
    let motion = MOTIONS[usize::from(command) % MOTIONS.len()];
    match command / 32 {
        0 | 1 => area.insert(TEXTS[usize::from(command) % TEXTS.len()]),
        2 | 3 => {
            area.move_by(motion);
        }
        4 => {
            area.delete(motion);
        }
        5 => {
            area.kill(motion);
        }
        6 if command.is_multiple_of(2) => {
            area.yank();
        }
        6 => {
            area.undo();
        }
        _ if command.is_multiple_of(2) => area.insert_chip(Chip {
            label: "[chip]".into(),
            text: "C".into(),
            attachment: None,
        }),
        _ => {
            area.redo();
        }
    }
}

proptest! {
    #[test]
    fn incremental_layout_equals_full_layout(commands in prop::collection::vec(any::<u8>(), 0..80), width in 1usize..12) {
        let mut area = TextArea::default();
        area.height(width, 100);
        for command in commands {
            perform(&mut area, command);
            let mut fresh = area.clone();
            fresh.layout.reset(&fresh.buffer);
            prop_assert_eq!(area.buffer.clamp(area.cursor), area.cursor);
            prop_assert_eq!(area.view(width, 5), fresh.view(width, 5));
            let view = area.view(width, 5);
            prop_assert!(usize::from(view.cursor.1) < view.rows.len());
        }
        let mut steps = 0;
        while area.undo() {
            steps += 1;
        }
        prop_assert_eq!(area.text(), "");
        for _ in 0..steps {
            prop_assert!(area.redo());
        }
    }
}
