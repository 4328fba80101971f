//! `osier auth`: signs in and out, and shows which providers have a key. Never prints a key.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use crate::cli::args::{AuthCommand, LoginArgs};
use crate::cli::exit::Exit;
use crate::cli::runtime::block_on;
use osier_base::clock;
use osier_base::folders::Folders;
use osier_base::terminal_output;
use osier_llm::auth::{Method, Progress};
use osier_protocol::{Account, AccountSource};
use osier_session::accounts::Accounts;
use osier_settings::Settings;

/// Why a login failed.
enum LoginError {
    Message(String),
    Interrupted,
}

/// Runs an `osier auth` command.
///
/// # Errors
/// The provider is unknown, or the credentials cannot be read.
pub(in crate::cli) fn run(
    command: &AuthCommand,
    folders: &Folders,
    settings: &Settings,
    environment: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> Result<Exit, String> {
    let accounts = Accounts::load(folders, settings, environment);
    match command {
        AuthCommand::Status { provider: None } => status(&accounts, out),
        AuthCommand::Status {
            provider: Some(name),
        } => status_of(&accounts.get(name)?, out),
        AuthCommand::Logout { provider } => logout(&accounts, provider, out),
        AuthCommand::Login(args) => login(&accounts, args, out),
    }
}

fn status(accounts: &Accounts, out: &mut dyn Write) -> Result<Exit, String> {
    let all = accounts.list();
    let all = all.map_err(|error| format!("{error}; {}", error.hint()))?;
    let available: Vec<&Account> = all
        .iter()
        .filter(|account| account.source != AccountSource::Nothing)
        .collect();
    let width = available
        .iter()
        .map(|account| account.provider.len())
        .max()
        .unwrap_or(0);
    for account in &available {
        print_line(
            out,
            &format!("{:<width$}  {}", account.provider, status_text(account)),
        )?;
    }
    if available.is_empty() {
        print_line(
            out,
            "no provider has a key; add one with `osier auth login PROVIDER`",
        )?;
    }
    Ok(Exit::Success)
}

fn status_of(account: &Account, out: &mut dyn Write) -> Result<Exit, String> {
    print_line(
        out,
        &format!("{}  {}", account.provider, status_text(account)),
    )?;
    Ok(match account.source {
        AccountSource::Nothing => Exit::Failure,
        _ => Exit::Success,
    })
}

fn status_text(account: &Account) -> String {
    let described = account.described();
    match account.renewal(clock::now_ms()) {
        Some(renewal) => format!("{described}, {renewal}"),
        None => described,
    }
}

fn logout(accounts: &Accounts, provider: &str, out: &mut dyn Write) -> Result<Exit, String> {
    let removed = block_on(accounts.remove(provider))?;
    if removed.map_err(|error| error.message_with_hint())? {
        let remaining = match accounts.get(provider).map(|account| account.source) {
            Ok(AccountSource::Variable { name }) => {
                format!("; the variable `{name}` still sets a key")
            }
            Ok(AccountSource::ModelsFile | AccountSource::Command) => {
                "; `models.json` still sets a key".to_owned()
            }
            _ => String::new(),
        };
        print_line(out, &format!("signed out of `{provider}`{remaining}"))?;
        return Ok(Exit::Success);
    }
    // An unknown name is an error.
    let account = accounts.get(provider)?;
    print_line(
        out,
        &format!(
            "no stored credentials for `{provider}` ({})",
            account.described()
        ),
    )?;
    Ok(Exit::Failure)
}

fn login(accounts: &Accounts, args: &LoginArgs, out: &mut dyn Write) -> Result<Exit, String> {
    let terminal = io::stdin().is_terminal();
    let name = match &args.provider {
        Some(name) => name.clone(),
        None if terminal => ask_provider(accounts, out)?,
        None => {
            return Err(
                "missing argument PROVIDER; for example `osier auth login openrouter`".to_owned(),
            );
        }
    };
    let account = accounts.get(&name)?;
    let method = args.device.then_some(Method::Device);
    let with_key = args.key || (account.methods.is_empty() && method.is_none());
    let outcome = if with_key {
        store_key(accounts, &account, terminal, out)?
    } else {
        block_on(sign_in(accounts, &account, method, out))?
    };
    match outcome {
        Ok(()) => {
            let account = accounts.get(&name)?;
            print_line(
                out,
                &format!("{}: {}", account.provider, status_text(&account)),
            )?;
            Ok(Exit::Success)
        }
        Err(LoginError::Interrupted) => Ok(Exit::Interrupted),
        Err(LoginError::Message(message)) => {
            // A failed write to standard error cannot be reported.
            let _ = writeln!(terminal_output::stderr(), "osier: {message}");
            Ok(Exit::Failure)
        }
    }
}

fn ask_provider(accounts: &Accounts, out: &mut dyn Write) -> Result<String, String> {
    let all = accounts.list();
    let all = all.map_err(|error| format!("{error}; {}", error.hint()))?;
    for account in &all {
        let method = if account.methods.is_empty() {
            "key"
        } else {
            "sign-in or key"
        };
        print_line(
            out,
            &format!("  {:<16} {} ({method})", account.provider, account.label),
        )?;
    }
    prompt(out, "Provider: ")?;
    read_line()
        .filter(|line| !line.is_empty())
        .ok_or_else(|| "no provider entered; sign-in canceled".to_owned())
}

/// Stores a key from the terminal, without echo, or from a pipe.
fn store_key(
    accounts: &Accounts,
    account: &Account,
    terminal: bool,
    out: &mut dyn Write,
) -> Result<Result<(), LoginError>, String> {
    let key = if terminal {
        let question = format!("API key for {} (hidden): ", account.label);
        match block_on(hidden_line(&question, out))? {
            Ok(line) => line,
            Err(error) => return Ok(Err(error)),
        }
    } else {
        read_line()
    };
    let Some(key) = key.filter(|key| !key.is_empty()) else {
        return Err(format!(
            "no key; type it or pipe it in, as in `pass show {0} | osier auth login {0}`",
            account.provider
        ));
    };
    if key.chars().any(char::is_control) {
        return Err("the key contains control characters; copy it again".to_owned());
    }
    let stored = block_on(accounts.store_key(&account.provider, &key))?;
    Ok(stored.map_err(|error| LoginError::Message(error.message_with_hint())))
}

/// Reads a line without echo. Handles Ctrl+C itself, because exiting at once would leave the terminal without
/// echo.
async fn hidden_line(question: &str, out: &mut dyn Write) -> Result<Option<String>, LoginError> {
    let interrupt = signal(SignalKind::interrupt());
    let mut interrupt = interrupt.map_err(|error| LoginError::Message(error.to_string()))?;
    // Before the prompt: the user may type as soon as it is visible.
    let echo_off = EchoOff::new();
    prompt(out, question).map_err(LoginError::Message)?;
    let (send, line) = oneshot::channel();
    std::thread::spawn(move || {
        // The receiver is dropped after an interrupt.
        let _ = send.send(read_line());
    });
    let outcome = tokio::select! {
        line = line => Ok(line.ok().flatten()),
        _ = interrupt.recv() => Err(LoginError::Interrupted),
    };
    drop(echo_off);
    print_line(out, "").map_err(LoginError::Message)?;
    outcome
}

async fn sign_in(
    accounts: &Accounts,
    account: &Account,
    method: Option<Method>,
    out: &mut dyn Write,
) -> Result<(), LoginError> {
    let (send, mut typed) = mpsc::unbounded_channel();
    // In a thread: a blocking read cannot be cancelled and must not delay the exit.
    std::thread::spawn(move || {
        while let Some(line) = read_line() {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut report = move |progress| {
        // The receiver outlives the login.
        let _ = sender.send(progress);
    };
    let signing = accounts.sign_in(&account.provider, method, &mut typed, &mut report);
    tokio::pin!(signing);
    loop {
        let progress = tokio::select! {
            biased;
            Some(progress) = events.recv() => progress,
            outcome = &mut signing => {
                return outcome.map_err(|error| LoginError::Message(error.message_with_hint()));
            }
        };
        if let Progress::Started {
            url,
            user_code: None,
            ..
        } = &progress
        {
            accounts.open_browser(url).await;
        }
        for line in progress_lines(&progress) {
            print_line(out, &line).map_err(LoginError::Message)?;
        }
    }
}

fn progress_lines(progress: &Progress) -> Vec<String> {
    match progress {
        Progress::Refused { message } => vec![format!("! {message}")],
        Progress::Started { url, user_code, .. } => match user_code {
            Some(code) => vec![
                "Open this URL on any device:".to_owned(),
                format!("  {url}"),
                format!("and enter this code: {code}"),
            ],
            None => vec![
                "Open this URL in a browser:".to_owned(),
                format!("  {url}"),
                "If the browser is on another machine, paste the final URL of the browser here."
                    .to_owned(),
            ],
        },
    }
}

/// Reads one line of standard input, trimmed; `None` at the end of the input.
fn read_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(1..) => Some(line.trim().to_owned()),
        _ => None,
    }
}

fn print_line(out: &mut dyn Write, line: &str) -> Result<(), String> {
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| error.to_string())
}

fn prompt(out: &mut dyn Write, text: &str) -> Result<(), String> {
    let written = write!(out, "{text}").and_then(|()| out.flush());
    written.map_err(|error| error.to_string())
}

/// Disables the echo of the terminal until it is dropped.
struct EchoOff(Option<Termios>);

impl EchoOff {
    fn new() -> Self {
        let Ok(original) = tcgetattr(io::stdin()) else {
            return Self(None);
        };
        let mut quiet = original.clone();
        quiet.local_modes -= LocalModes::ECHO;
        match tcsetattr(io::stdin(), OptionalActions::Flush, &quiet) {
            Ok(()) => Self(Some(original)),
            Err(_) => Self(None),
        }
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        if let Some(original) = &self.0 {
            // A closed terminal needs no echo.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, original);
        }
    }
}
