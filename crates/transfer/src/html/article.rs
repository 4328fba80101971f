//! The entries of a session as articles of a page, in stored order. Entries on other branches are included but
//! hidden.

use std::io::{self, Write};

use super::escape::{anchor, escape, picture};
use super::outline::Outline;
use super::theme::Highlighter;
use super::{prose, tool};
use crate::plan::Plan;
use osier_agent::CustomMessage;
use osier_agent::{
    AgentMessage, Attachment, Notice, Severity, ShellRun, ToolResultMessage, UserMessage,
};
use osier_base::clock;
use osier_llm::{AssistantBlock, AssistantMessage, StopReason, ToolCall};
use osier_protocol::{Entry, EntryKind, Tag};
use osier_store::Reading;

/// Writes the articles one by one.
pub(super) struct Articles<'a> {
    reading: &'a Reading,
    plan: &'a Plan,
    highlighter: &'a mut dyn Highlighter,
    /// The last answer with calls, whose results follow.
    answer: Option<(u32, AssistantMessage)>,
    unreadable: usize,
}

impl<'a> Articles<'a> {
    pub(super) fn new(
        reading: &'a Reading,
        plan: &'a Plan,
        highlighter: &'a mut dyn Highlighter,
    ) -> Self {
        Self {
            reading,
            plan,
            highlighter,
            answer: None,
            unreadable: 0,
        }
    }

    pub(super) fn unreadable(&self) -> usize {
        self.unreadable
    }

    pub(super) fn write(
        &mut self,
        number: u32,
        outline: &mut Outline,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let id = self.reading.id(number);
        let entry = self.reading.entry(number);
        let (class, inner) = if let Some(entry) = &entry {
            self.inner(number, entry, outline)
        } else {
            self.unreadable += 1;
            let text = "<p class=\"notice warning\">this entry is damaged</p>";
            ("lost", text.to_owned())
        };
        let label = self.reading.tree().label(&id).map(str::to_owned);
        self.list(number, &id, entry.as_ref(), label.as_deref(), outline);
        let off = if self.plan.is_on_path(number) {
            ""
        } else {
            " off"
        };
        let above = self.plan.above(number);
        let above = above.map_or(String::new(), |above| format!(" data-p={above}"));
        write!(
            out,
            "<article class=\"{class}{off}\" id=\"{}\" data-n={number}{above}>",
            anchor(&id, number)
        )?;
        self.beside(number, out)?;
        if let Some(label) = label {
            write!(out, "<p class=label>{}</p>", escape(&label))?;
        }
        writeln!(out, "{inner}</article>")
    }

    /// Links to the other branches that start at this entry.
    fn beside(&self, number: u32, out: &mut dyn Write) -> io::Result<()> {
        let Some(siblings) = self.plan.siblings(number) else {
            return Ok(());
        };
        let link = |other: Option<u32>, text: &str, name: &str| match other {
            Some(other) => {
                let target = anchor(&self.reading.id(other), other);
                format!("<a href=\"#{target}\" aria-label=\"{name} branch\">{text}</a>")
            }
            None => format!("<span>{text}</span>"),
        };
        write!(
            out,
            "<nav class=beside aria-label=\"branches\">{} branch {} of {} {}</nav>",
            link(siblings.before, "‹", "previous"),
            siblings.place,
            siblings.count,
            link(siblings.after, "›", "next"),
        )
    }

    /// The outline item of an entry, if it has one.
    fn list(
        &self,
        number: u32,
        id: &str,
        entry: Option<&Entry>,
        label: Option<&str>,
        outline: &mut Outline,
    ) {
        let (mark, said) = match entry.map(|entry| &entry.kind) {
            Some(EntryKind::Message { message }) => match message {
                AgentMessage::User(prompt) => ("❯", prompt.text.clone()),
                AgentMessage::Assistant(answer) => ("●", answer.text()),
                AgentMessage::ToolResult(result) => ("⚙", result.result.tool_name.clone()),
                AgentMessage::ShellRun(run) => ("!", run.command.clone()),
                message => ("·", message.text()),
            },
            Some(EntryKind::Compaction { .. }) => ("≡", "earlier messages summarised".to_owned()),
            Some(EntryKind::BranchSummary { .. }) => ("≡", "summary of a branch".to_owned()),
            _ => ("·", "damaged".to_owned()),
        };
        let wanted =
            matches!(mark, "❯" | "≡") || label.is_some() || self.plan.siblings(number).is_some();
        if wanted {
            outline.add(number, id, mark, &said, label);
        }
    }

