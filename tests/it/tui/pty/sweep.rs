//! An answer that streams, pages, an overlay and another size, in terminals of all kinds: whatever was drawn
//! as a difference is what a full repaint gives.

use super::program::{Answers, Program};
use super::tmux::Tmux;

/// Marks the end of the answer.
const END: &str = "That was all of it.";
const PAGE_UP: &str = "\x1b[5~";
const PAGE_DOWN: &str = "\x1b[6~";
const DOWN: &str = "\x1b[B";
const HELP: &str = "\x1bOP";
const ESCAPE: &str = "\x1b";
/// A look may come between two frames; what is wrong stays wrong.
const LOOKS: usize = 5;
/// So many looks in a row at a screen that rests.
const RESTS: usize = 8;

const DEVICE: (&str, &str) = ("\x1b[c", "\x1b[?62;22c");

/// Kinds of terminals: `TERM`, what they answer.
const KINDS: &[(&str, &str, Answers)] = &[
    ("an emulator that answers nothing", "xterm-256color", &[]),
    (
        "xterm without synchronized output",
        "xterm-256color",
        &[
            ("\x1b[?2026$p", "\x1b[?2026;0$y"),
            ("\x1b[?69$p", "\x1b[?69;0$y"),
            ("\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
            ("\x1b[>q", "\x1bP>|XTerm(390)\x1b\\"),
            DEVICE,
        ],
    ),
    (
        "kitty",
        "xterm-kitty",
        &[
            ("\x1b[?u", "\x1b[?0u"),
            ("\x1b[?2026$p", "\x1b[?2026;2$y"),
            ("\x1b[?69$p", "\x1b[?69;0$y"),
            ("\x1b]11;?", "\x1b]11;rgb:1d1d/1f1f/2121\x1b\\"),
            ("\x1b[>q", "\x1bP>|kitty(0.40.0)\x1b\\"),
            DEVICE,
        ],
    ),
    (
        "tmux with synchronized output",
        "tmux-256color",
        &[
            ("\x1b[?2026$p", "\x1b[?2026;2$y"),
            ("\x1b[>q", "\x1bP>|tmux 3.7\x1b\\"),
            DEVICE,
        ],
    ),
    ("screen", "screen-256color", &[DEVICE]),
    ("the console of Linux", "linux", &[("\x1b[c", "\x1b[?6c")]),
    (
        "a terminal without margins",
        "vt100",
        &[("\x1b[c", "\x1b[?1;2c")],
    ),
];

/// Something that shows a running program.
trait Glass {
    fn keys(&mut self, keys: &str);
    fn resize(&mut self, columns: u16, rows: u16);
    /// The screen with its styles, once it has come to rest.
    fn look(&mut self) -> String;
}

impl Glass for Program {
    fn keys(&mut self, keys: &str) {
        self.write(keys);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        Program::resize(self, columns, rows);
    }

    fn look(&mut self) -> String {
        self.settle();
        self.styled()
    }
}

impl Glass for Tmux {
    fn keys(&mut self, keys: &str) {
        let bytes: Vec<String> = keys.bytes().map(|byte| format!("{byte:x}")).collect();
        let mut arguments = vec!["-H"];
        arguments.extend(bytes.iter().map(String::as_str));
        Tmux::keys(self, &arguments);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.sized(columns, rows);
    }

    fn look(&mut self) -> String {
        let mut shown = self.styled();
        let mut same = 0;
        while same < RESTS {
            let now = self.styled();
            same = if now == shown { same + 1 } else { 0 };
            shown = now;
        }
        shown
    }
}

/// The answer, a piece every few milliseconds: what Markdown has, in cells of all widths.
fn script() -> String {
    let mut text = String::new();
    for section in 0..12 {
        text += &format!(
            "## Part {section} 漢字\n\nProse with **strong words**, `code`, 漢字仮名交じり文 at the margin, emoji 👩‍🔬 🇩🇪 👍🏽, and \
             combining marks e\u{301}a\u{308} that go on for more than one row.\n\n- item one\n- 二番目の項目 which is long \
             enough to be wrapped at the margin of the screen 漢字\n  1. nested\n\n> quoted\n> 引用 lines\n\n| name | 値 |\n|---|--:|\n\
             | a | 漢字 |\n| b 👍 | {section} |\n\n```rust\nlet wide = \"漢字漢字\"; // {section}\n```\n\n"
        );
    }
    text += END;
    let step = serde_json::json!({ "text": text, "chunk": 12, "delayMs": 2 });
    format!(r#"{{"turns": [{{"repeat": true, "steps": [{step}]}}]}}"#)
}

/// Whether what is shown is what a full repaint gives. The size is `columns` by `rows`.
fn is_right(glass: &mut dyn Glass, (columns, rows): (u16, u16)) -> Result<(), String> {
    let before = glass.look();
    glass.resize(columns - 1, rows);
    glass.look();
    glass.resize(columns, rows);
    let after = glass.look();
    if before == after {
        return Ok(());
    }
    Err(format!("drawn:\n{before}\nrepainted:\n{after}"))
}

/// Does `keys` and checks the screen; a fault shows every time.
fn shows_right(name: &str, what: &str, glass: &mut dyn Glass, keys: &[&str], size: (u16, u16)) {
    let mut fault = String::new();
    for _ in 0..LOOKS {
        for key in keys {
            glass.keys(key);
        }
        match is_right(glass, size) {
            Ok(()) => return,
            Err(difference) => fault = difference,
        }
    }
    panic!("{name}: {what}: {fault}");
}

fn sweep(name: &str, glass: &mut dyn Glass) {
    let size = (80, 24);
    shows_right(name, "the end of the answer", glass, &[], size);
    shows_right(name, "a page up", glass, &[PAGE_UP], size);
    shows_right(name, "three pages up", glass, &[PAGE_UP; 3], size);
    shows_right(name, "a page down", glass, &[PAGE_DOWN], size);
    glass.keys(HELP);
    shows_right(name, "a box that scrolls", glass, &[DOWN; 9], size);
    glass.keys(ESCAPE);
    shows_right(name, "what was under the box", glass, &[], size);
    glass.resize(61, 17);
    shows_right(name, "a small screen", glass, &[PAGE_UP], (61, 17));
    glass.resize(80, 24);
    shows_right(name, "the end again", glass, &["\x1b[1;5F"], size);
    shows_right(name, "a typed 漢字", glass, &["字"], size);
}

#[test]
fn what_is_drawn_as_a_difference_is_what_a_repaint_gives() {
    let script = script();
    for (name, term, answers) in KINDS {
        let setup = Program::new().file("s.json", &script).model("s.json");
        let mut program = setup.terminal(term, answers).start();
        program.shows("Ask, or type / for commands");
        program.write("go\r");
        program.shows(END);
        program.hides("esc interrupts");
        sweep(name, &mut program);
        program.write("\x03\x04");
    }
}

#[test]
fn what_tmux_shows_is_what_a_repaint_gives() {
    let Some(mut tmux) = Tmux::start() else {
        eprintln!("skipped: tmux is not installed");
        return;
    };
    tmux.put("s.json", &script());
    tmux.shows("$");
    tmux.keys(&[
        "-l",
        concat!(env!("CARGO_BIN_EXE_osier"), " --model script/s.json"),
    ]);
    tmux.keys(&["Enter"]);
    tmux.shows("Ask, or type / for commands");
    tmux.keys(&["-l", "go"]);
    tmux.keys(&["Enter"]);
    tmux.until("the whole answer", |screen| {
        screen.contains(END) && !screen.contains("esc interrupts")
    });
    sweep("tmux", &mut tmux);
}
