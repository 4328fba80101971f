//! Plays random edits, scrolls, images and resizes to a strict emulator of every kind of terminal.
//! After each frame it must show the drawn cells, and after a full repaint the same.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier, Style};

use super::super::{Cursor, Features, FrameWriter, glyph, link::LinkId, rendition};
use super::emulator::{Appearance, Emulator, HALF, IMAGE, Widths};
use crate::terminal::{TerminalHost, TerminalKind};

const TARGET: &str = "https://example.com/";

/// The kinds of terminals: assumed features and actual widths.
fn kinds() -> Vec<(&'static str, Features, Widths)> {
    let of = |host, limited| {
        let kind = TerminalKind {
            host,
            limited,
            ..TerminalKind::default()
        };
        kind.features()
    };
    let plain = of(TerminalHost::Emulator, false);
    let modern = Features {
        repeat: true,
        erase_background: true,
        synchronized: true,
        ..plain
    };
    let tmux = Features {
        synchronized: false,
        ..modern
    };
    let still = Features {
        margins: false,
        ..modern
    };
    let boxes = Features {
        side_margins: true,
        ..modern
    };
    vec![
        ("wezterm", boxes, Widths::Clusters),
        ("xterm", boxes, Widths::Apart),
        ("mintty", boxes, Widths::Narrow),
        ("kitty", modern, Widths::Clusters),
        ("konsole", modern, Widths::Apart),
        ("unknown", plain, Widths::Clusters),
        ("unknown and old", plain, Widths::Narrow),
        ("tmux", tmux, Widths::Apart),
        (
            "tmux 3.7",
            Features {
                synchronized: true,
                ..tmux
            },
            Widths::Clusters,
        ),
        (
            "tmux before it answers",
            of(TerminalHost::Tmux, false),
            Widths::Apart,
        ),
        ("screen", of(TerminalHost::Screen, false), Widths::Apart),
        ("console", of(TerminalHost::Console, false), Widths::Narrow),
        ("without margins", still, Widths::Clusters),
        ("limited", of(TerminalHost::Emulator, true), Widths::Apart),
    ]
}

/// A terminal, its frame writer and the expected cells.
struct Stage {
    writer: FrameWriter,
    terminal: Emulator,
    model: Buffer,
    link: LinkId,
    /// An image to send with the next frame.
    image: Option<(Position, String)>,
    bytes: Vec<u8>,
}

impl Stage {
    fn new(width: u16, height: u16, features: Features, widths: Widths) -> Self {
        let mut writer = FrameWriter::new(Size::new(width, height), features);
        let link = writer.canvas().1.intern(&TARGET.into()).unwrap();
        Self {
            model: Buffer::empty(writer.drawn().area),
            writer,
            terminal: Emulator::new(width, height, features, widths),
            link,
            image: None,
            bytes: Vec::new(),
        }
    }

    fn frame(&mut self, cursor: Option<(u16, u16)>) -> Result<(), String> {
        self.writer.canvas().0.clone_from(&self.model);
        self.bytes.clear();
        if let Some((position, bytes)) = self.image.take() {
            self.writer.queue_at(position, bytes.into());
        }
        let cursor = cursor.map(|(x, y)| Cursor::from(Position::new(x, y)));
        self.writer.finish(cursor, &mut self.bytes);
        let (terminal, bytes) = (&mut self.terminal, &self.bytes);
        let play = std::panic::AssertUnwindSafe(|| terminal.frame(bytes));
        let played = std::panic::catch_unwind(play);
        let shown = match played {
            Ok(()) => self.check(),
            Err(_) => Err("a fault".to_owned()),
        };
        shown.map_err(|fault| format!("{fault} after {:?}", String::from_utf8_lossy(&self.bytes)))
    }

    fn check(&self) -> Result<(), String> {
        let width = usize::from(self.model.area.width);
        for (y, row) in self.model.content.chunks(width).enumerate() {
            let mut x = 0;
            while x < width {
                let (symbol, columns) = glyph::glyph(row, x);
                let uncertain = glyph::uncertain_columns(symbol, columns).is_some();
                let mut expected = appearance(&row[x], symbol);
                let shown = plain(self.terminal.cell(x, y));
                if !self.terminal.features.links {
                    expected.link = None;
                    expected = plain(&expected);
                }
                let half = columns < 2 || self.terminal.cell(x + 1, y).text == HALF;
                let agrees = self.terminal.widths == Widths::Clusters || !uncertain;
                if agrees && (expected != shown || !half) {
                    return Err(format!("({x},{y}): expected {expected:?}, shown {shown:?}"));
                }
                let rest = (columns == 2).then(|| &*self.terminal.cell(x + 1, y).text);
                if !matches!(rest, None | Some(HALF | " ")) && self.terminal.widths != Widths::Apart
                {
                    return Err(format!("({x},{y}): {rest:?} is next to {symbol:?}"));
                }
                x += columns;
            }
        }
        Ok(())
    }

