//! The completion that the editor offers.

use std::path::PathBuf;
use std::sync::Arc;

use super::candidates;
use super::completion::{Completer, MAX_NAME, Missing};
use super::editor::Editor;
use super::symbols::Symbols;
use osier_llm::ThinkingLevel;
use osier_protocol::{AddedCommand, ModelInfo, ProjectSymbol};
use osier_term::Select;

impl Editor {
    /// Where the session works: relative paths are completed from there.
    pub fn set_folder(&mut self, folder: impl Into<PathBuf>) {
        self.completer.folder = folder.into();
        self.completer.files = None;
        self.completer.files_asked = false;
        self.completer.symbols = Symbols::default();
    }

    /// The files are on another machine.
    pub fn set_elsewhere(&mut self) {
        self.completer.elsewhere = true;
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        self.completer.elsewhere
    }

    /// Stores the files; without `complete`, the files that were found so far.
    pub fn set_files(&mut self, files: &Arc<Vec<String>>, complete: bool) {
        let known = self.completer.files.as_ref().map_or(0, |known| known.len());
        if !complete && known > files.len() {
            return;
        }
        self.completer.files = Some(Arc::clone(files));
        // A selection in the list chooses among the shown items.
        if !self.is_choosing() {
            self.offer_completion();
        }
    }

    /// The search for symbols that the word at the cursor needs now.
    pub fn wanted_symbols(&mut self) -> Option<(u64, String)> {
        let before = self.area.before_cursor();
        match candidates::word(before) {
            candidates::Word::File { query, .. } => self.completer.symbols.want(query),
            _ => None,
        }
    }

    /// The question that an MCP server must answer for the word at the cursor; `None` if there is none now.
    pub fn wanted_server_words(&mut self) -> Option<(u64, String)> {
        let Completer {
            server_words,
            resources,
            ..
        } = &mut self.completer;
        server_words.want(self.area.before_cursor(), resources)
    }

    /// Stores the values that an MCP server offers.
    pub fn set_server_words(&mut self, request: u64, values: Vec<String>) {
        if self.completer.server_words.store(request, values) && !self.is_choosing() {
            self.offer_completion();
        }
    }

    /// Stores the symbols of a search.
    pub fn set_symbols(&mut self, request: u64, symbols: Arc<Vec<ProjectSymbol>>) {
        if self.completer.symbols.store(request, symbols) && !self.is_choosing() {
            self.offer_completion();
        }
    }

    /// Sets the thinking levels of the session's model. A model with one level offers none.
    pub fn set_levels(&mut self, model: &ModelInfo, current: ThinkingLevel) {
        let levels = &model.thinking_levels;
        let others = levels.iter().copied().filter(|level| *level != current);
        let known = levels.contains(&current).then_some(current);
        let ordered: Vec<ThinkingLevel> = known.into_iter().chain(others).collect();
        self.completer.levels = if levels.len() > 1 {
            ordered
        } else {
            Vec::new()
        };
    }

    /// Sets the references of the known models, with their thinking levels.
    pub fn set_models(&mut self, models: Vec<(String, Vec<ThinkingLevel>)>) {
        self.completer.models = Some(models);
        if self.completer.offer.is_none() {
            self.offer_completion();
        }
    }

    /// Stores the ids and texts of the prompts of the session, newest first.
    pub fn set_points(&mut self, points: Vec<(String, String)>) {
        self.completer.points = Some(points);
        if !self.is_choosing() {
            self.offer_completion();
        }
    }

    /// Stores the prompts and resources of the session's MCP servers.
    pub fn set_servers(&mut self, mut prompts: Vec<AddedCommand>, mut resources: Vec<String>) {
        prompts.retain(|prompt| prompt.name.len() <= MAX_NAME);
        resources.retain(|name| name.len() <= MAX_NAME);
        self.completer.prompts = prompts;
        self.completer.resources = resources;
    }

    /// Slash commands in addition to the built-in ones.
    pub fn set_commands(&mut self, commands: Vec<AddedCommand>) {
        self.completer.commands = commands;
    }

    pub fn commands(&self) -> &[AddedCommand] {
        &self.completer.commands
    }

    /// Whether a skill, a template or a plugin has this slash command: the session resolves it.
    pub fn is_added_command(&self, name: &str) -> bool {
        self.commands().iter().any(|known| known.name == name)
    }

    /// Offers completions for the word at the cursor; or returns, once, which list has to be loaded first.
    pub fn offer_completion(&mut self) -> Option<Missing> {
        self.completer.complete(&self.area)
    }

    /// Completes on request: the offered list, else the path at the cursor.
    pub fn complete_path(&mut self) -> Option<Missing> {
        self.completer.complete_path(&mut self.area)
    }

    /// Whether a search is running.
    pub fn is_finding(&self) -> bool {
        let find = self.completer.find.as_ref();
        find.is_some_and(|find| !find.is_done())
    }

    /// Continues the search for a moment; whether other files are offered now.
    pub fn find_on(&mut self) -> bool {
        self.completer.find_on(&self.area)
    }

    /// The list above the editor.
    pub fn completion(&mut self) -> Option<&mut Select> {
        self.completer.offer.as_mut().map(|offer| &mut offer.list)
    }

    /// Why nothing is offered for the slash command at the cursor.
    pub(crate) fn unknown_command(&self) -> Option<&str> {
        self.completer.unknown.as_deref()
    }

    /// Whether an item of that list was selected.
    pub fn is_choosing(&self) -> bool {
        self.completer.is_choosing()
    }
}
