//! The program against an independent model server, `@copilotkit/aimock` of npm, in every format that both support.
//! Skipped if Node or the package is missing; docs/real-model.md describes the installation.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use osier_testing::skip;
use serde_json::{Value, json};

use crate::support::cli::{Home, lines_of};

/// The directory in which `npm install @copilotkit/aimock` was run.
const VARIABLE: &str = "OSIER_TEST_AIMOCK";

/// The formats, the paths of the server, and further fields for `models.json`.
const FORMATS: &[(&str, &str, &str)] = &[
    ("openai-chat-completions", "/v1", "chat"),
    ("openai-responses", "/v1", "responses"),
    ("anthropic-messages", "", "messages"),
    ("google-generative-ai", "/v1beta", "gemini"),
    ("ollama", "", "ollama"),
    (
        "google-generative-ai",
        "/v1/projects/p/locations/l/publishers/google",
        "vertex",
    ),
    ("bedrock-converse", "", "bedrock"),
];

/// The server, stopped when it is dropped.
struct Peer {
    child: Child,
    port: u16,
}

impl Peer {
    /// `None`, reported as a skip, if it is not installed.
    fn start(home: &Home, flags: &[&str]) -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os(VARIABLE).unwrap_or_default());
        let program = folder.join("node_modules/@copilotkit/aimock/dist/cli.js");
        if !program.exists() {
            skip::missing("@copilotkit/aimock", ".ci/run");
            return None;
        }
        skip::program(&["node"], "apt install nodejs")?;
        let fixtures = home.file("fixtures.json", fixtures().to_string());
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        #[expect(
            clippy::disallowed_methods,
            reason = "the server is a program of its own"
        )]
        let child = std::process::Command::new("node")
            .arg(&program)
            .args([
                "--port",
                &port.to_string(),
                "--chunk-size",
                "7",
                "--log-level",
                "silent",
            ])
            .arg("--fixtures")
            .arg(&fixtures)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut peer = Self { child, port };
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", peer.port)).is_err() {
            let ended = peer.child.try_wait().expect("the server");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            assert!(
                began.elapsed() < Duration::from_mins(1),
                "the server is not ready"
            );
            osier_testing::poll::pause();
        }
        Some(peer)
    }

    fn models_json(&self) -> String {
        let provider = |(api, path, name): &(&str, &str, &str)| {
            let entry = json!({"baseUrl": format!("http://127.0.0.1:{}{path}", self.port), "api": api,
                "apiKey": "test-key", "models": [{"id": "m", "contextWindow": 100_000, "maxTokens": 1000}]});
            ((*name).to_owned(), entry)
        };
        let providers: serde_json::Map<String, Value> = FORMATS.iter().map(provider).collect();
        json!({ "providers": providers }).to_string()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A prompt that is answered, and one that needs a tool.
fn fixtures() -> Value {
    let arguments = json!({"file_path": "note.txt"}).to_string();
    json!({"fixtures": [
        {"match": {"userMessage": "what does the note say", "hasToolResult": true},
         "response": {"content": "The note says: water the willow."}},
        {"match": {"userMessage": "what does the note say"},
         "response": {"toolCalls": [{"name": "read", "arguments": arguments}]}},
        {"match": {"userMessage": "hello"},
         "response": {"content": "Good day to you, and to everybody who builds with willow."}},
    ]})
}

fn home() -> Home {
    let home = Home::new();
    home.file("note.txt", "water the willow\n");
    home
}

#[test]
fn every_format_answers_and_calls_tools() {
    let home = home();
    let Some(peer) = Peer::start(&home, &[]) else {
        return;
    };
    home.config("models.json", peer.models_json());
    for (api, _, name) in FORMATS {
        let model = format!("{name}/m");
        let began = Instant::now();
        let told = home
            .cli()
            .args(["--model", &model, "--no-session", "-p", "hello"])
            .run();
        let expected = "Good day to you, and to everybody who builds with willow.\n";
        assert_eq!(
            (told.code, told.stdout.as_str(), told.stderr.as_str()),
            (Some(0), expected, ""),
            "{api}"
        );
        let used = format!("{name}.jsonl");
        let told = home
            .cli()
            .args([
                "--model",
                &model,
                "--no-session",
                "--accounting",
                &used,
                "-p",
                "what does the note say",
            ])
            .run();
        let expected = "The note says: water the willow.\n";
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (Some(0), expected),
            "{api}: {}",
            told.stderr
        );
        let calls: Vec<Value> = lines_of(&home.work().join(used));
        let kinds: Vec<&str> = calls
            .iter()
            .map(|call| call["tool"].as_str().unwrap_or("model"))
            .collect();
        assert_eq!(kinds, ["model", "read", "model"], "{api}: {calls:#?}");
        let all = calls.iter().all(|call| call["status"] == "success");
        assert!(all, "{api}: {calls:#?}");
        eprintln!(
            "{api}: 3 requests in two runs, {} ms",
            began.elapsed().as_millis()
        );
    }
}

#[test]
#[ignore = "fails at random, for the figures of docs/real-model.md"]
fn server_that_fails_half_of_the_calls_is_retried() {
    let home = home();
    let flags = ["--chaos-drop", "0.25", "--chaos-disconnect", "0.25"];
    let Some(peer) = Peer::start(&home, &flags) else {
        return;
    };
    home.config("models.json", peer.models_json());
    for (api, _, name) in FORMATS {
        let model = format!("{name}/m");
        let began = Instant::now();
        let flags = [
            "--model",
            &model,
            "--no-session",
            "--max-retries",
            "60",
            "--accounting",
            "calls.jsonl",
        ];
        let told = home
            .cli()
            .args(flags)
            .args(["-p", "what does the note say"])
            .run();
        let expected = (Some(0), "The note says: water the willow.\n");
        assert_eq!(
            (told.code, told.stdout.as_str()),
            expected,
            "{api}: {}",
            told.stderr
        );
        let calls = lines_of(&home.work().join("calls.jsonl"));
        let failed = calls
            .iter()
            .filter(|call| call["tool"].is_null() && call["status"] != "success");
        eprintln!(
            "{api}: {} failed calls, {} ms",
            failed.count(),
            began.elapsed().as_millis()
        );
        std::fs::remove_file(home.work().join("calls.jsonl")).expect("the file");
    }
}
