//! Watches files of the user, so that changes of themes, keymaps and settings apply at once.
//!
//! Events of the system only say when to compare: a change is a difference between two states of the watched files. So
//! every kind of save counts alike: in place, by a rename, through symbolic links, in a folder that appears later. A burst of
//! events is reported once, after it has ended. Started after the first frame.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::file_stamp::FileStamp;

/// Idle time after which a change is reported.
const QUIET: Duration = Duration::from_millis(80);
/// Maximum delay of a report.
const LONGEST: Duration = Duration::from_secs(1);
/// Entries of one folder that are watched.
const MOST_ENTRIES: usize = 1_000;
/// Time between two comparisons where the system does not report all changes, such as at its limit
/// of watches.
const COMPARISONS: Duration = Duration::from_secs(2);
/// Symbolic links that one path may lead through, as in Linux.
const MOST_LINKS: usize = 40;

/// A path to watch. It may be missing, and may be a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    File(PathBuf),
    /// The files directly in this folder.
    Folder(PathBuf),
}

/// A running watcher. Dropping it stops it.
#[derive(Debug)]
pub struct Watcher {
    signals: Sender<Signal>,
}

#[derive(Debug, PartialEq, Eq)]
enum Signal {
    /// Something happened in a directory.
    Event,
    Stop,
}

impl Watcher {
    /// Starts to watch. The channel receives the sorted paths of each burst, spelled as in `watched`.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn start(
        watched: Vec<Watched>,
    ) -> std::io::Result<(Self, UnboundedReceiver<Vec<PathBuf>>)> {
        Self::start_with(watched, system_watcher)
    }

    fn start_with(
        watched: Vec<Watched>,
        system: fn(Sender<Signal>) -> Option<RecommendedWatcher>,
    ) -> std::io::Result<(Self, UnboundedReceiver<Vec<PathBuf>>)> {
        let (signals, events) = channel();
        let mut directories = Directories {
            system: system(signals.clone()),
            watched: BTreeMap::new(),
            are_complete: true,
        };
        // Every change after this has an event.
        directories.update(&watched);
        let files = stamps(&watched);
        let (sender, receiver) = unbounded_channel();
        std::thread::Builder::new()
            .name("file-watch".to_owned())
            .spawn(move || collect(&events, &watched, directories, files, &sender))?;
        Ok((Self { signals }, receiver))
    }
}

/// The watcher of the system, if it has one left.
fn system_watcher(signals: Sender<Signal>) -> Option<RecommendedWatcher> {
    let signals = Arc::new(signals);
    let held = Arc::clone(&signals);
    let system = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // An error is a queue that was too short, for example: something may have happened.
        if event.map_or(true, |event| is_change(event.kind)) {
            let _ = held.send(Signal::Event);
        }
    });
    let system = system.ok()?;
    if Arc::strong_count(&signals) == 1 {
        // No thread has the closure. Every call of the watcher would panic, its drop too.
        std::mem::forget(system);
        return None;
    }
    Some(system)
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.signals.send(Signal::Stop);
    }
}

/// Collects bursts until the watcher or the receiver is gone.
fn collect(
    events: &Receiver<Signal>,
    watched: &[Watched],
    mut directories: Directories,
    mut files: BTreeMap<PathBuf, FileStamp>,
    sender: &UnboundedSender<Vec<PathBuf>>,
) {
    loop {
        let patience = if directories.are_complete {
            Duration::MAX
        } else {
            COMPARISONS
        };
        let mut next = events.recv_timeout(patience);
        let started = Instant::now();
        while next == Ok(Signal::Event) && started.elapsed() < LONGEST {
            next = events.recv_timeout(QUIET);
        }
        if matches!(next, Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected)) {
            return;
        }
        directories.update(watched);
        let now = stamps(watched);
        let changed = difference(&files, &now);
        files = now;
        if sender.is_closed() || (!changed.is_empty() && sender.send(changed).is_err()) {
            return;
        }
    }
}

fn is_change(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Any
    )
}

/// The watched files that exist.
fn stamps(watched: &[Watched]) -> BTreeMap<PathBuf, FileStamp> {
    let mut found = BTreeMap::new();
    for watched in watched {
        match watched {
            Watched::File(path) => found.extend(stamped(path.clone())),
            Watched::Folder(path) => found.extend(entries(path).into_iter().filter_map(stamped)),
        }
    }
    found
}

