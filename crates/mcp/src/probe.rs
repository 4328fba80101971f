//! The probe for servers of the protocol from 2026 on: `server/discover` comes before the handshake
//! of older versions. A server that ignores it, or answers it with something else, gets the
//! handshake on the same connection, so that the probe costs little time, and the server starts
//! only once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::Instant;

use super::log::ServerLog;

/// How long a server has to answer the probe.
pub(super) const PROBE_TIME: Duration = Duration::from_millis(1500);

/// The findings of the probe of one connection. Cheap to clone.
pub(super) type ProbeReport = Arc<Findings>;

#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Whether the server may be a slow 2026 server.
    pub was_slow: Flag,
    /// Whether the server does not know the probe.
    pub is_older: Flag,
    /// Whether the server accepts no messages at its URL, as with the HTTP protocol of 2024.
    pub refuses_posts: Flag,
}

/// A finding. Once it is set, it stays.
#[derive(Debug, Default)]
pub(super) struct Flag(AtomicBool);

impl Flag {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The id of a probe.
pub(super) fn probe_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::DiscoverRequest(_)) =>
        {
            Some(request.id.clone())
        }
        _ => None,
    }
}

/// Whether an answer with the id `answered` is for the request `asked`. Some servers answer with the number as a string.
fn is_same(asked: &RequestId, answered: &RequestId) -> bool {
    asked == answered || asked.to_string() == answered.to_string()
}

/// The answer of an older server to the probe.
pub(super) fn unknown_method(id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::new(
        rmcp::model::ErrorCode::METHOD_NOT_FOUND,
        "the server did not answer `server/discover`",
        None,
    );
    ServerJsonRpcMessage::error(error, Some(id))
}

/// The answer to the probe `id`. An invalid answer becomes the answer of an older server. `Err` is
/// a message that is no answer.
pub(super) fn probe_answer(
    id: &RequestId,
    message: ServerJsonRpcMessage,
) -> Result<ServerJsonRpcMessage, Box<ServerJsonRpcMessage>> {
    match message {
        JsonRpcMessage::Response(response)
            if is_same(id, &response.id)
                && matches!(response.result, ServerResult::DiscoverResult(_)) =>
        {
            Ok(JsonRpcMessage::Response(response))
        }
        JsonRpcMessage::Response(_) => Ok(unknown_method(id.clone())),
        JsonRpcMessage::Error(error) => {
            Ok(ServerJsonRpcMessage::error(error.error, Some(id.clone())))
        }
        message => Err(Box::new(message)),
    }
}

/// A connection that limits the time of the probe.
#[derive(Debug)]
pub(super) struct Probing<T> {
    inner: T,
    state: State,
    report: ProbeReport,
    log: Arc<ServerLog>,
    /// The time limit; not set if the server is known to be a 2026 server.
    limit: Option<Duration>,
}

#[derive(Debug)]
enum State {
    Idle,
    Waiting {
        id: RequestId,
        deadline: Instant,
    },
    /// The probe was abandoned; its answer comes too late.
    Abandoned(RequestId),
}

impl<T> Probing<T> {
    pub(super) fn new(
        inner: T,
        report: ProbeReport,
        log: &Arc<ServerLog>,
        limit: Option<Duration>,
    ) -> Self {
        let state = State::Idle;
        Self {
            inner,
            state,
            report,
            log: Arc::clone(log),
            limit,
        }
    }

