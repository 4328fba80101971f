//! The code of a project that could run when osier starts a program by itself.
//!
//! A program that osier does not know could load all code of the project; the rules below only reduce that. Only texts that did not change
//! since the user trusted them are read: their authors hide nothing, so the reader does not look for tricks.
//!
//! 1. A program outside of the project that treats files as data loads nothing. Neither does a build or a test: running the code of
//!    the project is its purpose.
//! 2. An installed tool loads what is installed with it, and all settings of the project with the code that they name (`settings.rs`): a
//!    plugin can read the settings of another tool. The shape of its name shows whether a file is a setting (`setting_names.rs`).
//! 3. `make`, `npm run`, `git` and the like load their own files, and what the commands there load (`runners.rs`, `makefiles.rs`,
//!    `git.rs`).
//! 4. A script loads the code in its folder, and what it runs and imports (`scripts.rs`). A script of the user outside of the project only
//!    counts by what it runs.
//! 5. Another program outside of the project loads the files in its arguments, and the settings of its name.
//! 6. Everything else could load all code: an unknown program of the project, or an import by a computed name. A command or a script by a
//!    computed name could load every file, also one that is named like data.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use osier_base::{path, real_path, regular_file};

use super::known_programs::{
    DATA, FILTERS, INTERPRETERS, MANAGER_SCRIPTS, SIMPLE, is_in, is_interpreter, is_known,
    is_purpose, is_quiet, is_runner, loads_all, managed,
};
pub(super) use super::places::PACKAGES;
use super::places::{
    above_path, environment, folders_above, installed_elsewhere, is_future, is_installed,
    is_program,
};
use super::program_use::ProgramUse;
use super::shell_text::{
    document, heads, inherits, input, is_certain_move, lists_files, plain, selects_code,
    with_calls, with_values,
};
pub(super) use super::snapshot::Reach;
use crate::equivalents::{self, Equivalents};
use crate::known;
use crate::programs::{is_shell, is_wrapper, name_of, runs_arguments};
use crate::shell::{self, Part, Word, is_assignment};

/// The number of bytes of a text up to which it is read.
pub(super) const TEXT: u64 = 1024 * 1024;
/// The depth of folders in which settings and modules are looked for.
pub(super) const FOLDERS: usize = 12;
/// The depth of scripts that run other scripts.
const DEPTH: usize = 24;
/// The code that the programs of the use could load.
///
/// # Errors
/// A file that would run is not a regular file.
pub(super) fn of(run: &ProgramUse, project: &Path) -> Result<Reach, String> {
    let cwd = real_path::resolve(&run.cwd).real;
    let cwd_of_run = cwd.clone();
    let starts_something = !run.files.is_empty() || !run.command.is_empty();
    let mut search = Search {
        project,
        cwd,
        reach: Reach::default(),
        depth: 0,
        feeds: false,
        lists: false,
        input: None,
        has_document: false,
        document: None,
        in_settings: false,
        reads_texts: false,
        tool_name: String::new(),
        packages_read: HashMap::new(),
        sets_variables: false,
        runs_commands: false,
        is_given: !run.files.is_empty(),
        start: cwd_of_run,
        outer: folders_above(project),
        activated: None,
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
        search.settings(tool)?;
    }
    if !run.files.is_empty() {
        search.selectors();
    }
    if !run.command.is_empty() {
        search.line(&run.command)?;
    }
    if !run.settings.is_empty() {
        search.given_settings(&run.settings)?;
    }
    if search.sets_variables && search.runs_commands {
        search.every();
    }
    // A server of the user starts outside of the project and gets no path in it, so that only the code it names counts.
    if !search.cwd.starts_with(project) && !run.command.contains(&*project.to_string_lossy()) {
        (search.reach.all, search.reach.every) = (false, false);
        search.reach.names.clear();
    }
    // The programs inherit the variables that the user set for osier itself.
    let inherited = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    search.reach.all |= starts_something && inherits(inherited, &run.cwd, project);
    search.reach.add_targets(project);
    let outer = search.outer;
    search.reach.retain(|path| {
        // A file in a hidden folder is a setting, too, such as `.cargo/config.toml`.
        let is_hidden = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
        let parent = path.parent();
        let settings = parent.filter(|parent| parent.file_name().is_some_and(is_hidden));
        let is_above = |folder: &PathBuf| {
            let holders = [parent, settings.and_then(Path::parent)];
            holders.contains(&Some(folder)) || path.starts_with(folder.join(PACKAGES))
        };
        path.starts_with(project) || outer.iter().any(is_above)
    });
    Ok(search.reach)
}

