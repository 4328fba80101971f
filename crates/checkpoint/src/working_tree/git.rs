//! Runs git and parses its output.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::error::WorkingTreeError;
use osier_base::git::{self, GitError};
use osier_base::process::{QuietError, QuietOutput};

/// Listing the largest repositories takes seconds.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The git mode of a submodule.
pub(super) const SUBMODULE: u32 = 0o160_000;
/// Maximum bytes of a file list.
const LIST: usize = 16 * 1024 * 1024;

/// A path that may differ from the commit, and its content in the commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tracked {
    /// As git writes it; 0 if the path is not in the commit.
    pub(super) mode: u32,
    /// Object name of the content in the commit.
    pub(super) content: String,
    /// The path in the commit if the file was renamed.
    pub(super) from: Option<String>,
}

/// Git in one directory.
#[derive(Debug)]
pub(super) struct Git(git::Git);

impl Git {
    pub(super) async fn open(cwd: &Path) -> Result<Self, WorkingTreeError> {
        git::Git::open(cwd)
            .await
            .map(Self)
            .map_err(|error| match error {
                GitError::NoRepository => WorkingTreeError::NoRepository,
                GitError::Run(error) => error.into(),
                GitError::Config { message } => WorkingTreeError::Git { message },
            })
    }

    async fn run(
        &self,
        arguments: &str,
        input: Option<&[u8]>,
        limit: usize,
    ) -> Result<QuietOutput, WorkingTreeError> {
        let output = self.0.run(arguments.split(' '), input, limit, TIMEOUT);
        Ok(output.await?)
    }

    /// Runs a command that must succeed.
    async fn list(&self, arguments: &str) -> Result<Vec<u8>, WorkingTreeError> {
        let output = self.run(arguments, None, LIST).await?;
        if output.exit.is_success() {
            Ok(output.stdout)
        } else {
            Err(refusal(&output))
        }
    }

    /// The paths that may differ, relative to the directory.
    pub(super) async fn changed(&self) -> Result<BTreeMap<String, Tracked>, WorkingTreeError> {
        let head = "rev-parse --verify --quiet HEAD^{commit}";
        let head = self.run(head, None, LIST).await?;
        match head.exit.code {
            Some(0) => {
                let raw = "diff HEAD --raw -z --no-abbrev --find-renames --relative --no-ext-diff \
                           --no-textconv --ignore-submodules=dirty";
                let mut changed = parse_raw(&self.list(raw).await?);
                let others = self.list("ls-files -z --others --exclude-standard").await?;
                for path in split(&others) {
                    // A file removed only from the index is still compared with the commit.
                    changed.entry(path).or_default();
                }
                Ok(changed)
            }
            // The repository has no commit yet.
            Some(1) => {
                let all = "ls-files -z --cached --others --exclude-standard";
                let all = self.list(all).await?;
                Ok(split(&all).map(|path| (path, Tracked::default())).collect())
            }
            _ => Err(refusal(&head)),
        }
    }

    /// The contents of blobs by their object names. Skips blobs larger than `each`, and all after `all` bytes.
    pub(super) async fn contents(
        &self,
        tracked: &BTreeMap<String, Tracked>,
        each: u64,
        all: u64,
    ) -> Result<BTreeMap<String, Vec<u8>>, WorkingTreeError> {
        let files = tracked.values();
        let files = files.filter(|tracked| tracked.mode != 0 && tracked.mode != SUBMODULE);
        let names: Vec<&str> = files.map(|tracked| tracked.content.as_str()).collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let ask = |names: &[&str]| names.join("\n") + "\n";
        let sizes = self
            .run("cat-file --batch-check", Some(ask(&names).as_bytes()), LIST)
            .await?;
        let mut left = all;
        let sizes = String::from_utf8_lossy(&sizes.stdout).into_owned();
        let small = sizes.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let (name, kind, size) = (words.next()?, words.next()?, words.next()?);
            let size: u64 = size.parse().ok()?;
            (kind == "blob" && size <= each && size <= left).then(|| {
                left -= size;
                name
            })
        });
        let small: Vec<&str> = small.collect();
        // Each blob has an additional header line.
        let limit = usize::try_from(all).unwrap_or(usize::MAX) + small.len() * 128;
        let output = self
            .run("cat-file --batch", Some(ask(&small).as_bytes()), limit)
            .await?;
        Ok(parse_contents(&output.stdout))
    }
}

