//! Programs that run commands in a file of the project: `npm`, `make` and the like.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::{path, real_path, regular_file};

use super::known_programs::{MAKE, NPM, NPX, SEQUENCES, is_in, is_known, is_task_runner};
use super::reach::{PACKAGES, Search, TEXT};
use crate::programs::{is_shell, name_of};
use crate::shell::Word;

/// Files that a runner obeys.
#[rustfmt::skip]
const OBEYED: [&str; 9] = [
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.mjs", ".pnp.cjs", ".yarn", "bunfig.toml", "pnpm-workspace.yaml",
];
/// Options that change nothing.
const QUIET: [&str; 9] = [
    "-s",
    "--silent",
    "-q",
    "--quiet",
    "--if-present",
    "-y",
    "--yes",
    "--no-install",
    "--no",
];

impl Search<'_> {
    /// Whether the program is a runner; then adds what it runs.
    pub(super) fn runner(
        &mut self,
        name: &str,
        arguments: &[Word],
        moves: bool,
    ) -> Result<bool, String> {
        if !is_task_runner(name) {
            return Ok(false);
        }
        if moves || !self.cwd.starts_with(self.project) {
            self.all();
            return Ok(true);
        }
        let is_quiet = |word: &&Word| QUIET.contains(&word.text.as_str());
        let quiet = arguments.iter().take_while(is_quiet).count();
        let arguments = &arguments[quiet..];
        self.selectors();
        match name {
            _ if is_in(NPM, name) => self.npm(name, arguments)?,
            _ if is_in(NPX, name) => self.package_program(arguments)?,
            _ if is_in(SEQUENCES, name) => {
                for word in arguments.iter().filter(|word| !word.text.starts_with('-')) {
                    self.script_named(&word.text)?;
                }
            }
            "lint-staged" => self.staged()?,
            _ if is_in(MAKE, name) => self.make(name, arguments)?,
            _ => self.python_runner(name, arguments)?,
        }
        Ok(true)
    }

    fn npm(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        let Some(command) = arguments.first().filter(|word| word.is_fixed()) else {
            self.all();
            return Ok(());
        };
        let rest = &arguments[1..];
        let elsewhere = [
            "-w",
            "-C",
            "-r",
            "-F",
            "--prefix",
            "--filter",
            "--recursive",
            "--cwd",
            "--dir",
        ];
        let leaves = |word: &Word| {
            let option = word.text.split('=').next().unwrap_or_default();
            elsewhere.contains(&option) || option.starts_with("--workspace")
        };
        let is_before = |word: &&Word| word.text != "--";
        let is_script = |name: &str| {
            [
                "run",
                "run-script",
                "test",
                "t",
                "tst",
                "start",
                "stop",
                "restart",
            ]
            .contains(&name)
        };
        match command.text.as_str() {
            _ if is_script(&command.text) && rest.iter().take_while(is_before).any(leaves) => {
                self.all();
            }
            "run" | "run-script" => {
                let is_quiet = |word: &&Word| QUIET.contains(&word.text.as_str());
                let script = rest.iter().find(|word| !is_quiet(word));
                match script.filter(|word| word.is_fixed() && !word.text.starts_with('-')) {
                    Some(word) => self.script_named(&word.text)?,
                    None => self.all(),
                }
            }
            "t" | "tst" => self.script_named("test")?,
            script @ ("test" | "start" | "stop" | "restart") => self.script_named(script)?,
            "exec" | "dlx" | "x" => self.package_program(rest)?,
            "version" | "--version" | "-v" | "root" | "prefix" | "view" | "outdated" | "audit" => {}
            script
                if name != "npm"
                    && self
                        .manifest()
                        .is_some_and(|(_, all)| !all["scripts"][script].is_null()) =>
            {
                self.script_named(script)?;
            }
            _ if name == "pnpm" || name == "yarn" => {
                let program = self.installed(&command.text).is_some();
                if program {
                    self.package_program(arguments)?;
                } else {
                    self.all();
                }
            }
            _ => self.all(),
        }
        Ok(())
    }

    /// The nearest `package.json`.
    fn manifest(&self) -> Option<(PathBuf, Value)> {
        let above = self.above().into_iter();
        let mut files = above.map(|folder| folder.join("package.json"));
        let file = files.find(|file| file.is_file())?;
        let text = regular_file::read(&file, TEXT).ok()?;
        let manifest = serde_json::from_slice(&text).ok()?;
        Some((file, manifest))
    }

    /// The scripts of `package.json` with this name, with what runs before and after them.
    fn script_named(&mut self, name: &str) -> Result<(), String> {
        let Some((file, manifest)) = self.manifest() else {
            self.all();
            return Ok(());
        };
        let folder = file.parent().unwrap_or(self.project).to_owned();
        let obeyed = OBEYED.map(|name| folder.join(name));
        self.reach
            .files
            .extend(obeyed.iter().filter(|path| path.is_file()).cloned());
        let folders = obeyed.into_iter().filter(|path| path.is_dir());
        self.reach
            .folders
            .extend(folders.map(|folder| (folder, false)));
        self.reach.files.insert(file);
        self.packages(&folder);
        let scripts = manifest["scripts"].as_object().cloned().unwrap_or_default();
        let start = name.strip_suffix('*');
        let fits = |script: &str| {
            let plain = script.strip_prefix("pre").or(script.strip_prefix("post"));
            script == name
                || plain == Some(name)
                || start.is_some_and(|start| script.starts_with(start))
        };
        let cwd = std::mem::replace(&mut self.cwd, folder.clone());
        let mut is_known = false;
        for (script, text) in scripts.iter().filter(|(script, _)| fits(script)) {
            is_known = true;
            if let Some(text) = text.as_str()
                && self.tasks.insert((folder.clone(), script.clone()))
            {
                self.line(text)?;
            }
        }
        self.reach.all |= !is_known;
        self.cwd = cwd;
        Ok(())
    }

    /// The program of this name in the nearest folder of packages.
    pub(super) fn installed(&self, name: &str) -> Option<PathBuf> {
        let above = self.above().into_iter();
        let mut programs = above.map(|folder| folder.join(PACKAGES).join(".bin").join(name));
        programs.find(|program| program.symlink_metadata().is_ok())
    }

    /// `npx tool`: a program that is installed, or else one that is downloaded.
    fn package_program(&mut self, arguments: &[Word]) -> Result<(), String> {
        let skips = |word: &&Word| word.text == "--" || QUIET.contains(&word.text.as_str());
        let skipped = arguments.iter().take_while(skips).count();
        let Some((head, rest)) = arguments[skipped..].split_first() else {
            return Ok(());
        };
        if !head.is_fixed() || head.text.starts_with('-') {
            self.all();
            return Ok(());
        }
        let npmrc = self.above().into_iter().map(|folder| folder.join(".npmrc"));
        self.reach.files.extend(npmrc.filter(|file| file.is_file()));
        self.packages(&self.cwd.clone());
        let name = head
            .text
            .rsplit_once('@')
            .map_or(head.text.as_str(), |(name, _)| name);
        let name = if name.is_empty() { &head.text } else { name };
        if let Some(program) = self.installed(name) {
            self.program(&program)?;
            let real = real_path::resolve(&program).real;
            let own = real.starts_with(self.project)
                && real.components().all(|part| part.as_os_str() != PACKAGES);
            if own {
                self.script(&real, "")?;
            }
        }
        let words = [&[Word::literal(name)], rest].concat();
        if is_known(name, rest) {
            return self.command(&words, false);
        }
        self.all();
        Ok(())
    }

    /// `lint-staged`: the commands in its settings.
    fn staged(&mut self) -> Result<(), String> {
        self.settings("lint-staged", false)?;
        self.settings("lintstaged", false)?;
        self.packages(&self.cwd.clone());
        if let Some((file, manifest)) = self.manifest() {
            self.reach.files.insert(file);
            self.staged_commands(&manifest["lint-staged"])?;
        }
        for file in self.above().into_iter().flat_map(|folder| {
            [".lintstagedrc", ".lintstagedrc.json"].map(|name| folder.join(name))
        }) {
            if let Ok(text) = regular_file::read(&file, TEXT) {
                match serde_json::from_slice(&text) {
                    Ok(commands) => self.staged_commands(&commands)?,
                    Err(_) => self.all(),
                }
            }
        }
        Ok(())
    }

    fn staged_commands(&mut self, commands: &Value) -> Result<(), String> {
        match commands {
            Value::String(text) => self.line(text),
            Value::Array(all) => all.iter().try_for_each(|value| self.staged_commands(value)),
            Value::Object(all) => all
                .values()
                .try_for_each(|value| self.staged_commands(value)),
            _ => Ok(()),
        }
    }

    /// `uv run tool`: a program in the environment of the project.
    fn python_runner(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        let is_tool = matches!(name, "uvx" | "pipx");
        let runs = arguments.first().is_some_and(|word| word.text == "run");
        let rest = match (is_tool, runs) {
            (_, true) => &arguments[1..],
            (true, false) => arguments,
            (false, false) => {
                self.all();
                return Ok(());
            }
        };
        if rest
            .first()
            .is_none_or(|word| !word.is_fixed() || word.text.starts_with('-'))
        {
            self.all();
            return Ok(());
        }
        for folder in self.above() {
            if !is_tool {
                let files = [
                    "pyproject.toml",
                    "uv.toml",
                    "uv.lock",
                    "poetry.lock",
                    "pdm.lock",
                    "setup.py",
                ];
                self.reach.files.extend(files.map(|name| folder.join(name)));
            }
            self.environments(&folder);
        }
        let name = &rest[0].text;
        if Path::new(name).extension().is_some_and(|end| end == "py") {
            return self.script_of(rest.first(), false, "py");
        }
        if is_known(name, &rest[1..]) {
            self.command(rest, false)
        } else {
            self.all();
            Ok(())
        }
    }

    /// Adds the virtual environments in the folder.
    pub(super) fn environments(&mut self, folder: &Path) {
        for environment in [".venv", "venv"].map(|name| folder.join(name)) {
            if environment.is_dir() {
                self.reach.folders.entry(environment).or_default();
            }
        }
    }

    fn make(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        let is_just = name == "just";
        let cwd = self.cwd.clone();
        let names: &[&str] = if is_just {
            &["justfile", "Justfile", ".justfile"]
        } else {
            &["GNUmakefile", "makefile", "Makefile"]
        };
        let (mut goals, mut file, mut folder) = (Vec::new(), None, cwd.clone());
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if !word.is_fixed() && !is_just || word.is_fixed() && text.contains('=') && !is_just {
                self.reach.all |= !text.contains('=')
                    || ["SHELL", "MAKE"].iter().any(|name| text.starts_with(name));
                continue;
            }
            let attached = text.len() > 2 && !text.starts_with("--");
            match text.get(..2) {
                Some("-C" | "-f") if attached || !text.starts_with("--") => {
                    let value = if attached {
                        text[2..].to_owned()
                    } else {
                        words
                            .next()
                            .map_or_else(String::new, |word| word.text.clone())
                    };
                    if text.starts_with("-C") {
                        folder = path::resolve(&cwd, &value);
                    } else {
                        file = Some(value);
                    }
                }
                Some("-j" | "-s" | "-k" | "-B" | "-i") => {}
                _ if [
                    "--silent",
                    "--quiet",
                    "--no-print-directory",
                    "--always-make",
                ]
                .contains(&text) => {}
                Some(start) if start.starts_with('-') => self.all(),
                _ => goals.push(text.to_owned()),
            }
        }
        let found = if let Some(file) = file {
            Some(path::resolve(&folder, &file))
        } else {
            {
                let folders: Vec<PathBuf> = if is_just {
                    self.above()
                } else {
                    vec![folder.clone()]
                };
                let mut files = folders
                    .iter()
                    .flat_map(|folder| names.iter().map(|name| folder.join(name)));
                files.find(|file| file.is_file())
            }
        };
        let Some(file) = found.filter(|file| file.starts_with(self.project)) else {
            self.all();
            return Ok(());
        };
        self.cwd = if is_just {
            file.parent().unwrap_or(self.project).to_owned()
        } else {
            real_path::resolve(&folder).real
        };
        let read = self.makefile(&file, &goals, is_just);
        self.cwd = cwd;
        read
    }

    /// Reads what the rules of these goals run.
    fn makefile(&mut self, file: &Path, goals: &[String], is_just: bool) -> Result<(), String> {
        let mut rules = Rules::default();
        self.rules(file, is_just, &mut rules)?;
        let mut waiting = match goals {
            [] => rules.first.clone().into_iter().collect(),
            goals => goals.to_vec(),
        };
        let patterns = rules
            .all
            .keys()
            .filter(|name| name.contains('%') || name.starts_with('.'));
        waiting.extend(patterns.cloned());
        while let Some(goal) = waiting.pop() {
            let Some((needs, commands)) = rules.all.get(&goal) else {
                // A goal without a rule of its own is a file.
                continue;
            };
            if !self.tasks.insert((file.to_owned(), goal)) {
                continue;
            }
            waiting.extend(needs.iter().cloned());
            for command in commands {
                self.line(command)?;
            }
        }
        Ok(())
    }

    /// Reads the rules of the file and of those that it includes.
    fn rules(&mut self, file: &Path, is_just: bool, rules: &mut Rules) -> Result<(), String> {
        self.reach.files.insert(file.to_owned());
        let text = regular_file::read_text(file, TEXT);
        let Some(text) = text.ok().filter(|_| rules.files < 32) else {
            self.all();
            return Ok(());
        };
        rules.files += 1;
        let computes = if is_just {
            ["#!", "set shell", "\nmod "]
        } else {
            ["$(eval", "$(call", "\ndefine "]
        };
        if computes.iter().any(|word| text.contains(word)) || text.contains(".ONESHELL") {
            self.all();
            self.named(&text);
        }
        for (at, word) in text.match_indices("$(shell ") {
            let (mut depth, command) = (1, &text[at + word.len()..]);
            let end = command.find(|char| {
                depth += match char {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                depth == 0
            });
            self.line(&rules.expanded(&command[..end.unwrap_or(command.len())], false))?;
        }
        let mut current: Vec<String> = Vec::new();
        for line in text.replace("\\\n", " ").lines() {
            if line.starts_with('\t') || is_just && line.starts_with(' ') {
                let command = line.trim().trim_start_matches(['@', '-', '+']);
                let command = rules.expanded(command, is_just);
                for name in &current {
                    let rule = rules.all.entry(name.clone()).or_default();
                    rule.1.push(command.clone());
                }
                continue;
            }
            let line = line.split('#').next().unwrap_or_default().trim();
            let mut includes = ["include ", "-include ", "sinclude ", "import "].iter();
            if let Some(names) = includes.find_map(|word| line.strip_prefix(word)) {
                self.included(&rules.expanded(names, is_just), is_just, rules)?;
            } else if let Some((name, value)) = variable(line) {
                let value = rules.expanded(value, is_just);
                self.reach.all |= name == "SHELL" && !is_shell(name_of(&value));
                rules.variables.insert(name.to_owned(), value);
            } else if let Some((names, needs)) = line.split_once(':') {
                current = rules.add(names, needs, is_just);
            }
        }
        Ok(())
    }

    fn included(&mut self, names: &str, is_just: bool, rules: &mut Rules) -> Result<(), String> {
        for name in names.split_whitespace() {
            let other = path::resolve(&self.cwd, name.trim_matches(['\'', '"']));
            if name.contains(['*', '$']) {
                self.all();
            } else if other.is_file() {
                self.rules(&other, is_just, rules)?;
            } else {
                self.reach.files.insert(other);
            }
        }
        Ok(())
    }
}

