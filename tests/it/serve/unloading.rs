//! Idle sessions are unloaded, and loaded again for the next client.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::AgentMessage;
use osier_base::folders::Folders;
use osier_hub::{Activity, Hosts, Introduction, OpenError, Place as Seat, Room, Wanted, Watch};
use osier_llm::{Script, ScriptedProvider};
use osier_protocol::{Event, PermissionMode};
use osier_session::SessionSetup;

use crate::support::agent::model;
use crate::support::session::TestProject;

fn hosts(place: &TestProject) -> Hosts {
    let script = Script::new().turn(|turn| turn.text("answer").repeat());
    let mut setup = SessionSetup::new(Folders::under(&place.data()), place.work());
    setup.settings.discover_local_models = false;
    setup.embedded = Some((model("test/one"), Arc::new(ScriptedProvider::new(script))));
    Hosts::new(setup)
}

/// Sends a prompt and waits for the end of the run.
async fn talk(room: &Room, watch: &mut Watch) {
    let (text, attachments) = ("hello".to_owned(), Vec::new());
    let prompt = osier_agent::Op::Prompt { text, attachments };
    room.host().send(prompt.into());
    while let Some(told) = watch.next().await {
        if matches!(
            &told.event,
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
    let hosts = hosts(&place);
    let permissions = Some(PermissionMode::Plan);
    let wanted = Wanted {
        permissions,
        ..Wanted::default()
    };
    let said = hosts.open(wanted).await.unwrap();
    let silent = hosts.open(Wanted::default()).await.unwrap();
    let (said_id, silent_id) = (said.id(), silent.id());
    let mut watch = said.watch();
    talk(&said, &mut watch).await;
    // A client is connected.
    assert_eq!(hosts.unload_idle(Duration::from_hours(1)).await, 0);
    let last = watch.number;
    drop(watch);
    drop((said, silent));
    assert_eq!(hosts.unload_idle(Duration::ZERO).await, 2);
    assert_eq!(hosts.list(), Vec::new());

    let said = hosts.find(&said_id).await.unwrap();
    assert_eq!(said.id(), said_id);
    let info = said.info();
    assert_eq!(
        (info.state, info.permissions),
        (Activity::Idle, Some(PermissionMode::Plan))
    );
    let snapshot = said.snapshot().await.unwrap();
    // Event numbers continue, so that old numbers are not mistaken for new events.
    assert!(snapshot.number > last);
    assert_eq!(said.after(last), None);
    let Some(Event::SessionOpened { messages, .. }) = snapshot.events.first() else {
        panic!("{:?}", snapshot.events);
    };
    let is_answer = |message: &AgentMessage| matches!(message, AgentMessage::Assistant(_));
    assert_eq!(messages.len(), 2);
    assert!(is_answer(&messages[1].message));
    // The other session had no messages: a new one with the same id is opened.
    let silent = hosts.find(&silent_id).await.unwrap();
    assert!(Arc::ptr_eq(&silent, &hosts.find(&silent_id).await.unwrap()));
    hosts.close_all().await;
    assert_eq!(hosts.list(), Vec::new());
    let late = hosts.open(Wanted::default()).await;
    assert!(matches!(late, Err(OpenError::Closing)), "{late:?}");
}

#[tokio::test]
async fn two_clients_of_a_session_share_it() {
    let place = TestProject::new();
    let hosts = hosts(&place);
    let room = hosts.open(Wanted::default()).await.unwrap();
    let id = room.id();
    let mut watch = room.watch();
    talk(&room, &mut watch).await;
    drop((watch, room));
    assert!(hosts.close(&id).await);
    let (one, two) = tokio::join!(hosts.find(&id), hosts.find(&id));
    assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
    let unknown = hosts.find("none").await;
    assert!(
        matches!(unknown, Err(OpenError::Unknown { .. })),
        "{unknown:?}"
    );
    hosts.close_all().await;
}

/// The clients in the next `presence` event, and whether they are disconnected.
async fn names(watch: &mut Watch) -> Vec<(String, bool)> {
    while let Some(told) = watch.next().await {
        if let Event::Presence { clients, .. } = &told.event {
            let names = clients.iter().map(|one| (one.name.clone(), one.away));
            return names.collect();
        }
    }
    panic!("the session ended");
}

#[tokio::test]
async fn disconnected_client_is_removed_after_a_timeout() {
    let place = TestProject::new();
    let hosts = hosts(&place);
    let room = hosts.open(Wanted::default()).await.unwrap();
    let seat = |name: &str| {
        let seat = Seat::new(Arc::clone(&room), Arc::default());
        let (name, key) = (name.to_owned(), Some(name.to_owned()));
        seat.enter(Introduction { name, key });
        seat
    };
    let (anna, _bob) = (seat("anna"), seat("bob"));
    let mut watch = room.watch();
    let named = |name: &str, away: bool| (name.to_owned(), away);
    // The test controls the clock, so it does not wait for half a minute.
    tokio::time::pause();
    drop(anna);
    assert_eq!(
        names(&mut watch).await,
        [named("anna", true), named("bob", false)]
    );
    assert_eq!(names(&mut watch).await, [named("bob", false)]);
    tokio::time::resume();
    hosts.close_all().await;
}
