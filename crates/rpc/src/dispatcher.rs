//! One client and one host: lines become ops, events become answers, events and requests.
//!
//! It waits for nothing and owns no stream: whoever holds it feeds it lines and events and sends what
//! stands in its output. Every line has one answer, but for replies that fit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::check::check;
use super::command::{Begin, Command, First};
use super::frame::{Code, Greeting, Id, Rendering, Request, Response};
use super::pending::{End, Pending};
use super::table::{all, find, nearest};
use super::ui::{self, Requests, UiRequest};
use super::view::View;
use super::{LINE_LIMIT, PROTOCOL};

use osier_hub::{Occupied, Place};
use osier_protocol::questions::Answer;
use osier_protocol::{Delivery, Event, Op};
use osier_session::SessionHandle;

/// What joins a client to a host.
#[derive(Debug)]
pub struct Dispatcher {
    host: SessionHandle,
    /// Where several clients share the host: what this one may do.
    place: Option<Arc<Place>>,
    view: View,
    requests: Requests,
    rendering: Rendering,
    pending: Vec<Pending>,
    output: Vec<u8>,
}

impl Dispatcher {
    /// Joins a client to `host`, whose events it is to be fed from the first one on.
    pub fn new(host: SessionHandle) -> Self {
        Self {
            host,
            place: None,
            view: View::default(),
            requests: Requests::default(),
            rendering: Rendering::default(),
            pending: Vec::new(),
            output: Vec::new(),
        }
    }

