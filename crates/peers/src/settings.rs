//! Settings files of Claude Code: permission rules, environment variables and directories. Rules become rules of osier
//! that are as strict or stricter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use osier_base::problem::Problem;
use osier_base::{json, path};
use osier_protocol::Effect;
use osier_tools::{BuiltIn, ToolEffect};

use crate::tools::{ending, our_tool};

/// The files of a project, the one with the highest precedence last.
pub const PROJECT_FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// The only tool whose allow rules apply to every tool that changes a file.
const CHANGES_ALL: &str = "Edit";

/// Prefixes of variables that configure Claude Code itself.
const OWN_VARIABLES: [&str; 4] = ["ANTHROPIC_", "CLAUDE_", "DISABLE_", "VERTEX_"];

/// A rule of Claude Code in osier's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappedRule {
    Rules(Vec<String>),
    /// osier has no such tool.
    NoTool,
    /// The rule cannot be read.
    Invalid,
}

/// A rule of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeRule {
    pub text: String,
    pub effect: Effect,
    pub mapped: MappedRule,
}

/// The contents of a settings file of Claude Code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaudeSettings {
    pub rules: Vec<ClaudeRule>,
    pub environment: BTreeMap<String, String>,
    pub directories: Vec<PathBuf>,
    /// Whether the mode that runs everything is disabled.
    pub no_bypass: bool,
    /// The names of settings that osier does not read.
    pub others: Vec<String>,
}

impl ClaudeSettings {
    /// Parses `text`. `root` is where paths with one slash start, and `is_rule` says whether a text is a
    /// permission rule of osier.
    ///
    /// # Errors
    /// The text is no JSON, or a list of rules has another form.
    pub fn parse(
        text: &str,
        root: &Path,
        cwd: &Path,
        is_rule: fn(&str) -> bool,
    ) -> Result<Self, String> {
        let value = json::from_people(text).map_err(|error| error.to_string())?;
        let members = value.as_object().ok_or("is not an object")?;
        let mut settings = Self::default();
        for (name, value) in members {
            match name.as_str() {
                "permissions" => settings.permissions(value, root, cwd, is_rule)?,
                "env" => settings.variables(value),
                "hooks" | "disableAllHooks" | "$schema" => {}
                _ => settings.others.push(name.clone()),
            }
        }
        Ok(settings)
    }

    fn permissions(
        &mut self,
        value: &Value,
        root: &Path,
        cwd: &Path,
        is_rule: fn(&str) -> bool,
    ) -> Result<(), String> {
        let members = value.as_object().ok_or("`permissions` is not an object")?;
        for (name, value) in members {
            let effect = match name.as_str() {
                "allow" => Effect::Allow,
                "ask" => Effect::Ask,
                "deny" => Effect::Deny,
                "additionalDirectories" => {
                    let names = value.as_array().into_iter().flatten();
                    let names = names.filter_map(Value::as_str);
                    self.directories = names.map(|name| path::resolve(cwd, name)).collect();
                    continue;
                }
                "disableBypassPermissionsMode" => {
                    self.no_bypass = value == "disable";
                    continue;
                }
                other => {
                    self.others.push(format!("permissions.{other}"));
                    continue;
                }
            };
            let list = value.as_array();
            let texts = list.map(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
            let texts = texts
                .flatten()
                .ok_or_else(|| format!("`permissions.{name}` is not a list of rules"))?;
            self.rules.extend(texts.into_iter().map(|text| ClaudeRule {
                text: text.to_owned(),
                effect,
                mapped: map_rule(text, effect, root, is_rule),
            }));
        }
        Ok(())
    }

    fn variables(&mut self, value: &Value) {
        let keys = osier_llm::catalogue::key_variables([]);
        let is_own = |name: &str| OWN_VARIABLES.iter().any(|start| name.starts_with(start));
        let pairs = value.as_object().into_iter().flatten();
        for (name, value) in pairs {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => continue,
            };
            if is_own(name) || keys.contains(name) {
                self.others.push(format!("env.{name}"));
            } else if !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0') {
                self.environment.insert(name.clone(), value);
            }
        }
    }

    /// The rules of osier with this effect.
    pub fn rules_of(&self, effect: Effect) -> impl Iterator<Item = &String> {
        let rules = self.rules.iter().filter(move |rule| rule.effect == effect);
        rules.flat_map(|rule| match &rule.mapped {
            MappedRule::Rules(rules) => rules.as_slice(),
            _ => &[],
        })
    }

    /// The deny and ask rules that cannot be read.
    pub fn problems(&self, path: &Path, text: &str) -> Vec<Problem> {
        let lost = self
            .rules
            .iter()
            .filter(|rule| rule.mapped == MappedRule::Invalid && rule.effect != Effect::Allow);
        lost.map(|rule| {
            let message = format!("cannot read the rule `{}`", rule.text);
            let hint = "it does not apply; write it as a rule of osier in `settings.toml`";
            let quoted = serde_json::to_string(&rule.text).unwrap_or_default();
            let offset = text.find(&quoted).unwrap_or(0);
            Problem::of_file(path, message, hint).at(text, offset)
        })
        .collect()
    }
}

