//! osier as an MCP server on standard input and output. Its only tool runs a prompt in a session of its own and reports progress; the
//! client can cancel it.

use std::collections::HashMap;

use osier_agent::RunOutcome;
use osier_base::text;
use osier_peers::formats::{Effect, Format, RunEnd};
use osier_protocol::{Event, Prompt};
use osier_session::{SessionChoice, SessionHandle, SessionSetup};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::asked::AskedRequests;
use super::run::Run;

/// Versions of the protocol that osier speaks, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The name of the tool.
const TOOL: &str = "run_prompt";
/// The largest width of a progress message, in columns.
const SHOWN: usize = 120;
/// The largest number of calls that run at the same time; osier refuses more.
const CALLS: usize = 8;

/// Error codes of JSON-RPC.
const PARSE: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMETERS: i64 = -32602;

/// Serves a client until its input ends or `stop` is ready. Each call runs in a session of `setup`.
///
/// # Errors
/// The input cannot be read, or the output is closed.
pub async fn run(
    setup: &SessionSetup,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let (sender, mut messages) = mpsc::unbounded_channel();
    let mut server = Server {
        setup,
        messages: sender,
        calls: HashMap::new(),
        is_initialized: false,
    };
    let mut lines = input.split(b'\n');
    let mut has_ended = false;
    tokio::pin!(stop);
    while !has_ended || !server.calls.is_empty() {
        tokio::select! {
            biased;
            () = &mut stop, if !has_ended => {
                server.cancel_all();
                has_ended = true;
            }
            message = messages.recv() => {
                let Some(message) = message else { break };
                let message = server.outgoing(message);
                if let Some(message) = message {
                    output.write_all(format!("{message}\n").as_bytes()).await?;
                    output.flush().await?;
                }
            }
            line = lines.next_segment(), if !has_ended => {
                if let Some(line) = line? {
                    server.line(&line);
                } else {
                    server.cancel_all();
                    has_ended = true;
                }
            }
        }
    }
    Ok(())
}

/// A message for the client.
enum Outgoing {
    Message(Value),
    /// The id of a call as JSON, and its result.
    Ended(String, Value),
}

struct Server<'a> {
    setup: &'a SessionSetup,
    messages: mpsc::UnboundedSender<Outgoing>,
    /// The running calls by their id as JSON.
    calls: HashMap<String, CancellationToken>,
    is_initialized: bool,
}

/// The code and the text of an error.
type Refusal = (i64, String);

impl Server<'_> {
    fn send(&self, message: Value) {
        // The receiver lives as long as the server, so sending cannot fail.
        let _ = self.messages.send(Outgoing::Message(message));
    }

    /// The message that the client gets; `None` for a cancelled call.
    fn outgoing(&mut self, message: Outgoing) -> Option<Value> {
        match message {
            Outgoing::Message(message) => Some(message),
            Outgoing::Ended(id, response) => {
                let cancel = self.calls.remove(&id)?;
                (!cancel.is_cancelled()).then_some(response)
            }
        }
    }

    fn cancel_all(&self) {
        for cancel in self.calls.values() {
            cancel.cancel();
        }
    }

    /// Handles a line from the client.
    fn line(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self.refuse(&Value::Null, (PARSE, "not valid JSON".to_owned()));
        };
        let id = message.get("id").cloned();
        let Some(method) = message["method"].as_str() else {
            // osier sends no requests, so it ignores answers.
            if message.get("result").is_none() && message.get("error").is_none() {
                let error = "expected an object with `method`".to_owned();
                self.refuse(&id.unwrap_or_default(), (INVALID_REQUEST, error));
            }
            return;
        };
        let params = &message["params"];
        let Some(id) = id else {
            return self.notified(method, params);
        };
        if !(id.is_string() || id.is_i64() || id.is_u64()) {
            let error = "`id` is neither a string nor an integer".to_owned();
            return self.refuse(&Value::Null, (INVALID_REQUEST, error));
        }
        match self.request(&id, method, params) {
            Ok(Some(result)) => self.send(json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Ok(None) => {}
            Err(refusal) => self.refuse(&id, refusal),
        }
    }

    fn refuse(&self, id: &Value, (code, message): Refusal) {
        let error = json!({"code": code, "message": message});
        self.send(json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    fn notified(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled"
            && let Some(cancel) = self.calls.get(&params["requestId"].to_string())
        {
            cancel.cancel();
        }
    }

    /// The result of a request; `None` if the result follows later.
    fn request(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> Result<Option<Value>, Refusal> {
        match method {
            "initialize" => {
                self.is_initialized = true;
                return Ok(Some(initialized(params)));
            }
            "ping" => return Ok(Some(json!({}))),
            "tools/list" | "tools/call" if !self.is_initialized => {
                return Err((INVALID_REQUEST, "send `initialize` first".to_owned()));
            }
            "tools/list" => return Ok(Some(json!({"tools": [tool()]}))),
            "tools/call" => {}
            other => {
                let message = format!("osier has no method `{other}`");
                return Err((UNKNOWN_METHOD, message));
            }
        }
        let name = params["name"].as_str().unwrap_or_default();
        if name != TOOL {
            let message = format!("osier has no tool `{name}`; it has `{TOOL}`");
            return Err((INVALID_PARAMETERS, message));
        }
        let key = id.to_string();
        if self.calls.contains_key(&key) {
            let message = "a request with this id has no answer yet".to_owned();
            return Err((INVALID_REQUEST, message));
        }
        if self.calls.len() >= CALLS {
            let message = format!("{CALLS} calls run already; wait for one of them");
            return Ok(Some(failed(&message)));
        }
        let arguments = match Arguments::read(&params["arguments"]) {
            Ok(arguments) => arguments,
            Err(message) => return Ok(Some(failed(&message))),
        };
        let token = params["_meta"].get("progressToken").cloned();
        self.start(id.clone(), arguments, token);
        Ok(None)
    }

    fn start(&mut self, id: Value, arguments: Arguments, token: Option<Value>) {
        let cancel = CancellationToken::new();
        self.calls.insert(id.to_string(), cancel.clone());
        let messages = self.messages.clone();
        let setup = self.setup.clone();
        osier_base::task::spawn(async move {
            let progress = Progress {
                messages: messages.clone(),
                token,
                count: 0,
            };
            let result = call(setup, arguments, progress, cancel).await;
            let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let _ = messages.send(Outgoing::Ended(id.to_string(), response));
        });
    }
}

fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.iter().find(|version| **version == asked);
    json!({
        "protocolVersion": version.unwrap_or(&VERSIONS[0]),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "osier", "title": "osier", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "osier is a coding agent. `run_prompt` gives it a task in its working directory.",
    })
}

fn tool() -> Value {
    json!({
        "name": TOOL,
        "title": "Run a prompt",
        "description": "Run a prompt in the coding agent osier, which can read and change the files of its working directory and run \
            commands, as far as its permissions allow. Returns its answer, and the session, in which a later prompt can continue.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "prompt": {"type": "string", "description": "the task"},
                "session": {"type": "string", "description": "continue in this session, which an earlier call returned"},
            },
            "required": ["prompt"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"answer": {"type": "string"}, "session": {"type": "string"}},
            "required": ["answer", "session"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true},
    })
}

