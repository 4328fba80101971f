//! The dialog of a question, in the place of the editor: its subject, unless the conversation shows it, and the possible
//! answers. A key opens the dialog, which ignores keys until it is on the screen, so that keys typed in advance cannot
//! answer the question.

mod choose;
mod drawing;
mod fields;
mod guard;
mod step;
mod write;

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::actions::{Action, Command, Effect};
use osier_protocol::questions::{Answer, Question, QuestionKind, Subject};
use osier_term::input::{MouseButton, MouseEventKind, MouseInput};
use osier_term::widgets::diff::Syntax;
use osier_term::{Component, Cx, Handled, Highlighted, Highlighter, KeyPress, Row, View};

use choose::Choose;
use fields::Fields;
pub(super) use guard::{Guard, is_letters};
use step::Step;
use write::Write;

pub(super) const ID: &str = "question";

/// Rows that a turn of the wheel scrolls.
const WHEEL_ROWS: isize = 3;

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
    /// When the guard ends. It begins when the dialog is on the screen.
    ready: Option<Instant>,
    /// Until this time, typed text other than an answer goes to the editor.
    text_until: Option<Instant>,
    /// Text that was written before `esc` returned to the choices.
    left: Option<Box<Write>>,
    /// Rows of the subject at the width they were laid out for.
    subject: Option<(usize, Vec<Row>)>,
    /// The colours of the subject's diff.
    syntax: Syntax,
    /// The first visible row of the subject, and the number of visible rows.
    top: usize,
    page: usize,
    setting: Setting,
    /// The cells of the dialog in the last frame, and the cells of the choices.
    area: Rect,
    hits: Vec<(Rect, usize)>,
    cursor: Option<Position>,
}

