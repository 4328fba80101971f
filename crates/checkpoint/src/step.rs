//! Carries out one step of a plan. It never overwrites what another program writes meanwhile: the
//! new file and the present one are exchanged, and exchanged again if the present one is not the
//! recorded one.
//!
//! A step can be repeated: a process that is killed in a step leaves the path as it was or as
//! planned, and at most one temporary file, which [`clean`] removes.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::io::Errno;

use super::cache::mark;
use super::fault;
use super::objects::{Hash, MAX_OBJECT, Objects};
use super::plan::Step;
use super::state::Content;
use osier_base::file_exchange::{exchange, report_written};
use osier_base::file_stamp::FileStamp;
use osier_base::pending_file::rename_new;
use osier_base::{atomic_file, regular_file, without_links};

pub(super) const CHANGED: &str = "it has changed since then";

/// The directory of the files, and the name of the temporary files of one change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub root: &'a Path,
    pub id: &'a str,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Pending,
    Done,
    /// The path is neither as before nor as afterwards.
    Changed,
}

impl Target<'_> {
    /// The temporary names of the step `number`: of a new file that is being written, and of a
    /// complete file that is exchanged with the present one.
    fn temporary(&self, number: usize, path: &Path) -> (PathBuf, PathBuf) {
        let name = |kind| path.with_file_name(format!(".osier-{}-{number}.{kind}.tmp", self.id));
        (name("new"), name("old"))
    }

    pub(super) fn progress(&self, step: &Step) -> Progress {
        let path = self.root.join(&step.path);
        // If a parent is a file or a link, the path does not exist.
        let parents = check_parents(self.root, &step.path);
        let now = parents.ok().and_then(|()| content_of(&path));
        if now == step.from {
            Progress::Pending
        } else if is_target(now, step) {
            Progress::Done
        } else {
            Progress::Changed
        }
    }

    /// Carries out the step `number`, unless it is done.
    pub(super) fn apply(
        &self,
        objects: &Objects,
        number: usize,
        step: &Step,
    ) -> Result<(), String> {
        let path = self.root.join(&step.path);
        match self.progress(step) {
            Progress::Done => {
                if step.to.is_none() {
                    // A kill may have left empty parents.
                    remove_empty_parents(self.root, &path);
                }
                return Ok(());
            }
            Progress::Changed => return Err(CHANGED.to_owned()),
            Progress::Pending => check_parents(self.root, &step.path)?,
        }
        let (new, old) = self.temporary(number, &path);
        fault::point();
        match step.to {
            None => {
                remove(objects, &path, &old, step).map_err(|error| reason(&error))?;
                remove_empty_parents(self.root, &path);
            }
            Some(content) => {
                prepare(objects, &path, &new, content)?;
                fault::point();
                let put = put_in_place(objects, &path, &new, &old, step);
                // After a success, there is no such file.
                let _ = fs::remove_file(&new);
                put.map_err(|error| reason(&error))?;
                if let Content::File { .. } = content {
                    report_written(&path);
                }
            }
        }
        fault::point();
        Ok(())
    }

    /// Removes the temporary files that a killed process left of the step `number`. A displaced file that cannot be
    /// stored stays.
    pub(super) fn clean(&self, objects: &Objects, number: usize, step: &Step) {
        let path = self.root.join(&step.path);
        if check_parents(self.root, &step.path).is_err() {
            return;
        }
        let (new, old) = self.temporary(number, &path);
        let _ = fs::remove_file(new);
        if old.symlink_metadata().is_err() {
            return;
        }
        let displaced = content_of(&old);
        if displaced != step.from && !is_target(displaced, step) {
            // The file belongs to another program and was about to be put back.
            put_back(&old, &path, step);
        }
        let displaced = content_of(&old);
        if (displaced == step.from || is_target(displaced, step))
            && store_again(objects, &old, displaced).is_ok()
        {
            let _ = fs::remove_file(old);
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => CHANGED.to_owned(),
        _ => error.to_string(),
    }
}

fn changed() -> io::Error {
    io::ErrorKind::AlreadyExists.into()
}

/// Whether `now` is the content that the step writes. A file system may not store every mode.
fn is_target(now: Option<Content>, step: &Step) -> bool {
    let content = |side: Option<Content>| match side {
        Some(Content::File { content, .. }) => Some(content),
        _ => None,
    };
    let is_mode_only = content(step.from) == content(step.to);
    now == step.to || (!is_mode_only && content(now).is_some() && content(now) == content(step.to))
}

/// Writes `content` to the temporary file `new`, complete and synced.
fn prepare(objects: &Objects, path: &Path, new: &Path, content: Content) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let folder = new.parent().unwrap_or(Path::new("/"));
    let stored = |hash| objects.get(hash).map_err(|error| missing(&error));
    match content {
        Content::File { mode, content } => {
            let bytes = stored(content)?;
            fs::create_dir_all(folder).map_err(failed)?;
            let present = fs::symlink_metadata(path).ok();
            let present = present.filter(fs::Metadata::is_file);
            let present = present.as_ref().map(|metadata| (path, metadata));
            let file = atomic_file::prepare(folder, &bytes, present, Some(mode));
            file.and_then(|file| file.persist_new(new))
                .map_err(failed)?;
            Ok(())
        }
        Content::Link { target } => {
            let target = stored(target)?;
            fs::create_dir_all(folder).map_err(failed)?;
            symlink(OsStr::from_bytes(&target), new).map_err(failed)
        }
        // A plan does not carry out such a step.
        Content::NotRecorded { .. } => Err("it was not recorded".to_owned()),
    }
}

