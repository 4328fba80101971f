//! Draws a screen of osier as SVG: the pictures of the README and of docs.
//!
//!     cargo build --bins && cargo run --example picture -- OUT.svg COLUMNSxROWS [--theme NAME] [STEP ...] [-- ARGUMENT ...]
//!
//! The picture of the README, in a copy of `assets/tour` beside `docs/pictures/conversation.json`:
//!
//!     picture conversation.svg 100x38 'type=Why does the last check fail?' 'key=\r' 'wait=of any length' \
//!       -- --model script/conversation.json
//!
//! The program of the same build runs in a pseudo-terminal, with a home of its own, in the current
//! directory. Each step is `wait=TEXT` (until the screen shows it), `type=TEXT`, or `key=BYTES` with
//! `\e` for escape and `\r` for enter. What the terminal shows after the last step is drawn.

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
const PATIENCE: Duration = Duration::from_mins(2);
/// The screen counts as drawn when nothing arrives for so long.
const QUIET: Duration = Duration::from_millis(300);

/// Pixels of a cell, and of the room around the screen.
const CELL: (f32, f32) = (8.4, 18.0);
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
    terminal.rest();
    let svg = draw(terminal.parser.screen());
    terminal
        .child
        .kill()
        .context("the program cannot be ended")?;
    let mut file = std::fs::File::create(&asked.out)
        .with_context(|| format!("`{}` cannot be created", asked.out.display()))?;
    file.write_all(svg.as_bytes())?;
    Ok(())
}

struct Asked {
    out: PathBuf,
    columns: NonZero<u16>,
    rows: NonZero<u16>,
    theme: String,
    steps: Vec<Step>,
    arguments: Vec<String>,
}

enum Step {
    Wait(String),
    Send(String),
}

impl Asked {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let usage = "OUT.svg COLUMNSxROWS [--theme NAME] [STEP ...] [-- ARGUMENT ...]";
        let out = arguments.next().context(usage)?.into();
        let size = arguments.next().context(usage)?;
        let (columns, rows) = size.split_once('x').context(usage)?;
        let mut asked = Self {
            out,
            columns: columns.parse().context(usage)?,
            rows: rows.parse().context(usage)?,
            theme: "dark".to_owned(),
            steps: Vec::new(),
            arguments: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            match argument.split_once('=') {
                _ if argument == "--" => asked.arguments.extend(arguments.by_ref()),
                _ if argument == "--theme" => asked.theme = arguments.next().context(usage)?,
                Some(("wait", text)) => asked.steps.push(Step::Wait(text.to_owned())),
                Some(("type", text)) => asked.steps.push(Step::Send(text.to_owned())),
                Some(("key", text)) => {
                    let bytes = text.replace("\\e", "\x1b").replace("\\r", "\r");
                    asked.steps.push(Step::Send(bytes));
                }
                _ => bail!("`{argument}` is no step: {usage}"),
            }
        }
        Ok(asked)
    }
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
            "theme = \"{}\"\ndiscover_local_models = false\n",
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
        command.env("HOME", home.path());
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
            Step::Wait(text) => {
                let until = Instant::now() + PATIENCE;
                while !self.parser.screen().contents().contains(text) {
                    ensure!(
                        Instant::now() < until,
                        "`{text}` does not show:\n{}",
                        self.parser.screen().contents()
                    );
                    self.receive(QUIET);
                }
            }
        }
        Ok(())
    }

    /// Waits until the screen stands still.
    fn rest(&mut self) {
        while self.receive(QUIET) {}
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
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..rows {
        for run in runs(screen, row, columns) {
            draw_run(&mut svg, row, &run);
        }
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let (x, y) = place(row, column);
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{}\" height=\"{}\" fill=\"{FOREGROUND}\" opacity=\"0.7\"/>",
            CELL.0, CELL.1
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_run(svg: &mut String, row: u16, run: &Run) {
    let (x, y) = place(row, run.column);
    let width = f32::from(run.width) * CELL.0;
    if let Some(background) = &run.style.background {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{background}\"/>",
            CELL.1
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let mut look = String::new();
    for (on, attribute) in [
        (run.style.bold, " font-weight=\"bold\""),
        (run.style.italic, " font-style=\"italic\""),
        (run.style.underline, " text-decoration=\"underline\""),
        (run.style.dim, " opacity=\"0.6\""),
    ] {
        if on {
            look.push_str(attribute);
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\" fill=\"{}\"{look}>{}</text>",
        y + CELL.1 * 0.74,
        run.style.foreground,
        escaped(&run.text)
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
            Some(run) if run.style == style => {
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
