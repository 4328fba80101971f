//! Pending questions: a line above the editor for each, and the dialog of the open one in place of
//! the editor. A new question opens its dialog only if the editor is empty; keys typed at that
//! moment do not answer it.

mod dialog;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use ratatui::layout::Rect;

use crate::actions::{Command, Effect, Outbox, Toast};
use crate::conversation::Transcript;
use crate::drawing::{Overlays, Surface};
use crate::input::Editor;
use dialog::{Dialog, Guard, Setting, is_letters};
use osier_base::text;
use osier_base::visible::one_line;
use osier_markdown::plain::first_line;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Subject};
use osier_protocol::{Event, Op};
use osier_term::input::MouseInput;
use osier_term::widgets::diff;
use osier_term::{Keymap, Row, Token};

/// Columns of a question in a notification.
const NOTIFIED: usize = 200;

/// Maximum rows of the pending questions.
pub(crate) const ROWS: u16 = 3;

/// How long a dialog that opens by itself ignores keys, which can be meant for the editor.
const UNASKED: Duration = Duration::from_millis(700);
/// How long the dialog that follows an answer ignores keys, so that one press does not answer two questions.
const FOLLOWS: Duration = Duration::from_millis(300);

/// Prompts that are meant for a question.
const ANSWERS: &[&str] = &[
    "yes", "no", "ok", "okay", "yep", "nope", "allow", "always", "approve", "deny",
];

/// The pending questions, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    waiting: Vec<Waiting>,
    /// The question whose dialog is open.
    open: Option<String>,
    /// The user has answered in this run, with nothing in the editor: a `y` or `n` that follows is another answer.
    answered: bool,
}

#[derive(Debug)]
struct Waiting {
    question: Question,
    /// The text in the dialog when the user left it.
    draft: Vec<String>,
    /// The dialog of the question was not open yet.
    is_new: bool,
}

impl Questions {
    /// The questions with a line: the one in the open dialog has none.
    fn lines(&self) -> impl Iterator<Item = &Waiting> {
        let waiting = self.waiting.iter();
        waiting.filter(|waiting| self.open.as_ref() != Some(&waiting.question.id))
    }

    /// Rows of the lines. The row of an open dialog stays free, so that nothing moves behind it.
    pub(crate) fn height(&self) -> u16 {
        u16::try_from(self.waiting.len()).unwrap_or(ROWS).min(ROWS)
    }

    /// Whether a question waits and no dialog is open.
    pub(crate) fn is_waiting(&self) -> bool {
        self.open.is_none() && !self.waiting.is_empty()
    }

    /// Whether a prompt is meant for a question: for a pending one if the prompt is empty or a
    /// short answer, for the next one of the run if the prompt is only letters that answer.
    pub(crate) fn is_answer(&self, prompt: &str) -> bool {
        let prompt = prompt.trim().trim_end_matches(['.', '!']);
        if !self.is_waiting() {
            return self.answered && is_letters(prompt);
        }
        let is_word = |word: &str| ANSWERS.iter().any(|known| word.eq_ignore_ascii_case(known));
        prompt.chars().count() <= 1
            || prompt
                .split_whitespace()
                .all(|word| is_letters(word) || is_word(word))
    }

    /// Opens the question that a prompt answers, instead of sending it.
    pub(crate) fn open_for_prompt(
        &mut self,
        editor: &mut Editor,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        if !editor.is_empty() {
            editor.clear();
            let text = if self.waiting.is_empty() {
                "not sent to the model: no question waits for an answer"
            } else {
                "not sent to the model: answer the question here"
            };
            outbox.push(Toast::info(text));
        }
        self.enter(overlays);
    }

