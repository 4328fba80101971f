//! Checks every call against the rules and asks the user where they require it. Runs after every interceptor
//! that can change the arguments, so that the checked call is the one that runs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::advice::{Advised, Advisor, Hints};
use super::review::{ReviewRequest, Reviewed, Reviewer, Reviews};
use super::{Hint, Permissions, Verdict};
use osier_agent::{Interceptor, ToolDecision, ToolOutput};
use osier_base::text;
use osier_llm::{ContentBlock, ToolCall};
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Questions};
use osier_protocol::{PermissionMode, SandboxMode};
use osier_tools::{FileTarget, Typed, Workspace};

/// Bytes of an edited call that its result shows.
const SHOWN_LIMIT: usize = 4 * 1024;

/// The interceptor that checks calls.
#[derive(Debug)]
pub struct Gate {
    permissions: Arc<Permissions>,
    questions: Questions,
    workspace: Arc<Workspace>,
    /// A client can answer questions.
    interactive: bool,
    /// Hints of hooks for calls without a decision yet, by call id.
    hints: Arc<Hints>,
    /// Consulted before the user.
    advisor: Option<Arc<dyn Advisor>>,
    reviews: Reviews,
    /// Ids of calls that the user edited and that have not run yet.
    changed: Mutex<HashSet<String>>,
    /// The working directory, without symbolic links.
    root: PathBuf,
}

impl Gate {
    pub fn new(
        permissions: Arc<Permissions>,
        questions: Questions,
        workspace: Arc<Workspace>,
        interactive: bool,
    ) -> Self {
        let root = osier_base::path::canonical_key(workspace.cwd());
        let (rules, from) = (Arc::clone(&permissions), root.clone());
        workspace.require_approval(Box::new(move || rules.read_filter(&from)));
        Self {
            root,
            permissions,
            questions,
            workspace,
            interactive,
            hints: Arc::default(),
            advisor: None,
            reviews: Reviews::default(),
            changed: Mutex::default(),
        }
    }

    /// Consults `advisor` before the user.
    #[must_use]
    pub fn advised_by(mut self, advisor: Arc<dyn Advisor>) -> Self {
        self.advisor = Some(advisor);
        self
    }

    /// Has `reviewer` judge calls in the mode `auto`.
    #[must_use]
    pub fn reviewed_by(mut self, reviewer: Arc<dyn Reviewer>) -> Self {
        self.reviews = Reviews::new(reviewer);
        self
    }

    /// The hints that hooks can set.
    pub fn hints(&self) -> Arc<Hints> {
        Arc::clone(&self.hints)
    }

