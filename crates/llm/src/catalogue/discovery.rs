//! Discovers models of servers on this machine by requests to the default ports of servers, or to the ports in the user's settings.
//!
//! All servers are queried at once, with one deadline. The requests are HTTP/1.0 over a plain socket:
//! building the HTTP client for models takes longer than the complete discovery may take.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::model::{Api, Compat, Modality, Model, ThinkingFormat, ThinkingLevel};
use crate::usage::Price;

/// The deadline for all servers together.
pub const DEADLINE: Duration = Duration::from_millis(250);
/// Maximum bytes read of a response.
const ANSWER_LIMIT: u64 = 1024 * 1024;
/// The context window of a model whose server does not report one: the default of Ollama on small machines.
pub(super) const LOCAL_WINDOW: u64 = 32_768;
/// Maximum number of models per server whose details are requested.
const MAX_DETAILED: usize = 32;

/// A kind of server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The provider of its models.
    pub provider: &'static str,
    pub host: Cow<'static, str>,
    pub port: u16,
    /// The path that lists its models.
    pub path: &'static str,
    /// Whether the server is Ollama, which reports more details of each model and has its own wire format.
    pub shows: bool,
}

const LOCAL: Cow<'static, str> = Cow::Borrowed("127.0.0.1");

/// The known servers, in order of preference.
pub const PROBES: &[Probe] = &[
    Probe {
        provider: "ollama",
        host: LOCAL,
        port: 11434,
        path: "/api/tags",
        shows: true,
    },
    Probe {
        provider: "lmstudio",
        host: LOCAL,
        port: 1234,
        path: "/v1/models",
        shows: false,
    },
    Probe {
        provider: "llamacpp",
        host: LOCAL,
        port: 8080,
        path: "/v1/models",
        shows: false,
    },
    // The router of llama.cpp, which serves several models.
    Probe {
        provider: "llamacpp",
        host: LOCAL,
        port: 9931,
        path: "/v1/models",
        shows: false,
    },
    Probe {
        provider: "vllm",
        host: LOCAL,
        port: 8000,
        path: "/v1/models",
        shows: false,
    },
];

impl Probe {
    /// This probe for a server at the address in `base_url`, such as that of `OLLAMA_HOST`. `None`
    /// if it is no plain HTTP URL.
    pub fn at(&self, base_url: &str) -> Option<Self> {
        let url = reqwest::Url::parse(base_url).ok()?;
        (url.scheme() == "http").then_some(())?;
        Some(Self {
            host: url.host_str()?.to_owned().into(),
            port: url.port_or_known_default()?,
            ..self.clone()
        })
    }
}

/// The probes of servers whose providers have these base URLs. A base URL of the user replaces all default ports of its
/// provider.
pub fn probes<'a>(base_url: impl Fn(&str) -> Option<&'a str>) -> Vec<Probe> {
    let first = |provider| PROBES.iter().find(|probe| probe.provider == provider);
    let at_its_place = |probe: &Probe| {
        let default = first(probe.provider)?;
        let place = default.at(base_url(probe.provider)?)?;
        match (place == *default, probe == default) {
            (true, _) => Some(probe.clone()),
            (false, true) => Some(place),
            (false, false) => None,
        }
    };
    PROBES.iter().filter_map(at_its_place).collect()
}

/// The models of the servers in `probes`. A server that does not respond before the deadline, or whose
/// response is invalid, has none.
pub async fn discover(probes: &[Probe], deadline: Duration) -> Vec<Model> {
    let until = Instant::now() + deadline;
    let requests = probes.iter().map(|probe| async move {
        let request = ProbeRequest::get(probe.path);
        let Ok(Some(answer)) = timeout_at(until, ask(probe, &request)).await else {
            return Vec::new();
        };
        let mut models = models(probe, &answer);
        if probe.shows {
            let shown = models
                .iter_mut()
                .take(MAX_DETAILED)
                .map(|model| async move {
                    let request = ProbeRequest::show(&model.id);
                    // Details that do not arrive before the deadline keep their defaults.
                    if let Ok(Some(answer)) = timeout_at(until, ask(probe, &request)).await {
                        apply_details(model, &answer);
                    }
                });
            join_all(shown).await;
        }
        models
    });
    join_all(requests).await.into_iter().flatten().collect()
}

