//! Serves the connections of one command.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::destination::Destination;
use super::http::{self, ProxyRequest};
use super::policy::{Failure, Policy};
use super::socks;

/// The port of the proxy on the loopback address of the sandbox.
pub(super) const PORT: u16 = 30128;
/// Open connections of a command at most; others wait.
const MAX_CONNECTIONS: usize = 128;
/// The head of a request, in bytes, and the time to send it.
const MAX_HEAD: usize = 32 * 1024;
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Time without data in both directions.
const IDLE: Duration = Duration::from_mins(10);

/// Serves until the future is dropped.
pub(super) async fn serve(listener: TcpListener, policy: Policy) {
    let policy = Arc::new(policy);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // Dropped with the future, with all its tasks.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let policy = Arc::clone(&policy);
        connections.spawn(async move {
            // The client sees a closed connection.
            let _ = connection(stream, &policy).await;
            drop(place);
        });
    }
}

async fn connection(mut client: TcpStream, policy: &Policy) -> io::Result<()> {
    let started = timeout(HEAD_TIME, client.read_u8()).await??;
    if started == socks::VERSION {
        let request = timeout(HEAD_TIME, socks::read_request(&mut client)).await??;
        let Some(destination) = request else {
            return Ok(());
        };
        let server = policy.connect(&destination).await;
        socks::report(
            &mut client,
            server.as_ref().map(drop).map_err(|failure| *failure),
        )
        .await?;
        if let Ok(server) = server {
            relay(client, server).await;
        }
        return Ok(());
    }
    let head = timeout(HEAD_TIME, read_head(&mut client, started)).await??;
    match http::parse(&head) {
        Ok(ProxyRequest::Tunnel(destination)) => match policy.connect(&destination).await {
            Ok(server) => {
                let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
                client.write_all(established).await?;
                relay(client, server).await;
                Ok(())
            }
            Err(failure) => refuse(&mut client, &destination, failure).await,
        },
        Ok(ProxyRequest::Plain {
            destination,
            head,
            body,
        }) => match policy.connect(&destination).await {
            Ok(server) => forward(client, server, &head, body).await,
            Err(failure) => refuse(&mut client, &destination, failure).await,
        },
        Err(status) => answer(&mut client, status, "the proxy cannot forward this request").await,
    }
}

/// Reads up to the empty line. Byte by byte, because what follows belongs to the body or the tunnel; the head is short.
async fn read_head(client: &mut TcpStream, first: u8) -> io::Result<Vec<u8>> {
    let mut head = vec![first];
    let mut buffer = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let waiting = client.peek(&mut buffer).await?;
        if waiting == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut taken = 0;
        while taken < waiting && !head.ends_with(b"\r\n\r\n") {
            head.push(buffer[taken]);
            taken += 1;
        }
        client.read_exact(&mut buffer[..taken]).await?;
    }
    Ok(head)
}

/// Forwards one request, and then only the answer.
async fn forward(
    client: TcpStream,
    mut server: TcpStream,
    head: &str,
    body: u64,
) -> io::Result<()> {
    server.write_all(head.as_bytes()).await?;
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let moved = AtomicU64::new(0);
    let request = async {
        let mut body = from_client.take(body);
        pump(&mut body, &mut to_server, &moved).await;
        // The rest of the connection stays open for the answer.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = pump(&mut from_server, &mut to_client, &moved) => {}
        () = request => {}
        () = idle(&moved) => {}
    }
    to_client.shutdown().await
}

/// Copies in both directions.
async fn relay(client: TcpStream, server: TcpStream) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let moved = AtomicU64::new(0);
    let up = async {
        pump(&mut from_client, &mut to_server, &moved).await;
        let _ = to_server.shutdown().await;
    };
    let down = async {
        pump(&mut from_server, &mut to_client, &moved).await;
        let _ = to_client.shutdown().await;
    };
    tokio::select! {
        _ = async { tokio::join!(up, down) } => {}
        () = idle(&moved) => {}
    }
}

/// Copies until the end of `from`. Reads no more than `to` accepts.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    moved: &AtomicU64,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        moved.fetch_add(1, Ordering::Relaxed);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// Ends when nothing moved for a while.
async fn idle(moved: &AtomicU64) {
    let mut before = u64::MAX;
    loop {
        let now = moved.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
        sleep(IDLE).await;
    }
}

async fn refuse(
    client: &mut TcpStream,
    destination: &Destination,
    failure: Failure,
) -> io::Result<()> {
    match failure {
        Failure::Denied => {
            let text = format!("The sandbox denied the network host {destination}");
            answer(client, "403 Forbidden", &text).await
        }
        Failure::Unreachable => {
            let text = format!("cannot connect to {destination}");
            answer(client, "502 Bad Gateway", &text).await
        }
    }
}

async fn answer(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    );
    client.write_all(head.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests;
