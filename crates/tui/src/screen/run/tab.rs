//! One open session: its interface, its session handle, and the state between the two.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use super::options::Options;
use crate::history::{TabState, TabSummary, tabs::line};
use crate::screen::App;
use osier_agent::{AgentMessage, RunOutcome, Subscription, UserMessage};
use osier_base::parts::Parts;
use osier_markdown::plain;
use osier_protocol::{Event, ModelInfo, Op, Prompt, TreeEvent, fork_title};
use osier_session::SessionHandle;
use osier_settings::ExitOutput;

/// Events applied between two polls of the keyboard.
const EVENT_BATCH: usize = 512;

/// A session with its state, in the foreground or background.
#[derive(Debug)]
pub(crate) struct Tab {
    /// The number of the tab, which stays the same while the session is open.
    pub number: usize,
    pub app: Box<App>,
    pub host: SessionHandle,
    pub events: Subscription<Event>,
    /// Prompts of the command line that have not been sent, the next one last.
    pub prompts: Vec<Prompt>,
    running: bool,
    opening: Opening,
    /// Something that the user waits for was not drawn yet: the end of an answer, a requested list.
    pub answered: bool,
    /// The conversation, for the scrollback.
    pub said: Vec<String>,
    draft: StoredDraft,
    seen: Seen,
    /// The session has ended.
    pub ended: bool,
    /// The process that took the session over.
    pub taken_by: Option<u32>,
}

/// The draft that the session has stored.
#[derive(Debug)]
struct StoredDraft {
    /// `None` after the session has reported a draft of an earlier run.
    saved: Option<Parts>,
    /// The text in the editor may differ from it.
    stale: bool,
    /// The edit count of the editor when the draft was last compared.
    edits: Option<u64>,
    /// The numbers of the attached files.
    files: Vec<u64>,
}

impl Default for StoredDraft {
    fn default() -> Self {
        Self {
            saved: Some(Parts::default()),
            stale: false,
            edits: None,
            files: Vec::new(),
        }
    }
}

/// How far the session is open, for the prompts of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Starts,
    /// A question about the directory of the session may follow.
    Opened,
    /// The session ran in another directory. Each answer opens a session.
    Asks,
    Done,
}

/// A prompt of the command line for the editor, with piped text and files.
fn whole(prompt: Prompt) -> UserMessage {
    UserMessage {
        text: prompt.text,
        attachments: prompt.attachments,
        ..UserMessage::default()
    }
}

/// The parts of a tab's summary that the interface does not have elsewhere.
#[derive(Debug, Default)]
struct Seen {
    first_prompt: String,
    prompt: String,
    answer: String,
    failed: bool,
    /// A run has ended since the tab was last shown.
    unread: bool,
}

impl Tab {
    pub(crate) fn new(
        number: usize,
        app: App,
        host: SessionHandle,
        events: Subscription<Event>,
    ) -> Self {
        Self {
            number,
            app: Box::new(app),
            host,
            events,
            prompts: Vec::new(),
            running: false,
            opening: Opening::Starts,
            answered: false,
            said: Vec::new(),
            draft: StoredDraft::default(),
            seen: Seen::default(),
            ended: false,
            taken_by: None,
        }
    }

    /// Applies what waits in the queue, a bounded number at a time.
    pub(crate) fn apply_events(&mut self, options: &mut Options, now: Instant) {
        for _ in 0..EVENT_BATCH {
            let Some(event) = self.events.try_recv() else {
                break;
            };
            self.remember(&event, options);
            let moved = matches!(event, Event::Tree(TreeEvent::Moved { .. }));
            self.answered |= moved || !event.delivery().is_replayed();
            if event == Event::ShutDown {
                self.ended = true;
                break;
            }
            self.app.on_event(&event, now);
        }
        self.ended |= self.events.is_closed();
    }

