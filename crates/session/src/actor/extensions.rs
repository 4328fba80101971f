//! Hooks, plugins, project trust, settings and context: changes of the open session from outside.

use std::sync::Arc;

use serde_json::json;

use super::run::Actor;
use crate::context::commands::{CommandSession, PreparedCommand};
use crate::context::project::Scope;
use crate::context::prompt::session_prompt;
use crate::cx::NO_SESSION;
use crate::extensions::hooks::Source;
use crate::extensions::{hooks, mcp, model_switch, plugins};
use crate::models::set_roles;
use crate::safety::trust;
use crate::safety::trust::TrustDecision;
use crate::sessions::open_session::OpenSession;
use futures_util::future::FutureExt as _;
use osier_agent::Severity;
use osier_extensions::hooks::{HookNews, Opening, Role, SessionHooks};
use osier_extensions::plugins::channel::Request;
use osier_mcp::ServerEvent;
use osier_peers::commands::{Expansion, Placeholders};
use osier_permissions::trust::project_root;
use osier_protocol::questions::Question;
use osier_protocol::{Event, ExtensionOp, HookEvent};
use osier_settings::Settings;

impl Actor {
    /// Handles a request about what extends the session.
    pub(super) async fn apply_extension(&mut self, op: ExtensionOp) {
        let session = self.session.as_ref();
        match op {
            ExtensionOp::ListMcpServers => {
                if let Some(session) = session {
                    self.emitter.passed_to_agent();
                    session.mcp.list();
                }
            }
            ExtensionOp::ListCodeServers => {
                if let Some(session) = session {
                    let servers = session.code.infos();
                    self.publish(Event::CodeServers { servers });
                }
            }
            ExtensionOp::McpServer { name, action } => {
                if let Some(session) = session {
                    session.mcp.act(&name, action);
                }
            }
            ExtensionOp::CompleteMcp { request, text } => {
                if let Some(session) = session {
                    let (mcp, emitter) = (session.mcp.clone(), self.emitter.clone());
                    osier_base::task::spawn(async move {
                        let values = mcp.complete(&text).await;
                        emitter.post(Event::McpCompletions { request, values });
                    });
                }
            }
            ExtensionOp::PressPluginKey { plugin, keys } => {
                self.extensions
                    .plugins
                    .loaded_plugins()
                    .press(&plugin, &keys);
            }
            ExtensionOp::ListHooks => self.extensions.hooks.list(&self.emitter),
            ExtensionOp::ListContext => self.extensions.context.publish(&self.emitter),
            ExtensionOp::AskTrust => {
                let decided = self.detached(|actor, decision| actor.trusted(&decision));
                let emitter = self.emitter.detached();
                trust::review(&self.setup, self.safety.questions.clone(), emitter, decided);
            }
            ExtensionOp::Reload => {
                self.tell_hooks_of_settings();
                self.ask_for_trust();
                self.load_settings();
                self.load_servers();
                self.read_context(Scope::Everything);
                self.reload_models().await;
            }
        }
    }

    /// Reads the hooks; the problems because of which some are missing are safety faults.
    pub(super) fn load_hooks(&mut self) {
        let faults = self.extensions.hooks.load(&self.setup, &self.emitter);
        self.setup.settings.without_hooks(faults);
    }

    pub(super) fn mcp_changed(&self, news: ServerEvent) {
        if mcp::publish(news, &self.emitter)
            && let Some(session) = &self.session
        {
            session.agent.send(osier_agent::Op::ListTools);
        }
    }

    /// Reads the files that configure servers again: new servers start, removed ones end.
    fn load_servers(&self) {
        if let Some(session) = &self.session {
            let (files, trusted) = mcp::files(&self.setup);
            session.code.set_trusted(trusted);
            session.mcp.load(files, trusted);
        }
    }

    pub(super) fn session_hooks(&self) -> Option<&Arc<SessionHooks>> {
        self.session.as_ref()?.policy.hooks()
    }

