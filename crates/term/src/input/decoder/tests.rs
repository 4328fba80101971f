use crate::input::{MouseButton, MouseEventKind};
use proptest::prelude::*;

use super::*;
use crate::input::MouseInput;

fn decode(bytes: &[u8]) -> Vec<InputEvent> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    decoder.feed(bytes, &mut events);
    decoder.expire(&mut events);
    events
}

fn keys(bytes: &[u8]) -> Vec<(KeyCode, KeyModifiers)> {
    decode(bytes)
        .into_iter()
        .map(|event| match event {
            InputEvent::Key(key) => (key.code, key.modifiers),
            other => panic!("not a key: {other:?}"),
        })
        .collect()
}

#[test]
fn all_encodings_of_a_key_decode_to_the_same_key() {
    use KeyCode::{
        BackTab, Backspace, Char, Delete, End, Enter, Esc, F, Home, Left, PageUp, Tab, Up,
    };
    const CTRL: KeyModifiers = KeyModifiers::CONTROL;
    const ALT: KeyModifiers = KeyModifiers::ALT;
    const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
    const NONE: KeyModifiers = KeyModifiers::NONE;
    for (bytes, code, modifiers) in [
        ("a", Char('a'), NONE),
        ("é", Char('é'), NONE),
        ("\x03", Char('c'), CTRL),
        ("\x1b[99;5u", Char('c'), CTRL),
        ("\x1b[27;5;99~", Char('c'), CTRL),
        ("\x1b[1089::99;5u", Char('c'), CTRL),
        ("\x1b[99;69u", Char('c'), CTRL),
        ("\x1b[80;6u", Char('p'), CTRL | SHIFT),
        ("\x1b[97:65;2u", Char('A'), NONE),
        ("\x1b[27;2;65~", Char('A'), NONE),
        ("\x1b[49:33;2u", Char('!'), NONE),
        ("\x1b[97;1:2u", Char('a'), NONE),
        ("\0", Char(' '), CTRL),
        ("\x1b[32;5u", Char(' '), CTRL),
        ("\x1f", Char('_'), CTRL),
        ("\x1bx", Char('x'), ALT),
        ("\x1b[120;3u", Char('x'), ALT),
        ("\x1bé", Char('é'), ALT),
        ("\x1b\r", Enter, ALT),
        ("\x1b[13;2u", Enter, SHIFT),
        ("\x1b[27;2;13~", Enter, SHIFT),
        ("\n", Char('j'), CTRL),
        ("\r", Enter, NONE),
        ("\x1b[57414u", Enter, NONE),
        ("\t", Tab, NONE),
        ("\x1b[Z", BackTab, NONE),
        ("\x1b[9;2u", BackTab, NONE),
        ("\x1b[1;2Z", BackTab, NONE),
        ("\x7f", Backspace, NONE),
        ("\x1b\x7f", Backspace, ALT),
        ("\x1b", Esc, NONE),
        ("\x1b[27u", Esc, NONE),
        ("\x1b[A", Up, NONE),
        ("\x1bOA", Up, NONE),
        ("\x1b[1;3A", Up, ALT),
        ("\x1b\x1b[A", Up, ALT),
        ("\x1b[1;5D", Left, CTRL),
        ("\x1bOd", Left, CTRL),
        ("\x1b[d", Left, SHIFT),
        ("\x1b[H", Home, NONE),
        ("\x1b[1~", Home, NONE),
        ("\x1b[8~", End, NONE),
        ("\x1b[3;3~", Delete, ALT),
        ("\x1b[3^", Delete, CTRL),
        ("\x1b[5;5~", PageUp, CTRL),
        ("\x1bOP", F(1), NONE),
        ("\x1b[[A", F(1), NONE),
        ("\x1b[11~", F(1), NONE),
        ("\x1b[1;2R", F(3), SHIFT),
        ("\x1b[24;6~", F(12), CTRL | SHIFT),
        ("\x1b[57376u", F(13), NONE),
        ("\x1bOq", Char('1'), NONE),
        ("\x1b[57400u", Char('1'), NONE),
        ("\x1b[", Char('['), ALT),
        ("\x1bO", Char('O'), ALT),
    ] {
        assert_eq!(keys(bytes.as_bytes()), [(code, modifiers)], "{bytes:?}");
    }
}

