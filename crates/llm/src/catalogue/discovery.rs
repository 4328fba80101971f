//! Asks this machine's usual ports which models are served there.
//!
//! One question to each, all at once, with one deadline for all. Spoken as plain HTTP/1.0 over a socket:
//! the client that models are called with takes longer to build than all of this may take.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::model::{Api, Compat, Modality, Model, ThinkingFormat, ThinkingLevel};
use crate::usage::Price;

/// For all servers together.
pub const DEADLINE: Duration = Duration::from_millis(250);
/// Bytes of an answer that are read.
const ANSWER_LIMIT: u64 = 1024 * 1024;
/// Taken for the window of a model whose server does not tell it: what Ollama gives on small machines.
pub(super) const ASSUMED_WINDOW: u64 = 32_768;
/// Models of one server that are asked about.
const MOST_SHOWN: usize = 32;

/// A kind of server that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The provider its models belong to.
    pub provider: &'static str,
    pub port: u16,
    /// What lists its models.
    pub path: &'static str,
    /// Whether it is Ollama, which shows more of each model and has its own wire format.
    pub shows: bool,
}

/// The servers that are looked for, in order of preference.
pub const PROBES: &[Probe] = &[
    Probe {
        provider: "ollama",
        port: 11434,
        path: "/api/tags",
        shows: true,
    },
    Probe {
        provider: "lmstudio",
        port: 1234,
        path: "/v1/models",
        shows: false,
    },
    Probe {
        provider: "llamacpp",
        port: 8080,
        path: "/v1/models",
        shows: false,
    },
    Probe {
        provider: "vllm",
        port: 8000,
        path: "/v1/models",
        shows: false,
    },
];