    /// Places an image: cells that the encoder must not touch.
    fn show_image(&mut self, x: u16, y: u16, columns: u16, rows: u16) {
        let area = self.model.area;
        let columns = columns.min(area.width - x);
        let rows = rows.min(area.height - y);
        for row in y..y + rows {
            for column in x..x + columns {
                let cell = &mut self.model[(column, row)];
                cell.reset();
                cell.set_diff_option(CellDiffOption::Skip);
            }
        }
        let bytes = format!("\x1b_G{columns}x{rows}\x1b\\");
        self.image = Some((Position::new(x, y), bytes));
    }

    fn drop_images(&mut self) {
        self.image = None;
        for cell in &mut self.model.content {
            if cell.diff_option == CellDiffOption::Skip {
                cell.reset();
            }
        }
    }

    /// Draws a list inside the screen that later edits scroll. Glyphs cross its sides, and some
    /// items are cut.
    fn draw_list(&mut self, index: usize, first: u16) {
        let (left, width, top, bottom) = [(3, 18, 2, 12), (0, 12, 1, 9), (9, 17, 0, 14)][index];
        let area = self.model.area;
        let right = (left + width).min(area.width);
        let items = [
            "plain words",
            "漢字漢字漢字漢字",
            "🦀 crab",
            "👩\u{200d}👧 two",
            "e\u{301}e",
        ];
        for y in top..bottom.min(area.height) {
            for x in left..right {
                self.model[(x, y)].reset();
            }
            let number = first + y;
            let item = items[usize::from(number) % items.len()];
            let text = format!(
                "{}{number} {item} {}",
                "·".repeat(usize::from(number % 3)),
                number * 7
            );
            if left < right {
                let limit = usize::from(right - left);
                self.model.set_stringn(left, y, text, limit, Style::new());
            }
        }
    }

    fn apply(&mut self, edit: &Edit) {
        let Size { width, height } = self.model.area.as_size();
        match edit {
            Edit::Write((x, y), text, style, linked) => {
                let style = if *linked {
                    self.link.style(*style)
                } else {
                    *style
                };
                let (x, y) = (x % width, y % height);
                if self.image.is_some() {
                    self.drop_images();
                }
                for column in x..width {
                    if self.model[(column, y)].diff_option == CellDiffOption::Skip {
                        self.model[(column, y)].reset();
                    }
                }
                self.model.set_string(x, y, text, style);
            }
            Edit::Clear((x, y), count) => {
                let (x, y) = (x % width, y % height);
                self.drop_images();
                for column in x..(x + count).min(width) {
                    self.model[(column, y)].reset();
                }
            }
            Edit::Fill(y, style) => {
                for column in 0..width {
                    self.model[(column, y % height)].set_style(*style);
                }
            }
            Edit::Move(top, rows, by) => {
                self.drop_images();
                let top = top % height;
                let bottom = (top + rows).min(height);
                let width = usize::from(width);
                let range = usize::from(top) * width..usize::from(bottom) * width;
                let cells = &mut self.model.content[range];
                let count = usize::from(by.unsigned_abs()) * width % cells.len().max(1);
                if *by > 0 {
                    cells.rotate_left(count);
                } else {
                    cells.rotate_right(count);
                }
            }
            Edit::Paste(y, text) => {
                self.drop_images();
                for row in y % height..height {
                    self.model
                        .set_string(0, row, format!("{row} {text}"), Style::new());
                }
            }
            Edit::List(index, first) => {
                self.drop_images();
                self.draw_list(*index, *first);
            }
            Edit::Image((x, y), (columns, rows)) => {
                self.drop_images();
                self.show_image(x % width, y % height, *columns, *rows);
            }
            Edit::Resize(width, height) => {
                self.writer.resize(Size::new(*width, *height));
                self.terminal.resize(*width, *height);
                self.drop_images();
                self.model.resize(self.writer.drawn().area);
                self.model.reset();
                for row in 0..*height {
                    self.model
                        .set_string(0, row, format!("{row} after"), Style::new());
                }
            }
        }
    }
}

/// The appearance of a cell of the model.
fn appearance(cell: &Cell, symbol: &str) -> Appearance {
    let colour = |colour| match rendition::ansi_number(colour) {
        Some(number) => Color::Indexed(number),
        None => colour,
    };
    let is_image = cell.diff_option == CellDiffOption::Skip;
    plain(&Appearance {
        text: if is_image { IMAGE } else { symbol }.to_owned(),
        foreground: colour(cell.fg),
        background: colour(cell.bg),
        modifier: cell.modifier,
        link: LinkId::of(cell).map(|_| TARGET.to_owned()),
    })
}

/// Without attributes that are not visible.
fn plain(appearance: &Appearance) -> Appearance {
    if appearance.text == IMAGE {
        return Appearance {
            text: IMAGE.to_owned(),
            ..Appearance::blank(Color::Reset)
        };
    }
    if appearance.text == " " && !appearance.modifier.intersects(rendition::VISIBLE_ON_BLANK) {
        return Appearance {
            link: appearance.link.clone(),
            ..Appearance::blank(appearance.background)
        };
    }
    appearance.clone()
}

#[derive(Debug, Clone)]
enum Edit {
    Write((u16, u16), String, Style, bool),
    Clear((u16, u16), u16),
    Fill(u16, Style),
    Move(u16, u16, i16),
    Paste(u16, String),
    List(usize, u16),
    Image((u16, u16), (u16, u16)),
    Resize(u16, u16),
}

