//! The modes of the program, and which flags apply to which: a flag that would have no effect is an error. `osier serve`,
//! `osier attach` and the commands without a session take only flags of their own.

use clap::CommandFactory as _;

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
    /// `osier rpc --connect`: the session is in a server.
    Bridge,
}

use RunMode::{Acp, Bridge, Codex, Json, JsonResult, Rpc, Screen, StreamJson, Text};

impl RunMode {
    #[cfg(test)]
    const ALL: [Self; 9] = [
        Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, Bridge,
    ];

    /// How much of warnings and errors is logged without a flag.
    pub(super) fn log_level(self) -> LogLevel {
        match self {
            Text => LogLevel::Everything,
            // The last line or the exit has the error.
            StreamJson | JsonResult | Codex => LogLevel::Warnings,
            // Events have all of it.
            Json | Rpc | Screen | Acp | Bridge => LogLevel::Nothing,
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
            Bridge => "`osier rpc --connect`",
        }
    }
}

/// A flag, and the modes that it applies to.
struct Flag {
    /// The name of its field, by which clap knows it.
    id: &'static str,
    modes: &'static [RunMode],
    /// Whether the value of the flag matters.
    matters: fn(&Args) -> bool,
}

/// Every mode with a session.
const SESSION: &[RunMode] = &[Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp];
/// Modes whose sessions are named by the command line. An editor names them itself.
const NAMED: &[RunMode] = &[Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc];
/// The modes that log to standard error.
const LOGGED: &[RunMode] = &[Text, Json, StreamJson, JsonResult, Codex, Rpc];
/// The modes that check the answer against a schema.
const CHECKED: &[RunMode] = &[Text, StreamJson, JsonResult, Codex];
const CLAUDE: &[RunMode] = &[StreamJson, JsonResult];

/// Every flag of the commands that run sessions.
const FLAGS: &[Flag] = &[
    flag(
        "prompts",
        &[Screen, Text, Json, StreamJson, JsonResult, Codex],
    ),
    flag(
        "stdin",
        &[Screen, Text, Json, StreamJson, JsonResult, Codex],
    ),
    flag("print", &[Text, StreamJson, JsonResult, Codex]),
    flag("json", &[Json, Codex]),
    flag("answers", &[Json]),
    flag("mode", SESSION),
    flag("model", SESSION),
    // To switch between them.
    flag("models", &[Screen, Rpc, Acp]),
    flag("thinking", SESSION),
    flag("api_key", SESSION),
    flag("base_url", SESSION),
    flag("proxy", SESSION),
    flag("system_prompt", SESSION),
    flag("append_system_prompt", SESSION),
    flag("context", SESSION),
    flag("continue_session", NAMED),
    flag("resume", NAMED),
    flag("fork", NAMED),
    flag("session", NAMED),
    flag("no_session", NAMED),
    flag("take_over", NAMED),
    flag("session_dir", SESSION),
    flag("tools", SESSION),
    flag("permissions", SESSION),
    flag("sandbox", SESSION),
    flag("trust", SESSION),
    flag("cwd", SESSION),
    flag("temperature", SESSION),
    flag("max_turns", SESSION),
    flag("max_cost", SESSION),
    flag("max_tokens", SESSION),
    flag("max_session_turns", SESSION),
    flag("max_retries", SESSION),
    flag("settings", SESSION),
    flag("config", SESSION),
    flag("mcp_config", SESSION),
    flag("screen_reader", &[Screen]),
    // SDKs of Claude Code always give it with `stream-json`, which has every message.
    flag("verbose", LOGGED),
    flag("trace_llm", LOGGED),
    flag("trace_mcp", LOGGED),
    flag("accounting", NAMED),
    // A command; it ends before there is a mode.
    flag("list_models", SESSION),
    flag("output_format", &[Text, StreamJson, JsonResult]),
    Flag {
        matters: |args| args.script.input_format == Some(InputFormat::StreamJson),
        ..flag("input_format", CLAUDE)
    },
    flag("include_partial_messages", &[StreamJson]),
    flag("replay_user_messages", &[StreamJson]),
    flag("output_schema", CHECKED),
    flag("json_schema", CHECKED),
    flag("permission_mode", SESSION),
    flag("permission_prompt_tool", CLAUDE),
    flag("allowed_tools", SESSION),
    flag("disallowed_tools", SESSION),
    flag("add_dir", SESSION),
    flag("fallback_model", SESSION),
    flag("effort", SESSION),
    flag("fork_session", NAMED),
    flag("system_prompt_file", SESSION),
    // For SDKs: osier always reads its own settings.
    flag("setting_sources", SESSION),
    flag("schema", &[Rpc]),
    flag("connect", &[Bridge]),
    flag("request", &[Bridge]),
    flag("no_start", &[Bridge]),
    flag("login", &[Acp]),
];

