//! Plays frames to an independent terminal emulator, which must then show exactly the drawn cells.
//! Pins the byte counts of typical frames.

mod emulator;
mod inline;
mod multiplexers;
mod random_edits;
mod slow_connection;

use std::num::NonZeroU16;

use proptest::prelude::*;
use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier, Style};

use super::*;

/// A terminal and its frame writer.
struct Stage {
    writer: FrameWriter,
    terminal: vt100::Parser,
    bytes: Vec<u8>,
}

impl Stage {
    fn new(width: u16, height: u16, features: Features) -> Self {
        let size = |cells| NonZeroU16::new(cells).unwrap();
        Self {
            writer: FrameWriter::new(Size::new(width, height), features),
            terminal: vt100::Parser::new(size(height), size(width), 0),
            bytes: Vec::new(),
        }
    }

    /// Draws a frame; returns its number of bytes.
    fn frame(&mut self, cursor: Option<(u16, u16)>, draw: impl FnOnce(&mut Buffer)) -> usize {
        draw(self.writer.canvas().0);
        self.bytes.clear();
        let cursor = cursor.map(|(x, y)| Cursor::from(Position::new(x, y)));
        self.writer.finish(cursor, &mut self.bytes);
        self.terminal.process(&self.bytes);
        self.bytes.len()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace('\x1b', "^")
    }

    /// Compares the emulator's screen with the cells of the last frame.
    fn check(&self) -> Result<(), String> {
        self.check_where(|_| true)
    }

    /// Like `check`, for the emulator cells that `is_known` accepts.
    fn check_where(&self, is_known: impl Fn(&vt100::Cell) -> bool) -> Result<(), String> {
        let buffer = self.writer.shown();
        let width = usize::from(buffer.area.width);
        for (y, row) in buffer.content.chunks(width).enumerate() {
            let mut x = 0;
            while x < width {
                let (symbol, columns) = glyph::glyph(row, x);
                let shown = self.terminal.screen().cell(y as u16, x as u16).unwrap();
                let expected = appearance(&row[x], symbol);
                let actual = captured_appearance(shown);
                if expected != actual && (is_known(shown) || expected.0 != " ") {
                    return Err(format!(
                        "({x},{y}): expected {expected:?}, shown {actual:?}"
                    ));
                }
                x += columns;
            }
        }
        Ok(())
    }
}

type Appearance = (String, vt100::Color, vt100::Color, [bool; 5]);

fn normal(symbol: &str, fg: vt100::Color, bg: vt100::Color, flags: [bool; 5]) -> Appearance {
    let [_, _, _, underline, inverse] = flags;
    let blank = symbol.is_empty() || symbol == " ";
    if blank && !underline && !inverse {
        return (" ".into(), vt100::Color::Default, bg, [false; 5]);
    }
    let symbol = if blank { " " } else { symbol };
    (symbol.into(), fg, bg, flags)
}

fn appearance(cell: &Cell, symbol: &str) -> Appearance {
    let has = |modifier| cell.modifier.contains(modifier);
    let flags = [
        has(Modifier::BOLD),
        has(Modifier::DIM),
        has(Modifier::ITALIC),
        has(Modifier::UNDERLINED),
        has(Modifier::REVERSED),
    ];
    normal(symbol, colour(cell.fg), colour(cell.bg), flags)
}

fn captured_appearance(cell: &vt100::Cell) -> Appearance {
    let flags = [
        cell.bold(),
        cell.dim(),
        cell.italic(),
        cell.underline(),
        cell.inverse(),
    ];
    normal(cell.contents(), cell.fgcolor(), cell.bgcolor(), flags)
}

fn colour(colour: Color) -> vt100::Color {
    match colour {
        Color::Reset => vt100::Color::Default,
        Color::Indexed(index) => vt100::Color::Idx(index),
        Color::Rgb(red, green, blue) => vt100::Color::Rgb(red, green, blue),
        named => vt100::Color::Idx(rendition::ansi_number(named).unwrap()),
    }
}

