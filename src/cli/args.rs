//! The command line as clap parses it. `run_config` combines it with the settings.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum, ValueHint};

use super::aliases::{ExecArgs, OtherArgs, ResumeArgs};
use super::attach::AttachArgs;
use super::commands::checkpoints::CheckpointsCommand;
#[cfg(feature = "eval")]
use super::commands::eval::EvalArgs;
#[cfg(feature = "transfer")]
use super::commands::export::ExportArgs;
#[cfg(feature = "transfer")]
use super::commands::import::ImportArgs;
use super::commands::migrate::MigrateArgs;
use super::commands::sessions::SessionsCommand;
use super::completion;
use super::script_args::ScriptArgs;
use super::serve::ServeArgs;

use osier_llm::ThinkingLevel;
use osier_llm::auth::is_safe;
use osier_protocol::{PermissionMode, SandboxMode};

/// A full-screen coding agent for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "osier",
    version,
    about,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Run these prompts one after the other; `@FILE` adds a file to the first
    #[arg(value_name = "@FILE|PROMPT")]
    pub prompts: Vec<String>,

    /// Print the answer and exit; the default when standard output is not a terminal
    #[arg(short, long)]
    pub print: bool,

    /// Read and write JSON lines
    #[arg(long, conflicts_with = "print")]
    pub json: bool,

    /// Answer questions over JSON lines; without this flag osier dismisses every question
    #[arg(long)]
    pub answers: bool,

    /// Choose the mode; `text` is `--print`, `json` is `--json`, `rpc` and `acp` are the commands
    /// of that name
    #[arg(long, value_enum, value_name = "MODE", conflicts_with_all = ["print", "json"])]
    pub mode: Option<Mode>,

    #[command(flatten)]
    pub run: RunArgs,

    /// Write the events of `codex exec --json`
    #[arg(skip)]
    pub codex_events: bool,

    /// List all models, or the models that match SEARCH
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, default_missing_value = "")]
    pub list_models: Option<String>,

    #[command(flatten)]
    pub script: ScriptArgs,
}

impl Args {
    /// The arguments of `osier rpc --connect`.
    pub(super) fn bridge(&self) -> Option<&RpcArgs> {
        match &self.command {
            Some(Command::Rpc(args)) if args.connect.is_some() => Some(args),
            _ => None,
        }
    }
}

