//! The prompt editor: the text area, what it completes to, and earlier prompts.

pub(crate) mod attachments;
mod complete;
pub(crate) mod editing;
mod find;
mod history;
mod history_picker;
mod modes;
pub(crate) mod pending;
mod submit;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use osier_base::parts::Parts;
use osier_base::path;
use osier_context::slash_parts;
use osier_protocol::AddedCommand;
use osier_term::row::Row;
use osier_term::widgets::select::{Item, Select};
use osier_term::widgets::textarea::modal::Modal;
use osier_term::widgets::textarea::{Chip, Draft, DraftPart, Motion, Position, TextArea};

use crate::command::{Category, Command};
use complete::{Candidate, Completion};
use editing::edit_area;
use find::Find;
use history::History;

const PLACEHOLDER: &str = "Ask, or type / for commands";

/// A list that completion needs and that is not loaded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Files,
    Models,
}

/// Files that are offered before anything is typed.
const FIRST: usize = complete::CANDIDATE_LIMIT;

/// Time per slice of a file search.
const MOMENT: Duration = Duration::from_millis(4);

/// Whether the moment is over that begins now.
fn moment() -> impl Fn() -> bool {
    let end = Instant::now() + MOMENT;
    move || Instant::now() >= end
}

/// The editor and the lists that belong to it.
#[derive(Debug)]
pub struct Editor {
    area: TextArea,
    modal: Box<Modal>,
    history: History,
    /// Where paths are completed from.
    files: Option<Arc<Vec<String>>>,
    files_asked: bool,
    /// The search among them for the word at the cursor.
    find: Option<Find>,
    /// The files are on another machine.
    elsewhere: bool,
    /// Not set before they were asked for.
    models: Option<Vec<String>>,
    models_asked: bool,
    /// Prompts of MCP servers.
    prompts: Vec<AddedCommand>,
    /// `server:uri` of what MCP servers have to read.
    resources: Vec<String>,
    /// Slash commands of skills, templates and plugins.
    commands: Vec<AddedCommand>,
    completion: Option<Offer>,
    /// What relative paths are completed from.
    folder: PathBuf,
    /// Rows of the last view above and below it.
    hidden: (usize, usize),
}

/// A completion that is on screen.
#[derive(Debug)]
struct Offer {
    completion: Completion,
    list: Select,
}

impl Offer {
    fn selected(&self) -> Option<&Candidate> {
        let place: usize = self.list.selected()?.key.parse().ok()?;
        self.completion.candidates.get(place)
    }
}

impl Editor {
    pub fn new() -> Self {
        Self {
            area: TextArea::new(PLACEHOLDER),
            modal: Box::default(),
            history: History::default(),
            files: None,
            files_asked: false,
            find: None,
            elsewhere: false,
            models: None,
            models_asked: false,
            prompts: Vec::new(),
            resources: Vec::new(),
            commands: Vec::new(),
            completion: None,
            folder: PathBuf::new(),
            hidden: (0, 0),
        }
    }

    /// The text to send, pastes expanded.
    pub fn text(&self) -> String {
        self.area.text()
    }

    /// The same; the text of a paste is shared, not copied.
    pub fn parts(&self) -> Parts {
        self.area.parts()
    }

