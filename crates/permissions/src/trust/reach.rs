//! What a program that osier starts by itself could load of the project.
//!
//! The rule is closed: what is not known to load nothing else could load every file of the project.
//!
//! 1. A program outside of the project that is known to treat files as data loads nothing. So does a build or a test: running the
//!    code of the project is its purpose.
//! 2. Installed packages (`node_modules`, a virtual environment) could load everything that is installed there.
//! 3. A script could load everything in its folder, if all that it runs and imports is known and lies there (`scripts.rs`).
//! 4. Another program outside of the project could load the folders of the files in its arguments.
//! 5. Everything else could load every file of the project: runners such as `make` and `npx`, other interpreters, commands that
//!    are computed, settings of a tool that are more than plain values.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::{path, real_path, regular_file};

use super::program_use::ProgramUse;
pub(super) use super::snapshot::Reach;
use crate::equivalents::{self, Equivalents};
use crate::known;
use crate::programs::{is_shell, is_wrapper, name_of, runs_arguments};
use crate::shell::{self, Part, Word, is_assignment};

/// The directory with the packages of Node.
const PACKAGES: &str = "node_modules";
/// Bytes of a text that is read.
pub(super) const TEXT: u64 = 1024 * 1024;
/// Depth of folders in which settings are looked for, and of scripts that run scripts.
const DEPTH: usize = 12;
/// The beginnings of the names of files that select the program which runs under a name.
#[rustfmt::skip]
const SELECTORS: [&str; 8] = [
    ".tool-versions", ".mise", "mise", "rust-toolchain", ".python-version", ".ruby-version", ".node-version", ".nvmrc",
];
/// Programs that treat files of a project as data, next to those that only read.
#[rustfmt::skip]
const DATA: &str = ". : [ [[ afplay base64 basename bat black break cat cd chmod clang-format column command continue cp curl cut \
    date declare diff dirname echo env exit export false fmt gofmt goimports grep egrep fgrep gsed head hostname id jq kill ln local \
    logger ls md5sum mkdir mktemp mv notify-send nohup osascript paplay popd printf ps pushd pwd read readonly realpath return rg rm \
    rmdir ruff rustfmt seq set sha1sum sha256sum shasum shellcheck shfmt shift sleep sort stat stylua tail tee terminal-notifier \
    test time timeout touch tr true typeset uname uniq unset uuidgen wait wc wget which whoami xargs yes yq";
/// Programs that build and test the project: its code is what they run. The words after the first one are the subcommands; without
/// any, every use is one.
#[rustfmt::skip]
const PURPOSE: [&str; 14] = [
    "pytest", "py.test", "cargo test build check clippy fmt nextest doc bench", "go test build vet fmt", "jest", "vitest",
    "mocha", "rspec", "phpunit", "ctest", "mvn test compile verify", "gradle test build check", "dotnet test build", "mix
    test compile format",
];
/// Programs that run commands, tasks or settings of the project whatever their arguments are.
#[rustfmt::skip]
const RUNNERS: &str = "npm npx pnpm pnpx yarn bun bunx deno make gmake bmake just task mise rake tox nox composer pre-commit lefthook lint-staged \
    turbo nx lerna uv uvx poetry pdm hatch pipenv pipx rye cargo go gradle gradlew mvn mvnw dotnet mix sbt bazel bazelisk buck2 pants scons \
    ninja cmake meson eslint eslint_d stylelint tsc tsx ts-node mypy pylint flake8 pylsp rubocop bundle bundler standardrb prettierd \
    markdownlint markdownlint-cli2 commitlint grunt gulp webpack rollup vite esbuild babel php-cs-fixer phpstan psalm phpcs run-parts \
    direnv trap ansible ansible-playbook vagrant terraform nix nix-shell devenv docker docker-compose podman entr watchexec parallel \
    iex erl ghci runghc runhaskell swift scala kotlin clojure clj nodemon pm2 ed ex vi vim nvim emacs gdb lldb";
