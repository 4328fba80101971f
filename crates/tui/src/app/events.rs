//! Event handling: applies the events of the host to the app.

use std::time::{Duration, Instant};

use super::{App, Effect, QueueView};
use crate::action::Action;
use crate::activity::Work;
use crate::command::find_slash;
use crate::presence::Presence;
use crate::{accounts, hooks, jobs, models, permissions, sessions, skills, tree, usage};
use osier_agent::{AgentMessage, RunOutcome, UserMessage};
use osier_base::parts::Parts;
use osier_base::text;
use osier_protocol::{
    AddedCommand, Event, LineState, ModelInfo, Op, SessionContents, SessionInfo, Spending,
    StoredMessage,
};

/// Runs longer than this are worth a notification.
const NOTIFY_AFTER: Duration = Duration::from_secs(5);

impl App {
    /// Applies one event of the host.
    pub fn on_event(&mut self, event: &Event, now: Instant) {
        let changed = self.transcript.apply(event);
        self.dirty |= changed;
        self.tell_missed(now);
        match event {
            Event::Agent(event) => self.on_agent(event, now),
            event => self.on_host(event, now),
        }
        tree::refresh(&mut self.layers, event);
        self.apply_actions(now);
    }

    fn on_host(&mut self, event: &Event, now: Instant) {
        // The transcript has reported whether these change anything.
        self.dirty |= !matches!(
            event,
            Event::MessageStored { .. } | Event::TranscriptPage { .. }
        );
        match event {
            Event::SessionOpened {
                session, messages, ..
            } => self.session_opened(session, messages),
            Event::SessionIndexed { contents } => self.take_contents(*contents),
            Event::SearchHits {
                request,
                hits,
                done,
                cut,
            } => self.search.add_hits(
                *request,
                hits,
                (*done, *cut),
                &mut self.transcript,
                &mut self.layers,
            ),
            // Shown in the session that replaces this one.
            Event::SessionFailed { message, in_use } => {
                self.failure = Some(message.clone()).filter(|_| in_use.is_none());
                self.in_use.clone_from(in_use);
                self.ops.push(Op::NewSession);
            }
            Event::SessionRenamed { name } => {
                self.session.name.clone_from(name);
                self.footer.session_name.clone_from(name);
            }
            Event::Models { models } => {
                self.models.clone_from(models);
                let references = models.iter().map(ModelInfo::reference);
                self.editor.set_models(references.collect());
                models::refresh(&self.models, &self.footer, &mut self.layers);
            }
            Event::ModelSelected { model, level, role } => {
                self.footer.model = Some((**model).clone());
                self.footer.role = role.map(|role| (role, *level));
                self.footer.level = *level;
            }
            Event::ShellStart { .. } if self.activity.is_idle() => {
                self.activity.work = Work::Shell { since: now };
            }
            Event::ShellEnd { .. } => {
                if matches!(self.activity.work, Work::Shell { .. }) {
                    self.activity.work = Work::Idle;
                }
            }
            Event::Files { paths, .. } => self.editor.set_files(std::sync::Arc::clone(paths)),
            Event::History { prompts } => self.editor.load_history(prompts.clone()),
            Event::Workspace { cwd, branch } => {
                self.footer.cwd.clone_from(cwd);
                self.footer.branch.clone_from(branch);
            }
            Event::Checkpoint(event) => self.on_checkpoint(event, now),
            Event::Tree(event) => self.on_tree(event, now),
            Event::Index(event) => self.on_library(event, now),
            Event::Stash { prompts } => self.stash.set_prompts(prompts, &mut self.layers),
            Event::UnsentFound { text } => self.restore_draft(text, now),
            Event::Todo { list } => self.todo.list.clone_from(list),
            Event::Jobs { jobs } => {
                self.footer.jobs = jobs::running(jobs);
                self.ops.extend(jobs::set_jobs(&mut self.layers, jobs, now));
            }
            Event::JobOutput { id, output } => jobs::append_output(&mut self.layers, id, output),
            Event::Presence {
                clients,
                writer,
                you,
            } => self.footer.presence = Presence::of(clients, *writer, *you),
            Event::Connection { state, detail } => {
                if *state == LineState::Lost {
                    self.footer.presence = Presence::default();
                }
                self.footer.line = Some((*state, text::single_line(detail)));
            }
            Event::ShutDown => self.effects.push(Effect::Quit),
            event => self.on_account(event, now),
        }
    }

