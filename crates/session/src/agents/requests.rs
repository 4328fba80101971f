//! The requests about the user's shell and background jobs.

use osier_agent::{Output, Severity, ShellRun};
use osier_protocol::{Event, ShellOp, SubagentOp};

use super::fan::FanState;
use super::jobs::JobView;
use super::shell::UserShell;
use super::subagents::Registry;
use crate::cx::Cx;
use crate::emitter::{Callback, Emitter};

/// Work that runs in addition to the main agent.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub shell: UserShell,
    pub jobs: JobView,
    pub fan: FanState,
}

impl Work {
    /// Handles a request about commands and jobs. `done` gets the result of the user's command.
    pub(crate) fn handle(
        &mut self,
        op: ShellOp,
        subagents: Option<&Registry>,
        cx: Cx<'_>,
        done: Callback<Box<ShellRun>>,
    ) {
        let is_subagent = |id: &str| subagents.is_some_and(|subagents| subagents.has(id));
        let emitter = cx.emitter;
        let workspace = cx.session.map(|session| &session.workspace);
        match (op, workspace) {
            (ShellOp::AbortShell, _) => self.shell.cancel(),
            (ShellOp::ListJobs, _) => {
                JobView::list(workspace.map(|workspace| &**workspace), subagents, emitter);
            }
            (ShellOp::FollowJob { id: Some(id) }, _) if is_subagent(&id) => {
                self.jobs.unfollow();
                let text = format!("enter opens the conversation of {id}\n");
                let output = Output {
                    text,
                    ..Output::default()
                };
                emitter.publish(Event::JobOutput { id, output });
            }
            (ShellOp::KillJob { id: subagent }, _) if is_subagent(&subagent) => {
                if let Some(subagents) = subagents {
                    subagents.handle(SubagentOp::StopSubagent { subagent }, emitter);
                }
            }
            (ShellOp::FollowJob { id: Some(id) }, Some(workspace)) => {
                self.jobs.follow(&id, workspace, emitter);
            }
            (ShellOp::FollowJob { .. }, _) => self.jobs.unfollow(),
            // `Event::Jobs` follows.
            (ShellOp::MoveToBackground, _) => {
                let commands = workspace.map_or(0, |workspace| workspace.move_to_background());
                let moved = subagents.map_or(Vec::new(), Registry::move_all_to_background);
                report_moved(commands, &moved, emitter);
            }
            (
                ShellOp::Shell {
                    command,
                    exclude_from_context,
                },
                Some(workspace),
            ) => {
                self.shell
                    .run(command, exclude_from_context, workspace, emitter, done);
            }
            (ShellOp::KillJob { id }, Some(workspace)) => JobView::kill(id, workspace, emitter),
            (ShellOp::Shell { .. } | ShellOp::KillJob { .. }, None) => {}
        }
    }
}

/// Says which subagents continue in the background; the calls of commands say it themselves.
fn report_moved(commands: usize, subagents: &[String], emitter: &Emitter) {
    if !subagents.is_empty() {
        let text = format!("{} continues in the background", subagents.join(", "));
        emitter.notice(Severity::Info, text);
    } else if commands == 0 {
        let text = "no command or subagent of the model runs that could continue in the background";
        emitter.notice(Severity::Warning, text);
    }
}
