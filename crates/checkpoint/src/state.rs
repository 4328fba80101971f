//! A state as a value: what every covered path holds. Stored directory by directory, so that states
//! share whatever did not change.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::objects::{Hash, Objects};

/// The name of a state: its hash in hex.
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
        let hash = Hash::parse(text).ok_or_else(|| format!("`{text}` names no state"))?;
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

/// What one path holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// A file: permission bits and content.
    File { mode: u32, content: Hash },
    /// A symbolic link; the object is where it points.
    Link { target: Hash },
    /// A file that is not kept, by a mark that changes when it does.
    NotKept { mark: u64 },
}

/// Every covered path of a working directory, relative to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) paths: BTreeMap<PathBuf, Held>,
}

impl State {
    /// Stores the state and names it.
    pub(super) fn store(&self, objects: &Objects) -> io::Result<StateId> {
        let mut root = Directory::default();
        for (path, held) in &self.paths {
            root.insert(path, *held);
        }
        root.store(objects).map(StateId)
    }

    /// The state called `id`.
    pub(super) fn load(objects: &Objects, id: StateId) -> io::Result<Self> {
        let mut state = Self::default();
        let mut left = vec![(PathBuf::new(), id.0)];
        while let Some((folder, hash)) = left.pop() {
            for line in parse(&objects.get(hash)?)? {
                let path = folder.join(OsStr::from_bytes(&line.name));
                match line.node {
                    Node::Directory(hash) => left.push((path, hash)),
                    Node::Held(held) => {
                        state.paths.insert(path, held);
                    }
                }
            }
        }
        Ok(state)
    }
}

/// Objects that have to stay. A file may hold what a directory holds, byte by byte, so they are told
/// apart: only directories were looked into.
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

    /// Together, by the sizes of those that are there.
    pub(super) fn bytes(&self, sizes: &HashMap<Hash, u64>) -> u64 {
        let twice = |hash: &&Hash| !self.directories.contains(*hash);
        let all = self
            .directories
            .iter()
            .chain(self.others.iter().filter(twice));
        all.filter_map(|hash| sizes.get(hash)).sum()
    }
}

/// What `states` hold and `known` does not say yet. What is damaged or gone holds nothing.
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
                Node::Held(Held::File { content: hash, .. } | Held::Link { target: hash }) => {
                    needed.others.insert(hash);
                }
                Node::Held(Held::NotKept { .. }) => {}
            }
        }
    }
    needed
}

/// The names of one directory.
#[derive(Debug, Default)]
struct Directory {
    held: BTreeMap<Vec<u8>, Held>,
    below: BTreeMap<Vec<u8>, Directory>,
}

impl Directory {
    fn insert(&mut self, path: &Path, held: Held) {
        let mut at = self;
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            let name = name.as_bytes().to_vec();
            if names.peek().is_none() {
                at.held.insert(name, held);
                return;
            }
            at = at.below.entry(name).or_default();
        }
    }

    /// As deep as the paths are, which the system bounds.
    fn store(&self, objects: &Objects) -> io::Result<Hash> {
        let mut bytes = Vec::new();
        for (name, directory) in &self.below {
            let hash = directory.store(objects)?;
            write_line(&mut bytes, name, format_args!("d {hash}"));
        }
        for (name, held) in &self.held {
            match held {
                Held::File { mode, content } => {
                    write_line(&mut bytes, name, format_args!("f {content} {mode:o}"));
                }
                Held::Link { target } => write_line(&mut bytes, name, format_args!("l {target}")),
                Held::NotKept { mark } => write_line(&mut bytes, name, format_args!("n {mark:x}")),
            }
        }
        objects.put(&bytes)
    }
}

/// A line: what it is, a tab, its name, a NUL: a name may hold anything else.
fn write_line(bytes: &mut Vec<u8>, name: &[u8], what: fmt::Arguments<'_>) {
    // A vector takes everything.
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
    Held(Held),
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
    // A name that climbs would be written outside.
    if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
        return None;
    }
    let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let (kind, word) = (words.next()?, words.next()?);
    let node = match kind {
        "d" => Node::Directory(Hash::parse(word)?),
        "l" => Node::Held(Held::Link {
            target: Hash::parse(word)?,
        }),
        "n" => Node::Held(Held::NotKept {
            mark: u64::from_str_radix(word, 16).ok()?,
        }),
        "f" => Node::Held(Held::File {
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
        let file = |mode, text: &str| Held::File {
            mode,
            content: Hash::of(text.as_bytes()),
        };
        let paths = [
            ("a/b/deep.rs", file(0o644, "one")),
            ("a/run.sh", file(0o755, "two")),
            (
                "a/link",
                Held::Link {
                    target: Hash::of(b"run.sh"),
                },
            ),
            ("huge.bin", Held::NotKept { mark: 77 }),
            ("odd\nname\t", file(0o600, "")),
        ];
        State {
            paths: paths
                .into_iter()
                .map(|(path, held)| (PathBuf::from(path), held))
                .collect(),
        }
    }

    #[test]
    fn a_state_comes_back_and_shares_what_did_not_change() {
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
            Held::File {
                mode: 0o644,
                content: Hash::of(b""),
            },
        );
        assert_ne!(state.store(&objects).unwrap(), id);
        // The root alone is new.
        assert_eq!(count(), before + 1);
    }

    fn walk(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        entries
            .map(|entry| std::fs::read_dir(entry.path()).unwrap().count())
            .sum()
    }

    #[test]
    fn names_that_climb_are_damage() {
        let hash = Hash::of(b"");
        for name in ["..", ".", "a/b", ""] {
            let line = format!("f {hash} 644\t{name}");
            assert!(parse_line(line.as_bytes()).is_none(), "{name}");
        }
        assert!(parse(b"f zz 644\tname\0").is_err());
    }
}
