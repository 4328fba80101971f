//! The draft of a prompt, stored next to the sessions so that a crash, a kill or a closed window loses at most a
//! moment of it.
//!
//! `<data>/drafts` has one file per session, locked while its osier runs and updated in place with one write. A
//! server's session has one file per screen. A draft belongs to its session; the draft of a session that was never
//! stored is restored in the same directory.

mod recorder;

use osier_base::sort;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_agent::{Attachment, UserMessage};
use serde::{Deserialize, Serialize};

pub use self::recorder::PromptDraftRecorder;

use crate::{SESSION_EXTENSION, SessionDirectory};
use osier_base::locked_file::{self, LockedFile};
use osier_base::parts::Parts;
use osier_base::pending_file::PendingFile;
use osier_base::private;
use osier_base::regular_file;
use osier_base::text::head_bytes;

/// Maximum bytes of a stored draft.
const LIMIT: usize = 16 << 20;
/// Maximum bytes of the attached files that are stored.
const FILES_LIMIT: usize = 24 << 20;
/// Maximum number of screens of one session with a stored draft.
const SCREENS: usize = 8;

/// A draft and its session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Stored")]
pub struct PromptDraft {
    /// Id of the session.
    pub session: String,
    /// The session's working directory.
    pub cwd: String,
    pub text: Parts,
    /// The files that are attached to the prompt.
    pub files: Arc<Vec<Attachment>>,
    /// The prompts that wait for the model: the text and the files begin with theirs.
    pub queued: Vec<Queued>,
}

/// A prompt that waits for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    bytes: usize,
    files: usize,
    timestamp: i64,
}

/// Between two queued prompts, and before the draft.
const BETWEEN: &str = "\n\n";

impl PromptDraft {
    /// The prompts that wait for the model, and the draft without them.
    pub fn split(mut self) -> (Vec<UserMessage>, Self) {
        let text = self.text.to_string();
        let mut files = Arc::unwrap_or_clone(std::mem::take(&mut self.files)).into_iter();
        let (mut start, mut messages) = (0_usize, Vec::new());
        for queued in std::mem::take(&mut self.queued) {
            let end = start.saturating_add(queued.bytes);
            let Some(prompt) = text.get(start..end) else {
                break;
            };
            start = text.len().min(end + BETWEEN.len());
            messages.push(UserMessage {
                text: prompt.to_owned(),
                attachments: files.by_ref().take(queued.files).collect(),
                timestamp: queued.timestamp,
                ..UserMessage::default()
            });
        }
        let pastes = self.text.pastes().into_iter();
        let pastes = pastes.filter_map(|(at, length)| Some((at.checked_sub(start)?, length)));
        let pastes: Vec<_> = pastes.collect();
        self.text = Parts::with_pastes(text.get(start..).unwrap_or_default(), &pastes);
        self.files = Arc::new(files.collect());
        (messages, self)
    }
}

/// The contents of a draft file.
#[derive(Serialize, Deserialize)]
struct Stored {
    session: String,
    cwd: String,
    /// The pastes in the text: first byte and length of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pastes: Vec<(usize, usize)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queued: Vec<Queued>,
    /// The last field, so that typing after a paste changes only the end of the file.
    text: Parts,
}

impl Stored {
    /// Cuts the draft to the stored size.
    fn of(draft: &PromptDraft) -> Self {
        let (mut text, mut pastes) = (draft.text.clone(), draft.text.pastes());
        if text.len() > LIMIT {
            text = head_bytes(&text.to_string(), LIMIT).into();
            pastes.retain(|(start, length)| start + length <= text.len());
        }
        Self {
            session: draft.session.clone(),
            cwd: draft.cwd.clone(),
            pastes,
            queued: draft.queued.clone(),
            text,
        }
    }
}

impl From<Stored> for PromptDraft {
    fn from(stored: Stored) -> Self {
        Self {
            session: stored.session,
            cwd: stored.cwd,
            text: Parts::with_pastes(&stored.text.to_string(), &stored.pastes),
            files: Arc::default(),
            queued: stored.queued,
        }
    }
}

/// The draft file of one session, open for writing.
#[derive(Debug)]
pub struct PromptDraftFile {
    path: PathBuf,
    file: LockedFile,
    /// The contents that this process wrote.
    written: Vec<u8>,
    /// The attached files that it wrote.
    files: Arc<Vec<Attachment>>,
}

