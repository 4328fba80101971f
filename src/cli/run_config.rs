//! The resolved configuration of a run: command line, settings, environment and working directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{Args, Command, Mode, OutputFormat};
#[cfg(feature = "transfer")]
use super::html_theme::TerminalThemes;
use super::input::{self, Piped};
use super::run_mode::{self, RunMode};
use super::script_args;
use crate::modes::log::{Log, LogLevel, LogOptions};
use osier_agent::Subscription;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::process;
use osier_base::regular_file::{self, read_text};
use osier_base::terminal_output;
use osier_session::{SessionChoice, SessionSetup, check_safety, find_session};

use osier_llm::Secret;
use osier_llm::catalogue::key_variables;
use osier_mcp::ServerConfig;
use osier_permissions::trust::{ProjectFiles, Trust};
use osier_protocol::{Budget, Event, Prompt};
use osier_session::models::Models;
use osier_settings::{READING, Settings, wants_reading};

/// Maximum size of a file of `--mcp-config`.
const MCP_CONFIG_LIMIT: u64 = 4 * 1024 * 1024;

/// The command line with everything that it refers to.
pub(super) struct RunConfig {
    pub args: Args,
    pub folders: Folders,
    pub settings: Settings,
    pub problems: Vec<Problem>,
    pub environment: BTreeMap<String, String>,
    pub cwd: PathBuf,
}

impl RunConfig {
    /// Reads the environment and the settings.
    ///
    /// # Errors
    /// A directory or a trust decision is invalid.
    pub(super) fn new(mut args: Args) -> Result<Self, String> {
        args.run_of_command();
        let environment: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let home = std::env::var_os("OSIER_HOME");
        let folders = Folders::find(home.as_deref()).map_err(|error| error.to_string())?;
        // Before anything is written: also commands without a session leave files there.
        folders.restrict();
        let mut folders = folders.with_peers(&environment);
        let cwd = working_directory(args.run.cwd.as_deref())?;
        let run = &args.run;
        let inline = run.inline.then(|| "screen=inline".to_owned());
        let config: Vec<String> = run.config.iter().cloned().chain(inline).collect();
        folders.overrides = osier_settings::overrides(&run.settings, &config, &cwd)?;
        if args.run.trust {
            let files = ProjectFiles::read(&cwd);
            let decided = Trust::new(&folders).decide(&files, true);
            decided.map_err(|error| error.to_string())?;
        }
        let (settings, problems) = Settings::load_for(&folders, &cwd);
        // Also for commands without a session, such as `osier mcp test`.
        process::pass_variables(settings.pass_environment.iter().cloned());
        process::withhold_variables(key_variables([]), false);
        Ok(Self {
            args,
            folders,
            settings,
            problems,
            environment,
            cwd,
        })
    }

    /// The setup of a session.
    pub(super) fn setup(&self) -> Result<SessionSetup, String> {
        let Self {
            args,
            folders,
            settings,
            environment,
            cwd,
            ..
        } = self;
        let args = &args.run;
        let (model, fallback) = match &args.model {
            Some(list) => {
                let mut names = list.split(',').map(|name| name.trim().to_owned());
                (
                    names.next(),
                    names.filter(|name| !name.is_empty()).collect(),
                )
            }
            None => (None, Vec::new()),
        };
        let session = match (&args.resume, &args.session, &args.fork) {
            (Some(target), ..) if !target.is_empty() => SessionChoice::Resume(target.clone()),
            (_, Some(path), _) => SessionChoice::File(cwd.join(path)),
            (.., Some(target)) => SessionChoice::Copy(target.clone()),
            _ if args.continue_session => SessionChoice::Continue,
            _ if args.no_session => SessionChoice::Unstored,
            _ => SessionChoice::New,
        };
        if let SessionChoice::Resume(target) | SessionChoice::Copy(target) = &session {
            find_session(&folders.data, target)?;
        }
        let session = if args.take_over {
            session.taken_over()?
        } else {
            session
        };
        let mut setup = SessionSetup {
            settings: settings.clone(),
            environment: Arc::new(environment.clone()),
            model,
            fallback,
            cycle: args.models.clone(),
            thinking: args.thinking,
            api_key: args.api_key.clone().map(Secret::new),
            base_url: args.base_url.clone(),
            proxy: args.proxy.clone(),
            system_prompt: args.system_prompt.clone(),
            append_system_prompt: args.append_system_prompt.clone(),
            context: context_paths(&args.context, cwd)?,
            session,
            session_dir: args.session_dir.as_ref().map(|folder| cwd.join(folder)),
            tools: script_args::tools(args),
            temperature: args.temperature,
            permissions: args.permissions,
            sandbox: args.sandbox,
            max_turns: args.max_turns,
            max_retries: args.max_retries,
            budget: Budget {
                cost: args.max_cost,
                tokens: args.max_tokens,
                turns: args.max_session_turns,
            },
            trace: args.trace_llm || args.trace_mcp,
            trace_servers: args.trace_mcp,
            servers: mcp_servers(&args.mcp_config, cwd, environment)?,
            #[cfg(feature = "transfer")]
            html_themes: Some(Arc::new(TerminalThemes::new(folders.themes()))),
            ..SessionSetup::new(folders.clone(), cwd.clone())
        };
        self.args.script.apply(&self.cwd, &mut setup)?;
        Ok(setup)
    }

