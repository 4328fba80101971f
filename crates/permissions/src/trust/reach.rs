//! The code of a project that a program could load, which osier starts by itself.
//!
//! The rule is closed: what is not known to load less could load all code of the project. Only texts that did not change are read:
//! their authors hide nothing, so this is no search for tricks.
//!
//! 1. A program outside of the project that treats files as data loads nothing. Neither does a build or a test: running the code of
//!    the project is its purpose.
//! 2. An installed program loads what is installed with it, and the settings of its tool with what they name (`settings.rs`).
//! 3. `make`, `npm run` and the like load their own file, and what the commands there load (`runners.rs`).
//! 4. A script loads the code in its folder, and what it runs and imports (`scripts.rs`).
//! 5. Another program outside of the project loads the files that it is given.
//! 6. Everything else could load all code: an unknown program of the project, a command that is computed, an import by a computed name.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use osier_base::{path, real_path, regular_file};

use super::known_programs::{
    DATA, FILTERS, INTERPRETERS, RUNNERS, SIMPLE, is_in, is_interpreter, is_known, is_purpose,
    is_runner,
};
use super::program_use::ProgramUse;
pub(super) use super::snapshot::Reach;
use crate::equivalents::{self, Equivalents};
use crate::known;
use crate::programs::{is_shell, is_wrapper, name_of, runs_arguments};
use crate::shell::{self, Part, Word, is_assignment};

/// The directory with the packages of Node.
pub(super) const PACKAGES: &str = "node_modules";
/// Bytes of a text that is read.
pub(super) const TEXT: u64 = 1024 * 1024;
/// Depth of scripts that run scripts.
const DEPTH: usize = 24;
/// The beginnings of the names of files that select the program which runs under a name.
#[rustfmt::skip]
const SELECTORS: [&str; 8] = [
    ".tool-versions", ".mise", "mise", "rust-toolchain", ".python-version", ".ruby-version", ".node-version", ".nvmrc",
];
/// Commands of git that run hooks.
#[rustfmt::skip]
const COMMITS: [&str; 12] = [
    "commit", "push", "merge", "rebase", "am", "pull", "cherry-pick", "checkout", "switch", "revert", "worktree", "submodule",
];
/// Words of a shell that are the root of the project.
#[rustfmt::skip]
const ROOTS: [&str; 6] = [
    "$(git rev-parse --show-toplevel)", "`git rev-parse --show-toplevel`", "$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR}",
    "$OSIER_PROJECT_DIR", "${OSIER_PROJECT_DIR}",
];

/// The code that the use could load.
///
/// # Errors
/// A file that runs is none.
pub(super) fn of(run: &ProgramUse, project: &Path) -> Result<Reach, String> {
    let cwd = real_path::resolve(&run.cwd).real;
    let mut search = Search {
        project,
        cwd,
        reach: Reach::default(),
        depth: 0,
        feeds: false,
        scripts: HashSet::new(),
        tasks: BTreeSet::new(),
    };
    for (place, file) in run.files.iter().enumerate() {
        search.program(file)?;
        if !file.starts_with(project) {
            continue;
        }
        if !file.is_file() {
            return Err(format!("`{}` is not a file", file.display()));
        }
        let name = name_of(file.to_str().unwrap_or_default());
        if place == 0 && !is_known(name, &[]) {
            let real = real_path::resolve(file).real;
            search.unknown(&real)?;
        }
    }
    for tool in run.tools {
        search.settings(tool, !run.command.is_empty())?;
    }
    if !run.files.is_empty() {
        search.selectors();
    }
    if !run.command.is_empty() {
        search.line(&run.command)?;
    }
    // A server of the user that starts elsewhere, and is given nothing of the project.
    if !search.cwd.starts_with(project) && !run.command.contains(&*project.to_string_lossy()) {
        search.reach.all = false;
        search.reach.names.clear();
    }
    Ok(search.reach)
}

pub(super) struct Search<'p> {
    pub(super) project: &'p Path,
    pub(super) cwd: PathBuf,
    pub(super) reach: Reach,
    pub(super) depth: usize,
    /// A command of the line reads what another one writes.
    feeds: bool,
    /// The scripts and settings that were read.
    pub(super) scripts: HashSet<PathBuf>,
    /// The tasks of runners that were read.
    pub(super) tasks: BTreeSet<(PathBuf, String)>,
}

