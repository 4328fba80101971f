//! The rules of a session, and the decision about a call.

use osier_protocol::{RuleInfo, RuleSource};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::aspects::Aspects;
use super::rule::Rule;
use super::saved_rules::Remembered;
use super::sensitive::Places;
use super::tool_names::{ServerTools, ToolNames};
use osier_agent::FileTarget;
use osier_base::atomic_file::WriteError;
use osier_base::folders::Folders;
use osier_base::path::canonical_key;
use osier_protocol::questions::Grant;
use osier_protocol::{Effect, PermissionMode};
use osier_tools::{BASH, EDIT_RULES, READ, TERMINAL, ToolEffect, WRITE};

/// The sources of rules that the user granted in a dialog, and of those that files contain.
const GRANTED: [RuleSource; 2] = [RuleSource::Session, RuleSource::Project];
const WRITTEN: [RuleSource; 2] = [RuleSource::Settings, RuleSource::Command];

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// The model receives the reason.
    Deny(String),
    /// The call needs permission. `why` is the reason for the question; `patterns` are the rules
    /// that can be saved.
    Ask {
        why: String,
        patterns: Vec<String>,
    },
    /// Only the mode `auto` decides: a model judges the call. Without a model, the user is asked.
    Review {
        patterns: Vec<String>,
    },
}

/// A hook's opinion about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    Allow,
    Ask(String),
}

/// The rules of the settings, as text.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleLists<'a> {
    pub allow: &'a [String],
    pub ask: &'a [String],
    pub deny: &'a [String],
}

/// The mode and the rules. The session changes them, the gate reads them.
#[derive(Debug)]
pub struct Permissions {
    pub(super) cwd: PathBuf,
    remembered: Remembered,
    pub(super) places: Places,
    server_tools: Mutex<Option<Box<dyn ServerTools>>>,
    state: Mutex<State>,
}

/// A rule with its effect and its source.
#[derive(Debug)]
struct ScopedRule {
    rule: Rule,
    effect: Effect,
    source: RuleSource,
}

impl ScopedRule {
    fn parse(text: &str, effect: Effect, source: RuleSource) -> Option<Self> {
        let rule = Rule::parse(text)?;
        Some(Self {
            rule,
            effect,
            source,
        })
    }
}

#[derive(Debug)]
struct State {
    mode: PermissionMode,
    /// The mode that plan mode replaced.
    before_plan: Option<PermissionMode>,
    rules: Vec<ScopedRule>,
}

impl Permissions {
    /// Loads the rules of the settings and of the project; `store` is the file with the saved rules.
    pub fn new(cwd: &Path, store: PathBuf, mode: PermissionMode, rules: RuleLists<'_>) -> Self {
        let permissions = Self {
            cwd: canonical_key(cwd),
            remembered: Remembered::new(store, cwd),
            places: Places::new(None),
            server_tools: Mutex::default(),
            state: Mutex::new(State {
                mode,
                before_plan: None,
                rules: Vec::new(),
            }),
        };
        permissions.reload(rules);
        permissions
    }

    /// Protects osier's own files.
    #[must_use]
    pub fn protecting(mut self, folders: &Folders) -> Self {
        self.places = Places::new(Some(folders));
        self
    }

    /// Sets the source of MCP servers' tools, for rules that name them.
    pub fn set_server_tools(&self, tools: Box<dyn ServerTools>) {
        *self.server_tools() = Some(tools);
    }