/// A request, stored without its `Host` header.
struct ProbeRequest {
    line: String,
    body: String,
}

impl ProbeRequest {
    fn get(path: &str) -> Self {
        Self {
            line: format!("GET {path}"),
            body: String::new(),
        }
    }

    /// The request for the details of a model.
    fn show(id: &str) -> Self {
        Self {
            line: "POST /api/show".to_owned(),
            body: json!({ "model": id }).to_string(),
        }
    }
}

async fn ask(probe: &Probe, request: &ProbeRequest) -> Option<Value> {
    let Probe { host, port, .. } = probe;
    let mut socket = TcpStream::connect((host.trim_matches(['[', ']']), *port))
        .await
        .ok()?;
    let ProbeRequest { line, body } = request;
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.0\r\nHost: {host}:{port}\r\nAccept: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await.ok()?;
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

/// Applies the details of a model. The context window is the one that the model's file sets, or the default: the
/// maximum of the model may not fit into memory.
fn apply_details(model: &mut Model, shown: &Value) {
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
        // Thinking can only be switched on or off.
        model.thinking_levels = vec![ThinkingLevel::Off, ThinkingLevel::Low];
    }
    let parameters = shown["parameters"].as_str().unwrap_or_default();
    let window = parameters.lines().find_map(|line| {
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
    let window = window.unwrap_or(LOCAL_WINDOW);
    model.context_window = most.map_or(window, |most| window.min(most)).max(1);
    model.max_tokens = output_of(model.context_window);
}

fn output_of(window: u64) -> u64 {
    (window / 4).clamp(1, 8192)
}

/// Parses the lists of Ollama (`models[].name`) and OpenAI (`data[].id`).
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
    .find_map(|pointer| row.pointer(pointer)?.as_u64())
    .filter(|window| *window > 0)
    .unwrap_or(LOCAL_WINDOW);
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
        base_url: format!("http://{}:{}{path}", probe.host, probe.port),
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
        tuning: crate::tuning::Tuning::of(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Responds with `answer` to the list of models, and with `shown` to a request for details.
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

    #[test]
    fn base_url_of_the_user_replaces_the_default_ports_of_its_provider() {
        let asked = |own: &'static str| {
            let url = move |name: &str| match name {
                "llamacpp" => Some(own),
                "vllm" => Some("http://127.0.0.1:8000/v1"),
                _ => None,
            };
            let probes = probes(url).into_iter();
            let places = probes.map(|probe| (probe.provider, probe.host.to_string(), probe.port));
            places.collect::<Vec<_>>()
        };
        let local = |name, port| (name, "127.0.0.1".to_owned(), port);
        assert_eq!(
            asked("http://127.0.0.1:8080/v1"),
            [
                local("llamacpp", 8080),
                local("llamacpp", 9931),
                local("vllm", 8000)
            ]
        );
        assert_eq!(
            asked("http://10.0.0.7:9000/v1"),
            [
                ("llamacpp", "10.0.0.7".to_owned(), 9000),
                local("vllm", 8000)
            ]
        );
        assert_eq!(asked("https://example.org/v1"), [local("vllm", 8000)]);
    }

    #[tokio::test]
    async fn models_of_every_server_are_listed() {
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
        assert!(
            models[0].accepts(crate::Modality::Image) && !models[1].accepts(crate::Modality::Image)
        );
        assert_eq!(
            models[2].base_url,
            format!("http://127.0.0.1:{}/v1", probes[1].port)
        );
    }

    #[tokio::test]
    async fn unreachable_servers_take_at_most_the_deadline() {
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
