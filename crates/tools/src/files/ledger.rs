//! The last known state of each file in this session, to detect external changes before they are overwritten.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::encoding::decode;
use osier_agent::FileTarget;
use osier_base::atomic_file::Name;
use osier_base::file_stamp::FileStamp;
use osier_base::regular_file;

/// Files up to this size are identified by their contents; larger ones by size and time.
pub(crate) const MAX_HASHED: u64 = 64 * 1024 * 1024;
/// Files up to this size are compared again just before writing: timestamps are too coarse for two writers
/// within one clock tick.
const MAX_COMPARED: usize = 4 * 1024 * 1024;
/// Texts up to this size are kept to compare a changed file with, up to this many bytes in all.
const MAX_TEXT: usize = 1024 * 1024;
const MAX_TEXTS: usize = 32 * 1024 * 1024;

/// Identifies a state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: FileStamp,
    /// Hash of the contents; not set for a large file.
    hash: Option<u64>,
}

impl Stamp {
    /// The stamp of a file whose complete contents were hashed.
    pub(crate) fn hashed(metadata: &Metadata, hash: &ContentHash) -> Self {
        Self {
            file: FileStamp {
                size: hash.length,
                ..FileStamp::of(metadata)
            },
            hash: (hash.length <= MAX_HASHED).then(|| hash.hasher.finish()),
        }
    }

    pub(crate) fn of(metadata: &Metadata, contents: &[u8]) -> Self {
        let mut hash = ContentHash::default();
        hash.update(contents);
        Self::hashed(metadata, &hash)
    }

    /// The stamp of a file larger than `MAX_HASHED`.
    pub(crate) fn large(metadata: &Metadata) -> Self {
        Self {
            file: FileStamp::of(metadata),
            hash: None,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.file.size
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.file.size == 0
    }

    /// Whether `path` is still the same file, with these `contents` if they are known. A rename
    /// changes the time of the last change of metadata, so the contents of the file decide, whatever their size.
    pub(crate) fn matches(&self, path: &Path, name: Name, contents: Option<&[u8]>) -> bool {
        let Ok(mut now) = FileStamp::at(path) else {
            return false;
        };
        let is_renamed = name == Name::Temporary;
        if is_renamed {
            now.changed = self.file.changed;
        }
        let known = contents.filter(|contents| is_renamed || contents.len() <= MAX_COMPARED);
        now == self.file
            && known.is_none_or(|known| {
                let now = regular_file::read_last(path, known.len() as u64);
                now.is_ok_and(|now| now == known)
            })
    }

    /// Contents decide when they are known: a file that was only touched is the same.
    fn is_same(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(left), Some(right)) => self.file.size == other.file.size && left == right,
            _ => self.file == other.file,
        }
    }
}

/// An incremental hash of contents.
#[derive(Debug, Default)]
pub(crate) struct ContentHash {
    hasher: DefaultHasher,
    length: u64,
    /// The contents, while they are short.
    contents: Vec<u8>,
}

impl ContentHash {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.length <= MAX_HASHED {
            self.hasher.write(bytes);
        }
        if self.length <= MAX_TEXT as u64 {
            self.contents.extend_from_slice(bytes);
        } else {
            self.contents = Vec::new();
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The hashed text, if it is short.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        let decoded = self.short().and_then(decode);
        Some(decoded.filter(|decoded| decoded.is_exact)?.text)
    }

    /// Whether the hashed contents are known to be no UTF-8.
    pub(crate) fn is_not_utf8(&self) -> bool {
        self.short()
            .is_some_and(|contents| str::from_utf8(contents).is_err())
    }

    /// The hashed contents, if they are short.
    fn short(&self) -> Option<&[u8]> {
        let is_complete = self.contents.len() as u64 == self.length;
        is_complete.then_some(&self.contents)
    }
}

/// The known state compared to the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Never read in this session.
    Unread,
    /// Unchanged since it was last read or written here.
    Fresh,
    /// Changed only by a command of the model.
    ByCommand,
    /// Changed by another program.
    Changed,
    /// The path leads to another file.
    OtherFile,
}

/// The known files of a session.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<KnownFiles>);

#[derive(Debug, Default)]
struct KnownFiles {
    /// By the resolved path.
    states: HashMap<PathBuf, Known>,
    /// The resolved target of each path when it was last used.
    places: HashMap<PathBuf, PathBuf>,
    /// Bytes of all texts.
    text_bytes: usize,
    /// The number of records so far.
    records: u64,
}

#[derive(Debug, Clone)]
struct Known {
    stamp: Stamp,
    /// The text, to find changes.
    text: Option<Arc<str>>,
    /// A command of the model changed the file without naming it: the model does not know the contents.
    by_command: bool,
    /// Another program changed the file too: the stamp is not that of the file.
    is_outdated: bool,
    /// The last change by another program that the model knows about, or by a restore.
    told: Option<OtherChange>,
    /// osier restored an earlier state for the user, which the model does not know yet.
    is_restored: bool,
    /// The time of the record: the number of records until then.
    record: u64,
}

