//! Watches files of the user, so that changes of themes, keymaps and settings apply at once.
//!
//! It watches directories, not files, because editors replace files. A burst of events is reported once, after it has
//! ended. Started after the first frame.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Idle time after which a change is reported.
const QUIET: Duration = Duration::from_millis(80);
/// Maximum delay of a report.
const LONGEST: Duration = Duration::from_secs(1);

/// Why nothing is watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("the system does not report file changes")]
    Start(#[from] notify::Error),
    #[error("cannot start a thread to watch files")]
    Thread(#[source] std::io::Error),
}

/// A running watcher. Dropping it stops it.
#[derive(Debug)]
pub struct Watcher {
    inner: RecommendedWatcher,
    /// Paths that could not be watched, such as missing directories.
    pub unwatched: Vec<PathBuf>,
}

impl Watcher {
    /// Watches files and directories (not recursively). The channel receives the sorted paths of each burst.
    pub fn start(paths: &[PathBuf]) -> Result<(Self, UnboundedReceiver<Vec<PathBuf>>), WatchError> {
        let (raw, events) = channel();
        let mut inner = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Ok(event) = event
                && is_change(event.kind)
            {
                let _ = raw.send(event.paths);
            }
        })?;
        let mut unwatched = Vec::new();
        let mut watched = BTreeSet::new();
        for path in paths {
            let directory = directory_of(path);
            if watched.contains(&directory) {
                continue;
            }
            if inner.watch(&directory, RecursiveMode::NonRecursive).is_ok() {
                watched.insert(directory);
            } else {
                unwatched.push(path.clone());
            }
        }
        let (sender, receiver) = unbounded_channel();
        let wanted: Vec<PathBuf> = paths.iter().map(|path| resolved(path)).collect();
        std::thread::Builder::new()
            .name("file-watch".to_owned())
            .spawn(move || collect(&events, &wanted, &sender))
            .map_err(WatchError::Thread)?;
        Ok((Self { inner, unwatched }, receiver))
    }

    /// Stops watching the directory of a path.
    pub fn forget(&mut self, path: &Path) {
        let _ = self.inner.unwatch(&directory_of(path));
    }
}

/// Collects bursts until the watcher or the receiver is gone.
fn collect(
    events: &Receiver<Vec<PathBuf>>,
    wanted: &[PathBuf],
    sender: &UnboundedSender<Vec<PathBuf>>,
) {
    while let Ok(first) = events.recv() {
        let started = Instant::now();
        let mut changed: BTreeSet<PathBuf> = first.into_iter().collect();
        while started.elapsed() < LONGEST {
            match events.recv_timeout(QUIET) {
                Ok(more) => changed.extend(more),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        changed.retain(|path| is_wanted(path, wanted));
        if !changed.is_empty() && sender.send(changed.into_iter().collect()).is_err() {
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

/// The path itself, or a file directly in a watched directory.
fn is_wanted(path: &Path, wanted: &[PathBuf]) -> bool {
    wanted
        .iter()
        .any(|wanted| path == wanted || path.parent() == Some(wanted))
}

fn directory_of(path: &Path) -> PathBuf {
    let path = resolved(path);
    if path.is_dir() {
        return path;
    }
    path.parent().map_or(path.clone(), Path::to_owned)
}

/// The path as the system reports it: with the links of its directory resolved.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(directory) = path.canonicalize()
        && directory.is_dir()
    {
        return directory;
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn burst_is_reported_once_and_only_for_watched_paths() {
        let (raw, events) = channel();
        let (sender, mut changes) = unbounded_channel();
        let path = |name: &str| PathBuf::from("/config").join(name);
        for name in [
            "b.toml",
            "a.toml",
            "b.toml",
            "other/x.toml",
            "settings.toml",
        ] {
            raw.send(vec![path(name)]).unwrap();
        }
        let wanted = [path("a.toml"), path("b.toml"), path("other")];
        let told = std::thread::spawn(move || {
            collect(&events, &wanted, &sender);
        });
        let expected = vec![path("a.toml"), path("b.toml"), path("other/x.toml")];
        assert_eq!(changes.blocking_recv(), Some(expected));
        drop(raw);
        told.join().unwrap();
        assert_eq!(changes.blocking_recv(), None);
    }

    #[tokio::test]
    async fn replaced_file_is_reported() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("settings.toml");
        let missing = directory.path().join("missing/themes");
        File::create(&file).unwrap();
        let (watcher, mut changes) = Watcher::start(&[file.clone(), missing.clone()]).unwrap();
        assert_eq!(watcher.unwatched, [missing]);
        let new = directory.path().join("settings.toml.new");
        File::create(&new).unwrap();
        std::fs::rename(&new, &file).unwrap();
        assert_eq!(changes.recv().await, Some(vec![resolved(&file)]));
    }
}
