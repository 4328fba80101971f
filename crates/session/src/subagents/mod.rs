//! Sub-agents: the `task` tool runs an agent of its own, which shares nothing with its caller but the
//! working tree. What happens in it is told under the call; what it says last is the call's result.
//!
//! A sub-agent has no `task` tool, so there is one level. Its calls pass the same guards as its caller's.

pub mod definition;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::guard::Guard;
use super::spending::Spending;
use osier_extensions::hooks::Role;

use definition::Definition;
use osier_agent::{
    Agent, AgentConfig, AgentMessage, Concurrency, Interceptor, RetryPolicy, RunOutcome, Tool,
    ToolContext, ToolDecision, ToolOutput, ToolSet, ToolSource, ToolStatus, ToolUpdate, Transport,
};
use osier_llm::{Model, ThinkingLevel, ToolCall, ToolSpec};

/// Sub-agents of one session that run at once; more wait.
const PARALLEL: usize = 4;

const PROMPT: &str = "You are a sub-agent of osier, a coding agent. You were given one task; do it with your tools, \
then answer with what was asked for and nothing else. Your answer is all that your caller sees: name files as path:line.";

/// What sub-agents are made of. It belongs to a session.
#[derive(Debug)]
pub struct SubAgents {
    transport: Arc<dyn Transport>,
    /// Asked before and after every call of a tool.
    rules: Vec<Arc<dyn Interceptor>>,
    guard: Guard,
    cwd: std::path::PathBuf,
    retry: RetryPolicy,
    places: Semaphore,
    known: Mutex<Known>,
}

/// What may change while the session is open.
#[derive(Debug, Default)]
struct Known {
    models: Vec<Arc<Model>>,
    thinking: ThinkingLevel,
    definitions: Vec<(Definition, Option<Arc<Model>>)>,
    /// Not set while sub-agents are off.
    tool: Option<Arc<dyn Tool>>,
}

