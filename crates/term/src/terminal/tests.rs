use std::io::{Read, Write};

use portable_pty::{MasterPty, PtySize, native_pty_system};

use super::*;
use crate::input::KeyPress;

/// A pseudo-terminal with osier on the slave side.
struct Pty {
    master: Box<dyn MasterPty + Send>,
    screen: Box<dyn Read + Send>,
    keyboard: Box<dyn Write + Send>,
    slave: File,
    _keep: Box<dyn portable_pty::SlavePty + Send>,
}

impl Pty {
    fn open() -> Self {
        let size = PtySize {
            rows: 30,
            cols: 100,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let slave = File::options()
            .read(true)
            .write(true)
            .open(pair.master.tty_name().unwrap())
            .unwrap();
        Self {
            screen: pair.master.try_clone_reader().unwrap(),
            keyboard: pair.master.take_writer().unwrap(),
            master: pair.master,
            slave,
            _keep: pair.slave,
        }
    }

    fn enter(&self, kind: TerminalKind) -> (Terminal, UnboundedReceiver<InputEvent>) {
        let input = OwnedFd::from(self.slave.try_clone().unwrap());
        let output = self.slave.try_clone().unwrap();
        let options = TerminalOptions::default();
        Terminal::enter_on(input, output, kind, options).unwrap()
    }

    /// Reads the output up to and including `end`.
    fn written_until(&mut self, end: &str) -> String {
        let mut text = String::new();
        let mut bytes = [0; 1024];
        while !text.contains(end) {
            let count = self.screen.read(&mut bytes).unwrap();
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        text
    }

    fn is_raw(&self) -> bool {
        let termios = rustix::termios::tcgetattr(&self.slave).unwrap();
        !termios
            .local_modes
            .contains(rustix::termios::LocalModes::ICANON)
    }
}

#[tokio::test]
async fn terminal_is_entered_queried_and_restored() {
    let mut pty = Pty::open();
    assert!(!pty.is_raw());
    let (mut terminal, mut events) = pty.enter(TerminalKind::default());
    assert!(pty.is_raw());
    assert_eq!(terminal.size(), Size::new(100, 30));
    let entered = pty.written_until("\x1b[c");
    assert!(
        entered.contains("\x1b[?1049h") && entered.contains("\x1b[?u"),
        "{entered:?}"
    );

    let answers = "x\x1b[?0u\x1b[?2026;2$y\x1b[?69;2$y\x1bP>|kitty(0.40)\x1b\\\x1b[?62c";
    pty.keyboard.write_all(answers.as_bytes()).unwrap();
    let mut replies = 0;
    while !terminal.is_answered() {
        match events.recv().await.unwrap() {
            InputEvent::Reply(reply) => {
                replies += 1;
                terminal.on_reply(&reply);
            }
            event => assert_eq!(event, InputEvent::Key(KeyPress::char('x'))),
        }
    }
    assert_eq!(replies, 5);
    let features = terminal.features();
    assert!(features.synchronized && features.repeat && features.erase_background);
    assert!(features.side_margins);
    assert!(pty.written_until("\x1b[>5u").ends_with("\x1b[>5u"));

    // During an external editor the terminal is restored, afterwards it is raw again.
    let raw = terminal.with_released(|| pty.is_raw()).unwrap();
    assert!(!raw);
    assert!(pty.is_raw());
    let left = pty.written_until("\x1b[>5u");
    assert!(
        left.contains("\x1b[<u") && left.contains("\x1b[?1049l"),
        "{left:?}"
    );
    let fences = left.matches("\x1b[c").count();
    assert_eq!(fences, 1, "queried again: {left:?}");

    assert_eq!(terminal.leave(), [""; 0]);
    assert!(!pty.is_raw());
    let left = pty.written_until("\x1b[23;2t");
    assert_eq!(left.matches("\x1b[?1049l").count(), 1);
    assert_eq!(events.recv().await, None);
    drop(pty.master);
}

#[tokio::test]
async fn late_replies_are_not_left_for_the_shell() {
    let mut pty = Pty::open();
    let (terminal, _events) = pty.enter(TerminalKind::default());
    pty.written_until("\x1b[c");
    let restore = Arc::clone(&terminal.restore);
    // A key on the way, and the replies to the first queries.
    let answers = std::thread::spawn(move || {
        pty.written_until("\x1b[23;2t");
        for late in ["x", "\x1b]11;rgb:0/0/0\x1b\\", "\x1b[?62c"] {
            pty.keyboard.write_all(late.as_bytes()).unwrap();
        }
        pty
    });
    terminal.leave();
    let pty = answers.join().unwrap();
    assert!(!restore.is_active());
    let waiting = rustix::io::ioctl_fionread(&pty.slave).unwrap();
    assert_eq!(waiting, 0);
}

#[test]
fn extreme_sizes_are_drawn_in_part() {
    for (columns, rows, expected) in [
        (80, 24, Size::new(80, 24)),
        (800, 500, Size::new(800, 500)),
        (u16::MAX, 24, Size::new(2_000, 24)),
        (u16::MAX, u16::MAX, Size::new(2_000, 200)),
        (1, u16::MAX, Size::new(1, u16::MAX)),
    ] {
        assert_eq!(drawable(columns, rows), expected);
    }
}
