//! Asks this machine's usual ports which models are served there.
//!
//! One question to each, all at once, with one deadline for all. Spoken as plain HTTP/1.0 over a socket:
//! the client that models are called with takes longer to build than all of this may take.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::llm::model::{Api, Compat, Modality, Model, ThinkingFormat, ThinkingLevel};
use crate::llm::usage::Price;

/// For all servers together.
pub const DEADLINE: Duration = Duration::from_millis(250);
/// Bytes of an answer that are read.
const ANSWER_LIMIT: u64 = 1024 * 1024;
/// Taken for the window of a model whose server does not tell it: what Ollama gives on small machines.
const ASSUMED_WINDOW: u64 = 32_768;

/// A kind of server that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The provider its models belong to.
    pub provider: &'static str,
    pub port: u16,
    /// What lists its models.
    pub path: &'static str,
}

/// The servers that are looked for, in order of preference.
pub const PROBES: &[Probe] = &[
    Probe {
        provider: "ollama",
        port: 11434,
        path: "/api/tags",
    },
    Probe {
        provider: "lmstudio",
        port: 1234,
        path: "/v1/models",
    },
    Probe {
        provider: "llamacpp",
        port: 8080,
        path: "/v1/models",
    },
    Probe {
        provider: "vllm",
        port: 8000,
        path: "/v1/models",
    },
];

/// The models that the servers behind `probes` list, within `deadline`. A server that does not answer
/// in time, or not as expected, has none.
pub async fn discover(probes: &[Probe], deadline: Duration) -> Vec<Model> {
    let asked = probes.iter().map(|probe| async move {
        match timeout(deadline, ask(probe)).await {
            Ok(Some(answer)) => models(probe, &answer),
            _ => Vec::new(),
        }
    });
    join_all(asked).await.into_iter().flatten().collect()
}

async fn ask(probe: &Probe) -> Option<Value> {
    let mut socket = TcpStream::connect(("127.0.0.1", probe.port)).await.ok()?;
    let question = format!(
        "GET {} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nAccept: application/json\r\n\r\n",
        probe.path, probe.port
    );
    socket.write_all(question.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    socket
        .take(ANSWER_LIMIT)
        .read_to_end(&mut answer)
        .await
        .ok()?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let (head, body) = answer.split_at(end);
    let status = head.split(|byte| *byte == b' ').nth(1)?;
    (status == b"200")
        .then(|| serde_json::from_slice(body.trim_ascii()).ok())
        .flatten()
}

/// Reads Ollama's list (`models[].name`) and OpenAI's (`data[].id`).
fn models(probe: &Probe, answer: &Value) -> Vec<Model> {
    let (list, key) = match (answer.get("data"), answer.get("models")) {
        (Some(Value::Array(list)), _) => (list, "id"),
        (_, Some(Value::Array(list))) => (list, "name"),
        _ => return Vec::new(),
    };
    list.iter()
        .filter_map(|row| Some(model(probe, row.get(key)?.as_str()?, row)))
        .filter(|model| !model.id.contains("embed"))
        .collect()
}

fn model(probe: &Probe, id: &str, row: &Value) -> Model {
    // llama.cpp, vLLM and LM Studio, in this order.
    let window = [
        "/meta/n_ctx",
        "/max_model_len",
        "/max_context_length",
        "/meta/n_ctx_train",
    ]
    .iter()
    .find_map(|place| row.pointer(place)?.as_u64())
    .filter(|window| *window > 0)
    .unwrap_or(ASSUMED_WINDOW);
    Model {
        provider: probe.provider.to_owned(),
        id: id.to_owned(),
        name: id.to_owned(),
        api: Api::OpenaiChatCompletions,
        base_url: format!("http://127.0.0.1:{}/v1", probe.port),
        context_window: window,
        max_tokens: (window / 4).clamp(1, 8192),
        thinking_levels: vec![ThinkingLevel::Off],
        input: vec![Modality::Text],
        price: Price::default(),
        headers: BTreeMap::new(),
        compat: Compat {
            max_tokens_field: true,
            thinking_format: ThinkingFormat::None,
            ..Compat::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn serve(answer: Option<&'static str>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 1024];
            let count = socket.read(&mut buffer).await.unwrap();
            assert!(buffer[..count].starts_with(b"GET /"));
            match answer {
                Some(answer) => socket.write_all(answer.as_bytes()).await.unwrap(),
                None => std::future::pending().await,
            }
        });
        port
    }

    fn probe(provider: &'static str, port: u16) -> Probe {
        let row = PROBES.iter().find(|row| row.provider == provider).unwrap();
        Probe {
            port,
            ..row.clone()
        }
    }

    #[tokio::test]
    async fn every_server_that_answers_is_listed() {
        let ollama = "HTTP/1.0 200 OK\r\n\r\n{\"models\": [{\"name\": \"qwen3:8b\"}, {\"name\": \"nomic-embed-text\"}]}";
        let llama = "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\n\r\n{\"models\": [{\"name\": \"x\"}], \"data\": [{\"id\": \"smol\", \"meta\": {\"n_ctx\": 8192}}]}";
        let vllm = "HTTP/1.0 404 Not Found\r\n\r\n{\"data\": [{\"id\": \"no\"}]}";
        let probes = [
            probe("ollama", serve(Some(ollama)).await),
            probe("llamacpp", serve(Some(llama)).await),
            probe("vllm", serve(Some(vllm)).await),
        ];
        let models = discover(&probes, Duration::from_secs(30)).await;
        let told: Vec<_> = models
            .iter()
            .map(|model| (model.reference(), model.context_window, model.max_tokens))
            .collect();
        assert_eq!(
            told,
            [
                ("ollama/qwen3:8b".to_owned(), 32_768, 8192),
                ("llamacpp/smol".to_owned(), 8192, 2048),
            ]
        );
        assert_eq!(
            models[0].base_url,
            format!("http://127.0.0.1:{}/v1", probes[0].port)
        );
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_or_says_nothing_costs_the_deadline_at_most() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = listener.local_addr().unwrap().port();
        drop(listener);
        let probes = [probe("vllm", closed), probe("ollama", serve(None).await)];
        assert_eq!(
            discover(&probes, Duration::from_millis(20)).await,
            Vec::new()
        );
    }
}
