//! When a connection was last heard: a stream that records every received byte, so that a long message that still
//! arrives is not taken for a dead connection.

use parking_lot::Mutex;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// The time of the last sign of life. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Activity(Arc<Mutex<Instant>>);

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    /// Returns when nothing was heard for `limit`.
    pub(super) async fn silent_for(&self, limit: Duration) {
        loop {
            let end = self.last() + limit;
            if Instant::now() >= end {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }

    fn last(&self) -> Instant {
        *self.0.lock()
    }

    fn record(&self) {
        *self.0.lock() = Instant::now();
    }
}

/// A stream that records its activity.
pub(super) struct ActivityStream<S> {
    inner: S,
    activity: Activity,
    /// The last write had to wait. When it continues, the other end has received something.
    is_write_waiting: bool,
}

impl<S> ActivityStream<S> {
    pub(super) fn new(inner: S, activity: Activity) -> Self {
        Self {
            inner,
            activity,
            is_write_waiting: false,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ActivityStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if polled.is_ready() {
            self.activity.record();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ActivityStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if polled.is_ready() && self.is_write_waiting {
            self.activity.record();
        }
        self.is_write_waiting = polled.is_pending();
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(9);

    #[tokio::test(start_paused = true)]
    async fn only_bytes_of_the_other_end_are_activity() {
        let (here, mut there) = duplex(4);
        let activity = Activity::new();
        let mut stream = ActivityStream::new(here, activity.clone());
        let start = Instant::now();
        // A write that fits proves nothing.
        tokio::time::sleep(Duration::from_secs(5)).await;
        stream.write_all(b"1234").await.unwrap();
        activity.silent_for(LIMIT).await;
        assert_eq!(start.elapsed(), LIMIT);
        // A write that waited and continues does.
        let (written, _) = tokio::join!(stream.write_all(b"5"), there.read_u8());
        written.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        there.write_all(b"a").await.unwrap();
        stream.read_u8().await.unwrap();
        activity.silent_for(LIMIT).await;
        assert_eq!(start.elapsed(), LIMIT + Duration::from_secs(5) + LIMIT);
    }
}
