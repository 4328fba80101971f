//! Subagents: the `task` tool runs a separate agent, which shares only the working tree with its caller. Its progress is
//! shown under the call; its last answer is the result of the call.
//!
//! A subagent has no `task` tool: there is one level. The same policy applies to its calls as to those of its caller.

mod definition;
mod reload;

use async_trait::async_trait;
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::safety::tool_policy::ToolPolicy;
use osier_extensions::hooks::Role;
use osier_protocol::{Review, Spending};

use definition::Definition;
use osier_agent::{
    Agent, AgentConfig, CheckedCall, Interceptor, PreparedCall, Preparing, RetryPolicy, RunOutcome,
    Spellings, Tool, ToolContext, ToolDecision, ToolOutput, ToolSet, ToolSource, ToolStatus,
    ToolUpdate, Transport, prepare_typed,
};
use osier_llm::{Model, ThinkingLevel, ToolSpec};
use osier_permissions::DenyRules;
use osier_tools::{SUBAGENT, ToolEffect};

/// Subagents of one session that run in parallel; more wait.
const PARALLEL: usize = 4;

/// Claude Code's kinds of agents that need no definition; the first one is for any task.
const GENERAL: &str = "general-purpose";
const CLAUDE_KINDS: [&str; 3] = [GENERAL, "Explore", "Plan"];

const PROMPT: &str = "You are a subagent of osier, a coding agent. You were given one task; do it with your tools, \
then answer with the requested result and nothing else. Your caller sees only your answer: refer to files as path:line.";

/// The subagents of a session.
#[derive(Debug)]
pub(crate) struct Subagents {
    transport: Arc<dyn Transport>,
    /// Called before and after every tool call.
    rules: Vec<Arc<dyn Interceptor>>,
    policy: ToolPolicy,
    cwd: std::path::PathBuf,
    retry: RetryPolicy,
    places: Semaphore,
    offer: Mutex<Offer>,
}

/// The state that changes while the session is open.
#[derive(Debug, Default)]
struct Offer {
    models: Vec<Arc<Model>>,
    thinking: ThinkingLevel,
    /// The tools that the session is limited to; all if not set.
    limit: Option<Vec<String>>,
    definitions: Vec<(Definition, Option<Arc<Model>>)>,
    /// Not set while subagents are disabled.
    tool: Option<Arc<dyn Tool>>,
}

impl Subagents {
    pub(crate) fn new(
        transport: Arc<dyn Transport>,
        rules: Vec<Arc<dyn Interceptor>>,
        policy: ToolPolicy,
        cwd: std::path::PathBuf,
        retry: RetryPolicy,
    ) -> Arc<Self> {
        Arc::new(Self {
            transport,
            rules,
            policy,
            cwd,
            retry,
            places: Semaphore::new(PARALLEL),
            offer: Mutex::default(),
        })
    }

    /// Sets the models of the caller, for subagents without a model.
    pub(crate) fn set_models(&self, models: Vec<Arc<Model>>, thinking: ThinkingLevel) {
        let mut known = self.offer.lock();
        known.models = models;
        known.thinking = thinking;
    }

    /// Limits subagents to the tools `names`, those of the session; without `names`, they have all
    /// tools. Returns whether the session has subagents.
    fn limit(&self, names: Option<&[String]>) -> bool {
        self.offer.lock().limit = names.map(<[String]>::to_vec);
        names.is_none_or(|names| names.iter().any(|name| name == SUBAGENT))
    }

    /// Offers the tool with these definitions.
    pub(crate) fn offer(self: &Arc<Self>, definitions: Vec<(Definition, Option<Arc<Model>>)>) {
        let spec = spec(&definitions);
        let tool = TaskTool {
            spec,
            agents: Arc::downgrade(self),
        };
        let mut known = self.offer.lock();
        let same = known
            .tool
            .as_ref()
            .is_some_and(|old| *old.spec() == tool.spec);
        if !same {
            known.tool = Some(Arc::new(tool));
        }
        known.definitions = definitions;
    }

