//! Who answers the questions of an agent.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::ui::UiRequest;
use osier_agent::Severity;
use osier_protocol::questions::Answer;

/// Answers the questions of an agent.
pub trait QuestionHandler: Send + Sync + 'static {
    /// Answers a question. The future is dropped when the question is closed by a timeout, an interrupt or another
    /// client.
    fn answer(&self, request: UiRequest) -> BoxFuture<'static, Answer>;

    /// Shows a notice.
    fn notice(&self, _severity: Severity, _text: String) {}

    /// Whether questions can be answered. If not, the agent dismisses them itself.
    fn can_answer(&self) -> bool {
        true
    }
}

/// Dismisses every question.
#[derive(Debug, Clone, Copy, Default)]
pub struct DismissQuestions;

impl QuestionHandler for DismissQuestions {
    fn answer(&self, _: UiRequest) -> BoxFuture<'static, Answer> {
        std::future::ready(Answer::Dismissed).boxed()
    }

    fn can_answer(&self) -> bool {
        false
    }
}

/// Sends each question to a receiver, which sends the answer back, or drops the sender to dismiss the question.
impl QuestionHandler for mpsc::UnboundedSender<(UiRequest, oneshot::Sender<Answer>)> {
    fn answer(&self, request: UiRequest) -> BoxFuture<'static, Answer> {
        let (reply, response) = oneshot::channel();
        let sent = self.send((request, reply));
        async move {
            match sent {
                Ok(()) => response.await.unwrap_or(Answer::Dismissed),
                Err(_) => Answer::Dismissed,
            }
        }
        .boxed()
    }
}
