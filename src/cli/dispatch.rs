//! Runs the command or the mode of the command line.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};
use tokio::signal::unix::SignalKind;

use super::args::{Args, Command, McpCommand, ScriptArgs};
use super::exit::{Exit, failure, screen_exit, usage_error};
#[cfg(feature = "transfer")]
use super::html_theme::TerminalThemes;
use super::run_config::RunConfig;
use super::run_mode::{self, RunMode};
use super::runtime::{block_on, block_on_with_input};
use super::{
    aliases, attach, codex, commands, completion, mcp_serve, parse_error, script_args, serve,
    token_argument,
};
use osier_agent::RunOutcome;
use osier_base::exit_limit::{Interrupt, limit_after_signals};
use osier_base::signals::{Signals, report_file_size_limit, signalled};
use osier_base::{allocator, process, terminal_output};
use osier_session::models::{Models, find_local};
use osier_session::{SessionHandle, SessionSetup, check_tools};

use crate::modes::AskedRequests;
use crate::modes::json::JsonFormat;
use crate::modes::log::LogLevel;
use crate::modes::rpc;
use crate::modes::run::{Ended, ProgramHooks, Run};
use crate::modes::schema::AnswerSchema;
use crate::modes::text::TextFormat;
use osier_mcp::ProgramLink;
use osier_peers::formats::{self, ClaudeFormat, CodexFormat, Format, Initialize, Lines};
use osier_permissions::trust::Trust;
use osier_rpc::schema;

/// Runs the program and returns its exit code.
pub fn run() -> ExitCode {
    allocator::give_back_large_blocks();
    #[cfg(target_os = "linux")]
    if let Some(code) = osier_sandbox::helper::run(std::env::args_os().skip(1)) {
        return code;
    }
    let arguments = || std::env::args_os().skip(1);
    let helper = osier_tools::pdf::helper::run(arguments());
    let helper = helper.or_else(|| osier_tools::html_helper::run(arguments()));
    if let Some(code) = helper.or_else(|| process::run_for_user(arguments())) {
        return code;
    }
    token_argument::hide();
    if let Some(exit) = completion::answer() {
        return exit.into();
    }
    terminal_output::report_panics();
    report_file_size_limit();
    let key = std::env::var_os("CODEX_API_KEY").filter(|key| !key.is_empty());
    let args = match Args::read(codex::expand(std::env::args_os(), key)) {
        Ok(args) => args,
        Err(error) => return parse_error::report(&error).into(),
    };
    match aliases::expand(args).and_then(start) {
        Ok(exit) => exit.into(),
        Err(message) => usage_error(&message).into(),
    }
}

fn start(args: Args) -> Result<Exit, String> {
    if let Some(mode) = RunMode::of(&args) {
        run_mode::check(&args, mode)?;
    }
    let config = RunConfig::new(args)?;
    // Before `run_report`, which locks standard output.
    if let Some(args) = config.args.bridge() {
        return attach::bridge(args, &config.folders);
    }
    if let Some(exit) = run_report(&config)? {
        return Ok(exit);
    }
    let setup = config.setup()?;
    match config.args.command.clone() {
        Some(Command::Rewind(args)) => {
            let mut out = terminal_output::stdout();
            return block_on(commands::rewind::run(&args, setup, &mut out))?;
        }
        Some(Command::Serve(args)) => {
            return serve::run(&args, &config, setup);
        }
        Some(Command::Attach(args)) => {
            if config.usual_mode(io::stdout().is_terminal())? != RunMode::Screen {
                return Err("`osier attach` needs a terminal; programs use `osier rpc`".to_owned());
            }
            let options = config.screen_options(false)?;
            return attach::run(&args, &setup, options);
        }
        _ => {}
    }
    let stdin_piped = !io::stdin().is_terminal();
    let mode = config.mode(io::stdout().is_terminal())?;
    match mode {
        RunMode::Rpc => {
            let setup = SessionSetup {
                answers_questions: true,
                ..setup
            };
            run_rpc(&config, setup)
        }
        RunMode::Acp => {
            let setup = SessionSetup {
                answers_questions: true,
                waits_for_servers: true,
                ..setup
            };
            run_acp(&config, setup)
        }
        RunMode::McpServer => mcp_serve::run(&config, setup),
        RunMode::Screen => run_screen(config, setup, stdin_piped),
        _ => run_prompts(&config, setup, mode, stdin_piped),
    }
}

