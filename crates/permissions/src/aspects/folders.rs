//! The folders in which a command of a line can run, and the files that its words name there.

use std::path::{Path, PathBuf};

use crate::shell::{GLOB, PIPE, Word};
use osier_base::{path, real_path};

/// Maximum number of folders that are tracked.
const MOST: usize = 16;
/// Maximum number of files that a glob finds, and of entries that are compared with it.
const MOST_FILES: usize = 200;
const MOST_ENTRIES: usize = 4000;

/// The folders in which the commands of a line can run so far.
#[derive(Debug)]
pub(super) struct Folders(Option<Vec<PathBuf>>);

impl Folders {
    pub(super) fn of(cwd: &Path) -> Self {
        Self(Some(vec![cwd.to_owned()]))
    }

    pub(super) fn all_of(folders: Vec<PathBuf>) -> Self {
        Self(Some(folders))
    }

    pub(super) fn unknown() -> Self {
        Self(None)
    }

    /// Adds the target of a `cd`, which can succeed or fail: the commands after it run in one of
    /// the folders.
    pub(super) fn change(&mut self, target: &Word) {
        let Some(moved) = self.within(target) else {
            self.0 = None;
            return;
        };
        if let Some(folders) = &mut self.0 {
            for folder in moved {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
            if folders.len() > MOST {
                self.0 = None;
            }
        }
    }

    pub(super) fn all(&self) -> Option<&[PathBuf]> {
        self.0.as_deref()
    }

    /// The folders that `word` names, relative to these.
    pub(super) fn within(&self, word: &Word) -> Option<Vec<PathBuf>> {
        let texts = texts(word)?;
        // `cd -` and globs can lead anywhere.
        if texts.iter().any(|text| text == "-" || text.contains(GLOB)) {
            return None;
        }
        let folders = self.0.as_ref()?.iter();
        let mut found: Vec<PathBuf> = Vec::new();
        for folder in folders {
            for text in &texts {
                let named = resolve(folder, text);
                // The shell drops `link/..`, and other programs follow the link first.
                let real = text
                    .contains("..")
                    .then(|| real_path::resolve(&folder.join(text)).real);
                found.extend(real.filter(|real| *real != named));
                found.push(named);
            }
        }
        Some(found)
    }

    /// The files that `word` names in these folders: each with the folder and the text.
    pub(super) fn files(&self, word: &Word) -> Option<Vec<(PathBuf, String)>> {
        let texts = texts(word)?;
        let mut found = Vec::new();
        for folder in self.0.as_ref()? {
            for text in &texts {
                if text.contains(GLOB) {
                    let names = expand(folder, text)?;
                    found.extend(names.into_iter().map(|name| (folder.clone(), name)));
                } else {
                    found.push((folder.clone(), text.clone()));
                }
            }
        }
        Some(found)
    }
}

/// The possible texts of a word; `$HOME` and `$PWD` are known.
fn texts(word: &Word) -> Option<Vec<String>> {
    let texts = word.texts();
    if !texts.is_empty() {
        return Some(texts.into_iter().map(str::to_owned).collect());
    }
    let names: Vec<&str> = word.variables().collect();
    let value = match names.as_slice() {
        ["HOME"] => std::env::home_dir()?.to_string_lossy().into_owned(),
        ["PWD"] => ".".to_owned(),
        [PIPE] => "/dev/fd/63".to_owned(),
        _ => return None,
    };
    word.with_value(&value).map(|text| vec![text])
}

/// The path of `text` in `folder`: the shell uses a name literally, except for a `~` at its start.
fn resolve(folder: &Path, text: &str) -> PathBuf {
    if text.starts_with('~') {
        path::resolve(folder, text)
    } else {
        path::resolve(folder, &format!("./{text}").replace(".//", "/"))
    }
}

/// The names that a glob finds in `folder`. Every special part of the glob counts as `*`.
fn expand(folder: &Path, text: &str) -> Option<Vec<String>> {
    let mut found = vec![String::new()];
    let mut entries = 0;
    for (place, part) in text.split('/').enumerate() {
        let mut next = Vec::new();
        for start in &found {
            let join = |name: &str| match (place, start.as_str()) {
                (0, _) => name.to_owned(),
                (_, start) => format!("{start}/{name}"),
            };
            if !part.contains(GLOB) {
                next.push(join(part));
                continue;
            }
            let inside = if place == 0 {
                folder.to_owned()
            } else {
                resolve(folder, &format!("{start}/"))
            };
            for entry in std::fs::read_dir(inside).into_iter().flatten().flatten() {
                entries += 1;
                let name = entry.file_name().to_string_lossy().into_owned();
                if fits(part, &name) {
                    next.push(join(&name));
                }
                if entries > MOST_ENTRIES || next.len() > MOST_FILES {
                    return None;
                }
            }
        }
        found = next;
    }
    Some(found)
}

/// Whether a glob finds `name`. A dot at the start must be written.
fn fits(pattern: &str, name: &str) -> bool {
    (!name.starts_with('.') || pattern.starts_with('.')) && fits_text(pattern, name)
}

/// Like [`fits`], but `GLOB` also matches a dot at the start, as in patterns of `grep`.
pub(in crate::aspects) fn fits_text(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split(GLOB);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
