//! The page of a subagent: its conversation as a transcript, a title line with its state, and a line for messages to it.

use std::sync::Arc;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, Outbox, SubagentDraft, Toast};
use crate::conversation::{Transcript, transcript::task};
use crate::drawing::{Surface, frame, scroll};
use osier_agent::{AgentMessage, Event as AgentEvent, Severity, UserMessage};
use osier_base::text;
use osier_protocol::{Event, Op, SubagentInfo, SubagentStatus};
use osier_term::images::ImageStore;
use osier_term::{
    Component, Cx, Face, Handled, Highlighted, Highlighter, KeyPress, LineInput, Row, Span, Token,
    View,
};

pub(super) const ID: &str = "subagent";

const MARK: &str = "❯ ";
/// Rows of messages that wait for their delivery.
const QUEUE_ROWS: usize = 3;

/// The page.
pub(super) struct Page {
    info: SubagentInfo,
    /// When the state arrived.
    told_at: Instant,
    transcript: Transcript,
    /// The transcript has the settings of the screen.
    is_set_up: bool,
    pictures: ImageStore,
    input: LineInput,
    /// Messages that were sent and not delivered.
    queued: Vec<UserMessage>,
    /// Another press of the key stops the subagent.
    is_doomed: bool,
    cursor: Option<Position>,
}

osier_base::opaque_debug!(Page);

impl Page {
    pub(super) fn new(info: SubagentInfo, draft: &str, now: Instant) -> Self {
        Self {
            info,
            told_at: now,
            transcript: Transcript::default(),
            is_set_up: false,
            pictures: ImageStore::new(drop),
            input: LineInput::new(draft),
            queued: Vec::new(),
            is_doomed: false,
            cursor: None,
        }
    }

    /// Applies an event of the session. Only those of this subagent have an effect.
    pub(super) fn on_event(&mut self, event: &Event, now: Instant) {
        match event {
            Event::Subagents { subagents } => {
                if let Some(info) = subagents.iter().find(|info| info.id == self.info.id) {
                    self.info = info.clone();
                    self.told_at = now;
                }
            }
            Event::SubagentTranscript {
                subagent,
                skipped,
                events,
            } if *subagent == self.info.id => {
                self.transcript = Transcript::default();
                self.is_set_up = false;
                self.queued.clear();
                if *skipped > 0 {
                    let messages =
                        text::counted(*skipped, "earlier message is", "earlier messages are");
                    let text = format!("{messages} no longer in memory");
                    self.transcript.notice(Severity::Info, &text);
                }
                for event in events {
                    self.apply(event);
                }
            }
            Event::SubagentEvent { subagent, event } if *subagent == self.info.id => {
                self.apply(event);
            }
            Event::QuestionAsked { question } if self.is_its(question.subagent.as_deref()) => {
                self.transcript.apply(event);
            }
            Event::QuestionClosed { .. } => {
                self.transcript.apply(event);
            }
            _ => {}
        }
    }

    fn apply(&mut self, event: &AgentEvent) {
        if let AgentEvent::QueueUpdate { steering, .. } = event {
            self.queued.clone_from(steering);
        }
        // A client that comes late gets answers without their deltas.
        if let AgentEvent::MessageEnd { message, .. } = event
            && let AgentMessage::User(_) = &**message
        {
            return;
        }
        self.transcript.apply(&Event::Agent(event.clone()));
    }

    fn is_its(&self, subagent: Option<&str>) -> bool {
        subagent == Some(&self.info.id)
    }

    /// Whether a question of this subagent opens here.
    pub(super) fn is_asked(&self, subagent: Option<&str>) -> bool {
        self.is_its(subagent) && self.input.is_empty()
    }

    /// Sends the typed message.
    fn send(&mut self, cx: &mut Cx<'_, Action>) {
        let text = self.input.text().trim().to_owned();
        if !self.info.is_active() || text.is_empty() {
            return;
        }
        self.input.clear();
        let subagent = self.info.id.clone();
        cx.push(Op::SteerSubagent { subagent, text });
    }