    /// Starts an agent for a task. Returns it and the name of its model.
    fn start(&self, kind: Option<&str>) -> Result<(Agent, String), String> {
        let (models, thinking, definition, limit) = {
            let known = self.offer.lock();
            let found = known
                .definitions
                .iter()
                .find(|(definition, _)| Some(definition.name.as_str()) == kind);
            if let (Some(kind), None) = (kind, found) {
                let names = known.definitions.iter();
                let names: Vec<&str> = names.map(|(known, _)| known.name.as_str()).collect();
                return Err(format!(
                    "unknown agent `{kind}`; expected one of {}",
                    names.join(", ")
                ));
            }
            let models = match found.and_then(|(_, model)| model.clone()) {
                Some(model) => vec![model],
                None => known.models.clone(),
            };
            let definition = found.map(|(definition, _)| definition.clone());
            (models, known.thinking, definition, known.limit.clone())
        };
        let Some(model) = models.first() else {
            return Err("no model is selected".to_owned());
        };
        let definition = definition.unwrap_or_default();
        let workspace = Arc::new(self.policy.workspace(&self.cwd));
        let mut tools = osier_tools::build(&workspace, definition.tools.as_deref())
            .map_err(|error| format!("{error}: {}", error.hint()))?;
        // Nobody watches a subagent: a question would block its caller.
        tools.retain(|tool| {
            let name = &tool.spec().name;
            let is_own = limit.as_ref().is_none_or(|names| names.contains(name));
            is_own && osier_tools::effect(name) != Some(ToolEffect::Asks)
        });
        let mut prompt = PROMPT.to_owned();
        if !definition.prompt.is_empty() {
            let _ = write!(prompt, "\n\n{}", definition.prompt);
        }
        let _ = write!(prompt, "\n\nWorking directory: {}", self.cwd.display());
        let role = Role::SubAgent {
            kind: kind.map(str::to_owned),
        };
        let (hooks, gate) = self.policy.interceptors(&workspace, role);
        let mut interceptors: Vec<Arc<dyn Interceptor>> = vec![
            Arc::new(Rules(self.rules.clone())),
            self.policy.plan_reminder(),
        ];
        interceptors.extend(hooks.map(|hooks| hooks as Arc<dyn Interceptor>));
        if !definition.denied.is_empty() {
            let denied = DenyRules::new(&self.cwd, &definition.denied);
            interceptors.push(Arc::new(denied));
        }
        interceptors.push(Arc::new(gate));
        interceptors.extend(self.policy.guards());
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

impl ToolSource for Subagents {
    fn tools(&self) -> ToolSet {
        self.offer.lock().tool.iter().cloned().collect()
    }
}

/// The `task` tool.
#[derive(Debug)]
struct TaskTool {
    spec: ToolSpec,
    agents: std::sync::Weak<Subagents>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    prompt: String,
    agent: Option<String>,
}

/// The details of a task that are stored, to show it when the session is opened again.
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

/// A tool call of a subagent.
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
    /// Updates the details from an event of the subagent.
    pub fn on_event(&mut self, event: &osier_agent::Event) {
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
                if let Some(review) = Review::of(&result.details) {
                    self.spending.review(&review);
                }
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
    let mut description = "Give a task to a subagent with a separate context, for work whose details you do not \
        need. Include everything it has to know: it does not see this conversation. Several calls run in parallel."
        .to_owned();
    let mut properties =
        json!({"prompt": {"type": "string", "description": "the task, and what to return"}});
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
        freeform: None,
        name: SUBAGENT.to_owned(),
        description,
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": ["prompt"],
        }),
    }
}

