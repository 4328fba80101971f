//! Asks the rules before every call, and a person where they say so. Stands behind everything that may
//! change a call's arguments, so that what was allowed is what runs.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Hint, Mode, Permissions, Verdict};
use osier_agent::{Interceptor, ToolDecision, ToolOutput};
use osier_base::text;
use osier_llm::{ContentBlock, ToolCall};
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Questions};
use osier_tools::Workspace;

/// Most of a changed call that is told with its result.
const TOLD_LIMIT: usize = 4 * 1024;

/// The interceptor.
#[derive(Debug)]
pub struct Gate {
    permissions: Arc<Permissions>,
    questions: Questions,
    workspace: Arc<Workspace>,
    /// Somebody is there to be asked.
    answered: bool,
    /// What hooks thought of calls that are about to be decided, by their id.
    hints: Arc<Hints>,
    /// Asked before the person is.
    advisor: Option<Arc<dyn Advisor>>,
    /// Calls that the person changed, by their id, until they have run.
    changed: Mutex<HashSet<String>>,
}

/// Somebody who may answer in the person's place: hooks.
pub trait Advisor: fmt::Debug + Send + Sync {
    /// The answer, if there is one. `patterns` are the rules that could be remembered.
    fn advise<'a>(
        &'a self,
        call: &'a ToolCall,
        patterns: &'a [String],
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<Advised>>;
}

/// An answer in the person's place.
#[derive(Debug, Clone, PartialEq)]
pub enum Advised {
    /// Once; with other arguments when there are any.
    Allow(Option<Value>),
    /// The model gets the reason.
    Deny(String),
}

/// What hooks leave for the gate.
#[derive(Debug, Default)]
pub struct Hints(Mutex<HashMap<String, Hint>>);

impl Hints {
    pub fn leave(&self, call_id: &str, hint: Hint) {
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hints.insert(call_id.to_owned(), hint);
    }

    fn take(&self, call_id: &str) -> Option<Hint> {
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hints.remove(call_id)
    }
}

impl Gate {
    pub fn new(
        permissions: Arc<Permissions>,
        questions: Questions,
        workspace: Arc<Workspace>,
        answered: bool,
    ) -> Self {
        Self {
            permissions,
            questions,
            workspace,
            answered,
            hints: Arc::default(),
            advisor: None,
            changed: Mutex::default(),
        }
    }

    /// Asks `advisor` before the person.
    #[must_use]
    pub fn advised_by(mut self, advisor: Arc<dyn Advisor>) -> Self {
        self.advisor = Some(advisor);
        self
    }

    /// Where hooks leave what they think.
    pub fn hints(&self) -> Arc<Hints> {
        Arc::clone(&self.hints)
    }

    async fn decide(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolDecision {
        let hint = self.hints.take(&call.id);
        let confined = self.confines(&call.name).await;
        let (tool, arguments) = (&call.name, &call.arguments);
        match self
            .permissions
            .decide(tool, arguments, hint.as_ref(), confined)
        {
            Verdict::Allow => ToolDecision::Allow,
            Verdict::Deny(reason) => ToolDecision::Deny { reason },
            Verdict::Ask { why, patterns } => match self.advised(call, &patterns, cancel).await {
                Some(decision) => decision,
                None if !self.answered => ToolDecision::Deny {
                    reason: nobody(tool, &why),
                },
                None => self.ask(call, (why, patterns), cancel).await,
            },
        }
    }

    /// What is decided in the person's place.
    async fn advised(
        &self,
        call: &ToolCall,
        patterns: &[String],
        cancel: &CancellationToken,
    ) -> Option<ToolDecision> {
        let advisor = self.advisor.as_ref()?;
        let decision = match advisor.advise(call, patterns, cancel).await? {
            Advised::Allow(arguments) => {
                let grant = Grant::Once;
                let answer = Answer::Allow { grant, arguments };
                self.take(call, answer).await
            }
            Advised::Deny(reason) => ToolDecision::Deny { reason },
        };
        Some(decision)
    }

    async fn ask(
        &self,
        call: &ToolCall,
        (why, patterns): (String, Vec<String>),
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let workspace = Arc::clone(&self.workspace);
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        let preview = move || osier_tools::preview(&workspace, &name, &arguments);
        let subject = tokio::task::spawn_blocking(preview).await.ok().flatten();
        let what = match call.name.as_str() {
            "bash" => "Run this command?",
            "write" => "Write this file?",
            "edit" => "Make this change?",
            _ => "Make this call?",
        };
        let title = if why.is_empty() {
            what.to_owned()
        } else {
            format!("{what} ({why})")
        };
        let question = Question {
            id: String::new(),
            origin: format!("the tool `{}`", call.name),
            title,
            subject,
            kind: QuestionKind::Permission {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                arguments: call.arguments.clone(),
                patterns,
            },
        };
        let answer = self.questions.ask(question, cancel).await;
        let decision = self.take(call, answer).await;
        if matches!(decision, ToolDecision::Rewrite { .. }) {
            self.changed().insert(call.id.clone());
        }
        decision
    }

    fn changed(&self) -> MutexGuard<'_, HashSet<String>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a command can be kept from writing, as plan mode has to.
    async fn confines(&self, tool: &str) -> bool {
        tool == "bash"
            && self.permissions.mode() == Mode::Plan
            && self.workspace.confinement().ready().await.is_ok()
    }

    async fn take(&self, call: &ToolCall, answer: Answer) -> ToolDecision {
        let deny = |reason: String| ToolDecision::Deny { reason };
        match answer {
            Answer::Allow { grant, arguments } => {
                // What cannot be kept still holds for this session.
                let _ = self.permissions.grant(&grant);
                let Some(arguments) = arguments else {
                    return ToolDecision::Allow;
                };
                // Deny wins, also over what a person wrote.
                let confined = self.confines(&call.name).await;
                let hint = Some(&Hint::Allow);
                match self
                    .permissions
                    .decide(&call.name, &arguments, hint, confined)
                {
                    Verdict::Deny(reason) => deny(reason),
                    _ => ToolDecision::Rewrite { arguments },
                }
            }
            Answer::Refuse {
                reason: Some(reason),
            } => deny(format!("the user refused: {reason}")),
            Answer::Refuse { reason: None } => {
                deny("the user refused; ask what to do instead".to_owned())
            }
            _ => deny("the user gave no answer".to_owned()),
        }
    }
}

fn nobody(tool: &str, why: &str) -> String {
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(" ({why})")
    };
    format!(
        "`{tool}` needs a permission{why} and nobody is here to give it; the user can run osier with `--permissions yolo`, or allow it with a rule in `settings.toml`"
    )
}

impl Interceptor for Gate {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolDecision> {
        self.decide(call, cancel).boxed()
    }

    /// The model and the person have to know that another call was made than the one that stands there.
    fn after_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        output: &'a mut ToolOutput,
    ) -> BoxFuture<'a, ()> {
        if self.changed().remove(&call.id) {
            output
                .content
                .insert(0, ContentBlock::text(changed_to(call)));
        }
        futures_util::future::ready(()).boxed()
    }
}

/// Says what was run in place of the model's own call.
fn changed_to(call: &ToolCall) -> String {
    let command = call.arguments.get("command").and_then(Value::as_str);
    let made = match command {
        Some(command) => command.to_owned(),
        None => call.arguments.to_string(),
    };
    format!(
        "[the user changed this call before it ran, to: {}]",
        text::head_bytes(&made, TOLD_LIMIT)
    )
}