/// The path with the stamp of its file, after symbolic links.
fn stamped(path: PathBuf) -> Option<(PathBuf, FileStamp)> {
    let metadata = path.metadata().ok()?;
    Some((path, FileStamp::of(&metadata)))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    found.take(MOST_ENTRIES).map(|entry| entry.path()).collect()
}

/// The paths that only one of the two states has, or that have another stamp.
fn difference(
    before: &BTreeMap<PathBuf, FileStamp>,
    now: &BTreeMap<PathBuf, FileStamp>,
) -> Vec<PathBuf> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
    paths
        .into_iter()
        .filter(|path| before.get(*path) != now.get(*path))
        .cloned()
        .collect()
}

/// The directories in which changes of the watched files happen.
struct Directories {
    system: Option<RecommendedWatcher>,
    /// Watched directories with their inodes: another directory can get the same name.
    watched: BTreeMap<PathBuf, u64>,
    /// Whether the system watches all directories that matter.
    are_complete: bool,
}

impl Directories {
    /// Watches the directories that matter now, and no others.
    fn update(&mut self, watched: &[Watched]) {
        let mut wanted = BTreeSet::new();
        for watched in watched {
            match watched {
                Watched::File(path) => add_directories(path, &mut wanted),
                Watched::Folder(path) => {
                    add_directories(path, &mut wanted);
                    add_directories(&path.join("entry"), &mut wanted);
                    for entry in entries(path).iter().filter(|entry| entry.is_symlink()) {
                        add_directories(entry, &mut wanted);
                    }
                }
            }
        }
        let wanted: BTreeMap<PathBuf, u64> = wanted
            .into_iter()
            .filter_map(|path| {
                let inode = FileStamp::at(&path).ok()?.inode;
                Some((path, inode))
            })
            .collect();
        let Self {
            system,
            watched,
            are_complete,
        } = self;
        let Some(system) = system else {
            *are_complete = false;
            return;
        };
        *are_complete = true;
        watched.retain(|path, inode| {
            let stays = wanted.get(path) == Some(inode);
            if !stays {
                let _ = system.unwatch(path);
            }
            stays
        });
        for (path, inode) in wanted {
            if watched.contains_key(&path) {
                continue;
            }
            match system.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => drop(watched.insert(path, inode)),
                Err(_) => *are_complete = false,
            }
        }
    }
}

/// Adds the directory of the path, and that of each file which its symbolic links lead to; for a
/// missing directory, the nearest existing one above it.
fn add_directories(path: &Path, directories: &mut BTreeSet<PathBuf>) {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let above = path.ancestors().skip(1);
        let mut existing = above.filter_map(|directory| directory.canonicalize().ok());
        directories.extend(existing.find(|directory| directory.is_dir()));
        let (Ok(target), Some(directory)) = (path.read_link(), path.parent()) else {
            return;
        };
        path = directory.join(target);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "editors write like this")]
mod tests {
    use std::fs::{create_dir, create_dir_all, remove_dir_all, remove_file, rename, write};
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// Watches `settings.toml` and `themes` in a folder, and changes files there.
    struct Case {
        folder: TempDir,
        changes: UnboundedReceiver<Vec<PathBuf>>,
        _watcher: Watcher,
    }

    impl Case {
        fn new(prepare: impl FnOnce(&Path)) -> Self {
            Self::with(system_watcher, prepare)
        }

        fn with(
            system: fn(Sender<Signal>) -> Option<RecommendedWatcher>,
            prepare: impl FnOnce(&Path),
        ) -> Self {
            let folder = TempDir::new().unwrap();
            prepare(folder.path());
            let config = folder.path().join("config");
            let watched = vec![
                Watched::File(config.join("settings.toml")),
                Watched::Folder(config.join("themes")),
            ];
            let (watcher, changes) = Watcher::start_with(watched, system).unwrap();
            Self {
                folder,
                changes,
                _watcher: watcher,
            }
        }

        /// The paths that a change leads to, below `config`.
        fn reports(&mut self, expected: &[&str], change: impl FnOnce(&Path)) {
            change(self.folder.path());
            let mut reported = BTreeSet::new();
            while !expected.iter().all(|name| reported.contains(*name)) {
                let paths = self.changes.blocking_recv().unwrap();
                let config = self.folder.path().join("config");
                reported.extend(paths.iter().map(|path| {
                    let path = path.strip_prefix(&config).unwrap();
                    path.to_str().unwrap().to_owned()
                }));
            }
            assert_eq!(reported, expected.iter().map(ToString::to_string).collect());
        }
    }

