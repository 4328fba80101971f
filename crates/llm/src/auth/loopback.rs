//! The listener a browser comes back to after a sign-in: one path on 127.0.0.1, nothing else.
//!
//! Every connection has a task of its own, because browsers open connections ahead of time and leave
//! them silent. Requests that are not the awaited one are answered and forgotten: another page of the
//! browser can neither finish nor end a sign-in.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::error::SignInError;

/// Longest request line and headers, in bytes.
const REQUEST_LIMIT: usize = 16 * 1024;
/// Longest time one connection may take.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// An open listener. Dropping it closes it and every connection.
#[derive(Debug)]
pub struct Loopback {
    listener: TcpListener,
    port: u16,
}

/// What a callback said, and how to answer it.
#[derive(Debug)]
pub(super) struct Callback {
    /// The query of the request, still encoded.
    pub query: String,
    answer: TcpStream,
}

impl Loopback {
    /// Listens on `port` of this machine; 0 takes any that is free.
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

    /// Hands every request for `path` to `judge` until it has a result. `judge` says what the browser
    /// is shown, and the result when this was the awaited request.
    pub async fn wait<T>(&self, path: &str, mut judge: impl FnMut(&str) -> (Page, Option<T>)) -> T {
        let (send, mut callbacks) = mpsc::unbounded_channel();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Ok((socket, _)) = self.listener.accept() => {
                    let (send, path) = (send.clone(), path.to_owned());
                    connections.spawn(async move {
                        // A browser that goes away early is no fault.
                        let _ = timeout(REQUEST_TIME, read(socket, &path, &send)).await;
                    });
                }
                Some(callback) = callbacks.recv() => {
                    let Callback { query, answer } = callback;
                    let (page, result) = judge(&query);
                    let shown = timeout(REQUEST_TIME, show(answer, page));
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

/// What the browser shows.
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
        Some((asked, query)) if asked == path => {
            let callback = Callback {
                query: query.to_owned(),
                answer: socket,
            };
            // Nobody waits any more when the sign-in is over.
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

/// Path and query of a `GET`.
fn target(head: &str) -> Option<(&str, &str)> {
    let mut words = head.lines().next()?.split(' ');
    if words.next()? != "GET" {
        return None;
    }
    let target = words.next()?;
    Some(target.split_once('?').unwrap_or((target, "")))
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
    async fn silent_foreign_and_wrong_requests_do_not_end_the_wait() {
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
    async fn a_port_in_use_is_named() {
        let first = Loopback::bind(0).await.unwrap();
        let port = first.port();
        let second = Loopback::bind(port).await.unwrap_err();
        assert!(matches!(second, SignInError::PortTaken { port: at } if at == port));
    }
}
