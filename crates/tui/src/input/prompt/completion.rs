//! Completion in the editor: commands, arguments, files of the session and paths.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::candidates::{self, Candidate, Completion};
use super::file_search::Find;
use super::server_words::ServerWords;
use super::symbols::Symbols;
use crate::actions::Command;
use osier_base::path;
use osier_llm::ThinkingLevel;
use osier_protocol::{AddedCommand, slash};
use osier_term::widgets::textarea::{Position, TextArea};
use osier_term::{Columns, Item, Select};

/// A list that completion needs and that is not loaded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Files,
    Models,
    Points,
}

/// Files that are offered before anything is typed.
const FIRST: usize = candidates::CANDIDATE_LIMIT;

/// Longer names of servers are not offered: comparing many of them takes too long for a key.
pub(super) const MAX_NAME: usize = 200;

/// Time per slice of a file search.
const MOMENT: Duration = Duration::from_millis(4);

/// A function that returns whether [`MOMENT`] has passed since this call.
fn moment() -> impl Fn() -> bool {
    let end = Instant::now() + MOMENT;
    move || Instant::now() >= end
}

/// The lists to complete from, and what is offered now.
#[derive(Debug, Default)]
pub(super) struct Completer {
    /// Where paths are completed from.
    pub(super) files: Option<Arc<Vec<String>>>,
    /// The list was requested for the word at the cursor: the next word requests it again, because files are created.
    pub(super) files_asked: bool,
    /// The search among them for the word at the cursor.
    pub(super) find: Option<Find>,
    /// The files are on another machine.
    pub(super) elsewhere: bool,
    /// Not set before they are requested.
    pub(super) models: Option<Vec<candidates::NamedModel>>,
    pub(super) models_asked: bool,
    /// The thinking levels of the session's model, the current one first.
    pub(super) levels: Vec<ThinkingLevel>,
    /// Ids and texts of the prompts of the session, for the commands that they are typed for.
    pub(super) points: Option<Vec<(String, String)>>,
    pub(super) points_asked: bool,
    /// Prompts of MCP servers.
    pub(super) prompts: Vec<AddedCommand>,
    /// The resources of MCP servers, as `server:uri`.
    pub(super) resources: Vec<String>,
    /// Values that MCP servers offer for the word being typed.
    pub(super) server_words: ServerWords,
    /// Symbols of the project.
    pub(super) symbols: Symbols,
    /// Slash commands of skills, templates and plugins.
    pub(super) commands: Vec<AddedCommand>,
    pub(super) offer: Option<Offer>,
    /// The error of the slash command at the cursor, if no command has its name.
    pub(super) unknown: Option<String>,
    /// The directory that relative paths are completed from.
    pub(super) folder: PathBuf,
}

/// A completion that is on screen.
#[derive(Debug)]
pub(super) struct Offer {
    completion: Completion,
    pub(super) list: Select,
}

impl Offer {
    fn selected(&self) -> Option<&Candidate> {
        self.completion.candidates.get(self.list.selected()?)
    }
}

impl Completer {
    pub(super) fn complete(&mut self, area: &TextArea) -> Option<Missing> {
        (self.offer, self.unknown) = (None, None);
        let before = area.before_cursor().to_owned();
        let first_line = area.cursor().line == 0;
        let word = candidates::word(&before);
        if !matches!(word, candidates::Word::File { .. }) {
            self.files_asked = false;
        }
        let wants_points = first_line && candidates::wants_points(&word);
        if !wants_points {
            // The next word requests the prompts again, because there may be new ones by then.
            (self.points, self.points_asked) = (None, false);
        }
        let offered = match &word {
            _ if wants_points => {
                let asked = std::mem::replace(&mut self.points_asked, true);
                let points = self.points.as_deref().unwrap_or_default();
                let offered = candidates::points(&word, points);
                self.offer(offered);
                return (!asked).then_some(Missing::Points);
            }
            _ if first_line && self.models.is_none() && candidates::model_name(&word).is_some() => {
                let asked = std::mem::replace(&mut self.models_asked, true);
                return (!asked).then_some(Missing::Models);
            }
            candidates::Word::Command(_) | candidates::Word::Argument { .. } if first_line => {
                let models = candidates::KnownModels {
                    all: self.models.as_deref().unwrap_or_default(),
                    levels: &self.levels,
                };
                let typed = self.typed_prompt(&before);
                let is_other = |prompt: &&AddedCommand| {
                    typed.as_ref().is_none_or(|typed| typed.name != prompt.name)
                };
                let prompts = self.prompts.iter().filter(is_other).chain(&typed);
                let added: Vec<&AddedCommand> = self.commands.iter().chain(prompts).collect();
                let offered = candidates::command_or_value(&word, models, &added);
                self.unknown = candidates::unknown(&word, &added).filter(|_| offered.is_none());
                offered
            }
            candidates::Word::File { .. } => {
                let asked = std::mem::replace(&mut self.files_asked, true);
                if let Some(files) = self.files.clone() {
                    self.offer_files(&word, &before, &files);
                }
                return (!asked).then_some(Missing::Files);
            }
            _ => None,
        };
        self.offer(offered);
        None
    }

