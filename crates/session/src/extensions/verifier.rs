//! The agent of a hook with the type `agent`: it can read files before it judges. Its calls are checked like those of a subagent, but they
//! run no hooks.

use std::fmt::Write as _;
use std::sync::Arc;

use osier_agent::{Agent, AgentConfig, Event, Interceptor, RunOutcome};
use osier_extensions::hooks::{HookQuestion, Role};

use super::sampling::SessionSampler;
use crate::safety::tool_policy::ToolPolicy;
use osier_tools::{FIND, GREP, LS, READ, Workspace};

/// The largest number of model calls of one agent.
const TURNS: u32 = 50;
/// The tools of the agent; they only read.
const TOOLS: [&str; 4] = [READ, GREP, FIND, LS];

/// Runs the agent and returns its last answer. Dropping the future ends the agent.
///
/// # Errors
/// There is no such model, or the agent failed.
pub(super) async fn run(
    (sampler, policy, workspace): (&SessionSampler, &ToolPolicy, &Workspace),
    question: HookQuestion,
) -> Result<String, String> {
    let HookQuestion {
        mut system_prompt,
        prompt,
        model,
    } = question;
    let called = sampler.model(model).await?;
    let cwd = workspace.cwd();
    let _ = write!(system_prompt, "\n\nWorking directory: {}", cwd.display());
    let workspace = Arc::new(policy.workspace(cwd));
    let names = TOOLS.map(str::to_owned);
    let tools = osier_tools::build(&workspace, Some(&names)).map_err(|error| error.to_string())?;
    let role = Role::SubAgent { kind: None };
    let (_, gate) = policy.interceptors(&workspace, role);
    let mut interceptors: Vec<Arc<dyn Interceptor>> = vec![Arc::new(gate)];
    interceptors.extend(policy.guards());
    let agent = Running(Agent::spawn(AgentConfig {
        system_prompt,
        tools,
        interceptors,
        max_turns: Some(TURNS),
        ..AgentConfig::new(called.transport, (*called.model).clone())
    }));
    let mut events = agent.0.subscribe();
    agent.0.prompt(prompt, Vec::new());
    while let Some(event) = events.recv().await {
        match event {
            Event::Accounting { entry } => sampler.count(&called.model, entry).await,
            Event::AgentSettled { outcome } => {
                if outcome != RunOutcome::Completed {
                    let error = outcome.error().unwrap_or_default();
                    return Err(format!("the agent failed: {error}"));
                }
                let answer = agent.0.last_answer();
                return answer.ok_or_else(|| "the agent gave no answer".to_owned());
            }
            _ => {}
        }
    }
    Err("the agent ended".to_owned())
}

/// An agent that stops when its caller ends, such as at the hook's time limit.
struct Running(Agent);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}
