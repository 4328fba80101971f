//! Connects one client to one session: lines become ops, and events become answers, events and questions.
//!
//! The dispatcher does no input or output. Its owner passes lines and events in, and sends the bytes of `output`. Every
//! line has one answer, except a valid `ui_response`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::check::{check, parse_op};
use super::command::{Command, FirstStep, Start};
use super::frame::{ErrorCode, EventMode, Greeting, Id, Request, Response};
use super::pending::{Form, PendingCommand, Progress};
use super::table::{commands, find_command, nearest};
use super::tracked_state::TrackedState;
use super::ui::{self, OpenQuestions, UiRequest};
use super::{LINE_LIMIT, PROTOCOL};

use osier_base::jsonl;
use osier_base::secrets::write_json;
use osier_hub::{ClientHandle, OccupiedError};
use osier_protocol::questions::Answer;
use osier_protocol::{Delivery, Event, Op};
use osier_session::SessionHandle;

/// The error of commands of a session that has ended.
const ENDED: &str = "the agent has exited";

/// Connects one client to one session.
#[derive(Debug)]
pub struct Dispatcher {
    session: SessionHandle,
    /// The write access of this client, if several clients share the session.
    client: Option<Arc<ClientHandle>>,
    tracked: TrackedState,
    questions: OpenQuestions,
    event_mode: EventMode,
    pending: Vec<PendingCommand>,
    has_ended: bool,
    output: Vec<u8>,
    /// The time of the current event.
    time: i64,
    /// The idempotency key of the current line.
    once: Option<String>,
    /// The number of the request that the next event is about.
    cause: Option<u64>,
}

impl Dispatcher {
    /// A dispatcher for a client of `session`. It must receive all events of the session from the first one.
    pub fn new(session: SessionHandle) -> Self {
        Self {
            session,
            client: None,
            tracked: TrackedState::default(),
            questions: OpenQuestions::default(),
            event_mode: EventMode::default(),
            pending: Vec::new(),
            has_ended: false,
            output: Vec::new(),
            time: 0,
            once: None,
            cause: None,
        }
    }

    /// Checks the write access of `client` before each op.
    #[must_use]
    pub fn for_client(self, client: Arc<ClientHandle>) -> Self {
        Self {
            client: Some(client),
            ..self
        }
    }

    /// A dispatcher that writes events in the same mode, to render old events again.
    #[must_use]
    pub fn renderer(&self) -> Self {
        Self {
            event_mode: self.event_mode,
            ..Self::new(self.session.clone())
        }
    }

    /// Which events the client receives.
    pub fn event_mode(&self) -> EventMode {
        self.event_mode
    }

    /// Lines for the client. The caller sends and removes them.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// The number of commands without an answer.
    pub fn pending_commands(&self) -> usize {
        self.pending.len()
    }

