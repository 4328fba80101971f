//! The code that a script loads: the commands that it runs and the modules that it imports. A text with a word that can load something by a
//! computed name could load all code of the project.

use std::path::{Path, PathBuf};

use osier_base::{real_path, regular_file};

use super::known_programs::{is_in, is_interpreter, is_known, is_runner};
use super::reach::{Search, TEXT};
use crate::programs::{is_shell, name_of};
use crate::shell::Word;

/// The modules of Python that run nothing by a name.
#[rustfmt::skip]
const PYTHON: &str = "\
    __future__ abc argparse ast array asyncio base64 bisect calendar collections configparser contextlib copy csv dataclasses datetime decimal \
    difflib enum errno fcntl fileinput fnmatch fractions functools getpass glob gzip hashlib hmac html http inspect io ipaddress itertools json \
    locale logging math numbers operator os pathlib platform posixpath pprint queue random re secrets select shlex shutil signal socket sqlite3 \
    ssl stat statistics string struct subprocess sys tempfile textwrap threading time tokenize tomllib traceback types typing unicodedata \
    unittest urllib uuid warnings weakref xml zipfile zlib zoneinfo";
/// Names of Python that load or run something, and those that do so if they are called.
#[rustfmt::skip]
const PYTHON_RUNS: [&str; 15] = [
    "__import__", "__builtins__", "builtins", "importlib", "runpy", "ctypes", "pty", "imp", "sys.path", "sys.modules", "meta_path",
    "path_hooks", "__loader__", "__path__", "pkgutil",
];
#[rustfmt::skip]
const PYTHON_CALLS: [&str; 18] = [
    "compile", "eval", "exec", "execfile", "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "spawnl", "spawnv", "spawnvp",
    "posix_spawn", "startfile", "create_subprocess_exec", "create_subprocess_shell",
];
/// Calls that run a command, which the text can name.
const PYTHON_COMMANDS: [&str; 8] = [
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "subprocess.getoutput",
    "os.system",
    "os.popen",
];
/// The modules of Node that run nothing by a name.
const NODE: &str = "assert buffer child_process console constants crypto events fs http https net os path perf_hooks process querystring \
    readline stream string_decoder timers tty url util zlib fs/promises path/posix timers/promises stream/promises readline/promises test";
#[rustfmt::skip]
const NODE_CALLS: [&str; 8] = [
    "eval", "Function", "Worker", "createRequire", "dlopen", "fork", "_load", "require.resolve",
];
const NODE_COMMANDS: [&str; 6] = [
    "execSync",
    "execFileSync",
    "spawnSync",
    "execFile",
    "spawn",
    "exec",
];

/// The modules and commands that a text loads.
#[derive(Debug, Default, PartialEq, Eq)]
struct Loads {
    modules: Vec<String>,
    /// Commands for a shell.
    commands: Vec<String>,
}

