//! The Agent Client Protocol, version 1, over standard input and output: for editors.
//!
//! One connection holds many sessions, each a host of its own. The messages are those of the published
//! schema, written by hand: a handful of them is spoken, and a test holds each to the schema.

mod asking;
mod editor;
mod forms;
mod offers;
mod options;
mod prompt;
mod servers;
mod session;
mod tools;
mod updates;
mod wire;

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, stdin, stdout};
use tokio::sync::{mpsc, oneshot};

use self::offers::Offers;
use self::session::{News, Opening, Order};
use osier_base::signals::signalled;

use self::wire::{Fault, Incoming, Outgoing, Peer, answered};
use osier_index::Library;
use osier_rpc::LINE_LIMIT;
use osier_rpc::lines::{Line, Lines};
use osier_session::host::{HostSetup, SessionChoice};
use osier_settings::Settings;
use osier_store::{Scope, SessionDirectory};

/// The version of the protocol that is spoken.
const PROTOCOL: u32 = 1;
/// The way to sign in.
const SIGN_IN: &str = "terminal";
/// Sessions of one page of a list.
const PAGE: usize = 100;
/// Messages that wait for a client that does not read before its sessions wait, too.
const WAITING: usize = 64;

/// Serves the editor that has started osier. Whether a signal ended it.
pub async fn run_on_stdio(template: HostSetup) -> bool {
    run(template, stdin(), stdout(), signalled()).await
}

