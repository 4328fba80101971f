//! The listener: a TCP address, or a Unix socket that only its owner can open.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower_service::Service as _;

use osier_base::file_stamp::FileStamp;
use osier_base::locked_file;

use super::connections::{ConnectionInfo, Connections, MAX_CONNECTIONS, OpenConnection};

/// How long a connection may wait for the head of a request: half-open and idle connections end.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// How often, and with which pause, a server tries to be the only one that starts.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Address(SocketAddr),
    /// A Unix socket that only its owner can open.
    Unix(PathBuf),
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on `{address}`: {source}")]
    Address {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot listen on `{}`: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("another server listens on `{}`; join it with `osier attach unix:{}`", path.display(), path.display())]
    InUse { path: PathBuf },
}

/// A bound listener.
#[derive(Debug)]
pub(super) enum Bound {
    Address(TcpListener, SocketAddr),
    Unix(OwnSocket, SocketPlace),
}

/// Where clients find a Unix socket.
#[derive(Debug, Clone)]
pub(super) struct SocketPlace {
    path: PathBuf,
    /// The inode of the socket file: another server may have replaced the file.
    inode: Option<u64>,
}

impl SocketPlace {
    /// Whether clients no longer find the server there.
    pub(super) fn is_lost(&self) -> bool {
        inode(&self.path) != self.inode
    }
}

/// A Unix socket for processes of the same user: its permissions stop others, but not root and privileged services.
#[derive(Debug)]
pub(super) struct OwnSocket(UnixListener);

impl Listener for OwnSocket {
    type Io = UnixStream;
    type Addr = ();

    async fn accept(&mut self) -> (UnixStream, ()) {
        loop {
            let (stream, _) = Listener::accept(&mut self.0).await;
            let peer = stream.peer_cred();
            if peer.is_ok_and(|peer| peer.uid() == rustix::process::getuid().as_raw()) {
                return (stream, ());
            }
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Bound {
    pub(super) async fn new(listen: &Listen) -> Result<Self, ListenError> {
        match listen {
            Listen::Address(address) => {
                let failed = |source| ListenError::Address {
                    address: *address,
                    source,
                };
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?;
                Ok(Self::Address(listener, bound))
            }
            Listen::Unix(path) => {
                let listener = bind_private_socket(path).await?;
                let place = SocketPlace {
                    path: path.clone(),
                    inode: inode(path),
                };
                Ok(Self::Unix(OwnSocket(listener), place))
            }
        }
    }

    /// The IP address; none for a Unix socket.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Address(_, address) => Some(address.ip()),
            Self::Unix(..) => None,
        }
    }

    /// The place of a Unix socket.
    pub(super) fn place(&self) -> Option<SocketPlace> {
        match self {
            Self::Address(..) => None,
            Self::Unix(_, place) => Some(place.clone()),
        }
    }

    pub(super) fn url(&self) -> String {
        self.to_string()
    }

    /// Serves until `ended` is true, then finishes the active requests.
    pub(super) async fn serve(self, router: Router, ended: watch::Receiver<bool>) {
        match self {
            Self::Address(listener, _) => accept(listener, router, ended).await,
            Self::Unix(listener, place) => {
                accept(listener, router, ended).await;
                if !place.is_lost() {
                    let _ = std::fs::remove_file(place.path);
                }
            }
        }
    }
}

/// The connection to a client.
trait Connection {
    /// The address that the client connected to.
    fn local_address(&self) -> Option<SocketAddr>;

    /// Sends every part of a response at once. Otherwise the kernel holds a small part back until the client has
    /// acknowledged the one before, which takes up to 40 ms.
    fn send_at_once(&self);
}

impl Connection for TcpStream {
    fn local_address(&self) -> Option<SocketAddr> {
        self.local_addr().ok()
    }

    fn send_at_once(&self) {
        // A failure only makes the connection slower.
        let _ = self.set_nodelay(true);
    }
}

impl Connection for UnixStream {
    fn local_address(&self) -> Option<SocketAddr> {
        None
    }