    /// A line per question; the last one counts those that do not fit. `key` opens the first.
    fn rows(&self, width: usize, key: Option<&str>) -> Vec<Row> {
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
                    format!(" · {key} to answer (1 of {})", self.waiting.len())
                }
                (0, Some(key)) => format!(" · {key} to answer"),
                _ => String::new(),
            };
            let hint = text::truncate(&hint, width).into_owned();
            let room = width.saturating_sub(text::width(&hint) + 2);
            let line = format!("? {}", describe(&waiting.question, room));
            let mut row = Row::plain(line, Token::Warning);
            row.push(hint, Token::Accent);
            rows.push(row);
        }
        rows
    }

    /// Draws the lines above the editor.
    pub(crate) fn draw(&self, area: Rect, keymap: &Keymap<Command>, surface: &mut Surface<'_>) {
        if area.height == 0 {
            return;
        }
        let keys = ["global", "editor"].map(|context| keymap.keys_for(context, Command::Answer));
        let keys: Vec<String> = keys
            .into_iter()
            .filter_map(|keys| keys.into_iter().next())
            .collect();
        let key = (!keys.is_empty()).then(|| keys.join(" or "));
        let rows = self.rows(usize::from(area.width), key.as_deref());
        surface.paint(&rows, area);
    }

    /// The oldest question, on a line.
    pub(crate) fn first(&self) -> Option<String> {
        let first = self.waiting.first();
        first.map(|waiting| describe(&waiting.question, NOTIFIED))
    }

    /// A run has ended: what is typed now is for the model.
    pub(crate) fn on_settled(&mut self) {
        self.answered = false;
    }

    /// Applies the events of pending questions. Without the focus, a new question sends a
    /// notification. `editor` is `None` while something is in front of it; if the editor is empty,
    /// the dialog of a new question opens.
    pub(crate) fn on_event(
        &mut self,
        event: &Event,
        focused: bool,
        editor: Option<&mut Editor>,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        match event {
            Event::QuestionAsked { question } => {
                self.ask(question, focused, outbox);
                self.open_new(editor, overlays);
            }
            Event::QuestionClosed { id } => self.close(id, overlays, outbox),
            Event::Questions { questions } => {
                for id in self.closed(questions) {
                    self.close(&id, overlays, outbox);
                }
                for question in questions {
                    self.ask(question, focused, outbox);
                }
                self.open_new(editor, overlays);
            }
            _ => {}
        }
    }

    fn ask(&mut self, question: &Question, focused: bool, outbox: &mut Outbox) {
        if let Some(text) = self.add(question)
            && !focused
        {
            outbox.push(Effect::Notify(format!("waiting for you: {text}")));
        }
    }

    /// Adds a question; the result is its text when it is new.
    fn add(&mut self, question: &Question) -> Option<String> {
        let known = |waiting: &Waiting| waiting.question.id == question.id;
        if self.waiting.iter().any(known) {
            return None;
        }
        self.waiting.push(Waiting {
            question: question.clone(),
            draft: Vec::new(),
            is_new: true,
        });
        Some(describe(question, NOTIFIED))
    }

    /// The ids of questions that are not in `open` any more.
    fn closed(&self, open: &[Question]) -> Vec<String> {
        let ids = self.waiting.iter().map(|waiting| &waiting.question.id);
        let closed = ids.filter(|id| open.iter().all(|open| open.id != **id));
        closed.cloned().collect()
    }

    /// Removes a question that was answered or withdrawn, and closes its dialog.
    fn close(&mut self, id: &str, overlays: &mut Overlays, outbox: &mut Outbox) {
        let _ = self.remove(id);
        if self.open.as_deref() == Some(id) {
            self.close_dialog(overlays);
            outbox.push(Toast::info("the question was withdrawn"));
        }
    }

    /// Opens the dialog of the oldest question; false when none is pending.
    pub(crate) fn enter(&mut self, overlays: &mut Overlays) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        if self.open.is_none() {
            self.open_dialog(0, None, overlays);
        }
        true
    }

    /// Opens the dialog of the first new question, if it may. Letters that came too late for the previous question are
    /// no draft.
    fn open_new(&mut self, editor: Option<&mut Editor>, overlays: &mut Overlays) {
        let new = self.waiting.iter().position(|waiting| waiting.is_new);
        let (Some(editor), None, Some(place)) = (editor, &self.open, new) else {
            return;
        };
        if self.answered && is_letters(&editor.text()) {
            editor.clear();
        }
        if editor.is_empty() {
            let guard = if self.answered {
                Guard::Answered {
                    ready: FOLLOWS,
                    text: UNASKED,
                }
            } else {
                Guard::Editor(UNASKED)
            };
            self.open_dialog(place, Some(guard), overlays);
        }
    }

    /// Opens the dialog of the question at `place`.
    fn open_dialog(&mut self, place: usize, guard: Option<Guard>, overlays: &mut Overlays) {
        if let Some(waiting) = self.waiting.get_mut(place) {
            waiting.is_new = false;
            self.open = Some(waiting.question.id.clone());
            let dialog = Dialog::new(waiting.question.clone(), &waiting.draft);
            overlays.push_modal(dialog::ID, dialog.guarded(guard));
        }
    }

    /// Closes the dialog; the question stays pending with its draft, behind the other questions.
    pub(crate) fn leave(&mut self, id: &str, draft: Vec<String>, overlays: &mut Overlays) {
        self.close_dialog(overlays);
        if let Some(mut waiting) = self.remove(id) {
            waiting.draft = draft;
            self.waiting.push(waiting);
        }
    }

    /// Closes the dialog and sends the answer, unless the question was withdrawn before. The next question follows.
    pub(crate) fn answer(
        &mut self,
        id: String,
        answer: Answer,
        editor: &Editor,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        self.close_dialog(overlays);
        if self.remove(&id).is_some() {
            if let Some(text) = granted(&answer) {
                outbox.push(Toast::info(text));
            }
            outbox.push(Op::AnswerQuestion { id, answer });
            self.answered = editor.is_empty();
            self.open_dialog(0, Some(Guard::Ignore(FOLLOWS)), overlays);
        }
    }

    /// The id of the question whose dialog is open.
    pub(crate) fn open(&self) -> Option<&str> {
        self.open.as_deref()
    }

    /// Gives the open dialog its place above the footer: returns the rows that it takes. `None` if something else is in
    /// front.
    pub(crate) fn lay_out(
        &self,
        screen: Rect,
        transcript: &mut Transcript,
        status: Option<String>,
        overlays: &mut Overlays,
    ) -> Option<u16> {
        let dialog = Self::in_front(overlays)?;
        dialog.set_setting(Setting {
            has_call: transcript.shows_open_question(),
            cut: (0, 0),
            status: status.unwrap_or_default(),
            waiting: self.waiting.len(),
        });
        Some(dialog.height(screen))
    }

    /// The conversation was drawn: the dialog names the rows of the call that are not on the screen.
    pub(crate) fn on_drawn(transcript: &mut Transcript, overlays: &mut Overlays) {
        if let Some(dialog) = Self::in_front(overlays) {
            dialog.set_cut(transcript.cut_proposal());
        }
    }

    /// Passes the mouse to the open dialog; returns whether something visible changed, and `None`
    /// if the cell is not part of the dialog.
    pub(crate) fn on_mouse(
        mouse: MouseInput,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
        now: Instant,
    ) -> Option<bool> {
        let dialog = Self::in_front(overlays)?;
        let is_over = dialog.covers(mouse.column, mouse.row);
        is_over.then(|| dialog.on_mouse(mouse, &mut outbox.cx(now)))
    }

    /// Whether the dialog of a question is in front.
    pub(crate) fn is_in_front(overlays: &Overlays) -> bool {
        overlays.top() == Some(dialog::ID)
    }

    fn in_front(overlays: &mut Overlays) -> Option<&mut Dialog> {
        if !Self::is_in_front(overlays) {
            return None;
        }
        overlays.find::<Dialog>(dialog::ID)
    }

    /// Shows the plan or the call that the user edited elsewhere.
    pub(crate) fn edited(
        &mut self,
        id: &str,
        text: &str,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        let waiting = self.waiting.iter_mut();
        let Some(waiting) = waiting
            .into_iter()
            .find(|waiting| waiting.question.id == id)
        else {
            return;
        };
        if !matches!(waiting.question.kind, QuestionKind::Plan { .. }) {
            let dialog = overlays.find::<Dialog>(dialog::ID);
            if let Some(dialog) = dialog.filter(|dialog| dialog.id() == id) {
                dialog.set_text(text);
            }
            return;
        }
        let plan = text.trim().to_owned();
        if plan.is_empty() {
            outbox.push(Toast::error("the plan is empty, so it stays as it was"));
            return;
        }
        waiting.draft = vec![plan];
        let dialog = Dialog::new(waiting.question.clone(), &waiting.draft);
        self.close_dialog(overlays);
        self.open = Some(id.to_owned());
        overlays.push_modal(dialog::ID, dialog);
    }

    fn close_dialog(&mut self, overlays: &mut Overlays) {
        self.open = None;
        overlays.remove(dialog::ID);
    }

    fn remove(&mut self, id: &str) -> Option<Waiting> {
        let place = self
            .waiting
            .iter()
            .position(|waiting| waiting.question.id == id)?;
        Some(self.waiting.remove(place))
    }
}