pub(super) struct Search<'p> {
    pub(super) project: &'p Path,
    pub(super) cwd: PathBuf,
    pub(super) reach: Reach,
    pub(super) depth: usize,
    /// A command of the line reads the output of another one.
    feeds: bool,
    /// The file of the project that is the only input of the line.
    input: Option<PathBuf>,
    /// Words of the line are names of files that another command lists.
    lists: bool,
    /// The line contains the input of its interpreters, such as `<<EOF`.
    pub(super) has_document: bool,
    /// The text of that input, if it is known.
    pub(super) document: Option<String>,
    /// The scripts being read are settings of a tool.
    pub(super) in_settings: bool,
    /// The quoted texts in these settings can name code.
    pub(super) reads_texts: bool,
    /// The tool whose settings are being read.
    pub(super) tool_name: String,
    /// The name of the package in each folder, and whether it has a map of imports.
    pub(super) packages_read: HashMap<PathBuf, Option<(String, bool)>>,
    /// A script sets variables with computed names (`sets_variables`), or runs commands (`runs_commands`).
    pub(super) sets_variables: bool,
    pub(super) runs_commands: bool,
    /// The use names the file of the program.
    is_given: bool,
    /// The directory in which the program starts.
    pub(super) start: PathBuf,
    /// The folders above the project.
    pub(super) outer: Vec<PathBuf>,
    /// The virtual environment whose programs come first.
    pub(super) activated: Option<PathBuf>,
    /// The scripts and settings that were read, each with `in_settings` and `reads_texts` at that time.
    pub(super) scripts: HashSet<(PathBuf, bool, bool)>,
    /// The tasks of runners that were read, each with its file or folder.
    pub(super) tasks: BTreeSet<(PathBuf, String)>,
}

