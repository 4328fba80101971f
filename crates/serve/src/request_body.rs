//! Reads the bodies of requests. Size and time are limited, so that clients that send slowly cannot block others.

#[cfg(feature = "proxy")]
use parking_lot::Mutex;
#[cfg(feature = "proxy")]
use std::collections::HashMap;
use std::sync::Arc;
#[cfg(feature = "proxy")]
use std::sync::Weak;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Request;
use futures_util::{Stream, StreamExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::access::Caller;
use super::error::{ApiError, ErrorCode};
use super::headers::header_text;

/// The largest accepted body or frame, in bytes.
pub(super) const BODY_LIMIT: usize = 32 * 1024 * 1024;
/// How long a client may send nothing of a body.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a body may take at any rate.
const SLOW_TIME: Duration = Duration::from_secs(20);
/// After that, the smallest accepted average rate in bytes per second.
const MIN_RATE: usize = 16 * 1024;
/// Bodies above this size are large, in bytes.
const LARGE_BODY: usize = 1024 * 1024;
/// How long a large body waits for other bodies before it is rejected.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Large bodies in memory: of the owner, of one user of the LLM proxy, and of all its users.
const OWNER_PERMITS: usize = 4;
#[cfg(feature = "proxy")]
const USER_PERMITS: usize = 2;
#[cfg(feature = "proxy")]
const ALL_USERS_PERMITS: usize = 8;

/// The limits of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// The largest size in bytes.
    pub bytes: usize,
    /// How long the complete body may take.
    pub time: Option<Duration>,
}

/// Counts the large bodies in memory per caller: those of a user never block the owner.
#[derive(Debug)]
pub(super) struct LargeBodies {
    owner: Arc<Semaphore>,
    #[cfg(feature = "proxy")]
    users: Arc<Semaphore>,
    /// By name, as long as a request of the user has it.
    #[cfg(feature = "proxy")]
    by_user: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// The permits that a large body of one caller waits for, in this order. An extension of each request with a caller.
#[derive(Debug, Clone)]
pub(super) struct BodyPermits(Vec<Arc<Semaphore>>);

impl Default for LargeBodies {
    fn default() -> Self {
        Self {
            owner: Arc::new(Semaphore::new(OWNER_PERMITS)),
            #[cfg(feature = "proxy")]
            users: Arc::new(Semaphore::new(ALL_USERS_PERMITS)),
            #[cfg(feature = "proxy")]
            by_user: Mutex::default(),
        }
    }
}

impl LargeBodies {
    /// The permits for a body of `caller`.
    pub(super) fn permits(&self, caller: &Caller) -> BodyPermits {
        match caller {
            Caller::Owner => BodyPermits(vec![Arc::clone(&self.owner)]),
            #[cfg(feature = "proxy")]
            Caller::User(user) => self.permits_of_user(&user.name),
        }
    }

    #[cfg(feature = "proxy")]
    fn permits_of_user(&self, name: &str) -> BodyPermits {
        let mut by_user = self.by_user.lock();
        by_user.retain(|_, permits| permits.strong_count() > 0);
        let known = by_user.get(name).and_then(Weak::upgrade);
        let own = known.unwrap_or_else(|| {
            let own = Arc::new(Semaphore::new(USER_PERMITS));
            by_user.insert(name.to_owned(), Arc::downgrade(&own));
            own
        });
        BodyPermits(vec![own, Arc::clone(&self.users)])
    }
}

impl BodyPermits {
    /// Waits until one more large body may be in memory.
    async fn acquire(&self) -> Result<Vec<OwnedSemaphorePermit>, ApiError> {
        let acquire = async {
            let mut permits = Vec::new();
            for semaphore in &self.0 {
                // This cannot fail: the semaphores never close.
                permits.extend(Arc::clone(semaphore).acquire_owned().await.ok());
            }
            permits
        };
        timeout(PERMIT_TIMEOUT, acquire)
            .await
            .map_err(|_| ApiError {
                retry_after: Some(1),
                ..ApiError::new(
                    ErrorCode::RateLimited,
                    "too many large bodies arrive at the same time; try again",
                )
            })
    }
}

/// Parses the body of a request.
pub(super) async fn json_body<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    let limits = BodyLimits {
        bytes: BODY_LIMIT,
        time: None,
    };
    json_body_within(request, limits).await
}

/// Parses the body of a request within `limits`.
pub(super) async fn json_body_within<T: DeserializeOwned>(
    request: Request,
    limits: BodyLimits,
) -> Result<T, ApiError> {
    let length = header_text(request.headers(), "content-length")
        .and_then(|header_text| header_text.parse().ok());
    if length.is_some_and(|length: usize| length > limits.bytes) {
        return Err(too_large(limits.bytes));
    }
    let permits = request.extensions().get::<BodyPermits>().cloned();
    let parts = request.into_body().into_data_stream();
    let (bytes, _permits) = read(parts, limits, permits.as_ref()).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::malformed(format!("invalid body: {error}")))
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("the body is larger than {limit} bytes");
    ApiError::new(ErrorCode::TooLarge, message)
}

