//! Event handling: passes the events of the session on to the features.

use std::time::{Duration, Instant};

use super::{App, inline};
use crate::actions::{Command, Effect, Toast};
use crate::conversation::{Transcript, jobs, subagents, terminals, usage, usage_page};
use crate::dialogs::{about, accounts, hooks, project_map, skills, switch_costs};
use crate::history::{
    TreeContext, checkpoints, compaction, context, fan, sessions, transfer, tree,
};
use crate::status::Footer;
use crate::status::Presence;
use osier_agent::{AgentMessage, Event as AgentEvent, RunOutcome, Severity};
use osier_base::text;
use osier_llm::TurnStatus;
use osier_protocol::{
    BudgetState, ConnectionState, Delivery, Event, ModelInfo, SessionInfo, StoredMessage,
    TreeEvent, slash,
};

/// Runs longer than this are worth a notification.
const NOTIFY_AFTER: Duration = Duration::from_secs(5);

impl App {
    /// Applies one event of the session.
    pub fn on_event(&mut self, event: &Event, now: Instant) {
        let top = self.overlays.top();
        let changed = self.transcript.apply(event);
        self.outbox.redraw(changed);
        self.transcript.report_missed(&mut self.outbox);
        self.side_panel.on_event(event);
        match event {
            Event::Agent(event) => {
                let changed = self.on_agent(event, now);
                self.outbox.redraw(changed);
            }
            // The transcript has reported whether these change anything.
            Event::MessageStored { .. } | Event::TranscriptPage { .. } => {}
            event => {
                self.outbox.redraw(true);
                self.on_session(event, now);
            }
        }
        tree::refresh(&mut self.overlays, event);
        subagents::on_event(event, &mut self.footer, &mut self.overlays, now);
        self.apply_actions(now);
        if self.overlays.top() != top && !self.prompt.editor.is_empty() {
            self.late.opened(self.overlays.top(), now);
        }
    }

    /// The session, its files and what runs in it.
    fn on_session(&mut self, event: &Event, now: Instant) {
        let (overlays, outbox) = (&mut self.overlays, &mut self.outbox);
        match event {
            Event::SessionOpened {
                session, messages, ..
            } => self.session_opened(session, messages),
            Event::SessionIndexed { contents } => {
                self.footer.total = contents.usage;
                sessions::report_damage(*contents, &self.session, &mut self.transcript);
            }
            Event::SearchHits { .. } => {
                self.search.on_event(event, &mut self.transcript, overlays);
            }
            Event::SessionFailed { .. } => {
                let is_new_tab = self.session.id.is_empty() && self.tabs.is_several();
                self.sessions.on_failed(event, is_new_tab, outbox);
            }
            Event::SessionElsewhere { elsewhere } => {
                sessions::offer_elsewhere(elsewhere, overlays);
            }
            Event::Sessions { sessions, .. } => self.sessions.set_recent(sessions, &self.session),
            Event::SessionRenamed { name } => {
                self.session.name.clone_from(name);
                self.footer.session_name.clone_from(name);
            }
            Event::Models { models } => {
                let editor = &mut self.prompt.editor;
                self.models.set(models, &self.footer, editor, overlays);
            }
            Event::ModelSelected { model, level, role } => {
                select_model(model, &mut self.footer, &mut self.transcript);
                self.footer.role = role.map(|role| (role, *level));
                self.footer.level = *level;
                self.prompt.editor.set_levels(model, *level);
            }
            Event::ShellStart { .. } => self.activity.begin_shell(now),
            Event::ShellEnd { .. } => self.activity.end_shell(),
            Event::Files { paths, complete } => self.prompt.editor.set_files(paths, *complete),
            Event::McpCompletions { request, values } => {
                self.prompt.on_server_words(*request, values, outbox);
            }
            Event::Symbols { request, symbols } => self.prompt.on_found(*request, symbols, outbox),
            Event::ProjectMap { map, .. } => project_map::refresh(map, overlays),
            Event::History { prompts } => self.prompt.editor.load_history(prompts.clone()),
            Event::Checkpoint(event) => {
                checkpoints::on_event(event, &mut self.transcript, overlays, outbox);
                self.changes.on_event(event, &self.footer, overlays, outbox);
            }
            Event::Tree(event) => self.on_tree(event, now),
            Event::Index(event) => {
                usage_page::on_index_event(event, overlays, outbox);
                sessions::on_event(event, &mut self.transcript, overlays, outbox);
            }
            Event::Stash { prompts } => self.stash.set_prompts(prompts, overlays),
            Event::DraftFound { text, files } => {
                self.prompt
                    .restore_draft(text, files, self.activity.toast.is_shown(now), outbox);
            }
            Event::Todo { list } => self.todo.set(list),
            Event::Jobs { jobs } => {
                self.footer.jobs = jobs::running(jobs);
                jobs::set_jobs(jobs, overlays, outbox, now);
            }
            Event::Terminals { terminals } => {
                self.footer.terminals = terminals::running(terminals);
                terminals::show(self.transcript.take_restored_terminals(terminals), outbox);
                terminals::on_event(event, overlays, outbox);
            }
            Event::TerminalScreen { .. } => terminals::on_event(event, overlays, outbox),
            Event::JobOutput { id, output } => jobs::append_output(overlays, id, output),
            Event::ShutDown => outbox.push(Effect::Quit),
            Event::Connection { state, detail } => {
                let is_connected = *state == ConnectionState::Connected;
                self.activity.set_connected(is_connected, now);
                if !is_connected {
                    self.footer.presence = Presence::default();
                }
                self.footer.connection = Some((*state, text::single_line(detail)));
            }
            event => self.on_account(event),
        }
    }

