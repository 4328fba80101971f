//! Draws screenshots of osier as SVG, for the README and the documentation.
//!
//!     cargo build --bins --example picture
//!     picture COLUMNSxROWS [--theme NAME] [STEP ...] [-- ARGUMENT ...]
//!
//! Runs the program of the same build in a pseudo-terminal, with a temporary home, in the current directory.
//! The parent of that directory is shown as the user's home. The steps are `wait=TEXT` (until the screen shows
//! it), `gone=TEXT` (until the screen no longer shows it), `type=TEXT`, `key=BYTES` with `\e` for escape, `\r`
//! for enter and `^L` for control, and `draw=FILE.svg`. `scripts/pictures.sh` draws all screenshots.

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

/// The longest wait for a text.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The screen is complete when there is no output for this long.
const IDLE_TIME: Duration = Duration::from_millis(300);

/// The size of a cell and the margin around the screen, in pixels.
const CELL: (f32, f32) = (8.0, 16.0);
const MARGIN: f32 = 12.0;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
/// The sixteen colours of the terminal palette.
const PALETTE: [&str; 16] = [
    "#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
    "#5c6370", "#ef7d86", "#a9d48a", "#f0cd8c", "#72bfff", "#d68aed", "#67c7d3", "#ffffff",
];

fn main() -> anyhow::Result<()> {
    let options = Options::from_arguments(std::env::args().skip(1))?;
    let mut terminal = Terminal::start(&options)?;
    for step in &options.steps {
        terminal.run(step)?;
    }
    let killed = terminal.child.kill();
    killed.context("cannot stop the program")
}

struct Options {
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

impl Options {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let usage = "COLUMNSxROWS [--theme NAME] [STEP ...] [-- ARGUMENT ...]";
        let size = arguments.next().context(usage)?;
        let (columns, rows) = size.split_once('x').context(usage)?;
        let mut options = Self {
            columns: columns.parse().context(usage)?,
            rows: rows.parse().context(usage)?,
            theme: "dark".to_owned(),
            steps: Vec::new(),
            arguments: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let step = match argument.split_once('=') {
                _ if argument == "--" => {
                    options.arguments.extend(arguments.by_ref());
                    continue;
                }
                _ if argument == "--theme" => {
                    options.theme = arguments.next().context(usage)?;
                    continue;
                }
                Some(("wait", text)) => Step::Wait(text.to_owned()),
                Some(("gone", text)) => Step::Gone(text.to_owned()),
                Some(("type", text)) => Step::Send(text.to_owned()),
                Some(("draw", path)) => Step::Draw(path.into()),
                Some(("key", text)) => Step::Send(keys(text)),
                _ => bail!("unknown step `{argument}`; usage: {usage}"),
            };
            options.steps.push(step);
        }
        Ok(options)
    }
}