    /// The mode of the command line, or the default for the output and the terminal.
    ///
    /// # Errors
    /// A flag does not apply to the mode, or the terminal cannot show the interface.
    pub(super) fn mode(&self, stdout_is_terminal: bool) -> Result<RunMode, String> {
        let mode = self.usual_mode(stdout_is_terminal)?;
        run_mode::check(&self.args, mode)?;
        Ok(mode)
    }

    /// The mode, whatever flags there are.
    ///
    /// # Errors
    /// The terminal cannot show the interface.
    pub(super) fn usual_mode(&self, stdout_is_terminal: bool) -> Result<RunMode, String> {
        let args = &self.args;
        let format = args.script.output_format;
        let no_screen = || {
            let term = self.environment.get("TERM");
            term.is_none_or(|term| term == "dumb")
        };
        Ok(match (&args.command, args.mode) {
            (Some(Command::Rpc(_)), _) | (_, Some(Mode::Rpc)) => RunMode::Rpc,
            (Some(Command::Acp(_)), _) | (_, Some(Mode::Acp)) => RunMode::Acp,
            (Some(Command::Mcp { .. }), _) => RunMode::McpServer,
            (_, Some(Mode::Json)) => RunMode::Json,
            _ if args.json => RunMode::Json,
            _ if args.codex_events => RunMode::Codex,
            _ if format == Some(OutputFormat::StreamJson) => RunMode::StreamJson,
            _ if format == Some(OutputFormat::Json) => RunMode::JsonResult,
            (_, Some(Mode::Text)) => RunMode::Text,
            _ if args.print || !stdout_is_terminal || args.script.has_schema() => RunMode::Text,
            _ if no_screen() && !args.prompts.is_empty() => RunMode::Text,
            _ if no_screen() => {
                let is_set = std::env::var_os("TERM").is_some_and(|term| !term.is_empty());
                let term = if is_set { "`dumb`" } else { "not set" };
                return Err(format!(
                    "the terminal cannot show the interface (`TERM` is {term}); \
                     pass a prompt or use `--json`"
                ));
            }
            _ => RunMode::Screen,
        })
    }

    /// The prompts of the command line and the piped text.
    pub(super) fn prompts(&self, stdin_piped: bool) -> Result<Vec<Prompt>, String> {
        let words = &self.args.prompts;
        let how = if self.args.requests_stdin() {
            Piped::Requested
        } else if words.is_empty() {
            Piped::Prompt
        } else {
            Piped::Optional
        };
        let piped = if stdin_piped || how == Piped::Requested {
            input::read_pipe(io::stdin().lock(), how)?
        } else {
            None
        };
        input::prompts(words, piped, &self.cwd, &self.settings.deny)
    }

    /// The prompts of the command line alone: standard input has lines of a program.
    pub(super) fn given_prompts(&self) -> Result<Vec<Prompt>, String> {
        input::prompts(&self.args.prompts, None, &self.cwd, &self.settings.deny)
    }

    /// The file of `--accounting`.
    pub(super) fn accounting(&self) -> Result<Option<File>, String> {
        let Some(path) = self.args.run.accounting.as_deref() else {
            return Ok(None);
        };
        let file = regular_file::open_named_append(path);
        file.map(Some).map_err(|error| {
            format!(
                "cannot write the file of `--accounting {}`: {error}",
                path.display()
            )
        })
    }

