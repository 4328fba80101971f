//! Ops for the server: each waits until it is answered, a prompt until it is stored, with an idempotency key so that the
//! server does not execute it twice. Drafts stay on this machine.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answer_filter::AnswerFilter;
use osier_agent::{AgentMessage, Event as AgentEvent, Op as AgentOp, UserMessage};
use osier_base::parts::Parts;
use osier_protocol::{Event, Op, UnconfirmedPrompt};
use osier_store::prompt_draft::{DraftQuery, PromptDraft, PromptDraftRecorder, find};

/// How many ops can wait without a connection.
const MAX_OFFLINE: usize = 1000;
/// How many answered prompts are kept until they are stored.
const MAX_ANSWERED: usize = 100;

/// Ops that the server stores with their keys.
const PROMPTS: [&str; 3] = ["prompt", "steer", "follow_up"];

/// The unanswered ops of a remote session, and its draft.
pub(super) struct PendingOps {
    /// Unanswered ops, in order.
    pending: VecDeque<PendingOp>,
    /// Prompts that the server has taken, and may not have stored yet: if it is killed before, they are sent again.
    answered: VecDeque<PendingOp>,
    pub(super) answers: AnswerFilter,
    last_id: u64,
    /// The id of the joined session.
    pub(super) session: Option<String>,
    /// The directory for drafts.
    drafts: Option<PathBuf>,
    /// The server, as a draft stores it.
    server: String,
    recorder: Option<PromptDraftRecorder>,
    /// The draft was sent. It is deleted when the message is answered.
    is_draft_sent: bool,
    /// A line for the prompt history, which goes with the prompt that follows, so that its text travels once.
    history: Option<String>,
    /// The ids of ops that are not handed to the connection yet.
    new: VecDeque<u64>,
    /// The prompts that the screen shows as unconfirmed.
    shown: Vec<UnconfirmedPrompt>,
}

/// An unanswered op.
#[derive(Clone)]
struct PendingOp {
    id: u64,
    op: Value,
    /// The idempotency key; queries have none.
    once: Option<String>,
    /// The op contains text that the user typed.
    is_typed: bool,
    /// The server adds the text to the prompt history.
    adds_history: bool,
    /// All of it was sent over some connection.
    is_sent: bool,
    /// A run began after the server had taken it.
    has_run: bool,
}

impl PendingOp {
    fn kind(&self) -> &str {
        self.op["type"].as_str().unwrap_or_default()
    }

    fn is_prompt(&self) -> bool {
        self.once.is_some() && PROMPTS.contains(&self.kind())
    }

    /// The message of a prompt.
    fn message(&self) -> Option<UserMessage> {
        match serde_json::from_value(self.op.clone()).ok()? {
            Op::Agent(
                AgentOp::Prompt {
                    text,
                    attachments,
                    typed,
                    ..
                }
                | AgentOp::Steer {
                    text,
                    attachments,
                    typed,
                    ..
                }
                | AgentOp::FollowUp {
                    text,
                    attachments,
                    typed,
                    ..
                },
            ) => Some(UserMessage {
                text,
                attachments,
                typed,
                ..UserMessage::default()
            }),
            _ => None,
        }
    }
}

/// How the client handles an op.
pub(super) enum OpAction {
    /// Send the new ops to the server.
    Send,
    /// This event answers the op, without the server.
    Answered(Event),
    Nothing,
}

impl PendingOps {
    pub(super) fn new(server: String, drafts: Option<PathBuf>) -> Self {
        Self {
            pending: VecDeque::new(),
            answered: VecDeque::new(),
            answers: AnswerFilter::new(),
            last_id: 0,
            session: None,
            drafts,
            server,
            recorder: None,
            is_draft_sent: false,
            history: None,
            new: VecDeque::new(),
            shown: Vec::new(),
        }
    }