/// Interpreters of other languages.
const INTERPRETERS: &str = "ruby perl php lua luajit Rscript julia elixir groovy java bb guile racket tclsh expect pwsh fish";
/// Commands of git that run hooks, and the files of the project that are such hooks.
#[rustfmt::skip]
const COMMITS: [&str; 12] = [
    "commit", "push", "merge", "rebase", "am", "pull", "cherry-pick", "checkout", "switch", "revert", "worktree",
    "submodule",
];
#[rustfmt::skip]
const GIT_HOOKS: [&str; 8] = [
    ".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".overcommit.yml",
    "hooks",
];
/// Tools whose settings are no code, and words of such settings that name code.
const LISTS: [&str; 4] = ["hie", "luarc", "rubocop", "rust-analyzer"];
#[rustfmt::skip]
const LOADS: [&str; 8] = [
    "bios", "plugin", "require", "ommand", "program", "inherit", "server", "\\",
];
/// The options of prettier that load no code.
#[rustfmt::skip]
const OPTIONS: [&str; 23] = [
    "$schema", "arrowParens", "bracketSameLine", "bracketSpacing", "checkIgnorePragma", "embeddedLanguageFormatting",
    "endOfLine", "experimentalOperatorPosition", "experimentalTernaries", "htmlWhitespaceSensitivity", "insertPragma",
    "jsxBracketSameLine", "jsxSingleQuote", "objectWrap", "printWidth", "proseWrap", "quoteProps", "requirePragma", "semi",
    "singleAttributePerLine", "singleQuote", "tabWidth", "trailingComma",
];

/// What the use could load.
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
        scripts: HashSet::new(),
    };
    for file in &run.files {
        search.program(file)?;
    }
    for tool in run.tools {
        search.settings(tool, !run.command.is_empty());
    }
    if !run.files.is_empty() {
        search.selectors();
    }
    if !run.command.is_empty() {
        search.line(&run.command)?;
    }
    // A server of the user that starts elsewhere, and is given nothing of the project.
    let is_here =
        search.cwd.starts_with(project) || run.command.contains(&*project.to_string_lossy());
    search.reach.all &= is_here;
    if search.reach.all {
        search.reach = Reach {
            all: true,
            ..Reach::default()
        };
    }
    Ok(search.reach)
}

pub(super) struct Search<'p> {
    pub(super) project: &'p Path,
    pub(super) cwd: PathBuf,
    pub(super) reach: Reach,
    pub(super) depth: usize,
    /// The scripts that were read.
    pub(super) scripts: HashSet<PathBuf>,
}

