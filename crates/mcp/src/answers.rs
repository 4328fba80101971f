//! Limits the requests of a server: a server that sends requests and does not read the answers is
//! stopped before the waiting answers fill the memory.

use std::sync::Arc;

use rmcp::model::{JsonRpcMessage, NumberOrString};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

use super::log::ServerLog;

/// Maximum number of answers that the server has not read; with more, it is stopped.
const UNREAD_LIMIT: usize = 1000;
/// Maximum bytes of the id of a request: its answer repeats it.
const ID_LIMIT: usize = 256;

/// A connection whose server must read the answers to its requests.
#[derive(Debug)]
pub(super) struct Answering<T> {
    inner: T,
    log: Arc<ServerLog>,
    /// One clone per answer that is not written yet.
    unread: Arc<()>,
    /// Whether the last message was a request, which must be answered before the next message.
    is_request: bool,
    /// Cancelled to drop the waiting answers.
    stopped: CancellationToken,
}

impl<T> Answering<T> {
    pub(super) fn new(inner: T, log: &Arc<ServerLog>) -> Self {
        Self {
            inner,
            log: Arc::clone(log),
            unread: Arc::default(),
            is_request: false,
            stopped: CancellationToken::new(),
        }
    }

    /// Why the server must be stopped after it sent `message`.
    fn fault(&self, message: &RxJsonRpcMessage<RoleClient>) -> Option<String> {
        let JsonRpcMessage::Request(request) = message else {
            return None;
        };
        match &request.id {
            NumberOrString::String(id) if id.len() > ID_LIMIT => Some(format!(
                "stopped: the id of a request has {} bytes, and the limit is {ID_LIMIT}",
                id.len()
            )),
            _ if Arc::strong_count(&self.unread) > UNREAD_LIMIT => Some(format!(
                "stopped: it sends requests, but has not read {UNREAD_LIMIT} answers"
            )),
            _ => None,
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Answering<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let answer = is_answer.then(|| (Arc::clone(&self.unread), self.stopped.clone()));
        let sending = self.inner.send(item);
        async move {
            let Some((_unread, stopped)) = answer else {
                return sending.await;
            };
            tokio::select! {
                biased;
                () = stopped.cancelled() => Ok(()),
                sent = sending => sent,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        // The future can be dropped here. The next call then waits again.
        if self.is_request {
            tokio::task::yield_now().await;
            self.is_request = false;
        }
        let message = self.inner.receive().await?;
        self.is_request = matches!(message, JsonRpcMessage::Request(_));
        if let Some(fault) = self.fault(&message) {
            self.log.line("osier", &fault);
            self.stopped.cancel();
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use osier_base::process::Invocation;
    use rmcp::model::{ClientResult, EmptyObject};

    use super::super::hidden::Hidden;
    use super::*;
    use crate::stdio::StdioTransport;

    fn server(script: &str, log: &Arc<ServerLog>) -> Answering<StdioTransport> {
        let invocation = Invocation::new("/bin/sh", ["-c", script]);
        let inner = StdioTransport::start(&invocation, Arc::clone(log), false).unwrap();
        Answering::new(inner, log)
    }

    fn answer(message: RxJsonRpcMessage<RoleClient>) -> TxJsonRpcMessage<RoleClient> {
        let JsonRpcMessage::Request(request) = message else {
            panic!("{message:?}");
        };
        let result = ClientResult::EmptyResult(EmptyObject {});
        JsonRpcMessage::response(result, request.id)
    }

    fn pings(count: &str) -> String {
        format!(r#"yes '{{"jsonrpc":"2.0","id":1,"method":"ping"}}' {count}"#)
    }

    #[tokio::test]
    async fn a_server_that_reads_no_answers_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(ServerLog::new(folder.path(), "s", Hidden::default()));
        let mut server = server(&pings(""), &log);
        let mut unread = Vec::new();
        while let Some(message) = server.receive().await {
            // An answer that is not written, as with a full pipe.
            unread.push(server.send(answer(message)));
        }
        assert_eq!(unread.len(), 1000);
        for answer in unread {
            answer.await.unwrap();
        }
        let log = fs::read_to_string(log.path()).unwrap();
        assert!(
            log.contains("stopped: it sends requests, but has not read 1000 answers"),
            "{log}"
        );
    }

    #[tokio::test]
    async fn a_server_that_reads_its_answers_can_send_any_number_of_requests() {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(ServerLog::new(folder.path(), "s", Hidden::default()));
        let mut server = server(&format!("{} & cat >/dev/null", pings("| head -3000")), &log);
        for _ in 0..3000 {
            let message = server.receive().await.unwrap();
            server.send(answer(message)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_long_id_is_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(ServerLog::new(folder.path(), "s", Hidden::default()));
        let id = "x".repeat(257);
        let script =
            format!(r#"echo '{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}'; cat >/dev/null"#);
        assert!(server(&script, &log).receive().await.is_none());
        let log = fs::read_to_string(log.path()).unwrap();
        assert!(
            log.contains("the id of a request has 257 bytes, and the limit is 256"),
            "{log}"
        );
    }
}
