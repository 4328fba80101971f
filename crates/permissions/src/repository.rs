//! The repository in which a command runs git. The configuration of a repository names programs that git runs, also for
//! `git status`; a folder of a project can be a repository of its own, which nobody has reviewed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use super::aspects::is_plain_name;
use osier_base::real_path;
use osier_base::regular_file;

/// Bytes of a configuration or a pointer file.
const FILE_LIMIT: u64 = 64 * 1024;
/// Bytes of the index of a repository.
const INDEX_LIMIT: u64 = 32 * 1024 * 1024;
/// Mode of an entry of the index that is a repository of its own.
const LINK_MODE: u32 = 0o160_000;

/// Sections of the configuration in which no setting names a program, and settings of other sections that name none.
const PLAIN_SECTIONS: &str = "advice branch color column commit fetch format gc gitreview index init lfs log maintenance pack \
    pull push rebase receive rerere status tag transfer user worktree blame versionsort feature stash grep";
const PLAIN: &str = "core.abbrev core.autocrlf core.bare core.bigfilethreshold core.checkstat core.commentchar \
    core.compression core.deltabasecachelimit core.eol core.excludesfile core.attributesfile core.filemode \
    core.ignorecase core.logallrefupdates core.longpaths core.multipackindex core.precomposeunicode core.preloadindex \
    core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository \
    core.sparsecheckout core.sparsecheckoutcone core.symlinks core.trustctime core.untrackedcache core.whitespace \
    core.hookspath core.hidedotfiles core.usebuiltinfsmonitor core.commitgraph diff.algorithm diff.colormoved \
    diff.colormovedws diff.context diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix diff.noprefix \
    diff.relative diff.renames diff.renamelimit diff.submodule diff.wordregex diff.ignoresubmodules \
    extensions.objectformat extensions.refstorage extensions.worktreeconfig core.worktree extensions.noop extensions.preciousobjects \
    extensions.relativeworktrees extensions.compatobjectformat merge.conflictstyle merge.ff merge.renames merge.stat \
    merge.renamelimit merge.directoryrenames submodule.recurse submodule.active submodule.fetchjobs \
    submodule.propagatebranches http.postbuffer http.version clone.defaultremotename gui.wmstate gui.geometry";
/// Sections with a name in which these settings name no program.
const NAMED: [(&str, &str); 4] = [
    ("branch", "*"),
    (
        "remote",
        "url pushurl fetch push mirror prune prunetags tagopt skipdefaultupdate skipfetchall \
                gh-resolved followremotehead",
    ),
    (
        "submodule",
        "url active branch fetchrecursesubmodules ignore shallow",
    ),
    ("lfs", "*"),
];
/// Settings that name a program, with the values that every installation of Git LFS writes, and of the built-in monitor.
const VALUES: [(&str, &str); 8] = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge --skip -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.process", "git-lfs filter-process --skip"),
    ("filter.lfs.required", "true"),
    ("core.fsmonitor", "true"),
    ("core.fsmonitor", "false"),
];

/// Why git that runs in `folder` can run code that nobody has reviewed, in a session in `cwd`.
pub(super) fn foreign(folder: &Path, cwd: &Path) -> Option<String> {
    if folder == cwd {
        return None;
    }
    let here = find(&real_path::resolve(folder).real)?;
    let own = find(cwd);
    if own.as_ref() == Some(&here) || own.is_some_and(|own| own.has_module(&here)) {
        return None;
    }
    let shown = osier_base::path::display(&here.root, cwd);
    Some(format!(
        "`{shown}` is another repository: git runs the programs in its configuration"
    ))
}

/// Why git in the repository of `folder` runs configured programs.
pub(super) fn runs_programs(folder: &Path) -> Option<String> {
    let here = find(&real_path::resolve(folder).real)?;
    here.program().or_else(|| {
        let Some(index) = here.index() else {
            return Some("the index of the repository cannot be read".to_owned());
        };
        let mut found = index.links.iter().filter_map(|link| {
            let module = find_at(&here.root.join(link))?;
            module.program()
        });
        found.next()
    })
}

/// Whether each name in the index of the repository of `folder` is one word, and no option.
pub(super) fn has_plain_names(folder: &Path) -> bool {
    let here = find(&real_path::resolve(folder).real);
    let index = here.map_or(Some(Index::default()), |here| here.index());
    index.is_some_and(|index| !index.has_odd_names)
}

/// Whether an address in the settings of git, those of the repository of `folder` or of the user, contains a password.
pub(super) fn has_password(folder: &Path) -> bool {
    configurations(folder)
        .iter()
        .any(|file| file_has_password(file))
}

/// The files with the settings of git that hold in `folder`.
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
        Err(regular_file::ReadError::Missing) => return false,
        Err(_) => return true,
    };
    let settings = settings(&String::from_utf8_lossy(&text));
    settings.is_none_or(|settings| {
        let mut texts = settings.iter().flat_map(|(name, value)| [name, value]);
        texts.any(|text| is_with_password(text))
    })
}

/// Whether a text contains an address with a password. The user of SSH is none.
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
    /// The directory with its index.
    folder: PathBuf,
    /// The directory with its configuration.
    common: PathBuf,
}

/// The repository around `folder`.
fn find(folder: &Path) -> Option<Repository> {
    folder.ancestors().find_map(find_at)
}