#[test]
fn the_escape_key_before_a_reply_of_the_terminal_is_kept() {
    for reply in [
        "\x1b[?62;22c",
        "\x1b[>41;354;0c",
        "\x1b[?1u",
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        "\x1bP>|x\x1b\\",
        "\x1b[<0;3;4M",
        "\x1b[I",
        "\x1b[200~text\x1b[201~",
    ] {
        let both = format!("\x1b{reply}");
        let escape = InputEvent::Key(KeyPress::plain(KeyCode::Esc));
        assert_eq!(decode(both.as_bytes()).first(), Some(&escape), "{reply:?}");
    }
}

#[test]
fn releases_and_unknown_sequences_are_ignored() {
    for bytes in [
        "\x1b[97;1:3u",
        "\x1b[57441;2u",
        "\x1b[12;2u",
        "\x1b[27;2;1~",
        "\u{90}",
        "\x1b[?1;2;3z",
        "\x1b[>41;354;0c",
        "\x1b[M abc"[..6].into(),
        "\x1bP1+r544e=78\x1b\\",
        "\x1b]4;99;rgb:00/00/00\x07",
        "\x1b[201~",
        "\x1b]11;rgb:1e1e/1e",
    ] {
        assert_eq!(decode(bytes.as_bytes()), [], "{bytes:?}");
    }
}

#[test]
fn replies_between_keys_are_recognized() {
    use TerminalReply as Reply;
    let stream = b"h\x1b[?1u\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\i\x1b]10;rgb:ff/ff/ff\x07\
        \x1b[?2026;2$y\x1bP>|tmux 3.5a\x1b\\\x1b[?62;4;22c\x1b[?997;2n\x1b[6;20;10t\x1b_Gi=1;OK\x1b\\!";
    assert_eq!(
        decode(stream),
        [
            InputEvent::Key(KeyPress::char('h')),
            InputEvent::Reply(Reply::KeyboardFlags(1)),
            InputEvent::Reply(Reply::Background((30, 30, 46))),
            InputEvent::Key(KeyPress::char('i')),
            InputEvent::Reply(Reply::Foreground((255, 255, 255))),
            InputEvent::Reply(Reply::Mode {
                mode: 2026,
                state: 2
            }),
            InputEvent::Reply(Reply::Version("tmux 3.5a".into())),
            InputEvent::Reply(Reply::DeviceAttributes(vec![62, 4, 22])),
            InputEvent::Reply(Reply::DarkScheme(false)),
            InputEvent::Reply(Reply::CellSize(10, 20)),
            InputEvent::Reply(Reply::Graphics(true)),
            InputEvent::Key(KeyPress::char('!')),
        ]
    );
}

#[test]
fn mouse_focus_and_size_reports_are_decoded() {
    let mouse = |kind, column, row, modifiers| {
        InputEvent::Mouse(MouseInput {
            kind,
            column,
            row,
            modifiers,
        })
    };
    assert_eq!(
        decode(b"\x1b[<0;5;7M\x1b[<32;6;7M\x1b[<0;6;7m\x1b[<65;1;1M\x1b[<20;300;200M\x1b[I\x1b[O\x1b[48;40;120;800;1200t"),
        [
            mouse(MouseEventKind::Down(MouseButton::Left), 4, 6, KeyModifiers::NONE),
            mouse(MouseEventKind::Drag(MouseButton::Left), 5, 6, KeyModifiers::NONE),
            mouse(MouseEventKind::Up(MouseButton::Left), 5, 6, KeyModifiers::NONE),
            mouse(MouseEventKind::ScrollDown, 0, 0, KeyModifiers::NONE),
            mouse(
                MouseEventKind::Down(MouseButton::Left),
                299,
                199,
                KeyModifiers::SHIFT | KeyModifiers::CONTROL
            ),
            InputEvent::FocusGained,
            InputEvent::FocusLost,
            InputEvent::Resize(120, 40),
        ]
    );
}

#[test]
fn pasted_text_is_cleaned() {
    for (pasted, expected) in [
        ("plain", "plain"),
        ("two\rlines\r\nthree\n", "two\nlines\nthree\n"),
        (
            "an \x1b[31mescape\x1b[0m and \x1b[200~ inside",
            "an escape and  inside",
        ),
        ("tmux\x1b[106;5uline", "tmux\nline"),
        ("漢字\tx", "漢字\tx"),
    ] {
        let stream = format!("a\x1b[200~{pasted}\x1b[201~b");
        let expected = [
            InputEvent::Key(KeyPress::char('a')),
            InputEvent::Paste(expected.to_owned()),
            InputEvent::Key(KeyPress::char('b')),
        ];
        assert_eq!(decode(stream.as_bytes()), expected, "{pasted:?}");
    }
}

