//! The dialog of a question: its subject and the possible answers. A key opens the dialog, which ignores keys until it
//! is on the screen, so that keys typed in advance cannot answer the question.

mod choose;
mod fields;
mod fit;
mod guard;
mod step;
mod subject;
mod write;

use std::path::Path;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, Effect};
use crate::dialogs::accounts::login::address;
use crate::drawing::{frame, frame::boxed, layout::docked};
use osier_base::path;
use osier_base::text;
use osier_base::visible::one_line;
use osier_protocol::questions::{Answer, Question, QuestionKind, Subject};
use osier_term::widgets::diff::Syntax;
use osier_term::{
    Component, Cx, Face, Handled, Highlighted, Highlighter, KeyPress, Row, Span, Token, View, Wrap,
};

use choose::Choose;
use fields::Fields;
use fit::{first_row, truncate, window};
pub(super) use guard::{Guard, is_letters};
use step::Step;
use subject::plan_rows;
pub(super) use subject::subject_rows;
use write::Write;

pub(super) const ID: &str = "question";

/// Widest the dialog gets.
const WIDTH: u16 = 100;
/// Fewest rows of a long subject: with one of them for the count, the rest can be read by scrolling.
const LEAST_ROWS: usize = 3;
/// Rows a title may take.
const TITLE_ROWS: usize = 3;

/// The dialog.
#[derive(Debug)]
pub(super) struct Dialog {
    question: Question,
    /// The plan as the user edited it.
    edited: Option<String>,
    body: Body,
    /// The dialog is on the screen; before that, keys are ignored.
    shown: bool,
    guard: Option<Guard>,
    /// When the guard ends: it begins on the screen.
    ready: Option<Instant>,
    /// Until then, typed text other than an answer goes to the editor.
    text_until: Option<Instant>,
    /// Text that was written before `esc` returned to the choices.
    left: Option<Box<Write>>,
    /// Rows of the subject at the width they were laid out for.
    subject: Option<(usize, Vec<Row>)>,
    /// The colours of its diff.
    syntax: Syntax,
    /// First row of the subject that is shown, and how many are.
    top: usize,
    page: usize,
    cursor: Option<Position>,
}

/// The input for the answer.
#[derive(Debug)]
enum Body {
    Choose(Choose),
    Write(Box<Write>),
    Fields(Fields),
}

impl Dialog {
    /// The dialog for `question`; `draft` is what was written into it before.
    pub(super) fn new(question: Question, draft: &[String]) -> Self {
        let body = match &question.kind {
            QuestionKind::Input { .. } => Body::Write(Box::new(Write::text(&question.kind, draft))),
            QuestionKind::Form { schema } => Body::Fields(Fields::new(schema, draft)),
            _ => Body::Choose(Choose::new(&question)),
        };
        let edited = match (&question.kind, &question.subject) {
            (QuestionKind::Plan { .. }, Some(Subject::Markdown { text })) => {
                draft.first().filter(|draft| *draft != text).cloned()
            }
            _ => None,
        };
        let left = match &question.kind {
            QuestionKind::Permission { .. } => draft.first(),
            _ => None,
        };
        let left = left.map(|text| Box::new(Write::reason(text)));
        Self {
            question,
            edited,
            body,
            shown: false,
            guard: None,
            ready: None,
            text_until: None,
            left,
            subject: None,
            syntax: Syntax::default(),
            top: 0,
            page: 1,
            cursor: None,
        }
    }

    /// The dialog opens by itself.
    #[must_use]
    pub(super) fn guarded(mut self, guard: Option<Guard>) -> Self {
        self.guard = guard;
        self
    }

    /// Whether keys can answer it.
    fn is_ready(&self, now: Instant) -> bool {
        self.shown && (self.guard.is_none() || self.ready.is_some_and(|ready| now >= ready))
    }

    /// Whether typed text is for it.
    fn takes(&self, text: &str, now: Instant) -> bool {
        let is_for_editor = self.text_until.is_some_and(|until| now < until);
        self.is_ready(now) && (!is_for_editor || is_letters(text))
    }