    /// The prompt of an MCP server that the user is typing, with the values of its argument; `None` if no values are known.
    fn typed_prompt(&self, before: &str) -> Option<AddedCommand> {
        let values = self.server_words.of(before);
        let (name, argument) = before.strip_prefix('/')?.split_once(' ')?;
        let mut prompts = self.prompts.iter().filter(|_| !values.is_empty());
        let mut prompt = prompts.find(|prompt| prompt.name == name)?.clone();
        let last = argument.rsplit(' ').next().unwrap_or_default();
        let earlier = &argument[..argument.len() - last.len()];
        let complete = values.iter().map(|value| format!("{earlier}{value}"));
        prompt.values = complete.collect();
        Some(prompt)
    }

    /// Files for the word: at once what a moment finds, the rest with `find_on`.
    fn offer_files(&mut self, word: &candidates::Word<'_>, before: &str, files: &Arc<Vec<String>>) {
        let candidates::Word::File { query, .. } = word else {
            return;
        };
        if query.is_empty() {
            self.find = None;
            let is_hidden = |path: &&str| path.starts_with('.') || path.contains("/.");
            let paths = || files.iter().map(String::as_str);
            let visible = paths().filter(|path| !is_hidden(path));
            let first: Vec<&str> = visible
                .chain(paths().filter(is_hidden))
                .take(FIRST)
                .collect();
            let others = [self.server_words.of(before), &*self.resources];
            let offered = candidates::files(word, &first, others, &[]);
            return self.offer(offered);
        }
        let known = self.find.take();
        let mut find = match known {
            Some(find) if find.is_for(query, files) => find,
            before => Find::new(query, files, before),
        };
        find.go_on(moment());
        let offered = candidates::files(
            word,
            &find.found(),
            [self.server_words.of(before), &*self.resources],
            &self.symbols.of(query),
        );
        self.find = Some(find);
        self.offer(offered);
    }

