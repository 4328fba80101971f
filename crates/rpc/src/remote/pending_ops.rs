//! Ops for the server: each waits until it is answered, with an idempotency key so that the server does not execute it
//! twice. Drafts stay on this machine.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answer_filter::AnswerFilter;
use osier_agent::Op as AgentOp;
use osier_base::parts::Parts;
use osier_protocol::{Event, Op};
use osier_store::prompt_draft::{DraftQuery, PromptDraft, PromptDraftRecorder, find};

/// How many ops can wait without a connection.
const MAX_OFFLINE: usize = 1000;

/// The unanswered ops of a remote session, and its draft.
pub(super) struct PendingOps {
    /// Unanswered ops, in order.
    pending: VecDeque<PendingOp>,
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
}

/// An unanswered op.
struct PendingOp {
    id: u64,
    op: Value,
    /// The idempotency key; queries have none.
    once: Option<String>,
    /// The op contains text that the user typed.
    is_typed: bool,
}

/// How the client handles an op.
pub(super) enum OpAction {
    /// Send this frame to the server.
    Send(Value),
    /// This event answers the op, without the server.
    Answered(Event),
    Nothing,
}

impl PendingOps {
    pub(super) fn new(server: String, drafts: Option<PathBuf>) -> Self {
        Self {
            pending: VecDeque::new(),
            answers: AnswerFilter::new(),
            last_id: 0,
            session: None,
            drafts,
            server,
            recorder: None,
            is_draft_sent: false,
        }
    }

    /// Handles an op. It stays pending until it is answered.
    pub(super) fn handle(&mut self, op: &Op) -> OpAction {
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
                self.prepare(op).map_or(OpAction::Nothing, OpAction::Send)
            }
            Op::FindDraft => self.find().map_or(OpAction::Nothing, OpAction::Answered),
            op => self.prepare(op).map_or(OpAction::Nothing, OpAction::Send),
        }
    }

    /// Handles an op without a connection: it is sent later, unless too many ops wait already.
    pub(super) fn handle_offline(&mut self, op: &Op) -> Option<Event> {
        if self.pending.len() >= MAX_OFFLINE
            && !matches!(op, Op::SaveDraft { .. } | Op::SaveDraftFiles { .. })
        {
            return None;
        }
        match self.handle(op) {
            OpAction::Answered(event) => Some(event),
            OpAction::Send(_) | OpAction::Nothing => None,
        }
    }

    /// The frames of all unanswered ops, to send them again.
    pub(super) fn unanswered_frames(&self) -> Vec<Value> {
        self.pending
            .iter()
            .map(|pending| self.frame(pending))
            .collect()
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

    fn prepare(&mut self, op: &Op) -> Option<Value> {
        let is_typed = matches!(
            op,
            Op::Agent(AgentOp::Prompt { .. } | AgentOp::Steer { .. } | AgentOp::FollowUp { .. })
                | Op::Shell { .. }
                | Op::StashPrompt { .. }
        );
        let mut op = serde_json::to_value(op).ok()?;
        let is_query = self.answers.register(&mut op);
        let once = (!is_query).then(|| uuid::Uuid::new_v4().simple().to_string());
        self.last_id += 1;
        let id = self.last_id;
        let pending = PendingOp {
            id,
            op,
            once,
            is_typed,
        };
        let frame = self.frame(&pending);
        self.pending.push_back(pending);
        Some(frame)
    }

    fn frame(&self, pending: &PendingOp) -> Value {
        let command = json!({"type": "op", "op": pending.op});
        json!({"id": pending.id, "sessionId": self.session, "once": pending.once, "command": command})
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
            files: Arc::default(),
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
        }));
        ops.handle_offline(&Op::SaveDraft { text: "".into() });
        assert_eq!(stored(60).await, Some("half a thought".into()));
        ops.complete(Some(1));
        assert_eq!(stored(60).await, Some("half a thought".into()));
        ops.complete(Some(2));
        assert_eq!(stored(2).await, None);
    }
}