impl SubAgents {
    pub fn new(
        transport: Arc<dyn Transport>,
        (rules, guard): (Vec<Arc<dyn Interceptor>>, Guard),
        cwd: std::path::PathBuf,
        retry: RetryPolicy,
    ) -> Arc<Self> {
        Arc::new(Self {
            transport,
            rules,
            guard,
            cwd,
            retry,
            places: Semaphore::new(PARALLEL),
            known: Mutex::default(),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The models of the caller, which are those of a sub-agent that names none.
    pub fn set_models(&self, models: Vec<Arc<Model>>, thinking: ThinkingLevel) {
        let mut known = self.known();
        known.models = models;
        known.thinking = thinking;
    }

    /// Offers the tool, with these kinds of sub-agents.
    pub fn offer(self: &Arc<Self>, definitions: Vec<(Definition, Option<Arc<Model>>)>) {
        let spec = spec(&definitions);
        let tool = TaskTool {
            spec,
            agents: Arc::downgrade(self),
        };
        let mut known = self.known();
        let same = known
            .tool
            .as_ref()
            .is_some_and(|old| *old.spec() == tool.spec);
        if !same {
            known.tool = Some(Arc::new(tool));
        }
        known.definitions = definitions;
    }

    /// The agent that does the task, and what it is called.
    fn start(&self, kind: Option<&str>) -> Result<(Agent, String), String> {
        let (models, thinking, definition) = {
            let known = self.known();
            let found = known
                .definitions
                .iter()
                .find(|(definition, _)| Some(definition.name.as_str()) == kind);
            if let (Some(kind), None) = (kind, found) {
                let names = known.definitions.iter();
                let names: Vec<&str> = names.map(|(known, _)| known.name.as_str()).collect();
                return Err(format!(
                    "there is no agent `{kind}`: there are {}",
                    names.join(", ")
                ));
            }
            let models = match found.and_then(|(_, model)| model.clone()) {
                Some(model) => vec![model],
                None => known.models.clone(),
            };
            let definition = found.map(|(definition, _)| definition.clone());
            (models, known.thinking, definition)
        };
        let Some(model) = models.first() else {
            return Err("no model is chosen".to_owned());
        };
        let definition = definition.unwrap_or_default();
        let workspace = Arc::new(self.guard.workspace(&self.cwd));
        let tools = osier_tools::build(&workspace, definition.tools.as_deref())
            .map_err(|error| format!("{error}: {}", error.hint()))?;
        let mut prompt = PROMPT.to_owned();
        if !definition.prompt.is_empty() {
            let _ = write!(prompt, "\n\n{}", definition.prompt);
        }
        let _ = write!(prompt, "\n\nWorking directory: {}", self.cwd.display());
        let role = Role::SubAgent {
            kind: kind.map(str::to_owned),
        };
        let (hooks, gate) = self.guard.around(&workspace, role);
        let mut interceptors: Vec<Arc<dyn Interceptor>> = vec![Arc::new(Rules(self.rules.clone()))];
        interceptors.extend(hooks.map(|hooks| hooks as Arc<dyn Interceptor>));
        interceptors.push(Arc::new(gate));
        let name = model.reference();
        let config = AgentConfig {
            models: models.clone(),
            thinking,
            system_prompt: prompt,
            tools,
            interceptors,
            retry: self.retry,
            ..AgentConfig::new(Arc::clone(&self.transport), (**model).clone())
        };
        Ok((Agent::spawn(config), name))
    }
}

impl ToolSource for SubAgents {
    fn tools(&self) -> ToolSet {
        self.known().tool.iter().cloned().collect()
    }
}

/// The tool of the caller.
#[derive(Debug)]
struct TaskTool {
    spec: ToolSpec,
    agents: std::sync::Weak<SubAgents>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    prompt: String,
    #[serde(default)]
    agent: Option<String>,
}

/// What the interface keeps of a task: enough to show it when the session is opened again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskDetails {
    pub agent: Option<String>,
    /// `PROVIDER/ID`.
    pub model: String,
    pub turns: u32,
    pub steps: Vec<TaskStep>,
    pub spending: Spending,
}

/// One call of a sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStep {
    pub call_id: String,
    pub tool: String,
    pub arguments: Value,
    /// Name of its `ToolStatus`; not set while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl TaskDetails {
    /// Takes in what happened in the sub-agent.
    pub fn follow(&mut self, event: &osier_agent::Event) {
        match event {
            osier_agent::Event::TurnStart { turn } => self.turns = *turn,
            osier_agent::Event::ToolExecutionStart {
                call_id,
                tool_name,
                arguments,
            } => self.steps.push(TaskStep {
                call_id: call_id.clone(),
                tool: tool_name.clone(),
                arguments: arguments.clone(),
                status: None,
            }),
            osier_agent::Event::ToolExecutionEnd {
                call_id, result, ..
            } => {
                let mut steps = self.steps.iter_mut();
                if let Some(step) = steps.find(|step| step.call_id == *call_id) {
                    step.status = Some(result.status.name().to_owned());
                }
            }
            osier_agent::Event::Accounting { entry } => self.spending.add(entry),
            _ => {}
        }
    }
}

fn spec(definitions: &[(Definition, Option<Arc<Model>>)]) -> ToolSpec {
    let mut description = "Give a task to a sub-agent with a context of its own, for work whose details you do not \
        need. Say all it has to know: it sees nothing of this conversation. Several calls run at once."
        .to_owned();
    let mut properties =
        json!({"prompt": {"type": "string", "description": "the task, and what to answer"}});
    if !definitions.is_empty() {
        description.push_str(" Agents:");
        for (definition, _) in definitions {
            let _ = write!(
                description,
                "\n- {}: {}",
                definition.name, definition.description
            );
        }
        let names: Vec<&str> = definitions
            .iter()
            .map(|(known, _)| known.name.as_str())
            .collect();
        properties["agent"] = json!({"type": "string", "enum": names});
    }
    ToolSpec {
        name: osier_tools::SUBAGENT.to_owned(),
        description,
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": ["prompt"],
            "additionalProperties": false,
        }),
    }
}

