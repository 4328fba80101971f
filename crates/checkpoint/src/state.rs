//! A state as a value: the content of every recorded path. Stored by directory, so that states share unchanged
//! directories.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::objects::{Hash, Objects};

/// The id of a state: its hash in hex.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct StateId(pub(super) Hash);

impl fmt::Display for StateId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl fmt::Debug for StateId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl FromStr for StateId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hash = Hash::parse(text).ok_or_else(|| format!("`{text}` is not a valid state"))?;
        Ok(Self(hash))
    }
}

impl TryFrom<String> for StateId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<StateId> for String {
    fn from(id: StateId) -> Self {
        id.to_string()
    }
}

/// The content of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A file: permission bits and content.
    File { mode: u32, content: Hash },
    /// A symbolic link; the object contains its target.
    Link { target: Hash },
    /// A file without recorded content; `mark` changes with the file.
    NotRecorded { mark: u64 },
}

/// All recorded paths, relative to the working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) paths: BTreeMap<PathBuf, Content>,
}

impl State {
    /// Stores the state and returns its id.
    pub(super) fn store(&self, objects: &Objects) -> io::Result<StateId> {
        let mut root = Directory::default();
        for (path, contents) in &self.paths {
            root.insert(path, *contents);
        }
        root.store(objects).map(StateId)
    }

    /// Loads the state `id`.
    pub(super) fn load(objects: &Objects, id: StateId) -> io::Result<Self> {
        let mut state = Self::default();
        let mut left = vec![(PathBuf::new(), id.0)];
        while let Some((folder, hash)) = left.pop() {
            for line in parse(&objects.get(hash)?)? {
                let path = folder.join(OsStr::from_bytes(&line.name));
                match line.node {
                    Node::Directory(hash) => left.push((path, hash)),
                    Node::Content(contents) => {
                        state.paths.insert(path, contents);
                    }
                }
            }
        }
        Ok(state)
    }
}

/// Objects that must stay. A file can have the same bytes as a directory, so both kinds are separate: only
/// directories have contents.
#[derive(Debug, Default)]
pub(super) struct Needed {
    directories: HashSet<Hash>,
    others: HashSet<Hash>,
}

impl Needed {
    pub(super) fn has(&self, hash: Hash) -> bool {
        self.directories.contains(&hash) || self.others.contains(&hash)
    }

    pub(super) fn extend(&mut self, more: Self) {
        self.directories.extend(more.directories);
        self.others.extend(more.others);
    }

    /// Total bytes, by the sizes of existing objects.
    pub(super) fn bytes(&self, sizes: &HashMap<Hash, u64>) -> u64 {
        let twice = |hash: &&Hash| !self.directories.contains(*hash);
        let all = self
            .directories
            .iter()
            .chain(self.others.iter().filter(twice));
        all.filter_map(|hash| sizes.get(hash)).sum()
    }
}

/// The objects of `states` that are not in `known`. Skips damaged and missing ones.
pub(super) fn needed_by(objects: &Objects, states: &[StateId], known: &Needed) -> Needed {
    let mut needed = Needed::default();
    let mut left: Vec<Hash> = states.iter().map(|state| state.0).collect();
    while let Some(hash) = left.pop() {
        if known.directories.contains(&hash) || !needed.directories.insert(hash) {
            continue;
        }
        let bytes = objects.get(hash).unwrap_or_default();
        for line in parse(&bytes).unwrap_or_default() {
            match line.node {
                Node::Directory(hash) => left.push(hash),
                Node::Content(
                    Content::File { content: hash, .. } | Content::Link { target: hash },
                ) => {
                    needed.others.insert(hash);
                }
                Node::Content(Content::NotRecorded { .. }) => {}
            }
        }
    }
    needed
}

/// The entries of one directory.
#[derive(Debug, Default)]
struct Directory {
    contents: BTreeMap<Vec<u8>, Content>,
    below: BTreeMap<Vec<u8>, Directory>,
}

