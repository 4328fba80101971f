//! The command line as clap parses it. `run_config` combines it with the settings.

mod commands;
mod run;
mod script;
mod server;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum, ValueHint,
};

use super::commands::checkpoints::CheckpointsCommand;
#[cfg(feature = "transfer")]
use super::commands::export::ExportArgs;
#[cfg(feature = "transfer")]
use super::commands::import::ImportArgs;
#[cfg(feature = "transfer")]
use super::commands::migrate::MigrateArgs;
use super::commands::rewind::RewindArgs;
use super::commands::sessions::SessionsCommand;
use super::commands::sessions::log::Options as LogOptions;
use super::commands::sessions::tree::Options as TreeOptions;

pub(super) use commands::{
    AcpArgs, AuthCommand, ConfigCommand, ExecArgs, LoginArgs, McpAddArgs, McpCommand, McpServeArgs,
    OtherArgs, ResumeArgs, RpcArgs, SchemaFile,
};
pub(super) use run::RunArgs;
pub(super) use script::{InputFormat, OutputFormat, ScriptArgs};
pub(super) use server::{AttachArgs, ServeArgs, ServeCommand};

/// A full-screen coding agent for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "osier",
    version,
    about,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
pub(in crate::cli) struct Args {
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

    /// The names of the arguments that are on the command line
    #[arg(skip)]
    pub given: Vec<String>,

    /// List all models, or the models that match SEARCH
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, default_missing_value = "")]
    pub list_models: Option<String>,

    #[command(flatten)]
    pub script: ScriptArgs,
}

impl Args {
    /// Parses a command line, which starts with the name of the program.
    pub(in crate::cli) fn read<T: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(words)?;
        let args = Self::from_arg_matches(&matches);
        let mut args = args.map_err(|error| error.format(&mut Self::command()))?;
        args.given = given(&matches);
        if let Some(("exec" | "rpc" | "acp" | "serve" | "attach", matches)) = matches.subcommand() {
            args.given.extend(given(matches));
        }
        let serve = matches
            .subcommand_matches("mcp")
            .and_then(|matches| matches.subcommand_matches("serve"));
        args.given.extend(serve.into_iter().flat_map(given));
        Ok(args)
    }

    /// Moves the options of the command to `run`.
    pub(in crate::cli) fn run_of_command(&mut self) {
        match &self.command {
            Some(Command::Rpc(rpc)) => self.run = rpc.run.clone(),
            Some(Command::Acp(acp)) => {
                self.run = acp.run.clone();
                if acp.login {
                    let command = AuthCommand::Login(LoginArgs::default());
                    self.command = Some(Command::Auth { command });
                }
            }
            Some(Command::Serve(serve)) => self.run = serve.run(),
            Some(Command::Mcp {
                command: McpCommand::Serve(serve),
            }) => self.run = serve.run.clone(),
            _ => {}
        }
    }

    /// The arguments of `osier rpc --connect`.
    pub(in crate::cli) fn bridge(&self) -> Option<&RpcArgs> {
        match &self.command {
            Some(Command::Rpc(args)) if args.connect.is_some() => Some(args),
            _ => None,
        }
    }
}

/// The names of the arguments that are on the command line.
fn given(matches: &ArgMatches) -> Vec<String> {
    let ids = matches.ids().map(clap::Id::as_str);
    ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine))
        .map(str::to_owned)
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Mode {
    Text,
    Json,
    Rpc,
    Acp,
}

#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum Command {
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
    /// Print the log of a session; the same as `osier sessions log`
    Log(LogOptions),
    /// Print the tree of a session; the same as `osier sessions tree`
    Tree(TreeOptions),
    /// Continue a stored session from another entry, and restore its files
    Rewind(RewindArgs),
    /// Export a session as HTML, Markdown or JSONL
    #[cfg(feature = "transfer")]
    Export(ExportArgs),
    /// Import sessions from osier, pi, Claude Code, Codex or opencode
    #[cfg(feature = "transfer")]
    Import(ImportArgs),
    /// Show which files of other agents osier uses, and copy the rest
    #[cfg(feature = "transfer")]
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
    /// List, add, remove and test MCP servers, or run as one
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
    /// Check the environment and suggest fixes
    Doctor,
    /// Show the configuration files, list the settings and report errors
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
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
