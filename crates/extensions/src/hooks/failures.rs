//! Failures of hooks and their effects: one table for the documentation, and for tests that run
//! each failure.

use std::fmt::Write as _;

use osier_protocol::{EVENTS, EventInfo};

/// The events that a failure blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocks {
    #[default]
    Nothing,
    /// The events that ask whether something may happen.
    Guards,
    /// The guards, and the events that ask whether the model may finish: there is an answer, but it
    /// is not understood.
    Decisions,
    /// Everything that can be blocked: the hook itself blocks.
    Everything,
}

impl Blocks {
    /// Whether the failure blocks this event; blocking the end of a model continues it.
    pub fn applies_to(self, info: &EventInfo) -> bool {
        match self {
            Self::Nothing => false,
            Self::Guards => info.guards,
            Self::Decisions => info.guards || info.continues,
            Self::Everything => info.blocks,
        }
    }
}

/// A way in which a hook can fail.
#[derive(Debug, Clone, Copy)]
pub struct Failure {
    pub what: &'static str,
    /// Commands that fail in this way with a `timeout` of 1 second.
    pub commands: &'static [&'static str],
    pub blocks: Blocks,
}

/// All ways in which a hook can fail, in the order of the documentation.
pub const FAILURES: &[Failure] = &[
    Failure {
        what: "exit code 2: standard error is the reason",
        commands: &["echo no >&2; exit 2", "exit 2"],
        blocks: Blocks::Everything,
    },
    Failure {
        what: "it does not end within its `timeout` and is killed",
        commands: &["sleep 600"],
        blocks: Blocks::Guards,
    },
    Failure {
        what: "a signal ends it, also behind a shell (exit codes 129 to 192)",
        commands: &[
            "kill -KILL $$",
            "kill -SEGV $$",
            "sh -c 'kill -TERM $$'; exit $?",
        ],
        blocks: Blocks::Guards,
    },
    Failure {
        what: "it cannot start: no such program, not executable, no interpreter (exit codes 126 and 127); or osier does not start it, because it could load code of the project that is not as you trusted it",
        commands: &["/no/such/program", "./not-executable", "./no-interpreter"],
        blocks: Blocks::Guards,
    },
    Failure {
        what: "its output is longer than 8 MiB",
        commands: &["head -c 9000000 /dev/zero | tr '\\0' x"],
        blocks: Blocks::Guards,
    },
    Failure {
        what: "its output is an HTML page",
        commands: &[
            "echo '<!DOCTYPE html><h1>502 Bad Gateway</h1>'",
            "echo '<html></html>'",
        ],
        blocks: Blocks::Guards,
    },
    Failure {
        what: "its output begins with `{`, also after invisible characters, but is not one JSON object in UTF-8 with each key once",
        commands: &[
            "echo '{\"decision\": '",
            "echo '{deny}'",
            "echo '{} {}'",
            "echo '{\"decision\": \"block\", \"decision\": \"approve\"}'",
            "printf '\\033[0m{\"decision\": \"block\"}'",
            "printf '\\377\\376{\\0\"\\0a\\0\"\\0:\\0\"\\0b\\0\"\\0}\\0'",
        ],
        blocks: Blocks::Decisions,
    },
    Failure {
        what: "its output has an answer in JSON after other text, or in a list",
        commands: &[
            "echo checking; echo '{\"decision\": \"block\"}'",
            "echo '[{\"decision\": \"block\"}]'",
        ],
        blocks: Blocks::Decisions,
    },
    Failure {
        what: "its JSON has an unknown field, a field of another event, or a field with a wrong type or an unknown word",
        commands: &[
            "echo '{\"decison\": \"block\"}'",
            "echo '{\"permission\": \"deny\"}'",
            "echo '{\"allow\": false}'",
            "echo '{\"decision\": \"maybe\"}'",
            "echo '{\"decision\": 42}'",
            "echo '{\"continue\": \"false\"}'",
            "echo '{\"hookSpecificOutput\": \"deny\"}'",
            "echo '{\"hookSpecificOutput\": {\"permissionDecison\": \"deny\"}}'",
            "echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"no\"}}'",
            "echo '{\"hookSpecificOutput\": {\"updatedInput\": 5}}'",
            "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"Nothing\"}}'",
            "echo '{\"permissionDecison\": \"deny\"}'; exit 1",
        ],
        blocks: Blocks::Decisions,
    },
    Failure {
        what: "any other exit code, such as 1 of a script with an error; a JSON answer that blocks still counts",
        commands: &[
            "exit 1",
            "echo Traceback >&2; exit 1",
            "exit 255",
            "echo '{\"decision\": \"approve\"}'; exit 1",
        ],
        blocks: Blocks::Nothing,
    },
    Failure {
        what: "no output, or a text that is not JSON, and exit code 0",
        commands: &["true", "echo checked", "echo '[info] checked'"],
        blocks: Blocks::Nothing,
    },
];

