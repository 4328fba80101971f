//! An OAuth server on a loopback port according to RFC 6749, 7636 and 8628: codes and refresh tokens work once, a
//! refresh token that is used twice revokes its family, and challenges are verified. It is also the model server
//! that accepts the tokens.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

pub(crate) const CLIENT: &str = "test-client";

/// Deviations of the server from the standards.
#[derive(Default)]
pub(crate) struct Behaviour {
    /// Lifetime of access tokens in seconds; one hour if not set.
    pub(crate) expires_in: Option<u64>,
    /// The user's action on the authorization page.
    pub(crate) page: Page,
    /// Error codes that the token endpoint returns first.
    pub(crate) token_errors: VecDeque<&'static str>,
    /// Complete responses (status line, body) that the token endpoint returns first.
    pub(crate) token_answers: VecDeque<(&'static str, &'static str)>,
    /// Polling interval of a device code in seconds.
    pub(crate) interval: Option<f64>,
    /// Lifetime of device codes in seconds.
    pub(crate) code_lives: Option<u64>,
    /// Value of the `Date` header.
    pub(crate) date: Option<&'static str>,
    /// Delays requests with a refresh token until permits are added.
    pub(crate) refresh_gate: Option<Arc<Semaphore>>,
    /// The expiry in the response of GitHub's token exchange, in seconds since the epoch.
    pub(crate) exchange_until: Option<i64>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    #[default]
    Allow,
    Deny,
    /// Redirects with a wrong `state`.
    WrongState,
}

#[derive(Default)]
struct State {
    behaviour: Behaviour,
    count: u64,
    /// Challenge and redirect URL by code.
    codes: HashMap<String, (String, String)>,
    /// Family by refresh token, and the used refresh tokens.
    refresh: HashMap<String, u64>,
    used: HashSet<String>,
    /// Family by access token.
    access: HashMap<String, u64>,
    ended: HashSet<u64>,
    /// One line for each request: `token refresh_token`, `models 401`.
    log: watch::Sender<Vec<String>>,
}

/// Only a failing test waits that long.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(2);

/// A server on its own thread, stopped when it is dropped.
pub(crate) struct OAuth {
    port: u16,
    state: Arc<Mutex<State>>,
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl OAuth {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        listener.set_nonblocking(true).expect("a listener");
        let state = Arc::new(Mutex::new(State {
            behaviour,
            ..State::default()
        }));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = serve(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            port,
            state,
            _stop: stop,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The sign-in of this server for `providers.lab.oauth`.
    pub(crate) fn sign_in(&self) -> Value {
        json!({
            "label": "Lab",
            "authorizeUrl": self.url("/authorize"),
            "deviceUrl": self.url("/device"),
            "tokenUrl": self.url("/token"),
            "clientId": CLIENT,
            "scopes": ["models"],
        })
    }

    /// A `models.json` with the model `lab/m` of this server; `oauth` overrides fields of the sign-in.
    pub(crate) fn models_json(&self, oauth: &Value) -> String {
        let mut sign_in = self.sign_in();
        for (name, value) in oauth.as_object().expect("an object") {
            sign_in[name] = value.clone();
        }
        json!({"providers": {"lab": {
            "baseUrl": self.url("/v1"),
            "api": "openai-chat-completions",
            "oauth": sign_in,
            "models": [{"id": "m", "cost": {"input": 1000, "output": 1000, "cacheRead": 0, "cacheWrite": 0}}],
        }}})
        .to_string()
    }

    /// The requests so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().expect("the state").log.borrow().clone()
    }

    /// The valid refresh tokens.
    pub(crate) fn living(&self) -> Vec<String> {
        let state = self.state.lock().expect("the state");
        let living = state.refresh.iter().filter(|(token, family)| {
            !state.used.contains(*token) && !state.ended.contains(*family)
        });
        living.map(|(token, _)| token.clone()).collect()
    }

    /// New tokens of an earlier sign-in: access and refresh.
    pub(crate) fn grant(&self) -> (String, String) {
        let tokens = self.state.lock().expect("the state").tokens(None);
        let text = |name: &str| tokens[name].as_str().expect("a token").to_owned();
        (text("access_token"), text("refresh_token"))
    }

    /// Revokes all access tokens.
    pub(crate) fn forget_access(&self) {
        self.state.lock().expect("the state").access.clear();
    }

    /// Waits until a request was logged.
    pub(crate) async fn saw(&self, line: &str) {
        let mut log = self.state.lock().expect("the state").log.subscribe();
        let seen = log.wait_for(|log| log.iter().any(|have| have == line));
        let seen = tokio::time::timeout(PATIENCE, seen).await.is_ok();
        assert!(seen, "`{line}` was never asked: {:?}", self.log());
    }

    /// Opens `url` like a browser: follows the redirect and returns the final page.
    pub(crate) async fn browse(&self, url: &str) -> String {
        let answer = get(url).await;
        let location = answer
            .lines()
            .find_map(|line| line.strip_prefix("location: "));
        match location {
            Some(target) => get(target).await,
            None => answer,
        }
    }

    /// The URL that the authorization page redirects to.
    pub(crate) async fn redirect(&self, url: &str) -> String {
        let answer = get(url).await;
        let location = answer
            .lines()
            .find_map(|line| line.strip_prefix("location: "));
        location
            .unwrap_or_else(|| panic!("no redirect: {answer}"))
            .to_owned()
    }
}

/// A `GET` request; returns the complete response as text.
pub(crate) async fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("a plain address");
    let (host, path) = rest.split_once('/').expect("a path");
    let host = host.replace("localhost", "127.0.0.1");
    let mut socket = TcpStream::connect(&host).await.expect("a listener");
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    socket
        .write_all(request.as_bytes())
        .await
        .expect("a request");
    let mut text = String::new();
    socket.read_to_string(&mut text).await.expect("an answer");
    text
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((socket, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // Some tests disconnect early.
            let _ = answer(socket, &state).await;
        });
    }
}

