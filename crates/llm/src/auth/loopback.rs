//! The listener that the browser is redirected to after a sign-in: one path on 127.0.0.1.
//!
//! Every connection has a task of its own, because browsers open connections in advance and send nothing on
//! them. Other requests are answered and ignored: a page in the browser can neither complete nor end a
//! sign-in.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::error::SignInError;

/// Maximum bytes of the request line and headers.
const REQUEST_LIMIT: usize = 16 * 1024;
/// Timeout of a connection.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// An open listener. Dropping it closes it and every connection.
#[derive(Debug)]
pub struct Loopback {
    listener: TcpListener,
    port: u16,
}

/// A request for the callback path, and where to send the response.
#[derive(Debug)]
pub(super) struct Callback {
    /// The query of the request, still encoded.
    pub query: String,
    answer: TcpStream,
}

impl Loopback {
    /// Listens on `port` of the loopback interface; 0 selects a free port.
    pub async fn bind(port: u16) -> Result<Self, SignInError> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await;
        let listener = listener.map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => SignInError::PortTaken { port },
            _ => SignInError::NoPort {
                reason: error.to_string(),
            },
        })?;
        let port = listener.local_addr().map_or(port, |address| address.port());
        Ok(Self { listener, port })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Passes every request for `path` to `judge` until it returns a result. `judge` returns the page for the
    /// browser, and the result if this was the expected request.
    pub async fn wait<T>(&self, path: &str, mut judge: impl FnMut(&str) -> (Page, Option<T>)) -> T {
        let (send, mut callbacks) = mpsc::unbounded_channel();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Ok((socket, _)) = self.listener.accept() => {
                    let (send, path) = (send.clone(), path.to_owned());
                    connections.spawn(async move {
                        // A browser that disconnects early is not an error.
                        let _ = timeout(REQUEST_TIMEOUT, read(socket, &path, &send)).await;
                    });
                }
                Some(callback) = callbacks.recv() => {
                    let Callback { query, answer } = callback;
                    let (page, result) = judge(&query);
                    let shown = timeout(REQUEST_TIMEOUT, show(answer, page));
                    if let Some(result) = result {
                        let _ = shown.await;
                        return result;
                    }
                    connections.spawn(async move { let _ = shown.await; });
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// The page that the browser displays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: &'static str,
    pub text: String,
}

impl Page {
    pub fn done() -> Self {
        Self {
            status: "200 OK",
            text: "You are signed in. Close this page and go back to osier.".to_owned(),
        }
    }

    pub fn refused(text: impl Into<String>) -> Self {
        Self {
            status: "400 Bad Request",
            text: text.into(),
        }
    }
}

async fn read(
    mut socket: TcpStream,
    path: &str,
    callbacks: &mpsc::UnboundedSender<Callback>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|part| part == b"\r\n\r\n") {
        if bytes.len() > REQUEST_LIMIT || socket.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
    let head = String::from_utf8_lossy(&bytes);
    match target(&head) {
        Some(target) if target.path == path => {
            let callback = Callback {
                query: target.query.to_owned(),
                answer: socket,
            };
            // The receiver is dropped when the sign-in has ended.
            let _ = callbacks.send(callback);
            Ok(())
        }
        _ => {
            let page = Page {
                status: "404 Not Found",
                text: "Not found.".to_owned(),
            };
            show(socket, page).await
        }
    }
}

/// The target of a request.
struct Target<'a> {
    path: &'a str,
    query: &'a str,
}

/// The target of a `GET` request.
fn target(head: &str) -> Option<Target<'_>> {
    let mut words = head.lines().next()?.split(' ');
    if words.next()? != "GET" {
        return None;
    }
    let target = words.next()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some(Target { path, query })
}

async fn show(mut socket: TcpStream, page: Page) -> std::io::Result<()> {
    let text = page.text.replace('&', "&amp;").replace('<', "&lt;");
    let body = format!(
        "<!doctype html><meta charset=utf-8><title>osier</title>\
         <p style=\"font:1.2em sans-serif;margin:4em auto;max-width:30em\">{text}</p>"
    );
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n",
        page.status,
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    socket.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(port: u16, request: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn only_the_expected_request_ends_the_wait() {
        let loopback = Loopback::bind(0).await.unwrap();
        let port = loopback.port();
        let waiting = tokio::spawn(async move {
            loopback
                .wait("/callback", |query| match query {
                    "code=right" => (Page::done(), Some(query.to_owned())),
                    _ => (Page::refused("<wrong>"), None),
                })
                .await
        });
        let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let icon = ask(port, "GET /favicon.ico HTTP/1.1\r\n\r\n").await;
        assert!(icon.starts_with("HTTP/1.1 404"), "{icon}");
        let wrong = ask(port, "GET /callback?code=wrong HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(
            wrong.starts_with("HTTP/1.1 400") && wrong.contains("&lt;wrong>"),
            "{wrong}"
        );
        let posted = ask(port, "POST /callback?code=right HTTP/1.1\r\n\r\n").await;
        assert!(posted.starts_with("HTTP/1.1 404"), "{posted}");
        let right = ask(port, "GET /callback?code=right HTTP/1.1\r\n\r\n").await;
        assert!(right.starts_with("HTTP/1.1 200"), "{right}");
        assert_eq!(waiting.await.unwrap(), "code=right");
    }

    #[tokio::test]
    async fn port_in_use_is_an_error() {
        let first = Loopback::bind(0).await.unwrap();
        let port = first.port();
        let second = Loopback::bind(port).await.unwrap_err();
        assert!(matches!(second, SignInError::PortTaken { port: at } if at == port));
    }
}