    pub(super) fn find_on(&mut self, area: &TextArea) -> bool {
        let Some(find) = self.find.as_mut().filter(|find| !find.is_done()) else {
            return false;
        };
        let changed = find.go_on(moment());
        let before = area.before_cursor().to_owned();
        let word = candidates::word(&before);
        let candidates::Word::File { query, .. } = &word else {
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
        let chooses = self.offer.as_ref();
        let chooses = chooses.is_some_and(|offer| offer.list.selected_index() > 0);
        if !changed || chooses {
            return false;
        }
        let offered = candidates::files(
            &word,
            &find.found(),
            [self.server_words.of(&before), &*self.resources],
            &self.symbols.of(query),
        );
        self.offer(offered);
        true
    }

    pub(super) fn complete_path(&mut self, area: &mut TextArea) -> Option<Missing> {
        let missing = self.complete(area);
        if self.offer.is_some() || missing.is_some() {
            return missing;
        }
        let before = area.before_cursor().to_owned();
        let list = |name: &str| {
            // The files are on another machine: `@` lists them, the local disk does not have them.
            if self.elsewhere {
                return Vec::new();
            }
            list_folder(&self.folder, name)
        };
        let found = candidates::path(&candidates::word(&before), list)?;
        let shared = candidates::common_prefix(&found.candidates).to_owned();
        if shared.len() > found.range.len() || found.candidates.len() == 1 {
            replace(area, found.range.clone(), &shared);
        }
        if found.candidates.len() > 1 {
            let range = found.range.start..found.range.start + shared.len();
            self.offer(Some(Completion { range, ..found }));
        }
        None
    }

    pub(super) fn is_choosing(&self) -> bool {
        let list = self.offer.as_ref().map(|offer| &offer.list);
        list.is_some_and(|list| list.selected_index() > 0)
    }

    /// Closes the list; false when none is on screen.
    pub(super) fn close(&mut self) -> bool {
        self.offer.take().is_some()
    }

    fn offer(&mut self, offered: Option<Completion>) {
        self.offer = offered.map(|completion| {
            let items = completion.candidates.iter().map(item).collect();
            let mut list = Select::new(items);
            list.set_columns(Columns::SENTENCE);
            Offer { completion, list }
        });
    }

    /// A command while the list is on screen; false when it is not the list's.
    pub(super) fn on_command(&mut self, command: Command, area: &mut TextArea) -> bool {
        let Some(offer) = &mut self.offer else {
            return false;
        };
        match command {
            Command::Up => offer.list.step(false),
            Command::Down => offer.list.step(true),
            Command::Interrupt | Command::Cancel => {
                self.offer = None;
                self.find = None;
            }
            Command::Complete => self.accept(area),
            Command::Submit => {
                // A complete word is sent, because it would only be completed to itself.
                let before = area.before_cursor().to_owned();
                let typed = before.get(offer.completion.range.clone());
                let whole = offer.selected().map(|candidate| candidate.text.trim_end());
                let is_first = offer.list.selected_index() == 0;
                // A command without its argument is sent, too, if the user has not selected an
                // item.
                if whole == typed || (is_first && may_be_bare(&before)) {
                    self.offer = None;
                    return false;
                }
                self.accept(area);
                // With its argument a command is complete.
                return !matches!(candidates::word(&before), candidates::Word::Argument { .. });
            }
            _ => return false,
        }
        true
    }

    fn accept(&mut self, area: &mut TextArea) {
        let Some(offer) = self.offer.take() else {
            return;
        };
        let Some(candidate) = offer.selected() else {
            return;
        };
        let is_folder = candidate.text.ends_with(['/', ' ']);
        let whole = candidate.text.starts_with('@') && !is_folder;
        let text = format!("{}{}", candidate.text, if whole { " " } else { "" });
        replace(area, offer.completion.range, &text);
    }
}

/// Whether the text is a command that works without its argument, of which nothing was typed.
fn may_be_bare(before: &str) -> bool {
    match candidates::word(before) {
        candidates::Word::Argument {
            command,
            argument: "",
            ..
        } => slash::find(command).is_some_and(|row| row.argument.starts_with('[')),
        _ => false,
    }
}

/// Replaces bytes of the cursor's line, counted from its start.
fn replace(area: &mut TextArea, range: Range<usize>, text: &str) {
    let line = area.cursor().line;
    area.replace(
        Position::new(line, range.start)..Position::new(line, range.end),
        text,
    );
}

fn item(candidate: &Candidate) -> Item {
    Item {
        label: candidate.label.clone(),
        details: vec![candidate.detail.as_str().into()],
        ..Item::default()
    }
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

#[cfg(test)]
mod tests {
    use super::super::editor::Editor;
    use super::*;

    fn offered(editor: &Editor) -> Vec<String> {
        let offer = editor.completer.offer.iter();
        let candidates = offer.flat_map(|offer| &offer.completion.candidates);
        candidates.map(|one| one.text.clone()).collect()
    }

    #[test]
    fn each_word_with_an_at_sign_lists_the_files_again() {
        let mut editor = Editor::new();
        editor.set_text("@");
        assert_eq!(editor.offer_completion(), Some(Missing::Files));
        editor.set_files(&Arc::new(vec!["old.rs".to_owned()]), true);
        assert_eq!(offered(&editor), ["@old.rs"]);
        editor.set_text("@o");
        assert_eq!(editor.offer_completion(), None);
        editor.set_text("@old.rs and ");
        assert_eq!(editor.offer_completion(), None);
        editor.set_text("@old.rs and @");
        assert_eq!(editor.offer_completion(), Some(Missing::Files));
        assert_eq!(offered(&editor), ["@old.rs"]);
        let files = ["new.rs", "old.rs"].map(str::to_owned).to_vec();
        // A list that is not complete yet does not hide known files.
        editor.set_files(&Arc::default(), false);
        assert_eq!(offered(&editor), ["@old.rs"]);
        editor.set_files(&Arc::new(files), true);
        assert_eq!(offered(&editor), ["@new.rs", "@old.rs"]);
    }

    #[test]
    fn enter_completes_an_argument_and_submits() {
        let mut editor = Editor::new();
        editor.set_models(vec![("acme/anvil".to_owned(), Vec::new())]);
        for (typed, submits) in [("/mod", false), ("/model anv", true)] {
            editor.set_text(typed);
            editor.offer_completion();
            assert_eq!(!editor.on_command(Command::Submit), submits, "{typed}");
        }
        assert_eq!(editor.text(), "/model acme/anvil");
    }

    #[test]
    fn long_names_of_servers_are_not_offered() {
        let mut editor = Editor::new();
        let names = ["docs:one", &format!("docs:{}", "x".repeat(6_000))];
        editor.set_servers(Vec::new(), names.map(str::to_owned).to_vec());
        editor.set_files(&Arc::default(), true);
        editor.set_text("@docs");
        editor.offer_completion();
        let offered = editor
            .completer
            .offer
            .map(|offer| offer.completion.candidates);
        let texts = offered.map(|all| all.into_iter().map(|one| one.text).collect::<Vec<_>>());
        assert_eq!(texts, Some(vec!["@docs:one".to_owned()]));
    }
}
