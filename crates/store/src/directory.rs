//! The location of session files: `<data>/sessions/--path-to-project--/<timestamp>_<uuidv7>.jsonl`.
//!
//! A folder that the user chooses for new sessions is a link in `<data>/sessions`: lists, searches, checkpoints and the
//! trash find its sessions like all others.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use osier_base::private;

use osier_protocol::Header;

/// File extension of sessions. Drafts and torn ends append another one.
pub const EXTENSION: &str = "jsonl";

/// The start of the name of a link to a folder that the user chose.
pub const LINK_PREFIX: &str = "--link-";

/// The directory of all sessions, with one subdirectory per project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirectory {
    root: PathBuf,
    /// The link to the folder of new sessions, in place of one by project.
    place: Option<PathBuf>,
}

impl SessionDirectory {
    /// `data` is osier's data directory. Creates nothing.
    pub fn new(data: &Path) -> Self {
        Self {
            root: data.join("sessions"),
            place: None,
        }
    }

    /// This directory, with new sessions in `folder`, an absolute path. Creates the folder and its link.
    ///
    /// # Errors
    /// One of them cannot be created.
    pub fn placed_in(self, folder: &Path) -> io::Result<Self> {
        private::create_folder(&self.root)?;
        private::create_folder(folder)?;
        let folder = folder.canonicalize()?;
        let name = project_name(&folder);
        let mut number = 1;
        let link = loop {
            let link = self.root.join(format!("{LINK_PREFIX}{number}{name}"));
            match link.read_link() {
                Ok(target) if target == folder => break link,
                // Another folder, whose path has the same name.
                Ok(_) => number += 1,
                Err(_) => match symlink(&folder, &link) {
                    // Another process has created it.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    created => {
                        created?;
                        break link;
                    }
                },
            }
        };
        let place = Some(link);
        Ok(Self { place, ..self })
    }

    /// Whether the sessions of each project have a folder of their own.
    pub(super) fn has_folder_by_project(&self) -> bool {
        self.place.is_none()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder with the sessions of the project at `cwd`: the folder for new sessions, if there
    /// is one. Two projects can share a folder (`/a/b` and `/a-b`); the header names the right one.
    pub fn project(&self, cwd: &Path) -> PathBuf {
        let place = self.place.clone();
        place.unwrap_or_else(|| self.root.join(project_name(cwd)))
    }

    /// The path of the new session with `header`.
    pub fn path_for(&self, header: &Header) -> PathBuf {
        let timestamp = header.timestamp.replace([':', '.'], "-");
        self.project(Path::new(&header.cwd))
            .join(format!("{timestamp}_{}.{EXTENSION}", header.id))
    }
}

/// `/home/me/project` as `--home-me-project--`. Long names lose their front: the end of a path is more specific.
pub(super) fn project_name(cwd: &Path) -> String {
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
    fn new_sessions_are_in_the_chosen_folder_and_lists_have_them() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        let header = Header::with_id("0199".into(), "t".into(), Path::new("/work"));
        let folders = ["a/b", "a-b"].map(|name| place.path().join(name));
        for folder in &folders {
            let directory = SessionDirectory::new(&data).placed_in(folder).unwrap();
            // The link of an earlier run is used again.
            assert_eq!(
                SessionDirectory::new(&data).placed_in(folder).unwrap(),
                directory
            );
            let path = directory.path_for(&header);
            assert!(path.starts_with(data.join("sessions")), "{path:?}");
            let mut line = serde_json::to_vec(&header).unwrap();
            line.push(b'\n');
            osier_base::atomic_file::write(&path, &line).unwrap();
            assert!(folder.join("t_0199.jsonl").is_file());
            assert_eq!(
                directory.latest(Path::new("/work")).unwrap().unwrap().path,
                path
            );
            assert_eq!(directory.latest(Path::new("/other")).unwrap(), None);
        }
        let all = SessionDirectory::new(&data)
            .list(crate::Scope::All)
            .unwrap();
        assert_eq!(all.len(), 2);
    }

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