/// The rule `text` of Claude Code as rules of osier. `root` is where paths with one slash start.
pub fn map_rule(text: &str, effect: Effect, root: &Path, is_rule: fn(&str) -> bool) -> MappedRule {
    let text = text.trim();
    let (tool, pattern) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(pattern) => (tool, Some(pattern.trim())),
            None => return MappedRule::Invalid,
        },
    };
    let pattern = pattern.filter(|pattern| !matches!(*pattern, "" | "*"));
    // An empty prefix matches every command.
    let pattern = pattern.filter(|pattern| effect == Effect::Allow || *pattern != ":*");
    let mapped = if let Some(server) = tool.strip_prefix("mcp__") {
        let is_server = !server.trim_end_matches('_').contains("__");
        vec![if is_server {
            format!("{}__*", tool.trim_end_matches('_'))
        } else {
            tool.to_owned()
        }]
    } else if tool == "*" {
        vec![tool.to_owned()]
    } else {
        let ours = our_tool(tool);
        if ours == tool {
            return MappedRule::NoTool;
        }
        let tool_of_file = |tool: &&BuiltIn| tool.file.is_some();
        // `Edit` applies to every tool that changes a file. A rule that restricts one of them
        // restricts all.
        let changes = |tool: &&BuiltIn| tool.effect == ToolEffect::Changes && tool_of_file(tool);
        let known = osier_tools::find(ours);
        let is_of_all =
            known.as_ref().is_some_and(changes) && (effect != Effect::Allow || tool == CHANGES_ALL);
        // A rule for a tool of certain files retains its name, and applies to every tool that
        // changes them.
        let is_of_some = ending(tool).is_some();
        let mut tools = vec![if is_of_some { tool } else { ours }];
        if is_of_all && !is_of_some {
            let others = osier_tools::all().filter(changes).map(|tool| tool.name);
            tools.extend(others.filter(|tool| *tool != ours));
        }
        let patterns = match pattern {
            None => vec![None],
            Some(pattern) if known.as_ref().is_some_and(tool_of_file) => {
                paths(pattern, root).into_iter().map(Some).collect()
            }
            Some(pattern) => vec![Some(pattern.to_owned())],
        };
        let of_tool = |tool: &&str| {
            let tool = (*tool).to_owned();
            let patterns = patterns.iter();
            patterns
                .map(move |pattern| match pattern {
                    Some(pattern) => format!("{tool}({pattern})"),
                    None => tool.clone(),
                })
                .collect::<Vec<_>>()
        };
        tools.iter().flat_map(of_tool).collect()
    };
    if mapped.iter().all(|rule| is_rule(rule)) {
        MappedRule::Rules(mapped)
    } else {
        MappedRule::Invalid
    }
}

