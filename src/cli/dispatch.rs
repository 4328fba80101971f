//! Runs the command or the mode of the command line.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use clap::Parser as _;
use tokio::signal::unix::SignalKind;

use super::args::{Args, Command};
use super::exit::{Exit, failure, usage_error};
#[cfg(feature = "transfer")]
use super::html_theme::TerminalThemes;
use super::run_config::{RunConfig, RunMode};
use super::runtime::{block_on, block_on_with_input};
use super::{aliases, attach, commands, completion, input, parse_error, serve, token_argument};
use osier_agent::RunOutcome;
use osier_base::exit_limit::{Interrupt, limit_after_signals};
use osier_base::signals::{report_file_size_limit, signalled};
use osier_base::{allocator, terminal_output};
use osier_session::models::{Models, find_local};
use osier_session::{SessionHandle, SessionSetup, check_tools};

use crate::modes::print::{LogOptions, Sinks};
use crate::modes::script::{Format, Script};
use crate::modes::{json, print, rpc};
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
    if let Some(code) = helper.or_else(|| osier_tools::html_helper::run(arguments())) {
        return code;
    }
    token_argument::hide();
    if let Some(exit) = completion::answer() {
        return exit.into();
    }
    terminal_output::report_panics();
    report_file_size_limit();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return parse_error::report(&error).into(),
    };
    match aliases::expand(args).and_then(start) {
        Ok(exit) => exit.into(),
        Err(message) => usage_error(&message).into(),
    }
}

