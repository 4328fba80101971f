//! The modes of the program, and which flags apply to which: a flag that would have no effect is an error. Commands
//! without a session take only flags of their own.

use clap::CommandFactory as _;

use super::args::{Args, Command, InputFormat, McpCommand};
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
    McpServer,
    /// `osier rpc --connect`: the session is in a server.
    Bridge,
    Serve,
    Attach,
    /// Without a session: the list of models, the schema of RPC, a sign-in for an editor.
    Models,
    Schema,
    SignIn,
}

use RunMode::{
    Acp, Attach, Bridge, Codex, Json, JsonResult, McpServer, Models, Rpc, Schema, Screen, Serve,
    SignIn, StreamJson, Text,
};

impl RunMode {
    #[cfg(test)]
    const ALL: [Self; 15] = [
        Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer, Bridge, Serve,
        Attach, Models, Schema, SignIn,
    ];

    /// The mode that the command alone decides.
    pub(super) fn of(args: &Args) -> Option<Self> {
        match &args.command {
            Some(Command::Rpc(rpc)) if rpc.connect.is_some() => Some(Bridge),
            Some(Command::Rpc(rpc)) if rpc.schema => Some(Schema),
            Some(Command::Acp(acp)) if acp.login => Some(SignIn),
            Some(Command::Mcp {
                command: McpCommand::Serve(_),
            }) => Some(McpServer),
            Some(Command::Serve(serve)) if serve.command.is_none() => Some(Serve),
            Some(Command::Attach(_)) => Some(Attach),
            None if args.list_models.is_some() => Some(Models),
            _ => None,
        }
    }