/// The conversation around the dialog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Setting {
    /// The call in the conversation shows the subject.
    pub(super) has_call: bool,
    /// Rows of that call that are above and below the part on the screen.
    pub(super) cut: (usize, usize),
    /// The state of the conversation, as the status line shows it.
    pub(super) status: String,
    /// How many questions wait.
    pub(super) waiting: usize,
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
            setting: Setting::default(),
            area: Rect::default(),
            hits: Vec::new(),
            cursor: None,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.question.id
    }

    /// The dialog opens by itself.
    #[must_use]
    pub(super) fn guarded(mut self, guard: Option<Guard>) -> Self {
        self.guard = guard;
        self
    }

    /// Whether keys can answer the question.
    fn is_ready(&self, now: Instant) -> bool {
        self.shown && (self.guard.is_none() || self.ready.is_some_and(|ready| now >= ready))
    }

    /// Whether typed text is for the dialog, not for the editor.
    fn takes(&self, text: &str, now: Instant) -> bool {
        let is_for_editor = self.text_until.is_some_and(|until| now < until);
        self.is_ready(now) && (!is_for_editor || is_letters(text))
    }

    /// Text that comes too early to be an answer.
    fn hold_early(&mut self, text: &str, cx: &mut Cx<'_, Action>) {
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

    fn carry_out(&mut self, step: Step, cx: &mut Cx<'_, Action>) {
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
                    cx.push(Effect::EditAnswer { id, text });
                }
            }
            Step::EditText(text) => {
                let id = self.question.id.clone();
                cx.push(Effect::EditAnswer { id, text });
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

    /// The text that the user wrote in an external editor.
    pub(super) fn set_text(&mut self, text: &str) {
        if let Body::Write(write) = &mut self.body {
            write.set_text(text);
        }
    }

    /// Whether the dialog shows its subject only in part.
    fn is_cut(&self) -> bool {
        let rows = self.subject.as_ref().map_or(0, |(_, rows)| rows.len());
        !self.setting.has_call && rows > self.page
    }

    fn scroll(&mut self, rows: isize) {
        let count = self.subject.as_ref().map_or(0, |(_, rows)| rows.len());
        let last = count.saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// Scrolls for a key or the wheel: the subject if it is cut, else the conversation.
    fn scroll_by(&mut self, command: Command, cx: &mut Cx<'_, Action>) {
        if !self.is_cut() {
            return cx.push(command);
        }
        // The last row of a page counts those below.
        let page = self.page.max(2).cast_signed() - 1;
        self.scroll(match command {
            Command::PageUp => -page,
            Command::PageDown => page,
            Command::LineUp => -1,
            _ => 1,
        });
    }

    /// Whether a cell of the screen belongs to the dialog.
    pub(super) fn covers(&self, x: u16, y: u16) -> bool {
        self.area.contains(Position { x, y })
    }

    /// The mouse over the dialog: the wheel scrolls the subject, a click selects a choice, and a
    /// second click answers with it. The wheel never selects an answer.
    pub(super) fn on_mouse(&mut self, mouse: MouseInput, cx: &mut Cx<'_, Action>) -> bool {
        let at = Position {
            x: mouse.column,
            y: mouse.row,
        };
        match mouse.kind {
            MouseEventKind::ScrollUp if self.is_cut() => self.scroll(-WHEEL_ROWS),
            MouseEventKind::ScrollDown if self.is_cut() => self.scroll(WHEEL_ROWS),
            MouseEventKind::Down(MouseButton::Left) if self.is_ready(cx.now) => {
                let hit = self.hits.iter().find(|(area, _)| area.contains(at));
                let (Some((_, choice)), Body::Choose(choose)) = (hit, &mut self.body) else {
                    return false;
                };
                let step = choose.click(*choice);
                self.carry_out(step, cx);
            }
            _ => return false,
        }
        true
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
        self.draw(area, buffer, view);
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        let Some(character) = key.typed() else {
            return Handled::Yes;
        };
        if self.takes(character.encode_utf8(&mut [0; 4]), cx.now) {
            if character == '/' && matches!(self.body, Body::Choose(_)) {
                // A slash command: the letters of its name are no answers.
                self.leave(cx);
                let text = character.to_string();
                cx.push(Action::InsertText { text });
                return Handled::Yes;
            }
            let step = match &mut self.body {
                Body::Choose(choose) => choose.on_typed(character),
                Body::Write(write) => write.insert(character.encode_utf8(&mut [0; 4])),
                Body::Fields(fields) => fields.on_typed(character),
            };
            self.carry_out(step, cx);
        } else {
            self.hold_early(character.encode_utf8(&mut [0; 4]), cx);
        }
        Handled::Yes
    }

    fn letters(&self) -> Vec<(String, String)> {
        match &self.body {
            Body::Choose(choose) => choose.letters(),
            Body::Write(_) | Body::Fields(_) => Vec::new(),
        }
    }

    fn on_paste(&mut self, text: &str, cx: &mut Cx<'_, Action>) -> Handled {
        if self.takes(text, cx.now) {
            match &mut self.body {
                Body::Choose(_) => {}
                Body::Write(write) => drop(write.insert(text)),
                Body::Fields(fields) => fields.paste(text),
            }
        } else {
            self.hold_early(text, cx);
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                self.back(cx);
                return Handled::Yes;
            }
            // These views help to decide; the question returns when they close.
            Command::Tree | Command::Changes | Command::ToggleTodo | Command::SidePanel => {
                cx.push(command);
            }
            // The user opens the dialog, so it needs no guard.
            Command::Answer => (self.guard, self.text_until) = (None, None),
            _ if command.passes_questions() => cx.push(command),
            Command::PageUp | Command::PageDown | Command::LineUp | Command::LineDown => {
                self.scroll_by(command, cx);
            }
            _ if !self.is_ready(cx.now) => self.wait(cx.now),
            Command::Dismiss => self.carry_out(Step::Answer(Answer::Dismissed), cx),
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
                self.carry_out(step, cx);
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
