//! The repository in which a command runs git. The configuration of a repository names programs that git runs, also for
//! `git status`; a folder of a project can be a repository of its own, which nobody has reviewed.

mod config;
mod index;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use config::{is_plain, settings};
use index::Index;
use osier_base::real_path;
use osier_base::regular_file::{self, ReadError};

/// Maximum bytes of a configuration or a pointer file.
const FILE_LIMIT: u64 = 64 * 1024;
/// Maximum number of nested repositories whose configuration is read.
const MOST_MODULES: usize = 64;
/// Bytes of a hash, and those of a repository with `objectFormat = sha256`.
const HASH: usize = 20;
const LONG_HASH: usize = 32;

/// Why git that runs in `folder` can run code that nobody has reviewed, in a session in `cwd`.
pub(super) fn foreign(folder: &Path, cwd: &Path) -> Option<String> {
    if folder == cwd {
        return None;
    }
    let here = find(&real_path::resolve(folder).real)?;
    let own = find(cwd);
    if own.as_ref() == Some(&here) {
        return None;
    }
    if !here.is_unclear && own.is_some_and(|own| own.has_module(&here)) {
        return None;
    }
    let shown = osier_base::path::display(&here.root, cwd);
    Some(format!(
        "`{shown}` is another repository: git runs the programs in its configuration"
    ))
}

/// The answers about folders that were found during one judgement.
#[derive(Debug, Default)]
pub(super) struct Seen(HashMap<PathBuf, Option<String>>);

impl Seen {
    /// Why git in the repository of `folder`, or in one that is a part of it, runs configured programs.
    pub(super) fn runs_programs(&mut self, folder: &Path) -> Option<String> {
        if let Some(known) = self.0.get(folder) {
            return known.clone();
        }
        let found = runs_programs(folder);
        self.0.insert(folder.to_owned(), found.clone());
        found
    }
}

fn runs_programs(folder: &Path) -> Option<String> {
    let mut left = vec![find(&real_path::resolve(folder).real)?];
    let mut seen = 0;
    while let Some(here) = left.pop() {
        seen += 1;
        if seen > MOST_MODULES {
            return Some(format!(
                "the repository has more than {MOST_MODULES} submodules"
            ));
        }
        let settings = match here.settings() {
            Ok(settings) => settings,
            Err(why) => return Some(why),
        };
        if let Some(why) = here.program(&settings) {
            return Some(why);
        }
        let Some(index) = here.index(&settings) else {
            return Some("the index of the repository cannot be read".to_owned());
        };
        let modules = index.links.iter().map(|link| here.root.join(link));
        left.extend(modules.filter_map(|module| find_at(&real_path::resolve(&module).real)));
    }
    None
}

/// Whether each name in the index of the repository of `folder` is one word, and no option.
pub(super) fn has_plain_names(folder: &Path) -> bool {
    let Some(here) = find(&real_path::resolve(folder).real) else {
        return true;
    };
    let index = here.settings().ok();
    let index = index.and_then(|settings| here.index(&settings));
    index.is_some_and(|index| !index.has_odd_names)
}

/// Whether an address in the settings of git, those of the repository of `folder` or of the user, contains a password.
pub(super) fn has_password(folder: &Path) -> bool {
    configurations(folder)
        .iter()
        .any(|file| file_has_password(file))
}

/// The files with the settings of git that apply in `folder`.
pub(super) fn configurations(folder: &Path) -> Vec<PathBuf> {
    let here = find(&real_path::resolve(folder).real);
    let own = here.into_iter().flat_map(|here| {
        [
            here.common.join("config"),
            here.folder.join("config.worktree"),
        ]
    });
    let home = std::env::home_dir().unwrap_or_default();
    let user = [
        home.join(".gitconfig"),
        home.join(".config/git/config"),
        "/etc/gitconfig".into(),
    ];
    own.chain(user).collect()
}

/// Whether the file has settings of git with a password in an address.
pub(super) fn shows_password(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_settings = match name {
        Some(".gitconfig") => true,
        Some("config" | "config.worktree") => {
            let is_repository = |part: std::path::Component| part.as_os_str() == ".git";
            path.components().any(is_repository) || path.ends_with(".config/git/config")
        }
        _ => false,
    };
    is_settings && file_has_password(path)
}

fn file_has_password(file: &Path) -> bool {
    let text = match regular_file::read(file, FILE_LIMIT) {
        Ok(text) => text,
        Err(ReadError::Missing) => return false,
        Err(_) => return true,
    };
    let settings = settings(&String::from_utf8_lossy(&text));
    settings.is_none_or(|settings| {
        let mut texts = settings.iter().flat_map(|(name, value)| [name, value]);
        texts.any(|text| is_with_password(text))
    })
}

/// Whether a text contains an address with a password. The user name of an SSH address is no
/// password.
fn is_with_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user = host.rsplit_once('@').map(|(user, _)| user);
        let is_ssh = text.contains("ssh://");
        user.is_some_and(|user| !is_ssh || user.contains(':'))
    })
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Repository {
    /// The folder with `.git`.
    root: PathBuf,
    /// The directory with the index of the working tree.
    folder: PathBuf,
    /// The directory with the configuration of the repository.
    common: PathBuf,
    /// Whether git could use another repository, such as one above this one.
    is_unclear: bool,
}

