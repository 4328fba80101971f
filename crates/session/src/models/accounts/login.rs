//! Signing in while a session is open: the background task, its input and its end.

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{Accounts, key_form};
use crate::emitter::{Callback, Emitter};
use osier_agent::Severity;
use osier_llm::auth::{Method, Progress};
use osier_protocol::{Account, Event, LoginInput, LoginMethod, Typed};

/// A sign-in that runs. Dropping it cancels it.
#[derive(Debug)]
struct RunningLogin {
    provider: String,
    typed: mpsc::UnboundedSender<String>,
    _task: AbortOnDropHandle<()>,
}

impl RunningLogin {
    /// Starts signing in to `account`'s provider; `method` is the user's choice, if there is one.
    fn start(
        accounts: Accounts,
        account: Account,
        method: Option<LoginMethod>,
        emitter: Emitter,
        done: Callback<LoginOutcome>,
    ) -> Self {
        let (typed, lines) = mpsc::unbounded_channel();
        let provider = account.provider.clone();
        let task = osier_base::task::spawn(async move {
            let method = match method {
                None if account.methods.is_empty() => Some(LoginMethod::Key),
                method => method,
            };
            let outcome = match method {
                Some(LoginMethod::Key) => receive_key(&accounts, &account, lines, &emitter).await,
                method => {
                    let method = method.map(|method| match method {
                        LoginMethod::Browser => Method::Browser,
                        _ => Method::Device,
                    });
                    sign_in(&accounts, &account, method, lines, &emitter).await
                }
            };
            done.call(LoginOutcome {
                provider: account.provider,
                error: outcome.err(),
            });
        });
        Self {
            provider,
            typed,
            _task: AbortOnDropHandle::new(task),
        }
    }
}

/// The sign-in of a session's clients: one at a time.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    running: Option<RunningLogin>,
}

/// How a sign-in ended.
#[derive(Debug)]
pub(crate) struct LoginOutcome {
    pub provider: String,
    pub error: Option<String>,
}

impl Logins {
    /// Starts to sign in to `provider`. A sign-in before it is cancelled.
    pub(crate) fn start(
        &mut self,
        accounts: Accounts,
        provider: &str,
        method: Option<LoginMethod>,
        emitter: &Emitter,
        done: Callback<LoginOutcome>,
    ) {
        self.cancel(emitter);
        match accounts.get(provider) {
            Ok(account) => {
                let emitter = emitter.clone();
                self.running = Some(RunningLogin::start(
                    accounts, account, method, emitter, done,
                ));
            }
            Err(message) => emitter.notice(Severity::Error, message),
        }
    }

    pub(crate) fn cancel(&mut self, emitter: &Emitter) {
        if let Some(login) = self.running.take() {
            emitter.publish(Event::LoginEnded {
                provider: login.provider.clone(),
                error: Some("the sign-in was cancelled".to_owned()),
            });
        }
    }

    /// Passes on what the user typed or pasted.
    pub(crate) fn input(&self, text: &Typed, emitter: &Emitter) {
        match &self.running {
            // The login may just have ended.
            Some(login) => drop(login.typed.send(text.0.clone())),
            None => emitter.notice(
                Severity::Warning,
                "no sign-in is running: start one with `/login`",
            ),
        }
    }

    /// A sign-in has ended.
    pub(crate) fn ended(&mut self, outcome: &LoginOutcome, emitter: &Emitter) {
        self.running = None;
        emitter.publish(Event::LoginEnded {
            provider: outcome.provider.clone(),
            error: outcome.error.clone(),
        });
    }
}

impl Accounts {
    /// Publishes the accounts.
    pub(crate) fn publish(self, emitter: &Emitter) {
        let emitter = emitter.clone();
        osier_base::task::spawn_blocking(move || {
            let accounts = self.list().unwrap_or_default();
            emitter.post(Event::Accounts { accounts });
        });
    }

    /// Deletes the stored credential of `provider`.
    pub(crate) async fn log_out(&self, provider: &str, emitter: &Emitter) {
        let (severity, text) = match self.remove(provider).await {
            Ok(true) => (Severity::Info, format!("signed out of {provider}")),
            Ok(false) => (
                Severity::Warning,
                format!("no credential is stored for {provider}"),
            ),
            Err(error) => (Severity::Error, error.message_with_hint()),
        };
        emitter.notice(severity, text);
    }
}

fn started(
    account: &Account,
    input: LoginInput,
    url: Option<String>,
    user_code: Option<String>,
) -> Event {
    Event::LoginStarted {
        provider: account.provider.clone(),
        label: account.label.clone(),
        url,
        user_code,
        input,
    }
}

async fn receive_key(
    accounts: &Accounts,
    account: &Account,
    mut lines: mpsc::UnboundedReceiver<String>,
    emitter: &Emitter,
) -> Result<(), String> {
    emitter.post(started(account, LoginInput::Key, None, None));
    // A key that looks wrong is stored if the user enters it again: servers can have keys of their own.
    let mut doubted = String::new();
    while let Some(line) = lines.recv().await {
        let key = line.trim();
        let fault = key_form::fault(&account.provider, key).filter(|_| key != doubted);
        let message = match (key, fault) {
            ("", _) => "the key is empty".to_owned(),
            (key, _) if key.chars().any(char::is_control) => {
                "the key contains control characters: copy it again".to_owned()
            }
            (key, Some(fault)) => {
                key.clone_into(&mut doubted);
                format!("{fault}; enter it again to store it anyway")
            }
            (key, None) => {
                let stored = accounts.store_key(&account.provider, key).await;
                return stored.map_err(|error| error.message_with_hint());
            }
        };
        emitter.post(Event::LoginRefused { message });
    }
    Err("the sign-in was cancelled".to_owned())
}

async fn sign_in(
    accounts: &Accounts,
    account: &Account,
    method: Option<Method>,
    mut lines: mpsc::UnboundedReceiver<String>,
    emitter: &Emitter,
) -> Result<(), String> {
    let (sender, mut progress) = mpsc::unbounded_channel();
    let mut tell = move |progress| {
        // The reader outlives the sign-in.
        let _ = sender.send(progress);
    };
    let signing = accounts.sign_in(&account.provider, method, &mut lines, &mut tell);
    tokio::pin!(signing);
    loop {
        let progress = tokio::select! {
            biased;
            Some(progress) = progress.recv() => progress,
            outcome = &mut signing => return outcome.map_err(|error| error.message_with_hint()),
        };
        match progress {
            Progress::Refused { message } => emitter.post(Event::LoginRefused { message }),
            Progress::Started {
                url,
                user_code,
                accepts_paste,
            } => {
                let input = if accepts_paste {
                    LoginInput::Code
                } else {
                    LoginInput::None
                };
                let code = user_code.clone();
                emitter.post(started(account, input, Some(url.clone()), user_code));
                if code.is_none() {
                    accounts.open_browser(&url).await;
                }
            }
        }
    }
}
