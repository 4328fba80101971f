//! `osier auth`: signing in and out, and what there is. Never prints a key.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use crate::cli::args::{AuthCommand, LoginArgs};
use crate::cli::exit::Exit;
use osier_base::clock;
use osier_base::folders::Folders;
use osier_llm::auth::{Method, Progress};
use osier_session::accounts::{Account, AccountSource, Accounts};
use osier_settings::Settings;

/// Why there is no new credential.
enum Failed {
    Told(String),
    Interrupted,
}

/// Answers one `osier auth` command.
///
/// # Errors
/// One sentence: the command cannot be understood or the store cannot be read.
pub(in crate::cli) fn run(
    what: &AuthCommand,
    (folders, settings): (&Folders, &Settings),
    environment: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> Result<Exit, String> {
    let accounts = Accounts::load(folders, settings, environment);
    match what {
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
    let there: Vec<&Account> = all
        .iter()
        .filter(|account| account.source != AccountSource::Nothing)
        .collect();
    let width = there
        .iter()
        .map(|account| account.provider.len())
        .max()
        .unwrap_or(0);
    for account in &there {
        say(
            out,
            &format!("{:<width$}  {}", account.provider, line(account)),
        )?;
    }
    if there.is_empty() {
        say(
            out,
            "no provider has a key: `osier auth login PROVIDER` gives it one",
        )?;
    }
    Ok(Exit::Success)
}

fn status_of(account: &Account, out: &mut dyn Write) -> Result<Exit, String> {
    say(out, &format!("{}  {}", account.provider, line(account)))?;
    Ok(match account.source {
        AccountSource::Nothing => Exit::Failure,
        _ => Exit::Success,
    })
}

fn line(account: &Account) -> String {
    let described = account.described();
    match account.renewal(clock::now_ms()) {
        Some(renewal) => format!("{described}, {renewal}"),
        None => described,
    }
}

fn logout(accounts: &Accounts, provider: &str, out: &mut dyn Write) -> Result<Exit, String> {
    let removed = runtime()?.block_on(accounts.remove(provider));
    if removed.map_err(|error| error.whole())? {
        let left = match accounts.get(provider).map(|account| account.source) {
            Ok(AccountSource::Variable { name }) => format!("; ${name} still gives it a key"),
            Ok(AccountSource::ModelsFile | AccountSource::Command) => {
                "; models.json still gives it a key".to_owned()
            }
            _ => String::new(),
        };
        say(out, &format!("signed out of `{provider}`{left}"))?;
        return Ok(Exit::Success);
    }
    // A name that cannot be right is a mistake of its own.
    let account = accounts.get(provider)?;
    say(
        out,
        &format!(
            "nothing is stored for `{provider}` ({})",
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
        None => return Err("name a provider: `osier auth login openrouter`".to_owned()),
    };
    let account = accounts.get(&name)?;
    let method = args.device.then_some(Method::Device);
    let by_key = args.key || (account.methods.is_empty() && method.is_none());
    let outcome = if by_key {
        store_key(accounts, &account, terminal, out)?
    } else {
        runtime()?.block_on(sign_in(accounts, &account, method, out))
    };
    match outcome {
        Ok(()) => {
            let account = accounts.get(&name)?;
            say(out, &format!("{}: {}", account.provider, line(&account)))?;
            Ok(Exit::Success)
        }
        Err(Failed::Interrupted) => Ok(Exit::Interrupted),
        Err(Failed::Told(message)) => {
            // A closed standard error leaves nobody to tell.
            let _ = writeln!(io::stderr(), "osier: {message}");
            Ok(Exit::Failure)
        }
    }
}

fn ask_provider(accounts: &Accounts, out: &mut dyn Write) -> Result<String, String> {
    let all = accounts.list();
    let all = all.map_err(|error| format!("{error}; {}", error.hint()))?;
    for account in &all {
        let way = if account.methods.is_empty() {
            "key"
        } else {
            "sign-in or key"
        };
        say(
            out,
            &format!("  {:<16} {} ({way})", account.provider, account.label),
        )?;
    }
    prompt(out, "Provider: ")?;
    read_line()
        .filter(|line| !line.is_empty())
        .ok_or_else(|| "no provider was named".to_owned())
}

/// Takes a key from the terminal, unseen, or from a pipe.
fn store_key(
    accounts: &Accounts,
    account: &Account,
    terminal: bool,
    out: &mut dyn Write,
) -> Result<Result<(), Failed>, String> {
    let key = if terminal {
        let question = format!("Key of {} (not shown): ", account.label);
        match runtime()?.block_on(hidden_line(&question, out)) {
            Ok(line) => line,
            Err(failed) => return Ok(Err(failed)),
        }
    } else {
        read_line()
    };
    let Some(key) = key.filter(|key| !key.is_empty()) else {
        return Err(format!(
            "no key was given: type it, or pipe it in as in `pass show {0} | osier auth login {0}`",
            account.provider
        ));
    };
    if key.chars().any(char::is_control) {
        return Err("the key holds control characters: copy it again".to_owned());
    }
    let stored = runtime()?.block_on(accounts.store_key(&account.provider, &key));
    Ok(stored.map_err(|error| Failed::Told(error.whole())))
}

/// Asks for a line that is not shown. Ctrl+C is waited for as well: ending by it there and then would
/// leave the terminal without its echo.
async fn hidden_line(question: &str, out: &mut dyn Write) -> Result<Option<String>, Failed> {
    let interrupt = signal(SignalKind::interrupt());
    let mut interrupt = interrupt.map_err(|error| Failed::Told(error.to_string()))?;
    // Before the question is asked: whoever sees it may type.
    let hidden = Hidden::begin();
    prompt(out, question).map_err(Failed::Told)?;
    let (send, line) = oneshot::channel();
    std::thread::spawn(move || {
        // Nobody waits for it after an interrupt.
        let _ = send.send(read_line());
    });
    let outcome = tokio::select! {
        line = line => Ok(line.ok().flatten()),
        _ = interrupt.recv() => Err(Failed::Interrupted),
    };
    drop(hidden);
    say(out, "").map_err(Failed::Told)?;
    outcome
}

async fn sign_in(
    accounts: &Accounts,
    account: &Account,
    method: Option<Method>,
    out: &mut dyn Write,
) -> Result<(), Failed> {
    let (send, mut typed) = mpsc::unbounded_channel();
    // A thread of its own: reading a line cannot be given up, and must not hold the end up.
    std::thread::spawn(move || {
        while let Some(line) = read_line() {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut tell = move |progress| {
        // The reader outlives the sign-in.
        let _ = tell.send(progress);
    };
    let signing = accounts.sign_in(&account.provider, method, &mut typed, &mut tell);
    tokio::pin!(signing);
    loop {
        let progress = tokio::select! {
            biased;
            Some(progress) = told.recv() => progress,
            outcome = &mut signing => {
                return outcome.map_err(|error| Failed::Told(error.whole()));
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
        for line in explained(&progress) {
            say(out, &line).map_err(Failed::Told)?;
        }
    }
}

fn explained(progress: &Progress) -> Vec<String> {
    match progress {
        Progress::Refused { message } => vec![format!("! {message}")],
        Progress::Started { url, user_code, .. } => match user_code {
            Some(code) => vec![
                "Open this address, on any device:".to_owned(),
                format!("  {url}"),
                format!("and type this code: {code}"),
            ],
            None => vec![
                "Open this address in a browser:".to_owned(),
                format!("  {url}"),
                "If the browser is on another machine, paste the address it ends at here."
                    .to_owned(),
            ],
        },
    }
}

/// One line of standard input without its end; `None` at the end of the input.
fn read_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(1..) => Some(line.trim().to_owned()),
        _ => None,
    }
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| error.to_string())
}

fn prompt(out: &mut dyn Write, text: &str) -> Result<(), String> {
    let written = write!(out, "{text}").and_then(|()| out.flush());
    written.map_err(|error| error.to_string())
}

/// A terminal that does not show what is typed, until it is dropped.
struct Hidden(Option<Termios>);

impl Hidden {
    fn begin() -> Self {
        let Ok(before) = tcgetattr(io::stdin()) else {
            return Self(None);
        };
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO;
        match tcsetattr(io::stdin(), OptionalActions::Flush, &quiet) {
            Ok(()) => Self(Some(before)),
            Err(_) => Self(None),
        }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // A terminal that is gone needs no echo.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot start: {error}"))
}
