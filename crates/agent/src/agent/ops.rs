//! Applies the ops of an agent.

use osier_base::clock;

use crate::core::Core;
use crate::data::{Event, Op, Severity, UserMessage};
use crate::interceptor::AgentAccess;

/// The next step of the agent's task after an op.
#[derive(Debug, PartialEq)]
pub(super) enum NextStep {
    Nothing,
    /// Start a run with these messages and the queued ones.
    Run(Vec<UserMessage>),
    Abort,
}

/// Applies one op. This match defines which ops are allowed during a run.
pub(super) async fn apply(core: &Core, op: Op) -> NextStep {
    let running = core.state().running;
    let follows = matches!(op, Op::FollowUp { .. });
    match op {
        Op::Prompt {
            text,
            attachments,
            typed,
            once,
        }
        | Op::Steer {
            text,
            attachments,
            typed,
            once,
        }
        | Op::FollowUp {
            text,
            attachments,
            typed,
            once,
        } => {
            let message = UserMessage {
                text,
                attachments,
                typed,
                once,
                timestamp: clock::now_ms(),
            };
            return enqueue_or_run(core, message, follows);
        }
        Op::Abort => return NextStep::Abort,
        Op::Continue if running => {}
        Op::Continue => return NextStep::Run(Vec::new()),
        Op::RecallQueue => {
            let messages = core.state().queues.recall();
            core.publish(Event::QueueRecalled { messages });
            core.publish_queues();
        }
        Op::ReplaceMessages { .. } if running => core.notice(
            Severity::Warning,
            "the conversation was not replaced: a run is in progress",
        ),
        Op::ReplaceMessages { messages } => {
            let count = messages.len();
            core.state().conversation.replace(messages);
            core.publish(Event::MessagesReplaced { count });
        }
        Op::AppendMessage { message, respond } if running => {
            core.state().conversation.defer(*message, respond);
        }
        Op::AppendMessage { message, respond } => match core.commit(*message).await {
            Ok(()) if respond => return NextStep::Run(Vec::new()),
            Ok(()) => {}
            Err(stop) => core.notice(Severity::Error, stop.message),
        },
        Op::GetState => {
            let state = Box::new(core.state().snapshot());
            core.publish(Event::State { state });
        }
        Op::ListTools => {
            if !running {
                core.refresh_tools();
            }
            core.publish_tools();
        }
        setting => apply_setting(core, setting),
    }
    NextStep::Nothing
}

/// Settings take effect with the next request, also during a run.
fn apply_setting(core: &Core, op: Op) {
    match op {
        Op::SetModels { models } if !models.is_empty() => {
            let models = {
                let mut state = core.state();
                state.models.set(models);
                state.models.references()
            };
            core.publish(Event::ModelsChanged { models });
            publish_thinking(core);
        }
        Op::EnableProvider { provider } => core.state().models.enable(&provider),
        Op::SetThinkingLevel { level } => {
            core.state().models.thinking = level;
            publish_thinking(core);
        }
        Op::SetSystemPrompt { prompt } => core.state().system_prompt = prompt,
        Op::SetTools { names } => {
            let known = core.state().tools.select(&names);
            for name in names.iter().filter(|name| !known.contains(name)) {
                let known = known.join(", ");
                core.notice(
                    Severity::Warning,
                    format!("unknown tool `{name}`; expected one of {known}"),
                );
            }
            core.publish_tools();
        }
        Op::SetQueueMode {
            steering,
            follow_up,
        } => {
            let (steering, follow_up) = {
                let queues = &mut core.state().queues;
                queues.steering.mode = steering.unwrap_or(queues.steering.mode);
                queues.follow_up.mode = follow_up.unwrap_or(queues.follow_up.mode);
                (queues.steering.mode, queues.follow_up.mode)
            };
            core.publish(Event::QueueModeChanged {
                steering,
                follow_up,
            });
        }
        Op::SetAutoRetry { enabled } => {
            core.state().auto_retry = enabled;
            core.publish(Event::AutoRetryChanged { enabled });
        }
        Op::AbortRetry => core.retry_aborted.notify_waiters(),
        _ => {}
    }
}

fn publish_thinking(core: &Core) {
    let (level, effective) = {
        let state = core.state();
        (state.models.thinking, state.models.effective_thinking())
    };
    core.publish(Event::ThinkingLevelChanged { level, effective });
}

fn enqueue_or_run(core: &Core, message: UserMessage, follows: bool) -> NextStep {
    {
        let mut state = core.state();
        if message.once.as_deref().is_some_and(|key| state.knows(key)) {
            return NextStep::Nothing;
        }
        if !state.running {
            return NextStep::Run(vec![message]);
        }
        let queues = &mut state.queues;
        let queue = if follows {
            &mut queues.follow_up
        } else {
            &mut queues.steering
        };
        queue.push(message);
    }
    core.publish_queues();
    NextStep::Nothing
}
