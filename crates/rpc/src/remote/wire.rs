//! The two halves of a connection's WebSocket: texts in and out, compressed if the server does the same.

use std::io;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, Message};

use super::failure::ConnectError;
use super::handshake::Socket;
use crate::compression::{Compressor, Decompressor};

/// Why a connection ended.
pub(super) enum EndReason {
    /// The user left.
    Left,
    /// The session on the server was closed.
    Closed,
    /// The server was stopped. It may start again.
    Stopped,
    Lost(String),
    Failed(ConnectError),
}

/// The sending half.
pub(super) struct Sender {
    sink: SplitSink<Socket, Message>,
    compressor: Option<Compressor>,
}

/// The receiving half.
pub(super) struct Receiver {
    stream: SplitStream<Socket>,
    decompressor: Decompressor,
}

/// The halves of `socket`, to a server that reads compressed messages or not.
pub(super) fn split(socket: Socket, compresses: bool) -> (Sender, Receiver) {
    let (sink, stream) = socket.split();
    let compressor = compresses.then(Compressor::default);
    let decompressor = Decompressor::default();
    (
        Sender { sink, compressor },
        Receiver {
            stream,
            decompressor,
        },
    )
}

impl Sender {
    pub(super) async fn text(&mut self, text: String) -> Result<(), EndReason> {
        let message = match &mut self.compressor {
            Some(compressor) => Message::binary(compressor.compress(&text).map_err(damaged)?),
            None => Message::text(text),
        };
        self.sink.send(message).await.map_err(lost)
    }

    pub(super) async fn ping(&mut self) -> Result<(), EndReason> {
        let ping = Message::Ping(Vec::new().into());
        self.sink.send(ping).await.map_err(lost)
    }

    /// Tells the server that the client leaves for good.
    pub(super) async fn close(&mut self) {
        let _ = self.sink.close().await;
    }
}

impl Receiver {
    /// The next text. Cancel safe.
    pub(super) async fn text(&mut self) -> Result<String, EndReason> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
                Some(Ok(Message::Binary(bytes))) => {
                    // Without a size limit: the snapshot of a long session is one frame.
                    return self
                        .decompressor
                        .decompress(&bytes, usize::MAX)
                        .map_err(damaged);
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                message => return Err(end_of(message)),
            }
        }
    }
}

/// The end of a connection by an error of the WebSocket, in words for the user.
fn lost(error: tungstenite::Error) -> EndReason {
    let text = match error {
        tungstenite::Error::Io(error) if error.kind() != io::ErrorKind::ConnectionReset => {
            format!("the connection was lost: {error}")
        }
        tungstenite::Error::Protocol(error)
            if error != ProtocolError::ResetWithoutClosingHandshake =>
        {
            format!("the server does not speak osier's protocol: {error}")
        }
        _ => "the connection was lost".to_owned(),
    };
    EndReason::Lost(text)
}

/// One direction cannot be read any more.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is the argument of `map_err`"
)]
fn damaged(error: io::Error) -> EndReason {
    EndReason::Lost(format!("the connection carried damaged data: {error}"))
}

/// Why the connection ended with this message.
fn end_of(message: Option<Result<Message, tungstenite::Error>>) -> EndReason {
    match message {
        Some(Ok(Message::Close(Some(frame)))) if frame.code == CloseCode::Restart => {
            EndReason::Stopped
        }
        Some(Err(error)) => lost(error),
        _ => EndReason::Lost("the server closed the connection".to_owned()),
    }
}
