//! Which tools of an agent are offered to the model.

use std::collections::HashSet;
use std::sync::Arc;

use osier_llm::ToolSpec;

use super::interface::{Tool, ToolSet};
use super::toolbox::Toolbox;
use crate::data::ToolInfo;

/// The tools of an agent and which of them are offered.
#[derive(Debug, Clone)]
pub(crate) struct ToolSelection {
    /// All tools, including those that are not offered.
    pub(crate) toolbox: Arc<Toolbox>,
    /// Names of the tools that are not offered.
    withheld: HashSet<String>,
}

impl ToolSelection {
    pub(crate) fn new(tools: ToolSet) -> Self {
        Self {
            toolbox: Arc::new(Toolbox::new(tools)),
            withheld: HashSet::new(),
        }
    }

    /// The tool `name`, if calls of it can run.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let tool = self.toolbox.get(name);
        tool.filter(|tool| self.can_run(tool))
    }

    /// The tools whose calls can run: the offered tools and their other forms.
    pub(super) fn callable(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let tools = self.toolbox.iter();
        tools.filter(|tool| self.can_run(tool))
    }

    pub(crate) fn is_withheld(&self, name: &str) -> bool {
        self.withheld.contains(name)
    }

    fn offered_tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.callable().filter(|tool| !self.is_form(tool))
    }

    /// Whether the tool is another form of tools that the agent has. It is not selected on its own.
    fn is_form(&self, tool: &Arc<dyn Tool>) -> bool {
        let mut replaced = tool.replaces().iter();
        replaced.any(|name| self.toolbox.get(name).is_some())
    }

    fn can_run(&self, tool: &Arc<dyn Tool>) -> bool {
        let is_selected =
            |name: &str| self.toolbox.get(name).is_some() && !self.withheld.contains(name);
        if self.is_form(tool) {
            return tool.replaces().iter().all(|name| is_selected(name));
        }
        !self.withheld.contains(&tool.spec().name)
    }

    /// Names of the offered tools, in the order the model sees them.
    pub(crate) fn offered(&self) -> Vec<String> {
        let names = self.offered_tools().map(|tool| tool.spec().name.clone());
        names.collect()
    }

    /// The specifications of the offered tools. Their order is stable, which preserves the provider's cache.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let specs = self.offered_tools().map(|tool| tool.spec().clone());
        specs.collect()
    }

    /// Descriptions of all tools for a list.
    pub(crate) fn info(&self) -> Vec<ToolInfo> {
        let info = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            ToolInfo {
                name: spec.name.clone(),
                title: tool.title(),
                description: spec.description.clone(),
                origin: tool.origin(),
                hints: tool.hints(),
                offered: !self.withheld.contains(&spec.name),
                bytes: serde_json::to_string(spec).map_or(0, |json| json.len()),
            }
        };
        let tools = self.toolbox.iter().filter(|tool| !self.is_form(tool));
        tools.map(info).collect()
    }

    /// Offers only the tools in `names`; returns the known names.
    pub(crate) fn select(&mut self, names: &[String]) -> Vec<String> {
        let known = self.toolbox.names();
        let others = known.iter().filter(|name| !names.contains(name));
        self.withheld = others.cloned().collect();
        known
    }

    /// Replaces the tools; returns whether they changed.
    pub(crate) fn replace(&mut self, tools: ToolSet) -> bool {
        let toolbox = self.toolbox.with(tools);
        let is_changed = !toolbox.is_same(&self.toolbox);
        if is_changed {
            self.toolbox = Arc::new(toolbox);
        }
        is_changed
    }
}
