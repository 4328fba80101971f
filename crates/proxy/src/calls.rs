//! Makes model calls for other agents: with this process's keys and models, counted per user.

use osier_base::sort;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use tokio::sync::Mutex;

use super::metering::{CallMeter, Frames, RunningCall, RunningCalls};
use super::store::{ReservationError, User, UserRow, UserStore, UsersError};
use osier_agent::Transport;
use osier_base::problem::Problem;
use osier_llm::http::{ProxyRequest, ServedModel};
use osier_llm::{Api, CallOptions, Model, Request, TurnStatus};
use osier_protocol::KeyState;
use osier_session::SessionSetup;
use osier_session::models::{ModelError, Models};
use osier_settings::Settings;

/// Makes the calls of all clients. Reads keys and models from their files again with the first call after a change.
#[derive(Debug)]
pub struct LlmProxy {
    users: Arc<dyn UserStore>,
    running: Arc<RunningCalls>,
    stopped: AtomicBool,
    setup: SessionSetup,
    loaded: Mutex<Loaded>,
}

/// The loaded configuration, and the state of its files at that time.
#[derive(Debug)]
struct Loaded {
    files: Vec<Option<Stamp>>,
    /// Problems in these files.
    problems: Vec<Problem>,
    served: Arc<Served>,
}

impl Loaded {
    /// Whether `problems` has a problem that this configuration does not have. Positions are
    /// ignored because lines move.
    fn is_worse(&self, problems: &[Problem]) -> bool {
        let same = |one: &Problem, other: &Problem| {
            (&one.path, &one.message) == (&other.path, &other.message)
        };
        let known = |problem: &Problem| self.problems.iter().any(|known| same(known, problem));
        !problems.iter().all(known)
    }
}

/// The models that can be called, and their clients.
#[derive(Debug)]
struct Served {
    models: Models,
    /// The models that can be called, the default first.
    list: Vec<ServedModel>,
    /// The models by `PROVIDER/ID`.
    by_reference: HashMap<String, Arc<Model>>,
    transport: Arc<dyn Transport>,
}

/// Identifies a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    changed: SystemTime,
    length: u64,
    inode: u64,
}

/// Why a call is rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("unknown model `{0}` on this server")]
    UnknownModel(String),
    #[error("{0}")]
    Spent(String),
    #[error("{0}")]
    TooManyCalls(String),
    #[error("the server is shutting down")]
    Stopped,
    #[error("{0}")]
    Users(String),
    #[error("{}", .0.message())]
    Failed(TurnStatus),
}

impl From<UsersError> for Refusal {
    fn from(error: UsersError) -> Self {
        Self::Users(error.to_string())
    }
}

impl From<ReservationError> for Refusal {
    fn from(error: ReservationError) -> Self {
        let message = error.to_string();
        match error {
            ReservationError::Spent { .. } => Self::Spent(message),
            ReservationError::Calls(_) => Self::TooManyCalls(message),
            ReservationError::Store(_) => Self::Users(message),
        }
    }
}

impl LlmProxy {
    /// Uses the models and keys of `setup`.
    pub fn new(setup: &SessionSetup, users: impl UserStore + 'static) -> Result<Self, ModelError> {
        let files = stamps(setup);
        let (_, mut problems) = Settings::load_for(&setup.folders, &setup.cwd);
        let (models, more) = Models::load(setup)?;
        problems.extend(more);
        let served = Arc::new(Served::new(models));
        let users: Arc<dyn UserStore> = Arc::new(users);
        Ok(Self {
            running: Arc::new(RunningCalls::new(Arc::clone(&users))),
            users,
            stopped: AtomicBool::new(false),
            setup: setup.clone(),
            loaded: Mutex::new(Loaded {
                files,
                problems,
                served,
            }),
        })
    }