#[derive(Debug, Clone)]
enum Edit {
    Write(u16, u16, String, Style),
    Clear(u16, u16, u16),
    Fill(u16, Style),
    Move(u16, u16, i16),
    Paste(u16, String),
}

const WIDTH: u16 = 24;
const HEIGHT: u16 = 12;

fn style() -> impl Strategy<Value = Style> {
    let colours = prop_oneof![
        6 => Just(Color::Reset),
        2 => Just(Color::Red),
        1 => Just(Color::LightBlue),
        1 => Just(Color::Indexed(200)),
        1 => Just(Color::from_u32(0x0012_3456)),
    ];
    let modifiers = prop_oneof![
        4 => Just(Modifier::empty()),
        1 => Just(Modifier::BOLD),
        1 => Just(Modifier::DIM),
        1 => Just(Modifier::ITALIC | Modifier::UNDERLINED),
        1 => Just(Modifier::REVERSED | Modifier::BOLD),
    ];
    (colours.clone(), colours, modifiers).prop_map(|(fg, bg, modifier)| {
        // The emulator supports bold or dim, not both.
        let weight = Modifier::BOLD | Modifier::DIM;
        Style::new()
            .fg(fg)
            .bg(bg)
            .remove_modifier(weight)
            .add_modifier(modifier)
    })
}

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-e ]{1,6}",
        1 => Just("漢字".to_owned()),
        1 => Just("e\u{301}".to_owned()),
        1 => Just("🦀".to_owned()),
        1 => Just("────────────".to_owned()),
        1 => Just("------------".to_owned()),
    ];
    proptest::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (0..WIDTH, 0..HEIGHT, text(), style())
            .prop_map(|(x, y, text, style)| Edit::Write(x, y, text, style)),
        1 => (0..WIDTH, 0..HEIGHT, 1..WIDTH).prop_map(|(x, y, count)| Edit::Clear(x, y, count)),
        1 => (0..HEIGHT, style()).prop_map(|(y, style)| Edit::Fill(y, style)),
        4 => (0..HEIGHT, 1..=HEIGHT, -5..=5_i16)
            .prop_map(|(top, height, rows)| Edit::Move(top, height, rows)),
        1 => (0..HEIGHT, text()).prop_map(|(y, text)| Edit::Paste(y, text)),
    ]
}

