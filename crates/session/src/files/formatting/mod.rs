//! Formats files after the model changed them, once per turn and file, with the formatter that the project uses. A file
//! that was not formatted before the change stays as the model wrote it.

mod table;

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_agent::FileTarget;
use osier_base::process::{Invocation, QuietError, run_contained};
use osier_base::regular_file;
use osier_permissions::trust::ProgramUse;
use osier_tools::{Reformatted, Workspace, reformat};
use tokio_util::sync::CancellationToken;

use self::table::Found;
use crate::files::code::CodeIntelligence;

/// Bytes of a file that is formatted.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Bytes of a formatted text.
const OUTPUT_LIMIT: usize = 4 * 1024 * 1024;
/// Bytes that a formatter may allocate.
const MEMORY: u64 = 4 << 30;
/// Time for a formatter.
const PATIENCE: Duration = Duration::from_secs(10);
/// Files that are formatted in one turn.
const MAX_FILES: usize = 50;

/// The formatters of a session.
#[derive(Debug)]
pub(crate) struct Formatting {
    code: CodeIntelligence,
    workspace: Arc<Workspace>,
    turn: Mutex<Turn>,
    /// Programs that did not end in time. They are not run again.
    stuck: Mutex<BTreeSet<PathBuf>>,
}

/// The changes of the current turn.
#[derive(Debug, Default)]
struct Turn {
    /// The text of each file before the turn; not set for one that did not exist.
    before: BTreeMap<PathBuf, Option<String>>,
    /// The files that were changed.
    changed: BTreeMap<PathBuf, FileTarget>,
    /// Reports that the model has not received yet.
    news: Vec<String>,
}

impl Formatting {
    pub(crate) fn new(code: CodeIntelligence, workspace: Arc<Workspace>) -> Self {
        Self {
            code,
            workspace,
            turn: Mutex::default(),
            stuck: Mutex::default(),
        }
    }

    /// Remembers a file that a call will change, if it could be formatted.
    pub(crate) async fn before_change(&self, path: &Path) {
        if self.turn.lock().before.contains_key(path) {
            return;
        }
        let (file, project) = (path.to_owned(), self.code.project().to_owned());
        let read = osier_base::task::spawn_blocking(move || {
            table::find(&file, &project)?;
            let is_there = file.symlink_metadata().is_ok();
            let text = regular_file::read(&file, FILE_LIMIT).ok();
            let text = text.and_then(|text| String::from_utf8(text).ok());
            // A file that cannot be read is not formatted.
            (text.is_some() || !is_there).then_some(text)
        });
        if let Some(text) = read.await.ok().flatten() {
            self.turn
                .lock()
                .before
                .entry(path.to_owned())
                .or_insert(text);
        }
    }

    /// A call has changed the file.
    pub(crate) fn changed(&self, target: &FileTarget) {
        let mut turn = self.turn.lock();
        if turn.before.contains_key(&target.host) && turn.changed.len() < MAX_FILES {
            turn.changed.insert(target.host.clone(), target.clone());
        }
    }

    /// Formats what the turn changed. Returns the files.
    pub(crate) async fn format(&self, cancel: &CancellationToken) -> Vec<PathBuf> {
        let (before, changed) = {
            let mut turn = self.turn.lock();
            let before = std::mem::take(&mut turn.before);
            (before, std::mem::take(&mut turn.changed))
        };
        let mut formatted = Vec::new();
        for (path, target) in changed {
            let before = before.get(&path).cloned().flatten();
            let done = tokio::select! {
                done = self.format_file(target, before) => done,
                () = cancel.cancelled() => return formatted,
            };
            if let Some((name, done)) = done {
                self.turn.lock().news.push(news(name, &done));
                formatted.push(path);
            }
        }
        formatted
    }

    async fn format_file(
        &self,
        target: FileTarget,
        before: Option<String>,
    ) -> Option<(&'static str, Reformatted)> {
        let (path, project) = (target.host.clone(), self.code.project().to_owned());
        let found = osier_base::task::spawn_blocking(move || {
            let found = table::find(&path, &project)?;
            let text = regular_file::read(&path, FILE_LIMIT).ok()?;
            Some((found, String::from_utf8(text).ok()?))
        });
        let (found, text) = found.await.ok().flatten()?;
        if text.is_empty() || !self.code.may_run(found.name) {
            return None;
        }
        let run = ProgramUse {
            name: found.program.display().to_string(),
            cwd: found.folder.clone(),
            copy: None,
            files: vec![found.program.clone()],
            command: String::new(),
            settings: String::new(),
            tools: found.tools,
        };
        if !self.code.is_unchanged(run).await {
            return None;
        }
        let wanted = self
            .run(&found, &text)
            .await
            .filter(|wanted| *wanted != text)?;
        // Only files that the project formats: the text was formatted before.
        if let Some(before) = before.filter(|before| !before.is_empty())
            && self.run(&found, &before).await? != before
        {
            return None;
        }
        let workspace = Arc::clone(&self.workspace);
        let written = osier_base::task::spawn_blocking(move || {
            reformat(&workspace, target, &text, &wanted).ok()
        });
        Some((found.name, written.await.ok().flatten()?))
    }

    /// The formatted text. None if the formatter fails, as it does for wrong syntax.
    async fn run(&self, found: &Found, text: &str) -> Option<String> {
        let program = found.program.clone();
        if self.stuck.lock().contains(&program) {
            return None;
        }
        let invocation = Invocation {
            cwd: Some(found.folder.clone()),
            memory: Some(MEMORY),
            ..Invocation::new(&found.program, found.arguments.clone())
        };
        let invocation = self.code.confined().confine(invocation).await.ok()?;
        let output = run_contained(&invocation, Some(text.as_bytes()), OUTPUT_LIMIT, PATIENCE);
        let output = output.await;
        if matches!(output, Err(QuietError::Timeout { .. })) {
            self.stuck.lock().insert(program);
        }
        let output = output.ok()?;
        let is_complete = output.exit.is_success() && output.stdout.len() < OUTPUT_LIMIT;
        let wanted = String::from_utf8(output.stdout)
            .ok()
            .filter(|_| is_complete)?;
        (!wanted.trim().is_empty()).then_some(wanted)
    }

    /// Returns the reports that the model has not received yet, and clears them.
    pub(crate) fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut self.turn.lock().news)
    }
}

fn news(formatter: &str, done: &Reformatted) -> String {
    let Reformatted {
        name,
        added,
        removed,
        hunks,
    } = done;
    format!(
        "{formatter} formatted `{name}` after your change (+{added} -{removed} lines):\n{hunks}"
    )
}
