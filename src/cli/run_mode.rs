//! The modes of the program, and which flags apply to which: a flag that would have no effect is an error.

use super::args::{Args, InputFormat};
use crate::modes::log::LogLevel;

/// The mode to run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunMode {
    Screen,
    Text,
    Json,
    /// Claude Code's messages, and its result alone.
    StreamJson,
    JsonResult,
    /// The events of `codex exec --json`.
    Codex,
    Rpc,
    Acp,
}

use RunMode::{Acp, Codex, Json, JsonResult, Rpc, Screen, StreamJson, Text};

impl RunMode {
    #[cfg(test)]
    const ALL: [Self; 8] = [Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp];

    /// How much of warnings and errors is logged without a flag.
    pub(super) fn log_level(self) -> LogLevel {
        match self {
            Text => LogLevel::Everything,
            // The last line or the exit has the error.
            StreamJson | JsonResult | Codex => LogLevel::Warnings,
            // Events have all of it.
            Json | Rpc | Screen | Acp => LogLevel::Nothing,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Screen => "the interface",
            Text => "text output",
            Json => "`--json`",
            StreamJson => "`--output-format stream-json`",
            JsonResult => "`--output-format json`",
            Codex => "`osier exec --json`",
            Rpc => "`osier rpc`",
            Acp => "`osier acp`",
        }
    }
}

/// A flag that does not apply to every mode.
struct Flag {
    name: &'static str,
    is_given: fn(&Args) -> bool,
    modes: &'static [RunMode],
}

const FLAGS: [Flag; 12] = [
    flag(
        "--accounting",
        |args| args.run.accounting.is_some(),
        &[Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc],
    ),
    flag(
        "--stdin",
        |args| args.script.stdin,
        &[Screen, Text, Json, StreamJson, JsonResult, Codex],
    ),
    flag("--verbose", |args| args.run.verbose, LOGGED),
    flag("--trace-llm", |args| args.run.trace_llm, LOGGED),
    flag("--trace-mcp", |args| args.run.trace_mcp, LOGGED),
    flag("--answers", |args| args.answers, &[Json]),
    flag(
        "--input-format stream-json",
        |args| args.script.input_format == Some(InputFormat::StreamJson),
        &[StreamJson, JsonResult],
    ),
    flag(
        "--include-partial-messages",
        |args| args.script.include_partial_messages,
        &[StreamJson],
    ),
    flag(
        "--replay-user-messages",
        |args| args.script.replay_user_messages,
        &[StreamJson],
    ),
    flag(
        "--permission-prompt-tool",
        |args| args.script.permission_prompt_tool.is_some(),
        &[StreamJson, JsonResult],
    ),
    flag(
        "--output-schema",
        |args| args.script.output_schema.is_some(),
        CHECKED,
    ),
    flag(
        "--json-schema",
        |args| args.script.json_schema.is_some(),
        CHECKED,
    ),
];

const fn flag(name: &'static str, is_given: fn(&Args) -> bool, modes: &'static [RunMode]) -> Flag {
    Flag {
        name,
        is_given,
        modes,
    }
}

/// The modes that log to standard error.
const LOGGED: &[RunMode] = &[Text, Json, StreamJson, JsonResult, Codex, Rpc];
/// The modes that check the answer against a schema.
const CHECKED: &[RunMode] = &[Text, StreamJson, JsonResult, Codex];

/// Refuses a flag that does not apply to `mode`.
///
/// # Errors
/// The flag and the mode.
pub(super) fn check(args: &Args, mode: RunMode) -> Result<(), String> {
    let refused = FLAGS
        .iter()
        .find(|flag| (flag.is_given)(args) && !flag.modes.contains(&mode));
    let Some(flag) = refused else { return Ok(()) };
    let modes: Vec<&str> = flag.modes.iter().map(|mode| mode.name()).collect();
    Err(format!(
        "`{}` has no effect with {}; it applies to {}",
        flag.name,
        mode.name(),
        modes.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// Every flag of the table with every mode: it applies, or it is refused by name.
    #[test]
    fn a_flag_applies_to_a_mode_or_is_refused() {
        for flag in &FLAGS {
            let value = match flag.name {
                "--accounting" | "--output-schema" => Some("file"),
                "--json-schema" => Some("{}"),
                "--permission-prompt-tool" => Some("stdio"),
                _ => None,
            };
            let words = flag.name.split(' ').chain(value);
            let needed = match flag.name {
                name if name.starts_with("--input-format") => {
                    &["--output-format", "stream-json"][..]
                }
                _ => &[],
            };
            let words = std::iter::once("osier")
                .chain(words)
                .chain(needed.iter().copied());
            let args = Args::try_parse_from(words).unwrap();
            assert!((flag.is_given)(&args), "{}", flag.name);
            for mode in RunMode::ALL {
                let checked = check(&args, mode);
                let is_refused = checked
                    .as_ref()
                    .is_err_and(|error| error.contains(flag.name));
                assert_eq!(
                    is_refused,
                    !flag.modes.contains(&mode),
                    "{} {mode:?}",
                    flag.name
                );
                assert_eq!(
                    check(&Args::try_parse_from(["osier"]).unwrap(), mode),
                    Ok(())
                );
            }
        }
    }
}
