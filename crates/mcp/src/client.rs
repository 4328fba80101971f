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
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, JsonObject, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    ResourceUpdatedNotificationParam, Root, RootsCapabilities, SamplingCapability,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::attached::Attached;
use super::changes::ToolChanges;
use super::elicitation::{self, ElicitationRules};
use super::log::ServerLog;
use super::sampling::Sampling;
use osier_base::percent;
use osier_protocol::questions::Questions;

/// A list that the server has changed.
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

/// Maximum questions of one server that wait for the user; more are declined.
const ASKING_LIMIT: usize = 8;

/// Counts the questions that wait for the user.
#[derive(Debug, Clone, Default)]
pub(super) struct Asking(Arc<AtomicUsize>);

impl Asking {
    pub(super) fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Counts one question until the guard is dropped, unless too many wait.
    fn begin(&self) -> Option<AskingGuard> {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        let guard = AskingGuard(Arc::clone(&self.0));
        (before < ASKING_LIMIT).then_some(guard)
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
    pub rules: Option<Arc<dyn ElicitationRules>>,
    pub changed: mpsc::UnboundedSender<Changed>,
    pub tool_changes: ToolChanges,
    /// The attached resources of the server.
    pub attached: Attached,
    /// Receives the server's challenge when a request fails because it requires a sign-in.
    pub refused: mpsc::UnboundedSender<String>,
    pub followed: Followed,
    pub asking: Asking,
    pub sampling: Sampling,
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
    ) -> Result<ElicitResult, String> {
        let Some(_asking) = self.asking.begin() else {
            let message = format!("declined a question: {ASKING_LIMIT} others wait for the user");
            self.log.line("osier", &message);
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let rules = self.rules.as_deref();
        elicitation::ask_under(rules, &self.questions, &self.server, params, cancel).await
    }

    /// Calls the model for the server.
    pub(super) async fn sample(
        &self,
        params: CreateMessageRequestParams,
        cancel: &CancellationToken,
    ) -> Result<CreateMessageResult, ErrorData> {
        let Some(_asking) = self.asking.begin() else {
            let message = format!("{ASKING_LIMIT} other requests of the server wait");
            return Err(ErrorData::internal_error(message, None));
        };
        let (sampling, questions) = (&self.sampling, &self.questions);
        let answer = sampling.answer(&self.server, params, questions, cancel);
        answer.await
    }

    pub(super) fn note(&self, changed: Changed) {
        if changed == Changed::Tools {
            self.tool_changes.announce();
        }
        // The receiver may have ended.
        let _ = self.changed.send(changed);
    }
}

/// The path as `file:///path`, percent-encoded.
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
        if self.sampling.is_offered() {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        capabilities.extensions = Some([tasks].into());
        let me = Implementation::new("osier", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, me)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let answer = self.sample(params, &context.ct).await;
        answer.inspect_err(|error| self.log.line("osier", &error.message))
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
        let answer = self.elicit(params, &context.ct).await;
        answer.map_err(|message| ErrorData::invalid_params(message, None))
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

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.attached.changed(&params.uri);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note(Changed::Resources);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use futures_util::stream::FuturesUnordered;
    use osier_protocol::questions::Request;

    use super::super::config::SamplingRule;
    use super::super::hidden::Hidden;
    use super::*;

    #[test]
    fn a_directory_becomes_a_file_url() {
        let uri = file_uri(std::path::Path::new("/a b/ä"));
        assert_eq!(uri, "file:///a%20b/%C3%A4");
    }

    #[tokio::test]
    async fn only_a_few_questions_of_a_server_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (questions, mut requests) = Questions::new();
        let client = Client {
            server: "shop".into(),
            cwd: folder.path().into(),
            folder: folder.path().into(),
            questions,
            rules: None,
            changed: mpsc::unbounded_channel().0,
            tool_changes: ToolChanges::default(),
            attached: Attached::default(),
            refused: mpsc::unbounded_channel().0,
            followed: Arc::default(),
            asking: Asking::default(),
            sampling: Sampling {
                rule: SamplingRule::Ask,
                sampler: None,
                is_interactive: true,
                spent: Arc::default(),
            },
            log: Arc::new(ServerLog::new(folder.path(), "shop", Hidden::default())),
        };
        let params = serde_json::json!({"mode": "form", "message": "Which?",
            "requestedSchema": {"type": "object", "properties": {}}});
        let params: ElicitRequestParams = serde_json::from_value(params).unwrap();
        let cancel = CancellationToken::new();
        let mut waiting: FuturesUnordered<_> = (0..10_000)
            .map(|_| client.elicit(params.clone(), &cancel))
            .collect();
        for _ in 0..9_992 {
            let answer = waiting.next().await.unwrap().unwrap();
            assert_eq!(answer.action, ElicitationAction::Decline);
        }
        let mut asked = 0;
        while let Ok(Request::Ask { .. }) = requests.try_recv() {
            asked += 1;
        }
        assert_eq!((asked, waiting.len()), (8, 8));
        // Ended questions do not count.
        drop(waiting);
        assert!(!client.asking.is_any());
    }
}
