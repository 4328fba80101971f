//! What was typed. `dispatch` turns it into what is meant.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};

use super::attach::AttachArgs;
use super::commands::checkpoints::CheckpointsCommand;
use super::commands::export::ExportArgs;
use super::commands::import::ImportArgs;
use super::commands::sessions::SessionsCommand;
use super::serve::ServeArgs;

use osier_llm::ThinkingLevel;
use osier_llm::auth::is_safe;
use osier_sandbox::SandboxMode;

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

    /// Prompts, run one after the other; `@FILE` puts a file before the first
    #[arg(value_name = "@FILE|PROMPT")]
    pub prompts: Vec<String>,

    /// Answer on standard output and exit; also when standard output is not a terminal
    #[arg(short, long)]
    pub print: bool,

    /// JSON lines in and out
    #[arg(long, conflicts_with = "print")]
    pub json: bool,

    /// In JSON mode: this client answers questions; without it each is dismissed at once
    #[arg(long)]
    pub answers: bool,

    /// How to run; `text` is `--print`, `json` is `--json`, `rpc` and `acp` are the commands
    #[arg(long, value_enum, value_name = "MODE", conflicts_with_all = ["print", "json"])]
    pub mode: Option<Mode>,

    #[command(flatten)]
    pub run: RunArgs,

    /// List the models, or those that match
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, default_missing_value = "")]
    pub list_models: Option<String>,
}

impl Args {
    /// The socket to which standard input and output are passed on, when that is all that is wanted.
    pub(super) fn bridge(&self) -> Option<&Path> {
        match &self.command {
            Some(Command::Rpc(args)) => args.connect.as_deref().map(Path::new),
            _ => None,
        }
    }
}

