//! A streaming answer, paging, an overlay and a resize in terminals of all kinds: incremental frames must give the
//! same screen as a full repaint.

use super::program::{Answers, Program};
use super::tmux::Tmux;

/// Marks the end of the answer.
const END: &str = "That was all of it.";
const PAGE_UP: &str = "\x1b[5~";
const PAGE_DOWN: &str = "\x1b[6~";
const HELP: &str = "\x1bOP";
const ESCAPE: &str = "\x1b";
/// The title of the box with the keys. Its corners depend on the font.
const BOX: &str = "─ Keyboard shortcuts ─";
/// A character that is not on the screen until it is typed.
const MARK: &str = "^";
const ERASE: &str = "\x7f";
/// The name of the model, at the end of the last row. Narrow footers leave out its provider.
const MODEL: &str = "s.json";
/// The number of comparisons: highlighting may finish between two of them, but a wrong frame is wrong every time.
const COMPARISONS: usize = 5;

/// The name of the kind that runs in mosh.
const MOSH: &str = "mosh";

const DEVICE: (&str, &str) = ("\x1b[c", "\x1b[?62;22c");

/// Kinds of terminals: `TERM` and replies.
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
    ("an old xterm", "xterm", &[("\x1b[c", "\x1b[?1;2c")]),
    (MOSH, "xterm-256color", super::mosh::ANSWERS),
    ("the console of Linux", "linux", &[("\x1b[c", "\x1b[?6c")]),
    (
        "a terminal without margins",
        "vt100",
        &[("\x1b[c", "\x1b[?1;2c")],
    ),
];

/// A terminal that shows a running program.
trait Glass {
    fn keys(&mut self, keys: &str);
    fn resize(&mut self, columns: u16, rows: u16);
    fn text(&self) -> String;
    /// The visible screen with styles.
    fn seen(&self) -> String;
    /// Waits until `done` accepts the text of the screen.
    fn until(&mut self, what: &str, done: &dyn Fn(&str) -> bool);
}

impl Glass for Program {
    fn keys(&mut self, keys: &str) {
        self.write(keys);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        Program::resize(self, columns, rows);
    }

    fn text(&self) -> String {
        self.screen()
    }

    fn seen(&self) -> String {
        Program::seen(self)
    }