    fn with_files(folder: &Path) {
        create_dir_all(folder.join("config/themes")).unwrap();
        write(folder.join("config/settings.toml"), "a = 1").unwrap();
        write(folder.join("config/themes/mine.toml"), "one").unwrap();
        write(folder.join("config/other"), "other").unwrap();
    }

    #[test]
    fn every_kind_of_save_is_reported_and_other_files_are_not() {
        let mut case = Case::new(with_files);
        case.reports(&["settings.toml", "themes/mine.toml"], |folder| {
            write(folder.join("config/other"), "changed").unwrap();
            write(folder.join("config/settings.toml"), "a = 2").unwrap();
            write(folder.join("config/themes/mine.toml"), "two").unwrap();
        });
        case.reports(&["themes/mine.toml", "themes/mine.toml~"], |folder| {
            let file = folder.join("config/themes/mine.toml");
            rename(&file, folder.join("config/themes/mine.toml~")).unwrap();
            write(file, "three").unwrap();
        });
        case.reports(&["settings.toml"], |folder| {
            let new = folder.join("config/new");
            write(&new, "a = 3").unwrap();
            rename(new, folder.join("config/settings.toml")).unwrap();
        });
        case.reports(&["themes/mine.toml"], |folder| {
            let file = folder.join("config/themes/mine.toml");
            remove_file(&file).unwrap();
            write(file, "four").unwrap();
        });
        case.reports(&["themes/mine.toml"], |folder| {
            remove_file(folder.join("config/themes/mine.toml")).unwrap();
        });
    }

    #[test]
    fn folders_may_appear_and_be_replaced_later() {
        let mut case = Case::new(|_| {});
        case.reports(&["themes/mine.toml"], |folder| {
            create_dir_all(folder.join("config/themes")).unwrap();
            write(folder.join("config/themes/mine.toml"), "one").unwrap();
        });
        case.reports(&["themes/mine.toml"], |folder| {
            write(folder.join("config/themes/mine.toml"), "two").unwrap();
        });
        case.reports(&["themes/mine.toml"], |folder| {
            remove_dir_all(folder.join("config")).unwrap();
        });
        case.reports(&["settings.toml", "themes/new.toml"], |folder| {
            with_files(folder);
            let themes = folder.join("config/themes");
            rename(themes.join("mine.toml"), themes.join("new.toml")).unwrap();
        });
        case.reports(&["settings.toml"], |folder| {
            write(folder.join("config/settings.toml"), "a = 2").unwrap();
        });
    }

    #[test]
    fn files_behind_links_are_watched() {
        let mut case = Case::new(|folder| {
            for name in ["real", "dotfiles", "dotfiles/themes", "elsewhere"] {
                create_dir(folder.join(name)).unwrap();
            }
            symlink("dotfiles", folder.join("config")).unwrap();
            write(folder.join("real/settings.toml"), "a = 1").unwrap();
            symlink("../real/settings.toml", folder.join("elsewhere/link")).unwrap();
            symlink("../elsewhere/link", folder.join("dotfiles/settings.toml")).unwrap();
            write(folder.join("real/mine.toml"), "one").unwrap();
            let link = folder.join("dotfiles/themes/mine.toml");
            symlink("../../real/mine.toml", link).unwrap();
        });
        case.reports(&["settings.toml"], |folder| {
            write(folder.join("real/settings.toml"), "a = 2").unwrap();
        });
        case.reports(&["themes/mine.toml"], |folder| {
            write(folder.join("real/new"), "two").unwrap();
            rename(folder.join("real/new"), folder.join("real/mine.toml")).unwrap();
        });
        case.reports(&["settings.toml"], |folder| {
            write(folder.join("real/other.toml"), "a = 3").unwrap();
            remove_file(folder.join("elsewhere/link")).unwrap();
            symlink("../real/other.toml", folder.join("elsewhere/link")).unwrap();
        });
        case.reports(&["settings.toml"], |folder| {
            write(folder.join("real/other.toml"), "a = 4").unwrap();
        });
    }

    #[test]
    fn without_watches_of_the_system_changes_are_found_too() {
        let mut case = Case::with(|_| None, with_files);
        case.reports(&["settings.toml"], |folder| {
            write(folder.join("config/settings.toml"), "a = 12").unwrap();
        });
        case.reports(&["themes/new.toml"], |folder| {
            write(folder.join("config/themes/new.toml"), "one").unwrap();
        });
    }
}