/// Reads a body of `parts`. Without `permits` it cannot be large.
async fn read<E>(
    mut parts: impl Stream<Item = Result<Bytes, E>> + Unpin,
    limits: BodyLimits,
    permits: Option<&BodyPermits>,
) -> Result<(Vec<u8>, Vec<OwnedSemaphorePermit>), ApiError> {
    let mut begin = Instant::now();
    let end = limits.time.map(|time| begin + time);
    let (mut bytes, mut taken) = (Vec::new(), Vec::new());
    loop {
        let slowest = Duration::from_secs((bytes.len() / MIN_RATE) as u64);
        let due = (begin + SLOW_TIME + slowest).min(Instant::now() + IDLE_TIMEOUT);
        let due = end.map_or(due, |end| due.min(end));
        let part = timeout_at(due, parts.next()).await.map_err(|_| {
            let message = "the body did not arrive in time";
            ApiError::new(ErrorCode::RequestTimeout, message)
        })?;
        let Some(part) = part else {
            return Ok((bytes, taken));
        };
        let part = part.map_err(|_| ApiError::malformed("the body is incomplete"))?;
        let length = bytes.len() + part.len();
        if length > limits.bytes {
            return Err(too_large(limits.bytes));
        }
        if taken.is_empty() && length > LARGE_BODY {
            let permits = permits.ok_or_else(|| too_large(LARGE_BODY))?;
            let waiting = Instant::now();
            taken = permits.acquire().await?;
            // Nothing was read meanwhile, so this is not the client's time.
            begin += waiting.elapsed();
        }
        bytes.extend_from_slice(&part);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;

    const LIMITS: BodyLimits = BodyLimits {
        bytes: BODY_LIMIT,
        time: None,
    };

    /// A body that begins with `first` bytes and then sends `bytes` per second without an end.
    fn endless(
        first: usize,
        bytes: usize,
    ) -> impl Stream<Item = Result<Bytes, Infallible>> + Unpin {
        let begin = stream::iter([Ok(Bytes::from(vec![b' '; first]))]);
        let rest = stream::repeat(()).then(move |()| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Bytes::from(vec![b' '; bytes]))
        });
        let parts = begin.chain(rest);
        Box::pin(parts)
    }

    /// How a body ends, and after how many seconds.
    async fn outcome(
        parts: impl Stream<Item = Result<Bytes, Infallible>> + Unpin,
        limits: BodyLimits,
        permits: Option<&BodyPermits>,
    ) -> (Result<usize, (ErrorCode, String)>, u64) {
        let begin = Instant::now();
        let read = read(parts, limits, permits).await;
        let read = read
            .map(|(bytes, _)| bytes.len())
            .map_err(|error| (error.code, error.message));
        (read, begin.elapsed().as_secs())
    }

    fn late() -> Result<usize, (ErrorCode, String)> {
        let message = "the body did not arrive in time".to_owned();
        Err((ErrorCode::RequestTimeout, message))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_rejected() {
        let permits = LargeBodies::default().permits(&Caller::Owner);
        let slow = endless(1, 1);
        assert_eq!(outcome(slow, LIMITS, None).await, (late(), 20));
        // A quick start gains time, but no more than it would take at the smallest rate.
        let slow = endless(64 * MIN_RATE + 1, 2);
        assert_eq!(outcome(slow, LIMITS, Some(&permits)).await, (late(), 84));
        // 32 MiB are too large before this rate is too small.
        let quick = endless(0, MIN_RATE);
        let (end, _) = outcome(quick, LIMITS, Some(&permits)).await;
        let message = "the body is larger than 33554432 bytes".to_owned();
        assert_eq!(end, Err((ErrorCode::TooLarge, message)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_complete_body_is_limited() {
        let limits = BodyLimits {
            bytes: BODY_LIMIT,
            time: Some(Duration::from_secs(5)),
        };
        let slow = endless(1, MIN_RATE);
        assert_eq!(outcome(slow, limits, None).await, (late(), 5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_requires_a_permit() {
        let body = || stream::iter([Ok(Bytes::from(vec![b' '; LARGE_BODY + 1]))]);
        let message = "the body is larger than 1048576 bytes".to_owned();
        let end = outcome(body(), LIMITS, None).await;
        assert_eq!(end, (Err((ErrorCode::TooLarge, message)), 0));
        let permits = LargeBodies::default().permits(&Caller::Owner);
        let end = outcome(body(), LIMITS, Some(&permits)).await;
        assert_eq!(end, (Ok(LARGE_BODY + 1), 0));
        // The time of waiting is not the client's.
        let taken = permits.0[0]
            .acquire_many(OWNER_PERMITS as u32)
            .await
            .unwrap();
        let slow = endless(LARGE_BODY + 1, 1);
        let waiting = outcome(slow, LIMITS, Some(&permits));
        let freeing = async {
            tokio::time::sleep(Duration::from_secs(29)).await;
            drop(taken);
        };
        let (end, ()) = tokio::join!(waiting, freeing);
        assert_eq!(end, (late(), 29 + 84));
    }

    #[cfg(feature = "proxy")]
    #[tokio::test(start_paused = true)]
    async fn large_bodies_of_users_do_not_block_others() {
        let bodies = LargeBodies::default();
        let mut taken = Vec::new();
        for name in ["ann", "bob", "cy", "dan"] {
            let permits = bodies.permits_of_user(name);
            taken.push(permits.acquire().await.unwrap());
            taken.push(permits.acquire().await.unwrap());
            let error = permits.acquire().await.unwrap_err();
            assert_eq!(
                error.message,
                "too many large bodies arrive at the same time; try again"
            );
            assert_eq!(
                (error.code, error.retry_after),
                (ErrorCode::RateLimited, Some(1))
            );
            if name != "dan" {
                // The permit of another user.
                assert!(
                    bodies.permits_of_user("eve").acquire().await.is_ok(),
                    "{name}"
                );
            }
        }
        // All users together have a limit, which the owner does not share.
        assert!(bodies.permits_of_user("eve").acquire().await.is_err());
        assert!(bodies.permits(&Caller::Owner).acquire().await.is_ok());
        taken.clear();
        assert!(bodies.permits_of_user("ann").acquire().await.is_ok());
        assert_eq!(bodies.by_user.lock().len(), 1);
    }
}
