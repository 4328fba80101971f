//! Instructions of the user and the project: `AGENTS.md`, `CLAUDE.md` and the files of other
//! agents, of the user and of every folder from the root of the repository to the working
//! directory, the nearest last. Without a repository, they start at the home directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::area::{Area, instruction_folders};
use super::imports::imports;
use super::path_rules::{ContextFile, PathRule, path_patterns};
use super::sources::ContextSources;
use osier_base::problem::Problem;
use osier_base::walk::Walk;
use osier_base::{path, regular_file, text};
use osier_peers::{INSTRUCTIONS, PeerFolders, front_matter};

/// Folders with further instructions, and the ending of their files.
const RULE_FOLDERS: [(&str, &str); 2] = [
    (".claude/rules", ".md"),
    (".github/instructions", ".instructions.md"),
];
/// Maximum used bytes of one file.
pub const FILE_LIMIT: usize = 32 * 1024;
/// Maximum used bytes of all files; the nearest files have priority.
pub(crate) const TOTAL_LIMIT: usize = 96 * 1024;
/// Maximum number of files that a file imports through others.
const IMPORT_DEPTH: usize = 5;
/// Maximum number of imported files.
const IMPORTS: usize = 100;
/// Maximum depth of a folder with rules.
const RULES_DEPTH: usize = 4;

/// The instruction files, and the rules for paths in them.
#[derive(Debug, Default)]
pub(super) struct Instructions {
    /// The instruction files, the nearest last.
    pub files: Vec<ContextFile>,
    pub rules: Vec<PathRule>,
    /// The real paths of all instructions that were read.
    pub seen: BTreeSet<PathBuf>,
}

/// The instruction files.
pub(super) fn load(sources: &ContextSources, problems: &mut Vec<Problem>) -> Instructions {
    let home = sources.peers.as_ref().map(|peers| &*peers.home);
    let mut search = Search::new(sources.peers.as_ref(), problems);
    search.add_user(&sources.config);
    for folder in instruction_folders(&sources.cwd, home) {
        let area = Area::of(&folder, &sources.cwd);
        if Some(&*folder) == home {
            // The folders of agents in it belong to the user.
            if let Some(path) = first_of(&folder) {
                search.add(&path, &area);
            }
        } else {
            search.add_folder(&folder, &area);
        }
    }
    for extra in &sources.extra {
        let found = if extra.is_dir() {
            first_of(extra)
        } else {
            Some(extra.clone())
        };
        match found {
            Some(path) => search.add(&path, &Area::User),
            None => search.problems.push(Problem::of_file(
                extra,
                "contains no AGENTS.md",
                "name a file with `--context`",
            )),
        }
    }
    search.finish()
}

