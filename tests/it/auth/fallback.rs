//! A provider that is skipped because of its key: the fallback answers until the user has signed in again, then the
//! first provider answers.

use osier_llm::Script;
use osier_llm::auth::{Credential, CredentialFile, KeySource};
use osier_protocol::{Event, LoginInput, LoginMethod, Op, Typed};
use osier_session::SessionChoice;
use serde_json::json;

use super::store;
use crate::support::oauth::{Behaviour, OAuth};
use crate::support::session::{OpenSession, TestProject};
use crate::support::web_server::{ReceivedRequest, WebServer, events, json as answer};

/// A session with the models of this `models.json`, of which `first` is the first; `test/one` is the fallback.
async fn open(place: &TestProject, models: &str, first: &str) -> OpenSession {
    let path = place.data().join("models.json");
    osier_base::atomic_file::write(&path, models.as_bytes()).unwrap();
    place
        .open_with(SessionChoice::New, Script::always("the other"), |setup| {
            setup.model = Some(first.to_owned());
            setup.settings.fallback = vec!["test/one".to_owned()];
        })
        .await
}

/// The answers of a run, and a line for each change of provider.
async fn ask(open: &mut OpenSession, text: &str) -> Vec<String> {
    let told = open
        .run(text)
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::Agent(osier_agent::Event::MessageEnd { message, .. }) => match &*message {
                osier_agent::AgentMessage::Assistant(answer) => Some(answer.text()),
                _ => None,
            },
            Event::Agent(osier_agent::Event::ProviderSwitched { from, to, .. }) => {
                Some(format!("{from} -> {to}"))
            }
            _ => None,
        });
    told.collect()
}

/// Starts a sign-in. Returns the requested input and the URL.
async fn log_in(
    open: &mut OpenSession,
    provider: &str,
    method: Option<LoginMethod>,
) -> (LoginInput, Option<String>) {
    let provider = provider.to_owned();
    open.host.send(Op::Login { provider, method });
    let seen = open
        .until(|event| matches!(event, Event::LoginStarted { .. }))
        .await;
    match seen.into_iter().last() {
        Some(Event::LoginStarted { input, url, .. }) => (input, url),
        _ => unreachable!(),
    }
}

async fn type_in(open: &mut OpenSession, text: String) {
    let text = Typed(text);
    open.host.send(Op::LoginInput { text });
    let seen = open
        .until(|event| matches!(event, Event::LoginEnded { .. }))
        .await;
    assert!(
        matches!(seen.last(), Some(Event::LoginEnded { error: None, .. })),
        "{seen:?}"
    );
    open.until(|event| matches!(event, Event::ModelSelected { .. }))
        .await;
}

#[tokio::test]
async fn new_key_restores_the_first_provider() {
    let server = WebServer::start(|asked: &ReceivedRequest, _| {
        if asked.header("authorization") != "Bearer sk-new-key-1234567890" {
            let error = json!({"error": {"message": "this key was revoked"}});
            return answer("401 Unauthorized", &error);
        }
        let said = json!({"choices": [{"index": 0, "delta": {"content": "the first"}, "finish_reason": "stop"}]});
        events(&[said])
    });
    let place = TestProject::new();
    let file = CredentialFile::new(place.data().join("auth.json"));
    let old = Credential::Key(KeySource::parse("sk-old-key-1234567890"));
    file.change(|store| store.put("here", &old)).await.unwrap();
    let models = json!({"providers": {"here": {
        "baseUrl": server.url(), "api": "openai-chat-completions", "models": [{"id": "m"}],
    }}});
    let mut open = open(&place, &models.to_string(), "here/m").await;
    assert_eq!(
        ask(&mut open, "one").await,
        ["here/m -> test/one", "the other"]
    );
    assert_eq!(ask(&mut open, "two").await, ["the other"]);
    assert_eq!(server.lines().len(), 1, "a refused key is not tried again");

    let (input, _) = log_in(&mut open, "here", None).await;
    assert_eq!(input, LoginInput::Key);
    type_in(&mut open, "sk-new-key-1234567890".to_owned()).await;
    assert_eq!(ask(&mut open, "three").await, ["the first"]);
    // The request contains the answers of the fallback.
    let messages = server.asked()[1].json()["messages"].clone();
    let said: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] != "system")
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(said, ["one", "the other", "two", "the other", "three"]);
    open.close().await;
}

#[tokio::test]
async fn new_sign_in_restores_the_first_provider() {
    let server = OAuth::start(Behaviour {
        token_errors: ["invalid_grant"].into(),
        ..Behaviour::default()
    });
    let place = TestProject::new();
    let file = CredentialFile::new(place.data().join("auth.json"));
    store(&server, &file, 60 * 60 * 1000).await;
    server.forget_access();
    let mut open = open(&place, &server.models_json(&json!({})), "lab/m").await;
    assert_eq!(
        ask(&mut open, "one").await,
        ["lab/m -> test/one", "the other"]
    );
    assert_eq!(ask(&mut open, "two").await, ["the other"]);
    let asked = ["model 401", "refresh asked", "token refresh_token"];
    assert_eq!(server.log(), asked);

    let (input, url) = log_in(&mut open, "lab", Some(LoginMethod::Browser)).await;
    assert_eq!(input, LoginInput::Code);
    let callback = server.redirect(&url.expect("an address")).await;
    type_in(&mut open, callback).await;
    assert_eq!(ask(&mut open, "three").await, ["signed in"]);
    assert_eq!(
        server.log()[3..],
        ["authorize", "token authorization_code", "model 200"]
    );
    open.close().await;
}
