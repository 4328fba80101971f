//! One session of an editor and its session actor.

mod events;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::commands;
use crate::editor::SessionEditor;
use crate::jsonrpc::{AcpClient, error, internal_error, invalid_params};
use crate::options::{self, SessionOptions};
use crate::prompt;
use crate::questions;
use crate::stored;
use crate::updates::{self, chunk, stored_message};
use osier_agent::{AgentMessage, Severity, Subscription};
use osier_base::clock;
use osier_base::folders::Folders;
use osier_llm::{StopReason, Usage};
use osier_protocol::questions::Question;
use osier_protocol::slash::CommandEnd;
use osier_protocol::{
    AddedCommand, Event, KeyState, Op, PageAt, Spending, StoredMessage, TodoList,
};
use osier_session::models;
use osier_session::{SessionHandle, SessionSetup};

/// A command from the connection to an open session, with the request to respond to.
#[derive(Debug)]
pub(super) enum SessionCommand {
    Prompt(acp::RequestId, acp::PromptRequest),
    /// Cancels the running prompt.
    Cancel,
    /// Cancels the prompt if this is its request.
    CancelRequest(acp::RequestId),
    SetMode(acp::RequestId, acp::SetSessionModeRequest),
    SetOption(acp::RequestId, acp::SetSessionConfigOptionRequest),
    SetTitle(acp::RequestId, String),
    /// Loads the credentials and settings again.
    Reload(Option<acp::RequestId>),
    /// Closes the session, for a request or because the connection ends.
    Close(Option<(acp::RequestId, Closing)>),
}

/// The request that closes a session.
#[derive(Debug)]
pub(super) enum Closing {
    Close,
    Archive(Box<Folders>),
}

/// The method that opens a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenKind {
    New,
    /// Sends the complete conversation.
    Load,
    Resume,
    /// Continues in a copy.
    Fork,
}

/// A message from a session to the connection.
#[derive(Debug)]
pub(super) enum Lifecycle {
    Opened {
        id: acp::SessionId,
        commands: mpsc::UnboundedSender<SessionCommand>,
    },
    OpenFailed,
    Closed {
        id: acp::SessionId,
    },
}

/// A request whose response needs the end of an op.
#[derive(Debug)]
struct PendingRequest {
    id: acp::RequestId,
    /// The number of the op.
    op: u64,
    /// The notices of the op.
    notices: Vec<(Severity, String)>,
    /// Set for a slash command of osier, whose answer is a message.
    command: Option<CommandEnd>,
    /// The usage of the session before.
    used_before: Usage,
}

/// A request that changes the session. It determines the type of the response.
#[derive(Debug)]
enum Change {
    Mode,
    Option,
    Title(String),
    Credentials,
}

struct Session {
    id: acp::SessionId,
    handle: SessionHandle,
    events: Subscription<Event>,
    client: AcpClient,
    cwd: PathBuf,
    options: SessionOptions,
    spending: Spending,
    /// Tokens in the context window.
    used: u64,
    /// The stop reason of the last model call.
    stop_reason: StopReason,
    /// The running prompt.
    prompt: Option<PendingRequest>,
    changes: Vec<(PendingRequest, Change)>,
    /// Whether the session has a name or a first prompt.
    titled: bool,
    /// The output of running tool calls.
    outputs: HashMap<String, String>,
    /// Running tool calls that the editor shows in a terminal.
    terminals: HashSet<String>,
    /// Open questions to the user.
    questions: HashMap<String, AbortOnDropHandle<()>>,
    compactions: u32,
    /// The to-do list, until it is sent.
    todo: Option<TodoList>,
    /// The time of the event or message that is sent; not set for the answer to a request.
    time: Option<i64>,
    /// Whether a setting, a flag or the user selected the model.
    model_selected: bool,
    /// The slash commands of templates, skills and plugins.
    added: Vec<AddedCommand>,
}