    /// Whether every command is answered and no run is active.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && !self.tracked.running
    }

    /// Handles a line of the client.
    pub fn handle_line(&mut self, line: &[u8]) {
        match Request::parse(line) {
            Ok(request) => self.handle_request(request),
            Err((id, error)) => {
                self.respond(&Response::new(id, "parse").failed(ErrorCode::Parse, error));
            }
        }
    }

    /// Handles a line with an idempotency key, which is stored with the message of a prompt.
    pub fn handle_line_once(&mut self, line: &[u8], once: Option<String>) {
        self.once = once;
        self.handle_line(line);
        self.once = None;
    }

    /// Rejects a line that was too long.
    pub fn reject_long_line(&mut self) {
        let error = format!(
            "the line is longer than {LINE_LIMIT} bytes; split the command into shorter lines"
        );
        self.respond(&Response::new(None, "parse").failed(ErrorCode::LineTooLong, error));
    }

    /// Handles an event of the session that happened at `time`, in milliseconds since the Unix epoch.
    pub fn handle_event(&mut self, time: i64, event: &Event) {
        self.time = time;
        self.tracked.on_event(event);
        let cause = match event {
            // A hub can send these events between `OpEvent` and the event that it announces.
            Event::Presence { .. } | Event::Notice { .. } => None,
            _ => self.cause.take(),
        };
        match event {
            Event::OpEvent { request } => {
                self.cause = Some(*request);
                return;
            }
            Event::OpEnded {
                request,
                with_agent,
            } => return self.op_ended(*request, *with_agent),
            Event::Notice {
                severity,
                text,
                request: Some(request),
            } if self.record_notice(*request, *severity, text) => return,
            _ => {}
        }
        let has_pending = !self.pending.is_empty();
        let value = has_pending.then(|| json!(event));
        self.write_event(event, value.as_ref());
        if let Some(Value::Object(mut fields)) = value
            && let Some(Value::String(kind)) = fields.shift_remove("type")
        {
            self.answer(&kind, fields, cause);
        }
        if *event == Event::ShutDown {
            self.end();
        }
    }

    /// The session has ended: every command without an answer fails, and every later one.
    pub fn end(&mut self) {
        self.has_ended = true;
        for pending in std::mem::take(&mut self.pending) {
            self.respond(&pending.response.failed(ErrorCode::ShuttingDown, ENDED));
        }
    }

    /// When `handle_timeouts` must be called next.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.questions.next_deadline()
    }

    /// Dismisses the questions that have timed out.
    pub fn handle_timeouts(&mut self, now: Instant) {
        for id in self.questions.timed_out(now) {
            self.dismiss(id);
        }
    }

    /// No user can answer questions any more: dismisses all of them, now and later.
    pub fn set_no_user(&mut self) {
        for id in self.questions.set_no_user() {
            self.dismiss(id);
        }
    }

    fn dismiss(&self, id: String) {
        let answer = Answer::Dismissed;
        let op = Op::AnswerQuestion { id, answer };
        if self.authorize(&op, self.session.next_request()).is_ok() {
            self.session.send(op);
        }
    }

    fn authorize(&self, op: &Op, request: u64) -> Result<(), OccupiedError> {
        let client = self.client.as_ref();
        client.map_or(Ok(()), |client| client.authorize(op, request))
    }

    fn handle_request(&mut self, request: Request) {
        let response = Response::new(request.id, request.command);
        if let Some(id) = &response.id
            && self.is_pending(id)
        {
            let error =
                "a command with this id has no answer yet; use a different id for each command";
            return self.respond(&response.failed(ErrorCode::DuplicateId, error));
        }
        if self.has_ended {
            return self.respond(&response.failed(ErrorCode::ShuttingDown, ENDED));
        }
        let Some(command) = find_command(&response.command) else {
            let hint = match nearest(&response.command) {
                Some(known) => format!("did you mean `{known}`?"),
                None => "`hello` returns all commands".to_owned(),
            };
            let error = format!("unknown command `{}`; {hint}", response.command);
            return self.respond(&response.failed(ErrorCode::UnknownCommand, error));
        };
        let started = check(command, request.parameters)
            .and_then(|parameters| self.start(command, &response, parameters));
        match started {
            Ok(CommandStart::Pending) => {}
            Ok(CommandStart::Done(data)) => self.respond(&response.with_data(data)),
            Ok(CommandStart::Refused(code, error)) => self.respond(&response.failed(code, error)),
            Ok(CommandStart::Occupied(occupied)) => {
                let data = json!({"writer": occupied.writer});
                let response = response.failed(ErrorCode::Occupied, occupied.to_string());
                self.respond(&response.with_data(data));
            }
            Err(error) => self.respond(&response.failed(ErrorCode::InvalidParameters, error)),
        }
    }

    fn is_pending(&self, id: &Id) -> bool {
        let mut ids = self.pending.iter().map(|pending| &pending.response.id);
        ids.any(|known| known.as_ref() == Some(id))
    }

    fn start(
        &mut self,
        command: &'static Command,
        response: &Response,
        mut parameters: Map<String, Value>,
    ) -> Result<CommandStart, String> {
        let request = self.session.next_request();
        let mut reply_number = None;
        let wants_reply = parameters.get("reply") == Some(&json!(true));
        let mut form = wants_reply.then_some(Form::Event);
        let number_of_op = parameters.get("op").and_then(|op| op["request"].as_u64());
        let mut earlier = Vec::new();
        let mut own = Map::new();
        let mut op = match command.start {
            Start::Dispatcher if command.name == "hello" => return self.hello(&parameters),
            Start::Dispatcher => return self.reply(parameters),
            Start::Request(name) => {
                if command.is_numbered() {
                    let chosen = parameters.entry("request").or_insert(json!(request));
                    reply_number = chosen.as_u64();
                }
                op_of(name, parameters)?
            }
            Start::With(start) => match start(&parameters, &self.tracked)? {
                FirstStep::Request(op) => op,
                FirstStep::Requests(mut ops) => {
                    let last = ops.pop().ok_or("there is nothing to do")?;
                    earlier = ops;
                    form = Some(Form::Text);
                    last
                }
                FirstStep::Data(data) => return Ok(CommandStart::Done(data)),
                FirstStep::Numbered(make, value) => {
                    reply_number = Some(request);
                    own = parameters;
                    make(request, value)
                        .ok_or("invalid parameters; `osier rpc --schema` describes them")?
                }
            },
        };
        if let (Op::Agent(op), Some(key)) = (&mut op, self.once.take()) {
            op.set_once(key);
        }
        for op in earlier.iter().chain([&op]) {
            if let Err(occupied) = self.authorize(op, request) {
                return Ok(CommandStart::Occupied(occupied));
            }
        }
        for op in earlier {
            self.session.send(op);
        }
        let mut pending =
            PendingCommand::new(command.answer, response.clone(), request, reply_number)
                .with_parameters(own);
        if let Some(form) = form {
            pending = pending.with_reply(op.request(), number_of_op, form);
        }
        self.pending.push(pending);
        match op {
            // The last event of the session answers it for all clients.
            Op::ShutDown => self.session.send(op),
            op => self.session.ask(request, op),
        }
        Ok(CommandStart::Pending)
    }

    fn hello(&mut self, parameters: &Map<String, Value>) -> Result<CommandStart, String> {
        let number = |name: &str| parameters.get(name).and_then(Value::as_u64);
        if let Some(version) = number("protocol")
            && version != u64::from(PROTOCOL)
        {
            let error = format!("unsupported protocol version {version}; expected {PROTOCOL}");
            return Ok(CommandStart::Refused(ErrorCode::UnsupportedProtocol, error));
        }
        if let Some(events) = parameters.get("events") {
            let event_mode = serde_json::from_value(events.clone());
            self.event_mode = event_mode.map_err(|error| error.to_string())?;
        }
        if let Some(timeout) = number("uiTimeoutMs") {
            self.questions.timeout = Some(Duration::from_millis(timeout));
        }
        match parameters.get("ui") {
            Some(Value::Bool(false)) => self.set_no_user(),
            Some(_) => self.questions.no_user = false,
            None => {}
        }
        let greeting = Greeting {
            protocol: PROTOCOL,
            name: osier_base::PROGRAM.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            line_limit: LINE_LIMIT,
            commands: commands().map(|command| command.name.to_owned()).collect(),
        };
        Ok(CommandStart::Done(json!(greeting)))
    }

    fn reply(&mut self, parameters: Map<String, Value>) -> Result<CommandStart, String> {
        let reply = ui::parse_reply(parameters)?;
        let op = |id, answer| Op::AnswerQuestion { id, answer };
        let dismissal = op(reply.id.clone(), Answer::Dismissed);
        if let Err(occupied) = self.authorize(&dismissal, self.session.next_request()) {
            return Ok(CommandStart::Occupied(occupied));
        }
        let (id, answer) = self.questions.answer(reply)?;
        self.session.send(op(id, answer));
        Ok(CommandStart::Pending)
    }

    /// Stores a notice for the command it belongs to. Returns false if no command waits for it.
    fn record_notice(&mut self, request: u64, severity: osier_agent::Severity, text: &str) -> bool {
        let mut pending = self.pending.iter_mut();
        let Some(pending) = pending.find(|pending| pending.request == request) else {
            return false;
        };
        pending.notices.push((severity, text.to_owned()));
        true
    }

    fn op_ended(&mut self, request: u64, with_agent: bool) {
        let mut pending = self.pending.iter_mut();
        if let Some(index) = pending.position(|pending| pending.request == request)
            && let Some(progress) = self.pending[index].op_ended(with_agent, &self.tracked)
        {
            self.complete(index, progress);
        }
    }

    /// Passes an event to the oldest command that waits for it. `cause` is the number of the request that the event is about.
    fn answer(&mut self, kind: &str, mut fields: Map<String, Value>, cause: Option<u64>) {
        let number = fields.shift_remove("request");
        for index in 0..self.pending.len() {
            let pending = &mut self.pending[index];
            if pending.reply_number != number.as_ref().and_then(Value::as_u64) {
                continue;
            }
            match pending.on_event(kind, &fields, &self.tracked, cause) {
                Progress::Waiting => {}
                Progress::Partial => return,
                Progress::Next(op) => {
                    let request = pending.request;
                    return self.session.ask(request, op);
                }
                progress => return self.complete(index, progress),
            }
        }
    }

    /// Writes the answer of a command, and its notices.
    fn complete(&mut self, index: usize, progress: Progress) {
        let PendingCommand {
            response, notices, ..
        } = self.pending.remove(index);
        let (response, notices) = match progress {
            Progress::Done(data) => (response.with_data(data), notices),
            Progress::Failed(error) => {
                let notices = notices.into_iter().filter(|(_, text)| *text != error);
                let notices = notices.collect();
                (response.failed(ErrorCode::Refused, error), notices)
            }
            Progress::Waiting | Progress::Partial | Progress::Next(_) => return,
        };
        for (severity, text) in notices {
            self.notify(severity, &text);
        }
        self.respond(&response);
    }

    fn respond(&mut self, response: &Response) {
        self.write_tagged("response", response);
    }

    fn notify(&mut self, severity: osier_agent::Severity, text: &str) {
        match self.event_mode {
            EventMode::Changes => {
                self.write_tagged("ui_request", &UiRequest::notice(severity, text));
                self.add_time();
            }
            EventMode::All => self.write_timed(&Event::Notice {
                severity,
                text: text.to_owned(),
                request: None,
            }),
            EventMode::None => {}
        }
    }

    /// Writes an event if the client receives it; `value` is the serialized event, if it exists already.
    fn write_event(&mut self, event: &Event, value: Option<&Value>) {
        match event {
            Event::QuestionAsked { question } => {
                match self.questions.ask(question, Instant::now()) {
                    request if self.event_mode != EventMode::All => {
                        return match request {
                            Some(request) => {
                                self.write_tagged("ui_request", &request);
                                self.add_time();
                            }
                            None => self.dismiss(question.id.clone()),
                        };
                    }
                    Some(_) => {}
                    None => self.dismiss(question.id.clone()),
                }
            }
            Event::QuestionClosed { id } if self.event_mode != EventMode::All => {
                if let Some(closed) = self.questions.close(id) {
                    self.write_tagged("ui_closed", &closed);
                    self.add_time();
                }
                return;
            }
            Event::QuestionClosed { id } => drop(self.questions.close(id)),
            Event::Notice { severity, text, .. }
            | Event::Agent(osier_agent::Event::Notice { severity, text })
                if self.event_mode == EventMode::Changes =>
            {
                return self.notify(*severity, text);
            }
            _ => {}
        }
        let is_wanted = match self.event_mode {
            EventMode::All => true,
            EventMode::Changes => event.delivery() != Delivery::Answer,
            EventMode::None => false,
        };
        if !is_wanted {
            return;
        }
        match value {
            Some(value) => self.write_timed(value),
            None => self.write_timed(event),
        }
    }

    /// Writes an event with its time.
    fn write_timed(&mut self, event: &impl Serialize) {
        self.write_line(event);
        self.add_time();
    }

    /// Adds the time of the current event to the last line.
    fn add_time(&mut self) {
        if self.output.pop_if(|byte| *byte == b'\n').is_some() {
            jsonl::add_time(&mut self.output, self.time);
            self.output.push(b'\n');
        }
    }

    fn write_tagged(&mut self, kind: &'static str, content: &impl Serialize) {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            r#type: &'static str,
            #[serde(flatten)]
            content: &'a T,
        }
        self.write_line(&Tagged {
            r#type: kind,
            content,
        });
    }

    /// Writes an object as one line, without the keys of osier.
    fn write_line(&mut self, content: &impl Serialize) {
        if write_json(content, &mut self.output) {
            self.output.push(b'\n');
        }
    }
}