impl From<QuietError> for WorkingTreeError {
    fn from(error: QuietError) -> Self {
        match error {
            QuietError::NotFound { .. } => Self::NoGit,
            error => Self::Git {
                message: error.to_string(),
            },
        }
    }
}

fn refusal(output: &QuietOutput) -> WorkingTreeError {
    let message = git::first_line(&output.stderr).unwrap_or("no reason given");
    if message.contains("not a git repository") {
        return WorkingTreeError::NoRepository;
    }
    let message = message.to_owned();
    WorkingTreeError::Git { message }
}

/// Splits NUL-terminated paths. Paths that are not UTF-8 are skipped.
fn split(bytes: &[u8]) -> impl Iterator<Item = String> + '_ {
    let paths = bytes.split(|byte| *byte == 0);
    let paths = paths.filter_map(|path| String::from_utf8(path.to_vec()).ok());
    paths.filter(|path| !path.is_empty())
}

/// Parses `:MODE MODE NAME NAME STATUS`, NUL, path, NUL; renamed files have two paths.
fn parse_raw(bytes: &[u8]) -> BTreeMap<String, Tracked> {
    let mut changed = BTreeMap::new();
    let mut parts = bytes.split(|byte| *byte == 0);
    while let Some(part) = parts.next() {
        let Ok(line) = std::str::from_utf8(part) else {
            continue;
        };
        let Some(line) = line.strip_prefix(':') else {
            continue;
        };
        let words: Vec<&str> = line.split(' ').collect();
        let &[mode, _, content, _, status] = words.as_slice() else {
            continue;
        };
        let mut path = || {
            let path = parts.next()?;
            String::from_utf8(path.to_vec()).ok()
        };
        let first = path();
        let moves = status.starts_with(['R', 'C']);
        let (from, path) = if moves {
            (first, path())
        } else {
            (None, first)
        };
        // A conflict has a second record with the content of the commit.
        if let Some(path) = path.filter(|_| !status.starts_with('U')) {
            let tracked = Tracked {
                mode: u32::from_str_radix(mode, 8).unwrap_or_default(),
                content: content.to_owned(),
                from,
            };
            changed.insert(path, tracked);
        }
    }
    changed
}

/// Parses `NAME blob SIZE`, a newline, the bytes, a newline.
fn parse_contents(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        let mut words = line.split(' ');
        let (name, _, size) = (words.next(), words.next(), words.next());
        let size: Option<usize> = size.and_then(|size| size.parse().ok());
        let (Some(name), Some(size)) = (name, size) else {
            break;
        };
        let Some(content) = rest.get(end + 1..end + 1 + size) else {
            break;
        };
        contents.insert(name.to_owned(), content.to_vec());
        rest = rest.get(end + size + 2..).unwrap_or_default();
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_lists_are_parsed() {
        let raw = b":100644 100755 aa 00 M\0a b\0:100644 000000 bb 00 D\0c\0\
                    :100644 100644 cc dd R090\0old\nname\0new\0:000000 000000 00 00 U\0conflict\0";
        let file = |content: &str, from: Option<&str>| Tracked {
            mode: 0o100_644,
            content: content.to_owned(),
            from: from.map(str::to_owned),
        };
        let expected = [
            ("a b".to_owned(), file("aa", None)),
            ("c".to_owned(), file("bb", None)),
            ("new".to_owned(), file("cc", Some("old\nname"))),
        ];
        assert_eq!(parse_raw(raw), BTreeMap::from(expected));
        let expected = [
            ("aa".to_owned(), b"x\ny".to_vec()),
            ("bb".to_owned(), Vec::new()),
        ];
        let answer = b"aa blob 3\nx\ny\nbb blob 0\n\ncc blob 5\nhal";
        assert_eq!(parse_contents(answer), BTreeMap::from(expected));
    }
}
