//! What was typed and not sent, kept beside the sessions so that a crash, a kill or a closed window costs
//! at most a moment of it.
//!
//! One file a session in `<data>/drafts`, locked as long as its osier runs, written in place with one write; a few where
//! several screens show the same session of a server.
//! It belongs to its session; that of a session which was never stored comes back in the same directory.

mod keeper;

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::keeper::UnsentKeeper;

use crate::{SESSION_EXTENSION, SessionDirectory};
use osier_base::locked_file::HeldFile;
use osier_base::parts::Parts;
use osier_base::text::head_bytes;

/// Bytes that are kept.
const LIMIT: usize = 1 << 20;
/// Screens of one session whose texts are kept.
const SCREENS: usize = 8;

/// What was typed, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Stored")]
pub struct UnsentText {
    /// Id of the session it was typed in.
    pub session: String,
    /// Where that ran.
    pub cwd: String,
    pub text: Parts,
}

/// What stands in a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    session: String,
    cwd: String,
    /// Where the text has pastes: the first byte of each, and its bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pastes: Vec<(usize, usize)>,
    /// The last of the fields, so that most of a file stays as it is while one types behind a paste.
    text: Parts,
}

impl Stored {
    /// As much of it as is kept.
    fn of(unsent: &UnsentText) -> Self {
        let (mut text, mut pastes) = (unsent.text.clone(), unsent.text.pastes());
        if text.len() > LIMIT {
            text = head_bytes(&text.to_string(), LIMIT).into();
            pastes.retain(|(start, length)| start + length <= text.len());
        }
        Self {
            session: unsent.session.clone(),
            cwd: unsent.cwd.clone(),
            pastes,
            text,
        }
    }
}

impl From<Stored> for UnsentText {
    fn from(stored: Stored) -> Self {
        Self {
            session: stored.session,
            cwd: stored.cwd,
            text: Parts::with_pastes(&stored.text.to_string(), &stored.pastes),
        }
    }
}

/// The file of one session, open for writing.
#[derive(Debug)]
pub struct UnsentFile {
    path: PathBuf,
    file: HeldFile,
    /// What stands in it, as far as this process has written it.
    written: Vec<u8>,
}

impl UnsentFile {
    /// A file of the session `id` in `folder` that no other process has, made when it is not there. An error also
    /// while others have all of them.
    pub fn open(folder: &Path, id: &str) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut failed = None;
        for path in paths_of(folder, id) {
            let file = options.open(&path)?;
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Self {
                        path,
                        file: file.into(),
                        written: Vec::new(),
                    });
                }
                Err(error) => failed = Some(error.into()),
            }
        }
        Err(failed.unwrap_or_else(|| io::Error::other("no file")))
    }

    /// Puts `unsent` in place of what it holds, from the first byte that differs; how many were written.
    pub fn write(&mut self, unsent: &UnsentText) -> io::Result<usize> {
        let mut bytes = serde_json::to_vec(&Stored::of(unsent))?;
        bytes.push(b'\n');
        let before = std::mem::take(&mut self.written);
        let same = before
            .iter()
            .zip(&bytes)
            .take_while(|(old, new)| old == new)
            .count();
        // Whoever reads takes the first value: what is left of a longer one behind it does no harm.
        self.file.write_all_at(&bytes[same..], same as u64)?;
        self.file.set_len(bytes.len() as u64)?;
        let count = bytes.len() - same;
        self.written = bytes;
        Ok(count)
    }

    /// Removes it.
    pub fn remove(self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes what an earlier run left of the session `id`, unless another osier has it.
pub fn forget(folder: &Path, id: &str) {
    if paths_of(folder, id).any(|path| path.exists())
        && let Ok(file) = UnsentFile::open(folder, id)
    {
        file.remove();
    }
}

/// What was left unsent in the session `id`; or, for one that is `new`, in one that ran in `cwd` and was
/// never stored. It stays where it is until the text is sent, or written anew.
pub fn find(data: &Path, folder: &Path, (id, cwd, new): (&str, &str, bool)) -> Option<UnsentText> {
    if !new {
        let found = paths_of(folder, id).find_map(|path| Some((read(&path)?, path)));
        let (unsent, path) = found?;
        // It goes on in the first file that is free, as it would be written.
        if let Some(free) = paths_of(folder, id).find(|free| *free == path || !free.exists())
            && free != path
        {
            let _ = std::fs::rename(path, free);
        }
        return Some(unsent);
    }
    let sessions = SessionDirectory::new(data).project(Path::new(cwd));
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let unsent = read(&entry.path()).filter(|unsent| unsent.cwd == cwd)?;
            let written = entry.metadata().ok()?.modified().ok()?;
            (!is_stored(&sessions, &unsent.session)).then_some((written, entry.path(), unsent))
        })
        .collect();
    found.sort_by_key(|(written, ..)| *written);
    let (_, path, unsent) = found.pop()?;
    // It goes on under the new session's id. Where that fails it is found once more.
    let _ = std::fs::rename(path, path_of(folder, id));
    Some(unsent)
}

