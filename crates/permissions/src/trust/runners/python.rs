//! Runners of Python: programs in the environment of the project, and installations.

use std::path::{Path, PathBuf};

use osier_base::{path, real_path, regular_file};

use crate::shell::{self, Word};
use crate::trust::facts::places::folders_below;
use crate::trust::facts::programs::{has_row, is_known};
use crate::trust::reach::{FOLDERS, Search, TEXT};

/// Files that say how packages of Python are built, and where their programs are.
#[rustfmt::skip]
pub(in crate::trust) const BUILT: [&str; 17] = [
    "pyproject.toml", "setup.py", "setup.cfg", "uv.toml", "uv.lock", "hatch.toml", "hatch_build.py", "poetry.toml", "poetry.lock", "pdm.toml",
    ".pdm.toml", "pdm.lock", "pdm_build.py", ".pdm-python", ".pdm-plugins", "__pypackages__", ".python-version",
];
/// Words in these files with which a build runs other code of the project (`BUILDS`), and with which it is repeated (`REBUILDS`).
pub(in crate::trust) const BUILDS: [&str; 8] = [
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
const UV_FLAGS: [&str; 19] = [
    "-s", "--script", "-q", "--quiet", "--no-sync", "--frozen", "--locked", "--offline", "--no-project", "--isolated", "--exact", "--dev",
    "--no-dev", "--all-extras", "--all-groups", "--no-root", "--no-interaction", "-n", "--check",
];

/// Commands that install the packages of a project.
const INSTALLING: [&str; 3] = ["uv sync lock", "poetry install", "pdm install sync"];
/// Options of `uv run` whose value is the name or the version of a package, or of a group of packages.
const UV_VALUES: [&str; 6] = [
    "--with",
    "--python",
    "-p",
    "--extra",
    "--group",
    "--only-group",
];

impl Search<'_> {
    /// Adds the program of `uv run tool`. It runs in the environment of the project, which uv builds first if its sources have changed.
    pub(in crate::trust) fn python_runner(
        &mut self,
        name: &str,
        arguments: &[Word],
    ) -> Result<(), String> {
        // The program starts in another directory.
        if let Some((folder, rest)) = directory(arguments) {
            let folder = real_path::resolve(&path::resolve(&self.cwd, folder)).real;
            let cwd = std::mem::replace(&mut self.cwd, folder);
            let done = self.python_runner(name, &rest);
            self.cwd = cwd;
            return done;
        }
        if name == "uv" && arguments.first().is_some_and(|word| word.text == "pip") {
            self.pip(&arguments[1..]);
            return Ok(());
        }
        let is_tool = matches!(name, "uvx" | "pipx");
        let runs = arguments.first().is_some_and(|word| word.text == "run");
        if !is_tool && !runs {
            self.install_python(name, arguments);
            return Ok(());
        }
        let rest = &arguments[usize::from(runs)..];
        let (flags, rest) = rest.split_at(flags_of_uv(rest));
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
            self.build_of_python(!is_script);
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
            return self.downloaded(&rest);
        }
        self.all();
        Ok(())
    }

    /// Adds what an installation into the environment of the project runs; all code for other commands and options.
    fn install_python(&mut self, name: &str, arguments: &[Word]) {
        let (command, rest) = match arguments.split_first() {
            Some((first, rest)) => (first.text.as_str(), rest),
            None => ("", arguments),
        };
        let flags = flags_of_uv(rest);
        if !has_row(&INSTALLING, name, arguments) || command.starts_with('-') || flags < rest.len()
        {
            self.all();
            return;
        }
        for folder in self.above() {
            self.environments(&folder);
        }
        self.selectors();
        self.build_of_python(true);
    }

    /// Adds the files that say how the packages of the project are built; all code if such a build `runs` and can run other code.
    fn build_of_python(&mut self, runs: bool) {
        let above = self.above();
        self.reach.names.extend(BUILT.map(str::to_owned));
        let files = above.iter();
        let files = files.flat_map(|folder| BUILT.map(|name| folder.join(name)));
        self.reach.files.extend(files);
        self.reach.all |= runs && self.builds_code(&above);
    }

    /// Whether the build of a package can run other code of the project although its own files have not changed: because it was not built
    /// yet, or because the settings ask for a new build.
    pub(in crate::trust) fn builds_code(&self, above: &[PathBuf]) -> bool {
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
    pub(in crate::trust) fn environments(&mut self, folder: &Path) {
        for environment in [".venv", "venv"].map(|name| folder.join(name)) {
            if environment.is_dir() {
                self.environment(environment);
            }
        }
        // The folder can have another name.
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            if entry.path().join("pyvenv.cfg").is_file() {
                self.environment(entry.path());
            }
        }
    }

    fn environment(&mut self, environment: PathBuf) {
        self.linked_folders(&environment);
        self.reach.folders.entry(environment).or_default();
    }
}

/// The directory in which uv starts, and the other arguments.
fn directory(arguments: &[Word]) -> Option<(&str, Vec<Word>)> {
    let is_option = |word: &Word| word.text == "--directory";
    let place = arguments.iter().take(2).position(is_option)?;
    let folder = arguments.get(place + 1).filter(|word| word.is_fixed())?;
    let rest = [&arguments[..place], &arguments[place + 2..]].concat();
    Some((&folder.text, rest))
}

/// The number of words at the start that are options of `uv run` and choose no other code of the project.
fn flags_of_uv(words: &[Word]) -> usize {
    let mut count = 0;
    while let Some(word) = words.get(count) {
        let text = word.text.as_str();
        let value = words.get(count + 1).map_or("", |word| word.text.as_str());
        let is_folder = value.contains(['/', shell::HOLE]) || value.starts_with('.');
        count += match text {
            _ if UV_FLAGS.contains(&text) => 1,
            _ if UV_VALUES.contains(&text) && !is_folder => 2,
            _ => break,
        };
    }
    count
}
