//! The stored index: a head with a checksum, then the blocks of [`Index`]. A damaged file, or one of another version, is
//! as good as none.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use osier_base::{atomic_file, hex, regular_file};
use sha2::{Digest as _, Sha256};

use crate::index::{FileState, Index, Row, range};
use crate::kind::Kind;
use crate::language::LANGUAGES;
use osier_base::file_stamp::FileStamp;

/// The version of the format. Increase it also when the scan finds other names.
const VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"osiermap";
const HEAD: usize = 8 + 4 + 4 + 4 * 4 + 1;
const ROW: usize = 6 * 4 + 4 * 8 + 4 + 2;
/// A larger index is not stored.
const SIZE_LIMIT: u64 = 256 << 20;
/// Maximum number of stored maps of other projects.
const FILES: usize = 32;

/// The file for the project `root` in the folder of maps.
pub(crate) fn file(folder: &Path, root: &Path) -> PathBuf {
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    folder.join(format!("{}.map", hex::hex(&hash[..16])))
}

pub(crate) fn load(file: &Path) -> Option<Index> {
    let file = regular_file::open(file).ok()?;
    let size = file.metadata().ok()?.len();
    if size > SIZE_LIMIT {
        return None;
    }
    // The buffer is allocated at once: growing would copy it.
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(SIZE_LIMIT).read_to_end(&mut bytes).ok()?;
    decode(&bytes)
}

/// Stores the index and removes the oldest maps of other projects. Errors are ignored: it is only a cache.
pub(crate) fn save(file: &Path, index: &Index) {
    let bytes = encode(index);
    if bytes.len() as u64 > SIZE_LIMIT {
        return;
    }
    if atomic_file::write_with(file, &bytes, atomic_file::Options::PRIVATE).is_ok()
        && let Some(folder) = file.parent()
    {
        remove_old(folder);
    }
}

fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut maps: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "map"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    maps.sort_unstable();
    let extra = maps.len().saturating_sub(FILES);
    for (_, path) in &maps[..extra] {
        let _ = fs::remove_file(path);
    }
}

fn kinds() -> u32 {
    (LANGUAGES.len() as u32) << 8 | Kind::Macro as u32
}

pub(crate) fn encode(index: &Index) -> Vec<u8> {
    let size = HEAD
        + index.rows.len() * ROW
        + index.paths.len()
        + index.definitions.len()
        + index.uses.len() * 4;
    let mut bytes = Vec::with_capacity(size);
    bytes.extend(MAGIC);
    bytes.extend((VERSION << 16 ^ kinds()).to_le_bytes());
    bytes.extend([0; 4]);
    let lengths = [
        index.rows.len(),
        index.paths.len(),
        index.definitions.len(),
        index.uses.len(),
    ];
    for length in lengths {
        bytes.extend((length as u32).to_le_bytes());
    }
    bytes.push(u8::from(index.is_cut));
    for row in &index.rows {
        for (start, length) in [row.path, row.definitions, row.uses] {
            bytes.extend(start.to_le_bytes());
            bytes.extend(length.to_le_bytes());
        }
        let FileStamp {
            size,
            modified,
            changed,
            inode,
        } = row.version;
        for number in [size, modified as u64, changed as u64, inode] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(row.rank.to_le_bytes());
        bytes.extend([row.language, row.state as u8]);
    }
    bytes.extend(index.paths.as_bytes());
    bytes.extend(&index.definitions);
    for number in &index.uses {
        bytes.extend(number.to_le_bytes());
    }
    let sum = crc32fast::hash(&bytes[16..]);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    bytes
}

pub(crate) fn decode(bytes: &[u8]) -> Option<Index> {
    let mut reader = Reader(bytes);
    if reader.split(8)? != MAGIC || reader.number()? != VERSION << 16 ^ kinds() {
        return None;
    }
    if reader.number()? != crc32fast::hash(bytes.get(16..)?) {
        return None;
    }
    let mut lengths = [0; 4];
    for length in &mut lengths {
        *length = reader.number()? as usize;
    }
    let [count, paths, definitions, uses] = lengths;
    let is_cut = reader.split(1)? == [1];
    let rows = reader.split(count.checked_mul(ROW)?)?;
    let rows: Option<Vec<Row>> = rows.chunks_exact(ROW).map(row).collect();
    let index = Index {
        rows: rows?,
        paths: std::str::from_utf8(reader.split(paths)?).ok()?.to_owned(),
        definitions: reader.split(definitions)?.to_vec(),
        uses: reader
            .split(uses.checked_mul(4)?)?
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect(),
        is_cut,
    };
    let is_inside = |row: &Row| {
        index.paths.get(range(row.path)).is_some()
            && range(row.definitions).end <= index.definitions.len()
            && range(row.uses).end <= index.uses.len()
            && row.rank.is_finite()
    };
    index.rows.iter().all(is_inside).then_some(index)
}

fn row(bytes: &[u8]) -> Option<Row> {
    let mut reader = Reader(bytes);
    let mut span = || Some((reader.number()?, reader.number()?));
    let (path, definitions, uses) = (span()?, span()?, span()?);
    let mut long = || Some(u64::from_le_bytes(reader.split(8)?.try_into().ok()?));
    let version = FileStamp {
        size: long()?,
        modified: long()?.cast_signed(),
        changed: long()?.cast_signed(),
        inode: long()?,
    };
    let rank = f32::from_bits(reader.number()?);
    let [language, state] = *reader.split(2)? else {
        return None;
    };
    let state = FileState::numbered(state)?;
    Some(Row {
        path,
        definitions,
        uses,
        version,
        rank,
        language,
        state,
    })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn split(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        let four = self.split(4)?;
        Some(u32::from_le_bytes(four.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::NO_LANGUAGE;

    fn index() -> Index {
        let mut index = Index::default();
        let row = Row {
            path: (0, 0),
            definitions: (0, 0),
            uses: (0, 0),
            version: FileStamp {
                size: 7,
                modified: -1,
                changed: -2,
                inode: 3,
            },
            rank: 1.5,
            language: 2,
            state: FileState::Scanned,
        };
        index.push("a/é.ts", &[1, 2, 3], &[7, 9], row);
        let other = Row {
            language: NO_LANGUAGE,
            state: FileState::Skipped,
            ..row
        };
        index.push("b", &[], &[], other);
        index
    }

    #[test]
    fn an_index_is_read_as_it_was_stored() {
        let index = index();
        let read = decode(&encode(&index)).unwrap();
        assert_eq!(format!("{read:?}"), format!("{index:?}"));
    }

    #[test]
    fn a_damaged_index_is_none() {
        let bytes = encode(&index());
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_none(), "{length} bytes");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x55;
            assert!(decode(&damaged).is_none(), "byte {place}");
        }
    }

    #[test]
    fn a_forged_index_with_a_correct_sum_reads_nothing_outside() {
        let bytes = encode(&index());
        for place in 16..bytes.len() {
            let mut forged = bytes.clone();
            forged[place] = 0xff;
            let sum = crc32fast::hash(&forged[16..]);
            forged[12..16].copy_from_slice(&sum.to_le_bytes());
            let Some(index) = decode(&forged) else {
                continue;
            };
            for row in &index.rows {
                let _ = (index.path(row), index.definitions(row), index.uses(row));
            }
        }
    }

    #[test]
    fn the_oldest_maps_of_other_projects_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..FILES + 3 {
            let root = PathBuf::from(format!("/project/{number}"));
            save(&file(folder.path(), &root), &index());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), FILES);
        let last = file(folder.path(), Path::new(&format!("/project/{}", FILES + 2)));
        assert!(load(&last).is_some());
    }
}
