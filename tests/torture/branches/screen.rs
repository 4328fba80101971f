//! Random operations on branches from the screen, with keys: prompts, `/undo`, `/redo`, `alt+left`,
//! `alt+right`, and kills.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::reference::{Jump, Kind, Position, Session, Step, Turn};
use super::server::{MODELS, Server};
use crate::Report;
use crate::options::Options;
use crate::support::home::Home;
use crate::support::random::Random;
use crate::support::terminal::Terminal;

const PATIENCE: Duration = Duration::from_mins(1);
/// Prompts in one home: the answers of a branch fit the screen.
const PER_HOME: usize = 30;

/// Operations of the short version.
const SHORT: usize = 100;

const CLEAR: &str = "\x15";
const ALT_LEFT: &str = "\x1b[1;3D";
const ALT_RIGHT: &str = "\x1b[1;3C";

pub(super) fn run(folder: &Path, options: &Options, end: Instant) -> std::io::Result<Report> {
    let mut report = Report::default();
    let mut round = 0;
    let steps = if options.is_short() {
        SHORT
    } else {
        usize::MAX
    };
    while Instant::now() < end && report.failures.is_empty() && report.tried < steps {
        let seed = options.seed * 1_000 + round;
        let server = Server::start()?;
        let home = super::home(&folder.join(round.to_string()), &server)?;
        let program = options.program();
        let mut screen = ScreenUser {
            terminal: Terminal::start(&home, program, &[])?,
            home,
            server,
            random: Random::new(seed),
            turns: Vec::new(),
            session: Session::new(String::new(), Vec::new(), start()),
        };
        while Instant::now() < end && screen.turns.len() < PER_HOME && report.tried < steps {
            report.tried += 1;
            if let Err(problem) = screen.step(program) {
                let seen = screen.terminal.screen();
                report.fail(&format!("screen, seed {seed}: {problem}\n{seen}"));
                break;
            }
        }
        round += 1;
    }
    Ok(report)
}

fn start() -> Position {
    Position {
        path: Vec::new(),
        editor: None,
        model: MODELS[0].to_owned(),
        leaf: None,
    }
}

/// A name for the last entry of a turn, which the screen does not show.
fn after(turn: usize) -> String {
    format!("after {turn}")
}

struct ScreenUser {
    terminal: Terminal,
    home: Home,
    server: Server,
    random: Random,
    turns: Vec<Turn>,
    session: Session,
}

impl ScreenUser {
    fn step(&mut self, program: &Path) -> Result<(), String> {
        if self.session.now.path.is_empty() && self.session.now.editor.is_none() {
            self.terminal.shows(PATIENCE, "t/alpha");
            return self.prompt();
        }
        match self.random.below(10) {
            0..3 => self.prompt(),
            3..5 => self.undo(),
            5 => match self.session.redo() {
                Some(to) => self.jump("/redo\r", to, Jump::Back),
                None => Ok(()),
            },
            6..8 => self.step_in_history(ALT_LEFT, Jump::Back),
            8 => self.step_in_history(ALT_RIGHT, Jump::Forward),
            _ => self.restart(program),
        }
    }

    /// Sends a prompt, and checks that the request contains the branch and the screen shows the
    /// answer.
    fn prompt(&mut self) -> Result<(), String> {
        let turn = Turn {
            number: self.turns.len() as u64 + 1,
            kind: Kind::Say,
            has_picture: false,
            model: MODELS[0].to_owned(),
            before: self.session.now.path.clone(),
            file: None,
            prompt_id: String::new(),
            answer_id: String::new(),
        };
        self.clear()?;
        self.server.take();
        self.terminal.write(&format!("{}\r", turn.text()));
        let answer = format!("done {} {}", turn.number, turn.model);
        if !self.terminal.shows(PATIENCE, &answer) {
            return Err(format!("“{answer}” is not shown"));
        }
        let is_idle = |screen: &str| !screen.contains("esc to interrupt");
        if !self.terminal.until(PATIENCE, is_idle) {
            return Err("the run does not end".to_owned());
        }
        let mut request = self.session.now.context(&self.turns);
        request.push(turn.prompt());
        let seen = self.server.take();
        if seen != [(turn.model.clone(), request.clone())] {
            return Err(format!("the requests: {seen:?}, expected {request:?}"));
        }
        self.turns.push(turn);
        self.session.continued(self.turns.len() - 1);
        self.session.now.leaf = Some(after(self.turns.len() - 1));
        Ok(())
    }

