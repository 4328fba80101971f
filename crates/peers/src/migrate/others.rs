//! pi, Gemini CLI and GitHub Copilot.

use super::files::{instructions, other_settings, prompts, read_json, servers, skills};
use super::plan::Plan;
use super::sources::Sources;
use osier_base::path;

pub(super) fn pi(sources: &Sources<'_>, plan: &mut Plan) {
    let pi = &sources.peers.pi;
    instructions(sources, &pi.join("AGENTS.md"), plan);
    let file = pi.join("settings.json");
    if let Some(settings) = read_json(sources, &file, plan) {
        let shown = path::below_home(&file);
        let text = |name: &str| settings[name].as_str();
        if let (Some(provider), Some(model)) = (text("defaultProvider"), text("defaultModel")) {
            plan.model(sources, &shown, "model", &format!("{provider}/{model}"));
        }
        if let Some(level) = text("defaultThinkingLevel") {
            plan.setting(sources, &shown, "thinking", level);
        }
        let read = [
            "defaultProvider",
            "defaultModel",
            "defaultThinkingLevel",
            "lastChangelogVersion",
        ];
        let names = settings
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name);
        let others = names.filter(|name| !read.contains(&name.as_str()));
        other_settings(&file, &others.cloned().collect::<Vec<_>>(), plan);
    }
    if let Some(config) = read_json(sources, &pi.join("mcp.json"), plan) {
        servers(sources, &config["mcpServers"], plan);
    }
    prompts(sources, &pi.join("prompts"), plan);
    skills(sources, &pi.join("skills"), plan);
    if pi.join("extensions").is_dir() {
        plan.unused(
            path::below_home(&pi.join("extensions")),
            "they are TypeScript; osier has plugins in Lua",
        );
    }
}

pub(super) fn gemini(sources: &Sources<'_>, plan: &mut Plan) {
    let gemini = &sources.peers.gemini;
    instructions(sources, &gemini.join("GEMINI.md"), plan);
    let file = gemini.join("settings.json");
    if let Some(settings) = read_json(sources, &file, plan) {
        servers(sources, &settings["mcpServers"], plan);
        let model = settings["model"]["name"]
            .as_str()
            .or(settings["model"].as_str());
        if let Some(model) = model {
            let model = format!("google/{model}");
            plan.setting(sources, &path::below_home(&file), "model", &model);
        }
        let names = settings
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name);
        let others = names.filter(|name| !matches!(name.as_str(), "mcpServers" | "model"));
        other_settings(&file, &others.cloned().collect::<Vec<_>>(), plan);
    }
    let commands = gemini.join("commands");
    if commands.is_dir() {
        plan.unused(
            path::below_home(&commands),
            "they are TOML; write them as Markdown in `prompts/` of the config directory",
        );
    }
}

pub(super) fn copilot(sources: &Sources<'_>, plan: &mut Plan) {
    let copilot = &sources.peers.copilot;
    instructions(sources, &copilot.join("copilot-instructions.md"), plan);
    if let Some(config) = read_json(sources, &copilot.join("mcp-config.json"), plan) {
        servers(sources, &config["mcpServers"], plan);
    }
    let root = sources.root;
    let file = root.join(".github/copilot-instructions.md");
    let before = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"];
    let used = before.iter().find(|name| root.join(name).is_file());
    match (file.is_file(), used) {
        (true, None) => plan.in_place(".github/copilot-instructions.md"),
        (true, Some(used)) => plan.unused(
            ".github/copilot-instructions.md",
            format!("osier uses {used} of the folder"),
        ),
        (false, _) => {}
    }
    if root.join(".github/instructions").is_dir() {
        plan.in_place(".github/instructions");
    }
}