    /// Text that comes too early to be an answer.
    fn take_early(&mut self, text: &str, cx: &mut Cx<'_, Action>) {
        self.wait(cx.now);
        let is_text = match self.guard {
            Some(Guard::Editor(_)) => true,
            Some(Guard::Answered { .. }) => !is_letters(text),
            Some(Guard::Ignore(_)) | None => false,
        };
        if is_text {
            self.leave(cx);
            let text = text.to_owned();
            cx.push(Action::SetEditor { text });
        }
    }

    /// A key came too early: the dialog takes keys after a pause, so that a key that is pressed again and again answers nothing.
    fn wait(&mut self, now: Instant) {
        if let (Some(_), Some(guard)) = (self.ready, self.guard) {
            self.ready = Some(now + guard.time());
        }
    }

    fn leave(&self, cx: &mut Cx<'_, Action>) {
        let is_permission = matches!(self.question.kind, QuestionKind::Permission { .. });
        let left = self.left.as_ref().filter(|_| is_permission);
        let reason = || left.and_then(|write| write.reason_draft());
        let draft = match &self.body {
            Body::Choose(_) => self.edited.iter().cloned().chain(reason()).collect(),
            Body::Write(write) => write.draft(),
            Body::Fields(fields) => fields.draft(),
        };
        cx.push(Action::LeaveQuestion {
            id: self.question.id.clone(),
            draft,
        });
    }

    fn take(&mut self, step: Step, cx: &mut Cx<'_, Action>) {
        match step {
            Step::Stay | Step::Unused => {}
            Step::Write(purpose) => {
                let Some(mut write) = Write::detour(purpose, &self.question) else {
                    return;
                };
                if let Some(left) = self.left.take()
                    && left.is_for_same(&write)
                {
                    write = *left;
                }
                self.body = Body::Write(Box::new(write));
            }
            Step::Act(action) => cx.push(action),
            Step::EditPlan => {
                if let Some(text) = self.plan() {
                    let (id, text) = (self.question.id.clone(), text.to_owned());
                    cx.push(Effect::EditPlan { id, text });
                }
            }
            Step::Answer(Answer::Approve { mode, .. }) => cx.push(Action::Answer {
                id: self.question.id.clone(),
                answer: Answer::Approve {
                    mode,
                    plan: self.edited.clone(),
                },
            }),
            Step::Answer(answer) => cx.push(Action::Answer {
                id: self.question.id.clone(),
                answer,
            }),
        }
    }

    /// The plan that the question is about.
    fn plan(&self) -> Option<&str> {
        let shown = match &self.question.subject {
            Some(Subject::Markdown { text }) => Some(text.as_str()),
            _ => None,
        };
        self.edited.as_deref().or(shown)
    }

    /// One step back: from writing a reason to the choices, from those to the editor.
    fn back(&mut self, cx: &mut Cx<'_, Action>) {
        match &self.body {
            Body::Write(write) if write.is_detour() => {
                let choose = Body::Choose(Choose::new(&self.question));
                if let Body::Write(write) = std::mem::replace(&mut self.body, choose) {
                    self.left = Some(write);
                }
            }
            _ => self.leave(cx),
        }
    }

