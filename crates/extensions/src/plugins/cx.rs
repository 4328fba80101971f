//! The context of a plugin's functions, and the functions that the plugin registered.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::Function;
use osier_protocol::questions::Questions;

use super::allowance::Allowances;
use super::channel::{Link, Registration, Request};
use super::sandbox::Meter;

/// The functions that a plugin registered. They belong to its thread.
#[derive(Debug, Default)]
pub(super) struct Handlers {
    pub events: HashMap<&'static str, Vec<Function>>,
    pub tools: HashMap<String, Function>,
    pub commands: HashMap<String, Function>,
    pub keys: HashMap<String, Function>,
    pub renderers: HashMap<String, Function>,
}

/// Handlers behind a lock that is held only briefly.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<Handlers>);

impl Registry {
    pub(super) fn get(&self) -> MutexGuard<'_, Handlers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The context of a plugin's functions.
#[derive(Debug)]
pub(super) struct PluginCx {
    pub name: String,
    pub cwd: PathBuf,
    pub link: Link,
    pub questions: Questions,
    pub handlers: Registry,
    pub allowances: Allowances,
    pub meter: Arc<Meter>,
    pub registration: Mutex<Registration>,
    pub loading: AtomicBool,
    /// Calls that wait for the user or for a program.
    pub outside: AtomicUsize,
}

impl PluginCx {
    pub(super) fn registration(&self) -> MutexGuard<'_, Registration> {
        self.registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request of `bytes` to the session, if not too many wait.
    pub(super) fn send(&self, bytes: usize, request: Request) -> mlua::Result<()> {
        let share = self.allowances.requests.reserve(bytes)?;
        self.link.send_limited(request, share);
        Ok(())
    }

    pub(super) fn is_loading(&self) -> bool {
        self.loading.load(Ordering::Relaxed)
    }

    /// While the returned value lives, time does not count for the plugin.
    pub(super) fn outside(&self) -> Outside<'_> {
        self.outside.fetch_add(1, Ordering::Relaxed);
        Outside(self)
    }
}

pub(super) struct Outside<'a>(&'a PluginCx);

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.outside.fetch_sub(1, Ordering::Relaxed);
    }
}
