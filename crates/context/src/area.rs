//! The area where files of the context may be: files of a project must really be in it, because they are read without
//! trust.

use std::path::{Path, PathBuf};

use osier_base::problem::Problem;
use osier_base::walk::Walk;
use osier_base::{regular_file, repository};

/// The owner of files: the user or a project.
#[derive(Debug)]
pub(super) enum Area {
    /// The user, whose links may lead anywhere.
    User,
    /// A project with this root.
    Project(PathBuf),
}

impl Area {
    /// The area of the files in `folder`, one of the folders of `cwd`: the repository, or the
    /// folder itself.
    pub(super) fn of(folder: &Path, cwd: &Path) -> Self {
        Self::Project(repository::root(cwd).unwrap_or(folder).to_owned())
    }

    pub(super) fn of_project(cwd: &Path) -> Self {
        Self::of(cwd, cwd)
    }

    /// A walk through folders of the area.
    pub(super) fn walk(&self) -> Walk {
        match self {
            Self::User => Walk::new(None),
            Self::Project(root) => Walk::new(Some(root)),
        }
    }

    /// Whether the file may be read.
    pub(super) fn check(&self, path: &Path) -> Result<(), Problem> {
        let Self::Project(root) = self else {
            return Ok(());
        };
        let inside = regular_file::inside(path, root);
        inside.map(drop).map_err(|error| {
            Problem::of_file(
                path,
                error.to_string(),
                "it is ignored; copy it into the project",
            )
        })
    }
}

/// The folders from the project's root down to `cwd`; only `cwd` outside of repositories.
pub(super) fn folders(cwd: &Path) -> Vec<PathBuf> {
    below(root(cwd), cwd)
}

/// The folders whose instructions apply in `cwd`: outside of repositories, those from the home
/// directory down.
pub(super) fn instruction_folders(cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let home = home.filter(|home| cwd.starts_with(home));
    below(repository::root(cwd).or(home).unwrap_or(cwd), cwd)
}

fn below(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let inside = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    let mut folders: Vec<PathBuf> = inside.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// The root of the repository around `cwd`, else `cwd`.
pub(super) fn root(cwd: &Path) -> &Path {
    repository::root(cwd).unwrap_or(cwd)
}