    fn tell_hooks_of_settings(&self) {
        if let Some(hooks) = self.session_hooks().cloned()
            && hooks.has(HookEvent::ConfigChange)
        {
            let (file, cwd) = (self.setup.folders.settings(), self.setup.cwd.clone());
            osier_base::task::spawn(async move { hooks.configured(&file, &cwd).await });
        }
    }

    /// Tells hooks which files of instructions the session has, once they are read.
    fn tell_hooks_of_instructions(&self) {
        let hooks = self.session_hooks().cloned();
        let Some(hooks) = hooks.filter(|hooks| hooks.has(HookEvent::InstructionsLoaded)) else {
            return;
        };
        let (files, cwd) = (
            self.extensions.context.instruction_files(),
            self.setup.cwd.clone(),
        );
        let of_user = self.setup.folders.config.clone();
        osier_base::task::spawn(async move {
            for file in files {
                hooks
                    .instructed(&file, file.starts_with(&of_user), &cwd)
                    .await;
            }
        });
    }

    pub(super) fn start_hooks(&mut self, source: Source) {
        let Some(session) = &self.session else { return };
        let hooks = session.policy.hooks().cloned();
        let model = self.selection.models.chosen();
        let continues = matches!(source, Source::Resume | Source::Fork);
        let last = self.progress.usage.last_request();
        let retention = self.setup.settings.cache_retention;
        let opening = Opening {
            source: source.name(),
            model: model.reference(),
            cwd: self.setup.cwd.clone(),
            trigger: self.setup.setup_hooks.take(),
            resumed: (continues && last.tokens > 0)
                .then(|| model_switch::resumed(&model, last, retention)),
        };
        self.extensions.hooks.start(source, hooks, opening);
        if !self.extensions.context.is_reading() {
            self.tell_hooks_of_instructions();
        }
    }

    pub(super) fn hook_news(&self, news: HookNews) {
        if let (HookNews::Variables(variables), Some(session)) = (&news, &self.session) {
            session.workspace.set_variables(variables.clone());
        }
        if let Some(message) = hooks::publish(news, &self.emitter)
            && let Some(session) = &self.session
        {
            session.append(message);
        }
    }

    pub(super) fn notify_of(&self, question: &Question) {
        if let Some(hooks) = self.session_hooks() {
            hooks::notify_of_question(Arc::clone(hooks), question, &self.setup.cwd);
        }
    }

    pub(super) fn ask_for_trust(&self) {
        let decided = self.detached(|actor, decision| actor.trusted(&decision));
        let emitter = self.emitter.detached();
        trust::ask(&self.setup, self.safety.questions.clone(), emitter, decided);
    }

    /// Stores the decision on the project; its files apply from now on, or no longer.
    pub(super) fn trusted(&mut self, decision: &TrustDecision) {
        let was_trusted = decision.is_stored_trust(&self.setup);
        let is_stored = trust::decide(decision, &self.setup, &self.emitter);
        if !is_stored || !(decision.trusted || was_trusted) {
            return;
        }
        self.load_settings();
        if decision.trusted
            && let Some(source) = self.extensions.hooks.source()
        {
            self.start_hooks(source);
        }
        self.load_servers();
        self.read_context(Scope::Everything);
        if decision.trusted {
            self.publish(Event::ProjectTrusted);
        }
    }

    /// Reads the settings and the hooks again; permission rules apply at once.
    pub(super) fn load_settings(&mut self) {
        let setup = &mut self.setup;
        let current = &setup.settings;
        let (mut settings, problems) = Settings::reload_for(&setup.folders, &setup.cwd, current);
        self.emitter.problems(&problems);
        setup.settings.claude_hooks = settings.claude_hooks;
        settings.without_hooks(self.extensions.hooks.load(setup, &self.emitter));
        self.safety
            .permissions
            .reload(&settings, setup, &self.emitter);
        let review_model = settings.review_model.take();
        setup.settings.review_model = review_model;
        set_roles(settings, &mut setup.settings);
        self.safety.permissions.publish(&self.emitter);
    }

