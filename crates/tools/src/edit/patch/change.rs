//! The changes of a patch: planned completely, then written. If a file cannot be written, the files before it are
//! restored.

use std::fs::Permissions;
use std::sync::Arc;

use super::hunks::{Edits, NoPlace, complete};
use super::parse::{Action, Hunk, Patch, Section};
use super::undo::{Done, first_missing, remove, rename};
use crate::call::to_value;
use crate::edit::file::{
    self, Current, EditError, Original, Source, changed_on_disk, explain, other_names, snippet,
};
use crate::edit::refusal::{Terms, explain_match};
use crate::edit::stale::{Planned, merge};
use crate::files::diff::{FileDiff, combined, deletion, unified};
use crate::files::encoding::decode;
use crate::files::error::FileError;
use crate::files::ledger::{Freshness, Stamp};
use crate::files::target::reason;
use crate::workspace::Workspace;
use osier_agent::{
    Concurrency, FileTarget, PreparedCall, Preview, Refusal, ToolContext, ToolOutput,
};
use osier_base::atomic_file::{Name, Replaced};
use osier_base::text::counted;
use serde::Serialize;

/// Nothing was written yet.
const UNCHANGED: &str = "; nothing was changed";

/// The changes of a patch.
pub(crate) struct Changes {
    pub(super) files: Vec<Change>,
    /// Deviations of the patch from the format.
    pub(super) notes: Vec<&'static str>,
}

/// The change of one file.
pub(super) struct Change {
    /// The name for messages, after the change.
    pub(super) name: String,
    pub(super) diff: FileDiff,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Add {
        target: FileTarget,
        old: Option<Current>,
        text: String,
    },
    Delete {
        target: FileTarget,
        stamp: Stamp,
        content: Vec<u8>,
        mode: Permissions,
    },
    Update(Box<Update>),
}

