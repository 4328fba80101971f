//! Runners of Node, which run scripts in `package.json` and programs of packages: `npm`, `npx`, `turbo` and the like.

use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::{path, real_path, regular_file};

use crate::programs::name_of;
use crate::shell::Word;
use crate::trust::facts::places::{folders_below, is_program};
use crate::trust::facts::programs::{is_in, is_known, loads_all, settings_of};
use crate::trust::reach::{PACKAGES, Search, TEXT};

/// Settings of the runners of Node.
#[rustfmt::skip]
const OBEYED: [&str; 8] = [
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.mjs", "bunfig.toml", ".bunfig.toml", "pnpm-workspace.yaml",
];
/// Code of these runners, which is too large to be read.
const LOADED: [&str; 5] = [
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".yarn/releases",
    ".yarn/plugins",
    ".yarn/sdks",
];
/// Ends of the names of files that a downloaded program could run.
const SCRIPTS: &str = "js mjs cjs ts mts cts py sh";
/// The depth of folders in which `turbo` finds packages.
const TURBO_DEPTH: usize = 4;
/// Options that do not change which code runs.
pub(in crate::trust) const QUIET: [&str; 9] = [
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
    pub(in crate::trust) fn npm(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        let Some(command) = arguments.first().filter(|word| word.is_fixed()) else {
            if name == "yarn" && arguments.is_empty() {
                return self.install_packages();
            }
            self.all();
            return Ok(());
        };
        let rest = &arguments[1..];
        let elsewhere = [
            "-w",
            "-ws",
            "--ws",
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
            let is_unknown =
                name == "npm" && option.starts_with('-') && !QUIET.contains(&&*word.text);
            elsewhere.contains(&option) || option.starts_with("--workspace") || is_unknown
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
            "ci" | "install" | "i" if !rest.iter().any(adds_package) => self.install_packages()?,
            "t" | "tst" => self.script_named("test")?,
            script @ ("test" | "start" | "stop" | "restart") => self.script_named(script)?,
            "exec" | "dlx" | "x" => self.package_program(rest)?,
            "--version" | "-v" | "root" | "prefix" | "view" | "outdated" | "audit" => {}
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

    /// The nearest `package.json` and its content.
    pub(in crate::trust) fn manifest(&self) -> Option<(PathBuf, Value)> {
        let above = self.above().into_iter();
        let mut files = above.map(|folder| folder.join("package.json"));
        let file = files.find(|file| file.is_file())?;
        let text = regular_file::read(&file, TEXT).ok()?;
        let manifest = serde_json::from_slice(&text).ok()?;
        Some((file, manifest))
    }

    /// Adds the scripts with this name in `package.json`, and those that run before and after them.
    pub(in crate::trust) fn script_named(&mut self, name: &str) -> Result<(), String> {
        let Some((file, manifest)) = self.manifest() else {
            self.all();
            return Ok(());
        };
        let folder = file.parent().unwrap_or(self.project).to_owned();
        self.obeyed()?;
        self.reach.files.insert(file);
        self.packages(&folder);
        let scripts = manifest["scripts"].as_object().cloned().unwrap_or_default();
        let start = name.split_once('*').map(|(start, _)| start);
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

    /// Adds the settings of the runners themselves, in the working directory and above it: they can name code.
    pub(in crate::trust) fn obeyed(&mut self) -> Result<(), String> {
        for folder in self.above() {
            for file in OBEYED.map(|name| folder.join(name)) {
                if file.is_file() {
                    self.setting_file(&file)?;
                }
            }
            for path in LOADED.map(|name| folder.join(name)) {
                self.reach.folders.entry(path).or_default();
            }
        }
        Ok(())
    }

    /// The program with this name in the nearest `node_modules`.
    pub(in crate::trust) fn installed(&self, name: &str) -> Option<PathBuf> {
        let above = self.above().into_iter();
        let mut programs = above.map(|folder| folder.join(PACKAGES).join(".bin").join(name));
        programs.find(|program| program.symlink_metadata().is_ok() && !program.is_dir())
    }

    /// Adds the program of `npx tool`: an installed one, or else a downloaded one.
    pub(in crate::trust) fn package_program(&mut self, arguments: &[Word]) -> Result<(), String> {
        let skips = |word: &&Word| word.text == "--" || QUIET.contains(&word.text.as_str());
        let skipped = arguments.iter().take_while(skips).count();
        let Some((head, rest)) = arguments[skipped..].split_first() else {
            return Ok(());
        };
        if !head.is_fixed() || head.text.starts_with('-') {
            self.all();
            return Ok(());
        }
        self.obeyed()?;
        let name = head
            .text
            .rsplit_once('@')
            .map_or(head.text.as_str(), |(name, _)| name);
        let name = if name.is_empty() { &head.text } else { name };
        // The last part names the tool: `@biomejs/biome`.
        let last = name
            .rsplit('/')
            .next()
            .filter(|last| settings_of(last).is_some());
        let name = last.unwrap_or(name);
        self.own_program(name);
        let words = [&[Word::literal(name)], rest].concat();
        self.packaged(&words)
    }

    /// All code counts, if a `package.json` above declares the program: `npx` prefers it.
    pub(in crate::trust) fn own_program(&mut self, name: &str) {
        for folder in self.above() {
            let file = folder.join("package.json");
            let Ok(text) = regular_file::read(&file, TEXT) else {
                continue;
            };
            let is_named = serde_json::from_slice::<Value>(&text).map_or(true, |manifest| {
                manifest["bin"].is_string()
                    || !manifest["bin"][name].is_null()
                    || !manifest["directories"]["bin"].is_null()
            });
            if is_named {
                self.reach.files.insert(file);
                self.all();
            }
        }
    }

    /// Adds a program of the packages, with its arguments. All code counts, unless osier knows what the program loads.
    pub(in crate::trust) fn packaged(&mut self, words: &[Word]) -> Result<(), String> {
        let (name, rest) = (words[0].text.as_str(), &words[1..]);
        self.packages(&self.cwd.clone());
        if let Some(program) = self.installed(name) {
            self.program(&program)?;
            let real = real_path::resolve(&program).real;
            let own = real.starts_with(self.project)
                && real.components().all(|part| part.as_os_str() != PACKAGES);
            if own {
                self.script(&real, "")?;
            }
        }
        if is_known(name, rest) {
            return self.run(words, false);
        }
        // A package that is not installed is downloaded, so that it is a program outside of the project.
        if self.has_package(name) {
            self.all();
            self.arguments(rest);
            return Ok(());
        }
        self.downloaded(words)
    }

    /// Adds what a downloaded program runs: all code if it is a known runner, or else the files, scripts and commands in its arguments.
    pub(in crate::trust) fn downloaded(&mut self, words: &[Word]) -> Result<(), String> {
        let (name, rest) = (words[0].text.as_str(), &words[1..]);
        if loads_all(name) {
            self.all();
            self.arguments(rest);
            return Ok(());
        }
        self.given_files(rest);
        self.depth += 1;
        self.others(name_of(name), words, false, false)?;
        self.depth -= 1;
        for word in rest.iter().filter(|word| word.is_fixed()) {
            let file = path::resolve(&self.cwd, &word.text);
            if file.starts_with(self.project) && file.is_file() {
                self.given_file(&file)?;
                if is_program(&file) || is_in(SCRIPTS, end_of(&file)) {
                    self.script(&file, "")?;
                }
            } else if let Some((first, _)) = word.text.split_once(' ')
                && (is_known(first, &[]) || self.own_script(first).is_some())
            {
                self.line(&word.text)?;
            }
        }
        Ok(())
    }

    /// Adds the files of the project in the arguments of a downloaded program. A folder does not count: it is the program's data.
    pub(in crate::trust) fn given_files(&mut self, arguments: &[Word]) {
        let files = arguments
            .iter()
            .map(|word| path::resolve(&self.cwd, &word.text));
        let files = files.filter(|file| file.starts_with(self.project) && file.is_file());
        self.reach.files.extend(files.collect::<Vec<_>>());
    }

    /// Whether `node_modules` contains a package or a program with this name.
    pub(in crate::trust) fn has_package(&self, name: &str) -> bool {
        let mut above = self.above().into_iter().map(|folder| folder.join(PACKAGES));
        self.installed(name).is_some()
            || above.any(|folder| folder.join(name).symlink_metadata().is_ok())
    }

    /// Adds the scripts with these names in all packages of the project.
    pub(in crate::trust) fn turbo(&mut self, words: &[Word]) -> Result<(), String> {
        let names: Vec<&str> = words
            .iter()
            .map(|word| word.text.as_str())
            .take_while(|name| *name != "--")
            .filter(|name| !name.starts_with('-'))
            .collect();
        if names.is_empty() || words.iter().any(|word| !word.is_fixed()) {
            self.all();
            return Ok(());
        }
        let start = self.cwd.clone();
        let names = names.iter().map(|name| task_of(name).to_owned());
        let names = self.turbo_tasks(names.collect());
        let mut waiting = vec![(start.clone(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            if folder.join("package.json").is_file() {
                self.cwd.clone_from(&folder);
                for name in names
                    .iter()
                    .filter(|name| self.has_script(name))
                    .cloned()
                    .collect::<Vec<_>>()
                {
                    self.script_named(&name)?;
                }
            }
            self.reach.files.insert(folder.join("turbo.json"));
            self.reach.files.insert(folder.join("turbo.jsonc"));
            waiting.extend(folders_below(&folder, depth, TURBO_DEPTH));
        }
        self.cwd = start;
        Ok(())
    }

    /// The tasks, and the tasks that run before them by the settings above and in the packages.
    pub(in crate::trust) fn turbo_tasks(&mut self, mut names: Vec<String>) -> Vec<String> {
        let mut folders = self.above();
        let mut waiting: Vec<_> = folders_below(&self.cwd, 0, TURBO_DEPTH).collect();
        while let Some((folder, depth)) = waiting.pop() {
            waiting.extend(folders_below(&folder, depth, TURBO_DEPTH));
            folders.push(folder);
        }
        let mut all = Vec::new();
        for folder in folders {
            // osier does not read this file, because it can have comments.
            self.reach.all |= folder.join("turbo.jsonc").is_file();
            let Ok(text) = regular_file::read(&folder.join("turbo.json"), TEXT) else {
                continue;
            };
            match serde_json::from_slice::<Value>(&text) {
                Ok(settings) => all.push(settings),
                Err(_) => self.all(),
            }
        }
        let tasks = |settings: &Value| {
            let both = ["tasks", "pipeline"].map(|key| settings[key].as_object().cloned());
            both.into_iter().flatten().flatten().collect::<Vec<_>>()
        };
        let all: Vec<_> = all.iter().flat_map(tasks).collect();
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            // A task can be that of one package: `web#lint`.
            let own = all.iter().filter(|(key, _)| task_of(key) == task_of(&name));
            let needs = own.filter_map(|(_, task)| task["dependsOn"].as_array());
            for need in needs.flatten().filter_map(Value::as_str) {
                let need = task_of(need.trim_start_matches('^')).to_owned();
                if !names.contains(&need) {
                    names.push(need);
                }
            }
        }
        names
    }

    pub(in crate::trust) fn has_script(&self, name: &str) -> bool {
        self.manifest()
            .is_some_and(|(_, all)| !all["scripts"][name].is_null())
    }
}

fn end_of(file: &Path) -> &str {
    let end = file.extension().and_then(|end| end.to_str());
    end.unwrap_or_default()
}

/// The name of a task without that of its package.
fn task_of(name: &str) -> &str {
    name.rsplit('#').next().unwrap_or(name)
}

/// Whether the argument of an installation can name another package or folder.
fn adds_package(word: &Word) -> bool {
    let folders = ["--prefix", "--cwd", "--dir", "-C"];
    !word.is_fixed()
        || !word.text.starts_with('-')
        || folders.iter().any(|start| word.text.starts_with(start))
}
