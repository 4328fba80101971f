//! The location of session files: `<data>/sessions/--path-to-project--/<timestamp>_<uuidv7>.jsonl`.

use std::path::{Path, PathBuf};

use osier_protocol::Header;

/// File extension of sessions. Drafts and torn ends append another one.
pub const EXTENSION: &str = "jsonl";

/// The directory of all sessions, with one subdirectory per project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirectory {
    root: PathBuf,
}

impl SessionDirectory {
    /// `data` is osier's data directory. Creates nothing.
    pub fn new(data: &Path) -> Self {
        Self {
            root: data.join("sessions"),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The sessions of the project at `cwd`. Two projects can share a directory (`/a/b` and `/a-b`); the header names
    /// the right one.
    pub fn project(&self, cwd: &Path) -> PathBuf {
        self.root.join(project_name(cwd))
    }

    /// The path of the new session with `header`.
    pub fn path_for(&self, header: &Header) -> PathBuf {
        let timestamp = header.timestamp.replace([':', '.'], "-");
        self.project(Path::new(&header.cwd))
            .join(format!("{timestamp}_{}.{EXTENSION}", header.id))
    }
}

/// `/home/me/project` as `--home-me-project--`. Long names lose their front: the end of a path is more specific.
fn project_name(cwd: &Path) -> String {
    const LIMIT: usize = 240;
    let path = cwd.to_string_lossy();
    let name = path.trim_start_matches('/').replace(['/', '\\', ':'], "-");
    format!("--{}--", osier_base::text::tail_bytes(&name, LIMIT))
}

/// The session id in a session's file name.
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
    fn files_are_named_by_project_time_and_id() {
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
