//! Text as an answer: what an input asks for, the reason of a refusal, a call that is edited before it may
//! run. Secret text is never drawn.

use serde_json::{Value, json};

use super::step::{Painted, Purpose, Step};
use crate::actions::{Action, Command, Toast};
use crate::conversation::transcript::{call_text, proposal::command_of};
use crate::drawing::preview_pane::edit;
use crate::input::prompt::editing::edit_area;
use osier_base::text;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind};
use osier_term::widgets::textarea::{Motion, TextArea};
use osier_term::{LineInput, Row, Span, Token};

const MARK: &str = "❯ ";

/// Text that is written.
#[derive(Debug)]
pub(super) struct Write {
    purpose: Purpose,
    field: Field,
    /// The text of the call before it was edited.
    shown: String,
}

#[derive(Debug)]
enum Field {
    Secret(LineInput),
    Line(TextArea),
    Lines(TextArea),
}

fn area(placeholder: &str, text: &str) -> TextArea {
    let mut area = TextArea::new(placeholder);
    area.set_text(text);
    let _ = area.move_by(Motion::BufferEnd);
    area
}

impl Write {
    /// The field of an `Input`.
    pub(super) fn text(kind: &QuestionKind, draft: &[String]) -> Self {
        let field = match kind {
            QuestionKind::Input { secret: true, .. } => Field::Secret(LineInput::default()),
            QuestionKind::Input {
                placeholder,
                prefill,
                multiline,
                ..
            } => {
                let area = area(placeholder, draft.first().unwrap_or(prefill));
                if *multiline {
                    Field::Lines(area)
                } else {
                    Field::Line(area)
                }
            }
            _ => Field::Line(TextArea::new("")),
        };
        Self {
            purpose: Purpose::Text,
            field,
            shown: String::new(),
        }
    }

    /// A text that the choices lead to; `None` when the question has no call to edit.
    pub(super) fn detour(purpose: Purpose, question: &Question) -> Option<Self> {
        Some(match (purpose, &question.kind) {
            (Purpose::Call, QuestionKind::Permission { arguments, .. }) => Self::call(arguments),
            (Purpose::Reason, _) => Self::reason(""),
            (Purpose::Other, _) => Self {
                purpose,
                field: Field::Line(area("Your answer", "")),
                shown: String::new(),
            },
            _ => return None,
        })
    }

    /// The reason of a refusal.
    pub(super) fn reason(text: &str) -> Self {
        Self {
            purpose: Purpose::Reason,
            field: Field::Line(area("Reason (optional, sent to the model)", text)),
            shown: String::new(),
        }
    }

    /// The reason as far as it is written.
    pub(super) fn reason_draft(&self) -> Option<String> {
        let text = self.draft().pop().filter(|text| !text.is_empty());
        text.filter(|_| self.purpose == Purpose::Reason)
    }

    /// Whether the text may have several lines.
    pub(super) fn has_lines(&self) -> bool {
        matches!(self.field, Field::Lines(_))
    }

    /// Whether both texts have the same purpose.
    pub(super) fn is_for_same(&self, other: &Self) -> bool {
        self.purpose == other.purpose
    }

    /// A call that is edited before it is allowed: its command, or its arguments as text.
    fn call(arguments: &Value) -> Self {
        let text = match command_of(arguments) {
            Some(command) => command.to_owned(),
            None => call_text::write(arguments),
        };
        let area = area("", &text);
        Self {
            purpose: Purpose::Call,
            shown: area.text(),
            field: Field::Lines(area),
        }
    }

    /// Replaces the text, which was edited elsewhere.
    pub(super) fn set_text(&mut self, text: &str) {
        if let Field::Line(area) | Field::Lines(area) = &mut self.field {
            area.set_text(text);
            let _ = area.move_by(Motion::BufferEnd);
        }
    }

    /// Whether `esc` returns to the choices.
    pub(super) fn is_detour(&self) -> bool {
        self.purpose != Purpose::Text
    }