/// Runs the commands that print a report and exit; `None` for other commands.
fn run_report(config: &RunConfig) -> Result<Option<Exit>, String> {
    let mut out = terminal_output::stdout();
    let args = &config.args;
    let search = match (&args.command, &args.list_models) {
        (Some(Command::Models { search, refresh }), _) => Some((search.join(" "), *refresh)),
        (None, Some(search)) => Some((search.clone(), false)),
        _ => None,
    };
    let (folders, cwd, environment) = (&config.folders, &*config.cwd, &config.environment);
    let printed = if let Some((search, refresh)) = &search {
        let setup = config.setup()?;
        let listing = commands::models::run(&setup, search, *refresh, &mut out);
        block_on(listing)??
    } else {
        match &args.command {
            Some(Command::Sessions { command }) => {
                commands::sessions::run(command.as_ref(), folders, cwd, &mut out)?
            }
            #[cfg(feature = "transfer")]
            Some(Command::Export(args)) => {
                let themes = Arc::new(TerminalThemes::new(config.folders.themes()));
                commands::export::run(args, folders, cwd, environment, themes, &mut out)
            }
            #[cfg(feature = "transfer")]
            Some(Command::Import(args)) => {
                commands::import::run(args, folders, cwd, environment, &mut out)
            }
            #[cfg(feature = "transfer")]
            Some(Command::Migrate(args)) => {
                commands::migrate::run(args, folders, cwd, environment, &mut out)
            }
            Some(Command::Checkpoints { command }) => {
                commands::checkpoints::run(command, &folders.data, &config.settings, &mut out)
            }
            Some(Command::Auth { command }) => {
                let settings = &config.settings;
                let exit = commands::auth::run(command, folders, settings, environment, &mut out);
                return exit.map(Some);
            }
            Some(Command::Mcp {
                command: McpCommand::Serve(_),
            }) => return Ok(None),
            Some(Command::Mcp { command }) => {
                let context = commands::mcp::McpContext {
                    folders,
                    environment,
                    cwd: config.cwd.clone(),
                    project: Trust::new(&config.folders).trusted_files(&config.cwd),
                    keyring: config.settings.credential_store.is_keyring(),
                };
                block_on(commands::mcp::run(command.clone(), &context, &mut out))?
            }
            Some(Command::Rpc(args)) if args.schema => {
                schema::write(&mut out).map(|()| Exit::Success)
            }
            Some(Command::Config { command }) => {
                let setup = config.setup()?;
                let hooks = block_on(osier_session::check_hooks(&setup))?;
                let (mut problems, mut notes) = config.all_problems(&setup);
                notes.extend(block_on(osier_session::check_deny_rules(&setup))?);
                problems.extend(hooks.problems.into_iter().chain(hooks.obstacles));
                problems.extend(osier_session::check_plugins(&setup));
                commands::config::run(*command, folders, &(problems, notes), &mut out)
            }
            Some(Command::Completions { shell }) => completion::write_script(*shell, &mut out),
            Some(Command::Man { command, dir }) => {
                let is_terminal = io::stdout().is_terminal();
                commands::manual::run(command, dir.as_deref(), is_terminal, &mut out)?
            }
            Some(Command::Doctor) => doctor(config, &mut out)?,
            _ => return Ok(None),
        }
    };
    match printed {
        Ok(exit) => Ok(Some(exit)),
        // The reader closed the pipe, as in `osier models | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Some(Exit::Success)),
        Err(error) => Err(error.to_string()),
    }
}

fn doctor(
    config: &RunConfig,
    out: &mut impl terminal_output::StyledWrite,
) -> Result<io::Result<Exit>, String> {
    let mut setup = config.setup()?;
    setup.may_demo = true;
    let chosen = Models::load_lenient(&setup).0.chosen();
    let hooks = block_on(osier_session::check_hooks(&setup))?;
    let (mut problems, _) = config.all_problems(&setup);
    problems.extend(hooks.problems.iter().cloned());
    problems.extend(osier_session::check_plugins(&setup));
    let advice = block_on(osier_session::check_deny_rules(&setup))?;
    let context = commands::doctor::DoctorContext {
        folders: &config.folders,
        settings: &config.settings,
        environment: &config.environment,
        cwd: &config.cwd,
        problems: &problems,
        model: format!("{}/{}", chosen.provider, chosen.id),
        hooks: &hooks,
        deny_rules: &advice,
    };
    block_on(commands::doctor::run(&context, out))
}