/// The immediate result of a command.
enum CommandStart {
    /// The answer follows later, or the command has none.
    Pending,
    Done(Value),
    Refused(ErrorCode, String),
    /// Another client holds the write lock.
    Occupied(OccupiedError),
}

/// The op with this name and these fields.
fn op_of(name: &str, mut fields: Map<String, Value>) -> Result<Op, String> {
    fields.insert("type".to_owned(), json!(name));
    parse_op(&Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_before_and_after_the_end_of_the_session_are_answered() {
        let (session, _events, _remote) = SessionHandle::remote();
        let mut dispatcher = Dispatcher::new(session);
        let asked = |id: u64| json!({"id": id, "type": "get_state"}).to_string();
        let failed = |id: u64| {
            let response = json!({"id": id, "type": "response", "command": "get_state", "success": false,
                "error": "the agent has exited", "code": "shutting_down"});
            vec![response]
        };
        let output = |dispatcher: &mut Dispatcher| -> Vec<Value> {
            let lines = String::from_utf8(std::mem::take(dispatcher.output())).unwrap();
            let lines = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap());
            lines.collect()
        };
        dispatcher.handle_line(asked(1).as_bytes());
        assert_eq!(output(&mut dispatcher), [json!(null); 0]);
        dispatcher.end();
        assert_eq!(output(&mut dispatcher), failed(1));
        dispatcher.handle_line(asked(2).as_bytes());
        assert_eq!(output(&mut dispatcher), failed(2));
    }
}
