//! The files that a call names, from the row of its tool.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::find;
use crate::files::target::{FileTarget, NamedFile};
use crate::workspace::Workspace;

/// The files that the call of `tool` names, in order.
fn named_files(tool: &str, arguments: &Value) -> Vec<NamedFile> {
    let Some(tool) = find(tool) else {
        return Vec::new();
    };
    if let Some(named) = tool.files {
        return named(arguments);
    }
    let file = tool.file.and_then(|argument| {
        let given = arguments.get(argument.name).and_then(Value::as_str);
        argument.file(given)
    });
    file.into_iter().collect()
}

impl FileTarget {
    /// The file of the call of `tool` in `cwd`; `None` when the call names none. The first one of several.
    pub fn of(tool: &str, arguments: &Value, cwd: &Path) -> Option<Self> {
        Self::all(tool, arguments, cwd).into_iter().next()
    }

    /// The files of the call of `tool` in `cwd`, in order.
    pub fn all(tool: &str, arguments: &Value, cwd: &Path) -> Vec<Self> {
        let named = named_files(tool, arguments);
        let resolve = |named: &NamedFile| Self::resolve(named, cwd, None);
        named.iter().map(resolve).collect()
    }
}

impl Workspace {
    /// The file of a call; `None` when it names none. The first one of several.
    pub fn file_target(&self, tool: &str, arguments: &Value) -> Option<FileTarget> {
        self.file_targets(tool, arguments).into_iter().next()
    }

    /// The files of a call, in order.
    pub fn file_targets(&self, tool: &str, arguments: &Value) -> Vec<FileTarget> {
        let named = named_files(tool, arguments);
        named.iter().map(|named| self.resolve(named)).collect()
    }

    /// Lets the call use its files `targets`, which were checked, in their order.
    pub fn approve(&self, call_id: &str, tool: &str, arguments: &Value, targets: Vec<FileTarget>) {
        self.approve_files(call_id, named_files(tool, arguments), targets);
    }

    /// Forgets an approved call, which has ended.
    pub fn forget_approval(&self, call_id: &str, tool: &str, arguments: &Value) {
        self.forget_files(call_id, &named_files(tool, arguments));
    }

    /// Records what hooks changed in the files of a call that has written them, for example a formatter.
    pub fn record_hooks(&self, call_id: &str, tool: &str, arguments: &Value) {
        let targets = self
            .approved_of(call_id, &named_files(tool, arguments))
            .into_iter();
        let written = targets.filter(|target| target.purpose.writes());
        let written: Vec<PathBuf> = written.map(|target| target.host).collect();
        if !written.is_empty() {
            self.ledger.record_command(written, &[]);
        }
    }
}
