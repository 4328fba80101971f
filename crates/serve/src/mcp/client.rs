//! Answers the messages of one client.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::protocol::{
    HANDSHAKE, INVALID_PARAMETERS, INVALID_REQUEST, MODERN, Refusal, SERVER_INFO, UNKNOWN_METHOD,
    check_version, failed, is_modern, response, stated_version,
};

/// The largest number of calls that run at the same time; osier refuses more.
const CALLS: usize = 8;
/// How long a client may keep the list of tools, in milliseconds: it never changes.
const LIST_TTL: u64 = 3_600_000;

/// The result of a call as it becomes available.
pub type CallResult = Pin<Box<dyn Future<Output = Value> + Send>>;

/// The tool of a server.
pub trait Tool: Send + Sync + 'static {
    /// The name of the tool.
    fn name(&self) -> &'static str;

    /// The tool as an element of `tools/list`.
    fn definition(&self) -> Value;

    /// The purpose of the server, for the model of the client.
    fn instructions(&self) -> &'static str;

    /// Begins a call.
    ///
    /// # Errors
    /// Why the arguments are invalid.
    fn call(&self, arguments: &Value, context: CallContext) -> Result<CallResult, String>;
}

/// The connection of a call to its client.
#[derive(Debug)]
pub struct CallContext {
    /// Cancelled when the client wants no result any more.
    pub cancel: CancellationToken,
    messages: mpsc::UnboundedSender<Value>,
    token: Option<Value>,
    count: u64,
}

impl CallContext {
    /// Reports progress, if the client has sent a token for it.
    pub fn report(&mut self, message: &str) {
        let Some(token) = &self.token else { return };
        if self.cancel.is_cancelled() {
            return;
        }
        self.count += 1;
        let params = json!({"progressToken": token, "progress": self.count, "message": message});
        let notification =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        // The receiver is gone if the client is.
        let _ = self.messages.send(notification);
    }
}

/// The tool and its running calls, which all clients share. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    tool: Arc<dyn Tool>,
    permits: Arc<Semaphore>,
    running: TaskTracker,
    cancel: CancellationToken,
}

osier_base::opaque_debug!(Service);

impl Service {
    pub fn new(tool: impl Tool) -> Self {
        Self {
            tool: Arc::new(tool),
            permits: Arc::new(Semaphore::new(CALLS)),
            running: TaskTracker::new(),
            cancel: CancellationToken::new(),
        }
    }

