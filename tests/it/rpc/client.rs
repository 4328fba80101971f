//! The client library: another process, streams of this process, questions, timeouts and disconnects.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use osier_agent::{RunOutcome, Severity};
use osier_base::process::Invocation;
use osier_llm::Script;
use osier_protocol::questions::{Answer, Grant};
use osier_protocol::{About, Event, Op, PageAt, PermissionMode};
use osier_rpc::answers::Disposition;
use osier_rpc::{
    CallError, Client, DismissQuestions, EndReason, ErrorCode, QuestionHandler, UiRequest, serve,
};
use osier_session::SessionChoice;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::script;
use crate::support::cli::Home;
use crate::support::session::TestProject;

/// The real program with its model in an empty home.
fn invocation(home: &Home, arguments: &[&str]) -> Invocation {
    let script = json!({"turns": script()}).to_string();
    home.file("model.json", &script);
    let own = ["rpc", "--model", "script/model.json"];
    let arguments = own.iter().chain(arguments).copied();
    let folder = home.home().into_os_string();
    Invocation {
        cwd: Some(home.work()),
        env: vec![
            ("HOME".into(), folder.clone()),
            ("OSIER_HOME".into(), folder),
        ],
        ..Invocation::new(env!("CARGO_BIN_EXE_osier"), arguments)
    }
}

#[tokio::test]
async fn request_returns_the_event_that_answers_it() {
    let home = Home::new();
    let run = invocation(&home, &[]);
    let (client, mut events) = Client::start(&run, DismissQuestions).await.unwrap();
    client.prompt("hi").await.unwrap();
    assert_eq!(events.settled().await, Some(RunOutcome::Completed));
    let page = Op::ReadTranscript {
        request: 7,
        page: PageAt::Start,
    };
    let page = client.request(&page).await.unwrap();
    assert!(
        matches!(&page, Some(Event::TranscriptPage { request: 7, messages, .. }) if messages.len() == 2),
        "{page:?}"
    );
    let mode = PermissionMode::Plan;
    let permissions = client.request(&Op::SetPermissions { mode }).await.unwrap();
    assert!(
        matches!(
            &permissions,
            Some(Event::Permissions {
                mode: PermissionMode::Plan,
                ..
            })
        ),
        "{permissions:?}"
    );
    assert_eq!(client.request(&Op::AbortShell).await.unwrap(), None);
    client.shut_down().await.unwrap();
}

#[tokio::test]
async fn about_names_the_version_and_the_folders() {
    let home = Home::new();
    let run = invocation(&home, &[]);
    let (client, _events) = Client::start(&run, DismissQuestions).await.unwrap();
    let answer = client.request(&Op::GetAbout).await.unwrap();
    let Some(Event::About { about }) = answer else {
        panic!("{answer:?}");
    };
    let folder = home.home().to_string_lossy().into_owned();
    assert_eq!(
        *about,
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform: [std::env::consts::OS, std::env::consts::ARCH].join(" "),
            config: folder.clone(),
            data: folder,
            cwd: home.work().to_string_lossy().into_owned(),
        }
    );
}

#[tokio::test]
async fn client_controls_another_process() {
    let home = Home::new();
    let run = invocation(&home, &[]);
    let (client, mut events) = Client::start(&run, DismissQuestions).await.unwrap();
    assert_eq!(client.greeting().protocol, 1);
    assert_eq!(client.prompt("hi").await.unwrap(), Disposition::Started);
    assert_eq!(events.settled().await, Some(RunOutcome::Completed));
    assert_eq!(client.last_text().await.unwrap().as_deref(), Some("answer"));
    let state = client.state().await.unwrap();
    assert_eq!((state.message_count, state.is_streaming), (2, false));
    let run = client.bash("echo here").await.unwrap();
    assert_eq!(run.output, "here\n");
    let refused = client.set_model("no such model").await.unwrap_err();
    assert!(
        matches!(
            &refused,
            CallError::Refused {
                code: Some(ErrorCode::Refused),
                ..
            }
        ),
        "{refused}"
    );
    client.shut_down().await.unwrap();
    while events.next().await.is_some() {}
    let closed = client.state().await.unwrap_err();
    assert!(matches!(closed, CallError::Closed { .. }), "{closed}");
}