/// Serves an editor until it closes its end or `stop` is done; every session is stored then. Whether it
/// was stopped.
pub async fn run(
    template: HostSetup,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> bool {
    let (peer, mut outgoing) = mpsc::channel(WAITING);
    let (news, mut told) = mpsc::unbounded_channel();
    let mut connection = Connection {
        template,
        output,
        closed: false,
        closing: false,
        peer: Peer::new(peer),
        offers: Offers::default(),
        news,
        sessions: HashMap::new(),
        opening: 0,
        waiting: HashMap::new(),
    };
    let mut lines = Lines::new(input, LINE_LIMIT);
    tokio::pin!(stop);
    let stopped = loop {
        if connection.closed {
            break false;
        }
        tokio::select! {
            biased;
            () = &mut stop => break true,
            Some(news) = told.recv() => connection.hear(news),
            Some(message) = outgoing.recv() => connection.send(message).await,
            line = lines.next() => match line {
                Ok(Some(Line::Whole(line))) => connection.take(&line).await,
                Ok(Some(Line::TooLong)) => connection.refuse_line().await,
                // An input that cannot be read any more has ended.
                Ok(None) | Err(_) => break false,
            },
        }
    };
    for orders in connection.sessions.values() {
        let _ = orders.send(Order::Close { id: None });
    }
    connection.closing = true;
    connection.waiting.clear();
    while !connection.sessions.is_empty() || connection.opening > 0 {
        tokio::select! {
            Some(news) = told.recv() => {
                if let News::Opened { orders, .. } = &news {
                    let _ = orders.send(Order::Close { id: None });
                }
                connection.hear(news);
            }
            Some(message) = outgoing.recv() => connection.send(message).await,
        }
    }
    // What the sessions said last, before they told that they were closed.
    while let Ok(message) = outgoing.try_recv() {
        connection.send(message).await;
    }
    let _ = connection.output.flush().await;
    stopped
}

/// One editor.
struct Connection<W> {
    /// What every session starts with.
    template: HostSetup,
    output: W,
    /// Nobody reads any more.
    closed: bool,
    /// It ends: nothing is asked any more.
    closing: bool,
    peer: Peer,
    offers: Offers,
    news: mpsc::UnboundedSender<News>,
    sessions: HashMap<String, mpsc::UnboundedSender<Order>>,
    /// Sessions on their way.
    opening: usize,
    /// Requests of ours.
    waiting: HashMap<u64, oneshot::Sender<Result<Value, Fault>>>,
}

impl<W: AsyncWrite + Unpin> Connection<W> {
    fn hear(&mut self, news: News) {
        match news {
            News::Opened { id, orders } => {
                self.opening -= 1;
                self.sessions.insert(id, orders);
            }
            News::Failed => self.opening -= 1,
            News::Ended { id } => drop(self.sessions.remove(&id)),
        }
    }

    async fn send(&mut self, message: Outgoing) {
        match message {
            Outgoing::Message(message) => self.write(&message).await,
            Outgoing::Request { .. } if self.closing => {}
            Outgoing::Request {
                id,
                method,
                params,
                reply,
            } => {
                self.waiting.insert(id, reply);
                let request =
                    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                self.write(&request).await;
            }
            Outgoing::Withdrawn { id } => {
                if self.waiting.remove(&id).is_some() {
                    let params = json!({"requestId": id});
                    let method = "$/cancel_request";
                    self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
                        .await;
                }
            }
        }
    }

    async fn write(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let written = self.output.write_all(line.as_bytes()).await;
        self.closed |= written.is_err() || self.output.flush().await.is_err();
    }

    async fn answer(&mut self, id: &Value, answer: Result<Value, Fault>) {
        self.write(&answered(id, answer)).await;
    }

    async fn refuse_line(&mut self) {
        let text = format!("the line has more than {LINE_LIMIT} bytes and was not read");
        let fault = Fault::new(Fault::PARSE, text);
        self.answer(&Value::Null, Err(fault)).await;
    }

    async fn take(&mut self, line: &[u8]) {
        match wire::parse(line) {
            Ok(Incoming::Request { id, method, params }) => {
                if let Some(answer) = self.request(&id, &method, params) {
                    self.answer(&id, answer).await;
                }
            }
            Ok(Incoming::Notification { method, params }) if method == "session/cancel" => {
                if let Ok(orders) = self.session(&params) {
                    let _ = orders.send(Order::Cancel);
                }
            }
            Ok(Incoming::Notification { method, mut params }) => {
                // What is not known needs no answer.
                if method == "$/cancel_request" {
                    let id = params["requestId"].take();
                    for orders in self.sessions.values() {
                        let _ = orders.send(Order::Withdraw { id: id.clone() });
                    }
                }
            }
            Ok(Incoming::Reply { id, answer }) => {
                if let Some(reply) = self.waiting.remove(&id) {
                    let _ = reply.send(answer);
                }
            }
            Err((id, fault)) => self.answer(&id, Err(fault)).await,
        }
    }

    /// Does what is asked; the answer, where that is known at once.
    fn request(&mut self, id: &Value, method: &str, params: Value) -> Option<Result<Value, Fault>> {
        let id = id.clone();
        let done = match method {
            "initialize" => {
                self.offers = Offers::of(&params);
                return Some(Ok(greeting(self.offers)));
            }
            "authenticate" => self.signed_in(id, &params),
            "session/list" => return Some(self.list(&params)),
            "session/delete" => return Some(self.delete(&params)),
            "session/new" => self.open(id, &params, Opening::New),
            "session/load" => self.open(id, &params, Opening::Load),
            "session/resume" => self.open(id, &params, Opening::Resume),
            "session/prompt" => self.order(params, |params| Order::Prompt { id, params }),
            "session/set_mode" => self.order(params, |params| Order::SetMode { id, params }),
            "session/set_config_option" => {
                self.order(params, |params| Order::SetOption { id, params })
            }
            "session/close" => self.order(params, |_| Order::Close { id: Some(id) }),
            _ => Err(Fault::new(
                Fault::UNKNOWN_METHOD,
                format!("there is no method `{method}`"),
            )),
        };
        done.err().map(Err)
    }

    fn session(&self, params: &Value) -> Result<&mpsc::UnboundedSender<Order>, Fault> {
        let id = params["sessionId"].as_str();
        let id = id.ok_or_else(|| Fault::params("`sessionId` has to be a text"))?;
        self.sessions.get(id).ok_or_else(|| {
            let text = format!("no session `{id}` is open");
            Fault::new(Fault::NOT_FOUND, text)
        })
    }

    fn order(&self, params: Value, make: impl FnOnce(Value) -> Order) -> Result<(), Fault> {
        let orders = self.session(&params)?.clone();
        // One that ends answers by ending.
        let _ = orders.send(make(params));
        Ok(())
    }

    /// Somebody has signed in, in a terminal: what is open takes it over, and the first of it answers.
    fn signed_in(&self, id: Value, params: &Value) -> Result<(), Fault> {
        let method = params["methodId"].as_str().unwrap_or_default();
        if method != SIGN_IN {
            let text = format!("there is no way to sign in called `{method}`");
            return Err(Fault::params(text));
        }
        let mut asked = Some(id);
        for orders in self.sessions.values() {
            let _ = orders.send(Order::Reload { id: asked.take() });
        }
        if let Some(id) = asked {
            let peer = self.peer.clone();
            tokio::spawn(async move { peer.answer(&id, Ok(json!({}))).await });
        }
        Ok(())
    }

    fn open(&mut self, id: Value, params: &Value, opening: Opening) -> Result<(), Fault> {
        let cwd = directory("cwd", &params["cwd"])?;
        let directories = directories(&params["additionalDirectories"])?;
        let session = match (opening, params["sessionId"].as_str()) {
            (Opening::New, _) => SessionChoice::New,
            (_, Some(id)) if self.sessions.contains_key(id) => {
                let text = format!("the session `{id}` is open already");
                return Err(Fault::new(Fault::INVALID_REQUEST, text));
            }
            (_, Some(id)) => SessionChoice::Resume(id.to_owned()),
            (_, None) => return Err(Fault::params("`sessionId` has to be a text")),
        };
        let servers = servers::read(&params["mcpServers"])?;
        let (settings, _) = Settings::load_for(&self.template.folders, &cwd);
        let setup = HostSetup {
            cwd,
            directories,
            settings,
            session,
            servers,
            ..self.template.clone()
        };
        self.opening += 1;
        let (peer, news) = ((self.peer.clone(), self.offers), self.news.clone());
        tokio::spawn(session::run(setup, opening, id, peer, news));
        Ok(())
    }

    fn list(&self, params: &Value) -> Result<Value, Fault> {
        let directory = SessionDirectory::new(&self.template.folders.data);
        let cwd = params["cwd"].as_str().map(PathBuf::from);
        let scope = cwd.as_deref().map_or(Scope::All, Scope::Project);
        let start: usize = match params["cursor"].as_str().map(str::parse) {
            None => 0,
            Some(Ok(start)) => start,
            Some(Err(_)) => return Err(Fault::params("`cursor` is none of this agent's")),
        };
        let known = directory.list(scope).into_iter();
        let mut known = known
            .filter(|session| Path::new(&session.cwd).is_absolute())
            .skip(start);
        let sessions: Vec<Value> = known
            .by_ref()
            .take(PAGE)
            .map(|session| {
                let title = session.name.or(session.first_prompt);
                let updated = jiff::Timestamp::from_millisecond(session.modified).ok();
                json!({
                    "sessionId": session.id, "cwd": session.cwd, "title": title,
                    "updatedAt": updated.map(|time| time.to_string()),
                })
            })
            .collect();
        let next = known.next().map(|_| (start + PAGE).to_string());
        Ok(json!({"sessions": sessions, "nextCursor": next}))
    }

    /// Puts a session into the trash, from which `osier sessions restore` brings it back.
    fn delete(&self, params: &Value) -> Result<Value, Fault> {
        let id = params["sessionId"].as_str();
        let id = id.ok_or_else(|| Fault::params("`sessionId` has to be a text"))?;
        if self.sessions.contains_key(id) {
            let text = format!("the session `{id}` is open: close it first");
            return Err(Fault::new(Fault::INVALID_REQUEST, text));
        }
        let data = &self.template.folders.data;
        let deleted = SessionDirectory::new(data)
            .find(id)
            .and_then(|path| Library::new(data).trash().delete(&path));
        match deleted {
            Ok(_) => Ok(json!({})),
            Err(error) => Err(Fault::new(Fault::NOT_FOUND, error.to_string())),
        }
    }
}

/// What this agent is and can.
fn greeting(offers: Offers) -> Value {
    let sign_in = json!({
        "type": "terminal", "id": SIGN_IN, "name": "Sign in",
        "description": "Signs in with a provider, or stores a key, in a terminal", "args": ["--login"],
    });
    // An editor that runs nothing in a terminal is told in words, with the prompt that fails.
    let methods: Vec<Value> = offers.sign_in.then_some(sign_in).into_iter().collect();
    json!({
        "protocolVersion": PROTOCOL,
        "agentInfo": {
            "name": osier_base::PROGRAM,
            "title": "osier",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": false},
            "sessionCapabilities": {
                "list": {}, "delete": {}, "resume": {}, "close": {}, "additionalDirectories": {},
            },
        },
        "authMethods": methods,
    })
}

fn directory(name: &str, value: &Value) -> Result<PathBuf, Fault> {
    let named = value.as_str().map(Path::new);
    let path = named
        .filter(|path| path.is_absolute())
        .ok_or_else(|| Fault::params(format!("`{name}` has to be an absolute path")))?;
    path.canonicalize()
        .map_err(|error| Fault::params(format!("`{}` cannot be used: {error}", path.display())))
}

/// Folders beside the working directory.
fn directories(list: &Value) -> Result<Vec<PathBuf>, Fault> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|one| directory("additionalDirectories", one))
        .collect()
}