/// The repository at `root`.
fn find_at(root: &Path) -> Option<Repository> {
    let git = root.join(".git");
    let data = git.metadata().ok();
    let folder = match data {
        Some(data) if data.is_file() => {
            let text = pointer(&git)?;
            real_path::resolve(&root.join(text.strip_prefix("gitdir: ")?)).real
        }
        Some(_) => real_path::resolve(&git).real,
        None if is_bare(root) => root.to_owned(),
        None => return None,
    };
    let common = match pointer(&folder.join("commondir")) {
        Some(common) => real_path::resolve(&folder.join(common)).real,
        None => folder.clone(),
    };
    Some(Repository {
        root: root.to_owned(),
        folder,
        common,
    })
}

fn is_bare(folder: &Path) -> bool {
    ["HEAD", "objects", "refs"]
        .iter()
        .all(|name| folder.join(name).symlink_metadata().is_ok())
}

fn pointer(path: &Path) -> Option<String> {
    let text = regular_file::read(path, FILE_LIMIT).ok()?;
    Some(String::from_utf8(text).ok()?.trim().to_owned())
}

impl Repository {
    /// Whether `other` is a working tree or a submodule of this repository, whose configuration git itself wrote.
    fn has_module(&self, other: &Self) -> bool {
        let modules = self.common.join("modules");
        other.common == self.common || other.common.starts_with(modules)
    }

    /// The setting that runs a program.
    fn program(&self) -> Option<String> {
        let mut files = vec![self.common.join("config")];
        files.extend(
            (self.folder.join("config.worktree").exists())
                .then(|| self.folder.join("config.worktree")),
        );
        let mut hooks = vec![self.common.join("hooks")];
        for file in &files {
            let text = match regular_file::read(file, FILE_LIMIT) {
                Ok(text) => text,
                Err(regular_file::ReadError::Missing) => continue,
                Err(_) => return Some(format!("`{}` cannot be read", file.display())),
            };
            let text = String::from_utf8_lossy(&text);
            let Some(settings) = settings(&text) else {
                return Some(format!("`{}` is not understood", file.display()));
            };
            for (name, value) in settings {
                if name == "core.hookspath" {
                    hooks.push(osier_base::path::resolve(&self.root, &value));
                }
                if !is_plain(&name, &value) {
                    let name = osier_base::visible::visible(&name).into_owned();
                    return Some(format!("git runs what `{name}` of this repository names"));
                }
            }
        }
        // It runs after `git status` has refreshed the index.
        let runs = hooks
            .iter()
            .any(|folder| folder.join("post-index-change").symlink_metadata().is_ok());
        runs.then(|| "git runs the hook `post-index-change` of this repository".to_owned())
    }

    /// The facts about the index. Not set if it cannot be read.
    fn index(&self) -> Option<Index> {
        type Seen = HashMap<PathBuf, ((SystemTime, u64), Option<Index>)>;
        static SEEN: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);
        let index = self.folder.join("index");
        let Ok(data) = index.metadata() else {
            return Some(Index::default());
        };
        let state = (data.modified().ok()?, data.len());
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = seen.get(&index).filter(|(known, _)| *known == state) {
            return found.clone();
        }
        let bytes = regular_file::read(&index, INDEX_LIMIT).ok();
        let found = bytes.and_then(|bytes| read_index(&bytes));
        seen.clear();
        seen.insert(index, (state, found.clone()));
        found
    }
}

/// Facts about the entries of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Index {
    /// The paths of those that are repositories.
    links: Vec<String>,
    has_odd_names: bool,
}

/// Whether a setting names no program that git runs.
pub(super) fn is_plain(name: &str, value: &str) -> bool {
    let has = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let (section, rest) = name.split_once('.').unwrap_or((name, ""));
    let (middle, last) = match rest.rsplit_once('.') {
        Some((middle, last)) => (Some(middle), last),
        None => (None, rest),
    };
    // An alias is no form that is known.
    if section == "alias" {
        return true;
    }
    // `!` begins a command, and `ext::` an address that is one.
    if value.starts_with('!') || value.contains("ext::") {
        return false;
    }
    if VALUES.contains(&(name, value)) || has(PLAIN, name) {
        return true;
    }
    match middle {
        Some(_) => NAMED.iter().any(|(known, settings)| {
            *known == section && (*settings == "*" || has(settings, last))
        }),
        None => has(PLAIN_SECTIONS, section),
    }
}

/// The settings of a configuration file: `section.name.key` with the section and the key in lower case. `None` for a file
/// that is not understood.
pub(super) fn settings(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let (header, after) = header.rsplit_once(']')?;
            if !after.trim().is_empty() && !after.trim().starts_with(['#', ';']) {
                return None;
            }
            section = match header.split_once('"') {
                Some((name, rest)) => {
                    format!("{}.{}", name.trim().to_lowercase(), rest.strip_suffix('"')?)
                }
                None => header.trim().to_lowercase(),
            };
            continue;
        }
        // A continued line could hide a setting.
        if line.ends_with('\\') {
            return None;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = value.trim().trim_matches('"');
        found.push((
            format!("{section}.{}", key.trim().to_lowercase()),
            value.to_owned(),
        ));
    }
    Some(found)
}

/// Reads the entries of an index. `None` if it is not understood.
fn read_index(index: &[u8]) -> Option<Index> {
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
        let is_extended = index.get(at + 60)? & 0x40 != 0;
        let mut start = at + 62 + if is_extended { 2 } else { 0 };
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
            found.links.push(text.into_owned());
        }
        let end = start + length;
        // Other versions pad entries to a multiple of 8 bytes.
        at = if version == 4 {
            end + 1
        } else {
            at + (end - at + 8) / 8 * 8
        };
    }
    // Another file has the other entries of a split index.
    while index.len().saturating_sub(at) > 20 {
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