    /// Asks whether the hooks in the user's settings of Claude Code run, if the user has not decided.
    pub(super) fn ask_about_claude_hooks(&self) {
        let decided = self.detached(Self::set_claude_hooks);
        let (questions, emitter) = (self.safety.questions.clone(), self.emitter.detached());
        hooks::ask_about_claude(&self.setup, questions, emitter, decided);
    }

    /// Stores the decision about the hooks of Claude Code, which run from now on if they may.
    pub(super) fn set_claude_hooks(&mut self, run: bool) {
        let path = self.setup.folders.settings();
        let stored = osier_settings::write(&path, "claude_hooks", Some(&run.to_string()));
        if let Err(error) = stored {
            let text = format!("cannot save the decision: {error}");
            self.notice(Severity::Warning, text);
        }
        self.load_settings();
        self.setup.settings.claude_hooks = Some(run);
        if run && let Some(source) = self.extensions.hooks.source() {
            self.load_hooks();
            self.start_hooks(source);
        }
    }

    /// The values of the placeholders in slash commands.
    pub(super) fn placeholders(&self) -> Placeholders {
        Placeholders {
            project: project_root(&self.setup.cwd),
            session_id: self
                .session
                .as_ref()
                .map_or_else(String::new, |session| session.store.id().to_owned()),
        }
    }

    /// Prepares the prompt of a slash command that needs more than text.
    pub(super) fn prepare_command(&mut self, expansion: Expansion, op: osier_agent::Op) {
        let Some(session) = &self.session else {
            return self.notice(Severity::Error, NO_SESSION);
        };
        // Otherwise the project could allow the calls that it asks the model to make.
        if !expansion.of_project {
            self.safety
                .permissions
                .begin_command(&expansion.allowed_tools, &self.emitter);
        }
        let asks_trust = expansion.of_project && !expansion.commands.is_empty();
        let trusted = asks_trust && trust::trusted_files(&self.setup).runs_servers();
        let done = self.async_callback(|actor, prepared| actor.command_prepared(prepared).boxed());
        let (_, gate) = session.policy.interceptors(&session.workspace, Role::Main);
        let session = CommandSession {
            id: session.id(),
            workspace: &session.workspace,
            gate,
            trusted,
        };
        self.extensions
            .commands
            .prepare(expansion, op, session, &self.emitter, done);
    }

