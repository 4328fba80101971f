//! Whether a script loads nothing but what lies in its folder. It is trusted text that has not changed, so this is no search for
//! tricks: a script with a word that can load or run something that is not known here could load every file of the project.

use std::path::{Path, PathBuf};

use osier_base::{real_path, regular_file};

use super::reach::{Search, TEXT, is_interpreter};
use crate::programs::is_shell;
use crate::shell::Word;

/// The modules of Python that run nothing by a name.
#[rustfmt::skip]
const PYTHON: &str = "\
    __future__ abc argparse array base64 bisect calendar collections configparser contextlib copy csv dataclasses datetime decimal difflib \
    enum errno fcntl fileinput fnmatch fractions functools glob hashlib hmac html io ipaddress itertools json locale logging math numbers \
    operator os pathlib platform posixpath pprint queue random re secrets select shlex shutil signal socket sqlite3 stat statistics string \
    struct sys tempfile textwrap threading time tomllib traceback types typing unicodedata urllib uuid warnings xml zlib";
/// Names of Python that load or run something: in a text with them, everything can be meant.
#[rustfmt::skip]
const PYTHON_RUNS: [&str; 21] = [
    "__import__", "__builtins__", "builtins", "compile", "eval", "importlib", "runpy", "subprocess", "ctypes", "pty", "imp", "system", "popen",
    "posix_spawn", "startfile", "sys.path", "sys.modules", "meta_path", "path_hooks", "__loader__", "__path__",
];
/// The modules of Node that run nothing by a name.
const NODE: &str = "assert buffer console constants crypto events fs os path perf_hooks querystring readline stream string_decoder \
    timers tty url util process zlib fs/promises path/posix timers/promises stream/promises readline/promises";
#[rustfmt::skip]
const NODE_RUNS: [&str; 15] = [
    "Function", "Worker", "binding", "child_process", "constructor", "createRequire", "dlopen", "eval", "exec", "execSync", "module",
    "mainModule", "register", "spawn", "vm",
];