fn apply(edit: &Edit, model: &mut Buffer) {
    let Size { width, height } = model.area.as_size();
    match edit {
        Edit::Write(x, y, text, style) => {
            model.set_string(*x, *y, text, *style);
        }
        Edit::Clear(x, y, count) => {
            for column in *x..(*x + *count).min(width) {
                model[(column, *y)].reset();
            }
        }
        Edit::Fill(y, style) => {
            for column in 0..width {
                model[(column, *y)].set_style(*style);
            }
        }
        Edit::Move(top, count, rows) => {
            let bottom = (top + count).min(height);
            let width = usize::from(width);
            let cells = &mut model.content[usize::from(*top) * width..usize::from(bottom) * width];
            let by = usize::from(rows.unsigned_abs()) * width % cells.len().max(1);
            if *rows > 0 {
                cells.rotate_left(by);
            } else {
                cells.rotate_right(by);
            }
        }
        Edit::Paste(y, text) => {
            for row in *y..height {
                model.set_string(0, row, format!("{row} {text}"), Style::new());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn terminal_shows_the_drawn_cells(
        frames in proptest::collection::vec(proptest::collection::vec(edit(), 1..5), 1..12),
        repeat: bool,
        margins: bool,
        erase_background: bool,
    ) {
        let features = Features { margins, repeat, erase_background, ..Features::default() };
        let mut stage = Stage::new(WIDTH, HEIGHT, features);
        let mut model = Buffer::empty(stage.writer.drawn().area);
        for (number, edits) in frames.iter().enumerate() {
            for edit in edits {
                apply(edit, &mut model);
            }
            let cursor = (number % 3 != 0).then_some((number as u16 % WIDTH, number as u16 % HEIGHT));
            stage.frame(cursor, |buffer| buffer.clone_from(&model));
            if let Err(fault) = stage.check() {
                return Err(TestCaseError::fail(format!("{fault} after {}", stage.text())));
            }
            let screen = stage.terminal.screen();
            prop_assert_eq!(screen.hide_cursor(), cursor.is_none());
            if let Some((x, y)) = cursor {
                prop_assert_eq!(screen.cursor_position(), (y, x));
            }
            prop_assert_eq!(stage.frame(cursor, |buffer| buffer.clone_from(&model)), 0);
        }
    }
}

#[test]
fn cursor_inside_a_wide_glyph_keeps_the_glyph() {
    let mut stage = Stage::new(WIDTH, HEIGHT, Features::default());
    let draw = |after: &'static str| {
        move |buffer: &mut Buffer| {
            buffer.set_string(3, 4, "🦀", Style::new());
            buffer.set_string(5, 4, after, Style::new());
        }
    };
    stage.frame(Some((4, 4)), draw(""));
    stage.frame(Some((4, 4)), draw("a"));
    assert_eq!(stage.check(), Ok(()));
}

/// A 120x40 screen of the application: transcript, status, editor, footer.
fn draw_screen(buffer: &mut Buffer, lines: &[String], spinner: &str, prompt: &str) {
    let first = lines.len().saturating_sub(36);
    for (row, line) in lines[first..].iter().enumerate() {
        buffer.set_string(0, row as u16, line, Style::new());
    }
    buffer.set_string(0, 36, spinner, Style::new().fg(Color::Cyan));
    buffer.set_string(2, 36, "Working", Style::new());
    buffer.set_string(0, 37, "─".repeat(120), Style::new().fg(Color::DarkGray));
    buffer.set_string(0, 38, format!("> {prompt}"), Style::new());
    buffer.set_string(
        0,
        39,
        "~/work (main)  demo/tour",
        Style::new().fg(Color::DarkGray),
    );
}

fn answer(count: usize) -> Vec<String> {
    let words = [
        "osier", "willow", "branches", "cut", "woven", "basket", "rods",
    ];
    (0..count)
        .map(|line| {
            let words = (0..17).map(|word| words[(line * 3 + word * (line % 5 + 1)) % words.len()]);
            let text: String = words.flat_map(|word| [word, " "]).collect();
            text.chars().take(110).collect()
        })
        .collect()
}

#[test]
fn typical_frames_stay_within_their_byte_limits() {
    let features = Features {
        synchronized: true,
        ..Features::default()
    };
    let mut stage = Stage::new(120, 40, features);
    let mut lines = answer(60);
    let cursor = Some((2, 38));
    let first = stage.frame(cursor, |buffer| {
        draw_screen(buffer, &lines, "⠋", "");
    });
    stage.frame(cursor, |buffer| {
        draw_screen(buffer, &lines, "⠙", "");
    });

    let spin = stage.frame(cursor, |buffer| {
        draw_screen(buffer, &lines, "⠹", "");
    });
    assert!(spin < 20, "spinner {spin}: {}", stage.text());

    let echo = stage.frame(Some((3, 38)), |buffer| {
        draw_screen(buffer, &lines, "⠹", "x");
    });
    assert!(echo < 20, "echo {echo}: {}", stage.text());
    let second = stage.frame(Some((4, 38)), |buffer| {
        draw_screen(buffer, &lines, "⠹", "xy");
    });
    assert_eq!(second, 1, "second echo: {}", stage.text());

    lines.push(
        "A new line of the answer that arrives and scrolls the transcript up by one row.".into(),
    );
    let appended = lines[lines.len() - 1].len();
    let scrolled = stage.frame(Some((4, 38)), |buffer| {
        draw_screen(buffer, &lines, "⠹", "xy");
    });
    assert!(
        scrolled < appended + 64,
        "scroll {scrolled}: {}",
        stage.text()
    );

    lines[60].push_str(" And five more words follow.");
    let delta = stage.frame(Some((4, 38)), |buffer| {
        draw_screen(buffer, &lines, "⠹", "xy");
    });
    assert!(delta < 28 + 20, "delta {delta}: {}", stage.text());

    let idle = stage.frame(Some((4, 38)), |buffer| {
        draw_screen(buffer, &lines, "⠹", "xy");
    });
    assert_eq!(idle, 0);
    stage.check().unwrap();
    println!(
        "first {first} spinner {spin} echo {echo}/{second} scroll {scrolled} of {appended} delta {delta}"
    );
}

#[test]
fn page_up_scrolls_the_remaining_rows() {
    let mut stage = Stage::new(120, 40, Features::default());
    let lines = answer(200);
    stage.frame(None, |buffer| {
        draw_screen(buffer, &lines, " ", "");
    });
    let three = stage.frame(None, |buffer| {
        draw_screen(buffer, &lines[..197], " ", "");
    });
    let new: usize = lines[161..164].iter().map(String::len).sum();
    assert!(three < new + 64, "{three} for {new}: {}", stage.text());
    stage.check().unwrap();
    println!("wheel up by three rows {three} for {new} new");
}

/// Draws a list that starts at item `first` in a box over the screen.
fn draw_box(buffer: &mut Buffer, first: usize) {
    let lines = answer(120);
    draw_screen(buffer, &lines[..60], " ", "");
    for row in 0..20 {
        let item = format!("│ {:<76} │", &lines[first + row][..60]);
        buffer.set_string(20, 5 + row as u16, item, Style::new());
    }
}

#[test]
fn scrolling_a_boxed_list_writes_only_new_items() {
    let cost = |margins, side_margins| {
        let features = Features {
            margins,
            side_margins,
            ..Features::default()
        };
        let mut stage = Stage::new(120, 40, features);
        stage.frame(None, |buffer| draw_box(buffer, 0));
        let bytes = stage.frame(None, |buffer| draw_box(buffer, 1));
        if !side_margins {
            stage.check().unwrap();
        }
        let back = stage.frame(None, |buffer| draw_box(buffer, 0));
        eprintln!(
            "{margins} {side_margins}: {bytes} and {back}: {}",
            stage.text()
        );
        (bytes, back)
    };
    let (plain, across, inside) = (cost(false, false), cost(true, false), cost(true, true));
    assert!(across.0 <= plain.0 && across.1 <= plain.1);
    assert!(inside.0 < 140 && inside.1 < 140, "{inside:?}");
}

#[test]
fn queued_bytes_are_written_once_with_the_frame() {
    let mut stage = Stage::new(20, 4, Features::default());
    stage.frame(Some((0, 0)), |_| {});
    stage.writer.queue(b"\x07".to_vec());
    assert_eq!(stage.frame(Some((0, 0)), |_| {}), 1);
    stage
        .writer
        .queue_at(Position::new(3, 2), b"<image>".to_vec());
    stage.frame(Some((0, 0)), |_| {});
    assert_eq!(stage.text(), "^[3;4H<image>^[H");
    assert_eq!(stage.frame(Some((0, 0)), |_| {}), 0);
}

#[test]
fn resize_redraws_the_full_screen() {
    let mut stage = Stage::new(20, 4, Features::default());
    stage.frame(Some((0, 0)), |buffer| {
        buffer.set_string(0, 0, "hello", Style::new());
    });
    stage.writer.resize(Size::new(10, 2));
    let size = |cells| NonZeroU16::new(cells).unwrap();
    stage.terminal = vt100::Parser::new(size(2), size(10), 0);
    stage.frame(Some((9, 1)), |buffer| {
        buffer.set_string(0, 0, "hello you!", Style::new());
        buffer.set_string(9, 1, "x", Style::new());
    });
    stage.check().unwrap();
    assert_eq!(stage.terminal.screen().cursor_position(), (1, 9));
}

#[test]
fn small_changes_have_minimal_bytes() {
    let features = Features {
        synchronized: true,
        repeat: true,
        erase_background: true,
        ..Features::default()
    };
    let mut stage = Stage::new(120, 40, features);
    let mut lines = answer(60);
    let mut step = |lines: &[String], spinner: &str, prompt: &str| {
        let cursor = Some((2 + prompt.len() as u16, 38));
        stage.frame(cursor, |buffer| draw_screen(buffer, lines, spinner, prompt));
        stage.check().unwrap();
        stage.text()
    };
    step(&lines, "⠋", "");
    for (spinner, prompt, bytes) in [
        // The frame before left the rendition of the rule.
        ("⠋", "a", "^[ma"),
        ("⠋", "ab", "b"),
        ("⠋", "a", "\x08 \x08"),
        ("⠙", "a", "^[37H^[36m⠙^[4G\n\n"),
        ("⠹", "a", "^[37H⠹^[4G\n\n"),
        ("⠹", "ac", "^[mc"),
        ("⠹", "ac", ""),
    ] {
        assert_eq!(step(&lines, spinner, prompt), bytes);
    }
    lines.push("One more row of the answer.".to_owned());
    let scrolled = "^[;36r^[M^[r^[36HOne more row of the answer.^[39;5H";
    assert_eq!(step(&lines, "⠹", "ac"), scrolled);
    lines[60].push_str(" And words.");
    let delta = "^[36;29HAnd words.\r\n^[36m⠸^[5G\n\n";
    assert_eq!(step(&lines, "⠸", "ac"), delta);
}

#[test]
fn panes_moving_in_different_directions_scroll_separately() {
    let mut stage = Stage::new(120, 40, Features::default());
    let lines = answer(60);
    let mut panes = |above: usize, below: usize| {
        let cost = stage.frame(None, |buffer| {
            for row in 0..18 {
                buffer.set_string(0, row, &lines[above + usize::from(row)], Style::new());
                buffer.set_string(0, row + 20, &lines[below + usize::from(row)], Style::new());
            }
        });
        stage.check().unwrap();
        (cost, stage.text())
    };
    panes(10, 30);
    let (cost, text) = panes(12, 29);
    let new: usize = [28, 29, 29].iter().map(|line| lines[*line].len()).sum();
    assert!(cost < new + 80, "{cost} for {new}: {text}");
    assert!(
        text.contains("^[;18r^[2M") && text.contains("^[21;38r"),
        "{text}"
    );
}

#[test]
fn images_disable_scrolling() {
    let mut stage = Stage::new(80, 24, Features::default());
    let lines = answer(60);
    let mut show = |first: usize, has_image: bool| {
        stage.frame(None, |buffer| {
            for row in 0..20 {
                let line = &lines[first + usize::from(row)];
                buffer.set_stringn(0, row, line, 80, Style::new());
            }
            if has_image {
                for column in 0..10 {
                    buffer[(column, 22)].set_diff_option(CellDiffOption::Skip);
                }
            }
        });
        let text = stage.text();
        text.contains("^[1M") || text.contains("^[M") || text.contains("^[2M")
    };
    assert!(!show(0, true));
    // The image is outside of the moved rows. It stays, then disappears.
    assert!(!show(2, true));
    assert!(!show(4, false));
    assert!(show(6, false));
}

#[test]
fn image_replaces_text_and_text_replaces_image() {
    let mut stage = Stage::new(40, 4, Features::default());
    stage.frame(None, |buffer| {
        buffer.set_string(0, 1, "text that stood there before", Style::new());
    });
    stage
        .writer
        .queue_at(Position::new(2, 1), b"\x1bPq~\x1b\\".to_vec());
    stage.frame(None, |buffer| {
        for column in 2..30 {
            buffer[(column, 1)].set_diff_option(CellDiffOption::Skip);
        }
    });
    let blanks = " ".repeat(28);
    assert!(
        stage.text().contains(&format!("{blanks}^[2;3H^Pq~^\\")),
        "{}",
        stage.text()
    );
    // The row is printed over, not erased.
    stage.frame(None, |_| {});
    assert!(stage.text().contains(&blanks), "{}", stage.text());
    assert!(!stage.text().contains("^[K"), "{}", stage.text());
    assert!(!stage.text().contains('X'), "{}", stage.text());
}
