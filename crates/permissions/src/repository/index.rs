//! The index of a repository: its entries that are repositories of their own, and odd names.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::aspects::is_plain_name;
use osier_base::regular_file;

/// Maximum bytes of an index.
const LIMIT: u64 = 32 * 1024 * 1024;

/// Maximum number of indexes whose facts are remembered.
const MOST_KNOWN: usize = 64;
/// Mode of an entry that is itself a repository.
const LINK_MODE: u32 = 0o160_000;

/// Facts about the entries of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// The paths of entries that are repositories.
    pub links: Vec<String>,
    pub has_odd_names: bool,
}

/// The facts about the index at `path`, whose hashes have `hash` bytes. `None` if it cannot be read.
pub(super) fn read(path: &Path, hash: usize) -> Option<Index> {
    // Programs cannot set the time of the last inode change, and a new file has a new one.
    type State = (u64, i64, i64, u64);
    type Seen = HashMap<PathBuf, (State, Option<Index>)>;
    static SEEN: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);
    let Ok(data) = path.metadata() else {
        return Some(Index::default());
    };
    let state = (data.ino(), data.ctime(), data.ctime_nsec(), data.len());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = seen.get(path).filter(|(known, _)| *known == state) {
        return found.clone();
    }
    let bytes = regular_file::read(path, LIMIT).ok();
    let found = bytes.and_then(|bytes| parse(&bytes, hash));
    if seen.len() >= MOST_KNOWN {
        seen.clear();
    }
    seen.insert(path.to_owned(), (state, found.clone()));
    found
}

/// Reads the entries of an index. `None` if it is not understood.
fn parse(index: &[u8], hash: usize) -> Option<Index> {
    let number = |at: usize| {
        let bytes = index.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    if index.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    let mut found = Index::default();
    for _ in 0..count {
        let mode = number(at + 24)?;
        let flags = at + 40 + hash;
        let is_extended = index.get(flags)? & 0x40 != 0;
        let mut start = flags + if is_extended { 4 } else { 2 };
        if version == 4 {
            let (removed, length) = varint(index.get(start..)?)?;
            start += length;
            name.truncate(name.len().checked_sub(removed)?);
        } else {
            name.clear();
        }
        let rest = index.get(start..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend(&rest[..length]);
        let text = String::from_utf8_lossy(&name);
        found.has_odd_names |= !is_plain_name(&text);
        if mode == LINK_MODE {
            found.links.push(String::from_utf8(name.clone()).ok()?);
        }
        let end = start + length;
        // Other versions pad entries to a multiple of 8 bytes.
        at = if version == 4 {
            end + 1
        } else {
            at + (end - at + 8) / 8 * 8
        };
    }
    // A split index has its other entries in another file.
    while index.len().saturating_sub(at) > hash {
        let name = index.get(at..at + 4)?;
        (name != b"link").then_some(())?;
        at = at.checked_add(8 + usize::try_from(number(at + 4)?).ok()?)?;
    }
    Some(found)
}

/// A number in the encoding of the index, and its length.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut at = 0;
    while bytes.get(at)? & 0x80 != 0 {
        at += 1;
        value = ((value.checked_add(1)?) << 7) | usize::from(bytes.get(at)? & 0x7f);
        (at < 6).then_some(())?;
    }
    Some((value, at + 1))
}