#[tokio::test]
async fn program_that_cannot_start_reports_the_reason() {
    let home = Home::new();
    let missing = Invocation::new("/no/such/program", ["rpc"]);
    let error = Client::start(&missing, DismissQuestions).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start `/no/such/program`: no such program"
    );
    let wrong = invocation(&home, &["--permissions", "sometimes"]);
    let error = Client::start(&wrong, DismissQuestions).await.unwrap_err();
    assert!(error.to_string().contains("sometimes"), "{error}");
}

/// Allows everything and records notices.
struct Yes(mpsc::UnboundedSender<(Severity, String)>);

impl QuestionHandler for Yes {
    fn answer(&self, _: UiRequest) -> BoxFuture<'static, Answer> {
        let grant = Grant::Once;
        let arguments = None;
        std::future::ready(Answer::Allow { grant, arguments }).boxed()
    }

    fn notice(&self, severity: Severity, text: String) {
        let _ = self.0.send((severity, text));
    }
}

#[tokio::test]
async fn client_answers_questions_and_receives_events() {
    let home = Home::new();
    let (told, mut heard) = mpsc::unbounded_channel();
    let run = invocation(&home, &["--permissions", "ask"]);
    let (client, mut events) = Client::start(&run, Yes(told)).await.unwrap();
    client.prompt("zztool").await.unwrap();
    assert_eq!(events.settled().await, Some(RunOutcome::Completed));
    assert!(home.work().join("made.txt").exists());
    assert_eq!(
        client.set_permissions(PermissionMode::Plan).await.unwrap(),
        PermissionMode::Plan
    );
    let op = json!({"op": {"type": "redo_prompt"}});
    client.call::<Value>("op", op).await.unwrap();
    let nothing = (Severity::Info, "there is nothing to redo".to_owned());
    assert_eq!(heard.recv().await, Some(nothing));
}

#[tokio::test]
async fn client_and_session_in_one_process() {
    let place = TestProject::new();
    let script = Script::new().turn(|turn| turn.text("answer").repeat());
    let open = place.open(SessionChoice::Unstored, script).await;
    let (here, there) = tokio::io::duplex(1024);
    let host = open.host.clone();
    let events = host.subscribe();
    let serving = tokio::spawn(async move {
        let (input, output) = tokio::io::split(there);
        serve(&host, events, input, output, std::future::pending()).await
    });
    let (input, output) = tokio::io::split(here);
    let (client, mut events) = Client::connect(input, output, DismissQuestions)
        .await
        .unwrap();
    // A dropped call has no effect on the others.
    drop(client.messages());
    client.prompt("hi").await.unwrap();
    events.settled().await.unwrap();
    let messages = client.messages().await.unwrap();
    assert_eq!(messages.len(), 2);
    drop(client);
    while events.next().await.is_some() {}
    assert_eq!(serving.await.unwrap(), EndReason::InputEnded);
}

#[tokio::test]
async fn slow_call_times_out() {
    let (here, _there) = tokio::io::duplex(1024);
    let (input, output) = tokio::io::split(here);
    // An agent that never answers.
    let greeting = Client::connect(input, output, DismissQuestions);
    let waited = tokio::time::timeout(Duration::from_millis(1), greeting).await;
    assert!(waited.is_err());
    let home = Home::new();
    let run = invocation(&home, &[]);
    let (client, mut events) = Client::start(&run, DismissQuestions).await.unwrap();
    while !matches!(events.next().await, Some(Event::SessionOpened { .. })) {}
    let hasty = client.clone().with_timeout(Duration::from_millis(1));
    let error = hasty.bash("sleep 3600").await.unwrap_err();
    assert_eq!(error.to_string(), "`bash` timed out after 1ms");
    client.call::<Value>("abort_bash", json!({})).await.unwrap();
    assert!(client.state().await.is_ok());
}
