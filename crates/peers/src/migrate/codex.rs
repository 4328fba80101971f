//! Codex: `config.toml`, prompts and skills.

use serde_json::Value;

use super::files::{instructions, other_settings, prompts, servers, skills, text};
use super::plan::Plan;
use super::sources::Sources;
use osier_base::path;

pub(super) fn find(sources: &Sources<'_>, plan: &mut Plan) {
    let codex = &sources.peers.codex;
    instructions(sources, &codex.join("AGENTS.override.md"), plan);
    instructions(sources, &codex.join("AGENTS.md"), plan);
    let file = codex.join("config.toml");
    if let Some(text) = text(sources, &file, plan) {
        let shown = path::below_home(&file);
        match toml::from_str::<Value>(&text) {
            Ok(config) => settings(sources, &file, &config, plan),
            Err(error) => plan.unused(shown, error.message().to_owned()),
        }
    }
    prompts(sources, &codex.join("prompts"), plan);
    skills(sources, &codex.join("skills"), plan);
}

fn settings(sources: &Sources<'_>, file: &std::path::Path, config: &Value, plan: &mut Plan) {
    let shown = path::below_home(file);
    let mut others = Vec::new();
    let provider = config["model_provider"].as_str().unwrap_or("openai");
    for (name, value) in config.as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        match name.as_str() {
            "model" => {
                let model = format!("{provider}/{text}");
                plan.model(sources, &shown, "model", &model);
            }
            "model_provider" => {}
            "model_reasoning_effort" => match text {
                "none" => plan.setting(sources, &shown, "thinking", "off"),
                level => plan.setting(sources, &shown, "thinking", level),
            },
            "sandbox_mode" => match text {
                "read-only" => plan.setting(sources, &shown, "sandbox", "read-only"),
                "workspace-write" => plan.setting(sources, &shown, "sandbox", "workspace"),
                other => plan.unused(
                    format!("{shown}: `sandbox_mode = \"{other}\"`"),
                    "it runs commands without a sandbox; set `sandbox = \"off\"` yourself",
                ),
            },
            "approval_policy" => match text {
                "untrusted" | "on-request" => {
                    plan.setting(sources, &shown, "permissions", "ask");
                }
                other => plan.unused(
                    format!("{shown}: `approval_policy = \"{other}\"`"),
                    "set `permissions` yourself (`osier config list`)",
                ),
            },
            "mcp_servers" => servers(sources, value, plan),
            "profiles" => {
                let names = value.as_object().into_iter().flatten();
                for (profile, entry) in names {
                    let model = entry["model"].as_str().unwrap_or("…");
                    plan.unused(
                        format!("{shown}: profile `{profile}`"),
                        format!("osier has no profiles; use `osier -m {model}`, or `/model`"),
                    );
                }
            }
            "model_providers" => {
                for (name, entry) in value.as_object().into_iter().flatten() {
                    let address = entry["base_url"].as_str().unwrap_or("…");
                    plan.unused(
                        format!("{shown}: provider `{name}` ({address})"),
                        "add it to `models.json`",
                    );
                }
            }
            _ => others.push(name.clone()),
        }
    }
    other_settings(file, &others, plan);
}
