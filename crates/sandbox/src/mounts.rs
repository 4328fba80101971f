//! The mounts of a command, for bubblewrap and the starter. Everything else in the file system is read-only.

use osier_base::sort;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The source of a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// The path itself, read-only.
    ReadOnly,
    /// The path itself, writable.
    Writable,
    /// A directory of the sandbox, writable.
    Private(PathBuf),
    /// Another file, read-only.
    Other(PathBuf),
    /// An empty directory, read-only: the contents are hidden.
    Empty,
    /// A file that can be neither read nor executed.
    Blocked,
    /// An empty directory that is writable and ends with the command.
    Fresh,
}

/// The mounts of a command. A mount hides the mounts of the directories above it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mounts(Vec<(PathBuf, Source)>);

impl Mounts {
    /// Adds a mount at an absolute path without symbolic links. The last mount of a path wins.
    pub(super) fn add(&mut self, path: impl Into<PathBuf>, source: Source) {
        let path = path.into();
        self.0.retain(|(known, _)| *known != path);
        self.0.push((path, source));
    }

    /// Removes the mounts below `path`.
    pub(super) fn remove_below(&mut self, path: &Path) {
        self.0
            .retain(|(mount, _)| mount == path || !mount.starts_with(path));
    }

    /// Makes the writable mounts at and below `path` read-only.
    pub(super) fn lock_below(&mut self, path: &Path) {
        for (mount, source) in &mut self.0 {
            if *source == Source::Writable && mount.starts_with(path) {
                *source = Source::ReadOnly;
            }
        }
    }

    /// The mount that the command finds at `path`, and the mount's own path.
    pub(super) fn at(&self, path: &Path) -> Option<(&Path, &Source)> {
        let above = self.0.iter().filter(|(mount, _)| path.starts_with(mount));
        let nearest = above.max_by_key(|(mount, _)| mount.components().count())?;
        Some((&nearest.0, &nearest.1))
    }

    /// Whether a command would not find the real `path`.
    pub(super) fn hides(&self, path: &Path) -> bool {
        let found = self.at(path).map(|(_, source)| source);
        !matches!(found, None | Some(Source::ReadOnly | Source::Writable))
    }

    /// Whether a command can write to `path`.
    pub(super) fn may_write(&self, path: &Path) -> bool {
        let found = self.at(path).map(|(_, source)| source);
        matches!(found, Some(Source::Private(_) | Source::Writable))
    }

    /// Whether a command finds `path` of the host itself, and can write to it.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        matches!(self.at(path), Some((_, Source::Writable)))
    }

    /// The path outside of the file that a command finds at `path`.
    pub(super) fn host_path(&self, path: &Path) -> PathBuf {
        match self.at(path) {
            Some((mount, Source::Private(source))) if !path.starts_with(source) => {
                let below = path.strip_prefix(mount).unwrap_or(Path::new(""));
                source.join(below)
            }
            _ => path.to_owned(),
        }
    }

    /// The paths below which a command can write.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let is_writable = |source: &Source| {
            matches!(
                source,
                Source::Writable | Source::Private(_) | Source::Fresh
            )
        };
        let paths = self.0.iter().filter(|(_, source)| is_writable(source));
        paths.map(|(path, _)| path.clone()).collect()
    }

    /// All steps in the order in which they apply: the kind, the source and the target.
    fn steps(&self) -> Vec<(Step, Option<&Path>, &Path)> {
        let mut mounts: Vec<&(PathBuf, Source)> = self.0.iter().collect();
        // A mount hides earlier mounts below it.
        sort::by_key(&mut mounts, |(path, _)| path.components().count());
        let mounted = mounts.iter().map(|(path, source)| {
            let (step, from) = match source {
                Source::ReadOnly => (Step::ReadOnly, Some(path.as_path())),
                Source::Writable => (Step::Writable, Some(path.as_path())),
                Source::Private(from) => (Step::Writable, Some(from.as_path())),
                Source::Other(from) => (Step::ReadOnly, Some(from.as_path())),
                // Commands cannot open this file: it is a device, and mounts allow none.
                Source::Blocked => (Step::ReadOnly, Some(Path::new("/dev/null"))),
                Source::Empty | Source::Fresh => (Step::Temporary, None),
            };
            (step, from, path.as_path())
        });
        // After the mounts below them, which need directories. What is written there would be lost.
        let empty = mounts.iter().filter(|(_, source)| *source == Source::Empty);
        let locked = empty.map(|(path, _)| (Step::Lock, None, path.as_path()));
        mounted.chain(locked).collect()
    }

    /// The steps as arguments of `bwrap`.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let steps = self.steps().into_iter();
        let words = steps.flat_map(|(step, from, to)| {
            [
                Some(OsString::from(step.form().0)),
                from.map(Into::into),
                Some(to.into()),
            ]
        });
        words.flatten().collect()
    }

    /// The steps as words for the starter; each word begins with the letter of its step.
    #[cfg(target_os = "linux")]
    pub(super) fn words(&self) -> Vec<OsString> {
        let steps = self.steps().into_iter();
        let words = steps.flat_map(|(step, from, to)| {
            let mut word = OsString::from(step.form().1);
            word.push(from.unwrap_or(to));
            [Some(word), from.map(|_| to.into())]
        });
        words.flatten().collect()
    }
}

