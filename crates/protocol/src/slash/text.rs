//! The answers of slash commands as text, for clients without a view for them.

use std::fmt::Write as _;
use std::path::Path;

use osier_agent::{CompactionOutcome, Event as AgentEvent};
use osier_base::path;

use crate::{CodeServerInfo, Event, Status, SubagentInfo, TransferEvent, TreeEvent};

// recipe: a slash command, 2: the text of its answer, if that is new: clients without a view for it show this text
/// The text of an event that answers a slash command; `None` for other events. Markdown.
pub fn describe(event: &Event) -> Option<String> {
    Some(match event {
        Event::Permissions {
            mode,
            rules,
            sandbox,
        } => {
            let mut text = format!(
                "Permission mode: `{}` ({}). Sandbox: `{}`.",
                mode.name(),
                mode.meaning(),
                sandbox.name()
            );
            for rule in rules {
                let effect = format!("{:?}", rule.effect).to_lowercase();
                let _ = write!(text, "\n- {effect} `{}`", rule.rule);
                if let Some(note) = &rule.note {
                    let _ = write!(text, ": {note}");
                }
            }
            text
        }
        Event::UsageReport { report } => report.text(),
        Event::Usage { spending } => {
            let total = &spending.total;
            format!(
                "{} input, {} output, {} cached tokens; {} tool calls; ${:.4}",
                total.input, total.output, total.cache_read, spending.tool_calls, total.cost.total
            )
        }
        Event::Tree(event) => return describe_tree(event),
        Event::Agent(event) => return describe_agent(event),
        Event::McpServers { servers } if servers.is_empty() => "No MCP servers.".to_owned(),
        Event::McpServers { servers } => {
            let lines = servers.iter().map(|server| {
                let state = server.state.name();
                format!("- `{}`: {state}, {} tools", server.name, server.tools.len())
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        Event::Subagents { subagents } => list_of(subagents),
        Event::SessionLog { lines } if lines.is_empty() => "The log is empty.".to_owned(),
        Event::SessionLog { lines } => {
            let lines = lines.iter().map(|line| format!("- {}", line.shown()));
            lines.collect::<Vec<_>>().join("\n")
        }
        Event::About { about } => format!(
            "osier {} ({})\n- configuration: `{}`\n- data: `{}`",
            about.version, about.platform, about.config, about.data
        ),
        Event::Status { status } => session(status),
        Event::ModelSelected { model, level, .. } => {
            format!(
                "Model: `{}`, thinking level `{}`.",
                model.reference(),
                level.name()
            )
        }
        Event::SessionRenamed { name: Some(name) } => format!("The session is called `{name}`."),
        Event::SessionRenamed { name: None } => "The session has no name.".to_owned(),
        Event::Budget { budget } => budget.line(),
        Event::CodeServers { servers } if servers.is_empty() => CodeServerInfo::NONE.to_owned(),
        Event::CodeServers { servers } => {
            let lines = servers.iter().map(|server| format!("- {}", server.line()));
            lines.collect::<Vec<_>>().join("\n")
        }
        Event::Transfer(TransferEvent::SessionExported { exported }) => {
            format!("Exported to `{}`.", path::below_home(&exported.path))
        }
        _ => return None,
    })
}

fn list_of(subagents: &[SubagentInfo]) -> String {
    if subagents.is_empty() {
        return "No subagents.".to_owned();
    }
    let lines = subagents.iter().map(|info| {
        let (label, state) = (info.label(), info.status.name());
        let gap = if info.activity.is_empty() { "" } else { ", " };
        let (activity, tokens) = (&info.activity, info.tokens);
        format!("- `{label}`: {state}{gap}{activity}; {tokens} tokens")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The session: its file, messages and cost.
fn session(status: &Status) -> String {
    let file = match (&status.session_file, &status.session_id) {
        (Some(file), _) => format!("`{}`", path::below_home(Path::new(file))),
        (None, Some(id)) => format!("`{id}`, not stored"),
        (None, None) => return "No session is open.".to_owned(),
    };
    let (usage, cost) = (&status.token_usage, status.cost);
    let name = status.session_name.as_deref().unwrap_or("no name");
    format!(
        "Session: {file} ({name})\n- directory: `{}`\n- model: `{}`, permission mode `{}`\n- {} messages, {} queued\n\
         - {} input, {} output, {} cached tokens; ${cost:.4}",
        path::below_home(Path::new(&status.cwd)),
        status.model.reference(),
        status.permissions.name(),
        status.message_count,
        status.pending_message_count,
        usage.input,
        usage.output,
        usage.cache_read,
    )
}

/// The text of an event about the session tree.
fn describe_tree(event: &TreeEvent) -> Option<String> {
    Some(match event {
        TreeEvent::ContextReport { report, .. } => {
            let mut text = format!(
                "{} of {} tokens are in use ({} are reserved for output).",
                report.used, report.window, report.reserve
            );
            for part in &report.parts {
                let _ = write!(text, "\n- {}: {} tokens", part.kind.name(), part.tokens);
            }
            text
        }
        TreeEvent::Forked { session, path, .. } => {
            let path = path::below_home(path);
            format!("Copied to the session `{session}`: `{path}`. This session stays open.")
        }
        _ => return None,
    })
}

/// The same for an event of the agent.
fn describe_agent(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::Tools { tools } => {
            let offered = tools.iter().filter(|tool| tool.offered);
            let names: Vec<String> = offered.map(|tool| format!("`{}`", tool.name)).collect();
            format!("Tools: {}", names.join(", "))
        }
        AgentEvent::ThinkingLevelChanged { effective, .. } => {
            format!("Thinking level: `{}`.", effective.name())
        }
        AgentEvent::CompactionEnd { outcome, .. } => match outcome {
            CompactionOutcome::Done {
                tokens_before,
                tokens_after,
                ..
            } => format!("Compacted: {tokens_before} tokens became {tokens_after}."),
            CompactionOutcome::Refused { message } | CompactionOutcome::Failed { message } => {
                message.clone()
            }
            CompactionOutcome::Interrupted => "Interrupted; nothing was compacted.".to_owned(),
            CompactionOutcome::Drafted => return None,
        },
        _ => return None,
    })
}
