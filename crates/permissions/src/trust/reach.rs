//! The code of a project that could run when osier starts a program by itself.
//!
//! A program that osier does not know could load all code of the project; the rules below only reduce that. Only texts that did not change
//! since the user trusted them are read: their authors hide nothing, so the reader does not look for tricks.
//!
//! 1. A program outside of the project that treats files as data loads nothing. Neither does a build or a test: running the code of
//!    the project is its purpose.
//! 2. An installed tool loads what is installed with it, and all settings of the project with the code that they name (`settings.rs`): a
//!    plugin can read the settings of another tool. The shape of its name shows whether a file is a setting (`facts/settings.rs`).
//! 3. `make`, `npm run`, `git` and the like load their own files, and what the commands there load (`runners.rs`, `makefiles.rs`,
//!    `git.rs`).
//! 4. A script loads the code in its folder, and what it runs and imports (`scripts.rs`); if it lies in the project, its name says nothing.
//!    A script of the user outside of the project only counts by what it runs.
//! 5. Another program outside of the project loads the files in its arguments, and the settings of its name.
//! 6. Everything else could load all code: an unknown program of the project, or an import by a computed name. A command or a script by a
//!    computed name could load every file, also one that is named like data.

mod commands;
mod filters;
mod lines;
mod products;
mod scripts;
mod selectors;
mod settings;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use osier_base::{path, real_path};

use crate::programs::name_of;
use crate::shell::{self, Word};
pub(in crate::trust) use crate::trust::facts::places::PACKAGES;
use crate::trust::facts::places::{above_path, environment, folders_above, is_future};
use crate::trust::facts::programs::{MANAGER_SCRIPTS, is_in, is_known};
use crate::trust::program_use::ProgramUse;
use crate::trust::reach::products::Products;
pub(in crate::trust) use crate::trust::snapshot::Reach;
use crate::trust::texts::shell::inherits;

