//! Draws screens of osier as SVG: the pictures of the README and of docs.
//!
//!     cargo build --bins --example picture
//!     picture COLUMNSxROWS [--theme NAME] [STEP ...] [-- ARGUMENT ...]
//!
//! The program of the same build runs in a pseudo-terminal, with a home of its own, in the current directory,
//! which stands in the home of the person. Each step is `wait=TEXT` (until the screen shows it), `gone=TEXT`
//! (until it no longer does), `type=TEXT`, `key=BYTES` with `\e` for escape, `\r` for enter and `^L` for
//! control, or `draw=FILE.svg`: what the terminal shows then. `scripts/pictures.sh` has all of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use vt100::{Color, Screen};

/// Longest wait for a text.
const PATIENCE: Duration = Duration::from_secs(30);
/// The screen counts as drawn when nothing arrives for so long.
const QUIET: Duration = Duration::from_millis(300);

/// Pixels of a cell, and of the room around the screen.
const CELL: (f32, f32) = (8.0, 16.0);
const MARGIN: f32 = 12.0;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
/// The sixteen colours that themes may leave to the terminal.
const PALETTE: [&str; 16] = [
    "#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
    "#5c6370", "#ef7d86", "#a9d48a", "#f0cd8c", "#72bfff", "#d68aed", "#67c7d3", "#ffffff",
];

fn main() -> anyhow::Result<()> {
    let asked = Asked::from_arguments(std::env::args().skip(1))?;
    let mut terminal = Terminal::start(&asked)?;
    for step in &asked.steps {
        terminal.take(step)?;
    }
    let ended = terminal.child.kill();
    ended.context("the program cannot be ended")
}

struct Asked {
    columns: NonZero<u16>,
    rows: NonZero<u16>,
    theme: String,
    steps: Vec<Step>,
    arguments: Vec<String>,
}

enum Step {
    Wait(String),
    Gone(String),
    Send(String),
    Draw(PathBuf),
}

impl Asked {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let usage = "COLUMNSxROWS [--theme NAME] [STEP ...] [-- ARGUMENT ...]";
        let size = arguments.next().context(usage)?;
        let (columns, rows) = size.split_once('x').context(usage)?;
        let mut asked = Self {
            columns: columns.parse().context(usage)?,
            rows: rows.parse().context(usage)?,
            theme: "dark".to_owned(),
            steps: Vec::new(),
            arguments: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let step = match argument.split_once('=') {
                _ if argument == "--" => {
                    asked.arguments.extend(arguments.by_ref());
                    continue;
                }
                _ if argument == "--theme" => {
                    asked.theme = arguments.next().context(usage)?;
                    continue;
                }
                Some(("wait", text)) => Step::Wait(text.to_owned()),
                Some(("gone", text)) => Step::Gone(text.to_owned()),
                Some(("type", text)) => Step::Send(text.to_owned()),
                Some(("draw", path)) => Step::Draw(path.into()),
                Some(("key", text)) => Step::Send(keys(text)),
                _ => bail!("`{argument}` is no step: {usage}"),
            };
            asked.steps.push(step);
        }
        Ok(asked)
    }
}

/// The bytes of keys: `\e`, `\r`, `\t`, `^L`.
fn keys(text: &str) -> String {
    let text = text.replace("\\e", "\x1b").replace("\\r", "\r");
    let mut bytes = String::new();
    let mut characters = text
        .replace("\\t", "\t")
        .chars()
        .collect::<Vec<_>>()
        .into_iter();
    while let Some(character) = characters.next() {
        match character {
            '^' => bytes.extend(
                characters
                    .next()
                    .map(|letter| char::from(letter.to_ascii_uppercase() as u8 & 0x1f)),
            ),
            other => bytes.push(other),
        }
    }
    bytes
}

struct Terminal {
    parser: vt100::Parser,
    child: Box<dyn Child + Send + Sync>,
    input: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    _home: tempfile::TempDir,
}