    fn session_opened(&mut self, session: &SessionInfo, messages: &[StoredMessage]) {
        if self.session.id != session.id {
            self.changes.forget_reviews();
        }
        self.session = session.clone();
        inline::announce(self, &inline::title(session));
        self.prompt.set_session(&session.cwd);
        self.footer.session_name.clone_from(&session.name);
        self.footer.read_only = session.read_only;
        self.activity.end();
        self.footer.begin_branch();
        self.footer.cache.clear();
        self.footer.budget = BudgetState::default();
        self.footer.terminals = 0;
        self.footer.subagents = 0;
        self.footer.code_servers = Vec::new();
        for stored in messages {
            if matches!(*stored.message, AgentMessage::CompactionSummary(_)) {
                // A compaction makes the token counts of earlier answers invalid.
                self.footer.context_tokens = 0;
            }
            self.footer.show_tokens(&stored.message);
        }
        let contents = session.contents.unwrap_or_default();
        self.footer.total = contents.usage;
        sessions::report_damage(contents, session, &mut self.transcript);
        if session.recovered_draft {
            let text = "restored the answer that a crash interrupted";
            self.transcript.notice(Severity::Info, text);
        }
        self.sessions
            .show_failure(&mut self.transcript, &mut self.overlays);
        self.tree.open_expected(&session.id, &mut self.overlays);
        sessions::Sessions::begin(session, &self.transcript, &mut self.outbox);
    }

    fn on_tree(&mut self, event: &TreeEvent, now: Instant) {
        let mut cx = TreeContext {
            session: &self.session,
            prompt: &mut self.prompt,
            transcript: &mut self.transcript,
            activity: &mut self.activity,
            footer: &mut self.footer,
            overlays: &mut self.overlays,
            outbox: &mut self.outbox,
            keymap: &self.keymap,
            now,
        };
        self.tree.on_event(event, &mut cx);
        compaction::on_tree_event(event, &mut self.overlays, &mut self.outbox);
        context::on_event(event, &mut self.overlays);
        let (activity, footer) = (&mut self.activity, &mut self.footer);
        let (transcript, overlays) = (&mut self.transcript, &mut self.overlays);
        fan::on_event(event, transcript, activity, footer, overlays, now);
    }

    /// Events of accounts, settings and transfers, and of what projects and plugins add.
    fn on_account(&mut self, event: &Event) {
        // A question that opens by itself takes no keys from what the user does.
        let is_page = subagents::is_asked_on_page(event, &mut self.overlays);
        let is_behind = !is_page && (!self.overlays.is_empty() || self.transcript.is_browsing());
        let (overlays, outbox) = (&mut self.overlays, &mut self.outbox);
        match event {
            Event::Transfer(event) => transfer::on_event(event, &mut self.transcript),
            Event::Commands { commands } => {
                self.prompt.set_commands(commands, &mut self.transcript);
            }
            Event::PluginStatus { .. } | Event::PluginWidget { .. } | Event::PluginKeys { .. } => {
                let (keymap, footer) = (&mut self.keymap, &mut self.footer);
                self.plugins
                    .on_event(event, keymap, footer, &mut self.transcript);
            }
            Event::Workspace { cwd, branch } => {
                self.footer.cwd.clone_from(cwd);
                self.footer.branch.clone_from(branch);
            }
            Event::Presence {
                clients,
                writer,
                you,
            } => self.footer.presence = Presence::of(clients, *writer, *you),
            Event::UnconfirmedPrompts { prompts } => self.prompt.set_unconfirmed(prompts),
            Event::ContextParts { parts } => skills::refresh(parts, overlays),
            Event::About { about } => about::open(about, overlays),
            Event::Budget { budget } => self.footer.budget = *budget,
            Event::CodeServers { servers } => self.footer.code_servers.clone_from(servers),
            Event::UsageReport { report } => usage_page::show(report, overlays),
            Event::Usage { spending } => {
                // This count is complete, so the footer continues from it.
                self.footer.total = spending.total;
                self.transcript.go_bottom();
                usage::show(spending, &mut self.transcript);
            }
            Event::Accounts { accounts } => accounts::refresh(accounts, overlays),
            Event::LoginStarted { .. } => accounts::open_login(event, overlays),
            Event::McpServers { servers } => {
                self.servers.set(servers, overlays, &mut self.prompt.editor);
            }
            Event::LoginRefused { message } => outbox.push(Toast::error(message)),
            Event::LoginEnded { error, .. } => {
                let open = accounts::close_login(overlays);
                if let (Some(error), true) = (error, open) {
                    self.transcript.notice(Severity::Error, error);
                }
            }
            Event::Permissions {
                mode,
                rules,
                sandbox,
            } => {
                self.footer.permissions = *mode;
                self.footer.sandbox = *sandbox;
                self.permissions.set(*mode, rules, overlays);
            }
            Event::Hooks { hooks } => hooks::refresh(hooks, overlays),
            Event::HookRan { .. } => hooks::reload(overlays, outbox),
            Event::ProjectTrusted => outbox.push(Effect::ReloadAppearance),
            event => {
                // An answer without a view of its own.
                if event.delivery() == Delivery::Answer
                    && let Some(text) = slash::describe(event)
                {
                    self.transcript.go_bottom();
                    self.transcript.notice(Severity::Info, &text);
                }
                let editor = (!is_behind).then_some(&mut self.prompt.editor);
                let run = self.activity.run_since();
                let is_seen = run.map_or(self.focus.has_it(), |since| !self.focus.is_away(since));
                self.questions
                    .on_event(event, is_seen, editor, overlays, outbox);
            }
        }
    }

