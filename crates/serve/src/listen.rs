//! Where the server listens: an address, or a socket in the file system that only its owner can open.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use axum::Router;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;

use super::gate::Remote;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Address(SocketAddr),
    /// A socket of this path, which only the owner can open.
    Unix(PathBuf),
}

/// Why it cannot be listened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("`{address}` cannot be listened at: {source}")]
    Address {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("`{}` cannot be listened at: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("another server listens at `{}`: `osier attach unix:{}` joins it", path.display(), path.display())]
    InUse { path: PathBuf },
}

/// A socket that listens.
#[derive(Debug)]
pub(super) enum Bound {
    Address(TcpListener, SocketAddr),
    Unix(UnixListener, PathBuf),
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
            Listen::Unix(path) => Ok(Self::Unix(socket(path).await?, path.clone())),
        }
    }

    /// Whether only those can come who may do everything anyway.
    pub(super) fn is_trusted(&self) -> bool {
        matches!(self, Self::Unix(..))
    }

    /// The address whose names a browser may use.
    pub(super) fn names(&self) -> Option<IpAddr> {
        match self {
            Self::Address(_, address) => Some(address.ip()),
            Self::Unix(..) => None,
        }
    }

    pub(super) fn url(&self) -> String {
        self.to_string()
    }

    /// Answers until `ended` says so, then finishes what is being answered.
    pub(super) async fn serve(
        self,
        router: Router,
        mut ended: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let end = async move {
            // A sender that is gone is an end, too.
            let _ = ended.wait_for(|ended| *ended).await;
        };
        match self {
            Self::Address(listener, _) => {
                let service = router.into_make_service_with_connect_info::<Remote>();
                axum::serve(listener, service)
                    .with_graceful_shutdown(end)
                    .await
            }
            Self::Unix(listener, path) => {
                let service = router.into_make_service_with_connect_info::<Remote>();
                let outcome = axum::serve(listener, service)
                    .with_graceful_shutdown(end)
                    .await;
                // It may have been taken away already.
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

/// A socket that only its owner can open. One that nobody listens at any more is taken over.
async fn socket(path: &Path) -> Result<UnixListener, ListenError> {
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
        Ok(found) if !is_socket(&found) => {
            let error = io::Error::other("there is a file of that name that is no socket");
            return Err(failed(error));
        }
        Ok(_) => std::fs::remove_file(path).map_err(failed)?,
        Err(_) => {}
    }
    // Made under a name nobody knows and moved when nobody else can open it.
    let folder = path.parent().unwrap_or(Path::new("."));
    let hidden = folder.join(format!(".osier-{}", std::process::id()));
    let listener = UnixListener::bind(&hidden).map_err(failed)?;
    let private = std::fs::Permissions::from_mode(0o600);
    let placed = std::fs::set_permissions(&hidden, private);
    let placed = placed.and_then(|()| std::fs::rename(&hidden, path));
    if let Err(error) = placed {
        let _ = std::fs::remove_file(&hidden);
        return Err(failed(error));
    }
    Ok(listener)
}

fn is_socket(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    found.file_type().is_socket()
}
