//! The arguments of `osier serve` and `osier attach`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use osier_llm::ThinkingLevel;
use osier_protocol::SandboxMode;

use super::run::{RunArgs, permission_mode, sandbox_mode, thinking_level};
#[cfg(feature = "proxy")]
use crate::cli::llm_proxy;

/// The arguments of `osier serve`.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct ServeArgs {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,

    /// Listen on this address; port 0 selects a free port [default: 127.0.0.1:7433]
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "unix")]
    pub listen: Option<SocketAddr>,

    /// Listen on a Unix socket that only you can open
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,

    /// Read the access token from this file; if it does not exist, create it with a new token [default: `serve.token`
    /// in the data directory]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Accept requests for this host name as well; repeatable
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,

    /// Count wrong tokens by the client that a reverse proxy names in this header, such as `x-forwarded-for`
    #[arg(long, value_name = "HEADER")]
    pub client_header: Option<String>,

    /// Unload sessions that are idle for this many minutes, such as `0.5`; 0 disables unloading
    #[arg(long, value_name = "MINUTES", default_value = "30", value_parser = minutes)]
    pub unload_after: Duration,

    /// Run an LLM proxy: call models for the users of this server, with its keys
    #[cfg(feature = "proxy")]
    #[arg(long)]
    pub proxy: bool,

    /// Continue in the background once the server listens
    #[arg(long)]
    pub detach: bool,

    /// Run as the background process of `--detach`
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub detached: bool,

    /// Set the model of new sessions
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Set the thinking level of new sessions
    #[arg(long, value_name = "LEVEL", value_parser = thinking_level())]
    pub thinking: Option<ThinkingLevel>,

    /// Set the permission mode
    #[arg(long, value_name = "MODE", value_parser = permission_mode())]
    pub permissions: Option<osier_protocol::PermissionMode>,

    /// Set the sandbox mode for commands
    #[arg(long, value_name = "MODE", value_parser = sandbox_mode())]
    pub sandbox: Option<SandboxMode>,

    /// Set the default working directory of sessions
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Clone, clap::Subcommand)]
pub(in crate::cli) enum ServeCommand {
    /// Stop a server and its running sessions; all sessions are stored
    Stop {
        /// Stop this server, `unix:PATH` or `https://HOST`; by default the local background server
        #[arg(value_name = "SERVER")]
        target: Option<String>,

        /// Read the access token of the server from this file [default: the variable `OSIER_SERVE_TOKEN`]
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Manage the users of the LLM proxy
    #[cfg(feature = "proxy")]
    Users {
        #[command(subcommand)]
        command: llm_proxy::UsersCommand,
    },
}

impl ServeArgs {
    /// The options of the server's sessions.
    pub(in crate::cli) fn run(&self) -> RunArgs {
        RunArgs {
            model: self.model.clone(),
            thinking: self.thinking,
            permissions: self.permissions,
            sandbox: self.sandbox,
            cwd: self.cwd.clone(),
            ..RunArgs::default()
        }
    }
}

/// The arguments of `osier attach`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct AttachArgs {
    /// Attach to this server, `unix:PATH`, `https://HOST` or `ssh://[USER@]HOST[:PORT]/DIR`; by default the
    /// local background server
    #[arg(value_name = "SERVER")]
    pub target: Option<String>,

    /// Join the session of this id, id prefix or name
    #[arg(short, long, value_name = "ID", conflicts_with = "new")]
    pub session: Option<String>,

    /// Start a new session, even if others are open
    #[arg(long)]
    pub new: bool,

    /// Set the working directory on the server
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub dir: Option<PathBuf>,

    /// Set the model of a new session
    #[arg(short, long, value_name = "MODEL", conflicts_with = "session")]
    pub model: Option<String>,

    /// Set the name that other clients of the session see; by default `USER@HOST TERMINAL`
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,

    /// Read the access token of the server from this file [default: the variable `OSIER_SERVE_TOKEN`]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Start ssh with this command, such as `ssh -F FILE`
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    pub ssh: String,

    /// Run this program as osier on the server
    #[arg(long, value_name = "PROGRAM", default_value = "osier")]
    pub program: String,
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes = text.parse::<f64>().ok();
    let after = minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
    after.ok_or_else(|| "expected a number of minutes, 0 or more".to_owned())
}