    fn send_at_once(&self) {}
}

/// Serves every connection in a task of its own.
async fn accept<L>(mut listener: L, router: Router, ended: watch::Receiver<bool>)
where
    L: Listener,
    L::Io: Connection,
{
    let mut connections = JoinSet::new();
    let table = Connections::new(MAX_CONNECTIONS);
    let mut number = 0;
    let mut end = ended.clone();
    loop {
        tokio::select! {
            // A dropped sender ends the server as well.
            _ = end.wait_for(|ended| *ended) => break,
            (stream, _) = listener.accept() => {
                number += 1;
                stream.send_at_once();
                let info = ConnectionInfo {
                    number,
                    local: stream.local_address(),
                };
                // Without room for another connection, this one closes.
                if let Some(open) = table.add(number) {
                    let serve = serve_connection(stream, info, open, router.clone(), ended.clone());
                    connections.spawn(serve);
                }
            }
            // Only frees connections that have ended.
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// HTTP/1.1 is what every client speaks without TLS; the code of HTTP/2 would only make the program larger.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    info: ConnectionInfo,
    open: OpenConnection,
    router: Router,
    mut ended: watch::Receiver<bool>,
) {
    let usage = open.usage();
    let service = service_fn(move |request| {
        let (open, mut request) = usage.begin(Request::map(request, Body::new));
        request.extensions_mut().insert(info);
        let answering = router.clone().call(request);
        async move { answering.await.map(|response| open.until_sent(response)) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    // A client that breaks its connection is not an error of the server.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = open.closed() => return,
        _ = ended.wait_for(|ended| *ended) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(_, address) => write!(formatter, "http://{address}"),
            Self::Unix(_, place) => write!(formatter, "unix:{}", place.path.display()),
        }
    }
}

/// Creates a Unix socket that only its owner can open. Replaces a socket without a listener.
async fn bind_private_socket(path: &Path) -> Result<UnixListener, ListenError> {
    let failed = |source| ListenError::Socket {
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    // Of two servers that start at the same time, one would remove the socket of the other.
    let _alone = locked(folder).await;
    if UnixStream::connect(path).await.is_ok() {
        return Err(ListenError::InUse {
            path: path.to_owned(),
        });
    }
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !is_socket(&metadata) => {
            let error = io::Error::other("the file exists and is not a socket");
            return Err(failed(error));
        }
        Ok(_) => std::fs::remove_file(path).map_err(failed)?,
        Err(_) => {}
    }
    // Create it under a temporary name and rename it once only the owner can open it.
    let temporary = folder.join(format!(".osier-{}", std::process::id()));
    let listener = UnixListener::bind(&temporary).map_err(failed)?;
    let private = std::fs::Permissions::from_mode(0o600);
    let moved = std::fs::set_permissions(&temporary, private);
    let moved = moved.and_then(|()| std::fs::rename(&temporary, path));
    if let Err(error) = moved {
        let _ = std::fs::remove_file(&temporary);
        return Err(failed(error));
    }
    Ok(listener)
}

/// Locks the folder, unless another program holds the lock all the time.
async fn locked(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..LOCK_TRIES {
        if locked_file::try_lock(&file).ok()? {
            return Some(file);
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
    None
}

fn inode(path: &Path) -> Option<u64> {
    FileStamp::at(path).ok().map(|stamp| stamp.inode)
}

fn is_socket(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    metadata.file_type().is_socket()
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::super::error::ApiError;
    use super::super::request_body::json_body;
    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

    async fn read(request: Request) -> Result<String, ApiError> {
        let read = json_body::<serde_json::Value>(request).await;
        read.map(|value| value.to_string())
    }

    /// The client's end of a connection to a server that answers `GET /` and reads a body at `POST /`.
    fn connected() -> (DuplexStream, watch::Sender<bool>) {
        let router = Router::new().route("/", get(|| async { "answer" }).post(read));
        let (client, server) = duplex(64 * 1024);
        let (end, ended) = watch::channel(false);
        let info = ConnectionInfo {
            number: 1,
            local: None,
        };
        let open = Connections::new(1).add(1).unwrap();
        osier_base::task::spawn(serve_connection(server, info, open, router, ended));
        (client, end)
    }

    /// The bytes that the server sends until it closes the connection, and the seconds until then.
    async fn until_closed(mut client: DuplexStream) -> (String, u64) {
        let (begin, mut bytes) = (Instant::now(), Vec::new());
        client.read_to_end(&mut bytes).await.unwrap();
        (String::from_utf8(bytes).unwrap(), begin.elapsed().as_secs())
    }

    #[tokio::test]
    async fn of_two_servers_one_gets_the_socket_and_leaves_that_of_its_successor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.sock");
        let listen = Listen::Unix(path.clone());
        let (one, other) = tokio::join!(Bound::new(&listen), Bound::new(&listen));
        assert_eq!((one.is_ok(), other.is_ok()), (true, false));
        let first = one.unwrap();
        let place = first.place().unwrap();
        assert!(!place.is_lost());
        std::fs::remove_file(&path).unwrap();
        assert!(place.is_lost());
        let second = Bound::new(&listen).await.unwrap();
        assert!(place.is_lost());
        let (_end, ended) = watch::channel(true);
        first.serve(Router::new(), ended).await;
        assert!(!second.place().unwrap().is_lost());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_complete_head_ends() {
        for head in ["", "GET / HTTP/1.1\r\nhost: x\r\n"] {
            let (mut client, _end) = connected();
            client.write_all(head.as_bytes()).await.unwrap();
            let (_, seconds) = until_closed(client).await;
            assert_eq!(seconds, HEADER_TIMEOUT.as_secs(), "{head}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_ends() {
        let (mut client, _end) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        let begin = Instant::now();
        let (mut receiving, mut sending) = tokio::io::split(client);
        let trickle = async {
            while sending.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(900)).await;
            }
        };
        let mut received = Vec::new();
        tokio::select! {
            () = trickle => {}
            _ = receiving.read_to_end(&mut received) => {}
        }
        assert_eq!(begin.elapsed(), HEADER_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_ends() {
        let (mut client, _end) = connected();
        client.write_all(GET).await.unwrap();
        let (text, seconds) = until_closed(client).await;
        assert!(text.ends_with("answer"), "{text}");
        assert_eq!(seconds, HEADER_TIMEOUT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_late_is_rejected() {
        let (mut client, _end) = connected();
        let head =
            b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\n[1,";
        client.write_all(head).await.unwrap();
        // A part in time is not enough if the rest does not follow.
        tokio::time::sleep(Duration::from_secs(19)).await;
        client.write_all(b"2,").await.unwrap();
        let (text, seconds) = until_closed(client).await;
        assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
        let error = r#"{"error":{"code":"request_timeout","type":"request_timeout","message":"the body did not arrive in time"}}"#;
        assert!(text.ends_with(error), "{text}");
        assert_eq!(seconds, 1);
    }
}
