//! Idle sessions are unloaded, and loaded again for the next client.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::AgentMessage;
use osier_base::folders::Folders;
use osier_hub::{
    Activity, ClientHandle, ClientIdentity, OpenError, OpenOptions, SessionRegistry, SharedSession,
    Subscriber,
};
use osier_llm::{Script, ScriptedProvider};
use osier_protocol::{Event, PermissionMode};
use osier_session::SessionSetup;

use crate::support::agent::model;
use crate::support::session::TestProject;

fn registry(place: &TestProject) -> SessionRegistry {
    let script = Script::new().turn(|turn| turn.text("answer").repeat());
    let mut setup = SessionSetup::new(Folders::under(&place.data()), place.work());
    setup.settings.discover_local_models = false;
    setup.embedded = Some((model("test/one"), Arc::new(ScriptedProvider::new(script))));
    SessionRegistry::new(setup)
}

/// Sends a prompt and waits for the end of the run.
async fn talk(session: &SharedSession, events: &mut Subscriber) {
    let (text, attachments) = ("hello".to_owned(), Vec::new());
    let prompt = osier_agent::Op::Prompt {
        text,
        attachments,
        typed: None,
        once: Some("key".to_owned()),
    };
    session.handle().send(prompt.into());
    while let Some(received) = events.next().await {
        if matches!(
            &received.event,
            Event::Agent(osier_agent::Event::AgentSettled { .. })
        ) {
            return;
        }
    }
    panic!("the session ended");
}

#[tokio::test]
async fn idle_session_is_unloaded_and_reopened_unchanged() {
    let place = TestProject::new();
    let registry = registry(&place);
    let permissions = Some(PermissionMode::Plan);
    let options = OpenOptions {
        permissions,
        ..OpenOptions::default()
    };
    let said = registry.open(options).await.unwrap();
    let silent = registry.open(OpenOptions::default()).await.unwrap();
    let (said_id, silent_id) = (said.id(), silent.id());
    let mut events = said.subscribe();
    talk(&said, &mut events).await;
    // A client is connected.
    assert_eq!(registry.unload_unused(Duration::from_hours(1)).await, 0);
    let last = events.number;
    drop(events);
    drop((said, silent));
    assert_eq!(registry.unload_unused(Duration::ZERO).await, 2);
    assert_eq!(registry.list(), Vec::new());

    let said = registry.find(&said_id).await.unwrap();
    assert_eq!(said.id(), said_id);
    // The key of the prompt is in the file: a client that missed the answer can send it again.
    assert!(said.knows_key("key") && !said.claim_key("key"));
    assert!(said.claim_key("another"));
    let info = said.info();
    assert_eq!(
        (info.state, info.permissions),
        (Activity::Idle, Some(PermissionMode::Plan))
    );
    let snapshot = said.snapshot().await.unwrap();
    // Event numbers continue, so that old numbers are not mistaken for new events.
    assert!(snapshot.number > last);
    assert_eq!(said.events_after(last), None);
    let first = snapshot.events.first().map(|first| &first.event);
    let Some(Event::SessionOpened { messages, .. }) = first else {
        panic!("{:?}", snapshot.events);
    };
    let is_answer = |message: &AgentMessage| matches!(message, AgentMessage::Assistant(_));
    // The second one describes the environment, the third one says that plan mode is on.
    assert_eq!(messages.len(), 4);
    assert!(is_answer(&messages[3].message));
    // The other session had no messages: a new one with the same id is opened.
    let silent = registry.find(&silent_id).await.unwrap();
    assert!(Arc::ptr_eq(
        &silent,
        &registry.find(&silent_id).await.unwrap()
    ));
    registry.close_all().await;
    assert_eq!(registry.list(), Vec::new());
    let late = registry.open(OpenOptions::default()).await;
    assert!(matches!(late, Err(OpenError::Closing)), "{late:?}");
}

#[tokio::test]
async fn two_clients_of_a_session_share_it() {
    let place = TestProject::new();
    let registry = registry(&place);
    let session = registry.open(OpenOptions::default()).await.unwrap();
    let id = session.id();
    let mut events = session.subscribe();
    talk(&session, &mut events).await;
    drop((events, session));
    assert!(registry.close(&id).await);
    let (one, two) = tokio::join!(registry.find(&id), registry.find(&id));
    assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
    let unknown = registry.find("none").await;
    assert!(
        matches!(unknown, Err(OpenError::Unknown { .. })),
        "{unknown:?}"
    );
    registry.close_all().await;
}

/// The clients in the next `presence` event, and whether they are disconnected.
async fn names(events: &mut Subscriber) -> Vec<(String, bool)> {
    while let Some(received) = events.next().await {
        if let Event::Presence { clients, .. } = &received.event {
            let names = clients.iter().map(|one| (one.name.clone(), one.away));
            return names.collect();
        }
    }
    panic!("the session ended");
}

#[tokio::test]
async fn disconnected_client_is_removed_after_a_timeout() {
    let place = TestProject::new();
    let registry = registry(&place);
    let session = registry.open(OpenOptions::default()).await.unwrap();
    let seat = |name: &str| {
        let seat = ClientHandle::new(Arc::clone(&session), Arc::default());
        let (name, key) = (name.to_owned(), Some(name.to_owned()));
        seat.join(ClientIdentity { name, key });
        seat
    };
    let (anna, _bob) = (seat("anna"), seat("bob"));
    let mut events = session.subscribe();
    let named = |name: &str, away: bool| (name.to_owned(), away);
    // The test controls the clock, so it does not wait for half a minute.
    tokio::time::pause();
    drop(anna);
    assert_eq!(
        names(&mut events).await,
        [named("anna", true), named("bob", false)]
    );
    assert_eq!(names(&mut events).await, [named("bob", false)]);
    tokio::time::resume();
    registry.close_all().await;
}
