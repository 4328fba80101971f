//! Failures of hooks and their effects: one table for the documentation and the test that plays it.

use std::fmt::Write as _;

/// A way in which a hook can fail.
#[derive(Debug, Clone, Copy)]
pub struct Failure {
    pub what: &'static str,
    /// Commands that fail so; with a `timeout` of 1 second.
    pub commands: &'static [&'static str],
    /// Whether it blocks the events that hooks guard.
    pub blocks: bool,
}

/// All ways, in the order of the documentation.
pub const FAILURES: &[Failure] = &[
    Failure {
        what: "it does not end within its `timeout` and is killed",
        commands: &["sleep 600"],
        blocks: true,
    },
    Failure {
        what: "a signal ends it, also behind a shell (exit codes 129 to 192)",
        commands: &[
            "kill -KILL $$",
            "kill -SEGV $$",
            "sh -c 'kill -TERM $$'; exit $?",
        ],
        blocks: true,
    },
    Failure {
        what: "it cannot start: no such program, not executable, no interpreter (exit codes 126 and 127)",
        commands: &["/no/such/program", "./not-executable", "./no-interpreter"],
        blocks: true,
    },
    Failure {
        what: "its output begins with `{`, but is not valid JSON, or is longer than 8 MiB",
        commands: &[
            "echo '{\"decision\": '",
            "echo '{deny}'",
            "printf '{\"x\": \"'; head -c 9000000 /dev/zero | tr '\\0' x; printf '\"}'",
        ],
        blocks: true,
    },
    Failure {
        what: "its JSON has an unknown decision, or a field of a decision with a wrong type or at a wrong place",
        commands: &[
            "echo '{\"decision\": \"maybe\"}'",
            "echo '{\"decision\": 42}'",
            "echo '{\"continue\": \"no\"}'",
            "echo '{\"blocked\": true}'",
            "echo '{\"hookSpecificOutput\": \"deny\"}'",
            "echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"no\"}}'",
            "echo '{\"hookSpecificOutput\": {\"permissionDecision\": 42}}'",
            "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"Nothing\"}}'",
        ],
        blocks: true,
    },
    Failure {
        what: "its output is an HTML page",
        commands: &[
            "echo '<!DOCTYPE html><h1>502 Bad Gateway</h1>'",
            "echo '<html></html>'",
        ],
        blocks: true,
    },
    Failure {
        what: "any other exit code, such as 1 of a script with an error",
        commands: &["exit 1", "echo Traceback >&2; exit 1", "exit 255"],
        blocks: false,
    },
    Failure {
        what: "no output, or a text that is not JSON, and exit code 0",
        commands: &[
            "true",
            "echo checked",
            "head -c 9000000 /dev/zero | tr '\\0' x",
        ],
        blocks: false,
    },
];

/// The table for the documentation.
pub fn failures_table() -> String {
    let mut page = String::from(
        "| the hook | `PreToolUse`, `PermissionRequest`, `UserPromptSubmit` | other events |\n|---|---|---|\n",
    );
    for failure in FAILURES {
        let effect = if failure.blocks { "blocks" } else { "passes" };
        let _ = writeln!(page, "| {} | {effect} | passes |", failure.what);
    }
    page
}
