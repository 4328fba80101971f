//! The arguments of commands, and of those that users know from other agents.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};

use super::run::RunArgs;
use super::script::OutputFormat;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct RpcArgs {
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
pub(in crate::cli) enum AuthCommand {
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
pub(in crate::cli) struct LoginArgs {
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
pub(in crate::cli) struct AcpArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Sign in to a provider and exit; editors run this in a terminal
    #[arg(long)]
    pub login: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum McpCommand {
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
    /// Run as an MCP server on standard input and output or over HTTP, whose tool runs prompts
    Serve(Box<McpServeArgs>),
}

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct McpServeArgs {
    /// Serve over HTTP at this address instead, by default `127.0.0.1:7434`; port 0 selects a free port
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:7434")]
    pub http: Option<SocketAddr>,

    /// Read the access token from this file; if it does not exist, create it with a new token [default: `serve.token`
    /// in the data directory]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,

    /// Accept requests for this host name as well; repeatable
    #[arg(long, value_name = "NAME", requires = "http")]
    pub allow_host: Vec<String>,

    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct McpAddArgs {
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
pub(in crate::cli) enum SchemaFile {
    /// `settings.toml`
    #[default]
    Settings,
    /// A file in `keymaps/`
    Keymap,
    /// A file in `themes/`
    Theme,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
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

/// The arguments of `osier exec`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct ExecArgs {
    /// Run these prompts one after the other; `@FILE` adds a file to the first
    #[arg(value_name = "@FILE|PROMPT")]
    pub prompts: Vec<String>,

    /// Write JSON lines with the events of `codex exec --json`
    #[arg(long, conflicts_with = "output_format")]
    pub json: bool,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub script: ExecScriptArgs,
}

/// The schema of the answer.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct ExecScriptArgs {
    /// Write the answer as text, one JSON result, or a JSON line per message, as Claude Code does
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,

    /// Require an answer that matches the JSON Schema in this file; the model may repair it once
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output_schema: Option<PathBuf>,

    /// Let the tools use this directory, too; repeatable
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub add_dir: Vec<PathBuf>,
}

/// The arguments of `osier resume`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct ResumeArgs {
    /// Resume this session: an id, an id prefix or a file; without it, choose from a list
    #[arg(value_name = "ID|PATH", value_hint = ValueHint::FilePath)]
    pub target: Option<String>,

    /// Run these prompts in it
    #[arg(value_name = "PROMPT")]
    pub prompts: Vec<String>,
}

/// A command that osier does not have.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct OtherArgs {
    /// The words after the command
    #[arg(
        value_name = "WORD",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub words: Vec<String>,
}