pub(super) fn missing(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "its earlier content is no longer stored".to_owned(),
        _ => error.to_string(),
    }
}

/// Replaces the file that the step expects at `path` by the complete file `new`.
fn put_in_place(
    objects: &Objects,
    path: &Path,
    new: &Path,
    old: &Path,
    step: &Step,
) -> io::Result<()> {
    if step.from.is_none() {
        return rename_new(new, path);
    }
    // From here on, the file with the name `old` may be the one of another program.
    fs::rename(new, old)?;
    fault::point();
    match exchange(old, path) {
        Ok(()) => {}
        // The file system cannot exchange files.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if content_of(path) == step.from => {
            return store_again(objects, path, step.from).and_then(|()| fs::rename(old, path));
        }
        Err(error) => {
            let _ = fs::remove_file(old);
            return Err(match error {
                Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => changed(),
                error => error.into(),
            });
        }
    }
    fault::point();
    delete_displaced(objects, old, path, step)
}

/// Removes the file that the step expects at `path`.
fn remove(objects: &Objects, path: &Path, old: &Path, step: &Step) -> io::Result<()> {
    rename_new(path, old)?;
    fault::point();
    delete_displaced(objects, old, path, step)
}

/// Deletes the displaced file `old`, or puts it back if it is not what the step expects, or not stored.
fn delete_displaced(objects: &Objects, old: &Path, path: &Path, step: &Step) -> io::Result<()> {
    let found = content_of(old);
    let stored = if found == step.from {
        store_again(objects, old, found)
    } else {
        Err(changed())
    };
    match stored {
        Ok(()) => fs::remove_file(old),
        Err(error) => {
            put_back(old, path, step);
            Err(error)
        }
    }
}

/// Stores the `content` of the file `path` again if its object is damaged or lost. After a success the file is not the
/// only copy.
fn store_again(objects: &Objects, path: &Path, content: Option<Content>) -> io::Result<()> {
    let (hash, bytes) = match content {
        None => return Ok(()),
        Some(Content::File { content, .. } | Content::Link { target: content })
            if objects.get(content).is_ok() =>
        {
            return Ok(());
        }
        Some(Content::File { content, .. }) => {
            (content, regular_file::read_last(path, MAX_OBJECT)?)
        }
        Some(Content::Link { target }) => {
            let bytes = fs::read_link(path)?.into_os_string().into_vec();
            (target, bytes)
        }
        Some(Content::NotRecorded { .. }) => return Err(changed()),
    };
    let failed = |error| io::Error::other(format!("its present content cannot be stored: {error}"));
    let stored = objects.put(&bytes).map_err(failed)?;
    objects.sync().map_err(failed)?;
    if stored == hash {
        Ok(())
    } else {
        Err(changed())
    }
}

/// Puts the file of another program back to `path`.
fn put_back(old: &Path, path: &Path, step: &Step) {
    if is_target(content_of(path), step)
        && step.to.is_some()
        && exchange(old, path).is_ok()
        && is_target(content_of(old), step)
    {
        let _ = fs::remove_file(old);
        return;
    }
    // Something was created at `path` again: both stay.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names = std::iter::once(path.to_owned());
    let others = (1..100).map(|number| path.with_file_name(format!("{name}.saved-{number}")));
    for free in names.chain(others) {
        if rename_new(old, &free).is_ok() {
            return;
        }
    }
}

/// Checks that every parent is a directory or missing.
pub(super) fn check_parents(root: &Path, relative: &Path) -> Result<(), String> {
    check_parents_after(&|_| false, root, relative)
}

/// Like [`check_parents`], when the paths that `is_removed` names will be gone.
pub(super) fn check_parents_after(
    is_removed: &dyn Fn(&Path) -> bool,
    root: &Path,
    relative: &Path,
) -> Result<(), String> {
    let mut folder = root.to_path_buf();
    for name in relative.parent().into_iter().flat_map(Path::iter) {
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) if folder.strip_prefix(root).is_ok_and(is_removed) => return Ok(()),
            Ok(_) => return Err(format!("`{}` is not a directory", folder.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// The current content of `path`.
pub(super) fn content_of(path: &Path) -> Option<Content> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        let target = Hash::of(target.as_os_str().as_bytes());
        return Some(Content::Link { target });
    }
    if metadata.is_dir() {
        return None;
    }
    let content = metadata.is_file().then(|| {
        let mut file = without_links::open_last(path).ok()?;
        Hash::of_file(&mut file).ok()
    });
    Some(match content.flatten() {
        Some(content) => Content::File {
            mode: metadata.permissions().mode() & 0o7777,
            content,
        },
        None => Content::NotRecorded {
            mark: mark(&FileStamp::of(&metadata)),
        },
    })
}

/// Removes directories that became empty.
fn remove_empty_parents(root: &Path, path: &Path) {
    let parents = path.ancestors().skip(1);
    for folder in parents.take_while(|folder| *folder != root) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
