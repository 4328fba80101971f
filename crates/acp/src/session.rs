//! One session of an editor: a host of its own, whose events become updates and whose questions become
//! requests.

mod telling;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::asking;
use super::editor::Reached;
use super::offers::Offers;
use super::options::{self, Options};
use super::prompt;
use super::updates::replayed;
use super::wire::{Fault, Peer};
use osier_agent::{Severity, Subscription};
use osier_llm::StopReason;
use osier_protocol::questions::Question;
use osier_session::host::{Event, Host, HostSetup, KeyState, Op};
use osier_session::models;
use osier_session::spending::Spending;
use osier_store::{PageAt, StoredMessage};

/// What an editor wants of an open session.
#[derive(Debug)]
pub(super) enum Order {
    Prompt {
        id: Value,
        params: Value,
    },
    Cancel,
    /// The request of this id is given up.
    Withdraw {
        id: Value,
    },
    SetMode {
        id: Value,
        params: Value,
    },
    SetOption {
        id: Value,
        params: Value,
    },
    /// Somebody has signed in; it is answered when the keys have been read.
    Reload {
        id: Option<Value>,
    },
    Close {
        id: Option<Value>,
    },
}

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    New,
    /// Everything that was said is told again.
    Load,
    Resume,
}

/// What a session tells the connection.
#[derive(Debug)]
pub(super) enum News {
    Opened {
        id: String,
        orders: mpsc::UnboundedSender<Order>,
    },
    Ended {
        id: String,
    },
    /// It could not be opened.
    Failed,
}

/// A request that is answered when its op has ended.
#[derive(Debug)]
struct Waiting {
    id: Value,
    request: u64,
    /// What was told about it.
    told: Vec<(Severity, String)>,
}

/// An open session.
struct Session {
    id: String,
    host: Host,
    events: Subscription<Event>,
    peer: Peer,
    offers: Offers,
    cwd: PathBuf,
    options: Options,
    spending: Spending,
    /// Tokens in the model's window.
    used: u64,
    /// Why the model's last answer ended.
    stopped: StopReason,
    /// The prompt that is answered when the run settles.
    prompt: Option<Waiting>,
    /// A choice that is answered when it holds; whether its answer has the options.
    choosing: Vec<(Waiting, bool)>,
    /// It has a name, or a first prompt that stands for one.
    titled: bool,
    /// Output of the calls that run.
    outputs: HashMap<String, String>,
    /// Calls that are shown in terminals of the editor.
    terminals: HashSet<String>,
    /// Questions that the editor thinks about.
    asked: HashMap<String, AbortOnDropHandle<()>>,
    /// How often the conversation was compacted.
    compactions: u32,
    /// Somebody has chosen a model.
    is_named: bool,
}

/// Opens a session, answers the request `id` with it, and serves it to its end.
pub(super) async fn run(
    setup: HostSetup,
    opening: Opening,
    id: Value,
    (peer, offers): (Peer, Offers),
    news: mpsc::UnboundedSender<News>,
) {
    let opened = match Session::open(setup, peer.clone(), offers).await {
        Ok(session) => session,
        Err(fault) => {
            peer.answer(&id, Err(fault)).await;
            let _ = news.send(News::Failed);
            return;
        }
    };
    let (mut session, commands) = opened;
    let (orders, ordered) = mpsc::unbounded_channel();
    let name = session.id.clone();
    // The connection knows the session before the editor does.
    let _ = news.send(News::Opened {
        id: name.clone(),
        orders,
    });
    if opening == Opening::Load {
        session.replay().await;
    }
    let mut answer = json!({
        "modes": session.options.modes(),
        "configOptions": session.options.config(),
    });
    if opening == Opening::New {
        answer["sessionId"] = json!(name);
    } else {
        session.titled = true;
        // What it has cost so far.
        session.host.send(Op::GetUsage);
    }
    peer.answer(&id, Ok(answer)).await;
    if let Some(commands) = commands {
        session.take(commands).await;
    }
    session.serve(ordered).await;
    let _ = news.send(News::Ended { id: name });
}

