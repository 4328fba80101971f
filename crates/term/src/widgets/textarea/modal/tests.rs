use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::widgets::textarea::{Chip, Motion, Position, TextArea};

const TEXT: &str = "fn (a, [b]) { \"s t\" }\n  漢字 e\u{301}x 👨‍👩‍👧 end\n\n\tlast";

const CHARS: [char; 12] = [
    'a', ' ', '3', '0', '(', '"', '漢', '\u{301}', '\n', 'x', '+', '9',
];

fn sample() -> TextArea {
    let mut area = TextArea::default();
    area.insert(TEXT);
    area.insert_chip(Chip {
        label: "[chip]".into(),
        text: "C".into(),
        attachment: None,
    });
    area.set_cursor(Position::default());
    area.forget_undo();
    area
}

/// One input of a random session.
fn press(modal: &mut Modal, area: &mut TextArea, (kind, which): (u8, u8)) {
    let edit = EDITS[usize::from(which) % EDITS.len()].edit;
    let char = CHARS[usize::from(which) % CHARS.len()];
    match kind % 8 {
        0..=3 => {
            modal.run(area, edit);
        }
        4 if modal.is_searching() => modal.search_key(area, which % 2 == 0),
        4 | 5 if modal.inserts() && !modal.wants(char) => {
            modal.touch(area);
            area.insert(&char.to_string());
            modal.edited(area, false);
        }
        4 | 5 => modal.char(area, char),
        6 if modal.inserts() => {
            modal.touch(area);
            let motion = if which % 2 == 0 {
                Motion::Left
            } else {
                Motion::Up(1)
            };
            area.move_by(motion);
            modal.edited(area, true);
        }
        6 => modal.clipboard(area, "from\noutside\n"),
        _ if which % 3 == 0 => modal.paste(area, "p\nq"),
        _ => {
            modal.run(area, Edit::NORMAL_MODE);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn random_input_keeps_invariants_and_undo_restores_the_text(
        modes in any::<bool>(),
        inputs in prop::collection::vec((any::<u8>(), any::<u8>()), 0..60),
    ) {
        let mut area = sample();
        let before = area.text();
        let mut modal = Modal::new(modes);
        for input in inputs {
            press(&mut modal, &mut area, input);
            prop_assert_eq!(area.buffer.clamp(area.cursor), area.cursor);
            let line = area.line(area.cursor.line);
            if !modal.inserts() && !line.is_empty() {
                prop_assert!(area.cursor.byte < line.len());
            }
            area.set_selection(modal.selection(&area));
            area.view(12, 4);
        }
        let mut steps = 0;
        while area.undo() {
            steps += 1;
        }
        prop_assert_eq!(area.text(), before);
        for _ in 0..steps {
            prop_assert!(area.redo());
        }
    }
}

fn run(modal: &mut Modal, area: &mut TextArea, name: &str) -> Outcome {
    modal.run(area, Edit::from_name(name).unwrap())
}

#[test]
fn clipboard_is_a_register() {
    let mut area = sample();
    let mut modal = Modal::new(true);
    run(&mut modal, &mut area, "normal_mode");
    let plus = |modal: &mut Modal, area: &mut TextArea, name| {
        run(modal, area, "register");
        modal.char(area, '+');
        run(modal, area, name);
    };
    plus(&mut modal, &mut area, "copy_line");
    let copied = EditorRequest::Copy("fn (a, [b]) { \"s t\" }\n".into());
    assert_eq!(modal.take_requests(), [copied]);
    plus(&mut modal, &mut area, "put_before");
    assert_eq!(modal.take_requests(), [EditorRequest::Paste]);
    modal.clipboard(&mut area, "one\ntwo\n");
    assert_eq!((area.line(0), area.line(1)), ("one", "two"));
    run(&mut modal, &mut area, "undo_change");
    assert_eq!(area.line(0), "fn (a, [b]) { \"s t\" }");
}

#[test]
fn region_is_cut_and_pasted_and_words_change() {
    let mut area = TextArea::default();
    area.insert("one two three");
    area.set_cursor(Position::new(0, 4));
    let mut modal = Modal::new(false);
    run(&mut modal, &mut area, "mark");
    area.move_by(Motion::WordRight);
    assert_eq!(run(&mut modal, &mut area, "kill_region"), Outcome::Done);
    assert_eq!(area.text(), "one  three");
    assert_eq!(run(&mut modal, &mut area, "kill_region"), Outcome::Unused);
    run(&mut modal, &mut area, "one_space");
    area.yank();
    assert_eq!(area.text(), "one twothree");
    area.insert(" ");
    for (motion, name, expected) in [
        (Motion::Left, "transpose_words", "one three two"),
        (Motion::LineStart, "capitalize_word", "One three two"),
        (Motion::Right, "uppercase_word", "One THREE two"),
        (Motion::LineEnd, "transpose_chars", "One THREE tow"),
    ] {
        area.move_by(motion);
        run(&mut modal, &mut area, name);
        assert_eq!(area.text(), expected, "{name}");
    }
    // Incremental search moves the cursor; cancelling moves it back.
    area.move_by(Motion::LineStart);
    run(&mut modal, &mut area, "find_text");
    for char in "thr".chars() {
        assert!(modal.wants(char));
        modal.char(&mut area, char);
    }
    assert_eq!(area.cursor().byte, 4);
    assert_eq!(modal.label().as_deref(), Some("/thr"));
    modal.leave_search(&mut area);
    assert_eq!(area.cursor().byte, 0);
}
