//! The files that the permission check has approved, and what searches may show.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use osier_agent::Concurrency;
use serde_json::Value;

use super::Workspace;
use crate::call::arguments::Refusal;
use crate::files::target::{FileArgument, FileTarget, NamedFile, ReadFilter, ReadFilters};

/// Approved calls that are remembered. A call that never runs would stay forever.
const MAX_APPROVED: usize = 256;

/// The files that the permission check has approved.
#[derive(Default)]
pub(crate) struct Approvals {
    /// Every call must be approved.
    required: AtomicBool,
    approved: Mutex<Vec<Approval>>,
    filters: OnceLock<ReadFilters>,
}

struct Approval {
    call_id: String,
    /// The path in the arguments: a model can use an id twice.
    given: String,
    target: FileTarget,
}

impl Approval {
    fn is_of(&self, call_id: &str, given: &str) -> bool {
        self.call_id == call_id && self.given == given
    }
}

impl Approvals {
    fn lock(&self) -> MutexGuard<'_, Vec<Approval>> {
        self.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Approvals").finish_non_exhaustive()
    }
}

impl Workspace {
    /// Lets file tools run only approved calls, and searches show only what the `filters` let through.
    pub fn require_approval(&self, filters: ReadFilters) {
        self.approvals.required.store(true, Ordering::Relaxed);
        let _ = self.approvals.filters.set(filters);
    }

    pub(crate) fn resolve(&self, named: &NamedFile) -> FileTarget {
        FileTarget::resolve(named, self.cwd(), Some(self.confinement().as_ref()))
    }

    /// The file that a call with the path `given` in `argument` may use.
    pub(crate) fn approved_target(
        &self,
        call_id: &str,
        argument: FileArgument,
        given: Option<&str>,
    ) -> Result<FileTarget, Refusal> {
        let named = argument.file(given);
        let named = named.ok_or_else(|| Refusal::invalid("the path is missing"))?;
        self.approved(call_id, &named)
    }

    /// Serializes calls that use the same file; `None` without one.
    pub(crate) fn file_concurrency(
        &self,
        argument: FileArgument,
        arguments: &Value,
    ) -> Option<Concurrency> {
        let given = arguments.get(argument.name).and_then(Value::as_str);
        let key = self
            .resolve(&argument.file(given)?)
            .host
            .display()
            .to_string();
        Some(Concurrency::Serial(key))
    }

    /// Lets the call use the `files` that it names, in the order of their `targets`, which were checked.
    pub(crate) fn approve_files(
        &self,
        call_id: &str,
        files: Vec<NamedFile>,
        targets: Vec<FileTarget>,
    ) {
        let mut approved = self.approvals.lock();
        for (named, target) in files.into_iter().zip(targets) {
            if approved.len() >= MAX_APPROVED {
                approved.remove(0);
            }
            approved.push(Approval {
                call_id: call_id.to_owned(),
                given: named.path,
                target,
            });
        }
    }

    /// Forgets the approved `files` of a call, which has ended.
    pub(crate) fn forget_files(&self, call_id: &str, files: &[NamedFile]) {
        let mut approved = self.approvals.lock();
        for named in files {
            let mut calls = approved.iter();
            let found = calls.position(|call| call.is_of(call_id, &named.path));
            found.map(|index| approved.remove(index));
        }
    }

    /// Those of `files` that the call may use.
    pub(crate) fn approved_of(&self, call_id: &str, files: &[NamedFile]) -> Vec<FileTarget> {
        let approved = self.approvals.lock();
        let target = |named: &NamedFile| {
            let mut calls = approved.iter();
            let call = calls.find(|call| call.is_of(call_id, &named.path))?;
            Some(call.target.clone())
        };
        files.iter().filter_map(target).collect()
    }

    /// The file that the call may use by this name.
    pub(crate) fn approved(&self, call_id: &str, named: &NamedFile) -> Result<FileTarget, Refusal> {
        let approved = self.approvals.lock();
        let mut calls = approved.iter();
        if let Some(call) = calls.find(|call| call.is_of(call_id, &named.path)) {
            return Ok(call.target.clone());
        }
        drop(approved);
        if self.approvals.required.load(Ordering::Relaxed) {
            let text = "the path was not checked; call the tool again".to_owned();
            return Err(Refusal::Failed(text));
        }
        Ok(self.resolve(named))
    }

    /// Whether a search may show the contents of a file that it has found.
    pub(crate) fn read_filter(&self) -> ReadFilter {
        match self.approvals.filters.get() {
            Some(filters) => filters(),
            None => Box::new(|_| true),
        }
    }
}
