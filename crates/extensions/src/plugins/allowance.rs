//! Limits of the resources that a plugin uses outside of the memory of its Lua state.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::convert::fail;

const MEGABYTE: usize = 1024 * 1024;

/// The limits of a plugin.
#[derive(Debug)]
pub(super) struct Allowances {
    /// Requests that wait for the session.
    pub requests: Allowance,
    /// Messages and entries: the session stores them.
    pub messages: Allowance,
    /// Tools, commands, keys, renderers and event functions.
    pub registrations: Allowance,
}

impl Default for Allowances {
    fn default() -> Self {
        let wait = "wait with `osier.sleep`";
        let reload = "reload the plugin to continue";
        Self {
            requests: Allowance::new("requests of a plugin that wait", 1_000, 16, wait),
            messages: Allowance::new("messages and entries of a plugin", 10_000, 64, reload),
            registrations: Allowance::new("registrations of a plugin", 1_000, 4, "register less"),
        }
    }
}

/// A limit for the number of items and for their bytes.
#[derive(Debug)]
pub(super) struct Allowance {
    used: Arc<Used>,
    max_count: usize,
    max_bytes: usize,
    error: String,
}

#[derive(Debug, Default)]
struct Used {
    count: AtomicUsize,
    bytes: AtomicUsize,
}

/// A part of an allowance that is in use. Dropping it frees that part.
#[derive(Debug)]
pub(super) struct Share {
    of: Arc<Used>,
    bytes: usize,
}

impl Allowance {
    fn new(what: &str, max_count: usize, megabytes: usize, hint: &str) -> Self {
        Self {
            used: Arc::default(),
            max_count,
            max_bytes: megabytes * MEGABYTE,
            error: format!("the limit for {what} is {max_count} and {megabytes} MB: {hint}"),
        }
    }

    /// Uses one item of `bytes` until the result is dropped.
    ///
    /// # Errors
    /// The limits, if one would be exceeded.
    pub(super) fn reserve(&self, bytes: usize) -> mlua::Result<Share> {
        self.spend(bytes)?;
        let of = Arc::clone(&self.used);
        Ok(Share { of, bytes })
    }

    /// Uses one item of `bytes` permanently.
    ///
    /// # Errors
    /// The limits, if one would be exceeded.
    pub(super) fn spend(&self, bytes: usize) -> mlua::Result<()> {
        let used = &self.used;
        // Only the plugin's thread uses the allowance.
        if used.count.load(Ordering::Relaxed) >= self.max_count
            || used.bytes.load(Ordering::Relaxed).saturating_add(bytes) > self.max_bytes
        {
            return fail(self.error.as_str());
        }
        used.count.fetch_add(1, Ordering::Relaxed);
        used.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.count.fetch_sub(1, Ordering::Relaxed);
        self.of.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_and_bytes_are_limited_and_given_back() {
        let allowance = Allowance::new("things", 3, 1, "take less");
        let over = "runtime error: the limit for things is 3 and 1 MB: take less";
        let error = |bytes| allowance.reserve(bytes).unwrap_err().to_string();
        let shares = [MEGABYTE - 1, 1].map(|bytes| allowance.reserve(bytes).unwrap());
        assert_eq!(error(1), over);
        drop(shares);
        let shares = [0, 0, 0].map(|bytes| allowance.reserve(bytes).unwrap());
        assert_eq!(error(0), over);
        drop(shares);
        allowance.spend(MEGABYTE).unwrap();
        assert_eq!(error(usize::MAX), over);
    }
}