impl Session {
    /// The session, and the commands that were told while it opened.
    async fn open(
        mut setup: HostSetup,
        peer: Peer,
        offers: Offers,
    ) -> Result<(Self, Option<Event>), Fault> {
        let cwd = setup.cwd.clone();
        let is_named = setup.model.is_some() || setup.settings.model.is_some();
        let mut folders = setup.directories.clone();
        folders.push(cwd.clone());
        let reached = Reached::new(peer.clone(), offers, &folders);
        setup.editor = Some(Arc::new(reached.clone()));
        let internal = |message: String| Fault::new(Fault::INTERNAL, message);
        let (host, events) = Host::start(setup).map_err(|error| internal(error.to_string()))?;
        let mut session = Self {
            id: String::new(),
            host,
            events,
            peer,
            offers,
            cwd,
            options: Options::default(),
            spending: Spending::default(),
            used: 0,
            stopped: StopReason::default(),
            prompt: None,
            choosing: Vec::new(),
            titled: false,
            outputs: HashMap::new(),
            terminals: HashSet::new(),
            asked: HashMap::new(),
            compactions: 0,
            is_named,
        };
        session.host.send(Op::ListModels);
        session.host.send(Op::ListPermissions);
        let (mut commands, mut has_models) = (None, false);
        while session.id.is_empty() || !has_models || session.options.model.is_none() {
            let Some(event) = session.events.recv().await else {
                return Err(internal("the session has ended".to_owned()));
            };
            match event {
                Event::SessionOpened { session: info, .. } => {
                    reached.name(&info.id);
                    session.id = info.id;
                }
                Event::SessionFailed { message, .. } => {
                    session.end().await;
                    return Err(Fault::new(Fault::NOT_FOUND, message));
                }
                event @ Event::Commands { .. } => commands = Some(event),
                Event::QuestionAsked { question } => session.ask(*question),
                event => {
                    has_models |= matches!(event, Event::Models { .. });
                    session.note(&event);
                }
            }
        }
        Ok((session, commands))
    }

