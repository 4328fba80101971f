//! How often somebody may come: a bucket for each that fills with time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Buckets that are remembered before full ones are forgotten.
const REMEMBERED: usize = 4096;

/// Buckets of one size.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    size: f64,
    /// Drops a second.
    rate: f64,
    levels: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Eq + Hash> Buckets<K> {
    pub(super) fn new(size: u32, rate: f64) -> Self {
        Self {
            size: f64::from(size),
            rate,
            levels: Mutex::default(),
        }
    }

    /// Whether there is a drop left; if not, the seconds until there is one.
    pub(super) fn has(&self, key: K, now: Instant) -> Result<(), u64> {
        self.draw(key, now, 0.0)
    }

    /// Takes a drop out; if there is none, the seconds until there is one.
    pub(super) fn take(&self, key: K, now: Instant) -> Result<(), u64> {
        self.draw(key, now, 1.0)
    }

    fn draw(&self, key: K, now: Instant, drops: f64) -> Result<(), u64> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |(level, then): (f64, Instant)| {
            let since = now.saturating_duration_since(then).as_secs_f64();
            (level + since * self.rate).min(self.size)
        };
        if levels.len() >= REMEMBERED {
            levels.retain(|_, bucket| filled(*bucket) < self.size);
        }
        let known = levels.get(&key).copied();
        let level = known.map_or(self.size, filled);
        if level < 1.0 {
            return Err(((1.0 - level) / self.rate).ceil().max(1.0) as u64);
        }
        if drops > 0.0 {
            levels.insert(key, (level - drops, now));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let buckets = Buckets::new(2, 0.5);
        let now = Instant::now();
        assert_eq!(buckets.take("a", now), Ok(()));
        assert_eq!(buckets.has("a", now), Ok(()));
        assert_eq!(buckets.take("a", now), Ok(()));
        assert_eq!(buckets.take("a", now), Err(2));
        assert_eq!(buckets.has("a", now), Err(2));
        assert_eq!(buckets.take("b", now), Ok(()));
        let later = now + Duration::from_secs(2);
        assert_eq!(buckets.take("a", later), Ok(()));
        assert_eq!(buckets.take("a", later), Err(2));
    }
}