const WIDTH: u16 = 26;
const HEIGHT: u16 = 14;

fn style() -> impl Strategy<Value = Style> {
    let colours = prop_oneof![
        6 => Just(Color::Reset),
        2 => Just(Color::Red),
        1 => Just(Color::LightBlue),
        1 => Just(Color::Indexed(200)),
        1 => Just(Color::from_u32(0x0012_3456)),
    ];
    let modifiers = prop_oneof![
        6 => Just(Modifier::empty()),
        1 => Just(Modifier::BOLD),
        1 => Just(Modifier::BOLD | Modifier::DIM),
        1 => Just(Modifier::ITALIC | Modifier::UNDERLINED),
        1 => Just(Modifier::REVERSED | Modifier::CROSSED_OUT),
    ];
    (colours.clone(), colours, modifiers).prop_map(|(fg, bg, modifier)| {
        Style::new()
            .fg(fg)
            .bg(bg)
            .remove_modifier(Modifier::all())
            .add_modifier(modifier)
    })
}

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => "[a-e ]{1,6}",
        1 => Just("漢字".to_owned()),
        1 => Just("e\u{301}".to_owned()),
        1 => Just("🦀".to_owned()),
        1 => Just("👩\u{200d}👩\u{200d}👧".to_owned()),
        1 => Just("🇩🇪🇫🇷".to_owned()),
        1 => Just("❤\u{fe0f}1\u{fe0f}\u{20e3}☎\u{fe0e}".to_owned()),
        1 => Just("🫠".to_owned()),
        1 => Just("👍🏽".to_owned()),
        1 => Just("────────────".to_owned()),
        1 => Just("------------".to_owned()),
        1 => Just("              ".to_owned()),
    ];
    proptest::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
}

fn edit() -> impl Strategy<Value = Edit> {
    let position = || (0..WIDTH, 0..HEIGHT);
    prop_oneof![
        8 => (position(), text(), style(), proptest::bool::weighted(0.1))
            .prop_map(|(at, text, style, linked)| Edit::Write(at, text, style, linked)),
        2 => (position(), 1..WIDTH).prop_map(|(at, count)| Edit::Clear(at, count)),
        2 => (0..HEIGHT, style()).prop_map(|(y, style)| Edit::Fill(y, style)),
        8 => (0..HEIGHT, 1..=HEIGHT, -5..=5_i16)
            .prop_map(|(top, rows, by)| Edit::Move(top, rows, by)),
        2 => (0..HEIGHT, text()).prop_map(|(y, text)| Edit::Paste(y, text)),
        8 => (0..3_usize, 0..9_u16).prop_map(|(index, first)| Edit::List(index, first)),
        1 => (position(), (1..8_u16, 1..4_u16)).prop_map(|(at, size)| Edit::Image(at, size)),
        1 => (8..40_u16, 3..20_u16).prop_map(|(width, height)| Edit::Resize(width, height)),
    ]
}

#[test]
fn random_edits_use_every_terminal_feature() {
    let (_, features, widths) = kinds()[0];
    let mut runner = TestRunner::deterministic();
    let mut stage = Stage::new(WIDTH, HEIGHT, features, widths);
    for _ in 0..200 {
        stage.apply(&edit().new_tree(&mut runner).unwrap().current());
        stage.frame(None).unwrap();
    }
    let used: Vec<&str> = stage.terminal.used.iter().copied().collect();
    assert_eq!(used, ["box", "down", "erase", "repeat", "up"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_terminal_shows_the_drawn_cells(
        frames in proptest::collection::vec(proptest::collection::vec(edit(), 1..6), 1..12),
        kind in 0..kinds().len(),
    ) {
        let (name, features, widths) = kinds()[kind];
        let mut stage = Stage::new(WIDTH, HEIGHT, features, widths);
        for (number, edits) in (0_u16..).zip(&frames) {
            for edit in edits {
                stage.apply(edit);
            }
            let area = stage.model.area;
            let cursor = (number % 3 != 0).then_some((number % area.width, number % area.height));
            stage.frame(cursor).map_err(|fault| TestCaseError::fail(format!("{name}: {fault}")))?;
            prop_assert_eq!(stage.terminal.visible, cursor.is_some());
            if let Some((x, y)) = cursor {
                let shown = (stage.terminal.column, stage.terminal.row);
                prop_assert_eq!(shown, (Some(x.into()), y.into()));
            }
            stage.frame(cursor).map_err(TestCaseError::fail)?;
            prop_assert_eq!(stage.bytes.len(), 0);
        }
        stage.drop_images();
        stage.frame(None).map_err(TestCaseError::fail)?;
        let shown = stage.terminal.cells.clone();
        stage.writer.repaint();
        stage.frame(None).map_err(TestCaseError::fail)?;
        if widths == Widths::Clusters {
            let plain = |cells: &[Appearance]| cells.iter().map(plain).collect::<Vec<_>>();
            prop_assert_eq!(plain(&shown), plain(&stage.terminal.cells));
        }
    }
}
