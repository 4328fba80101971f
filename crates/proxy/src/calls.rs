//! A call for somebody: with the keys here, to the models that are configured here, counted for who asked.

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
use osier_session::host::{HostSetup, KeyState};
use osier_session::models::{ModelError, Models};
use osier_settings::Settings;

/// What makes the calls. Shared by all who ask. Keys and models are those of the files as they are: they are read
/// anew by the first who asks after a change.
#[derive(Debug)]
pub struct Relay {
    users: Arc<Users>,
    setup: HostSetup,
    held: Mutex<Held>,
}

/// What was read, and the files as they were then.
#[derive(Debug)]
struct Held {
    files: Vec<Option<Stamp>>,
    /// What was wrong with them.
    problems: Vec<Problem>,
    served: Arc<Served>,
}

impl Held {
    /// Whether a fault is new among these. Its place says nothing: lines move.
    fn is_worse(&self, problems: &[Problem]) -> bool {
        let same = |one: &Problem, other: &Problem| {
            (&one.path, &one.message) == (&other.path, &other.message)
        };
        let known = |problem: &Problem| self.problems.iter().any(|known| same(known, problem));
        !problems.iter().all(known)
    }
}

/// Models that can be called, and the way to them.
#[derive(Debug)]
struct Served {
    models: Models,
    transport: Arc<dyn Transport>,
}

/// What tells that a file is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    changed: SystemTime,
    length: u64,
    inode: u64,
}

/// Why a call is not made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("`{0}` is not served here")]
    UnknownModel(String),
    #[error("${spent:.2} of ${limit:.2} are used in this month")]
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

impl Relay {
    /// With the models and keys of `setup`.
    pub fn new(setup: &HostSetup, users: Users) -> Result<Self, ModelError> {
        let files = stamps(setup);
        let (_, mut problems) = Settings::load_for(&setup.folders, &setup.cwd);
        let (models, more) = Models::load(setup)?;
        problems.extend(more);
        let served = Arc::new(Served::new(models));
        Ok(Self {
            users: Arc::new(users),
            setup: setup.clone(),
            held: Mutex::new(Held {
                files,
                problems,
                served,
            }),
        })
    }

    /// What holds now. A file with something new wrong in it leaves what held before.
    async fn served(&self) -> Arc<Served> {
        let mut held = self.held.lock().await;
        let files = stamps(&self.setup);
        if held.files == files {
            return Arc::clone(&held.served);
        }
        held.files = files;
        let (settings, mut problems) = Settings::load_for(&self.setup.folders, &self.setup.cwd);
        let setup = HostSetup {
            settings,
            ..self.setup.clone()
        };
        if let Ok((models, more)) = Models::load(&setup) {
            problems.extend(more);
            if !held.is_worse(&problems) {
                held.problems = problems;
                // The new keys know nothing of renewals that the old ones have begun.
                held.served.models.settle().await;
                held.served = Arc::new(Served::new(models));
            }
        }
        Arc::clone(&held.served)
    }

    /// Whose token it is.
    pub fn user(&self, token: &str) -> Result<Option<User>, UsersError> {
        self.users.find(token)
    }

    /// The models that can be called, the one to start with first.
    pub async fn models(&self) -> Vec<ServedModel> {
        self.served().await.list()
    }

    /// Makes a call. Dropping the stream gives it up; what was used until then is counted.
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

    /// The models that can be called, the one to start with first.
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
        served.sort_by_key(is_other);
        served
    }
}

/// The files that keys and models come from, as they are.
fn stamps(setup: &HostSetup) -> Vec<Option<Stamp>> {
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

/// The answer, frame by frame.
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

/// What a call has used so far; it is written down when the call ends, however that is.
struct Counted {
    users: Arc<Users>,
    user: User,
    model: String,
    usage: Usage,
}

impl Drop for Counted {
    fn drop(&mut self) {
        // A disk that is full must not keep the answer from its reader.
        let _ = self.users.count(&self.user, &self.model, &self.usage);
    }
}