    /// Handles an op. It stays pending until it is answered.
    pub(super) fn handle(&mut self, op: &Op) -> OpAction {
        let adds_history = self.history.is_some() && prompt_text(op) == self.history.as_deref();
        if adds_history {
            self.history = None;
        } else if !matches!(op, Op::SaveDraft { .. } | Op::SaveDraftFiles { .. }) {
            self.flush_history();
        }
        match op {
            Op::SaveDraft { text } => {
                self.is_draft_sent = text.is_empty() && self.has_typed_text();
                if !self.is_draft_sent {
                    self.record_draft(text);
                }
                OpAction::Nothing
            }
            Op::SaveDraftFiles { files } => {
                if let Some(recorder) = &self.recorder {
                    recorder.record_files(files.clone());
                }
                OpAction::Nothing
            }
            Op::AddHistory { text } => {
                if let Some(recorder) = &self.recorder {
                    recorder.submit(text);
                }
                self.history = Some(text.clone());
                OpAction::Nothing
            }
            Op::FindDraft => self.find().map_or(OpAction::Nothing, OpAction::Answered),
            op => {
                self.prepare(op, adds_history);
                OpAction::Send
            }
        }
    }

    /// Whether a line for the history waits for a prompt.
    pub(super) fn has_history(&self) -> bool {
        self.history.is_some()
    }

    /// No prompt follows: the line for the history is an op of its own.
    pub(super) fn flush_history(&mut self) {
        if let Some(text) = self.history.take() {
            self.prepare(&Op::AddHistory { text }, false);
        }
    }

    /// The next op that is not handed to the connection yet: its id and frame.
    pub(super) fn take_new(&mut self) -> Option<(u64, Value)> {
        loop {
            let id = self.new.pop_front()?;
            if let Some(pending) = self.pending.iter().find(|pending| pending.id == id) {
                return Some((id, self.frame(pending)));
            }
        }
    }

    pub(super) fn note_sent(&mut self, id: u64) {
        let mut pending = self.pending.iter_mut();
        if let Some(pending) = pending.find(|pending| pending.id == id) {
            pending.is_sent = true;
        }
    }

    /// A connection has joined the session: all unanswered ops are sent again. If the server has opened the session
    /// again, it knows only the keys of prompts: other ops may have been executed, and are not sent again. Returns their
    /// names.
    pub(super) fn resend(&mut self, is_reopened: bool) -> Vec<String> {
        let mut dropped = Vec::new();
        if is_reopened {
            self.pending.retain(|pending| {
                let stays = pending.once.is_none() || pending.is_prompt() || !pending.is_sent;
                if !stays && pending.kind() != "add_history" {
                    dropped.push(pending.kind().to_owned());
                }
                stays
            });
            for answered in self.answered.drain(..).rev() {
                self.pending.push_front(answered);
            }
        }
        self.new = self.pending.iter().map(|pending| pending.id).collect();
        dropped
    }

    /// Handles an op without a connection: it is sent later, unless too many ops wait already.
    pub(super) fn handle_offline(&mut self, op: &Op) -> Option<Event> {
        if self.pending.len() >= MAX_OFFLINE
            && !matches!(op, Op::SaveDraft { .. } | Op::SaveDraftFiles { .. })
        {
            return None;
        }
        if matches!(op, Op::Agent(AgentOp::RecallQueue)) {
            let messages = self.recall();
            if !messages.is_empty() {
                return Some(AgentEvent::QueueRecalled { messages }.into());
            }
        }
        match self.handle(op) {
            OpAction::Answered(event) => Some(event),
            OpAction::Send | OpAction::Nothing => None,
        }
    }

    /// Withdraws the prompts of which nothing was sent.
    fn recall(&mut self) -> Vec<UserMessage> {
        let is_waiting = |pending: &PendingOp| pending.is_prompt() && !pending.is_sent;
        let (recalled, kept) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(is_waiting);
        self.pending = kept;
        let recalled: VecDeque<PendingOp> = recalled;
        let messages = recalled.into_iter().filter_map(|pending| pending.message());
        messages.collect()
    }

