//! Measures the libraries of `docs/libraries.md` on the inputs of that page.
//!
//! ```text
//! cargo run --manifest-path benches/libraries/Cargo.toml
//! ```

mod frames;
mod reader;

use std::time::{Duration, Instant};

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::widgets::Widget as _;

/// The time of a repeated step, on average.
fn average(times: u32, mut step: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        step();
    }
    start.elapsed() / times
}

/// What both text areas do with a grapheme cluster, and with a paste of 20,000 lines.
macro_rules! text_area {
    ($name:literal, $library:ident) => {{
        use $library::{TextArea, WrapMode};
        for text in ["a👨‍👩‍👧", "🇩🇪🇫🇷"] {
            let mut area = TextArea::default();
            area.insert_str(text);
            area.delete_char();
            println!(
                "{}: backspace after {text} leaves {:?}",
                $name,
                area.lines()
            );
        }
        let line = "a line of about forty characters of text";
        let mut area = TextArea::new(vec![line.to_owned(); 20_000]);
        area.set_wrap_mode(WrapMode::Word);
        let screen = Rect::new(0, 0, 80, 24);
        let draw = |area: &TextArea<'_>| (area).render(screen, &mut Buffer::empty(screen));
        draw(&area);
        let key = average(21, || {
            area.insert_char('x');
            draw(&area);
        });
        let undo = average(1, || {
            for _ in 0..21 {
                area.undo();
                draw(&area);
            }
        });
        println!(
            "{}: a key in 20,000 wrapped lines takes {key:.1?}, undo of 21 keys {undo:.1?}",
            $name
        );
    }};
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|argument| argument == reader::CHILD) {
        return Ok(reader::child()?);
    }
    text_area!("tui-textarea-2", tui_textarea);
    text_area!("ratatui-textarea", ratatui_textarea);
    frames::measure()?;
    reader::measure()
}
