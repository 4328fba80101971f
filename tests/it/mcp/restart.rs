//! Servers over HTTP that were started again, and connections that end before or inside an answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use osier_agent::ToolStatus;
use osier_llm::Script;
use osier_protocol::ServerState;
use serde_json::json;

use super::{answer, config, open, open_server_answer, plain, state, statuses};
use crate::support::session::TestProject;
use crate::support::web_server::WebServer;

/// A server with the tool `go`. It forgets its sessions after each answer of the tool, and answers `unknown` to those
/// that it does not know. The first call gets `first`, if that is set.
fn server(unknown: &'static str, first: Option<&'static [u8]>) -> WebServer {
    let (sessions, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
    WebServer::start(move |asked, _| {
        if !asked.line.starts_with("POST") {
            return plain("405 Method Not Allowed", "", "");
        }
        let message = asked.json();
        let session = sessions.load(Ordering::SeqCst);
        let method = message["method"].as_str().unwrap_or_default();
        if method == "server/discover" {
            return open_server_answer(&message);
        }
        if method == "initialize" {
            let result = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "forgetful", "version": "1"},
            });
            let text = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            let headers =
                format!("content-type: application/json\r\nmcp-session-id: s{session}\r\n");
            return plain("200 OK", &headers, text.to_string());
        }
        if asked.header("mcp-session-id") != format!("s{session}") {
            let error =
                json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
            let text = json!({"jsonrpc": "2.0", "id": null, "error": error});
            return answer(unknown, &text);
        }
        let result = match method {
            "tools/list" => json!({"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}),
            "tools/call" => {
                if let (0, Some(first)) = (calls.fetch_add(1, Ordering::SeqCst), first) {
                    return first.to_vec();
                }
                sessions.fetch_add(1, Ordering::SeqCst);
                json!({"content": [{"type": "text", "text": "echoed"}]})
            }
            _ => return open_server_answer(&message),
        };
        answer(
            "200 OK",
            &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
        )
    })
}

/// The results of two calls of the tool in one run.
async fn two_calls(server: &WebServer) -> Vec<ToolStatus> {
    let place = TestProject::new();
    config(&place, &json!({"web": {"url": server.url()}}));
    let script = Script::new()
        .turn(|turn| turn.tool("web__go", json!({})).with_id("a"))
        .turn(|turn| turn.tool("web__go", json!({"again": true})).with_id("b"))
        .turn(|turn| turn.text("done"));
    let mut open = open(&place, script).await;
    state(&mut open, |state| state == ServerState::Ready).await;
    let events = open.run("go").await;
    open.close().await;
    statuses(&events)
}

#[tokio::test]
async fn a_server_that_forgot_the_session_is_initialized_again() {
    for unknown in ["400 Bad Request", "404 Not Found"] {
        let server = server(unknown, None);
        let statuses = two_calls(&server).await;
        assert_eq!(
            statuses,
            [ToolStatus::Success, ToolStatus::Success],
            "{unknown}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_ends_fails_the_call_at_once() {
    for first in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"jso",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {\"jso",
    ] {
        let server = server("404 Not Found", Some(first));
        let statuses = two_calls(&server).await;
        let is_error = |status: &ToolStatus| {
            matches!(
                status,
                ToolStatus::McpServerError { .. } | ToolStatus::ConnectionError { .. }
            )
        };
        let answer = String::from_utf8_lossy(first);
        assert!(is_error(&statuses[0]), "{answer}: {statuses:?}");
        assert_eq!(statuses[1], ToolStatus::Success, "{answer}");
    }
}