impl Search<'_> {
    /// A shell, Python or Node with its arguments.
    pub(super) fn interpreter(
        &mut self,
        name: &str,
        arguments: &[Word],
        moves: bool,
    ) -> Result<(), String> {
        let is_python = name != "node" && is_interpreter(name);
        let mut words = arguments.iter().enumerate();
        while let Some((place, word)) = words.next() {
            let text = word.text.as_str();
            match text {
                _ if name == "eval" => {
                    let texts: Vec<&str> = arguments.iter().map(|word| &*word.text).collect();
                    self.reach.all |= !arguments.iter().all(Word::is_fixed);
                    return self.line(&texts.join(" "));
                }
                _ if is_shell(name) && is_option(text, "c") => {
                    let mut rest = arguments[place + 1..].iter();
                    let code = rest.find(|word| !word.text.starts_with(['-', '+']));
                    return self.code(code, "sh");
                }
                _ if !word.is_fixed() => break,
                "-o" | "+o" if is_shell(name) => {
                    words.next();
                }
                "--noprofile" | "--norc" | "--posix" => {}
                "--no-warnings" | "--test" if name == "node" => {}
                "-c" if is_python => {
                    self.python_modules();
                    return self.code(arguments.get(place + 1), "py");
                }
                "-e" | "--eval" | "-p" | "-pe" if name == "node" => {
                    return self.code(arguments.get(place + 1), "js");
                }
                "-m" if is_python => {
                    self.python_modules();
                    let rest = &arguments[place + 1..];
                    let module = rest.first().map_or("", |word| word.text.as_str());
                    if !is_known(module, &rest[1.min(rest.len())..]) && module != "json.tool" {
                        self.all();
                        return Ok(());
                    }
                    return self.command(rest, moves);
                }
                _ if is_python && is_option(text, "BEIOPqsSuv")
                    || is_shell(name) && is_option(text, "aefhluvx") => {}
                _ if text.starts_with(['-', '+']) => break,
                _ => {
                    self.selectors();
                    let kind = match name {
                        "node" => "js",
                        _ if is_python => "py",
                        _ => "sh",
                    };
                    return self.script_of(Some(word), moves, kind);
                }
            }
        }
        // Code from its input, or a script that is computed.
        self.all();
        Ok(())
    }

    /// Code in an argument, which loads modules of the working directory.
    pub(super) fn code(&mut self, word: Option<&Word>, kind: &str) -> Result<(), String> {
        let Some(code) = word.filter(|word| word.is_fixed()) else {
            self.all();
            return Ok(());
        };
        self.text(&code.text.clone(), &self.cwd.clone(), kind)
    }

    /// The script, and what it loads. `kind` is its language, if that is known.
    pub(super) fn script(&mut self, file: &Path, kind: &str) -> Result<(), String> {
        let is_own = file.starts_with(self.project);
        if !self.scripts.insert(file.to_owned()) {
            return Ok(());
        }
        if is_own {
            self.reach.files.insert(file.to_owned());
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
            // A compiled program, or none.
            self.reach.all |= is_own;
            return Ok(());
        };
        let first = text.lines().next().filter(|line| line.starts_with("#!"));
        let first = first.unwrap_or_default();
        let end = file.extension().and_then(|end| end.to_str());
        let runs = |named: fn(&str) -> bool| first.split(['/', ' ', '!']).any(named);
        let kind = match (kind, end.unwrap_or_default()) {
            ("", _) if runs(|word| word.starts_with("python")) => "py",
            ("", _) if runs(|word| word == "node") => "js",
            ("", _) if runs(is_shell) => "sh",
            ("", _) if !first.is_empty() => "",
            ("", "py") => "py",
            ("", "js" | "mjs" | "cjs" | "ts" | "mts" | "cts") => "js",
            ("", _) => "sh",
            (kind, _) => kind,
        };
        let folder = file.parent().unwrap_or(self.project).to_owned();
        if folder == self.project && kind == "py" {
            let cwd = std::mem::replace(&mut self.cwd, folder.clone());
            self.python_modules();
            self.cwd = cwd;
        }
        // The code of a program of the user is the user's own. Of it, only the commands count.
        let before = self.reach.all;
        self.text(&text, &folder, kind)?;
        let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(){}".contains(char);
        let runs = |word: &str| word.starts_with("./") || is_runner(name_of(word));
        if !is_own && (kind != "sh" || !text.split(is_end).any(runs)) {
            self.reach.all = before;
        }
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str, folder: &Path, kind: &str) -> Result<(), String> {
        let loads = match kind {
            "sh" => {
                let lines = text.lines();
                let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
                return self.line(&lines.collect::<Vec<_>>().join("\n"));
            }
            "py" => python_loads(text),
            "js" => node_loads(text),
            _ => None,
        };
        let Some(loads) = loads else {
            self.all();
            self.named(text);
            return Ok(());
        };
        for command in &loads.commands {
            self.line(command)?;
        }
        for name in &loads.modules {
            self.module(name, folder, kind)?;
        }
        Ok(())
    }

    /// The module that a file in `folder` imports.
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
            self.packages(folder);
            let cwd = std::mem::replace(&mut self.cwd, folder.to_owned());
            let found = self.module_of_project(name);
            self.cwd = cwd;
            return found.map(drop);
        }
        let files = found(&folder.join(name));
        for file in &files {
            if file.parent() != Some(folder) {
                self.reach.folders.insert(folder.join(name), true);
            }
            // Modules of a linked file are looked for next to its target.
            let real = real_path::resolve(file).real;
            if real.parent() != Some(folder) && real.starts_with(self.project) {
                self.reach
                    .folders
                    .extend(real.parent().map(|folder| (folder.to_owned(), true)));
            }
            self.script(&real, kind)?;
        }
        if files.is_empty() && !is_in(PYTHON, name) && folder.starts_with(self.project) {
            // An installed package, which can be a link to a folder of the project.
            let places = ["", "src", "lib", "python"].map(|place| self.project.join(place));
            self.reach.all |= places
                .iter()
                .any(|place| !found(&place.join(name)).is_empty());
            self.reach.names.insert(name.to_owned());
        }
        Ok(())
    }

    /// The modules in the working directory, which Python prefers to its own for code that is no file.
    fn python_modules(&mut self) {
        for entry in self.cwd.read_dir().into_iter().flatten().flatten() {
            let file = entry.path();
            if !file.starts_with(self.project) {
                continue;
            }
            let end = file.extension().and_then(|end| end.to_str());
            if is_in("py pyc so", end.unwrap_or_default()) {
                self.reach.files.insert(file);
            } else if file.is_dir() {
                let names = ["py", "pyc", "so"].map(|end| file.join(format!("__init__.{end}")));
                self.reach.files.extend(names);
            }
        }
    }
}

