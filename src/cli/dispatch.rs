//! Chooses the mode and runs it.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser};

use super::args::{Args, Command};
use super::commands;
use super::exit::{Exit, usage_error};
use super::input;
use super::look::ThemeLook;
use super::meant::{Chosen, Meant};
use super::{attach, serve};
use osier_agent::RunOutcome;
use osier_base::allocator;
use osier_session::host::{Host, HostSetup};
use osier_session::models::Models;

use crate::modes::print::{LogOptions, Sinks};
use crate::modes::{json, print, rpc};
use osier_permissions::trust::Trust;
use osier_rpc::{Ended, schema};

/// Runs the program and says how it ended.
pub fn run() -> ExitCode {
    allocator::give_back_large_blocks();
    #[cfg(target_os = "linux")]
    if let Some(code) = osier_sandbox::helper::run(std::env::args_os().skip(1)) {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return reject(&error).into(),
    };
    match start(args) {
        Ok(exit) => exit.into(),
        Err(message) => usage_error(&message).into(),
    }
}

/// Help and version go to standard output, the help of a command that lacks its own command to standard
/// error; a fault is one line on standard error.
fn reject(error: &clap::Error) -> Exit {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Nothing is left to say it with.
        let _ = error.print();
        return Exit::Usage;
    }
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        return if error.print().is_ok() {
            Exit::Success
        } else {
            Exit::Failure
        };
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("the arguments were not understood");
    let mut message = first.trim_start_matches("error: ").to_owned();
    for line in lines.filter(|line| !line.starts_with("Usage:") && !line.starts_with("For more")) {
        message = format!("{message}; {}", line.trim_start_matches("tip: "));
    }
    usage_error(&format!("{message}; `osier --help` lists every flag"))
}

fn start(args: Args) -> Result<Exit, String> {
    let meant = Meant::new(args)?;
    // Before `report`, which holds standard output.
    if let Some(path) = meant.args.bridge() {
        return attach::bridge(path, &meant.folders, runtime()?);
    }
    if let Some(exit) = report(&meant)? {
        return Ok(exit);
    }
    let setup = meant.setup()?;
    match meant.args.command.clone() {
        Some(Command::Serve(args)) => {
            meant.tell_problems();
            return serve::run(&args, setup);
        }
        Some(Command::Attach(args)) => {
            if meant.mode(io::stdout().is_terminal())? != Chosen::Screen {
                return Err(
                    "`osier attach` needs a terminal: `osier rpc` is for programs".to_owned(),
                );
            }
            let options = meant.screen_options(false)?;
            return attach::run(&args, &setup, options, &runtime()?);
        }
        _ => {}
    }
    let stdin_piped = !io::stdin().is_terminal();
    let mode = meant.mode(io::stdout().is_terminal())?;
    match mode {
        Chosen::Json => {
            let answers_questions = meant.args.answers;
            run_json(
                &meant,
                HostSetup {
                    answers_questions,
                    ..setup
                },
            )
        }
        Chosen::Rpc => {
            let setup = HostSetup {
                answers_questions: true,
                ..setup
            };
            run_rpc(&meant, setup)
        }
        Chosen::Acp => {
            let setup = HostSetup {
                answers_questions: true,
                waits_for_servers: true,
                ..setup
            };
            run_acp(&meant, setup)
        }
        Chosen::Print => run_print(&meant, setup, stdin_piped),
        Chosen::Screen => run_screen(meant, setup, stdin_piped),
    }
}