    /// Applies an event of the agent; whether something visible changed outside of the conversation.
    fn on_agent(&mut self, event: &AgentEvent, now: Instant) -> bool {
        self.activity.follow(event, now);
        let outbox = &mut self.outbox;
        match event {
            AgentEvent::AgentStart => self.activity.begin(now),
            AgentEvent::TurnStart { .. } | AgentEvent::MessageUpdate { .. } => {
                self.activity.end_retry();
                return false;
            }
            AgentEvent::RetryScheduled { .. } => self.activity.begin_retry(event, now),
            AgentEvent::Tools { tools } => self.tools.set(tools, &mut self.overlays),
            AgentEvent::AgentSettled { outcome } => self.settled(outcome, now),
            AgentEvent::CompactionStart { .. } | AgentEvent::CompactionEnd { .. } => {
                let (transcript, activity) = (&mut self.transcript, &mut self.activity);
                compaction::on_event(event, transcript, activity, &mut self.footer, outbox, now);
            }
            AgentEvent::QueueUpdate {
                steering,
                follow_up,
            } => self.prompt.set_queue(steering, follow_up),
            AgentEvent::QueueRecalled { messages } => self.prompt.on_recalled(messages),
            AgentEvent::MessageStart { message, .. } => {
                if let AgentMessage::User(prompt) = &**message {
                    self.prompt.on_stored(prompt);
                }
                return false;
            }
            AgentEvent::MessageEnd { message, .. } => self.footer.show_tokens(message),
            AgentEvent::Accounting { entry } => self.footer.count(entry),
            AgentEvent::ToolExecutionEnd {
                tool_name, result, ..
            } => {
                self.rewind.on_tool(tool_name, result.result.is_error);
                return false;
            }
            AgentEvent::ThinkingLevelChanged { level, effective } => {
                let before = std::mem::replace(&mut self.footer.level, *effective);
                if level != effective && before != *effective {
                    let (asked, used) = (level.name(), effective.name());
                    let text =
                        format!("this model has no thinking level `{asked}`; using `{used}`");
                    outbox.push(Toast::info(text));
                } else if before != *effective {
                    let text = format!("thinking level: {}", effective.name());
                    outbox.push(Toast::info(text));
                }
            }
            _ => return false,
        }
        true
    }

    /// A run has ended.
    fn settled(&mut self, outcome: &RunOutcome, now: Instant) {
        self.prompt.on_settled(outcome);
        self.questions.on_settled();
        let since = self.activity.settle(self.transcript.runs_shell(), now);
        let is_unseen = since.is_some_and(|since| {
            now.saturating_duration_since(since) > NOTIFY_AFTER && self.focus.is_away(since)
        });
        if self.rewind.take_hint() {
            let keys = self.keymap.keys_for("global", Command::Interrupt);
            let key = keys
                .first()
                .map(|key| format!("{key} {key} to go back to an earlier prompt"));
            self.activity.set_hint(key);
        }
        if let RunOutcome::Failed { status } = outcome {
            self.activity.set_hint(Some(remedy(status).to_owned()));
        }
        if is_unseen && *outcome != RunOutcome::Interrupted {
            let text = match outcome.error() {
                None => "done".to_owned(),
                Some(error) => format!("failed: {error}"),
            };
            self.outbox.push(Effect::Notify(text));
        }
    }
}

/// The slash commands that help after a failure.
fn remedy(status: &TurnStatus) -> &'static str {
    match status {
        TurnStatus::AuthError { .. } => "/login signs in again, /model changes the model",
        TurnStatus::QuotaExceeded { .. } => "/model changes the model, /login another account",
        TurnStatus::ContextOverflow { .. } => {
            "/compact summarizes the conversation, /model changes the model"
        }
        _ => "/retry continues the run, /model changes the model",
    }
}

/// Shows the selected model, and what changes with it.
fn select_model(model: &ModelInfo, footer: &mut Footer, transcript: &mut Transcript) {
    if let Some(before) = &footer.model {
        let costs = switch_costs(model, footer);
        transcript.model_switched(before, model, &costs);
    }
    footer.model = Some(model.clone());
}