/// The variable that the line sets, and its value.
fn variable(line: &str) -> Option<(&str, &str)> {
    let at = line.find('=')?;
    if line.find(':').is_some_and(|colon| colon + 2 < at) {
        return None;
    }
    let name = line[..at].trim_end_matches([':', '?', '+', '!', ' ']);
    let name = name.strip_prefix("export ").unwrap_or(name);
    Some((name.trim(), line[at + 1..].trim().trim_matches(['"', '\''])))
}

/// The rules of a makefile, and what its variables are.
#[derive(Debug, Default)]
struct Rules {
    first: Option<String>,
    all: BTreeMap<String, (Vec<String>, Vec<String>)>,
    variables: BTreeMap<String, String>,
    files: usize,
}

impl Rules {
    /// Adds the first line of a rule. Returns its names.
    fn add(&mut self, names: &str, needs: &str, is_just: bool) -> Vec<String> {
        let (needs, command) = needs.split_once(';').unwrap_or((needs, ""));
        let (names, needs) = (self.expanded(names, is_just), self.expanded(needs, is_just));
        let names = names.split_whitespace();
        // A recipe of `just` can have parameters.
        let names = names.take(if is_just { 1 } else { usize::MAX });
        let names: Vec<String> = names
            .map(|name| name.trim_start_matches('@').to_owned())
            .collect();
        for name in &names {
            if !name.starts_with('.') {
                self.first.get_or_insert_with(|| name.clone());
            }
            let rule = self.all.entry(name.clone()).or_default();
            rule.0.extend(needs.split_whitespace().map(str::to_owned));
            rule.1
                .extend(Some(command.trim().to_owned()).filter(|command| !command.is_empty()));
        }
        names
    }

    /// The text with the values of variables; a shell knows no more of the others than we do.
    fn expanded(&self, text: &str, is_just: bool) -> String {
        let (mut found, mut rest) = (String::new(), text);
        let marks: &[(&str, &str)] = if is_just {
            &[("{{", "}}")]
        } else {
            &[("$(", ")"), ("${", "}")]
        };
        loop {
            let next = marks.iter().filter_map(|(start, end)| {
                let at = rest.find(start)?;
                let length = rest[at..].find(end)?;
                Some((at, start.len(), length, end.len()))
            });
            let Some((at, start, length, end)) = next.min() else {
                break;
            };
            found.push_str(&rest[..at]);
            let name = rest[at + start..at + length].trim();
            match self.variables.get(name) {
                Some(value) => found.push_str(value),
                None if name == "MAKE" => found.push_str("make"),
                None => found.push_str("$unknown"),
            }
            rest = &rest[at + length + end..];
        }
        found.push_str(rest);
        if is_just {
            return found;
        }
        let automatic = ["$@", "$<", "$^", "$*", "$?", "$+"];
        let found = automatic
            .iter()
            .fold(found, |text, name| text.replace(name, "file"));
        found.replace("$$", "$")
    }
}
