//! A slash command in a run without a screen. Its answer is the answer of the prompt.

use osier_agent::{CompactionOutcome, RunOutcome};
use osier_protocol::slash::{self, CommandEnd, SlashClient};
use osier_protocol::{AddedCommand, Event, Op, Prompt, TreeOp};
use osier_session::SessionHandle;

/// The requests of a prompt that is a command, or why it cannot run. `None` for text, and for commands in `added`.
pub(super) fn typed(prompt: &Prompt, added: &[AddedCommand]) -> Option<Result<Vec<Op>, String>> {
    let typed = prompt.typed.as_ref().unwrap_or(&prompt.text);
    let requests = slash::requests_of(typed, SlashClient::Script, added)?;
    if prompt.typed.is_some() && requests.is_ok() {
        let name = typed.split_whitespace().next().unwrap_or_default();
        let problem = format!("`{name}` takes no text from standard input");
        return Some(Err(problem));
    }
    Some(requests)
}

/// The commands of templates, skills and plugins. One of them can have the name of a built-in command, so that osier needs to know them
/// first.
#[derive(Debug, Default)]
pub(super) struct AddedCommands {
    list: Vec<AddedCommand>,
    /// The number of a request that ends after the session has read the commands.
    request: Option<u64>,
    /// Whether the next event is about that request.
    is_about_request: bool,
    are_read: bool,
}

impl AddedCommands {
    /// Handles an event of the session. Returns whether it is only about the request of these commands.
    pub(super) fn on_event(&mut self, event: &Event) -> bool {
        let is_about = |request: &u64| self.request == Some(*request);
        match event {
            Event::OpEvent { request } if is_about(request) => self.is_about_request = true,
            Event::OpEnded { request, .. } if is_about(request) => self.are_read = true,
            Event::Commands { commands } => {
                self.list.clone_from(commands);
                return false;
            }
            _ => return std::mem::take(&mut self.is_about_request),
        }
        true
    }

    /// Whether `prompt` must wait until the session has read the commands.
    pub(super) fn are_missing_for(&mut self, prompt: &Prompt, session: &SessionHandle) -> bool {
        if self.are_read || typed(prompt, &[]).is_none() {
            return false;
        }
        if self.request.is_none() {
            let request = session.next_request();
            self.request = Some(request);
            // The request reads no entry, but the session handles it after the commands, as it does with a prompt.
            let nothing = TreeOp::ReadEntries {
                request,
                entry_ids: Vec::new(),
                bytes: 0,
            };
            session.ask(request, Op::Tree(nothing));
        }
        true
    }

    pub(super) fn list(&self) -> &[AddedCommand] {
        &self.list
    }
}

/// A command that was sent.
#[derive(Debug)]
pub(super) struct RunningCommand {
    request: u64,
    end: CommandEnd,
    /// The types of the events that answer it; any event if there are none.
    replies: &'static [&'static str],
    answer: Option<String>,
    outcome: RunOutcome,
}

impl RunningCommand {
    /// The command whose last request is `op`, with the number `request`.
    pub(super) fn new(request: u64, op: &Op) -> Self {
        Self {
            request,
            end: CommandEnd::of(op),
            replies: op.request().replies,
            answer: None,
            outcome: RunOutcome::Completed,
        }
    }

    /// Follows the command; returns whether it has ended.
    pub(super) fn on_event(&mut self, event: &Event) -> bool {
        if let Event::OpEnded {
            request,
            with_agent,
        } = event
            && *request == self.request
        {
            if *with_agent && self.answer.is_none() {
                self.end = CommandEnd::Event;
            }
            return self.end != CommandEnd::Event || self.answer.is_some();
        }
        if self.end == CommandEnd::RequestAlone || !self.is_answer(event) {
            return false;
        }
        if let Event::Agent(osier_agent::Event::CompactionEnd { outcome, .. }) = event {
            self.outcome = match outcome {
                CompactionOutcome::Interrupted => RunOutcome::Interrupted,
                CompactionOutcome::Failed { message } => RunOutcome::Stopped {
                    message: message.clone(),
                },
                _ => RunOutcome::Completed,
            };
        }
        // The same event can come before, when the session starts: the last one is the answer.
        self.answer = slash::describe(event).or(self.answer.take());
        self.answer.is_some() && self.end == CommandEnd::Event
    }

    fn is_answer(&self, event: &Event) -> bool {
        let kind = || {
            serde_json::to_value(event)
                .ok()?
                .get("type")?
                .as_str()
                .map(str::to_owned)
        };
        match (self.replies, self.end) {
            ([], CommandEnd::Event) => {
                matches!(
                    event,
                    Event::Agent(osier_agent::Event::CompactionEnd { .. })
                )
            }
            ([], _) => true,
            (replies, _) => kind().is_some_and(|kind| replies.contains(&kind.as_str())),
        }
    }

    pub(super) fn outcome(&self) -> RunOutcome {
        self.outcome.clone()
    }

    /// The answer of the command, which ended with `outcome`.
    pub(super) fn answer(self, outcome: &RunOutcome) -> String {
        let done = || (*outcome == RunOutcome::Completed).then(|| "Done.".to_owned());
        self.answer.or_else(done).unwrap_or_default()
    }
}