/// Collects instruction files.
pub(super) struct Search<'a> {
    peers: Option<&'a PeerFolders>,
    problems: &'a mut Vec<Problem>,
    found: Instructions,
    imported: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(peers: Option<&'a PeerFolders>, problems: &'a mut Vec<Problem>) -> Self {
        Self {
            peers,
            problems,
            found: Instructions::default(),
            imported: 0,
        }
    }

    /// This search without the files that were already `seen`.
    pub(super) fn without(mut self, seen: BTreeSet<PathBuf>) -> Self {
        self.found.seen = seen;
        self
    }

    /// The user's file of osier, or else the one of another agent.
    fn add_user(&mut self, config: &Path) {
        if let Some(own) = first_of(config) {
            return self.add(&own, &Area::User);
        }
        let Some(peers) = self.peers else { return };
        let of_peers = peers.instructions();
        let Some(path) = of_peers.iter().find(|path| is_file(path)) else {
            return;
        };
        self.add(path, &Area::User);
        if path.starts_with(&peers.claude) {
            let rules = peers.claude.join("rules");
            self.add_rules(&rules, ".md", Path::new(""), &Area::User);
        }
    }

    /// The instructions in `folder`.
    pub(super) fn add_folder(&mut self, folder: &Path, area: &Area) {
        if let Some(path) = first_of(folder) {
            self.add(&path, area);
        }
        let own = folder.join(".claude/CLAUDE.md");
        if is_file(&own) {
            self.add(&own, area);
        }
        for (name, ending) in RULE_FOLDERS {
            self.add_rules(&folder.join(name), ending, folder, area);
        }
        let local = folder.join("CLAUDE.local.md");
        if is_file(&local) {
            self.add(&local, area);
        }
    }

    /// Adds the rules in the folder `rules`, which apply to paths below `base`, or to all paths if
    /// it is empty.
    fn add_rules(&mut self, rules: &Path, ending: &str, base: &Path, area: &Area) {
        let mut paths = Vec::new();
        collect(&mut area.walk(), rules, ending, RULES_DEPTH, &mut paths);
        for path in paths {
            let Some(mut file) = self.open(&path, area) else {
                continue;
            };
            let document = front_matter::parse(&file.text);
            let patterns = path_patterns(&document);
            let body = document.body.trim_start().to_owned();
            match patterns {
                None => {
                    file.text = body;
                    self.add_with_imports(file, area, 0);
                }
                Some(patterns) => {
                    file.text = body;
                    let rule = PathRule::new(file, base, &patterns);
                    self.problems.extend(rule.problem());
                    self.found.rules.push(rule);
                }
            }
        }
    }

    /// Adds the file at `path` and the files that it imports.
    fn add(&mut self, path: &Path, area: &Area) {
        let Some(file) = self.open(path, area) else {
            return;
        };
        match link_target(&file) {
            // The other file may have been read already.
            Some(target) => self.add(&target, area),
            None => self.add_with_imports(file, area, 0),
        }
    }

    /// Reads the file, unless it was read before.
    fn open(&mut self, path: &Path, area: &Area) -> Option<ContextFile> {
        if let Err(problem) = area.check(path) {
            self.problems.push(problem);
            return None;
        }
        if !self.found.seen.insert(path::canonical_key(path)) {
            return None;
        }
        match read(path) {
            Ok(file) => Some(file),
            Err(message) => {
                let problem = Problem::of_file(path, message, "it is ignored");
                self.problems.push(problem);
                None
            }
        }
    }

    fn add_with_imports(&mut self, file: ContextFile, area: &Area, depth: usize) {
        let home = self.peers.map(|peers| peers.home.as_path());
        let imported = if imports_files(&file.path) {
            imports(&file.text, &file.path, home)
        } else {
            Vec::new()
        };
        let importer = file.path.clone();
        self.found.files.push(file);
        for path in imported {
            if self.found.seen.contains(&path::canonical_key(&path)) {
                continue;
            }
            if depth == IMPORT_DEPTH || self.imported == IMPORTS {
                let message = format!("the import of `{}` is ignored", path.display());
                let hint = format!("the limits are {IMPORT_DEPTH} levels and {IMPORTS} files");
                self.problems
                    .push(Problem::of_file(&importer, message, hint));
                break;
            }
            self.imported += 1;
            if let Some(file) = self.open_import(&path, &importer, area) {
                self.add_with_imports(file, area, depth + 1);
            }
        }
    }

    fn open_import(&mut self, path: &Path, importer: &Path, area: &Area) -> Option<ContextFile> {
        if area.check(path).is_err() {
            let message = format!(
                "the import of `{}` leads out of the project",
                path.display()
            );
            let hint = "it is ignored; use `--context`, or import it in your own instructions";
            self.problems
                .push(Problem::of_file(importer, message, hint));
            return None;
        }
        self.open(path, area)
    }

    /// The files within the limits, the nearest first.
    pub(super) fn finish(self) -> Instructions {
        let Self {
            mut found,
            problems,
            ..
        } = self;
        let mut left = TOTAL_LIMIT;
        let mut files = Vec::new();
        for mut file in std::mem::take(&mut found.files).into_iter().rev() {
            if file.text.trim().is_empty() {
                continue;
            }
            let used = text::head_bytes(&file.text, FILE_LIMIT.min(left)).len();
            left -= used;
            if used < file.text.len() || file.size > FILE_LIMIT as u64 + READ_AHEAD {
                problems.push(too_long(&file, used));
            }
            file.text.truncate(used);
            if used > 0 {
                files.push(file);
            }
        }
        files.reverse();
        found.files = files;
        found
    }
}

/// Whether `@path` in a file includes another one. In `AGENTS.md` it is text for every agent.
fn imports_files(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with("AGENTS.") && !path.components().any(|part| part.as_os_str() == ".github")
}

/// Collects the files with this ending below `folder`.
fn collect(walk: &mut Walk, folder: &Path, ending: &str, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in walk.entries(folder) {
        if entry.is_folder && depth > 0 {
            collect(walk, &entry.path, ending, depth - 1, found);
        } else if !entry.is_folder && entry.path.to_string_lossy().ends_with(ending) {
            found.push(entry.path);
        }
    }
}

fn first_of(folder: &Path) -> Option<PathBuf> {
    let mut paths = INSTRUCTIONS.iter().map(|name| folder.join(name));
    paths.find(|path| is_file(path))
}

/// Whether there is a file: folders and links to nothing are ignored.
fn is_file(path: &Path) -> bool {
    path.exists() && !path.is_dir()
}

/// Maximum bytes of a text that can be the target of a link.
const MAX_LINK: usize = 512;

/// Bytes that are read beyond the limit, so that the limit does not split a character.
const READ_AHEAD: u64 = 4;

/// Reads a file up to a little more than the limit of one file.
fn read(path: &Path) -> Result<ContextFile, String> {
    let limit = FILE_LIMIT as u64 + READ_AHEAD;
    let (bytes, size) = regular_file::head(path, limit).map_err(|error| error.to_string())?;
    let whole = match std::str::from_utf8(&bytes) {
        Ok(whole) => whole,
        // The end may split a character.
        Err(error) if error.error_len().is_none() && bytes.len() > FILE_LIMIT => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err("is not UTF-8 text".to_owned()),
    };
    Ok(ContextFile {
        path: path.to_owned(),
        text: whole.to_owned(),
        size,
    })
}

/// The target of a symbolic link that git checked out as text: a file that only contains the path
/// of another one.
fn link_target(file: &ContextFile) -> Option<PathBuf> {
    let name = file.text.trim_end_matches('\n');
    if name.is_empty() || name.len() > MAX_LINK || name.contains('\n') {
        return None;
    }
    let target = file.path.parent()?.join(name);
    (is_file(&target) && target != file.path).then_some(target)
}

fn too_long(file: &ContextFile, used: usize) -> Problem {
    Problem::of_file(
        &file.path,
        format!("has {} bytes; only the first {used} are used", file.size),
        format!(
            "shorten it: the limits are {FILE_LIMIT} bytes per file and {TOTAL_LIMIT} in total"
        ),
    )
}
