//! Hooks that are functions of a program that uses osier: an SDK registers them and answers each call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::action::Action;
use super::callback::{Callback, HookCall};
use super::config::{self, Handler};
use super::matcher::Matcher;
use osier_peers::tools;
use osier_protocol::{HookEvent, OnFailure};

/// A hook that a program registers.
#[derive(Debug, Clone, PartialEq)]
pub struct CallbackHook {
    pub event: HookEvent,
    pub matcher: String,
    /// The name of the function.
    pub callback: String,
    pub timeout: Option<Duration>,
    pub on_failure: Option<OnFailure>,
}

/// The hooks of a program. They can be registered while the session starts, before its first prompt.
#[derive(Debug)]
pub struct CallbackHooks {
    calls: mpsc::UnboundedSender<HookCall>,
    handlers: Mutex<Vec<Arc<Handler>>>,
}

impl CallbackHooks {
    /// No hooks, and the receiver of their calls.
    pub fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<HookCall>) {
        let (calls, received) = mpsc::unbounded_channel();
        let handlers = Mutex::default();
        (Arc::new(Self { calls, handlers }), received)
    }

    /// Replaces the hooks.
    ///
    /// # Errors
    /// A matcher is invalid.
    pub fn set(&self, hooks: Vec<CallbackHook>) -> Result<(), String> {
        let handlers = hooks.into_iter().map(|hook| {
            let matcher = if config::is_rule(&hook.matcher) {
                Err("it is a permission rule; write a name of tools".to_owned())
            } else {
                Matcher::parse(&hook.matcher)
            };
            let matcher = matcher.map_err(|error| {
                let (event, text) = (hook.event.name(), &hook.matcher);
                format!("invalid matcher `{text}` of `{event}`: {error}")
            })?;
            let misspelt = hook.event.info().is_about_calls().then(|| {
                let unknown = matcher.words().iter();
                let mut unknown = unknown.filter(|word| !word.contains("__") && !tools::is_seen(word));
                unknown.find_map(|word| Some((word.clone(), tools::likely(word)?)))
            });
            if let Some((word, known)) = misspelt.flatten() {
                return Err(format!(
                    "no built-in tool has the name `{word}` of a matcher of `{}`; did you mean `{known}`?",
                    hook.event.name()
                ));
            }
            Ok(Arc::new(Handler {
                event: hook.event,
                matcher,
                command: hook.callback,
                args: None,
                action: Action::Function(Callback(self.calls.clone())),
                timeout: hook.timeout,
                in_background: false,
                condition: None,
                on_failure: hook.on_failure,
                file: "the SDK".into(),
            }))
        });
        let handlers = handlers.collect::<Result<Vec<_>, String>>()?;
        *self.handlers.lock().unwrap_or_else(PoisonError::into_inner) = handlers;
        Ok(())
    }

    pub(super) fn handlers(&self) -> Vec<Arc<Handler>> {
        let handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        handlers.clone()
    }
}