/// The arguments of a call.
#[derive(Debug, PartialEq)]
struct Arguments {
    prompt: String,
    session: Option<String>,
}

impl Arguments {
    fn read(given: &Value) -> Result<Self, String> {
        let fields = given.as_object().ok_or("`arguments` is not an object")?;
        let known = ["prompt", "session"];
        if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "`{TOOL}` has no argument `{name}`; expected `prompt` and `session`"
            ));
        }
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{name}` is not a text")),
        };
        Ok(Self {
            prompt: text("prompt")?.ok_or("`prompt` is missing")?,
            session: text("session")?,
        })
    }
}

/// The result of a failed call.
fn failed(message: &str) -> Value {
    json!({"content": [{"type": "text", "text": message}], "isError": true})
}

/// Runs the prompt in a session and returns the result of the call.
async fn call(
    mut setup: SessionSetup,
    arguments: Arguments,
    progress: Progress,
    cancel: CancellationToken,
) -> Value {
    if let Some(session) = arguments.session {
        setup.session = SessionChoice::Resume(session);
    }
    let (session, events) = match SessionHandle::start(setup) {
        Ok(started) => started,
        Err(error) => return failed(&error.to_string()),
    };
    let mut format = CallFormat {
        progress,
        session: String::new(),
        answer: String::new(),
    };
    let prompt = Prompt {
        text: arguments.prompt,
        ..Prompt::default()
    };
    let run = Run {
        session: &session,
        prompts: [prompt].into(),
        format: &mut format,
        schema: None,
        output: &mut std::io::sink(),
        ends_with_prompts: true,
        hooks: None,
        asked: AskedRequests::default(),
    };
    let mut running = Box::pin(run.run(events, None::<&[u8]>));
    let mut is_cancelled = false;
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            () = cancel.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                session.send(osier_agent::Op::Abort.into());
            }
        }
    };
    drop(running);
    let outcome = match ended {
        Ok(ended) => ended.outcome,
        Err(error) => return failed(&error.to_string()),
    };
    let CallFormat {
        session, answer, ..
    } = format;
    match outcome {
        RunOutcome::Completed => json!({
            "content": [{"type": "text", "text": answer}],
            "structuredContent": {"answer": answer, "session": session},
            "isError": false,
        }),
        RunOutcome::Interrupted => failed("interrupted"),
        failure => failed(
            &failure
                .error()
                .unwrap_or_else(|| "the run failed".to_owned()),
        ),
    }
}

/// Reports the progress of a call, if the client has sent a token for it.
struct Progress {
    messages: mpsc::UnboundedSender<Outgoing>,
    token: Option<Value>,
    count: u64,
}

impl Progress {
    fn tell(&mut self, message: &str) {
        let Some(token) = &self.token else { return };
        self.count += 1;
        let params = json!({"progressToken": token, "progress": self.count, "message": message});
        let notification =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        let _ = self.messages.send(Outgoing::Message(notification));
    }
}

/// Handles the events of a call's run.
struct CallFormat {
    progress: Progress,
    session: String,
    answer: String,
}

impl Format for CallFormat {
    fn event(&mut self, event: &Event, _effect: &mut Effect) {
        match event {
            Event::SessionOpened { session, .. } => self.session.clone_from(&session.id),
            Event::Agent(osier_agent::Event::TurnStart { turn }) => {
                self.progress.tell(&format!("request {turn} to the model"));
            }
            Event::Agent(osier_agent::Event::ToolExecutionStart {
                tool_name,
                arguments,
                ..
            }) => self.progress.tell(&described(tool_name, arguments)),
            _ => {}
        }
    }

    fn end(&mut self, end: &RunEnd, _effect: &mut Effect) {
        end.answer.trim_end().clone_into(&mut self.answer);
    }

    fn continues(&self) -> bool {
        false
    }
}

/// The tool's name, with the first text among its arguments.
fn described(tool: &str, arguments: &Value) -> String {
    let fields = arguments.as_object().into_iter().flatten();
    let mut texts = fields.filter_map(|(_, value)| value.as_str());
    let shown = match texts.next() {
        Some(text) => format!("{tool}: {}", text::single_line(text)),
        None => tool.to_owned(),
    };
    text::truncate(&shown, SHOWN).into_owned()
}