/// The number of bytes of a text up to which it is read.
pub(in crate::trust) const TEXT: u64 = 1024 * 1024;
/// The depth of folders in which settings and modules are looked for.
pub(in crate::trust) const FOLDERS: usize = 12;
/// The depth of scripts that run other scripts.
pub(in crate::trust) const DEPTH: usize = 24;
/// The code that the programs of the use could load.
///
/// # Errors
/// A file that would run is not a regular file.
pub(in crate::trust) fn of(run: &ProgramUse, project: &Path) -> Result<Reach, String> {
    let starts_something = !run.files.is_empty() || !run.command.is_empty();
    let mut search = Search::new(run, project);
    for (place, file) in run.files.iter().enumerate() {
        search.program(file)?;
        if !file.starts_with(project) {
            continue;
        }
        if !file.is_file() {
            return Err(format!("`{}` is not a file", file.display()));
        }
        let name = name_of(file.to_str().unwrap_or_default());
        let is_own = search.own_script(&file.to_string_lossy()).is_some();
        if place == 0 && (is_own || !is_known(name, &[])) {
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
        (search.reach.options, search.reach.commands) = (false, false);
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

pub(in crate::trust) struct Search<'p> {
    pub(in crate::trust) project: &'p Path,
    pub(in crate::trust) cwd: PathBuf,
    pub(in crate::trust) reach: Reach,
    pub(in crate::trust) depth: usize,
    /// A command of the line reads the output of another one.
    pub(in crate::trust) feeds: bool,
    /// The file of the project that is the only input of the line.
    pub(in crate::trust) input: Option<PathBuf>,
    /// Words of the line are names of files that another command lists.
    pub(in crate::trust) lists: bool,
    /// The line contains the input of its interpreters, such as `<<EOF`.
    pub(in crate::trust) has_document: bool,
    /// The text of that input, if it is known.
    pub(in crate::trust) document: Option<String>,
    /// The scripts being read are settings of a tool.
    pub(in crate::trust) in_settings: bool,
    /// The quoted texts in these settings can name code.
    pub(in crate::trust) reads_texts: bool,
    /// The tool whose settings are being read.
    pub(in crate::trust) tool_name: String,
    /// The name of the package in each folder, and whether it has a map of imports.
    pub(in crate::trust) packages_read: HashMap<PathBuf, Option<(String, bool)>>,
    /// A script sets variables with computed names (`sets_variables`), or runs commands (`runs_commands`).
    pub(in crate::trust) sets_variables: bool,
    pub(in crate::trust) runs_commands: bool,
    /// The use names the file of the program.
    pub(in crate::trust) is_given: bool,
    /// The directory in which the program starts.
    pub(in crate::trust) start: PathBuf,
    /// The folders above the project.
    pub(in crate::trust) outer: Vec<PathBuf>,
    /// The virtual environment whose programs come first.
    pub(in crate::trust) activated: Option<PathBuf>,
    /// The files that the commands so far have written.
    pub(in crate::trust) products: Products,
    /// The packages in a `node_modules` that are links to folders of the project.
    pub(in crate::trust) links: HashMap<PathBuf, Vec<(String, PathBuf)>>,
    /// The folders that scripts of Python add to the places of modules.
    pub(in crate::trust) module_folders: Vec<PathBuf>,
    /// The line splits a text into words that a variable then stands for.
    pub(in crate::trust) splits: bool,
    /// The scripts and settings that were read, each with `in_settings` and `reads_texts` at that time.
    pub(in crate::trust) scripts: HashSet<(PathBuf, bool, bool)>,
    /// The tasks of runners that were read, each with its file or folder.
    pub(in crate::trust) tasks: BTreeSet<(PathBuf, String)>,
}

impl<'p> Search<'p> {
    fn new(run: &ProgramUse, project: &'p Path) -> Self {
        let cwd = real_path::resolve(&run.cwd).real;
        Self {
            project,
            start: cwd.clone(),
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
            outer: folders_above(project),
            activated: None,
            products: Products::default(),
            links: HashMap::new(),
            module_folders: Vec::new(),
            splits: false,
            scripts: HashSet::new(),
            tasks: BTreeSet::new(),
        }
    }
}

impl Search<'_> {
    pub(in crate::trust) fn all(&mut self) {
        self.reach.all = true;
    }

    /// A file runs by a computed name: every file counts, also one that is named like data.
    pub(in crate::trust) fn every(&mut self) {
        (self.reach.all, self.reach.every) = (true, true);
    }

    /// Adds the program, the links that lead to it, and the files that are installed with it or lie next to it.
    pub(in crate::trust) fn program(&mut self, program: &Path) -> Result<(), String> {
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
    pub(in crate::trust) fn script_of(
        &mut self,
        word: Option<&Word>,
        moves: bool,
        kind: &str,
    ) -> Result<(), String> {
        if let Some(word) = word
            && self.scripts_of_pattern(&word.text, moves)?
        {
            return Ok(());
        }
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

    /// Adds the scripts of a shell in a folder of the project, if the text is a pattern for them: `lib/*.sh`. Returns whether it is.
    fn scripts_of_pattern(&mut self, text: &str, moves: bool) -> Result<bool, String> {
        let Some((folder, end)) = text.split_once(shell::GLOB) else {
            return Ok(false);
        };
        let folder = folder.strip_suffix('/').unwrap_or_default();
        let is_one = [".sh", ".bash"].contains(&end) && !folder.contains(shell::HOLE);
        let is_certain = !moves || folder.starts_with('/');
        let folder = real_path::resolve(&path::resolve(&self.cwd, folder)).real;
        let is_own = folder.starts_with(self.project) && folder != self.project;
        if !is_one || !is_certain || !is_own {
            return Ok(false);
        }
        self.reach.folders.insert(folder.clone(), true);
        self.follow_folder(&folder, "sh bash", "sh")?;
        Ok(true)
    }

    /// Adds the files and folders of the project in the arguments of an unknown program.
    pub(in crate::trust) fn arguments(&mut self, arguments: &[Word]) {
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
            let parts = word
                .text
                .split([' ', '\'', '"', ',', ':', ';', '(', ')', '=']);
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
    pub(in crate::trust) fn above(&self) -> Vec<PathBuf> {
        above_path(&self.cwd, self.project, &self.outer)
    }

    /// Adds all `node_modules` above the path.
    pub(in crate::trust) fn packages(&mut self, path: &Path) {
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