impl PromptDraftFile {
    /// Opens or creates a draft file of the session `id` in `folder` that no other process has locked. Fails if all
    /// of them are locked.
    pub fn open(folder: &Path, id: &str) -> io::Result<Self> {
        private::create_folder(folder)?;
        let mut failed = None;
        for path in paths_of(folder, id) {
            let file = regular_file::open_own(&path, Some(private::FILE_MODE))?;
            match locked_file::try_lock(&file) {
                Ok(true) => {
                    return Ok(Self {
                        path,
                        file: file.into(),
                        written: Vec::new(),
                        files: Arc::default(),
                    });
                }
                Ok(false) => failed = Some(io::ErrorKind::WouldBlock.into()),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::Error::other("no file")))
    }

    /// Replaces the contents, from the first different byte. Returns the number of bytes written. If the disk is full,
    /// the contents stay.
    pub fn write(&mut self, draft: &PromptDraft) -> io::Result<usize> {
        // The files of a draft that is being restored stay until the draft is recorded.
        let have_none = self.files.is_empty() && draft.files.is_empty();
        if !have_none && !Arc::ptr_eq(&self.files, &draft.files) {
            write_files(&self.path, &draft.files)?;
            self.files = Arc::clone(&draft.files);
        }
        let mut bytes = serde_json::to_vec(&Stored::of(draft))?;
        bytes.push(b'\n');
        let before = self.written.iter();
        let same = before
            .zip(&bytes)
            .take_while(|(old, new)| old == new)
            .count();
        reserve(&self.file, bytes.len())?;
        // Readers parse only the first value, so the rest of a longer one is harmless.
        let written = self.file.write_all_at(&bytes[same..], same as u64);
        if let Err(error) = written {
            // A file system that cannot reserve space: the previous contents have theirs.
            let _ = self.file.write_all_at(&self.written[same..], same as u64);
            let _ = self.file.set_len(self.written.len() as u64);
            return Err(error);
        }
        self.file.set_len(bytes.len() as u64)?;
        let count = bytes.len() - same;
        self.written = bytes;
        Ok(count)
    }

    /// Removes the file.
    pub fn remove(self) {
        // The files may not exist.
        let _ = std::fs::remove_file(files_of(&self.path));
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The attached files of the draft at `path`: apart, because they are large and change rarely.
fn files_of(path: &Path) -> PathBuf {
    path.with_extension("files")
}

/// Stores the attached files of the draft at `path`.
fn write_files(path: &Path, files: &[Attachment]) -> io::Result<()> {
    let path = files_of(path);
    let size = files.iter().map(|file| file.content.len()).sum::<usize>();
    if files.is_empty() || size > FILES_LIMIT {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = PendingFile::create(folder, private::FILE_MODE)?;
    file.file().write_all_at(&serde_json::to_vec(files)?, 0)?;
    file.persist(&path).map(drop)
}

/// Reads the attached files of the draft at `path`. If they are missing, the text still names them.
fn read_files(path: &Path) -> Arc<Vec<Attachment>> {
    let limit = 2 * FILES_LIMIT as u64;
    let text = regular_file::read_text(&files_of(path), limit);
    let files = text.ok().and_then(|text| serde_json::from_str(&text).ok());
    Arc::new(files.unwrap_or_default())
}

/// Moves a draft with its attached files.
fn rename(from: &Path, to: &Path) {
    // After a failure it is found again where it is.
    let _ = std::fs::rename(files_of(from), files_of(to));
    let _ = std::fs::rename(from, to);
}

/// Removes the draft of the session `id` that an earlier run left, unless another osier has it open.
pub fn forget(folder: &Path, id: &str) {
    if paths_of(folder, id).any(|path| path.exists())
        && let Ok(file) = PromptDraftFile::open(folder, id)
    {
        file.remove();
    }
}

/// The session whose draft [`find`] looks for.
#[derive(Debug, Clone, Copy)]
pub struct DraftQuery<'a> {
    /// Id of the session.
    pub session: &'a str,
    pub cwd: &'a str,
    /// The session has no entries yet, so it can take over the draft of a session that was never stored.
    pub is_new: bool,
}

/// Finds the draft of a session, or, for a new session, the draft of one in the same directory that was never
/// stored. The file stays until the text is sent or changed.
pub fn find(data: &Path, folder: &Path, query: DraftQuery<'_>) -> Option<PromptDraft> {
    let DraftQuery {
        session: id,
        cwd,
        is_new,
    } = query;
    // Also in a session without messages: its first prompt may have been undone.
    let own = paths_of(folder, id).find_map(|path| Some((read(&path)?, path)));
    if let Some((mut draft, path)) = own {
        draft.files = read_files(&path);
        // Move it to the first free file, where the next write goes.
        if let Some(free) = paths_of(folder, id).find(|free| *free == path || !free.exists())
            && free != path
        {
            rename(&path, &free);
        }
        return Some(draft);
    }
    if !is_new {
        return None;
    }
    let sessions = SessionDirectory::new(data).project(Path::new(cwd));
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "json")
        })
        .filter_map(|entry| {
            let draft = read(&entry.path()).filter(|draft| draft.cwd == cwd)?;
            let written = entry.metadata().ok()?.modified().ok()?;
            (!is_stored(&sessions, &draft.session)).then_some((written, entry.path(), draft))
        })
        .collect();
    sort::by_key(&mut found, |(written, ..)| *written);
    let (_, path, mut draft) = found.pop()?;
    draft.files = read_files(&path);
    // Continue under the new session's id.
    rename(&path, &path_of(folder, id));
    Some(draft)
}

