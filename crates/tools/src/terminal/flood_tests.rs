//! Skipping output changes nothing that a user can see.

use osier_base::process::PtySize;
use proptest::prelude::*;

use super::emulator::Emulator;
use super::output::TerminalOutput;

const SIZE: PtySize = PtySize {
    rows: 5,
    columns: 12,
};

/// Everything of a terminal that can be seen, also later.
fn state(emulator: &mut Emulator) -> String {
    let before = emulator.formatted();
    let rows = emulator.new_rows(0, usize::MAX);
    // The last character again, then the style, then the rows above the screen.
    emulator.process(b"\x1b[2bx\x1b7\r\n\x1b8y");
    let after = emulator.formatted();
    emulator.resize(PtySize {
        rows: 9,
        columns: 14,
    });
    format!(
        "{before:?}\n{rows:?}\n{after:?}\n{:?}",
        emulator.formatted()
    )
}

/// Checks that output in chunks of these sizes, with a screen now and then, shows what plain emulation shows.
/// Returns whether some of it was skipped.
fn check(output: &[u8], sizes: &[usize]) -> bool {
    let mut plain = Emulator::new(SIZE);
    plain.process(output);
    let mut shown = TerminalOutput::new(SIZE);
    let (mut rest, mut number) = (output, 0);
    while !rest.is_empty() {
        let size = sizes[number % sizes.len()].clamp(1, rest.len());
        number += 1;
        let (chunk, later) = rest.split_at(size);
        shown.add(chunk);
        if number % 7 == 0 {
            shown.compact();
        }
        if number % 31 == 0 {
            shown.screen();
        }
        rest = later;
    }
    let skipped = shown.skipped();
    let shown = shown.emulator();
    assert_eq!(state(shown), state(&mut plain));
    skipped > 0
}

/// Lines that are skipped if there are many of them.
const SIMPLE: [&str; 22] = [
    "\r\n",
    "one\r\n",
    "twelve chars\r\n",
    "a line that is longer than the screen\r\n",
    "\x1b[31mred\x1b[m and \x1b[1;38;5;200mpink\x1b[0m\r\n",
    "\x1b[4munderlined from here\r\n",
    "\x1b[Kcleared\x1b[1K\r\n",
    "日本語の行がここにあります\r\n",
    "half a wide one 日\r\n",
    "e\u{301}\u{302} combined \u{200d}\r\n",
    "\u{26a0}\u{fe0f} wide later \u{26a0}\u{fe0f}\u{26a0}\u{fe0f}\u{26a0}\u{fe0f}\r\n",
    "progress 10%\rprogress 20%\rdone\r\n",
    "tab\ttab\ttab\r\n",
    "back\x08\x08\x08ward\x07\r\n",
    "form\x0cfeed\x0b\r\n",
    "only a feed\n",
    "\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\r\n",
    "\x1b(B\x0e\x0f\x7f\u{85}\u{fffd}\r\n",
    "123456789012\r\n",
    "12345678901日\r\n",
    "1234567890日x\r\n",
    "no end",
];

/// Sequences after which something else is shown.
const OTHER: [&str; 24] = [
    "\x1b[2;4r",
    "\x1b[r",
    "\x1b[3;4Hmoved",
    "\x1b[2A",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[2J\x1b[H",
    "\x1b[3J",
    "\x1bM",
    "\x1b7",
    "\x1b8",
    "\x1bc",
    "\x1b[?6h",
    "\x1b[?6l",
    "\x1b[?2004h",
    "\x1b[?1h\x1b=",
    "\x1b[6n\x1b[c",
    "\x1b[5L",
    "\x1bPq text \r\n in a string\r\n\x1b\\",
    "\x1b]2;never\r\nended\r\n",
    "\x1b[3",
    "\x1b",
    "\x18",
    "\x1b[5S",
];

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(SIMPLE[1].to_owned()),
        "[ -~]{100}",
        proptest::sample::select(&SIMPLE[..]).prop_map(str::to_owned),
        "[ -~]{0,30}\r\n",
    ]
}

/// Many lines that repeat a few, and what comes before them.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let other = proptest::collection::vec(proptest::sample::select(&OTHER[..]), 0..3);
    let lines = proptest::collection::vec(line(), 1..12);
    let cut = proptest::option::weighted(0.1, any::<u8>());
    (other, lines, 0_usize..300, cut).prop_map(|(other, lines, times, cut)| {
        let mut part = other.concat().into_bytes();
        part.extend(lines.concat().repeat(times).bytes());
        part.extend(cut);
        part
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn skipping_changes_nothing(
        parts in proptest::collection::vec(part(), 1..4),
        sizes in proptest::collection::vec(prop_oneof![1_usize..200, 1000_usize..70_000], 1..8),
    ) {
        check(&parts.concat(), &sizes);
    }
}

#[test]
fn floods_are_skipped() {
    for line in SIMPLE {
        if line.ends_with("\r\n") {
            assert!(
                check(
                    &line.repeat(1500 + 40_000 / line.len()).into_bytes(),
                    &[4095]
                ),
                "{line}"
            );
        }
    }
    for before in [
        "",
        "\r\n",
        "five ",
        "twelve chars",
        "日本語日本語",
        "\x1b[5;9H",
    ] {
        let line = before.to_owned() + &"one long line, ".repeat(6000);
        for after in ["\r\nend", "\x1b[2Aup"] {
            assert!(
                check((line.clone() + after).as_bytes(), &[4095]),
                "{before}"
            );
        }
    }
    let mixed = SIMPLE[..21].concat().repeat(200);
    assert!(check(mixed.as_bytes(), &[4095]));
}

#[test]
fn margins_and_other_screens_stay() {
    let flood = "a line of the flood\r\n".repeat(2500);
    for (number, before) in OTHER.iter().enumerate() {
        let after = OTHER[(number * 7 + 3) % OTHER.len()];
        let output = [*before, &flood, after, "text\r\n", &flood, "end"].concat();
        check(output.as_bytes(), &[60_000]);
    }
}

#[test]
fn every_line_of_a_flood_is_searched() {
    let mut shown = TerminalOutput::new(SIZE);
    let search = shown.search(regex::Regex::new("^needle \\d$").unwrap());
    let secret = shown.search(regex::Regex::new("hunter2").unwrap());
    shown.secrets.add(b"hunter2\r");
    let hay = "some hay for it\r\n".repeat(3000);
    for line in ["\x1b[31mnee\x1b[mdle 7\r\n", "hunter2\r\n", "needle 8\r\n"] {
        shown.add([hay.as_str(), line, &hay].concat().as_bytes());
    }
    shown.compact();
    assert!(shown.skipped() > 100_000, "{}", shown.skipped());
    assert_eq!(search.found().as_deref(), Some("needle 7"));
    assert_eq!(secret.found(), None);
}