/// What an agent runs with, whichever mode speaks to it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct RunArgs {
    /// Model as PROVIDER/ID[:LEVEL] or part of its name; after a comma the models to fall back to
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// The set that cycling walks: names and patterns separated by commas, e.g. `sonnet,gpt-5*`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub models: Vec<String>,

    /// Thinking level: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL", value_parser = thinking_level)]
    pub thinking: Option<ThinkingLevel>,

    /// Key for the model's provider, for this run only
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub api_key: Option<String>,

    /// Where the model's provider is reached, e.g. `http://127.0.0.1:8080/v1`
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// Call models through this osier server, which holds the keys
    #[arg(long, value_name = "URL", value_parser = proxy, conflicts_with_all = ["api_key", "base_url"])]
    pub proxy: Option<String>,

    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,

    /// Add to the end of the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,

    /// Instructions beside AGENTS.md: a file, or a folder that holds one; may be given again
    #[arg(long, value_name = "PATH")]
    pub context: Vec<PathBuf>,

    /// Go on with the newest session of this directory
    #[arg(short, long = "continue", conflicts_with_all = ["resume", "session", "no_session"])]
    pub continue_session: bool,

    /// Resume a session: an id, the start of one, or a file; without a value, pick one
    #[arg(short, long, value_name = "ID|PATH", num_args = 0..=1, require_equals = false,
          default_missing_value = "", conflicts_with_all = ["session", "no_session"])]
    pub resume: Option<String>,

    /// Go on in a copy of a session, also of one that runs: an id, the start of one, or a file
    #[arg(long, value_name = "ID|PATH",
          conflicts_with_all = ["continue_session", "resume", "session", "no_session"])]
    pub fork: Option<String>,

    /// Use this session file, made when it does not exist
    #[arg(long, value_name = "PATH", conflicts_with = "no_session")]
    pub session: Option<PathBuf>,

    /// Store nothing
    #[arg(long)]
    pub no_session: bool,

    /// The tools to offer, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,

    /// How much is asked before tools run: yolo, ask or plan
    #[arg(long, value_name = "MODE", value_parser = permission_mode)]
    pub permissions: Option<osier_permissions::Mode>,

    /// What commands may do: off, workspace or read-only
    #[arg(long, value_name = "MODE", value_parser = sandbox_mode)]
    pub sandbox: Option<SandboxMode>,

    /// Trust the project's own settings, hooks, plug-ins and servers as they are now
    #[arg(long)]
    pub trust: bool,

    /// Work in this directory
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,

    /// Sampling temperature
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub temperature: Option<f32>,

    /// Model calls one prompt may take; the last one must answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// How often a failed model call is tried again
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,

    /// A screen for screen readers; also the setting `screen_reader` and OSIER_SCREEN_READER=1
    #[arg(long)]
    pub screen_reader: bool,

    /// Log every request and answer to standard error
    #[arg(long)]
    pub verbose: bool,

    /// Log whole model requests and answers
    #[arg(long)]
    pub trace_llm: bool,

    /// Log whole MCP and tool calls
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum Command {
    /// List the models, or those that match every word
    Models {
        #[arg(value_name = "WORDS")]
        search: Vec<String>,
        /// Ask for what was published since this build, and keep it
        #[arg(long)]
        refresh: bool,
    },
    /// List, search, show, name and delete the stored sessions
    Sessions {
        #[command(subcommand)]
        what: Option<SessionsCommand>,
    },
    /// Write a session to a page, a document or a copy
    Export(ExportArgs),
    /// Make sessions of files of osier, pi, Claude Code and Codex
    Import(ImportArgs),
    /// Look after the recorded states of files
    Checkpoints {
        #[command(subcommand)]
        what: CheckpointsCommand,
    },
    /// Sign in, sign out, show which providers have a key
    Auth {
        #[command(subcommand)]
        what: AuthCommand,
    },
    /// List, add, remove and try MCP servers
    Mcp {
        #[command(subcommand)]
        what: McpCommand,
    },
    /// Be driven by another program: commands in, answers and events out, JSON lines both ways
    Rpc(Box<RpcArgs>),
    /// Be driven by an editor that speaks the Agent Client Protocol
    Acp(Box<AcpArgs>),
    /// Join a session of a server here or elsewhere; leaving it leaves it running
    Attach(Box<AttachArgs>),
    /// Serve many sessions to browsers, scripts and `osier attach`
    Serve(Box<ServeArgs>),
    /// Print what a shell needs to complete commands and flags
    Completions {
        #[arg(value_enum, value_name = "SHELL")]
        shell: Shell,
    },
    /// Print the page of the manual
    Man,
    /// Look at terminal, git, sandbox, providers and files, and say how to mend what is wrong
    Doctor,
    /// Show where the files are, what can be set, and what is wrong with them
    Config {
        #[command(subcommand)]
        what: ConfigCommand,
    },
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct RpcArgs {
    /// Print the JSON schema of every command, answer and event
    #[arg(long)]
    pub schema: bool,
    /// Pass standard input and output on to a server on this machine, for `osier attach ssh://…`; the one in the
    /// background, which is started where there is none, when no socket is named
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, default_missing_value = "")]
    pub connect: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum AuthCommand {
    /// Sign in to a provider, or store a key for it
    Login(LoginArgs),
    /// Forget what is stored for a provider
    Logout {
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
    /// Show which providers have a key, and from where
    Status {
        #[arg(value_name = "PROVIDER")]
        provider: Option<String>,
    },
}

#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct LoginArgs {
    #[arg(value_name = "PROVIDER")]
    pub provider: Option<String>,
    /// Store a key: typed unseen, or piped in; `$NAME` and `!command` are stored as such
    #[arg(long, conflicts_with = "device")]
    pub key: bool,
    /// Sign in with a code that is typed on another device
    #[arg(long)]
    pub device: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct AcpArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Sign in to a provider, and end: editors run this in a terminal
    #[arg(long)]
    pub login: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum McpCommand {
    /// Write a server into `mcp.json`: a program with its arguments, or an address
    Add(McpAddArgs),
    /// Show the servers that are configured
    List,
    /// Remove a server from `mcp.json`
    Rm {
        #[arg(value_name = "NAME")]
        name: String,
        /// From the project's `.osier/mcp.json`
        #[arg(long)]
        project: bool,
    },
    /// Start servers, say what they have, and end them
    Test {
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Sign in to a server over HTTP with a browser
    Login {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct McpAddArgs {
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A variable of its environment; `${NAME}` in it is taken from yours
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// A header of its requests; `${NAME}` in it is taken from the environment
    #[arg(long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Into the project's `.osier/mcp.json`
    #[arg(long)]
    pub project: bool,
    /// Take the place of a server of that name
    #[arg(long)]
    pub force: bool,
    #[arg(
        value_name = "COMMAND|URL",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<String>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum ConfigCommand {
    /// The folders and files in use
    Path,
    /// Every setting with what it accepts
    Schema,
    /// Read every file and report what is wrong
    Check,
}

pub(super) fn thinking_level(text: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = ThinkingLevel::ALL
            .iter()
            .map(|level| level.name())
            .collect();
        format!("the levels are {}", names.join(", "))
    })
}

fn proxy(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    if is_safe(text) {
        return Ok(text.to_owned());
    }
    Err("it must be an https address, or one on this machine: a token goes there".to_owned())
}

pub(super) fn sandbox_mode(text: &str) -> Result<SandboxMode, String> {
    let mode = SandboxMode::from_name(text);
    mode.ok_or_else(|| "the modes are off, workspace and read-only".to_owned())
}

pub(super) fn permission_mode(text: &str) -> Result<osier_permissions::Mode, String> {
    let mode = osier_permissions::Mode::from_name(text);
    mode.ok_or_else(|| "the modes are yolo, ask and plan".to_owned())
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.0..=2.0).contains(&value) => Ok(value),
        _ => Err("it must be a number from 0 to 2".to_owned()),
    }
}