impl Search<'_> {
    pub(super) fn all(&mut self) {
        self.reach.all = true;
    }

    /// Adds what the shell command runs.
    pub(super) fn line(&mut self, given: &str) -> Result<(), String> {
        let root = self.project.display().to_string();
        let home = std::env::home_dir().unwrap_or_default();
        let home = home.display().to_string();
        let text = ["${HOME}", "$HOME/"].iter().zip([home.clone(), home + "/"]);
        let text = text.fold(given.to_owned(), |text, (word, home)| {
            text.replace(word, &home)
        });
        let text = ROOTS
            .iter()
            .fold(text, |text, word| text.replace(word, &root));
        let line = shell::read(&text).or_else(|| shell::read(&plain(&text)));
        let Some(line) = line.filter(|_| self.depth < DEPTH) else {
            self.reach.all |= self.depth >= DEPTH || self.could_run(&text);
            self.named(&text);
            return Ok(());
        };
        self.depth += 1;
        let (start, feeds) = (self.cwd.clone(), self.feeds);
        self.feeds |= line.feeds_input;
        let mut is_first = true;
        // A relative path can mean another file after `cd`.
        let mut moves = line.changes_directory;
        let runs = line.parts.iter().filter_map(|part| match part {
            Part::Run(words) => Some(words),
            _ => None,
        });
        let moved = runs.clone().filter(|words| is_move(words)).count();
        for words in runs {
            if is_first
                && moved == 1
                && let [_, to] = words.as_slice()
                && is_move(words)
                && to.is_fixed()
            {
                self.cwd = real_path::resolve(&path::resolve(&self.cwd, &to.text)).real;
                moves = false;
            }
            is_first = false;
            self.command(words, moves)?;
        }
        (self.cwd, self.feeds) = (start, feeds);
        self.depth -= 1;
        self.named(&text);
        Ok(())
    }

    /// Whether a text that is not understood could run code of the project.
    fn could_run(&self, text: &str) -> bool {
        let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(){}".contains(char);
        let runs = |word: &str| {
            let name = name_of(word);
            let file = path::resolve(&self.cwd, word);
            let is_own = word.contains('/') && file.starts_with(self.project) && file.exists();
            is_own
                || is_runner(name)
                || is_shell(name)
                || is_in(INTERPRETERS, name)
                || is_in(". source eval", word)
        };
        let is_computed = |part: &str| {
            let starts = ["then ", "do ", "else ", "! "];
            let part = part.trim_start();
            let start = starts.iter().find_map(|word| part.strip_prefix(word));
            start
                .unwrap_or(part)
                .trim_start_matches(['"', ' '])
                .starts_with(['$', '`'])
        };
        let mut words = text.split(is_end).filter(|word| !word.is_empty());
        words.any(runs) || text.split([';', '|', '&', '\n', '(', '{']).any(is_computed)
    }

    /// Adds the files that a text names which could run all code: also those that are not named like code.
    pub(super) fn named(&mut self, text: &str) {
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

    pub(super) fn command(&mut self, words: &[Word], moves: bool) -> Result<(), String> {
        let is_set = |word: &&Word| word.assigns || is_assignment(&word.text);
        let set = words.iter().take_while(is_set).count();
        let selects = |word: &Word| {
            is_assignment(&word.text) && selects_code(&word.text) && !self.adds_programs(&word.text)
        };
        if words.iter().any(selects) {
            self.all();
        }
        let Some((head, arguments)) = words[set..].split_first() else {
            return Ok(());
        };
        if !head.is_fixed() || self.depth > DEPTH {
            self.all();
            return Ok(());
        }
        let name = name_of(&head.text);
        if matches!(name, "command" | "builtin" | "exec" | "cross-env") {
            return self.command(arguments, moves);
        }
        if SIMPLE.contains(&name) {
            let mut is_value = false;
            let is_own = |word: &&Word| {
                let is_option = word.text.starts_with('-');
                let own = is_option || word.text.starts_with(|first: char| first.is_ascii_digit());
                let was_value =
                    std::mem::replace(&mut is_value, matches!(&*word.text, "-s" | "--signal"));
                own || was_value
            };
            let own = arguments.iter().take_while(is_own).count();
            return self.command(&arguments[own..], moves);
        }
        let reads_only = known::find(words).is_some_and(|known| known.reads_only);
        // The words of these are read below.
        if !is_shell(name) && name != "eval" && !is_runner(name) {
            self.depth += 1;
            self.others(name, words, reads_only, moves)?;
            self.depth -= 1;
        }
        if self.is_of_project(head, arguments, moves)? {
            return Ok(());
        }
        let is_data = reads_only || is_in(DATA, name) || is_wrapper(name) || runs_arguments(name);
        self.known(name, arguments, is_data, moves)
    }

    /// Whether the assignment only adds programs from outside of the project to the search path.
    fn adds_programs(&self, assignment: &str) -> bool {
        let is_outside = |folder: &str| {
            let is_known = !folder.contains([shell::HOLE, shell::GLOB]);
            folder.chars().eq([shell::HOLE])
                || is_known
                    && folder.starts_with(['/', '~'])
                    && !Path::new(folder).starts_with(self.project)
        };
        let value = assignment.strip_prefix("PATH=");
        value.is_some_and(|value| value.split(':').all(is_outside))
    }

    /// The commands that a wrapper such as `xargs` runs, and those that an unknown program could run.
    fn others(
        &mut self,
        name: &str,
        words: &[Word],
        reads_only: bool,
        moves: bool,
    ) -> Result<(), String> {
        let mut others = Equivalents {
            feeds_input: self.feeds,
            ..Equivalents::default()
        };
        let is_clear = equivalents::add(words, 0, &mut others).is_some();
        self.reach.all |= others.runs_input && !reads_only;
        if FILTERS.contains(&name) {
            return Ok(());
        }
        let wraps = is_wrapper(name) || runs_arguments(name);
        self.reach.all |= wraps && !is_clear;
        let head = |words: &[Word]| {
            let is_set = |word: &&Word| word.assigns || is_assignment(&word.text);
            words.iter().find(|word| !is_set(word)).cloned()
        };
        let mut commands = Vec::new();
        for other in others.list {
            let Some(first) = head(&other.words).filter(|first| name_of(&first.text) != name)
            else {
                continue;
            };
            if !other.is_guess {
                commands.push((first.text, other.words));
            } else if !is_in(DATA, name) {
                self.reach.all |= is_runner(name_of(&first.text));
            }
        }
        // The first word that is a program is the command; those after it are its arguments.
        let is_program = |text: &str| {
            if text.contains('/') {
                path::resolve(&self.cwd, text).is_file()
            } else {
                text != "." && is_known(text, &[]) || installed_elsewhere(text).is_some()
            }
        };
        if wraps && let Some((_, words)) = commands.iter().find(|(text, _)| is_program(text)) {
            return self.command(&words.clone(), moves);
        }
        if wraps || !is_in(DATA, name) {
            for (_, words) in commands {
                self.command(&words, moves)?;
            }
        }
        Ok(())
    }

    /// Adds the code that a program outside of the project loads.
    fn known(
        &mut self,
        name: &str,
        arguments: &[Word],
        is_data: bool,
        moves: bool,
    ) -> Result<(), String> {
        if name == "." || name == "source" {
            return self.script_of(arguments.first(), moves, "sh");
        }
        if name == "trap" {
            // Without a command it ignores the signal.
            let code = arguments.first().filter(|word| !word.text.is_empty());
            return match code {
                Some(_) => self.code(code, "sh"),
                None => Ok(()),
            };
        }
        if is_shell(name) || is_interpreter(name) || name == "eval" {
            return self.interpreter(name, arguments, moves);
        }
        if FILTERS.contains(&name) {
            return self.filter(arguments);
        }
        if name == "git" {
            return self.git(arguments);
        }
        if self.runner(name, arguments, moves)? || self.tool(name, arguments, moves)? {
            return Ok(());
        }
        if is_purpose(name, arguments) {
            self.selectors();
        } else if is_in(INTERPRETERS, name) {
            // A script of the user that lies elsewhere.
            let script = arguments
                .first()
                .map(|word| path::resolve(&self.cwd, &word.text));
            self.reach.all |= !script.is_some_and(|script| {
                script.is_file() && !real_path::resolve(&script).real.starts_with(self.project)
            });
        } else if is_in(RUNNERS, name) {
            self.all();
        } else if !is_data {
            self.selectors();
            self.arguments(arguments);
        }
        Ok(())
    }

    /// Adds the program, if the path or `PATH` finds it in the project.
    fn is_of_project(
        &mut self,
        head: &Word,
        arguments: &[Word],
        moves: bool,
    ) -> Result<bool, String> {
        let text = &head.text;
        let found = if text.contains('/') {
            if moves && !text.starts_with(['/', '~']) {
                self.all();
                return Ok(true);
            }
            path::resolve(&self.cwd, text)
        } else {
            match installed_elsewhere(text) {
                Some(found) => found,
                None => return Ok(false),
            }
        };
        let name = name_of(text);
        let real = real_path::resolve(&found).real;
        if !found.starts_with(self.project) && !real.starts_with(self.project) {
            // A script of the user can run programs of the project.
            if !is_in(DATA, name) && !is_runner(name) && text.contains('/') {
                self.script(&real, "")?;
            }
            return Ok(false);
        }
        self.program(&found)?;
        if is_interpreter(name) || is_shell(name) {
            return Ok(false);
        }
        if real.starts_with(self.project)
            && !is_in(DATA, name)
            && !is_purpose(name, arguments)
            && !self.tool(name, arguments, moves)?
        {
            self.unknown(&real)?;
        }
        Ok(true)
    }

    /// A program of the project of which only the text is known.
    fn unknown(&mut self, program: &Path) -> Result<(), String> {
        let text = regular_file::head(program, 128).map(|(text, _)| text);
        let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
        let first = text.lines().next().unwrap_or_default();
        let is_script = first.starts_with("#!") && first.split(['/', ' ', '!']).any(is_shell);
        if is_installed(program, self.project) && !is_script {
            self.all();
            return Ok(());
        }
        self.script(program, "")
    }

    /// Adds the program, the links that lead to it, and what is installed with it or lies next to it.
    pub(super) fn program(&mut self, program: &Path) -> Result<(), String> {
        let found = real_path::resolve(program);
        let names = found.names.iter().map(PathBuf::as_path);
        let project = self.project;
        for name in names
            .chain([program, &found.real])
            .filter(|name| name.starts_with(project))
        {
            let is_there = name.symlink_metadata().is_ok();
            if is_there && !name.is_file() && !name.is_dir() && !name.is_symlink() {
                // Nobody knows the content of a pipe before it runs.
                return Err(format!("`{}` is not a regular file", name.display()));
            }
            let above = name
                .ancestors()
                .take_while(|above| above.starts_with(project));
            let links = above.filter(|link| link.is_symlink() || *link == name && is_there);
            self.reach.files.extend(links.map(Path::to_owned));
            let below = name.strip_prefix(project).unwrap_or(name);
            if below.components().any(|part| part.as_os_str() == PACKAGES) {
                self.packages(name);
            } else if let Some(environment) = environment(name, project) {
                self.reach.folders.entry(environment).or_default();
            } else if let Some(folder) = name.parent().filter(|_| !name.is_symlink())
                && folder != project
            {
                self.reach.folders.insert(folder.to_owned(), true);
            }
        }
        Ok(())
    }

    /// The script in the word. A name without a directory is looked for in the working directory, and in `PATH`.
    pub(super) fn script_of(
        &mut self,
        word: Option<&Word>,
        moves: bool,
        kind: &str,
    ) -> Result<(), String> {
        let Some(text) = word.filter(|word| word.is_fixed()).map(|word| &word.text) else {
            self.all();
            return Ok(());
        };
        let file = path::resolve(&self.cwd, text);
        let is_relative = !text.starts_with(['/', '~']);
        let real = real_path::resolve(&file).real;
        if is_relative && (moves || !real.exists()) {
            self.all();
            return Ok(());
        }
        if file.starts_with(self.project) || real.starts_with(self.project) {
            self.program(&file)?;
        }
        self.script(&real, kind)
    }

    /// A filter loads the file with its program.
    fn filter(&mut self, arguments: &[Word]) -> Result<(), String> {
        let runs = ["system", "getline", "| \"", "e ./"];
        for text in arguments.iter().map(|word| &word.text) {
            if runs.iter().any(|word| text.contains(word)) {
                for part in text.split('"').skip(1).step_by(2) {
                    self.line(part)?;
                }
                self.reach.all |= text.contains("e ./");
            }
        }
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let value = match text.split_once('=') {
                Some(("--file" | "--from-file", value)) => value.to_owned(),
                _ if text.starts_with('-') && text.ends_with('f') && !text.starts_with("--")
                    || ["--file", "--from-file", "-L"].contains(&text) =>
                {
                    match words.next() {
                        Some(value) if value.is_fixed() => value.text.clone(),
                        _ => {
                            self.all();
                            continue;
                        }
                    }
                }
                _ => text.strip_prefix("-f").unwrap_or_default().to_owned(),
            };
            let file = path::resolve(&self.cwd, &value);
            if !value.is_empty() && file.starts_with(self.project) && file.exists() {
                self.program(&file)?;
                self.settings_text(&regular_file::read_text(&file, TEXT).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Git loads the hooks of the repository.
    fn git(&mut self, arguments: &[Word]) -> Result<(), String> {
        let command = arguments.iter().find(|word| !word.text.starts_with('-'));
        let is_commit = |word: &Word| COMMITS.contains(&word.text.as_str());
        if command.is_none_or(Word::is_fixed) && !arguments.iter().any(is_commit) {
            return Ok(());
        }
        for hooks in [".git/hooks", ".husky", ".githooks"] {
            let folder = self.project.join(hooks);
            let entries = folder.read_dir().into_iter().flatten().flatten();
            for hook in entries.map(|entry| entry.path()) {
                if hook.is_file() && hook.extension().is_none() {
                    self.script(&hook, "sh")?;
                }
            }
            if folder.is_dir() {
                self.reach.folders.insert(folder, true);
            }
        }
        for (name, text) in [
            (".pre-commit-config.yaml", "repo: local"),
            ("lefthook.yml", ""),
            (".lefthook.yml", ""),
            (".overcommit.yml", ""),
        ] {
            let file = self.project.join(name);
            if let Ok(found) = regular_file::read_text(&file, TEXT) {
                self.reach.all |= found.contains(text);
                self.reach.files.insert(file);
            }
        }
        Ok(())
    }

    /// The files and folders of the project that an unknown program is given.
    fn arguments(&mut self, arguments: &[Word]) {
        let mut is_value = false;
        for word in arguments {
            let text = word.text.as_str();
            let (text, of_option) = match text.split_once('=') {
                Some((_, value)) => (value, true),
                None => (
                    text,
                    std::mem::replace(&mut is_value, text.starts_with('-')),
                ),
            };
            let file = real_path::resolve(&path::resolve(&self.cwd, text)).real;
            if text.is_empty() || !file.starts_with(self.project) {
                continue;
            }
            if file.is_file() {
                self.reach.files.insert(file.clone());
                let folder = file
                    .parent()
                    .filter(|folder| *folder != self.project && of_option);
                self.reach
                    .folders
                    .extend(folder.map(|folder| (folder.to_owned(), true)));
            } else if file.is_dir() {
                self.reach.folders.insert(file, true);
            }
        }
    }

    /// The working directory and those above it in the project.
    pub(super) fn above(&self) -> Vec<PathBuf> {
        let above = self.cwd.ancestors();
        let above = above.take_while(|folder| folder.starts_with(self.project));
        above.map(Path::to_owned).collect()
    }

    /// Adds all packages that are installed above the path.
    pub(super) fn packages(&mut self, path: &Path) {
        let above = path.ancestors();
        let above = above.take_while(|folder| folder.starts_with(self.project));
        let outside =
            above.filter(|folder| folder.components().all(|part| part.as_os_str() != PACKAGES));
        for folder in outside.map(|folder| folder.join(PACKAGES)) {
            if folder.is_dir() {
                self.reach.folders.entry(folder).or_default();
            }
        }
    }

    pub(super) fn selectors(&mut self) {
        let is_one = |name: &str| SELECTORS.iter().any(|start| name.starts_with(start));
        for folder in self.above() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                if is_one(&entry.file_name().to_string_lossy()) && entry.path().is_file() {
                    self.reach.files.insert(entry.path());
                }
            }
        }
    }
}

/// The program that `PATH` finds.
fn installed_elsewhere(name: &str) -> Option<PathBuf> {
    let variable = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&variable).map(|folder| folder.join(name));
    folders.find(|path| !name.is_empty() && path.is_file())
}