async fn answer(mut socket: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        if socket.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
        if let Some(parts) = parts_of(&bytes) {
            break parts;
        }
    };
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let fields = if body.trim_start().starts_with('{') {
        let object: BTreeMap<String, String> = serde_json::from_str(&body).unwrap_or_default();
        object
    } else {
        pairs(&format!("{query}&{body}"))
    };
    if path == "/token" && fields.contains_key("refresh_token") {
        let gate = {
            let state = state.lock().expect("the state");
            state.note("refresh asked");
            state.behaviour.refresh_gate.clone()
        };
        if let Some(gate) = gate
            && let Ok(permit) = gate.acquire().await
        {
            permit.forget();
        }
    }
    let (status, headers, body) = {
        let mut state = state.lock().expect("the state");
        match path {
            "/authorize" => state.authorize(&fields),
            "/device" => state.device(&fields),
            "/token" => state.token(&fields),
            "/exchange" => state.exchange(&head),
            _ => state.model(&head),
        }
    };
    let date = state.lock().expect("the state").behaviour.date;
    let date = date
        .map(|date| format!("date: {date}\r\n"))
        .unwrap_or_default();
    let response = format!(
        "HTTP/1.1 {status}\r\n{headers}{date}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(response.as_bytes()).await?;
    socket.shutdown().await
}

type Response = (String, String, String);

fn json_response(status: &str, value: &Value) -> Response {
    let headers = "content-type: application/json\r\ncache-control: no-store\r\n";
    (status.to_owned(), headers.to_owned(), value.to_string())
}

fn failure(code: &str) -> Response {
    let status = match code {
        "invalid_client" => "401 Unauthorized",
        "server_error" => "503 Service Unavailable",
        _ => "400 Bad Request",
    };
    json_response(
        status,
        &json!({"error": code, "error_description": format!("because of {code}")}),
    )
}

impl State {
    fn note(&self, line: &str) {
        self.log.send_modify(|log| log.push(line.to_owned()));
    }

