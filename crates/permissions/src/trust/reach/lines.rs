//! Lines of a shell: the commands in them, and texts that the grammar does not understand.

use std::path::Path;

use osier_base::{path, real_path, regular_file};

use crate::programs::{is_shell, name_of};
use crate::shell::{self, Part, Word};
use crate::trust::facts::places::installed_elsewhere;
use crate::trust::facts::programs::{
    INTERPRETERS, is_builder, is_in, is_interpreter, is_runner, loads_all,
};
use crate::trust::reach::{DEPTH, Search, TEXT};
use crate::trust::texts::code::SPLICED;
use crate::trust::texts::shell::{
    document, heads, input, is_certain_move, lists_files, plain, splits_words, with_calls,
    with_values,
};

impl Search<'_> {
    /// Adds what the shell command `given` runs.
    pub(in crate::trust) fn line(&mut self, given: &str) -> Result<(), String> {
        let text = with_values(given, self.project, None);
        let text = with_calls(&text);
        let pipes = ["| python", "|python", "| node", "|node"];
        self.has_document = text.contains("<<") && !pipes.iter().any(|pipe| text.contains(pipe));
        self.document = document(given);
        let line = shell::read(&text).or_else(|| shell::read(&plain(&text)));
        let Some(line) = line.filter(|_| self.depth < DEPTH) else {
            self.could_run(&text);
            if self.depth >= DEPTH {
                self.every();
            }
            self.named(&text);
            return Ok(());
        };
        self.depth += 1;
        let (start, feeds) = (self.cwd.clone(), self.feeds);
        let lists = self.lists;
        self.lists |= lists_files(&text);
        self.feeds |= line.feeds_input;
        self.input = input(&text)
            .map(|name| path::resolve(&self.cwd, name))
            .filter(|file| file.starts_with(self.project) && file.is_file());
        self.splits |= splits_words(&text);
        self.reach.commands |= text.contains(SPLICED);
        self.copies(&text);
        self.options_in_files(&text);
        // After `cd`, a relative path can mean another file.
        let mut moves = line.changes_directory;
        let runs = line.parts.iter().filter_map(|part| match part {
            Part::Run(words) => Some(words),
            _ => None,
        });
        let target = |words: &[Word]| match words {
            [_, to] if to.is_fixed() => {
                Some(real_path::resolve(&path::resolve(&self.cwd, &to.text)).real)
            }
            _ => None,
        };
        let here = self.cwd.clone();
        let targets: Vec<_> = runs
            .clone()
            .filter(|words| is_move(words))
            .map(|words| target(words))
            .collect();
        let stays = targets.iter().all(|to| to.as_ref() == Some(&here));
        // In parentheses, `cd` changes the directory only there, and after a condition it may not run.
        let conditions = [
            "(cd", "( cd", "`cd", "&& cd", "|| cd", "then", "do\n", "do ",
        ];
        let is_plain = targets.len() == 1
            && !line.repeats
            && is_certain_move(given)
            && !conditions.iter().any(|word| text.contains(word));
        moves &= !stays;
        let mut is_before = true;
        for part in &line.parts {
            let words = match part {
                Part::Run(words) => words,
                Part::WriteTo(file) => {
                    self.products.add_target(&self.cwd, &file.text);
                    continue;
                }
                Part::ReadFrom(_) => continue,
            };
            if is_plain && is_move(words) {
                is_before = false;
                if let Some(Some(to)) = targets.first() {
                    self.cwd.clone_from(to);
                    moves = false;
                }
            }
            self.command(words, moves && !(is_plain && is_before))?;
        }
        (self.cwd, self.feeds, self.lists) = (start, feeds, lists);
        self.depth -= 1;
        self.named(&text);
        Ok(())
    }

    /// Remembers the files that a command writes.
    pub(in crate::trust) fn writes(&mut self, name: &str, arguments: &[Word]) {
        self.products.add(&self.cwd, name, arguments);
        self.products.is_built |= is_builder(name, arguments) && !self.only_checks(arguments);
    }

    /// Whether a compiler writes nothing.
    fn only_checks(&self, arguments: &[Word]) -> bool {
        let is_option = |word: &Word| word.text.eq_ignore_ascii_case("--noEmit");
        let others = ["-p", "--project", "-b", "--build"];
        let is_other = |word: &Word| others.contains(&word.text.as_str());
        let files = self.above().into_iter();
        let files = files.map(|folder| folder.join("tsconfig.json"));
        let mut texts = files.filter_map(|file| regular_file::read_text(&file, TEXT).ok());
        let writes_nothing = |text: String| text.replace(' ', "").contains("\"noEmit\":true");
        arguments.iter().any(is_option)
            || !arguments.iter().any(is_other) && texts.next().is_some_and(writes_nothing)
    }

    /// Adds what the commands so far have read, if one of them can have written the script.
    pub(in crate::trust) fn product(&mut self, script: &Path, kind: &str) -> Result<(), String> {
        let project = self.project;
        if self.products.is_built && !self.reach.all && self.products.is_of_build(script, project) {
            self.all();
        }
        let task = (script.to_owned(), "product".to_owned());
        if !self.products.is_target(script) || !self.tasks.insert(task) {
            return Ok(());
        }
        for words in self.products.commands.clone() {
            self.arguments(&words);
            for word in words.iter().filter(|word| word.is_fixed()) {
                let file = path::resolve(&self.cwd, &word.text);
                if file.starts_with(self.project) && file.is_file() {
                    self.script(&file, kind)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a text that the grammar does not understand: all code counts if it could run code of the project, every file if it could run
    /// one by a computed name.
    pub(in crate::trust) fn could_run(&mut self, text: &str) {
        let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(){}".contains(char);
        let runs = |word: &str| {
            let file = path::resolve(&self.cwd, word);
            let is_own = word.contains('/') && file.starts_with(self.project) && file.exists();
            // The name of a runner can also be an ordinary word.
            let is_there =
                |name: &str| installed_elsewhere(name).or(self.installed(name)).is_some();
            let name = name_of(word);
            is_own || is_runner(name) && (!loads_all(name) || is_there(name))
        };
        let runs_files = |word: &str| {
            let name = name_of(word);
            is_shell(name)
                || is_interpreter(name) && !self.has_document
                || is_in(INTERPRETERS, name)
                || is_in(". source eval", word)
        };
        let is_computed = |head: &str| {
            let computed = head.find(['$', '`']);
            computed.is_some_and(|at| !head[..at].contains('='))
        };
        let words: Vec<&str> = text.split(is_end).filter(|word| !word.is_empty()).collect();
        let heads: Vec<&str> = heads(text).collect();
        let all = words.iter().any(|word| runs(word))
            || heads.iter().any(|head| loads_all(name_of(head)));
        let every =
            words.iter().any(|word| runs_files(word)) || heads.iter().any(|head| is_computed(head));
        self.reach.all |= all || every;
        self.reach.every |= every;
    }

    /// If all code counts, adds the files that the text names: they count even if they are named like data.
    pub(in crate::trust) fn named(&mut self, text: &str) {
        if !self.reach.all {
            return;
        }
        let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(){}[],=:!".contains(char);
        for word in text.split(is_end).filter(|word| !word.is_empty()) {
            let file = path::resolve(&self.cwd, word);
            if file.starts_with(self.project) && file.is_file() {
                self.reach.files.insert(file);
            }
        }
    }
}

fn is_move(words: &[Word]) -> bool {
    let name = words.first().map_or("", |word| word.text.as_str());
    ["cd", "pushd", "popd", "chdir"].contains(&name)
}
