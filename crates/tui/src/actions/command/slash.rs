//! Slash commands in the terminal: the rows of `osier_protocol::slash`, with the actions of the registry.

use super::arguments::Parsed;
use super::info::{COMMANDS, Run};
use crate::actions::{Action, Toast};
use osier_agent::Op as AgentOp;
use osier_protocol::slash::{self, SlashClient, SlashCommand};
use osier_protocol::{Op, TreeOp};

/// The actions of `/NAME ARGUMENT`; `None` when the text is not a slash command, or one for which `is_added` is true.
///
/// # Errors
/// The mistake in the argument, or that the command does not exist.
pub(crate) fn parse_slash(text: &str, is_added: impl Fn(&str) -> bool) -> Option<Parsed> {
    let typed = slash::parse(text, SlashClient::Terminal, is_added)?;
    Some(typed.and_then(|(command, argument)| {
        let mut rows = COMMANDS.iter();
        let row = rows.find(|row| row.slash.is_some_and(|slash| slash.name == command.name));
        match row.map(|row| (row, row.parse)) {
            Some((row, _)) if argument.is_empty() && !matches!(row.run, Run::Slash) => {
                Ok(vec![Action::Run(row.command)])
            }
            Some((_, Some(parse))) => parse(argument),
            _ => run_slash(command, argument),
        }
    }))
}

/// `/export` without a path puts this text into the prompt. Its path is outside of the project, and
/// the user can edit it.
const EXPORT: &str = "/export ~/osier-session.html";
const EXPORT_HINT: &str = "enter exports to this file; `.html`, `.md` or `.jsonl` is the format";

/// Confirms `/plan`, which otherwise only changes the footer.
const PLAN_MODE: &str = "plan mode: the model reads and plans, nothing changes";

/// The requests of a slash command, as actions.
pub(crate) fn run_slash(command: &SlashCommand, argument: &str) -> Parsed {
    if command.name == "export" && argument.is_empty() {
        let text = EXPORT.to_owned();
        return Ok(vec![
            Action::SetEditor { text },
            Toast::info(EXPORT_HINT).into(),
        ]);
    }
    let ops = command
        .requests
        .map_or(Ok(Vec::new()), |requests| requests(argument))?;
    let told = (command.name == "plan").then(|| Toast::info(PLAN_MODE).into());
    Ok(ops.into_iter().map(action).chain(told).collect())
}

/// The action of a request: a prompt is shown before the session answers, and the user reviews a summary.
fn action(op: Op) -> Action {
    match op {
        Op::Agent(AgentOp::Prompt { text, typed, .. }) => Action::SendPrompt { text, typed },
        Op::Tree(TreeOp::Compact { instructions, .. }) => TreeOp::Compact {
            instructions,
            review: true,
            up_to: None,
        }
        .into(),
        op => op.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Command;
    use osier_llm::ThinkingLevel;
    use osier_protocol::{PermissionMode, UsagePeriod, UsageScope};

    #[test]
    fn command_runs_its_row_or_its_requests() {
        let run = |command| Some(Ok(vec![Action::Run(command)]));
        let level = ThinkingLevel::High;
        let report = Op::GetUsageReport {
            scope: UsageScope::Session,
            period: UsagePeriod::Always,
        };
        let set_level = Op::Agent(AgentOp::SetThinkingLevel { level });
        for (typed, actions) in [
            ("/keys", run(Command::Help)),
            ("/beside", run(Command::NewTab)),
            ("/status", run(Command::ShowSession)),
            ("/cost", Some(Ok(vec![report.into()]))),
            ("/thinking high", Some(Ok(vec![set_level.into()]))),
            ("/fan", run(Command::FanOut)),
            (
                "/export",
                Some(Ok(vec![
                    Action::SetEditor {
                        text: EXPORT.to_owned(),
                    },
                    Toast::info(EXPORT_HINT).into(),
                ])),
            ),
            (
                "/plan",
                Some(Ok(vec![
                    Op::SetPermissions {
                        mode: PermissionMode::Plan,
                    }
                    .into(),
                    Toast::info(PLAN_MODE).into(),
                ])),
            ),
            ("/mcp git", Some(Ok(vec![Action::ShowServer("git".into())]))),
            (
                "/compact keep names",
                Some(Ok(vec![
                    TreeOp::Compact {
                        instructions: Some("keep names".to_owned()),
                        review: true,
                        up_to: None,
                    }
                    .into(),
                ])),
            ),
            (
                "/thinking hard",
                Some(Err(
                    "unknown level `hard`; expected one of `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`"
                        .to_owned(),
                )),
            ),
            ("/etc/hosts looks odd", None),
        ] {
            assert_eq!(parse_slash(typed, |_| false), actions, "{typed}");
        }
    }
}
