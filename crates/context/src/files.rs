//! Instructions of the user and the project: `AGENTS.md` in the global folder and in every folder from the
//! repository root to the working directory, the nearest last.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::ContextSources;
use super::area::Area;
use osier_base::problem::Problem;
use osier_base::{path, regular_file, text};

/// File names in order of priority; the first that exists in a folder is used.
pub(crate) const FILE_NAMES: [&str; 3] = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"];
/// Maximum used bytes of one file.
pub const FILE_LIMIT: usize = 32 * 1024;
/// Maximum used bytes of all files; the nearest files have priority.
pub(crate) const TOTAL_LIMIT: usize = 96 * 1024;

/// A file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    /// The used part.
    pub text: String,
    /// Size of the complete file.
    pub size: u64,
}

/// The instruction files, the nearest last.
pub(super) fn load(sources: &ContextSources, problems: &mut Vec<Problem>) -> Vec<ContextFile> {
    let project = Area::of_project(&sources.cwd);
    let mut paths: Vec<PathBuf> = first_of(&sources.config).into_iter().collect();
    for path in folders(&sources.cwd)
        .iter()
        .filter_map(|folder| first_of(folder))
    {
        match project.check(&path) {
            Ok(()) => paths.push(path),
            Err(problem) => problems.push(problem),
        }
    }
    for extra in &sources.extra {
        let found = if extra.is_dir() {
            first_of(extra)
        } else {
            Some(extra.clone())
        };
        match found {
            Some(path) => paths.push(path),
            None => problems.push(Problem::of_file(
                extra,
                "contains no AGENTS.md",
                "name a file with `--context`",
            )),
        }
    }
    let mut seen = BTreeSet::new();
    paths.retain(|file| seen.insert(path::canonical_key(file)));
    let mut left = TOTAL_LIMIT;
    let mut files = Vec::new();
    for path in paths.into_iter().rev() {
        match read(&path, left) {
            Ok(file) if file.text.trim().is_empty() && file.size == 0 => {}
            Ok(file) => {
                left -= file.text.len();
                if file.text.len() as u64 != file.size {
                    problems.push(too_long(&file));
                }
                if !file.text.is_empty() {
                    files.push(file);
                }
            }
            Err(message) => problems.push(Problem::of_file(path, message, "it is ignored")),
        }
    }
    files.reverse();
    files
}

/// From the project's root down to `cwd`; only `cwd` outside of repositories.
pub(super) fn folders(cwd: &Path) -> Vec<PathBuf> {
    let root = root(cwd);
    let inside = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    let mut folders: Vec<PathBuf> = inside.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// The root of the repository around `cwd`, else `cwd`.
pub(super) fn root(cwd: &Path) -> &Path {
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists());
    root.unwrap_or(cwd)
}

fn first_of(folder: &Path) -> Option<PathBuf> {
    let paths = FILE_NAMES.iter().map(|name| folder.join(name));
    // A folder or a link to nothing is ignored.
    paths
        .into_iter()
        .find(|path| path.exists() && !path.is_dir())
}

/// Reads at most `left` bytes of a file, and at most the limit of one file.
fn read(path: &Path, left: usize) -> Result<ContextFile, String> {
    let limit = FILE_LIMIT.min(left);
    let (bytes, size) =
        regular_file::head(path, limit as u64 + 4).map_err(|error| error.to_string())?;
    let whole = match std::str::from_utf8(&bytes) {
        Ok(whole) => whole,
        // The limit may split a character.
        Err(error) if error.error_len().is_none() && bytes.len() > limit => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err("is not UTF-8 text".to_owned()),
    };
    Ok(ContextFile {
        path: path.to_owned(),
        text: text::head_bytes(whole, limit).to_owned(),
        size,
    })
}

fn too_long(file: &ContextFile) -> Problem {
    Problem::of_file(
        &file.path,
        format!(
            "has {} bytes; only the first {} are used",
            file.size,
            file.text.len()
        ),
        format!(
            "shorten it: the limits are {FILE_LIMIT} bytes per file and {TOTAL_LIMIT} in total"
        ),
    )
}