    pub(super) fn hint(&self) -> &'static str {
        match (self.purpose, &self.field) {
            (Purpose::Reason, _) => "enter send",
            (Purpose::Call, _) => "enter run · ctrl+j new line",
            (_, Field::Lines(_)) => "enter send · ctrl+j new line",
            _ => "enter send",
        }
    }

    /// The draft that is stored when the dialog is closed: never a secret.
    pub(super) fn draft(&self) -> Vec<String> {
        match &self.field {
            Field::Secret(_) => Vec::new(),
            Field::Line(area) | Field::Lines(area) => vec![area.text()],
        }
    }

    pub(super) fn rows(&mut self, inner: usize, most: usize) -> Painted {
        let room = inner.saturating_sub(text::width(MARK)).max(1);
        let mark = |first: bool| Span::new(if first { MARK } else { "  " }, Token::Accent);
        match &mut self.field {
            Field::Secret(line) => {
                let length = line.text().chars().count().min(room - 1);
                let mut row = Row::new(vec![mark(true)]);
                row.push("•".repeat(length), Token::Text);
                Painted {
                    rows: vec![row],
                    focus: 0,
                    cursor: Some((2 + length, 0)),
                    hits: Vec::new(),
                }
            }
            Field::Line(area) | Field::Lines(area) => {
                let height = area.height(room, most.max(1));
                let view = area.view(room, height);
                let rows = view.rows.into_iter().enumerate().map(|(place, mut row)| {
                    row.spans.insert(0, mark(place == 0));
                    row
                });
                let (column, row) = view.cursor;
                Painted {
                    rows: rows.collect(),
                    focus: usize::from(row),
                    cursor: Some((2 + usize::from(column), usize::from(row))),
                    hits: Vec::new(),
                }
            }
        }
    }

    pub(super) fn insert(&mut self, given: &str) -> Step {
        match &mut self.field {
            Field::Secret(line) => line.insert(given.trim_end()),
            Field::Line(area) => area.insert(&given.replace('\n', " ")),
            Field::Lines(area) => area.insert(given),
        }
        Step::Stay
    }

    pub(super) fn on_command(&mut self, command: Command, question: &Question) -> Step {
        match (command, &mut self.field) {
            (Command::Accept, _) => return self.answer(question),
            (Command::ExternalEditor, Field::Lines(area)) => return Step::EditText(area.text()),
            (Command::Newline, Field::Secret(_) | Field::Line(_)) => {}
            (Command::Up, Field::Lines(area)) => drop(area.move_by(Motion::Up(1))),
            (Command::Down, Field::Lines(area)) => drop(area.move_by(Motion::Down(1))),
            (command, Field::Secret(line)) => drop(edit(line, command)),
            (command, Field::Line(area) | Field::Lines(area)) => drop(edit_area(area, command)),
        }
        Step::Stay
    }

    fn answer(&self, question: &Question) -> Step {
        let text = match &self.field {
            Field::Secret(line) => line.text().to_owned(),
            Field::Line(area) | Field::Lines(area) => area.text(),
        };
        match self.purpose {
            Purpose::Other if text.trim().is_empty() => Step::Stay,
            Purpose::Text | Purpose::Other => Step::Answer(Answer::Text { text }),
            Purpose::Reason => {
                let reason = Some(text.trim().to_owned()).filter(|reason| !reason.is_empty());
                Step::Answer(Answer::Refuse { reason })
            }
            Purpose::Call => match edited(question, &self.shown, &text) {
                Ok(arguments) => Step::Answer(Answer::Allow {
                    grant: Grant::Once,
                    arguments,
                }),
                Err(text) => Step::Act(Action::Toast(Toast::error(text))),
            },
        }
    }
}

/// The arguments with the edited text; `None` if nothing changed.
fn edited(question: &Question, shown: &str, text: &str) -> Result<Option<Value>, String> {
    let QuestionKind::Permission { arguments, .. } = &question.kind else {
        return Ok(None);
    };
    if shown == text {
        return Ok(None);
    }
    let mut changed = arguments.clone();
    if command_of(arguments).is_some() {
        changed["command"] = json!(text);
    } else {
        changed = call_text::read(arguments, shown, text)?;
    }
    Ok((changed != *arguments).then_some(changed))
}