    fn scroll(&mut self, rows: isize) {
        let count = self.subject.as_ref().map_or(0, |(_, rows)| rows.len());
        let last = count.saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    fn title_rows(&self, inner: usize) -> Vec<Row> {
        let face = Face::bold(Token::Title);
        let mut rows = Vec::new();
        let title = one_line(&self.question.title, usize::MAX);
        Wrap::new(inner).text(&title, face, &mut rows);
        truncate(rows, TITLE_ROWS)
    }

    /// Lays the subject out once for a width.
    fn lay_out_subject(&mut self, inner: usize) -> usize {
        if self
            .subject
            .as_ref()
            .is_none_or(|(width, _)| *width != inner)
        {
            let mut rows = match &self.edited {
                Some(plan) => plan_rows(plan, inner),
                None => subject_rows(&self.question, inner, &self.syntax),
            };
            if let QuestionKind::Plan {
                path: Some(path), ..
            } = &self.question.kind
            {
                let state = if self.edited.is_some() {
                    "edited, not saved yet in"
                } else {
                    "saved in"
                };
                let path = one_line(&path::below_home(Path::new(path)), usize::MAX);
                rows.push(Row::default());
                Wrap::new(inner).text(&format!("{state} {path}"), Token::Muted, &mut rows);
            }
            if let QuestionKind::Visit { url } = &self.question.kind {
                rows.extend(address(&one_line(url, usize::MAX), inner.saturating_sub(2)));
            }
            self.subject = Some((inner, rows));
        }
        self.subject.as_ref().map_or(0, |(_, rows)| rows.len())
    }

    fn hints(&self, view: &View<'_, Command>) -> Vec<String> {
        let key = |command: Command| {
            let keys = view.keymap.keys_for("question", command);
            keys.into_iter().next()
        };
        let mut parts = vec![
            match &self.body {
                Body::Choose(_) => "enter select",
                Body::Write(write) => write.hint(),
                Body::Fields(fields) => fields.hint(),
            }
            .to_owned(),
        ];
        parts.retain(|part| !part.is_empty());
        let dismiss = match &self.question.kind {
            QuestionKind::Permission { .. } => "deny",
            _ => "skip",
        };
        let is_detour = matches!(&self.body, Body::Write(write) if write.is_detour());
        let named = [
            (
                Command::Cancel,
                if is_detour { "back" } else { "answer later" },
            ),
            (Command::Dismiss, dismiss),
        ];
        let named = named
            .into_iter()
            .filter_map(|(command, word)| Some(format!("{} {word}", key(command)?)));
        parts.extend(named);
        if self
            .subject
            .as_ref()
            .is_some_and(|(_, rows)| rows.len() > self.page)
        {
            parts.push("pgup/pgdn scroll".to_owned());
        }
        if let Body::Choose(choose) = &self.body {
            parts.extend(choose.pattern_hint());
        }
        parts
    }
}

impl Component<Command, Action> for Dialog {
    fn hide(&mut self) {
        self.shown = false;
        self.ready = None;
    }

    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.shown = true;
        if let (None, Some(guard)) = (self.ready, self.guard) {
            self.ready = Some(view.now + guard.time());
            if let Guard::Answered { text, .. } = guard {
                self.text_until = Some(view.now + text);
            }
        }
        let width = docked(area, WIDTH, 1).width;
        // An empty column on each side.
        let inner = usize::from(width.saturating_sub(4)).max(1);
        let title = self.title_rows(inner);
        let subject = self.lay_out_subject(inner);
        let most = usize::from(docked(area, WIDTH, u16::MAX).height);
        let mut body = match &mut self.body {
            Body::Choose(choose) => choose.rows(inner),
            Body::Write(write) => write.rows(inner, most / 3),
            Body::Fields(fields) => fields.rows(inner),
        };
        // Borders and title are always shown; then the body, at least its part with the focus; then the subject; then
        // an empty row between them.
        let room = most.saturating_sub(2 + title.len());
        let least = (room / 4).max(LEAST_ROWS.min(room.saturating_sub(1)));
        let wanted_subject = subject.min(room.saturating_sub(body.rows.len()).max(least));
        let (first, shown) = window(&body, room - wanted_subject);
        self.page = wanted_subject.max(1);
        self.scroll(0);
        let air = usize::from(wanted_subject > 0 && room > wanted_subject + shown);
        let mut rows = vec![self.top_row(usize::from(width))];
        rows.extend(title);
        if let Some((_, laid_out)) = &self.subject {
            let below: Vec<Row> = laid_out.iter().skip(self.top).cloned().collect();
            rows.extend(match wanted_subject {
                0 => Vec::new(),
                1 => first_row(below, inner),
                shown => truncate(below, shown),
            });
        }
        rows.extend(std::iter::repeat_n(Row::default(), air));
        let body_at = rows.len();
        rows.extend(body.rows.drain(first..first + shown));
        let height = u16::try_from(rows.len() + 1).unwrap_or(u16::MAX);
        let area = docked(area, WIDTH, height);
        let mut framed: Vec<Row> = vec![rows.remove(0)];
        framed.extend(rows.into_iter().map(|row| padded(row, inner)));
        framed.push(frame::bottom(&self.hints(view), Token::Muted, inner + 4));
        view.paint(&framed, area, buffer);
        self.cursor = body.cursor.and_then(|(column, row)| {
            let row = row.checked_sub(first).filter(|row| *row < shown)?;
            Some(Position {
                x: area.x + 2 + u16::try_from(column).unwrap_or(0),
                y: area.y + u16::try_from(body_at + row).unwrap_or(0),
            })
        });
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        let Some(character) = key.typed() else {
            return Handled::Yes;
        };
        if self.takes(character.encode_utf8(&mut [0; 4]), cx.now) {
            let step = match &mut self.body {
                Body::Choose(choose) => choose.on_typed(character),
                Body::Write(write) => write.insert(character.encode_utf8(&mut [0; 4])),
                Body::Fields(fields) => fields.on_typed(character),
            };
            self.take(step, cx);
        } else {
            self.take_early(character.encode_utf8(&mut [0; 4]), cx);
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, Action>) -> Handled {
        if self.takes(text, cx.now) {
            match &mut self.body {
                Body::Choose(_) => {}
                Body::Write(write) => drop(write.insert(text)),
                Body::Fields(fields) => fields.paste(text),
            }
        } else {
            self.take_early(text, cx);
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                self.back(cx);
                return Handled::Yes;
            }
            // The user opens it.
            Command::Answer => (self.guard, self.text_until) = (None, None),
            _ if guard::passes(command) => cx.push(command),
            _ if !self.is_ready(cx.now) => self.wait(cx.now),
            Command::Dismiss => self.take(Step::Answer(Answer::Dismissed), cx),
            // The last row of a page counts those below.
            Command::PageUp => self.scroll(1 - self.page.max(2).cast_signed()),
            Command::PageDown => self.scroll(self.page.max(2).cast_signed() - 1),
            Command::LineUp => self.scroll(-1),
            Command::LineDown => self.scroll(1),
            command => {
                let step = match &mut self.body {
                    Body::Choose(choose) => choose.on_command(command),
                    Body::Write(write) => write.on_command(command, &self.question),
                    Body::Fields(fields) => fields.on_command(command),
                };
                if matches!(step, Step::Unused) {
                    // While text is edited, a key must not have its other meanings.
                    return Handled::No;
                }
                self.take(step, cx);
            }
        }
        Handled::Yes
    }

    fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        if let Some(Subject::Diff { path, diff }) = &self.question.subject {
            self.syntax.request(diff, path, highlighter);
        }
    }

    fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        let is_own = self.syntax.apply(highlighted);
        if is_own {
            self.subject = None;
        }
        is_own
    }

    fn context(&self) -> &'static str {
        "question"
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }
}

impl Dialog {
    fn top_row(&self, width: usize) -> Row {
        let about = match &self.question.kind {
            QuestionKind::Permission { tool, .. } => format!("Permission: {tool}"),
            QuestionKind::Plan { .. } => "Plan".to_owned(),
            _ => format!("Question from {}", text::unticked(&self.question.origin)),
        };
        let room = width.saturating_sub(8);
        let title = format!(" {} ", one_line(&about, room));
        let mut row = Row::plain("╭─", Token::Border);
        let line = width.saturating_sub(text::width(&title) + 3);
        row.push(title, Token::Warning);
        row.push(format!("{}╮", "─".repeat(line)), Token::Border);
        row
    }
}

/// A row between two borders, with an empty column on each side.
fn padded(mut row: Row, inner: usize) -> Row {
    row.spans.insert(0, Span::new(" ", Token::Text));
    boxed(row, inner + 2)
}
