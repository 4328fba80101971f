//! `osier attach`: the interface here, the agent in a server that goes on without it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixStream;

use super::exit::Exit;
use osier_base::folders::Folders;
use osier_base::process::{Invocation, spawn_detached};
use osier_serve::read_token;
use osier_session::host::{HostSetup, Opening};

use osier_rpc::remote;
use osier_rpc::remote::{Joining, Target, attach};

/// Holds the token of a server where none is in its address.
const TOKEN: &str = "OSIER_SERVE_TOKEN";

/// What was typed behind `osier attach`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct AttachArgs {
    /// `unix:PATH`, `https://HOST`, `ssh://[USER@]HOST[:PORT]/DIR`; a server in the background here when left out
    #[arg(value_name = "WHERE")]
    pub target: Option<String>,

    /// Join this session: an id, the start of one, or a name
    #[arg(short, long, value_name = "ID", conflicts_with = "new")]
    pub session: Option<String>,

    /// Begin a new session, whatever is open there
    #[arg(long)]
    pub new: bool,

    /// Work in this directory over there
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// The model a new session starts with
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// How others who are in the session are told of this screen, `USER@HOST TERMINAL` when left out
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,

    /// The file with the server's token; `OSIER_SERVE_TOKEN` works too
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// The words that start ssh, such as `ssh -F FILE`
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    pub ssh: String,

    /// How osier is called over there
    #[arg(long, value_name = "PROGRAM", default_value = "osier")]
    pub program: String,
}

/// Runs the interface until the user leaves; the session goes on.
///
/// # Errors
/// One sentence about what cannot be used.
pub(super) fn run(
    args: &AttachArgs,
    setup: &HostSetup,
    mut options: osier_tui::Options,
    runtime: &tokio::runtime::Runtime,
) -> Result<Exit, String> {
    let (target, given) = place(args.target.as_deref(), &setup.folders)?;
    if args.target.is_none() {
        runtime.block_on(start_here(&setup.folders))?;
    }
    let token = token(&target, given, args.token_file.as_deref(), setup)?;
    let dir = args.dir.clone();
    let joining = Joining {
        session: args.session.clone(),
        fresh: args.new,
        cwd: dir.or_else(|| target.is_here().then(|| setup.cwd.clone())),
        model: args.model.clone(),
        name: args.name.clone().unwrap_or_else(|| own_name(setup)),
        token,
        ssh: args.ssh.split_whitespace().map(str::to_owned).collect(),
        program: args.program.clone(),
        ca_file: setup.settings.ca_file.as_deref().map(Arc::from),
        drafts: Some(setup.folders.drafts()),
    };
    let words: Vec<&str> = args.target.as_deref().into_iter().collect();
    options.elsewhere = Some(osier_tui::Elsewhere {
        files_are_here: target.is_here(),
        way_back: ["osier attach"]
            .iter()
            .chain(&words)
            .copied()
            .collect::<Vec<_>>()
            .join(" "),
    });
    let outcome = runtime.block_on(async {
        let first = attach(target.clone(), joining.clone());
        osier_tui::run_over(first, others(target, joining), setup, options).await
    });
    outcome
        .map(|()| Exit::Success)
        .map_err(|error| format!("{error:#}"))
}