/// Answers the commands that only print a report.
fn report(meant: &Meant) -> Result<Option<Exit>, String> {
    let mut out = io::stdout().lock();
    let args = &meant.args;
    let search = match (&args.command, &args.list_models) {
        (Some(Command::Models { search, refresh }), _) => Some((search.join(" "), *refresh)),
        (None, Some(search)) => Some((search.clone(), false)),
        _ => None,
    };
    let printed = if let Some((search, refresh)) = &search {
        let setup = meant.setup()?;
        let asked = commands::models::answer(&setup, search, *refresh, &mut out);
        runtime()?.block_on(asked)?
    } else {
        match &args.command {
            Some(Command::Sessions { what }) => {
                let places = (&meant.folders, meant.cwd.as_path());
                commands::sessions::run(what.as_ref(), places, &mut out)?
            }
            Some(Command::Export(args)) => {
                let look = Arc::new(ThemeLook::new(meant.folders.themes()));
                commands::export::run(args, &meant.folders, (&meant.cwd, look), &mut out)
            }
            Some(Command::Import(args)) => {
                let places = (&meant.folders, meant.cwd.as_path());
                commands::import::run(args, places, &meant.environment, &mut out)
            }
            Some(Command::Checkpoints { what }) => {
                let limit = meant.settings.checkpoints_limit;
                commands::checkpoints::run(what, &meant.folders.data, limit, &mut out)
            }
            Some(Command::Auth { what }) => {
                let exit = {
                    let files = (&meant.folders, &meant.settings);
                    commands::auth::run(what, files, &meant.environment, &mut out)?
                };
                return Ok(Some(exit));
            }
            Some(Command::Mcp { what }) => {
                let place = commands::mcp::Place {
                    folders: &meant.folders,
                    environment: &meant.environment,
                    cwd: meant.cwd.clone(),
                    project: Trust::new(&meant.folders).allows(&meant.cwd),
                    keyring: meant.settings.keyring,
                };
                runtime()?.block_on(commands::mcp::run(what.clone(), &place, &mut out))
            }
            Some(Command::Rpc(args)) if args.schema => out
                .write_all(schema::TEXT.as_bytes())
                .map(|()| Exit::Success),
            Some(Command::Config { what }) => {
                let setup = meant.setup()?;
                let problems = meant.every_problem(&setup);
                commands::config::run(*what, &meant.folders, &problems, &mut out)
            }
            Some(Command::Completions { shell }) => say(
                &commands::shell::completions(&Args::command(), *shell),
                &mut out,
            ),
            Some(Command::Man) => say(&commands::shell::man(&Args::command()), &mut out),
            Some(Command::Doctor) => {
                let setup = meant.setup()?;
                let chosen = Models::load_lenient(&setup).0.chosen();
                let place = commands::doctor::Place {
                    folders: &meant.folders,
                    settings: &meant.settings,
                    environment: &meant.environment,
                    cwd: &meant.cwd,
                    problems: &meant.every_problem(&setup),
                    model: format!("{}/{}", chosen.provider, chosen.id),
                };
                runtime()?.block_on(commands::doctor::run(&place, &mut out))
            }
            _ => return Ok(None),
        }
    };
    match printed {
        Ok(exit) => Ok(Some(exit)),
        // The reader has seen enough: `osier models | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Some(Exit::Success)),
        Err(error) => Err(error.to_string()),
    }
}

fn say(text: &str, out: &mut dyn Write) -> io::Result<Exit> {
    out.write_all(text.as_bytes()).map(|()| Exit::Success)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot start: {error}"))
}

fn run_print(meant: &Meant, mut setup: HostSetup, stdin_piped: bool) -> Result<Exit, String> {
    setup.waits_for_servers = true;
    let prompts = meant.prompts(stdin_piped)?;
    if prompts.is_empty() {
        return Err("there is nothing to do: give a prompt, or pipe one in".to_owned());
    }
    meant.no_picker()?;
    let mut accounting = meant.accounting()?;
    let options = LogOptions {
        verbose: meant.args.run.verbose,
        trace_llm: meant.args.run.trace_llm,
        trace_tools: meant.args.run.trace_mcp,
        colour: io::stderr().is_terminal(),
    };
    meant.tell_problems();
    let outcome = runtime()?.block_on(async {
        let (host, events) = Host::start(setup).map_err(|error| error.to_string())?;
        let stop = stop_on_signal(host.clone());
        let sinks = Sinks {
            answer: &mut io::stdout(),
            log: &mut io::stderr(),
            accounting: accounting.as_mut().map(|file| file as &mut dyn Write),
        };
        let outcome = print::run(&host, events, prompts, options, sinks).await;
        stop.abort();
        outcome
            .or_else(ended_by_reader)
            .map_err(|error| error.to_string())
    })?;
    Ok(exit_of(&outcome))
}