    /// One of several clients of the host, with a place among them.
    #[must_use]
    pub fn at(self, place: Arc<Place>) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// Another for the same client, which writes events as this one does: for what is told again.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            rendering: self.rendering,
            ..Self::new(self.host.clone())
        }
    }

    /// Which events the client wants.
    pub fn rendering(&self) -> Rendering {
        self.rendering
    }

    /// Whether a command is not answered yet.
    pub fn owes_answers(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Lines for the client. Whoever sends them takes them out.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Commands that have no answer yet.
    pub fn unanswered(&self) -> usize {
        self.pending.len()
    }

    /// Whether every command is answered and nothing runs.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && !self.view.running
    }

    /// Takes a line of the client.
    pub fn take_line(&mut self, line: &[u8]) {
        match Request::parse(line) {
            Ok(request) => self.take_request(request),
            Err((id, fault)) => {
                self.respond(&Response::new(id, "parse").failed(Code::Parse, fault));
            }
        }
    }

    /// Takes notice of a line that was too long to be read.
    pub fn refuse_line(&mut self) {
        let fault = format!("the line has more than {LINE_LIMIT} bytes and was not read");
        self.respond(&Response::new(None, "parse").failed(Code::LineTooLong, fault));
    }

    /// Takes an event of the host.
    pub fn take_event(&mut self, event: &Event) {
        self.view.take(event);
        match event {
            Event::OpEnded {
                request,
                with_agent,
            } => return self.op_ended(*request, *with_agent),
            Event::HostNotice {
                severity,
                text,
                request: Some(request),
            } if self.told(*request, *severity, text) => return,
            _ => {}
        }
        let asks = !self.pending.is_empty();
        let value = asks.then(|| json!(event));
        self.render(event, value.as_ref());
        if let Some(Value::Object(mut fields)) = value
            && let Some(Value::String(kind)) = fields.shift_remove("type")
        {
            self.answer(&kind, fields);
        }
        if *event == Event::ShutDown {
            for pending in std::mem::take(&mut self.pending) {
                let fault = "the agent has ended";
                self.respond(&pending.response.failed(Code::ShuttingDown, fault));
            }
        }
    }

    /// When `time_passed` is to be called next.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.requests.next_deadline()
    }

    /// Dismisses requests that have waited too long.
    pub fn time_passed(&mut self, now: Instant) {
        for id in self.requests.timed_out(now) {
            self.dismiss(id);
        }
    }

    /// Nobody is there to answer requests any more.
    pub fn person_left(&mut self) {
        for id in self.requests.leave() {
            self.dismiss(id);
        }
    }

    fn dismiss(&self, id: String) {
        let answer = Answer::Dismissed;
        let op = Op::AnswerQuestion { id, answer };
        if self.admit(&op, self.host.next_request()).is_ok() {
            self.host.send(op);
        }
    }

    fn admit(&self, op: &Op, request: u64) -> Result<(), Occupied> {
        let place = self.place.as_ref();
        place.map_or(Ok(()), |place| place.admit(op, request))
    }

    fn take_request(&mut self, request: Request) {
        let response = Response::new(request.id, request.command);
        if let Some(id) = &response.id
            && self.has(id)
        {
            let fault = "a command with this id is not answered yet: give each its own";
            return self.respond(&response.failed(Code::DuplicateId, fault));
        }
        let Some(command) = find(&response.command) else {
            let hint = nearest(&response.command).map(|known| format!(": is `{known}` meant?"));
            let fault = format!(
                "there is no command `{}`{}",
                response.command,
                hint.unwrap_or_default()
            );
            return self.respond(&response.failed(Code::UnknownCommand, fault));
        };
        let begun = check(command, request.parameters)
            .and_then(|parameters| self.begin(command, &response, parameters));
        match begun {
            Ok(Begun::Waits) => {}
            Ok(Begun::Done(data)) => self.respond(&response.with(data)),
            Ok(Begun::Refused(code, fault)) => self.respond(&response.failed(code, fault)),
            Ok(Begun::Occupied(occupied)) => {
                let data = json!({"writer": occupied.writer});
                let response = response.failed(Code::Occupied, occupied.to_string());
                self.respond(&response.with(data));
            }
            Err(fault) => self.respond(&response.failed(Code::InvalidParameters, fault)),
        }
    }

    fn has(&self, id: &Id) -> bool {
        let mut ids = self.pending.iter().map(|pending| &pending.response.id);
        ids.any(|known| known.as_ref() == Some(id))
    }

    fn begin(
        &mut self,
        command: &'static Command,
        response: &Response,
        mut parameters: Map<String, Value>,
    ) -> Result<Begun, String> {
        let request = self.host.next_request();
        let mut numbered = None;
        let wants_reply = parameters.get("reply") == Some(&json!(true));
        let number_of_op = parameters.get("op").and_then(|op| op["request"].as_u64());
        let op = match command.begin {
            Begin::Dispatcher if command.name == "hello" => return self.hello(&parameters),
            Begin::Dispatcher => return self.reply(parameters),
            Begin::Request(name) => {
                if command.is_numbered() {
                    let chosen = parameters.entry("request").or_insert(json!(request));
                    numbered = chosen.as_u64();
                }
                op_of(name, parameters)?
            }
            Begin::With(begin) => match begin(&parameters, &self.view)? {
                First::Request(op) => op,
                First::Data(data) => return Ok(Begun::Done(data)),
                First::Numbered(make, value) => {
                    numbered = Some(request);
                    make(request, value).ok_or("it cannot be asked like this")?
                }
            },
        };
        if let Err(occupied) = self.admit(&op, request) {
            return Ok(Begun::Occupied(occupied));
        }
        let mut pending = Pending::new(command.answer, response.clone(), request, numbered);
        if wants_reply {
            pending = pending.with_reply(op.request(), number_of_op);
        }
        self.pending.push(pending);
        match op {
            // The host answers it with its last word, to everybody.
            Op::ShutDown => self.host.send(op),
            op => self.host.ask(request, op),
        }
        Ok(Begun::Waits)
    }

    fn hello(&mut self, parameters: &Map<String, Value>) -> Result<Begun, String> {
        let number = |name: &str| parameters.get(name).and_then(Value::as_u64);
        if let Some(asked) = number("protocol")
            && asked != u64::from(PROTOCOL)
        {
            let fault = format!("version {asked} is not spoken here: this is {PROTOCOL}");
            return Ok(Begun::Refused(Code::UnsupportedProtocol, fault));
        }
        if let Some(events) = parameters.get("events") {
            let rendering = serde_json::from_value(events.clone());
            self.rendering = rendering.map_err(|error| error.to_string())?;
        }
        if let Some(patience) = number("uiTimeoutMs") {
            self.requests.patience = Some(Duration::from_millis(patience));
        }
        match parameters.get("ui") {
            Some(Value::Bool(false)) => self.person_left(),
            Some(_) => self.requests.absent = false,
            None => {}
        }
        let greeting = Greeting {
            protocol: PROTOCOL,
            name: osier_base::PROGRAM.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            line_limit: LINE_LIMIT,
            commands: all().map(|command| command.name.to_owned()).collect(),
        };
        Ok(Begun::Done(json!(greeting)))
    }

    fn reply(&mut self, parameters: Map<String, Value>) -> Result<Begun, String> {
        let reply = ui::reply(parameters)?;
        let op = |id, answer| Op::AnswerQuestion { id, answer };
        let asked = op(reply.id.clone(), Answer::Dismissed);
        if let Err(occupied) = self.admit(&asked, self.host.next_request()) {
            return Ok(Begun::Occupied(occupied));
        }
        let (id, answer) = self.requests.reply(reply)?;
        self.host.send(op(id, answer));
        Ok(Begun::Waits)
    }

    /// Keeps a notice for the command it is about; false when none waits for it.
    fn told(&mut self, request: u64, severity: osier_agent::Severity, text: &str) -> bool {
        let mut pending = self.pending.iter_mut();
        let Some(pending) = pending.find(|pending| pending.request == request) else {
            return false;
        };
        pending.told.push((severity, text.to_owned()));
        true
    }

    fn op_ended(&mut self, request: u64, with_agent: bool) {
        let mut pending = self.pending.iter_mut();
        if let Some(place) = pending.position(|pending| pending.request == request)
            && let Some(end) = self.pending[place].op_ended(with_agent, self.view.sessionless)
        {
            self.settle(place, end);
        }
    }

    /// Gives an event to the command that has waited for it longest.
    fn answer(&mut self, kind: &str, mut fields: Map<String, Value>) {
        let number = fields.shift_remove("request");
        for place in 0..self.pending.len() {
            let pending = &mut self.pending[place];
            if pending.numbered != number.as_ref().and_then(Value::as_u64) {
                continue;
            }
            match pending.hear(kind, &fields, &self.view) {
                End::NotYet => {}
                End::Kept => return,
                End::Next(op) => {
                    let request = pending.request;
                    return self.host.ask(request, op);
                }
                end => return self.settle(place, end),
            }
        }
    }

    /// Writes the answer of a command, and what was told about it beside.
    fn settle(&mut self, place: usize, end: End) {
        let Pending { response, told, .. } = self.pending.remove(place);
        let (response, told) = match end {
            End::Done(data) => (response.with(data), told),
            End::Failed(fault) => {
                let told = told.into_iter().filter(|(_, text)| *text != fault);
                let told = told.collect();
                (response.failed(Code::Refused, fault), told)
            }
            End::NotYet | End::Kept | End::Next(_) => return,
        };
        for (severity, text) in told {
            self.notify(severity, &text);
        }
        self.respond(&response);
    }

    fn respond(&mut self, response: &Response) {
        self.write_tagged("response", response);
    }

    fn notify(&mut self, severity: osier_agent::Severity, text: &str) {
        match self.rendering {
            Rendering::Changes => {
                self.write_tagged("ui_request", &UiRequest::notice(severity, text));
            }
            Rendering::All => self.write_line(&Event::HostNotice {
                severity,
                text: text.to_owned(),
                request: None,
            }),
            Rendering::None => {}
        }
    }

    /// Writes what the client is to hear of an event; `value` is the event, where that is known.
    fn render(&mut self, event: &Event, value: Option<&Value>) {
        match event {
            Event::QuestionAsked { question } => {
                match self.requests.ask(question, Instant::now()) {
                    asked if self.rendering != Rendering::All => {
                        return match asked {
                            Some(request) => self.write_tagged("ui_request", &request),
                            None => self.dismiss(question.id.clone()),
                        };
                    }
                    Some(_) => {}
                    None => self.dismiss(question.id.clone()),
                }
            }
            Event::QuestionClosed { id } if self.rendering != Rendering::All => {
                if let Some(reason) = self.requests.close(id) {
                    let closed = json!({"id": id, "reason": reason});
                    self.write_tagged("ui_closed", &closed);
                }
                return;
            }
            Event::QuestionClosed { id } => drop(self.requests.close(id)),
            Event::HostNotice { severity, text, .. }
            | Event::Agent(osier_agent::Event::Notice { severity, text })
                if self.rendering == Rendering::Changes =>
            {
                return self.notify(*severity, text);
            }
            _ => {}
        }
        let is_wanted = match self.rendering {
            Rendering::All => true,
            Rendering::Changes => event.delivery() != Delivery::Answer,
            Rendering::None => false,
        };
        if !is_wanted {
            return;
        }
        match value {
            Some(value) => self.write_line(value),
            None => self.write_line(event),
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

    /// One object, one line.
    fn write_line(&mut self, content: &impl Serialize) {
        let before = self.output.len();
        if serde_json::to_writer(&mut self.output, content).is_ok() {
            self.output.push(b'\n');
        } else {
            // Half a line is worse than none; what is written here can always be written.
            self.output.truncate(before);
        }
    }
}

/// What became of a command at once.
enum Begun {
    /// It is answered later, or not at all.
    Waits,
    Done(Value),
    Refused(Code, String),
    /// Another client writes.
    Occupied(Occupied),
}

/// The op of this name with these fields.
fn op_of(name: &str, mut fields: Map<String, Value>) -> Result<Op, String> {
    fields.insert("type".to_owned(), json!(name));
    serde_json::from_value(Value::Object(fields)).map_err(|_| {
        "a parameter is not what the schema says: `osier rpc --schema` prints it".to_owned()
    })
}