    fn inner(
        &mut self,
        number: u32,
        entry: &Entry,
        outline: &mut Outline,
    ) -> (&'static str, String) {
        let when = time(&entry.timestamp);
        match &entry.kind {
            EntryKind::Message { message } => match message {
                AgentMessage::User(prompt) => {
                    outline.prompt();
                    ("user", user(prompt, &when))
                }
                AgentMessage::Assistant(answer) => {
                    let html = self.assistant(number, answer, &when);
                    if !answer.model.is_empty() {
                        outline.model(answer.model.clone());
                    }
                    self.answer = Some((number, answer.clone()));
                    ("answer", html)
                }
                AgentMessage::ToolResult(result) => {
                    outline.tool();
                    let call = self.call_of(number, &result.result.tool_call_id);
                    (
                        "call",
                        tool::answered(self.highlighter, call.as_ref(), result),
                    )
                }
                AgentMessage::ShellRun(run) => ("call", shell(self.highlighter, run)),
                AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
                    ("summary", self.summary("Summary", &summary.summary, number))
                }
                AgentMessage::Notice(notice) => ("told", notice_block(notice)),
                AgentMessage::Custom(custom) => ("told", self.custom(custom, number)),
            },
            EntryKind::Compaction {
                summary,
                tokens_before,
                ..
            } => {
                let title = format!("Earlier messages summarised · {tokens_before} tokens before");
                ("summary", self.summary(&title, summary, number))
            }
            EntryKind::BranchSummary { summary, .. } => (
                "summary",
                self.summary("Summary of the abandoned branch", summary, number),
            ),
            _ => ("told", String::new()),
        }
    }

    fn assistant(&mut self, number: u32, answer: &AssistantMessage, when: &str) -> String {
        let mut html = who(&answer.model, &facts(answer), when);
        let scope = number.to_string();
        let open = self.unanswered(number, answer);
        for block in &answer.content {
            match block {
                AssistantBlock::Text { text, .. } if !text.trim().is_empty() => {
                    html.push_str("<div class=prose>");
                    html.push_str(&prose::render(self.highlighter, text, &scope));
                    html.push_str("</div>");
                }
                AssistantBlock::Thinking {
                    thinking, redacted, ..
                } if !redacted && !thinking.trim().is_empty() => {
                    html.push_str(
                        "<details class=thinking><summary>Thinking</summary><div class=prose>",
                    );
                    html.push_str(&prose::render(self.highlighter, thinking, &scope));
                    html.push_str("</div></details>");
                }
                AssistantBlock::ToolCall(call) if open.contains(&call.id) => {
                    html.push_str(&tool::unanswered(self.highlighter, call));
                }
                _ => {}
            }
        }
        html.push_str(&ending(answer));
        html
    }

    /// Calls of the answer `number` without a stored result on any branch below it.
    fn unanswered(&self, number: u32, answer: &AssistantMessage) -> Vec<String> {
        let mut open: Vec<String> = answer.tool_calls().map(|call| call.id.clone()).collect();
        let mut below: Vec<u32> = self.plan.children(Some(number)).collect();
        while let Some(next) = below.pop()
            && !open.is_empty()
        {
            if self.reading.tag(next) != Tag::ToolResult {
                continue;
            }
            let entry = self.reading.entry(next);
            if let Some(AgentMessage::ToolResult(result)) =
                entry.as_ref().and_then(|entry| entry.kind.as_message())
            {
                open.retain(|id| *id != result.result.tool_call_id);
            }
            below.extend(self.plan.children(Some(next)));
        }
        open
    }

    /// The call of the result `number`.
    fn call_of(&mut self, number: u32, call_id: &str) -> Option<ToolCall> {
        let mut above = self.plan.above(number);
        while let Some(other) = above
            && self.reading.tag(other) == Tag::ToolResult
        {
            above = self.plan.above(other);
        }
        let answer = above.filter(|other| self.reading.tag(*other) == Tag::Assistant)?;
        if self.answer.as_ref().is_none_or(|(read, _)| *read != answer) {
            let entry = self.reading.entry(answer)?;
            if let Some(AgentMessage::Assistant(message)) = entry.kind.as_message() {
                self.answer = Some((answer, message.clone()));
            }
        }
        let (_, message) = self.answer.as_ref()?;
        let mut calls = message.tool_calls();
        calls.find(|call| call.id == call_id).cloned()
    }

    fn summary(&mut self, title: &str, text: &str, number: u32) -> String {
        let text = prose::render(self.highlighter, text, &number.to_string());
        format!(
            "<details class=summed><summary>{}</summary><div class=prose>{text}</div></details>",
            escape(title)
        )
    }

    fn custom(&mut self, custom: &CustomMessage, number: u32) -> String {
        if !custom.display || custom.text.trim().is_empty() {
            return String::new();
        }
        let text = prose::render(self.highlighter, &custom.text, &number.to_string());
        format!(
            "<details class=summed><summary>{}</summary><div class=prose>{text}</div></details>",
            escape(&custom.kind)
        )
    }
}

