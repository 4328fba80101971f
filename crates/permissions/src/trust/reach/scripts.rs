//! The code that a script loads: the commands that it runs and the modules that it imports. A script that can load something by a computed
//! name could load all code of the project.

use std::path::{Path, PathBuf};

use osier_base::{path, real_path, regular_file};

use crate::programs::is_shell;
use crate::shell::Word;
use crate::trust::facts::programs::{
    is_framework, is_in, is_interpreter, is_known, is_purpose, is_python_check, is_quiet_module,
    is_quiet_package, only_checks, reads_variables, settings_of,
};
use crate::trust::reach::{FOLDERS, PACKAGES, Search, TEXT};
use crate::trust::texts::code::Loads;
use crate::trust::texts::shell::with_values;
use crate::trust::texts::{node, python};

/// The modules of Python that load and run nothing by a computed name.
#[rustfmt::skip]
const PYTHON: &str = "\
    __future__ abc argparse ast array asyncio base64 bisect calendar code collections concurrent configparser contextlib copy ctypes csv dataclasses datetime decimal \
    difflib enum errno fcntl fileinput fnmatch fractions functools getpass glob gzip hashlib hmac html http importlib inspect io ipaddress itertools json \
    locale logging marshal math multiprocessing numbers operator os pathlib pickle pkgutil platform posixpath pprint queue random re runpy secrets select selectors shelve shlex shutil signal site socket socketserver sqlite3 \
    ssl stat statistics string struct subprocess sys sysconfig tempfile textwrap threading time tokenize tomllib traceback types typing unicodedata \
    unittest urllib uuid warnings weakref xml zipfile zlib zoneinfo";
/// The modules of Node that load and run nothing by a computed name.
const NODE: &str = "assert buffer child_process console constants crypto events fs http https net os path perf_hooks process querystring \
    readline stream string_decoder timers tty url util zlib fs/promises path/posix timers/promises stream/promises readline/promises test";
/// Options of Node that load nothing.
const NODE_FLAGS: &str = "--no-warnings --enable-source-maps --trace-warnings --trace-uncaught --no-deprecation --experimental-strip-types";
/// The folder of husky's own script, and the line in it that runs the hook of the same name in the folder above.
const HUSKY: &str = ".husky/_";
const HUSKY_RUNS: &str = "sh -e \"$s\" \"$@\"";
/// The largest number of files that is read in a package of Python.
const PACKAGE_FILES: usize = 2000;
/// Names of modules that no installed package imports, only the project itself.
const OWN_NAMES: &str = "app conftest main manage run server setup tasks";
/// Words with which a script in another language runs a command.
#[rustfmt::skip]
const RUNS: [&str; 12] = ["system", "exec", "popen", "spawn", "open3", "qx", "`", "%x", "shell", "Process", "Command", "fork"];

