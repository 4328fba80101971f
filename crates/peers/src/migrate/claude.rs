//! Claude Code: osier uses most files in place, and copies the MCP servers of the user.

use super::files::{instructions, markdown, other_settings, read_json, servers, text};
use super::plan::Plan;
use super::sources::Sources;
use osier_base::path;
use osier_base::walk::Walk;
use osier_llm::ThinkingLevel;
use osier_protocol::Effect;
use serde_json::Value;

use crate::formats::permission_mode;
use crate::settings::{ClaudeSettings, MappedRule, PROJECT_FILES};

pub(super) fn find(sources: &Sources<'_>, plan: &mut Plan) {
    let claude = &sources.peers.claude;
    instructions(sources, &claude.join("CLAUDE.md"), plan);
    for (folder, what) in [
        ("rules", "rules"),
        ("commands", "commands"),
        ("agents", "agents"),
    ] {
        let count = markdown(&claude.join(folder)).len();
        if count > 0 {
            plan.in_place(format!(
                "{}: {count} {what}",
                path::below_home(&claude.join(folder))
            ));
        }
    }
    let skills = claude.join("skills");
    let count = Walk::new(None).entries(&skills).len();
    if count > 0 {
        plan.in_place(format!("{}: {count} skills", path::below_home(&skills)));
    }
    settings(sources, &claude.join("settings.json"), claude, plan);
    let root = sources.root;
    for name in PROJECT_FILES {
        settings(sources, &root.join(name), root, plan);
    }
    let Some(state) = read_json(sources, &sources.peers.claude_state, plan) else {
        return;
    };
    servers(sources, &state["mcpServers"], plan);
    let project = &state["projects"][root.to_string_lossy().as_ref()];
    servers(sources, &project["mcpServers"], plan);
}

/// Plans the parts of a settings file that osier uses, rule by rule.
fn settings(
    sources: &Sources<'_>,
    file: &std::path::Path,
    root: &std::path::Path,
    plan: &mut Plan,
) {
    let Some(text) = text(sources, file, plan) else {
        return;
    };
    let shown = path::below_home(file);
    let parsed = match ClaudeSettings::parse(&text, root, sources.cwd, sources.is_rule) {
        Ok(parsed) => parsed,
        Err(error) => return plan.unused(shown, error),
    };
    let condition = if root == sources.peers.claude {
        ""
    } else {
        " if you trust the folder"
    };
    for rule in &parsed.rules {
        let effect = match rule.effect {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            Effect::Deny => "deny",
        };
        let what = format!("{shown}: {effect} `{}`", rule.text);
        match &rule.mapped {
            MappedRule::Rules(rules) => {
                let rules = rules.join("`, `");
                plan.in_place(format!("{what} as `{rules}`{condition}"));
            }
            MappedRule::NoTool => plan.unused(what, "osier has no such tool"),
            MappedRule::Invalid => plan.unused(what, "osier cannot read the rule"),
        }
    }
    for name in parsed.environment.keys() {
        plan.in_place(format!("{shown}: variable `{name}` of commands{condition}"));
    }
    for folder in &parsed.directories {
        plan.in_place(format!(
            "{shown}: directory {}{condition}",
            folder.display()
        ));
    }
    if parsed.no_bypass {
        plan.in_place(format!("{shown}: the mode `yolo` is disabled"));
    }
    let value = osier_base::json::from_people(&text).unwrap_or_default();
    let events = value["hooks"].as_object().map_or(0, serde_json::Map::len);
    if events > 0 {
        let how = if condition.is_empty() {
            " with `claude_hooks = true`"
        } else {
            condition
        };
        plan.in_place(format!("{shown}: hooks of {events} events{how}"));
    }
    let mut others = parsed.others;
    if condition.is_empty() {
        own_settings(sources, &shown, &value, plan);
        others.retain(|name| !OWN_SETTINGS.contains(&name.as_str()));
    }
    other_settings(file, &others, plan);
}

/// Settings of the user that osier has, too.
const OWN_SETTINGS: [&str; 3] = ["model", "effortLevel", "permissions.defaultMode"];

fn own_settings(sources: &Sources<'_>, shown: &str, value: &Value, plan: &mut Plan) {
    if let Some(model) = value["model"].as_str() {
        let plain = model.split('[').next().unwrap_or(model);
        if !matches!(plain, "default" | "opusplan") {
            plan.setting(sources, shown, "model", plain);
        }
    }
    if let Some(level) = value["effortLevel"].as_str() {
        match ThinkingLevel::from_name(level) {
            Some(level) => plan.setting(sources, shown, "thinking", level.name()),
            None => plan.unused(
                format!("{shown}: `effortLevel = \"{level}\"`"),
                "osier has no such level",
            ),
        }
    }
    if let Some(mode) = value["permissions"]["defaultMode"].as_str() {
        match permission_mode(mode) {
            Some(mode) => plan.setting(sources, shown, "permissions", mode.name()),
            None => plan.unused(
                format!("{shown}: `permissions.defaultMode = \"{mode}\"`"),
                "osier has no such mode",
            ),
        }
    }
}
