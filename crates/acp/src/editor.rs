//! The files and terminals of the editor, for the tools of a session.

use async_trait::async_trait;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_client_protocol_schema::v1::{self as acp, CLIENT_METHOD_NAMES as NAMES};
use futures_util::{FutureExt as _, TryFutureExt as _};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::jsonrpc::AcpClient;
use osier_base::path::canonical_key;
use osier_base::process::{Exit, Invocation, signal_number};
use osier_tools::editor::{Editor, Terminal};

/// The timeout of requests that do not wait for a person or a command.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The editor, as the tools of one session use it.
#[derive(Debug, Clone)]
pub(super) struct SessionEditor {
    client: AcpClient,
    /// The directories of the session.
    directories: Arc<[PathBuf]>,
    /// Set once the session is open.
    session: Arc<OnceLock<acp::SessionId>>,
}

impl SessionEditor {
    pub(super) fn new(client: AcpClient, directories: &[PathBuf]) -> Self {
        let directories = directories.iter().map(|path| canonical_key(path));
        Self {
            client,
            directories: directories.collect(),
            session: Arc::default(),
        }
    }

    pub(super) fn set_session(&self, session: acp::SessionId) {
        // A session opens once.
        let _ = self.session.set(session);
    }

    fn session(&self) -> acp::SessionId {
        // Tools run after the session is open.
        let id = self.session.get().cloned();
        id.unwrap_or_else(|| acp::SessionId::new(""))
    }

    async fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<R, String> {
        let result = self.client.request(method, params).await;
        result.map_err(|error| error.message)
    }

    async fn request_with_timeout<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<R, String> {
        tokio::time::timeout(TIMEOUT, self.request(method, params))
            .await
            .unwrap_or_else(|_| Err(format!("the editor did not answer `{method}` in time")))
    }
}

#[async_trait]
impl Editor for SessionEditor {
    /// Many editors reject files outside the directories of the session, for example the files of a lane.
    fn has_file(&self, path: &Path) -> bool {
        let fs = &self.client.capabilities.fs;
        if !(fs.read_text_file && fs.write_text_file) {
            return false;
        }
        let path = canonical_key(path);
        self.directories
            .iter()
            .any(|directory| path.starts_with(directory))
    }

    fn has_terminals(&self) -> bool {
        self.client.capabilities.terminal
    }

    async fn read(&self, path: &Path) -> Result<String, String> {
        let params = acp::ReadTextFileRequest::new(self.session(), path);
        self.request_with_timeout(NAMES.fs_read_text_file, params)
            .map_ok(|file: acp::ReadTextFileResponse| file.content)
            .await
    }

    async fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        let params = acp::WriteTextFileRequest::new(self.session(), path, text);
        self.request_with_timeout(NAMES.fs_write_text_file, params)
            .map_ok(|IgnoredAny| ())
            .await
    }

    async fn open(
        &self,
        invocation: &Invocation,
        kept: usize,
    ) -> Result<Box<dyn Terminal>, String> {
        let args = invocation.args.iter().map(|arg| text(arg));
        let env = invocation.env.iter();
        let env = env.map(|(name, value)| acp::EnvVariable::new(text(name), text(value)));
        let params = acp::CreateTerminalRequest::new(self.session(), text(&invocation.program))
            .args(args.collect())
            .env(env.collect())
            .cwd(invocation.cwd.clone())
            .output_byte_limit(kept as u64);
        self.request_with_timeout(NAMES.terminal_create, params)
            .map_ok(|created: acp::CreateTerminalResponse| {
                let editor = self.clone();
                let id = created.terminal_id;
                Box::new(EditorTerminal { editor, id }) as Box<dyn Terminal>
            })
            .await
    }
}

fn text(argument: &OsStr) -> String {
    argument.to_string_lossy().into_owned()
}

/// A terminal of the editor.
#[derive(Debug)]
struct EditorTerminal {
    editor: SessionEditor,
    id: acp::TerminalId,
}

impl EditorTerminal {
    /// The parameters of all requests for an open terminal: their types have the same fields.
    fn params(&self) -> acp::TerminalOutputRequest {
        acp::TerminalOutputRequest::new(self.editor.session(), self.id.clone())
    }

    async fn request<R: DeserializeOwned>(&self, method: &'static str) -> Result<R, String> {
        let params = self.params();
        self.editor.request_with_timeout(method, params).await
    }
}

#[async_trait]
impl Terminal for EditorTerminal {
    fn id(&self) -> &str {
        &self.id.0
    }

    async fn exited(&self) -> Result<Exit, String> {
        let response = self
            .editor
            .request(NAMES.terminal_wait_for_exit, self.params());
        response
            .map_ok(|exited: acp::WaitForTerminalExitResponse| exit(&exited.exit_status))
            .await
    }

    async fn kill(&self) {
        // This fails if the command has already exited.
        self.request(NAMES.terminal_kill)
            .map(drop::<Result<IgnoredAny, _>>)
            .await;
    }

    async fn output(&self) -> Result<(String, bool), String> {
        self.request(NAMES.terminal_output)
            .map_ok(|response: TerminalOutput| (response.output, response.truncated))
            .await
    }

    async fn release(&self) {
        // This fails if the editor has disconnected.
        self.request(NAMES.terminal_release)
            .map(drop::<Result<IgnoredAny, _>>)
            .await;
    }
}

/// The response to `terminal/output`. Some editors omit `truncated`.
#[derive(Deserialize)]
struct TerminalOutput {
    output: String,
    #[serde(default)]
    truncated: bool,
}

fn exit(status: &acp::TerminalExitStatus) -> Exit {
    Exit {
        code: status.exit_code.and_then(|code| i32::try_from(code).ok()),
        signal: status.signal.as_deref().and_then(signal_number),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn command_exits_with_a_code_or_a_signal() {
        let exit = |status: Value| {
            let response: acp::WaitForTerminalExitResponse =
                serde_json::from_value(status).unwrap();
            let exit = exit(&response.exit_status);
            (exit.code, exit.signal)
        };
        assert_eq!(
            exit(json!({"exitCode": 2, "signal": null})),
            (Some(2), None)
        );
        assert_eq!(exit(json!({"signal": "SIGKILL"})), (None, Some(9)));
        assert_eq!(exit(json!({"signal": "15"})), (None, Some(15)));
        assert_eq!(exit(json!({})), (None, None));
    }
}
