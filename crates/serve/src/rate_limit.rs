//! Rate limits with one token bucket for each key.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

/// Number of buckets at which full ones are removed.
const MAX_BUCKETS: usize = 4096;

/// How many requests are allowed at once, and how many per second after that.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimit {
    pub burst: u32,
    pub per_second: f64,
}

/// A rate limit for each key.
#[derive(Debug)]
pub(super) struct RateLimiter<K> {
    burst: f64,
    per_second: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

/// The tokens of a bucket at a time.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    updated: Instant,
}

impl<K: Eq + Hash> RateLimiter<K> {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self {
            burst: f64::from(limit.burst),
            per_second: limit.per_second,
            buckets: Mutex::default(),
        }
    }

    /// Checks whether a request is allowed; the error is the number of seconds to wait.
    pub(super) fn check(&self, key: K, now: Instant) -> Result<(), u64> {
        self.update(key, now, 0.0)
    }

    /// Counts a request if it is allowed; the error is the number of seconds to wait.
    pub(super) fn count(&self, key: K, now: Instant) -> Result<(), u64> {
        self.update(key, now, 1.0)
    }

    fn update(&self, key: K, now: Instant, cost: f64) -> Result<(), u64> {
        let mut buckets = self.buckets.lock();
        let filled = |bucket: Bucket| {
            let elapsed = now.saturating_duration_since(bucket.updated).as_secs_f64();
            (bucket.tokens + elapsed * self.per_second).min(self.burst)
        };
        if buckets.len() >= MAX_BUCKETS {
            buckets.retain(|_, bucket| filled(*bucket) < self.burst);
        }
        let known = buckets.get(&key).copied();
        let tokens = known.map_or(self.burst, filled);
        if tokens < 1.0 {
            return Err(((1.0 - tokens) / self.per_second).ceil().max(1.0) as u64);
        }
        if cost > 0.0 {
            let bucket = Bucket {
                tokens: tokens - cost,
                updated: now,
            };
            buckets.insert(key, bucket);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn requests_are_limited_and_allowed_again() {
        let buckets = RateLimiter::new(RateLimit {
            burst: 2,
            per_second: 0.5,
        });
        let now = Instant::now();
        assert_eq!(buckets.count("a", now), Ok(()));
        assert_eq!(buckets.check("a", now), Ok(()));
        assert_eq!(buckets.count("a", now), Ok(()));
        assert_eq!(buckets.count("a", now), Err(2));
        assert_eq!(buckets.check("a", now), Err(2));
        assert_eq!(buckets.count("b", now), Ok(()));
        let later = now + Duration::from_secs(2);
        assert_eq!(buckets.count("a", later), Ok(()));
        assert_eq!(buckets.count("a", later), Err(2));
    }
}