    /// Cancels all calls.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits until the cancelled calls have ended.
    pub(super) async fn ended(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

/// A client: what it has sent on one connection, or in one session over HTTP.
#[derive(Debug)]
pub(super) struct Client {
    service: Service,
    /// The running calls by their id as JSON.
    calls: Mutex<HashMap<String, CancellationToken>>,
    is_initialized: AtomicBool,
}

/// The messages of a call: its progress and then its response, unless it is cancelled.
#[derive(Debug)]
pub(super) struct Call {
    pub messages: mpsc::UnboundedReceiver<Value>,
    pub cancel: CancellationToken,
}

/// The answer to a message.
#[derive(Debug)]
pub(super) enum Reply {
    /// The message needs no answer.
    Nothing,
    Response(Value),
    Call(Call),
}

impl Client {
    pub(super) fn new(service: &Service) -> Arc<Self> {
        Arc::new(Self {
            service: service.clone(),
            calls: Mutex::default(),
            is_initialized: AtomicBool::new(false),
        })
    }

    pub(super) fn cancel_all(&self) {
        for cancel in self.calls.lock().values() {
            cancel.cancel();
        }
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.lock().is_empty()
    }

    /// Handles a message of the client.
    pub(super) fn message(self: &Arc<Self>, message: &Value) -> Reply {
        let id = message.get("id");
        let Some(method) = message["method"].as_str() else {
            // osier sends no requests, so it ignores answers.
            if message.get("result").is_some() || message.get("error").is_some() {
                return Reply::Nothing;
            }
            let refusal = Refusal::new(INVALID_REQUEST, "expected an object with `method`");
            return Reply::Response(refusal.response(id.unwrap_or(&Value::Null)));
        };
        let Some(id) = id else {
            self.notified(method, &message["params"]);
            return Reply::Nothing;
        };
        if !(id.is_string() || id.is_i64() || id.is_u64()) {
            let refusal = Refusal::new(INVALID_REQUEST, "`id` is neither a string nor an integer");
            return Reply::Response(refusal.response(&Value::Null));
        }
        let reply = if is_modern(message) {
            self.modern_request(id, method, message)
        } else {
            self.request(id, method, message)
        };
        reply.unwrap_or_else(|refusal| Reply::Response(refusal.response(id)))
    }

    fn notified(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled"
            && let Some(cancel) = self.calls.lock().get(&params["requestId"].to_string())
        {
            cancel.cancel();
        }
    }

    /// A request of a version with a handshake.
    fn request(
        self: &Arc<Self>,
        id: &Value,
        method: &str,
        message: &Value,
    ) -> Result<Reply, Refusal> {
        let is_initialized = self.is_initialized.load(Ordering::Relaxed);
        let result = match method {
            "initialize" => {
                self.is_initialized.store(true, Ordering::Relaxed);
                self.initialized(&message["params"])
            }
            "ping" => json!({}),
            "tools/list" | "tools/call" if !is_initialized => {
                return Err(Refusal::new(INVALID_REQUEST, "send `initialize` first"));
            }
            "tools/list" => json!({"tools": [self.service.tool.definition()]}),
            "tools/call" => return self.call(id, message, false),
            other => return Err(unknown(other)),
        };
        Ok(Reply::Response(response(id, &result)))
    }

    /// A request of a version without a handshake.
    fn modern_request(
        self: &Arc<Self>,
        id: &Value,
        method: &str,
        message: &Value,
    ) -> Result<Reply, Refusal> {
        check_version(stated_version(message)?)?;
        let tool = &self.service.tool;
        let result = match method {
            "server/discover" => listed(json!({
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {}},
                "instructions": tool.instructions(),
            })),
            "tools/list" => listed(json!({"tools": [tool.definition()]})),
            "tools/call" => return self.call(id, message, true),
            other => return Err(unknown(other)),
        };
        Ok(Reply::Response(response(id, &complete(result))))
    }

    fn initialized(&self, params: &Value) -> Value {
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let version = HANDSHAKE.iter().find(|version| **version == asked);
        json!({
            "protocolVersion": version.unwrap_or(&HANDSHAKE[0]),
            "capabilities": {"tools": {}},
            "serverInfo": server_info(),
            "instructions": self.service.tool.instructions(),
        })
    }

    fn call(
        self: &Arc<Self>,
        id: &Value,
        message: &Value,
        is_modern: bool,
    ) -> Result<Reply, Refusal> {
        let (params, tool) = (&message["params"], &self.service.tool);
        let (name, known) = (params["name"].as_str().unwrap_or_default(), tool.name());
        if name != known {
            let message = format!("osier has no tool `{name}`; it has `{known}`");
            return Err(Refusal::new(INVALID_PARAMETERS, message));
        }
        if self.calls.lock().contains_key(&id.to_string()) {
            let message = "a request with this id has no answer yet";
            return Err(Refusal::new(INVALID_REQUEST, message));
        }
        let finish = move |result| if is_modern { complete(result) } else { result };
        let fail = |message: &str| Ok(Reply::Response(response(id, &finish(failed(message)))));
        let Ok(permit) = Arc::clone(&self.service.permits).try_acquire_owned() else {
            return fail(&format!("{CALLS} calls run already; wait for one of them"));
        };
        let (messages, receiver) = mpsc::unbounded_channel();
        let cancel = self.service.cancel.child_token();
        let context = CallContext {
            cancel: cancel.clone(),
            messages: messages.clone(),
            token: params["_meta"].get("progressToken").cloned(),
            count: 0,
        };
        let result = match tool.call(&params["arguments"], context) {
            Ok(result) => result,
            Err(message) => return fail(&message),
        };
        self.calls.lock().insert(id.to_string(), cancel.clone());
        let answering = Answering {
            id: id.clone(),
            cancel: cancel.clone(),
            messages,
            _permit: permit,
        };
        self.run(answering, async move { finish(result.await) });
        Ok(Reply::Call(Call {
            messages: receiver,
            cancel,
        }))
    }

    fn run(
        self: &Arc<Self>,
        call: Answering,
        result: impl Future<Output = Value> + Send + 'static,
    ) {
        let client = Arc::clone(self);
        let work = async move {
            let result = result.await;
            client.calls.lock().remove(&call.id.to_string());
            if !call.cancel.is_cancelled() {
                // The receiver is gone if the client is.
                let _ = call.messages.send(response(&call.id, &result));
            }
        };
        osier_base::task::spawn(self.service.running.track_future(work));
    }
}

/// A running call, which will answer its request.
struct Answering {
    id: Value,
    cancel: CancellationToken,
    messages: mpsc::UnboundedSender<Value>,
    _permit: OwnedSemaphorePermit,
}

fn unknown(method: &str) -> Refusal {
    Refusal::new(UNKNOWN_METHOD, format!("osier has no method `{method}`"))
}

fn server_info() -> Value {
    json!({"name": "osier", "title": "osier", "version": env!("CARGO_PKG_VERSION")})
}

/// A result that clients may keep.
fn listed(mut result: Value) -> Value {
    result["ttlMs"] = LIST_TTL.into();
    result["cacheScope"] = "public".into();
    result
}

/// A result of a version without a handshake.
fn complete(mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({SERVER_INFO: server_info()});
    result
}
