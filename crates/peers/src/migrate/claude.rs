//! Claude Code: most files are used in place; MCP servers of the user are written.

use super::files::{instructions, markdown, other_settings, read_json, servers, text};
use super::plan::Plan;
use super::sources::Sources;
use osier_base::path;
use osier_base::walk::Walk;
use osier_protocol::Effect;

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
    if let Some(model) = value["model"].as_str().filter(|_| condition.is_empty()) {
        let plain = model.split('[').next().unwrap_or(model);
        if !matches!(plain, "default" | "opusplan") {
            plan.setting(sources, &shown, "model", plain);
        }
    }
    let others: Vec<String> = parsed
        .others
        .into_iter()
        .filter(|name| name != "model" || !condition.is_empty())
        .collect();
    other_settings(file, &others, plan);
}
