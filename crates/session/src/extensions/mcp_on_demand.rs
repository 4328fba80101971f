//! Tools of MCP servers on demand. If servers have many tools, or their definitions would fill too
//! much of the context window, the model gets one search tool with their names instead. A tool that
//! the model finds, or calls by its name, is loaded: it is appended to the tools of the following
//! requests, which keeps the prompt cache, and stays loaded, also after a resume.

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::emitter::Emitter;
use osier_agent::{
    AgentAccess, AgentMessage, CompactionPoint, Interceptor, PreparedCall, Preparing, Severity,
    StopRun, Tool, ToolHints, ToolOrigin, ToolOutput, ToolSet, ToolSource, prepare_typed,
};
use osier_base::text::{head_bytes, single_line};
use osier_llm::ToolSpec;
use osier_tools::TOOL_SEARCH;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Bytes of the list of names in the description of the search tool.
const LISTED: usize = 4_200;
/// Tools that one search loads.
const FOUND: usize = 8;
/// Bytes of a description in the result of a search.
const DESCRIPTION: usize = 300;
/// Number of tools up to which all can be loaded.
const MOST_TOOLS: usize = 40;
/// Tokens of definitions up to which all can be loaded, however large the context window is.
const MOST_TOKENS: u64 = 10_000;
/// The approximate bytes of a token in a definition.
const BYTES_PER_TOKEN: u64 = 4;

/// The tools of the servers of one session. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct OnDemand(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// All tools of the servers.
    servers: Arc<dyn ToolSource>,
    /// The percentage of the context window that their definitions may fill.
    percent: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The context window of the model in tokens; 0 if it is not known.
    window: u64,
    /// The definitions are too large. Once set, this stays: the tools of a session do not change
    /// back and forth.
    is_deferred: bool,
    /// A line for the user: what loading on demand saves.
    savings: Option<String>,
    /// The names of the loaded tools, in the order in which they were loaded.
    loaded: Vec<String>,
    /// The messages of the conversation were searched for loaded tools.
    is_restored: bool,
    /// The search tool and the names that it lists.
    search: Option<(Vec<String>, Arc<dyn Tool>)>,
}

impl OnDemand {
    /// `window` is the context window of the model in tokens.
    pub(crate) fn new(servers: Arc<dyn ToolSource>, percent: u64, window: u64) -> Self {
        let state = State {
            window,
            ..State::default()
        };
        Self(Arc::new(Shared {
            servers,
            percent,
            state: Mutex::new(state),
        }))
    }

    /// The source of the loaded tools: the last of all, so that they are appended.
    pub(crate) fn loaded(&self) -> Arc<dyn ToolSource> {
        Arc::new(Loaded(self.clone()))
    }

