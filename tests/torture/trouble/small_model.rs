//! The small model, which writes titles, summaries and their check, fails in every way.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::{PATIENCE, Trial, end};
use crate::support::until;

/// The name of a fault, and the complete answer of the server.
const FAULTS: &[(&str, &str)] = &[
    ("closed", ""),
    (
        "missing",
        "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ),
    (
        "refused",
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ),
    (
        "overloaded",
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 30\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ),
    (
        "garbage",
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>Welcome!</html>",
    ),
    (
        "empty",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ),
    (
        "cut",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n",
    ),
];
/// Calls of the small model in one session: a title, a summary and its check.
const CALLS: usize = 3;

/// A server that gives one answer to every request. Its thread ends with the program.
struct Failing {
    address: String,
    requests: Arc<AtomicUsize>,
}

impl Failing {
    fn start(answer: &'static str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}/v1", listener.local_addr()?);
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || drop(reply(socket, answer)));
            }
        });
        Ok(Self { address, requests })
    }
}

fn reply(mut socket: TcpStream, answer: &str) -> io::Result<()> {
    if answer.is_empty() {
        return Ok(());
    }
    crate::support::model::read_request(&mut socket)?;
    socket.write_all(answer.as_bytes())?;
    socket.shutdown(std::net::Shutdown::Write)?;
    // Closing before the client has read would cut the answer.
    while socket.read(&mut [0; 64])? != 0 {}
    Ok(())
}

pub(super) fn small_model(trial: &mut Trial) -> Result<(), String> {
    for (fault, answer) in FAULTS {
        one(trial, answer).map_err(|problem| format!("{fault}: {problem}"))?;
    }
    Ok(())
}

fn one(trial: &mut Trial, answer: &'static str) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let failing = Failing::start(answer).map_err(failed)?;
    let mut models: Value = serde_json::from_str(&trial.server.models_json()).unwrap_or_default();
    let mut small = models["providers"]["openai-chat-completions"].clone();
    small["baseUrl"] = json!(failing.address);
    models["providers"]["small"] = small;
    trial
        .home
        .config("models.json", &models.to_string())
        .map_err(failed)?;
    trial.settings("small_model = \"small/m\"\n")?;
    let mut rpc = trial.rpc(&[])?;
    trial.prompt(&mut rpc, "long")?;
    trial.prompt(&mut rpc, "long")?;
    rpc.take_notices();
    let compact = json!({"id": "compact", "type": "compact"});
    let compacted = rpc
        .ask(&compact, PATIENCE)
        .ok_or("the compaction does not end")?;
    let summary = compacted["data"]["summary"].as_str().unwrap_or_default();
    if !summary.starts_with("A summary of the conversation.") {
        return Err(format!("not compacted: {compacted}"));
    }
    let notices = rpc.take_notices();
    let is_right = |notice: &String| {
        notice.starts_with("the model `small/m` failed to write a summary: ")
            && notice.ends_with("; `openai-chat-completions/m` writes it instead")
    };
    if notices.len() != 1 || !notices.iter().all(is_right) {
        return Err(format!("the notices are {notices:?}"));
    }
    let has_asked = || failing.requests.load(Ordering::SeqCst) >= CALLS;
    if !until(PATIENCE, has_asked) {
        let requests = failing.requests.load(Ordering::SeqCst);
        return Err(format!("the small model was asked {requests} times"));
    }
    trial.prompt(&mut rpc, "tools")?;
    let state = json!({"id": "state", "type": "get_state"});
    let state = rpc.ask(&state, PATIENCE).unwrap_or_default();
    let name = &state["data"]["sessionName"];
    if !name.is_null() {
        return Err(format!("the session has the title {name}"));
    }
    end(rpc)
}
