//! The client that the public conformance suite starts: it connects to the URL in the last argument, calls every
//! tool, answers every request, and ends. It is a test, so that it always consists of the tested code.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{Severity, ToolContext, ToolOutput, ToolSource, ToolStatus, UpdateSink};
use osier_llm::ContentBlock;
use osier_llm::auth::CredentialFile;
use osier_mcp::{Logins, Mcp, McpSetup, ServerEvent};
use osier_protocol::questions::{Answer, QuestionKind, Questions, Request};
use osier_protocol::{ServerAction, ServerState};
use osier_tools::Workspace;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The name of this test for the test program.
pub(super) const NAME: &str = "mcp_conformance::client::conformance_client";
/// The maximum number of sign-ins: a server that always wants another one is given up.
const SIGN_INS: usize = 2;
/// The address that the suite accepts as the address of the document about the client.
const METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
#[ignore = "started by the conformance suite, with the address of its server"]
async fn conformance_client() {
    let Some(url) = std::env::args()
        .next_back()
        .filter(|it| it.starts_with("http"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (told, mut news) = mpsc::unbounded_channel();
    let servers = Mcp::start(setup(folder.path(), &url), told);
    servers.settled(PATIENCE).await;
    let mut done = Vec::new();
    for _ in 0..=SIGN_INS {
        if state(&servers) == ServerState::NeedsLogin {
            while news.try_recv().is_ok() {}
            servers.act("suite", ServerAction::Login);
            let over = signed_in(&mut news);
            if !tokio::time::timeout(PATIENCE, over).await.unwrap_or(false) {
                break;
            }
        }
        match call_all(&servers, &mut done).await {
            // The server wants another sign-in before it lists its tools.
            Calls::Answered if state(&servers) == ServerState::NeedsLogin => {}
            Calls::Answered | Calls::Failed => break,
            // The server begins to require a sign-in a moment after the call has failed.
            Calls::Refused => {
                let refused = refused(&mut news);
                let _ = tokio::time::timeout(PATIENCE, refused).await;
            }
        }
    }
    let known = servers.servers();
    servers.end().await;
    let states: Vec<ServerState> = known.iter().map(|server| server.state).collect();
    assert_eq!(states, [ServerState::Ready], "{:?}", known[0].error);
}

/// The scenario's context for the client.
fn context() -> Value {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&context).unwrap_or_default()
}

fn setup(folder: &Path, url: &str) -> McpSetup {
    let context = context();
    let mut server = json!({"url": url, "timeout": 20});
    if let Some(id) = context.get("client_id") {
        server["oauth"] = json!({"clientId": id, "clientSecret": context.get("client_secret")});
    }
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO");
    if scenario.is_ok_and(|scenario| scenario == "auth/basic-cimd") {
        server["oauth"] = json!({"clientMetadataUrl": METADATA_URL});
    }
    let file = folder.join("mcp.json");
    let servers = json!({"mcpServers": {"suite": server}});
    std::fs::File::create(&file)
        .and_then(|file| Ok(serde_json::to_writer(file, &servers)?))
        .unwrap();
    let (questions, asked) = Questions::new();
    tokio::spawn(answer(asked));
    McpSetup {
        files: vec![file.into()],
        trusted: true,
        folders: folder.join("servers"),
        given: Vec::new(),
        environment: Arc::new(std::env::vars().collect()),
        cwd: folder.to_owned(),
        logs: folder.to_owned(),
        logins: Logins::new(CredentialFile::new(folder.join("auth.json"))),
        questions,
        rules: None,
        workspace: Arc::new(Workspace::new(folder)),
        wanted: None,
        only: None,
        trace: true,
        sampler: None,
        is_interactive: true,
        guard: None,
    }
}

/// Opens the URLs that a browser would open, and accepts all other requests.
async fn answer(mut asked: mpsc::UnboundedReceiver<Request>) {
    while let Some(request) = asked.recv().await {
        let Request::Ask { question, reply } = request else {
            continue;
        };
        let answer = match question.kind {
            QuestionKind::Visit { url } => {
                tokio::spawn(async move {
                    let page = reqwest::get(&url).await;
                    eprintln!("{url}: {:?}", page.map(|page| page.status()));
                });
                Answer::Yes
            }
            _ => Answer::Values { values: Map::new() },
        };
        let _ = reply.send(answer);
    }
}

fn state(servers: &Mcp) -> ServerState {
    servers.servers()[0].state
}

/// Waits for the end of a sign-in: whether the server took it.
async fn signed_in(news: &mut mpsc::UnboundedReceiver<ServerEvent>) -> bool {
    let mut came_back = false;
    while let Some(told) = news.recv().await {
        match told {
            ServerEvent::Servers(servers) => match servers[0].state {
                ServerState::Ready => return true,
                // The server knows the sign-in, and requires one that allows more.
                ServerState::NeedsLogin if came_back => return true,
                _ => {}
            },
            ServerEvent::Notice { severity, text } => {
                eprintln!("{text}");
                came_back |= severity == Severity::Info;
                if severity == Severity::Error {
                    return false;
                }
            }
            ServerEvent::Tools => {}
        }
    }
    false
}

/// Waits until the server is known to want a sign-in.
async fn refused(news: &mut mpsc::UnboundedReceiver<ServerEvent>) {
    while let Some(told) = news.recv().await {
        if let ServerEvent::Servers(servers) = told
            && servers[0].state == ServerState::NeedsLogin
        {
            return;
        }
    }
}

/// The result of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    Answered,
    /// A call needs a sign-in that allows it.
    Refused,
    Failed,
}

/// Calls every tool that was not answered before.
async fn call_all(servers: &Mcp, done: &mut Vec<String>) -> Calls {
    let mut calls = Calls::Answered;
    for tool in servers.tools() {
        let name = tool.spec().name.clone();
        if done.contains(&name) {
            continue;
        }
        let cx = ToolContext {
            call_id: "call".to_owned(),
            cancel: CancellationToken::new(),
            updates: UpdateSink::discard(),
        };
        let mut arguments = wanted(&name).unwrap_or_else(|| sample(&tool.spec().parameters));
        // This tool expects the schema of the other tool, as the client received it.
        if name.ends_with("json_schema_echo") {
            let tools = servers.tools();
            let other = tools.iter().find(|other| other.spec().name != name);
            arguments["schema"] = other.map(|other| other.spec().parameters.clone()).into();
        }
        let output = crate::support::agent::call(&tool, arguments, cx).await;
        eprintln!("{name}: {:?}", output.status);
        if output.status == ToolStatus::Success {
            done.push(name);
        } else if said(&output).contains("it requires a sign-in") {
            return Calls::Refused;
        } else {
            calls = Calls::Failed;
        }
    }
    calls
}

fn said(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(ContentBlock::as_text);
    texts.collect()
}

/// The arguments that the scenario names for the tool `name`.
fn wanted(name: &str) -> Option<Value> {
    let context = context();
    let calls = context.get("toolCalls")?.as_array()?;
    let call = calls.iter().find(|call| {
        let tool = call["name"].as_str().unwrap_or_default();
        name == osier_base::server_tool::tool_name("suite", tool)
    });
    Some(call?["arguments"].clone())
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
