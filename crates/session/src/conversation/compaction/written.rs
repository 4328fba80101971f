//! The text of a summary: the text of a model, the additions of its check, and the lists that osier adds to every
//! summary.

use osier_agent::{AgentAccess, AgentMessage, CompactionOutcome};
use osier_llm::Api;
use osier_store::ContextEntry;
use tokio_util::sync::CancellationToken;

use super::check::{self, Facts};
use super::files::FileLists;
use super::plan::Limits;
use super::prompts;
use super::serialize::{message_text, shortened};
use super::summarize::{Summarized, SummaryError, Task, summarize};
use crate::models::SmallModel;

/// Tokens of the prompt of a split turn that stay verbatim, as a share of what stays.
const PROMPT_SHARE: u64 = 4;

/// A new summary.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub text: String,
    /// The calls that wrote and checked the text, and their kinds.
    pub calls: Vec<(&'static str, Summarized)>,
}

/// Requests a summary of `goes` from the model that the user named for it, or that of the conversation.
pub(super) async fn write(
    desk: &dyn AgentAccess,
    small: &SmallModel,
    goes: &[ContextEntry],
    instructions: Option<&str>,
    cancel: &CancellationToken,
) -> Result<Written, CompactionOutcome> {
    let (previous, rest) = match goes.split_first() {
        Some((first, rest)) => match &first.message {
            AgentMessage::CompactionSummary(summary) => (Some(summary.summary.as_str()), rest),
            _ => (None, goes),
        },
        None => (None, goes),
    };
    let texts = rest.iter().map(|entry| message_text(&entry.message));
    let task = Task {
        previous: previous.map(without_lists),
        form: prompts::FORM,
        instructions,
    };
    let written = summarize(desk, small.named(), texts.collect(), task, cancel).await;
    let summarized = written.map_err(|error| failed(&error))?;
    Ok(Written {
        text: summarized.text.clone(),
        calls: vec![("compaction", summarized)],
    })
}

fn failed(error: &SummaryError) -> CompactionOutcome {
    match error {
        SummaryError::Interrupted => CompactionOutcome::Interrupted,
        error => CompactionOutcome::Failed {
            message: error.to_string(),
        },
    }
}

impl Written {
    /// Adds what a short call finds missing: the small model makes it, or that of the conversation.
    pub(super) async fn check(
        &mut self,
        desk: &dyn AgentAccess,
        small: &SmallModel,
        facts: &Facts,
        cancel: &CancellationToken,
    ) -> Result<(), CompactionOutcome> {
        let own = desk.models().first().cloned();
        let own = own.filter(|model| model.api != Api::Scripted && *small != SmallModel::Off);
        let Some(model) = small.model().or(own.as_ref()) else {
            return Ok(());
        };
        let found = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CompactionOutcome::Interrupted),
            found = check::missing(desk, model, facts, &self.text) => found,
        };
        if let Some((missing, call)) = found {
            self.calls.push(("compaction_check", call));
            if !missing.is_empty() {
                self.text = format!("{}{MISSING}- {}", self.text, missing.join("\n- "));
            }
        }
        Ok(())
    }
}

/// A summary without the parts that are added after it.
fn without_lists(summary: &str) -> &str {
    let ends = [
        TODOS,
        IN_PROGRESS,
        "\n\n<read-files>",
        "\n\n<modified-files>",
    ];
    let end = ends.iter().filter_map(|end| summary.find(end)).min();
    &summary[..end.unwrap_or(summary.len())]
}

/// The headings of what osier adds: what the check found, the open to-dos, and the prompt of a split turn.
const MISSING: &str = "\n\n## Also\n";
const TODOS: &str = "\n\n## Open to-dos";
const IN_PROGRESS: &str = "\n\n## Request in progress\n";

/// The summary with the open to-dos, the prompt of a split turn and the lists of files.
pub(super) fn whole(
    text: String,
    facts: &Facts,
    split_prompt: Option<&str>,
    limits: &Limits,
    files: &FileLists,
) -> String {
    let mut summary = text;
    let bytes = limits.keep.max(256) as usize;
    let todos = facts.todo_text();
    if !todos.is_empty() {
        summary.push_str(TODOS);
        summary.push_str(&todos);
    }
    if let Some(prompt) = split_prompt {
        let share = (limits.keep / PROMPT_SHARE).max(64) as usize * 4;
        summary.push_str(IN_PROGRESS);
        summary.push_str(&shortened(prompt, share));
    }
    summary.push_str(&files.text(bytes));
    summary
}