    fn until(&mut self, what: &str, done: &dyn Fn(&str) -> bool) {
        Program::until(self, what, done);
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

    fn text(&self) -> String {
        self.screen()
    }

    fn seen(&self) -> String {
        Tmux::seen(self)
    }

    fn until(&mut self, what: &str, done: &dyn Fn(&str) -> bool) {
        Tmux::until(self, what, done);
    }
}

/// The answer, one delta every few milliseconds: all kinds of Markdown in characters of all widths.
fn script() -> String {
    let section = |section: usize| {
        format!(
            "## Part {section} 漢字\n\nProse with **strong words**, `code`, 漢字仮名交じり文 at a margin, emoji 👩‍🔬 🇩🇪 👍🏽, and \
             combining marks e\u{301}a\u{308} that go on for more than one row.\n\n- item one\n- 二番目の項目 which is long \
             enough to be wrapped at the margin of the screen 漢字\n  1. nested\n\n> quoted\n> 引用 lines\n\n| name | 値 |\n|---|--:|\n\
             | a | 漢字 |\n| b 👍 | {section} |\n\n```rust\nlet wide = \"漢字漢字\"; // {section}\n```\n\n"
        )
    };
    let sections: Vec<String> = (0..12).map(section).collect();
    let mut text = sections.concat();
    text += END;
    let step = serde_json::json!({ "text": text, "chunk": 12, "delayMs": 2 });
    format!(r#"{{"turns": [{{"repeat": true, "steps": [{step}]}}]}}"#)
}

/// Resizes and waits for the complete frame: the last row, which is written last, is as wide as the screen. A column of
/// the panel follows its text.
fn resized(glass: &mut dyn Glass, (columns, rows): (u16, u16)) {
    glass.resize(columns, rows);
    glass.until(&format!("{columns} columns"), &|screen| {
        let last = screen.lines().rfind(|line| !line.is_empty());
        last.is_some_and(|line| {
            line.ends_with(MODEL) && line.chars().count() + 1 == usize::from(columns)
        })
    });
}

/// Waits until earlier actions are drawn: keys are handled in order.
fn drawn(glass: &mut dyn Glass) {
    glass.keys(MARK);
    glass.until("the mark", &|screen| screen.contains(MARK));
    glass.keys(ERASE);
    glass.until("no mark", &|screen| !screen.contains(MARK));
}

/// Runs an action `COMPARISONS` times and compares the screen with a full repaint.
fn shows_right(
    name: &str,
    what: &str,
    glass: &mut dyn Glass,
    size @ (columns, rows): (u16, u16),
    act: &dyn Fn(&mut dyn Glass),
) {
    let mut fault = String::new();
    for _ in 0..COMPARISONS {
        act(glass);
        let before = glass.seen();
        resized(glass, (columns - 1, rows));
        resized(glass, size);
        let after = glass.seen();
        if before == after {
            return;
        }
        fault = format!("drawn:\n{before}\nrepainted:\n{after}");
    }
    panic!("{name}: {what}: {fault}");
}

/// Keys for the conversation.
fn pressed(keys: &'static [&'static str]) -> impl Fn(&mut dyn Glass) {
    move |glass| {
        for key in keys {
            glass.keys(key);
        }
        drawn(glass);
    }
}

/// The first item of the list of keys.
fn first_item(screen: &str) -> Option<&str> {
    let mut below = screen.lines().skip_while(|line| !line.contains(BOX));
    below.nth(3)
}

/// Scrolls the list of keys.
fn scrolled(glass: &mut dyn Glass) {
    let before = glass.text();
    glass.keys(PAGE_DOWN);
    glass.keys(PAGE_DOWN);
    glass.until("the next items", &|screen| {
        first_item(screen) != first_item(&before)
    });
}

fn sweep(name: &str, glass: &mut dyn Glass) {
    const SIZE: (u16, u16) = (80, 24);
    const SMALL: (u16, u16) = (61, 17);
    resized(glass, SIZE);
    for (what, keys) in [
        ("the end of the answer", &[][..]),
        ("a page up", &[PAGE_UP]),
        ("three pages up", &[PAGE_UP, PAGE_UP, PAGE_UP]),
        ("a page down", &[PAGE_DOWN]),
    ] {
        shows_right(name, what, glass, SIZE, &pressed(keys));
    }
    glass.keys(HELP);
    glass.until("the page", &|screen| screen.contains("all keys"));
    glass.keys(HELP);
    glass.until("the box", &|screen| screen.contains(BOX));
    shows_right(name, "a box that scrolls", glass, SIZE, &scrolled);
    glass.keys(ESCAPE);
    glass.until("no box", &|screen| !screen.contains(BOX));
    shows_right(name, "what was under the box", glass, SIZE, &pressed(&[]));
    resized(glass, SMALL);
    shows_right(name, "a small screen", glass, SMALL, &pressed(&[PAGE_UP]));
    resized(glass, SIZE);
    shows_right(name, "the end again", glass, SIZE, &pressed(&["\x1b[1;5F"]));
    shows_right(name, "a typed 漢字", glass, SIZE, &pressed(&["字"]));
}

#[test]
fn incremental_frames_equal_a_full_repaint() {
    let script = script();
    for (name, term, answers) in KINDS {
        let setup = Program::new().file("s.json", &script).model("s.json");
        let setup = setup.terminal(term, answers);
        let setup = if *name == MOSH {
            setup.through_mosh()
        } else {
            setup
        };
        let mut program = setup.start();
        program.shows("Ask, or type / for commands");
        program.write("go\r");
        program.shows(END);
        program.hides("esc to interrupt");
        sweep(name, &mut program);
        program.write("\x03\x04");
    }
}

#[test]
fn incremental_frames_equal_a_full_repaint_in_tmux() {
    let Some(mut tmux) = Tmux::start() else {
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
        screen.contains(END) && !screen.contains("esc to interrupt")
    });
    sweep("tmux", &mut tmux);
}