    /// Like `decide_call`; a line for a shell in a terminal is a command.
    async fn decide(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolDecision {
        let workspace = &self.workspace;
        let Some(input) = workspace.typed_call(&call.id, &call.name, &call.arguments) else {
            return self.decide_call(call, cancel).await;
        };
        let command = match input.typed {
            Typed::Nothing => return ToolDecision::Allow,
            Typed::Command(command) => command,
            // No grammar reads it, so that no rule for commands allows it.
            Typed::Unknown => format!("(keys in a terminal: {}", input.description),
        };
        if self.permissions.mode() == PermissionMode::Plan && !input.is_read_only {
            let reason = "plan mode is read-only, and this terminal can write: start another one";
            return ToolDecision::Deny {
                reason: reason.to_owned(),
            };
        }
        let typed = ToolCall {
            name: "bash".to_owned(),
            arguments: json!({ "command": command }),
            ..call.clone()
        };
        match self.decide_call(&typed, cancel).await {
            ToolDecision::Rewrite { arguments } => {
                let command = arguments.get("command").and_then(Value::as_str);
                let command = command.unwrap_or_default();
                ToolDecision::Rewrite {
                    arguments: Workspace::with_typed_command(&call.arguments, command),
                }
            }
            decision => decision,
        }
    }

    async fn decide_call(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolDecision {
        let hint = self.hints.take(&call.id);
        // Without a working sandbox no command runs, and the files are those of the host.
        let _ = self.workspace.confinement().prepare().await;
        let confined = self.confines(&call.name).await;
        let (tool, arguments) = (&call.name, &call.arguments);
        let targets = self.workspace.file_targets(tool, arguments);
        let verdict = self.verdict(tool, arguments, &targets, hint.as_ref(), confined);
        let (verdict, leaves) = match verdict {
            Verdict::Deny(reason) => return ToolDecision::Deny { reason },
            verdict if targets.iter().any(|target| self.leaves_sandbox(target)) => {
                (asked(verdict), true)
            }
            verdict => (verdict, false),
        };
        let question = match verdict {
            Verdict::Allow => None,
            Verdict::Deny(reason) => return ToolDecision::Deny { reason },
            Verdict::Ask { why, patterns } => Some((patterns, Some(why))),
            Verdict::Review { patterns } => Some((patterns, None)),
        };
        let decision = match question {
            None => ToolDecision::Allow,
            Some((patterns, why)) => {
                let open = OpenCall {
                    call,
                    targets: &targets,
                    patterns,
                    leaves,
                    confined,
                };
                self.permission(open, why, cancel).await
            }
        };
        if decision == ToolDecision::Allow {
            self.workspace.approve(&call.id, tool, arguments, targets);
        }
        decision
    }

    /// The decision about a call that needs permission for the reason `why`; without a reason a model judges it.
    async fn permission(
        &self,
        open: OpenCall<'_>,
        why: Option<String>,
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let OpenCall { call, targets, .. } = open;
        if let Some(decision) = self.advised(&open, cancel).await {
            return decision;
        }
        let why = match why {
            Some(why) => why,
            None => match self.reviewed(&open, cancel).await {
                Ok(why) => why,
                Err(decision) => return decision,
            },
        };
        if !self.interactive {
            let reason = if open.leaves {
                OUTSIDE.to_owned()
            } else {
                self.non_interactive(&call.name, &why, &open.patterns)
            };
            return ToolDecision::Deny { reason };
        }
        let link =
            |target: &FileTarget| osier_tools::link_target(&self.workspace, &self.root, target);
        let mut reasons = vec![why.clone()];
        reasons.extend(targets.iter().filter_map(link));
        reasons.retain(|reason| !reason.is_empty());
        let title = self.title(&call.name, open.leaves, &reasons.join("; "));
        let asked = AskedFor {
            leaves: open.leaves,
            why: Some(why),
        };
        self.ask(call, title, targets, open.patterns, asked, cancel)
            .await
    }

    /// The decision of a model, or why the user is asked.
    async fn reviewed(
        &self,
        open: &OpenCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<String, ToolDecision> {
        let request = ReviewRequest {
            call: open.call,
            files: &open
                .targets
                .iter()
                .map(|target| target.real.as_path())
                .collect::<Vec<_>>(),
            workspace: &self.workspace,
        };
        let deny = |reason| Err(ToolDecision::Deny { reason });
        match self.reviews.judge(request, cancel).await {
            Reviewed::Asked(why) => return Ok(why),
            Reviewed::Denied(reason) => return deny(reason),
            Reviewed::Allowed => {}
        }
        // The mode and the rules can have changed meanwhile.
        let (tool, arguments) = (&open.call.name, &open.call.arguments);
        match self.verdict(tool, arguments, open.targets, None, open.confined) {
            Verdict::Allow | Verdict::Review { .. } => Err(ToolDecision::Allow),
            Verdict::Ask { why, .. } => Ok(why),
            Verdict::Deny(reason) => deny(reason),
        }
    }

    /// What the rules say. They see the files of a copy of the project as those of the project.
    fn verdict(
        &self,
        tool: &str,
        arguments: &Value,
        targets: &[FileTarget],
        hint: Option<&Hint>,
        confined: bool,
    ) -> Verdict {
        let rules = &self.permissions;
        let targets = targets
            .iter()
            .map(|target| rules.for_rules(target, &self.root));
        let targets: Vec<FileTarget> = targets.collect();
        rules.decide_targets(tool, arguments, &targets, hint, confined)
    }

    /// Whether the call writes where the sandbox denies it to commands.
    fn leaves_sandbox(&self, target: &FileTarget) -> bool {
        target.purpose.writes() && !self.workspace.confinement().may_write(&target.real)
    }

    fn title(&self, tool: &str, leaves: bool, why: &str) -> String {
        let read_only = self.workspace.confinement().mode() == SandboxMode::ReadOnly;
        let question = match tool {
            _ if leaves && read_only => "The sandbox is read-only. Write anyway?",
            "apply_patch" | "rename" if leaves => {
                "The sandbox denies writing these files. Write anyway?"
            }
            _ if leaves => "The sandbox denies writing this file. Write anyway?",
            "bash" => "Run this command?",
            "write" => "Write this file?",
            "edit" => "Make this change?",
            "apply_patch" => "Apply this patch?",
            "rename" => "Rename this symbol?",
            "terminal" => "Type this in the terminal?",
            "read" => "Read this file?",
            "web_fetch" => "Fetch this page?",
            "web_search" => "Search the web?",
            name => &format!("Call the tool `{name}`?"),
        };
        match why {
            "" => question.to_owned(),
            why => format!("{question} ({why})"),
        }
    }

    /// The reason in a run in which nobody can answer.
    fn non_interactive(&self, tool: &str, why: &str, patterns: &[String]) -> String {
        let why = match why {
            "" => String::new(),
            why => format!(" ({why})"),
        };
        let advice = match patterns.first() {
            Some(rule) if self.permissions.mode() == PermissionMode::Yolo => {
                format!("add the rule `{rule}` to `allow` in `settings.toml`")
            }
            _ => "run osier with `--permissions yolo`, or allow the tool with a rule in `settings.toml`".to_owned(),
        };
        format!(
            "`{tool}` needs permission{why}, and osier is running non-interactively; the user can {advice}"
        )
    }

    /// The answer of the advisor.
    async fn advised(
        &self,
        open: &OpenCall<'_>,
        cancel: &CancellationToken,
    ) -> Option<ToolDecision> {
        let advisor = self.advisor.as_ref()?;
        let decision = match advisor.advise(open.call, &open.patterns, cancel).await? {
            Advised::Allow(arguments) => {
                let grant = Grant::Once;
                let answer = Answer::Allow { grant, arguments };
                let asked = AskedFor {
                    leaves: open.leaves,
                    why: None,
                };
                self.take(open.call, answer, &asked, cancel).await
            }
            Advised::Deny(reason) => ToolDecision::Deny { reason },
        };
        Some(decision)
    }

    async fn ask(
        &self,
        call: &ToolCall,
        title: String,
        targets: &[FileTarget],
        patterns: Vec<String>,
        asked: AskedFor,
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let workspace = Arc::clone(&self.workspace);
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        let targets = targets.to_vec();
        let preview = move || osier_tools::preview(&workspace, &name, &arguments, &targets);
        let subject = osier_base::task::spawn_blocking(preview)
            .await
            .ok()
            .flatten();
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
        let decision = self.take(call, answer, &asked, cancel).await;
        if matches!(decision, ToolDecision::Rewrite { .. }) {
            self.changed().insert(call.id.clone());
        }
        decision
    }

    fn changed(&self) -> MutexGuard<'_, HashSet<String>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the sandbox can prevent `tool` from writing, which plan mode requires, or denies commands the network that
    /// `tool` uses.
    async fn confines(&self, tool: &str) -> bool {
        if osier_tools::reads_web(tool) {
            return self.workspace.confinement().denies_network();
        }
        tool == "bash"
            && self.permissions.mode() == PermissionMode::Plan
            && self.workspace.confinement().ready().await.is_ok()
    }

    /// What a call with edited arguments needs beyond what the answer was about.
    fn needs_more(
        &self,
        call: &ToolCall,
        arguments: &Value,
        targets: &[FileTarget],
        asked: &AskedFor,
        confined: bool,
    ) -> Option<AskedFor> {
        let leaves = targets.iter().any(|target| self.leaves_sandbox(target));
        let why = match self.verdict(&call.name, arguments, targets, None, confined) {
            Verdict::Ask { why, .. } => why,
            _ => String::new(),
        };
        let is_new = match &asked.why {
            Some(before) => !why.is_empty() && why != *before,
            None => false,
        };
        (is_new || (leaves && !asked.leaves)).then_some(AskedFor {
            leaves,
            why: Some(why),
        })
    }

    /// Asks about a call with edited arguments.
    async fn ask_again(
        &self,
        call: &ToolCall,
        arguments: &Value,
        targets: &[FileTarget],
        needed: AskedFor,
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let why = needed.why.as_deref().unwrap_or_default();
        if !self.interactive {
            let reason = if needed.leaves {
                OUTSIDE.to_owned()
            } else {
                self.non_interactive(&call.name, why, &[])
            };
            return ToolDecision::Deny { reason };
        }
        let title = self.title(&call.name, needed.leaves, why);
        let edited = ToolCall {
            arguments: arguments.clone(),
            ..call.clone()
        };
        self.ask(&edited, title, targets, Vec::new(), needed, cancel)
            .await
    }

    async fn take(
        &self,
        call: &ToolCall,
        answer: Answer,
        asked: &AskedFor,
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let deny = |reason: String| ToolDecision::Deny { reason };
        match answer {
            Answer::Allow { grant, arguments } => {
                // A grant that cannot be saved still applies to this session.
                let _ = self.permissions.grant(&grant);
                let Some(arguments) = arguments else {
                    return ToolDecision::Allow;
                };
                // Deny rules also apply to arguments that the user edited.
                let confined = self.confines(&call.name).await;
                let hint = Some(&Hint::Allow);
                let targets = self.workspace.file_targets(&call.name, &arguments);
                let verdict = self.verdict(&call.name, &arguments, &targets, hint, confined);
                if let Verdict::Deny(reason) = verdict {
                    return deny(reason);
                }
                if let Some(needed) = self.needs_more(call, &arguments, &targets, asked, confined) {
                    let decision =
                        Box::pin(self.ask_again(call, &arguments, &targets, needed, cancel));
                    match decision.await {
                        ToolDecision::Allow => {}
                        other => return other,
                    }
                }
                let (id, tool) = (&call.id, &call.name);
                self.workspace.approve(id, tool, &arguments, targets);
                ToolDecision::Rewrite { arguments }
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

/// What the answer to a question is about.
#[derive(Debug)]
struct AskedFor {
    /// The call writes where the sandbox denies it to commands.
    leaves: bool,
    /// Why the user was asked; not known to a hook, which decides for every reason.
    why: Option<String>,
}

/// A call that needs permission.
struct OpenCall<'a> {
    call: &'a ToolCall,
    targets: &'a [FileTarget],
    /// The rules that can be saved.
    patterns: Vec<String>,
    /// It writes where the sandbox denies it to commands.
    leaves: bool,
    /// The sandbox can prevent it from writing.
    confined: bool,
}

/// The reason for a write that the sandbox denies, in a run in which nobody can answer.
const OUTSIDE: &str = "the sandbox denies writing there, to file tools as to commands; write in the working directory, or the user can add the directory to `sandbox_write` in `settings.toml`";

/// The question about a call that the rules may allow. No rule can be saved: the sandbox would ask again.
fn asked(verdict: Verdict) -> Verdict {
    let why = match verdict {
        Verdict::Ask { why, .. } => why,
        _ => String::new(),
    };
    Verdict::Ask {
        why,
        patterns: Vec::new(),
    }
}

impl Interceptor for Gate {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolDecision> {
        self.decide(call, cancel).boxed()
    }

    /// The call that ran differs from the one in the conversation, so the model and the user must see it.
    fn after_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        output: &'a mut ToolOutput,
    ) -> BoxFuture<'a, ()> {
        if output.status.is_success() {
            self.workspace
                .record_hooks(&call.id, &call.name, &call.arguments);
        }
        self.workspace
            .forget_approval(&call.id, &call.name, &call.arguments);
        if self.changed().remove(&call.id) {
            output
                .content
                .insert(0, ContentBlock::text(changed_to(call)));
        }
        self.reviews.add_to(call, output);
        futures_util::future::ready(()).boxed()
    }

    fn after_denial(&self, call: &ToolCall, output: &mut ToolOutput) {
        self.reviews.add_to(call, output);
    }
}

/// A note that shows the call that ran instead of the model's.
fn changed_to(call: &ToolCall) -> String {
    let command = call.arguments.get("command").and_then(Value::as_str);
    let made = match command {
        Some(command) => command.to_owned(),
        None => call.arguments.to_string(),
    };
    format!(
        "[the user edited this call before it ran: {}]",
        text::head_bytes(&made, SHOWN_LIMIT)
    )
}