fn user(prompt: &UserMessage, when: &str) -> String {
    let mut html = who("You", "", when);
    if !prompt.text.is_empty() {
        html.push_str("<div class=said dir=auto>");
        html.push_str(&escape(&prompt.text));
        html.push_str("</div>");
    }
    for attachment in &prompt.attachments {
        html.push_str(&attached(attachment));
    }
    html
}

fn attached(attachment: &Attachment) -> String {
    let name = escape(&attachment.file_name);
    if let Some(source) = picture(&attachment.mime_type, &attachment.content) {
        return format!(
            "<figure><img loading=lazy alt=\"{name}\" src=\"{source}\"><figcaption>{name}</figcaption></figure>"
        );
    }
    let kind = escape(&attachment.mime_type);
    let mut html = format!(
        "<p class=file>📎 {name} · {kind} · {} bytes</p>",
        attachment.size
    );
    if let Some(text) = &attachment.extracted_text {
        html.push_str(
            "<details class=file><summary>extracted text</summary><pre class=plain tabindex=0>",
        );
        html.push_str(&escape(text));
        html.push_str("</pre></details>");
    }
    html
}

fn shell(highlighter: &mut dyn Highlighter, run: &ShellRun) -> String {
    let result = ToolResultMessage {
        duration_ms: run.duration_ms,
        ..ToolResultMessage::default()
    };
    let failed = run.cancelled || run.exit_code != Some(0);
    let mark = if run.exclude_from_context { "!!" } else { "!" };
    tool::cell(
        highlighter,
        &tool::Cell {
            name: mark,
            subject: &run.command,
            failed,
            open: !run.output.is_empty() && run.output.len() < 2000,
            meta: tool::meta(&result, run.exit_code, ""),
            body: tool::output(&run.output),
        },
    )
}

/// A notice as HTML; the class says its severity.
fn notice_block(notice: &Notice) -> String {
    let class = match notice.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    format!("<p class=\"notice {class}\">{}</p>", escape(&notice.text))
}

/// Author and time.
fn who(name: &str, facts: &str, when: &str) -> String {
    let name = if name.is_empty() { "assistant" } else { name };
    format!(
        "<header><b>{}</b><span class=meta>{facts}</span>{when}<a class=here href=\"#\" hidden>#</a></header>",
        escape(name)
    )
}

fn facts(answer: &AssistantMessage) -> String {
    let mut facts = Vec::new();
    if answer.usage.total_tokens() > 0 {
        let (read, written) = (answer.usage.context_tokens(), answer.usage.output);
        facts.push(format!("↑{read} ↓{written}"));
    }
    if answer.usage.cost.total > 0.0 {
        facts.push(format!("${:.4}", answer.usage.cost.total));
    }
    if answer.duration_ms > 0 {
        facts.push(clock::human_duration(answer.duration_ms));
    }
    facts.join(" · ")
}

/// Why an answer ended, if not normally.
fn ending(answer: &AssistantMessage) -> String {
    let text = match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse | StopReason::Paused => return String::new(),
        StopReason::Length => "cut off at the output limit".to_owned(),
        StopReason::Refusal => "ended by the vendor's safety filter".to_owned(),
        StopReason::Aborted => "interrupted".to_owned(),
        StopReason::Pending => "not finished".to_owned(),
        StopReason::Error => {
            let message = answer.error_message.as_deref();
            format!("failed: {}", message.unwrap_or("for an unknown reason"))
        }
    };
    format!("<p class=\"notice error\">{}</p>", escape(&text))
}

/// `<time>` to the minute, with its time zone.
fn time(timestamp: &str) -> String {
    if timestamp.is_empty() {
        return String::new();
    }
    format!(
        "<time datetime=\"{}\">{}</time>",
        escape(timestamp),
        escape(&clock::minute_with_zone(timestamp))
    )
}