    /// Serves until the session is closed.
    async fn serve(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let closed = loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order::Close { id }) => break id,
                    Some(order) => self.order(order).await,
                    None => break None,
                },
                event = self.events.recv() => match event {
                    Some(event) => self.take(event).await,
                    None => break None,
                },
            }
        };
        if let Some(waiting) = self.prompt.take() {
            let answer = Ok(json!({"stopReason": "cancelled"}));
            self.peer.answer(&waiting.id, answer).await;
        }
        self.end().await;
        if let Some(id) = closed {
            self.peer.answer(&id, Ok(json!({}))).await;
        }
    }

    /// Stops what runs and stores everything.
    async fn end(&mut self) {
        self.host.send(osier_agent::Op::Abort.into());
        self.host.send(Op::ShutDown);
        while let Some(event) = self.events.recv().await {
            if event == Event::ShutDown {
                return;
            }
        }
    }

    async fn order(&mut self, order: Order) {
        match order {
            Order::Prompt { id, params } => {
                if self.prompt.is_some() {
                    let text = "the prompt before is not answered yet: cancel it first";
                    let fault = Fault::new(Fault::INVALID_REQUEST, text);
                    return self.peer.answer(&id, Err(fault)).await;
                }
                match prompt::read(&params["prompt"]) {
                    Ok(_) if self.nobody_answers() => {
                        let text =
                            "no model has a key: sign in with `osier auth login`, or set one";
                        let fault = Fault::new(Fault::SIGN_IN, text);
                        self.peer.answer(&id, Err(fault)).await;
                    }
                    Ok((text, attachments)) => {
                        self.title(&text).await;
                        let op = osier_agent::Op::Prompt { text, attachments };
                        self.prompt = Some(self.ask_host(id, op.into()));
                    }
                    Err(fault) => self.peer.answer(&id, Err(fault)).await,
                }
            }
            Order::Cancel => self.host.send(osier_agent::Op::Abort.into()),
            Order::Reload { id: None } => self.host.send(Op::Reload),
            Order::Reload { id: Some(id) } => self.choose(id, Ok(Op::Reload), false).await,
            Order::Withdraw { id } => {
                if self.prompt.as_ref().is_some_and(|prompt| prompt.id == id) {
                    self.host.send(osier_agent::Op::Abort.into());
                }
            }
            Order::SetMode { id, params } => {
                let name = params["modeId"].as_str().unwrap_or_default();
                self.choose(id, options::mode(name), false).await;
            }
            Order::SetOption { id, params } => {
                let name = params["configId"].as_str().unwrap_or_default();
                let op = Options::choose(name, &params["value"]);
                self.choose(id, op, true).await;
            }
            Order::Close { .. } => {}
        }
    }

    /// Whether nothing but the tour would answer, which nobody has asked for, or the model has no key.
    fn nobody_answers(&self) -> bool {
        let Some(model) = &self.options.model else {
            return true;
        };
        let listed = &self.options.models;
        let listed = listed
            .iter()
            .find(|other| other.reference() == model.reference());
        let key = listed.unwrap_or(model).key;
        key == KeyState::Absent || (!self.is_named && model.reference() == models::TOUR)
    }

    async fn choose(&mut self, id: Value, op: Result<Op, String>, tells_options: bool) {
        match op {
            Ok(op) => {
                if let Op::Agent(osier_agent::Op::SetThinkingLevel { level }) = &op {
                    self.options.level = *level;
                }
                self.is_named |= matches!(op, Op::SelectModel { .. });
                let waiting = self.ask_host(id, op);
                self.choosing.push((waiting, tells_options));
            }
            Err(message) => self.peer.answer(&id, Err(Fault::params(message))).await,
        }
    }

    fn ask_host(&self, id: Value, op: Op) -> Waiting {
        let request = self.host.next_request();
        self.host.ask(request, op);
        Waiting {
            id,
            request,
            told: Vec::new(),
        }
    }

    /// Asks the editor beside the session.
    fn ask(&mut self, question: Question) {
        let (peer, host) = (self.peer.clone(), self.host.clone());
        let (session, cwd, offers) = (self.id.clone(), self.cwd.clone(), self.offers);
        let id = question.id.clone();
        let thinking = tokio::spawn(async move {
            let id = question.id.clone();
            let answer = asking::ask((&peer, offers), &session, &question, &cwd).await;
            host.send(Op::AnswerQuestion { id, answer });
        });
        self.asked.insert(id, AbortOnDropHandle::new(thinking));
    }

    /// Tells everything that was said, oldest first.
    async fn replay(&mut self) {
        let mut at = PageAt::Start;
        loop {
            let request = self.host.next_request();
            self.host.send(Op::ReadTranscript { request, page: at });
            let Some((messages, at_end)) = self.page(request).await else {
                return;
            };
            for stored in &messages {
                for update in replayed(stored, &self.cwd) {
                    self.update(update).await;
                }
            }
            match messages.last() {
                Some(last) if !at_end => {
                    at = PageAt::After {
                        entry_id: last.entry_id.clone(),
                    };
                }
                _ => return,
            }
        }
    }

    async fn page(&mut self, wanted: u64) -> Option<(Vec<StoredMessage>, bool)> {
        loop {
            match self.events.recv().await? {
                Event::TranscriptPage {
                    request,
                    messages,
                    at_end,
                    ..
                } if request == wanted => return Some((messages, at_end)),
                Event::QuestionAsked { question } => self.ask(*question),
                Event::QuestionClosed { id } => drop(self.asked.remove(&id)),
                event => {
                    self.note(&event);
                }
            }
        }
    }

    async fn update(&self, update: Value) {
        let params = json!({"sessionId": self.id, "update": update});
        self.peer.notify("session/update", params).await;
    }
}
