//! A prepared call: a tool reads the arguments once and returns everything that rules, questions, the scheduler and the
//! execution need.

use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::files::FileTarget;
use super::output::{Refusal, ToolContext, ToolOutput};

/// The future of `Tool::prepare`.
pub type Preparing = BoxFuture<'static, Result<PreparedCall, Refusal>>;

/// Prepares a call whose arguments are a `T`.
pub fn prepare_typed<T, F>(arguments: Value, make: impl FnOnce(T) -> F) -> Preparing
where
    T: DeserializeOwned,
    F: Future<Output = Result<PreparedCall, Refusal>> + Send + 'static,
{
    match serde_json::from_value(arguments) {
        Ok(arguments) => Box::pin(make(arguments)),
        Err(error) => Box::pin(ready(Err(Refusal::Invalid(error.to_string())))),
    }
}

type Run = Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync>;
type Show = Arc<dyn Fn() -> Result<Preview, Refusal> + Send + Sync>;

/// How a call can run with the other calls of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concurrency {
    /// In parallel with any call.
    Parallel,
    /// One at a time among calls with the same key: writes to one path.
    Serial(String),
    /// Alone: all earlier calls end first, and no later call starts before it ends.
    Exclusive,
}

/// The effect of a call, for a question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// A command of the shell.
    Command(String),
    /// A change of files as a unified diff, and a name for them.
    Diff { path: String, diff: String },
    /// The arguments.
    Text(String),
}

/// Input for a running shell. It is judged as a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellInput {
    /// The command in the input; `None` if the shell runs no command.
    pub command: Option<String>,
    /// Whether the shell cannot write files.
    pub is_read_only: bool,
    /// Whether another program reads the input first, so that the rest of the input is a command.
    pub is_ahead: bool,
    /// The working directory of the shell, if it is known.
    pub folder: Option<PathBuf>,
}

/// A call that its tool has prepared.
pub struct PreparedCall {
    /// The files that the call names.
    pub files: Vec<FileTarget>,
    /// How the call runs with the other calls of its message.
    pub concurrency: Concurrency,
    /// The input that the call types into a shell.
    pub shell_input: Option<ShellInput>,
    show: Option<Show>,
    /// The work of the call; `None` once it has started.
    run: Option<Run>,
}

impl PreparedCall {
    /// A call without files that runs in parallel with any other.
    pub fn new<F>(run: impl FnOnce(ToolContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ToolOutput> + Send + 'static,
    {
        Self {
            files: Vec::new(),
            concurrency: Concurrency::Parallel,
            shell_input: None,
            show: None,
            run: Some(Box::new(|cx| Box::pin(run(cx)))),
        }
    }

    /// A call that runs on a blocking thread. `doing` names the action for the error when the thread fails.
    pub fn blocking(
        doing: &'static str,
        work: impl FnOnce(ToolContext) -> Result<ToolOutput, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |cx| async move {
            match osier_base::task::spawn_blocking(move || work(cx)).await {
                Ok(output) => output.unwrap_or_else(ToolOutput::from),
                Err(error) => ToolOutput::error(format!("{doing} failed: {error}")),
            }
        })
    }

    /// The call as the future of a tool that waits for nothing.
    pub fn ready(self) -> Preparing {
        Box::pin(ready(Ok(self)))
    }

    /// Sets the files.
    #[must_use]
    pub fn on(self, files: Vec<FileTarget>) -> Self {
        Self { files, ..self }
    }

    /// Sets its only file, which other calls wait for.
    #[must_use]
    pub fn alone_on(self, file: FileTarget) -> Self {
        let key = file.host.display().to_string();
        self.on(vec![file]).running(Concurrency::Serial(key))
    }

    #[must_use]
    pub fn running(self, concurrency: Concurrency) -> Self {
        Self {
            concurrency,
            ..self
        }
    }

    #[must_use]
    pub fn typing(self, shell_input: Option<ShellInput>) -> Self {
        Self {
            shell_input,
            ..self
        }
    }

    /// Sets `show` as the preview of the call. It fails if the call would fail now, and can block.
    #[must_use]
    pub fn shown_by(
        self,
        show: impl Fn() -> Result<Preview, Refusal> + Send + Sync + 'static,
    ) -> Self {
        let show: Option<Show> = Some(Arc::new(show));
        Self { show, ..self }
    }

    /// The effect of the call if it ran now; `None` if its arguments show the effect.
    ///
    /// # Errors The reason why the call would fail.
    pub async fn preview(&self) -> Result<Option<Preview>, Refusal> {
        let Some(show) = self.show.clone() else {
            return Ok(None);
        };
        let shown = osier_base::task::spawn_blocking(move || show().map(Some));
        shown.await.unwrap_or(Ok(None))
    }

    /// Runs the call, once. The future must end soon after `cx.cancel` fires, with a partial result.
    pub fn run(&mut self, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        match self.run.take() {
            Some(run) => run(cx),
            None => Box::pin(async { ToolOutput::error("the call has run already") }),
        }
    }
}

osier_base::opaque_debug!(PreparedCall);