    /// Counts the edits.
    pub fn edits(&self) -> u64 {
        self.area.edits()
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Whether the text would run as a command of the user.
    pub fn is_shell(&self) -> bool {
        self.area.line(0).trim_start().starts_with('!')
    }

    pub fn clear(&mut self) {
        self.set_text("");
        self.history.leave();
    }

    /// Replaces the text; undo restores the old one.
    pub fn set_text(&mut self, text: &str) {
        self.area.set_text(text);
        self.modal.reset(&mut self.area);
        self.completion = None;
    }

    /// The same with what was pasted as it stood.
    pub fn set_parts(&mut self, parts: &Parts) {
        self.area.set_parts(parts);
        self.modal.reset(&mut self.area);
        self.completion = None;
    }

    /// Puts text in front of what is there, with a blank line between.
    pub fn put_before(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let rest = self.area.text();
        let joined = if rest.is_empty() {
            text.to_owned()
        } else {
            format!("{text}\n\n{rest}")
        };
        self.set_text(&joined);
    }

    /// Puts a prompt with its chips in front of what is there, with a blank line between.
    pub fn put_draft_before(&mut self, mut pieces: Vec<DraftPart>) {
        let rest = self.area.snapshot();
        if !rest.is_empty() {
            pieces.push(DraftPart::Text("\n\n".to_owned()));
            pieces.extend(rest.parts);
        }
        let cursor = Position::new(usize::MAX, usize::MAX);
        self.area.restore(&Draft {
            parts: pieces,
            cursor,
        });
        self.modal.reset(&mut self.area);
        self.completion = None;
    }

    pub fn insert_char(&mut self, character: char) {
        let mut buffer = [0; 4];
        let times = self.modal.take_times().unwrap_or(1);
        self.modal.touch(&mut self.area);
        for _ in 0..times {
            self.area.insert(character.encode_utf8(&mut buffer));
        }
        self.modal.edited(&mut self.area, false);
        self.history.leave();
    }

    pub fn paste(&mut self, text: &str) {
        self.modal.paste(&mut self.area, text);
        self.history.leave();
        self.completion = None;
    }

    /// Puts a chip at the cursor.
    pub fn insert_chip(&mut self, chip: Chip) {
        self.modal.touch(&mut self.area);
        self.area.insert_chip(chip);
        self.area.insert(" ");
        self.modal.edited(&mut self.area, false);
        self.completion = None;
    }

    /// What is typed, with its chips.
    pub fn pieces(&self) -> Vec<DraftPart> {
        self.area.snapshot().parts
    }

    /// Numbers of the attachments whose chips are in the text, in their order.
    pub fn attachments(&self) -> Vec<u64> {
        self.area.attachments()
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn load_history(&mut self, prompts: Vec<String>) {
        self.history.load(prompts);
    }

    pub fn remember(&mut self, text: &str) {
        self.history.push(text);
    }

    /// Where the session works: relative paths are completed from there.
    pub fn set_folder(&mut self, folder: impl Into<PathBuf>) {
        self.folder = folder.into();
        self.files = None;
        self.files_asked = false;
    }

    /// The files are on another machine.
    pub fn set_elsewhere(&mut self) {
        self.elsewhere = true;
    }

    pub fn set_files(&mut self, files: Arc<Vec<String>>) {
        self.files = Some(files);
        // A selection in the list chooses among the shown items.
        if !self.is_choosing() {
            self.offer_completion();
        }
    }

    /// References of the models that are known.
    pub fn set_models(&mut self, models: Vec<String>) {
        self.models = Some(models);
        if self.completion.is_none() {
            self.offer_completion();
        }
    }

    /// What the MCP servers of the session have for the editor.
    pub fn set_servers(&mut self, prompts: Vec<AddedCommand>, resources: Vec<String>) {
        self.prompts = prompts;
        self.resources = resources;
    }

    /// Slash commands in addition to the built-in ones.
    pub fn set_commands(&mut self, commands: Vec<AddedCommand>) {
        self.commands = commands;
    }

    pub fn commands(&self) -> &[AddedCommand] {
        &self.commands
    }

    /// Whether `text` calls a skill, a template or a plugin: the session resolves it.
    pub fn is_added_command(&self, text: &str) -> bool {
        slash_parts(text).is_some_and(|(name, _)| {
            name.starts_with("skill:") || self.commands.iter().any(|known| known.name == name)
        })
    }

    /// Runs an editing command; false when it is not the editor's.
    pub fn on_command(&mut self, command: Command) -> bool {
        if self.completion.is_some() && self.on_completion(command) {
            return true;
        }
        self.modal.touch(&mut self.area);
        let times = self.modal.take_times();
        if times.is_some_and(|times| times > 1) && is_editing(command) {
            for _ in 1..times.unwrap_or(1) {
                edit_area(&mut self.area, command);
            }
        }
        let moved = match command {
            Command::Up => self.area.move_by(Motion::Up(1)) || self.recall(true),
            Command::Down => self.area.move_by(Motion::Down(1)) || self.recall(false),
            Command::DeleteForward if self.area.is_empty() => return false,
            command => edit_area(&mut self.area, command),
        };
        self.modal.edited(&mut self.area, is_motion(command));
        moved || is_editing(command)
    }

    fn recall(&mut self, earlier: bool) -> bool {
        let shown = if earlier {
            self.history.previous(&self.area.text()).map(str::to_owned)
        } else {
            self.history.next().map(str::to_owned)
        };
        let Some(text) = shown else { return false };
        self.set_text(&text);
        true
    }

    /// Offers completions for the word at the cursor; or returns, once, which list has to be loaded first.
    pub fn offer_completion(&mut self) -> Option<Missing> {
        self.completion = None;
        let before = self.area.before_cursor().to_owned();
        let first_line = self.area.cursor().line == 0;
        let word = complete::word(&before);
        let offered = match &word {
            complete::Word::Argument { command, .. }
                if first_line && *command == "model" && self.models.is_none() =>
            {
                let asked = std::mem::replace(&mut self.models_asked, true);
                return (!asked).then_some(Missing::Models);
            }
            complete::Word::Command(_) | complete::Word::Argument { .. } if first_line => {
                let models = self.models.as_deref().unwrap_or_default();
                let added: Vec<&AddedCommand> = self.commands.iter().chain(&self.prompts).collect();
                complete::commands(&word, models, &added)
            }
            complete::Word::File { .. } => {
                let Some(files) = &self.files else {
                    let asked = std::mem::replace(&mut self.files_asked, true);
                    return (!asked).then_some(Missing::Files);
                };
                let files = Arc::clone(files);
                return self.offer_files(&word, &files);
            }
            _ => None,
        };
        self.offer(offered);
        None
    }

    /// Files for the word: at once what a moment finds, the rest with `find_on`.
    fn offer_files(
        &mut self,
        word: &complete::Word<'_>,
        files: &Arc<Vec<String>>,
    ) -> Option<Missing> {
        let complete::Word::File { query, .. } = word else {
            return None;
        };
        if query.is_empty() {
            self.find = None;
            let first: Vec<&str> = files.iter().map(String::as_str).take(FIRST).collect();
            let offered = complete::files(word, &first, &self.resources);
            self.offer(offered);
            return None;
        }
        let known = self.find.take();
        let mut find = match known {
            Some(find) if find.is_for(query, files) => find,
            before => Find::new(query, files, before),
        };
        find.go_on(moment());
        let offered = complete::files(word, &find.found(), &self.resources);
        self.find = Some(find);
        self.offer(offered);
        None
    }

    /// Whether a search is running.
    pub fn is_finding(&self) -> bool {
        self.find.as_ref().is_some_and(|find| !find.is_done())
    }

    /// Appearance on for a moment; whether other files are offered now.
    pub fn find_on(&mut self) -> bool {
        let Some(find) = self.find.as_mut().filter(|find| !find.is_done()) else {
            return false;
        };
        let changed = find.go_on(moment());
        let before = self.area.before_cursor().to_owned();
        let word = complete::word(&before);
        let complete::Word::File { query, .. } = &word else {
            self.find = None;
            return false;
        };
        let is_its = self
            .files
            .as_ref()
            .is_some_and(|files| find.is_for(query, files));
        if !is_its {
            self.find = None;
            return false;
        }
        // A selection in the list chooses among the shown items.
        let chooses = self.completion.as_ref();
        let chooses = chooses.is_some_and(|offer| offer.list.selected_index() > 0);
        if !changed || chooses {
            return false;
        }
        let offered = complete::files(&word, &find.found(), &self.resources);
        self.offer(offered);
        true
    }

    /// Completes on request: the offered list, else the path at the cursor.
    pub fn complete_path(&mut self) -> Option<Missing> {
        let missing = self.offer_completion();
        if missing.is_some() || self.completion.is_some() {
            return missing;
        }
        let before = self.area.before_cursor().to_owned();
        let list = |name: &str| {
            // The files are elsewhere: `@` knows them, the disk here does not.
            if self.elsewhere {
                return Vec::new();
            }
            list_folder(&self.folder, name)
        };
        let found = complete::path(&complete::word(&before), list)?;
        let shared = complete::common_prefix(&found.candidates).to_owned();
        if shared.len() > found.range.len() || found.candidates.len() == 1 {
            self.replace(found.range.clone(), &shared);
        }
        if found.candidates.len() > 1 {
            let range = found.range.start..found.range.start + shared.len();
            self.offer(Some(Completion { range, ..found }));
        }
        None
    }

    /// The list above the editor.
    pub fn completion(&mut self) -> Option<&mut Select> {
        self.completion.as_mut().map(|offer| &mut offer.list)
    }

    /// Whether an item of that list was selected.
    pub fn is_choosing(&self) -> bool {
        let list = self.completion.as_ref().map(|offer| &offer.list);
        list.is_some_and(|list| list.selected_index() > 0)
    }

    /// Rows the text wants at `width`.
    pub fn height(&mut self, width: u16, limit: u16) -> u16 {
        self.area.height(usize::from(width), usize::from(limit)) as u16
    }

    /// The visible rows and the cursor's cell among them.
    pub fn rows(&mut self, width: u16, height: u16) -> (Vec<Row>, (u16, u16)) {
        self.area.set_selection(self.modal.selection(&self.area));
        let view = self.area.view(usize::from(width), usize::from(height));
        self.hidden = (view.above, view.below);
        (view.rows, view.cursor)
    }

    /// Rows above and below the last view.
    pub fn hidden_rows(&self) -> (usize, usize) {
        self.hidden
    }

    fn offer(&mut self, offered: Option<Completion>) {
        self.completion = offered.map(|completion| {
            let items = completion.candidates.iter().enumerate().map(item).collect();
            Offer {
                completion,
                list: Select::new(items),
            }
        });
    }

    /// A command while the list is on screen; false when it is not the list's.
    fn on_completion(&mut self, command: Command) -> bool {
        let Some(offer) = &mut self.completion else {
            return false;
        };
        match command {
            Command::Up => offer.list.step(false),
            Command::Down => offer.list.step(true),
            Command::Interrupt | Command::Cancel => {
                self.completion = None;
                self.find = None;
            }
            Command::Complete => self.accept(),
            Command::Submit => {
                // What is written out already is sent, not completed to itself.
                let typed = self
                    .area
                    .before_cursor()
                    .get(offer.completion.range.clone());
                let whole = offer.selected().map(|candidate| candidate.text.trim_end());
                if whole == typed {
                    self.completion = None;
                    return false;
                }
                self.accept();
            }
            _ => return false,
        }
        true
    }

    fn accept(&mut self) {
        let Some(offer) = self.completion.take() else {
            return;
        };
        let Some(candidate) = offer.selected() else {
            return;
        };
        let is_folder = candidate.text.ends_with(['/', ' ']);
        let whole = candidate.text.starts_with('@') && !is_folder;
        let text = format!("{}{}", candidate.text, if whole { " " } else { "" });
        self.replace(offer.completion.range, &text);
    }

    /// Replaces bytes of the cursor's line, counted from its start.
    fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        let line = self.area.cursor().line;
        self.area.replace(
            Position::new(line, range.start)..Position::new(line, range.end),
            text,
        );
    }
}

impl Default for Editor {
    fn default() -> Self {
        Self::new()
    }
}

fn item((place, candidate): (usize, &Candidate)) -> Item {
    Item {
        key: place.to_string(),
        label: candidate.label.clone(),
        details: vec![candidate.detail.as_str().into()],
        ..Item::default()
    }
}

/// Commands that belong to the editor even when they change nothing.
fn is_editing(command: Command) -> bool {
    command
        .info()
        .is_some_and(|info| info.category == Category::Editor)
}

/// Commands that only move the cursor.
fn is_motion(command: Command) -> bool {
    matches!(
        command,
        Command::Left
            | Command::Right
            | Command::Up
            | Command::Down
            | Command::WordLeft
            | Command::WordRight
            | Command::LineStart
            | Command::LineEnd
            | Command::BufferStart
            | Command::BufferEnd
    )
}

/// Names in the folder `name` as seen from `cwd`, for path completion; folders with a trailing slash.
fn list_folder(cwd: &Path, name: &str) -> Vec<String> {
    let place = if name.is_empty() { "." } else { name };
    let Ok(entries) = std::fs::read_dir(path::resolve(cwd, place)) else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_folder = entry.path().is_dir();
            Some(if is_folder { format!("{name}/") } else { name })
        })
        .collect()
}
