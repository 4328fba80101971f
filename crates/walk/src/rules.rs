//! The rules that leave entries out of a walk, and the files that contain them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use osier_base::regular_file::{self, ReadError};

use crate::entry::WalkError;

/// Bytes of an ignore file at most.
const LIMIT: u64 = 1 << 20;

/// The name of the folder of a repository.
pub(crate) const GIT: &str = ".git";

/// Which entries a walk leaves out. All walks follow `.gitignore` and `.git/info/exclude`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Leaves out names that begin with a dot.
    pub skips_hidden: bool,
    /// Follows `.rgignore` and `.ignore`, which are for searches.
    pub for_search: bool,
    /// Follows the excludes that the user has set for all repositories.
    pub of_user: bool,
    /// Follows the ignore files of the folders above the root.
    pub from_above: bool,
}

impl Rules {
    /// Rules for the search tools.
    pub const SEARCH: Self = Self {
        skips_hidden: true,
        for_search: true,
        of_user: true,
        from_above: true,
    };
    /// Rules for searches that include hidden files, and for the completion of `@`.
    pub const SEARCH_HIDDEN: Self = Self {
        skips_hidden: false,
        ..Self::SEARCH
    };
    /// Rules for checkpoints.
    pub const RECORD: Self = Self {
        skips_hidden: false,
        for_search: false,
        of_user: false,
        from_above: true,
    };
    /// Rules for copies of a folder. The copy has the same files as the original, so only ignore files inside the
    /// folder count.
    pub const COPY: Self = Self {
        from_above: false,
        of_user: true,
        ..Self::RECORD
    };
}

/// An ignore file.
#[derive(Debug)]
pub struct IgnoreFile(Gitignore);

impl IgnoreFile {
    /// The rules `text` for what is below `folder`. Invalid lines ignore nothing.
    pub fn parse(folder: &Path, text: &str) -> Self {
        let mut builder = GitignoreBuilder::new(folder);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
        Self(builder.build().unwrap_or_else(|_| Gitignore::empty()))
    }

    /// Whether the file at `path`, or a folder above it, is ignored.
    pub fn ignores(&self, path: &Path) -> bool {
        self.0.matched_path_or_any_parents(path, false).is_ignore()
    }
}

/// The ignore files of one folder, strongest first: a rule of the first file with one decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    ForRipgrep,
    ForSearch,
    Git,
    Exclude,
}

const SOURCES: [Source; 4] = [
    Source::ForRipgrep,
    Source::ForSearch,
    Source::Git,
    Source::Exclude,
];

impl Source {
    /// The entry of a folder that has the rules.
    const fn name(self) -> &'static str {
        match self {
            Self::ForRipgrep => ".rgignore",
            Self::ForSearch => ".ignore",
            Self::Git => ".gitignore",
            Self::Exclude => GIT,
        }
    }

    /// The rules in `folder`, which has an entry of this name.
    fn read(self, folder: &Path) -> Result<Gitignore, (PathBuf, ReadError)> {
        let mut path = folder.join(self.name());
        if self == Self::Exclude {
            path = repository(&path)?.join("info/exclude");
        } else if self == Self::Git && path.is_symlink() {
            // Git does not follow this symbolic link either.
            return Err((path, ReadError::NotRegular));
        }
        match regular_file::read(&path, LIMIT) {
            Ok(bytes) => Ok(IgnoreFile::parse(folder, &String::from_utf8_lossy(&bytes)).0),
            Err(ReadError::Missing) => Ok(Gitignore::empty()),
            Err(error) => Err((path, error)),
        }
    }
}

/// The folder of the repository at `git`, which is a file in a worktree and in a submodule.
fn repository(git: &Path) -> Result<PathBuf, (PathBuf, ReadError)> {
    if git.is_dir() {
        return Ok(git.to_owned());
    }
    let read = |path: PathBuf| match regular_file::read_text(&path, LIMIT) {
        Ok(text) => Ok(Some(text)),
        Err(ReadError::Missing) => Ok(None),
        Err(error) => Err((path, error)),
    };
    let parent = git.parent().unwrap_or(git);
    let text = read(git.to_owned())?.unwrap_or_default();
    let own = text.strip_prefix("gitdir: ").unwrap_or_default().trim_end();
    let own = parent.join(own);
    let common = read(own.join("commondir"))?;
    Ok(match common {
        Some(common) => own.join(common.trim_end()),
        None => own,
    })
}