    fn server_tools(&self) -> MutexGuard<'_, Option<Box<dyn ServerTools>>> {
        let tools = self.server_tools.lock();
        tools.unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self, tool: &str) -> ToolNames {
        ToolNames::find(tool, self.server_tools().as_deref())
    }

    /// The mode and the rules that `wanted` selects, with their effects.
    pub(super) fn snapshot(
        &self,
        wanted: impl Fn(&Rule) -> bool,
    ) -> (PermissionMode, Vec<(Rule, Effect)>) {
        let state = self.lock();
        let rules = state.rules.iter().filter(|scoped| wanted(&scoped.rule));
        let rules = rules.map(|scoped| (scoped.rule.clone(), scoped.effect));
        (state.mode, rules.collect())
    }

    /// Replaces the rules of the settings; the mode and the session rules stay.
    pub fn reload(&self, rules: RuleLists<'_>) {
        let project = self.remembered.load();
        let project = project
            .iter()
            .filter_map(|text| ScopedRule::parse(text, Effect::Allow, RuleSource::Project));
        let lists = [
            (rules.allow, Effect::Allow),
            (rules.ask, Effect::Ask),
            (rules.deny, Effect::Deny),
        ];
        let fixed = lists.into_iter().flat_map(|(rules, effect)| {
            let parse = move |text: &String| ScopedRule::parse(text, effect, RuleSource::Settings);
            rules.iter().filter_map(parse)
        });
        let mut rules: Vec<_> = fixed.chain(project).collect();
        let mut state = self.lock();
        let session = state
            .rules
            .drain(..)
            .filter(|rule| matches!(rule.source, RuleSource::Session | RuleSource::Command));
        rules.extend(session);
        state.rules = rules;
    }

    /// The working directory, to which patterns of paths are relative.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub fn mode(&self) -> PermissionMode {
        self.lock().mode
    }

    pub fn set_mode(&self, mode: PermissionMode) {
        let mut state = self.lock();
        if state.mode != PermissionMode::Plan {
            state.before_plan = Some(state.mode);
        }
        state.mode = mode;
    }

    /// The mode that plan mode replaced, unless the session began in plan mode.
    pub fn before_plan(&self) -> Option<PermissionMode> {
        self.lock().before_plan
    }

    /// Switches from the mode `auto` to `ask`. Returns whether the mode was `auto`.
    pub fn stop_reviewing(&self) -> bool {
        let mut state = self.lock();
        let was_auto = state.mode == PermissionMode::Auto;
        if was_auto {
            state.mode = PermissionMode::Ask;
        }
        was_auto
    }

    /// Removes the session rules, for a new session. Returns whether there were any.
    pub fn forget_session(&self) -> bool {
        let mut state = self.lock();
        let before = state.rules.len();
        state
            .rules
            .retain(|rule| !matches!(rule.source, RuleSource::Session | RuleSource::Command));
        state.rules.len() < before
    }

    /// Replaces the rules of the running slash command. They are no stronger than allow rules of
    /// the settings. Returns whether the rules changed.
    pub fn set_command_rules(&self, allow: &[String]) -> bool {
        let parse = |text: &String| ScopedRule::parse(text, Effect::Allow, RuleSource::Command);
        let rules: Vec<ScopedRule> = allow.iter().filter_map(parse).collect();
        let mut state = self.lock();
        let before = state.rules.len();
        state
            .rules
            .retain(|rule| rule.source != RuleSource::Command);
        let changes = before != state.rules.len() || !rules.is_empty();
        state.rules.extend(rules);
        changes
    }

    pub fn list(&self) -> Vec<RuleInfo> {
        let state = self.lock();
        let rules = state.rules.iter().map(|scoped| RuleInfo {
            rule: scoped.rule.text.clone(),
            effect: scoped.effect,
            source: scoped.source,
            note: None,
        });
        rules.collect()
    }

    /// Saves a permission that the user granted.
    pub fn grant(&self, grant: &Grant) -> Result<(), WriteError> {
        let (pattern, source) = match grant {
            Grant::Once => return Ok(()),
            Grant::Session { pattern } => (pattern, RuleSource::Session),
            Grant::Project { pattern } => (pattern, RuleSource::Project),
            Grant::Edits => {
                self.allow_edits();
                return Ok(());
            }
        };
        let Some(rule) = ScopedRule::parse(pattern, Effect::Allow, source) else {
            return Ok(());
        };
        self.lock().rules.push(rule);
        match source {
            RuleSource::Project => self.remembered.add(pattern),
            _ => Ok(()),
        }
    }

    /// Allows every change of a file in the working directory, for this session.
    fn allow_edits(&self) {
        let rules = EDIT_RULES.iter().filter_map(|tool| {
            ScopedRule::parse(&format!("{tool}(./**)"), Effect::Allow, RuleSource::Session)
        });
        self.lock().rules.extend(rules);
    }

    /// Removes a rule that was granted in a dialog; false when there is none. The user's settings file is
    /// never changed.
    pub fn forget(&self, text: &str) -> Result<bool, WriteError> {
        let mut found = false;
        self.lock().rules.retain(|scoped| {
            let this = scoped.rule.text == text && GRANTED.contains(&scoped.source);
            found |= this;
            !this
        });
        self.remembered.remove(text)?;
        Ok(found)
    }

    /// The decision about a call of `tool`. `confined` means that the sandbox can prevent a command from
    /// writing, or denies commands the network that the tool uses.
    pub fn decide(
        &self,
        tool: &str,
        arguments: &Value,
        hint: Option<&Hint>,
        confined: bool,
    ) -> Verdict {
        let targets = osier_tools::file_targets(tool, arguments, &self.cwd);
        self.decide_targets(tool, arguments, &targets, hint, confined)
    }

    /// Like [`Self::decide`] for a call whose files were resolved to `targets`.
    pub fn decide_targets(
        &self,
        tool: &str,
        arguments: &Value,
        targets: &[FileTarget],
        hint: Option<&Hint>,
        confined: bool,
    ) -> Verdict {
        self.decide_as(None, tool, arguments, targets, hint, confined)
    }

    /// The decision of the rules alone, about a command that may run later.
    pub(super) fn decide_by_rules(&self, arguments: &Value, targets: &[FileTarget]) -> Verdict {
        self.decide_as(
            Some(PermissionMode::Yolo),
            BASH,
            arguments,
            targets,
            None,
            false,
        )
    }

    fn decide_as(
        &self,
        mode: Option<PermissionMode>,
        tool: &str,
        arguments: &Value,
        targets: &[FileTarget],
        hint: Option<&Hint>,
        confined: bool,
    ) -> Verdict {
        let aspects = Aspects::of_targets(self.names(tool), arguments, targets, &self.cwd);
        let command = aspects.command.as_deref().unwrap_or_default();
        if let Some(problem) = osier_tools::control_characters(command) {
            return Verdict::Deny(problem);
        }
        let state = self.lock();
        let mode = mode.unwrap_or(state.mode);
        let touching = |wanted| state.of(wanted).find(|rule| self.touches(rule, &aspects));
        if let Some(rule) = touching(Effect::Deny) {
            return Verdict::Deny(format!("the rule `{}` denies it", rule.text));
        }
        let possible = |wanted| {
            let may_touch =
                |rule: &&Rule| aspects.list.iter().any(|part| part.may_be_touched(rule));
            state.of(wanted).find(may_touch)
        };
        let ask = |why: String| Verdict::Ask {
            why,
            patterns: aspects.patterns(tool, &self.cwd),
        };
        let known = osier_tools::find(tool);
        let fetches = known.is_some_and(|known| known.effect == ToolEffect::Fetches);
        let harmless = known.is_some_and(|known| known.is_free(arguments));
        if mode == PermissionMode::Plan && !harmless && !fetches {
            return planned(tool, confined);
        }
        let allow: Vec<&Rule> = state.of(Effect::Allow).collect();
        if let Some(guarded) = self.guarded(&aspects, mode, &allow) {
            let patterns = self.patterns_for(&guarded, &aspects, tool);
            return Verdict::Ask {
                why: guarded.why,
                patterns,
            };
        }
        // A wildcard cannot allow commands that a deny rule might forbid: only the exact command can.
        if !aspects.is_allowed_exactly(&allow) {
            if let Some(rule) = possible(Effect::Deny) {
                return ask(format!("the rule `{}` could deny it", rule.text));
            }
            if state.could_deny(&aspects, tool) && hint != Some(&Hint::Allow) {
                return ask("osier cannot determine whether a rule denies it".to_owned());
            }
        }
        if state.allows(&aspects, &self.cwd, &GRANTED) {
            return Verdict::Allow;
        }
        if let Some(Hint::Ask(why)) = hint {
            return ask(why.clone());
        }
        if let Some(rule) = touching(Effect::Ask).or_else(|| possible(Effect::Ask)) {
            return ask(format!("the rule `{}` requires permission", rule.text));
        }
        if harmless || hint == Some(&Hint::Allow) || state.allows(&aspects, &self.cwd, &WRITTEN) {
            return Verdict::Allow;
        }
        match mode {
            PermissionMode::Yolo => {
                let limits = state.limits_commands();
                let why = asked_in_yolo(tool, arguments, confined && fetches, limits);
                why.map_or(Verdict::Allow, |why| ask(why.to_owned()))
            }
            _ if self.is_known_or_allowed(&aspects, &state.rules()) => Verdict::Allow,
            PermissionMode::Auto => {
                let named = targets.is_empty().then(|| self.names_sensitive(arguments));
                let refused = aspects.refused.clone();
                match named.flatten().or(refused) {
                    Some(why) => ask(why),
                    None => Verdict::Review {
                        patterns: aspects.patterns(tool, &self.cwd),
                    },
                }
            }
            PermissionMode::Ask | PermissionMode::Plan => {
                ask(aspects.refused.clone().unwrap_or_default())
            }
        }
    }

    /// Whether `rule` applies to a call of `tool` on these files, or to a part of it, or could. `from` is the working
    /// directory of its agent.
    pub fn concerns(
        &self,
        rule: &Rule,
        tool: &str,
        arguments: &Value,
        files: &[FileTarget],
        from: &Path,
    ) -> bool {
        let files = self.for_rules(files, &canonical_key(from));
        let aspects = Aspects::of_targets(self.names(tool), arguments, &files, &self.cwd);
        let may_touch = || {
            (aspects.unclear && rule.names_tool(tool))
                || aspects.list.iter().any(|part| part.may_be_touched(rule))
        };
        self.touches(rule, &aspects) || may_touch()
    }

    fn touches(&self, rule: &Rule, aspects: &Aspects) -> bool {
        let is_about = rule.denies_tool(&aspects.tool);
        let whole = is_about && rule.is_general();
        let raw = is_about
            && aspects
                .command
                .as_ref()
                .is_some_and(|text| rule.matches_text(text));
        whole
            || raw
            || aspects
                .list
                .iter()
                .chain(&aspects.reads)
                .chain(&aspects.operands)
                .chain(&aspects.written)
                .any(|aspect| aspect.is_touched(rule, &self.cwd))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn rules(&self) -> Vec<(&Rule, Effect)> {
        let rules = self.rules.iter();
        rules.map(|scoped| (&scoped.rule, scoped.effect)).collect()
    }

    /// Whether there are deny or ask rules about an action that osier cannot see in the call.
    fn could_deny(&self, aspects: &Aspects, tool: &str) -> bool {
        self.rules
            .iter()
            .filter(|scoped| scoped.effect != Effect::Allow)
            .any(|ScopedRule { rule, .. }| {
                let is_unknown = aspects.unclear || aspects.runs_input;
                (is_unknown && (rule.names_tool(tool) || rule.names_tool(WRITE)))
                    || (aspects.reads_unknown && rule.names_tool(READ))
            })
    }

    fn of(&self, effect: Effect) -> impl Iterator<Item = &Rule> {
        let rules = self.rules.iter();
        let rules = rules.filter(move |scoped| scoped.effect == effect);
        rules.map(|scoped| &scoped.rule)
    }

    /// Whether there are deny or ask rules about commands.
    fn limits_commands(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|scoped| scoped.effect != Effect::Allow && scoped.rule.names_tool(BASH))
    }

    /// Whether the rules of these sources allow everything that a call does.
    fn allows(&self, aspects: &Aspects, cwd: &Path, sources: &[RuleSource]) -> bool {
        let rules: Vec<&Rule> = self
            .rules
            .iter()
            .filter(|scoped| scoped.effect == Effect::Allow && sources.contains(&scoped.source))
            .map(|scoped| &scoped.rule)
            .collect();
        let allows_all = |rule: &&Rule| rule.names_tool(BASH) && rule.is_general();
        if aspects.command.is_some()
            && (rules.iter().any(allows_all) || aspects.is_allowed_exactly(&rules))
        {
            return true;
        }
        !aspects.unclear
            && !aspects.is_connected
            && !aspects.list.is_empty()
            && aspects
                .list
                .iter()
                .all(|aspect| rules.iter().any(|rule| aspect.is_covered(rule, cwd)))
    }
}