    /// The current configuration. Files with new problems are ignored: the previous configuration stays in use.
    async fn served(&self) -> Arc<Served> {
        let mut loaded = self.loaded.lock().await;
        let files = stamps(&self.setup);
        if loaded.files == files {
            return Arc::clone(&loaded.served);
        }
        loaded.files = files;
        let (settings, mut problems) = Settings::load_for(&self.setup.folders, &self.setup.cwd);
        let setup = SessionSetup {
            settings,
            ..self.setup.clone()
        };
        if let Ok((models, more)) = Models::load(&setup) {
            problems.extend(more);
            if !loaded.is_worse(&problems) {
                loaded.problems = problems;
                // The new keys do not know about token renewals that the old ones have started.
                loaded.served.models.settle().await;
                loaded.served = Arc::new(Served::new(models));
            }
        }
        Arc::clone(&loaded.served)
    }

    /// The user with this token.
    pub fn user(&self, token: &str) -> Result<Option<User>, UsersError> {
        self.users.find(token)
    }

    /// The models that `user` can call, the default first.
    pub async fn models(&self, user: &User) -> Vec<ServedModel> {
        let served = self.served().await;
        let may_call = |model: &&ServedModel| user.may_call(&reference(&model.provider, &model.id));
        served.list.iter().filter(may_call).cloned().collect()
    }

    /// The limits and the usage of `user`.
    pub fn usage(&self, user: &User) -> Result<Option<UserRow>, UsersError> {
        let rows = self.users.list()?;
        Ok(rows.into_iter().find(|row| row.name == user.name))
    }

    /// Settles the running calls and refuses others, before the process ends.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.running.settle_all();
    }

    /// Makes a call. Dropping the stream cancels it; usage until then is counted.
    pub async fn call(&self, user: Option<User>, request: ProxyRequest) -> Result<Frames, Refusal> {
        let reference = reference(&request.provider, &request.model);
        let served = self.served().await;
        let is_allowed = user.as_ref().is_none_or(|user| user.may_call(&reference));
        let found = served.by_reference.get(&reference).filter(|_| is_allowed);
        let Some(model) = found.cloned() else {
            return Err(Refusal::UnknownModel(reference));
        };
        let max_tokens = request.options.max_tokens;
        let call = Request {
            model,
            context: request.context,
            options: CallOptions {
                unbatched: true,
                ..request.options.into()
            },
            api_key: None,
            signing: None,
        };
        let running = match user {
            Some(user) => {
                let meter = CallMeter::new(&call);
                let most = meter.most(max_tokens);
                let reservation = self.users.reserve(&user, &reference, most)?;
                Some(self.running.add(reservation, meter))
            }
            None => None,
        };
        // Checked after the call was added, so that a call is either refused here or settled by
        // `stop`.
        if self.stopped.load(Ordering::Relaxed) {
            running.inspect(RunningCall::refused);
            return Err(Refusal::Stopped);
        }
        match served.transport.stream(call).await {
            Ok(events) => Ok(Frames::new(events, running)),
            Err(status) => {
                running.inspect(RunningCall::refused);
                Err(Refusal::Failed(status))
            }
        }
    }
}

fn reference(provider: &str, id: &str) -> String {
    format!("{provider}/{id}")
}

impl Served {
    fn new(models: Models) -> Self {
        let found: Vec<Arc<Model>> = models
            .list()
            .into_iter()
            .filter(|info| info.key != KeyState::Absent)
            .filter_map(|info| models.find(&info.reference()).ok())
            .map(|(model, _)| model)
            .filter(|model| model.api != Api::Scripted)
            .collect();
        let mut list: Vec<ServedModel> = found.iter().map(|model| ServedModel::of(model)).collect();
        let chosen = models.chosen();
        let is_other =
            |served: &ServedModel| (&served.provider, &served.id) != (&chosen.provider, &chosen.id);
        sort::by_key(&mut list, is_other);
        let by_reference = found
            .into_iter()
            .map(|model| (model.reference(), model))
            .collect();
        Self {
            transport: models.transport(),
            list,
            by_reference,
            models,
        }
    }
}

/// The current versions of the files with keys and models.
fn stamps(setup: &SessionSetup) -> Vec<Option<Stamp>> {
    let folders = &setup.folders;
    let files = [
        folders.models(),
        folders.published(),
        folders.credentials(),
        folders.settings(),
    ];
    let stamp = |path: &PathBuf| {
        let about = std::fs::metadata(path).ok()?;
        Some(Stamp {
            changed: about.modified().ok()?,
            length: about.len(),
            inode: about.ino(),
        })
    };
    files.iter().map(stamp).collect()
}