fn is_move(words: &[Word]) -> bool {
    let name = words.first().map_or("", |word| word.text.as_str());
    ["cd", "pushd", "popd", "chdir"].contains(&name)
}

/// The text of a shell without what the grammar does not read and which runs nothing: `case`, functions, and changes of the
/// value of a variable.
fn plain(text: &str) -> String {
    let mut found = String::new();
    // Whether each open `case` expects a pattern.
    let mut cases: Vec<bool> = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim();
        if rest.starts_with('#') {
            continue;
        }
        let name = rest.strip_suffix('{').map(str::trim_end);
        if let Some(name) = name.and_then(|name| name.strip_suffix("()")) {
            let is_name = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
            let name = name.strip_prefix("function ").unwrap_or(name).trim();
            rest = if name.chars().all(is_name) { "{" } else { rest };
        }
        while !rest.is_empty() {
            let case = rest.strip_prefix("case ");
            if let Some(case) = case {
                let Some((word, after)) = case.split_once(" in") else {
                    return text.to_owned();
                };
                // The word can have commands.
                found.extend([": ", word, "\n"]);
                cases.push(true);
                rest = after.trim_start();
            } else if !cases.is_empty() && rest.starts_with("esac") {
                cases.pop();
                rest = rest[4..].trim_start_matches([' ', ';']);
            } else if let Some(expects) = cases.last_mut()
                && *expects
                && let Some((_, after)) = rest.split_once(')')
            {
                *expects = false;
                rest = after.trim_start();
            } else {
                let end = rest.find(";;").filter(|_| !cases.is_empty());
                let case = rest.find(" case ").map(|at| at + 1);
                if let Some(at) = case.filter(|at| end.is_none_or(|end| *at < end)) {
                    found.push_str(&rest[..at]);
                    rest = &rest[at..];
                    continue;
                }
                found.push_str(&rest[..end.unwrap_or(rest.len())]);
                rest = rest[end.map_or(rest.len(), |end| end + 2)..].trim_start();
                if let Some(expects) = cases.last_mut().filter(|_| end.is_some()) {
                    *expects = true;
                    found.push('\n');
                }
            }
        }
        found.push('\n');
    }
    // `${name%.*}` is the value of a variable, too.
    let mut parts = found.split("${");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let name: String = part.chars().take_while(|char| is_name(*char)).collect();
        match part[name.len()..].split_once('}') {
            Some((change, rest)) if !name.is_empty() && !change.contains(['`', '(']) => {
                text.extend(["${", &name, "}", rest]);
            }
            _ => text.extend(["${", part]),
        }
    }
    text
}