    /// Stops the subagent when the key is pressed twice.
    fn stop(&mut self, cx: &mut Cx<'_, Action>) {
        if !self.info.is_active() {
            return;
        }
        if std::mem::replace(&mut self.is_doomed, true) {
            self.is_doomed = false;
            let subagent = self.info.id.clone();
            cx.push(Toast::info(format!("stopping {subagent}")));
            cx.push(Op::StopSubagent { subagent });
        }
    }

    fn close(&mut self, cx: &mut Cx<'_, Action>) {
        let subagent = self.info.id.clone();
        let text = self.input.text().to_owned();
        cx.push(Op::UnfollowSubagent {
            subagent: subagent.clone(),
        });
        cx.push(Action::KeepSubagentDraft(SubagentDraft { subagent, text }));
        cx.push(Action::CloseLayer);
    }

    fn title_row(&self, width: usize, now: Instant) -> Row {
        let since = now.saturating_duration_since(self.told_at);
        let (word, token) = task::state(&self.info);
        let doing = task::doing(&self.info);
        let gap = if doing.is_empty() { "" } else { " · " };
        let figures = task::figures(&self.info, Some(task::age(&self.info, since)));
        let label = self.info.label();
        let most = width.saturating_sub(text::width(&label) + 10);
        let short = format!("{word} · {figures}");
        let long = format!("{word}{gap}{doing} · {figures}");
        let remark = if text::width(&long) <= most {
            long
        } else {
            short
        };
        let face = Face::bold(Token::Title);
        frame::rule(&label, face, (&remark, token.into()), width)
    }

    /// The messages that wait, and the line for the next one; nothing once the subagent has ended.
    fn input_rows(&self, width: usize) -> Vec<Row> {
        if !self.info.is_active() {
            return Vec::new();
        }
        let line = |message: &UserMessage| {
            let words = text::single_line(&message.text);
            let line = format!("  Steering: {words}");
            let line = text::truncate(&line, width).into_owned();
            Row::plain(line, Token::Muted)
        };
        let mut rows: Vec<Row> = self.queued.iter().take(QUEUE_ROWS).map(line).collect();
        let room = width.saturating_sub(3);
        let typed = match self.input.text() {
            "" => Span::new(format!("Message to {}", self.info.label()), Token::Muted),
            typed => Span::new(text::truncate_start(typed, room).into_owned(), Token::Text),
        };
        rows.push(Row::new(vec![Span::new(MARK, Token::Accent), typed]));
        rows
    }

    fn hint_row(&self, width: usize, view: &View<'_, Command>) -> Row {
        let rule = |text: &str, token: Token| {
            frame::rule(text, token.into(), ("", Face::default()), width)
        };
        let key = |context, command| frame::shown_key(view.keymap, context, command);
        if self.is_doomed {
            let key = key("list", Command::Remove).unwrap_or_default();
            let text = format!("press {key} again to stop {}", self.info.id);
            return rule(&text, Token::Warning);
        }
        let mut hints = vec!["esc back".to_owned()];
        if self.info.status == SubagentStatus::Asks {
            let key = key("global", Command::Answer);
            hints.extend(key.map(|key| format!("{key} answer")));
        }
        if self.info.is_active() {
            hints.extend(key("list", Command::Accept).map(|key| format!("{key} send")));
            hints.extend(key("list", Command::Remove).map(|key| format!("{key} stop")));
            if !self.info.background {
                let key = key("global", Command::Background);
                hints.extend(key.map(|key| format!("{key} send to background")));
            }
        }
        hints.extend(frame::help_hint(view.keymap, "list"));
        rule(
            &frame::fitting(&hints, width.saturating_sub(4)),
            Token::Muted,
        )
    }

    /// Gives a command to the transcript.
    fn in_transcript(&mut self, command: Command, cx: &mut Cx<'_, Action>) {
        let mut outbox = Outbox::default();
        self.transcript.on_command(command, &mut outbox);
        cx.actions.extend(outbox.take());
    }

    fn set_up(&mut self, view: &View<'_, Command>) {
        if !std::mem::replace(&mut self.is_set_up, true) {
            let settings = Arc::new(view.settings.clone());
            self.transcript.set_settings(&settings);
            let key = view.keymap.key_for("global", Command::ToggleTools);
            self.transcript.set_expand_key(key);
        }
    }
}