fn run_json(meant: &Meant, mut setup: HostSetup) -> Result<Exit, String> {
    setup.waits_for_servers = true;
    let prompts = input::prompts(&meant.args.prompts, None, &meant.cwd)?;
    meant.no_picker()?;
    let mut accounting = meant.accounting()?;
    meant.tell_problems();
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        let (host, events) = Host::start(setup).map_err(|error| error.to_string())?;
        let stop = stop_on_signal(host.clone());
        let input = tokio::io::BufReader::new(tokio::io::stdin());
        let accounting = accounting
            .as_mut()
            .map(|file| file as &mut (dyn Write + Send));
        let outcome = json::run(&host, events, prompts, input, &mut io::stdout(), accounting).await;
        stop.abort();
        outcome
            .or_else(ended_by_reader)
            .map_err(|error| error.to_string())
    });
    // A thread that still waits for a line of input must not hold the end up.
    runtime.shutdown_background();
    Ok(exit_of(&outcome?))
}

fn run_rpc(meant: &Meant, setup: HostSetup) -> Result<Exit, String> {
    if !meant.args.prompts.is_empty() {
        return Err("prompts come as commands here: `osier rpc` takes none".to_owned());
    }
    meant.no_picker()?;
    meant.tell_problems();
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let (host, events) = Host::start(setup).map_err(|error| error.to_string())?;
        Ok(rpc::run(&host, events).await)
    });
    // A thread that still waits for a line of input must not hold the end up.
    runtime.shutdown_background();
    ended.map(|ended| match ended {
        Ended::Stopped => Exit::Interrupted,
        Ended::InputEnded | Ended::OutputClosed | Ended::ShutDown => Exit::Success,
    })
}

fn run_acp(meant: &Meant, setup: HostSetup) -> Result<Exit, String> {
    if !meant.args.prompts.is_empty() {
        return Err("prompts come from the editor: `osier acp` takes none".to_owned());
    }
    meant.tell_problems();
    let runtime = runtime()?;
    let stopped = runtime.block_on(osier_acp::run_on_stdio(setup));
    // A thread that still waits for a line of input must not hold the end up.
    runtime.shutdown_background();
    Ok(if stopped {
        Exit::Interrupted
    } else {
        Exit::Success
    })
}

fn run_screen(meant: Meant, setup: HostSetup, stdin_piped: bool) -> Result<Exit, String> {
    let options = meant.screen_options(stdin_piped)?;
    let outcome = runtime()?.block_on(osier_tui::run(setup, options));
    outcome
        .map(|()| Exit::Success)
        .map_err(|error| format!("{error:#}"))
}

/// Interrupts the run on the first signal; a second one ends the process as usual.
fn stop_on_signal(host: Host) -> tokio::task::JoinHandle<()> {
    use tokio::signal::unix::{SignalKind, signal};
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return;
        };
        let mut seen = 0;
        loop {
            tokio::select! {
                _ = interrupt.recv() => seen += 1,
                _ = terminate.recv() => seen += 1,
            }
            host.send(osier_agent::Op::Abort.into());
            if seen > 1 {
                host.send(osier_session::host::Op::ShutDown);
            }
        }
    })
}

/// Whoever reads our output has gone: the run is over, and that is no fault.
fn ended_by_reader(error: io::Error) -> io::Result<RunOutcome> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Ok(RunOutcome::Completed)
    } else {
        Err(error)
    }
}

fn exit_of(outcome: &RunOutcome) -> Exit {
    match outcome {
        RunOutcome::Completed => Exit::Success,
        RunOutcome::Interrupted => Exit::Interrupted,
        RunOutcome::Failed { .. } | RunOutcome::MaxTurns { .. } | RunOutcome::Stopped { .. } => {
            Exit::Failure
        }
    }
}