impl Search<'_> {
    /// Adds what a shell, Python or Node loads for these arguments.
    pub(in crate::trust) fn interpreter(
        &mut self,
        name: &str,
        arguments: &[Word],
        moves: bool,
    ) -> Result<(), String> {
        let is_python = name != "node" && is_interpreter(name);
        let is_test =
            name == "node" && options_of_node(arguments).any(|word| word.text == "--test");
        if is_test || only_checks(name, arguments) {
            self.selectors();
            return Ok(());
        }
        let mut words = arguments.iter().enumerate();
        while let Some((place, word)) = words.next() {
            let text = word.text.as_str();
            match text {
                _ if name == "eval" => {
                    let texts: Vec<&str> = arguments.iter().map(|word| &*word.text).collect();
                    self.reach.every |= !arguments.iter().all(Word::is_fixed);
                    return self.line(&texts.join(" "));
                }
                _ if is_shell(name) && is_option(text, "c") => {
                    let mut rest = arguments[place + 1..].iter();
                    let code = rest.find(|word| !word.text.starts_with(['-', '+']));
                    return self.code(code, "sh");
                }
                _ if !word.is_fixed() => break,
                _ if is_shell(name) && is_option(text, "aefhluvxo") && text.ends_with('o') => {
                    words.next();
                }
                "--noprofile" | "--norc" | "--posix" => {}
                _ if name == "node" && self.loads_nothing(text) => {}
                "-c" if is_python => {
                    self.python_modules();
                    return self.code(arguments.get(place + 1), "py");
                }
                "-e" | "--eval" | "-p" | "-pe" if name == "node" => {
                    return self.code(arguments.get(place + 1), "js");
                }
                "-m" if is_python => {
                    let rest = &arguments[place + 1..];
                    let module = rest.first().map_or("", |word| word.text.as_str());
                    if !is_purpose(module, &[]) {
                        self.python_modules();
                    }
                    return match module {
                        _ if is_python_check(module) => Ok(()),
                        _ if is_known(module, &rest[1.min(rest.len())..]) => {
                            self.command(rest, moves)
                        }
                        _ => {
                            self.all();
                            Ok(())
                        }
                    };
                }
                _ if is_python && is_option(text, "BEIOPqsSuv")
                    || is_shell(name) && is_option(text, "aefhluvx") => {}
                _ if text.starts_with(['-', '+']) => break,
                _ => {
                    self.selectors();
                    let script = Path::new(text).file_name().unwrap_or_default();
                    let file = path::resolve(&self.cwd, text);
                    let is_own = self.own_script(&file.to_string_lossy()).is_some();
                    if !is_own && is_purpose(&script.to_string_lossy(), &arguments[place + 1..]) {
                        return Ok(());
                    }
                    return self.script_of(Some(word), moves, kind_of(name));
                }
            }
        }
        self.input_of(name, arguments)
    }

    /// Adds the code that an interpreter reads from its input, or from a script whose name is computed.
    fn input_of(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        let is_python = name != "node" && is_interpreter(name);
        let is_flag = |word: &Word| word.text == "-" || is_option(&word.text, "aefhluvxs");
        let is_input = arguments.iter().all(|word| word.text == "-")
            || is_shell(name) && arguments.iter().all(is_flag);
        if let Some(text) = self.document.take().filter(|_| is_input) {
            if is_python {
                self.python_modules();
            }
            let kind = kind_of(name);
            return self.text(&text, &self.cwd.clone(), kind, true);
        }
        if self.has_document && !is_shell(name) {
            self.all();
        } else {
            self.every();
        }
        Ok(())
    }

    /// Whether the option of Node loads nothing but a file with variables.
    fn loads_nothing(&mut self, option: &str) -> bool {
        let file = option
            .split_once('=')
            .filter(|_| option.starts_with("--env-file"));
        if let Some((_, file)) = file {
            self.reach.files.insert(path::resolve(&self.cwd, file));
        }
        file.is_some() || is_in(NODE_FLAGS, option)
    }

    /// Whether the arguments of perl are a program that only changes texts.
    pub(in crate::trust) fn is_plain_filter(arguments: &[Word]) -> bool {
        let is_switch = |word: &&Word| {
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            !letters.is_empty() && letters.chars().all(|char| "pnlaie0".contains(char))
        };
        let switches = arguments.iter().take_while(is_switch).count();
        let is_last = switches > 0 && arguments[switches - 1].text.ends_with('e');
        let words = ["require", "use", "do", "eval", "open", "e;", "|"];
        is_last
            && arguments.iter().all(Word::is_fixed)
            && arguments.get(switches).is_some_and(|code| {
                let text = code.text.as_str();
                let flags = text.rsplit(['/', '}', '#', '!']).next().unwrap_or_default();
                let is_plain = flags.chars().all(|flag| "gimsx;".contains(flag));
                is_plain
                    && text.matches(['/', '#', '!']).count() <= 3
                    && !RUNS.iter().chain(&words).any(|word| text.contains(word))
            })
            && !arguments[switches + 1..]
                .iter()
                .any(|word| word.text.starts_with('-') || word.text.contains(['|', '<', '>']))
    }

    /// Adds what the code in an argument loads. It can import modules of the working directory.
    pub(in crate::trust) fn code(&mut self, word: Option<&Word>, kind: &str) -> Result<(), String> {
        let Some(code) = word.filter(|word| word.is_fixed()) else {
            self.every();
            return Ok(());
        };
        self.text(&code.text.clone(), &self.cwd.clone(), kind, true)
    }

    /// Adds a script and what it loads. `kind` is its language, if the caller knows it.
    pub(in crate::trust) fn script(&mut self, file: &Path, kind: &str) -> Result<(), String> {
        let is_own = file.starts_with(self.project);
        if is_own {
            self.product(file, kind)?;
        }
        let mode = (file.to_owned(), self.in_settings, self.reads_texts);
        if !self.scripts.insert(mode) {
            return Ok(());
        }
        if is_own {
            self.reach.files.insert(file.to_owned());
            self.target_of(file, kind)?;
        }
        if file.is_dir() {
            let main = if kind == "py" {
                "__main__.py"
            } else {
                "index.js"
            };
            if is_own {
                self.reach.folders.insert(file.to_owned(), true);
            }
            self.reach.all |= is_own && file.join("package.json").exists();
            return if file.join(main).is_file() {
                self.script(&file.join(main), kind)
            } else {
                Ok(())
            };
        }
        let Ok(text) = regular_file::read_text(file, TEXT) else {
            // The file is a compiled program, or it cannot be read.
            self.reach.all |= is_own;
            return Ok(());
        };
        let first = text.lines().next().filter(|line| line.starts_with("#!"));
        let first = first.unwrap_or_default();
        let end = file.extension().and_then(|end| end.to_str());
        let runs = |named: fn(&str) -> bool| first.split(['/', ' ', '!']).any(named);
        let kind = match (kind, end.unwrap_or_default()) {
            ("", _) if runs(|word| word.starts_with("python") || word == "uv") => "py",
            ("", _) if runs(|word| word == "node") => "js",
            ("", _) if runs(is_shell) => "sh",
            ("", _) if !first.is_empty() => "",
            ("", "py") => "py",
            ("", "js" | "mjs" | "cjs" | "ts" | "mts" | "cts") => "js",
            ("", "rb" | "pl" | "php" | "lua" | "fish" | "ps1" | "awk") => "other",
            ("", _) => "sh",
            (kind, _) => kind,
        };
        let folder = file.parent().unwrap_or(self.project).to_owned();
        if folder.ends_with(HUSKY) && text.contains(HUSKY_RUNS) {
            return self.hooks_in(folder.parent().unwrap_or(&folder), "");
        }
        if folder == self.project && kind == "py" {
            let cwd = std::mem::replace(&mut self.cwd, folder.clone());
            self.python_modules();
            self.cwd = cwd;
        }
        self.text(&text, &folder, kind, is_own)
    }

    /// Adds the target of a link to a script: a script looks for others next to the link, or next to the target.
    fn target_of(&mut self, link: &Path, kind: &str) -> Result<(), String> {
        let real = real_path::resolve(link).real;
        if real == link || !real.starts_with(self.project) {
            return Ok(());
        }
        let folder = real.parent().filter(|folder| *folder != self.project);
        self.reach
            .folders
            .extend(folder.map(|folder| (folder.to_owned(), true)));
        self.script(&real, kind)
    }

    /// Adds what the text of a script in `folder` loads. A script outside of the project only counts by what it runs: its modules are the
    /// user's.
    pub(in crate::trust) fn text(
        &mut self,
        text: &str,
        folder: &Path,
        kind: &str,
        is_own: bool,
    ) -> Result<(), String> {
        let loads = match kind {
            "sh" => {
                let lines = text.lines();
                let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
                let lines = lines.collect::<Vec<_>>().join("\n");
                return self.line(&with_values(&lines, self.project, Some(folder)));
            }
            "py" => python::loads(text),
            "js" => node::loads(text),
            // The script is in a language that osier does not read.
            _ => Loads {
                imports_any: is_own,
                runs_any: is_own || RUNS.iter().any(|word| text.contains(word)),
                ..Loads::default()
            },
        };
        if loads.runs_any {
            self.every();
        }
        self.sets_variables |= loads.sets_variables;
        self.runs_commands |= !loads.commands.is_empty();
        if loads.imports_any && (is_own || kind == "js") {
            self.all();
        }
        for path in loads.paths.iter().filter(|_| is_own) {
            let place = real_path::resolve(&folder.join(path)).real;
            if place.starts_with(self.project) {
                let cwd = std::mem::replace(&mut self.cwd, place.clone());
                self.python_modules();
                self.cwd = cwd;
                self.module_folders.push(place);
            } else {
                self.every();
            }
        }
        self.named(text);
        let cwd = self.cwd.clone();
        for command in &loads.commands {
            self.line(command)?;
        }
        self.cwd = cwd;
        for name in &loads.modules {
            self.module(name, folder, kind)?;
        }
        if kind == "js" && self.reads_texts {
            self.texts_of_settings(text, folder)?;
        }
        Ok(())
    }

    /// Adds the module that a file in `folder` imports.
    fn module(&mut self, name: &str, folder: &Path, kind: &str) -> Result<(), String> {
        if kind == "js" {
            let plain = name.trim_start_matches("node:");
            if is_in(NODE, plain) {
                return Ok(());
            }
            if ["module", "vm", "worker_threads", "cluster", "v8", "repl"].contains(&plain) {
                self.all();
                return Ok(());
            }
            return self.package(name, folder);
        }
        let is_tool = settings_of(name).is_some();
        if is_tool {
            self.tool(name, &[], false)?;
        }
        let is_module = |path: &PathBuf| {
            let end = path.extension().map(|end| end.to_string_lossy());
            end.is_none_or(|end| is_in("py so pyd", &end))
        };
        let files = found(&folder.join(name)).into_iter().filter(is_module);
        let files: Vec<PathBuf> = files.collect();
        for file in &files {
            if file.parent() != Some(folder) {
                self.reach.folders.insert(folder.join(name), true);
                self.follow_folder(&folder.join(name), "py", "py")?;
            }
            // Python looks for the modules of a linked file next to the target.
            let real = real_path::resolve(file).real;
            if real.parent() != Some(folder) && real.starts_with(self.project) {
                self.reach
                    .folders
                    .extend(real.parent().map(|folder| (folder.to_owned(), true)));
            }
            self.script(&real, kind)?;
        }
        let has = |place: &&PathBuf| {
            let mut files = found(&place.join(name)).into_iter();
            place != &folder && files.any(|file| is_module(&file))
        };
        if files.is_empty()
            && let Some(place) = self.module_folders.iter().find(has).cloned()
        {
            return self.module(name, &place, kind);
        }
        if !files.is_empty() || is_in(PYTHON, name) {
            return Ok(());
        }
        // The module is an installed package, which can be a link to a folder of the project, or a module that was deleted.
        if reads_variables(name) {
            self.reach.names.insert(".env".to_owned());
            self.env_files();
            self.sets_variables = true;
        }
        let is_quiet =
            is_tool || is_quiet_module(name) || is_framework(name) || reads_variables(name);
        if !is_quiet {
            self.every();
        }
        self.reach.all |= is_framework(name);
        if folder.starts_with(self.project) {
            self.reach.all |= self.has_module(name, folder);
            self.reach.names.insert(name.to_owned());
            self.reach
                .incomplete
                .extend((!is_quiet).then(|| folder.to_owned()));
        }
        Ok(())
    }

    /// Whether a module with this name is anywhere in the project: its own imports and commands are not read. A folder that contains the
    /// script does not count.
    fn has_module(&self, name: &str, script: &Path) -> bool {
        let mut waiting = vec![(self.project.to_owned(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let (path, own) = (entry.path(), entry.file_name());
                let own = own.to_string_lossy();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let is_package = own == name && path.is_dir() && !script.starts_with(&path);
                if is_package || own.strip_suffix(".py") == Some(name) {
                    return true;
                }
                let is_skipped = own.starts_with('.') || own == PACKAGES || own == "target";
                let is_read = is_folder && !is_skipped && depth < FOLDERS;
                if is_read && !path.join("pyvenv.cfg").is_file() {
                    waiting.push((path, depth + 1));
                }
            }
        }
        false
    }

    /// Adds the folders of the project that a virtual environment lists as places of modules. Python looks there last, so that only the
    /// modules in them count, and not what these import.
    pub(in crate::trust) fn linked_folders(&mut self, environment: &Path) {
        let task = (environment.to_owned(), "linked folders".to_owned());
        if !environment.join("pyvenv.cfg").is_file() || !self.tasks.insert(task) {
            return;
        }
        let libraries = ["lib", "lib64"].map(|name| environment.join(name));
        let libraries = libraries.iter().filter_map(|folder| folder.read_dir().ok());
        let mut links = Vec::new();
        for library in libraries.flatten().flatten() {
            let packages = library.path().join("site-packages");
            let entries = packages.read_dir().into_iter().flatten().flatten();
            let files = entries.map(|entry| entry.path());
            links.extend(files.filter(|file| file.extension().is_some_and(|end| end == "pth")));
        }
        for link in links {
            let text = regular_file::read_text(&link, TEXT).unwrap_or_default();
            let packages = link.parent().unwrap_or(environment);
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let folder = real_path::resolve(&path::resolve(packages, line)).real;
                if folder.starts_with(self.project) && folder.is_dir() {
                    let cwd = std::mem::replace(&mut self.cwd, folder);
                    self.python_modules();
                    self.cwd = cwd;
                }
            }
        }
    }

    /// Adds the virtual environment, if the file is its `activate` script and only puts the environment's programs first. Returns whether
    /// it is.
    pub(in crate::trust) fn activates(&mut self, file: &Path) -> Result<bool, String> {
        let environment = file.parent().and_then(Path::parent);
        let environment = environment.filter(|folder| folder.join("pyvenv.cfg").is_file());
        let Some(environment) = environment.filter(|_| file.ends_with("bin/activate")) else {
            return Ok(false);
        };
        let text = regular_file::read_text(file, TEXT).unwrap_or_default();
        let runs = |line: &str| {
            [". ", "source ", "eval "]
                .iter()
                .any(|word| line.contains(word))
        };
        let mut lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'));
        if !text.contains("VIRTUAL_ENV=") || lines.any(runs) {
            return Ok(false);
        }
        self.linked_folders(environment);
        self.program(file)?;
        self.activated = Some(environment.to_owned());
        Ok(true)
    }

    /// Adds a module of Node. A package that is a tool loads the settings of that tool.
    fn package(&mut self, name: &str, folder: &Path) -> Result<(), String> {
        self.packages(folder);
        let cwd = std::mem::replace(&mut self.cwd, folder.to_owned());
        let is_there = self.module_of_project(name);
        self.cwd = cwd;
        let is_there = is_there?;
        if name.starts_with('.') {
            let ends = "js cjs mjs ts cts mts jsx tsx json node";
            let is_module = |path: &PathBuf| {
                path.extension()
                    .is_some_and(|end| is_in(ends, &end.to_string_lossy()))
            };
            let is_there = is_there && found(&folder.join(name)).iter().any(is_module);
            if !is_there && folder.starts_with(self.project) {
                self.reach.incomplete.insert(folder.to_owned());
            }
            return Ok(());
        }
        if self.in_settings || name.starts_with('/') {
            return Ok(());
        }
        let parts = 1 + usize::from(name.starts_with('@'));
        let package = name.split('/').take(parts).collect::<Vec<_>>().join("/");
        let tool = match &*package {
            "@commitlint/load" => "commitlint",
            "vscode-eslint" => "eslint",
            other => other,
        };
        if reads_variables(tool) {
            self.env_files();
            self.sets_variables = true;
        } else if settings_of(tool).is_some() && tool != "typescript" {
            self.tool(tool, &[], false)?;
        } else if !is_quiet_package(&package) {
            self.every();
        }
        Ok(())
    }

    /// Adds the scripts in the folder and below it.
    pub(in crate::trust) fn follow_folder(
        &mut self,
        folder: &Path,
        ends: &str,
        kind: &str,
    ) -> Result<(), String> {
        let mut waiting = vec![folder.to_owned()];
        let mut count = 0;
        while let Some(folder) = waiting.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let path = entry.path();
                let end = path.extension().and_then(|end| end.to_str());
                if path.is_dir() && !path.is_symlink() && !path.ends_with(PACKAGES) {
                    waiting.push(path);
                } else if is_in(ends, end.unwrap_or_default()) && path.is_file() {
                    count += 1;
                    if count > PACKAGE_FILES {
                        self.every();
                        return Ok(());
                    }
                    self.script(&path, kind)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the modules in the working directory: Python prefers them to its own, if the code is not in a file.
    fn python_modules(&mut self) {
        for entry in self.cwd.read_dir().into_iter().flatten().flatten() {
            let file = entry.path();
            if !file.starts_with(self.project) {
                continue;
            }
            let end = file.extension().and_then(|end| end.to_str());
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            if is_in("py pyc so", end.unwrap_or_default()) {
                // No package imports a module with such a name.
                if !is_in(OWN_NAMES, &stem) && !stem.starts_with("test_") {
                    self.reach.files.insert(file);
                }
            } else if file.is_dir() {
                for name in ["__init__", "__main__"] {
                    let names = ["py", "pyc", "so"].map(|end| file.join(format!("{name}.{end}")));
                    self.reach.files.extend(names);
                }
            }
        }
    }
}

/// The words before the script of Node: those after it are options of the script.
fn options_of_node(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    let mut has_value = false;
    arguments.iter().take_while(move |word| {
        let is_option = word.text.starts_with('-');
        let is_plain = is_in(NODE_FLAGS, &word.text) || word.text.contains('=');
        std::mem::replace(&mut has_value, is_option && !is_plain) || is_option
    })
}

/// The language of the interpreter.
fn kind_of(interpreter: &str) -> &'static str {
    match interpreter {
        "node" => "js",
        name if is_interpreter(name) => "py",
        _ => "sh",
    }
}

