//! The aspects of a command line: each command in the folders in which it can run, and the files that it reads and writes.

use std::path::{Path, PathBuf};

use super::command::{Command, Search, is_plain_name};
use super::folders::Folders;
use super::{Aspect, Aspects, What};
use crate::equivalents::{self, Equivalents};
use crate::known::{self, Known, Listing};
use crate::programs::name_of;
use crate::repository::{self, Seen};
use crate::shell::{self, CommandLine, HOLE, PIPE, Part, Word};
use osier_base::{path, real_path};
use osier_tools::{READ, WRITE};

/// Files that accept any output and store nothing.
const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
/// Files of a project that select the version of a program that runs.
const PINS: [&str; 13] = [
    "rust-toolchain",
    "rust-toolchain.toml",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    ".python-version",
    ".ruby-version",
    ".node-version",
    ".java-version",
    "go.work",
    "go.mod",
    ".envrc",
    ".sdkmanrc",
];
/// Commands that change the directory by other means than `cd`, or that run `cd` as an argument.
const MOVING: [&str; 7] = [
    "pushd", "popd", "command", "builtin", "exec", "time", "eval",
];

impl Aspects {
    pub(super) fn of_command(command: &str, cwd: &Path) -> Self {
        let mut aspects = Self {
            command: Some(command.trim_matches([' ', '\t', '\n']).to_owned()),
            ..Self::default()
        };
        match shell::read(command) {
            None => aspects.unclear = true,
            Some(line) => aspects.add(line, cwd),
        }
        aspects
    }

    fn add(&mut self, mut line: CommandLine, cwd: &Path) {
        self.is_connected = line.changes_shell;
        let shows_key = line.variables.iter().any(|name| known::is_key(name));
        let mut folders = starting_folders(&line, cwd);
        let mut seen = Seen::default();
        let pipes = std::mem::take(&mut line.pipes);
        let listings: Vec<(usize, Listing)> = (pipes.iter())
            .filter_map(|(_, reader)| Some((*reader, listing(&line.parts, &pipes, *reader)?)))
            .collect();
        for (place, part) in line.parts.into_iter().enumerate() {
            match part {
                Part::Run(words) => {
                    let program = words.iter().find(|word| !word.assigns);
                    self.is_connected |= line.changes_directory
                        && program.is_some_and(|program| {
                            program.text.contains('/') && !program.text.starts_with(['/', '~'])
                        });
                    let is_cd = program.is_some_and(|program| program.text == "cd");
                    let mut others = Equivalents {
                        feeds_input: line.feeds_input,
                        ..Equivalents::default()
                    };
                    self.unclear |= equivalents::add(&words, 0, &mut others).is_none();
                    self.runs_input |= others.runs_input;
                    let mut known = known::find(&words);
                    if !known.as_ref().is_some_and(|known| known.reads_only)
                        && let Some((_, listing)) =
                            listings.iter().find(|(reader, _)| *reader == place)
                    {
                        known = known::find_after(&words, listing.clone()).or(known);
                    }
                    let mut command = Command {
                        words,
                        others: others.list,
                        ..Command::default()
                    };
                    if let Some(known) = &known {
                        self.add_known(known, &mut command, &folders, cwd);
                    }
                    self.refuse_git(&mut command, known.as_ref(), &folders, (cwd, &mut seen));
                    command.reads_only &= !shows_key;
                    if is_cd {
                        let target = known.and_then(|known| known.folder);
                        match target {
                            Some(target) => folders.change(&target),
                            None => folders = Folders::unknown(),
                        }
                    }
                    self.list.push(Aspect::of_command(command));
                }
                Part::WriteTo(word) if SINKS.contains(&word.text.as_str()) => {}
                Part::WriteTo(word) => {
                    self.unclear |= is_unknown(&word, line.changes_directory);
                    self.list
                        .push(Aspect::of(WRITE, target_of(&word.text, cwd)));
                }
                Part::ReadFrom(word) => {
                    self.unclear |= may_connect(&word);
                    self.reads_unknown |= is_unknown(&word, line.changes_directory);
                    let Some(files) = folders.files(&word) else {
                        self.reads_lost = true;
                        continue;
                    };
                    self.reads_lost |= files.iter().any(is_device);
                    let files = files.iter().map(|(folder, text)| target_of(text, folder));
                    self.reads
                        .extend(files.map(|target| Aspect::of(READ, target)));
                }
            }
        }
    }