impl Component<Command, Action> for Page {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.set_up(view);
        let width = usize::from(area.width);
        let below = self.input_rows(width);
        let typing = area.height.saturating_sub(2);
        let height = u16::try_from(below.len()).unwrap_or(u16::MAX) + 2;
        let conversation = Rect {
            y: area.y + 1,
            height: area.height.saturating_sub(height),
            ..area
        };
        let blank = vec![Row::default(); usize::from(area.height)];
        view.paint(&blank, area, buffer);
        view.paint(
            &[self.title_row(width, view.now)],
            Rect { height: 1, ..area },
            buffer,
        );
        let mut surface = Surface {
            buffer,
            links: view.links,
            theme: view.theme,
        };
        self.transcript
            .render(conversation, &mut surface, &mut self.pictures);
        let mut rows = below;
        self.cursor = (!rows.is_empty() && view.focused).then(|| {
            let column = (text::width(MARK) + self.input.cursor_column()).min(width.max(1) - 1);
            Position {
                x: area.x + u16::try_from(column).unwrap_or_default(),
                y: area.y + typing,
            }
        });
        rows.push(self.hint_row(width, view));
        let foot = Rect {
            y: conversation.bottom(),
            height: area.bottom().saturating_sub(conversation.bottom()),
            ..area
        };
        view.paint(&rows, foot, buffer);
    }

    fn on_key(&mut self, key: KeyPress, _: &mut Cx<'_, Action>) -> Handled {
        self.is_doomed = false;
        if let Some(character) = key.typed().filter(|_| self.info.is_active()) {
            self.input.insert(character.encode_utf8(&mut [0; 4]));
        }
        Handled::Yes
    }

    fn on_paste(&mut self, pasted: &str, _: &mut Cx<'_, Action>) -> Handled {
        if self.info.is_active() {
            self.input.insert(&text::single_line(pasted));
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let was_doomed = self.is_doomed;
        self.is_doomed = false;
        match command {
            Command::Accept => self.send(cx),
            Command::Remove => {
                self.is_doomed = was_doomed;
                self.stop(cx);
            }
            Command::Background => {
                if self.info.is_active() && !self.info.background {
                    let subagent = self.info.id.clone();
                    cx.push(Toast::info(format!(
                        "{subagent} continues in the background"
                    )));
                    cx.push(Op::MoveSubagentToBackground { subagent });
                }
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit if was_doomed => {}
            Command::ClearOrExit if !self.input.is_empty() => self.input.clear(),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => self.close(cx),
            Command::Left => self.input.left(),
            Command::Right => self.input.right(),
            Command::LineStart => self.input.home(),
            Command::LineEnd => self.input.end(),
            Command::DeleteBackward => self.input.delete_backward(),
            Command::DeleteForward => self.input.delete_forward(),
            Command::DeleteWordBackward => self.input.delete_word_backward(),
            Command::KillToLineStart => self.input.clear(),
            Command::Up => self.in_transcript(Command::LineUp, cx),
            Command::Down => self.in_transcript(Command::LineDown, cx),
            Command::First => self.in_transcript(Command::Top, cx),
            Command::Last => self.in_transcript(Command::Bottom, cx),
            Command::PageUp
            | Command::PageDown
            | Command::LineUp
            | Command::LineDown
            | Command::Top
            | Command::Bottom
            | Command::ToggleTools
            | Command::ToggleThinking
            | Command::CopyAnswer => self.in_transcript(command, cx),
            _ => return Handled::No,
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        command == Command::Remove || frame::is_of_most_lists(command)
    }

    fn meaning(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Accept => Some("Send the message"),
            Command::Remove => Some("Stop the subagent; press twice"),
            Command::Background => Some("Send the subagent to the background"),
            Command::Cancel => Some("Go back"),
            command => scroll::meaning(command),
        }
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn typed(&self) -> Option<&str> {
        Some(self.input.text())
    }

    fn foot(&self) -> u16 {
        if self.info.is_active() { 2 } else { 1 }
    }

    fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        self.transcript.request_highlight(highlighter);
    }

    fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        self.transcript.on_highlight(highlighted)
    }
}
