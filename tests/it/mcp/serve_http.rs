//! osier as an MCP server over HTTP: sessions, versions without a handshake, lost connections, and who may connect.

#![expect(
    clippy::needless_pass_by_value,
    reason = "calls with `json!` read better"
)]

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::cli::{Home, Running};

/// The largest number of calls at the same time.
const CALLS: usize = 8;

struct Server {
    home: Home,
    running: Running,
    url: String,
    token: String,
    client: Client,
}

impl Server {
    /// A server with a model that runs a command and then answers. It is slow if the prompt contains `zzslow`.
    fn start() -> Self {
        let home = Home::new();
        let turns = json!([
            {"when": {"user": "zzslow"}, "repeat": true, "steps": [{"text": "begun"}, {"wait": 3_600_000}]},
            {"when": {"toolResult": ""}, "repeat": true, "steps": [{"text": "It is done."}]},
            {"repeat": true, "steps": [{"tool": "bash", "arguments": {"command": "echo made > made.txt"}}]},
        ]);
        home.file("model.json", json!({ "turns": turns }).to_string());
        let arguments = [
            "mcp",
            "serve",
            "--http",
            "127.0.0.1:0",
            "--model",
            "script/model.json",
            "--permissions",
            "yolo",
        ];
        let mut running = home.cli().args(arguments).start();
        let url = running.line().expect("the URL");
        let token = std::fs::read_to_string(home.home().join("serve.token")).unwrap();
        Self {
            home,
            running,
            url,
            token: token.trim().to_owned(),
            client: client(),
        }
    }

    fn post(&self, message: &Value) -> RequestBuilder {
        let request = self.client.post(&self.url).bearer_auth(&self.token);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json");
        request.body(message.to_string())
    }

    /// Begins a session. Returns its id.
    async fn initialize(&self) -> String {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let message = request(0, "initialize", params);
        let response = self.post(&message).send().await.unwrap();
        let session = response.headers()["mcp-session-id"].to_str().unwrap();
        let session = session.to_owned();
        assert_eq!(
            body(response).await["result"]["protocolVersion"],
            "2025-11-25"
        );
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = self.post(&message).header("mcp-session-id", &session);
        assert_eq!(told.send().await.unwrap().status(), StatusCode::ACCEPTED);
        session
    }

    /// A request of the version without a handshake.
    fn modern(&self, method: &str, mut params: Value) -> RequestBuilder {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let name = params["name"].as_str().map(str::to_owned);
        let sent = self.post(&request(1, method, params));
        let sent = sent.header("mcp-protocol-version", "2026-07-28");
        let sent = sent.header("mcp-method", method);
        match name {
            Some(name) => sent.header("mcp-name", name),
            None => sent,
        }
    }
}