    /// Adds the files of a command whose form is known.
    fn add_known(&mut self, known: &Known, command: &mut Command, folders: &Folders, cwd: &Path) {
        let program = command.words.iter().find(|word| !word.assigns);
        let program = program.map(|program| &program.text);
        let mut programs = program.into_iter().chain(&known.programs);
        let is_replaced = programs.any(|program| is_replaced(program, cwd));
        command.reads_only = known.reads_only && !is_replaced;
        if known.is_pinned && is_pinned(folders) {
            command.reads_only = false;
        }
        let worked = known.folder.as_ref().map(|folder| folders.within(folder));
        let within;
        let folders = match worked {
            None => folders,
            Some(Some(all)) => {
                within = Folders::all_of(all);
                &within
            }
            Some(None) => {
                command.reads_only &= !known.is_git;
                folders
            }
        };
        self.add_listing(known, command, folders);
        for word in known.shown.iter().filter(|word| !word.is_listed) {
            match folders.files(word) {
                None => command.reads_only = false,
                Some(files) => {
                    let is_other = |file: &(PathBuf, String)| {
                        is_device(file) || (known.is_git && is_outside(file, cwd))
                    };
                    command.reads_only &= !files.iter().any(is_other);
                    let files = files.into_iter().flat_map(|(folder, text)| {
                        // `HEAD:FILE` is a file of a commit.
                        let file = text.rsplit_once(':').map(|(_, file)| file.to_owned());
                        let file = file.filter(|_| known.is_git);
                        [Some(text), file]
                            .into_iter()
                            .flatten()
                            .map(move |text| Aspect::of(READ, target_of(&text, &folder)))
                    });
                    self.operands.extend(files);
                }
            }
        }
        for word in known.searched.iter().filter(|word| !word.is_listed) {
            command.searches = true;
            match folders.files(word) {
                None => command.reads_only = false,
                Some(roots) => self
                    .searches
                    .extend(roots.into_iter().map(|(folder, text)| {
                        let root = path::resolve(&folder, &text);
                        Search {
                            root,
                            included: known.included.clone(),
                            skips_hidden: known.skips_hidden,
                            ..Search::default()
                        }
                    })),
            }
        }
        for word in &known.written {
            let files = folders.files(word).unwrap_or_default();
            let targets: Vec<Aspect> = files
                .into_iter()
                .map(|(folder, text)| Aspect::of(WRITE, target_of(&text, &folder)))
                .collect();
            let is_inside = |aspect: &Aspect| {
                aspect
                    .paths()
                    .first()
                    .is_some_and(|path| path.starts_with(cwd))
            };
            if !targets.iter().all(is_inside) || (targets.is_empty() && word.is_fixed()) {
                command.named.push(word.text.clone());
            }
            self.written.extend(targets);
        }
    }

    /// Adds the search for files that a command reads because a listing names them, and refuses
    /// names that can be several words.
    fn add_listing(&mut self, known: &Known, command: &mut Command, folders: &Folders) {
        let Some(listing) = &known.listing else {
            return;
        };
        let has_listed = |words: &[Word]| words.iter().any(|word| word.is_listed);
        let searches = has_listed(&known.searched);
        let is_read = searches || has_listed(&known.shown);
        // A folder with such a name can contain files with other names.
        let included = Some(&listing.included).filter(|_| !searches);
        command.searches |= is_read || listing.splits;
        if listing.is_index {
            let all = folders.all().unwrap_or_default();
            command.reads_only &= all.iter().all(|folder| repository::has_plain_names(folder));
        }
        for root in &listing.roots {
            command.reads_only &= !listing.splits || is_plain_name(&root.text);
            let Some(roots) = folders.files(root) else {
                command.reads_only = false;
                continue;
            };
            let searches = roots.into_iter().map(|(folder, text)| Search {
                root: path::resolve(&folder, &text),
                included: included.cloned().unwrap_or_default(),
                skips_hidden: false,
                lists: !is_read,
                needs_plain_names: listing.splits,
            });
            self.searches
                .extend(searches.filter(|search| !search.lists || search.needs_plain_names));
        }
    }

    /// Refuses git that runs in another repository, or whose configuration runs programs.
    fn refuse_git(
        &mut self,
        command: &mut Command,
        known: Option<&Known>,
        folders: &Folders,
        (cwd, seen): (&Path, &mut Seen),
    ) {
        let runs_git = |words: &[Word]| {
            let program = words.iter().find(|word| !word.assigns);
            program.is_some_and(|program| name_of(&program.text).starts_with("git"))
        };
        let is_git =
            runs_git(&command.words) || command.others.iter().any(|other| runs_git(&other.words));
        if !is_git {
            return;
        }
        let target = known.and_then(|known| known.folder.as_ref());
        let all = match target {
            Some(target) => folders.within(target),
            None => folders.all().map(<[PathBuf]>::to_vec),
        };
        let Some(all) = all else {
            command.refused = true;
            command.reads_only = false;
            let why = "the folder is unknown in which git runs: its configuration names programs";
            self.refused = Some(why.to_owned());
            return;
        };
        if let Some(why) = all
            .iter()
            .find_map(|folder| repository::foreign(folder, cwd))
        {
            command.refused = true;
            command.reads_only = false;
            self.refused = Some(why);
        } else if command.reads_only
            && let Some(why) = all.iter().find_map(|folder| seen.runs_programs(folder))
        {
            command.reads_only = false;
            self.refused = Some(why);
        } else if known.is_some_and(|known| known.shows_addresses)
            && all.iter().any(|folder| repository::has_password(folder))
        {
            command.reads_only = false;
            self.refused = Some("an address in the settings of git contains a password".to_owned());
        }
    }
}