fn start(args: Args) -> Result<Exit, String> {
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
        Some(Command::Serve(args)) => {
            return serve::run(&args, &config, setup);
        }
        Some(Command::Attach(args)) => {
            if config.mode(io::stdout().is_terminal())? != RunMode::Screen {
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
        RunMode::Json => {
            let answers_questions = config.args.answers;
            run_json(
                &config,
                SessionSetup {
                    answers_questions,
                    ..setup
                },
            )
        }
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
        RunMode::Print => run_print(&config, setup, stdin_piped),
        RunMode::Screen => run_screen(config, setup, stdin_piped),
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
                let problems = config.all_problems(&config.setup()?);
                commands::config::run(*command, folders, &problems, &mut out)
            }
            Some(Command::Completions { shell }) => completion::write_script(*shell, &mut out),
            Some(Command::Man { command, dir }) => {
                let is_terminal = io::stdout().is_terminal();
                commands::manual::run(command, dir.as_deref(), is_terminal, &mut out)?
            }
            #[cfg(feature = "eval")]
            Some(Command::Eval(args)) => block_on(commands::eval::run(args, cwd, &mut out))??,
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
    let context = commands::doctor::DoctorContext {
        folders: &config.folders,
        settings: &config.settings,
        environment: &config.environment,
        cwd: &config.cwd,
        problems: &config.all_problems(&setup),
        model: format!("{}/{}", chosen.provider, chosen.id),
    };
    block_on(commands::doctor::run(&context, out))
}

fn run_print(
    config: &RunConfig,
    mut setup: SessionSetup,
    stdin_piped: bool,
) -> Result<Exit, String> {
    setup.waits_for_servers = true;
    let script = &config.args.script;
    if let Some(format) = script.format(config.args.codex_events) {
        return run_script(config, setup, format, stdin_piped);
    }
    let prompts = config.prompts(stdin_piped)?;
    if prompts.is_empty() {
        return Err("no prompt; pass one as an argument or on standard input".to_owned());
    }
    config.require_session_id()?;
    let mut accounting = config.accounting()?;
    let options = LogOptions {
        verbose: config.args.run.verbose,
        trace_llm: config.args.run.trace_llm,
        trace_tools: config.args.run.trace_mcp,
    };
    let mut setup = config.checked(setup)?;
    limit_after_signals(Interrupt::StopsFirst);
    if let Some(exit) = find_model(&mut setup)? {
        return Ok(exit);
    }
    let signal = Arc::default();
    let outcome = block_on(async {
        let (session, events) = SessionHandle::start(setup).map_err(|error| error.to_string())?;
        let stop = stop_on_signal(session.clone(), Arc::clone(&signal));
        let sinks = Sinks {
            answer: &mut terminal_output::stdout(),
            log: &mut terminal_output::stderr(),
            accounting: accounting.as_mut().map(|file| file as &mut dyn Write),
        };
        let outcome = print::run(&session, events, prompts, options, sinks).await;
        stop.abort();
        outcome
            .or_else(ignore_closed_pipe)
            .map_err(|error| error.to_string())
    })??;
    Ok(exit_of(&outcome, &signal))
}

/// Waits for local servers if there is no other model. How the run ends if there is none.
fn find_model(setup: &mut SessionSetup) -> Result<Option<Exit>, String> {
    check_tools(setup)?;
    let found = block_on(find_local(setup))?;
    Ok(found.err().map(|message| failure(&message)))
}

/// Runs in a format for programs.
fn run_script(
    config: &RunConfig,
    mut setup: SessionSetup,
    mut format: Box<dyn Format + Send>,
    stdin_piped: bool,
) -> Result<Exit, String> {
    let script = &config.args.script;
    let reads_lines = script.reads_lines();
    setup.answers_questions = script.asks() && reads_lines;
    let prompts = config.prompts(stdin_piped && !reads_lines)?;
    if prompts.is_empty() && !reads_lines {
        return Err("no prompt; pass one as an argument or on standard input".to_owned());
    }
    config.require_session_id()?;
    let schema = script.schema()?;
    let mut setup = config.checked(setup)?;
    limit_after_signals(Interrupt::StopsFirst);
    if let Some(exit) = find_model(&mut setup)? {
        return Ok(exit);
    }
    let signal = Arc::default();
    let outcome = block_on_with_input(async {
        let asks = setup.answers_questions;
        let (session, events) = SessionHandle::start(setup).map_err(|error| error.to_string())?;
        let stop = stop_on_signal(session.clone(), Arc::clone(&signal));
        let input = reads_lines.then(|| tokio::io::BufReader::new(tokio::io::stdin()));
        let script = Script {
            session: &session,
            prompts,
            format: &mut *format,
            schema,
            asks,
            output: &mut terminal_output::stdout(),
        };
        let outcome = script.run(events, input).await;
        stop.abort();
        outcome
            .or_else(ignore_closed_pipe)
            .map_err(|error| error.to_string())
    })??;
    if let (Exit::Failure, Some(message)) = (exit_of(&outcome, &signal), outcome.error()) {
        return Ok(failure(&message));
    }
    Ok(exit_of(&outcome, &signal))
}

fn run_json(config: &RunConfig, mut setup: SessionSetup) -> Result<Exit, String> {
    setup.waits_for_servers = true;
    let prompts = input::prompts(
        &config.args.prompts,
        None,
        &config.cwd,
        &config.settings.deny,
    )?;
    config.require_session_id()?;
    let mut accounting = config.accounting()?;
    let mut setup = config.checked(setup)?;
    limit_after_signals(Interrupt::StopsFirst);
    if let Some(exit) = find_model(&mut setup)? {
        return Ok(exit);
    }
    let signal = Arc::default();
    let outcome = block_on_with_input(async {
        let (session, events) = SessionHandle::start(setup).map_err(|error| error.to_string())?;
        let stop = stop_on_signal(session.clone(), Arc::clone(&signal));
        let input = tokio::io::BufReader::new(tokio::io::stdin());
        let accounting = accounting
            .as_mut()
            .map(|file| file as &mut (dyn Write + Send));
        let outcome = json::run(
            &session,
            events,
            prompts,
            input,
            &mut terminal_output::stdout(),
            accounting,
        )
        .await;
        stop.abort();
        outcome
            .or_else(ignore_closed_pipe)
            .map_err(|error| error.to_string())
    })??;
    Ok(exit_of(&outcome, &signal))
}

fn run_rpc(config: &RunConfig, setup: SessionSetup) -> Result<Exit, String> {
    if !config.args.prompts.is_empty() {
        return Err(
            "`osier rpc` takes no prompts on the command line; send them as commands".to_owned(),
        );
    }
    config.require_session_id()?;
    let mut setup = config.checked(setup)?;
    limit_after_signals(Interrupt::Ends);
    let signal = block_on_with_input(async {
        // Without a model each prompt fails, and the client can sign in.
        let _ = find_local(&mut setup).await;
        let (session, events) = SessionHandle::start(setup).map_err(|error| error.to_string())?;
        Ok::<_, String>(rpc::run(&session, events).await)
    })??;
    Ok(signal.map_or(Exit::Success, Exit::Signal))
}

fn run_acp(config: &RunConfig, setup: SessionSetup) -> Result<Exit, String> {
    if !config.args.prompts.is_empty() {
        return Err(
            "`osier acp` takes no prompts on the command line; send them from the editor"
                .to_owned(),
        );
    }
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

/// How a mode with a screen ended.
///
/// # Errors
/// The screen could not be used.
pub(super) fn screen_exit(outcome: Result<Option<i32>, impl Display>) -> Result<Exit, String> {
    let signal = outcome.map_err(|error| format!("{error:#}"))?;
    Ok(signal.map_or(Exit::Success, Exit::Signal))
}

/// Interrupts the run on SIGINT. Shuts the session down on the second one, on SIGTERM and on SIGHUP, and sets `ended_by`.
fn stop_on_signal(session: SessionHandle, ended_by: Arc<AtomicI32>) -> tokio::task::JoinHandle<()> {
    osier_base::task::spawn(async move {
        let mut interrupts = 0;
        loop {
            let signal = signalled().await;
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

/// Treats a closed pipe as a completed run: the reader of the output has exited.
fn ignore_closed_pipe(error: io::Error) -> io::Result<RunOutcome> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Ok(RunOutcome::Completed)
    } else {
        Err(error)
    }
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
