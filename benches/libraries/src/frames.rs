//! Bytes that ratatui's `Terminal` writes to the terminal.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

/// A terminal that counts bytes.
#[derive(Clone, Default)]
struct Counter(Rc<Cell<usize>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A list of 30 rows and 100 columns: without changes, with one changed cell, and scrolled by a row.
pub fn measure() -> io::Result<()> {
    let counter = Counter::default();
    let options = TerminalOptions {
        viewport: Viewport::Fixed(Rect::new(0, 0, 100, 30)),
    };
    let backend = CrosstermBackend::new(counter.clone());
    let mut terminal = Terminal::with_options(backend, options)?;
    let mut bytes = |first: u16, mark: &str| {
        let before = counter.0.get();
        terminal.draw(|frame| {
            for row in 0..30 {
                let line = format!(
                    "{:>4}  src/file_{}.rs  {mark}",
                    first + row,
                    (first + row) * 7
                );
                frame
                    .buffer_mut()
                    .set_string(0, row, line, ratatui::style::Style::new());
            }
        })?;
        io::Result::Ok(counter.0.get() - before)
    };
    bytes(0, "a")?;
    let unchanged = bytes(0, "a")?;
    let scrolled = bytes(1, "a")?;
    let before = counter.0.get();
    terminal.draw(|frame| {
        for row in 0..30 {
            let mark = if row == 4 { "b" } else { "a" };
            let line = format!("{:>4}  src/file_{}.rs  {mark}", 1 + row, (1 + row) * 7);
            frame
                .buffer_mut()
                .set_string(0, row, line, ratatui::style::Style::new());
        }
    })?;
    let cell = counter.0.get() - before;
    println!(
        "ratatui Terminal: {unchanged} bytes for a frame without changes, {cell} for one cell, {scrolled} for a row of scrolling"
    );
    Ok(())
}
