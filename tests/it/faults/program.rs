//! Faults in the complete program: retries, proxies, and what is stored.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::cli::{Home, ProgramOutput};
use crate::support::model_server::{Answer, Server};

fn models(base: &str) -> String {
    json!({"providers": {"here": {"baseUrl": base, "api": "openai-chat-completions",
                                  "apiKey": "sk-test-key", "models": [{"id": "m"}]}}})
    .to_string()
}

#[test]
fn retry_after_a_fault_leaves_one_answer() {
    let body = json!({"error": {"message": "boom"}}).to_string();
    let server = Server::start([
        Answer::plain("500 Oops", "content-type: application/json", &body),
        Answer::stream().text("lost").cut(),
        Answer::says("whole"),
    ]);
    let home = Home::new();
    home.config("models.json", server.models_json());
    let ended = home.cli().args(["--model", "here/m", "-p", "hello"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "whole\n"));
    assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
    let stored: Vec<Value> = home
        .session()
        .into_iter()
        .filter(|entry| entry["type"] == "message" && entry["message"]["role"] == "assistant")
        .collect();
    assert_eq!(stored.len(), 1, "{stored:#?}");
    assert!(stored[0].to_string().contains("whole") && !stored[0].to_string().contains("lost"));
}

#[test]
fn empty_answer_is_an_error_and_the_session_continues() {
    let server = Server::start([Answer::stream().done(), Answer::says("back")]);
    let home = Home::new();
    home.config("models.json", server.models_json());
    let ask = |arguments: &[&str]| {
        let cli = home.cli().args(["--model", "here/m"]);
        arguments.iter().fold(cli, |cli, word| cli.arg(*word)).run()
    };
    let silent = "[WRN] the model ended its turn without an answer\n";
    assert_eq!(ask(&["-p", "hello"]), ProgramOutput::new(1, "", silent));
    assert_eq!(
        ask(&["-c", "-p", "hello?"]),
        ProgramOutput::new(0, "back\n", "")
    );
    // The empty answer is not sent.
    let sent = server.requests()[1]["messages"].clone();
    let roles: Vec<&str> = sent
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["system", "user", "user"]);
}

#[test]
fn provider_without_quota_is_skipped_for_the_session() {
    let broke = Answer::plain(
        "402 Payment Required",
        "",
        r#"{"error":{"message":"no credit"}}"#,
    );
    let server = Server::start([broke]);
    let home = Home::new();
    home.config("models.json", server.models_json());
    home.config(
        "settings.toml",
        "discover_local_models = false\nmodel = \"here/m\"\nfallback = [\"script/other.json\"]\n",
    );
    let turn = json!({"repeat": true, "steps": [{"text": "from the other"}]});
    home.file("other.json", json!({"turns": [turn]}).to_string());
    let ended = home.cli().args(["-p", "one", "two", "three"]).run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

/// A proxy that records the first line of each request and answers it itself.
struct Proxy {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let mut socket = socket.expect("a connection");
                let mut bytes = Vec::new();
                let mut buffer = [0; 4096];
                while !String::from_utf8_lossy(&bytes).contains("\r\n\r\n") {
                    match socket.read(&mut buffer) {
                        Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
                        _ => break,
                    }
                }
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let line = text.lines().next().unwrap_or_default().to_owned();
                let connect = line.starts_with("CONNECT");
                seen.lock().expect("the list").push(line);
                let answer = if connect {
                    "HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\r\n"
                        .to_owned()
                } else {
                    let say = json!({"choices": [{"index": 0, "delta": {"content": "by proxy"}, "finish_reason": "stop"}]});
                    format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {say}\n\ndata: [DONE]\n\n"
                    )
                };
                // The client may disconnect early.
                let _ = socket.write_all(answer.as_bytes());
                // Unread bytes of the request would reset the connection.
                let _ = socket.shutdown(std::net::Shutdown::Write);
                while let Ok(1..) = socket.read(&mut buffer) {}
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the list").clone()
    }
}

#[test]
fn proxy_variables_are_respected() {
    let host = "models.example";
    let ask = |base: &str, variables: &[(&str, &str)]| {
        let home = Home::new();
        home.config("models.json", models(base));
        let mut cli = home
            .cli()
            .args(["--model", "here/m", "--max-retries", "0", "-p", "hello"]);
        for (name, value) in variables {
            cli = cli.environment(name, value);
        }
        cli.run()
    };
    let proxy = Proxy::start();
    let address = proxy.address.as_str();
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        let ended = ask(&format!("http://{host}/v1"), &[(name, address)]);
        assert_eq!(ended, ProgramOutput::new(0, "by proxy\n", ""), "{name}");
    }
    let line = format!("POST http://{host}/v1/chat/completions HTTP/1.1");
    assert_eq!(proxy.asked(), [line.as_str(); 3]);

    let proxy = Proxy::start();
    let address = proxy.address.as_str();
    let ended = ask(&format!("https://{host}/v1"), &[("HTTPS_PROXY", address)]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(proxy.asked(), [format!("CONNECT {host}:443 HTTP/1.1")]);
    assert!(ended.stderr.contains("network_error"), "{}", ended.stderr);

    // Without the proxy: an excluded name, and this machine.
    let proxy = Proxy::start();
    let address = proxy.address.as_str();
    let unknown = format!("{}.invalid", "a".repeat(70));
    let excluded = [("HTTP_PROXY", address), ("NO_PROXY", "localhost,.invalid")];
    let ended = ask(&format!("http://{unknown}/v1"), &excluded);
    assert!(
        ended.stderr.contains("network_error: cannot reach"),
        "{}",
        ended.stderr
    );
    let server = Server::start([Answer::says("direct")]);
    let ended = ask(
        &server.url(),
        &[("HTTP_PROXY", address), ("ALL_PROXY", address)],
    );
    assert_eq!(ended, ProgramOutput::new(0, "direct\n", ""));
    assert_eq!(proxy.asked(), Vec::<String>::new());
}