/// The repository around `folder`.
fn find(folder: &Path) -> Option<Repository> {
    folder.ancestors().find_map(find_at)
}

/// The repository at `root`.
fn find_at(root: &Path) -> Option<Repository> {
    let git = root.join(".git");
    let folder = match git.metadata() {
        Ok(data) if data.is_file() => {
            let named = pointer(&git);
            let named = named
                .as_deref()
                .and_then(|text| text.strip_prefix("gitdir: "));
            Some(named.map_or_else(|| git.clone(), |named| root.join(named)))
        }
        Ok(_) => Some(git),
        // A link to nothing, or a directory that cannot be searched.
        Err(_) if git.symlink_metadata().is_ok() => Some(git),
        Err(_) => is_bare(root).then(|| root.to_owned()),
    };
    let folder = real_path::resolve(&folder?).real;
    let named = folder.join("commondir");
    let (common, is_named) = if is_missing(&named) {
        (folder.clone(), true)
    } else if let Some(common) = pointer(&named) {
        (real_path::resolve(&folder.join(common)).real, true)
    } else {
        (folder.clone(), false)
    };
    Some(Repository {
        is_unclear: !is_named || !is_complete(&folder, &common),
        root: root.to_owned(),
        folder,
        common,
    })
}

/// Whether no file has this name.
fn is_missing(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Whether git uses a directory as a bare repository if it finds it.
fn is_bare(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Whether git uses the repository instead of searching above it.
fn is_complete(folder: &Path, common: &Path) -> bool {
    let head = folder.join("HEAD");
    let is_link = head.symlink_metadata().is_ok_and(|data| data.is_symlink());
    let head = regular_file::read(&head, FILE_LIMIT).unwrap_or_default();
    let is_hash =
        |text: &[u8]| text.len() >= 2 * HASH && text[..2 * HASH].iter().all(u8::is_ascii_hexdigit);
    // Looking up `.` succeeds only in a directory that can be searched.
    let is_open = |name: &str| common.join(name).join(".").metadata().is_ok();
    !is_link
        && (head.starts_with(b"ref: refs/") || is_hash(&head))
        && is_open("objects")
        && is_open("refs")
}

/// The text of a file that contains a path, without the line ends after it.
fn pointer(path: &Path) -> Option<String> {
    let text = regular_file::read(path, FILE_LIMIT).ok()?;
    let text = String::from_utf8(text).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

impl Repository {
    /// Whether `other` is a working tree or a submodule of this repository, whose configuration git itself wrote.
    fn has_module(&self, other: &Self) -> bool {
        let modules = self.common.join("modules");
        other.common == self.common || other.common.starts_with(modules)
    }

    /// The settings of the repository, or why they are not known.
    fn settings(&self) -> Result<Vec<(String, String)>, String> {
        if self.is_unclear {
            let shown = osier_base::visible::visible(&self.root.to_string_lossy()).into_owned();
            return Err(format!(
                "`{shown}` has a `.git` that is no complete repository"
            ));
        }
        let mut found = Vec::new();
        for file in [
            self.common.join("config"),
            self.folder.join("config.worktree"),
        ] {
            if is_missing(&file) {
                continue;
            }
            let text = regular_file::read(&file, FILE_LIMIT)
                .map_err(|_| format!("`{}` cannot be read", file.display()))?;
            let settings = settings(&String::from_utf8_lossy(&text));
            found
                .extend(settings.ok_or_else(|| format!("`{}` is not understood", file.display()))?);
        }
        Ok(found)
    }

    /// The setting that runs a program, or that reads files from elsewhere.
    fn program(&self, settings: &[(String, String)]) -> Option<String> {
        let mut hooks = vec![self.common.join("hooks")];
        for (name, value) in settings {
            match name.as_str() {
                "core.hookspath" => hooks.push(osier_base::path::resolve(&self.root, value)),
                "core.worktree" => {
                    let tree = real_path::resolve(&self.folder.join(value)).real;
                    if tree != self.root {
                        return Some("the working tree of this repository is elsewhere".to_owned());
                    }
                }
                _ => {}
            }
            if !is_plain(name, value) {
                let name = osier_base::visible::visible(name).into_owned();
                return Some(format!("git runs what `{name}` of this repository names"));
            }
        }
        // This hook runs after `git status` has refreshed the index.
        let runs = hooks
            .iter()
            .any(|folder| folder.join("post-index-change").symlink_metadata().is_ok());
        runs.then(|| "git runs the hook `post-index-change` of this repository".to_owned())
    }

    /// The facts about the index. Not set if it cannot be read.
    fn index(&self, settings: &[(String, String)]) -> Option<Index> {
        let mut formats = settings
            .iter()
            .filter(|(name, _)| name == "extensions.objectformat");
        let hash = match formats.next().map(|(_, value)| value.as_str()) {
            None | Some("sha1") => HASH,
            Some("sha256") => LONG_HASH,
            Some(_) => return None,
        };
        formats.next().is_none().then_some(())?;
        index::read(&self.folder.join("index"), hash)
    }
}
