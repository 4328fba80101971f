//! One session of an editor: a host of its own, whose events become updates and whose questions become
//! requests.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::asking;
use super::options::{self, Options};
use super::prompt;
use super::tools;
use super::updates::{chunk, replayed};
use super::wire::{Fault, Peer};
use crate::agent::{self, AgentMessage, RunOutcome, Severity, Subscription, ToolUpdate};
use crate::coding::host::{Event, Host, HostSetup, Op};
use crate::coding::session::{PageAt, StoredMessage};
use crate::llm::Delta;

/// What an editor wants of an open session.
#[derive(Debug)]
pub(super) enum Order {
    Prompt { id: Value, params: Value },
    Cancel,
    SetMode { id: Value, params: Value },
    SetOption { id: Value, params: Value },
    Close { id: Option<Value> },
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
    cwd: PathBuf,
    options: Options,
    /// The prompt that is answered when the run settles.
    prompt: Option<Waiting>,
    /// A choice that is answered when it holds; whether its answer has the options.
    choosing: Vec<(Waiting, bool)>,
    /// Output of the calls that run.
    outputs: HashMap<String, String>,
}

/// Opens a session, answers the request `id` with it, and serves it to its end.
pub(super) async fn run(
    setup: HostSetup,
    opening: Opening,
    id: Value,
    peer: Peer,
    news: mpsc::UnboundedSender<News>,
) {
    let opened = match Session::open(setup, peer.clone()).await {
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
    async fn open(setup: HostSetup, peer: Peer) -> Result<(Self, Option<Event>), Fault> {
        let cwd = setup.cwd.clone();
        let internal = |message: String| Fault::new(Fault::INTERNAL, message);
        let (host, events) = Host::start(setup).map_err(|error| internal(error.to_string()))?;
        let mut session = Self {
            id: String::new(),
            host,
            events,
            peer,
            cwd,
            options: Options::default(),
            prompt: None,
            choosing: Vec::new(),
            outputs: HashMap::new(),
        };
        session.host.send(Op::ListModels);
        session.host.send(Op::ListPermissions);
        let (mut commands, mut has_models) = (None, false);
        while session.id.is_empty() || !has_models || session.options.model.is_none() {
            let Some(event) = session.events.recv().await else {
                return Err(internal("the session has ended".to_owned()));
            };
            match event {
                Event::SessionOpened { session: info, .. } => session.id = info.id,
                Event::SessionFailed { message } => {
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
        self.host.send(agent::Op::Abort.into());
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
                    Ok((text, attachments)) => {
                        let op = agent::Op::Prompt { text, attachments };
                        self.prompt = Some(self.ask_host(id, op.into()));
                    }
                    Err(fault) => self.peer.answer(&id, Err(fault)).await,
                }
            }
            Order::Cancel => self.host.send(agent::Op::Abort.into()),
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

    async fn choose(&mut self, id: Value, op: Result<Op, String>, tells_options: bool) {
        match op {
            Ok(op) => {
                if let Op::Agent(agent::Op::SetThinkingLevel { level }) = &op {
                    self.options.level = *level;
                }
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

    /// Tells the editor of an event.
    async fn take(&mut self, event: Event) {
        if self.note(&event) {
            let options = json!({
                "sessionUpdate": "config_option_update",
                "configOptions": self.options.config(),
            });
            self.update(options).await;
        }
        match event {
            Event::Agent(event) => self.take_agent(event).await,
            Event::QuestionAsked { question } => self.ask(*question),
            Event::Permissions { mode, .. } => {
                let mode = json!({"sessionUpdate": "current_mode_update", "currentModeId": mode});
                self.update(mode).await;
            }
            Event::Commands { commands } => {
                let commands: Vec<Value> = commands
                    .iter()
                    .map(|command| {
                        let hint = Some(&command.argument).filter(|hint| !hint.is_empty());
                        json!({
                            "name": command.name, "description": command.description,
                            "input": hint.map(|hint| json!({"hint": hint})),
                        })
                    })
                    .collect();
                self.update(json!({
                    "sessionUpdate": "available_commands_update",
                    "availableCommands": commands,
                }))
                .await;
            }
            Event::SessionRenamed { name } => {
                let info = json!({"sessionUpdate": "session_info_update", "title": name});
                self.update(info).await;
            }
            Event::HostNotice {
                severity,
                text,
                request: Some(request),
            } => {
                let prompt = self.prompt.iter_mut();
                let mut waiting =
                    prompt.chain(self.choosing.iter_mut().map(|(waiting, _)| waiting));
                if let Some(waiting) = waiting.find(|waiting| waiting.request == request) {
                    waiting.told.push((severity, text));
                }
            }
            Event::OpEnded {
                request,
                with_agent,
            } => self.op_ended(request, with_agent).await,
            _ => {}
        }
    }

    async fn take_agent(&mut self, event: agent::Event) {
        match event {
            agent::Event::MessageUpdate { id, delta } => {
                let (kind, text) = match delta {
                    Delta::TextDelta { delta, .. } => ("agent_message_chunk", delta),
                    Delta::ThinkingDelta { delta, .. } => ("agent_thought_chunk", delta),
                    _ => return,
                };
                self.update(chunk(kind, &text, Some(&id))).await;
            }
            agent::Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => {
                let mut call = tools::call(&call_id, &tool_name, &arguments, &self.cwd);
                call["sessionUpdate"] = json!("tool_call");
                self.update(call).await;
            }
            agent::Event::ToolExecutionUpdate {
                call_id,
                update: ToolUpdate::Output { text, .. },
            } => {
                let output = self.outputs.entry(call_id.clone()).or_default();
                output.push_str(&text);
                let mut progress = tools::progress(&call_id, output);
                progress["sessionUpdate"] = json!("tool_call_update");
                self.update(progress).await;
            }
            agent::Event::ToolExecutionEnd {
                call_id, result, ..
            } => {
                self.outputs.remove(&call_id);
                let mut ended = tools::ended(&call_id, &result, &self.cwd);
                ended["sessionUpdate"] = json!("tool_call_update");
                self.update(ended).await;
            }
            agent::Event::MessageEnd { message, .. } => {
                if let (AgentMessage::Assistant(answer), Some(model)) =
                    (&*message, &self.options.model)
                {
                    let used = json!({
                        "sessionUpdate": "usage_update",
                        "used": answer.usage.context_tokens(),
                        "size": model.context_window,
                    });
                    self.update(used).await;
                }
            }
            agent::Event::AgentSettled { outcome } => {
                self.outputs.clear();
                if let Some(waiting) = self.prompt.take() {
                    self.peer.answer(&waiting.id, ended(&outcome)).await;
                }
            }
            _ => {}
        }
    }

    /// Nothing more comes of an op: a prompt that no run follows from, or a choice that holds.
    async fn op_ended(&mut self, request: u64, with_agent: bool) {
        let is_prompt = |waiting: &mut Waiting| waiting.request == request && !with_agent;
        if let Some(waiting) = self.prompt.take_if(is_prompt) {
            for (_, text) in &waiting.told {
                self.update(chunk("agent_message_chunk", text, None)).await;
            }
            let answer = Ok(json!({"stopReason": "end_turn"}));
            return self.peer.answer(&waiting.id, answer).await;
        }
        let place = self
            .choosing
            .iter()
            .position(|(waiting, _)| waiting.request == request);
        let Some(place) = place else { return };
        let (waiting, tells_options) = self.choosing.remove(place);
        let failed = waiting
            .told
            .iter()
            .find(|(severity, _)| *severity == Severity::Error);
        let answer = match failed {
            Some((_, text)) => Err(Fault::params(text)),
            None if tells_options => Ok(json!({"configOptions": self.options.config()})),
            None => Ok(json!({})),
        };
        self.peer.answer(&waiting.id, answer).await;
    }

    /// Remembers what is chosen; whether that is another choice than before.
    fn note(&mut self, event: &Event) -> bool {
        match event {
            Event::ModelSelected { model, level } => {
                self.options.model = Some((**model).clone());
                self.options.level = *level;
            }
            Event::Models { models } => self.options.models.clone_from(models),
            Event::Permissions { mode, .. } if *mode != self.options.mode => {
                self.options.mode = *mode;
            }
            Event::Agent(agent::Event::ThinkingLevelChanged { level, .. })
                if *level != self.options.level =>
            {
                self.options.level = *level;
            }
            _ => return false,
        }
        true
    }

    /// Asks the editor beside the session.
    fn ask(&self, question: crate::coding::questions::Question) {
        let (peer, host) = (self.peer.clone(), self.host.clone());
        let (session, cwd) = (self.id.clone(), self.cwd.clone());
        tokio::spawn(async move {
            let id = question.id.clone();
            let answer = asking::ask(&peer, &session, &question, &cwd).await;
            host.send(Op::AnswerQuestion { id, answer });
        });
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

/// The answer to a prompt whose run has ended.
fn ended(outcome: &RunOutcome) -> Result<Value, Fault> {
    let reason = match outcome {
        RunOutcome::Completed => "end_turn",
        RunOutcome::Interrupted => "cancelled",
        RunOutcome::MaxTurns { .. } => "max_turn_requests",
        RunOutcome::Failed { .. } | RunOutcome::Stopped { .. } => {
            let message = outcome.error().unwrap_or_default();
            return Err(Fault::new(Fault::INTERNAL, message));
        }
    };
    Ok(json!({"stopReason": reason}))
}
