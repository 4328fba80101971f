//! Permissions and the sandbox of a session: the rules, the mode, and the events about them for clients. The gate
//! before each tool call applies the rules.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::Severity;
use osier_base::path;
use osier_permissions::Permissions;
use osier_protocol::questions::{Grant, Questions};
use osier_protocol::{PermissionMode, SandboxMode};
use osier_sandbox::Confinement;
use osier_sandbox::network::HostRule;
use osier_settings::Settings;
use osier_tools::WebOptions;

use crate::context::prompt::additional_directories;
use crate::emitter::Emitter;
use crate::safety::deny_rules::denials;
use crate::safety::mode::{change_mode, describe};
use crate::safety::tool_policy::ToolPolicy;
use crate::setup::SessionSetup;

/// The rules and the sandbox.
#[derive(Debug)]
pub(crate) struct PermissionState {
    rules: Arc<Permissions>,
    sandbox: Arc<Confinement>,
}

impl PermissionState {
    pub(crate) fn new(setup: &SessionSetup, questions: &Questions) -> Self {
        let mode = wanted(setup.permissions, &setup.settings);
        let store = setup.folders.permissions();
        let rules = Permissions::new(&setup.cwd, store, mode, setup.settings.rules());
        let rules = rules.protecting(&setup.folders);
        let sandbox = Self::sandbox_of(setup);
        sandbox.set_plan(mode == PermissionMode::Plan);
        if setup.answers_questions {
            sandbox.set_asker(questions.clone());
        }
        Self {
            rules: Arc::new(rules),
            sandbox: Arc::new(sandbox),
        }
    }

    /// The sandbox of the settings.
    pub(crate) fn sandbox_of(setup: &SessionSetup) -> Confinement {
        let sandbox = Confinement::new(&setup.cwd, setup.helper.clone()).hiding(&setup.folders);
        confine(&sandbox, setup);
        sandbox
    }

    /// Warns about a sandbox that covers more than a project.
    pub(crate) fn warn(&self, emitter: &Emitter) {
        if let Some(warning) = self.sandbox.warning() {
            emitter.notice(Severity::Warning, warning);
        }
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.rules.mode()
    }

    /// The policy for a session that opens. Permissions of the session before are removed.
    pub(crate) fn policy(
        &self,
        questions: &Questions,
        interactive: bool,
        setup: &SessionSetup,
        emitter: &Emitter,
    ) -> ToolPolicy {
        if self.rules.forget_session() {
            self.publish(emitter);
        }
        let (rules, sandbox) = (Arc::clone(&self.rules), Arc::clone(&self.sandbox));
        let policy = ToolPolicy::new(
            rules,
            sandbox,
            questions.clone(),
            interactive,
            background_after(setup),
        );
        policy
            .with_environment(setup.settings.command_environment.clone())
            .with_web(web_options(setup))
            .with_loop_guard(setup.settings.loop_guard)
            .with_directories(additional_directories(setup))
            .with_maps(setup.folders.maps())
    }

    /// Sets the mode, or `least` if the settings allow no less strict one.
    pub(crate) fn set_mode(&self, mode: PermissionMode, least: PermissionMode, emitter: &Emitter) {
        if mode < least {
            let text = format!(
                "your settings do not allow the permission mode `{}`; it is `{}`",
                mode.name(),
                least.name()
            );
            emitter.notice(Severity::Warning, text);
        }
        self.change_mode(mode.max(least));
        self.publish(emitter);
    }

    /// Publishes the mode, the rules and the sandbox.
    pub(crate) fn publish(&self, emitter: &Emitter) {
        emitter.publish(describe(&self.rules, &self.sandbox));
    }

    /// Publishes them if they differ from the defaults: for a session that has opened.
    pub(crate) fn publish_changed(&self, emitter: &Emitter) {
        let is_default = self.rules.mode() == PermissionMode::default()
            && self.rules.list().is_empty()
            && self.sandbox.mode() == SandboxMode::Off;
        if !is_default {
            self.publish(emitter);
        }
    }

    /// Adds a rule that the user allowed.
    pub(crate) fn grant(&self, grant: &Grant, emitter: &Emitter) {
        if let Err(error) = self.rules.grant(grant) {
            emitter.notice(Severity::Warning, format!("cannot save the rule: {error}"));
        }
        self.publish(emitter);
    }

    /// Sets the rules of a slash command until its run ends.
    pub(crate) fn begin_command(&self, allow: &[String], emitter: &Emitter) {
        if self.rules.set_command_rules(allow) {
            self.publish(emitter);
        }
    }

    /// Removes the rules of a slash command. Whether there were any.
    pub(crate) fn end_command(&self) -> bool {
        self.rules.set_command_rules(&[])
    }

