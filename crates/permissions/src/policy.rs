//! The rules of a session, and the decision about a call.

use osier_protocol::{RuleInfo, RuleSource};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::aspects::Aspects;
use super::rule::Rule;
use super::saved_rules::Remembered;
use super::sensitive::Places;
use osier_base::atomic_file::WriteError;
use osier_base::folders::Folders;
use osier_protocol::questions::Grant;
use osier_protocol::{Effect, PermissionMode};
use osier_tools::FileTarget;

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// The model receives the reason.
    Deny(String),
    /// `why` is the reason for the question; `patterns` are the rules that can be saved.
    Ask {
        why: String,
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
    rules: Vec<ScopedRule>,
}

impl Permissions {
    /// Loads the rules of the settings and of the project; `store` is the file with the saved rules.
    pub fn new(cwd: &Path, store: PathBuf, mode: PermissionMode, rules: RuleLists<'_>) -> Self {
        let permissions = Self {
            cwd: osier_base::path::canonical_key(cwd),
            remembered: Remembered::new(store, cwd),
            places: Places::new(None),
            state: Mutex::new(State {
                mode,
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
            .filter(|rule| rule.source == RuleSource::Session);
        rules.extend(session);
        state.rules = rules;
    }

    pub fn mode(&self) -> PermissionMode {
        self.lock().mode
    }

    pub fn set_mode(&self, mode: PermissionMode) {
        self.lock().mode = mode;
    }

    /// Removes the session rules, for a new session. True when there were any.
    pub fn forget_session(&self) -> bool {
        let mut state = self.lock();
        let before = state.rules.len();
        state
            .rules
            .retain(|rule| rule.source != RuleSource::Session);
        state.rules.len() < before
    }

    pub fn list(&self) -> Vec<RuleInfo> {
        let state = self.lock();
        let rules = state.rules.iter().map(|scoped| RuleInfo {
            rule: scoped.rule.text.clone(),
            effect: scoped.effect,
            source: scoped.source,
        });
        rules.collect()
    }

    /// Saves a permission that the user granted.
    pub fn grant(&self, grant: &Grant) -> Result<(), WriteError> {
        let (pattern, source) = match grant {
            Grant::Once => return Ok(()),
            Grant::Session { pattern } => (pattern, RuleSource::Session),
            Grant::Project { pattern } => (pattern, RuleSource::Project),
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

    /// Removes a rule that was granted in a dialog; false when there is none. The user's settings file is
    /// never changed.
    pub fn forget(&self, text: &str) -> Result<bool, WriteError> {
        let mut found = false;
        self.lock().rules.retain(|scoped| {
            let this = scoped.rule.text == text && scoped.source != RuleSource::Settings;
            found |= this;
            !this
        });
        self.remembered.remove(text)?;
        Ok(found)
    }

    /// The decision about a call of `tool`. `confined` means that the sandbox can prevent a command from
    /// writing.
    pub fn decide(
        &self,
        tool: &str,
        arguments: &Value,
        hint: Option<&Hint>,
        confined: bool,
    ) -> Verdict {
        let target = FileTarget::of(tool, arguments, &self.cwd);
        self.decide_target(tool, arguments, target.as_ref(), hint, confined)
    }

    /// Like [`Self::decide`] for a call whose file was resolved to `target`.
    pub fn decide_target(
        &self,
        tool: &str,
        arguments: &Value,
        target: Option<&FileTarget>,
        hint: Option<&Hint>,
        confined: bool,
    ) -> Verdict {
        let aspects = Aspects::of_target(tool, arguments, target, &self.cwd);
        let state = self.lock();
        let touching = |wanted: Effect| {
            let rules = state.rules.iter().filter(|scoped| scoped.effect == wanted);
            let mut rules = rules.map(|scoped| &scoped.rule);
            rules.find(|rule| self.touches(rule, tool, &aspects))
        };
        if let Some(rule) = touching(Effect::Deny) {
            return Verdict::Deny(format!("the rule `{}` denies it", rule.text));
        }
        let ask = |why: String| Verdict::Ask {
            why,
            patterns: aspects.patterns(tool, &self.cwd),
        };
        let guarded = |ScopedRule { rule, effect, .. }: &ScopedRule| {
            *effect != Effect::Allow && (rule.is_about(tool) || rule.is_about("write"))
        };
        let harmless = is_harmless(tool, arguments);
        if state.mode == PermissionMode::Plan && !harmless {
            return match tool {
                "bash" if confined => Verdict::Allow,
                "bash" => Verdict::Deny("plan mode is read-only, and no sandbox is available to prevent this command from writing: use the read-only tools, or ask the user to leave plan mode".to_owned()),
                _ => Verdict::Deny("plan mode is read-only: describe the change instead, or ask the user to leave plan mode".to_owned()),
            };
        }
        let allow = state.rules.iter();
        let allow = allow.filter(|scoped| scoped.effect == Effect::Allow);
        let allow: Vec<&Rule> = allow.map(|scoped| &scoped.rule).collect();
        if let Some(guarded) = self.guarded(&aspects, state.mode, &allow) {
            let patterns = self.patterns_for(&guarded, &aspects, tool);
            let why = guarded.why;
            return Verdict::Ask { why, patterns };
        }
        if state.allows(
            &aspects,
            &self.cwd,
            &[RuleSource::Session, RuleSource::Project],
        ) {
            return Verdict::Allow;
        }
        if let Some(Hint::Ask(why)) = hint {
            return ask(why.clone());
        }
        if let Some(rule) = touching(Effect::Ask) {
            return ask(format!("the rule `{}` requires permission", rule.text));
        }
        let allowed = harmless
            || hint == Some(&Hint::Allow)
            || state.allows(&aspects, &self.cwd, &[RuleSource::Settings]);
        match state.mode {
            _ if allowed => Verdict::Allow,
            PermissionMode::Yolo if aspects.unclear && state.rules.iter().any(guarded) => {
                ask("osier cannot determine whether a rule denies it".to_owned())
            }
            PermissionMode::Yolo => Verdict::Allow,
            PermissionMode::Ask | PermissionMode::Plan => ask(String::new()),
        }
    }

    /// Whether `rule` applies to this call, or to a part of it.
    pub fn concerns(&self, rule: &Rule, tool: &str, arguments: &Value) -> bool {
        self.touches(rule, tool, &Aspects::of(tool, arguments, &self.cwd))
    }

    fn touches(&self, rule: &Rule, tool: &str, aspects: &Aspects) -> bool {
        let whole = rule.is_about(tool) && rule.is_general();
        let raw = rule.is_about(tool)
            && aspects
                .command
                .as_ref()
                .is_some_and(|text| rule.fits_text(text));
        whole
            || raw
            || aspects
                .list
                .iter()
                .chain(&aspects.reads)
                .any(|aspect| aspect.is_touched(rule, &self.cwd))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the rules of these sources allow everything that a call does.
    fn allows(&self, aspects: &Aspects, cwd: &Path, sources: &[RuleSource]) -> bool {
        let rules: Vec<&Rule> = self
            .rules
            .iter()
            .filter(|scoped| scoped.effect == Effect::Allow && sources.contains(&scoped.source))
            .map(|scoped| &scoped.rule)
            .collect();
        if let Some(command) = &aspects.command {
            let exactly = format!("bash({})", super::rule::literal(command));
            let whole =
                |rule: &&Rule| rule.is_about("bash") && (rule.is_general() || rule.text == exactly);
            if rules.iter().any(whole) {
                return true;
            }
        }
        !aspects.unclear
            && !aspects.list.is_empty()
            && aspects
                .list
                .iter()
                .all(|aspect| rules.iter().any(|rule| aspect.is_covered(rule, cwd)))
    }
}

/// Whether the call changes nothing and does not use the network.
fn is_harmless(tool: &str, arguments: &Value) -> bool {
    match osier_tools::find(tool) {
        Some(known) if known.read_only => true,
        // Each tool call of the subagent is checked separately.
        None if tool == osier_tools::SUBAGENT => true,
        // Without a command, `bash` only lists, reads or kills running jobs.
        Some(known) if known.name == "bash" => arguments.get("command").is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixture {
        folder: tempfile::TempDir,
        allow: Vec<String>,
        ask: Vec<String>,
        deny: Vec<String>,
    }

    fn place(allow: &[&str], ask: &[&str], deny: &[&str]) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let owned = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
        Fixture {
            folder,
            allow: owned(allow),
            ask: owned(ask),
            deny: owned(deny),
        }
    }

    impl Fixture {
        fn permissions(&self, mode: PermissionMode) -> Permissions {
            let store = self.folder.path().join("permissions.json");
            let rules = RuleLists {
                allow: &self.allow,
                ask: &self.ask,
                deny: &self.deny,
            };
            Permissions::new(self.folder.path(), store, mode, rules)
        }
    }

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Allow => "allow",
            Verdict::Deny(_) => "deny",
            Verdict::Ask { .. } => "ask",
        }
    }

    fn bash(permissions: &Permissions, command: &str) -> &'static str {
        let arguments = json!({"command": command});
        word(&permissions.decide("bash", &arguments, None, false))
    }

    #[test]
    fn every_part_of_a_command_must_be_allowed() {
        let place = place(&["bash(git *)", "bash(ls)", "write(out/**)"], &[], &[]);
        let permissions = place.permissions(PermissionMode::Ask);
        for (command, expected) in [
            ("git status", "allow"),
            ("git status && ls", "allow"),
            ("git status && rm -rf x", "ask"),
            ("git status; rm x", "ask"),
            ("git status | sh", "ask"),
            ("git log $(rm x)", "ask"),
            ("git log `rm x`", "ask"),
            ("git log > out/log", "allow"),
            ("git log > /etc/passwd", "ask"),
            ("git log > $HOME/x", "ask"),
            ("git log 2>/dev/null", "allow"),
            ("git log\nrm x", "ask"),
            ("X=1 git log", "ask"),
            ("sudo git log", "ask"),
            ("git log <(rm x)", "ask"),
            ("(git log)", "allow"),
            ("if git status; then ls; fi", "allow"),
            ("$GIT log", "ask"),
            ("gitk", "ask"),
            ("git 'unfinished", "ask"),
        ] {
            assert_eq!(bash(&permissions, command), expected, "{command}");
        }
    }

    #[test]
    fn deny_overrides_every_mode_and_saved_rule() {
        let place = place(
            &["bash"],
            &[],
            &["bash(rm *)", "write(.env)", "read(*.pem)"],
        );
        for mode in PermissionMode::ALL {
            let permissions = place.permissions(mode);
            let pattern = "bash(rm *)".to_owned();
            permissions.grant(&Grant::Project { pattern }).unwrap();
            for command in [
                "rm x",
                "ls && rm -rf x",
                "echo $(rm x)",
                "/bin/rm x",
                "r\\m x",
                "'rm' x",
                "X=1 rm x",
                "sudo -u root rm x",
                "env A=b rm x",
                "find . -exec rm {} +",
                "xargs -n 1 rm x",
                "timeout 5 rm x",
                "time rm x",
                "bash -c 'ls; rm x'",
                "sh -ec \"rm x\"",
                "eval 'rm x'",
                "nohup bash -c 'sudo rm x' &",
                "echo x > .env",
                "echo x >> deep/.env",
            ] {
                assert_eq!(bash(&permissions, command), "deny", "{mode:?} {command}");
            }
            let key = json!({"file_path": "keys/a.pem"});
            assert_eq!(word(&permissions.decide("read", &key, None, false)), "deny");
        }
    }

    #[test]
    fn yolo_asks_only_when_a_rule_asks_or_could_apply() {
        let bare = place(&[], &[], &[]);
        let bare = bare.permissions(PermissionMode::Yolo);
        assert_eq!(bash(&bare, "$X 'unfinished"), "allow");
        let ruled = place(&[], &["bash(git push *)"], &["bash(rm *)"]);
        let ruled = ruled.permissions(PermissionMode::Yolo);
        assert_eq!(bash(&ruled, "git push origin"), "ask");
        assert_eq!(bash(&ruled, "git pull"), "allow");
        assert_eq!(bash(&ruled, "$X y"), "ask");
        assert_eq!(bash(&ruled, "bash -c \"$X\""), "ask");
    }

    #[test]
    fn plan_mode_denies_writes_despite_rules() {
        let place = place(&["bash", "write", "edit", "mcp__x__y"], &[], &[]);
        let permissions = place.permissions(PermissionMode::Plan);
        let pattern = "write".to_owned();
        permissions.grant(&Grant::Session { pattern }).unwrap();
        let file = json!({"file_path": "x"});
        for tool in ["write", "edit", "mcp__x__y", "anything"] {
            let verdict = permissions.decide(tool, &file, Some(&Hint::Allow), true);
            assert_eq!(word(&verdict), "deny", "{tool}");
        }
        let decide = |tool: &str, arguments: Value, confined: bool| {
            word(&permissions.decide(tool, &arguments, None, confined))
        };
        assert_eq!(decide("bash", json!({"command": "ls"}), false), "deny");
        assert_eq!(decide("bash", json!({"command": "ls"}), true), "allow");
        assert_eq!(decide("bash", json!({"action": "list"}), false), "allow");
        assert_eq!(decide("read", file, false), "allow");
    }

    #[test]
    fn ask_mode_asks_about_changes_and_network() {
        let place = place(&["edit(src/**)"], &[], &[]);
        let permissions = place.permissions(PermissionMode::Ask);
        let decide = |tool: &str, path: &str| {
            word(&permissions.decide(tool, &json!({"file_path": path}), None, false))
        };
        assert_eq!(decide("read", "x"), "allow");
        assert_eq!(decide("write", "x"), "ask");
        assert_eq!(decide("edit", "src/a.rs"), "allow");
        assert_eq!(decide("edit", "src/../other.rs"), "ask");
        assert_eq!(decide("mcp__x__y", "x"), "ask");
        // The target of the link counts.
        let root = place.folder.path();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(root.join("out")).unwrap();
        std::os::unix::fs::symlink(root.join("out"), root.join("src/link")).unwrap();
        assert_eq!(decide("edit", "src/link/a.rs"), "ask");
    }

    #[test]
    fn grant_covers_later_calls_for_its_duration() {
        let place = place(&[], &["bash(git push *)"], &[]);
        let permissions = place.permissions(PermissionMode::Ask);
        let asked = |command: &str| {
            let verdict = permissions.decide("bash", &json!({"command": command}), None, false);
            match verdict {
                Verdict::Ask { patterns, .. } => patterns,
                other => panic!("{other:?}"),
            }
        };
        let patterns = asked("git push origin main");
        let expected = [
            "bash(git push origin main)",
            "bash(git push *)",
            "bash(git *)",
            "bash",
        ];
        assert_eq!(patterns, expected);
        let pattern = patterns[0].clone();
        permissions.grant(&Grant::Session { pattern }).unwrap();
        assert_eq!(bash(&permissions, "git push origin main"), "allow");
        assert_eq!(bash(&permissions, "git push origin main; rm x"), "ask");
        assert!(permissions.forget_session());
        assert_eq!(bash(&permissions, "git push origin main"), "ask");
        // A compound command can be saved as it is.
        let command = "cd x && make *";
        let pattern = asked(command)[0].clone();
        let grant = Grant::Project { pattern };
        permissions.grant(&grant).unwrap();
        let again = place.permissions(PermissionMode::Ask);
        assert_eq!(bash(&again, command), "allow");
        assert_eq!(bash(&again, "cd x && make y"), "ask");
        let Grant::Project { pattern } = grant else {
            return;
        };
        assert!(again.forget(&pattern).unwrap());
        assert_eq!(
            bash(&place.permissions(PermissionMode::Ask), command),
            "ask"
        );
    }

    #[test]
    fn rules_accept_the_mcp_prefix() {
        let place = place(
            &["mcp__github__get_*"],
            &["mcp__github__create_*"],
            &["mcp__github__delete_*"],
        );
        for (mode, tool, expected) in [
            (PermissionMode::Ask, "github__get_issue", "allow"),
            (PermissionMode::Ask, "gitlab__get_issue", "ask"),
            (PermissionMode::Yolo, "github__create_issue", "ask"),
            (PermissionMode::Yolo, "github__delete_issue", "deny"),
            (PermissionMode::Yolo, "gitlab__delete_issue", "allow"),
        ] {
            let verdict = place
                .permissions(mode)
                .decide(tool, &json!({}), None, false);
            assert_eq!(word(&verdict), expected, "{tool}");
        }
        // The `if` condition of a hook.
        let rule = Rule::parse("mcp__github__*").unwrap();
        let permissions = place.permissions(PermissionMode::Yolo);
        let concerns = |tool| permissions.concerns(&rule, tool, &json!({}));
        assert!(concerns("github__get_issue"));
        assert!(!concerns("bash"));
    }

    #[test]
    fn hook_can_allow_or_ask_but_not_override_a_rule() {
        let place = place(&[], &["bash(git push *)"], &["bash(rm *)"]);
        let permissions = place.permissions(PermissionMode::Ask);
        let decide = |command: &str, hint: &Hint| {
            let arguments = json!({"command": command});
            word(&permissions.decide("bash", &arguments, Some(hint), false))
        };
        assert_eq!(decide("make", &Hint::Allow), "allow");
        assert_eq!(decide("git push x", &Hint::Allow), "ask");
        assert_eq!(decide("rm x", &Hint::Allow), "deny");
        assert_eq!(decide("ls", &Hint::Ask("why".into())), "ask");
    }
}