    /// The interceptor that follows the model and restores loaded tools.
    pub(crate) fn interceptor(&self, emitter: &Emitter) -> Arc<dyn Interceptor> {
        Arc::new(Follow(self.clone(), emitter.clone()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Whether the tools are loaded on demand.
    fn is_deferred(&self, tools: &ToolSet) -> bool {
        let mut state = self.state();
        if state.is_deferred || self.0.percent >= 100 || tools.is_empty() {
            return state.is_deferred;
        }
        let tokens = tools.iter().map(size).sum::<u64>() / BYTES_PER_TOKEN;
        let share = state.window / 100 * self.0.percent;
        // A window that is not known has no share.
        let limit = if state.window > 0 {
            share.min(MOST_TOKENS)
        } else {
            MOST_TOKENS
        };
        if tools.len() > MOST_TOOLS || tokens > limit {
            let own = spec(tools);
            let own = serde_json::to_string(&own).map_or(0, |json| json.len() as u64);
            let saved = tokens.saturating_sub(own / BYTES_PER_TOKEN);
            state.is_deferred = true;
            state.savings = Some(format!(
                "{} tools of MCP servers are loaded on demand: about {saved} tokens less in each request",
                tools.len()
            ));
        }
        state.is_deferred
    }

    /// The search tool; the same one as long as the names do not change.
    fn search_tool(&self, tools: &ToolSet) -> Arc<dyn Tool> {
        let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let mut state = self.state();
        if let Some((known, tool)) = &state.search
            && *known == names
        {
            return Arc::clone(tool);
        }
        let tool: Arc<dyn Tool> = Arc::new(SearchTool {
            spec: spec(tools),
            tools: self.clone(),
        });
        state.search = Some((names, Arc::clone(&tool)));
        tool
    }

    /// Loads the tools `names`.
    fn load(&self, names: impl IntoIterator<Item = String>) {
        let mut state = self.state();
        for name in names {
            if !state.loaded.contains(&name) {
                state.loaded.push(name);
            }
        }
    }

    /// Loads what an earlier run of the session has loaded or called.
    fn restore(&self, messages: &[Arc<AgentMessage>]) {
        let known: Vec<String> = self.names();
        let mut found = Vec::new();
        for message in messages {
            match &**message {
                AgentMessage::ToolResult(result) if result.result.tool_name == TOOL_SEARCH => {
                    found.extend(loaded_names(&result.details));
                }
                AgentMessage::Assistant(answer) => {
                    let calls = answer.tool_calls().map(|call| call.name.clone());
                    found.extend(calls.filter(|name| known.contains(name)));
                }
                _ => {}
            }
        }
        self.load(found);
    }

    fn names(&self) -> Vec<String> {
        let tools = self.0.servers.tools();
        tools.iter().map(|tool| tool.spec().name.clone()).collect()
    }

    fn search(&self, query: &str) -> ToolOutput {
        let tools = self.0.servers.tools();
        let found = matches(&tools, query);
        if found.is_empty() {
            let text = "No tool matches. Search with other words, or with a name from the list.";
            return ToolOutput::success(text, json!({"loaded": []}));
        }
        let mut text = "Loaded; call them from your next turn on:".to_owned();
        for tool in &found {
            let ToolSpec {
                name, description, ..
            } = tool.spec();
            let line = single_line(description);
            let _ = write!(text, "\n- {name}: {}", head_bytes(&line, DESCRIPTION));
        }
        let names: Vec<String> = found.iter().map(|tool| tool.spec().name.clone()).collect();
        self.load(names.iter().cloned());
        ToolOutput::success(text, json!({ "loaded": names }))
    }
}

/// The tools of the servers, or the search tool.
impl ToolSource for OnDemand {
    fn tools(&self) -> ToolSet {
        let tools = self.0.servers.tools();
        if self.is_deferred(&tools) {
            vec![self.search_tool(&tools)]
        } else {
            tools
        }
    }

    fn unlisted(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tools = self.0.servers.tools();
        if !self.is_deferred(&tools) {
            return None;
        }
        let tool = tools.into_iter().find(|tool| tool.spec().name == name)?;
        self.load([name.to_owned()]);
        Some(tool)
    }
}

/// The loaded tools.
#[derive(Debug)]
struct Loaded(OnDemand);

impl ToolSource for Loaded {
    fn tools(&self) -> ToolSet {
        let tools = self.0.0.servers.tools();
        if !self.0.is_deferred(&tools) {
            return Vec::new();
        }
        let state = self.0.state();
        let find = |name: &String| tools.iter().find(|tool| tool.spec().name == *name).cloned();
        state.loaded.iter().filter_map(find).collect()
    }
}

#[derive(Debug)]
struct Follow(OnDemand, Emitter);

#[async_trait]
impl Interceptor for Follow {
    async fn make_room(
        &self,
        agent: &dyn AgentAccess,
        point: CompactionPoint,
        _cancel: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, StopRun> {
        if point == CompactionPoint::BeforeRequest {
            let is_restored = {
                let mut state = self.0.state();
                let models = agent.models();
                state.window = models.first().map_or(0, |model| model.context_window);
                std::mem::replace(&mut state.is_restored, true)
            };
            if !is_restored {
                self.0.restore(&agent.messages());
            }
            let savings = self.0.state().savings.take();
            if let Some(text) = savings {
                self.1.notice(Severity::Info, text);
            }
        }
        Ok(None)
    }
}

/// The tool that finds and loads the others.
#[derive(Debug)]
struct SearchTool {
    spec: ToolSpec,
    tools: OnDemand,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    query: String,
}

impl Tool for SearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn hints(&self) -> ToolHints {
        ToolHints::READS
    }

    fn prepare(self: Arc<Self>, arguments: Value) -> Preparing {
        prepare_typed(arguments, async move |Arguments { query }| {
            Ok(PreparedCall::new(async move |_| self.tools.search(&query)))
        })
    }
}

/// Bytes of a definition.
fn size(tool: &Arc<dyn Tool>) -> u64 {
    serde_json::to_string(tool.spec()).map_or(0, |json| json.len() as u64)
}

/// The server of a tool, and the name of the tool without it.
fn parts(tool: &Arc<dyn Tool>) -> (String, String) {
    let name = &tool.spec().name;
    match tool.origin() {
        ToolOrigin::Server { server, .. } => {
            let (start, rest) = name.split_once("__").unwrap_or(("", name));
            let server = if start.is_empty() {
                server
            } else {
                start.to_owned()
            };
            (server, rest.to_owned())
        }
        _ => (String::new(), name.clone()),
    }
}

fn spec(tools: &ToolSet) -> ToolSpec {
    let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tool in tools {
        let (server, name) = parts(tool);
        servers.entry(server).or_default().push(name);
    }
    let mut description =
        "Find tools of MCP servers and load them. Query: words of their names or descriptions, or \
         complete names (SERVER__TOOL) separated by commas."
            .to_owned();
    // Every server gets the same share of the list.
    let share = LISTED / servers.len().max(1);
    for (server, names) in &servers {
        let mut list = String::new();
        let mut left = 0;
        for name in names {
            let comma = if list.is_empty() { "" } else { "," };
            if left == 0 && list.len() + comma.len() + name.len() <= share {
                let _ = write!(list, "{comma}{name}");
            } else {
                left += 1;
            }
        }
        let more = match left {
            0 => String::new(),
            left => format!(" and {left} more"),
        };
        if description.len() < 2 * LISTED {
            let _ = write!(description, "\n{server}: {list}{more}");
        }
    }
    ToolSpec {
        name: TOOL_SEARCH.to_owned(),
        description,
        parameters: json!({
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
        }),
        freeform: None,
    }
}

/// The tools that match best, best first: tools that the query names completely, otherwise tools that match its words.
fn matches(tools: &ToolSet, query: &str) -> ToolSet {
    let query = query.to_lowercase();
    let query = query.strip_prefix("select:").unwrap_or(&query);
    let named: Vec<&str> = query.split([',', ' ', '\n']).map(str::trim).collect();
    let is_named = |tool: &&Arc<dyn Tool>| {
        let name = tool.spec().name.to_lowercase();
        let (_, short) = parts(tool);
        named
            .iter()
            .any(|named| *named == name || *named == short.to_lowercase())
    };
    let exact: ToolSet = tools.iter().filter(is_named).take(FOUND).cloned().collect();
    if !exact.is_empty() {
        return exact;
    }
    let words: Vec<&str> = query
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .collect();
    let score = |tool: &Arc<dyn Tool>| -> usize {
        let name = tool.spec().name.to_lowercase();
        let description = tool.spec().description.to_lowercase();
        let of = |word: &&str| {
            // `issues` finds `issue`.
            let stem = word
                .strip_suffix('s')
                .filter(|stem| stem.len() > 2)
                .unwrap_or(word);
            3 * usize::from(name.contains(stem)) + usize::from(description.contains(stem))
        };
        words.iter().map(of).sum()
    };
    let mut scored: Vec<(usize, &Arc<dyn Tool>)> = tools
        .iter()
        .map(|tool| (score(tool), tool))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by(|(one, first), (other, second)| {
        let names = (&first.spec().name, &second.spec().name);
        other.cmp(one).then_with(|| names.0.cmp(names.1))
    });
    // A tool that matches much worse than the best is not loaded.
    let best = scored.first().map_or(0, |(score, _)| *score);
    let near = scored.into_iter().filter(|(score, _)| score * 2 > best);
    near.take(FOUND).map(|(_, tool)| Arc::clone(tool)).collect()
}

fn loaded_names(details: &Value) -> Vec<String> {
    let names = details.get("loaded").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_llm::{AssistantMessage, ToolCall};

    /// A tool of a server.
    #[derive(Debug)]
    struct Listed(ToolSpec, &'static str);

    impl Tool for Listed {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn origin(&self) -> ToolOrigin {
            ToolOrigin::Server {
                server: self.1.to_owned(),
                tool: self.0.name.clone(),
            }
        }

        fn prepare(self: Arc<Self>, _: Value) -> Preparing {
            PreparedCall::new(async |_| ToolOutput::success("", Value::Null)).ready()
        }
    }

    #[derive(Debug)]
    struct Fixed(ToolSet);

    impl ToolSource for Fixed {
        fn tools(&self) -> ToolSet {
            self.0.clone()
        }
    }

    fn listed(server: &'static str, tool: &str, description: &str) -> Arc<dyn Tool> {
        let text = json!({"type": "string", "description": "a text that the tool needs"});
        let parameters = json!({"type": "object", "properties": {"one": text, "two": text}});
        let spec = ToolSpec {
            name: format!("{server}__{tool}"),
            description: description.to_owned(),
            parameters,
            freeform: None,
        };
        Arc::new(Listed(spec, server))
    }

    fn some() -> ToolSet {
        vec![
            listed("github", "create_issue", "Create an issue in a repository"),
            listed("github", "list_issues", "List issues"),
            listed("github", "merge_pull_request", "Merge a pull request"),
            listed("files", "read_file", "Read a file of the store"),
        ]
    }

    fn deferred(tools: ToolSet) -> OnDemand {
        OnDemand::new(Arc::new(Fixed(tools)), 10, 1_000)
    }

    fn names(source: &dyn ToolSource) -> Vec<String> {
        let tools = source.tools();
        tools.iter().map(|tool| tool.spec().name.clone()).collect()
    }

    /// The tokens of 300 tools at the start of a session.
    #[test]
    fn three_hundred_tools_cost_at_most_2000_tokens() {
        let servers = [
            "github",
            "jira",
            "playwright-browser",
            "internal_database_admin",
        ];
        let tools = (0..300).map(|number| {
            let verb = ["create", "list", "update", "search", "delete"][number % 5];
            let noun = [
                "repository_issue",
                "pull_request_review",
                "user_account",
                "deployment",
            ][number % 4];
            listed(
                servers[number % servers.len()],
                &format!("{verb}_{noun}_{number}"),
                "A description of a few words, as servers write it.",
            )
        });
        let tools: ToolSet = tools.collect();
        let tokens = |tools: &ToolSet| -> usize {
            let count = |tool: &Arc<dyn Tool>| {
                let json = serde_json::to_string(tool.spec()).unwrap();
                bpe_openai::o200k_base().count(&json)
            };
            tools.iter().map(count).sum()
        };
        let all = tokens(&tools);
        let on_demand = OnDemand::new(Arc::new(Fixed(tools)), 10, 200_000);
        let (first, loaded) = (on_demand.tools(), on_demand.loaded().tools());
        let cost = tokens(&first) + tokens(&loaded);
        eprintln!("300 tools: {all} tokens, on demand {cost}");
        assert_eq!(names(&on_demand), [TOOL_SEARCH]);
        assert!(all > 15_000, "{all}");
        assert!(cost <= 2_000, "{cost}");
        let text = &first[0].spec().description;
        for server in servers {
            assert!(text.contains(&format!("\n{server}: ")), "{text}");
        }
    }

    #[test]
    fn few_tools_are_offered_at_once() {
        let on_demand = OnDemand::new(Arc::new(Fixed(some())), 10, 0);
        let all: Vec<String> = some().iter().map(|tool| tool.spec().name.clone()).collect();
        assert_eq!(names(&on_demand), all);
        on_demand.state().window = 200_000;
        assert_eq!(names(&on_demand), all);
        assert_eq!(names(&*on_demand.loaded()), [""; 0]);
        // 100 turns loading on demand off.
        let never = OnDemand::new(Arc::new(Fixed(some())), 100, 10);
        assert_eq!(names(&never), all);
    }

    #[test]
    fn many_tools_are_loaded_on_demand_in_every_window() {
        let tools = |count: usize, description: &str| -> ToolSet {
            let names = (0..count).map(|number| format!("tool_{number}"));
            names.map(|name| listed("s", &name, description)).collect()
        };
        let is_deferred = |tools: ToolSet, window: u64| {
            let on_demand = OnDemand::new(Arc::new(Fixed(tools)), 2, window);
            names(&on_demand) == [TOOL_SEARCH]
        };
        let long = "x".repeat(10_000);
        for (tools, window, expected) in [
            (tools(40, ""), 1_000_000, false),
            (tools(41, ""), 1_000_000, true),
            (tools(41, ""), 0, true),
            // About 2,600 tokens each.
            (tools(3, &long), 1_000_000, false),
            (tools(4, &long), 1_000_000, true),
            (tools(2, &long), 200_000, true),
            (tools(1, &long), 200_000, false),
        ] {
            assert_eq!(is_deferred(tools, window), expected, "{window}");
        }
    }

    #[test]
    fn a_tool_that_is_called_by_its_name_is_loaded() {
        let on_demand = deferred(some());
        assert!(on_demand.unlisted("files__write_file").is_none());
        let tool = on_demand.unlisted("files__read_file").unwrap();
        assert_eq!(tool.spec().name, "files__read_file");
        assert_eq!(names(&*on_demand.loaded()), ["files__read_file"]);
        // All tools are offered.
        let few = OnDemand::new(Arc::new(Fixed(some())), 100, 0);
        assert!(few.unlisted("files__read_file").is_none());
    }

    #[test]
    fn found_tools_are_appended_in_the_order_of_loading() {
        let on_demand = deferred(some());
        assert_eq!(names(&on_demand), [TOOL_SEARCH]);
        let search = on_demand.tools();
        let output = on_demand.search("read a file");
        assert_eq!(
            output.content[0].as_text(),
            Some(
                "Loaded; call them from your next turn on:\n- files__read_file: Read a file of the store"
            )
        );
        assert_eq!(output.details, json!({"loaded": ["files__read_file"]}));
        on_demand.search("select:github__list_issues, create_issue");
        let loaded = [
            "files__read_file",
            "github__create_issue",
            "github__list_issues",
        ];
        assert_eq!(names(&*on_demand.loaded()), loaded);
        // The definitions before them are the same objects.
        assert!(Arc::ptr_eq(&search[0], &on_demand.tools()[0]));
        let output = on_demand.search("weather");
        assert_eq!(output.details, json!({"loaded": []}));
        assert_eq!(names(&*on_demand.loaded()), loaded);
    }

    #[test]
    fn issues_find_the_tools_about_them() {
        let found = matches(&some(), "issues of github");
        let found: Vec<&str> = found.iter().map(|tool| tool.spec().name.as_str()).collect();
        assert_eq!(found, ["github__create_issue", "github__list_issues"]);
    }

    #[test]
    fn resumed_session_has_its_tools() {
        let on_demand = deferred(some());
        let mut answer = AssistantMessage::default();
        answer
            .content
            .push(osier_llm::AssistantBlock::ToolCall(ToolCall {
                id: "call".to_owned(),
                name: "github__merge_pull_request".to_owned(),
                arguments: json!({}),
                arguments_error: None,
                signature: None,
                original: None,
            }));
        let mut result = osier_agent::ToolResultMessage::default();
        result.result.tool_name = TOOL_SEARCH.to_owned();
        result.details = json!({"loaded": ["github__list_issues", "gone__tool"]});
        let messages = [
            AgentMessage::ToolResult(result),
            AgentMessage::Assistant(answer),
        ];
        on_demand.restore(&messages.map(Arc::new));
        let loaded = ["github__list_issues", "github__merge_pull_request"];
        assert_eq!(names(&*on_demand.loaded()), loaded);
    }
}
