//! Makes model calls for other agents: with this process's keys and models, counted per user.

use osier_base::sort;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use futures_util::{Stream, StreamExt as _};
use tokio::sync::Mutex;

use super::users::{User, Users, UsersError};
use osier_agent::Transport;
use osier_base::problem::Problem;
use osier_llm::http::{ProxyFrame, ProxyRequest, ServedModel};
use osier_llm::{Api, EventStream, Request, StreamEvent, TurnStatus, Usage};
use osier_protocol::KeyState;
use osier_session::SessionSetup;
use osier_session::models::{ModelError, Models};
use osier_settings::Settings;

/// Makes the calls of all clients. Reads keys and models from their files again with the first call after a change.
#[derive(Debug)]
pub struct LlmProxy {
    users: Arc<Users>,
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
    /// Whether `problems` has a problem that this one does not have. Positions are ignored because lines move.
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
    #[error("monthly limit reached: ${spent:.2} of ${limit:.2} are spent")]
    Spent { spent: f64, limit: f64 },
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

impl LlmProxy {
    /// Uses the models and keys of `setup`.
    pub fn new(setup: &SessionSetup, users: Users) -> Result<Self, ModelError> {
        let files = stamps(setup);
        let (_, mut problems) = Settings::load_for(&setup.folders, &setup.cwd);
        let (models, more) = Models::load(setup)?;
        problems.extend(more);
        let served = Arc::new(Served::new(models));
        Ok(Self {
            users: Arc::new(users),
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

    /// The models that can be called, the default first.
    pub async fn models(&self) -> Vec<ServedModel> {
        self.served().await.list()
    }

    /// Makes a call. Dropping the stream cancels it; usage until then is counted.
    pub async fn call(&self, user: Option<User>, request: ProxyRequest) -> Result<Frames, Refusal> {
        let reference = format!("{}/{}", request.provider, request.model);
        let served = self.served().await;
        let listed = served.list().into_iter();
        let is_served = listed
            .map(|served| format!("{}/{}", served.provider, served.id))
            .any(|known| known == reference);
        let found = served.models.find(&reference).ok().filter(|_| is_served);
        let Some((model, _)) = found else {
            return Err(Refusal::UnknownModel(reference));
        };
        if let Some(user) = &user
            && let Some(limit) = user.limit
        {
            let spent = self.users.spent(user)?;
            if spent >= limit {
                return Err(Refusal::Spent { spent, limit });
            }
        }
        let call = Request {
            model,
            context: request.context,
            options: request.options.into(),
            api_key: None,
            signing: None,
        };
        let events = served.transport.stream(call).await;
        Ok(Frames {
            events: events.map_err(Refusal::Failed)?,
            counted: user.map(|user| Counted {
                users: Arc::clone(&self.users),
                user,
                model: reference,
                usage: Usage::default(),
            }),
        })
    }
}

impl Served {
    fn new(models: Models) -> Self {
        let transport = models.transport();
        Self { models, transport }
    }

    /// The models that can be called, the default first.
    fn list(&self) -> Vec<ServedModel> {
        let chosen = self.models.chosen();
        let listed = self.models.list().into_iter();
        let mut served: Vec<ServedModel> = listed
            .filter(|info| info.key != KeyState::Absent)
            .filter_map(|info| self.models.find(&info.reference()).ok())
            .filter(|(model, _)| model.api != Api::Scripted)
            .map(|(model, _)| ServedModel::of(&model))
            .collect();
        let is_other =
            |served: &ServedModel| (&served.provider, &served.id) != (&chosen.provider, &chosen.id);
        sort::by_key(&mut served, is_other);
        served
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

/// The answer as a stream of frames.
pub struct Frames {
    events: EventStream,
    counted: Option<Counted>,
}

impl std::fmt::Debug for Frames {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl Stream for Frames {
    type Item = ProxyFrame;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ProxyFrame>> {
        loop {
            let Poll::Ready(event) = self.events.poll_next_unpin(cx) else {
                return Poll::Pending;
            };
            let Some(event) = event else {
                return Poll::Ready(None);
            };
            if let Some(counted) = &mut self.counted {
                match &event {
                    StreamEvent::Usage(usage)
                    | StreamEvent::Done { usage, .. }
                    | StreamEvent::Failed { usage, .. } => counted.usage = *usage,
                    _ => {}
                }
            }
            if let Some(frame) = ProxyFrame::of(&event) {
                return Poll::Ready(Some(frame));
            }
        }
    }
}

/// The usage of a call so far; stored when the call ends in any way.
struct Counted {
    users: Arc<Users>,
    user: User,
    model: String,
    usage: Usage,
}

impl Drop for Counted {
    fn drop(&mut self) {
        // A full disk must not interrupt the answer.
        let _ = self.users.count(&self.user, &self.model, &self.usage);
    }
}
