//! A connection between two programs that a test can hold, release and cut. Plain on the server's side; encrypted
//! on the client's side if there is a certificate.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    held: bool,
    /// The number of cuts.
    cuts: usize,
}

/// Forwards bytes until it is dropped.
pub(crate) struct TestConnection {
    port: u16,
    state: watch::Sender<State>,
}

impl TestConnection {
    /// A connection to `server`.
    pub(crate) fn to(server: SocketAddr, tls: Option<ServerConfig>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        listener.set_nonblocking(true).expect("a listener");
        let (state, seen) = watch::channel(State {
            held: false,
            cuts: 0,
        });
        let tls = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                let mut ended = seen.clone();
                tokio::select! {
                    () = accept(listener, server, tls, seen) => {}
                    () = async { while ended.changed().await.is_ok() {} } => {}
                }
            });
        });
        Self { port, state }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Forwards nothing and stays open.
    pub(crate) fn hold(&self) {
        self.state.send_modify(|state| state.held = true);
    }

    pub(crate) fn release(&self) {
        self.state.send_modify(|state| state.held = false);
    }

    /// Closes every connection; new ones can be opened.
    pub(crate) fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    tls: Option<TlsAcceptor>,
    state: watch::Receiver<State>,
) {
    while let Ok((client, _)) = listener.accept().await {
        let (tls, state) = (tls.clone(), state.clone());
        // Both ends notice a connection that fails.
        tokio::spawn(async move {
            let server = TcpStream::connect(server).await?;
            match tls {
                Some(tls) => join(tls.accept(client).await?, server, state).await,
                None => join(client, server, state).await,
            }
            std::io::Result::Ok(())
        });
    }
}

async fn join(
    client: impl AsyncRead + AsyncWrite,
    server: TcpStream,
    mut state: watch::Receiver<State>,
) {
    let (client_reads, client_writes) = tokio::io::split(client);
    let (server_reads, server_writes) = tokio::io::split(server);
    let cuts = state.borrow().cuts;
    tokio::select! {
        () = pass(client_reads, server_writes, state.clone()) => {}
        () = pass(server_reads, client_writes, state.clone()) => {}
        _ = state.wait_for(|state| state.cuts != cuts) => {}
    }
}

/// Forwards one direction until an end closes.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut state: watch::Receiver<State>,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if state.wait_for(|state| !state.held).await.is_err() {
            return;
        }
        if to.write_all(&bytes[..count]).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}
