//! Two clients of one session: both receive its events, each receives its own answers, and a question that one has
//! answered is closed for the other.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use osier_agent::RunOutcome;
use osier_llm::Script;
use osier_protocol::PermissionMode;
use osier_protocol::questions::{Answer, Grant};
use osier_rpc::{Client, Events, QuestionHandler, UiRequest, serve};
use osier_session::{SessionChoice, SessionHandle};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::support::session::TestProject;

/// A client of the session.
async fn join(
    serving: &mut JoinSet<()>,
    host: &SessionHandle,
    person: impl QuestionHandler,
) -> (Client, Events) {
    let (here, there) = tokio::io::duplex(4096);
    let (host, events) = (host.clone(), host.subscribe());
    serving.spawn(async move {
        let (input, output) = tokio::io::split(there);
        serve(&host, events, input, output, std::future::pending()).await;
    });
    let (input, output) = tokio::io::split(here);
    Client::connect(input, output, person).await.unwrap()
}

/// Allows everything.
struct Yes;

impl QuestionHandler for Yes {
    fn answer(&self, _: UiRequest) -> BoxFuture<'static, Answer> {
        let (grant, arguments) = (Grant::Once, None);
        std::future::ready(Answer::Allow { grant, arguments }).boxed()
    }
}

/// Waits until the request is closed, and reports both.
struct Slow(mpsc::UnboundedSender<&'static str>);

struct Thinking(mpsc::UnboundedSender<&'static str>);

impl Drop for Thinking {
    fn drop(&mut self) {
        let _ = self.0.send("closed");
    }
}

impl QuestionHandler for Slow {
    fn answer(&self, _: UiRequest) -> BoxFuture<'static, Answer> {
        let _ = self.0.send("asked");
        let thinking = Thinking(self.0.clone());
        async move {
            let _thinking = thinking;
            std::future::pending().await
        }
        .boxed()
    }
}

#[tokio::test]
async fn two_clients_of_a_session_receive_only_their_own_answers() {
    let place = TestProject::new();
    let script = Script::new()
        .turn(|turn| turn.when_result("").text("done").repeat())
        .turn(|turn| {
            let call = json!({"command": "touch x"});
            turn.when_user("zztool").tool("bash", call).repeat()
        })
        .turn(|turn| turn.text("answer").repeat());
    let open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.answers_questions = true;
            setup.permissions = Some(PermissionMode::Ask);
        })
        .await;
    let mut serving = JoinSet::new();
    let (told, mut heard) = mpsc::unbounded_channel();
    let (slow, mut slow_events) = join(&mut serving, &open.host, Slow(told)).await;
    let (quick, mut quick_events) = join(&mut serving, &open.host, Yes).await;
    slow.prompt("hi").await.unwrap();
    assert_eq!(slow_events.settled().await, Some(RunOutcome::Completed));
    assert_eq!(quick_events.settled().await, Some(RunOutcome::Completed));
    // Both number their commands from 1: responses must not be mixed up.
    let (messages, state, text) = tokio::join!(slow.messages(), quick.state(), quick.last_text());
    assert_eq!(messages.unwrap().len(), 2);
    assert_eq!(state.unwrap().message_count, 2);
    assert_eq!(text.unwrap().as_deref(), Some("answer"));
    quick.prompt("zztool").await.unwrap();
    assert_eq!(quick_events.settled().await, Some(RunOutcome::Completed));
    assert_eq!(heard.recv().await, Some("asked"));
    assert_eq!(heard.recv().await, Some("closed"));
    drop((slow, quick));
    serving.join_all().await;
}
