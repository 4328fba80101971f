//! Questions about files and folders: whether a file is a program, where it is installed, which folders are above the project.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use osier_base::regular_file;

/// The directory with the packages of Node.
pub(in crate::trust) const PACKAGES: &str = "node_modules";

/// The folders from the path up to the root of the project, followed by those above the project.
pub(in crate::trust) fn above_path(path: &Path, project: &Path, outer: &[PathBuf]) -> Vec<PathBuf> {
    let above = path.ancestors();
    let own = above.take_while(|folder| folder.starts_with(project));
    let own: Vec<PathBuf> = own.map(Path::to_owned).collect();
    let outer = outer.iter().filter(|_| !own.is_empty());
    own.iter().chain(outer).cloned().collect()
}

/// The folders above the project, up to the first one that every user can write to.
pub(in crate::trust) fn folders_above(project: &Path) -> Vec<PathBuf> {
    let above = project.ancestors().skip(1);
    let is_private = |folder: &&Path| {
        let data = folder.metadata();
        folder.parent().is_some() && data.is_ok_and(|data| data.mode() & 0o002 == 0)
    };
    above.take_while(is_private).map(Path::to_owned).collect()
}

/// Whether the file is a program or a script, by its mode and its first bytes.
pub(in crate::trust) fn is_program(file: &Path) -> bool {
    let is_executable = |data: Metadata| data.is_file() && data.mode() & 0o111 != 0;
    file.metadata().is_ok_and(is_executable)
        || regular_file::head(file, 2).is_ok_and(|(start, _)| start == b"#!")
}

/// The program that a lookup in `PATH` finds.
pub(in crate::trust) fn installed_elsewhere(name: &str) -> Option<PathBuf> {
    let variable = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&variable).map(|folder| folder.join(name));
    folders.find(|path| !name.is_empty() && path.is_file())
}

/// Whether the file is in a temporary directory, into which a program can put it before it runs it.
pub(in crate::trust) fn is_future(file: &Path) -> bool {
    let folders = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let mut folders = folders.into_iter().chain([std::env::temp_dir()]);
    !file.exists() && folders.any(|folder| file.starts_with(folder))
}

/// Whether the file is in a folder of installed packages.
pub(in crate::trust) fn is_installed(file: &Path, project: &Path) -> bool {
    let below = file.strip_prefix(project).unwrap_or(file);
    below.components().any(|part| part.as_os_str() == PACKAGES)
        || environment(file, project).is_some()
}

/// Whether the file is a compiled program.
pub(in crate::trust) fn is_binary(file: &Path) -> bool {
    let start = regular_file::head(file, 4).map(|(start, _)| start);
    start.is_ok_and(|start| start == b"\x7fELF" || start.starts_with(b"\xcf\xfa"))
}

/// Whether the file is a program of an installed package of PHP.
pub(in crate::trust) fn is_of_composer(file: &Path) -> bool {
    file.parent()
        .is_some_and(|folder| folder.ends_with("vendor/bin"))
}

/// The virtual environment of Python that contains `file`.
pub(in crate::trust) fn environment(file: &Path, project: &Path) -> Option<PathBuf> {
    let mut above = file
        .ancestors()
        .take_while(|folder| folder.starts_with(project));
    above
        .find(|folder| folder.join("pyvenv.cfg").is_file())
        .map(Path::to_owned)
}

/// The folders in a folder at this depth that can contain packages of the project, with their depths.
pub(in crate::trust) fn folders_below(
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
