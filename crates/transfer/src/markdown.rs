//! Exports a session as a Markdown document: headings for authors, collapsed tools, and fences that their
//! content cannot close.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::Value;

use super::options::ExportOptions;
use super::patch;
use super::plan::Plan;
use osier_agent::{AgentMessage, Attachment, Severity, ShellRun, ToolResultMessage};
use osier_base::redact::redact;
use osier_base::visible::visible;
use osier_base::{clock, text};
use osier_llm::{AssistantBlock, AssistantMessage, ContentBlock, StopReason, ToolCall};
use osier_protocol::{EntryKind, ExportScope, ExportSummary, Review};
use osier_store::Reading;

/// Maximum columns of the code span in a folded tool's summary.
const SUBJECT: usize = 120;

pub(super) fn write(
    reading: &Reading,
    scope: ExportScope,
    options: &ExportOptions,
    out: &mut dyn Write,
) -> io::Result<ExportSummary> {
    let plan = Plan::new(reading, scope);
    let chains = plan.chains();
    head(reading, out)?;
    let mut summary = ExportSummary {
        entries: plan.shown.len(),
        branches: chains.len(),
        unreadable: 0,
    };
    for (place, chain) in chains.iter().enumerate() {
        if place > 0 {
            let above = chain.first().and_then(|first| plan.above(*first));
            let from = above.map_or("the beginning".to_owned(), |above| {
                format!("[{0}](#{0})", reading.id(above))
            });
            writeln!(
                out,
                "---\n\n# Branch {}\n\nIt starts after {from}.\n",
                place + 1
            )?;
        }
        let mut calls: Vec<ToolCall> = Vec::new();
        for number in chain {
            let id = reading.id(*number);
            if chains.len() > 1 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                writeln!(out, "<a id=\"{id}\"></a>\n")?;
            }
            if let Some(entry) = reading.entry(*number) {
                one(&entry.kind, &entry.timestamp, &mut calls, out)?;
            } else {
                summary.unreadable += 1;
                writeln!(out, "> This entry is damaged.\n")?;
            }
        }
        unanswered(&mut calls, out)?;
    }
    if let Some(log) = options.log_text() {
        writeln!(out, "# Log\n")?;
        fenced("", &log, out)?;
    }
    summary.entries -= summary.unreadable;
    Ok(summary)
}

fn head(reading: &Reading, out: &mut dyn Write) -> io::Result<()> {
    let header = reading.header();
    let name = reading.tree().name().unwrap_or("Session");
    writeln!(out, "# {}\n", line(name))?;
    let began = clock::minute_with_zone(&header.timestamp);
    writeln!(out, "- Began {began} in {}", code(&header.cwd))?;
    let usage = reading.usage();
    if usage.total_tokens() > 0 {
        write!(
            out,
            "- Tokens: {} read, {} written",
            usage.context_tokens(),
            usage.output
        )?;
        if usage.cost.total > 0.0 {
            write!(out, ", ${:.4}", usage.cost.total)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "- Session {}\n", code(&header.id))
}

fn one(
    kind: &EntryKind,
    timestamp: &str,
    calls: &mut Vec<ToolCall>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let when = clock::minute_with_zone(timestamp);
    match kind {
        EntryKind::Message { message } => match message {
            AgentMessage::User(prompt) => {
                writeln!(out, "## You · {when}\n")?;
                quoted(&prompt.text, out)?;
                prompt
                    .attachments
                    .iter()
                    .try_for_each(|file| attached(file, out))
            }
            AgentMessage::Assistant(answer) => assistant(answer, &when, calls, out),
            AgentMessage::ToolResult(result) => answered(result, calls, out),
            AgentMessage::ShellRun(run) => shell(run, out),
            AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
                summed("Summary", &summary.summary, out)
            }
            AgentMessage::Notice(notice) => {
                let mark = match notice.severity {
                    Severity::Info => "Note",
                    Severity::Warning => "Warning",
                    Severity::Error => "Error",
                };
                writeln!(out, "> {mark}: {}\n", line(&notice.text))
            }
            AgentMessage::Custom(custom) if custom.display => {
                summed(&custom.kind, &custom.text, out)
            }
            AgentMessage::Custom(_) => Ok(()),
        },
        EntryKind::Compaction { summary, .. } => {
            summed("Earlier messages summarised", summary, out)
        }
        EntryKind::BranchSummary { summary, .. } => summed("Summary of a branch", summary, out),
        _ => Ok(()),
    }
}

