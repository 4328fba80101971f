//! A command of a line: the program that its name starts, and what that loads.

use std::path::{Path, PathBuf};

use osier_base::{path, real_path, regular_file};

use crate::equivalents::{self, Equivalents};
use crate::known;
use crate::programs::{is_shell, is_wrapper, name_of, runs_arguments};
use crate::shell::{self, Word, is_assignment};
use crate::trust::facts::places::{
    installed_elsewhere, is_binary, is_future, is_installed, is_of_composer, is_program,
};
use crate::trust::facts::programs::{
    BINSTUBS, DATA, FILTERS, INTERPRETERS, MAKE, SIMPLE, WRAPPERS, is_in, is_interpreter, is_known,
    is_purpose, is_quiet, is_runner, loads_all, managed, only_checks, runs_python,
};
use crate::trust::reach::filters::runs_options;
use crate::trust::reach::{DEPTH, Search, TEXT};
use crate::trust::texts::shell::selects_code;

impl Search<'_> {
    pub(in crate::trust) fn command(&mut self, words: &[Word], moves: bool) -> Result<(), String> {
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
        // A variable of the environment is one of the makefile, too.
        self.spliced(is_in(MAKE, name) && !words[..set].iter().all(Word::is_fixed));
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
    pub(in crate::trust) fn directory_of_env(
        &mut self,
        arguments: &[Word],
        moves: bool,
    ) -> Option<Result<(), String>> {
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
    pub(in crate::trust) fn run(&mut self, words: &[Word], moves: bool) -> Result<(), String> {
        let Some((head, arguments)) = words.split_first() else {
            return Ok(());
        };
        // A script of the project is what its text says, and not the program of its name.
        let name = match self.own_script(&head.text) {
            Some(_) if head.text.contains('/') => head.text.as_str(),
            _ => name_of(&head.text),
        };
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
            self.others(name_of(&head.text), words, reads_only, moves)?;
            self.depth -= 1;
        }
        self.split_names(name, arguments);
        self.writes(name, arguments);
        if self.is_of_project(head, arguments, moves)? {
            return Ok(());
        }
        self.options(name, words, moves)?;
        let is_data = reads_only || is_in(DATA, name) || is_wrapper(name) || runs_arguments(name);
        self.known(&head.text, arguments, is_data, moves)
    }

    /// Adds the commands that a wrapper such as `xargs` runs, and those that an unknown program could run.
    pub(in crate::trust) fn others(
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
        if name == "xargs" && words.iter().any(|word| has_separator(&word.text)) {
            // Each line of the input is one word.
            let words = others.list.iter_mut().flat_map(|other| &mut other.words);
            words.for_each(|word| word.splits &= !word.from_input);
        }
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
    pub(in crate::trust) fn known(
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
        if name == "dotenv" {
            return self.with_variables(arguments, moves);
        }
        if runs_python(name, arguments) {
            return self.interpreter("python3", script_of_python(arguments), moves);
        }
        if name == "cargo" {
            self.cargo(arguments)?;
        }
        if name == "rustfmt" {
            self.selectors();
        }
        if is_quiet(name, arguments)
            || only_checks(name, arguments)
            || self.runner(name, arguments, moves)?
            || self.tool(name, arguments, moves)?
        {
            return Ok(());
        }
        let is_filter = name == "perl" && Self::is_plain_filter(arguments);
        let script = arguments.first().map_or("", |word| name_of(&word.text));
        let rest = &arguments[1.min(arguments.len())..];
        let file = arguments
            .first()
            .map(|word| path::resolve(&self.cwd, &word.text));
        if is_in(INTERPRETERS, name) && file.as_deref().is_some_and(is_of_composer) {
            // `php vendor/bin/tool` runs a tool as `vendor/bin/tool` does.
            return self.command(arguments, moves);
        }
        let is_own = file.is_some_and(|file| self.own_script(&file.to_string_lossy()).is_some());
        let is_test = is_in(INTERPRETERS, name) && !is_own && is_purpose(script, rest);
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

    /// If names of files from a list become options of a program that can load code, files with such names count.
    fn split_names(&mut self, name: &str, arguments: &[Word]) {
        let loads = name != "git" && (!is_in(DATA, name) || runs_options(name));
        let becomes = |word: &Word| {
            let is_split = word.splits || self.splits && word.dynamic;
            is_split && word.text.contains(shell::HOLE)
        };
        self.reach.options |= loads && arguments.iter().any(becomes);
    }

    /// Adds the command that runs with the variables in `.env`.
    fn with_variables(&mut self, arguments: &[Word], moves: bool) -> Result<(), String> {
        self.env_files();
        let is_start = |word: &Word| ["--", "run"].contains(&word.text.as_str());
        let mut start = arguments.iter().position(is_start).map_or(0, |at| at + 1);
        start += usize::from(arguments.get(start).is_some_and(|word| word.text == "--"));
        let (own, command) = arguments.split_at(start.min(arguments.len()));
        self.arguments(own);
        self.command(command, moves)
    }

    /// Adds the settings of an unknown program outside of the project, and the files in its arguments.
    pub(in crate::trust) fn outside(
        &mut self,
        program: &str,
        arguments: &[Word],
    ) -> Result<(), String> {
        self.reach.all |= self.lists;
        self.selectors();
        self.arguments(arguments);
        if self.is_given {
            // A server can load the settings of any tool.
            self.settings(name_of(program))?;
        } else if !program.contains('/') {
            self.own_settings(program)?;
        }
        // The program may run a script in its arguments, or commands in settings there.
        for word in arguments.iter().filter(|word| word.is_fixed()) {
            // An option can have a name before the file: `--plugin=name=FILE`.
            let value = word.text.rsplit('=').next().unwrap_or_default();
            let file = path::resolve(&self.cwd, value);
            self.given_file(&file)?;
            if file.starts_with(self.project) && is_program(&file) {
                self.script(&file, "")?;
            }
        }
        Ok(())
    }

    /// Adds the program, if its path or `PATH` leads into the project. Returns whether the search for its code is done.
    pub(in crate::trust) fn is_of_project(
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
        if let Some(script) = self.own_script(text) {
            self.unknown(&script)?;
            return Ok(!is_interpreter(name) && !is_shell(name));
        }
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

    /// The file that the program's name means, if it is a program that people wrote in the project: neither an installed one nor a wrapper
    /// of the program of its name.
    pub(in crate::trust) fn own_script(&self, program: &str) -> Option<PathBuf> {
        let found = if program.contains('/') {
            path::resolve(&self.cwd, program)
        } else {
            installed_elsewhere(program)?
        };
        let real = real_path::resolve(&found).real;
        let is_own = real.starts_with(self.project)
            && real.is_file()
            && !is_binary(&real)
            && ![&found, &real]
                .iter()
                .any(|file| is_installed(file, self.project) || is_of_composer(file));
        let text = || regular_file::read_text(&real, TEXT).unwrap_or_default();
        let is_stub = || BINSTUBS.iter().any(|word| text().contains(word));
        let is_wrapper = || is_in(WRAPPERS, name_of(program)) || is_stub();
        (is_own && !is_wrapper()).then_some(real)
    }

    /// Adds a program of the project of which osier knows nothing but the text.
    pub(in crate::trust) fn unknown(&mut self, program: &Path) -> Result<(), String> {
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
}

/// Whether the option of `xargs` selects the character after which a word ends.
fn has_separator(option: &str) -> bool {
    ["-0", "-d", "--null", "--delimiter"]
        .iter()
        .any(|start| option.starts_with(start))
}

/// The words from the script on, for a program that runs a script of Python.
fn script_of_python(arguments: &[Word]) -> &[Word] {
    let is_own = |word: &&Word| word.text.starts_with('-') && word.text != "-m";
    let own = arguments.iter().skip(1).take_while(is_own).count();
    arguments.get(1 + own..).unwrap_or_default()
}