impl Directory {
    fn insert(&mut self, path: &Path, contents: Content) {
        let mut at = self;
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            let name = name.as_bytes().to_vec();
            if names.peek().is_none() {
                at.contents.insert(name, contents);
                return;
            }
            at = at.below.entry(name).or_default();
        }
    }

    /// Recursion depth is limited by the length of paths.
    fn store(&self, objects: &Objects) -> io::Result<Hash> {
        let mut bytes = Vec::new();
        for (name, directory) in &self.below {
            let hash = directory.store(objects)?;
            write_line(&mut bytes, name, format_args!("d {hash}"));
        }
        for (name, contents) in &self.contents {
            match contents {
                Content::File { mode, content } => {
                    write_line(&mut bytes, name, format_args!("f {content} {mode:o}"));
                }
                Content::Link { target } => {
                    write_line(&mut bytes, name, format_args!("l {target}"));
                }
                Content::NotRecorded { mark } => {
                    write_line(&mut bytes, name, format_args!("n {mark:x}"));
                }
            }
        }
        objects.put(&bytes)
    }
}

/// Appends one record: kind, tab, name, NUL. A name can contain any other byte.
fn write_line(bytes: &mut Vec<u8>, name: &[u8], what: fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = bytes.write_fmt(what);
    bytes.push(b'\t');
    bytes.extend_from_slice(name);
    bytes.push(0);
}

struct Line {
    name: Vec<u8>,
    node: Node,
}

enum Node {
    Directory(Hash),
    Content(Content),
}

fn parse(bytes: &[u8]) -> io::Result<Vec<Line>> {
    let lines = bytes.split(|byte| *byte == 0);
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| {
            parse_line(line).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "a stored state is damaged")
            })
        })
        .collect()
}

fn parse_line(line: &[u8]) -> Option<Line> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let name = line[tab + 1..].to_vec();
    // A `..` in a name would write outside of the directory.
    if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
        return None;
    }
    let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let (kind, word) = (words.next()?, words.next()?);
    let node = match kind {
        "d" => Node::Directory(Hash::parse(word)?),
        "l" => Node::Content(Content::Link {
            target: Hash::parse(word)?,
        }),
        "n" => Node::Content(Content::NotRecorded {
            mark: u64::from_str_radix(word, 16).ok()?,
        }),
        "f" => Node::Content(Content::File {
            content: Hash::parse(word)?,
            mode: u32::from_str_radix(words.next()?, 8).ok()? & 0o7777,
        }),
        _ => return None,
    };
    Some(Line { name, node })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let file = |mode, text: &str| Content::File {
            mode,
            content: Hash::of(text.as_bytes()),
        };
        let paths = [
            ("a/b/deep.rs", file(0o644, "one")),
            ("a/run.sh", file(0o755, "two")),
            (
                "a/link",
                Content::Link {
                    target: Hash::of(b"run.sh"),
                },
            ),
            ("huge.bin", Content::NotRecorded { mark: 77 }),
            ("odd\nname\t", file(0o600, "")),
        ];
        State {
            paths: paths
                .into_iter()
                .map(|(path, contents)| (PathBuf::from(path), contents))
                .collect(),
        }
    }

    #[test]
    fn state_round_trips_and_shares_unchanged_directories() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::new(folder.path().to_path_buf());
        let mut state = state();
        let id = state.store(&objects).unwrap();
        assert_eq!(State::load(&objects, id).unwrap(), state);
        assert_eq!(id.to_string().parse(), Ok(id));

        let count = || walk(folder.path());
        let before = count();
        state.paths.insert(
            "new.txt".into(),
            Content::File {
                mode: 0o644,
                content: Hash::of(b""),
            },
        );
        assert_ne!(state.store(&objects).unwrap(), id);
        // Only the root is new.
        assert_eq!(count(), before + 1);
    }

    fn walk(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        entries
            .map(|entry| std::fs::read_dir(entry.path()).unwrap().count())
            .sum()
    }

    #[test]
    fn names_outside_of_the_directory_are_rejected() {
        let hash = Hash::of(b"");
        for name in ["..", ".", "a/b", ""] {
            let line = format!("f {hash} 644\t{name}");
            assert!(parse_line(line.as_bytes()).is_none(), "{name}");
        }
        assert!(parse(b"f zz 644\tname\0").is_err());
    }
}