fn path_of(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// That of each screen.
fn paths_of(folder: &Path, id: &str) -> impl Iterator<Item = PathBuf> {
    let others = (2..=SCREENS).map(move |screen| format!("{id}.{screen}"));
    let names = std::iter::once(id.to_owned()).chain(others);
    names.map(move |name| path_of(folder, &name))
}

/// What stands in the file, unless the osier that wrote it still runs.
fn read(path: &Path) -> Option<UnsentText> {
    let mut file = File::open(path).ok()?;
    file.try_lock_shared().ok()?;
    let mut text = String::new();
    file.by_ref()
        .take(8 * LIMIT as u64)
        .read_to_string(&mut text)
        .ok()?;
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<UnsentText>();
    let unsent = values.next()?.ok()?;
    (!unsent.text.to_string().trim().is_empty()).then_some(unsent)
}

fn is_stored(project: &Path, id: &str) -> bool {
    let ending = format!("_{id}.{SESSION_EXTENSION}");
    let files = std::fs::read_dir(project).into_iter().flatten().flatten();
    files
        .into_iter()
        .any(|entry| entry.file_name().to_string_lossy().ends_with(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn unsent(text: &str) -> UnsentText {
        UnsentText {
            session: "1".into(),
            cwd: "/work".into(),
            text: text.into(),
        }
    }

    #[test]
    fn what_a_process_left_comes_back_and_what_one_has_does_not() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let of = |id, new| find(data.path(), &folder, (id, "/work", new));
        assert_eq!(of("1", false), None);
        let mut file = UnsentFile::open(&folder, "1").unwrap();
        let long = "a long text ".repeat(50);
        assert_eq!(file.write(&unsent(&long)).unwrap(), 640);
        // Only what differs is written.
        assert_eq!(file.write(&unsent(&format!("{long}!"))).unwrap(), 4);
        assert_eq!(file.write(&unsent("short")).unwrap(), 8);
        assert_eq!(of("1", false), None);
        assert_eq!(of("2", true), None);
        drop(file);
        assert_eq!(of("1", false), Some(unsent("short")));
        assert_eq!(find(data.path(), &folder, ("2", "/elsewhere", true)), None);
        assert_eq!(of("2", true), Some(unsent("short")));
        // It belongs to the session it came back in, also before that one has written anything.
        assert_eq!(of("2", false), Some(unsent("short")));
        forget(&folder, "2");
        assert_eq!(of("2", false), None);
        assert_eq!(of("3", true), None);
    }

    #[test]
    fn pastes_come_back_as_such() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let mut long = unsent("see ");
        long.text.push("line\n".repeat(20).into(), true);
        long.text.push(" and say".into(), false);
        let mut file = UnsentFile::open(&folder, "1").unwrap();
        file.write(&long).unwrap();
        // What is typed behind it leaves its place as it is.
        long.text.push("!".into(), false);
        assert_eq!(file.write(&long).unwrap(), 4);
        drop(file);
        let found = find(data.path(), &folder, ("1", "/work", false)).unwrap();
        assert_eq!(found.text.pastes(), [(4, 100)]);
        assert_eq!(found.text.to_string(), long.text.to_string());
    }

    #[test]
    fn each_screen_of_a_session_has_its_own() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let found = || find(data.path(), &folder, ("1", "/work", false));
        let mut one = UnsentFile::open(&folder, "1").unwrap();
        one.write(&unsent("of the first")).unwrap();
        let mut two = UnsentFile::open(&folder, "1").unwrap();
        two.write(&unsent("of the second")).unwrap();
        assert_eq!(found(), None);
        drop(two);
        assert_eq!(found(), Some(unsent("of the second")));
        // Found by nobody else while it is written again.
        let two = UnsentFile::open(&folder, "1").unwrap();
        assert_eq!(found(), None);
        one.remove();
        drop(two);
        assert_eq!(found(), Some(unsent("of the second")));
        // It stands where the next one writes, so that it is not found twice.
        forget(&folder, "1");
        assert_eq!(found(), None);
        let others: Vec<UnsentFile> = (0..SCREENS)
            .map(|_| UnsentFile::open(&folder, "1").unwrap())
            .collect();
        assert!(UnsentFile::open(&folder, "1").is_err());
        drop(others);
    }

    #[test]
    fn that_of_a_stored_session_waits_for_it() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let project = SessionDirectory::new(data.path()).project(Path::new("/work"));
        std::fs::create_dir_all(&project).unwrap();
        File::create(project.join("2026_1.jsonl")).unwrap();
        UnsentFile::open(&folder, "1")
            .unwrap()
            .write(&unsent("typed"))
            .unwrap();
        assert_eq!(find(data.path(), &folder, ("2", "/work", true)), None);
        assert_eq!(
            find(data.path(), &folder, ("1", "/work", false)),
            Some(unsent("typed"))
        );
        // What a kill leaves of a write.
        std::fs::OpenOptions::new()
            .write(true)
            .open(folder.join("1.json"))
            .unwrap()
            .set_len(20)
            .unwrap();
        assert_eq!(find(data.path(), &folder, ("1", "/work", false)), None);
    }
}