/// Decodes the bytes of keys: `\e`, `\r`, `\t`, `^L`.
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
    fn start(options: &Options) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let settings = format!(
            "theme = \"{}\"\ndiscover_local_models = false\nreduced_motion = true\n",
            options.theme
        );
        std::fs::File::create(home.path().join("settings.toml"))?.write_all(settings.as_bytes())?;
        let pair = native_pty_system().openpty(PtySize {
            rows: options.rows.get(),
            cols: options.columns.get(),
            pixel_width: 0,
            pixel_height: 0,
        })?;
        let program = program()?;
        let mut command = CommandBuilder::new(program);
        command.args(&options.arguments);
        command.cwd(std::env::current_dir()?);
        // Show the directory as one in the user's home.
        let directory = std::env::current_dir()?;
        command.env("HOME", directory.parent().unwrap_or(&directory));
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
            parser: vt100::Parser::new(options.rows, options.columns, 0),
            child,
            input,
            output,
            _home: home,
        })
    }

    fn run(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Send(text) => {
                self.input.write_all(text.as_bytes())?;
                self.input.flush()?;
                self.settle();
            }
            Step::Wait(text) => self.until(text, true)?,
            Step::Gone(text) => self.until(text, false)?,
            Step::Draw(path) => {
                self.settle();
                let svg = draw(self.parser.screen());
                let file = std::fs::File::create(path);
                let file = file.with_context(|| format!("cannot create `{}`", path.display()));
                file?.write_all(svg.as_bytes())?;
            }
        }
        Ok(())
    }

    fn until(&mut self, text: &str, shown: bool) -> anyhow::Result<()> {
        let until = Instant::now() + WAIT_TIMEOUT;
        while self.parser.screen().contents().contains(text) != shown {
            ensure!(
                Instant::now() < until,
                "timeout while waiting for `{text}`:\n{}",
                self.parser.screen().contents()
            );
            self.receive(IDLE_TIME);
        }
        Ok(())
    }

    /// Waits until the screen does not change.
    fn settle(&mut self) {
        // A clock may still change.
        let until = Instant::now() + 4 * IDLE_TIME;
        while self.receive(IDLE_TIME) && Instant::now() < until {}
    }

    fn receive(&mut self, timeout: Duration) -> bool {
        match self.output.recv_timeout(timeout) {
            Ok(bytes) => {
                self.parser.process(&bytes);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }
}

/// The path of the program, in the same build directory.
fn program() -> anyhow::Result<PathBuf> {
    let examples = std::env::current_exe()?;
    let folder = examples.parent().and_then(|folder| folder.parent());
    let program = folder.context("no build directory")?.join("osier");
    ensure!(
        program.exists(),
        "`osier` is not built; run `cargo build --bins`"
    );
    Ok(program)
}

/// Adjacent cells with the same style.
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
    // The background of the theme fills the margin.
    let background = main_background(screen).unwrap_or_else(|| BACKGROUND.to_owned());
    let background = background.as_str();
    let mut styles: Vec<String> = Vec::new();
    let mut body = String::new();
    for row in 0..rows {
        for run in runs(screen, row, columns) {
            draw_run(&mut body, row, &run, background, &mut styles);
        }
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let (x, y) = position(row, column);
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
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\">\n<style>text{{font:13.3px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,\
         monospace;white-space:pre}}"
    );
    for (index, css) in styles.iter().enumerate() {
        let _ = write!(svg, ".{}{{{css}}}", class_name(index));
    }
    let _ = write!(
        svg,
        "</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{background}\"/>\n{body}</svg>\n"
    );
    svg
}

/// The most frequent background colour.
fn main_background(screen: &Screen) -> Option<String> {
    let (rows, columns) = screen.size();
    let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
    let mut backgrounds: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for cell in cells.filter_map(|(row, column)| screen.cell(row, column)) {
        *backgrounds.entry(colour(cell.bgcolor())).or_default() += 1;
    }
    backgrounds.into_iter().max_by_key(|(_, cells)| *cells)?.0
}

/// The class of a style: `a`, `b`, … `z`, `a1`, …
fn class_name(index: usize) -> String {
    let letter = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

fn draw_run(svg: &mut String, row: u16, run: &Run, background: &str, styles: &mut Vec<String>) {
    let (x, y) = position(row, run.column);
    let width = f32::from(run.width) * CELL.0;
    if let Some(background) = run
        .style
        .background
        .as_ref()
        .filter(|colour| *colour != background)
    {
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
    // Omit leading and trailing blanks.
    let skipped = (text.len() - shown.len()) as u16;
    let columns = run.width - skipped - (run.text.len() - text.len()) as u16;
    let mut css = format!("fill:{}", run.style.foreground);
    for (on, property) in [
        (run.style.bold, ";font-weight:700"),
        (run.style.italic, ";font-style:italic"),
        (run.style.underline, ";text-decoration:underline"),
        (run.style.dim, ";opacity:.6"),
    ] {
        if on {
            css.push_str(property);
        }
    }
    let known = styles.iter().position(|known| *known == css);
    let class = known.unwrap_or_else(|| {
        styles.push(css);
        styles.len() - 1
    });
    let _ = writeln!(
        svg,
        "<text class=\"{}\" x=\"{:.0}\" y=\"{:.0}\" textLength=\"{:.0}\">{}</text>",
        class_name(class),
        x + f32::from(skipped) * CELL.0,
        y + CELL.1 * 0.76,
        f32::from(columns) * CELL.0,
        escaped(shown)
    );
}

fn position(row: u16, column: u16) -> (f32, f32) {
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
            // A blank has no visible foreground colour.
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

/// The colour in CSS; `None` is the default of the terminal.
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