impl Terminal {
    fn start(asked: &Asked) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let settings = format!(
            "theme = \"{}\"\ndiscover_local_models = false\nreduced_motion = true\n",
            asked.theme
        );
        std::fs::File::create(home.path().join("settings.toml"))?.write_all(settings.as_bytes())?;
        let pair = native_pty_system().openpty(PtySize {
            rows: asked.rows.get(),
            cols: asked.columns.get(),
            pixel_width: 0,
            pixel_height: 0,
        })?;
        let program = program()?;
        let mut command = CommandBuilder::new(program);
        command.args(&asked.arguments);
        command.cwd(std::env::current_dir()?);
        // The directory is shown as one of the person's.
        let place = std::env::current_dir()?;
        command.env("HOME", place.parent().unwrap_or(&place));
        command.env("OSIER_HOME", home.path());
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        let input = pair.master.take_writer()?;
        let (send, output) = mpsc::channel();
        std::thread::spawn(move || {
            let _master = pair.master;
            let mut bytes = [0; 16384];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            parser: vt100::Parser::new(asked.rows, asked.columns, 0),
            child,
            input,
            output,
            _home: home,
        })
    }

    fn take(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Send(text) => {
                self.input.write_all(text.as_bytes())?;
                self.input.flush()?;
                self.rest();
            }
            Step::Wait(text) => self.until(text, true)?,
            Step::Gone(text) => self.until(text, false)?,
            Step::Draw(path) => {
                self.rest();
                let svg = draw(self.parser.screen());
                let file = std::fs::File::create(path);
                let file = file.with_context(|| format!("`{}` cannot be made", path.display()));
                file?.write_all(svg.as_bytes())?;
            }
        }
        Ok(())
    }

    fn until(&mut self, text: &str, shown: bool) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        while self.parser.screen().contents().contains(text) != shown {
            ensure!(
                Instant::now() < until,
                "`{text}` does not come or go:\n{}",
                self.parser.screen().contents()
            );
            self.receive(QUIET);
        }
        Ok(())
    }

    /// Waits until the screen stands still.
    fn rest(&mut self) {
        // A clock may go on.
        let until = Instant::now() + 4 * QUIET;
        while self.receive(QUIET) && Instant::now() < until {}
    }

    fn receive(&mut self, patience: Duration) -> bool {
        match self.output.recv_timeout(patience) {
            Ok(bytes) => {
                self.parser.process(&bytes);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }
}

/// The program beside this one.
fn program() -> anyhow::Result<PathBuf> {
    let examples = std::env::current_exe()?;
    let folder = examples.parent().and_then(|folder| folder.parent());
    let program = folder.context("no build folder")?.join("osier");
    ensure!(program.exists(), "build it first: `cargo build --bins`");
    Ok(program)
}

/// Cells of one look that stand beside each other.
struct Run {
    column: u16,
    width: u16,
    text: String,
    style: Style,
}

#[derive(Clone, PartialEq)]
struct Style {
    foreground: String,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

fn draw(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let width = f32::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL.1 + 2.0 * MARGIN;
    // The ground of the theme goes to the edge.
    let ground = ground(screen).unwrap_or_else(|| BACKGROUND.to_owned());
    let ground = ground.as_str();
    let mut looks: Vec<String> = Vec::new();
    let mut body = String::new();
    for row in 0..rows {
        for run in runs(screen, row, columns) {
            draw_run(&mut body, row, &run, ground, &mut looks);
        }
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let (x, y) = place(row, column);
        let cell = screen
            .cell(row, column)
            .and_then(|cell| colour(cell.fgcolor()));
        let cell = cell.as_deref().unwrap_or(FOREGROUND);
        let _ = writeln!(
            body,
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{}\" height=\"{}\" fill=\"{cell}\" opacity=\".6\"/>",
            CELL.0, CELL.1
        );
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\">\n<style>text{{font:13.3px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,\
         monospace;white-space:pre}}"
    );
    for (place, look) in looks.iter().enumerate() {
        let _ = write!(svg, ".{}{{{look}}}", name(place));
    }
    let _ = write!(
        svg,
        "</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n{body}</svg>\n"
    );
    svg
}

/// What most cells stand on.
fn ground(screen: &Screen) -> Option<String> {
    let (rows, columns) = screen.size();
    let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
    let mut grounds: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for cell in cells.filter_map(|(row, column)| screen.cell(row, column)) {
        *grounds.entry(colour(cell.bgcolor())).or_default() += 1;
    }
    grounds.into_iter().max_by_key(|(_, cells)| *cells)?.0
}

/// The class of a look: `a`, `b`, … `z`, `a1`, …
fn name(place: usize) -> String {
    let letter = char::from(b'a' + (place % 26) as u8);
    match place / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

fn draw_run(svg: &mut String, row: u16, run: &Run, ground: &str, looks: &mut Vec<String>) {
    let (x, y) = place(row, run.column);
    let width = f32::from(run.width) * CELL.0;
    if let Some(background) = run.style.background.as_ref().filter(|own| *own != ground) {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{}\" fill=\"{background}\"/>",
            CELL.1
        );
    }
    let text = run.text.trim_end();
    let shown = text.trim_start();
    if shown.is_empty() {
        return;
    }
    // Blanks need no room of their own in the file.
    let skipped = (text.len() - shown.len()) as u16;
    let columns = run.width - skipped - (run.text.len() - text.len()) as u16;
    let mut look = format!("fill:{}", run.style.foreground);
    for (on, property) in [
        (run.style.bold, ";font-weight:700"),
        (run.style.italic, ";font-style:italic"),
        (run.style.underline, ";text-decoration:underline"),
        (run.style.dim, ";opacity:.6"),
    ] {
        if on {
            look.push_str(property);
        }
    }
    let known = looks.iter().position(|known| *known == look);
    let class = known.unwrap_or_else(|| {
        looks.push(look);
        looks.len() - 1
    });
    let _ = writeln!(
        svg,
        "<text class=\"{}\" x=\"{:.0}\" y=\"{:.0}\" textLength=\"{:.0}\">{}</text>",
        name(class),
        x + f32::from(skipped) * CELL.0,
        y + CELL.1 * 0.76,
        f32::from(columns) * CELL.0,
        escaped(shown)
    );
}

fn place(row: u16, column: u16) -> (f32, f32) {
    (
        MARGIN + f32::from(column) * CELL.0,
        MARGIN + f32::from(row) * CELL.1,
    )
}

fn runs(screen: &Screen, row: u16, columns: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        let style = style(cell);
        let text = if cell.is_wide_continuation() {
            ""
        } else if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        match runs.last_mut() {
            // A blank has no colour of its own.
            Some(run)
                if run.style == style
                    || (text == " "
                        && run.style.background == style.background
                        && !run.style.underline
                        && !style.underline) =>
            {
                run.text.push_str(text);
                run.width += 1;
            }
            _ => runs.push(Run {
                column,
                width: 1,
                text: text.to_owned(),
                style,
            }),
        }
    }
    runs
}

fn style(cell: &vt100::Cell) -> Style {
    let mut foreground = colour(cell.fgcolor()).unwrap_or_else(|| FOREGROUND.to_owned());
    let mut background = colour(cell.bgcolor());
    if cell.inverse() {
        let behind = background.take().unwrap_or_else(|| BACKGROUND.to_owned());
        background = Some(std::mem::replace(&mut foreground, behind));
    }
    Style {
        foreground,
        background,
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
    }
}

/// `None` is the terminal's own.
fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Idx(index @ 0..=15) => Some(PALETTE[usize::from(index)].to_owned()),
        Color::Idx(index @ 232..) => {
            let level = 8 + 10 * u32::from(index - 232);
            Some(format!("#{level:02x}{level:02x}{level:02x}"))
        }
        Color::Idx(index) => {
            let level = |step: u8| {
                if step == 0 {
                    0
                } else {
                    55 + 40 * u32::from(step)
                }
            };
            let index = index - 16;
            let (red, green, blue) = (level(index / 36), level(index / 6 % 6), level(index % 6));
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
