//! Where files of the context may really be: those of a project only in the project, because they are read without trust.

use std::path::{Path, PathBuf};

use osier_base::problem::Problem;
use osier_base::regular_file;
use osier_base::walk::Walk;

use super::files;

/// Who wrote files.
#[derive(Debug)]
pub(super) enum Area {
    /// The user, whose links may lead anywhere.
    User,
    /// A project with this root.
    Project(PathBuf),
}

impl Area {
    pub(super) fn of_project(cwd: &Path) -> Self {
        Self::Project(files::root(cwd).to_owned())
    }

    /// A walk through its folders.
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