    /// Sends the prompt of a slash command, with the model that it names.
    pub(super) async fn command_prepared(&mut self, prepared: PreparedCommand) {
        let open = self.session.as_ref().map(|session| session.store.id());
        if open != Some(prepared.session.as_str()) {
            return;
        }
        let Some(op) = prepared.op else {
            if !self.is_streaming() && self.safety.permissions.end_command() {
                self.safety.permissions.publish(&self.emitter);
            }
            return;
        };
        if let Some(name) = &prepared.model {
            match self.selection.models.find_of_peer(name) {
                Ok(Some((model, level))) => {
                    let mut before = self.selection.models.chosen().reference();
                    if before != model.reference() {
                        if level.is_some() {
                            before = format!("{before}:{}", self.selection.level.name());
                        }
                        self.choose((model, level)).await;
                        self.extensions.commands.model_before.get_or_insert(before);
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    let text = format!("{error}; the command uses the model of the session");
                    self.notice(Severity::Warning, text);
                }
            }
        }
        self.pass_to_agent(op).await;
    }

    /// If the run of a slash command has ended, the model of the session is used again.
    pub(super) async fn return_to_model(&mut self) {
        let has_ended = std::mem::take(&mut self.extensions.commands.has_ended);
        if has_ended
            && let Some(before) = self.extensions.commands.model_before.take()
            && let Ok(choice) = self.selection.models.find(&before)
        {
            self.choose(choice).await;
        }
    }

    pub(super) fn read_context(&mut self, scope: Scope) {
        let done = self.async_callback(|actor, ()| actor.context_read().boxed());
        let plugins = self.extensions.plugins.loaded_plugins();
        let plugins = (plugins, plugins::folders(&self.setup));
        self.extensions
            .context
            .read(scope, &self.setup, plugins, done);
    }

    /// Applies the context that was read, and handles the ops that waited for it.
    pub(super) async fn context_read(&mut self) {
        let Some((loaded, is_new)) = self.extensions.context.finish(&self.emitter).await else {
            return;
        };
        if is_new {
            self.offer_subagents();
            self.tell_hooks_of_instructions();
        }
        let changed = self.detached(|actor, ()| actor.read_context(Scope::Plugins));
        self.extensions
            .plugins
            .watch(plugins::folders(&self.setup), changed);
        let info = self.session.as_ref().map(OpenSession::info);
        self.extensions.plugins.loaded(&loaded, info, &self.emitter);
        self.update_prompt();
        self.extensions
            .context
            .publish_commands(self.extensions.plugins.loaded_plugins(), &self.emitter);
        if let Some(next) = self.extensions.context.take_next() {
            self.read_context(next);
            return;
        }
        self.apply_waiting().await;
    }

    /// The session closes: ops that wait for a read are handled without it.
    pub(super) async fn cancel_reading(&mut self) {
        if !self.waiting.is_empty() && self.extensions.context.cancel() {
            self.apply_waiting().await;
            // The next session reads it.
            self.read_context(Scope::Everything);
        }
    }

    /// Offers subagents if the settings enable them.
    pub(super) fn offer_subagents(&self) {
        if let Some(session) = &self.session
            && self.setup.settings.subagents
        {
            let selection = &self.selection;
            session.subagents.reload(
                &self.setup,
                &selection.models,
                selection.level,
                &self.emitter,
            );
        }
    }

    /// Sends the agent the current system prompt if it has changed.
    pub(super) fn update_prompt(&self) {
        let Some(session) = &self.session else { return };
        let state = session.agent.state();
        let prompt = self.system_prompt(&state.tools);
        if prompt != state.system_prompt {
            session
                .agent
                .send(osier_agent::Op::SetSystemPrompt { prompt });
        }
    }

    /// The system prompt of an agent that offers `tools`: the one that a client has set, or osier's own.
    pub(super) fn system_prompt(&self, tools: &[String]) -> String {
        let set = self.program.system_prompt.clone();
        set.unwrap_or_else(|| {
            session_prompt(&self.setup, &self.extensions.context.prompt(tools), tools)
        })
    }

    pub(super) async fn plugin_request(&mut self, request: Request) {
        match request {
            Request::Notify { severity, text } => self.notice(severity, text),
            Request::Problem(problem) => self.notice(Severity::Error, problem.to_string()),
            Request::Status { plugin, text } => self.publish(Event::PluginStatus { plugin, text }),
            Request::Widget { plugin, lines } => {
                self.publish(Event::PluginWidget { plugin, lines });
            }
            Request::Message(message) => {
                if let Some(session) = &self.session {
                    self.extensions.plugins.append(*message, &session.agent);
                }
            }
            Request::Entries { kind, reply } => match &self.session {
                Some(session) => plugins::send_entries(&session.store, kind, reply),
                None => drop(reply.send(Vec::new())),
            },
            Request::Model { reply } => {
                let _ = reply.send(self.selection.models.chosen().reference());
            }
            Request::SetModel { reference, reply } => {
                let answer = match self.selection.models.find(&reference) {
                    Ok((model, level)) => {
                        if model.reference() != self.selection.models.chosen().reference()
                            || level.is_some()
                        {
                            self.choose((model, level)).await;
                        }
                        Ok(())
                    }
                    Err(error) => Err(error.to_string()),
                };
                let _ = reply.send(answer);
            }
            Request::Session { reply } => {
                let session = self.session.as_ref().map(OpenSession::info);
                let _ = reply.send(json!(session));
            }
            Request::MayRun {
                plugin,
                command,
                reply,
            } => {
                // Without a session `reply` is dropped, which denies the command.
                if let Some(session) = &self.session {
                    let (policy, workspace) = (&session.policy, &session.workspace);
                    plugins::may_run(&plugin, &command, policy, workspace, reply);
                }
            }
        }
    }
}