/// The kind of a step.
#[derive(Debug, Clone, Copy)]
enum Step {
    ReadOnly,
    Writable,
    Temporary,
    /// Makes the mount read-only.
    Lock,
}

impl Step {
    /// The option of `bwrap` and the letter for the starter.
    const fn form(self) -> (&'static str, &'static str) {
        match self {
            Self::ReadOnly => ("--ro-bind", "R"),
            Self::Writable => ("--bind", "B"),
            Self::Temporary => ("--tmpfs", "T"),
            Self::Lock => ("--remount-ro", "O"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts() -> Mounts {
        let mut mounts = Mounts::default();
        mounts.add("/work/.git", Source::ReadOnly);
        mounts.add("/work", Source::Writable);
        mounts.add("/data/fans/one", Source::Writable);
        mounts.add("/data", Source::Empty);
        mounts.add("/tmp", Source::Private("/tmp/private/tmp".into()));
        mounts.add("/tmp/shown", Source::ReadOnly);
        mounts.add("/usr/bin/touch", Source::Blocked);
        mounts
    }

    #[test]
    fn file_tools_see_the_files_of_commands() {
        for (path, host, may_write, hidden) in [
            ("/tmp/x", "/tmp/private/tmp/x", true, true),
            ("/tmp", "/tmp/private/tmp", true, true),
            // Again for a path that was already mapped.
            ("/tmp/private/tmp/x", "/tmp/private/tmp/x", true, true),
            ("/tmp/shown/log", "/tmp/shown/log", false, false),
            ("/tmpx", "/tmpx", false, false),
            ("/work/src/a", "/work/src/a", true, false),
            ("/work/.git/config", "/work/.git/config", false, false),
            ("/data/auth.json", "/data/auth.json", false, true),
            ("/data/fans/one/a", "/data/fans/one/a", true, false),
            ("/etc/passwd", "/etc/passwd", false, false),
            ("/usr/bin/touch", "/usr/bin/touch", false, true),
        ] {
            let (mounts, path) = (mounts(), Path::new(path));
            let found = (
                mounts.host_path(path),
                mounts.may_write(path),
                mounts.hides(path),
            );
            assert_eq!(found, (host.into(), may_write, hidden), "{path:?}");
        }
    }

    #[test]
    fn inner_mounts_come_after_outer_ones() {
        let arguments = mounts().arguments();
        let arguments: Vec<&str> = arguments
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect();
        let expected = "--bind /work /work --tmpfs /data --bind /tmp/private/tmp /tmp \
            --ro-bind /work/.git /work/.git --ro-bind /tmp/shown /tmp/shown \
            --bind /data/fans/one /data/fans/one --ro-bind /dev/null /usr/bin/touch --remount-ro /data";
        assert_eq!(arguments.join(" "), expected);
        let writable = ["/work", "/data/fans/one", "/tmp"].map(PathBuf::from);
        assert_eq!(mounts().writable(), writable);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_starter_gets_the_mounts_of_bubblewrap() {
        let words = mounts().words();
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        let expected = "B/work /work T/data B/tmp/private/tmp /tmp R/work/.git /work/.git \
            R/tmp/shown /tmp/shown B/data/fans/one /data/fans/one R/dev/null /usr/bin/touch O/data";
        assert_eq!(words.join(" "), expected);
    }
}
