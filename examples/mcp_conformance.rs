//! The client that the public conformance suite of the Model Context Protocol drives: it connects to the
//! address given last, calls every tool it finds, answers what it is asked, and ends.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a program for tests says why it fails"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use osier::agent::{ToolContext, ToolSource, UpdateSink};
use osier::coding::mcp::{Logins, Mcp, McpSetup, ServerState};
use osier::coding::questions::{Answer, Questions, Request};
use osier::coding::tools::Workspace;
use osier::llm::auth::CredentialFile;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let url = std::env::args().next_back().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let servers = json!({"mcpServers": {"suite": {"url": url, "timeout": 20}}});
    std::fs::File::create(&file)
        .and_then(|file| Ok(serde_json::to_writer(file, &servers)?))
        .unwrap();
    let (questions, mut asked) = Questions::new();
    tokio::spawn(async move {
        while let Some(request) = asked.recv().await {
            if let Request::Ask { reply, .. } = request {
                let values = Map::new();
                let _ = reply.send(Answer::Values { values });
            }
        }
    });
    let (told, _tell) = tokio::sync::mpsc::unbounded_channel();
    let servers = Mcp::start(
        McpSetup {
            files: vec![file],
            environment: std::env::vars().collect(),
            cwd: folder.path().to_owned(),
            logs: folder.path().to_owned(),
            logins: Logins::new(CredentialFile::new(folder.path().join("auth.json"))),
            questions,
            workspace: Arc::new(Workspace::new(folder.path())),
            wanted: None,
            only: None,
            trace: true,
        },
        told,
    );
    servers.settled(Duration::from_secs(30)).await;
    for tool in servers.tools() {
        let cx = ToolContext {
            call_id: "call".to_owned(),
            cancel: CancellationToken::new(),
            updates: UpdateSink::discard(),
        };
        let arguments = sample(&tool.spec().parameters);
        let output = tool.run(arguments, cx).await;
        eprintln!("{}: {:?}", tool.spec().name, output.status);
    }
    let is_ready = servers.servers().iter().all(|server| {
        eprintln!("{}: {:?} {:?}", server.name, server.state, server.error);
        server.state == ServerState::Ready
    });
    servers.end().await;
    if is_ready {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Arguments that fit `schema`.
fn sample(schema: &Value) -> Value {
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten().map(|(name, field)| {
        let value = match field.get("type").and_then(Value::as_str) {
            Some("number" | "integer") => json!(3),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
        (name.clone(), value)
    });
    Value::Object(fields.collect())
}
