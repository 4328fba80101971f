//! A plan: the changes between two states, before any of them is made.

use osier_base::sort;
use osier_protocol::{ChangeKind, FileChange};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use osier_walk::IgnoreFile;

use super::objects::Objects;
use super::state::{Content, State, StateId};

/// The steps that lead from the state `present` to `target`.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub target: StateId,
    pub present: StateId,
    /// `present` contains only the files of the steps.
    pub(super) partial: bool,
    pub(super) steps: Vec<Step>,
}

/// One file of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) path: PathBuf,
    pub(super) from: Option<Content>,
    pub(super) to: Option<Content>,
    pub(super) by_hand: bool,
    pub(super) obstacle: Option<&'static str>,
}

impl Plan {
    /// The files, by path.
    pub fn changes(&self) -> Vec<FileChange> {
        self.steps.iter().map(Step::change).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The plan with only the steps of these files.
    #[must_use]
    pub fn limited_to(mut self, paths: &BTreeSet<PathBuf>) -> Self {
        self.steps.retain(|step| paths.contains(&step.path));
        self
    }

    /// The state of all files before the changes, unless it is not recorded.
    pub fn before(&self) -> Option<StateId> {
        (!self.partial).then_some(self.present)
    }
}

impl Step {
    pub(super) fn change(&self) -> FileChange {
        FileChange {
            path: self.path.to_string_lossy().into_owned(),
            kind: kind(self.from, self.to),
            by_hand: self.by_hand,
            obstacle: self.obstacle.map(str::to_owned),
        }
    }
}

pub(super) fn kind(from: Option<Content>, to: Option<Content>) -> ChangeKind {
    match (from, to) {
        (None, _) => ChangeKind::Create,
        (_, None) => ChangeKind::Remove,
        (Some(Content::File { content: old, .. }), Some(Content::File { content: new, .. }))
            if old == new =>
        {
            ChangeKind::Mode
        }
        _ => ChangeKind::Modify,
    }
}

/// A path whose content differs between two states.
#[derive(Debug)]
pub(super) struct Difference {
    pub path: PathBuf,
    pub from: Option<Content>,
    pub to: Option<Content>,
}

/// The paths that differ between two states, in order.
pub(super) fn differences(old: &State, new: &State) -> Vec<Difference> {
    let mut found = Vec::new();
    for (path, content) in &old.paths {
        let other = new.paths.get(path).copied();
        if other != Some(*content) {
            found.push(Difference {
                path: path.clone(),
                from: Some(*content),
                to: other,
            });
        }
    }
    let added = new
        .paths
        .iter()
        .filter(|(path, _)| !old.paths.contains_key(*path));
    found.extend(added.map(|(path, content)| Difference {
        path: path.clone(),
        from: None,
        to: Some(*content),
    }));
    sort::by(&mut found, |left, right| left.path.cmp(&right.path));
    found
}

/// The steps from `present` to `target` in the directory `root`. `by_hand` are paths that were changed
/// outside of the agent, `ignored` are the paths that `target` ignored.
pub(super) fn steps(
    root: &Path,
    present: &State,
    target: &State,
    by_hand: &BTreeSet<PathBuf>,
    ignored: &Ignored,
) -> Vec<Step> {
    let differences = differences(present, target);
    let steps = differences
        .into_iter()
        .map(|Difference { path, from, to }| Step {
            by_hand: by_hand.contains(&path),
            obstacle: obstacle(root, target, &path, from, to).or_else(|| {
                let unseen = to.is_none() && ignored.has(&path);
                unseen.then_some("it was ignored at that time")
            }),
            path,
            from,
            to,
        });
    steps.collect()
}

fn obstacle(
    root: &Path,
    target: &State,
    path: &Path,
    from: Option<Content>,
    to: Option<Content>,
) -> Option<&'static str> {
    match (from, to) {
        (_, Some(Content::NotRecorded { .. })) => {
            Some("its earlier content was too large or unreadable")
        }
        (Some(Content::NotRecorded { .. }), _) => {
            Some("its current content could not be restored later")
        }
        (Some(_), _) if path.file_name() == Some(OsStr::new(".git")) => {
            Some("the repository of a submodule is never replaced")
        }
        (_, None) if is_in_unreadable(target, path) => {
            Some("its directory was unreadable at that time")
        }
        (_, None) if is_in_new_repository(root, target, path) => {
            Some("it belongs to a new repository")
        }
        _ => None,
    }
}

/// Whether `path` is in a repository below `root` that `target` does not contain: a newer clone, which is not
/// part of the project.
fn is_in_new_repository(root: &Path, target: &State, path: &Path) -> bool {
    let folders = path.ancestors().skip(1);
    let mut folders = folders.filter(|folder| !folder.as_os_str().is_empty());
    folders.any(|folder| {
        root.join(folder).join(".git").symlink_metadata().is_ok()
            && !target.paths.keys().any(|known| known.starts_with(folder))
    })
}

/// Whether `target` could not see into a directory on the way to `path`.
fn is_in_unreadable(target: &State, path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1);
    folders.any(|folder| matches!(target.paths.get(folder), Some(Content::NotRecorded { .. })))
}

/// The paths that the `.gitignore` files of a state ignored: such a file is not new now.
#[derive(Debug, Default)]
pub(super) struct Ignored(Vec<(PathBuf, IgnoreFile)>);

impl Ignored {
    /// The rules of `state`.
    pub(super) fn of(state: &State, objects: &Objects) -> Self {
        let files = state
            .paths
            .iter()
            .filter(|(path, _)| path.file_name() == Some(OsStr::new(".gitignore")));
        let rules = files.filter_map(|(path, content)| {
            let Content::File { content, .. } = content else {
                return None;
            };
            let text = String::from_utf8(objects.get(*content).ok()?).ok()?;
            let folder = path.parent()?.to_path_buf();
            Some((folder, IgnoreFile::parse(Path::new(""), &text)))
        });
        Self(rules.collect())
    }

    fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|(folder, rules)| {
            path.strip_prefix(folder)
                .is_ok_and(|inside| rules.ignores(inside))
        })
    }
}