impl Tool for TaskTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn concurrency(&self, _arguments: &Value) -> Concurrency {
        Concurrency::Parallel
    }

    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        async move {
            let arguments: Arguments = match serde_json::from_value(arguments) {
                Ok(arguments) => arguments,
                Err(error) => return ToolOutput::error(error.to_string()),
            };
            let Some(agents) = self.agents.upgrade() else {
                return ToolOutput::error("the session is closing");
            };
            let place = tokio::select! {
                place = agents.places.acquire() => place,
                () = cx.cancel.cancelled() => {
                    return ToolOutput::failed(ToolStatus::Aborted, "interrupted before it began");
                }
            };
            let output = match agents.start(arguments.agent.as_deref()) {
                Ok((agent, model)) => follow(&agent, &arguments, model, &cx).await,
                Err(message) => ToolOutput::error(message),
            };
            drop(place);
            output
        }
        .boxed()
    }
}

/// Runs the sub-agent to its end, or to the interrupt.
async fn follow(
    agent: &Agent,
    arguments: &Arguments,
    model: String,
    cx: &ToolContext,
) -> ToolOutput {
    let mut details = TaskDetails {
        agent: arguments.agent.clone(),
        model,
        ..TaskDetails::default()
    };
    let mut events = agent.subscribe();
    agent.prompt(arguments.prompt.clone(), Vec::new());
    let mut aborted = false;
    let outcome = loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = cx.cancel.cancelled(), if !aborted => {
                aborted = true;
                agent.abort();
                continue;
            }
        };
        let Some(event) = event else {
            break RunOutcome::Interrupted;
        };
        details.follow(&event);
        if let osier_agent::Event::AgentSettled { outcome } = &event {
            break outcome.clone();
        }
        if is_told(&event) {
            let event = Box::new(event);
            cx.updates.send(ToolUpdate::Agent { event });
        }
    };
    let answer = last_answer(agent);
    let details = json!(details);
    match outcome {
        RunOutcome::Completed => {
            let answer = answer.unwrap_or_else(|| "(it said nothing)".to_owned());
            ToolOutput::success(answer, details)
        }
        RunOutcome::Interrupted => ToolOutput {
            details,
            ..ToolOutput::failed(
                ToolStatus::Aborted,
                match answer {
                    Some(answer) => format!("interrupted; so far it had said: {answer}"),
                    None => "interrupted before it had said anything".to_owned(),
                },
            )
        },
        failed => {
            let message = failed.error().unwrap_or_default();
            ToolOutput {
                details,
                ..ToolOutput::error(format!("the sub-agent failed: {message}"))
            }
        }
    }
}

/// Pieces of answers and logs stay inside: what is told is what a person follows.
fn is_told(event: &osier_agent::Event) -> bool {
    matches!(
        event,
        osier_agent::Event::TurnStart { .. }
            | osier_agent::Event::MessageEnd { .. }
            | osier_agent::Event::ToolExecutionStart { .. }
            | osier_agent::Event::ToolExecutionEnd { .. }
            | osier_agent::Event::RetryScheduled { .. }
            | osier_agent::Event::ProviderSwitched { .. }
            | osier_agent::Event::Notice { .. }
            | osier_agent::Event::Accounting { .. }
    )
}

fn last_answer(agent: &Agent) -> Option<String> {
    let messages = agent.state().messages;
    let answers = messages.iter().rev().find_map(|message| match &**message {
        AgentMessage::Assistant(answer) => Some(answer.text()),
        _ => None,
    });
    answers.filter(|answer| !answer.trim().is_empty())
}

/// The caller's rules, asked about calls of tools only.
#[derive(Debug)]
struct Rules(Vec<Arc<dyn Interceptor>>);

impl Interceptor for Rules {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a tokio_util::sync::CancellationToken,
    ) -> BoxFuture<'a, ToolDecision> {
        async move {
            let mut call = call.clone();
            let mut rewritten = None;
            for rule in &self.0 {
                match rule.before_tool(&call, cancel).await {
                    ToolDecision::Allow => {}
                    ToolDecision::Rewrite { arguments } => {
                        call.arguments.clone_from(&arguments);
                        rewritten = Some(arguments);
                    }
                    denied @ ToolDecision::Deny { .. } => return denied,
                }
            }
            rewritten.map_or(ToolDecision::Allow, |arguments| ToolDecision::Rewrite {
                arguments,
            })
        }
        .boxed()
    }

    fn after_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        output: &'a mut ToolOutput,
    ) -> BoxFuture<'a, ()> {
        async move {
            for rule in &self.0 {
                rule.after_tool(call, output).await;
            }
        }
        .boxed()
    }
}