    /// The prompts that are unconfirmed without a connection, if the screen shows others. With a connection they are on the
    /// way.
    pub(super) fn unconfirmed(&mut self, is_connected: bool) -> Option<Event> {
        let prompts = self
            .pending
            .iter()
            .filter(|op| !is_connected && op.is_prompt());
        let prompts = prompts.filter_map(|pending| {
            let UserMessage { text, typed, .. } = pending.message()?;
            Some(UnconfirmedPrompt {
                text: typed.unwrap_or(text),
                is_sent: pending.is_sent,
            })
        });
        let prompts: Vec<UnconfirmedPrompt> = prompts.collect();
        if prompts == self.shown {
            return None;
        }
        self.shown.clone_from(&prompts);
        Some(Event::UnconfirmedPrompts { prompts })
    }

    /// Removes the op with this id, which is answered, and returns it.
    pub(super) fn complete(&mut self, id: Option<u64>) -> Option<Value> {
        let index = self
            .pending
            .iter()
            .position(|pending| Some(pending.id) == id)?;
        let pending = self.pending.remove(index);
        if !self.has_typed_text() && std::mem::take(&mut self.is_draft_sent) {
            self.record_draft(&Parts::default());
        }
        pending.map(|pending| pending.op)
    }

    /// The server has taken the op with this id. A prompt is kept until it is stored.
    pub(super) fn accept(&mut self, id: Option<u64>) {
        let pending = self.pending.iter().find(|pending| Some(pending.id) == id);
        let kept = pending.filter(|pending| pending.is_prompt()).cloned();
        self.complete(id);
        let Some(mut kept) = kept else { return };
        // Its line is in the history already.
        kept.adds_history = false;
        kept.is_typed = false;
        self.answered.push_back(kept);
        if self.answered.len() > MAX_ANSWERED {
            self.answered.pop_front();
        }
    }

    /// Forgets the prompts that are stored, went back to the user or were dropped by a run.
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        if self.answered.is_empty() {
            return;
        }
        let mut forget = |message: &UserMessage| {
            self.answered
                .retain(|answered| answered.once.is_none() || answered.once != message.once);
        };
        match event {
            AgentEvent::MessageStart { message, .. } => {
                if let AgentMessage::User(message) = &**message {
                    forget(message);
                }
            }
            AgentEvent::QueueRecalled { messages } => messages.iter().for_each(forget),
            AgentEvent::AgentStart => {
                for answered in &mut self.answered {
                    answered.has_run = true;
                }
            }
            AgentEvent::AgentSettled { .. } => self.answered.retain(|answered| !answered.has_run),
            _ => {}
        }
    }

    /// Writes the draft to the file.
    pub(super) async fn end(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            recorder.end().await;
        }
    }

    /// Whether text that the user typed is unanswered.
    fn has_typed_text(&self) -> bool {
        self.pending.iter().any(|pending| pending.is_typed)
    }

    fn prepare(&mut self, op: &Op, adds_history: bool) {
        let is_typed = matches!(
            op,
            Op::Agent(AgentOp::Prompt { .. } | AgentOp::Steer { .. } | AgentOp::FollowUp { .. })
                | Op::Shell { .. }
                | Op::StashPrompt { .. }
        );
        let Ok(mut op) = serde_json::to_value(op) else {
            return;
        };
        let is_query = self.answers.register(&mut op);
        let once = (!is_query).then(|| uuid::Uuid::new_v4().simple().to_string());
        self.last_id += 1;
        let id = self.last_id;
        let pending = PendingOp {
            id,
            op,
            once,
            is_typed,
            adds_history,
            is_sent: false,
            has_run: false,
        };
        self.pending.push_back(pending);
        self.new.push_back(id);
    }

    fn frame(&self, pending: &PendingOp) -> Value {
        let command = json!({"type": "op", "op": pending.op});
        let mut frame = json!({"id": pending.id, "sessionId": self.session, "once": pending.once, "command": command});
        if pending.adds_history {
            frame["history"] = json!(true);
        }
        frame
    }

    fn record_draft(&mut self, text: &Parts) {
        let (Some(session), Some(folder)) = (&self.session, &self.drafts) else {
            return;
        };
        let recorder = self
            .recorder
            .get_or_insert_with(|| PromptDraftRecorder::new(folder.clone(), |_| {}));
        recorder.record(PromptDraft {
            session: session.clone(),
            cwd: self.server.clone(),
            text: text.clone(),
            ..PromptDraft::default()
        });
    }

    /// The draft that an earlier process left for this session.
    fn find(&self) -> Option<Event> {
        let (session, folder) = (self.session.as_ref()?, self.drafts.as_ref()?);
        let found = find(
            folder,
            folder,
            DraftQuery {
                session,
                cwd: &self.server,
                is_new: false,
            },
        )?;
        (found.cwd == self.server).then(|| Event::DraftFound {
            text: found.text,
            files: Arc::unwrap_or_clone(found.files),
        })
    }
}