fn client() -> Client {
    osier_llm::http::choose_cryptography();
    Client::new()
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(prompt: &str) -> Value {
    json!({"name": "run_prompt", "arguments": {"prompt": prompt}, "_meta": {"progressToken": "p"}})
}

async fn body(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// The messages of server-sent events.
fn messages(events: &str) -> Vec<Value> {
    let data = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let data = data.filter(|data| !data.is_empty());
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// The texts of progress messages, and the answer after them.
fn told(messages: &[Value]) -> (Vec<&str>, &Value) {
    let (answer, told) = messages.split_last().unwrap();
    let told = told
        .iter()
        .map(|told| told["params"]["message"].as_str().unwrap());
    (
        told.collect(),
        &answer["result"]["structuredContent"]["answer"],
    )
}

const PROGRESS: [&str; 3] = [
    "request 1 to the model",
    "bash: echo made > made.txt",
    "request 2 to the model",
];

#[tokio::test]
async fn a_session_runs_prompts_until_it_is_deleted() {
    let server = Server::start();
    let early = request(1, "tools/list", json!({}));
    let refused = server.post(&early).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    let session = server.initialize().await;
    let post = |message: &Value| server.post(message).header("mcp-session-id", &session);
    let events = post(&request(2, "tools/call", call("make it")));
    let events = events.send().await.unwrap().text().await.unwrap();
    assert!(
        events.starts_with("id: 1-0\nretry: 1000\ndata: \n\n"),
        "{events}"
    );
    let sent = messages(&events);
    assert_eq!(told(&sent), (PROGRESS.to_vec(), &json!("It is done.")));
    assert!(server.home.work().join("made.txt").exists());
    // A client that reads no events gets the answer alone.
    let plain = server.client.post(&server.url).bearer_auth(&server.token);
    let plain = plain
        .header("accept", "application/json")
        .header("mcp-session-id", &session);
    let plain = plain.header("content-type", "application/json");
    let plain = plain.body(request(3, "tools/call", call("again")).to_string());
    let answer = body(plain.send().await.unwrap()).await;
    assert_eq!(
        answer["result"]["structuredContent"]["answer"],
        "It is done."
    );
    let deleted = server.client.delete(&server.url).bearer_auth(&server.token);
    let deleted = deleted
        .header("mcp-session-id", &session)
        .send()
        .await
        .unwrap();
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    let gone = post(&request(4, "ping", json!({}))).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    server.running.signal(Signal::TERM);
    let (_, code, errors) = server.running.end();
    assert_eq!((code, errors.as_str()), (Some(143), ""));
}

#[tokio::test]
async fn a_client_that_lost_its_connection_continues_after_the_last_event() {
    let server = Server::start();
    let session = server.initialize().await;
    let sent = server.post(&request(2, "tools/call", call("make it")));
    let mut response = sent
        .header("mcp-session-id", &session)
        .send()
        .await
        .unwrap();
    let first = response.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"id: 1-0\n"), "{first:?}");
    drop(response);
    let resume = |last: &str| {
        let get = server.client.get(&server.url).bearer_auth(&server.token);
        let get = get.header("mcp-session-id", &session);
        get.header("last-event-id", last).send()
    };
    let rest = resume("1-0").await.unwrap().text().await.unwrap();
    assert!(rest.starts_with("id: 1-1\n"), "{rest}");
    let rest = messages(&rest);
    assert_eq!(told(&rest), (PROGRESS.to_vec(), &json!("It is done.")));
    let answer = resume("1-3").await.unwrap().text().await.unwrap();
    assert_eq!(messages(&answer), rest[3..]);
    let unknown = resume("2-0").await.unwrap();
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_request_without_a_handshake_is_complete_in_itself() {
    let server = Server::start();
    let found = server
        .modern("server/discover", json!({}))
        .send()
        .await
        .unwrap();
    let found = body(found).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["result"]["capabilities"], json!({"tools": {}}));
    let events = server
        .modern("tools/call", call("make it"))
        .send()
        .await
        .unwrap();
    let sent = messages(&events.text().await.unwrap());
    assert_eq!(told(&sent), (PROGRESS.to_vec(), &json!("It is done.")));
    assert_eq!(sent[3]["result"]["resultType"], "complete");
    let unknown = server.modern("ping", json!({})).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    assert_eq!(body(unknown).await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_call_without_a_handshake_ends_with_its_connection() {
    let server = Server::start();
    for _ in 0..CALLS {
        let mut slow = server
            .modern("tools/call", call("zzslow"))
            .send()
            .await
            .unwrap();
        // The run has begun.
        assert!(slow.chunk().await.unwrap().is_some());
    }
    // The closed connections leave room for another call.
    loop {
        let next = server
            .modern("tools/call", call("make it"))
            .send()
            .await
            .unwrap();
        let text = next.text().await.unwrap();
        if !text.contains("8 calls run already") {
            let sent = messages(&text);
            assert_eq!(told(&sent), (PROGRESS.to_vec(), &json!("It is done.")));
            break;
        }
    }
}

#[tokio::test]
async fn only_programs_with_the_token_and_pages_of_the_server_connect() {
    let server = Server::start();
    let message = request(1, "initialize", json!({}));
    let bare = server.client.post(&server.url);
    let bare = bare.header("content-type", "application/json");
    let bare = bare.body(message.to_string());
    let missing = bare.try_clone().unwrap().send().await.unwrap();
    assert_eq!(missing.headers()["www-authenticate"], "Bearer");
    assert_eq!(missing.status(), StatusCode::UNAUTHORIZED);
    let wrong = bare.bearer_auth("0123456789abcdef").send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    let post = || server.post(&message);
    for (name, value) in [("origin", "http://evil.example"), ("host", "evil.example")] {
        let refused = post().header(name, value).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{name}");
    }
    let own = server.url.strip_suffix("/mcp").unwrap();
    let accepted = post().header("origin", own).send().await.unwrap();
    assert_eq!(accepted.status(), StatusCode::OK);
}

#[tokio::test]
async fn osier_is_a_client_of_itself() {
    let server = Server::start();
    let home = Home::new();
    let header = format!("Authorization: Bearer {}", server.token);
    let added = home
        .cli()
        .args(["mcp", "add", "--header", &header, "self", &server.url]);
    assert_eq!(added.run().code, Some(0));
    let tested = home.cli().args(["mcp", "test", "self"]).run();
    let expected = "protocol 2026-07-28";
    assert!(tested.stdout.contains(expected), "{}", tested.stdout);
    assert!(
        tested.stdout.contains("  tool self__run_prompt\n"),
        "{}",
        tested.stdout
    );
    assert_eq!(tested.code, Some(0));
}