    /// Sends the ops of the interface, and the prompts of the command line one after the other.
    pub(crate) fn send_ops(&mut self, mut before: impl FnMut(&Op)) -> Vec<String> {
        if !self.running
            && self.opening == Opening::Done
            && let Some(prompt) = self.prompts.pop()
        {
            self.running = true;
            self.host.send(prompt.into());
        }
        let mut prompts = Vec::new();
        for op in self.app.take_ops() {
            if matches!(op, Op::NewSession) {
                self.return_prompts();
            }
            if let Op::AddHistory { text } = &op {
                prompts.push(text.clone());
            }
            before(&op);
            self.host.send(op);
        }
        self.save_draft();
        prompts
    }

    /// Another session replaces the one that the prompts of the command line are for. The prompts
    /// go to the editor, and the user decides.
    fn return_prompts(&mut self) {
        let prompts = std::mem::take(&mut self.prompts).into_iter().rev();
        let prompts: Vec<UserMessage> = prompts.map(whole).collect();
        if !prompts.is_empty() {
            self.app.prompt.return_unsent(&prompts);
        }
    }

    /// The text in the editor may have changed.
    pub(crate) fn touched(&mut self) {
        self.draft.stale = true;
    }

    /// Stores the draft when it has changed. Must be called after the op that sends the prompt.
    fn save_draft(&mut self) {
        let draft = &mut self.draft;
        let edits = Some(self.app.prompt.editor.edits());
        // Without an edit, such as after a cursor move, long texts are not compared.
        if !std::mem::take(&mut draft.stale) || draft.edits == edits {
            return;
        }
        draft.edits = edits;
        let text = self.app.prompt.editor.parts();
        let numbers = self.app.prompt.editor.attachments();
        if draft.saved.as_ref() != Some(&text) {
            draft.saved = Some(text.clone());
            self.host.send(Op::SaveDraft { text });
        }
        // After the text: the files of a prompt that was sent stay until it is stored.
        if draft.files != numbers {
            let files = self.app.prompt.attached(&numbers);
            draft.files = numbers;
            self.host.send(Op::SaveDraftFiles { files });
        }
    }

    /// The user sees the tab.
    pub(crate) fn mark_seen(&mut self) {
        self.seen.failed = false;
        self.seen.unread = false;
    }

    pub(crate) fn state(&self) -> TabState {
        if self.app.questions.height() > 0 {
            TabState::Waiting
        } else if !self.app.activity.is_idle() {
            TabState::Working
        } else if self.seen.failed {
            TabState::Failed
        } else if self.seen.unread {
            TabState::Done
        } else {
            TabState::Idle
        }
    }

    /// The summary of the tab for the tab in front.
    pub(crate) fn entry(&self) -> TabSummary {
        let (session, footer) = (&self.app.session, &self.app.footer);
        let model = footer.model.as_ref().map(ModelInfo::reference);
        TabSummary {
            number: self.number,
            state: self.state(),
            title: self.title(),
            id: session.id.clone(),
            path: session.path.clone(),
            cwd: footer.cwd.clone(),
            model: model.unwrap_or_else(|| footer.model_hint.clone()),
            prompt: self.seen.prompt.clone(),
            said: self
                .app
                .questions
                .first()
                .unwrap_or_else(|| self.seen.answer.clone()),
            has_draft: !self.app.prompt.editor.is_empty(),
        }
    }

    /// The name of the session, or the start of its first prompt. The title of an unnamed fork also names its source.
    pub(crate) fn title(&self) -> String {
        let (name, source) = (&self.app.session.name, &self.app.session.fork_of);
        let prompt = Some(&*self.seen.prompt).filter(|prompt| !prompt.is_empty());
        if let Some(title) = fork_title(name.as_deref(), source.as_deref(), prompt) {
            return line(&title);
        }
        match self.app.session.name.as_deref() {
            Some(name) if !name.is_empty() => line(name),
            _ if self.seen.first_prompt.is_empty() => "new session".to_owned(),
            _ => self.seen.first_prompt.clone(),
        }
    }