/// The models that the servers behind `probes` list, within `deadline`. A server that does not answer
/// in time, or not as expected, has none.
pub async fn discover(probes: &[Probe], deadline: Duration) -> Vec<Model> {
    let until = Instant::now() + deadline;
    let asked = probes.iter().map(|probe| async move {
        let question = Question::get(probe.path);
        let Ok(Some(answer)) = timeout_at(until, ask(probe.port, &question)).await else {
            return Vec::new();
        };
        let mut models = models(probe, &answer);
        if probe.shows {
            let shown = models.iter_mut().take(MOST_SHOWN).map(|model| async move {
                let question = Question::show(&model.id);
                // What cannot be learned in time stays assumed.
                if let Ok(Some(answer)) = timeout_at(until, ask(probe.port, &question)).await {
                    learn(model, &answer);
                }
            });
            join_all(shown).await;
        }
        models
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// A request without the header that names the host.
struct Question {
    line: String,
    body: String,
}

impl Question {
    fn get(path: &str) -> Self {
        Self {
            line: format!("GET {path}"),
            body: String::new(),
        }
    }

    /// What Ollama knows of a model.
    fn show(id: &str) -> Self {
        Self {
            line: "POST /api/show".to_owned(),
            body: json!({ "model": id }).to_string(),
        }
    }
}

async fn ask(port: u16, question: &Question) -> Option<Value> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let Question { line, body } = question;
    let length = body.len();
    let question = format!(
        "{line} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
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

/// Takes over what Ollama shows of a model. Its window is not what the model could have at most, which may
/// not fit into memory, but what its file says, or what is usual.
fn learn(model: &mut Model, shown: &Value) {
    let can = |ability: &str| {
        let abilities = shown["capabilities"].as_array();
        abilities.is_some_and(|list| list.iter().any(|have| have == ability))
    };
    if can("vision") {
        model.input = vec![Modality::Text, Modality::Image];
    }
    if shown["details"]["family"] == "gptoss" {
        model.thinking_levels = vec![
            ThinkingLevel::Low,
            ThinkingLevel::Medium,
            ThinkingLevel::High,
        ];
    } else if can("thinking") {
        // One way to think is all that can be asked for.
        model.thinking_levels = vec![ThinkingLevel::Off, ThinkingLevel::Low];
    }
    let parameters = shown["parameters"].as_str().unwrap_or_default();
    let told = parameters.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok())?
    });
    let info = shown["model_info"].as_object();
    let most = info.and_then(|info| {
        let mut lengths = info
            .iter()
            .filter(|(key, _)| key.ends_with(".context_length"));
        lengths.find_map(|(_, length)| length.as_u64())
    });
    let window = told.unwrap_or(ASSUMED_WINDOW);
    model.context_window = most.map_or(window, |most| window.min(most)).max(1);
    model.max_tokens = output_of(model.context_window);
}

fn output_of(window: u64) -> u64 {
    (window / 4).clamp(1, 8192)
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
    let (api, path) = if probe.shows {
        (Api::Ollama, "")
    } else {
        (Api::OpenaiChatCompletions, "/v1")
    };
    Model {
        provider: probe.provider.to_owned(),
        id: id.to_owned(),
        name: id.to_owned(),
        api,
        base_url: format!("http://127.0.0.1:{}{path}", probe.port),
        context_window: window,
        max_tokens: output_of(window),
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

    /// Gives `answer` to what lists the models, and `shown` to what shows one.
    async fn serve(answer: Option<&'static str>, shown: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut buffer = [0; 1024];
                let count = socket.read(&mut buffer).await.unwrap();
                let asked = String::from_utf8_lossy(&buffer[..count]).into_owned();
                match answer {
                    Some(answer) if asked.starts_with("GET /") => {
                        socket.write_all(answer.as_bytes()).await.unwrap();
                    }
                    Some(_) if asked.ends_with(r#"{"model":"qwen3:8b"}"#) => {
                        socket.write_all(shown.as_bytes()).await.unwrap();
                    }
                    Some(_) => {}
                    None => std::future::pending().await,
                }
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
        let ollama = "HTTP/1.0 200 OK\r\n\r\n{\"models\": [{\"name\": \"qwen3:8b\"}, {\"name\": \"old\"}, {\"name\": \"nomic-embed-text\"}]}";
        let llama = "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\n\r\n{\"models\": [{\"name\": \"x\"}], \"data\": [{\"id\": \"smol\", \"meta\": {\"n_ctx\": 8192}}]}";
        let vllm = "HTTP/1.0 404 Not Found\r\n\r\n{\"data\": [{\"id\": \"no\"}]}";
        let shown = "HTTP/1.0 200 OK\r\n\r\n{\"capabilities\": [\"completion\", \"tools\", \"thinking\", \"vision\"], \"parameters\": \"stop x\\nnum_ctx    65536\", \"model_info\": {\"qwen3.context_length\": 40960}}";
        let probes = [
            probe("ollama", serve(Some(ollama), shown).await),
            probe("llamacpp", serve(Some(llama), "").await),
            probe("vllm", serve(Some(vllm), "").await),
        ];
        let models = discover(&probes, Duration::from_secs(30)).await;
        let told: Vec<_> = models
            .iter()
            .map(|model| (model.reference(), model.context_window, model.max_tokens))
            .collect();
        assert_eq!(
            told,
            [
                ("ollama/qwen3:8b".to_owned(), 40_960, 8192),
                ("ollama/old".to_owned(), 32_768, 8192),
                ("llamacpp/smol".to_owned(), 8192, 2048),
            ]
        );
        assert_eq!(
            models[0].base_url,
            format!("http://127.0.0.1:{}", probes[0].port)
        );
        assert_eq!(models[0].api, Api::Ollama);
        assert_eq!(
            models[0].thinking_levels,
            [ThinkingLevel::Off, ThinkingLevel::Low]
        );
        assert!(models[0].accepts_images() && !models[1].accepts_images());
        assert_eq!(
            models[2].base_url,
            format!("http://127.0.0.1:{}/v1", probes[1].port)
        );
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_or_says_nothing_costs_the_deadline_at_most() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = listener.local_addr().unwrap().port();
        drop(listener);
        let probes = [
            probe("vllm", closed),
            probe("ollama", serve(None, "").await),
        ];
        assert_eq!(
            discover(&probes, Duration::from_millis(20)).await,
            Vec::new()
        );
    }
}
