//! An agent with scripted models and test tools.
//!
//! Time is paused: a wait that would never end fails at once, because the clock jumps to its deadline when nothing
//! else can run.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use osier_agent::{
    Agent, AgentConfig, AgentMessage, Concurrency, Event, Interceptor, Op, PreparedCall, Preparing,
    ProviderTransport, RunOutcome, Subscription, Tool, ToolContext, ToolOrigin, ToolOutput,
    ToolSet, ToolSource,
};
use osier_llm::{
    Api, Compat, Message, Modality, Model, Price, Request, Script, ScriptedProvider, ThinkingLevel,
    ToolSpec,
};
use serde_json::{Value, json};

use super::event_lines::{outline, quiet};

/// Longer than any wait in a test.
const FOREVER: Duration = Duration::from_hours(24);

/// Builds an agent.
pub(crate) struct AgentSetup {
    provider: ScriptedProvider,
    config: AgentConfig,
    prompt: String,
}

/// A scripted model by its `PROVIDER/ID`.
pub(crate) fn model(reference: &str) -> Model {
    let (provider, id) = reference.split_once('/').expect("PROVIDER/ID");
    Model {
        provider: provider.into(),
        id: id.into(),
        name: id.into(),
        api: Api::Scripted,
        base_url: String::new(),
        context_window: 100_000,
        max_tokens: 4096,
        thinking_levels: vec![ThinkingLevel::Off],
        input: vec![Modality::Text],
        price: Price::default(),
        headers: std::collections::BTreeMap::new(),
        compat: Compat::default(),
        tuning: osier_llm::Tuning::default(),
    }
}

impl AgentSetup {
    /// An agent with the model `test/one`, which has no script yet, and without tools.
    pub(crate) fn new() -> Self {
        let provider = ScriptedProvider::default().recording();
        let transport = ProviderTransport::new(Arc::new(provider.clone()), None);
        Self {
            provider,
            config: AgentConfig::new(Arc::new(transport), model("test/one")),
            prompt: "hello".into(),
        }
    }

    /// The script of the first model.
    pub(crate) fn script(self, script: Script) -> Self {
        let first = self.config.models[0].reference();
        self.provider.insert(&first, script);
        self
    }

    /// Adds a fallback model.
    pub(crate) fn fallback(mut self, reference: &str, script: Script) -> Self {
        self.config.models.push(Arc::new(model(reference)));
        self.provider.insert(reference, script);
        self
    }

    pub(crate) fn tool(mut self, tool: TestTool) -> Self {
        self.config.tools.push(Arc::new(tool));
        self
    }

    /// Adds a source of tools.
    pub(crate) fn source(mut self, source: &TestSource) -> Self {
        self.config.sources.push(Arc::new(source.clone()));
        self
    }

    pub(crate) fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.config.interceptors.push(Arc::new(interceptor));
        self
    }

    pub(crate) fn max_turns(mut self, turns: u32) -> Self {
        self.config.max_turns = Some(turns);
        self
    }

    pub(crate) fn max_retries(mut self, retries: u32) -> Self {
        self.config.retry.max_retries = retries;
        self
    }

    pub(crate) fn prompt(mut self, text: &str) -> Self {
        self.prompt = text.into();
        self
    }

    /// Starts the agent without a prompt.
    pub(crate) fn start(self) -> RunningAgent {
        let agent = Agent::spawn(self.config);
        RunningAgent {
            events: agent.subscribe(),
            agent,
            provider: self.provider,
        }
    }

    /// Runs the prompt to its end.
    pub(crate) async fn run(self) -> FinishedRun {
        let prompt = self.prompt.clone();
        let mut stage = self.start();
        stage.agent.prompt(prompt, Vec::new());
        let events = stage.settled().await;
        FinishedRun { events, stage }
    }
}

/// A running agent.
pub(crate) struct RunningAgent {
    pub(crate) agent: Agent,
    pub(crate) events: Subscription<Event>,
    pub(crate) provider: ScriptedProvider,
}

/// The events and the state after a run.
pub(crate) struct FinishedRun {
    pub(crate) events: Vec<Event>,
    pub(crate) stage: RunningAgent,
}

impl RunningAgent {
    /// The events up to and including the first that `wanted` accepts.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        loop {
            let next = tokio::time::timeout(FOREVER, self.events.recv()).await;
            match next {
                Ok(Some(event)) => {
                    let found = wanted(&event);
                    seen.push(event);
                    if found {
                        return seen;
                    }
                }
                Ok(None) => panic!("the agent is gone after {:#?}", outline(&seen)),
                Err(error) => panic!("nothing follows ({error}) {:#?}", outline(&seen)),
            }
        }
    }

    /// The events up to the end of the run.
    pub(crate) async fn settled(&mut self) -> Vec<Event> {
        self.until(|event| matches!(event, Event::AgentSettled { .. }))
            .await
    }

    /// Waits until the answer in progress contains `text`.
    pub(crate) async fn said(&mut self, text: &str) {
        self.until(|event| match event {
            Event::MessageUpdate {
                delta: osier_llm::Delta::TextDelta { delta, .. },
                ..
            } => delta.contains(text),
            _ => false,
        })
        .await;
    }

    /// Sends `op` and waits until the agent has processed it and every op before it.
    pub(crate) async fn apply(&mut self, op: Op) -> Vec<Event> {
        self.agent.send(op);
        self.agent.send(Op::GetState);
        let mut events = self
            .until(|event| matches!(event, Event::State { .. }))
            .await;
        events.pop();
        events
    }

    /// The conversation, one line per message.
    pub(crate) fn conversation(&self) -> Vec<String> {
        let messages = self.agent.state().messages;
        messages.iter().map(|message| speak(message)).collect()
    }

    /// The messages of the last request, one line per message.
    pub(crate) fn last_request(&self) -> Vec<String> {
        sent(&self.provider.last_request().expect("a request"))
    }

    pub(crate) fn requests(&self) -> Vec<Vec<String>> {
        self.provider.requests().iter().map(sent).collect()
    }
}