#[test]
fn large_paste_in_small_chunks_takes_linear_time() {
    let line = "x".repeat(99) + "\r";
    let text = line.repeat(20_000);
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    decoder.feed(b"\x1b[200~", &mut events);
    for chunk in text.as_bytes().chunks(64) {
        decoder.feed(chunk, &mut events);
        assert!(decoder.buffer.len() - decoder.searched == 0);
    }
    assert_eq!(decoder.pending(), PendingInput::Paste);
    decoder.feed(b"\x1b[201~", &mut events);
    assert_eq!(events, [InputEvent::Paste(text.replace('\r', "\n"))]);
    assert_eq!(decoder.buffer.capacity(), 0);
}

#[test]
fn pending_input_depends_on_the_incomplete_sequence() {
    for (bytes, expected) in [
        ("a", PendingInput::Nothing),
        ("\x1b", PendingInput::Escape),
        ("\x1b[", PendingInput::Sequence),
        ("\x1b]11;rgb", PendingInput::Partial),
        ("\x1b[<0;3", PendingInput::Partial),
        ("\x1b[M ", PendingInput::Partial),
        ("\x1b[200~text", PendingInput::Paste),
        ("\x1b[A", PendingInput::Nothing),
    ] {
        let mut decoder = Decoder::default();
        decoder.feed(bytes.as_bytes(), &mut Vec::new());
        assert_eq!(decoder.pending(), expected, "{bytes:?}");
    }
}

/// The events of reads, each of which is followed by a pause.
fn after_pauses(reads: &[&str]) -> Vec<InputEvent> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for read in reads {
        decoder.receive(read.as_bytes(), &mut events);
        if decoder.pending() != PendingInput::Partial {
            decoder.expire(&mut events);
        }
    }
    events
}

#[test]
fn late_rest_of_a_sequence_is_not_typed() {
    let key = |key| InputEvent::Key(key);
    let esc = || key(KeyPress::plain(KeyCode::Esc));
    let open = || key(KeyPress::alt('['));
    for (reads, expected) in [
        (
            &["\x1b", "[A", "x"][..],
            vec![esc(), key(KeyPress::char('x'))],
        ),
        (&["\x1b", "[62;22;52c"], vec![esc()]),
        (&["\x1b", "[?62;2", "2c"], vec![esc()]),
        (&["\x1b", "OA"], vec![esc()]),
        (&["\x1b", "]11;rgb:00/00/00\x1b\\"], vec![esc()]),
        (&["\x1b[", "62;22;52c"], vec![open()]),
        (&["\x1b[", "A"], vec![open()]),
        // The sequence is complete in the end: it is the key or the reply that it is.
        (
            &["\x1b[1;5", "A"],
            vec![key(KeyPress::plain(KeyCode::Up).with(KeyModifiers::CONTROL))],
        ),
        (&["\x1b[M ", "!!"], vec![]),
        // In three parts.
        (
            &["\x1b", "[", "A"],
            vec![esc(), key(KeyPress::char('[')), key(KeyPress::char('A'))],
        ),
        // Text after the key.
        (&["\x1b", "["], vec![esc(), key(KeyPress::char('['))]),
        (&["\x1b", "O"], vec![esc(), key(KeyPress::char('O'))]),
        (
            &["\x1b", "[x]"],
            vec![
                esc(),
                key(KeyPress::char('[')),
                key(KeyPress::char('x')),
                key(KeyPress::char(']')),
            ],
        ),
        (
            &["\x1b", "OK"],
            vec![esc(), key(KeyPress::char('O')), key(KeyPress::char('K'))],
        ),
        (
            &["\x1b", "O", "K"],
            vec![esc(), key(KeyPress::char('O')), key(KeyPress::char('K'))],
        ),
        (
            &["\x1b[", "ab"],
            vec![open(), key(KeyPress::char('a')), key(KeyPress::char('b'))],
        ),
    ] {
        assert_eq!(after_pauses(reads), expected, "{reads:?}");
    }
}

