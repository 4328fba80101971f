//! Programs of a project that osier starts by itself: they run as long as nothing that they could load has changed since the user
//! trusted the project, or allowed it.

use std::collections::HashSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use osier_base::locked_json::LockedJsonError;
use osier_base::path;

use super::Trust;
use super::program_use::ProgramUse;
use super::reach;
use super::snapshot::{SHOWN, State};

/// Programs of a project whose states are stored.
const STORED: usize = 200;

/// The projects whose programs run with changed code until osier ends.
static RUNNING: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// Whether programs of a project are as the user trusted them.
#[derive(Debug)]
pub struct ProjectPrograms {
    trust: Trust,
    project: PathBuf,
}

/// A program of the project that may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedProgram {
    /// Identifies the programs.
    key: String,
    /// The state of the files; `None` if they cannot be read, so that nobody can allow them.
    state: Option<State>,
    /// Why it does not run, as the end of a sentence.
    pub reason: String,
    /// The files that have changed.
    pub files: Vec<String>,
}

impl ChangedProgram {
    /// The question, once for each state.
    pub fn id(&self) -> Option<String> {
        let state = self.state.as_ref()?;
        let state = state.contents.as_ref().unwrap_or(&state.stamp);
        Some(format!("{} {state}", self.key))
    }
}

impl ProjectPrograms {
    /// The programs of the project at `project`.
    pub fn new(trust: Trust, project: &Path) -> Self {
        Self {
            trust,
            project: project.to_owned(),
        }
    }

    /// Checks what the use could load of the project. Blocks.
    ///
    /// # Errors
    /// A part is not as the user trusted it.
    pub fn check(&self, run: &ProgramUse) -> Result<(), Box<ChangedProgram>> {
        let key = run.key();
        let changed = |state, reason: String, files| {
            let key = key.clone();
            Box::new(ChangedProgram {
                key,
                state,
                reason,
                files,
            })
        };
        let unknown = |error| changed(None, format!("cannot be checked: {error}"), Vec::new());
        if RUNNING
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&self.project)
        {
            return Ok(());
        }
        if let Some(changed) = self.check_copy(run, &key).map_err(unknown)? {
            return Err(Box::new(changed));
        }
        let reach = reach::of(run, &self.project).map_err(unknown)?;
        let decisions = self.trust.read();
        let stored = decisions.programs.get(&self.project);
        let stored = stored.and_then(|stored| stored.get(&key));
        if reach.is_empty() && stored.is_none() {
            return Ok(());
        }
        let decision = decisions.folders.get(&self.project);
        let trusted_at = decision.filter(|decision| decision.trusted);
        let trusted_at = trusted_at.and_then(|decision| decision.at);
        let since = stored.and_then(|state| state.at).or(trusted_at);
        let snapshot = reach.snapshot(&self.project, since).map_err(unknown)?;
        if stored.is_some_and(|state| state.stamp == snapshot.stamp) {
            return Ok(());
        }
        let state = State {
            stamp: snapshot.stamp.clone(),
            contents: reach.contents(&self.project, &snapshot).map_err(unknown)?,
            at: stored.and_then(|state| state.at),
        };
        let is_same =
            |stored: &State| stored.contents.is_some() && stored.contents == state.contents;
        let (first, count) = snapshot.changed;
        let is_first = stored.is_none() && trusted_at.is_some() && count == 0;
        if is_first || stored.is_some_and(is_same) {
            // The contents are those of the stamp. Without the stored state, the next check compares again.
            let again = reach.snapshot(&self.project, since);
            if again.is_ok_and(|again| again.stamp == state.stamp) {
                let _ = self.store(&key, state);
                return Ok(());
            }
        }
        let shown = |file: &PathBuf| path::display(file, &self.project);
        let mut files: Vec<String> = first.iter().map(shown).collect();
        let reason = reason(files.first(), trusted_at.is_some(), stored);
        if count > files.len() {
            files.push(format!("and {} more", count - files.len()));
        }
        Err(changed(Some(state), reason, files))
    }

    /// The files that the use could load in a copy of the project, if they are not those of the project.
    fn check_copy(&self, run: &ProgramUse, key: &str) -> Result<Option<ChangedProgram>, String> {
        let Some((cwd, root)) = &run.copy else {
            return Ok(None);
        };
        let own = ProgramUse {
            cwd: cwd.clone(),
            ..run.clone()
        };
        let (different, stamp) = reach::of(&own, root)?.different(root, &self.project)?;
        let key = format!("{key}, in a copy");
        let decisions = self.trust.read();
        let stored = decisions
            .programs
            .get(&self.project)
            .and_then(|stored| stored.get(&key));
        let Some(first) = different
            .first()
            .filter(|_| stored.is_none_or(|stored| stored.stamp != stamp))
        else {
            return Ok(None);
        };
        let reason = format!(
            "could load code that has changed in this copy of the folder (`{}`)",
            first.display()
        );
        let files = different
            .iter()
            .take(SHOWN)
            .map(|file| file.display().to_string());
        Ok(Some(ChangedProgram {
            key,
            state: Some(State {
                stamp,
                ..State::default()
            }),
            reason,
            files: files.collect(),
        }))
    }

    /// The user allows the program as it is.
    ///
    /// # Errors
    /// The decision cannot be stored.
    pub fn allow(&self, program: &ChangedProgram) -> Result<(), LockedJsonError> {
        let Some(state) = &program.state else {
            return Ok(());
        };
        let at = Some(super::now());
        self.store(
            &program.key,
            State {
                at,
                ..state.clone()
            },
        )
    }

    /// The user trusts all code of the project, with its later changes, until osier ends.
    pub fn allow_all(&self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(self.project.clone());
    }

    fn store(&self, key: &str, state: State) -> Result<(), LockedJsonError> {
        self.trust.change(|decisions| {
            let stored = decisions.programs.entry(self.project.clone()).or_default();
            if stored.len() >= STORED {
                stored.pop_first();
            }
            stored.insert(key.to_owned(), state);
        })
    }
}

/// Why the program does not run, as the end of a sentence.
fn reason(file: Option<&String>, is_trusted: bool, stored: Option<&State>) -> String {
    let since = match stored.and_then(|state| state.at) {
        Some(_) => "since you allowed it",
        None if is_trusted => "since you trusted the folder",
        None => return "runs code of this folder, which is not known as you trusted it".to_owned(),
    };
    match file {
        Some(file) => format!("could load code that has changed {since} (`{file}`)"),
        None => format!("could load other code that has changed {since}"),
    }
}