    /// Records what the scrollback, the accounting file and the list of sessions need.
    fn remember(&mut self, event: &Event, options: &mut Options) {
        match event {
            // Typed text moves to the session; an empty editor gets the session's draft.
            Event::SessionOpened { messages, .. } => {
                self.opening = Opening::Opened;
                self.draft = StoredDraft {
                    stale: true,
                    ..StoredDraft::default()
                };
                self.host.send(Op::FindDraft);
                self.seen = Seen::default();
                for stored in messages {
                    self.hear(&stored.message);
                }
            }
            Event::SessionElsewhere { .. } => self.opening = Opening::Asks,
            Event::ModelSelected { .. } if self.opening == Opening::Opened => {
                self.opening = Opening::Done;
            }
            // The editor may be cleared before the next save: that must be stored as well.
            Event::DraftFound { .. } => {
                self.draft = StoredDraft {
                    saved: None,
                    stale: true,
                    edits: None,
                    files: Vec::new(),
                };
            }
            Event::Agent(
                osier_agent::Event::QueueRecalled { .. } | osier_agent::Event::AgentSettled { .. },
            )
            | Event::Tree(TreeEvent::Moved { .. } | TreeEvent::Forked { .. }) => {
                self.draft.stale = true;
            }
            Event::ShellEnd { .. } => self.seen.unread = true,
            Event::SessionTakenOver { process } => self.taken_by = Some(*process),
            _ => {}
        }
        let Event::Agent(event) = event else { return };
        match event {
            osier_agent::Event::AgentSettled { outcome } => {
                self.running = false;
                self.seen.unread |= *outcome != RunOutcome::Interrupted;
                self.seen.failed = outcome.error().is_some();
            }
            osier_agent::Event::AgentStart => {
                self.running = true;
                self.seen.failed = false;
            }
            osier_agent::Event::Accounting { entry } => {
                if let Some(file) = &mut options.accounting
                    && let Ok(line) = serde_json::to_string(entry)
                {
                    // A full disk must not end the conversation.
                    let _ = writeln!(file, "{line}");
                }
            }
            osier_agent::Event::MessageEnd { message, .. } => {
                self.answered |= matches!(&**message, AgentMessage::Assistant(_));
                self.hear(message);
                self.leave_behind(message, options.settings.screen.exit_output);
            }
            _ => {}
        }
    }

    fn hear(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::User(prompt) => {
                self.seen.prompt = line(&prompt.text);
                if self.seen.first_prompt.is_empty() {
                    self.seen.first_prompt.clone_from(&self.seen.prompt);
                }
            }
            AgentMessage::Assistant(answer) => {
                let said = line(&plain::first_line(&answer.text()));
                if !said.is_empty() {
                    self.seen.answer = said;
                }
            }
            _ => {}
        }
    }

    /// Records what stays in the terminal at the end.
    pub(crate) fn leave_behind(&mut self, message: &AgentMessage, output: ExitOutput) {
        match (message, output) {
            (AgentMessage::Assistant(answer), ExitOutput::Answer) => {
                self.said = vec![answer.text()];
            }
            (AgentMessage::Assistant(answer), ExitOutput::Transcript) => {
                self.said.push(answer.text());
            }
            (AgentMessage::User(prompt), ExitOutput::Transcript) => {
                let lines = prompt.text.lines().map(|line| format!("> {line}"));
                self.said.push(lines.collect::<Vec<_>>().join("\n"));
            }
            _ => {}
        }
    }

    /// The next message of the session, which is shutting down; `None` at its end.
    pub(crate) async fn next_ending(&mut self) -> Option<Arc<AgentMessage>> {
        while !self.ended {
            match self.events.recv().await? {
                Event::ShutDown => self.ended = true,
                Event::Agent(osier_agent::Event::MessageEnd { message, .. }) => {
                    return Some(message);
                }
                _ => {}
            }
        }
        None
    }

    /// Waits for the end of the session, which is shutting down.
    pub(crate) fn ending(self) -> impl Future<Output = ()> + Send + 'static {
        let (mut events, ended) = (self.events, self.ended);
        async move {
            while !ended
                && events
                    .recv()
                    .await
                    .is_some_and(|event| event != Event::ShutDown)
            {}
        }
    }
}