impl Search<'_> {
    pub(super) fn all(&mut self) {
        self.reach.all = true;
    }

    /// What the shell command runs.
    pub(super) fn line(&mut self, text: &str) -> Result<(), String> {
        let Some(line) = shell::read(text).filter(|_| self.depth < DEPTH) else {
            self.all();
            return Ok(());
        };
        self.depth += 1;
        for part in &line.parts {
            if let Part::Run(words) = part {
                let mut others = Equivalents {
                    feeds_input: line.feeds_input,
                    ..Equivalents::default()
                };
                if equivalents::add(words, 0, &mut others).is_none() {
                    self.all();
                }
                // A relative path can mean another file after `cd`.
                self.command(words, &others, line.changes_directory)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn command(&mut self, words: &[Word], others: &Equivalents, moves: bool) -> Result<(), String> {
        let is_set = |word: &&Word| word.assigns || is_assignment(&word.text);
        let set = words.iter().take_while(is_set).count();
        if words
            .iter()
            .any(|word| is_assignment(&word.text) && selects_code(&word.text))
        {
            self.all();
        }
        let Some((head, arguments)) = words[set..].split_first() else {
            return Ok(());
        };
        if !head.is_fixed() {
            self.all();
            return Ok(());
        }
        let name = name_of(&head.text);
        if matches!(name, "command" | "builtin" | "exec") {
            return self.command(arguments, others, moves);
        }
        // What a wrapper or a nested shell runs. Other spellings of the command are the same command.
        for other in &others.list {
            let first = other.words.iter().find(|word| !is_set(word));
            let Some(first) = first.filter(|first| name_of(&first.text) != name) else {
                continue;
            };
            let first = name_of(&first.text);
            if !other.is_guess {
                self.command(&other.words, &Equivalents::default(), moves)?;
            } else if !is_in(DATA, name) {
                self.reach.all |= is_in(RUNNERS, first) || is_interpreter(first);
            }
        }
        let is_wrapper = is_wrapper(name) || runs_arguments(name);
        let reads_only = known::find(words).is_some_and(|known| known.reads_only);
        self.reach.all |= others.runs_input && !reads_only && !is_interpreter(name);
        if self.is_of_project(&head.text, moves)? {
            return Ok(());
        }
        let is_data = reads_only || is_in(DATA, name) || is_wrapper;
        let nested = !others.list.is_empty();
        self.known(name, arguments, is_data, nested, moves)
    }

    /// What a program outside of the project loads. `nested`: the commands that it runs were read.
    fn known(
        &mut self,
        name: &str,
        arguments: &[Word],
        is_data: bool,
        nested: bool,
        moves: bool,
    ) -> Result<(), String> {
        if name == "." || name == "source" {
            self.script_of(arguments.first(), moves, "sh")?;
        } else if is_shell(name) || is_interpreter(name) {
            self.interpreter(name, arguments, nested, moves)?;
        } else if name == "git" {
            let runs = arguments
                .iter()
                .any(|word| COMMITS.contains(&word.text.as_str()) || !word.is_fixed());
            let has_hooks = || {
                GIT_HOOKS
                    .iter()
                    .any(|name| self.project.join(name).exists())
            };
            self.reach.all |= !is_data && runs && has_hooks();
        } else if name == "npm" || name == "pnpm" || name == "yarn" {
            self.manifest(name, arguments, moves)?;
        } else if matches!((name, arguments), ("npx" | "pnpx" | "bunx", [tool, ..]) if tool.text == "prettier")
            || name == "prettier"
        {
            self.prettier(arguments);
        } else if is_purpose(name, arguments) {
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
    fn is_of_project(&mut self, text: &str, moves: bool) -> Result<bool, String> {
        let found = if text.contains('/') {
            if moves && !text.starts_with(['/', '~']) {
                self.all();
                return Ok(true);
            }
            path::resolve(&self.cwd, text)
        } else {
            let variable = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::env::split_paths(&variable).map(|folder| folder.join(text));
            let mut found = folders.filter(|path| path.is_file());
            match found.next() {
                Some(found) => found,
                None => return Ok(false),
            }
        };
        if !found.starts_with(self.project)
            && !real_path::resolve(&found).real.starts_with(self.project)
        {
            return Ok(false);
        }
        self.program(&found)?;
        let name = name_of(text);
        match real_path::resolve(&found).real {
            _ if is_interpreter(name) || is_shell(name) => return Ok(false),
            real if !real.starts_with(self.project) => {}
            _ if is_in(DATA, name) || is_purpose(name, &[]) => {}
            _ if name == "prettier" => self.prettier(&[]),
            real if is_installed(&real, self.project) => self.all(),
            real => self.script(&real, "")?,
        }
        Ok(true)
    }

    /// Adds the program, the links that lead to it, and what is installed with it or lies next to it.
    fn program(&mut self, program: &Path) -> Result<(), String> {
        let found = real_path::resolve(program);
        let names = found.names.iter().map(PathBuf::as_path);
        for name in names
            .chain([program, &found.real])
            .filter(|name| name.starts_with(self.project))
        {
            let is_there = name.symlink_metadata().is_ok();
            if is_there && !name.is_file() && !name.is_dir() && !name.is_symlink() {
                // Nobody knows the content of a pipe before it runs.
                return Err(format!("`{}` is not a regular file", name.display()));
            }
            for link in name
                .ancestors()
                .take_while(|above| above.starts_with(self.project))
            {
                if link.is_symlink() || link == name && is_there {
                    self.reach.files.insert(link.to_owned(), None);
                }
            }
            if let Some(folder) = home(name, self.project) {
                self.reach.folders.entry(folder).or_default();
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
        } else if file.starts_with(self.project) || real.starts_with(self.project) {
            self.program(&file)?;
            self.script(&real, kind)?;
        }
        Ok(())
    }

    /// Folders and files of the project that an unknown program gets.
    fn arguments(&mut self, arguments: &[Word]) {
        for word in arguments {
            let text = word
                .text
                .split_once('=')
                .map_or(word.text.as_str(), |(_, value)| value);
            let file = real_path::resolve(&path::resolve(&self.cwd, text)).real;
            self.reach.all |= !word.is_fixed();
            if text.is_empty() || !file.starts_with(self.project) || !file.exists() {
                continue;
            }
            let folder = if file.is_dir() {
                Some(file.as_path())
            } else {
                file.parent()
            };
            if let Some(folder) =
                folder.filter(|folder| *folder != self.project && *folder != self.cwd)
            {
                self.reach.folders.insert(folder.to_owned(), true);
            } else if file.is_file() {
                self.reach.files.insert(file, None);
            }
        }
    }

    /// The scripts of `package.json` that run.
    fn manifest(&mut self, name: &str, arguments: &[Word], moves: bool) -> Result<(), String> {
        let mut words = arguments
            .iter()
            .map(|word| word.text.as_str())
            .filter(|word| !matches!(*word, "-s" | "--silent" | "run" | "run-script"));
        let script = words.next().filter(|script| !script.starts_with('-'));
        let rest = words.next().is_none_or(|word| word == "--");
        let file = self.cwd.join("package.json");
        let manifest = regular_file::read(&file, TEXT).ok();
        let manifest = manifest.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let is_run = arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "run" | "run-script" | "test" | "start"));
        let named = [
            script.map(|script| format!("pre{script}")),
            script.map(str::to_owned),
            script.map(|script| format!("post{script}")),
        ];
        let scripts = manifest.as_ref().map(|manifest| &manifest["scripts"]);
        let texts: Vec<&str> = named
            .iter()
            .flatten()
            .filter_map(|name| scripts?[name.as_str()].as_str())
            .collect();
        let has_settings = [
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            ".pnp.cjs",
        ]
        .iter()
        .any(|name| self.cwd.join(name).exists());
        if moves
            || !rest
            || !is_run
            || has_settings
            || name == "yarn" && self.cwd.join(".yarn").exists()
            || texts.is_empty()
            || !file.starts_with(self.project)
        {
            self.all();
            return Ok(());
        }
        let part = self
            .reach
            .files
            .entry(file)
            .or_insert_with(|| Some(String::new()));
        if let Some(part) = part {
            part.push_str(&texts.join("\n"));
        }
        for text in texts {
            self.line(text)?;
        }
        self.packages(false);
        Ok(())
    }

    /// Prettier as a command: it loads its packages and plain settings, unless an option names more.
    fn prettier(&mut self, arguments: &[Word]) {
        let has_option = |word: &Word| {
            ["--plugin", "--config", "--parser", "-c="]
                .iter()
                .any(|option| word.text.starts_with(option))
        };
        self.reach.all |= arguments.iter().any(has_option);
        self.selectors();
        self.settings("prettier", true);
        self.packages(false);
        let manifest = self.cwd.join(".npmrc");
        if manifest.exists() && manifest.starts_with(self.project) {
            self.reach.files.insert(manifest, None);
        }
    }

    /// The working directory and those above it in the project.
    fn above(&self) -> impl Iterator<Item = &Path> {
        self.cwd
            .ancestors()
            .take_while(|folder| folder.starts_with(self.project))
    }

    pub(super) fn packages(&mut self, follow: bool) {
        let folders: Vec<PathBuf> = self
            .above()
            .map(|folder| folder.join(PACKAGES))
            .filter(|folder| folder.is_dir())
            .collect();
        for folder in folders {
            *self.reach.folders.entry(folder).or_default() |= follow;
        }
    }

    pub(super) fn selectors(&mut self) {
        let mut found = Vec::new();
        for folder in self.above() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if SELECTORS.iter().any(|start| name.starts_with(start)) && entry.path().is_file() {
                    found.push((entry.path(), None));
                }
            }
        }
        self.reach.files.extend(found);
    }

    /// The settings of a tool, in the working directory and above it, and `below` it. All of the project, if they are more than values.
    fn settings(&mut self, tool: &str, below: bool) {
        let mut found: BTreeMap<PathBuf, bool> = BTreeMap::new();
        for folder in self.above() {
            settings_in(folder, tool, 0, &mut found);
        }
        if below {
            settings_in(&self.cwd, tool, DEPTH, &mut found);
        }
        let is_compiler = ["tsconfig", "jsconfig"].contains(&tool);
        for (file, is_plain) in found {
            if is_plain {
                continue;
            }
            self.reach.files.insert(file.clone(), None);
            // The compiler loads nothing but installed packages.
            let text = regular_file::read_text(&file, TEXT).unwrap_or_else(|_| "\\".to_owned());
            if is_compiler {
                self.packages(text.contains("plugin") || text.contains('\\'));
            } else {
                let is_list = LISTS.contains(&tool);
                self.reach.all |= !is_list || LOADS.iter().any(|word| text.contains(word));
            }
        }
    }
}

/// Whether the list contains the name.
fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

pub(super) fn is_interpreter(name: &str) -> bool {
    name == "node" || name.starts_with("python") || name == "pypy" || name == "pypy3"
}

fn is_purpose(name: &str, arguments: &[Word]) -> bool {
    let command = arguments
        .iter()
        .find(|word| !word.text.starts_with(['-', '+']));
    PURPOSE.iter().any(|row| {
        let mut row = row.split(' ');
        let is_program = row.next() == Some(name);
        let rest: Vec<&str> = row.collect();
        is_program
            && (rest.is_empty()
                || command.is_some_and(|command| rest.contains(&command.text.as_str())))
    })
}

/// Whether the variable chooses code that programs load. Its name is one of a trusted text.
fn selects_code(assignment: &str) -> bool {
    let name = assignment
        .split('=')
        .next()
        .unwrap_or_default()
        .trim_end_matches('+');
    let starts = [
        "LD_", "DYLD_", "PYTHON", "NODE_", "NPM_", "npm_", "PERL", "RUBY", "BASH_", "GIT_",
        "CARGO_", "RUST", "JAVA", "LUA_", "GEM_", "BUNDLE_",
    ];
    let ends = [
        "PATH", "OPTIONS", "OPTS", "PRELOAD", "EDITOR", "PAGER", "SHELL", "_HOME", "_WRAPPER",
    ];
    matches!(name, "ENV" | "IFS" | "HOME")
        || starts.iter().any(|start| name.starts_with(start))
        || ends.iter().any(|end| name.ends_with(end))
}

/// Whether the file is in a folder of installed packages.
fn is_installed(file: &Path, project: &Path) -> bool {
    let below = file.strip_prefix(project).unwrap_or(file);
    below.components().any(|part| part.as_os_str() == PACKAGES)
        || environment(file, project).is_some()
}

/// The virtual environment of Python that contains `file`.
fn environment(file: &Path, project: &Path) -> Option<PathBuf> {
    let mut above = file
        .ancestors()
        .take_while(|folder| folder.starts_with(project));
    above
        .find(|folder| folder.join("pyvenv.cfg").is_file())
        .map(Path::to_owned)
}

/// The folder whose files a program loads: all installed packages, the environment, or where it lies.
fn home(program: &Path, project: &Path) -> Option<PathBuf> {
    let below = program.strip_prefix(project).ok()?;
    let parts: Vec<_> = below.components().collect();
    if let Some(place) = parts.iter().position(|part| part.as_os_str() == PACKAGES) {
        return Some(project.join(parts[..=place].iter().collect::<PathBuf>()));
    }
    if let Some(folder) = environment(program, project) {
        return Some(folder);
    }
    let folder = if program.is_dir() {
        program
    } else {
        program.parent()?
    };
    (folder != project && !program.is_symlink()).then(|| folder.to_owned())
}

/// Adds the settings of `tool` in the folder and below it, and whether they are plain values.
fn settings_in(folder: &Path, tool: &str, depth: usize, found: &mut BTreeMap<PathBuf, bool>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let (file, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth > 0 && ![PACKAGES, ".git", ".venv", "venv", "target"].contains(&&*name) {
                settings_in(&file, tool, depth - 1, found);
            }
            continue;
        }
        let plain = name.strip_prefix('.').unwrap_or(&name);
        let rest = plain.strip_prefix(tool);
        let is_one = rest.is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with('.')
                || rest.starts_with("rc")
                || rest.starts_with('-')
        });
        let text = || regular_file::read(&file, TEXT).unwrap_or_else(|_| b"?".to_vec());
        match (tool, &*name) {
            ("prettier", "package.json") => {
                let plain =
                    serde_json::from_slice::<Value>(&text()).is_ok_and(
                        |all| match &all["prettier"] {
                            Value::Null => all.is_object(),
                            settings => is_plain(settings),
                        },
                    );
                found.insert(file, plain);
            }
            ("prettier", "package.yaml") => {
                found.insert(file, false);
            }
            ("prettier", ".prettierignore" | "prettierignore") => {}
            ("tsconfig" | "jsconfig", _) if is_one => {
                let text = String::from_utf8_lossy(&text()).into_owned();
                found.insert(
                    file,
                    !["plugin", "extends", "\\"]
                        .iter()
                        .any(|part| text.contains(part)),
                );
            }
            ("prettier", _) if is_one => {
                let text = text();
                let plain = text.iter().all(u8::is_ascii_whitespace)
                    || serde_json::from_slice(&text).is_ok_and(|all| is_plain(&all))
                    || is_plain_list(&text);
                found.insert(file, plain && !name.contains(".config."));
            }
            _ if is_one => {
                found.insert(file, false);
            }
            _ => {}
        }
    }
}

/// Whether the settings of prettier load no code: every name in them is known.
fn is_plain(settings: &Value) -> bool {
    let Some(settings) = settings.as_object() else {
        return false;
    };
    settings.iter().all(|(key, value)| match value.as_array() {
        Some(overrides) if key == "overrides" => overrides.iter().all(|entry| {
            let known = ["files", "excludeFiles", "options"];
            entry.as_object().is_some_and(|entry| {
                entry.keys().all(|key| known.contains(&key.as_str()))
                    && entry.get("options").is_none_or(is_plain)
            })
        }),
        _ => OPTIONS.contains(&key.as_str()),
    })
}

/// Whether each line of YAML or TOML is a known option with a word.
fn is_plain_list(text: &[u8]) -> bool {
    let is_value = |value: &str| {
        !value.is_empty()
            && value
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || "\"'-_".contains(char))
    };
    std::str::from_utf8(text).is_ok_and(|text| {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .all(|line| {
                line.split_once([':', '=']).is_some_and(|(key, value)| {
                    OPTIONS.contains(&key.trim()) && is_value(value.trim())
                })
            })
    })
}
