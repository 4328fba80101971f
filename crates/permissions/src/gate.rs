//! Checks every call against the rules and asks the user if they require it. Runs after all interceptors that can
//! change the arguments, so that exactly the checked call runs.

use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::advice::{Advised, Advisor, Hints};
use super::review::{ReviewRequest, Reviewed, Reviewer, Reviews};
use super::{Hint, Permissions, Verdict, shell};
use osier_agent::{
    CheckedCall, FileTarget, Interceptor, Preview, ShellInput, ToolDecision, ToolOutput,
};
use osier_base::text;
use osier_llm::ToolCall;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Questions, Subject};
use osier_protocol::{PermissionMode, SandboxMode};
use osier_tools::{BASH, ToolEffect, Workspace};

/// The text after the reason of a denial if a hook allows another attempt.
const RETRY: &str = "; a hook says that you can make the call again";
/// Maximum bytes of an edited call that its result shows.
const SHOWN_LIMIT: usize = 4 * 1024;

/// The interceptor that checks calls.
#[derive(Debug)]
pub struct Gate {
    permissions: Arc<Permissions>,
    questions: Questions,
    workspace: Arc<Workspace>,
    /// Whether a client can answer questions.
    interactive: bool,
    /// Hints of hooks for calls without a decision yet, by call id.
    hints: Arc<Hints>,
    /// The advisor, which is consulted before the user.
    advisor: Option<Arc<dyn Advisor>>,
    reviews: Reviews,
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
        let of = Arc::downgrade(&workspace);
        workspace.filter_reads(Box::new(move || {
            let moved = of.upgrade().and_then(|workspace| workspace.moved_to());
            rules.read_filter(moved.as_ref().unwrap_or(&from))
        }));
        Self {
            root,
            permissions,
            questions,
            workspace,
            interactive,
            hints: Arc::default(),
            advisor: None,
            reviews: Reviews::default(),
        }
    }

    /// Consults `advisor` before the user.
    #[must_use]
    pub fn advised_by(mut self, advisor: Arc<dyn Advisor>) -> Self {
        self.advisor = Some(advisor);
        self
    }

    /// Lets `reviewer` judge calls in the mode `auto`.
    #[must_use]
    pub fn reviewed_by(mut self, reviewer: Arc<dyn Reviewer>) -> Self {
        self.reviews = Reviews::new(reviewer);
        self
    }

    /// The hints that hooks can set.
    pub fn hints(&self) -> Arc<Hints> {
        Arc::clone(&self.hints)
    }

    /// Decides about a call outside of a run.
    ///
    /// # Errors Why the call may not run as it is.
    pub async fn allow(
        &self,
        id: String,
        tool: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let call = ToolCall {
            id,
            name: tool.to_owned(),
            arguments,
            ..ToolCall::default()
        };
        let decision = match self.workspace.prepare(call).await {
            Ok(call) => self.decide(&call, cancel).await,
            Err(output) => ToolDecision::Fail(output),
        };
        match decision {
            ToolDecision::Allow => Ok(()),
            ToolDecision::Deny { reason } => Err(reason),
            ToolDecision::Fail(output) => Err(output.text()),
            ToolDecision::Rewrite { .. } | ToolDecision::Replace(_) => {
                Err("the user wants another call".to_owned())
            }
        }
    }

    /// Like `decide_call`; input for a running shell is judged as a command.
    async fn decide(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        let Some(input) = &call.prepared.shell_input else {
            return self.decide_call(call, cancel).await;
        };
        let Some(command) = &input.command else {
            return ToolDecision::Allow;
        };
        if input.is_ahead && command.trim().is_empty() {
            return self.decide_call(call, cancel).await;
        }
        let (command, is_read_only) = (self.typed(input, command), input.is_read_only);
        if self.permissions.mode() == PermissionMode::Plan && !is_read_only {
            let reason = "plan mode is read-only, and this terminal can write: start another one";
            return ToolDecision::Deny {
                reason: reason.to_owned(),
            };
        }
        let command = ToolCall {
            name: BASH.to_owned(),
            arguments: json!({ "command": command }),
            ..call.call.clone()
        };
        let command = match self.workspace.prepare(command).await {
            Ok(command) => command,
            Err(output) => return ToolDecision::Fail(output),
        };
        if input.is_ahead {
            // Another program may read it first: rules can deny it, but not allow it.
            let files = self.permissions.for_rules(command.files(), &self.root());
            let arguments = &command.call.arguments;
            return match self.permissions.decide_by_rules(arguments, &files) {
                Verdict::Deny(reason) => ToolDecision::Deny { reason },
                Verdict::Ask { .. } => self.decide_call(&command, cancel).await,
                _ => self.decide_call(call, cancel).await,
            };
        }
        match self.decide_call(&command, cancel).await {
            ToolDecision::Replace(edited) => {
                let command = edited.call.arguments.get("command").and_then(Value::as_str);
                let command = command.unwrap_or_default();
                let typed = Workspace::with_typed_command(&call.call.arguments, command);
                match call.with_arguments(typed).await {
                    Ok(edited) => replaced(edited),
                    Err(output) => ToolDecision::Fail(output),
                }
            }
            decision => decision,
        }
    }

    /// The command as which typed input is judged, in the folder of the shell. Input that changes
    /// the shell for later lines becomes a command that neither a rule nor the table of known
    /// commands covers.
    fn typed(&self, input: &ShellInput, command: &str) -> String {
        if !input.is_ahead && shell::changes_session(command) {
            return format!("(it changes the shell: {command}");
        }
        match &input.folder {
            Some(folder) if *folder != self.root() => {
                let folder = folder.to_string_lossy().replace('\'', "'\\''");
                format!("cd '{folder}' && {command}")
            }
            _ => command.to_owned(),
        }
    }

    async fn decide_call(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        let hint = self.hints.take(&call.call.id);
        let confined = self.confines(&call.call.name).await;
        let leaves = self.leaves_sandbox(call);
        let (patterns, why) = match self.verdict(call, hint.as_ref(), confined) {
            Verdict::Deny(reason) => return ToolDecision::Deny { reason },
            // No rule can be saved: the sandbox would ask again.
            Verdict::Ask { why, .. } if leaves => (Vec::new(), Some(why)),
            _ if leaves => (Vec::new(), Some(String::new())),
            Verdict::Allow => return ToolDecision::Allow,
            Verdict::Ask { why, patterns } => (patterns, Some(why)),
            Verdict::Review { patterns } => (patterns, None),
        };
        let (preview, problem) = call.preview().await;
        if let Some(problem) = problem
            && !call.is_preceded
            && self.may_show(call)
        {
            return ToolDecision::Fail(problem.into());
        }
        let open = OpenCall {
            call,
            preview,
            patterns,
            leaves,
            confined,
        };
        self.permission(open, why, cancel).await
    }

    /// The real path of the working directory, which another program can have moved.
    fn root(&self) -> PathBuf {
        let moved = self.workspace.moved_to();
        moved.unwrap_or_else(|| self.root.clone())
    }

    /// Whether the model may see the contents of the files, so that it may read why the call would
    /// fail.
    fn may_show(&self, call: &CheckedCall) -> bool {
        let filter = self.permissions.read_filter(&self.root());
        let mut files = call.files().iter().filter(|file| file.purpose.shows());
        files.all(|file| filter(&file.real))
    }

    /// The decision about a call that needs permission for the reason `why`; without a reason a model judges it.
    async fn permission(
        &self,
        open: OpenCall<'_>,
        why: Option<String>,
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let call = open.call;
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
            return self.unanswerable(call, open.leaves, &why, &open.patterns);
        }
        let link = |target: &FileTarget| self.workspace.link_target(&self.root(), target);
        let mut reasons = vec![why.clone()];
        reasons.extend(call.files().iter().filter_map(link));
        reasons.retain(|reason| !reason.is_empty());
        let title = self.title(&call.call.name, open.leaves, &reasons.join("; "));
        let asked = AskedFor {
            leaves: open.leaves,
            why: Some(why),
        };
        self.ask(call, title, open.preview, open.patterns, asked, cancel)
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
            workspace: &self.workspace,
        };
        match self.reviews.judge(request, cancel).await {
            Reviewed::Asked(why) => return Ok(why),
            Reviewed::Denied(mut reason) => {
                if let Some(advisor) = &self.advisor
                    && advisor.denied(open.call, &reason, cancel).await
                {
                    reason += RETRY;
                }
                return Err(ToolDecision::Deny { reason });
            }
            Reviewed::Allowed => {}
        }
        // The mode and the rules can have changed meanwhile.
        match self.verdict(open.call, None, open.confined) {
            Verdict::Allow | Verdict::Review { .. } => Err(ToolDecision::Allow),
            Verdict::Ask { why, .. } => Ok(why),
            Verdict::Deny(reason) => Err(ToolDecision::Deny { reason }),
        }
    }

    /// The verdict of the rules. Rules treat the files of a copy of the project as files of the project.
    fn verdict(&self, call: &CheckedCall, hint: Option<&Hint>, confined: bool) -> Verdict {
        let (tool, arguments) = (&call.call.name, &call.call.arguments);
        let files = self.permissions.for_rules(call.files(), &self.root());
        self.permissions
            .decide_targets(tool, arguments, &files, hint, confined)
    }

    /// Whether the call writes to a path at which the sandbox denies writes to commands.
    fn leaves_sandbox(&self, call: &CheckedCall) -> bool {
        let sandbox = self.workspace.confinement();
        let mut written = call.files().iter().filter(|file| file.purpose.writes());
        written.any(|file| !sandbox.may_write(&file.real))
    }

    fn title(&self, tool: &str, leaves: bool, why: &str) -> String {
        let read_only = self.workspace.confinement().mode() == SandboxMode::ReadOnly;
        let known = osier_tools::find(tool);
        let question = match known {
            _ if leaves && read_only => "The sandbox is read-only. Write anyway?",
            Some(known) if leaves && known.files.is_some() => {
                "The sandbox denies writing these files. Write anyway?"
            }
            _ if leaves => "The sandbox denies writing this file. Write anyway?",
            Some(known) if !known.view.question.is_empty() => known.view.question,
            _ => &format!("Call the tool `{tool}`?"),
        };
        match why {
            "" => question.to_owned(),
            why => format!("{question} ({why})"),
        }
    }

    /// The denial in a run in which nobody can answer.
    fn unanswerable(
        &self,
        call: &CheckedCall,
        leaves: bool,
        why: &str,
        patterns: &[String],
    ) -> ToolDecision {
        if leaves {
            let reason = OUTSIDE.to_owned();
            return ToolDecision::Deny { reason };
        }
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
        let tool = &call.call.name;
        let reason = format!(
            "`{tool}` needs permission{why}, and osier is running non-interactively; the user can {advice}"
        );
        ToolDecision::Deny { reason }
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
                self.apply_answer(open.call, answer, &asked, cancel).await
            }
            Advised::Deny(reason) => ToolDecision::Deny { reason },
        };
        Some(decision)
    }

    async fn ask(
        &self,
        call: &CheckedCall,
        title: String,
        preview: Preview,
        patterns: Vec<String>,
        asked: AskedFor,
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let ToolCall {
            id,
            name,
            arguments,
            ..
        } = call.call.clone();
        let subject = match preview {
            Preview::Command(command) => Subject::Command {
                command,
                cwd: self.workspace.cwd().display().to_string(),
            },
            Preview::Diff { path, diff } => Subject::Diff { path, diff },
            Preview::Text(text) => Subject::Text { text },
        };
        let question = Question {
            id: String::new(),
            origin: format!("the tool `{name}`"),
            subagent: None,
            title,
            subject: Some(subject),
            kind: QuestionKind::Permission {
                call_id: id,
                tool: name,
                arguments,
                patterns,
            },
        };
        let answer = self.questions.ask(question, cancel).await;
        match self.apply_answer(call, answer, &asked, cancel).await {
            ToolDecision::Replace(edited) => replaced(*edited),
            decision => decision,
        }
    }

    /// Whether the sandbox can prevent `tool` from writing, as plan mode requires, or denies
    /// commands the network that `tool` uses.
    async fn confines(&self, tool: &str) -> bool {
        if osier_tools::effect(tool) == Some(ToolEffect::Fetches) {
            return self.workspace.confinement().denies_network();
        }
        tool == BASH
            && self.permissions.mode() == PermissionMode::Plan
            && self.workspace.confinement().ready().await.is_ok()
    }

    /// The next question about a call with edited arguments, if the last answer does not cover the edit.
    fn needs_more(
        &self,
        edited: &CheckedCall,
        asked: &AskedFor,
        confined: bool,
    ) -> Option<AskedFor> {
        let leaves = self.leaves_sandbox(edited);
        let why = match self.verdict(edited, None, confined) {
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
        edited: &CheckedCall,
        needed: AskedFor,
        cancel: &CancellationToken,
    ) -> ToolDecision {
        let why = needed.why.as_deref().unwrap_or_default();
        if !self.interactive {
            return self.unanswerable(edited, needed.leaves, why, &[]);
        }
        let title = self.title(&edited.call.name, needed.leaves, why);
        let (preview, _) = edited.preview().await;
        self.ask(edited, title, preview, Vec::new(), needed, cancel)
            .await
    }

    async fn apply_answer(
        &self,
        call: &CheckedCall,
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
                let edited = match call.with_arguments(arguments).await {
                    Ok(edited) => edited,
                    Err(output) => return ToolDecision::Fail(output),
                };
                // Deny rules also apply to arguments that the user edited.
                let confined = self.confines(&call.call.name).await;
                let verdict = self.verdict(&edited, Some(&Hint::Allow), confined);
                if let Verdict::Deny(reason) = verdict {
                    return deny(reason);
                }
                if let Some(needed) = self.needs_more(&edited, asked, confined) {
                    match Box::pin(self.ask_again(&edited, needed, cancel)).await {
                        ToolDecision::Allow => {}
                        other => return other,
                    }
                }
                ToolDecision::Replace(Box::new(edited))
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

/// The question to which an answer belongs.
#[derive(Debug)]
struct AskedFor {
    /// Whether the call writes to a path at which the sandbox denies writes to commands.
    leaves: bool,
    /// Why the user was asked; `None` for a hook, which decides whatever the reason is.
    why: Option<String>,
}

/// A call that needs permission.
struct OpenCall<'a> {
    call: &'a CheckedCall,
    preview: Preview,
    /// The rules that can be saved.
    patterns: Vec<String>,
    /// Whether the call writes to a path at which the sandbox denies writes to commands.
    leaves: bool,
    /// Whether the sandbox can prevent the call from writing.
    confined: bool,
}

/// The reason for a write that the sandbox denies, in a run in which nobody can answer.
const OUTSIDE: &str = "the sandbox denies writing there, to file tools as to commands; write in the working directory, or the user can add the directory to `sandbox_write` in `settings.toml`";

#[async_trait]
impl Interceptor for Gate {
    async fn before_tool(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        self.decide(call, cancel).await
    }

    async fn after_tool(&self, call: &CheckedCall, output: &mut ToolOutput) {
        if output.status.is_success() {
            self.workspace.record_hooks(call.files());
        }
        self.reviews.add_to(&call.call, output);
    }

    fn after_denial(&self, call: &ToolCall, output: &mut ToolOutput) {
        self.reviews.add_to(call, output);
    }
}

/// Runs the call that the user edited. The conversation has the call without the edit, so the model and the user must
/// see the difference.
fn replaced(mut edited: CheckedCall) -> ToolDecision {
    let command = edited.call.arguments.get("command").and_then(Value::as_str);
    let made = match command {
        Some(command) => command.to_owned(),
        None => edited.call.arguments.to_string(),
    };
    edited.note = Some(format!(
        "[the user edited this call before it ran: {}]",
        text::head_bytes(&made, SHOWN_LIMIT)
    ));
    ToolDecision::Replace(Box::new(edited))
}