/// Opens a session, responds to the request `id`, and serves the session until it closes.
pub(super) async fn run(
    setup: SessionSetup,
    kind: OpenKind,
    id: acp::RequestId,
    client: AcpClient,
    lifecycle: mpsc::UnboundedSender<Lifecycle>,
) {
    let (mut session, commands_event) = match Session::open(setup, client.clone()).await {
        Ok(opened) => opened,
        Err(error) => {
            client.respond(id, Err(error)).await;
            let _ = lifecycle.send(Lifecycle::OpenFailed);
            return;
        }
    };
    let session_id = session.id.clone();
    let (sender, commands) = mpsc::unbounded_channel();
    // Sent before the response, because the editor can use the session after the response.
    let _ = lifecycle.send(Lifecycle::Opened {
        id: session_id.clone(),
        commands: sender,
    });
    if kind == OpenKind::Load {
        session.replay().await;
        session.send_plan().await;
    }
    if kind != OpenKind::New {
        session.titled = true;
        session.handle.send(Op::GetUsage);
    }
    client.respond(id, Ok(session.opened(kind))).await;
    session.announce_mode().await;
    session.on_event(commands_event).await;
    session.serve(commands).await;
    let _ = lifecycle.send(Lifecycle::Closed { id: session_id });
}

impl Session {
    /// Opens a session. Returns it with its slash commands, to send after the response.
    async fn open(mut setup: SessionSetup, client: AcpClient) -> acp::Result<(Self, Event)> {
        let cwd = setup.cwd.clone();
        let model_selected = setup.model.is_some() || setup.settings.model.is_some();
        let mut directories = setup.directories.clone();
        directories.push(cwd.clone());
        let editor = SessionEditor::new(client.clone(), &directories);
        setup.editor = Some(Arc::new(editor.clone()));
        let (handle, events) =
            SessionHandle::start(setup).map_err(|cause| internal_error(cause.to_string()))?;
        let mut session = Self {
            id: acp::SessionId::new(""),
            handle,
            events,
            client,
            cwd,
            options: SessionOptions::default(),
            spending: Spending::default(),
            used: 0,
            stop_reason: StopReason::default(),
            prompt: None,
            changes: Vec::new(),
            titled: false,
            outputs: HashMap::new(),
            terminals: HashSet::new(),
            questions: HashMap::new(),
            compactions: 0,
            todo: None,
            time: None,
            model_selected,
            added: Vec::new(),
        };
        session.handle.send(Op::ListModels);
        session.handle.send(Op::ListPermissions);
        let (mut opened, mut has_models) = (false, false);
        // Without commands of the session there are those of osier.
        let mut commands = Event::Commands {
            commands: Vec::new(),
        };
        while !opened || !has_models || session.options.model.is_none() {
            let Some(event) = session.events.recv().await else {
                return Err(internal_error("the session ended while it was opening"));
            };
            match event {
                Event::SessionOpened { session: info, .. } => {
                    session.id = info.id.into();
                    editor.set_session(session.id.clone());
                    opened = true;
                }
                Event::SessionFailed { message, .. } => {
                    session.shut_down().await;
                    return Err(error(acp::ErrorCode::ResourceNotFound, message));
                }
                event @ Event::Commands { .. } => commands = event,
                Event::QuestionAsked { question } => session.ask(*question),
                event => {
                    has_models |= matches!(event, Event::Models { .. });
                    session.update_state(&event);
                }
            }
        }
        Ok((session, commands))
    }

    /// The response to the request that opened the session.
    fn opened(&self, kind: OpenKind) -> acp::AgentResponse {
        let (modes, options) = (self.options.modes(), self.options.config());
        match kind {
            OpenKind::New => acp::AgentResponse::NewSessionResponse(
                acp::NewSessionResponse::new(self.id.clone())
                    .modes(modes)
                    .config_options(options),
            ),
            OpenKind::Fork => acp::AgentResponse::ForkSessionResponse(
                acp::ForkSessionResponse::new(self.id.clone())
                    .modes(modes)
                    .config_options(options),
            ),
            // The response to `session/resume` has the same fields.
            OpenKind::Load | OpenKind::Resume => acp::AgentResponse::LoadSessionResponse(
                acp::LoadSessionResponse::new()
                    .modes(modes)
                    .config_options(options),
            ),
        }
    }