fn assistant(
    answer: &AssistantMessage,
    when: &str,
    calls: &mut Vec<ToolCall>,
    out: &mut dyn Write,
) -> io::Result<()> {
    unanswered(calls, out)?;
    let says = answer.content.iter().any(|block| match block {
        AssistantBlock::Text { text, .. } => !text.trim().is_empty(),
        AssistantBlock::Thinking { redacted, .. } => !redacted,
        AssistantBlock::ToolCall(_) => false,
    });
    if says {
        let model = if answer.model.is_empty() {
            "Assistant"
        } else {
            &answer.model
        };
        writeln!(out, "## {} · {when}\n", line(model))?;
    }
    for block in &answer.content {
        match block {
            AssistantBlock::Text { text, .. } if !text.trim().is_empty() => {
                let text = whole(text);
                writeln!(out, "{}\n", text.trim_end())?;
                if let Some(fence) = left_open(&text) {
                    writeln!(out, "{fence}\n")?;
                }
            }
            AssistantBlock::Thinking {
                thinking, redacted, ..
            } if !redacted && !thinking.trim().is_empty() => {
                summed("Thinking", thinking, out)?;
            }
            AssistantBlock::ToolCall(call) => calls.push(call.as_made().into_owned()),
            _ => {}
        }
    }
    match answer.stop_reason {
        StopReason::Error => {
            let why = answer.error_message.as_deref().unwrap_or("unknown reason");
            writeln!(out, "> Error: {}\n", line(why))
        }
        StopReason::Aborted => writeln!(out, "> Interrupted.\n"),
        StopReason::Length => writeln!(out, "> Cut off at the output limit.\n"),
        _ => Ok(()),
    }
}

/// Writes the calls without results before something else follows.
fn unanswered(calls: &mut Vec<ToolCall>, out: &mut dyn Write) -> io::Result<()> {
    for call in calls.drain(..) {
        folded(&call.name, &subject(&call), "never answered", out)?;
        unfolded(out)?;
    }
    Ok(())
}

fn answered(
    result: &ToolResultMessage,
    calls: &mut Vec<ToolCall>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let given = &result.result;
    let place = calls.iter().position(|call| call.id == given.tool_call_id);
    let call = place.map(|place| calls.remove(place));
    let failed = given.is_error || !result.status.is_success();
    let mut end = if failed {
        "failed".to_owned()
    } else {
        String::new()
    };
    if result.duration_ms > 0 {
        let took = clock::human_duration(result.duration_ms);
        end = if failed {
            format!("failed · {took}")
        } else {
            took
        };
    }
    let subject = call.as_ref().map(subject).unwrap_or_default();
    let name = call.as_ref().map_or(&given.tool_name, |call| &call.name);
    folded(name, &subject, &end, out)?;
    if let Some(call) = &call
        && let Some((language, text)) = arguments(call, &subject)
    {
        fenced(&language, &text, out)?;
    }
    if let Some(review) = Review::of(&result.details) {
        writeln!(out, "> {}\n", line(&review.line()))?;
    }
    let patch = result.details.get("diff").and_then(Value::as_str);
    match patch.filter(|patch| !failed && !patch.is_empty()) {
        Some(patch) => fenced("diff", patch, out)?,
        None => {
            for block in &given.content {
                match block {
                    ContentBlock::Text { text } => fenced("", text, out)?,
                    ContentBlock::Image { data, mime_type } => {
                        picture("picture", mime_type, data, out)?;
                    }
                    file @ ContentBlock::File { .. } => fenced("", &file.description(), out)?,
                }
            }
        }
    }
    unfolded(out)
}

fn shell(run: &ShellRun, out: &mut dyn Write) -> io::Result<()> {
    let end = match (run.cancelled, run.exit_code) {
        (true, _) => "interrupted".to_owned(),
        (false, Some(code)) => format!("exit {code}"),
        (false, None) => "ended by a signal".to_owned(),
    };
    folded("!", &run.command, &end, out)?;
    fenced("", &run.output, out)?;
    unfolded(out)
}

fn folded(name: &str, subject: &str, end: &str, out: &mut dyn Write) -> io::Result<()> {
    let subject = text::single_line(&whole(&visible(subject)));
    let subject = markup(&text::truncate(&subject, SUBJECT));
    let end = if end.is_empty() {
        String::new()
    } else {
        format!(" · {}", markup(end))
    };
    writeln!(
        out,
        "<details>\n<summary><b>{}</b> <code>{subject}</code>{end}</summary>\n",
        markup(&line(name))
    )
}

fn unfolded(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "</details>\n")
}

fn summed(title: &str, body: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<details>\n<summary>{}</summary>\n",
        markup(&line(title))
    )?;
    quoted(body, out)?;
    unfolded(out)
}