/// The table for the documentation: a column for the events with the same effects.
pub fn failures_table() -> String {
    let effects = |info: &EventInfo| {
        FAILURES
            .iter()
            .map(|failure| failure.blocks.applies_to(info))
            .collect::<Vec<bool>>()
    };
    let mut columns: Vec<(Vec<bool>, Vec<String>, bool)> = Vec::new();
    for info in &EVENTS {
        let (effects, name) = (effects(info), format!("`{}`", info.name));
        match columns.iter_mut().find(|(known, ..)| *known == effects) {
            Some((_, names, _)) => names.push(name),
            None => columns.push((effects, vec![name], info.continues)),
        }
    }
    columns.sort_by_key(|(effects, ..)| {
        std::cmp::Reverse(effects.iter().filter(|blocks| **blocks).count())
    });
    let mut page = String::from("| the hook |");
    for (_, names, _) in &columns {
        let _ = write!(page, " {} |", names.join(", "));
    }
    let _ = writeln!(page, "\n|---|{}", "---|".repeat(columns.len()));
    for (place, failure) in FAILURES.iter().enumerate() {
        let _ = write!(page, "| {} |", failure.what);
        for (effects, _, continues) in &columns {
            let effect = match (effects.get(place), continues) {
                (Some(true), false) => "blocks",
                (Some(true), true) => "continues the model",
                _ => "passes",
            };
            let _ = write!(page, " {effect} |");
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use osier_protocol::OnFailure;

    use super::super::Hooks;
    use super::super::answer::HookAnswer;
    use super::super::config::Handler;
    use super::super::run::{Surroundings, run};
    use super::super::session::judge;
    use super::*;

    /// The answer to the event of a hook that runs `command`.
    async fn answer(
        info: &EventInfo,
        command: &str,
        on_failure: Option<OnFailure>,
        cwd: &Path,
    ) -> HookAnswer {
        let (hooks, _news) = Hooks::new(cwd.to_owned(), None, None);
        let handler = Handler {
            on_failure,
            ..Handler::example(info.event, command)
        };
        let limit = if command.starts_with("sleep") {
            Duration::from_millis(50)
        } else {
            Duration::from_mins(1)
        };
        let input: Arc<[u8]> = b"{}"[..].into();
        let ran = run(
            &handler,
            &Surroundings::example(cwd, cwd),
            Arc::clone(&input),
            limit,
        )
        .await;
        judge(&hooks, &handler, ran, &input, limit, Instant::now())
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("not-executable", 0o644), ("no-interpreter", 0o755)] {
            let path = folder.path().join(name);
            osier_base::atomic_file::write(&path, b"#!/no/such/program\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        folder
    }

    #[tokio::test]
    async fn every_failure_has_its_effect_for_every_event() {
        let folder = folder();
        for failure in FAILURES {
            for command in failure.commands {
                for info in &EVENTS {
                    let answer = answer(info, command, None, folder.path()).await;
                    let blocks = failure.blocks.applies_to(info);
                    assert_eq!(answer.block.is_some(), blocks, "{} {command}", info.name);
                }
            }
        }
    }

    #[tokio::test]
    async fn the_configured_effect_of_failures_is_used() {
        let folder = folder();
        let allows = "echo '{\"decision\": \"approve\", \"reson\": 1}'";
        for (command, event, on_failure, blocks) in [
            ("exit 1", "PreToolUse", OnFailure::Block, true),
            ("kill -KILL $$", "UserPromptSubmit", OnFailure::Block, true),
            ("exit 1", "Stop", OnFailure::Block, false),
            ("true", "PreToolUse", OnFailure::Block, false),
            ("kill -KILL $$", "PreToolUse", OnFailure::Continue, false),
            (allows, "PreToolUse", OnFailure::Continue, false),
            ("exit 2", "PreToolUse", OnFailure::Continue, true),
        ] {
            let info = osier_protocol::HookEvent::find(event).unwrap().info();
            let answer = answer(info, command, Some(on_failure), folder.path()).await;
            assert_eq!(answer.block.is_some(), blocks, "{command} {event}");
            assert_eq!(answer.decision, None, "{command} {event}");
        }
    }
}
