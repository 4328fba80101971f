//! `osier serve`: where it listens, which token it asks for, and how it goes into the background.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::args::RunArgs;
use super::exit::Exit;
use osier_base::process::{Invocation, spawn_detached};
use osier_session::host::HostSetup;

use osier_llm::ThinkingLevel;
use osier_proxy::{Relay, Users, UsersError};
use osier_sandbox::SandboxMode;
use osier_serve::{Listen, Options, Serving, read_token};

/// Where it listens when nothing else is said.
const ADDRESS: &str = "127.0.0.1:7433";

/// What was typed behind `osier serve`.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ServeArgs {
    #[command(subcommand)]
    pub what: Option<ServeCommand>,

    /// Listen at this address; port 0 takes a free one [default: 127.0.0.1:7433]
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "unix")]
    pub listen: Option<SocketAddr>,

    /// Listen at a socket that only you can open; no token is asked for
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,

    /// The file with the token; made when it does not exist
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// A name beside the address by which the server is reached; may be given again
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,

    /// Unload sessions that nobody has needed for so many minutes; 0 for never
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    pub unload_after: u64,

    /// Call models for the users of this server, with the keys that are here
    #[arg(long)]
    pub proxy: bool,

    /// Go into the background once it listens
    #[arg(long)]
    pub detach: bool,

    /// Is the background
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub detached: bool,

    /// The model that sessions start with
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// The thinking level that sessions start with
    #[arg(long, value_name = "LEVEL", value_parser = super::args::thinking_level)]
    pub thinking: Option<ThinkingLevel>,

    /// How much is asked before tools run: yolo, ask or plan
    #[arg(long, value_name = "MODE", value_parser = super::args::permission_mode)]
    pub permissions: Option<osier_permissions::Mode>,

    /// What commands may do: off, workspace or read-only
    #[arg(long, value_name = "MODE", value_parser = super::args::sandbox_mode)]
    pub sandbox: Option<SandboxMode>,

    /// Where sessions work that say nothing else
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Clone, clap::Subcommand)]
pub(super) enum ServeCommand {
    /// Stop a server: what runs is stopped, everything is stored
    Stop {
        /// `unix:PATH` or `https://HOST`; the server in the background here when left out
        #[arg(value_name = "WHERE")]
        target: Option<String>,

        /// The file with the server's token; `OSIER_SERVE_TOKEN` works too
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Who may call models through this server
    Users {
        #[command(subcommand)]
        what: UsersCommand,
    },
}

#[derive(Debug, Clone, clap::Subcommand)]
pub(super) enum UsersCommand {
    /// Add somebody and print their token, this once
    Add {
        #[arg(value_name = "NAME")]
        name: String,
        /// What they may use in a month, in US dollars
        #[arg(long, value_name = "DOLLARS")]
        limit: Option<f64>,
    },
    /// Show everybody and what they have used
    List,
    /// Remove somebody with what they have used
    Rm {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

impl ServeArgs {
    /// What its sessions run with.
    pub(super) fn run(&self) -> RunArgs {
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

/// Serves until a signal comes.
///
/// # Errors
/// One sentence about what cannot be used.
pub(super) fn run(args: &ServeArgs, setup: HostSetup) -> Result<Exit, String> {
    match &args.what {
        Some(ServeCommand::Users { what }) => return users(what, &setup),
        Some(ServeCommand::Stop { target, token_file }) => {
            return super::attach::stop(target.as_deref(), token_file.as_deref(), &setup);
        }
        None => {}
    }
    if args.detach {
        return detach(&setup);
    }
    let listen = match (&args.unix, args.listen) {
        (Some(path), _) => Listen::Unix(std::path::absolute(path).map_err(|e| e.to_string())?),
        (None, Some(address)) => Listen::Address(address),
        (None, None) => Listen::Address(ADDRESS.parse().map_err(|_| ADDRESS.to_owned())?),
    };
    let token_file = args.token_file.clone();
    let token_file = token_file.unwrap_or_else(|| setup.folders.data.join("serve.token"));
    let token = match listen {
        Listen::Unix(_) => String::new(),
        Listen::Address(_) => read_token(&token_file)?,
    };
    let relay = args.proxy.then(|| relay(&setup)).transpose()?;
    let minutes = args.unload_after;
    let options = Options {
        listen,
        token: token.clone(),
        hosts: args.allow_host.clone(),
        relay,
        unload_after: (minutes > 0).then(|| Duration::from_mins(minutes)),
    };
    if args.detached {
        // Its own session already is as good.
        let _ = rustix::process::setsid();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot start: {error}"))?;
    let ended = runtime.block_on(async {
        let serving = Serving::bind(setup, options).await;
        let serving = serving.map_err(|error| error.to_string())?;
        let mut line = serving.url();
        if line.starts_with("http") {
            line = format!("{line}/#token={token}");
        }
        // Whoever started it may not want to know.
        let _ = writeln!(io::stdout(), "{line}");
        let _ = io::stdout().flush();
        serving.run().await.map_err(|error| error.to_string())
    });
    runtime.shutdown_background();
    ended.map(|()| Exit::Success)
}

/// Starts the same in the background and says where it listens.
fn detach(setup: &HostSetup) -> Result<Exit, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let words = std::env::args_os().skip(1);
    let words: Vec<OsString> = words
        .map(|word| match word.to_str() {
            Some("--detach") => OsString::from("--detached"),
            _ => word,
        })
        .collect();
    let log = setup.folders.logs().join("serve.log");
    let invocation = Invocation::new(program, words);
    let said = spawn_detached(&invocation, &log)
        .map_err(|error| format!("it cannot be started in the background: {error}"))?;
    if said.trim().is_empty() {
        return Err(format!(
            "it has ended at once: `{}` says why",
            log.display()
        ));
    }
    // A closed standard output leaves nobody to tell.
    let _ = io::stdout().write_all(said.as_bytes());
    Ok(Exit::Success)
}

fn relay(setup: &HostSetup) -> Result<Relay, String> {
    let users = Users::open(&setup.folders.data).map_err(|error| error.to_string())?;
    Relay::new(setup, users).map_err(|error| error.to_string())
}

fn users(what: &UsersCommand, setup: &HostSetup) -> Result<Exit, String> {
    let text = |error: UsersError| error.to_string();
    let users = Users::open(&setup.folders.data).map_err(text)?;
    let mut out = io::stdout().lock();
    // A closed standard output leaves nobody to tell.
    match what {
        UsersCommand::Add { name, limit } => {
            if limit.is_some_and(|limit| !limit.is_finite() || limit < 0.0) {
                return Err("`--limit` is an amount of dollars, such as 20 or 2.5".to_owned());
            }
            let token = users.add(name, *limit).map_err(text)?;
            let _ = writeln!(out, "{token}");
        }
        UsersCommand::Rm { name } => {
            users.remove(name).map_err(text)?;
            let _ = writeln!(out, "removed {name}");
        }
        UsersCommand::List => {
            let rows = users.list().map_err(text)?;
            if rows.is_empty() {
                let _ = writeln!(out, "nobody: `osier serve users add NAME` adds somebody");
            }
            for row in rows {
                let limit = row.limit.map(|limit| format!(" of ${limit:.2}"));
                let _ = writeln!(
                    out,
                    "{}  this month ${:.4}{}, {} calls, {} tokens; ever ${:.4}",
                    row.name,
                    row.month.cost,
                    limit.unwrap_or_default(),
                    row.month.calls,
                    row.month.tokens,
                    row.all.cost,
                );
            }
        }
    }
    Ok(Exit::Success)
}
