//! The tools of the open session as one list: what the model is offered, where each comes from, and
//! what its definition costs. Turning one off or on holds for the session, from the next request on.

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::host::Task;
use super::session::prompt;
use crate::agent::{self, Severity, ToolSet};
use crate::coding::tools;
use crate::llm::ToolSpec;

/// Bytes of a definition that make a token, as JSON of this kind comes to.
const BYTES_A_TOKEN: usize = 4;

/// One tool of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolInfo {
    /// As the model calls it.
    pub name: String,
    /// `built in`, or the server or plug-in that brings it.
    pub source: String,
    pub description: String,
    /// What its definition costs with every request, about.
    pub tokens: u64,
    /// It changes nothing.
    pub read_only: bool,
    /// The model is offered it.
    pub enabled: bool,
}

impl ToolInfo {
    /// An enabled tool from `source`.
    pub fn new(spec: &ToolSpec, source: impl Into<String>, read_only: bool) -> Self {
        let definition = serde_json::to_string(spec).unwrap_or_default();
        Self {
            name: spec.name.clone(),
            source: source.into(),
            description: spec.description.clone(),
            tokens: definition.len().div_ceil(BYTES_A_TOKEN) as u64,
            read_only,
            enabled: true,
        }
    }
}

/// The list, in the order the model sees it.
#[derive(Debug, Default)]
pub(super) struct Tools(Vec<ToolInfo>);

impl Tools {
    pub(super) fn built_in(tools: &ToolSet) -> Self {
        let infos = tools.iter().map(|tool| {
            let spec = tool.spec();
            let read_only = tools::find(&spec.name).is_some_and(|tool| tool.read_only);
            ToolInfo::new(spec, "built in", read_only)
        });
        Self(infos.collect())
    }

    /// Names of the tools that are on.
    pub(super) fn enabled(&self) -> Vec<String> {
        let enabled = self.0.iter().filter(|tool| tool.enabled);
        enabled.map(|tool| tool.name.clone()).collect()
    }

    /// Turns on those of `names` and no others.
    pub(super) fn offer(&mut self, names: &[String]) {
        for tool in &mut self.0 {
            tool.enabled = names.contains(&tool.name);
        }
    }

    fn set(&mut self, name: &str, enabled: bool) -> bool {
        let tool = self.0.iter_mut().find(|tool| tool.name == name);
        let Some(tool) = tool else { return false };
        tool.enabled = enabled;
        true
    }
}

impl Task {
    pub(super) fn list_tools(&self) {
        let tools = self.session.as_ref().map(|session| session.tools.0.clone());
        self.publish(Event::Tools {
            tools: tools.unwrap_or_default(),
        });
    }

    pub(super) fn set_tool_enabled(&mut self, name: &str, enabled: bool) {
        let Some(session) = &mut self.session else {
            return;
        };
        if !session.tools.set(name, enabled) {
            let text = format!("there is no tool `{name}` to turn on or off");
            return self.notice(Severity::Warning, text);
        }
        let names = session.tools.enabled();
        // The prompt names tools, too.
        let prompt = prompt(&self.setup, &names);
        session.agent.send(agent::Op::SetTools { names });
        session.agent.send(agent::Op::SetSystemPrompt { prompt });
        self.list_tools();
    }
}