pub(super) struct Update {
    pub(super) original: Original,
    pub(super) planned: Planned,
    pub(super) moved_to: Option<FileTarget>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchDetails {
    /// In the order of the patch.
    files: Vec<PatchedFile>,
    /// Unified diff of all files; long ones are cut. If there are several files, a line `diff --git` is before each, see
    /// `diff::by_file`.
    diff: String,
    lines_added: u64,
    lines_removed: u64,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchedFile {
    /// Absolute path.
    file_path: String,
    kind: PatchedKind,
    /// The absolute path before it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
    lines_added: u64,
    lines_removed: u64,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
enum PatchedKind {
    Add,
    #[default]
    Update,
    Delete,
}

/// A call that changes `files`. `plan` makes the changes for the preview and again for the run, because files can change in
/// between.
pub(crate) fn prepared(
    workspace: Arc<Workspace>,
    doing: &'static str,
    files: Vec<FileTarget>,
    plan: impl Fn(&Workspace) -> Result<Changes, String> + Send + Sync + 'static,
) -> PreparedCall {
    let plan = Arc::new(plan);
    let shown = (Arc::clone(&workspace), Arc::clone(&plan));
    let run = move |cx: ToolContext| {
        if cx.cancel.is_cancelled() {
            return Err(Refusal::Interrupted("interrupted; nothing was changed"));
        }
        let changes = plan(&workspace).map_err(Refusal::Failed)?;
        changes.carry_out(&workspace).map_err(Refusal::Failed)
    };
    let show = move || {
        let changes = (shown.1)(&shown.0).map_err(Refusal::Failed)?;
        let (path, diff) = (changes.title(), changes.diff());
        Ok(Preview::Diff { path, diff })
    };
    PreparedCall::blocking(doing, run)
        .on(files)
        .running(Concurrency::Exclusive)
        .shown_by(show)
}

impl Changes {
    /// Checks all files. `targets` are those of [`super::named`].
    pub(super) fn plan(
        workspace: &Workspace,
        patch: &Patch,
        targets: Vec<FileTarget>,
    ) -> Result<Self, String> {
        let mut targets = targets.into_iter();
        let mut files = Vec::with_capacity(patch.sections.len());
        for section in &patch.sections {
            let target = targets.next();
            let moved_to = section.moved_to().and_then(|_| targets.next());
            let target = target.ok_or_else(|| "the patch names no file".to_owned())?;
            let change = Change::plan(workspace, section, target, moved_to);
            files.push(change.map_err(|error| with_note(error, patch))?);
        }
        let notes = patch.notes.clone();
        Ok(Self { files, notes })
    }

    /// A name for all files.
    fn title(&self) -> String {
        match &self.files[..] {
            [only] => only.name.clone(),
            [first, rest @ ..] => {
                let others = counted(rest.len(), "other file", "other files");
                format!("{} and {others}", first.name)
            }
            [] => String::new(),
        }
    }

    fn diff(&self) -> String {
        let named = |change: &Change| {
            let old = change.moved_from().unwrap_or_else(|| change.name.clone());
            (old, change.name.clone(), change.diff.clone())
        };
        combined(&self.files.iter().map(named).collect::<Vec<_>>())
    }

    /// Writes all files. New and changed files come first, so that nothing is deleted before everything else succeeded.
    pub(super) fn carry_out(self, workspace: &Workspace) -> Result<ToolOutput, String> {
        let mut done: Vec<Done> = Vec::new();
        let mut notes: Vec<String> = vec![String::new(); self.files.len()];
        let is_last = |change: &Change| matches!(change.kind, Kind::Delete { .. });
        let order = (0..self.files.len()).filter(|index| !is_last(&self.files[*index]));
        let last = (0..self.files.len()).filter(|index| is_last(&self.files[*index]));
        for index in order.chain(last) {
            let change = &self.files[index];
            match change.write(workspace, &mut done) {
                Ok(note) => notes[index] = note,
                Err(error) => {
                    let failed: Vec<String> = done
                        .iter()
                        .rev()
                        .filter_map(|done| done.undo(workspace).err())
                        .collect();
                    return Err(match &failed[..] {
                        [] => format!("{error}{UNCHANGED}"),
                        failed => format!(
                            "{error}; files that were written before could not be restored: {}",
                            failed.join("; ")
                        ),
                    });
                }
            }
        }
        let diff = self.diff();
        for (change, note) in self.files.iter().zip(&mut notes) {
            note.push_str(&change.record(workspace));
        }
        Ok(self.report(diff, &notes))
    }

    fn report(&self, diff: String, notes: &[String]) -> ToolOutput {
        let mut text = format!("Changed {}:\n", counted(self.files.len(), "file", "files"));
        for (change, note) in self.files.iter().zip(notes) {
            text.push_str(&change.line());
            text.push('\n');
            text.push_str(note);
            if !note.is_empty() && !note.ends_with('\n') {
                text.push('\n');
            }
        }
        if !self.notes.is_empty() {
            text.push_str("Note: ");
            text.push_str(&self.notes.join("; "));
            text.push('\n');
        }
        let sum =
            |count: fn(&FileDiff) -> u64| self.files.iter().map(|file| count(&file.diff)).sum();
        let details = PatchDetails {
            files: self.files.iter().map(Change::details).collect(),
            diff,
            lines_added: sum(|diff| diff.added),
            lines_removed: sum(|diff| diff.removed),
        };
        ToolOutput::success(text, to_value(&details))
    }
}

/// The message with the note that nothing was changed, if a patch has several sections.
fn with_note(error: String, patch: &Patch) -> String {
    let is_said = error.ends_with("Nothing was changed") || error.contains("nothing was written");
    if patch.sections.len() < 2 || is_said {
        return error;
    }
    let separator = if error.contains('\n') {
        "\nNothing was changed"
    } else {
        UNCHANGED
    };
    format!("{error}{separator}")
}

impl Change {
    fn plan(
        workspace: &Workspace,
        section: &Section,
        target: FileTarget,
        moved_to: Option<FileTarget>,
    ) -> Result<Self, String> {
        let name = workspace.display(&target.named);
        match &section.action {
            Action::Add(text) => Self::add(workspace, name, target, text),
            Action::Delete => Self::delete(workspace, name, target),
            Action::Update { hunks, .. } => Self::update(workspace, &name, target, moved_to, hunks),
        }
    }

    fn add(
        workspace: &Workspace,
        name: String,
        target: FileTarget,
        text: &str,
    ) -> Result<Self, String> {
        check_parent(workspace, &target)?;
        let old = file::existing(workspace, &target)
            .map_err(|error| format!("cannot read `{name}`: {}", reason(&error)))?;
        if target.host.is_dir() {
            return Err(format!("`{name}` is a directory"));
        }
        if old.as_ref().is_some_and(|old| !old.stamp.is_empty()) {
            return Err(format!(
                "`{name}` exists already; change it with `*** Update File: {name}`"
            ));
        }
        let diff = unified(&name, None, text);
        let text = text.to_owned();
        let kind = Kind::Add { target, old, text };
        Ok(Self { name, diff, kind })
    }

    fn delete(workspace: &Workspace, name: String, target: FileTarget) -> Result<Self, String> {
        let current = match file::required(workspace, &target, Source::Disk) {
            Ok(current) => Some(current),
            Err(EditError::File(FileError::NotRegular { .. })) => None,
            Err(error) => return Err(error.to_string()),
        };
        check_no_link(&name, &target)?;
        let irregular = || format!("`{name}` is not a regular file; delete it with a command");
        let Current {
            stamp, mode, bytes, ..
        } = current.ok_or_else(irregular)?;
        let content =
            bytes.ok_or_else(|| format!("`{name}` is too large; delete it with a command"))?;
        let freshness = workspace.ledger.freshness(&target, &stamp);
        if matches!(freshness, Freshness::Changed | Freshness::OtherFile) {
            return Err(changed_on_disk(&name));
        }
        let diff = match decode(&content) {
            Some(decoded) => deletion(&name, &decoded.text),
            None => FileDiff::note(format!(
                "--- a/{name}\n+++ /dev/null\n[the file was binary]\n"
            )),
        };
        let kind = Kind::Delete {
            target,
            stamp,
            content,
            mode,
        };
        Ok(Self { name, diff, kind })
    }

    fn update(
        workspace: &Workspace,
        name: &str,
        target: FileTarget,
        moved_to: Option<FileTarget>,
        hunks: &[Hunk],
    ) -> Result<Self, String> {
        let original = file::load(workspace, target).map_err(|error| error.to_string())?;
        let mut new_name = name.to_owned();
        if let Some(moved_to) = &moved_to {
            check_no_link(name, &original.target)?;
            check_parent(workspace, moved_to)?;
            new_name = workspace.display(&moved_to.named);
            if moved_to.host.symlink_metadata().is_ok() {
                return Err(format!(
                    "`{new_name}` exists already, so `{name}` cannot be moved there"
                ));
            }
        }
        let planned = apply(workspace, &original, hunks).map_err(|error| error.to_string())?;
        let written = original.contents(&planned.applied.text);
        written.map_err(|error| error.to_string())?;
        let diff = unified(&new_name, Some(&original.text), &planned.applied.text);
        let update = Update {
            original,
            planned,
            moved_to,
        };
        Ok(Self {
            name: new_name,
            diff,
            kind: Kind::Update(Box::new(update)),
        })
    }

    /// The name before the file was moved.
    fn moved_from(&self) -> Option<String> {
        match &self.kind {
            Kind::Update(update) if update.moved_to.is_some() => Some(update.original.name.clone()),
            _ => None,
        }
    }

    /// The summary of the change, for the model.
    fn line(&self) -> String {
        let (added, removed) = (self.diff.added, self.diff.removed);
        match &self.kind {
            Kind::Add { .. } => format!("A {} (+{added} lines)", self.name),
            Kind::Delete { .. } => format!("D {}", self.name),
            Kind::Update(update) => {
                let what = match self.moved_from() {
                    Some(from) => format!("R {from} -> {}", self.name),
                    None => format!("M {}", self.name),
                };
                let applied = &update.planned.applied;
                let notes = applied.notes(|index| format!("hunk {}: ", index + 1));
                format!("{what} (+{added} -{removed} lines){notes}")
            }
        }
    }

    fn details(&self) -> PatchedFile {
        let path = |target: &FileTarget| target.named.display().to_string();
        let (kind, target, from) = match &self.kind {
            Kind::Add { target, .. } => (PatchedKind::Add, target, None),
            Kind::Delete { target, .. } => (PatchedKind::Delete, target, None),
            Kind::Update(update) => {
                let own = &update.original.target;
                match &update.moved_to {
                    Some(to) => (PatchedKind::Update, to, Some(path(own))),
                    None => (PatchedKind::Update, own, None),
                }
            }
        };
        PatchedFile {
            file_path: path(target),
            kind,
            moved_from: from,
            lines_added: self.diff.added,
            lines_removed: self.diff.removed,
        }
    }

    /// Writes the change, and adds to `done` how to undo it. Returns a note for the model.
    fn write(&self, workspace: &Workspace, done: &mut Vec<Done>) -> Result<String, String> {
        match &self.kind {
            Kind::Add { target, old, text } => {
                let folder = first_missing(&target.host);
                let written = match workspace.write_in_editor(target, text) {
                    Some(written) => written,
                    None => file::replace(&target.host, old.as_ref(), text.as_bytes())
                        .map(drop)
                        .map_err(|error| explain(&error)),
                };
                if written.is_ok() {
                    done.push(Done::Created {
                        file: target.host.clone(),
                        was_empty: old.is_some(),
                        folder,
                    });
                }
                written.map(|()| String::new())
            }
            Kind::Delete {
                target,
                stamp,
                content,
                mode,
            } => {
                if !stamp.matches(&target.host, Name::Own, Some(content)) {
                    return Err(changed_on_disk(&self.name));
                }
                remove(&target.host).map_err(|error| {
                    format!("cannot delete `{}`: {}", self.name, reason(&error))
                })?;
                done.push(Done::Deleted {
                    file: target.host.clone(),
                    content: content.clone(),
                    mode: mode.clone(),
                });
                Ok(String::new())
            }
            Kind::Update(update) => update.write(workspace, done),
        }
    }

    /// Records the state of the file for the checks of later calls. Returns a note for the model.
    fn record(&self, workspace: &Workspace) -> String {
        match &self.kind {
            Kind::Add { target, text, .. } => {
                file::record_written(workspace, target, text, text.as_bytes());
                String::new()
            }
            Kind::Delete { target, .. } => {
                workspace.ledger.forget(target);
                String::new()
            }
            Kind::Update(update) => {
                let mut note = update.record(workspace);
                let hunks = self.diff.hunks();
                if update.planned.applied.is_inexact() && !hunks.is_empty() {
                    note.insert_str(0, &format!("{}\n", snippet(hunks).trim_end()));
                }
                note
            }
        }
    }
}

impl Update {
    fn write(&self, workspace: &Workspace, done: &mut Vec<Done>) -> Result<String, String> {
        let original = &self.original;
        let mut note = String::new();
        let text = &self.planned.applied.text;
        if *text != original.text {
            let replaced = file::store(workspace, original, text);
            let replaced = replaced.map_err(|error| error.to_string())?;
            done.push(Done::Replaced {
                target: original.target.clone(),
                text: original.text.clone(),
                encoding: original.encoding,
            });
            note.push_str(&original.encoding.note());
            note.push_str(replaced.note());
            if replaced == Replaced::Atomically && original.links > 1 {
                note.push_str(other_names(original.links).trim_start());
            }
        }
        if let Some(moved_to) = &self.moved_to {
            let (from, to) = (&original.target.host, &moved_to.host);
            let folder = first_missing(to);
            rename(from, to).map_err(|error| {
                let name = workspace.display(&moved_to.named);
                format!(
                    "cannot move `{}` to `{name}`: {}",
                    original.name,
                    reason(&error)
                )
            })?;
            done.push(Done::Moved {
                from: from.clone(),
                to: to.clone(),
                folder,
            });
        }
        Ok(note)
    }

    fn record(&self, workspace: &Workspace) -> String {
        let Some(moved_to) = &self.moved_to else {
            return self.planned.record(workspace, &self.original);
        };
        workspace.ledger.forget(&self.original.target);
        let moved = Original {
            target: moved_to.clone(),
            ..self.original.clone()
        };
        self.planned.record(workspace, &moved)
    }
}

fn apply(workspace: &Workspace, original: &Original, hunks: &[Hunk]) -> Result<Planned, EditError> {
    let name = &original.name;
    let edits = Edits::of(hunks, &original.text).map_err(|NoPlace(index)| {
        EditError::Match(format!(
            "hunk {} of `{name}` only adds lines, so its place is unknown; add unchanged lines before or after them",
            index + 1
        ))
    })?;
    let merged = |known: &str| {
        let path = name.clone();
        let (then, now) = (complete(known), complete(&original.text));
        if !edits.are_aligned(&now) {
            return Err(EditError::Changed { path });
        }
        let merged = merge(&then, &now, &edits.list);
        let mut merged = merged.map_err(|lines| EditError::Conflict { path, lines })?;
        merged.applied.text = edits.finished(&original.text, &merged.applied.text);
        merged.known = edits.finished(known, &merged.known);
        Ok(merged)
    };
    let applied = |is_known: bool| {
        edits.apply(&original.text, is_known).map_err(|error| {
            let (edits, text) = (&edits.list, &original.text);
            EditError::Match(explain_match(&error, edits, name, text, Terms::HUNK))
        })
    };
    Planned::of(workspace, original, merged, applied)
}

/// Refuses a symbolic link: a deletion would leave it, and a move would move its target.
fn check_no_link(name: &str, target: &FileTarget) -> Result<(), String> {
    let is_link = target
        .named
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        return Err(format!(
            "`{name}` is a symbolic link; delete or move it with a command"
        ));
    }
    Ok(())
}

/// Whether the directory of a new file can be created.
fn check_parent(workspace: &Workspace, target: &FileTarget) -> Result<(), String> {
    let parents = target.host.ancestors().skip(1);
    let mut existing = parents.filter(|parent| parent.symlink_metadata().is_ok());
    match existing.next() {
        Some(parent) if !parent.is_dir() => {
            let name = workspace.display(&target.named);
            Err(format!(
                "a parent of `{name}` is not a directory; choose another path"
            ))
        }
        _ => Ok(()),
    }
}