/// A pattern of paths, which follow `.gitignore` in Claude Code: `//` is the root of the file system, `/` the folder
/// `root`, and a folder stands for everything in it.
fn paths(pattern: &str, root: &Path) -> Vec<String> {
    let is_folder = pattern.ends_with('/');
    let pattern = pattern.trim_end_matches('/');
    let pattern = if let Some(absolute) = pattern.strip_prefix("//") {
        format!("/{absolute}")
    } else if let Some(below) = pattern.strip_prefix('/') {
        root.join(below).to_string_lossy().into_owned()
    } else {
        pattern.to_owned()
    };
    if pattern.ends_with("**") {
        return vec![pattern];
    }
    // A name without a slash matches in every folder.
    let anywhere = if pattern.contains('/') { "" } else { "**/" };
    let below = format!("{anywhere}{pattern}/**");
    if is_folder {
        vec![below]
    } else {
        vec![pattern, below]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(text: &str, effect: Effect) -> MappedRule {
        map_rule(text, effect, Path::new("/repo"), |rule| {
            !rule.contains("[)") && !rule.contains(") ")
        })
    }

    #[test]
    fn rules_have_the_same_strictness_or_more() {
        let rules =
            |names: &[&str]| MappedRule::Rules(names.iter().map(ToString::to_string).collect());
        for (text, deny, allow) in [
            ("Bash", &["bash"][..], &["bash"][..]),
            ("Bash(*)", &["bash"], &["bash"]),
            (
                "Bash(npm run test:*)",
                &["bash(npm run test:*)"],
                &["bash(npm run test:*)"],
            ),
            (
                "Read(.env)",
                &["read(.env)", "read(**/.env/**)"],
                &["read(.env)", "read(**/.env/**)"],
            ),
            (
                "Read(./secrets/**)",
                &["read(./secrets/**)"],
                &["read(./secrets/**)"],
            ),
            (
                "Read(secrets/)",
                &["read(**/secrets/**)"],
                &["read(**/secrets/**)"],
            ),
            (
                "Read(~/.ssh)",
                &["read(~/.ssh)", "read(~/.ssh/**)"],
                &["read(~/.ssh)", "read(~/.ssh/**)"],
            ),
            ("Read(//etc/**)", &["read(/etc/**)"], &["read(/etc/**)"]),
            (
                "Edit(/src/**)",
                &["edit(/repo/src/**)", "write(/repo/src/**)"],
                &["edit(/repo/src/**)", "write(/repo/src/**)"],
            ),
            (
                "Write(docs/**)",
                &["write(docs/**)", "edit(docs/**)"],
                &["write(docs/**)"],
            ),
            ("NotebookEdit", &["NotebookEdit"], &["NotebookEdit"]),
            (
                "NotebookEdit(/a/**)",
                &["NotebookEdit(/repo/a/**)"],
                &["NotebookEdit(/repo/a/**)"],
            ),
            ("mcp__github", &["mcp__github__*"], &["mcp__github__*"]),
            (
                "mcp__github__get",
                &["mcp__github__get"],
                &["mcp__github__get"],
            ),
            ("Agent(Explore)", &["task(Explore)"], &["task(Explore)"]),
            (
                "WebFetch(domain:x.org)",
                &["web_fetch(domain:x.org)"],
                &["web_fetch(domain:x.org)"],
            ),
        ] {
            assert_eq!(mapped(text, Effect::Deny), rules(deny), "{text}");
            assert_eq!(mapped(text, Effect::Allow), rules(allow), "{text}");
        }
        assert_eq!(
            mapped("Monitor(domain:x.org)", Effect::Deny),
            MappedRule::NoTool
        );
        for text in ["Bash(", "Read([)", "Read(a) x"] {
            assert_eq!(mapped(text, Effect::Deny), MappedRule::Invalid, "{text}");
        }
    }

    #[test]
    fn a_file_is_read_and_the_rest_is_named() {
        let text = r#"{
            "permissions": {
                "allow": ["Bash(ls:*)", "WebSearch"], "deny": ["Read(.env)"], "ask": ["Bash(git push:*)"],
                "additionalDirectories": ["../docs", "/data"], "defaultMode": "acceptEdits",
                "disableBypassPermissionsMode": "disable"
            },
            "env": {"RUST_LOG": "debug", "N": 3, "ANTHROPIC_BASE_URL": "http://x", "OPENAI_API_KEY": "k"},
            "model": "opus", "hooks": {}
        }"#;
        let settings =
            ClaudeSettings::parse(text, Path::new("/repo"), Path::new("/repo"), |_| true).unwrap();
        let rule = |text: &str, effect, mapped: &[&str]| ClaudeRule {
            text: text.to_owned(),
            effect,
            mapped: match mapped {
                [] => MappedRule::NoTool,
                mapped => MappedRule::Rules(mapped.iter().map(ToString::to_string).collect()),
            },
        };
        let mut others = settings.others.clone();
        others.sort_unstable();
        let mut rules = settings.rules.clone();
        rules.sort_by(|one, other| one.text.cmp(&other.text));
        assert_eq!(
            rules,
            [
                rule("Bash(git push:*)", Effect::Ask, &["bash(git push:*)"]),
                rule("Bash(ls:*)", Effect::Allow, &["bash(ls:*)"]),
                rule(
                    "Read(.env)",
                    Effect::Deny,
                    &["read(.env)", "read(**/.env/**)"]
                ),
                rule("WebSearch", Effect::Allow, &["web_search"]),
            ]
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            settings.environment,
            BTreeMap::from([pair("N", "3"), pair("RUST_LOG", "debug")])
        );
        assert_eq!(
            settings.directories,
            [PathBuf::from("/repo/../docs"), PathBuf::from("/data")]
        );
        assert!(settings.no_bypass);
        assert_eq!(
            others,
            [
                "env.ANTHROPIC_BASE_URL",
                "env.OPENAI_API_KEY",
                "model",
                "permissions.defaultMode"
            ]
        );
    }
}