impl Tool for TaskTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spellings(&self) -> &'static Spellings {
        osier_tools::find(SUBAGENT).map_or(&Spellings::NONE, |tool| tool.spellings)
    }

    /// Models that were trained with Claude Code name its kinds of agents.
    fn adapt(&self, arguments: &mut Map<String, Value>) -> Vec<String> {
        if arguments.get("run_in_background") == Some(&Value::Bool(false)) {
            arguments.shift_remove("run_in_background");
        }
        let known = self.spec.parameters["properties"]["agent"]["enum"].as_array();
        let Some(Value::String(kind)) = arguments.get("agent").cloned() else {
            return Vec::new();
        };
        let is_known = known.is_some_and(|known| known.iter().any(|name| *name == kind));
        if is_known || (known.is_some() && !CLAUDE_KINDS.contains(&kind.as_str())) {
            return Vec::new();
        }
        arguments.shift_remove("agent");
        if kind == GENERAL {
            return Vec::new();
        }
        vec![format!(
            "no agent `{kind}` is defined, so a general one did the task"
        )]
    }

    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing {
        prepare_typed(arguments, async move |arguments: Arguments| {
            Ok(PreparedCall::new(async move |cx| {
                self.start(&arguments, &cx).await
            }))
        })
    }
}

impl TaskTool {
    async fn start(&self, arguments: &Arguments, cx: &ToolContext) -> ToolOutput {
        let Some(agents) = self.agents.upgrade() else {
            return ToolOutput::error("the session is closing");
        };
        let place = tokio::select! {
            place = agents.places.acquire() => place,
            () = cx.cancel.cancelled() => {
                return ToolOutput::failed(ToolStatus::Aborted, "interrupted before it started");
            }
        };
        let output = match agents.start(arguments.agent.as_deref()) {
            Ok((agent, model)) => follow(&agent, arguments, model, cx).await,
            Err(message) => ToolOutput::error(message),
        };
        drop(place);
        output
    }
}

/// Runs the subagent until it ends or is interrupted.
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
        details.on_event(&event);
        if let osier_agent::Event::AgentSettled { outcome } = &event {
            break outcome.clone();
        }
        if is_shown(&event) {
            let event = Box::new(event);
            cx.updates.send(ToolUpdate::Agent { event });
        }
    };
    let answer = agent.last_answer();
    let details = json!(details);
    match outcome {
        RunOutcome::Completed => {
            let answer = answer.unwrap_or_else(|| "(no answer)".to_owned());
            ToolOutput::success(answer, details)
        }
        RunOutcome::Interrupted => ToolOutput {
            details,
            ..ToolOutput::failed(
                ToolStatus::Aborted,
                match answer {
                    Some(answer) => format!("interrupted; the answer so far: {answer}"),
                    None => "interrupted before the first answer".to_owned(),
                },
            )
        },
        failed => {
            let message = failed.error().unwrap_or_default();
            ToolOutput {
                details,
                ..ToolOutput::error(format!("the subagent failed: {message}"))
            }
        }
    }
}

/// Whether the user sees an event: text deltas and logs are not shown.
fn is_shown(event: &osier_agent::Event) -> bool {
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

/// The interceptors of the caller, for tool calls only.
#[derive(Debug)]
struct Rules(Vec<Arc<dyn Interceptor>>);

#[async_trait]
impl Interceptor for Rules {
    async fn before_tool(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        let mut changed: Option<Box<CheckedCall>> = None;
        for rule in &self.0 {
            let call = changed.as_deref().unwrap_or(call);
            match rule.before_tool(call, cancel).await {
                ToolDecision::Allow => {}
                ToolDecision::Replace(call) => changed = Some(call),
                ToolDecision::Rewrite { arguments } => match call.with_arguments(arguments).await {
                    Ok(call) => changed = Some(Box::new(call)),
                    Err(output) => return ToolDecision::Fail(output),
                },
                refused => return refused,
            }
        }
        changed.map_or(ToolDecision::Allow, ToolDecision::Replace)
    }

    async fn after_tool(&self, call: &CheckedCall, output: &mut ToolOutput) {
        for rule in &self.0 {
            rule.after_tool(call, output).await;
        }
    }
}
