//! Task runners, which run commands from a file of the project: `npm`, `bundle` and the like.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::{path, real_path, regular_file};

use super::known_programs::{
    BUNDLES, MAKE, NPM, NPX, SEQUENCES, is_in, is_known, is_purpose, is_quiet, is_task_runner,
    settings_of,
};
use super::node;
use super::reach::{FOLDERS, PACKAGES, Search, TEXT};
use super::shell_text::unquoted;
use crate::shell::Word;

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
/// Words in a `Gemfile` that load other files of the project.
const GEMS: [&str; 8] = [
    "gemspec",
    "path:",
    "path ",
    "eval",
    "require_relative",
    "require '",
    "require \"",
    "load ",
];
/// The depth of folders in which `turbo` finds packages.
const TURBO_DEPTH: usize = 4;
/// Hooks of `pre-commit` that only read or rewrite files.
const CHECKS: &str = "trailing-whitespace end-of-file-fixer mixed-line-ending detect-private-key fix-byte-order-marker forbid-new-submodules \
    no-commit-to-branch pretty-format-json sort-simple-yaml file-contents-sorter requirements-txt-fixer name-tests-test codespell \
    debug-statements destroyed-symlinks double-quote-string-fixer fix-encoding-pragma ruff-format ruff-check pyupgrade gitleaks";
/// Files that say how packages of Python are built, and where their programs are.
#[rustfmt::skip]
const BUILT: [&str; 17] = [
    "pyproject.toml", "setup.py", "setup.cfg", "uv.toml", "uv.lock", "hatch.toml", "hatch_build.py", "poetry.toml", "poetry.lock", "pdm.toml",
    ".pdm.toml", "pdm.lock", "pdm_build.py", ".pdm-python", ".pdm-plugins", "__pypackages__", ".python-version",
];
/// Words in these files with which a build runs other code of the project (`BUILDS`), and with which it is repeated (`REBUILDS`).
const BUILDS: [&str; 8] = [
    "backend-path",
    "attr",
    ".hooks",
    "hooks.",
    "setup_script",
    "tool.poetry.build",
    "build-script",
    "cmdclass",
];
const REBUILDS: [&str; 4] = ["cache-keys", "reinstall", "no-cache", "refresh"];
/// Options of `uv run` that choose no other code.
#[rustfmt::skip]
const UV_FLAGS: [&str; 14] = [
    "-s", "--script", "-q", "--quiet", "--no-sync", "--frozen", "--locked", "--offline", "--no-project", "--isolated", "--exact", "--dev",
    "--no-dev", "--all-extras",
];
/// Options that do not change which code runs.
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

/// The folders in a folder at this depth that can contain packages of the project, with their depths.
pub(super) fn folders_below(
    folder: &Path,
    depth: usize,
    limit: usize,
) -> impl Iterator<Item = (PathBuf, usize)> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(move |path| {
        let is_skipped = [PACKAGES, ".git", "target"]
            .iter()
            .any(|name| path.ends_with(name));
        depth < limit && !is_skipped && path.is_dir() && !path.is_symlink()
    });
    let paths = paths.filter(|path| !path.join("pyvenv.cfg").is_file());
    paths.map(move |path| (path, depth + 1))
}