/// Quoted text cannot end the section that contains it.
fn quoted(body: &str, out: &mut dyn Write) -> io::Result<()> {
    let body = whole(body);
    if body.trim().is_empty() {
        return Ok(());
    }
    for row in body.trim_end().lines() {
        writeln!(out, "> {row}")?;
    }
    writeln!(out)
}

/// `body` between fences that are longer than any run of their character inside.
fn fenced(language: &str, body: &str, out: &mut dyn Write) -> io::Result<()> {
    let body = whole(body);
    let fence = fence(&body, 3);
    writeln!(
        out,
        "{fence}{language}\n{}\n{fence}\n",
        body.trim_end_matches('\n')
    )
}

fn fence(body: &str, least: usize) -> String {
    let runs = body.split(|char| char != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).saturating_add(1).max(least))
}

/// The fence that `body` opens and never closes, as in an interrupted answer.
fn left_open(body: &str) -> Option<String> {
    let mut open: Option<&str> = None;
    for row in body.lines() {
        let row = row.trim_start();
        let sign = row.chars().next().filter(|sign| matches!(sign, '`' | '~'));
        let Some(sign) = sign else { continue };
        let length = row.chars().take_while(|char| *char == sign).count();
        let (run, rest) = row.split_at(length);
        match open {
            None if length >= 3 => open = Some(run),
            Some(fence) if run.starts_with(fence) && rest.trim().is_empty() => open = None,
            _ => {}
        }
    }
    open.map(str::to_owned)
}

fn attached(file: &Attachment, out: &mut dyn Write) -> io::Result<()> {
    let name = line(&file.file_name);
    if file.mime_type.starts_with("image/") && !file.content.is_empty() {
        return picture(&name, &file.mime_type, &file.content, out);
    }
    writeln!(
        out,
        "Attached: {} ({}, {} bytes)\n",
        code(&name),
        line(&file.mime_type),
        file.size
    )?;
    match &file.extracted_text {
        Some(text) => fenced("", text, out),
        None => Ok(()),
    }
}

/// Images are only named; other formats contain their bytes.
fn picture(name: &str, mime_type: &str, base64: &str, out: &mut dyn Write) -> io::Result<()> {
    let bytes = base64.len() / 4 * 3;
    writeln!(
        out,
        "Image: {} ({}, {bytes} bytes)\n",
        code(name),
        line(mime_type)
    )
}

fn subject(call: &ToolCall) -> String {
    const NAMES: &[&str] = &[
        "command",
        "cmd",
        "file_path",
        "path",
        "pattern",
        "query",
        "url",
    ];
    let Value::Object(members) = &call.arguments else {
        return call.arguments_error.clone().unwrap_or_default();
    };
    if let Some(files) = patch::files(call) {
        return files;
    }
    let named = NAMES.iter().find_map(|name| members.get(*name));
    match named.or_else(|| members.values().find(|value| value.is_string())) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            parts.join(" ")
        }
        _ => String::new(),
    }
}

/// The arguments that the summary line does not show.
fn arguments(call: &ToolCall, subject: &str) -> Option<(String, String)> {
    let Value::Object(members) = &call.arguments else {
        return None;
    };
    let one_line = !subject.contains('\n') && text::width(subject) <= SUBJECT;
    match (members.len(), one_line) {
        (0 | 1, true) => None,
        (1, false) => Some((String::new(), visible(subject).into_owned())),
        _ => Some((
            "json".to_owned(),
            serde_json::to_string_pretty(&call.arguments).ok()?,
        )),
    }
}

/// Text with several lines, without keys and control sequences.
fn whole(source: &str) -> Cow<'_, str> {
    match redact(source) {
        Cow::Borrowed(source) => text::sanitize(source),
        Cow::Owned(source) => Cow::Owned(text::sanitize(&source).into_owned()),
    }
}

/// Text on one line, without keys and control sequences.
fn line(source: &str) -> String {
    whole(source)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn code(source: &str) -> String {
    let source = line(source);
    let fence = fence(&source, 1);
    let gap = if fence.len() > 1 { " " } else { "" };
    format!("{fence}{gap}{source}{gap}{fence}")
}

/// Text inside an element.
fn markup(source: &str) -> String {
    source
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_is_longer_than_any_inside() {
        let mut out = Vec::new();
        fenced("", "a\n````\nb\n", &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "`````\na\n````\nb\n`````\n\n"
        );
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(left_open("a\n````rust\n```\nb"), Some("````".to_owned()));
        assert_eq!(left_open("```\na\n```\n~~~x\n~~~ "), None);
    }
}