/// Whether the variable chooses code that programs load. Its name is one of a trusted text.
pub fn selects_code(assignment: &str) -> bool {
    let name = assignment.split('=').next().unwrap_or_default();
    let name = name.trim_end_matches('+');
    #[rustfmt::skip]
    let starts = [
        "LD_", "DYLD_", "PYTHON", "NODE_", "NPM_", "npm_", "PERL", "RUBY", "BASH_", "GIT_", "CARGO_", "RUST", "JAVA", "LUA_", "GEM_",
        "BUNDLE_",
    ];
    #[rustfmt::skip]
    let ends = ["PATH", "OPTIONS", "OPTS", "PRELOAD", "EDITOR", "PAGER", "SHELL", "_HOME", "_WRAPPER"];
    let plain = [
        "NODE_ENV",
        "RUST_LOG",
        "RUST_BACKTRACE",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
    ];
    !plain.contains(&name)
        && (matches!(name, "ENV" | "IFS" | "HOME")
            || starts.iter().any(|start| name.starts_with(start))
            || ends.iter().any(|end| name.ends_with(end)))
}

/// Whether the file is in a folder of installed packages.
fn is_installed(file: &Path, project: &Path) -> bool {
    let below = file.strip_prefix(project).unwrap_or(file);
    below.components().any(|part| part.as_os_str() == PACKAGES)
        || environment(file, project).is_some()
}

/// The virtual environment of Python that contains `file`.
pub(super) fn environment(file: &Path, project: &Path) -> Option<PathBuf> {
    let mut above = file
        .ancestors()
        .take_while(|folder| folder.starts_with(project));
    above
        .find(|folder| folder.join("pyvenv.cfg").is_file())
        .map(Path::to_owned)
}