impl Search<'_> {
    /// A shell, Python, Node or another interpreter with its arguments. `nested`: the commands in `-c` were read.
    pub(super) fn interpreter(
        &mut self,
        name: &str,
        arguments: &[Word],
        nested: bool,
        moves: bool,
    ) -> Result<(), String> {
        let is_python = name != "node" && is_interpreter(name);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            match text {
                _ if !word.is_fixed() => break,
                _ if is_shell(name) && is_option(text, "c") || name == "eval" => {
                    self.reach.all |= !nested;
                    return Ok(());
                }
                "-o" | "+o" if is_shell(name) => {
                    words.next();
                }
                "--noprofile" | "--norc" | "--posix" => {}
                "--no-warnings" if name == "node" => {}
                "-c" if is_python => {
                    self.python_modules();
                    let Some(code) = words.next().filter(|word| word.is_fixed()) else {
                        self.all();
                        return Ok(());
                    };
                    return self.text(&code.text.clone(), &self.cwd.clone(), "py");
                }
                "-m" if is_python => {
                    self.python_modules();
                    let module = words.next().map(|word| word.text.as_str());
                    match module {
                        Some("pytest" | "unittest" | "black" | "ruff" | "json.tool") => {
                            self.selectors();
                        }
                        _ => self.all(),
                    }
                    return Ok(());
                }
                "-e" | "--eval" | "-p" | "-pe" if name == "node" => {
                    let Some(code) = words.next().filter(|word| word.is_fixed()) else {
                        self.all();
                        return Ok(());
                    };
                    return self.text(&code.text.clone(), &self.cwd.clone(), "js");
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

    /// The script, and what it loads. `kind` is its language, if that is known.
    pub(super) fn script(&mut self, file: &Path, kind: &str) -> Result<(), String> {
        if self.reach.all
            || !file.starts_with(self.project)
            || !self.scripts.insert(file.to_owned())
        {
            return Ok(());
        }
        if file.is_dir() {
            let script = file.join(if kind == "py" {
                "__main__.py"
            } else {
                "index.js"
            });
            if script.is_file() && !file.join("package.json").exists() {
                return self.script(&script, kind);
            }
            self.all();
            return Ok(());
        }
        let Ok(text) = regular_file::read_text(file, TEXT) else {
            // A compiled program, or none.
            self.all();
            return Ok(());
        };
        let first = text.lines().next().unwrap_or_default();
        let end = file
            .extension()
            .and_then(|end| end.to_str())
            .unwrap_or_default();
        let kind = match (kind, end) {
            ("", _) if first.starts_with("#!") && first.contains("python") => "py",
            ("", _) if first.starts_with("#!") && first.ends_with("node") => "js",
            ("", _) if first.starts_with("#!") && first.split(['/', ' ']).any(is_shell) => "sh",
            ("", _) if first.starts_with("#!") => "",
            ("", "py") => "py",
            ("", "js" | "mjs" | "cjs") => "js",
            ("", _) => "sh",
            (kind, _) => kind,
        };
        let folder = file.parent().unwrap_or(self.project).to_owned();
        if folder == self.project && kind == "py" {
            let cwd = std::mem::replace(&mut self.cwd, folder.clone());
            self.python_modules();
            self.cwd = cwd;
        } else if folder != self.project {
            self.reach.folders.insert(folder.clone(), true);
        }
        self.text(&text, &folder, kind)
    }

    fn text(&mut self, text: &str, folder: &Path, kind: &str) -> Result<(), String> {
        let loaded = match kind {
            "sh" => {
                let lines = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with('#'));
                return self.line(&lines.collect::<Vec<_>>().join("\n"));
            }
            "py" => python_imports(text),
            "js" => node_imports(text),
            _ => None,
        };
        let Some(loaded) = loaded else {
            self.all();
            return Ok(());
        };
        for name in loaded {
            let stem = real_path::resolve(&folder.join(&name)).real;
            let is_known = if kind == "py" { PYTHON } else { NODE };
            let found = found(&stem);
            let is_safe = is_known
                .split_whitespace()
                .any(|known| known == name.trim_start_matches("node:"));
            if found.is_empty() && !is_safe
                || !stem.starts_with(folder)
                || folder == self.project && name.starts_with('.')
            {
                self.all();
                return Ok(());
            }
            for file in found {
                // Modules of a linked file are looked for next to its target.
                let real = real_path::resolve(&file).real;
                self.reach.all |= !real.starts_with(folder);
                self.script(&real, kind)?;
            }
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
            let end = file
                .extension()
                .and_then(|end| end.to_str())
                .unwrap_or_default();
            if ["py", "pyc", "so"].contains(&end) {
                self.reach.files.insert(file, None);
            } else if file.is_dir() {
                let names = ["py", "pyc", "so"].map(|end| file.join(format!("__init__.{end}")));
                self.reach.files.extend(
                    names
                        .into_iter()
                        .filter(|name| name.exists())
                        .map(|name| (name, None)),
                );
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
fn found(stem: &Path) -> Vec<PathBuf> {
    let name = stem
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let base = name
        .rsplit_once('.')
        .map_or(name.as_str(), |(base, _)| base);
    let entries = stem.parent().and_then(|folder| folder.read_dir().ok());
    let entries = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_code = path
            .extension()
            .and_then(|end| end.to_str())
            .is_none_or(|end| !["pyc", "md", "json", "txt"].contains(&end));
        is_code && (stem == *name || stem == *base)
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for path in entries.filter(is_one) {
        if path.is_dir() {
            let inside = path
                .read_dir()
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path());
            found.extend(inside.filter(|path| {
                path.is_file()
                    && path
                        .extension()
                        .is_some_and(|end| end == "py" || end == "js")
            }));
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

/// The modules that a text in Python imports, or `None` if it can load more.
fn python_imports(text: &str) -> Option<Vec<String>> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join("\n");
    let runs = |name: &str| {
        let mut parts = name.split('.');
        let is_plain_compile = name == "re.compile";
        let starts = |part: &str| {
            part == "exec"
                || ["execl", "execv", "spawn"]
                    .iter()
                    .any(|start| part.starts_with(start))
        };
        !is_plain_compile
            && (PYTHON_RUNS.contains(&name)
                || name.contains("sys.path")
                || name.contains("sys.modules")
                || parts.any(|part| PYTHON_RUNS.contains(&part) || starts(part)))
    };
    if names(&text).any(runs) {
        return None;
    }
    let (mut modules, mut count) = (Vec::new(), 0);
    for statement in text.split(['\n', ';']).map(str::trim) {
        if let Some(rest) = statement.strip_prefix("from ") {
            let (module, names) = rest.split_once(" import")?;
            let module = module.trim();
            // A part of the program's own search path would be changed.
            if module.starts_with("..")
                || module == "sys" && names.contains("path")
                || module == "os" && names.contains('*')
            {
                return None;
            }
            let first = module
                .trim_start_matches('.')
                .split('.')
                .next()
                .unwrap_or_default();
            // `from . import x` can load each file next to it.
            modules.push(if first.is_empty() {
                return None;
            } else {
                first.to_owned()
            });
            count += 1;
        } else if let Some(rest) = statement.strip_prefix("import ") {
            for module in rest.split(',') {
                let module = module
                    .split(['#', ' ', '\t'])
                    .find(|part| !part.is_empty())?;
                modules.push(module.split('.').next().unwrap_or_default().to_owned());
            }
            count += 1;
        }
    }
    (names(&text).filter(|name| *name == "import").count() == count).then_some(modules)
}

/// The modules that a text for Node loads, or `None` if it can load more.
fn node_imports(text: &str) -> Option<Vec<String>> {
    let runs = |name: &str| {
        name.split('.').any(|part| NODE_RUNS.contains(&part)) && name != "module.exports"
    };
    if names(text).any(runs) || text.contains("\\u") || text.contains("\\x") {
        return None;
    }
    let mut modules = Vec::new();
    for keyword in ["require", "import", "from"] {
        for (place, _) in text.match_indices(keyword) {
            let is_name = |char: char| char.is_alphanumeric() || "_$".contains(char);
            let (before, after) = (&text[..place], &text[place + keyword.len()..]);
            if before.ends_with(is_name)
                || after.starts_with(is_name)
                || keyword == "from" && before.ends_with('.')
            {
                continue;
            }
            let after = after.trim_start();
            let quoted = after.strip_prefix('(').map_or(after, str::trim_start);
            let quote = quoted.chars().next().filter(|char| "'\"".contains(*char));
            let literal = quote.and_then(|quote| quoted[1..].split_once(quote));
            match literal {
                Some((module, _)) => modules.push(module.to_owned()),
                // The words of another statement: `import {x} from`, the module follows.
                None if keyword == "import" && !after.starts_with('(') => {}
                None if keyword == "from" => {}
                None => return None,
            }
        }
    }
    Some(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_loads_what_it_names_or_everything() {
        let all = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<Vec<_>>());
        for (text, expected) in [
            (
                "import json, sys\nfrom rules import (\n one,\n two)\n",
                all(&["json", "sys", "rules"]),
            ),
            (
                "def f():\n    import rules.deep as x; import os\n",
                all(&["rules", "os"]),
            ),
            ("re.compile('x')", all(&[])),
            ("# import x\nimport json # data", all(&["json"])),
            ("importlib.import_module('x')", None),
            ("__import__('x')", None),
            ("if True: import x", None),
            ("from sys import path", None),
            ("sys.path.insert(0, 'src')", None),
            ("os.system('make')", None),
            ("os.execvp('sh', x)", None),
            ("exec(open('x').read())", None),
            ("from .. import x", None),
        ] {
            assert_eq!(python_imports(text), expected, "{text}");
        }
        for (text, expected) in [
            (
                "const fs = require('fs'), r = require(\"./rules\")",
                all(&["fs", "./rules"]),
            ),
            (
                "import fs, {x} from 'node:fs'\nimport './a.js'",
                all(&["./a.js", "node:fs"]),
            ),
            ("fs.existsSync('tsconfig.json')", all(&[])),
            ("require(name)", None),
            ("await import(`./${x}`)", None),
            ("require('child_process').execSync('make')", None),
            ("new Function('x')", None),
        ] {
            assert_eq!(node_imports(text), expected, "{text}");
        }
    }
}