    fn session_opened(&mut self, session: &SessionInfo, messages: &[StoredMessage]) {
        self.session = session.clone();
        self.editor.set_folder(&session.cwd);
        self.footer.session_name.clone_from(&session.name);
        self.footer.read_only = session.read_only;
        self.activity.work = Work::Idle;
        self.queue = QueueView::default();
        self.pending.clear();
        self.footer.context_tokens = 0;
        for stored in messages {
            self.count(&stored.message);
        }
        self.take_contents(session.contents.unwrap_or_default());
        if session.recovered_draft {
            let text = "restored the answer that a crash interrupted";
            self.transcript.notice(osier_agent::Severity::Info, text);
        }
        if let Some(message) = self.failure.take() {
            self.transcript
                .notice(osier_agent::Severity::Error, &message);
        }
        if let Some(target) = self.in_use.take() {
            sessions::offer_in_use(&target, &mut self.layers);
        }
    }

    /// Restores the draft of an earlier run; what is typed now stays.
    fn restore_draft(&mut self, text: &Parts, now: Instant) {
        if self.editor.is_empty() {
            self.editor.set_parts(text);
            return self.toast("restored the draft", false, now);
        }
        self.editor.remember(&text.to_string());
        let told = "the earlier draft is in the prompt history";
        self.toast(told, false, now);
    }

    /// Keys, sign-ins and what they were used for; what the project and plugins add.
    fn on_account(&mut self, event: &Event, now: Instant) {
        match event {
            Event::Transfer(event) => self.on_transfer(event),
            Event::Commands { commands } => self.take_commands(commands),
            Event::PluginStatus { .. } | Event::PluginWidget { .. } | Event::PluginKeys { .. } => {
                self.on_plugin(event);
            }
            Event::Context { parts } => skills::refresh(parts, &mut self.layers),
            Event::Usage { spending } => {
                for line in usage::lines(spending) {
                    self.transcript.notice(osier_agent::Severity::Info, &line);
                }
            }
            Event::Accounts { accounts } => accounts::refresh(accounts, &mut self.layers),
            Event::LoginStarted { .. } => accounts::open_login(event, &mut self.layers),
            Event::McpServers { servers } => {
                self.servers
                    .set(servers, &mut self.layers, &mut self.editor);
            }
            Event::LoginRefused { message } => {
                self.activity.toast(message, true, now);
            }
            Event::LoginEnded { error, .. } => {
                let open = accounts::close_login(&mut self.layers);
                if let (Some(error), true) = (error, open) {
                    self.transcript.notice(osier_agent::Severity::Error, error);
                }
            }
            Event::Permissions {
                mode,
                rules,
                sandbox,
            } => {
                self.footer.permissions = *mode;
                self.footer.sandbox = *sandbox;
                self.rules.clone_from(rules);
                permissions::refresh(*mode, rules, &mut self.layers);
            }
            Event::Hooks { hooks } => hooks::refresh(hooks, &mut self.layers),
            Event::HookRan { .. } => self.ops.extend(hooks::reload(&self.layers)),
            Event::ProjectTrusted => self.actions.push(Action::ReloadAppearance),
            event => self.on_question(event),
        }
    }