/// The names that the part `reader` of a line reads from the parts before that one.
fn listing(parts: &[Part], pipes: &[(usize, usize)], reader: usize) -> Option<Listing> {
    let Part::Run(words) = &parts[reader] else {
        return None;
    };
    known::adds_words(words).then_some(())?;
    let mut commands = Vec::new();
    let mut place = reader;
    while let Some((writer, _)) = pipes.iter().find(|(_, reader)| *reader == place) {
        let Part::Run(words) = &parts[*writer] else {
            return None;
        };
        commands.insert(0, words.as_slice());
        place = *writer;
    }
    known::listing(&commands)
}

/// The folder in which the first command runs.
fn starting_folders(line: &CommandLine, cwd: &Path) -> Folders {
    let moves = |part: &Part| match part {
        Part::Run(words) => {
            let program = words.iter().find(|word| !word.assigns);
            program.is_some_and(|program| MOVING.contains(&program.text.as_str()))
        }
        _ => false,
    };
    let is_known = !line.changes_directory || (!line.repeats && !line.parts.iter().any(moves));
    if is_known {
        Folders::of(cwd)
    } else {
        Folders::unknown()
    }
}

/// Whether `PATH` finds the program in the project.
fn is_replaced(program: &str, cwd: &Path) -> bool {
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    !program.contains('/')
        && std::env::split_paths(&in_path).any(|folder| {
            let is_inside = !folder.is_absolute() || folder.starts_with(cwd);
            is_inside && cwd.join(folder).join(program).exists()
        })
}

/// Whether a file of the project selects the version of a program.
fn is_pinned(folders: &Folders) -> bool {
    let Some(all) = folders.all() else {
        return true;
    };
    let mut above = all.iter().flat_map(|folder| folder.ancestors());
    above.any(|folder| {
        PINS.iter()
            .any(|name| folder.join(name).symlink_metadata().is_ok())
    })
}

/// The file of a redirection or an operand: the shell uses its name literally, unlike a file tool.
fn target_of(text: &str, cwd: &Path) -> What {
    let given = path::resolve(cwd, text);
    let exact = if text.starts_with('~') {
        given.clone()
    } else {
        cwd.join(text)
    };
    let found = real_path::resolve(&exact);
    let mut names = found.names;
    for name in [given, exact] {
        if name != found.real && !names.contains(&name) {
            names.push(name);
        }
    }
    What::File(names, found.real)
}

/// Whether the file is a device, which no file tool reads, the memory of the system, or a log that
/// loses data when it is read.
fn is_device((folder, text): &(PathBuf, String)) -> bool {
    const FINE: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/stdin", "/dev/fd/63"];
    const OF_SYSTEM: [&str; 3] = ["kcore", "kmsg", "trace_pipe"];
    if FINE.contains(&text.as_str()) {
        return false;
    }
    let real = real_path::resolve(&folder.join(text)).real;
    real.starts_with("/dev") || OF_SYSTEM.iter().any(|name| real.ends_with(name))
}

/// Whether the file exists outside of the working directory: then `git diff` compares files instead
/// of the repository.
fn is_outside((folder, text): &(PathBuf, String), cwd: &Path) -> bool {
    let leads = text.starts_with(['/', '~']) || text.split('/').any(|part| part == "..");
    let path = path::resolve(folder, text);
    leads && path.exists() && !real_path::resolve(&path).real.starts_with(cwd)
}

/// Whether bash connects to a host to read from the file.
fn may_connect(word: &Word) -> bool {
    let texts = word.texts();
    let connects = |text: &str| text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/");
    let is_pipe = word.variables().eq([PIPE]);
    let is_open = texts.is_empty() && word.text.starts_with(['/', HOLE]) && !is_pipe;
    is_open || texts.iter().any(|text| connects(text))
}

/// Whether the word can name an unknown file.
fn is_unknown(word: &Word, moved: bool) -> bool {
    !word.is_fixed() || (moved && !word.text.starts_with(['/', '~']))
}
