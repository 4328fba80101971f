//! The connection of an attached client is cut at every message, and the server restarts or unloads the session before the client
//! is back. The prompt of the client runs once. Another client sends a long prompt over a slow connection.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use osier_protocol::Op;
use osier_rpc::remote::{AttachOptions, Target, Token, attach};
use serde_json::{Value, json};

use crate::Report;
use crate::options::Options;
use crate::support::home::Home;
use crate::support::model::ModelServer;
use crate::support::{locked, until};

const PATIENCE: Duration = Duration::from_mins(4);
/// The short version cuts at each message with a multiple of this number.
const STEP: usize = 6;
/// Bytes of a prompt, which travels in several messages.
const LENGTH: usize = 40_000;
/// Bytes of a prompt that takes longer to send than a connection may be silent, and the bytes that
/// are sent per second.
const SLOW: (usize, usize) = (100_000, 8_000);
/// The minutes after which a server unloads an idle session: in the tests that unload it at each
/// cut, and in the others.
const UNLOAD_SOON: &str = "0.01";
const UNLOAD_LATER: &str = "1";
/// A connection with more messages never ends.
const MOST: usize = 500;

/// The action of the server after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Continue,
    Restart,
    Unload,
}

pub(crate) fn run(options: &Options) -> io::Result<Report> {
    let folder = options.folder("cuts")?;
    let model = Arc::new(ModelServer::start()?);
    let program = options.program().to_owned();
    let step = if options.is_short() { STEP } else { 1 };
    let end = options.end();
    let mut threads = Vec::new();
    for (name, then) in [
        ("continue", Some(Then::Continue)),
        ("restart", Some(Then::Restart)),
        ("unload", Some(Then::Unload)),
        ("slow", None),
    ] {
        let home = Home::new(folder.path.join(name), &model.models_json(), "")?;
        let program = program.clone();
        threads.push(thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            let _entered = runtime.enter();
            let unload_after = match then {
                Some(Then::Unload) => UNLOAD_SOON,
                _ => UNLOAD_LATER,
            };
            let server = Server::start(home, program, unload_after)?;
            let server = Arc::new(Mutex::new(server));
            let report = match then {
                Some(then) => cuts(name, &server, then, step, end),
                None => slow(&server),
            };
            // The threads of the relays keep the server until the end of the program.
            let mut server = locked(&server);
            server.child.kill()?;
            server.child.wait()?;
            report
        }));
    }
    let mut report = Report::default();
    for thread in threads {
        let one = thread.join();
        report.add(one.map_err(|_| io::Error::other("a client has failed"))??);
    }
    Ok(report)
}

/// Cuts the connection at one message after the other, until the client has sent everything before
/// the cut.
fn cuts(
    name: &str,
    server: &Arc<Mutex<Server>>,
    then: Then,
    step: usize,
    end: Option<Instant>,
) -> io::Result<Report> {
    let mut report = Report::default();
    let mut cut = 1;
    let begun = Instant::now();
    loop {
        if end.is_some_and(|end| Instant::now() >= end) {
            report
                .notes
                .push(format!("{name}: no time for cuts from {cut} on"));
            break;
        }
        let relay = Relay::start(server, cut, then)?;
        if let Err(failure) = prompts(server, &relay, LENGTH) {
            report
                .failures
                .push(format!("{name}, cut at {cut}: {failure}"));
        }
        if relay.passed.load(Ordering::SeqCst) < cut || cut > MOST {
            break;
        }
        report.tried += 1;
        cut += step;
    }
    if report.tried < 2 {
        report
            .failures
            .push(format!("{name}: only {} cuts", report.tried));
    }
    let (tried, failed) = (report.tried, report.failures.len());
    let seconds = begun.elapsed().as_secs_f64();
    report.notes.push(format!(
        "{name}: {tried} cuts, {failed} failed, {seconds:.0} s"
    ));
    Ok(report)
}