/// Whether the call only sends keys that interrupt, suspend or end the program on a terminal.
fn stops(arguments: &Value) -> bool {
    let keys = arguments.get("keys").and_then(Value::as_array);
    let types = |text: &Value| text.as_str() != Some("");
    let is_stop = |key: &Value| {
        let key = key.as_str().unwrap_or_default();
        ["ctrl+c", "ctrl+d", "ctrl+z", "ctrl+\\"].contains(&key)
    };
    !arguments.get("text").is_some_and(types) && keys.is_some_and(|keys| keys.iter().all(is_stop))
}

/// Why a call needs permission in `yolo`, although no rule applies to it.
fn asked_in_yolo(
    tool: &str,
    arguments: &Value,
    is_network_denied: bool,
    limits_commands: bool,
) -> Option<&'static str> {
    if is_network_denied {
        return Some("the sandbox denies the network to commands");
    }
    (tool == TERMINAL && limits_commands && !stops(arguments)).then_some(
        "a rule restricts commands, and the program that reads this input could run any command",
    )
}

/// The decision in plan mode about a call that changes something; `confined` means that the sandbox prevents it.
fn planned(tool: &str, confined: bool) -> Verdict {
    match tool {
        BASH if confined => Verdict::Allow,
        BASH => Verdict::Deny("plan mode is read-only, and no sandbox is available to prevent this command from writing: use the read-only tools".to_owned()),
        _ => Verdict::Deny("plan mode is read-only: describe the change in the plan".to_owned()),
    }
}

#[cfg(test)]
mod tests;
