//! The questions that wait for the person: a line each above the editor, and the dialog of the one that
//! was entered. Nothing here takes the keys away from what is being written.

use std::time::Instant;

use super::action::Action;
use super::app::{App, Effect};
use super::overlays;
use super::overlays::picker::Picker;
use super::overlays::question::{self, Dialog};
use osier_base::text;
use osier_protocol::questions::{Answer, Question, Subject};
use osier_session::host::{Event, Op};
use osier_term::face::Token;
use osier_term::row::Row;
use osier_term::widgets::diff;

/// Rows the waiting questions take at most.
pub(super) const ROWS: u16 = 3;

/// The questions that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct Asking {
    waiting: Vec<Waiting>,
    /// The one whose dialog is open.
    open: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    question: Question,
    /// What was written into its dialog before it was left.
    draft: Vec<String>,
}

impl Asking {
    /// Those that have a line: what is asked in an open dialog is not said twice.
    fn lines(&self) -> impl Iterator<Item = &Waiting> {
        let waiting = self.waiting.iter();
        waiting.filter(|waiting| self.open.as_ref() != Some(&waiting.question.id))
    }

    /// Rows its lines take. That of an open dialog stays free, so that nothing moves behind it.
    pub(super) fn height(&self) -> u16 {
        u16::try_from(self.waiting.len()).unwrap_or(ROWS).min(ROWS)
    }

    /// A line a question; the last one tells how many are left out. `key` enters the first.
    pub(super) fn rows(&self, width: usize, key: Option<&str>) -> Vec<Row> {
        let count = self.lines().count();
        let shown = count.min(usize::from(self.height()));
        let hidden = count - shown;
        let key = key.filter(|_| self.open.is_none());
        let mut rows = Vec::with_capacity(shown);
        for (place, waiting) in self.lines().enumerate().take(shown) {
            if place + 1 == shown && hidden > 0 {
                let more = format!("  … and {} more", hidden + 1);
                rows.push(Row::plain(more, Token::Muted));
                break;
            }
            let hint = match (place, key) {
                (0, Some(key)) if self.waiting.len() > 1 => {
                    format!(" · {key} answers (1 of {})", self.waiting.len())
                }
                (0, Some(key)) => format!(" · {key} answers"),
                _ => String::new(),
            };
            let hint = text::truncate(&hint, width).into_owned();
            let room = width.saturating_sub(text::width(&hint));
            let line = format!("? {}", describe(&waiting.question));
            let mut row = Row::plain(text::truncate(&line, room).into_owned(), Token::Warning);
            row.push(hint, Token::Accent);
            rows.push(row);
        }
        rows
    }

    /// The oldest question, on a line.
    pub(super) fn first(&self) -> Option<String> {
        let first = self.waiting.first();
        first.map(|waiting| describe(&waiting.question))
    }

    fn take(&mut self, id: &str) -> Option<Waiting> {
        let place = self
            .waiting
            .iter()
            .position(|waiting| waiting.question.id == id)?;
        Some(self.waiting.remove(place))
    }
}

/// Who asks what, on one line.
fn describe(question: &Question) -> String {
    let about = match &question.subject {
        None => String::new(),
        Some(Subject::Command { command, .. }) => format!(" $ {}", text::single_line(command)),
        Some(Subject::Diff { path, diff }) => {
            let (added, removed) = diff::counts(diff);
            format!(" {} +{added} -{removed}", text::single_line(path))
        }
        Some(Subject::Text { text }) => {
            format!(" {}", text::single_line(text::head_bytes(text, 200)))
        }
    };
    let origin = text::unticked(&text::single_line(&question.origin));
    let title = text::unticked(&text::single_line(&question.title));
    format!("{origin}: {title}{about}")
}

impl App {
    /// Applies what has to do with what the agent may do.
    pub(super) fn follow_safety(&mut self, event: &Event) {
        match event {
            Event::Permissions {
                mode,
                rules,
                sandbox,
            } => {
                self.footer.permissions = *mode;
                self.footer.sandbox = *sandbox;
                self.rules.clone_from(rules);
                let picker = self.permissions_picker();
                self.renew(overlays::permissions::ID, picker);
            }
            Event::Hooks { hooks } => {
                self.renew(overlays::hooks::ID, overlays::hooks::picker(hooks));
            }
            Event::HookRan { .. } if self.layers.get_mut(overlays::hooks::ID).is_some() => {
                self.ops.push(Op::ListHooks);
            }
            Event::ProjectTrusted => self.actions.push(Action::ReloadLooks),
            Event::QuestionAsked { question } => self.asked(question),
            Event::QuestionClosed { id } => self.no_longer_asked(id),
            Event::Questions { questions } => self.all_asked(questions),
            _ => {}
        }
    }

    pub(super) fn permissions_picker(&self) -> Picker {
        overlays::permissions::picker(self.footer.permissions, &self.rules)
    }

    /// A question came in: it waits in its line.
    pub(super) fn asked(&mut self, question: &Question) {
        let known = |waiting: &Waiting| waiting.question.id == question.id;
        if self.asking.waiting.iter().any(known) {
            return;
        }
        if !self.focused {
            let text = format!("waits for you: {}", describe(question));
            self.effects
                .push(Effect::Notify(text::truncate(&text, 200).into_owned()));
        }
        self.asking.waiting.push(Waiting {
            question: question.clone(),
            draft: Vec::new(),
        });
    }

    /// The questions that wait, as the host has them.
    pub(super) fn all_asked(&mut self, questions: &[Question]) {
        let gone = |waiting: &Waiting| !questions.iter().any(|open| open.id == waiting.question.id);
        let gone: Vec<String> = self
            .asking
            .waiting
            .iter()
            .filter(|waiting| gone(waiting))
            .map(|waiting| waiting.question.id.clone())
            .collect();
        for id in gone {
            self.no_longer_asked(&id);
        }
        for question in questions {
            self.asked(question);
        }
    }

    /// A question was answered or taken back.
    pub(super) fn no_longer_asked(&mut self, id: &str) {
        let _ = self.asking.take(id);
        if self.asking.open.as_deref() == Some(id) {
            self.asking.open = None;
            self.layers.remove(question::ID);
            self.actions.push(Action::Toast {
                text: "the question was taken back".to_owned(),
                error: false,
            });
        }
    }

    /// Enters the oldest question. False when none waits.
    pub(super) fn enter_question(&mut self) -> bool {
        let Some(first) = self.asking.waiting.first() else {
            return false;
        };
        if self.asking.open.is_none() {
            self.asking.open = Some(first.question.id.clone());
            let dialog = Dialog::new(first.question.clone(), &first.draft);
            self.layers.push_modal(question::ID, dialog);
        }
        true
    }

    /// Back to the editor; the question goes on waiting, behind the others.
    pub(super) fn leave_question(&mut self, id: &str, draft: Vec<String>) {
        self.asking.open = None;
        self.layers.remove(question::ID);
        if let Some(mut waiting) = self.asking.take(id) {
            waiting.draft = draft;
            self.asking.waiting.push(waiting);
        }
    }

    pub(super) fn answer_question(&mut self, id: String, answer: Answer, now: Instant) {
        // The dialog stays as it is.
        if self.is_held(now) {
            return;
        }
        self.asking.open = None;
        self.layers.remove(question::ID);
        // It may have been taken back a moment ago.
        if self.asking.take(&id).is_some() {
            self.ops.push(Op::AnswerQuestion { id, answer });
        }
    }
}