/// The change of a file by another program.
#[derive(Debug, Clone, Copy)]
enum OtherChange {
    Changed(Stamp),
    Removed,
}

impl OtherChange {
    /// The present state of `path`.
    fn now(path: &Path) -> Self {
        state_of(path).map_or(Self::Removed, |(stamp, _)| Self::Changed(stamp))
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Changed(one), Self::Changed(other)) => one.is_same(other),
            (Self::Removed, Self::Removed) => true,
            _ => false,
        }
    }
}

/// The known files that changed without the model, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    /// Files that another program changed or removed.
    pub by_others: Vec<PathBuf>,
    /// Files that osier restored to an earlier state for the user.
    pub restored: Vec<PathBuf>,
}

impl KnownFiles {
    fn insert(&mut self, path: PathBuf, mut known: Known) {
        self.records += 1;
        known.record = self.records;
        self.text_bytes += known.text_bytes();
        if let Some(old) = self.states.insert(path, known) {
            self.text_bytes -= old.text_bytes();
        }
        while self.text_bytes > MAX_TEXTS {
            let with_text = self
                .states
                .values_mut()
                .filter(|known| known.text.is_some());
            let Some(oldest) = with_text.min_by_key(|known| known.record) else {
                return;
            };
            self.text_bytes -= oldest.text_bytes();
            oldest.text = None;
        }
    }
}

impl Known {
    fn new(stamp: Stamp, text: Option<&str>) -> Self {
        Self {
            stamp,
            text: text.filter(|text| text.len() <= MAX_TEXT).map(Arc::from),
            by_command: false,
            is_outdated: false,
            told: None,
            is_restored: false,
            record: 0,
        }
    }

    fn text_bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, KnownFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the session knows the file in the state `stamp`, with its text if the file is a text.
    pub(crate) fn record(&self, target: &FileTarget, stamp: Stamp, text: Option<&str>) {
        self.insert(target, Known::new(stamp, text));
    }

    fn insert(&self, target: &FileTarget, known: Known) {
        let mut seen = self.lock();
        let (named, host) = (target.named.clone(), target.host.clone());
        seen.places.insert(named, host.clone());
        seen.insert(host, known);
    }

    /// Records an edit, after which the model knows `text`. `is_outdated` if the file has another text.
    pub(crate) fn record_edit(
        &self,
        target: &FileTarget,
        stamp: Stamp,
        text: &str,
        is_outdated: bool,
    ) {
        let old = self.lock().states.get(&target.host).cloned();
        let known = Known {
            // The model still does not know all of it.
            by_command: old.is_some_and(|known| known.by_command),
            is_outdated,
            ..Known::new(stamp, Some(text))
        };
        self.insert(target, known);
    }

    /// Forgets a file that no longer exists.
    pub(crate) fn forget(&self, target: &FileTarget) {
        let mut seen = self.lock();
        if let Some(known) = seen.states.remove(&target.host) {
            seen.text_bytes -= known.text_bytes();
        }
        seen.places.retain(|_, host| *host != target.host);
    }

    /// Compares the state `now` with the last known one. A path with another target now, because a link
    /// replaced a file or a directory, has changed.
    pub(crate) fn freshness(&self, target: &FileTarget, now: &Stamp) -> Freshness {
        let seen = self.lock();
        let then = seen.places.get(&target.named);
        if then.is_some_and(|then| *then != target.host) {
            return Freshness::OtherFile;
        }
        match seen.states.get(&target.host) {
            None => Freshness::Unread,
            Some(then) if then.is_outdated || !then.stamp.is_same(now) => Freshness::Changed,
            Some(then) if then.by_command => Freshness::ByCommand,
            Some(_) => Freshness::Fresh,
        }
    }

    /// The known files, the most recent first.
    pub(crate) fn recent(&self, limit: usize) -> Vec<PathBuf> {
        let seen = self.lock();
        let states = seen.states.iter();
        let mut files: Vec<(u64, &PathBuf)> =
            states.map(|(path, known)| (known.record, path)).collect();
        osier_base::sort::by_key(&mut files, |(record, _)| std::cmp::Reverse(*record));
        let files = files.into_iter().take(limit);
        files.map(|(_, path)| path.clone()).collect()
    }

    /// The text of the file in its last known state.
    pub(crate) fn known_text(&self, target: &FileTarget) -> Option<Arc<str>> {
        self.lock().states.get(&target.host)?.text.clone()
    }

    /// The known files that are unchanged: before a command runs.
    pub(crate) fn unchanged(&self) -> Vec<PathBuf> {
        let states: Vec<(PathBuf, Stamp)> = {
            let seen = self.lock();
            let states = seen.states.iter().filter(|(_, known)| !known.is_outdated);
            states
                .map(|(path, known)| (path.clone(), known.stamp))
                .collect()
        };
        let is_unchanged = |(path, stamp): &(PathBuf, Stamp)| stamp.matches(path, Name::Own, None);
        let unchanged = states.into_iter().filter(is_unchanged);
        unchanged.map(|(path, _)| path).collect()
    }