fn slow(server: &Arc<Mutex<Server>>) -> io::Result<Report> {
    let relay = Relay::start(server, usize::MAX, Then::Continue)?;
    relay.pace.store(SLOW.1, Ordering::SeqCst);
    let mut report = Report {
        tried: 1,
        ..Report::default()
    };
    if let Err(failure) = prompts(server, &relay, SLOW.0) {
        report.fail(&format!("slow: {failure}"));
    }
    let connections = relay.connections.load(Ordering::SeqCst);
    if connections != 1 {
        report
            .failures
            .push(format!("slow: {connections} connections"));
    }
    Ok(report)
}

/// Sends a long prompt over the relay and another one. Both must be in the session, once and in this order.
fn prompts(server: &Arc<Mutex<Server>>, relay: &Relay, length: usize) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let id = locked(server).open().map_err(failed)?;
    let token = locked(server).token.clone();
    let options = AttachOptions {
        session: Some(id.clone()),
        name: "torture".to_owned(),
        token: Some(Token::Given(token)),
        ..AttachOptions::default()
    };
    let (handle, mut events) = attach(Target::Http(format!("http://{}", relay.address)), options);
    // Nobody else reads the events, so their queue would grow.
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    let long = format!("GO text 1\n{}", "a long line\n".repeat(length / 12));
    let mut expected = vec!["GO text 0".to_owned()];
    for text in [long, "GO text 2".to_owned()] {
        expected.push(text.clone());
        let prompt = osier_agent::Op::Prompt {
            text,
            attachments: Vec::new(),
            typed: None,
            once: None,
        };
        handle.send(prompt.into());
        let mut stored = Vec::new();
        // After a restart nobody continues the interrupted run.
        let is_done = until(PATIENCE, || {
            let server = locked(server);
            stored = server.prompts(&id).unwrap_or_default();
            stored.len() >= expected.len() && server.is_idle(&id)
        });
        if !is_done || stored != expected {
            let stored: Vec<&str> = stored
                .iter()
                .filter_map(|text| text.lines().next())
                .collect();
            return Err(format!("the session has the prompts {stored:?}"));
        }
    }
    handle.send(Op::ShutDown);
    Ok(())
}

/// `osier serve`.
struct Server {
    home: Home,
    program: PathBuf,
    unload_after: &'static str,
    child: Child,
    /// The output must stay open as long as the server runs.
    _output: Option<BufReader<ChildStdout>>,
    address: String,
    token: String,
}

impl Server {
    fn start(home: Home, program: PathBuf, unload_after: &'static str) -> io::Result<Self> {
        let mut command = home.command(&program);
        let model = "openai-chat-completions/m";
        command.args(["serve", "--listen", "127.0.0.1:0", "--model", model]);
        command.args(["--unload-after", unload_after]);
        let mut child = command.stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        let mut output = child.stdout.take().map(BufReader::new);
        if let Some(output) = &mut output {
            output.read_line(&mut line)?;
        }
        let found = line.trim().strip_prefix("http://");
        let found = found.and_then(|rest| rest.split_once("/#token="));
        let (address, token) =
            found.ok_or_else(|| io::Error::other(format!("no address: {line}")))?;
        let (address, token) = (address.to_owned(), token.to_owned());
        Ok(Self {
            home,
            program,
            unload_after,
            child,
            _output: output,
            address,
            token,
        })
    }

    fn restart(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        *self = Self::start(self.home.clone(), self.program.clone(), self.unload_after)?;
        Ok(())
    }

    /// Waits until no session is in memory.
    fn unloaded(&self) -> io::Result<()> {
        let is_empty = || {
            let sessions = self.request("GET", "/api/sessions", &json!({}));
            sessions.is_ok_and(|all| all["open"].as_array().is_some_and(Vec::is_empty))
        };
        if until(PATIENCE, is_empty) {
            Ok(())
        } else {
            Err(io::Error::other("a session stays in memory"))
        }
    }

    /// Opens a session with a prompt, so that it has a file. Returns its id.
    fn open(&self) -> io::Result<String> {
        let opened = self.request("POST", "/api/sessions", &json!({}))?;
        let id = opened["id"].as_str().unwrap_or_default().to_owned();
        self.rpc(&id, &json!({"type": "prompt", "message": "GO text 0"}))?;
        if until(PATIENCE, || {
            self.is_idle(&id) && self.prompts(&id).is_ok_and(|all| all.len() == 1)
        }) {
            Ok(id)
        } else {
            Err(io::Error::other("the first prompt does not end"))
        }
    }

