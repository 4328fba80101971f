//! The bytes of frames: their number, and that they produce the drawn screen.

use osier_llm::scripted::{Hold, Script};
use osier_term::frame::{Cursor, Features, FrameWriter};
use osier_term::input::InputEvent;
use osier_term::keymap::parse_key;
use ratatui::layout::Size;

use super::support::{Screen, text_of};

/// A terminal emulator connected to a frame writer.
struct Terminal {
    writer: FrameWriter,
    parser: vt100::Parser,
    /// Bytes of every frame so far.
    bytes: usize,
}

impl Terminal {
    fn new(columns: u16, rows: u16) -> Self {
        let size = Size::new(columns, rows);
        Self {
            writer: FrameWriter::new(size, Features::default()),
            parser: vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0),
            bytes: 0,
        }
    }

    /// Draws a frame and asserts that the terminal shows it. Returns its bytes.
    fn draw(&mut self, screen: &mut Screen) -> usize {
        let (canvas, links) = self.writer.canvas();
        let cursor = screen.app.draw(canvas, links, screen.now);
        let mut out = Vec::new();
        self.writer.finish(cursor.map(Cursor::from), &mut out);
        self.parser.process(&out);
        let drawn = text_of(self.writer.shown());
        let shown: String = self.shown();
        assert_eq!(shown, drawn);
        if let Some(cursor) = cursor {
            assert_eq!(self.parser.screen().cursor_position(), (cursor.y, cursor.x));
        }
        self.bytes += out.len();
        out.len()
    }

    fn shown(&self) -> String {
        let (_, columns) = self.parser.screen().size();
        let rows = self.parser.screen().rows(0, columns.into());
        rows.map(|row| format!("{}\n", row.trim_end())).collect()
    }
}

fn prose(words: usize) -> String {
    (1..=words)
        .map(|word| match word % 40 {
            0 => format!("word{word}.\n\n"),
            _ => format!("word{word} "),
        })
        .collect()
}

#[tokio::test]
async fn streamed_answer_writes_little_more_than_its_text() {
    let gate = Hold::new();
    let text = prose(1500);
    let script = Script::new().turn(|turn| turn.gate(&gate).text(&*text));
    let mut screen = Screen::new(80, 24).script(script).start().await;
    let mut terminal = Terminal::new(80, 24);
    terminal.draw(&mut screen);
    screen.send("go").shows("Working").await;
    terminal.draw(&mut screen);
    terminal.bytes = 0;
    gate.open();
    let mut frames = 0;
    while screen.screen().contains("Working") {
        // As many events per frame as a fast model sends.
        for _ in 0..8 {
            if screen.screen().contains("Working") {
                screen.next_event().await;
            }
        }
        terminal.draw(&mut screen);
        frames += 1;
    }
    assert!(frames > 1);
    assert!(
        terminal.bytes < text.len() * 4,
        "{} bytes in {frames} frames for {} bytes of text",
        terminal.bytes,
        text.len()
    );
}

#[tokio::test]
async fn unchanged_frame_writes_nothing_and_a_key_writes_a_cell() {
    let mut screen = Screen::new(80, 24).start().await;
    let mut terminal = Terminal::new(80, 24);
    assert!(terminal.draw(&mut screen) > 100);
    assert_eq!(terminal.draw(&mut screen), 0);
    screen.type_text("a");
    terminal.draw(&mut screen);
    screen.type_text("b");
    let bytes = terminal.draw(&mut screen);
    assert!((1..=12).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn scrolling_writes_only_new_rows() {
    let lines: String = (1..=200)
        .map(|line| format!("a line with the number {line}\n\n"))
        .collect();
    let mut screen = Screen::new(80, 24)
        .script(Script::always(&lines))
        .start()
        .await;
    screen.send("go").settled().await;
    let mut terminal = Terminal::new(80, 24);
    let full = terminal.draw(&mut screen);
    screen.press("shift+up");
    terminal.draw(&mut screen);
    screen.press("shift+up shift+up");
    let bytes = terminal.draw(&mut screen);
    assert!(bytes < 120 && bytes * 5 < full, "{bytes} of {full}");
}

#[tokio::test]
async fn replies_of_the_terminal_draw_nothing() {
    use osier_term::input::TerminalReply;
    let mut screen = Screen::new(80, 24).start().await;
    screen.app.take_dirty();
    let reply = InputEvent::Reply(TerminalReply::DeviceAttributes(Vec::new()));
    let now = screen.now;
    screen.app.on_input(reply, now);
    assert!(!screen.app.take_dirty());
    screen
        .app
        .on_input(InputEvent::Key(parse_key("a").unwrap()), now);
    assert!(screen.app.take_dirty());
}