    /// Records that osier restored `path`, so that the change is not one of another program. The model is notified, unless
    /// the change `is_expected`, because the conversation went back as well.
    pub(crate) fn restored(&self, target: &FileTarget, is_expected: bool) {
        let now = OtherChange::now(&target.host);
        if let Some(known) = self.lock().states.get_mut(&target.host) {
            let is_known = now.is_same(&OtherChange::Changed(known.stamp));
            known.is_restored = !is_expected && !is_known;
            known.told = Some(now);
        }
    }

    /// The known files that changed without the model since the last call.
    pub(crate) fn changed(&self) -> ChangedFiles {
        let states: Vec<(PathBuf, Known)> = {
            let seen = self.lock();
            let states = seen.states.iter().filter(|(_, known)| !known.is_outdated);
            states
                .map(|(path, known)| (path.clone(), known.clone()))
                .collect()
        };
        let mut changed = ChangedFiles::default();
        for (path, known) in states {
            let last = known.told.unwrap_or(OtherChange::Changed(known.stamp));
            let is_unchanged = match &last {
                OtherChange::Changed(last) => last.matches(&path, Name::Own, None),
                OtherChange::Removed => fs::symlink_metadata(&path).is_err(),
            };
            if is_unchanged && !known.is_restored {
                continue;
            }
            let now = OtherChange::now(&path);
            let is_same = last.is_same(&now);
            let mut seen = self.lock();
            let current = seen.states.get_mut(&path);
            let Some(current) = current.filter(|current| current.record == known.record) else {
                continue;
            };
            current.told = Some(now);
            current.is_restored = false;
            if !is_same {
                changed.by_others.push(path);
            } else if known.is_restored {
                changed.restored.push(path);
            }
        }
        changed.by_others.sort_unstable();
        changed.restored.sort_unstable();
        changed
    }

    /// Records the changes of a command that has ended. The files `before` were unchanged before the command ran, so it
    /// changed those that differ now. The model knows the contents of the files with the names `named`.
    pub(crate) fn record_command(&self, before: Vec<PathBuf>, named: &[String]) {
        for path in before {
            let known = self.lock().states.get(&path).cloned();
            let known = known.filter(|known| !known.is_outdated);
            let Some(known) = known.filter(|known| !known.stamp.matches(&path, Name::Own, None))
            else {
                continue;
            };
            let Some((stamp, text)) = state_of(&path) else {
                continue;
            };
            let is_named = path
                .file_name()
                .is_some_and(|name| named.iter().any(|named| name == named.as_str()));
            let known = Known {
                by_command: known.by_command || !(is_named || known.stamp.is_same(&stamp)),
                ..Known::new(stamp, text.as_deref())
            };
            self.lock().insert(path, known);
        }
    }
}

/// The present state of a file that is no link.
pub(crate) fn state_of(path: &Path) -> Option<(Stamp, Option<String>)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_HASHED {
        return None;
    }
    let contents = regular_file::read_last(path, MAX_HASHED).ok()?;
    let stamp = Stamp::of(&metadata, &contents);
    let decoded = decode(&contents).filter(|decoded| decoded.is_exact);
    Some((stamp, decoded.map(|decoded| decoded.text.into_owned())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::files::target::{NamedFile, resolve};
    use osier_agent::FileUse;
    use osier_base::atomic_file;

    #[test]
    fn contents_determine_whether_a_file_changed() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        let stamp = |contents: &[u8]| {
            atomic_file::write(&path, contents).unwrap();
            Stamp::of(&fs::metadata(&path).unwrap(), contents)
        };
        let ledger = Ledger::default();
        let target = |given: &str| {
            let named = NamedFile::new(given, FileUse::Write);
            resolve(&named, dir.path(), None)
        };
        let first = stamp(b"one");
        assert_eq!(ledger.freshness(&target("f"), &first), Freshness::Unread);
        ledger.record(&target("f"), first, None);
        assert_eq!(
            ledger.freshness(&target("f"), &stamp(b"one")),
            Freshness::Fresh
        );
        assert_eq!(
            ledger.freshness(&target("f"), &stamp(b"two")),
            Freshness::Changed
        );
        assert_eq!(
            ledger.freshness(&target("./f"), &stamp(b"one")),
            Freshness::Fresh
        );
    }

    #[test]
    fn a_stamp_matches_the_same_file_and_contents() {
        let dir = TempDir::new().unwrap();
        let (path, link) = (dir.path().join("f"), dir.path().join("link"));
        atomic_file::write(&path, b"one").unwrap();
        let stamp = Stamp::of(&fs::metadata(&path).unwrap(), b"one");
        assert!(stamp.matches(&path, Name::Own, Some(b"one")));
        // Within one clock tick, only the contents differ.
        assert!(!stamp.matches(&path, Name::Own, Some(b"two")));
        std::os::unix::fs::symlink("f", &link).unwrap();
        assert!(!stamp.matches(&link, Name::Own, None));
        atomic_file::write(&path, b"one").unwrap();
        assert!(!stamp.matches(&path, Name::Own, None));
        fs::remove_file(&path).unwrap();
        assert!(!stamp.matches(&path, Name::Own, None));
    }
}