/// `osier serve stop`.
///
/// # Errors
/// One sentence about what cannot be used, or is not there.
pub(super) fn stop(
    typed: Option<&str>,
    token_file: Option<&Path>,
    setup: &HostSetup,
) -> Result<Exit, String> {
    let (target, given) = place(typed, &setup.folders)?;
    if matches!(target, Target::Ssh { .. }) {
        return Err(format!(
            "`{target}` is stopped over there: `osier serve stop`"
        ));
    }
    let joining = Joining {
        token: token(&target, given, token_file, setup)?,
        ca_file: setup.settings.ca_file.as_deref().map(Arc::from),
        ..Joining::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot start: {error}"))?;
    let stopped = runtime.block_on(remote::stop(&target, &joining));
    stopped
        .map(|()| Exit::Success)
        .map_err(|error| error.to_string())
}

/// The place that was typed and the token in it; the server in the background here when nothing was.
fn place(typed: Option<&str>, folders: &Folders) -> Result<(Target, Option<String>), String> {
    match typed.map(Target::parse).transpose() {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Ok((Target::Unix(socket_here(folders)), None)),
        Err(error) => Err(error.to_string()),
    }
}

fn token(
    target: &Target,
    given: Option<String>,
    file: Option<&Path>,
    setup: &HostSetup,
) -> Result<Option<String>, String> {
    match (given, file) {
        (Some(token), _) => Ok(Some(token)),
        (None, Some(file)) => Ok(Some(read_token(file)?)),
        (None, None) => Ok(token_of(target, setup)),
    }
}

/// How other sessions over there are joined: each on a line of its own.
fn others(target: Target, joining: Joining) -> osier_tui::Open {
    osier_tui::Open::new(move |wanted, opening| {
        if opening != Opening::Itself {
            let text = "only the server can make a copy: `/clone` in the session itself";
            return Err(text.to_owned());
        }
        let joining = Joining {
            fresh: wanted.session.is_none(),
            session: wanted.session,
            cwd: wanted.cwd.or_else(|| joining.cwd.clone()),
            ..joining.clone()
        };
        Ok(attach(target.clone(), joining))
    })
}

/// Who sits here, and where: `USER@HOST TERMINAL`.
fn own_name(setup: &HostSetup) -> String {
    let mut names = ["USER", "LOGNAME"].iter();
    let user = names.find_map(|name| setup.environment.get(*name));
    let user = user.map_or("somebody", String::as_str);
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let terminal = rustix::termios::ttyname(io::stdin(), Vec::new()).ok();
    let terminal = terminal.and_then(|name| name.into_string().ok());
    let terminal = terminal.as_deref().unwrap_or_default();
    let terminal = terminal.trim_start_matches("/dev/");
    format!("{user}@{host} {terminal}").trim_end().to_owned()
}

/// The token of a server on this machine is known.
fn token_of(target: &Target, setup: &HostSetup) -> Option<String> {
    let named = setup
        .environment
        .get(TOKEN)
        .filter(|token| !token.is_empty());
    let file = setup.folders.data.join("serve.token");
    let own = || {
        let known = matches!(target, Target::Http(_)) && target.is_here() && file.is_file();
        known.then(|| read_token(&file).ok()).flatten()
    };
    named.cloned().or_else(own)
}

/// Where the server in the background listens.
pub(super) fn socket_here(folders: &Folders) -> PathBuf {
    folders.data.join("serve.sock")
}

/// Sees to it that a server listens there.
async fn start_here(folders: &Folders) -> Result<UnixStream, String> {
    let path = socket_here(folders);
    if let Ok(stream) = UnixStream::connect(&path).await {
        return Ok(stream);
    }
    let failed = |error: io::Error| format!("no server can be started in the background: {error}");
    std::fs::create_dir_all(&folders.data).map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let socket = path.clone();
    let words = [
        "serve".as_ref(),
        "--detached".as_ref(),
        "--unix".as_ref(),
        socket.as_os_str(),
    ];
    let run = Invocation::new(program, words);
    let log = folders.logs().join("serve.log");
    // One that another has started meanwhile is as good.
    let _ = spawn_detached(&run, &log).map_err(failed)?;
    UnixStream::connect(&path).await.map_err(|error| {
        let log = log.display();
        format!("the server in the background cannot be reached: {error}; `{log}` may say why")
    })
}

/// `osier rpc --connect`: standard input and output become a line to a server here, for an ssh that comes from
/// elsewhere.
///
/// # Errors
/// One sentence about the server.
pub(super) fn bridge(
    path: &Path,
    folders: &Folders,
    runtime: tokio::runtime::Runtime,
) -> Result<Exit, String> {
    let bridged = runtime.block_on(async {
        let stream = if path.as_os_str().is_empty() {
            start_here(folders).await?
        } else {
            let failed = |error| format!("`{}` cannot be reached: {error}", path.display());
            UnixStream::connect(path).await.map_err(failed)?
        };
        let (mut from, mut to) = stream.into_split();
        let (mut input, mut output) = (tokio::io::stdin(), tokio::io::stdout());
        // Whichever end goes first takes the other along.
        tokio::select! {
            _ = tokio::io::copy(&mut input, &mut to) => {}
            _ = copy_at_once(&mut from, &mut output) => {}
        }
        Ok(Exit::Success)
    });
    // A thread that still waits for input must not hold the end up.
    runtime.shutdown_background();
    bridged
}

/// Copies, and lets nothing wait in a buffer.
async fn copy_at_once(
    from: &mut (impl tokio::io::AsyncRead + Unpin),
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
) -> io::Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut piece = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&piece[..read]).await?;
        to.flush().await?;
    }
}