/// Whether the word is an option made of these letters; with `c`, an option that contains `c`.
fn is_option(word: &str, letters: &str) -> bool {
    let given = word.strip_prefix(['-', '+']).unwrap_or_default();
    let is_letter = |char: char| char.is_ascii_alphabetic();
    !given.is_empty()
        && given.chars().all(is_letter)
        && if letters == "c" {
            given.contains('c')
        } else {
            given.chars().all(|char| letters.contains(char))
        }
}

/// The files and packages that an import of the stem can mean: `./x.js` can be `x.ts`.
pub(in crate::trust) fn found(stem: &Path) -> Vec<PathBuf> {
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    let base = name.rsplit_once('.').map_or(&*name, |(base, _)| base);
    let entries = stem.parent().and_then(|folder| folder.read_dir().ok());
    let entries = entries.into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        let own = path.file_name().unwrap_or_default().to_string_lossy();
        let (start, end) = own.rsplit_once('.').unwrap_or((&own, ""));
        own == name || !is_in("pyc md txt", end) && (start == name || start == base)
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for path in entries.map(|entry| entry.path()).filter(is_one) {
        if path.is_dir() {
            let inside = path.read_dir().into_iter().flatten().flatten();
            let inside = inside.map(|entry| entry.path());
            let is_module = |path: &PathBuf| {
                let end = path.extension().and_then(|end| end.to_str());
                path.is_file() && is_in("py js cjs mjs ts json", end.unwrap_or_default())
            };
            found.extend(inside.filter(is_module));
        } else {
            found.push(path);
        }
    }
    found
}