    fn undo(&mut self) -> Result<(), String> {
        let Some(last) = self.session.now.turns().last().copied() else {
            return Ok(());
        };
        let before = self.turns[last].before.clone();
        let leaf = before.last().map(|step| match step {
            Step::Turn(turn) => after(*turn),
            Step::Summary { .. } => String::new(),
        });
        let to = Position {
            path: before,
            editor: Some(last),
            leaf,
            ..start()
        };
        self.jump("/undo\r", to, Jump::Undo)
    }

    fn step_in_history(&mut self, key: &str, jump: Jump) -> Result<(), String> {
        match self.session.target(jump) {
            Some(to) => self.jump(key, to, jump),
            None => Ok(()),
        }
    }

    /// Empties the editor, so that its later text comes from the next operation.
    fn clear(&mut self) -> Result<(), String> {
        self.terminal.write(CLEAR);
        let is_empty = |screen: &str| in_editor(screen).is_none();
        if !self.terminal.until(PATIENCE, is_empty) {
            return Err("the editor is not cleared".to_owned());
        }
        Ok(())
    }

    /// Types keys that move the conversation, and checks that one move is stored, that the screen
    /// shows the end of the branch, and that the editor has its prompt.
    fn jump(&mut self, keys: &str, to: Position, jump: Jump) -> Result<(), String> {
        self.clear()?;
        let stored = self.moves() + 1;
        self.terminal.write(keys);
        let end = Instant::now() + PATIENCE;
        while self.moves() < stored && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        let moves = self.moves();
        if moves != stored {
            return Err(format!("{keys:?}: {moves} moves are stored, not {stored}"));
        }
        let editor = to.editor.map(|turn| self.turns[turn].text());
        let last = self.last_answer(&to);
        let is_there = |screen: &str| in_editor(screen) == editor && answer(screen) == last;
        if !self.terminal.until(PATIENCE, is_there) {
            return Err(format!("{keys:?}: {editor:?} and {last:?} are not shown"));
        }
        self.session.jump(to, jump);
        Ok(())
    }

    fn last_answer(&self, at: &Position) -> Option<String> {
        at.turns().last().map(|turn| {
            let turn = &self.turns[*turn];
            format!("done {} {}", turn.number, turn.model)
        })
    }

    /// The number of moves in the file of the session.
    fn moves(&self) -> usize {
        let texts = self.home.sessions().into_iter().map(fs::read_to_string);
        let texts = texts.map(Result::unwrap_or_default);
        texts
            .map(|text| text.matches(r#""type":"leaf""#).count())
            .sum()
    }

    /// The draft that a killed program has left.
    fn draft(&self) -> Option<String> {
        let newest = self.home.sessions().pop()?;
        let newest = newest.file_stem()?.to_string_lossy().into_owned();
        let drafts = fs::read_dir(self.home.home().join("drafts"));
        drafts.into_iter().flatten().flatten().find_map(|file| {
            let draft: Value = serde_json::from_slice(&fs::read(file.path()).ok()?).ok()?;
            let text = draft["text"].as_str()?.to_owned();
            let is_of_newest = newest.ends_with(draft["session"].as_str()?);
            (is_of_newest && !text.is_empty()).then_some(text)
        })
    }

    /// Kills the program and continues the session. The draft returns, unless it is the prompt that was sent last.
    fn restart(&mut self, program: &Path) -> Result<(), String> {
        self.terminal.kill();
        let draft = self.draft();
        let started = Terminal::start(&self.home, program, &["-c"]);
        self.terminal = started.map_err(|error| error.to_string())?;
        let last = self.last_answer(&self.session.now);
        let turns = self.session.now.turns();
        let sent = turns.last().map(|turn| self.turns[*turn].text());
        let draft = draft.filter(|draft| Some(draft) != sent.as_ref());
        let is_back = |screen: &str| {
            let has_draft = |draft: &String| screen.contains(&format!("❯ {draft}"));
            screen.contains("t/alpha")
                && answer(screen) == last
                && draft.as_ref().is_none_or(has_draft)
        };
        if !self.terminal.until(PATIENCE, is_back) {
            return Err(format!(
                "{last:?} and the draft {draft:?} are not shown after a kill"
            ));
        }
        self.clear()
    }
}

/// The prompt in the editor.
fn in_editor(screen: &str) -> Option<String> {
    let mut lines = screen.lines().map(str::trim);
    lines
        .find_map(|line| line.strip_prefix("❯ ").map(str::to_owned))
        .filter(|text| text.starts_with("GO "))
}

/// The last answer on the screen.
fn answer(screen: &str) -> Option<String> {
    let mut lines = screen.lines().map(str::trim);
    lines
        .rfind(|line| line.starts_with("done "))
        .map(str::to_owned)
}