    /// Removes a rule that was added in a dialog.
    pub(crate) fn remove(&self, rule: &str, emitter: &Emitter) {
        match self.rules.forget(rule) {
            Ok(true) => {}
            Ok(false) => {
                let text = format!(
                    "`{rule}` was not added in a dialog: edit the settings file to remove a rule from it"
                );
                emitter.notice(Severity::Warning, text);
            }
            Err(error) => emitter.notice(Severity::Warning, error.to_string()),
        }
        self.publish(emitter);
    }

    /// Applies and shows the settings in `setup` while the safety settings cannot be read.
    pub(crate) fn hold(&self, setup: &SessionSetup, emitter: &Emitter) {
        let Some(fault) = setup.settings.faults.first() else {
            return;
        };
        let mode = self.rules.mode().max(setup.settings.least);
        if mode > self.rules.mode() {
            self.change_mode(mode);
        }
        let Settings {
            allow, ask, deny, ..
        } = &setup.settings;
        let text = format!(
            "until `{}` is fixed, the last valid safety settings apply, or stricter ones: permission mode `{}`, sandbox \
             `{}`, rules: {} allow, {} ask, {} deny; save the corrected file, or use `/reload`",
            path::below_home(&fault.path),
            mode.name(),
            self.sandbox.mode().name(),
            allow.len(),
            ask.len(),
            deny.len(),
        );
        emitter.notice(Severity::Warning, text);
    }

    /// Applies newly read settings and stores them in `setup`. The mode and the sandbox can only become stricter, except
    /// that they return to what the settings say when these can be read again.
    pub(crate) fn reload(&self, settings: &Settings, setup: &mut SessionSetup, emitter: &Emitter) {
        self.rules.reload(settings.rules());
        let is_fixed = !setup.settings.faults.is_empty() && settings.faults.is_empty();
        let (now, held) = (
            self.rules.mode(),
            wanted(setup.permissions, &setup.settings),
        );
        let required = match setup.permissions {
            Some(_) => settings.least,
            None => settings.permissions,
        };
        if required > now {
            self.change_mode(required);
        } else if is_fixed && now == held {
            self.change_mode(wanted(setup.permissions, settings));
        }
        let current = &mut setup.settings;
        let is_stricter = settings.sandbox > current.sandbox && setup.sandbox.is_none();
        if is_fixed {
            current
                .sandbox_network
                .clone_from(&settings.sandbox_network);
            current.sandbox_write.clone_from(&settings.sandbox_write);
        }
        if is_fixed || is_stricter {
            current.sandbox = settings.sandbox;
        }
        current.allow.clone_from(&settings.allow);
        current.ask.clone_from(&settings.ask);
        current.deny.clone_from(&settings.deny);
        current
            .command_environment
            .clone_from(&settings.command_environment);
        current.directories.clone_from(&settings.directories);
        current
            .project_directories
            .clone_from(&settings.project_directories);
        current.permissions = settings.permissions;
        current.least = settings.least;
        current.faults.clone_from(&settings.faults);
        current.written.clone_from(&settings.written);
        if is_fixed || is_stricter {
            confine(&self.sandbox, setup);
        } else {
            self.sandbox.deny(denials(&setup.settings.deny, &setup.cwd));
        }
        if is_fixed {
            let (mode, sandbox) = (self.rules.mode().name(), self.sandbox.mode().name());
            let text = format!(
                "the safety settings can be read again: permission mode `{mode}`, sandbox `{sandbox}`"
            );
            emitter.notice(Severity::Info, text);
        }
        self.hold(setup, emitter);
    }

    fn change_mode(&self, mode: PermissionMode) {
        change_mode(&self.rules, &self.sandbox, mode);
    }
}

/// The permission mode of a flag or the settings.
fn wanted(flag: Option<PermissionMode>, settings: &Settings) -> PermissionMode {
    flag.unwrap_or(settings.permissions).max(settings.least)
}

/// When a command of the model becomes a background job.
fn background_after(setup: &SessionSetup) -> Option<Duration> {
    let seconds = setup.settings.background_after;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

fn web_options(setup: &SessionSetup) -> WebOptions {
    let settings = &setup.settings;
    let rules = settings.web_private_hosts.iter();
    let rules = rules.filter_map(|host| HostRule::parse(host).ok());
    WebOptions {
        private_hosts: rules.collect(),
        ca_file: settings.ca_file.clone().map(Into::into),
        program: setup
            .helper
            .clone()
            .or_else(|| std::env::current_exe().ok()),
    }
}

fn confine(sandbox: &Confinement, setup: &SessionSetup) {
    let settings = &setup.settings;
    let mode = setup.sandbox.unwrap_or(settings.sandbox);
    let folders = settings.sandbox_write.iter();
    let folders = folders.map(|folder| path::resolve(&setup.cwd, folder));
    let named = setup.directories.iter().chain(&settings.directories);
    let folders = folders.chain(named.cloned()).collect();
    sandbox.set(mode, settings.sandbox_network.clone(), folders);
    sandbox.deny(denials(&settings.deny, &setup.cwd));
}
