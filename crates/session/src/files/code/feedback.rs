//! Feedback of language servers and formatters on the model's calls: servers open the files that the model reads, check the
//! files that the model changes, and report new problems to the model.

use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{
    AgentAccess, AgentMessage, CheckedCall, FileTarget, FileUse, Interceptor, StopRun,
    ToolDecision, ToolOutput, ToolResultMessage, UserMessage,
};
use osier_llm::ContentBlock;
use osier_settings::Settings;
use osier_tools::code::report::{DIAGNOSTICS, Findings, words};
use osier_tools::{ToolEffect, Workspace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::servers::CodeIntelligence;
use crate::context::reminders;
use crate::files::formatting::Formatting;

/// Diagnostics that a result shows.
const SHOWN: usize = 20;
const KIND: &str = "code";

/// The interceptor of the main agent.
#[derive(Debug)]
pub(crate) struct CodeFeedback {
    code: CodeIntelligence,
    /// Not set if nothing is formatted.
    formatting: Option<Formatting>,
    workspace: Arc<Workspace>,
    /// How long a result waits.
    wait: Duration,
}

impl CodeFeedback {
    pub(crate) fn new(
        code: &CodeIntelligence,
        workspace: &Arc<Workspace>,
        settings: &Settings,
    ) -> Self {
        let formatting = || Formatting::new(code.clone(), Arc::clone(workspace));
        Self {
            code: code.clone(),
            formatting: settings.format.then(formatting),
            workspace: Arc::clone(workspace),
            wait: Duration::from_millis(settings.lsp_wait),
        }
    }

    async fn check(&self, call: &CheckedCall, output: &mut ToolOutput) {
        match osier_tools::effect(&call.call.name) {
            Some(ToolEffect::Looks) => {
                let files = call.files().iter();
                let read = files.filter(|file| file.purpose == FileUse::Read);
                return read.for_each(|file| self.code.look_at(file.host.clone()));
            }
            Some(ToolEffect::Runs) => return self.code.refresh_later(),
            _ => {}
        }
        let changed: Vec<&FileTarget> = changed_files(call).collect();
        if changed.is_empty() {
            return;
        }
        if let Some(formatting) = &self.formatting {
            for target in &changed {
                formatting.changed(target);
            }
        }
        let paths: Vec<PathBuf> = changed.iter().map(|target| target.host.clone()).collect();
        let mut findings = self.code.check(&paths, self.wait).await;
        if findings.is_empty() {
            return;
        }
        findings.cut(SHOWN);
        let text = self.report("After this change", &findings);
        output.content.push(ContentBlock::text(text));
        if let Value::Object(details) = &mut output.details {
            details.insert(DIAGNOSTICS.to_owned(), json!(findings.details()));
        }
    }

    fn report(&self, when: &str, findings: &Findings) -> String {
        let (words, lines) = (words(findings.counts), findings.lines(&self.workspace));
        let lines = lines.trim_end();
        format!("\n{when}, language servers report {words}:\n{lines}")
    }
}

/// The files that a call changes.
fn changed_files(call: &CheckedCall) -> impl Iterator<Item = &FileTarget> {
    let files = call.files().iter();
    files.filter(|file| file.purpose.writes())
}

#[async_trait]
impl Interceptor for CodeFeedback {
    async fn on_input(&self, _message: &mut UserMessage) -> Result<(), StopRun> {
        self.code.offer_tools(&self.workspace);
        Ok(())
    }

    async fn before_tool(&self, call: &CheckedCall, _cancel: &CancellationToken) -> ToolDecision {
        if let Some(formatting) = &self.formatting {
            for target in changed_files(call) {
                formatting.before_change(&target.host).await;
            }
        }
        ToolDecision::Allow
    }

    async fn after_tool(&self, call: &CheckedCall, output: &mut ToolOutput) {
        if output.status.is_success() {
            self.check(call, output).await;
        }
    }

    async fn on_turn_end(
        &self,
        _results: &[ToolResultMessage],
        cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        if let Some(formatting) = &self.formatting {
            let formatted = formatting.format(cancel).await;
            for path in formatted {
                self.code.look_at(path);
            }
        }
        Ok(())
    }

    async fn reminders(&self, _agent: &dyn AgentAccess) -> Vec<AgentMessage> {
        self.news().into_iter().collect()
    }
}

impl CodeFeedback {
    /// A message with the diagnostics and formatting that the model does not know yet.
    fn news(&self) -> Option<AgentMessage> {
        let mut texts = Vec::new();
        if let Some(formatting) = &self.formatting {
            texts.extend(formatting.take_news());
        }
        let mut late = self.code.late_news();
        let details = if late.is_empty() {
            Value::Null
        } else {
            late.cut(SHOWN);
            texts.push(
                self.report("Since your last change", &late)
                    .trim()
                    .to_owned(),
            );
            json!({DIAGNOSTICS: late.details()})
        };
        (!texts.is_empty()).then(|| reminders::message(KIND, &texts.join("\n\n"), details))
    }
}
