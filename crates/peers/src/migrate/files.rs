//! Files that several programs have in the same form: instructions, prompts, skills and JSON settings.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plan::{LARGEST, OUTSIDE, Plan, server_of};
use super::sources::Sources;
use osier_base::regular_file::read_text;
use osier_base::walk::Walk;
use osier_base::{json, path};

use crate::INSTRUCTIONS;

/// The text of a file that exists.
pub(super) fn text(sources: &Sources<'_>, file: &Path, plan: &mut Plan) -> Option<String> {
    if !file.exists() {
        return None;
    }
    if !sources.is_inside(file) {
        plan.unused(path::below_home(file), OUTSIDE);
        return None;
    }
    match read_text(file, LARGEST) {
        Ok(text) => Some(text),
        Err(error) => {
            plan.unused(path::below_home(file), error.to_string());
            None
        }
    }
}

/// A JSON file, which may contain comments and trailing commas.
pub(super) fn read_json(sources: &Sources<'_>, file: &Path, plan: &mut Plan) -> Option<Value> {
    let text = text(sources, file, plan)?;
    match json::from_people(&text) {
        Ok(value) => Some(value),
        Err(error) => {
            plan.unused(path::below_home(file), error.to_string());
            None
        }
    }
}

/// Plans the instructions of the user: the first file of all programs is used.
pub(super) fn instructions(sources: &Sources<'_>, file: &Path, plan: &mut Plan) {
    if !file.is_file() {
        return;
    }
    let own = INSTRUCTIONS
        .iter()
        .map(|name| sources.folders.config.join(name));
    let others = sources.peers.instructions().into_iter();
    let used = own.chain(others).find(|path| path.is_file());
    let shown = path::below_home(file);
    match used {
        Some(used) if used == file => plan.in_place(shown),
        Some(used) => plan.unused(
            shown,
            format!(
                "osier uses {}; copy what is missing there",
                path::below_home(&used)
            ),
        ),
        None => {}
    }
}

/// The Markdown files directly in `folder`.
pub(super) fn markdown(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = Walk::new(None).entries(folder).into_iter();
    let files = entries.filter(|entry| !entry.is_folder);
    let files = files.filter(|entry| entry.path.extension().is_some_and(|ending| ending == "md"));
    let named = files.filter_map(|entry| {
        let name = entry.path.file_stem()?.to_str()?.to_owned();
        Some((name, entry.path))
    });
    named.collect()
}

/// Plans prompt templates, which osier reads in the same form.
pub(super) fn prompts(sources: &Sources<'_>, folder: &Path, plan: &mut Plan) {
    for (name, file) in markdown(folder) {
        if let Some(text) = text(sources, &file, plan) {
            let target = sources.config().join("prompts").join(format!("{name}.md"));
            plan.file(sources, format!("prompt `/{name}`"), target, text);
        }
    }
}

/// Plans skills, which are folders with a `SKILL.md`.
pub(super) fn skills(sources: &Sources<'_>, folder: &Path, plan: &mut Plan) {
    for entry in Walk::new(None).entries(folder) {
        let Some(name) = entry.path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        // Codex keeps its own skills in `.system`.
        if !name.starts_with('.') && entry.path.join("SKILL.md").is_file() {
            let target = sources.config().join("skills").join(name);
            plan.folder(
                sources,
                format!("skill `{name}`"),
                entry.path.clone(),
                target,
            );
        }
    }
}

/// Plans MCP servers from an object by name.
pub(super) fn servers(sources: &Sources<'_>, servers: &Value, plan: &mut Plan) {
    for (name, entry) in servers.as_object().into_iter().flatten() {
        let is_off = entry["enabled"] == false || entry["disabled"] == true;
        match server_of(name, entry) {
            _ if is_off => plan.unused(format!("MCP server `{name}`"), "it is disabled"),
            Some(server) => plan.server(sources, server),
            None => plan.unused(
                format!("MCP server `{name}`"),
                "it has neither a command nor a URL",
            ),
        }
    }
}

/// Reports the settings that osier does not read.
pub(super) fn other_settings(file: &Path, names: &[String], plan: &mut Plan) {
    const SHOWN: usize = 12;
    if names.is_empty() {
        return;
    }
    let mut shown = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join("`, `");
    if names.len() > SHOWN {
        shown.push_str("`, `…");
    }
    let what = format!("{}: `{shown}`", path::below_home(file));
    plan.unused(
        what,
        "osier has no such settings, or others (`osier config list`)",
    );
}
