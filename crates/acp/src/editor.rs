//! The files and terminals of the editor at the other end, for the tools of a session.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::offers::Offers;
use super::wire::Peer;
use osier_base::path::canonical_key;
use osier_base::process::{Exit, Invocation, signal_number};
use osier_tools::editor::{Editor, Terminal};

/// How long the editor may take to answer what no person decides.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the tools of one session reach.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    peer: Peer,
    offers: Offers,
    /// Those it has opened for the session.
    folders: Arc<Vec<PathBuf>>,
    /// Set when the session has opened.
    session: Arc<OnceLock<String>>,
}

impl Reached {
    pub(super) fn new(peer: Peer, offers: Offers, folders: &[PathBuf]) -> Self {
        let folders = folders.iter().map(|folder| canonical_key(folder)).collect();
        Self {
            peer,
            offers,
            folders: Arc::new(folders),
            session: Arc::default(),
        }
    }

    /// The session has this id from now on.
    pub(super) fn name(&self, session: &str) {
        // It opens once.
        let _ = self.session.set(session.to_owned());
    }

    /// Asks; `params` get the session.
    async fn ask(&self, method: &'static str, mut params: Value) -> Result<Value, String> {
        params["sessionId"] = json!(self.session.get());
        let answer = self.peer.request(method, params).await;
        answer.map_err(|fault| fault.message)
    }

    async fn ask_soon(&self, method: &'static str, params: Value) -> Result<Value, String> {
        let answer = tokio::time::timeout(PATIENCE, self.ask(method, params)).await;
        answer.unwrap_or_else(|_| Err("the editor does not answer".to_owned()))
    }
}

impl Editor for Reached {
    /// What lies elsewhere is no file of the editor's, and many refuse it: a copy of the files that a lane or
    /// a sub-agent works in, a note outside.
    fn has_file(&self, path: &Path) -> bool {
        if !self.offers.files {
            return false;
        }
        let real = canonical_key(path);
        self.folders.iter().any(|folder| real.starts_with(folder))
    }

    fn has_terminals(&self) -> bool {
        self.offers.terminals
    }

    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>> {
        async move {
            let answer = self.ask_soon("fs/read_text_file", json!({"path": path}));
            match answer.await?["content"].take() {
                Value::String(text) => Ok(text),
                _ => Err("the editor gave no text".to_owned()),
            }
        }
        .boxed()
    }

    fn write<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let params = json!({"path": path, "content": text});
        let asked = self.ask_soon("fs/write_text_file", params);
        asked.map(|answer| answer.map(drop)).boxed()
    }

    fn open<'a>(
        &'a self,
        invocation: &'a Invocation,
        kept: usize,
    ) -> BoxFuture<'a, Result<Box<dyn Terminal>, String>> {
        async move {
            let args: Vec<_> = invocation.args.iter().map(|arg| text(arg)).collect();
            let env = invocation.env.iter();
            let env: Vec<Value> = env
                .map(|(name, value)| json!({"name": text(name), "value": text(value)}))
                .collect();
            let params = json!({
                "command": text(&invocation.program), "args": args, "env": env,
                "cwd": invocation.cwd, "outputByteLimit": kept,
            });
            let answer = self.ask_soon("terminal/create", params).await?;
            let Some(id) = answer["terminalId"].as_str() else {
                return Err("the editor gave no terminal".to_owned());
            };
            let terminal: Box<dyn Terminal> = Box::new(Opened {
                editor: self.clone(),
                id: id.to_owned(),
            });
            Ok(terminal)
        }
        .boxed()
    }
}

fn text(argument: &OsStr) -> String {
    argument.to_string_lossy().into_owned()
}

/// A terminal of the editor.
#[derive(Debug)]
struct Opened {
    editor: Reached,
    id: String,
}

impl Opened {
    fn this(&self) -> Value {
        json!({"terminalId": self.id})
    }
}

impl Terminal for Opened {
    fn id(&self) -> &str {
        &self.id
    }

    fn exited(&self) -> BoxFuture<'_, Result<Exit, String>> {
        let asked = self.editor.ask("terminal/wait_for_exit", self.this());
        asked.map(|answer| Ok(exit(&answer?))).boxed()
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        // One that cannot be killed has ended.
        self.editor
            .ask_soon("terminal/kill", self.this())
            .map(drop)
            .boxed()
    }

    fn output(&self) -> BoxFuture<'_, Result<(String, bool), String>> {
        let asked = self.editor.ask_soon("terminal/output", self.this());
        asked
            .map(|answer| {
                let answer = answer?;
                let output = answer["output"].as_str().unwrap_or_default();
                Ok((output.to_owned(), answer["truncated"] == true))
            })
            .boxed()
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        // The editor may have gone with it.
        self.editor
            .ask_soon("terminal/release", self.this())
            .map(drop)
            .boxed()
    }
}

/// `exitCode`, or the name of a `signal`.
fn exit(status: &Value) -> Exit {
    let code = status["exitCode"].as_i64();
    Exit {
        code: code.and_then(|code| i32::try_from(code).ok()),
        signal: status["signal"].as_str().and_then(signal_number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_a_code_or_a_signal() {
        let ended = |status: Value| {
            let exit = exit(&status);
            (exit.code, exit.signal)
        };
        assert_eq!(
            ended(json!({"exitCode": 2, "signal": null})),
            (Some(2), None)
        );
        assert_eq!(ended(json!({"signal": "SIGKILL"})), (None, Some(9)));
        assert_eq!(ended(json!({"signal": "15"})), (None, Some(15)));
        assert_eq!(ended(json!({})), (None, None));
    }
}