/// Whether the word is made of these letters of options.
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

/// The files and packages whose names begin with the stem: `./x.js` can be `x.ts`.
pub(super) fn found(stem: &Path) -> Vec<PathBuf> {
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

/// The names in a text: with points, and each part of them.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |char: char| char.is_alphanumeric() || "_.$".contains(char);
    text.split(move |char| !is_name(char))
        .filter(|name| !name.is_empty())
}

/// The calls of a function: what comes before, and its arguments with the rest of the text.
fn calls<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_name = |char: char| char.is_alphanumeric() || "_$".contains(char);
    text.match_indices(name).filter_map(move |(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let arguments = after.trim_start().strip_prefix('(')?;
        (!before.ends_with(is_name)).then_some((before, arguments.trim_start()))
    })
}

/// The command in the arguments of a call: a text, or a list of words of which the first one is a text.
fn command_of(arguments: &str) -> Option<String> {
    let text = arguments.trim_start_matches(['f', 'r', 'b']);
    let is_text = |text: &str| text.starts_with(['"', '\'', '`']);
    let list = arguments.strip_prefix('[').map(str::trim_start);
    if let Some(list) = list {
        let (words, _) = list.split_once(']')?;
        return list_of(words);
    }
    if !is_text(text) {
        return None;
    }
    let (first, rest) = literal(text)?;
    let rest = rest.trim_start();
    let list = rest
        .strip_prefix(',')
        .map(str::trim_start)
        .and_then(|rest| rest.strip_prefix('['));
    match list {
        // `spawn("npx", ["prettier"])`
        Some(list) => list_of(&format!("'{first}', {}", list.split_once(']')?.0)),
        // A text that is put together.
        None if rest.starts_with(['+', '%', '.']) => None,
        None => Some(first),
    }
}

/// The command of the words of a list; a word that is computed is a variable.
fn list_of(words: &str) -> Option<String> {
    let mut found = Vec::new();
    for (place, word) in words.split(',').map(str::trim).enumerate() {
        let is_plain = literal(word).is_some_and(|(text, rest)| {
            rest.is_empty() && !text.contains(['\'', '$']) && !word.starts_with('`')
        });
        match word {
            "" => {}
            "sys.executable" => found.push("python3".to_owned()),
            "process.execPath" => found.push("node".to_owned()),
            _ if is_plain => found.push(format!("'{}'", literal(word)?.0)),
            _ if place == 0 => return None,
            _ => found.push("\"$unknown\"".to_owned()),
        }
    }
    (!found.is_empty()).then(|| found.join(" "))
}

/// The text in quotes at the start, with a variable for what is computed in it, and the rest.
fn literal(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|char| "\"'`".contains(*char))?;
    let (inner, rest) = text[1..].split_once(quote)?;
    if inner.contains('\\') || inner.is_empty() {
        return None;
    }
    let mut parts = inner.split('{');
    let mut found = parts
        .next()
        .unwrap_or_default()
        .trim_end_matches('$')
        .to_owned();
    for part in parts {
        let (_, after) = part.split_once('}')?;
        found.push_str("$unknown");
        found.push_str(after.trim_end_matches('$'));
    }
    Some((found, rest))
}

