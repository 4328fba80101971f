//! A sign-in beside the session: its task, what is typed into it, and how it ends.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::asked::Jobs;
use super::event::{Event, LoginInput};
use super::host::{Job, Task};
use super::op::{LoginMethod, Typed};
use super::setup::HostSetup;
use crate::accounts::{Account, Accounts};
use osier_agent::Severity;
use osier_llm::ProviderEntry;
use osier_llm::auth::{Method, Progress};

/// A sign-in that runs. Dropping it gives it up.
#[derive(Debug)]
pub(super) struct RunningLogin {
    provider: String,
    typed: mpsc::UnboundedSender<String>,
    task: JoinHandle<()>,
}

impl RunningLogin {
    /// Starts signing in to `account`'s provider; `method` is what the person wants, if anything.
    pub(super) fn start(
        accounts: Accounts,
        account: Account,
        method: Option<LoginMethod>,
        jobs: Jobs,
    ) -> Self {
        let (typed, lines) = mpsc::unbounded_channel();
        let provider = account.provider.clone();
        let task = tokio::spawn(async move {
            let method = match method {
                None if account.methods.is_empty() => Some(LoginMethod::Key),
                method => method,
            };
            let outcome = match method {
                Some(LoginMethod::Key) => take_key(&accounts, &account, lines, &jobs).await,
                Some(LoginMethod::Browser) => {
                    sign_in(&accounts, &account, Some(Method::Browser), lines, &jobs).await
                }
                Some(LoginMethod::Device) => {
                    sign_in(&accounts, &account, Some(Method::Device), lines, &jobs).await
                }
                None => sign_in(&accounts, &account, None, lines, &jobs).await,
            };
            // The host may have ended.
            let _ = jobs.send(Job::LoginEnded {
                provider: account.provider,
                error: outcome.err(),
            });
        });
        Self {
            provider,
            typed,
            task,
        }
    }
}

impl Drop for RunningLogin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the host does about keys and sign-ins.
impl Task {
    fn accounts(&self) -> Accounts {
        let HostSetup {
            folders,
            settings,
            environment,
            ..
        } = &self.setup;
        Accounts::load(folders, settings, environment)
    }

    pub(super) fn list_accounts(&self) {
        let (accounts, jobs) = (self.accounts(), self.jobs.clone());
        tokio::task::spawn_blocking(move || {
            let accounts = accounts.list().unwrap_or_default();
            let _ = jobs.send(Job::Publish(Box::new(Event::Accounts { accounts })));
        });
    }

    pub(super) fn log_in(&mut self, provider: &str, method: Option<LoginMethod>) {
        self.cancel_login();
        let accounts = self.accounts();
        match accounts.get(provider) {
            Ok(account) => {
                let jobs = self.jobs.clone();
                self.login = Some(RunningLogin::start(accounts, account, method, jobs));
            }
            Err(message) => self.notice(Severity::Error, message),
        }
    }

    pub(super) fn cancel_login(&mut self) {
        if let Some(login) = self.login.take() {
            self.publish(Event::LoginEnded {
                provider: login.provider.clone(),
                error: Some("the sign-in was given up".to_owned()),
            });
        }
    }

    pub(super) async fn log_out(&mut self, provider: &str) {
        let outcome = self.accounts().remove(provider).await;
        let (severity, text) = match outcome {
            Ok(true) => (Severity::Info, format!("signed out of {provider}")),
            Ok(false) => (
                Severity::Warning,
                format!("nothing is stored for {provider}"),
            ),
            Err(error) => (Severity::Error, error.whole()),
        };
        self.notice(severity, text);
        self.models.credentials_changed();
        self.publish_models();
    }

    /// The provider is worth another try, and may be the first that can be called at all.
    async fn logged_in(&mut self, provider: &str) {
        self.notice(Severity::Info, format!("signed in to {provider}"));
        self.models.credentials_changed();
        if provider == ProviderEntry::server().name {
            return self.signed_in_to_server().await;
        }
        self.enable(provider);
        self.publish_models();
        let chosen = self.models.chosen();
        match self.models.better_default() {
            Some(model) => self.choose(model, None).await,
            None if chosen.provider == provider => self.choose(chosen, None).await,
            None => {}
        }
    }

    /// Hands over what the person typed or pasted.
    pub(super) fn login_input(&self, text: &Typed) {
        match &self.login {
            // It may just have ended.
            Some(login) => drop(login.typed.send(text.0.clone())),
            None => self.notice(
                Severity::Warning,
                "no sign-in is running: start one with `/login`",
            ),
        }
    }

    pub(super) async fn login_ended(&mut self, provider: String, error: Option<String>) {
        self.login = None;
        let signed_in = error.is_none();
        self.publish(Event::LoginEnded {
            provider: provider.clone(),
            error,
        });
        if signed_in {
            self.logged_in(&provider).await;
        }
    }
}

fn publish(jobs: &Jobs, event: Event) {
    // The host may have ended.
    let _ = jobs.send(Job::Publish(Box::new(event)));
}

fn started(
    account: &Account,
    input: LoginInput,
    (url, user_code): (Option<String>, Option<String>),
) -> Event {
    Event::LoginStarted {
        provider: account.provider.clone(),
        label: account.label.clone(),
        url,
        user_code,
        input,
    }
}

async fn take_key(
    accounts: &Accounts,
    account: &Account,
    mut lines: mpsc::UnboundedReceiver<String>,
    jobs: &Jobs,
) -> Result<(), String> {
    publish(jobs, started(account, LoginInput::Key, (None, None)));
    while let Some(line) = lines.recv().await {
        let key = line.trim();
        let message = match key {
            "" => "no key was typed",
            key if key.chars().any(char::is_control) => {
                "the key holds control characters: copy it again"
            }
            key => {
                let stored = accounts.store_key(&account.provider, key).await;
                return stored.map_err(|error| error.whole());
            }
        };
        let message = message.to_owned();
        publish(jobs, Event::LoginRefused { message });
    }
    Err("the sign-in was given up".to_owned())
}

async fn sign_in(
    accounts: &Accounts,
    account: &Account,
    method: Option<Method>,
    mut lines: mpsc::UnboundedReceiver<String>,
    jobs: &Jobs,
) -> Result<(), String> {
    let (told, mut progress) = mpsc::unbounded_channel();
    let mut tell = move |progress| {
        // The reader outlives the sign-in.
        let _ = told.send(progress);
    };
    let signing = accounts.sign_in(&account.provider, method, &mut lines, &mut tell);
    tokio::pin!(signing);
    loop {
        let progress = tokio::select! {
            biased;
            Some(progress) = progress.recv() => progress,
            outcome = &mut signing => return outcome.map_err(|error| error.whole()),
        };
        match progress {
            Progress::Refused { message } => publish(jobs, Event::LoginRefused { message }),
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
                publish(
                    jobs,
                    started(account, input, (Some(url.clone()), user_code)),
                );
                if code.is_none() {
                    accounts.open_browser(&url).await;
                }
            }
        }
    }
}