impl Search<'_> {
    /// Adds the code that a task runner runs. Returns whether the program is one.
    pub(super) fn runner(
        &mut self,
        name: &str,
        arguments: &[Word],
        moves: bool,
    ) -> Result<bool, String> {
        if !is_task_runner(name) {
            return Ok(false);
        }
        if is_quiet(name, arguments) || is_purpose(name, arguments) {
            return Ok(true);
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
            _ if is_in(BUNDLES, name) => self.bundle(name, arguments)?,
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
    fn manifest(&self) -> Option<(PathBuf, Value)> {
        let above = self.above().into_iter();
        let mut files = above.map(|folder| folder.join("package.json"));
        let file = files.find(|file| file.is_file())?;
        let text = regular_file::read(&file, TEXT).ok()?;
        let manifest = serde_json::from_slice(&text).ok()?;
        Some((file, manifest))
    }

    /// Adds the scripts with this name in `package.json`, and those that run before and after them.
    fn script_named(&mut self, name: &str) -> Result<(), String> {
        let Some((file, manifest)) = self.manifest() else {
            self.all();
            return Ok(());
        };
        let folder = file.parent().unwrap_or(self.project).to_owned();
        self.obeyed()?;
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

    /// Adds the settings of the runners themselves, in the working directory and above it: they can name code.
    fn obeyed(&mut self) -> Result<(), String> {
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
    pub(super) fn installed(&self, name: &str) -> Option<PathBuf> {
        let above = self.above().into_iter();
        let mut programs = above.map(|folder| folder.join(PACKAGES).join(".bin").join(name));
        programs.find(|program| program.symlink_metadata().is_ok() && !program.is_dir())
    }

    /// Adds the program of `npx tool`: an installed one, or else a downloaded one.
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
    fn own_program(&mut self, name: &str) {
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
    pub(super) fn packaged(&mut self, words: &[Word]) -> Result<(), String> {
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
        } else {
            self.given_files(rest);
        }
        Ok(())
    }

    /// Adds the files of the project in the arguments of a downloaded program. A folder does not count: it is the program's data.
    fn given_files(&mut self, arguments: &[Word]) {
        let files = arguments
            .iter()
            .map(|word| path::resolve(&self.cwd, &word.text));
        let files = files.filter(|file| file.starts_with(self.project) && file.is_file());
        self.reach.files.extend(files.collect::<Vec<_>>());
    }

    /// Whether `node_modules` contains a package or a program with this name.
    fn has_package(&self, name: &str) -> bool {
        let mut above = self.above().into_iter().map(|folder| folder.join(PACKAGES));
        self.installed(name).is_some()
            || above.any(|folder| folder.join(name).symlink_metadata().is_ok())
    }

    /// Adds the commands in the settings of `lint-staged`.
    fn staged(&mut self) -> Result<(), String> {
        self.settings("lint-staged")?;
        self.staged_texts()?;
        let mut waiting = vec![(self.cwd.clone(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            let is_staged = |entry: &DirEntry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let name = name.trim_start_matches('.');
                name.starts_with("lintstagedrc") || name.starts_with("lint-staged.config")
            };
            let entries = folder.read_dir().into_iter().flatten().flatten();
            self.reach.all |= depth > 0 && entries.into_iter().any(|entry| is_staged(&entry));
            waiting.extend(folders_below(&folder, depth, FOLDERS));
        }
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

    /// Adds the commands in settings of `lint-staged` that are JavaScript.
    fn staged_texts(&mut self) -> Result<(), String> {
        for folder in self.above() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let (file, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                let name = name.trim_start_matches('.');
                let is_one =
                    name.starts_with("lint-staged.config.") || name.starts_with("lintstagedrc.");
                let end = file.extension().and_then(|end| end.to_str());
                let end = end.unwrap_or_default();
                if !is_one || end == "json" {
                    continue;
                }
                let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
                if is_in("yml yaml", end) {
                    // Settings in YAML have commands without quotes.
                    for line in text.lines() {
                        let value = line.split_once(": ").map_or(line, |(_, value)| value);
                        let value = value
                            .trim()
                            .trim_start_matches("- ")
                            .trim_matches(['"', '\'']);
                        self.line(value.trim_end_matches(':'))?;
                    }
                    continue;
                }
                let texts = node::texts(&text);
                for (command, is_key) in &texts.all {
                    if !is_key && command.len() > 1 {
                        self.line(command)?;
                    }
                }
                self.reach.all |= text.contains("+ ") || text.contains(" +");
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

    /// Adds the code of `bundle exec`, `turbo run` and `pre-commit run`.
    fn bundle(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        match (name, arguments.first().map(|word| word.text.as_str())) {
            ("pre-commit", Some("run")) => {
                // The command line names other settings.
                let is_other =
                    |word: &Word| word.text.starts_with("-c") || word.text.starts_with("--config");
                self.reach.all |= arguments.iter().any(is_other);
                self.pre_commit()
            }
            ("turbo", Some("run")) => self.turbo(&arguments[1..]),
            ("bundle" | "bundler", Some("exec")) => self.gems(&arguments[1..]),
            _ => {
                self.all();
                Ok(())
            }
        }
    }

    /// Adds a program of the project's gems.
    fn gems(&mut self, words: &[Word]) -> Result<(), String> {
        for folder in self.above() {
            for name in ["Gemfile", "gems.rb"].map(|name| folder.join(name)) {
                let text = regular_file::read_text(&name, TEXT).unwrap_or_default();
                // The `Gemfile` loads other files of the project.
                self.reach.all |= GEMS.iter().any(|word| text.contains(word));
                self.reach.files.insert(name);
            }
            let names = ["Gemfile.lock", "gems.locked", ".bundle/config"];
            self.reach.files.extend(names.map(|name| folder.join(name)));
            self.reach
                .folders
                .entry(folder.join("vendor/bundle"))
                .or_default();
        }
        match words.first().filter(|word| word.is_fixed()) {
            Some(head) if !head.text.contains('/') && is_known(&head.text, &words[1..]) => {
                self.run(words, false)
            }
            _ => {
                self.all();
                Ok(())
            }
        }
    }

    /// Adds the scripts with these names in all packages of the project.
    fn turbo(&mut self, words: &[Word]) -> Result<(), String> {
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
        let names = self.turbo_tasks(names.iter().map(ToString::to_string).collect());
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

    /// The tasks, and the tasks that run before them.
    fn turbo_tasks(&mut self, mut names: Vec<String>) -> Vec<String> {
        for folder in self.above() {
            // osier does not read this file, because it can have comments.
            self.reach.all |= folder.join("turbo.jsonc").is_file();
            let Ok(text) = regular_file::read(&folder.join("turbo.json"), TEXT) else {
                continue;
            };
            let Ok(settings) = serde_json::from_slice::<Value>(&text) else {
                self.all();
                continue;
            };
            let mut at = 0;
            while let Some(name) = names.get(at).cloned() {
                at += 1;
                for tasks in ["tasks", "pipeline"] {
                    let needs = settings[tasks][&name]["dependsOn"].as_array();
                    for need in needs.into_iter().flatten().filter_map(Value::as_str) {
                        let need = need.trim_start_matches('^');
                        let need = need.rsplit('#').next().unwrap_or(need).to_owned();
                        if !names.contains(&need) {
                            names.push(need);
                        }
                    }
                }
            }
        }
        names
    }

    fn has_script(&self, name: &str) -> bool {
        self.manifest()
            .is_some_and(|(_, all)| !all["scripts"][name].is_null())
    }

    /// Adds the hooks in the settings of `pre-commit`, by their names and commands.
    pub(super) fn pre_commit(&mut self) -> Result<(), String> {
        let file = self.project.join(".pre-commit-config.yaml");
        let text = regular_file::read_text(&file, TEXT).unwrap_or_default();
        self.reach.files.insert(file);
        let cwd = std::mem::replace(&mut self.cwd, self.project.to_owned());
        self.reach.all |= text.is_empty();
        let mut is_local = false;
        for line in text
            .lines()
            .map(|line| line.trim().trim_start_matches("- "))
        {
            let Some((key, value)) = line.split_once(": ") else {
                // A value on the next lines is not read, and a package can be a path in the project.
                let line = line.trim_end().trim_matches(['"', '\'']);
                self.reach.all |= ["entry:", "args:"].contains(&line) || line.starts_with("./");
                continue;
            };
            let value = value.split(" #").next().unwrap_or_default();
            let value = unquoted(value.trim());
            // The value is not a plain text, or the repository is a folder of the project.
            let is_named = ["repo", "entry", "id", "language"].contains(&key.trim());
            self.reach.all |= line.starts_with('{')
                || is_named && value.starts_with(['{', '&', '*', '|', '>'])
                || key.trim() == "repo" && value.starts_with(['.', '/']);
            match key.trim() {
                "repo" => is_local = value == "local",
                "entry" => self.line(value)?,
                // The `entry` of a local hook says what it runs.
                "id" if is_local => {}
                "id" => {
                    let is_check = value.starts_with("check-") || is_in(CHECKS, value);
                    let tool = value.strip_prefix("mirrors-").unwrap_or(value);
                    if settings_of(tool).is_some() {
                        self.tool(tool, &[], false)?;
                    } else {
                        self.reach.all |= !is_check && !is_known(tool, &[]);
                    }
                }
                "language" => {
                    let runs = ["docker_image", "docker", "lua", "r"];
                    self.reach.all |= runs.contains(&value);
                }
                "args" | "additional_dependencies" => self.settings_text(value)?,
                _ => {}
            }
        }
        self.cwd = cwd;
        Ok(())
    }

    /// Adds the program of `uv run tool`. It runs in the environment of the project, which uv builds first if its sources have changed.
    fn python_runner(&mut self, name: &str, arguments: &[Word]) -> Result<(), String> {
        let is_tool = matches!(name, "uvx" | "pipx");
        let runs = arguments.first().is_some_and(|word| word.text == "run");
        if !is_tool && !runs {
            self.all();
            return Ok(());
        }
        let rest = &arguments[usize::from(runs)..];
        let is_flag = |word: &&Word| UV_FLAGS.contains(&word.text.as_str());
        let flags = rest.iter().take_while(is_flag).count();
        let (flags, rest) = rest.split_at(flags);
        let is_script = flags
            .iter()
            .any(|word| ["-s", "--script"].contains(&&*word.text));
        let Some(head) = rest
            .first()
            .filter(|word| word.is_fixed() && !word.text.starts_with('-'))
        else {
            self.all();
            return Ok(());
        };
        let above = self.above();
        for folder in &above {
            self.environments(folder);
        }
        if !is_tool {
            self.reach.names.extend(BUILT.map(str::to_owned));
            self.reach.files.extend(
                above
                    .iter()
                    .flat_map(|folder| BUILT.map(|name| folder.join(name))),
            );
            self.reach.all |= !is_script && self.builds_code(&above);
        }
        let text = head.text.clone();
        if is_script || Path::new(&text).extension().is_some_and(|end| end == "py") {
            let file = path::resolve(&self.cwd, &text);
            let script = regular_file::read_text(&file, TEXT).unwrap_or_default();
            // The script chooses its own packages.
            self.reach.all |= script.contains("# [tool.uv");
            return self.script_of(Some(head), false, "py");
        }
        let mut rest = rest.to_vec();
        // The name of a tool can end with a version: `ruff@0.6`.
        if is_tool && let Some((name, _)) = text.split_once('@') {
            rest[0] = Word::literal(name);
        }
        if is_known(&rest[0].text, &rest[1..]) {
            return self.command(&rest, false);
        }
        if is_tool {
            // The tool is downloaded, and the settings can name another index.
            let settings = above
                .iter()
                .flat_map(|folder| BUILT.map(|name| folder.join(name)));
            self.reach.files.extend(settings);
            self.given_files(&rest[1..]);
        } else {
            self.all();
        }
        Ok(())
    }

    /// Whether the build of a package can run other code of the project although its own files have not changed: because it was not built
    /// yet, or because the settings ask for a new build.
    fn builds_code(&self, above: &[PathBuf]) -> bool {
        let is_built = above
            .iter()
            .any(|folder| folder.join(".venv/pyvenv.cfg").is_file());
        let mut waiting = vec![(self.project.to_owned(), 0)];
        let mut texts = Vec::new();
        while let Some((folder, depth)) = waiting.pop() {
            let names = ["pyproject.toml", "setup.cfg", "uv.toml"];
            let files = names.iter().map(|name| folder.join(name));
            texts.extend(files.filter_map(|file| regular_file::read_text(&file, TEXT).ok()));
            if !is_built && folder.join("setup.py").is_file() {
                return true;
            }
            waiting.extend(folders_below(&folder, depth, FOLDERS));
        }
        let has = |words: &[&str]| {
            texts
                .iter()
                .any(|text| words.iter().any(|word| text.contains(word)))
        };
        has(&REBUILDS) || !is_built && has(&BUILDS)
    }

    /// Adds the virtual environments in the folder.
    pub(super) fn environments(&mut self, folder: &Path) {
        for environment in [".venv", "venv"].map(|name| folder.join(name)) {
            if environment.is_dir() {
                self.linked_folders(&environment);
                self.reach.folders.entry(environment).or_default();
            }
        }
    }
}
