//! The listener: a TCP address, or a Unix socket that only its owner can open.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use axum::Router;
use axum::serve::Listener;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;

use super::request_check::PeerAddress;

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
    Unix(OwnSocket, PathBuf),
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
                Ok(Self::Unix(OwnSocket(listener), path.clone()))
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

    pub(super) fn url(&self) -> String {
        self.to_string()
    }

    /// Serves until `ended` is true, then finishes the active requests.
    pub(super) async fn serve(
        self,
        router: Router,
        mut ended: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let end = async move {
            // A dropped sender ends the server as well.
            let _ = ended.wait_for(|ended| *ended).await;
        };
        match self {
            Self::Address(listener, _) => {
                let service = router.into_make_service_with_connect_info::<PeerAddress>();
                axum::serve(listener, service)
                    .with_graceful_shutdown(end)
                    .await
            }
            Self::Unix(listener, path) => {
                let service = router.into_make_service_with_connect_info::<PeerAddress>();
                let outcome = axum::serve(listener, service)
                    .with_graceful_shutdown(end)
                    .await;
                // It may already have been removed.
                let _ = std::fs::remove_file(path);
                outcome
            }
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(_, address) => write!(formatter, "http://{address}"),
            Self::Unix(_, path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// Creates a Unix socket that only its owner can open. Replaces a socket without a listener.
async fn bind_private_socket(path: &Path) -> Result<UnixListener, ListenError> {
    let failed = |source| ListenError::Socket {
        path: path.to_owned(),
        source,
    };
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
    let folder = path.parent().unwrap_or(Path::new("."));
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

fn is_socket(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    metadata.file_type().is_socket()
}