/// Reserves space for the first `length` bytes, where the file system can.
fn reserve(file: &File, length: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        let reserved = fallocate(file, FallocateFlags::KEEP_SIZE, 0, length as u64);
        if let Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) = reserved {
            return Err(error.into());
        }
    }
    Ok(())
}

fn path_of(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// One path per screen.
fn paths_of(folder: &Path, id: &str) -> impl Iterator<Item = PathBuf> {
    let others = (2..=SCREENS).map(move |screen| format!("{id}.{screen}"));
    let names = std::iter::once(id.to_owned()).chain(others);
    names.map(move |name| path_of(folder, &name))
}

/// Reads the file, without the attached files, unless the osier that wrote it still runs.
fn read(path: &Path) -> Option<PromptDraft> {
    let mut file = regular_file::open_plain(path).ok()?;
    if !locked_file::try_share(&file).ok()? {
        return None;
    }
    let mut text = String::new();
    file.by_ref()
        .take(8 * LIMIT as u64)
        .read_to_string(&mut text)
        .ok()?;
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<PromptDraft>();
    let draft = values.next()?.ok()?;
    (!draft.text.to_string().trim().is_empty()).then_some(draft)
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

    pub(super) fn draft(text: &str) -> PromptDraft {
        PromptDraft {
            session: "1".into(),
            cwd: "/work".into(),
            text: text.into(),
            ..PromptDraft::default()
        }
    }

    fn found(data: &Path, session: &str, cwd: &str, is_new: bool) -> Option<PromptDraft> {
        let query = DraftQuery {
            session,
            cwd,
            is_new,
        };
        find(data, &data.join("drafts"), query)
    }

    #[test]
    fn draft_of_an_ended_process_is_restored_but_not_of_a_running_one() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let of = |id, new| found(data.path(), id, "/work", new);
        assert_eq!(of("1", false), None);
        let mut file = PromptDraftFile::open(&folder, "1").unwrap();
        let long = "a long text ".repeat(50);
        assert_eq!(file.write(&draft(&long)).unwrap(), 640);
        // Only the difference is written.
        assert_eq!(file.write(&draft(&format!("{long}!"))).unwrap(), 4);
        assert_eq!(file.write(&draft("short")).unwrap(), 8);
        assert_eq!(of("1", false), None);
        assert_eq!(of("2", true), None);
        drop(file);
        assert_eq!(of("1", false), Some(draft("short")));
        assert_eq!(found(data.path(), "2", "/elsewhere", true), None);
        assert_eq!(of("2", true), Some(draft("short")));
        // The draft now belongs to the session in which it was restored, even before that session writes anything.
        assert_eq!(of("2", false), Some(draft("short")));
        forget(&folder, "2");
        assert_eq!(of("2", false), None);
        assert_eq!(of("3", true), None);
    }

    #[test]
    fn pastes_are_restored() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let mut long = draft("see ");
        long.text.push("line\n".repeat(20).into(), true);
        long.text.push(" and say".into(), false);
        let mut file = PromptDraftFile::open(&folder, "1").unwrap();
        file.write(&long).unwrap();
        // Typing after the paste does not move it.
        long.text.push("!".into(), false);
        assert_eq!(file.write(&long).unwrap(), 4);
        drop(file);
        let restored = found(data.path(), "1", "/work", false).unwrap();
        assert_eq!(restored.text.pastes(), [(4, 100)]);
        assert_eq!(restored.text.to_string(), long.text.to_string());
    }

    fn picture(name: &str, bytes: usize) -> Attachment {
        Attachment {
            id: name.into(),
            kind: osier_agent::AttachmentKind::Image,
            file_name: name.into(),
            mime_type: "image/png".into(),
            size: bytes as u64,
            content: "A".repeat(bytes),
            extracted_text: None,
        }
    }

    #[test]
    fn attached_files_and_long_pastes_are_restored() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let mut file = PromptDraftFile::open(&folder, "1").unwrap();
        let mut stored = draft("see ");
        stored.text.push("pasted ".repeat(700_000).into(), true);
        stored.text.push(" [picture 1: a.png]".into(), false);
        stored.files = Arc::new(vec![picture("a.png", 3 << 20)]);
        file.write(&stored).unwrap();
        stored.text.push(" more".into(), false);
        // The files are not written again.
        assert_eq!(file.write(&stored).unwrap(), 8);
        drop(file);
        let of = |id, is_new| found(data.path(), id, "/work", is_new);
        let restored = of("1", false).unwrap();
        assert_eq!(restored.text.to_string(), stored.text.to_string());
        assert_eq!(restored.text.pastes(), stored.text.pastes());
        assert_eq!(restored.files, stored.files);
        // A new session takes over the draft with its files.
        assert_eq!(of("2", true).unwrap().files, stored.files);
        assert_eq!(of("2", false).unwrap().files, stored.files);

        let mut file = PromptDraftFile::open(&folder, "2").unwrap();
        stored.files = Arc::new(vec![picture("large.png", FILES_LIMIT + 1)]);
        file.write(&stored).unwrap();
        drop(file);
        let restored = of("2", false).unwrap();
        assert_eq!(restored.files.len(), 0);
        assert_eq!(restored.text.to_string(), stored.text.to_string());
        forget(&folder, "2");
        let left = std::fs::read_dir(&folder).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left, [""; 0]);
    }

    #[test]
    fn each_screen_of_a_session_has_its_own_draft() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let found_again = || found(data.path(), "1", "/work", false);
        let mut one = PromptDraftFile::open(&folder, "1").unwrap();
        one.write(&draft("of the first")).unwrap();
        let mut two = PromptDraftFile::open(&folder, "1").unwrap();
        two.write(&draft("of the second")).unwrap();
        assert_eq!(found_again(), None);
        drop(two);
        assert_eq!(found_again(), Some(draft("of the second")));
        // A file that is being written is not found by others.
        let two = PromptDraftFile::open(&folder, "1").unwrap();
        assert_eq!(found_again(), None);
        one.remove();
        drop(two);
        assert_eq!(found_again(), Some(draft("of the second")));
        // The draft moved to the file of the next writer, so it is found only once.
        forget(&folder, "1");
        assert_eq!(found_again(), None);
        let others: Vec<PromptDraftFile> = (0..SCREENS)
            .map(|_| PromptDraftFile::open(&folder, "1").unwrap())
            .collect();
        assert!(PromptDraftFile::open(&folder, "1").is_err());
        drop(others);
    }

    #[test]
    fn draft_of_a_stored_session_waits_for_that_session() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("drafts");
        let project = SessionDirectory::new(data.path()).project(Path::new("/work"));
        std::fs::create_dir_all(&project).unwrap();
        File::create(project.join("2026_1.jsonl")).unwrap();
        PromptDraftFile::open(&folder, "1")
            .unwrap()
            .write(&draft("typed"))
            .unwrap();
        assert_eq!(found(data.path(), "2", "/work", true), None);
        // The first prompt of a session may have been undone, so that the session has no messages.
        for has_no_messages in [false, true] {
            assert_eq!(
                found(data.path(), "1", "/work", has_no_messages),
                Some(draft("typed"))
            );
        }
        // The remains of a killed write.
        std::fs::OpenOptions::new()
            .write(true)
            .open(folder.join("1.json"))
            .unwrap()
            .set_len(20)
            .unwrap();
        assert_eq!(found(data.path(), "1", "/work", false), None);
    }
}
