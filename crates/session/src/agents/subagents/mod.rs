//! Subagents: the `task` tool runs a separate agent, which shares only the working tree with its caller. Its progress is
//! shown under the call; its last answer is the result of the call.
//!
//! Its work is a task of its own (`subagent`), so that the call can return while it continues in the background. The
//! registry lists the subagents of the session for clients, which follow, steer and stop them.
//!
//! A subagent has no `task` tool: there is one level. The same policy applies to its calls as to those of its caller.

mod definition;
mod details;
mod news;
mod record;
mod registry;
mod reload;
mod subagent;

use async_trait::async_trait;
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::safety::tool_policy::ToolPolicy;
use osier_extensions::hooks::Role;

use definition::Definition;
pub use details::{TaskDetails, TaskStep};
pub(crate) use news::{NewsKind, SubagentNews};
use osier_agent::{
    Agent, AgentConfig, CheckedCall, Interceptor, PreparedCall, Preparing, RetryPolicy, Spellings,
    Tool, ToolContext, ToolDecision, ToolOutput, ToolSet, ToolSource, Transport, prepare_typed,
};
use osier_llm::{Model, ThinkingLevel, ToolSpec};
use osier_permissions::DenyRules;
use osier_tools::{SUBAGENT, ToolEffect};
pub(crate) use registry::Registry;
use subagent::{Started, Subagent, Task};

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
    places: Arc<Semaphore>,
    registry: Arc<Registry>,
    offer: Mutex<Offer>,
}

/// A definition, and its model if it has one.
type Defined = (Definition, Option<Arc<Model>>);

/// The state that changes while the session is open.
#[derive(Debug, Default)]
struct Offer {
    models: Vec<Arc<Model>>,
    thinking: ThinkingLevel,
    /// The tools that the session is limited to; all if not set.
    limit: Option<Vec<String>>,
    definitions: Vec<Defined>,
    /// Not set while subagents are disabled.
    tool: Option<Arc<dyn Tool>>,
    /// Calls wait for their subagent, because the program ends with the run.
    waits: bool,
}

impl Subagents {
    pub(crate) fn new(
        transport: Arc<dyn Transport>,
        rules: Vec<Arc<dyn Interceptor>>,
        policy: ToolPolicy,
        cwd: std::path::PathBuf,
        retry: RetryPolicy,
        registry: Arc<Registry>,
    ) -> Arc<Self> {
        Arc::new(Self {
            transport,
            rules,
            policy,
            cwd,
            retry,
            places: Arc::new(Semaphore::new(PARALLEL)),
            registry,
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

    /// Offers the tool with these definitions. With `waits`, calls always wait for their subagent.
    fn offer(self: &Arc<Self>, definitions: Vec<Defined>, waits: bool) {
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
        known.waits = waits;
    }

    /// The subagents that run or ended.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Tells the model of work that an earlier run of osier lost.
    pub(crate) fn reminder(&self) -> Arc<dyn Interceptor> {
        Arc::clone(&self.registry) as Arc<dyn Interceptor>
    }

    /// The definition with this name, and its model if it has one.
    ///
    /// # Errors
    /// There is none with this name.
    fn find(&self, kind: Option<&str>) -> Result<Option<Defined>, String> {
        let Some(kind) = kind else { return Ok(None) };
        let known = self.offer.lock();
        let mut definitions = known.definitions.iter();
        let found = definitions.find(|(definition, _)| definition.name == kind);
        found.cloned().map(Some).ok_or_else(|| {
            let names = known.definitions.iter();
            let names: Vec<&str> = names.map(|(known, _)| known.name.as_str()).collect();
            let names = names.join(", ");
            format!("unknown agent `{kind}`; expected one of {names}")
        })
    }

    /// Starts the agent of `subagent` for a task. Returns it and the name of its model.
    fn start(&self, kind: Option<&str>, subagent: &Arc<Subagent>) -> Started {
        let found = self.find(kind)?;
        let (models, thinking, definition, limit) = {
            let known = self.offer.lock();
            let (definition, model) = found.unwrap_or_default();
            let models = model.map_or_else(|| known.models.clone(), |model| vec![model]);
            (models, known.thinking, definition, known.limit.clone())
        };
        let Some(model) = models.first() else {
            return Err("no model is selected".to_owned());
        };
        let asker = Arc::downgrade(subagent);
        let policy = self.policy.asking_for(&subagent.id, move |begins| {
            if let Some(subagent) = asker.upgrade() {
                subagent.asks(begins);
            }
        });
        let workspace = Arc::new(policy.workspace(&self.cwd));
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
        let (hooks, gate) = policy.interceptors(&workspace, role);
        let mut interceptors: Vec<Arc<dyn Interceptor>> =
            vec![Arc::new(Rules(self.rules.clone())), policy.plan_reminder()];
        interceptors.extend(hooks.map(|hooks| hooks as Arc<dyn Interceptor>));
        if !definition.denied.is_empty() {
            let denied = DenyRules::new(&self.cwd, &definition.denied);
            interceptors.push(Arc::new(denied));
        }
        interceptors.push(Arc::new(gate));
        interceptors.extend(policy.guards());
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
    #[serde(default)]
    run_in_background: bool,
}

/// The definition of the tool.
fn spec(definitions: &[Defined]) -> ToolSpec {
    let mut description = "Have a subagent do a task. It sees only the prompt; you get its answer. Calls run in parallel. \
        run_in_background returns at once, and the answer follows as a message."
        .to_owned();
    let mut properties =
        json!({"prompt": {"type": "string"}, "run_in_background": {"type": "boolean"}});
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
                self.start(arguments, &cx).await
            }))
        })
    }
}

impl TaskTool {
    async fn start(&self, arguments: Arguments, cx: &ToolContext) -> ToolOutput {
        let Some(agents) = self.agents.upgrade() else {
            return ToolOutput::error("the session is closing");
        };
        if let Err(message) = agents.find(arguments.agent.as_deref()) {
            return ToolOutput::error(message);
        }
        let weak = std::sync::Weak::clone(&self.agents);
        let kind = arguments.agent.clone();
        let task = Task {
            prompt: arguments.prompt,
            kind: arguments.agent,
            places: Arc::clone(&agents.places),
            start: Box::new(move |subagent| {
                let agents = weak.upgrade().ok_or("the session is closing")?;
                agents.start(kind.as_deref(), subagent)
            }),
        };
        let subagent = Subagent::new(agents.registry.next(), &task, &cx.call_id);
        if arguments.run_in_background && !agents.offer.lock().waits {
            subagent.start_in_background();
        }
        let (work, output) = subagent.begin(task, cx);
        agents.registry.add(Arc::clone(&subagent), work);
        drop(agents);
        subagent.result(output).await
    }
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
