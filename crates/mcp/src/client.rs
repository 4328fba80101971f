//! The client side of a connection: handles requests and notifications of the server.

#![expect(
    deprecated,
    reason = "servers of versions before 2026-07-28 still request roots and sampling, and send logs"
)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, Root, RootsCapabilities, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::elicitation;
use super::log::ServerLog;
use osier_base::percent;
use osier_protocol::questions::Questions;

/// A list of the server that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    Tools,
    Prompts,
    Resources,
}

/// The progress of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Requests whose progress is reported. It is locked while a request is sent, so that the first notification
/// cannot arrive before the request is registered.
pub(super) type Followed = Arc<Mutex<HashMap<ProgressToken, mpsc::UnboundedSender<Progress>>>>;

/// Counts the questions that wait for the user.
#[derive(Debug, Clone, Default)]
pub(super) struct Asking(Arc<AtomicUsize>);

impl Asking {
    pub(super) fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Counts one question until the guard is dropped.
    fn begin(&self) -> AskingGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        AskingGuard(Arc::clone(&self.0))
    }
}

/// A question that waits.
#[derive(Debug)]
struct AskingGuard(Arc<AtomicUsize>);

impl Drop for AskingGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The handler of one connection.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub server: String,
    pub cwd: PathBuf,
    /// The working directory of a server that does not start in the project.
    pub folder: PathBuf,
    pub questions: Questions,
    pub changed: mpsc::UnboundedSender<Changed>,
    /// Receives the server's challenge when a request fails because it requires a sign-in.
    pub refused: mpsc::UnboundedSender<String>,
    pub followed: Followed,
    pub asking: Asking,
    pub log: Arc<ServerLog>,
}

impl Client {
    /// The working directory.
    pub(super) fn roots(&self) -> ListRootsResult {
        let name = self.cwd.file_name().unwrap_or(self.cwd.as_os_str());
        let mut root = Root::new(file_uri(&self.cwd));
        root.name = Some(name.to_string_lossy().into_owned());
        ListRootsResult::new(vec![root])
    }

    pub(super) async fn elicit(
        &self,
        params: ElicitRequestParams,
        cancel: &CancellationToken,
    ) -> ElicitResult {
        let _asking = self.asking.begin();
        elicitation::ask(&self.questions, &self.server, params, cancel).await
    }

    fn note(&self, changed: Changed) {
        // The receiver may have ended.
        let _ = self.changed.send(changed);
    }
}

/// `file:///path`, percent-encoded.
fn file_uri(path: &std::path::Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    format!("file://{}", percent::path(path.as_os_str().as_bytes()))
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        capabilities.elicitation = Some(elicitation);
        let me = Implementation::new("osier", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, me)
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let message = "sampling is not supported";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(params, &context.ct).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let followed = self.followed.lock().await;
        if let Some(follower) = followed.get(&params.progress_token) {
            // The request may have just ended.
            let _ = follower.send(Progress {
                done: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.log.line("log", &params.data.to_string());
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note(Changed::Tools);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note(Changed::Prompts);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note(Changed::Resources);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_becomes_a_file_url() {
        let uri = file_uri(std::path::Path::new("/a b/ä"));
        assert_eq!(uri, "file:///a%20b/%C3%A4");
    }
}
