//! Permission mode and rules: choose a mode, add a rule, remove one. Rules that allow apply to this
//! project, as in a question; rules that ask or deny are saved in the user's settings for all
//! projects.

use crate::actions::{Action, Command, Effect as Request, Outbox, Toast};
use crate::drawing::{Choice, Overlays, Picker, ValueBox, overlays, value_box};
use osier_permissions::Rule;
use osier_protocol::questions::Grant;
use osier_protocol::{Effect, Op, PermissionMode, RuleInfo, RuleSource};
use osier_term::{Columns, Item};

const ID: &str = "permissions";

/// A row of the list.
enum Entry {
    Mode {
        mode: PermissionMode,
        is_set: bool,
    },
    /// A rule with this effect; without one, a directory that sandboxed commands can write to.
    Add(Option<Effect>),
    Trust,
    Rule(RuleInfo),
}

/// The name of an effect, which is also the name of its list in the settings.
fn name(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allow",
        Effect::Ask => "ask",
        Effect::Deny => "deny",
    }
}

/// The row that adds a rule or a directory, and where it applies.
fn new_label(effect: Option<Effect>) -> (String, &'static str) {
    let Some(effect) = effect else {
        let label = "+ workspace directory".to_owned();
        return (label, "sandboxed commands can write there");
    };
    let place = match effect {
        Effect::Allow => "for this project",
        Effect::Ask | Effect::Deny => "in your settings, for all projects",
    };
    (format!("+ {} rule", name(effect)), place)
}

/// Opens the input box for a rule or a directory. `tools` are the names of all tools.
pub(crate) fn add_rule(effect: Option<Effect>, tools: Vec<String>, overlays: &mut Overlays) {
    let value = match effect {
        Some(effect) => rule_box(effect, tools),
        None => directory_box(),
    };
    overlays.push(value_box::ID, value);
}

fn directory_box() -> ValueBox {
    let about = "In the sandbox mode workspace, commands write there as in the working directory.";
    let accepts = "a path, such as ~/.cargo";
    ValueBox::new("Add a workspace directory", about, accepts, |path| {
        if path.is_empty() {
            return Err("type the path of a directory".to_owned());
        }
        Ok(vec![add("sandbox_write", path)])
    })
}

fn rule_box(effect: Effect, tools: Vec<String>) -> ValueBox {
    let about = match effect {
        Effect::Allow => "Matching calls run without a question, always in this project.",
        Effect::Ask => "osier asks before matching calls, also where another rule allows them.",
        Effect::Deny => "Matching calls never run.",
    };
    let accepts = "TOOL or TOOL(PATTERN), such as bash(npm test *), edit(src/**), read(.env)";
    let title = format!("Add a rule: {}", name(effect));
    ValueBox::new(title, about, accepts, move |text| {
        let rule = check(text, &tools)?;
        Ok(match effect {
            Effect::Allow => vec![
                Toast::info(format!("Allowed in this project: {rule}")).into(),
                Op::AddPermission {
                    grant: Grant::Project { pattern: rule },
                }
                .into(),
            ],
            Effect::Ask | Effect::Deny => vec![add(name(effect), &rule)],
        })
    })
}

fn add(list: &'static str, text: &str) -> Action {
    let (text, adds) = (text.to_owned(), true);
    Request::EditList {
        name: list,
        text,
        adds,
    }
    .into()
}

/// The text of a rule, or the mistake in it.
fn check(text: &str, tools: &[String]) -> Result<String, String> {
    let rule = Rule::parse(text).ok_or_else(|| {
        format!("`{text}` is no rule; expected TOOL or TOOL(PATTERN), such as bash(npm test *)")
    })?;
    if let Some(meant) = rule.misspelt() {
        return Err(format!("osier has no such tool; write `{meant}`"));
    }
    if let Some(tool) = rule.unknown_tool(tools) {
        return Err(format!(
            "no tool `{tool}`; for the command, write `bash({tool} *)`"
        ));
    }
    if let Some(doubt) = rule.doubt() {
        return Err(format!("this rule would match nothing: {doubt}"));
    }
    Ok(rule.text)
}

impl Choice for Entry {
    fn row(&self) -> Item {
        let info = match self {
            Self::Mode { mode, is_set } => {
                let mark = if *is_set { "●" } else { "○" };
                return Item {
                    label: format!("{mark} {}", mode.name()),
                    details: vec![mode.meaning().into()],
                    ..Item::default()
                };
            }
            Self::Add(new) => {
                let (label, place) = new_label(*new);
                return Item {
                    label,
                    details: vec![place.into()],
                    ..Item::default()
                };
            }
            Self::Trust => {
                return Item {
                    label: "+ trust this folder".to_owned(),
                    details: vec!["whether its files can run code".into()],
                    ..Item::default()
                };
            }
            Self::Rule(info) => info,
        };
        let (source, dimmed) = match info.source {
            RuleSource::Settings => ("settings", true),
            RuleSource::Command => ("slash command", true),
            RuleSource::Project => ("this project", false),
            RuleSource::Session => ("this session", false),
        };
        Item {
            label: format!("{} {}", name(info.effect), info.rule),
            details: [source]
                .into_iter()
                .chain(info.note.as_deref())
                .map(Into::into)
                .collect(),
            dimmed,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mode { mode: one, .. }, Self::Mode { mode: other, .. }) => one == other,
            (Self::Rule(one), Self::Rule(other)) => {
                (&one.rule, one.effect) == (&other.rule, other.effect)
            }
            (Self::Add(one), Self::Add(other)) => one == other,
            (Self::Trust, Self::Trust) => true,
            _ => false,
        }
    }
}