/// Runs prompts without a screen, in the format of `mode`.
fn run_prompts(
    config: &RunConfig,
    mut setup: SessionSetup,
    mode: RunMode,
    stdin_piped: bool,
) -> Result<Exit, String> {
    let script = &config.args.script;
    let reads_lines = mode == RunMode::Json || script.reads_lines();
    let asks = reads_lines && script.asks();
    // With a prompt, lines keep a run open only if a program sends valid ones, because standard input may just be open.
    let ends_with_prompts =
        !script.reads_lines() && !config.args.requests_stdin() && !config.args.prompts.is_empty();
    setup.waits_for_servers = true;
    setup.answers_questions = asks || config.args.answers;
    let prompts = if reads_lines {
        config.given_prompts()?
    } else {
        config.prompts(stdin_piped)?
    };
    if prompts.is_empty() && !reads_lines {
        return Err("no prompt; pass one as an argument or on standard input".to_owned());
    }
    config.require_session_id()?;
    let schema = script.schema()?;
    let mut accounting = config.accounting()?;
    let mut setup = config.checked(setup)?;
    limit_after_signals(Interrupt::StopsFirst);
    check_tools(&setup)?;
    let (callbacks, link, hooks) = ProgramHooks::new();
    setup.hook_callbacks = reads_lines.then_some(callbacks);
    if let Err(message) = block_on(find_local(&mut setup))? {
        return Ok(failure(&message));
    }
    let mut format = format_of(mode, script, asks);
    // The SDKs begin with the request that sets up the session.
    let waits = script.reads_lines() && prompts.is_empty();
    let signal: Arc<AtomicI32> = Arc::default();
    let work = async {
        let mut input = reads_lines.then(|| tokio::io::BufReader::new(tokio::io::stdin()));
        let (mut first, mut schema) = (Vec::new(), schema);
        if let Some(input) = input.as_mut().filter(|_| waits) {
            let begun = tokio::select! {
                begun = begin(input, &mut setup, &link) => begun?,
                number = signalled() => {
                    signal.store(number, Ordering::Relaxed);
                    return Ok(RunOutcome::Interrupted.into());
                }
            };
            (first, schema) = (begun.0, begun.1.or(schema));
        }
        let input = input.map(|input| io::Cursor::new(first).chain(input));
        let (session, events) = SessionHandle::start(setup).map_err(|error| error.to_string())?;
        send_mode_rules(&session, config);
        let stop = stop_on_signal(session.clone(), Arc::clone(&signal));
        let run = Run {
            session: &session,
            prompts: prompts.into(),
            format: &mut *format,
            schema,
            output: &mut terminal_output::stdout(),
            ends_with_prompts,
            hooks: reads_lines.then_some(hooks),
            asked: AskedRequests::default(),
        };
        let log = config.log(mode, &mut accounting, session.subscribe_like(&events));
        let (ended, logged) = tokio::join!(run.run(events, input), log);
        stop.abort();
        let ended = ended.or_else(|error| match error.kind() {
            // The reader of the output has exited.
            io::ErrorKind::BrokenPipe => Ok(RunOutcome::Completed.into()),
            _ => Err(error),
        });
        logged.and(ended).map_err(|error| error.to_string())
    };
    let ended: Ended = if reads_lines {
        block_on_with_input(work)??
    } else {
        block_on(work)??
    };
    let exit = exit_of(&ended.outcome, &signal);
    // Otherwise the log or an event has the error.
    let error = match mode.log_level() {
        LogLevel::Warnings => ended.outcome.error(),
        LogLevel::Everything | LogLevel::Nothing => ended.problem,
    };
    Ok(match (exit, error) {
        (Exit::Failure, Some(message)) => failure(&message),
        (exit, _) => exit,
    })
}

/// The format of `mode`; `asks` says whether the program answers questions.
fn format_of(mode: RunMode, script: &ScriptArgs, asks: bool) -> Box<dyn Format + Send> {
    let claude = |lines| {
        ClaudeFormat::new(
            lines,
            script.replay_user_messages,
            asks,
            script.permission_mode.clone(),
        )
    };
    match mode {
        RunMode::Json => Box::new(JsonFormat),
        RunMode::Codex => Box::<CodexFormat>::default(),
        RunMode::JsonResult => Box::new(claude(Lines::Result)),
        RunMode::StreamJson if script.include_partial_messages => Box::new(claude(Lines::Partial)),
        RunMode::StreamJson => Box::new(claude(Lines::Messages)),
        _ => Box::<TextFormat>::default(),
    }
}