/// The rule that an answer adds, and where.
fn granted(answer: &Answer) -> Option<String> {
    let Answer::Allow { grant, .. } = answer else {
        return None;
    };
    match grant {
        Grant::Session { pattern } => Some(format!("allowed in this session: {pattern}")),
        Grant::Project { pattern } => Some(format!(
            "always allowed in this project: {pattern}; /permissions removes it"
        )),
        Grant::Edits => Some("all edits in this directory are allowed in this session".to_owned()),
        Grant::Once => None,
    }
}

/// Explains why a key had no effect, if one of its `commands` answers questions. `is_used` is whether another command
/// of the key had an effect.
pub(crate) fn explain_unused(is_used: bool, commands: &[Command], outbox: &mut Outbox) {
    if !is_used && commands.contains(&Command::Answer) {
        outbox.push(Toast::info("no question waits for an answer"));
    }
}

/// The last sentence of a title, which is the question itself.
fn asked(title: &str) -> &str {
    title.rsplit(". ").next().unwrap_or(title)
}

/// A question on a line of at most `columns`: its origin, except for a permission question, its title and its subject.
/// Characters that do not fit are counted.
fn describe(question: &Question, columns: usize) -> String {
    let has_origin = !matches!(
        question.kind,
        QuestionKind::Permission { .. } | QuestionKind::Plan { .. }
    );
    let origin = if let Some(subagent) = &question.subagent {
        format!("{subagent}: ")
    } else if has_origin {
        format!("{}: ", text::unticked(&one_line(&question.origin, columns)))
    } else {
        String::new()
    };
    let mut title = question.title.as_str();
    if text::width(title) + text::width(&origin) > columns {
        title = asked(title);
    }
    let line = text::unticked(&one_line(title, columns));
    let line = format!("{origin}{line}");
    let about = match &question.subject {
        None => String::new(),
        Some(Subject::Command { command, .. }) => format!(" $ {command}"),
        Some(Subject::Diff { path, diff }) => {
            let (added, removed) = diff::counts(diff);
            format!(" {path} +{added} -{removed}")
        }
        // The text only explains the question, so it can be left out.
        Some(Subject::Text { text }) => {
            let about = format!(" {text}");
            let fits = text::width(&line) + text::width(&about) <= columns;
            if fits { about } else { String::new() }
        }
        Some(Subject::Markdown { text }) => format!(" {}", first_line(text)),
    };
    one_line(&format!("{line}{about}"), columns)
}
