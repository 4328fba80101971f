//! Plays inline frames to a terminal with a scrollback: the text of the terminal, the printed rows and the region must all be
//! there, in this order and once.

use std::num::NonZeroU16;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::Style;

use super::super::{Cursor, Features, FrameWriter};

/// A terminal in which a shell has printed rows, and osier's frames.
struct Stage {
    writer: FrameWriter,
    terminal: vt100::Parser,
    size: Size,
    /// The rows that were printed so far.
    printed: Vec<String>,
    live: Vec<String>,
    bytes: usize,
}

impl Stage {
    fn new(width: u16, height: u16, shell: usize) -> Self {
        let cells = |cells| NonZeroU16::new(cells).unwrap();
        let mut terminal = vt100::Parser::new(cells(height), cells(width), 10_000);
        let printed: Vec<String> = (0..shell).map(|row| format!("shell {row}")).collect();
        for row in &printed {
            terminal.process(format!("{row}\r\n").as_bytes());
        }
        let size = Size::new(width, height);
        let features = Features {
            erase_background: false,
            ..Features::default()
        };
        let mut writer = FrameWriter::new(size, features);
        writer.set_inline(true, false);
        Self {
            writer,
            terminal,
            size,
            printed,
            live: Vec::new(),
            bytes: 0,
        }
    }

    /// Draws the region at the top and at the bottom of the canvas, with a gap that is left out.
    fn frame(&mut self, printed: &[String], live: &[String]) {
        let Size { width, height } = self.size;
        let live = &live[..live.len().min(usize::from(height))];
        let mut above = Buffer::empty(Rect::new(0, 0, width, printed.len() as u16));
        for (row, text) in printed.iter().enumerate() {
            above.set_string(0, row as u16, text, Style::new());
        }
        let top = live.len() / 2;
        let gap = height - live.len() as u16;
        let (canvas, _) = self.writer.canvas();
        for (row, text) in live.iter().enumerate() {
            let row = row as u16 + if row < top { 0 } else { gap };
            canvas.set_string(0, row, text, Style::new());
        }
        self.writer.print(above);
        self.writer.leave_out(top as u16..top as u16 + gap);
        let cursor = Cursor::from(Position::new(3, height - 1));
        self.send(Some(cursor));
        self.printed.extend_from_slice(printed);
        self.live = live.to_vec();
    }

    fn send(&mut self, cursor: Option<Cursor>) {
        let mut bytes = Vec::new();
        self.writer.finish(cursor, &mut bytes);
        self.bytes += bytes.len();
        self.terminal.process(&bytes);
    }

    /// Shows a frame on the alternate screen.
    fn overlay(&mut self, text: &str) {
        self.terminal.process(b"\x1b[?1049h");
        self.writer.set_inline(false, false);
        let (canvas, _) = self.writer.canvas();
        canvas.set_string(0, 0, text, Style::new());
        self.send(None);
        let rows: Vec<String> = self.terminal.screen().rows(0, self.size.width).collect();
        assert_eq!(rows[0], text);
        self.terminal.process(b"\x1b[?1049l");
        self.writer.set_inline(true, false);
    }

    /// All rows of the terminal, from the start of its scrollback.
    fn text(&mut self) -> Vec<String> {
        let screen = self.terminal.screen_mut();
        let mut rows = Vec::new();
        for back in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(back);
            rows.extend(screen.rows(0, self.size.width).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, self.size.width));
        let rows = rows.iter().map(|row| row.trim_end().to_owned());
        let mut rows: Vec<String> = rows.collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    fn check(&mut self) -> Result<(), String> {
        let mut expected = self.printed.clone();
        expected.extend_from_slice(&self.live);
        while expected.last().is_some_and(String::is_empty) {
            expected.pop();
        }
        let shown = self.text();
        let (row, _) = self.terminal.screen().cursor_position();
        let above = usize::from(self.writer.rows_above_cursor());
        if shown != expected {
            return Err(format!("expected {expected:#?}, shown {shown:#?}"));
        }
        if !self.live.is_empty() && above + 1 != self.live.len() {
            return Err(format!(
                "the cursor is in row {row} of the screen, {above} of the region"
            ));
        }
        Ok(())
    }
}

