//! Plays random frames to real terminals: tmux, whose screen is captured with styles, and GNU
//! screen, which only captures text. Skipped if the program is not installed.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use osier_testing::skip;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use ratatui::buffer::Buffer;
use tempfile::TempDir;

use super::super::{Features, glyph};
use super::{Edit, Stage, apply, edit};
use crate::terminal::{TerminalHost, TerminalKind};

const WIDTH: u16 = 80;
const HEIGHT: u16 = 24;
/// Frames played to each terminal.
const FRAMES: usize = 40;
/// Maximum time for a terminal to show a frame.
const PATIENCE: Duration = Duration::from_secs(20);

/// A terminal that shows what is written to a pipe.
struct Real {
    directory: TempDir,
    pipe: File,
    program: &'static str,
}

impl Real {
    /// `None`, with a report, if the program is not installed.
    fn start(program: &'static str) -> Option<Self> {
        skip::program(&[program], &format!("apt install {program}"))?;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let made = program_named("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        // Open at both ends, so that neither side waits for the other.
        let pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        let real = Self {
            directory,
            pipe,
            program,
        };
        let shell = format!("stty raw -echo; exec cat {}", path.display());
        let started = match program {
            "tmux" => real.run(&[
                "-u",
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-x",
                "80",
                "-y",
                "24",
                &shell,
            ]),
            _ => real.run(&[
                "-U",
                "-c",
                "/dev/null",
                "-dmS",
                "frames",
                "-T",
                "screen",
                "sh",
                "-c",
                &shell,
            ]),
        };
        assert!(started.is_some(), "{program} did not start");
        Some(real)
    }

    fn run(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let mut command = program_named(self.program);
        command
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.directory.path())
            .env("SCREENDIR", self.folder());
        if self.program == "tmux" {
            command.arg("-S").arg(self.directory.path().join("socket"));
        } else if !arguments.contains(&"-dmS") {
            command.args(["-S", "frames"]);
        }
        let output = command.args(arguments).output().ok()?;
        output.status.success().then_some(output.stdout)
    }

    /// The private socket directory of screen.
    fn folder(&self) -> PathBuf {
        let folder = self.directory.path().join("sockets");
        let _ = fs::create_dir(&folder);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&folder, mode).unwrap();
        folder
    }

    /// The screen, one line per row: from tmux with styles, from screen one byte per cell.
    fn screen(&self, deadline: Instant) -> Vec<u8> {
        if self.program == "tmux" {
            return self.run(&["capture-pane", "-epN"]).unwrap();
        }
        let file = self.directory.path().join("copy");
        let _ = fs::remove_file(&file);
        let name = file.display().to_string();
        self.run(&["-p", "0", "-X", "hardcopy", &name]).unwrap();
        loop {
            let copy = fs::read(&file).unwrap_or_default();
            if copy.split(|byte| *byte == b'\n').count() > usize::from(HEIGHT) {
                return copy;
            }
            assert!(Instant::now() < deadline, "screen makes no copy");
            osier_testing::poll::pause();
        }
    }

    /// Plays the frame and waits until the terminal shows it.
    fn shows(&mut self, stage: &mut Stage, number: usize) {
        self.pipe.write_all(&stage.bytes).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen(deadline);
            let fault = if self.program == "tmux" {
                different_cell(&screen, stage)
            } else {
                different_row(&screen, stage.writer.shown())
            };
            let Some(fault) = fault else { return };
            assert!(
                Instant::now() < deadline,
                "frame {number}: {fault} after {}\n{}",
                stage.text(),
                String::from_utf8_lossy(&screen)
            );
            osier_testing::poll::pause();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server that a test starts and ends"
)]
fn program_named(name: &str) -> Command {
    Command::new(name)
}

impl Drop for Real {
    fn drop(&mut self) {
        let end: &[&str] = match self.program {
            "tmux" => &["kill-server"],
            _ => &["-X", "quit"],
        };
        self.run(end);
    }
}

/// Compares the captured screen, decoded again, with the drawn cells. tmux does not capture blanks
/// at the end of a row, whatever their background.
fn different_cell(captured: &[u8], stage: &mut Stage) -> Option<String> {
    let size = |cells: u16| cells.try_into().unwrap();
    stage.terminal = vt100::Parser::new(size(HEIGHT), size(WIDTH), 0);
    for (row, line) in captured.split(|byte| *byte == b'\n').enumerate() {
        let cursor_move = format!("\x1b[{};H", row + 1);
        stage.terminal.process(cursor_move.as_bytes());
        stage.terminal.process(line);
    }
    stage.check_where(vt100::Cell::has_contents).err()
}

/// Compares the cells that hold ASCII, or no longer do.
fn different_row(captured: &[u8], drawn: &Buffer) -> Option<String> {
    let mut lines = captured.split(|byte| *byte == b'\n');
    for row in drawn.content.chunks(usize::from(WIDTH)) {
        let shown = lines.next().unwrap_or_default();
        let mut column = 0;
        while column < row.len() {
            let (symbol, width) = glyph::glyph(row, column);
            let byte = shown.get(column).copied().unwrap_or(b' ');
            if symbol.is_ascii() && symbol.as_bytes() != [byte] {
                let shown = String::from_utf8_lossy(shown);
                return Some(format!("column {column} of {shown:?} is not {symbol:?}"));
            }
            column += width;
        }
    }
    None
}

/// Scales an edit of the small test screen to this one.
fn spread(edit: Edit) -> Edit {
    match edit {
        Edit::Write(x, y, text, style) => Edit::Write(x * 3, y * 2, text, style),
        Edit::Clear(x, y, count) => Edit::Clear(x * 3, y * 2, count * 3),
        Edit::Fill(y, style) => Edit::Fill(y * 2, style),
        Edit::Move(top, height, rows) => Edit::Move(top * 2, height * 2, rows),
        Edit::Paste(y, text) => Edit::Paste(y * 2, text),
    }
}

fn plays(program: &'static str, features: Features) {
    let Some(mut real) = Real::start(program) else {
        return;
    };
    let mut runner = TestRunner::deterministic();
    let edits = proptest::collection::vec(edit(), 1..6);
    let mut stage = Stage::new(WIDTH, HEIGHT, features);
    let mut model = Buffer::empty(stage.writer.drawn().area);
    let mut scrolled = 0;
    for number in 0..FRAMES {
        for edit in edits.new_tree(&mut runner).unwrap().current() {
            apply(&spread(edit), &mut model);
        }
        stage.frame(Some((0, 0)), |buffer| buffer.clone_from(&model));
        scrolled += usize::from(stage.text().contains("M^[r") || stage.text().contains("L^[r"));
        real.shows(&mut stage, number);
    }
    assert!(scrolled > 4, "{scrolled} frames with scroll regions");
}

fn features(host: TerminalHost) -> Features {
    let kind = TerminalKind {
        host,
        ..TerminalKind::default()
    };
    kind.features()
}

#[test]
fn tmux_shows_the_drawn_cells() {
    plays("tmux", features(TerminalHost::Tmux));
}

#[test]
fn tmux_with_known_version_shows_the_drawn_cells() {
    let features = Features {
        repeat: true,
        erase_background: true,
        ..features(TerminalHost::Tmux)
    };
    plays("tmux", features);
}

#[test]
fn screen_shows_the_drawn_cells() {
    plays("screen", features(TerminalHost::Screen));
}