impl Search<'_> {
    pub(super) fn all(&mut self) {
        self.reach.all = true;
    }

    /// A file runs by a computed name: every file counts, also one that is named like data.
    pub(super) fn every(&mut self) {
        (self.reach.all, self.reach.every) = (true, true);
    }

    /// Adds what the shell command `given` runs.
    pub(super) fn line(&mut self, given: &str) -> Result<(), String> {
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
        for words in runs {
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

    /// Reads a text that the grammar does not understand: all code counts if it could run code of the project, every file if it could run
    /// one by a computed name.
    fn could_run(&mut self, text: &str) {
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
            let is_code = selects_code(&word.text) && !self.adds_programs(&word.text);
            is_assignment(&word.text) && (is_code || self.names_program(&word.text))
        };
        if words.iter().any(selects) {
            self.all();
        }
        let Some((head, arguments)) = words[set..].split_first() else {
            return Ok(());
        };
        if !head.is_fixed() || self.depth > DEPTH {
            self.every();
            return Ok(());
        }
        let name = name_of(&head.text);
        if name == "env"
            && !head.text.contains('/')
            && let Some(done) = self.directory_of_env(arguments, moves)
        {
            return done;
        }
        let activated = self.activated.as_ref().filter(|_| !head.text.contains('/'));
        let activated = activated.map(|folder| folder.join("bin").join(&head.text));
        if let Some(program) = activated.filter(|program| program.is_file()) {
            let mut words = words[set..].to_vec();
            words[0] = Word::literal(&program.to_string_lossy());
            return self.run(&words, moves);
        }
        // A script of a package finds programs of packages before all others.
        if !self.is_given
            && !head.text.contains('/')
            && self.installed(&head.text).is_some()
            && !is_shell(name)
        {
            return self.packaged(&words[set..]);
        }
        self.run(&words[set..], moves)
    }

    /// Adds the command that `env -C DIRECTORY` runs, in that directory.
    fn directory_of_env(&mut self, arguments: &[Word], moves: bool) -> Option<Result<(), String>> {
        let is_option = |word: &Word| {
            ["-C", "--chdir"].contains(&word.text.as_str())
                || word.text.starts_with("-C")
                || word.text.starts_with("--chdir=")
        };
        let place = arguments.iter().position(is_option)?;
        let text = arguments[place].text.as_str();
        let attached = text
            .strip_prefix("--chdir=")
            .or_else(|| text.strip_prefix("-C"));
        let (folder, rest) = match attached.filter(|folder| !folder.is_empty()) {
            Some(folder) => (folder, place + 1),
            None => (arguments.get(place + 1)?.text.as_str(), place + 2),
        };
        let is_fixed = !folder.contains([shell::HOLE, shell::GLOB]);
        let cwd = self.cwd.clone();
        if is_fixed {
            self.cwd = real_path::resolve(&path::resolve(&cwd, folder)).real;
        }
        let words = [
            &[Word::literal("env")],
            &arguments[..place],
            arguments.get(rest..)?,
        ]
        .concat();
        let done = self.command(&words, moves || !is_fixed);
        self.cwd = cwd;
        Some(done)
    }

    /// Adds what a program with its arguments runs, if it is not a program of an installed package.
    pub(super) fn run(&mut self, words: &[Word], moves: bool) -> Result<(), String> {
        let Some((head, arguments)) = words.split_first() else {
            return Ok(());
        };
        let name = name_of(&head.text);
        let first = arguments.first().map(|word| word.text.as_str());
        if name == "command" && matches!(first, Some("-v" | "-V")) {
            return Ok(());
        }
        if matches!(name, "command" | "builtin" | "exec" | "cross-env") {
            return self.command(arguments, moves);
        }
        if let Some(rest) = managed(name, arguments) {
            self.selectors();
            return self.command(rest, moves);
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
        // Shells and runners read their own words below.
        if !is_shell(name) && name != "eval" && !is_runner(name) {
            self.depth += 1;
            self.others(name, words, reads_only, moves)?;
            self.depth -= 1;
        }
        if self.is_of_project(head, arguments, moves)? {
            return Ok(());
        }
        self.options(name, words, moves)?;
        let is_data = reads_only || is_in(DATA, name) || is_wrapper(name) || runs_arguments(name);
        self.known(&head.text, arguments, is_data, moves)
    }

    /// Adds the commands that a wrapper such as `xargs` runs, and those that an unknown program could run.
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
        if others.runs_input && !reads_only {
            let is_other = is_wrapper(name) || runs_arguments(name) || is_in(DATA, name);
            match self.input.clone().filter(|_| !is_other) {
                // The input is a file with commands for the program.
                Some(file) => {
                    let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                    self.reach.files.insert(file);
                    self.settings_text(&text)?;
                    self.could_run(&text);
                }
                None => self.every(),
            }
        }
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
                let first = name_of(&first.text);
                if is_shell(first) || is_interpreter(first) {
                    self.command(&other.words, moves)?;
                }
                self.reach.all |= is_runner(first) && !is_interpreter(first);
            }
        }
        // The first word that is a program is the command, and the words after it are its arguments.
        let is_found = |text: &str| {
            if text.contains('/') {
                path::resolve(&self.cwd, text).is_file()
            } else {
                text != "." && is_known(text, &[]) || installed_elsewhere(text).is_some()
            }
        };
        if wraps && let Some((_, words)) = commands.iter().find(|(text, _)| is_found(text)) {
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
        program: &str,
        arguments: &[Word],
        is_data: bool,
        moves: bool,
    ) -> Result<(), String> {
        let name = name_of(program);
        if name == "." || name == "source" {
            return self.script_of(arguments.first(), moves, "sh");
        }
        if name == "alias" {
            for word in arguments {
                let value = word.text.split_once('=').map(|(_, value)| value.to_owned());
                self.line(&value.unwrap_or_default())?;
            }
            return Ok(());
        }
        if name == "trap" {
            // An empty command ignores the signal.
            let code = arguments.first().filter(|word| !word.text.is_empty());
            return match code {
                Some(_) => self.code(code, "sh"),
                None => Ok(()),
            };
        }
        self.shims(name);
        if is_shell(name) || is_interpreter(name) || name == "eval" {
            return self.interpreter(name, arguments, moves);
        }
        if FILTERS.contains(&name) {
            return self.filter(name, arguments);
        }
        if name == "git" {
            return self.git(arguments);
        }
        if name == "cargo" {
            self.cargo(arguments)?;
        }
        if name == "rustfmt" {
            self.selectors();
        }
        if is_quiet(name, arguments)
            || self.runner(name, arguments, moves)?
            || self.tool(name, arguments, moves)?
        {
            return Ok(());
        }
        let is_filter = name == "perl" && Self::is_plain_filter(arguments);
        let script = arguments.first().map_or("", |word| name_of(&word.text));
        let is_test =
            is_in(INTERPRETERS, name) && is_purpose(script, &arguments[1.min(arguments.len())..]);
        if is_filter || is_test || is_purpose(name, arguments) {
            self.selectors();
        } else if is_in(INTERPRETERS, name) {
            // The script is a file of the user outside of the project.
            let script = arguments
                .first()
                .map(|word| path::resolve(&self.cwd, &word.text));
            let script = script.map(|script| real_path::resolve(&script).real);
            match script.filter(|script| script.is_file() && !script.starts_with(self.project)) {
                Some(script) => self.script(&script, "other")?,
                None => self.all(),
            }
        } else if loads_all(name) {
            self.all();
            self.arguments(arguments);
        } else if !is_data {
            self.outside(program, arguments)?;
        }
        Ok(())
    }

    /// Adds the settings of an unknown program outside of the project, and the files in its arguments.
    fn outside(&mut self, program: &str, arguments: &[Word]) -> Result<(), String> {
        self.reach.all |= self.lists;
        self.selectors();
        self.arguments(arguments);
        if self.is_given {
            // A server can load the settings of any tool.
            self.settings(name_of(program))?;
        } else if !program.contains('/') {
            self.own_settings(program)?;
        }
        // The program may run a script in its arguments.
        for word in arguments.iter().filter(|word| word.is_fixed()) {
            let file = path::resolve(&self.cwd, &word.text);
            if file.starts_with(self.project) && is_program(&file) {
                self.script(&file, "")?;
            }
        }
        Ok(())
    }

    /// Adds the program, if its path or `PATH` leads into the project. Returns whether the search for its code is done.
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
        if let Some(environment) = found.parent().and_then(Path::parent) {
            // An environment of the user can contain links to folders of the project.
            self.linked_folders(environment);
        }
        if !found.starts_with(self.project) && !real.starts_with(self.project) {
            if text.contains('/') && is_future(&real) {
                self.every();
            }
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

    /// Adds a program of the project of which osier knows nothing but the text.
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

    /// Adds the program, the links that lead to it, and the files that are installed with it or lie next to it.
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
                // The content of a pipe cannot be known before it runs.
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
                self.linked_folders(&environment);
                self.reach.folders.entry(environment).or_default();
            } else if let Some(folder) = name.parent().filter(|_| !name.is_symlink())
                && folder != project
            {
                self.reach.folders.insert(folder.to_owned(), true);
            }
        }
        Ok(())
    }

    /// Adds the script that the word names. A name without a directory can be a file in the working directory or in `PATH`.
    pub(super) fn script_of(
        &mut self,
        word: Option<&Word>,
        moves: bool,
        kind: &str,
    ) -> Result<(), String> {
        let Some(text) = word.filter(|word| word.is_fixed()).map(|word| &word.text) else {
            self.every();
            return Ok(());
        };
        let file = path::resolve(&self.cwd, text);
        let is_relative = !text.starts_with(['/', '~']);
        let is_manager = is_in(MANAGER_SCRIPTS, name_of(text)) && !file.starts_with(self.project);
        if is_manager || self.activates(&file)? {
            self.selectors();
            return Ok(());
        }
        let real = real_path::resolve(&file).real;
        if is_relative && (moves || !real.exists()) || is_future(&real) {
            self.every();
            return Ok(());
        }
        if file.starts_with(self.project) || real.starts_with(self.project) {
            self.program(&file)?;
        }
        self.script(&real, kind)
    }

    /// Adds the files and folders of the project in the arguments of an unknown program.
    pub(super) fn arguments(&mut self, arguments: &[Word]) {
        let mut is_value = false;
        for word in arguments {
            let text = word.text.as_str();
            if let Some((start, _)) = text.split_once(shell::GLOB) {
                // The word is a pattern for names of files.
                let folder = start.rsplit_once('/').map_or("", |(folder, _)| folder);
                let folder = path::resolve(&self.cwd, folder);
                if folder.starts_with(self.project)
                    && !folder.to_string_lossy().contains(shell::HOLE)
                {
                    self.reach.folders.insert(folder, true);
                }
                continue;
            }
            let (text, of_option) = match text.split_once('=') {
                Some((_, value)) => (value, true),
                None => (
                    text,
                    std::mem::replace(&mut is_value, text.starts_with('-')),
                ),
            };
            let file = real_path::resolve(&path::resolve(&self.cwd, text)).real;
            // A file can be named inside of an argument, such as `.read seed.sql`.
            let parts = word.text.split([' ', '\'', '"', ',', ':', ';', '(', ')']);
            let parts = parts.map(|part| path::resolve(&self.cwd, part));
            let parts = parts.filter(|file| file.starts_with(self.project) && file.is_file());
            self.reach.files.extend(parts.collect::<Vec<_>>());
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

    /// The working directory and the folders above it, also those above the project: tools look for their settings there, too.
    pub(super) fn above(&self) -> Vec<PathBuf> {
        above_path(&self.cwd, self.project, &self.outer)
    }

    /// Adds all `node_modules` above the path.
    pub(super) fn packages(&mut self, path: &Path) {
        let above = above_path(path, self.project, &self.outer).into_iter();
        let outside =
            above.filter(|folder| folder.components().all(|part| part.as_os_str() != PACKAGES));
        for folder in outside.map(|folder| folder.join(PACKAGES)) {
            if folder.is_dir() {
                self.reach.folders.entry(folder).or_default();
            }
        }
    }
}

fn is_move(words: &[Word]) -> bool {
    let name = words.first().map_or("", |word| word.text.as_str());
    ["cd", "pushd", "popd", "chdir"].contains(&name)
}
