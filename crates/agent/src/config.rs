//! The configuration of an agent.

use std::sync::Arc;

use osier_llm::{CacheRetention, Model, ThinkingLevel};

use crate::data::AgentMessage;
use crate::history::History;
use crate::interceptor::Interceptor;
use crate::retry::RetryPolicy;
use crate::tool::{ToolSet, ToolSource};
use crate::transport::Transport;

/// Everything an agent starts with.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    pub transport: Arc<dyn Transport>,
    /// The preferred model, then its fallbacks.
    pub models: Vec<Arc<Model>>,
    pub thinking: ThinkingLevel,
    pub system_prompt: String,
    pub tools: ToolSet,
    /// Sources of tools that change during the agent's life. Their tools follow `tools`, in this order.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// The interceptors, which are called in this order.
    pub interceptors: Vec<Arc<dyn Interceptor>>,
    /// The conversation so far.
    pub messages: Vec<Arc<AgentMessage>>,
    /// The source of the messages before `messages`; loaded with the first request.
    pub history: Option<Arc<dyn History>>,
    pub retry: RetryPolicy,
    /// Maximum number of model calls per run; no limit when not set.
    pub max_turns: Option<u32>,
    pub temperature: Option<f32>,
    /// Groups the calls of one session for the provider's prompt cache.
    pub cache_key: Option<String>,
    /// How long the provider keeps its prompt cache.
    pub cache_retention: CacheRetention,
    /// Whether to log complete requests and answers.
    pub trace: bool,
}

impl AgentConfig {
    /// A minimal agent: one model, no tools, no storage.
    pub fn new(transport: Arc<dyn Transport>, model: Model) -> Self {
        Self {
            transport,
            models: vec![Arc::new(model)],
            thinking: ThinkingLevel::Off,
            system_prompt: String::new(),
            tools: Vec::new(),
            sources: Vec::new(),
            interceptors: Vec::new(),
            messages: Vec::new(),
            history: None,
            retry: RetryPolicy::default(),
            max_turns: None,
            temperature: None,
            cache_key: None,
            cache_retention: CacheRetention::default(),
            trace: false,
        }
    }

    /// The fixed tools, then the current tools of the sources.
    pub(crate) fn current_tools(&self) -> ToolSet {
        let from_sources = self.sources.iter().flat_map(|source| source.tools());
        self.tools.iter().cloned().chain(from_sources).collect()
    }
}
