//! Finds the row of a program by its name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::table::{LOADERS, NONE, PROGRAMS, Program, Shell};

/// The row of the program `name`; for an unknown program, a row without facts.
pub(crate) fn find(name: &str) -> &'static Program {
    static UNKNOWN: Program = NONE;
    static BY_NAME: LazyLock<HashMap<&str, &Program>> = LazyLock::new(|| {
        let rows = PROGRAMS.iter();
        rows.flat_map(|program| program.names.split(' ').map(move |name| (name, program)))
            .collect()
    });
    BY_NAME.get(name).unwrap_or(&&UNKNOWN)
}

/// The program without its directory.
pub(crate) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// The row of `name` without a version: `bash5`, `zsh-5.9`, `busybox.static`.
fn without_version(name: &str) -> &'static Program {
    let end = name.find(|char: char| !char.is_ascii_alphabetic());
    find(&name[..end.unwrap_or(name.len())])
}

/// Whether an argument of `name`, with the arguments after it, can be a command.
pub(crate) fn runs_arguments(name: &str) -> bool {
    let base = without_version(name);
    find(name).wraps
        || (base.wraps && base.has_versions)
        || LOADERS.split(' ').any(|loader| name.starts_with(loader))
}

/// Whether an argument of `name` can be code that runs commands.
pub(crate) fn runs_code(name: &str) -> bool {
    let runs = |program: &Program| program.runs_anything || program.reads_commands;
    runs(find(name)) || runs(without_version(name))
}

/// Whether `name` runs the text of an argument as a command.
pub(crate) fn is_shell(name: &str) -> bool {
    let is_shell = |program: &Program| matches!(program.shell, Shell::Posix | Shell::OfUser);
    is_shell(find(name)) || is_shell(without_version(name))
}

/// Whether `name` is a shell with another language.
pub(crate) fn is_foreign_shell(name: &str) -> bool {
    let is_foreign = |program: &Program| program.shell == Shell::Other;
    is_foreign(find(name)) || is_foreign(without_version(name))
}

/// Whether `name` runs a command given in its arguments.
pub(crate) fn is_wrapper(name: &str) -> bool {
    runs_arguments(name) || is_shell(name) || is_foreign_shell(name)
}
