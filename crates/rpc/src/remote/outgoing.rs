//! What is told the host: most of it goes to the other end, under a name by which it is not done twice. What is
//! typed and not sent stays here.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::answers::Asked;
use osier_agent::Op as AgentOp;
use osier_base::parts::Parts;
use osier_protocol::{Event, Op};
use osier_store::prompt_draft::{DraftQuery, PromptDraft, PromptDraftRecorder, find};

/// Ops that may wait while the line is away.
const WAITING: usize = 1000;

/// Everything that is on its way, and who asked what.
pub(super) struct Outgoing {
    /// What is not answered yet, in order.
    waiting: VecDeque<Sent>,
    pub(super) asked: Asked,
    last: u64,
    /// The session that was joined.
    pub(super) session: Option<String>,
    /// Where what is typed is kept.
    drafts: Option<PathBuf>,
    /// As a draft names the server.
    place: String,
    recorder: Option<PromptDraftRecorder>,
    /// What was typed is on its way, and is kept until that is answered.
    is_cleared: bool,
}

/// A command on its way.
struct Sent {
    id: u64,
    op: Value,
    /// The name under which it is not done twice.
    once: Option<String>,
    /// Somebody typed what is in it.
    is_typed: bool,
}

/// What comes of an op here.
pub(super) enum Taken {
    /// A frame for the other end.
    Goes(Value),
    /// It is answered here.
    Answered(Event),
    Nothing,
}

impl Outgoing {
    pub(super) fn new(place: String, drafts: Option<PathBuf>) -> Self {
        Self {
            waiting: VecDeque::new(),
            asked: Asked::new(),
            last: 0,
            session: None,
            drafts,
            place,
            recorder: None,
            is_cleared: false,
        }
    }

    /// Takes an op. It waits until it is answered.
    pub(super) fn take(&mut self, op: &Op) -> Taken {
        match op {
            Op::KeepUnsent { text } => {
                self.is_cleared = text.is_empty() && self.has_typed();
                if !self.is_cleared {
                    self.keep(text);
                }
                Taken::Nothing
            }
            Op::AddHistory { text } => {
                if let Some(recorder) = &self.recorder {
                    recorder.submit(text);
                }
                self.prepare(op).map_or(Taken::Nothing, Taken::Goes)
            }
            Op::FindUnsent => self.find().map_or(Taken::Nothing, Taken::Answered),
            op => self.prepare(op).map_or(Taken::Nothing, Taken::Goes),
        }
    }

    /// The same while the line is away: it goes when there is one, unless too much waits already.
    pub(super) fn take_later(&mut self, op: &Op) -> Option<Event> {
        if self.waiting.len() >= WAITING && !matches!(op, Op::KeepUnsent { .. }) {
            return None;
        }
        match self.take(op) {
            Taken::Answered(event) => Some(event),
            Taken::Goes(_) | Taken::Nothing => None,
        }
    }

    /// What is not answered yet.
    pub(super) fn again(&self) -> Vec<Value> {
        self.waiting.iter().map(|sent| self.frame(sent)).collect()
    }

    /// The command with this id is answered; its op.
    pub(super) fn answered(&mut self, id: Option<u64>) -> Option<Value> {
        let place = self.waiting.iter().position(|sent| Some(sent.id) == id)?;
        let sent = self.waiting.remove(place);
        if !self.has_typed() && std::mem::take(&mut self.is_cleared) {
            self.keep(&Parts::default());
        }
        sent.map(|sent| sent.op)
    }

    /// Writes what is left of what was typed.
    pub(super) async fn end(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            recorder.end().await;
        }
    }

    /// What somebody typed is not answered yet.
    fn has_typed(&self) -> bool {
        self.waiting.iter().any(|sent| sent.is_typed)
    }

    fn prepare(&mut self, op: &Op) -> Option<Value> {
        let is_typed = matches!(
            op,
            Op::Agent(AgentOp::Prompt { .. } | AgentOp::Steer { .. } | AgentOp::FollowUp { .. })
                | Op::Shell { .. }
                | Op::StashPrompt { .. }
        );
        let mut op = serde_json::to_value(op).ok()?;
        let asks = self.asked.send(&mut op);
        let once = (!asks).then(|| uuid::Uuid::new_v4().simple().to_string());
        self.last += 1;
        let id = self.last;
        let sent = Sent {
            id,
            op,
            once,
            is_typed,
        };
        let frame = self.frame(&sent);
        self.waiting.push_back(sent);
        Some(frame)
    }

    fn frame(&self, sent: &Sent) -> Value {
        let command = json!({"type": "op", "op": sent.op});
        json!({"id": sent.id, "sessionId": self.session, "once": sent.once, "command": command})
    }

    fn keep(&mut self, text: &Parts) {
        let (Some(session), Some(folder)) = (&self.session, &self.drafts) else {
            return;
        };
        let recorder = self
            .recorder
            .get_or_insert_with(|| PromptDraftRecorder::new(folder.clone()));
        recorder.record(PromptDraft {
            session: session.clone(),
            cwd: self.place.clone(),
            text: text.clone(),
        });
    }

    /// What an earlier run left in this session.
    fn find(&self) -> Option<Event> {
        let (session, folder) = (self.session.as_ref()?, self.drafts.as_ref()?);
        let found = find(
            folder,
            folder,
            DraftQuery {
                session,
                cwd: &self.place,
                is_new: false,
            },
        )?;
        (found.cwd == self.place).then_some(Event::UnsentFound { text: found.text })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_typed_is_kept_until_the_other_end_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("1.json");
        let stored = async |seconds| {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let text = std::fs::read_to_string(&file).ok()?;
            Some(serde_json::from_str::<PromptDraft>(&text).unwrap().text)
        };
        let mut outgoing = Outgoing::new("there".to_owned(), Some(folder.path().to_owned()));
        outgoing.session = Some("1".to_owned());
        outgoing.take(&Op::KeepUnsent { text: "ha".into() });
        assert_eq!(stored(1).await, Some("ha".into()));
        let text = "half a thought".to_owned();
        outgoing.take_later(&Op::AddHistory { text: text.clone() });
        outgoing.take_later(&Op::Agent(AgentOp::Prompt {
            text,
            attachments: Vec::new(),
        }));
        outgoing.take_later(&Op::KeepUnsent { text: "".into() });
        assert_eq!(stored(60).await, Some("half a thought".into()));
        outgoing.answered(Some(1));
        assert_eq!(stored(60).await, Some("half a thought".into()));
        outgoing.answered(Some(2));
        assert_eq!(stored(2).await, None);
    }
}