fn rows(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|row| format!("{name} {row}")).collect()
}

#[test]
fn printed_rows_scroll_into_the_text_of_the_terminal() {
    let mut stage = Stage::new(40, 8, 3);
    stage.frame(&[], &rows("editor", 3));
    assert_eq!(
        stage.text(),
        [
            "shell 0", "shell 1", "shell 2", "editor 0", "editor 1", "editor 2"
        ]
    );
    stage.check().unwrap();
    // A row at the end of the screen costs a line feed, an inserted row and its text.
    stage.frame(&rows("first", 2), &rows("editor", 3));
    stage.check().unwrap();
    stage.bytes = 0;
    stage.frame(&["one row".to_owned()], &rows("editor", 3));
    stage.check().unwrap();
    assert!(stage.bytes <= 40, "{}", stage.bytes);
    // More rows than a screen has, and a region as high as the screen.
    stage.frame(&rows("many", 30), &rows("list", 8));
    stage.check().unwrap();
    stage.frame(&[], &rows("editor", 2));
    stage.check().unwrap();
    stage.overlay("a list");
    stage.frame(&rows("last", 1), &rows("editor", 3));
    stage.check().unwrap();
    stage.writer.repaint();
    stage.frame(&[], &rows("editor", 3));
    stage.check().unwrap();
    stage.bytes = 0;
    stage.frame(&[], &rows("editor", 3));
    assert_eq!(stage.bytes, 0, "nothing changed");
}

#[test]
fn after_a_resize_only_the_region_is_drawn_again() {
    let mut stage = Stage::new(40, 10, 2);
    stage.frame(&rows("printed", 3), &rows("editor", 4));
    for (width, height) in [(40, 7), (30, 7), (60, 12)] {
        stage.size = Size::new(width, height);
        let cells = |cells| NonZeroU16::new(cells).unwrap();
        stage.terminal.set_size(cells(height), cells(width));
        stage.writer.resize(stage.size);
        stage.frame(&rows("more", 1), &rows("editor", 4));
        stage.check().unwrap();
    }
}

#[test]
fn rows_that_a_narrower_terminal_breaks_are_part_of_the_region() {
    let mut writer = FrameWriter::new(Size::new(40, 10), Features::default());
    writer.set_inline(true, true);
    let (canvas, _) = writer.canvas();
    canvas.set_string(0, 0, "a row of thirty-two columns here", Style::new());
    canvas.set_string(0, 1, "short", Style::new());
    canvas.set_string(0, 2, "typed", Style::new());
    writer.leave_out(3..10);
    let mut bytes = Vec::new();
    let cursor = Cursor::from(Position::new(5, 2));
    writer.finish(Some(cursor), &mut bytes);
    // Two rows above the cursor, one of which needs two rows now.
    writer.resize(Size::new(30, 10));
    writer.canvas();
    writer.leave_out(1..10);
    bytes.clear();
    writer.finish(Some(Cursor::from(Position::ORIGIN)), &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("\r\x1b[3A\x1b[2K\x1b[C\x1b[J\r"), "{text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_row_is_in_the_terminal_once(
        shell in 0_usize..12,
        steps in prop::collection::vec((0_usize..4, 0_usize..14, 1_usize..10, any::<bool>()), 1..30),
    ) {
        let mut stage = Stage::new(30, 9, shell);
        let mut number = 0;
        for (kind, count, height, is_moved) in steps {
            let count = if kind == 0 { count } else { kind - 1 };
            let printed: Vec<String> = (number..number + count).map(|row| format!("row {row}")).collect();
            number += count;
            if kind == 3 {
                stage.overlay("a list");
            }
            let name = if is_moved { format!("live {number}") } else { "live".to_owned() };
            stage.frame(&printed, &rows(&name, height));
            if let Err(error) = stage.check() {
                return Err(TestCaseError::fail(error));
            }
        }
    }
}
