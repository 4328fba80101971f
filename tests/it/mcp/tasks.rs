//! Calls that run as tasks of the server.

use osier_agent::{ToolStatus, ToolUpdate};
use osier_protocol::{Event, ServerState};
use serde_json::json;

use super::{call_peer, calling, config, fake, open, ready, state, status};
use crate::support::session::TestProject;

#[tokio::test]
async fn a_task_is_polled_until_its_result() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "more", calling("fake__research")).await;
    let events = open.run("go").await;
    assert_eq!(status(&events), ToolStatus::Success);
    assert_eq!(open.last_request().last().unwrap(), "result c: the report");
    let shown: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            Event::Agent(osier_agent::Event::ToolExecutionUpdate {
                update: ToolUpdate::Status { text },
                ..
            }) => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["started", "reading", "done"]);
    open.close().await;
}

#[tokio::test]
async fn an_interrupted_task_is_cancelled_at_the_server() {
    let place = TestProject::new();
    let notes = place.folder().join("notes");
    let mut server = fake("more");
    server["env"] = json!({"MCP_NOTES": notes});
    config(&place, &json!({"fake": server}));
    let mut open = open(&place, calling("fake__forever")).await;
    state(&mut open, |state| state == ServerState::Ready).await;
    open.prompt("go");
    open.until(|event| {
        matches!(
            event,
            Event::Agent(osier_agent::Event::ToolExecutionUpdate { .. })
        )
    })
    .await;
    open.host.send(osier_agent::Op::Abort.into());
    let events = open.settled().await;
    assert_eq!(status(&events), ToolStatus::Aborted);
    open.close().await;
    let log = std::fs::read_to_string(notes).unwrap();
    assert_eq!(log, "start more\ncancelled a task\n");
}

/// From 2026 on the server decides that a call is a task, and the task contains the result.
#[tokio::test]
async fn a_task_that_the_server_starts_has_its_result_in_its_state() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "more", calling("fake__build")).await;
    let events = open.run("go").await;
    assert_eq!(status(&events), ToolStatus::Success);
    assert_eq!(open.last_request().last().unwrap(), "result c: two files");
    open.close().await;
}

#[tokio::test]
async fn a_task_that_never_ends_is_given_up_and_cancelled() {
    let place = TestProject::new();
    let notes = place.folder().join("notes");
    let mut server = fake("more");
    server["env"] = json!({"MCP_NOTES": notes});
    // A task has 30 times as long as a request.
    server["timeout"] = json!(2);
    config(&place, &json!({"fake": server}));
    let mut open = open(&place, calling("fake__forever")).await;
    state(&mut open, |state| state == ServerState::Ready).await;
    let events = open.run("go").await;
    assert!(
        matches!(status(&events), ToolStatus::Timeout { .. }),
        "{:?}",
        status(&events)
    );
    open.close().await;
    // A poll that a loaded machine does not answer in time is cancelled, too.
    let log = std::fs::read_to_string(notes).unwrap();
    assert_eq!(
        log.replace("cancelled\n", ""),
        "start more\ncancelled a task\n"
    );
}

#[tokio::test]
async fn the_state_of_another_task_is_an_error() {
    let place = TestProject::new();
    let (mut open, _) = ready(&place, "more", calling("fake__swap")).await;
    let events = open.run("go").await;
    let expected = ToolStatus::McpServerError {
        server: "fake".into(),
        message: "the server answered with another task".into(),
    };
    assert_eq!(status(&events), expected);
    open.close().await;
}

#[tokio::test]
async fn a_public_server_runs_a_task() {
    let topic = json!({"topic": "tides"});
    let tool = "peer__simulate-research-query";
    if let Some(told) = call_peer("mcp-server-everything", &[], tool, topic).await {
        assert!(
            told.starts_with("result c: # Research Report: tides"),
            "{told}"
        );
    }
}
