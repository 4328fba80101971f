//! Opens a WebSocket on a stream.
//!
//! Over ssh the request and the first frames are an argument of the command on the other machine, which sends them itself:
//! each wait would be a round trip.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// Longest accepted head and body of a response, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;

/// Any pair of streams.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(super) type Socket = WebSocketStream<Box<dyn Stream>>;

/// The response to a request.
#[derive(Debug)]
pub(super) struct Response {
    pub status: u16,
    head: String,
    /// Bytes that were received after the head.
    rest: Vec<u8>,
}

/// Without size limits: the snapshot of a long session is one frame.
pub(super) fn websocket_config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None)
}

/// The bytes of a request for a WebSocket, and of the first frames.
pub(super) fn request_bytes(
    host: &str,
    headers: &[(&str, &str)],
    frames: &[Value],
) -> io::Result<Vec<u8>> {
    let mut request = format!(
        "GET /api/ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n",
        generate_key()
    );
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    request.push_str("\r\n");
    let mut bytes = request.into_bytes();
    for frame in frames {
        let text = frame.to_string();
        let mut frame = Frame::message(text.into_bytes(), OpCode::Data(Data::Text), true);
        // The mask is the random part of an id.
        frame.header_mut().mask = Some(uuid::Uuid::new_v4().as_fields().0.to_ne_bytes());
        frame.format(&mut bytes).map_err(io::Error::other)?;
    }
    Ok(bytes)
}

/// Requests a WebSocket.
pub(super) async fn request(
    stream: &mut (impl Stream + ?Sized),
    host: &str,
    headers: &[(&str, &str)],
) -> io::Result<Response> {
    let bytes = request_bytes(host, headers, &[])?;
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    Response::read(stream).await
}

impl Response {
    /// Reads the head of a response over ssh. A login shell can print something before it.
    pub(super) async fn read_after_text(stream: &mut (impl Stream + ?Sized)) -> io::Result<Self> {
        const START: &[u8] = b"HTTP/1.1 ";
        let mut bytes = Vec::new();
        while !bytes.starts_with(START) {
            if let Some(at) = bytes
                .windows(START.len() + 1)
                .position(|part| part[0] == b'\n' && part[1..] == *START)
            {
                bytes.drain(..=at);
                break;
            }
            if bytes.len() > MAX_RESPONSE {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if stream.read_buf(&mut bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Self::read_from(stream, bytes).await
    }

    /// Reads the head of a response.
    pub(super) async fn read(stream: &mut (impl Stream + ?Sized)) -> io::Result<Self> {
        Self::read_from(stream, Vec::new()).await
    }

    async fn read_from(
        stream: &mut (impl Stream + ?Sized),
        mut bytes: Vec<u8>,
    ) -> io::Result<Self> {
        let end = loop {
            if let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
                break at + 4;
            }
            if bytes.len() > MAX_RESPONSE {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if stream.read_buf(&mut bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let rest = bytes.split_off(end);
        let head = String::from_utf8_lossy(&bytes).into_owned();
        let status = head
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3));
        let status = status.and_then(|status| status.parse().ok());
        Ok(Self {
            status: status.ok_or(io::ErrorKind::InvalidData)?,
            head,
            rest,
        })
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The body, which ends with `content-length`.
    pub(super) async fn body(mut self, stream: &mut (impl Stream + ?Sized)) -> io::Result<Vec<u8>> {
        let length = self
            .header("content-length")
            .and_then(|length| length.parse().ok());
        let length = length.unwrap_or(0).min(MAX_RESPONSE);
        while self.rest.len() < length {
            if stream.read_buf(&mut self.rest).await? == 0 {
                break;
            }
        }
        Ok(self.rest)
    }

    /// The WebSocket after the response 101.
    pub(super) async fn socket(self, stream: Box<dyn Stream>) -> Socket {
        let config = Some(websocket_config());
        WebSocketStream::from_partially_read(stream, self.rest, Role::Client, config).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn text_of_a_login_shell_before_the_response_is_skipped() {
        for before in ["", "Welcome to box.\n", "no\r\n\r\nend\n"] {
            let text = format!("{before}HTTP/1.1 101 Switching Protocols\r\na: b\r\n\r\nrest");
            let (mut here, mut there) = tokio::io::duplex(1024);
            there.write_all(text.as_bytes()).await.unwrap();
            let response = Response::read_after_text(&mut here).await.unwrap();
            assert_eq!((response.status, response.header("A")), (101, Some("b")));
            assert_eq!(response.rest, b"rest");
        }
        let (mut here, mut there) = tokio::io::duplex(64);
        there.write_all(b"Welcome to box.\r\n\r\n").await.unwrap();
        drop(there);
        let error = Response::read_after_text(&mut here).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
