//! Patches of Codex and opencode in the arguments of a call.

use osier_llm::ToolCall;
use osier_tools::PATCH;
use serde_json::Value;

/// The files that a call of `apply_patch` changes, for its title.
pub(crate) fn files(call: &ToolCall) -> Option<String> {
    if !matches!(call.name.as_str(), PATCH | "patch") {
        return None;
    }
    let patch = ["input", "patchText", "patch"]
        .iter()
        .find_map(|name| call.arguments.get(*name).and_then(Value::as_str))?;
    let names = patch.lines().filter_map(|line| {
        let line = line.strip_prefix("*** ")?;
        ["Add File: ", "Update File: ", "Delete File: ", "Move to: "]
            .iter()
            .find_map(|start| line.strip_prefix(start))
    });
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_title_of_a_patch_names_its_files() {
        let call = |name: &str, input: &str| ToolCall {
            name: name.into(),
            arguments: json!({"input": input}),
            ..ToolCall::default()
        };
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n-x\n+y\n*** Delete File: c\n*** End Patch";
        assert_eq!(
            files(&call("apply_patch", patch)).as_deref(),
            Some("a.rs, b.rs, c")
        );
        assert_eq!(files(&call("apply_patch", "text")), None);
        assert_eq!(files(&call("bash", patch)), None);
    }
}
