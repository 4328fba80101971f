//! How connections begin: servers that ignore the newest protocol, and servers that restart.

use osier_llm::Script;
use osier_protocol::{Event, ServerState};
use osier_session::SessionChoice;
use serde_json::{Value, json};

use super::{config, fake, notices, offered};
use crate::support::session::TestProject;

fn noting(mode: &str, notes: &std::path::Path) -> Value {
    let mut server = fake(mode);
    server["env"] = json!({"MCP_NOTES": notes});
    server
}

#[tokio::test]
async fn servers_that_ignore_the_newest_protocol_are_started_once() {
    for mode in ["ignore", "misnumber"] {
        let place = TestProject::new();
        let names = ["a", "b", "c"];
        // A file of the project would be a part of the servers.
        let notes = |name: &str| place.folder().join(name);
        let servers = names.map(|name| (name.to_owned(), noting(mode, &notes(name))));
        let servers = Value::Object(servers.into_iter().collect());
        config(&place, &servers);
        let mut open = super::open(&place, Script::new()).await;
        let all_ready = |event: &Event| match event {
            Event::McpServers { servers } => servers
                .iter()
                .all(|server| server.state == ServerState::Ready),
            _ => false,
        };
        open.until(all_ready).await;
        open.close().await;
        for name in names {
            let log = std::fs::read_to_string(notes(name)).unwrap();
            assert_eq!(log, format!("start {mode}\n"));
        }
    }
}

#[tokio::test]
async fn a_run_without_a_user_waits_for_a_server_that_restarts() {
    let place = TestProject::new();
    // A file of the project would be a part of the server.
    let notes = place.folder().join("notes");
    config(&place, &json!({"fake": noting("flaky", &notes)}));
    let script = Script::new()
        .turn(|turn| turn.tool("fake__die", json!({})))
        .turn(|turn| turn.tool("fake__echo", json!({})).with_id("c"))
        .turn(|turn| turn.text("done"));
    let mut open = place
        .open_with(SessionChoice::Unstored, script, |setup| {
            setup.waits_for_servers = true;
            setup.environment = std::sync::Arc::new(std::env::vars().collect());
        })
        .await;
    let events = open.run("go").await;
    // A call also waits for the restart that the previous call caused.
    let request = open.last_request();
    assert_eq!(request.last().unwrap(), "result c: echoed");
    assert_eq!(offered(&open).len(), 6);
    let late: Vec<String> = notices(&events)
        .into_iter()
        .filter(|notice| notice.contains("not ready yet"))
        .collect();
    assert_eq!(late, [""; 0]);
    open.close().await;
    let log = std::fs::read_to_string(notes).unwrap();
    assert_eq!(log, "start flaky\n".repeat(3));
}