/// The ignore file that the user has set for all repositories, which need not exist.
pub(crate) fn excludes_of_user(
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    let variable = |name: &str| variable(name).map(PathBuf::from);
    let below_home = |name: &str| home.map(|home| home.join(name));
    let config = variable("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
    let git = config.map(|config| config.join("git"));
    // The strongest first.
    let files = [
        variable("GIT_CONFIG_GLOBAL"),
        below_home(".gitconfig"),
        git.as_ref().map(|git| git.join("config")),
        variable("GIT_CONFIG_SYSTEM").or_else(|| Some("/etc/gitconfig".into())),
    ];
    let texts = files
        .into_iter()
        .flatten()
        .filter_map(|file| regular_file::read(&file, LIMIT).ok());
    let mut set = texts.filter_map(|text| excludes_file(&String::from_utf8_lossy(&text)));
    match set.next() {
        Some(path) => Some(match path.strip_prefix("~/") {
            Ok(path) => home?.join(path),
            Err(_) => path,
        }),
        None => git.map(|git| git.join("ignore")),
    }
}

/// `core.excludesFile` in a configuration of git.
fn excludes_file(config: &str) -> Option<PathBuf> {
    let set = config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let is_set = name.trim().eq_ignore_ascii_case("excludesfile");
        is_set.then(|| value.trim().trim_matches('"').trim())
    });
    set.filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The rules for the entries of a folder.
#[derive(Debug)]
pub(crate) struct FolderRules {
    above: Option<Arc<FolderRules>>,
    own: Vec<(Source, Gitignore)>,
}

/// The rules that a walk starts with.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) rules: Rules,
    of_user: Gitignore,
}

impl Start {
    pub(crate) fn new(rules: Rules, root: &Path) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let of_user = rules
            .of_user
            .then(|| excludes_of_user(variable, std::env::home_dir().as_deref()));
        let of_user = of_user.flatten();
        let text = of_user.and_then(|path| regular_file::read(&path, LIMIT).ok());
        let of_user = text.map(|text| IgnoreFile::parse(root, &String::from_utf8_lossy(&text)).0);
        Self {
            rules,
            of_user: of_user.unwrap_or_else(Gitignore::empty),
        }
    }

    /// The rules of the folders above `root`, a real path.
    pub(crate) fn above(
        &self,
        root: &Path,
        errors: &mut Vec<WalkError>,
    ) -> Option<Arc<FolderRules>> {
        if !self.rules.from_above {
            return None;
        }
        let mut above = None;
        let folders: Vec<&Path> = root.ancestors().skip(1).collect();
        for folder in folders.into_iter().rev() {
            let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
            above = self.of_folder(above.as_ref(), folder, has, errors);
        }
        above
    }

    /// The rules for the entries of `folder`; `has` returns whether the folder has an entry of that
    /// name.
    pub(crate) fn of_folder(
        &self,
        above: Option<&Arc<FolderRules>>,
        folder: &Path,
        has: impl Fn(&str) -> bool,
        errors: &mut Vec<WalkError>,
    ) -> Option<Arc<FolderRules>> {
        let mut own = Vec::new();
        for source in SOURCES {
            let is_for_search = matches!(source, Source::ForRipgrep | Source::ForSearch);
            if is_for_search && !self.rules.for_search || !has(source.name()) {
                continue;
            }
            match source.read(folder) {
                Ok(rules) if rules.is_empty() => {}
                Ok(rules) => own.push((source, rules)),
                Err((path, source)) => errors.push(WalkError::Rules { path, source }),
            }
        }
        if own.is_empty() {
            return above.cloned();
        }
        let above = above.cloned();
        Some(Arc::new(FolderRules { above, own }))
    }

    /// Whether the entry `name` of a folder with these `rules` is left out. `path` is its real path.
    pub(crate) fn leaves_out(
        &self,
        rules: Option<&FolderRules>,
        path: &Path,
        name: &[u8],
        is_folder: bool,
    ) -> bool {
        if name == GIT.as_bytes() {
            return true;
        }
        match self.decision(rules, path, is_folder) {
            Match::None => self.rules.skips_hidden && name.starts_with(b"."),
            decision => decision.is_ignore(),
        }
    }

    fn decision(&self, rules: Option<&FolderRules>, path: &Path, is_folder: bool) -> Match<()> {
        // The decision of each source, of the nearest folder that has one.
        let mut decisions = [const { Match::None }; SOURCES.len()];
        let mut next = rules;
        while let Some(folder) = next {
            for (source, rules) in &folder.own {
                let decision = &mut decisions[*source as usize];
                if decision.is_none() {
                    *decision = rules.matched(path, is_folder).map(drop);
                }
            }
            next = folder.above.as_deref();
        }
        let found = decisions.into_iter().find(|decision| !decision.is_none());
        found.unwrap_or_else(|| self.of_user.matched(path, is_folder).map(drop))
    }
}