    /// The message that the client receives for `message`, if any.
    fn judge(
        &mut self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Option<RxJsonRpcMessage<RoleClient>> {
        match &self.state {
            State::Idle => Some(message),
            State::Waiting { id, .. } => match probe_answer(id, message) {
                Ok(answer) => {
                    self.state = State::Idle;
                    Some(answer)
                }
                Err(message) => Some(*message),
            },
            State::Abandoned(id) => {
                let answered = match &message {
                    JsonRpcMessage::Response(response) => Some(&response.id),
                    JsonRpcMessage::Error(error) => error.id.as_ref(),
                    _ => None,
                };
                if !answered.is_some_and(|answered| is_same(id, answered)) {
                    return Some(message);
                }
                if let JsonRpcMessage::Response(response) = &message
                    && matches!(response.result, ServerResult::DiscoverResult(_))
                {
                    self.report.was_slow.set();
                }
                self.state = State::Idle;
                None
            }
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Probing<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let (Some(id), Some(limit)) = (probe_id(&item), self.limit) {
            let deadline = Instant::now() + limit;
            self.state = State::Waiting { id, deadline };
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match &self.state {
                State::Waiting { id, deadline } => {
                    tokio::select! {
                        message = self.inner.receive() => message?,
                        () = tokio::time::sleep_until(*deadline) => {
                            let id = id.clone();
                            self.log.line("osier", "no answer to `server/discover`: continuing with `initialize`");
                            self.state = State::Abandoned(id.clone());
                            self.report.is_older.set();
                            return Some(unknown_method(id));
                        }
                    }
                }
                _ => self.inner.receive().await?,
            };
            if let Some(message) = self.judge(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use serde_json::{Value, json};

    use super::super::hidden::Hidden;
    use super::*;

    /// A connection whose server sends these messages, and then nothing. At each null, the server
    /// pauses.
    struct Server(VecDeque<Value>);

    impl Transport<RoleClient> for Server {
        type Error = std::io::Error;

        fn send(
            &mut self,
            _item: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            match self.0.pop_front() {
                Some(Value::Null) | None => std::future::pending().await,
                Some(message) => Some(serde_json::from_value(message).unwrap()),
            }
        }

        async fn close(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    /// The messages that the client gets after a probe with the id 0, at most `count`.
    async fn received(sent: Vec<Value>, count: usize) -> (Vec<Value>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(ServerLog::new(folder.path(), "s", Hidden::default()));
        let report = ProbeReport::default();
        let server = Server(sent.into());
        let mut probing = Probing::new(server, report.clone(), &log, Some(PROBE_TIME));
        let probe = json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {}});
        probing
            .send(serde_json::from_value(probe).unwrap())
            .await
            .unwrap();
        let mut received = Vec::new();
        for _ in 0..count {
            let message = probing.receive().await.unwrap();
            received.push(serde_json::to_value(message).unwrap());
        }
        (received, report.was_slow.is_set())
    }

    fn discovered(id: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": {
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
            "ttlMs": 0, "cacheScope": "private",
        }})
    }

    fn unknown() -> Value {
        serde_json::to_value(unknown_method(RequestId::Number(0))).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_ignored_probe_ends_after_its_time() {
        let (messages, was_slow) = received(Vec::new(), 1).await;
        assert_eq!((messages, was_slow), (vec![unknown()], false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_answer_is_dropped_and_reported() {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let sent = vec![Value::Null, discovered(&json!(0)), note.clone()];
        let (messages, was_slow) = received(sent, 2).await;
        assert_eq!((messages, was_slow), (vec![unknown(), note], true));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_of_another_kind_is_that_of_an_older_server() {
        for answer in [
            json!({"jsonrpc": "2.0", "id": 0, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
            discovered(&json!(7)),
        ] {
            let (messages, _) = received(vec![answer.clone()], 1).await;
            assert_eq!(messages, [unknown()], "{answer}");
        }
        let error = json!({"code": -32600, "message": "no"});
        let other = json!({"jsonrpc": "2.0", "id": 9, "error": error});
        let expected = json!({"jsonrpc": "2.0", "id": 0, "error": error});
        assert_eq!(received(vec![other], 1).await.0, [expected]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_valid_answer_and_other_messages_pass() {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let (messages, _) = received(vec![note.clone(), discovered(&json!(0))], 2).await;
        assert_eq!(messages[0], note);
        assert_eq!(
            messages[1]["result"]["supportedVersions"],
            json!(["2026-07-28"])
        );
    }
}