#[test]
fn several_lines_at_once_are_a_paste() {
    let paste = |text: &str| InputEvent::Paste(text.to_owned());
    let enter = || InputEvent::Key(KeyPress::plain(KeyCode::Enter));
    let char = |char| InputEvent::Key(KeyPress::char(char));
    for (reads, expected) in [
        (&["one\rtwo\rthree"][..], vec![paste("one\ntwo\nthree")]),
        (&["one\ntwo\n"], vec![paste("one\ntwo\n")]),
        (
            &["\tif a:\r\n\t\tpass\r\n"],
            vec![paste("\tif a:\n\t\tpass\n")],
        ),
        (
            &["één\rtwee\x1b[A"],
            vec![
                paste("één\ntwee"),
                InputEvent::Key(KeyPress::plain(KeyCode::Up)),
            ],
        ),
        // A line, and two short answers that a slow connection delivered together.
        (&["ok\r"], vec![char('o'), char('k'), enter()]),
        (&["y\rn"], vec![char('y'), enter(), char('n')]),
        (&["\r\r\r"], vec![enter(), enter(), enter()]),
    ] {
        assert_eq!(after_pauses(reads), expected, "{reads:?}");
    }
    // One paste in several reads.
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for read in ["one\rtw", "o\r", "three"] {
        decoder.receive(read.as_bytes(), &mut events);
    }
    assert_eq!(
        (decoder.pending(), &events[..]),
        (PendingInput::Lines, &[][..])
    );
    decoder.expire(&mut events);
    assert_eq!(events, [paste("one\ntwo\nthree")]);
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "\x1b",
        "\x1b[A",
        "\x1b[1;5C",
        "\x1b[99;5u",
        "\x1b[97;1:3u",
        "\x1bOP",
        "\x1b[<0;3;4M",
        "é漢🦀",
        "hello",
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        "\x1b]10;rgb:ff/ff/ff\x07",
        "\x1b[?62;4c",
        "\x1bP>|x\x1b\\",
        "\x1b\x1b[B",
        "\x1b[200~pa\x1b[ste\r\n漢\x1b[201~",
        "\x1b[[B",
        "\x1b[M !!",
        "\x1b[I",
        "\r",
        "\x7f",
        "\x1bx",
        "\x1b\r",
    ];
    prop_oneof![
        8 => proptest::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..6),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_do_not_depend_on_chunk_boundaries(
        pieces in proptest::collection::vec(piece(), 0..12),
        cuts in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let stream = pieces.concat();
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut rest = stream.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            decoder.feed(chunk, &mut events);
            rest = after;
        }
        decoder.expire(&mut events);
        prop_assert_eq!(events, decode(&stream));
    }
}

/// The introducer is held until the rest of its sequence arrives, or until it is a key.
#[test]
fn introducer_after_a_late_escape_waits_for_its_sequence() {
    let esc = InputEvent::Key(KeyPress::plain(KeyCode::Esc));
    let char = |char| InputEvent::Key(KeyPress::char(char));
    for (reads, expected) in [
        (&["[", "A"][..], vec![]),
        (&["O", "B"], vec![]),
        (&["[", "62;22;5", "2c", "x"], vec![char('x')]),
        (&["[", "x"], vec![char('['), char('x')]),
        (&["O", "x"], vec![char('O'), char('x')]),
    ] {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        decoder.receive(b"\x1b", &mut events);
        decoder.expire(&mut events);
        for read in reads {
            decoder.receive(read.as_bytes(), &mut events);
        }
        assert_eq!(events, [vec![esc.clone()], expected].concat(), "{reads:?}");
    }
}

#[test]
fn paste_without_marks_continues_with_a_line_break() {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for read in ["one\rtwo", "\rthree", "\rfour\rfive"] {
        decoder.receive(read.as_bytes(), &mut events);
        decoder.expire(&mut events);
    }
    let paste = |text: &str| InputEvent::Paste(text.to_owned());
    assert_eq!(
        events,
        [paste("one\ntwo"), paste("\nthree"), paste("\nfour\nfive")]
    );
    // Return alone is a key.
    events.clear();
    decoder.receive(b"\r", &mut events);
    assert_eq!(events, [InputEvent::Key(KeyPress::plain(KeyCode::Enter))]);
}

#[test]
fn invisible_characters_of_a_paste_are_shown() {
    let mut events = Vec::new();
    let pasted = "\x1b[200~\u{feff}one\u{200f}two\u{ad}three 👩\u{200d}🦀\x1b[201~";
    Decoder::default().receive(pasted.as_bytes(), &mut events);
    let shown = "one\\u{200f}two\\u{ad}three 👩\u{200d}🦀".to_owned();
    assert_eq!(events, [InputEvent::Paste(shown)]);
}

#[test]
fn separators_of_lines_and_pages_are_line_breaks_in_a_paste() {
    for separator in ["\u{2028}", "\u{2029}", "\u{85}", "\x0b", "\x0c", "\x1e"] {
        let pasted = format!("\x1b[200~one{separator}two\x1b[201~");
        let mut events = Vec::new();
        Decoder::default().receive(pasted.as_bytes(), &mut events);
        assert_eq!(
            events,
            [InputEvent::Paste("one\ntwo".to_owned())],
            "{separator:?}"
        );
    }
}