    fn on_agent(&mut self, event: &osier_agent::Event, now: Instant) {
        match event {
            osier_agent::Event::AgentStart => self.activity.work = Work::Working { since: now },
            osier_agent::Event::TurnStart { .. } | osier_agent::Event::MessageUpdate { .. } => {
                if let Work::Retrying { since, .. } = self.activity.work {
                    self.activity.work = Work::Working { since };
                }
                return;
            }
            osier_agent::Event::RetryScheduled {
                attempt,
                max_attempts,
                delay_ms,
                status,
            } => {
                let since = match self.activity.work {
                    Work::Working { since } | Work::Retrying { since, .. } => since,
                    _ => now,
                };
                self.activity.work = Work::Retrying {
                    since,
                    until: now + Duration::from_millis(*delay_ms),
                    delay: Duration::from_millis(*delay_ms),
                    attempt: *attempt,
                    attempts: *max_attempts,
                    reason: status.message().to_owned(),
                };
            }
            osier_agent::Event::Tools { tools } => self.tools.set(tools, &mut self.layers),
            osier_agent::Event::AgentSettled { outcome } => self.settled(outcome, now),
            osier_agent::Event::CompactionStart { .. }
            | osier_agent::Event::CompactionEnd { .. } => {
                self.on_compaction(event, now);
            }
            osier_agent::Event::QueueUpdate {
                steering,
                follow_up,
            } => {
                let texts = |messages: &[UserMessage]| {
                    messages
                        .iter()
                        .map(|message| message.text.clone())
                        .collect()
                };
                self.queue = QueueView {
                    steering: texts(steering),
                    follow_up: texts(follow_up),
                };
            }
            osier_agent::Event::QueueRecalled { messages } => {
                self.pending.clear();
                self.take_back(messages);
            }
            osier_agent::Event::MessageStart { message, .. } => {
                if let AgentMessage::User(prompt) = &**message {
                    self.pending.stored(prompt);
                }
                return;
            }
            osier_agent::Event::MessageEnd { message, .. } => self.count(message),
            osier_agent::Event::ThinkingLevelChanged { level, effective } => {
                self.footer.level = *effective;
                if level != effective {
                    let (asked, used) = (level.name(), effective.name());
                    let text =
                        format!("this model has no thinking level `{asked}`; using `{used}`");
                    self.toast(&text, false, now);
                }
            }
            _ => return,
        }
        self.dirty = true;
    }

    fn settled(&mut self, outcome: &RunOutcome, now: Instant) {
        let lost = self.pending.take_lost(&self.queue);
        if matches!(outcome, RunOutcome::Stopped { .. }) {
            self.take_back(&lost);
        }
        let since = match self.activity.work {
            Work::Working { since } | Work::Retrying { since, .. } => Some(since),
            _ => None,
        };
        self.activity.work = if self.transcript.runs_shell() {
            Work::Shell { since: now }
        } else {
            Work::Idle
        };
        let long = since.is_some_and(|since| now.saturating_duration_since(since) > NOTIFY_AFTER);
        if long && !self.focused && *outcome != RunOutcome::Interrupted {
            let text = match outcome.error() {
                None => "done".to_owned(),
                Some(error) => format!("failed: {error}"),
            };
            self.effects.push(Effect::Notify(text));
        }
    }

    fn count(&mut self, message: &AgentMessage) {
        if let AgentMessage::ToolResult(result) = message
            && let Some(nested) = result.details.get("spending")
            && let Ok(nested) = serde_json::from_value::<Spending>(nested.clone())
        {
            self.usage += nested.total;
            self.footer.total = self.usage;
        }
        if let AgentMessage::Assistant(message) = message {
            self.usage += message.usage;
            self.footer.total = self.usage;
        }
        self.show_tokens(message);
    }

    /// Updates the context size from the usage of an answer.
    pub(crate) fn show_tokens(&mut self, message: &AgentMessage) {
        if let AgentMessage::Assistant(message) = message
            && message.usage.total_tokens() > 0
        {
            self.footer.context_tokens = message.usage.total_tokens();
        }
    }

    /// Takes the commands of skills, templates and plugins. Built-in names have priority.
    fn take_commands(&mut self, commands: &[AddedCommand]) {
        let (taken, free): (Vec<_>, Vec<_>) = commands
            .iter()
            .cloned()
            .partition(|command| find_slash(&command.name).is_some());
        for command in taken {
            let (name, origin) = (&command.name, &command.origin);
            let text = match origin.as_str() {
                "skill" => format!(
                    "skill `{name}` has the name of a built-in command; call it with `/skill:{name}`"
                ),
                _ => {
                    format!("`/{name}` of `{origin}` has the name of a built-in command; rename it")
                }
            };
            self.transcript
                .notice(osier_agent::Severity::Warning, &text);
        }
        self.editor.set_commands(free);
    }

    /// Takes the contents of the complete session.
    fn take_contents(&mut self, contents: SessionContents) {
        self.usage = contents.usage;
        self.footer.total = self.usage;
        if contents.damaged_lines > 0 {
            let text = format!(
                "skipped {} damaged lines of the session file; they remain in {}",
                contents.damaged_lines,
                self.session.path.as_deref().unwrap_or("the file")
            );
            self.transcript
                .notice(osier_agent::Severity::Warning, &text);
        }
    }
}
