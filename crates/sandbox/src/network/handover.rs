//! Hands the listener in the network namespace of the sandbox over to osier, through a Unix socket. The helper does it
//! before it applies the filter; afterwards the command cannot open Unix sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, PidfdFlags, getuid, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::net::UnixListener;
use tokio::time::timeout;

use super::policy::Policy;
use super::proxy::{self, PORT};

/// Time until the helper must have connected.
const START: Duration = Duration::from_mins(1);

/// The helper's side: opens the listener and sends it.
pub(crate) fn hand_over_listener(socket: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot reach the network proxy: {error}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(failed)?;
    let stream = UnixStream::connect(socket).map_err(failed)?;
    let files = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let sent = sendmsg(
        &stream,
        &[IoSlice::new(b"l")],
        &mut control,
        SendFlags::empty(),
    );
    sent.map(drop).map_err(|error| failed(error.into()))
}

/// osier's side: serves the listener that arrives at `socket`, until the command has ended.
pub(super) fn receive(socket: &Path, policy: Policy) -> io::Result<()> {
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let _entered = runtime.enter();
    let listener = UnixListener::bind(socket)?;
    let path = SocketPath(socket.to_owned());
    osier_base::task::spawn(async move {
        // Without a listener, the command has no network.
        let _ = serve(listener, path, policy).await;
    });
    Ok(())
}

/// Removes the socket.
struct SocketPath(PathBuf);

impl Drop for SocketPath {
    fn drop(&mut self) {
        // The folder may be gone.
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn serve(listener: UnixListener, path: SocketPath, policy: Policy) -> io::Result<()> {
    let (stream, _) = timeout(START, listener.accept()).await??;
    drop((listener, path));
    let peer = stream.peer_cred()?;
    if peer.uid() != getuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let pid = peer.pid().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::NotFound)?;
    // The helper becomes the command.
    let command = pidfd_open(pid, PidfdFlags::empty())?;
    #[expect(
        deprecated,
        reason = "the replacement is unsafe, and an owned descriptor is closed by nobody else"
    )]
    let command = AsyncFd::new(command)?;
    let file = loop {
        stream.readable().await?;
        match stream.try_io(tokio::io::Interest::READABLE, || receive_file(&stream)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => break received?,
        }
    };
    let listener = TcpListener::from(file);
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    tokio::select! {
        () = proxy::serve(listener, policy) => Ok(()),
        ended = command.readable() => ended.map(drop),
    }
}

fn receive_file(stream: &tokio::net::UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    files
        .flatten()
        .next()
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}