    /// How much of warnings and errors is logged without a flag.
    pub(super) fn log_level(self) -> LogLevel {
        match self {
            Text => LogLevel::Everything,
            // The last line or the exit has the error.
            StreamJson | JsonResult | Codex => LogLevel::Warnings,
            // Events have all of it.
            Json | Rpc | Screen | Acp | McpServer | Bridge | Serve | Attach | Models | Schema
            | SignIn => LogLevel::Nothing,
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
            McpServer => "`osier mcp serve`",
            Bridge => "`osier rpc --connect`",
            Serve => "`osier serve`",
            Attach => "`osier attach`",
            Models => "`osier --list-models`",
            Schema => "`osier rpc --schema`",
            SignIn => "`osier acp --login`",
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

/// Every mode that opens a session.
const SESSION: &[RunMode] = &[
    Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer,
];
/// The modes of [`SESSION`] that also have the flags of scripts.
const OPENED: &[RunMode] = &[Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp];
/// Every mode that opens a session, and the server, which opens several.
const SERVED: &[RunMode] = &[
    Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer, Serve,
];
/// Modes that read the settings of the command line.
const SETTINGS: &[RunMode] = &[
    Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer, Models, SignIn,
];
/// Modes whose sessions are named by the command line. An editor names them itself.
const NAMED: &[RunMode] = &[Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc];
/// The modes that log to standard error.
const LOGGED: &[RunMode] = &[Text, Json, StreamJson, JsonResult, Codex, Rpc];
/// The modes of `osier` that open a session: `osier exec` has fewer flags.
const SCRIPTED: &[RunMode] = &[Screen, Text, Json, StreamJson, JsonResult, Rpc, Acp];
const PRINTED: &[RunMode] = &[Text, StreamJson, JsonResult];
/// The modes that check the answer against a schema.
const CHECKED: &[RunMode] = &[Text, StreamJson, JsonResult, Codex];
const CLAUDE: &[RunMode] = &[StreamJson, JsonResult];

/// Every flag of the commands that run sessions.
const FLAGS: &[Flag] = &[
    flag(
        "prompts",
        &[Screen, Text, Json, StreamJson, JsonResult, Codex],
    ),
    flag("stdin", &[Screen, Text, Json, StreamJson, JsonResult]),
    flag("print", PRINTED),
    flag("json", &[Json, Codex]),
    flag("answers", &[Json]),
    flag("mode", &[Text, Json, Rpc, Acp]),
    flag(
        "model",
        &[
            Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer, Serve, Attach,
            Models,
        ],
    ),
    // Only these modes can switch between the models.
    flag("models", &[Screen, Rpc, Acp]),
    flag("thinking", SERVED),
    // The key is for the model that `--model` names, and for the list, which says which models have
    // a key.
    flag(
        "api_key",
        &[
            Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer, Models,
        ],
    ),
    flag("base_url", SESSION),
    // With `serve`, the flag says whether the server is an LLM proxy.
    flag(
        "proxy",
        &[
            Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer, Serve, Models,
        ],
    ),
    flag("system_prompt", SESSION),
    flag("append_system_prompt", SESSION),
    flag("context", SESSION),
    flag("continue_session", NAMED),
    flag("resume", NAMED),
    flag("fork", NAMED),
    flag(
        "session",
        &[
            Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Attach,
        ],
    ),
    flag("no_session", NAMED),
    flag("take_over", NAMED),
    flag("session_dir", SESSION),
    flag("tools", SESSION),
    flag("permissions", SERVED),
    flag("sandbox", SERVED),
    flag("trust", SESSION),
    flag(
        "cwd",
        &[
            Screen, Text, Json, StreamJson, JsonResult, Codex, Rpc, Acp, McpServer, Serve, Models,
        ],
    ),
    flag("temperature", SESSION),
    flag("max_turns", SESSION),
    flag("max_cost", SESSION),
    flag("max_tokens", SESSION),
    flag("max_session_turns", SESSION),
    flag("max_retries", SESSION),
    flag("settings", SETTINGS),
    flag("config", SETTINGS),
    flag("mcp_config", SESSION),
    flag("screen_reader", &[Screen]),
    flag("inline", &[Screen]),
    // SDKs of Claude Code always give it with `stream-json`, which has every message.
    flag("verbose", LOGGED),
    flag("trace_llm", LOGGED),
    flag("trace_mcp", LOGGED),
    flag("accounting", NAMED),
    flag("list_models", &[Models]),
    flag("output_format", PRINTED),
    Flag {
        matters: |args| args.script.input_format == Some(InputFormat::StreamJson),
        ..flag("input_format", CLAUDE)
    },
    flag("include_partial_messages", &[StreamJson]),
    flag("replay_user_messages", &[StreamJson]),
    flag("output_schema", CHECKED),
    flag("json_schema", PRINTED),
    flag("permission_mode", SCRIPTED),
    // For SDKs, which give it with the mode that runs everything.
    flag("allow_dangerously_skip_permissions", SCRIPTED),
    flag("permission_prompts", CLAUDE),
    flag("permission_prompt_tool", CLAUDE),
    flag("allowed_tools", SCRIPTED),
    flag("disallowed_tools", SCRIPTED),
    flag("add_dir", OPENED),
    flag("init", SCRIPTED),
    flag("maintenance", SCRIPTED),
    flag("fallback_model", SCRIPTED),
    flag("effort", SCRIPTED),
    flag("max_thinking_tokens", SCRIPTED),
    // For SDKs: thinking is always shown.
    flag("thinking_display", SCRIPTED),
    flag("strict_mcp_config", SCRIPTED),
    flag(
        "fork_session",
        &[Screen, Text, Json, StreamJson, JsonResult, Rpc],
    ),
    flag("system_prompt_file", SCRIPTED),
    // For SDKs: osier always reads its own settings.
    flag("setting_sources", SCRIPTED),
    flag("schema", &[Schema]),
    flag("connect", &[Bridge]),
    flag("request", &[Bridge]),
    flag("no_start", &[Bridge]),
    flag("login", &[SignIn]),
    flag("listen", &[Serve]),
    flag("unix", &[Serve]),
    flag("http", &[McpServer]),
    flag("token_file", &[Serve, Attach, McpServer]),
    flag("allow_host", &[Serve, McpServer]),
    flag("client_header", &[Serve]),
    flag("unload_after", &[Serve]),
    flag("detach", &[Serve]),
    flag("detached", &[Serve]),
    flag("target", &[Attach]),
    flag("new", &[Attach]),
    flag("dir", &[Attach]),
    flag("name", &[Attach]),
    flag("ssh", &[Attach]),
    flag("program", &[Attach]),
];

/// A flag, whether it has an effect on this command line, and where it has none.
type Need = (&'static str, fn(&Args) -> bool, &'static str);

/// Flags whose effect depends on another argument.
const NEEDS: &[Need] = &[
    (
        "permission_prompt_tool",
        |args| args.script.reads_lines(),
        "without `--input-format stream-json`: the answers are lines",
    ),
    ("ssh", is_over_ssh, "without a server `ssh://…`"),
    ("program", is_over_ssh, "without a server `ssh://…`"),
    (
        "token_file",
        |args| !is_over_ssh(args) && !server(args).contains("#token="),
        "with a server `ssh://…`, which has its own token, or with a token in the URL",
    ),
    (
        "dir",
        |args| {
            let host = server(args).strip_prefix("ssh://");
            !host.is_some_and(|host| host.trim_end_matches('/').contains('/'))
        },
        "with a directory in the address",
    ),
];

/// The server of `osier attach`.
fn server(args: &Args) -> &str {
    match &args.command {
        Some(Command::Attach(attach)) => attach.target.as_deref().unwrap_or_default(),
        _ => "",
    }
}

fn is_over_ssh(args: &Args) -> bool {
    server(args).starts_with("ssh://")
}

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
    let is_given = |id: &str| args.given.iter().any(|given| given == id);
    let refused = FLAGS
        .iter()
        .find(|flag| is_given(flag.id) && (flag.matters)(args) && !flag.modes.contains(&mode));
    let Some(flag) = refused else {
        let lacks = |(id, is_met, _): &&Need| is_given(id) && !is_met(args);
        let Some((id, _, what)) = NEEDS.iter().find(lacks) else {
            return Ok(());
        };
        let name = written(id).unwrap_or_default();
        return Err(format!("`{name}` has no effect {what}"));
    };
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
    let nested = command.get_subcommands();
    let nested = nested.flat_map(clap::Command::get_subcommands);
    let commands = commands.chain(nested);
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

    /// The commands that run sessions, with the modes that they can have.
    const COMMANDS: [(&str, &[RunMode]); 7] = [
        (
            "",
            &[Screen, Text, Json, StreamJson, JsonResult, Rpc, Acp, Models],
        ),
        ("exec", &[Text, StreamJson, JsonResult, Codex]),
        ("rpc", &[Rpc, Bridge, Schema]),
        ("acp", &[Acp, SignIn]),
        ("mcp serve", &[McpServer]),
        ("serve", &[Serve]),
        ("attach", &[Attach]),
    ];

    /// The arguments of a command, each with a command line that has it.
    fn arguments(name: &str) -> Vec<(String, Vec<String>)> {
        let mut command = Args::command();
        command.build();
        let command = name.split_whitespace().fold(&command, |command, name| {
            command.find_subcommand(name).unwrap()
        });
        let arguments = command
            .get_arguments()
            .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"));
        let lines = arguments.map(|argument| {
            let words = std::iter::once("osier").chain(name.split_whitespace());
            let words = words.map(str::to_owned);
            let id = argument.get_id().to_string();
            let needs_http = name == "mcp serve" && ["token_file", "allow_host"].contains(&&*id);
            let http = needs_http.then(|| "--http".to_owned());
            (id, words.chain(given(argument)).chain(http).collect())
        });
        lines.collect()
    }

    /// An argument with a value that clap accepts, and what it needs in addition.
    fn given(argument: &Arg) -> Vec<String> {
        let value = match argument.get_id().as_str() {
            "input_format" => vec!["stream-json", "--output-format", "stream-json"],
            "proxy" | "base_url" if argument.get_action().takes_values() => {
                vec!["https://example.com"]
            }
            "request" | "no_start" => vec!["--connect"],
            "listen" | "http" => vec!["127.0.0.1:1"],
            "permission_prompt_tool" => vec![
                "stdio",
                "--output-format",
                "stream-json",
                "--input-format",
                "stream-json",
            ],
            "ssh" | "program" => vec!["1", "ssh://host"],
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
        let mut count = 0;
        for (id, words) in COMMANDS.iter().flat_map(|(name, _)| arguments(name)) {
            count += 1;
            let args = Args::read(&words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert!(args.given.contains(&id), "{words:?}");
            let rows: Vec<&Flag> = FLAGS.iter().filter(|flag| flag.id == id).collect();
            assert_eq!(rows.len(), 1, "one row for `{id}`");
            // The flag may require other flags, too: they are left out here.
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
        assert!(count > 190, "{count}");
    }

    /// The command line of each mode of a flag has the flag.
    #[test]
    fn commands_have_the_flags_of_their_modes() {
        let known = COMMANDS.map(|(name, modes)| {
            let ids: Vec<String> = arguments(name).into_iter().map(|(id, _)| id).collect();
            (modes, ids)
        });
        for Flag { id, modes, .. } in FLAGS {
            assert!(!modes.is_empty(), "{id}");
            for mode in *modes {
                let mut commands = known.iter().filter(|(modes, _)| modes.contains(mode));
                let has = commands.any(|(_, ids)| ids.iter().any(|known| known == id));
                assert!(has, "{id} {mode:?}");
            }
        }
    }

    /// A command without a session refuses every flag of a session that is not its own.
    #[test]
    fn other_commands_refuse_the_flags_of_sessions() {
        let flags: Vec<_> = arguments("")
            .into_iter()
            .filter(|(_, words)| words.len() > 1 && words[1].starts_with("--"))
            .collect();
        let mut root = Args::command();
        root.build();
        let sessions: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        let others = root.get_subcommands().filter(|command| {
            let is_own = sessions.contains(&command.get_name());
            // The words after an unknown command are not read.
            !is_own && !matches!(command.get_name(), "help" | "update" | "review")
        });
        let mut count = 0;
        for command in others {
            let nested = command.get_subcommands();
            let nested = nested.filter(|command| command.get_name() != "help");
            for mut command in nested.chain([command]).cloned() {
                let name = command.get_name().to_owned();
                let own: Vec<String> = command
                    .get_arguments()
                    .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
                    .collect();
                for (_, words) in flags.iter().filter(|(_, words)| !own.contains(&words[1])) {
                    let flag = words[1].as_str();
                    let read = command.try_get_matches_from_mut([name.as_str(), flag]);
                    let error = read.map(|_| ()).unwrap_err().to_string();
                    assert!(error.contains(flag), "{name} {flag}: {error}");
                    count += 1;
                }
            }
        }
        assert!(count > 2_000, "{count}");
    }

    /// Flags that need another argument are refused without it.
    #[test]
    fn flags_without_what_they_need_are_refused() {
        for (line, error) in [
            (
                "-p --output-format stream-json --permission-prompt-tool stdio x",
                "`--permission-prompt-tool` has no effect without `--input-format stream-json`: the answers are lines",
            ),
            (
                "attach unix:/tmp/s --ssh x",
                "`--ssh` has no effect without a server `ssh://…`",
            ),
            (
                "attach --program x",
                "`--program` has no effect without a server `ssh://…`",
            ),
            (
                "attach ssh://h --token-file x",
                "`--token-file` has no effect with a server `ssh://…`, which has its own token, or with a token in the URL",
            ),
            (
                "attach http://127.0.0.1:1/#token=x --token-file x",
                "`--token-file` has no effect with a server `ssh://…`, which has its own token, or with a token in the URL",
            ),
            (
                "attach ssh://h/work --dir x",
                "`--dir` has no effect with a directory in the address",
            ),
        ] {
            let args = Args::read(std::iter::once("osier").chain(line.split(' '))).unwrap();
            let mode = RunMode::of(&args).unwrap_or(StreamJson);
            assert_eq!(check(&args, mode), Err(error.to_owned()), "{line}");
        }
        for line in [
            "attach ssh://h/ --dir x --ssh y --program z",
            "attach unix:/tmp/s --dir x --token-file y",
            "serve --token-file x",
        ] {
            let args = Args::read(std::iter::once("osier").chain(line.split(' '))).unwrap();
            let mode = RunMode::of(&args).unwrap();
            assert_eq!(check(&args, mode), Ok(()), "{line}");
        }
    }

    /// The flags of each set of modes, in the order of the table.
    #[test]
    fn documentation_has_every_flag() {
        let mut sets: Vec<(&[RunMode], Vec<String>)> = Vec::new();
        let hidden = ["request", "no_start", "detached", "setting_sources"];
        for flag in FLAGS.iter().filter(|flag| !hidden.contains(&flag.id)) {
            let argument = if flag.id == "target" {
                "`SERVER`"
            } else {
                "prompts"
            };
            let shown = written(flag.id).map_or(argument.to_owned(), |name| format!("`{name}`"));
            match sets.iter_mut().find(|(modes, _)| *modes == flag.modes) {
                Some((_, flags)) => flags.push(shown),
                None => sets.push((flag.modes, vec![shown])),
            }
        }
        let mut page = "| mode | flags |\n|---|---|\n".to_owned();
        for (modes, flags) in sets {
            let modes: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
            page += &["| ", &modes.join(", "), " | ", &flags.join(", "), " |\n"].concat();
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scripts.md");
        osier_testing::pages::check_part(&path, "flags", &page);
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
        ("inline", "tests/it/tui/pty/inline.rs"),
        ("verbose", "tests/it/promises.rs"),
        ("accounting", "tests/it/promises.rs"),
        ("list_models", "tests/it/promises.rs"),
        ("input_format", "tests/it/scripts.rs"),
        ("stdin", "tests/it/json.rs"),
        ("include_partial_messages", "tests/it/scripts.rs"),
        ("replay_user_messages", "tests/it/scripts.rs"),
        ("permission_prompt_tool", "tests/it/scripts.rs"),
        ("permission_prompts", "ScriptArgs::asks"),
        // For SDKs of Claude Code: osier needs neither.
        ("allow_dangerously_skip_permissions", "docs/scripts.md"),
        ("thinking_display", "docs/scripts.md"),
        // For SDKs of Claude Code: documented to have no effect.
        ("setting_sources", "docs/scripts.md"),
        ("schema", "tests/it/promises.rs"),
        ("connect", "tests/it/tui/pty/attach.rs"),
        ("request", "tests/it/tui/pty/attach.rs"),
        ("no_start", "tests/it/tui/pty/attach.rs"),
        ("login", "tests/it/acp/capabilities.rs"),
        ("detach", "tests/it/serve/background.rs"),
        ("detached", "tests/it/serve/background.rs"),
    ];

    /// The effect of a command line on the session, the server, or the connection to one.
    fn effect(words: &[String], place: &std::path::Path) -> Result<String, String> {
        let mut args = super::super::aliases::expand(Args::read(words).unwrap())?;
        args.run_of_command();
        let config = RunConfig {
            args,
            folders: Folders::under(&place.join("home")),
            settings: Settings::default(),
            problems: Vec::new(),
            environment: BTreeMap::new(),
            cwd: place.join("work"),
        };
        let setup = config.setup()?;
        let more = match &config.args.command {
            Some(Command::Serve(args)) => super::super::serve::described(args, &setup)?,
            Some(Command::Attach(args)) => super::super::attach::described(args, &setup)?,
            Some(Command::Mcp {
                command: McpCommand::Serve(args),
            }) => super::super::mcp_serve::described(args, &setup)?,
            _ => String::new(),
        };
        Ok(format!("{setup:?} {more}"))
    }

    /// A flag changes what its command sets, or is in the list of those with another effect.
    #[test]
    fn every_flag_has_an_effect() {
        let place = tempfile::tempdir().unwrap();
        let cwd = place.path().join("work");
        std::fs::create_dir_all(cwd.join("1")).unwrap();
        let token = cwd.join("token");
        let token = token.to_str().unwrap();
        for (name, text) in [
            ("file", "text"),
            ("schema", "{}"),
            ("servers", "{\"mcpServers\": {\"s\": {\"command\": \"x\"}}}"),
            ("token", "0123456789abcdef0123456789abcdef"),
        ] {
            osier_base::atomic_file::write(&cwd.join(name), text.as_bytes()).unwrap();
        }
        let mut without = Vec::new();
        for (name, _) in COMMANDS {
            for (id, mut words) in arguments(name) {
                let flag = words.iter().position(|word| word.starts_with("--"));
                let value = flag.map_or(0, |flag| flag + 1);
                let given = match id.as_str() {
                    "system_prompt_file" => "file",
                    "output_schema" => "schema",
                    "mcp_config" => "servers",
                    "json_schema" => "{}",
                    "token_file" => token,
                    _ => "",
                };
                if !given.is_empty() {
                    given.clone_into(&mut words[value]);
                }
                let mut rest = words.clone();
                let has_value = words.get(value).is_some_and(|word| !word.starts_with("--"));
                match flag {
                    Some(flag) => drop(rest.drain(flag..value + usize::from(has_value))),
                    None => drop(rest.pop()),
                }
                // An unknown session is an error.
                let plain = effect(&rest, place.path()).unwrap();
                if effect(&words, place.path()).is_ok_and(|setup| setup == plain) {
                    without.push(id);
                }
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