    /// The prompts that a session has stored.
    fn prompts(&self, id: &str) -> io::Result<Vec<String>> {
        let answer = self.rpc(id, &json!({"type": "get_messages"}))?;
        let messages = answer["data"]["messages"].as_array().cloned();
        let messages = messages.unwrap_or_default().into_iter();
        let of_user = messages.filter(|message| message["role"] == "user");
        let texts = of_user.map(|message| message["text"].as_str().unwrap_or_default().to_owned());
        Ok(texts.collect())
    }

    fn is_idle(&self, id: &str) -> bool {
        let state = self.rpc(id, &json!({"type": "get_state"}));
        state.is_ok_and(|state| state["data"]["isStreaming"] == false)
    }

    fn rpc(&self, id: &str, command: &Value) -> io::Result<Value> {
        self.request("POST", &format!("/api/sessions/{id}/rpc"), command)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> io::Result<Value> {
        let (body, address, token) = (body.to_string(), &self.address, &self.token);
        let length = body.len();
        let mut socket = TcpStream::connect(address)?;
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok(serde_json::from_str(body).unwrap_or_default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes connections on to a server, and cuts one after a number of messages.
struct Relay {
    address: String,
    /// The messages in both directions.
    passed: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    /// Bytes per second from the client; 0 for no limit.
    pace: Arc<AtomicUsize>,
}

impl Relay {
    fn start(server: &Arc<Mutex<Server>>, cut: usize, then: Then) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let relay = Self {
            address: listener.local_addr()?.to_string(),
            passed: Arc::default(),
            connections: Arc::default(),
            pace: Arc::default(),
        };
        let (passed, pace) = (Arc::clone(&relay.passed), Arc::clone(&relay.pace));
        let server = Arc::clone(server);
        let connections = Arc::clone(&relay.connections);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let address = locked(&server).address.clone();
                let Ok(upstream) = TcpStream::connect(address) else {
                    continue;
                };
                for is_up in [true, false] {
                    let (from, to) = if is_up {
                        (&client, &upstream)
                    } else {
                        (&upstream, &client)
                    };
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else {
                        continue;
                    };
                    let server = Arc::clone(&server);
                    let (passed, pace) = (Arc::clone(&passed), Arc::clone(&pace));
                    thread::spawn(move || {
                        let pace = if is_up {
                            pace.load(Ordering::SeqCst)
                        } else {
                            0
                        };
                        let at_cut = |close: &dyn Fn()| {
                            // The locked server keeps the client from connecting again too early.
                            let mut server = locked(&server);
                            // The connection is closed first: a session with a client is not
                            // unloaded.
                            close();
                            let _ = match then {
                                Then::Continue => Ok(()),
                                Then::Restart => server.restart(),
                                Then::Unload => server.unloaded(),
                            };
                        };
                        pass(from, to, &passed, cut, pace, at_cut);
                    });
                }
            }
        });
        Ok(relay)
    }
}

/// Passes bytes on until the message with the number `cut`, which is lost with the connection.
fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    passed: &AtomicUsize,
    cut: usize,
    pace: usize,
    at_cut: impl Fn(&dyn Fn()),
) {
    let mut buffer = vec![0; if pace == 0 { 16 * 1024 } else { 1024 }];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if passed.fetch_add(1, Ordering::SeqCst) + 1 == cut {
            at_cut(&|| close(&from, &to));
            break;
        }
        if pace > 0 {
            thread::sleep(
                Duration::from_secs(1) * u32::try_from(length).unwrap_or(1)
                    / u32::try_from(pace).unwrap_or(1),
            );
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    close(&from, &to);
}

fn close(from: &TcpStream, to: &TcpStream) {
    for socket in [from, to] {
        let _ = socket.shutdown(Shutdown::Both);
    }
}
