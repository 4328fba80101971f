//! Tools that a vendor refuses.

use super::{Diagnosis, REFUSALS, Refusal, is_named, path_after};
use crate::http::adapt::{Change, hash_of_tool, server_of};
use crate::provider::ToolSpec;

impl Refusal<'_> {
    /// Diagnoses errors about a tool, or about all tools.
    pub(super) fn tool(&self) -> Option<Diagnosis> {
        let tools = &self.request.context.tools;
        if tools.is_empty() {
            return None;
        }
        let at = [self.param.as_str(), self.text.as_str()]
            .into_iter()
            .find_map(tool_index);
        let is_about_tools = self.says(&["tool", "function", "schema"]);
        let quoted = |name: &str| {
            let name = name.to_lowercase();
            let quotes = ['\'', '"', '`'];
            quotes
                .iter()
                .any(|quote| self.text.contains(&format!("{quote}{name}{quote}")))
                || self.text.contains(&format!("function {name}:"))
                || self.text.contains(&format!("tool {name}:"))
        };
        let named = at.and_then(|at| tools.get(at)).or_else(|| {
            let about = || tools.iter().filter(|_| is_about_tools);
            about().find(|tool| quoted(&tool.name)).or_else(|| {
                // The MCP server's own name of the tool, if only one tool has it.
                let of_server =
                    |tool: &&ToolSpec| server_of(&tool.name).is_some_and(|(_, name)| quoted(name));
                let mut found = about().filter(of_server);
                found.next().filter(|_| found.next().is_none())
            })
        });
        if let Some(tool) = named {
            let change = Change::Tools(vec![(tool.name.clone(), hash_of_tool(tool))]);
            let what = format!("the tool `{}`", tool.name);
            return Some(self.diagnosis(change, &what, "it is left out"));
        }
        if let Some(limit) = self.tool_limit(tools.len()) {
            let then = format!("requests have at most {limit} tools; the others are left out");
            return Some(self.diagnosis(Change::ToolLimit(limit), "so many tools", &then));
        }
        let has_none = self.says(&[
            "support tool",
            "support function",
            "tools are not",
            "tools is not",
            "tool use is not",
            "tool calling is not",
            "function calling is not",
            "--jinja",
            "--enable-auto-tool-choice",
            "tool-call-parser",
        ]) || (is_named(&self.text, "tools")
            && self.says(&REFUSALS[..12])
            && !self.says(&["schema"]));
        if has_none || self.has_param("tools") {
            return Some(self.diagnosis(Change::NoTools, "tools", "it is called without them"));
        }
        // The error names no tool, so the tool is searched for.
        (is_about_tools && self.says(&SCHEMA_WORDS)).then(|| {
            self.diagnosis(
                Change::UnknownTool,
                "a tool",
                "the error does not say which",
            )
        })
    }

    /// The maximum number of tools in an error about their number.
    fn tool_limit(&self, count: usize) -> Option<usize> {
        let is_list = self.says(&["'tools'", "\"tools\"", "`tools`", "tools:"])
            || self.param == "tools"
            || self.says(&[
                "number of tools",
                "too many tools",
                "too many functions",
                "number of functions",
            ]);
        let is_number = self.says(&[
            "too long",
            "too many",
            "maximum",
            "at most",
            "exceed",
            "up to",
            "more than",
        ]);
        if !is_list || !is_number || self.says(&["schema", "token", "depth", "nest"]) {
            return None;
        }
        let numbers = self.text.split(|char: char| !char.is_ascii_digit());
        let numbers = numbers.filter_map(|number| number.parse::<usize>().ok());
        let limit = numbers.filter(|limit| (1..count).contains(limit)).max();
        Some(limit.unwrap_or(count / 2)).filter(|limit| *limit > 0)
    }
}

/// Words of errors about the definition of a tool.
const SCHEMA_WORDS: [&str; 8] = [
    "schema",
    "parameters",
    "properties",
    "definition",
    "declaration",
    "array too long",
    "maximum length",
    "grammar",
];

/// The index of the tool that a path names.
fn tool_index(text: &str) -> Option<usize> {
    for root in ["function_declarations", "functiondeclarations", "tools"] {
        if let Some(parts) = path_after(text, root)
            && let Some(Ok(index)) = parts.first().map(|part| part.parse())
        {
            return Some(index);
        }
    }
    None
}