impl FinishedRun {
    pub(crate) fn outcome(&self) -> RunOutcome {
        match self.events.last() {
            Some(Event::AgentSettled { outcome }) => outcome.clone(),
            other => panic!("the last event is {other:?}"),
        }
    }

    /// Every event except log and accounting, one line each.
    pub(crate) fn story(&self) -> Vec<String> {
        outline(&quiet(&self.events))
    }
}

/// `user: hi`, `assistant: text [tool {..}]`, `result call error: text`.
pub(crate) fn speak(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(user) => format!("user: {}", user.text),
        AgentMessage::Assistant(answer) => {
            let mut line = format!("assistant: {}", answer.text());
            for call in answer.tool_calls() {
                let _ = write!(line, " [{} {}]", call.name, call.arguments);
            }
            line
        }
        AgentMessage::ToolResult(result) => {
            format!(
                "result {} {}: {}",
                result.result.tool_call_id,
                result.status.name(),
                message.text()
            )
        }
        AgentMessage::ShellRun(run) => format!("shell {}: {}", run.command, run.output),
        other => format!("other: {}", other.text()),
    }
}

/// The messages of a request, one line each.
pub(crate) fn sent(request: &Request) -> Vec<String> {
    let text = |content: &[osier_llm::ContentBlock]| {
        let texts = content.iter().filter_map(|block| block.as_text());
        texts.collect::<Vec<_>>().join("|")
    };
    let messages = &request.context.messages;
    messages
        .iter()
        .map(|message| match message {
            Message::User(user) => format!("user: {}", text(&user.content)),
            Message::Assistant(answer) => speak(&AgentMessage::Assistant(answer.clone())),
            Message::ToolResult(result) => {
                format!("result {}: {}", result.tool_call_id, text(&result.content))
            }
        })
        .collect()
}

type Behaviour = dyn Fn(Value, ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync;
type ConcurrencyRule = dyn Fn(&Value) -> Concurrency + Send + Sync;

/// A test tool.
pub(crate) struct TestTool {
    spec: ToolSpec,
    origin: ToolOrigin,
    rule: Box<ConcurrencyRule>,
    behaviour: Box<Behaviour>,
}

impl TestTool {
    /// A tool without a schema that runs `work`.
    pub(crate) fn new<F, W>(name: &str, work: W) -> Self
    where
        W: Fn(Value, ToolContext) -> F + Send + Sync + 'static,
        F: Future<Output = ToolOutput> + Send + 'static,
    {
        Self {
            spec: ToolSpec {
                freeform: None,
                name: name.into(),
                description: format!("the test tool {name}"),
                parameters: json!({"type": "object"}),
            },
            origin: ToolOrigin::Program,
            rule: Box::new(|_| Concurrency::Parallel),
            behaviour: Box::new(move |arguments, cx| work(arguments, cx).boxed()),
        }
    }

    /// A tool that returns its text argument and records the call in the journal.
    pub(crate) fn echo(journal: &Journal) -> Self {
        let journal = journal.clone();
        Self::new("echo", move |arguments, _| {
            let journal = journal.clone();
            async move {
                let text = arguments["text"].as_str().unwrap_or_default().to_owned();
                journal.note(format!("echo {text}"));
                ToolOutput::success(text, Value::Null)
            }
        })
        .schema(json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": false,
        }))
    }

    pub(crate) fn of_server(mut self, server: &str, tool: &str) -> Self {
        self.origin = ToolOrigin::Server {
            server: server.into(),
            tool: tool.into(),
        };
        self
    }

    pub(crate) fn schema(mut self, parameters: Value) -> Self {
        self.spec.parameters = parameters;
        self
    }

    pub(crate) fn concurrency_rule(
        mut self,
        rule: impl Fn(&Value) -> Concurrency + Send + Sync + 'static,
    ) -> Self {
        self.rule = Box::new(rule);
        self
    }
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> ToolOrigin {
        self.origin.clone()
    }

    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing {
        let concurrency = (self.rule)(&arguments);
        let prepared = PreparedCall::new(move |cx| (self.behaviour)(arguments, cx));
        prepared.running(concurrency).ready()
    }
}

/// Runs a call that nothing judges.
pub(crate) async fn call(tool: &Arc<dyn Tool>, arguments: Value, cx: ToolContext) -> ToolOutput {
    match Arc::clone(tool).prepare(arguments).await {
        Ok(mut call) => call.run(cx).await,
        Err(refusal) => refusal.into(),
    }
}

impl fmt::Debug for TestTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TestTool({})", self.spec.name)
    }
}

/// The calls of tools and interceptors, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn note(&self, line: impl Into<String>) {
        self.0.lock().expect("the journal").push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("the journal").clone()
    }
}

/// A source of tools that the test adds and removes.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestSource(Arc<Mutex<ToolSet>>);

impl TestSource {
    pub(crate) fn put(&self, tools: Vec<TestTool>) {
        let tools = tools
            .into_iter()
            .map(|tool| Arc::new(tool) as Arc<dyn Tool>);
        *self.0.lock().expect("the tools") = tools.collect();
    }
}

impl ToolSource for TestSource {
    fn tools(&self) -> ToolSet {
        self.0.lock().expect("the tools").clone()
    }
}
