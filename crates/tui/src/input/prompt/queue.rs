//! Messages that wait in the queues of the agent, or for a connection, as they are shown above the editor.

use crate::actions::Command;
use crate::drawing::layout::QUEUE_ROWS;
use osier_agent::UserMessage;
use osier_base::text;
use osier_protocol::UnconfirmedPrompt;
use osier_term::{Keymap, Row, Token};

/// The texts of the messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Queue {
    steering: Vec<String>,
    follow_up: Vec<String>,
    /// Prompts of a lost connection.
    unconfirmed: Vec<UnconfirmedPrompt>,
}

impl Queue {
    pub(super) fn set(&mut self, steering: &[UserMessage], follow_up: &[UserMessage]) {
        let texts = |messages: &[UserMessage]| {
            let texts = messages.iter().map(|message| message.text.clone());
            texts.collect()
        };
        self.steering = texts(steering);
        self.follow_up = texts(follow_up);
    }

    pub(super) fn set_unconfirmed(&mut self, prompts: &[UnconfirmedPrompt]) {
        self.unconfirmed = prompts.to_vec();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty() && self.unconfirmed.is_empty()
    }

    /// Whether a message with this text waits.
    pub(super) fn contains(&self, text: &str) -> bool {
        let unconfirmed = self.unconfirmed.iter().map(|prompt| &prompt.text);
        let mut texts = self
            .steering
            .iter()
            .chain(&self.follow_up)
            .chain(unconfirmed);
        texts.any(|waiting| waiting == text)
    }

    pub(super) fn height(&self) -> u16 {
        let waiting = self.steering.len() + self.follow_up.len() + self.unconfirmed.len();
        u16::try_from(waiting).unwrap_or(QUEUE_ROWS).min(QUEUE_ROWS)
    }

    /// At most `height` rows; the last one counts those that do not fit.
    pub(super) fn rows(&self, width: u16, height: u16, keymap: &Keymap<Command>) -> Vec<Row> {
        let steering = self.steering.iter().map(|message| ("Steering", message));
        let follow_up = self.follow_up.iter().map(|message| ("Queued", message));
        let unconfirmed = self.unconfirmed.iter().map(|prompt| {
            let state = if prompt.is_sent {
                "Not confirmed"
            } else {
                "Waiting to be sent"
            };
            (state, &prompt.text)
        });
        let waiting: Vec<(&str, &String)> = steering.chain(follow_up).chain(unconfirmed).collect();
        if waiting.is_empty() {
            return Vec::new();
        }
        let (shown, width) = (usize::from(height), usize::from(width));
        let keys = keymap.keys_for("global", Command::RecallQueue);
        let hint = keys.first().map(|key| format!(" · {key} to edit"));
        let hint = hint.filter(|hint| text::width(hint) * 2 < width);
        let mut rows = Vec::with_capacity(shown);
        for (place, (kind, message)) in waiting.iter().enumerate().take(shown) {
            let hidden = waiting.len() - shown;
            if place + 1 == shown && hidden > 0 {
                rows.push(Row::plain(
                    format!("  … and {} more", hidden + 1),
                    Token::Muted,
                ));
                break;
            }
            let hint = hint.as_deref().filter(|_| place == 0).unwrap_or_default();
            let line = format!("  {kind}: {}", text::single_line(message));
            let room = width.saturating_sub(text::width(hint));
            let mut row = Row::plain(text::truncate(&line, room).into_owned(), Token::Text);
            row.push(hint, Token::Accent);
            rows.push(row);
        }
        rows
    }
}
