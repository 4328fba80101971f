//! A list of answers, each with a key: permissions, yes and no, one of several, an address to visit.

use super::fit::{cut, cut_middle};
use super::step::{Painted, Purpose, Step};
use crate::actions::{Command, Effect};
use osier_base::text;
use osier_base::visible::one_line;
use osier_protocol::PermissionMode;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind};
use osier_term::{Face, Row, Span, Token};

/// The list.
#[derive(Debug)]
pub(super) struct Choose {
    lines: Vec<Line>,
    selected: usize,
    /// The patterns that can be allowed, and the one that is shown.
    patterns: Vec<String>,
    pattern: usize,
}

#[derive(Debug)]
struct Line {
    key: Option<char>,
    label: String,
    description: String,
    action: ChoiceAction,
}

/// The effect of choosing a line.
#[derive(Debug, Clone)]
enum ChoiceAction {
    Answer(Answer),
    /// Allow calls that match the pattern, for this session or always in this project.
    Session,
    Project,
    Write(Purpose),
    EditPlan,
    Copy(String),
    Open(String),
}

fn line(key: char, label: impl Into<String>, action: ChoiceAction) -> Line {
    Line {
        key: Some(key),
        label: label.into(),
        description: String::new(),
        action,
    }
}

impl Choose {
    pub(super) fn new(question: &Question) -> Self {
        let mut patterns = Vec::new();
        let refuse = || ChoiceAction::Answer(Answer::Refuse { reason: None });
        let yes = || ChoiceAction::Answer(Answer::Yes);
        let lines = match &question.kind {
            QuestionKind::Permission {
                patterns: offered, ..
            } => {
                patterns.clone_from(offered);
                permission(!patterns.is_empty())
            }
            QuestionKind::Select { choices, other } => {
                let other =
                    other.then(|| line('o', "Other answer", ChoiceAction::Write(Purpose::Other)));
                let choices = choices.iter().enumerate();
                choices
                    .map(|(place, choice)| Line {
                        key: char::from_digit(place as u32 + 1, 10),
                        label: one_line(&choice.label, usize::MAX),
                        description: one_line(&choice.description, usize::MAX),
                        action: ChoiceAction::Answer(Answer::Text {
                            text: choice.value.clone(),
                        }),
                    })
                    .chain(other)
                    .collect()
            }
            QuestionKind::Plan { modes, before, .. } => plan(modes, *before),
            QuestionKind::Visit { url } => vec![
                line('o', "Open in browser", ChoiceAction::Open(url.clone())),
                line('c', "Copy address", ChoiceAction::Copy(url.clone())),
                line('y', "Done, continue", yes()),
                line('n', "Decline", refuse()),
            ],
            _ => vec![line('y', "Yes", yes()), line('n', "No", refuse())],
        };
        Self {
            lines,
            selected: 0,
            patterns,
            pattern: 0,
        }
    }

    /// The key hint of the keys that select another pattern, if there are several.
    pub(super) fn pattern_hint(&self) -> Option<String> {
        let count = self.patterns.len();
        (count > 1).then(|| format!("←→ pattern {}/{count}", self.pattern + 1))
    }

    pub(super) fn rows(&self, inner: usize) -> Painted {
        let rows = self.lines.iter().enumerate();
        Painted {
            rows: rows
                .map(|(place, line)| self.row(line, place == self.selected, inner))
                .collect(),
            focus: self.selected,
            cursor: None,
        }
    }

    fn row(&self, line: &Line, selected: bool, inner: usize) -> Row {
        let ground = selected.then_some(Token::Selected);
        let face = |token: Token| Face {
            token,
            background: ground,
            ..Face::default()
        };
        let mut row = Row::new(vec![Span::new(
            if selected { "❯ " } else { "  " },
            face(Token::Accent),
        )]);
        let key = line
            .key
            .map_or_else(|| "  ".to_owned(), |key| format!("{key} "));
        row.push(key, face(Token::Accent));
        row.spans
            .extend(self.label(line, face(Token::Text), inner - text::width(&row.text())));
        if !line.description.is_empty() {
            row.push(format!("  {}", line.description), face(Token::Muted));
        }
        cut(&mut row, inner);
        row.fill = ground.map(|_| face(Token::Text));
        row
    }