    fn next(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}-{:04}-secret", self.count)
    }

    fn authorize(&mut self, fields: &BTreeMap<String, String>) -> Response {
        self.note("authorize");
        let get = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let redirect = get("redirect_uri");
        let fits = get("response_type") == "code"
            && get("client_id") == CLIENT
            && get("code_challenge_method") == "S256"
            && get("code_challenge").len() == 43
            && redirect.starts_with("http://127.0.0.1:");
        if !fits {
            return failure("invalid_request");
        }
        let code = self.next("code");
        self.codes
            .insert(code.clone(), (get("code_challenge"), redirect.clone()));
        let state = match self.behaviour.page {
            Page::WrongState => "somebody-elses".to_owned(),
            _ => get("state"),
        };
        let query = match self.behaviour.page {
            Page::Deny => "error=access_denied&error_description=no+thanks".to_owned(),
            _ => format!("code={code}"),
        };
        let location = format!("location: {redirect}?{query}&state={state}\r\n");
        ("302 Found".to_owned(), location, String::new())
    }

    fn device(&mut self, fields: &BTreeMap<String, String>) -> Response {
        self.note("device");
        if fields.get("client_id").map(String::as_str) != Some(CLIENT) {
            return failure("invalid_client");
        }
        let mut answer = json!({
            "device_code": "device-code-secret",
            "user_code": "WDJB-MJHT",
            "verification_uri": "https://lab.example/device",
            "expires_in": self.behaviour.code_lives.unwrap_or(60_000),
        });
        if let Some(interval) = self.behaviour.interval {
            answer["interval"] = interval.into();
        }
        json_response("200 OK", &answer)
    }

    fn token(&mut self, fields: &BTreeMap<String, String>) -> Response {
        let get = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let grant = get("grant_type").rsplit(':').next().unwrap_or("");
        self.note(&format!("token {grant}"));
        if let Some((status, body)) = self.behaviour.token_answers.pop_front() {
            return (status.to_owned(), String::new(), body.to_owned());
        }
        if let Some(code) = self.behaviour.token_errors.pop_front() {
            return failure(code);
        }
        if get("client_id") != CLIENT {
            return failure("invalid_client");
        }
        match get("grant_type") {
            "authorization_code" => {
                let Some((challenge, redirect)) = self.codes.remove(get("code")) else {
                    return failure("invalid_grant");
                };
                let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier")));
                if hash != challenge || redirect != get("redirect_uri") {
                    return failure("invalid_grant");
                }
                json_response("200 OK", &self.tokens(None))
            }
            "urn:ietf:params:oauth:grant-type:device_code" => {
                if get("device_code") != "device-code-secret" {
                    return failure("invalid_grant");
                }
                json_response("200 OK", &self.tokens(None))
            }
            "refresh_token" => {
                let token = get("refresh_token").to_owned();
                let Some(family) = self.refresh.get(&token).copied() else {
                    return failure("invalid_grant");
                };
                if !self.used.insert(token) {
                    // A reused refresh token revokes its family.
                    self.ended.insert(family);
                    self.note("reuse");
                }
                if self.ended.contains(&family) {
                    return failure("invalid_grant");
                }
                json_response("200 OK", &self.tokens(Some(family)))
            }
            _ => failure("unsupported_grant_type"),
        }
    }

    fn tokens(&mut self, family: Option<u64>) -> Value {
        let family = family.unwrap_or(self.count);
        let (access, refresh) = (self.next("access"), self.next("refresh"));
        self.access.insert(access.clone(), family);
        self.refresh.insert(refresh.clone(), family);
        let expires_in = self.behaviour.expires_in.unwrap_or(3600);
        json!({"access_token": access, "token_type": "Bearer", "expires_in": expires_in,
               "refresh_token": refresh, "scope": "models"})
    }

    /// GitHub's token exchange: a permanent token for a short-lived one.
    fn exchange(&mut self, head: &str) -> Response {
        self.note("exchange");
        if !self.knows_bearer(head) {
            return failure("invalid_client");
        }
        let token = self.next("access");
        self.access.insert(token.clone(), 0);
        let until = self
            .behaviour
            .exchange_until
            .unwrap_or(i64::MAX / 1_000_000);
        json_response("200 OK", &json!({"token": token, "expires_at": until}))
    }

    fn model(&mut self, head: &str) -> Response {
        let known = self.knows_bearer(head);
        self.note(&format!("model {}", if known { 200 } else { 401 }));
        if !known {
            let error =
                json!({"error": {"message": "the token is not valid", "code": "invalid_api_key"}});
            return json_response("401 Unauthorized", &error);
        }
        let chunk = |value: Value| format!("data: {value}\n\n");
        let body = [
            chunk(json!({"choices": [{"index": 0, "delta": {"content": "signed in"}}]})),
            chunk(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
            chunk(json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}})),
            "data: [DONE]\n\n".to_owned(),
        ];
        let headers = "content-type: text/event-stream\r\n".to_owned();
        ("200 OK".to_owned(), headers, body.concat())
    }

    fn knows_bearer(&self, head: &str) -> bool {
        let bearer = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let token = value.trim().strip_prefix("Bearer ")?;
            name.eq_ignore_ascii_case("authorization").then_some(token)
        });
        let family = bearer.and_then(|token| self.access.get(token));
        family.is_some_and(|family| !self.ended.contains(family))
    }
}

/// Head and body of a request once it is complete.
fn parts_of(bytes: &[u8]) -> Option<(String, String)> {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length:")
                .map(str::to_owned)
        })
        .and_then(|length| length.trim().parse::<usize>().ok())
        .unwrap_or(0);
    let body = bytes.get(end..end + length)?;
    Some((head, String::from_utf8_lossy(body).into_owned()))
}

/// The fields of a form or a query.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let parts = text.split('&').filter_map(|part| part.split_once('='));
    parts
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8_lossy(&digits).into_owned();
                bytes.push(u8::from_str_radix(&digits, 16).expect("an escape"));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