    /// Logs the events of a session as the flags and the mode say.
    pub(super) async fn log(
        &self,
        mode: RunMode,
        accounting: &mut Option<File>,
        events: Subscription<Event>,
    ) -> io::Result<()> {
        let options = LogOptions {
            // SDKs of Claude Code always give the flag with this format, which has every message.
            verbose: self.args.run.verbose && mode != RunMode::StreamJson,
            trace_llm: self.args.run.trace_llm,
            trace_tools: self.args.run.trace_mcp,
        };
        let log = Log {
            options,
            level: if options.is_asked() {
                LogLevel::Everything
            } else {
                mode.log_level()
            },
            out: &mut terminal_output::stderr(),
            accounting: accounting.as_mut().map(|file| file as &mut dyn Write),
        };
        log.follow(events).await
    }

    /// The options of the full-screen interface.
    pub(super) fn screen_options(
        mut self,
        stdin_piped: bool,
    ) -> Result<osier_tui::Options, String> {
        if self.args.run.screen_reader {
            self.environment.insert(READING.to_owned(), "1".to_owned());
        }
        self.settings.read_aloud(wants_reading(&self.environment));
        if !stdin_piped && self.args.requests_stdin() {
            return Err("standard input is the terminal, which the interface needs; pass `--print`, or the text as the prompt".to_owned());
        }
        let prompts = self.prompts(stdin_piped)?;
        let accounting = self.accounting()?;
        Ok(osier_tui::Options {
            leaving: osier_base::exit_limit::limit_from_now,
            prompts,
            problems: self.problems,
            settings: self.settings,
            folders: self.folders,
            environment: self.environment,
            pick_session: self.args.run.resume.as_deref() == Some(""),
            accounting,
            elsewhere: None,
        })
    }

    /// Rejects `--resume` without a value: only the full-screen interface has a session picker.
    pub(super) fn require_session_id(&self) -> Result<(), String> {
        if self.args.run.resume.as_deref() == Some("") {
            return Err(
                "`--resume` needs a session id in this mode; `osier sessions` lists the ids"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// `setup`, if its safety settings can be read. Prints the other problems of the settings as warnings.
    pub(super) fn checked(&self, setup: SessionSetup) -> Result<SessionSetup, String> {
        check_safety(&setup).map_err(|error| error.to_string())?;
        for problem in &self.problems {
            // A failed write to standard error cannot be reported.
            let _ = writeln!(terminal_output::stderr(), "[WRN] {problem}");
        }
        Ok(setup)
    }

    /// The problems of all configuration files, and lines about models that only their provider knows.
    pub(super) fn all_problems(&self, setup: &SessionSetup) -> (Vec<Problem>, Vec<String>) {
        let mut problems = self.problems.clone();
        let (models, more) = Models::load_lenient(setup);
        let names = models.check_names(setup);
        problems.extend(more);
        problems.extend(names.problems);
        let servers = [self.folders.servers().into()];
        problems.extend(osier_mcp::load(&servers, &self.environment).problems);
        problems.extend(osier_tui::check_files(&self.folders, &self.settings));
        (problems, names.notes)
    }
}

/// The MCP servers of `--mcp-config`. A faulty server is an error: it would be missing.
fn mcp_servers(
    given: &[String],
    cwd: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<ServerConfig>, String> {
    let mut servers = Vec::new();
    for given in given {
        let (path, text) = if given.trim_start().starts_with('{') {
            (PathBuf::from("--mcp-config"), given.clone())
        } else {
            let path = osier_base::path::resolve(cwd, given);
            let text = read_text(&path, MCP_CONFIG_LIMIT);
            let text = text.map_err(|error| format!("cannot read `--mcp-config {given}`: {error}"));
            (path, text?)
        };
        let read = osier_mcp::parse(&path, &text, environment);
        if let Some(problem) = read.problems.first() {
            return Err(problem.to_string());
        }
        servers.extend(read.servers.into_values());
    }
    Ok(servers)
}

fn working_directory(requested: Option<&Path>) -> Result<PathBuf, String> {
    let current = std::env::current_dir().map_err(|error| {
        format!("cannot read the current directory: {error}; change to another directory")
    });
    let path = match requested {
        Some(path) => path
            .canonicalize()
            .map_err(|error| format!("cannot use `--cwd {}`: {error}", path.display()))?,
        None => current?,
    };
    match std::fs::read_dir(&path) {
        Ok(_) => Ok(path),
        Err(error) => Err(format!(
            "cannot read `{}`: {error}; choose another directory with `--cwd`",
            path.display()
        )),
    }
}

/// The absolute paths of `--context`.
fn context_paths(paths: &[PathBuf], cwd: &Path) -> Result<Vec<PathBuf>, String> {
    let absolute = paths.iter().map(|path| {
        let canonical = cwd.join(path).canonicalize();
        canonical.map_err(|error| format!("cannot use `--context {}`: {error}", path.display()))
    });
    absolute.collect()
}