/// The text of a prompt as it is in the history.
fn prompt_text(op: &Op) -> Option<&str> {
    match op {
        Op::Agent(
            AgentOp::Prompt { text, typed, .. }
            | AgentOp::Steer { text, typed, .. }
            | AgentOp::FollowUp { text, typed, .. },
        ) => Some(typed.as_ref().unwrap_or(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_draft_is_stored_until_the_server_has_the_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("1.json");
        let stored = async |seconds| {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let text = std::fs::read_to_string(&file).ok()?;
            Some(serde_json::from_str::<PromptDraft>(&text).unwrap().text)
        };
        let mut ops = PendingOps::new("there".to_owned(), Some(folder.path().to_owned()));
        ops.session = Some("1".to_owned());
        ops.handle(&Op::SaveDraft { text: "ha".into() });
        assert_eq!(stored(1).await, Some("ha".into()));
        let text = "half a thought".to_owned();
        ops.handle_offline(&Op::AddHistory { text: text.clone() });
        ops.handle_offline(&Op::Agent(AgentOp::Prompt {
            text,
            attachments: Vec::new(),
            typed: None,
            once: None,
        }));
        ops.handle_offline(&Op::SaveDraft { text: "".into() });
        assert_eq!(stored(60).await, Some("half a thought".into()));
        // The line for the history is a part of the prompt.
        assert_eq!(stored(60).await, Some("half a thought".into()));
        ops.complete(Some(1));
        assert_eq!(stored(2).await, None);
    }

    fn names(ops: &mut PendingOps) -> Vec<String> {
        let frames = std::iter::from_fn(|| ops.take_new());
        frames
            .map(|(_, frame)| {
                let history = if frame["history"] == true {
                    " with history"
                } else {
                    ""
                };
                format!(
                    "{}{history}",
                    frame["command"]["op"]["type"].as_str().unwrap()
                )
            })
            .collect()
    }

    #[test]
    fn the_text_of_a_prompt_travels_once() {
        let mut ops = PendingOps::new("there".to_owned(), None);
        let history = |text: &str| Op::AddHistory {
            text: text.to_owned(),
        };
        let shell = Op::Shell {
            command: "ls".to_owned(),
            exclude_from_context: false,
        };
        ops.handle(&history("hello"));
        ops.handle(&Op::SaveDraft { text: "".into() });
        assert_eq!(names(&mut ops), [""; 0]);
        ops.handle(&prompt("hello"));
        ops.handle(&history("!ls"));
        ops.handle(&shell);
        ops.handle(&history("/model x"));
        ops.handle(&prompt("other"));
        ops.handle(&history("last"));
        ops.flush_history();
        assert_eq!(
            names(&mut ops),
            [
                "prompt with history",
                "add_history",
                "shell",
                "add_history",
                "prompt",
                "add_history"
            ]
        );
    }

    #[test]
    fn only_prompts_are_sent_again_to_a_session_that_was_reopened() {
        for (is_reopened, dropped, again) in [
            (
                false,
                &[][..],
                &["prompt", "shell", "shell", "list_hooks"][..],
            ),
            (true, &["shell"], &["prompt", "shell", "list_hooks"]),
        ] {
            let mut ops = PendingOps::new("there".to_owned(), None);
            let shell = Op::Shell {
                command: "touch x".to_owned(),
                exclude_from_context: false,
            };
            ops.handle(&prompt("hello"));
            ops.handle(&shell);
            names(&mut ops);
            ops.note_sent(1);
            ops.note_sent(2);
            // It waits for a connection.
            ops.handle_offline(&shell);
            ops.handle_offline(&Op::ListHooks);
            ops.note_sent(4);
            assert_eq!(ops.resend(is_reopened), dropped);
            assert_eq!(names(&mut ops), again);
        }
    }

    #[test]
    fn prompts_without_a_connection_are_shown_and_return_to_the_editor() {
        let shown = |prompts: &[(&str, bool)]| {
            let prompts = prompts.iter().map(|(text, is_sent)| UnconfirmedPrompt {
                text: (*text).to_owned(),
                is_sent: *is_sent,
            });
            let prompts = prompts.collect();
            Some(Event::UnconfirmedPrompts { prompts })
        };
        let mut ops = PendingOps::new("there".to_owned(), None);
        ops.handle(&prompt("one"));
        ops.note_sent(1);
        assert_eq!(ops.unconfirmed(true), None);
        assert_eq!(ops.unconfirmed(false), shown(&[("one", true)]));
        assert_eq!(ops.unconfirmed(false), None);
        ops.handle_offline(&prompt("two"));
        ops.handle_offline(&Op::ListHooks);
        assert_eq!(
            ops.unconfirmed(false),
            shown(&[("one", true), ("two", false)])
        );
        // The first one may have arrived.
        let recall = Op::Agent(AgentOp::RecallQueue);
        let messages = vec![UserMessage {
            text: "two".to_owned(),
            ..UserMessage::default()
        }];
        let recalled = AgentEvent::QueueRecalled { messages };
        assert_eq!(ops.handle_offline(&recall), Some(recalled.into()));
        assert_eq!(ops.unconfirmed(false), shown(&[("one", true)]));
        assert_eq!(ops.unconfirmed(true), shown(&[]));
    }

    type Events<'a> = &'a dyn Fn(&Option<String>) -> Vec<AgentEvent>;

    /// A prompt that the server has taken, and the events after which it is not sent again.
    #[test]
    fn prompts_are_kept_until_the_server_has_stored_them() {
        let stored = |once: &Option<String>| UserMessage {
            once: once.clone(),
            ..UserMessage::default()
        };
        let start = |message| AgentEvent::MessageStart {
            id: "message_1".to_owned(),
            message: Arc::new(AgentMessage::User(message)),
        };
        let settled = || AgentEvent::AgentSettled {
            outcome: osier_agent::RunOutcome::Completed,
        };
        let other = Some("other".to_owned());
        let cases: [(&str, Events<'_>, usize); 7] = [
            ("nothing", &|_| Vec::new(), 1),
            ("a run began", &|_| vec![AgentEvent::AgentStart], 1),
            ("it is stored", &|once| vec![start(stored(once))], 0),
            ("another one is stored", &|_| vec![start(stored(&other))], 1),
            (
                "it went back to the user",
                &|once| {
                    vec![AgentEvent::QueueRecalled {
                        messages: vec![stored(once)],
                    }]
                },
                0,
            ),
            ("the run before it ended", &|_| vec![settled()], 1),
            (
                "its run dropped it",
                &|_| vec![AgentEvent::AgentStart, settled()],
                0,
            ),
        ];
        for (case, events, expected) in cases {
            let mut ops = PendingOps::new("there".to_owned(), None);
            ops.handle(&prompt("hello"));
            let once = ops.pending[0].once.clone();
            ops.note_sent(1);
            ops.accept(Some(1));
            for event in events(&once) {
                ops.on_event(&event);
            }
            names(&mut ops);
            assert_eq!(ops.resend(false), [""; 0]);
            assert_eq!(names(&mut ops), [""; 0], "{case}: the same server has it");
            ops.resend(true);
            assert_eq!(names(&mut ops), vec!["prompt"; expected], "{case}");
        }
    }

    fn prompt(text: &str) -> Op {
        Op::Agent(AgentOp::Prompt {
            text: text.to_owned(),
            attachments: Vec::new(),
            typed: None,
            once: None,
        })
    }
}