    /// The label of a line, in `room` columns if possible.
    fn label(&self, line: &Line, face: Face, room: usize) -> Vec<Span> {
        // First where two rows differ, so that the difference is not cut.
        let scope = match line.action {
            ChoiceAction::Session => "Allow for this session: ",
            ChoiceAction::Project => "Allow in this project: ",
            _ => return vec![Span::new(line.label.as_str(), face)],
        };
        let pattern = self.patterns.get(self.pattern).map(String::as_str);
        let code = Face {
            token: Token::Code,
            ..face
        };
        let room = room.saturating_sub(text::width(scope));
        let pattern = cut_middle(pattern.unwrap_or_default(), room.max(MIN_PATTERN));
        vec![Span::new(scope, face), Span::new(pattern, code)]
    }

    pub(super) fn on_typed(&mut self, character: char) -> Step {
        let place = self
            .lines
            .iter()
            .position(|line| line.key == Some(character.to_ascii_lowercase()));
        match place {
            Some(place) => {
                self.selected = place;
                self.take()
            }
            None => Step::Stay,
        }
    }

    pub(super) fn on_command(&mut self, command: Command) -> Step {
        let last = self.lines.len().saturating_sub(1);
        match command {
            Command::Up => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            Command::Down => {
                self.selected = if self.selected == last {
                    0
                } else {
                    self.selected + 1
                }
            }
            Command::First => self.selected = 0,
            Command::Last => self.selected = last,
            Command::Left => self.pattern = self.pattern.saturating_sub(1),
            Command::Right => {
                self.pattern = (self.pattern + 1).min(self.patterns.len().saturating_sub(1));
            }
            Command::Accept => return self.take(),
            _ => return Step::Unused,
        }
        Step::Stay
    }

    fn take(&self) -> Step {
        let Some(line) = self.lines.get(self.selected) else {
            return Step::Stay;
        };
        let pattern = || self.patterns.get(self.pattern).cloned().unwrap_or_default();
        let allow = |grant: Grant| {
            Step::Answer(Answer::Allow {
                grant,
                arguments: None,
            })
        };
        match &line.action {
            ChoiceAction::Answer(answer) => Step::Answer(answer.clone()),
            ChoiceAction::EditPlan => Step::EditPlan,
            ChoiceAction::Session => allow(Grant::Session { pattern: pattern() }),
            ChoiceAction::Project => allow(Grant::Project { pattern: pattern() }),
            ChoiceAction::Write(purpose) => Step::Write(*purpose),
            ChoiceAction::Copy(url) => Step::Act(Effect::Copy(url.clone()).into()),
            ChoiceAction::Open(url) => Step::Act(Effect::Open(url.clone()).into()),
        }
    }
}

/// An approval for each mode, and the other answers.
fn plan(modes: &[PermissionMode], before: Option<PermissionMode>) -> Vec<Line> {
    let approvals = modes.iter().enumerate().map(|(place, mode)| Line {
        key: char::from_digit(place as u32 + 1, 10),
        label: format!("Approve, continue in mode {}", mode.name()),
        description: if before == Some(*mode) {
            format!("{}, as before", mode.meaning())
        } else {
            mode.meaning().to_owned()
        },
        action: ChoiceAction::Answer(Answer::Approve {
            mode: Some(*mode),
            plan: None,
        }),
    });
    let others = [
        line(
            'e',
            "Edit the plan in $VISUAL or $EDITOR",
            ChoiceAction::EditPlan,
        ),
        line(
            'n',
            "Keep planning, and tell the model why",
            ChoiceAction::Write(Purpose::Reason),
        ),
    ];
    approvals.chain(others).collect()
}

/// Columns of a pattern at least.
const MIN_PATTERN: usize = 20;

fn permission(has_patterns: bool) -> Vec<Line> {
    let once = Answer::Allow {
        grant: Grant::Once,
        arguments: None,
    };
    let mut lines = vec![line('y', "Allow once", ChoiceAction::Answer(once))];
    if has_patterns {
        lines.push(line('s', "", ChoiceAction::Session));
        lines.push(line('p', "", ChoiceAction::Project));
    }
    lines.push(line(
        'e',
        "Edit, then run",
        ChoiceAction::Write(Purpose::Call),
    ));
    lines.push(line(
        'n',
        "No, and tell the model why",
        ChoiceAction::Write(Purpose::Reason),
    ));
    lines
}