    /// Serves until the session closes.
    async fn serve(mut self, mut commands: mpsc::UnboundedReceiver<SessionCommand>) {
        let close_request = loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(SessionCommand::Close(request)) => break request,
                    Some(command) => self.on_command(command).await,
                    None => break None,
                },
                event = self.events.recv_timed() => match event {
                    Some((time, event)) => {
                        self.time = Some(time);
                        self.on_event(event).await;
                        self.time = None;
                    }
                    None => break None,
                },
            }
        };
        if let Some(prompt) = self.prompt.take() {
            self.end_prompt(prompt, Ok(acp::StopReason::Cancelled))
                .await;
        }
        self.shut_down().await;
        if let Some((request, closing)) = close_request {
            let response = match closing {
                Closing::Close => Ok(acp::AgentResponse::CloseSessionResponse(
                    acp::CloseSessionResponse::new(),
                )),
                Closing::Archive(folders) => stored::archive(&folders, &self.id),
            };
            self.client.respond(request, response).await;
        }
    }

    /// Interrupts the run and stores the session.
    async fn shut_down(&mut self) {
        self.handle.send(osier_agent::Op::Abort.into());
        self.handle.send(Op::ShutDown);
        while let Some(event) = self.events.recv().await {
            if event == Event::ShutDown {
                return;
            }
        }
    }

    async fn on_command(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Prompt(id, request) => {
                if let Err(error) = self.start_prompt(id.clone(), request).await {
                    self.client.respond(id, Err(error)).await;
                }
            }
            SessionCommand::Cancel => self.cancel().await,
            SessionCommand::CancelRequest(id) => {
                if self.prompt.as_ref().is_some_and(|prompt| prompt.id == id) {
                    self.cancel().await;
                }
            }
            SessionCommand::SetMode(id, request) => {
                let op = options::set_mode(&request.mode_id.0);
                self.change(id, op, Change::Mode).await;
            }
            SessionCommand::SetOption(id, request) => {
                let op = options::set_option(&request);
                self.change(id, op, Change::Option).await;
            }
            SessionCommand::SetTitle(id, title) => {
                let op = Op::RenameSession {
                    name: title.clone(),
                };
                self.change(id, Ok(op), Change::Title(title)).await;
            }
            SessionCommand::Reload(None) => self.handle.send(Op::Reload),
            SessionCommand::Reload(Some(id)) => {
                self.change(id, Ok(Op::Reload), Change::Credentials).await;
            }
            SessionCommand::Close(_) => {}
        }
    }

    /// Stops the run, which ends its prompt. A slash command has no run.
    async fn cancel(&mut self) {
        self.handle.send(osier_agent::Op::Abort.into());
        if let Some(prompt) = self.prompt.take_if(|prompt| prompt.command.is_some()) {
            self.end_prompt(prompt, Ok(acp::StopReason::Cancelled))
                .await;
        }
    }

    async fn start_prompt(
        &mut self,
        id: acp::RequestId,
        request: acp::PromptRequest,
    ) -> acp::Result<()> {
        if self.prompt.is_some() {
            let text = "a prompt is already running; cancel it first with `session/cancel`";
            return Err(error(acp::ErrorCode::InvalidRequest, text));
        }
        let (text, attachments) = prompt::convert(request.prompt)?;
        let (mut sent, mut typed) = (text.clone(), None);
        if let Some(ops) = commands::parse(&text, &self.added) {
            match self.run_command(&id, ops).await {
                Some(prompt) => (sent, typed) = prompt,
                None => return Ok(()),
            }
        }
        if !self.has_usable_model() {
            let text = "no model has an API key; sign in with `osier auth login` or set a key";
            return Err(error(acp::ErrorCode::AuthRequired, text));
        }
        self.send_title(&text).await;
        let op = osier_agent::Op::Prompt {
            text: sent,
            attachments,
            typed,
            once: None,
        };
        self.prompt = Some(self.start_op(id, op.into()));
        Ok(())
    }

    /// Runs a slash command of osier. Its answer is a message. Returns the text of a command that ends with a prompt, and
    /// what the user typed for it.
    async fn run_command(
        &mut self,
        id: &acp::RequestId,
        ops: Result<Vec<Op>, String>,
    ) -> Option<(String, Option<String>)> {
        let problem = match ops {
            Err(problem) => problem,
            Ok(mut ops) => {
                let last = ops.pop()?;
                for op in ops {
                    self.handle.send(op);
                }
                if let Op::Agent(osier_agent::Op::Prompt { text, typed, .. }) = last {
                    return Some((text, typed));
                }
                self.model_selected |= matches!(last, Op::SelectModel { .. });
                let end = CommandEnd::of(&last);
                let mut pending = self.start_op(id.clone(), last);
                pending.command = Some(end);
                self.prompt = Some(pending);
                return None;
            }
        };
        self.update(acp::SessionUpdate::AgentMessageChunk(chunk(&problem, None)))
            .await;
        let response = acp::PromptResponse::new(acp::StopReason::EndTurn);
        let response = acp::AgentResponse::PromptResponse(response);
        self.client.respond(id.clone(), Ok(response)).await;
        None
    }

    /// Names the permission mode, which decides what runs without a question.
    async fn announce_mode(&self) {
        let mode = self.options.mode;
        let update = acp::CurrentModeUpdate::new(mode.name());
        self.update(acp::SessionUpdate::CurrentModeUpdate(update))
            .await;
    }

    /// Whether the model has a key. The tour counts only if it was selected.
    fn has_usable_model(&self) -> bool {
        let Some(model) = &self.options.model else {
            return false;
        };
        let reference = model.reference();
        let mut models = self.options.models.iter();
        let listed = models.find(|other| other.reference() == reference);
        let key = listed.unwrap_or(model).key;
        key != KeyState::Absent && (self.model_selected || reference != models::TOUR)
    }

    async fn change(&mut self, id: acp::RequestId, op: Result<Op, String>, change: Change) {
        match op {
            Ok(op) => {
                if let Op::Agent(osier_agent::Op::SetThinkingLevel { level }) = &op {
                    self.options.level = *level;
                }
                self.model_selected |= matches!(op, Op::SelectModel { .. });
                let request = self.start_op(id, op);
                self.changes.push((request, change));
            }
            Err(message) => self.client.respond(id, Err(invalid_params(message))).await,
        }
    }

    fn start_op(&self, id: acp::RequestId, op: Op) -> PendingRequest {
        let number = self.handle.next_request();
        self.handle.ask(number, op);
        PendingRequest {
            id,
            op: number,
            notices: Vec::new(),
            command: None,
            used_before: self.spending.total,
        }
    }

    /// Responds to a prompt, with the tokens that it used.
    async fn end_prompt(&self, prompt: PendingRequest, result: acp::Result<acp::StopReason>) {
        let used = updates::usage(&prompt.used_before, &self.spending.total);
        let response = result.map(|reason| {
            acp::AgentResponse::PromptResponse(acp::PromptResponse::new(reason).usage(used))
        });
        self.client.respond(prompt.id, response).await;
    }

    /// Asks the user in the background.
    fn ask(&mut self, question: Question) {
        let (client, handle) = (self.client.clone(), self.handle.clone());
        let (session, cwd) = (self.id.clone(), self.cwd.clone());
        let id = question.id.clone();
        let task = osier_base::task::spawn(async move {
            let answer = questions::ask(&client, &session, &question, &cwd).await;
            let id = question.id;
            handle.send(Op::AnswerQuestion { id, answer });
        });
        self.questions.insert(id, AbortOnDropHandle::new(task));
    }

    /// Sends the complete conversation, oldest message first.
    async fn replay(&mut self) {
        let mut page = PageAt::Start;
        loop {
            let request = self.handle.next_request();
            self.handle.send(Op::ReadTranscript { request, page });
            let Some((messages, at_end)) = self.transcript_page(request).await else {
                return;
            };
            for stored in &messages {
                if let AgentMessage::Assistant(answer) = &*stored.message
                    && answer.usage.total_tokens() > 0
                {
                    self.used = answer.usage.total_tokens();
                }
                self.time = Some(stored.message.timestamp());
                for update in stored_message(stored, &self.cwd) {
                    self.update(update).await;
                }
            }
            self.time = None;
            match messages.last() {
                Some(last) if !at_end => {
                    page = PageAt::After {
                        entry_id: last.entry_id.clone(),
                    };
                }
                _ => return,
            }
        }
    }

    async fn transcript_page(&mut self, wanted: u64) -> Option<(Vec<StoredMessage>, bool)> {
        loop {
            match self.events.recv().await? {
                Event::TranscriptPage {
                    request,
                    messages,
                    at_end,
                    ..
                } if request == wanted => return Some((messages, at_end)),
                Event::QuestionAsked { question } => self.ask(*question),
                Event::QuestionClosed { id } => drop(self.questions.remove(&id)),
                event => {
                    self.update_state(&event);
                }
            }
        }
    }

    async fn update(&self, update: acp::SessionUpdate) {
        let time = self.time.unwrap_or_else(clock::now_ms);
        self.client.update(&self.id, update, time).await;
    }
}