/// The picker over the modes, what can be added, and the active rules.
fn picker(now: PermissionMode, rules: &[RuleInfo]) -> Picker<Entry> {
    let modes = PermissionMode::ALL.map(|mode| Entry::Mode {
        mode,
        is_set: mode == now,
    });
    let new = [
        Some(Effect::Allow),
        Some(Effect::Ask),
        Some(Effect::Deny),
        None,
    ]
    .map(Entry::Add);
    let rules = rules.iter().cloned().map(Entry::Rule);
    let entries = modes
        .into_iter()
        .chain(new)
        .chain([Entry::Trust])
        .chain(rules);
    Picker::new(
        "Permissions",
        "no mode or rule matches",
        entries,
        |entry| match entry {
            Entry::Mode { mode, .. } => {
                let told = format!("mode {}: {}", mode.name(), mode.meaning());
                vec![
                    Op::SetPermissions { mode: *mode }.into(),
                    Toast::info(told).into(),
                ]
            }
            Entry::Add(new) => vec![Action::AddRule(*new)],
            Entry::Trust => vec![Command::Trust.into()],
            Entry::Rule(info) => vec![remove(info)],
        },
    )
    // `enter` in the list that was just opened changes nothing.
    .with_selected(|entry| matches!(entry, Entry::Mode { is_set: true, .. }))
    .with_columns(Columns::SENTENCE)
    .taking("set mode, add or remove")
}

fn remove(info: &RuleInfo) -> Action {
    let rule = info.rule.clone();
    match info.source {
        RuleSource::Settings => Request::EditList {
            name: name(info.effect),
            text: rule,
            adds: false,
        }
        .into(),
        _ => Op::RemovePermission { rule }.into(),
    }
}

/// The active permission rules.
#[derive(Debug, Default)]
pub(crate) struct PermissionsDialog {
    rules: Vec<RuleInfo>,
}

impl PermissionsDialog {
    /// Lists the modes and the rules.
    pub(crate) fn open(&self, mode: PermissionMode, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(ID, picker(mode, &self.rules));
        outbox.push(Op::ListPermissions);
    }

    /// Shows the rules in the open list.
    pub(crate) fn set(
        &mut self,
        mode: PermissionMode,
        rules: &[RuleInfo],
        overlays: &mut Overlays,
    ) {
        self.rules = rules.to_vec();
        overlays::refresh(overlays, ID, picker(mode, rules));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use osier_term::{Component as _, Cx};

    use super::*;

    #[test]
    fn a_mistyped_rule_is_explained() {
        for (text, expected) in [
            ("bash(npm test *)", Ok("bash(npm test *)")),
            ("mcp__github__*", Ok("mcp__github__*")),
            ("bash(npm", Err("is no rule")),
            ("", Err("is no rule")),
            ("BASH(ls)", Err("is no rule")),
            ("bsh(ls)", Err("write `bash`")),
            (
                "make",
                Err("no tool `make`; for the command, write `bash(make *)`"),
            ),
            ("docker(run *)", Err("no tool `docker`")),
            ("count", Ok("count")),
            ("bash(re:ls)", Err("regular expression")),
        ] {
            match (check(text, &["count".to_owned()]), expected) {
                (Ok(rule), Ok(expected)) => assert_eq!(rule, expected),
                (Err(told), Err(expected)) => assert!(told.contains(expected), "{told}"),
                (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn the_list_opens_at_the_mode_that_is_set() {
        let mut actions = Vec::new();
        let mut cx = Cx {
            actions: &mut actions,
            now: Instant::now(),
        };
        let mode = PermissionMode::Ask;
        let _ = picker(mode, &[]).on_command(Command::Accept, &mut cx);
        let set = Op::SetPermissions { mode };
        let told = Toast::info("mode ask: ask before changes");
        assert_eq!(actions, [Action::CloseLayer, set.into(), told.into()]);
    }

    #[test]
    fn a_rule_of_the_settings_is_removed_from_the_settings() {
        let info = |source| RuleInfo {
            rule: "read(.env)".to_owned(),
            effect: Effect::Deny,
            source,
            note: None,
        };
        let of_settings = Request::EditList {
            name: "deny",
            text: "read(.env)".to_owned(),
            adds: false,
        };
        assert_eq!(remove(&info(RuleSource::Settings)), of_settings.into());
        let granted = Op::RemovePermission {
            rule: "read(.env)".to_owned(),
        };
        assert_eq!(remove(&info(RuleSource::Project)), granted.into());
    }
}