/// The modules that a text in Python imports and the commands that it runs, or `None` if it can load more.
fn python_loads(text: &str) -> Option<Loads> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join("\n");
    let runs = |name: &str| {
        let parts = |word: &str| name.split('.').any(|part| *part == *word);
        PYTHON_RUNS
            .iter()
            .any(|word| parts(word) || word.contains('.') && name.contains(word))
    };
    if names(&text).any(runs) {
        return None;
    }
    for name in PYTHON_CALLS {
        let is_plain = |before: &str| name == "compile" && before.ends_with("re.");
        if calls(&text, name).any(|(before, _)| !is_plain(before)) {
            return None;
        }
    }
    let mut found = Loads::default();
    let mut handled = 0;
    for name in PYTHON_COMMANDS {
        for (_, arguments) in calls(&text, name) {
            found.commands.push(command_of(arguments)?);
            handled += 1;
        }
    }
    #[rustfmt::skip]
    let constants = ["PIPE", "DEVNULL", "STDOUT", "CalledProcessError", "TimeoutExpired", "SubprocessError", "CompletedProcess"];
    let is_use = |name: &&str| {
        let rest = name.strip_prefix("subprocess.");
        rest.is_some_and(|rest| !constants.iter().any(|constant| rest.starts_with(constant)))
            || name.ends_with("os.system")
            || name.ends_with("os.popen")
    };
    if names(&text).filter(is_use).count() != handled {
        return None;
    }
    let mut count = 0;
    let mut processes = 0;
    for statement in text.split(['\n', ';']).map(str::trim) {
        if let Some(rest) = statement.strip_prefix("from ") {
            let (module, names) = rest.split_once(" import")?;
            let module = module.trim();
            let is_search_path = module == "sys" && names.contains("path");
            let is_command = module == "os"
                && ["*", "system", "popen", "exec", "spawn"]
                    .iter()
                    .any(|name| names.contains(name));
            if module.starts_with("..") || is_search_path || is_command || module == "subprocess" {
                return None;
            }
            let first = module.trim_start_matches('.').split('.').next();
            // `from . import x` can load each file next to it.
            let first = first.filter(|first| !first.is_empty())?;
            found.modules.push(first.to_owned());
            count += 1;
        } else if let Some(rest) = statement.strip_prefix("import ") {
            for module in rest.split(',') {
                let mut words = module
                    .split(['#', ' ', '\t'])
                    .filter(|part| !part.is_empty());
                let module = words.next()?.split('.').next().unwrap_or_default();
                if ["subprocess", "os"].contains(&module) && words.next() == Some("as") {
                    return None;
                }
                processes += usize::from(module == "subprocess");
                found.modules.push(module.to_owned());
            }
            count += 1;
        }
    }
    let is_named = names(&text).filter(|name| *name == "subprocess").count() == processes;
    let is_complete = names(&text).filter(|name| *name == "import").count() == count;
    (is_complete && is_named).then_some(found)
}

