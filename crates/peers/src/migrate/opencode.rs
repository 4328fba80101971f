//! opencode: `opencode.json`, commands, agents and skills.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::files::{instructions, markdown, other_settings, read_json, servers, skills, text};
use super::plan::Plan;
use super::sources::Sources;
use osier_base::path;

use crate::front_matter;
use crate::tools::tools_of;
use osier_protocol::ImportSource;
use osier_tools::{BUILT_IN, ToolEffect};

pub(super) fn find(sources: &Sources<'_>, plan: &mut Plan) {
    let own = &sources.peers.opencode;
    instructions(sources, &own.join("AGENTS.md"), plan);
    let root = sources.root;
    let project = Sources {
        project: Some(root),
        ..*sources
    };
    for (sources, folder) in [(sources, own.as_path()), (&project, root)] {
        for name in ["opencode.json", "opencode.jsonc"] {
            let file = folder.join(name);
            if let Some(config) = read_json(sources, &file, plan) {
                settings(sources, &file, &config, plan);
            }
        }
    }
    for (sources, folder) in [(sources, own.clone()), (&project, root.join(".opencode"))] {
        for name in ["command", "commands"] {
            commands(sources, &folder.join(name), plan);
        }
        for name in ["agent", "agents"] {
            agents(sources, &folder.join(name), plan);
        }
        for name in ["skill", "skills"] {
            skills(sources, &folder.join(name), plan);
        }
    }
}

fn settings(sources: &Sources<'_>, file: &Path, config: &Value, plan: &mut Plan) {
    let shown = path::below_home(file);
    let mut others = Vec::new();
    for (name, value) in config.as_object().into_iter().flatten() {
        match name.as_str() {
            "$schema" => {}
            "model" | "small_model" => {
                let setting = if name == "model" {
                    "model"
                } else {
                    "small_model"
                };
                if let Some(model) = value.as_str() {
                    plan.model(sources, &shown, setting, model);
                }
            }
            "mcp" => servers(sources, value, plan),
            "command" => {
                for (name, entry) in value.as_object().into_iter().flatten() {
                    let body = entry["template"].as_str().unwrap_or_default();
                    let description = entry["description"].as_str();
                    command(sources, name, description, body, plan);
                }
            }
            "agent" => {
                for (name, entry) in value.as_object().into_iter().flatten() {
                    let description = entry["description"].as_str().unwrap_or_default();
                    let prompt = entry["prompt"].as_str().unwrap_or_default();
                    let model = entry["model"].as_str();
                    agent(
                        sources,
                        name,
                        description,
                        model,
                        &entry["tools"],
                        prompt,
                        plan,
                    );
                }
            }
            "instructions" => plan.unused(
                format!("{shown}: `instructions`"),
                "name the files with `--context`, or import them in your `CLAUDE.md`",
            ),
            "permission" => plan.unused(
                format!("{shown}: `permission`"),
                "write the rules as `allow`, `ask` and `deny` in `settings.toml`",
            ),
            "provider" => plan.unused(format!("{shown}: `provider`"), "add it to `models.json`"),
            _ => others.push(name.clone()),
        }
    }
    other_settings(file, &others, plan);
}

fn commands(sources: &Sources<'_>, folder: &Path, plan: &mut Plan) {
    for (name, file) in markdown(folder) {
        let Some(text) = text(sources, &file, plan) else {
            continue;
        };
        let document = front_matter::parse(&text);
        let description = document.text("description");
        command(
            sources,
            &name,
            description.as_deref(),
            document.body.trim(),
            plan,
        );
    }
}

/// Plans a command. Its placeholders are the same as in osier, but not its syntax for embedded
/// commands and files.
fn command(
    sources: &Sources<'_>,
    name: &str,
    description: Option<&str>,
    body: &str,
    plan: &mut Plan,
) {
    if !is_name(name) {
        return plan.unused(format!("command `{name}`"), "its name is no file name");
    }
    let what = format!("command `/{name}`");
    if body.contains("!`") {
        return plan.unused(
            what,
            "it runs commands; copy it to `~/.claude/commands`, where osier runs them",
        );
    }
    let head = match description {
        Some(description) => format!("---\ndescription: {}\n---\n", line(description)),
        None => String::new(),
    };
    let target = sources.config().join("prompts").join(format!("{name}.md"));
    plan.file(sources, what, target, format!("{head}{body}\n"));
}

fn agents(sources: &Sources<'_>, folder: &Path, plan: &mut Plan) {
    for (name, file) in markdown(folder) {
        let Some(text) = text(sources, &file, plan) else {
            continue;
        };
        let document = front_matter::parse(&text);
        let description = document.text("description").unwrap_or_default();
        let model = document.text("model");
        let tools = document.field("tools").map(|field| match &field.value {
            front_matter::Value::Map(pairs) => {
                let pairs = pairs.iter();
                pairs
                    .map(|(name, value)| (name.clone(), Value::Bool(value != "false")))
                    .collect()
            }
            _ => Value::Null,
        });
        let tools = tools.unwrap_or_default();
        let body = document.body.trim();
        agent(
            sources,
            &name,
            &description,
            model.as_deref(),
            &tools,
            body,
            plan,
        );
    }
}

fn agent(
    sources: &Sources<'_>,
    name: &str,
    description: &str,
    model: Option<&str>,
    tools: &Value,
    prompt: &str,
    plan: &mut Plan,
) {
    let what = format!("agent `{name}`");
    if !is_name(name) || description.is_empty() {
        return plan.unused(what, "it has no description, or its name is no file name");
    }
    let mut text = format!("---\nname: {name}\ndescription: {}\n", line(description));
    // Writing to a string cannot fail.
    if let Some(model) = model {
        let _ = writeln!(text, "model: {}", line(model));
    }
    if let Some(tools) = tools.as_object() {
        let all = tools.get("*").is_none_or(|value| value != false);
        // The first row of a tool decides: a tool that is off is not enabled by another name.
        let mut seen: Vec<&str> = Vec::new();
        let rows = tools_of(ImportSource::Opencode);
        let rows = rows.filter(|row| {
            let is_first = !seen.contains(&row.ours);
            seen.push(row.ours);
            let mut own = BUILT_IN
                .iter()
                .filter(|tool| tool.effect != ToolEffect::Asks);
            let is_for_agents = own.any(|tool| tool.name == row.ours);
            is_first && is_for_agents && tools.get(row.name).map_or(all, |value| value != false)
        });
        let offered: Vec<&str> = rows.map(|row| row.ours).collect();
        let offered = offered.join(", ");
        let _ = writeln!(text, "tools: {offered}");
    }
    let _ = writeln!(text, "---\n{prompt}");
    let target = sources.config().join("agents").join(format!("{name}.md"));
    plan.file(sources, what, target, text);
}

fn is_name(name: &str) -> bool {
    let allowed = |char: char| char.is_alphanumeric() || "-_.".contains(char);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(allowed)
}

/// A text as a value of front matter.
fn line(text: &str) -> String {
    let text = osier_base::text::single_line(text)
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    format!("\"{text}\"")
}
