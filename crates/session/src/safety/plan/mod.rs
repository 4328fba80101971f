//! Plan mode: the model learns that it is on, presents a plan, and the user approves it, edits it or sends the model back.
//!
//! The rules that apply in plan mode are in `osier_permissions`.

mod file;
mod reminder;

use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

use osier_agent::Severity;
use osier_base::visible::visible;
use osier_permissions::Permissions;
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};
use osier_protocol::{PLAN_TOOL, PermissionMode};
use osier_sandbox::Confinement;
use osier_tools::{PlanAnswer, PlanDecision};
use tokio_util::sync::CancellationToken;

use crate::emitter::Emitter;
use crate::safety::mode::{change_mode, describe};

pub(crate) use file::PlanFiles;
pub(crate) use reminder::PlanReminder;

/// Plan mode of a session.
#[derive(Debug)]
pub(crate) struct PlanMode {
    pub rules: Arc<Permissions>,
    pub sandbox: Arc<Confinement>,
    /// Not set when nobody can answer.
    pub questions: Option<Questions>,
    pub emitter: Emitter,
    pub files: PlanFiles,
}

impl PlanMode {
    async fn present_plan(
        &self,
        plan: &str,
        call_id: &str,
        cancel: &CancellationToken,
    ) -> PlanDecision {
        let path = self.save(plan).await;
        let shown_path = path.as_ref().map(|path| path.display().to_string());
        let answer = if let Some(questions) = &self.questions {
            let question = self.question(plan, call_id, shown_path.clone());
            questions.ask(question, cancel).await
        } else {
            let text = unattended(shown_path.as_deref());
            self.emitter.notice(Severity::Warning, text);
            Answer::Dismissed
        };
        let answer = match answer {
            Answer::Approve { mode, plan: edited } => {
                let mode = mode.filter(|mode| *mode != PermissionMode::Plan);
                let mode = mode.unwrap_or_else(|| self.default_mode());
                let plan = self.approved_text(plan, edited, path).await;
                change_mode(&self.rules, &self.sandbox, mode);
                self.emitter.publish(describe(&self.rules, &self.sandbox));
                PlanAnswer::Approved { mode, plan }
            }
            Answer::Refuse { reason } => {
                let reason = reason.filter(|reason| !reason.trim().is_empty());
                reason.map_or(PlanAnswer::Unanswered, |reason| PlanAnswer::Refused {
                    reason,
                })
            }
            _ => PlanAnswer::Unanswered,
        };
        PlanDecision {
            answer,
            path: shown_path,
        }
    }

    /// The mode after an approval that names none.
    fn default_mode(&self) -> PermissionMode {
        self.rules.before_plan().unwrap_or(PermissionMode::Ask)
    }

    fn question(&self, plan: &str, call_id: &str, path: Option<String>) -> Question {
        let default = self.default_mode();
        let others = [
            PermissionMode::Ask,
            PermissionMode::Auto,
            PermissionMode::Yolo,
        ];
        let others = others.into_iter().filter(|mode| *mode != default);
        Question {
            id: String::new(),
            origin: format!("the tool `{PLAN_TOOL}`"),
            subagent: None,
            title: "Approve this plan?".to_owned(),
            subject: Some(Subject::Markdown {
                text: plan.to_owned(),
            }),
            kind: QuestionKind::Plan {
                call_id: call_id.to_owned(),
                path,
                modes: std::iter::once(default).chain(others).collect(),
                before: self.rules.before_plan(),
            },
        }
    }

    /// Saves the plan. The user sees it even if that fails.
    async fn save(&self, plan: &str) -> Option<PathBuf> {
        let path = self.files.path(plan)?;
        let (target, text) = (path.clone(), plan.to_owned());
        let written = osier_base::task::spawn_blocking(move || file::write(&target, &text)).await;
        match written {
            Ok(Ok(())) => {
                *self.files.current() = Some(path.clone());
                Some(path)
            }
            Ok(Err(error)) => {
                let text = format!("the plan was not saved: {error}; {}", error.hint());
                self.emitter.notice(Severity::Warning, text);
                None
            }
            Err(_) => None,
        }
    }

    /// The plan as the user approved it: the text that the user edited in the dialog, otherwise the current text of the
    /// file.
    async fn approved_text(
        &self,
        presented: &str,
        edited: Option<String>,
        path: Option<PathBuf>,
    ) -> String {
        *self.files.current() = None;
        let edited = edited.map(|text| visible(text.trim()).into_owned());
        if let Some(text) = edited.filter(|text| !text.is_empty()) {
            if text != presented
                && let Some(path) = path
            {
                let saved = text.clone();
                let task = osier_base::task::spawn_blocking(move || file::write(&path, &saved));
                if let Ok(Err(error)) = task.await {
                    let text = format!("the changed plan was not saved: {error}; {}", error.hint());
                    self.emitter.notice(Severity::Warning, text);
                }
            }
            return text;
        }
        let Some(path) = path else {
            return presented.to_owned();
        };
        let read = osier_base::task::spawn_blocking(move || file::read(&path)).await;
        match read {
            Ok(Ok(text)) if !text.trim().is_empty() => visible(text.trim()).into_owned(),
            Ok(Err(error)) => {
                let text =
                    format!("cannot read the saved plan, so it applies as it was shown: {error}");
                self.emitter.notice(Severity::Warning, text);
                presented.to_owned()
            }
            _ => presented.to_owned(),
        }
    }
}

#[async_trait]
impl osier_tools::PlanMode for PlanMode {
    fn is_on(&self) -> bool {
        self.rules.mode() == PermissionMode::Plan
    }

    async fn present(&self, plan: &str, call_id: &str, cancel: &CancellationToken) -> PlanDecision {
        self.present_plan(plan, call_id, cancel).await
    }
}

/// How a plan is approved after a run in which nobody can answer.
fn unattended(path: Option<&str>) -> String {
    let place = path.map_or_else(String::new, |path| format!(" It is in `{path}`."));
    format!(
        "the plan is not approved, because nobody can answer in this run.{place} To carry it out: \
         `osier -c --permissions ask \"Carry out the plan\"`"
    )
}
