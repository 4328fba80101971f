//! Where session files are: `<data>/sessions/--path-to-project--/<timestamp>_<uuidv7>.jsonl`.

use std::path::{Path, PathBuf};

use super::entry::Header;

/// Ending of session files; drafts and torn ends have another after it.
pub const EXTENSION: &str = "jsonl";

/// The directory all sessions are in, one directory a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirectory {
    root: PathBuf,
}

impl SessionDirectory {
    /// `data` is osier's data directory. Nothing is created.
    pub fn new(data: &Path) -> Self {
        Self {
            root: data.join("sessions"),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the sessions of the project at `cwd` are. Different projects may share one (`/a/b` and
    /// `/a-b`): the header says whose a session is.
    pub fn project(&self, cwd: &Path) -> PathBuf {
        self.root.join(project_name(cwd))
    }

    /// The file of the new session that `header` begins.
    pub fn path_for(&self, header: &Header) -> PathBuf {
        let timestamp = header.timestamp.replace([':', '.'], "-");
        self.project(Path::new(&header.cwd))
            .join(format!("{timestamp}_{}.{EXTENSION}", header.id))
    }
}

/// `/home/me/project` as `--home-me-project--`. Cut at the front where a file name could not be as
/// long: the end of a path says most.
fn project_name(cwd: &Path) -> String {
    const LIMIT: usize = 240;
    let path = cwd.to_string_lossy();
    let name = path.trim_start_matches('/').replace(['/', '\\', ':'], "-");
    format!("--{}--", osier_base::text::tail_bytes(&name, LIMIT))
}

/// The session id in the name of a session file.
pub(super) fn id_of(path: &Path) -> Option<&str> {
    if path.extension()? != EXTENSION {
        return None;
    }
    Some(path.file_stem()?.to_str()?.rsplit_once('_')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_project_time_and_id() {
        let directory = SessionDirectory::new(Path::new("/data"));
        let header = Header::with_id(
            "0199".into(),
            "2026-01-02T03:04:05.678Z".into(),
            Path::new("/home/me/my project"),
        );
        let path = directory.path_for(&header);
        assert_eq!(
            path,
            Path::new("/data/sessions/--home-me-my project--/2026-01-02T03-04-05-678Z_0199.jsonl")
        );
        assert_eq!(id_of(&path), Some("0199"));
        assert_eq!(id_of(&path.with_extension("jsonl.draft")), None);
        assert_eq!(project_name(Path::new("/")), "----");
        assert_eq!(project_name(Path::new(&"/漢字".repeat(99))).len(), 242);
    }
}
