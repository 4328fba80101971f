//! Servers that ask the model.

use std::sync::Arc;

use osier_llm::Script;
use osier_protocol::questions::{Answer, Subject};
use osier_protocol::{Event, Op, ServerState};
use osier_session::SessionChoice;
use serde_json::json;

use super::{config, fake, notices, peer, state};
use crate::support::session::{OpenSession, TestProject};

/// A call of `tool`, the answer to the server, and the end.
fn script(tool: &str, arguments: serde_json::Value) -> Script {
    Script::new()
        .turn(|turn| turn.tool(tool, arguments).with_id("c"))
        .turn(|turn| turn.text("blue"))
        .turn(|turn| turn.text("done"))
}

async fn ready(place: &TestProject, script: Script, is_interactive: bool) -> OpenSession {
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.answers_questions = is_interactive;
            setup.environment = Arc::new(std::env::vars().collect());
        })
        .await;
    state(&mut open, |state| state == ServerState::Ready).await;
    open
}

/// Answers the next question, and returns what it shows.
async fn answer(open: &mut OpenSession, answer: Answer) -> (String, String) {
    let asked = open
        .until(|event| matches!(event, Event::QuestionAsked { .. }))
        .await;
    let Some(Event::QuestionAsked { question }) = asked.last() else {
        panic!("a question");
    };
    let id = question.id.clone();
    open.host.send(Op::AnswerQuestion { id, answer });
    let text = match &question.subject {
        Some(Subject::Text { text }) => text.clone(),
        other => panic!("{other:?}"),
    };
    (question.origin.clone(), text)
}

#[tokio::test]
async fn the_user_allows_or_refuses_each_request() {
    for (reply, expected) in [
        (Answer::Yes, "result c: the model said blue"),
        (
            Answer::Refuse { reason: None },
            "result c: the user refused the request to the model",
        ),
    ] {
        let place = TestProject::new();
        config(&place, &json!({"fake": fake("more")}));
        let is_allowed = reply == Answer::Yes;
        let mut open = ready(&place, script("fake__sample", json!({})), true).await;
        open.prompt("go");
        let (origin, text) = answer(&mut open, reply).await;
        assert_eq!(origin, "the MCP server `fake`");
        assert_eq!(text, "User: Name a colour");
        let events = open.settled().await;
        // The call is shown and counted, and the model gets nothing of the conversation.
        let requests = open.provider.requests();
        assert_eq!(requests.len(), if is_allowed { 3 } else { 2 });
        let result = requests.last().unwrap().context.messages.last().cloned();
        assert_eq!(open.last_request().last().unwrap(), expected, "{result:?}");
        let shown = notices(&events);
        let is_shown =
            |notice: &String| notice.starts_with("the MCP server `fake` used the model test/one: ");
        assert_eq!(shown.iter().any(is_shown), is_allowed, "{shown:?}");
        if is_allowed {
            let sampled = &requests[1].context;
            assert_eq!((sampled.messages.len(), sampled.tools.len()), (1, 0));
            assert_eq!(sampled.system_prompt, "");
            assert_eq!(requests[1].options.max_tokens, Some(100));
        }
        open.close().await;
    }
}

#[tokio::test]
async fn a_run_without_a_user_refuses_unless_the_configuration_allows() {
    for (rule, expected) in [
        (
            json!("ask"),
            "result c: the request to the model is refused: osier runs non-interactively; the user can allow it with `",
        ),
        (json!("allow"), "result c: the model said blue"),
        (
            json!("deny"),
            "result c: sampling is not allowed for this server",
        ),
    ] {
        let place = TestProject::new();
        let mut server = fake("more");
        server["sampling"] = rule;
        config(&place, &json!({"fake": server}));
        let mut open = ready(&place, script("fake__sample", json!({})), false).await;
        open.run("go").await;
        assert_eq!(open.last_request().last().unwrap(), expected);
        open.close().await;
    }
}

#[tokio::test]
async fn a_public_server_asks_the_model() {
    let Some(program) = peer("mcp-server-everything") else {
        return;
    };
    let place = TestProject::new();
    config(
        &place,
        &json!({"peer": {"command": program, "sampling": "allow"}}),
    );
    let arguments = json!({"prompt": "Name a colour", "maxTokens": 50});
    let script = script("peer__trigger-sampling-request", arguments);
    let mut open = ready(&place, script, false).await;
    open.run("go").await;
    let told = open.last_request().pop().unwrap();
    assert!(told.contains("blue"), "{told}");
    open.close().await;
}