const fn flag(id: &'static str, modes: &'static [RunMode]) -> Flag {
    Flag {
        id,
        modes,
        matters: |_| true,
    }
}

/// Refuses a flag that does not apply to `mode`.
///
/// # Errors
/// The flag and the mode.
pub(super) fn check(args: &Args, mode: RunMode) -> Result<(), String> {
    let refused = FLAGS.iter().find(|flag| {
        args.given.iter().any(|id| id == flag.id)
            && (flag.matters)(args)
            && !flag.modes.contains(&mode)
    });
    let Some(flag) = refused else { return Ok(()) };
    let modes: Vec<&str> = flag.modes.iter().map(|mode| mode.name()).collect();
    let name = written(flag.id);
    let takes = format!("it applies to {}", modes.join(", "));
    Err(match (name, mode) {
        (Some(name), Bridge) => format!(
            "`{name}` has no effect with {}: the server has the session; {takes}",
            mode.name()
        ),
        (Some(name), _) => format!("`{name}` has no effect with {}; {takes}", mode.name()),
        (None, Acp) => {
            "`osier acp` takes no prompts on the command line; send them from the editor".to_owned()
        }
        (None, _) => format!(
            "{} takes no prompts on the command line; send them as commands",
            mode.name()
        ),
    })
}

/// The flag as users write it; `None` for prompts.
fn written(id: &str) -> Option<String> {
    let command = Args::command();
    let commands = std::iter::once(&command).chain(command.get_subcommands());
    let mut arguments = commands.flat_map(clap::Command::get_arguments);
    let argument = arguments.find(|argument| argument.get_id() == id)?;
    argument.get_long().map(|long| format!("--{long}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Arg;
    use osier_base::folders::Folders;
    use osier_settings::Settings;

    use super::super::run_config::RunConfig;
    use super::*;

    /// The arguments of the commands that run sessions, each with a command line that has it.
    fn arguments() -> Vec<(String, Vec<String>)> {
        let mut command = Args::command();
        command.build();
        let own = |command: &clap::Command, name: &str| {
            let arguments = command
                .get_arguments()
                .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"));
            let lines = arguments.map(|argument| {
                let words = ["osier", name].map(str::to_owned);
                let words = words.into_iter().filter(|word| !word.is_empty());
                (
                    argument.get_id().to_string(),
                    words.chain(given(argument)).collect(),
                )
            });
            lines.collect::<Vec<_>>()
        };
        let mut found = own(&command, "");
        for name in ["exec", "rpc", "acp"] {
            found.extend(own(command.find_subcommand(name).unwrap(), name));
        }
        found
    }

    /// An argument with a value that clap accepts, and what it needs in addition.
    fn given(argument: &Arg) -> Vec<String> {
        let value = match argument.get_id().as_str() {
            "input_format" => vec!["stream-json", "--output-format", "stream-json"],
            "proxy" | "base_url" => vec!["https://example.com"],
            "request" | "no_start" => vec!["--connect"],
            "fork_session" | "take_over" => vec!["--continue"],
            "permission_mode" => vec!["plan"],
            "config" => vec!["theme=dark"],
            _ if !argument.get_action().takes_values() => vec![],
            _ => vec!["1"],
        };
        let possible = argument.get_possible_values();
        let value = match possible.first() {
            Some(first) if value == ["1"] => vec![first.get_name()],
            _ => value,
        };
        let value = match argument.get_id().as_str() {
            "request" => vec!["e30", "--connect"],
            _ => value,
        };
        let name = argument.get_long().map(|long| format!("--{long}"));
        name.into_iter()
            .chain(value.into_iter().map(str::to_owned))
            .collect()
    }

    /// Every argument that clap knows with every mode: it applies, or it is refused by name.
    #[test]
    fn every_argument_applies_to_a_mode_or_is_refused() {
        let arguments = arguments();
        assert!(arguments.len() > 100, "{}", arguments.len());
        for (id, words) in arguments {
            let args = Args::read(&words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert!(args.given.contains(&id), "{words:?}");
            let rows: Vec<&Flag> = FLAGS.iter().filter(|flag| flag.id == id).collect();
            assert_eq!(rows.len(), 1, "one row for `{id}`");
            // Others may have to be there, too.
            let alone = Args {
                given: vec![id.clone()],
                ..args
            };
            for mode in RunMode::ALL {
                let checked = check(&alone, mode);
                let name = written(&id).unwrap_or_else(|| "no prompts".to_owned());
                let is_refused = checked.as_ref().is_err_and(|error| error.contains(&name));
                assert_eq!(is_refused, !rows[0].modes.contains(&mode), "{id} {mode:?}");
                assert_eq!(checked.is_ok(), !is_refused, "{id} {mode:?}");
            }
        }
        for flag in FLAGS {
            assert!(!flag.modes.is_empty(), "{}", flag.id);
        }
    }

    /// Flags whose effect is not in the setup of the session, with the test of it.
    const ELSEWHERE: &[(&str, &str)] = &[
        ("prompts", "tests/it/print.rs"),
        ("print", "RunConfig::mode"),
        ("json", "RunConfig::mode"),
        ("mode", "RunConfig::mode"),
        ("output_format", "RunConfig::mode"),
        ("answers", "tests/it/permissions.rs"),
        ("trust", "tests/it/safety_settings.rs"),
        ("cwd", "tests/it/program.rs"),
        ("settings", "osier_settings::overrides"),
        ("config", "osier_settings::overrides"),
        ("screen_reader", "tests/it/tui/pty.rs"),
        ("verbose", "tests/it/promises.rs"),
        ("accounting", "tests/it/promises.rs"),
        ("list_models", "tests/it/discovery.rs"),
        ("input_format", "tests/it/scripts.rs"),
        ("stdin", "tests/it/json.rs"),
        ("include_partial_messages", "tests/it/scripts.rs"),
        ("replay_user_messages", "tests/it/scripts.rs"),
        ("permission_prompt_tool", "tests/it/scripts.rs"),
        // For SDKs of Claude Code: documented to have no effect.
        ("setting_sources", "docs/scripts.md"),
    ];

    /// A flag changes the setup, which all modes share, or is in the list of those with another effect.
    #[test]
    fn every_flag_has_an_effect() {
        let place = tempfile::tempdir().unwrap();
        let cwd = place.path().join("work");
        std::fs::create_dir_all(cwd.join("1")).unwrap();
        for (name, text) in [
            ("file", "text"),
            ("schema", "{}"),
            ("servers", "{\"mcpServers\": {\"s\": {\"command\": \"x\"}}}"),
        ] {
            osier_base::atomic_file::write(&cwd.join(name), text.as_bytes()).unwrap();
        }
        let setup = |words: &[String]| {
            let args = Args::read(words).unwrap();
            let config = RunConfig {
                args,
                folders: Folders::under(&place.path().join("home")),
                settings: Settings::default(),
                problems: Vec::new(),
                environment: BTreeMap::new(),
                cwd: cwd.clone(),
            };
            config.setup().map(|setup| format!("{setup:?}"))
        };
        let plain = setup(&["osier".to_owned()]).unwrap();
        let own = arguments().into_iter().filter(|(_, words)| {
            !matches!(
                words.get(1).map(String::as_str),
                Some("exec" | "rpc" | "acp")
            )
        });
        let mut without = Vec::new();
        for (id, mut words) in own {
            let file = match id.as_str() {
                "system_prompt_file" => "file",
                "output_schema" => "schema",
                "mcp_config" => "servers",
                _ => "",
            };
            if id == "json_schema" {
                "{}".clone_into(&mut words[2]);
            } else if !file.is_empty() {
                file.clone_into(&mut words[2]);
            }
            // An unknown session is an error.
            if setup(&words).is_ok_and(|setup| setup == plain) {
                without.push(id);
            }
        }
        let listed: Vec<&str> = ELSEWHERE.iter().map(|(id, _)| *id).collect();
        without.retain(|id| !listed.contains(&id.as_str()));
        assert_eq!(without, Vec::<String>::new());
    }

    #[test]
    fn an_error_names_the_flag_and_the_modes_that_it_applies_to() {
        let args = Args::read(["osier", "--json", "--screen-reader"]).unwrap();
        assert_eq!(
            check(&args, Json),
            Err(
                "`--screen-reader` has no effect with `--json`; it applies to the interface"
                    .to_owned()
            )
        );
        let args = Args::read(["osier", "rpc", "--connect", "--model", "x"]).unwrap();
        let error = check(&args, Bridge).unwrap_err();
        assert!(
            error.starts_with(
                "`--model` has no effect with `osier rpc --connect`: the server has the session"
            ),
            "{error}"
        );
    }
}
