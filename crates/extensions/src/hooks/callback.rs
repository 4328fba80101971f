//! One function of a program that uses osier, called as a hook.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// A call of a function of the program. Without a reply the hook has not answered.
#[derive(Debug)]
pub struct HookCall {
    pub callback: String,
    /// The JSON that hooks get on standard input.
    pub input: Value,
    /// The JSON that hooks write to standard output, or an error.
    pub reply: oneshot::Sender<Result<Value, String>>,
}

/// The program whose function a hook is.
#[derive(Debug, Clone)]
pub(super) struct Callback(pub mpsc::UnboundedSender<HookCall>);

impl Callback {
    /// Calls the function, for at most `limit`; `None` after that.
    pub(super) async fn call(
        &self,
        callback: &str,
        input: &[u8],
        limit: Duration,
    ) -> Option<Result<Value, String>> {
        let (reply, answer) = oneshot::channel();
        let call = HookCall {
            callback: callback.to_owned(),
            input: serde_json::from_slice(input).unwrap_or_default(),
            reply,
        };
        if self.0.send(call).is_err() {
            return Some(Err("the program has ended".to_owned()));
        }
        let answer = tokio::time::timeout(limit, answer).await.ok()?;
        Some(answer.unwrap_or_else(|_| Err("the program did not answer".to_owned())))
    }
}