/// Adds the rules of the permission mode that has some.
fn send_mode_rules(session: &SessionHandle, config: &RunConfig) {
    let named = config.args.script.permission_mode.iter();
    for op in named.flat_map(|name| formats::rule_ops(name, &config.cwd)) {
        session.send(op);
    }
}

/// Reads the line with which an SDK begins, and applies it to the session that it sets up. Returns the line, and the schema
/// of the answers.
async fn begin(
    input: &mut (impl AsyncBufRead + Unpin),
    setup: &mut SessionSetup,
    link: &ProgramLink,
) -> Result<(Vec<u8>, Option<AnswerSchema>), String> {
    let mut line = Vec::new();
    let read = input.read_until(b'\n', &mut line).await;
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    let schema = match Initialize::of_line(&line) {
        Some(given) => script_args::initialize(given, setup)?,
        None => None,
    };
    script_args::link_servers(setup, link);
    Ok((line, schema))
}

fn run_rpc(config: &RunConfig, setup: SessionSetup) -> Result<Exit, String> {
    config.require_session_id()?;
    let mut accounting = config.accounting()?;
    let mut setup = config.checked(setup)?;
    limit_after_signals(Interrupt::Ends);
    let signal = block_on_with_input(async {
        // Without a model each prompt fails, and the client can sign in.
        let _ = find_local(&mut setup).await;
        let (session, events) = SessionHandle::start(setup).map_err(|error| error.to_string())?;
        let log = config.log(
            RunMode::Rpc,
            &mut accounting,
            session.subscribe_like(&events),
        );
        let (signal, logged) = tokio::join!(rpc::run(&session, events), log);
        logged.map(|()| signal).map_err(|error| error.to_string())
    })??;
    Ok(signal.map_or(Exit::Success, Exit::Signal))
}

fn run_acp(config: &RunConfig, setup: SessionSetup) -> Result<Exit, String> {
    let mut setup = config.checked(setup)?;
    limit_after_signals(Interrupt::Ends);
    let signal = block_on_with_input(async {
        // Without a model each prompt fails, and the client can sign in.
        let _ = find_local(&mut setup).await;
        osier_acp::run_on_stdio(setup).await
    })?;
    Ok(signal.map_or(Exit::Success, Exit::Signal))
}

fn run_screen(
    config: RunConfig,
    mut setup: SessionSetup,
    stdin_piped: bool,
) -> Result<Exit, String> {
    setup.may_demo = true;
    let options = config.screen_options(stdin_piped)?;
    limit_after_signals(Interrupt::Ends);
    screen_exit(block_on(async {
        // Otherwise the screen shows first and the session looks for local servers.
        if setup.model.is_some() || !setup.fallback.is_empty() {
            let _ = find_local(&mut setup).await;
        }
        osier_tui::run(setup, options).await
    })?)
}

/// Interrupts the run on SIGINT. Shuts the session down on the second one, on SIGTERM and on SIGHUP, and sets `ended_by`.
fn stop_on_signal(session: SessionHandle, ended_by: Arc<AtomicI32>) -> tokio::task::JoinHandle<()> {
    osier_base::task::spawn(async move {
        let mut interrupts = 0;
        let mut signals = Signals::default();
        loop {
            let signal = signals.next().await;
            let is_interrupt = signal == SignalKind::interrupt().as_raw_value();
            interrupts += i32::from(is_interrupt);
            session.send(osier_agent::Op::Abort.into());
            if !is_interrupt || interrupts > 1 {
                ended_by.store(signal, Ordering::Relaxed);
                session.send(osier_protocol::Op::ShutDown);
            }
        }
    })
}

fn exit_of(outcome: &RunOutcome, signal: &AtomicI32) -> Exit {
    let signal = signal.load(Ordering::Relaxed);
    match outcome {
        _ if signal != 0 => Exit::Signal(signal),
        RunOutcome::Completed => Exit::Success,
        RunOutcome::Interrupted => Exit::Interrupted,
        RunOutcome::Failed { .. } | RunOutcome::MaxTurns { .. } | RunOutcome::Stopped { .. } => {
            Exit::Failure
        }
    }
}
