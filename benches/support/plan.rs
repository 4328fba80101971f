//! The scenario that a request selects: that of the last prompt with a scenario.

use serde_json::{Value, json};

use super::wire::Call;

/// Ends a streamed answer.
pub(crate) const END: &str = "END-7391";
/// The answer to anything else.
pub(crate) const SHORT: &str = "ok, ready END-SHORT";

/// The answer to send.
#[derive(Debug)]
pub(crate) enum Plan {
    /// `[[stream n=N ms=MS]]`: N deltas, MS milliseconds apart.
    Stream {
        count: usize,
        pause: f64,
    },
    /// `[[tools n=N]]`: N turns with one command each.
    Tool(Call),
    Short,
}

/// The names of the shell tool.
const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "exec_command",
    "Bash",
    "shell_command",
    "local_shell",
];

impl Plan {
    pub(crate) fn of(body: &Value) -> Self {
        let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let (prompt, results) = last_scenario(body);
        // A request without tools is for a title or a summary.
        if tools.is_empty() {
            return Self::Short;
        }
        if let Some((count, pause)) = stream(&prompt) {
            return Self::Stream { count, pause };
        }
        match number(&prompt, "[[tools n=") {
            Some(count) if results < count as usize => Self::Tool(call(tools, results)),
            _ => Self::Short,
        }
    }
}

/// The last user text with a scenario in it, and the tool results since.
fn last_scenario(body: &Value) -> (String, usize) {
    let messages = body["messages"].as_array().or(body["input"].as_array());
    let mut results = 0;
    for message in messages.into_iter().flatten().rev() {
        let is_result = message["role"] == "tool" || message["type"] == "function_call_output";
        results += usize::from(is_result);
        if message["role"] != "user" {
            continue;
        }
        let parts = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        results += parts
            .iter()
            .filter(|part| part["type"] == "tool_result")
            .count();
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        let text: String = message["content"]
            .as_str()
            .into_iter()
            .chain(texts)
            .collect();
        if text.contains("[[") {
            return (text, results);
        }
    }
    (String::new(), results)
}

fn stream(prompt: &str) -> Option<(usize, f64)> {
    let count = number(prompt, "[[stream n=")?;
    Some((count as usize, number(prompt, " ms=")?))
}

fn number(text: &str, after: &str) -> Option<f64> {
    let rest = text.split(after).nth(1)?;
    let end = rest.find(|character: char| !(character.is_ascii_digit() || character == '.'));
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

fn call(tools: &[Value], step: usize) -> Call {
    let names = tools.iter().filter_map(|tool| {
        let name = tool["name"].as_str();
        name.or_else(|| tool["function"]["name"].as_str())
    });
    let names: Vec<&str> = names.collect();
    let shell = names.iter().find(|name| SHELLS.contains(*name));
    let name = *shell.or(names.first()).unwrap_or(&"bash");
    let command = format!("echo step-{step}; seq 1 40");
    let arguments = match name {
        "shell" => json!({"command": ["bash", "-lc", command]}),
        "exec_command" => json!({"cmd": command}),
        _ => json!({"command": command, "description": "run a step"}),
    };
    Call {
        id: format!("call_{step}_meter"),
        name: name.to_owned(),
        arguments,
    }
}