/// The modules that a text for Node loads and the commands that it runs, or `None` if it can load more.
fn node_loads(text: &str) -> Option<Loads> {
    if NODE_CALLS
        .iter()
        .any(|name| calls(text, name).next().is_some())
        || text.contains("\\u")
        || text.contains("\\x")
        || text.contains("process.binding")
    {
        return None;
    }
    let mut found = Loads::default();
    if text.contains("child_process") {
        let is_import = |line: &&str| !line.contains("child_process");
        let code: Vec<&str> = text.lines().filter(is_import).collect();
        let mut imports = text.lines().filter(|line| !is_import(line));
        let is_listed = imports.all(|line| {
            line.contains('{') && !line.contains(" as ") && !line.replace("node:", "").contains(':')
        });
        let code = code.join("\n");
        let mut handled = 0;
        for name in NODE_COMMANDS {
            for (before, arguments) in calls(&code, name) {
                // `/x/.exec(text)`
                if !(is_listed && before.ends_with('.')) {
                    found.commands.push(command_of(arguments)?);
                }
                handled += 1;
            }
        }
        let is_use = |name: &&str| {
            name.rsplit('.')
                .next()
                .is_some_and(|last| NODE_COMMANDS.contains(&last))
        };
        if names(&code).filter(is_use).count() != handled || text.contains(" as ") && handled == 0 {
            return None;
        }
    }
    for keyword in ["require", "import", "from"] {
        for (place, _) in text.match_indices(keyword) {
            let is_name = |char: char| char.is_alphanumeric() || "_$-".contains(char);
            let (before, after) = (&text[..place], &text[place + keyword.len()..]);
            let is_part = before.ends_with(is_name) || after.starts_with(is_name);
            if is_part
                || keyword != "require" && before.ends_with('.')
                || before.ends_with(['"', '\'', '/'])
            {
                continue;
            }
            let after = after.trim_start();
            let quoted = after.strip_prefix('(').map_or(after, str::trim_start);
            let quote = quoted.chars().next().filter(|char| "'\"".contains(*char));
            let literal = quote.and_then(|quote| quoted[1..].split_once(quote));
            match literal {
                Some((module, _)) => found.modules.push(module.to_owned()),
                // The words of another statement: `import {x} from`, the module follows.
                None if keyword == "import" && !after.starts_with('(') => {}
                None if keyword == "from" => {}
                None if keyword == "require"
                    && after.starts_with([':', ',', '}', ' ', '|', '&', '=']) =>
                {
                    return None;
                }
                None => return None,
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "as what it is compared with")]
    fn loads(modules: &[&str], commands: &[&str]) -> Option<Loads> {
        let all = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Some(Loads {
            modules: all(modules),
            commands: all(commands),
        })
    }

    #[test]
    fn a_text_in_python_loads_what_it_names_or_everything() {
        for (text, expected) in [
            (
                "import json, sys\nfrom rules import (\n one,\n two)\n",
                loads(&["json", "sys", "rules"], &[]),
            ),
            (
                "def f():\n    import rules.deep as x; import os\n",
                loads(&["rules", "os"], &[]),
            ),
            ("re.compile('x')\nplatform.system()", loads(&[], &[])),
            ("# import x\nimport json # data", loads(&["json"], &[])),
            (
                "import subprocess\nsubprocess.run([\"ruff\", \"format\", path], stdout=subprocess.PIPE)",
                loads(&["subprocess"], &["'ruff' 'format' \"$unknown\""]),
            ),
            (
                "import os\nos.system(f\"npx prettier {path}\")",
                loads(&["os"], &["npx prettier $unknown"]),
            ),
            ("import subprocess\nsubprocess.run(words)", None),
            ("import subprocess\nrun = subprocess.run", None),
            ("import subprocess as s\ns.run(['make'])", None),
            ("importlib.import_module('x')", None),
            ("__import__('x')", None),
            ("if True: import x", None),
            ("from sys import path", None),
            ("sys.path.insert(0, 'src')", None),
            ("os.system('make ' + x)", None),
            ("os.execvp('sh', x)", None),
            ("exec(open('x').read())", None),
            ("from .. import x", None),
        ] {
            assert_eq!(python_loads(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_for_node_loads_what_it_names_or_everything() {
        for (text, expected) in [
            (
                "const fs = require('fs'), r = require(\"./rules\")",
                loads(&["fs", "./rules"], &[]),
            ),
            (
                "import fs, {x} from 'node:fs'\nimport './a.js'",
                loads(&["./a.js", "node:fs"], &[]),
            ),
            (
                "fs.existsSync('tsconfig.json'); /x/.exec(y)",
                loads(&[], &[]),
            ),
            (
                "x = {sourceType: 'module', rules: {'no-eval': 2}}",
                loads(&[], &[]),
            ),
            (
                "import { spawnSync } from 'child_process'\nspawnSync('npx', ['prettier', file])",
                loads(&["child_process"], &["'npx' 'prettier' \"$unknown\""]),
            ),
            ("import { spawn } from 'child_process'\nspawn(name)", None),
            ("require(name)", None),
            ("await import(`./${x}`)", None),
            ("new Function('x')", None),
        ] {
            assert_eq!(node_loads(text), expected, "{text}");
        }
    }
}