/// The options of an agent, the same in every mode.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct RunArgs {
    /// Use this model: PROVIDER/ID[:LEVEL] or part of its name; fallback models follow after commas
    #[arg(short, long, value_name = "MODEL", add = completion::models())]
    pub model: Option<String>,

    /// Set the favourite models: names and patterns separated by commas, such as `sonnet,gpt-5*`
    #[arg(long, value_name = "LIST", value_delimiter = ',', add = completion::models())]
    pub models: Vec<String>,

    /// Set the thinking level
    #[arg(long, value_name = "LEVEL", value_parser = thinking_level())]
    pub thinking: Option<ThinkingLevel>,

    /// Use this API key for the model's provider, in this run only
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub api_key: Option<String>,

    /// Set the base URL of the model's provider, such as `http://127.0.0.1:8080/v1`
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub base_url: Option<String>,

    /// Call models through the LLM proxy of this osier server
    #[arg(long, value_name = "URL", value_parser = proxy, value_hint = ValueHint::Url, conflicts_with_all = ["api_key", "base_url"])]
    pub proxy: Option<String>,

    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,

    /// Append text to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,

    /// Add instructions from a file, or from the AGENTS.md of a directory; repeatable
    #[arg(long, value_name = "PATH")]
    pub context: Vec<PathBuf>,

    /// Continue the newest session of this directory
    #[arg(short, long = "continue", conflicts_with_all = ["resume", "session", "no_session"])]
    pub continue_session: bool,

    /// Resume a session by id, id prefix or file; without a value, choose from a list
    #[arg(short, long, value_name = "ID|PATH", num_args = 0..=1, require_equals = false,
          default_missing_value = "", conflicts_with_all = ["session", "no_session"],
          add = completion::sessions())]
    pub resume: Option<String>,

    /// Continue in a copy of a session, named by id, id prefix or file; it may be open elsewhere
    #[arg(long, value_name = "ID|PATH",
          conflicts_with_all = ["continue_session", "resume", "session", "no_session"],
          add = completion::sessions())]
    pub fork: Option<String>,

    /// Use this session file; create it if it does not exist
    #[arg(long, value_name = "PATH", conflicts_with = "no_session", add = completion::session_files())]
    pub session: Option<PathBuf>,

    /// Do not store the session
    #[arg(long)]
    pub no_session: bool,

    /// Offer only these tools to the model, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,

    /// Set the permission mode
    #[arg(long, value_name = "MODE", value_parser = permission_mode())]
    pub permissions: Option<PermissionMode>,

    /// Set the sandbox mode for commands
    #[arg(long, value_name = "MODE", value_parser = sandbox_mode())]
    pub sandbox: Option<SandboxMode>,

    /// Trust the project's settings, hooks, plugins and MCP servers as they are now
    #[arg(long)]
    pub trust: bool,

    /// Set the working directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,

    /// Set the sampling temperature, from 0 to 2
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub temperature: Option<f32>,

    /// Limit the model calls per prompt; the last call must answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Stop the session before the next model call when its calls have cost this many US dollars
    #[arg(long, visible_alias = "max-budget-usd", value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,

    /// Stop the session when its model calls have used this many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,

    /// Stop the session after this many model calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_session_turns: Option<u64>,

    /// Limit the retries of a failed model call
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,

    /// Use the screen reader mode; same as the setting `screen_reader` or OSIER_SCREEN_READER=1
    #[arg(long)]
    pub screen_reader: bool,

    /// Log every request and response to standard error
    #[arg(long)]
    pub verbose: bool,

    /// Log complete model requests and responses
    #[arg(long)]
    pub trace_llm: bool,

    /// Log complete MCP and tool calls
    #[arg(long)]
    pub trace_mcp: bool,

    /// Append one JSON line per model call and tool call to this file
    #[arg(long, value_name = "FILE")]
    pub accounting: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    Text,
    Json,
    Rpc,
    Acp,
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum Command {
    /// Run prompts, print the answer and exit; the same as `osier --print`
    #[command(visible_alias = "run")]
    Exec(Box<ExecArgs>),
    /// Resume a session; the same as `osier --resume`
    Resume(ResumeArgs),
    /// Sign in to a provider; the same as `osier auth login`
    Login(LoginArgs),
    /// Sign out of a provider; the same as `osier auth logout`
    Logout {
        /// Sign out of this provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
    /// Say how to update osier
    #[command(hide = true, alias = "upgrade")]
    Update(OtherArgs),
    /// Say how to review changes
    #[command(hide = true)]
    Review(OtherArgs),
    /// List all models, or the models that match every word
    Models {
        /// Match these words against model names
        #[arg(value_name = "WORD")]
        search: Vec<String>,
        /// Download and store the models published since this build
        #[arg(long)]
        refresh: bool,
    },
    /// List, search, show, rename and delete stored sessions
    Sessions {
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    /// Export a session as HTML, Markdown or JSONL
    #[cfg(feature = "transfer")]
    Export(ExportArgs),
    /// Import sessions from osier, pi, Claude Code, Codex or opencode
    #[cfg(feature = "transfer")]
    Import(ImportArgs),
    /// Show which files of other agents osier uses, and copy the rest
    Migrate(MigrateArgs),
    /// Manage checkpoints, the recorded states of files
    Checkpoints {
        #[command(subcommand)]
        command: CheckpointsCommand,
    },
    /// Sign in, sign out and show which providers have a key
    Auth {
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// List, add, remove and test MCP servers
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Run as a JSON-lines RPC server on standard input and output
    Rpc(Box<RpcArgs>),
    /// Run as an agent for editors that support the Agent Client Protocol
    Acp(Box<AcpArgs>),
    /// Attach to a session of a local or remote server; it keeps running when you leave
    Attach(Box<AttachArgs>),
    /// Serve sessions to browsers, scripts and `osier attach`
    Serve(Box<ServeArgs>),
    /// Print a completion script for a shell
    Completions {
        /// Print the script for this shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Show the manual page of osier or of a command, or write the pages of all commands
    Man {
        /// Show the page of this command, such as `sessions list`
        #[arg(value_name = "COMMAND", conflicts_with = "dir")]
        command: Vec<String>,
        /// Write one page per command to this directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Run tasks with models and score the results
    #[cfg(feature = "eval")]
    Eval(EvalArgs),
    /// Check the environment and suggest fixes
    Doctor,
    /// Show the configuration files, list the settings and report errors
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct RpcArgs {
    /// Print the JSON schema of all commands, responses and events
    #[arg(long)]
    pub schema: bool,
    /// Connect standard input and output to a server on this machine, for `osier attach ssh://…`;
    /// without SOCKET, use the background server and start it if necessary
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, default_missing_value = "",
          value_hint = ValueHint::FilePath)]
    pub connect: Option<String>,
    /// With `--connect`, send this first, in base64: the request for the WebSocket and its first frames
    #[arg(long, hide = true, requires = "connect", value_name = "BASE64")]
    pub request: Option<String>,
    /// With `--connect`, do not start the background server: it was stopped on purpose
    #[arg(long, hide = true, requires = "connect")]
    pub no_start: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum AuthCommand {
    /// Sign in to a provider, or store an API key for it
    Login(LoginArgs),
    /// Delete the stored credentials of a provider
    Logout {
        /// Sign out of this provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
    /// Show which providers have a key, and where it comes from
    Status {
        /// Show only this provider; exit with 1 if it has no key
        #[arg(value_name = "PROVIDER")]
        provider: Option<String>,
    },
}

#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct LoginArgs {
    /// Sign in to this provider; without it, choose from a list
    #[arg(value_name = "PROVIDER")]
    pub provider: Option<String>,
    /// Store an API key, typed hidden or piped in; `$NAME` and `!command` are stored unexpanded
    #[arg(long, conflicts_with = "device")]
    pub key: bool,
    /// Sign in with a code that you type on another device
    #[arg(long)]
    pub device: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct AcpArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Sign in to a provider and exit; editors run this in a terminal
    #[arg(long)]
    pub login: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum McpCommand {
    /// Add a server to `mcp.json`: a command with its arguments, or a URL
    #[command(
        after_help = "Flags come before the command or URL: osier passes everything after it to the server.\n\n\
                      Examples:\n  osier mcp add --env TOKEN='${TOKEN}' files npx -y @example/files .\n  \
                      osier mcp add --header 'Authorization: Bearer ${TOKEN}' docs https://example.com/mcp"
    )]
    Add(McpAddArgs),
    /// List the configured servers
    List,
    /// Remove a server from `mcp.json`
    Rm {
        /// Remove the server of this name
        #[arg(value_name = "NAME")]
        name: String,
        /// Remove it from the project's `.osier/mcp.json`
        #[arg(long)]
        project: bool,
    },
    /// Start servers, list their tools, resources and prompts, and stop them
    Test {
        /// Test only the server of this name
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Sign in to an HTTP server with a browser
    Login {
        /// Sign in to the server of this name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct McpAddArgs {
    /// Name the server
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Set an environment variable of the server; `${NAME}` is expanded when it starts
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Send a header with every request; `${NAME}` is expanded from the environment
    #[arg(long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Use this protocol for a URL; by default `http`, or `sse` if the server does not know it
    #[arg(short, long, value_name = "PROTOCOL", value_parser = ["http", "sse"])]
    pub transport: Option<String>,
    /// Add it to the project's `.osier/mcp.json`
    #[arg(long)]
    pub project: bool,
    /// Replace a server of the same name
    #[arg(long)]
    pub force: bool,
    /// Start the server with this command and its arguments, or connect to this URL
    #[arg(
        value_name = "COMMAND|URL",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_hint = ValueHint::CommandWithArguments
    )]
    pub command: Vec<String>,
}

/// A configuration file with a schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemaFile {
    /// `settings.toml`
    #[default]
    Settings,
    /// A file in `keymaps/`
    Keymap,
    /// A file in `themes/`
    Theme,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum ConfigCommand {
    /// Show the directories and files in use
    Path,
    /// List every setting and its values, or print the JSON Schema of a file
    Schema {
        /// Print a JSON Schema, from which editors complete and check the file
        #[arg(long)]
        json: bool,
        /// Print the schema of this file
        #[arg(value_enum, value_name = "FILE", default_value_t, requires = "json")]
        file: SchemaFile,
    },
    /// Check the configuration files and report errors
    Check,
}

/// Parses one of `names`, which clap lists in the help, in errors and in completions.
fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(names);
    names.try_map(move |name| parse(&name).ok_or_else(|| format!("unknown value `{name}`")))
}

pub(super) fn thinking_level() -> impl TypedValueParser<Value = ThinkingLevel> {
    let values = ThinkingLevel::ALL.iter().map(|level| {
        let value = PossibleValue::new(level.name());
        match level {
            // The words of Claude Code.
            ThinkingLevel::Off => value.alias("disabled"),
            ThinkingLevel::Medium => value.alias("adaptive"),
            _ => value,
        }
    });
    let values = PossibleValuesParser::new(values);
    values.try_map(|name| {
        let name = match name.as_str() {
            "disabled" => "off",
            "adaptive" => "medium",
            name => name,
        };
        ThinkingLevel::from_name(name).ok_or_else(|| format!("unknown value `{name}`"))
    })
}

pub(super) fn sandbox_mode() -> impl TypedValueParser<Value = SandboxMode> {
    let names = SandboxMode::ALL.iter().map(|mode| mode.name());
    one_of(names, SandboxMode::from_name)
}

pub(super) fn permission_mode() -> impl TypedValueParser<Value = PermissionMode> {
    let names = PermissionMode::ALL.iter().map(|mode| mode.name());
    one_of(names, PermissionMode::from_name)
}

fn proxy(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    if is_safe(text) {
        return Ok(text.to_owned());
    }
    Err(
        "the token needs an encrypted connection; use an https URL or a server on this machine"
            .to_owned(),
    )
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e9 => Ok(value),
        _ => Err("expected a number of US dollars above 0".to_owned()),
    }
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.0..=2.0).contains(&value) => Ok(value),
        _ => Err("expected a number from 0 to 2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command, CommandFactory as _};

    use super::*;

    /// The help texts of a command and its subcommands that break the rules, each with its path.
    fn faults(command: &Command, path: &str, faults: &mut Vec<String>) {
        let texts = command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .map(|arg| (arg.get_id().to_string(), Arg::get_help(arg)));
        let about = (String::new(), command.get_about());
        for (name, help) in texts.chain([about]) {
            let help = help.map(ToString::to_string).unwrap_or_default();
            if !help.starts_with(char::is_uppercase) || help.ends_with('.') {
                faults.push(format!("{path} {name}: {help}"));
            }
        }
        for subcommand in command.get_subcommands() {
            self::faults(
                subcommand,
                &format!("{path} {}", subcommand.get_name()),
                faults,
            );
        }
    }

    #[test]
    fn every_command_and_argument_has_a_help_text() {
        let mut command = Args::command();
        command.build();
        let mut found = Vec::new();
        faults(&command, "osier", &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}
