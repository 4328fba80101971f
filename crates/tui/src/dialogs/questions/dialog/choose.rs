//! Answers to choose from, each with a key: permissions, yes and no, one of several, an address to visit. Answers with a
//! short name are next to each other.

use super::step::{Hit, Painted, Purpose, Step};
use crate::actions::{Command, Effect};
use crate::drawing::fit::{cut, cut_middle};
use osier_base::text;
use osier_base::visible::one_line;
use osier_protocol::PermissionMode;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind};
use osier_term::{Face, Row, Span, Token};
use osier_tools::EDIT_RULES;

/// The choices.
#[derive(Debug)]
pub(super) struct Choose {
    lines: Vec<Line>,
    selected: usize,
    /// The choice that was clicked last: a second click answers with it.
    clicked: Option<usize>,
    /// The patterns that can be allowed, and the one that is shown.
    patterns: Vec<String>,
    pattern: usize,
}

#[derive(Debug)]
struct Line {
    key: Option<char>,
    label: String,
    /// The label where the choices are next to each other.
    short: &'static str,
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

fn line(key: char, label: &str, short: &'static str, action: ChoiceAction) -> Line {
    Line {
        key: Some(key),
        label: label.to_owned(),
        short,
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
                patterns: offered,
                tool,
                ..
            } => {
                patterns.clone_from(offered);
                permission(tool, &patterns)
            }
            QuestionKind::Select { choices, other } => {
                let write = ChoiceAction::Write(Purpose::Other);
                let other = other.then(|| line('o', "Other answer", "", write));
                let choices = choices.iter().enumerate();
                choices
                    .map(|(place, choice)| Line {
                        key: char::from_digit(place as u32 + 1, 10),
                        label: one_line(&choice.label, usize::MAX),
                        short: "",
                        description: one_line(&choice.description, usize::MAX),
                        action: ChoiceAction::Answer(Answer::Text {
                            text: choice.value.clone(),
                        }),
                    })
                    .chain(other)
                    .collect()
            }
            QuestionKind::Plan { modes, before, .. } => plan(modes, *before),
            QuestionKind::Visit { url } => {
                let (open, copy) = (
                    ChoiceAction::Open(url.clone()),
                    ChoiceAction::Copy(url.clone()),
                );
                vec![
                    line('o', "Open in browser", "open in browser", open),
                    line('c', "Copy address", "copy address", copy),
                    line('y', "Done, continue", "done, continue", yes()),
                    line('n', "Decline", "decline", refuse()),
                ]
            }
            _ => vec![
                line('y', "Yes", "yes", yes()),
                line('n', "No", "no", refuse()),
            ],
        };
        Self {
            lines,
            selected: 0,
            clicked: None,
            patterns,
            pattern: 0,
        }
    }

    /// Whether the choices are next to each other: all have a short label, and no screen reader reads them.
    fn is_inline(&self, linear: bool) -> bool {
        !linear && self.lines.iter().all(|line| !line.short.is_empty())
    }

    /// The key hint of the keys that select another pattern, if there are several and the rows have no room for it.
    pub(super) fn pattern_hint(&self, inner: usize, linear: bool) -> Option<String> {
        let hint = self.hint()?;
        let is_in_rows = !linear
            && self
                .rule_rows(inner)
                .iter()
                .any(|row| row.text().contains(&hint));
        (!is_in_rows).then_some(hint)
    }

    fn hint(&self) -> Option<String> {
        let count = self.patterns.len();
        (count > 1).then(|| format!("←→ wider, {} of {count}", self.pattern + 1))
    }

    pub(super) fn rows(&self, inner: usize, linear: bool) -> Painted {
        if self.is_inline(linear) {
            return self.inline(inner);
        }
        let rows = self.lines.iter().enumerate();
        let hits = 0..self.lines.len();
        Painted {
            rows: rows
                .map(|(place, line)| self.row(line, place == self.selected, inner))
                .collect(),
            focus: self.selected,
            cursor: None,
            hits: hits
                .map(|choice| Hit {
                    row: choice,
                    columns: 0..inner,
                    choice,
                })
                .collect(),
        }
    }

    /// The choices next to each other, and what they allow below them.
    fn inline(&self, inner: usize) -> Painted {
        let mut painted = Painted::default();
        let mut row = Row::default();
        for (choice, line) in self.lines.iter().enumerate() {
            let key = line.key.map(String::from).unwrap_or_default();
            let width = text::width(&key) + text::width(line.short) + 3;
            if row.width() > 0 && row.width() + 1 + width > inner {
                painted.rows.push(std::mem::take(&mut row));
            }
            let is_selected = choice == self.selected;
            let face = |face: Face| {
                if is_selected {
                    face.on(Token::Selected)
                } else {
                    face
                }
            };
            if row.width() > 0 {
                row.push(" ", Token::Text);
            }
            let start = row.width();
            row.push(if is_selected { "❯ " } else { "  " }, Token::Accent);
            row.push(key, face(Face::bold(Token::Accent)));
            row.push(format!(" {}", line.short), face(Token::Text.into()));
            if is_selected {
                painted.focus = painted.rows.len();
            }
            painted.hits.push(Hit {
                row: painted.rows.len(),
                columns: start..row.width(),
                choice,
            });
        }
        painted.rows.push(row);
        painted.rows.extend(self.rule_rows(inner));
        painted
    }

    /// The rules that the choices would save, with the keys that select another one if they fit.
    fn rule_rows(&self, inner: usize) -> Vec<Row> {
        const GAP: &str = " · ";
        let Some(pattern) = self.patterns.get(self.pattern) else {
            return Vec::new();
        };
        let room = inner.saturating_sub(8).max(MIN_PATTERN);
        let mut parts = vec![("s, p: ", cut_middle(pattern, room))];
        if self.offers_edits() {
            let rules = EDIT_RULES.map(|tool| format!("{tool}(./**)")).join(", ");
            parts.push(("a: ", rules));
        }
        let mut rows: Vec<Row> = Vec::new();
        for (keys, rule) in &parts {
            let width = text::width(GAP) + text::width(keys) + text::width(rule);
            match rows.last_mut() {
                Some(row) if row.width() + width <= inner => row.push(GAP, Token::Muted),
                _ => rows.push(Row::plain("  ", Token::Text)),
            }
            if let Some(row) = rows.last_mut() {
                row.push(*keys, Token::Text);
                row.push(rule.as_str(), Token::Code);
            }
        }
        if let (Some(row), Some(hint)) = (rows.last_mut(), self.hint())
            && row.width() + text::width(GAP) + text::width(&hint) <= inner
        {
            row.push(format!("{GAP}{hint}"), Token::Muted);
        }
        rows
    }

    fn offers_edits(&self) -> bool {
        let is_edits = |line: &Line| {
            matches!(
                line.action,
                ChoiceAction::Answer(Answer::Allow {
                    grant: Grant::Edits,
                    ..
                })
            )
        };
        self.lines.iter().any(is_edits)
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
        let about = match line.description.as_str() {
            "" => String::new(),
            about => format!("  {about}"),
        };
        // The user knows the meaning of a mode from elsewhere, so a part of it is not worth showing.
        let is_optional = matches!(line.action, ChoiceAction::Answer(Answer::Approve { .. }));
        if !is_optional || row.width() + text::width(&about) <= inner {
            row.push(about, face(Token::Text));
        }
        cut(&mut row, inner);
        row.fill = ground.map(|_| face(Token::Text));
        row
    }

    /// The keys of the choices, for the page of keys.
    pub(super) fn letters(&self) -> Vec<(String, String)> {
        let keyed = |line: &Line| {
            let label = match line.action {
                ChoiceAction::Session => "Allow such calls for this session",
                ChoiceAction::Project => "Allow such calls in this project",
                _ => line.label.as_str(),
            };
            Some((line.key?.to_string(), label.to_owned()))
        };
        self.lines.iter().filter_map(keyed).collect()
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
                self.choose()
            }
            None => Step::Stay,
        }
    }

    /// A click selects a choice; a second click answers with it.
    pub(super) fn click(&mut self, choice: usize) -> Step {
        if choice >= self.lines.len() {
            return Step::Stay;
        }
        self.selected = choice;
        if self.clicked.replace(choice) == Some(choice) {
            return self.choose();
        }
        Step::Stay
    }

    pub(super) fn on_command(&mut self, command: Command) -> Step {
        self.clicked = None;
        let last = self.lines.len().saturating_sub(1);
        let has_patterns = !self.patterns.is_empty();
        match command {
            Command::First => self.selected = 0,
            Command::Last => self.selected = last,
            Command::Left if has_patterns => self.pattern = self.pattern.saturating_sub(1),
            Command::Right if has_patterns => {
                self.pattern = (self.pattern + 1).min(self.patterns.len() - 1);
            }
            // An answer is too important to be reached from the other end.
            Command::Up | Command::Left => self.selected = self.selected.saturating_sub(1),
            Command::Down | Command::Right => self.selected = (self.selected + 1).min(last),
            Command::Accept => return self.choose(),
            _ => return Step::Unused,
        }
        Step::Stay
    }

    fn choose(&self) -> Step {
        let Some(line) = self.lines.get(self.selected) else {
            return Step::Stay;
        };
        let pattern = || self.patterns.get(self.pattern).cloned().unwrap_or_default();
        match &line.action {
            ChoiceAction::Answer(answer) => Step::Answer(answer.clone()),
            ChoiceAction::EditPlan => Step::EditPlan,
            ChoiceAction::Session => Step::Answer(allow(Grant::Session { pattern: pattern() })),
            ChoiceAction::Project => Step::Answer(allow(Grant::Project { pattern: pattern() })),
            ChoiceAction::Write(purpose) => Step::Write(*purpose),
            ChoiceAction::Copy(url) => Step::Act(Effect::Copy(url.clone(), "address").into()),
            ChoiceAction::Open(url) => Step::Act(Effect::Open(url.clone()).into()),
        }
    }
}

fn allow(grant: Grant) -> Answer {
    Answer::Allow {
        grant,
        arguments: None,
    }
}

/// An approval for each mode, and the other answers.
fn plan(modes: &[PermissionMode], before: Option<PermissionMode>) -> Vec<Line> {
    let approvals = modes.iter().enumerate().map(|(place, mode)| Line {
        key: char::from_digit(place as u32 + 1, 10),
        label: format!("Approve, continue in mode {}", mode.name()),
        short: "",
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
            "",
            ChoiceAction::EditPlan,
        ),
        line(
            'n',
            "Keep planning, and tell the model why",
            "",
            ChoiceAction::Write(Purpose::Reason),
        ),
    ];
    approvals.chain(others).collect()
}

/// Columns of a pattern at least.
const MIN_PATTERN: usize = 20;

fn permission(tool: &str, patterns: &[String]) -> Vec<Line> {
    let once = ChoiceAction::Answer(allow(Grant::Once));
    let mut lines = vec![line('y', "Allow once", "once", once)];
    if !patterns.is_empty() {
        lines.push(line('s', "", "session", ChoiceAction::Session));
        lines.push(line('p', "", "project", ChoiceAction::Project));
    }
    // Only for a file of the project.
    if EDIT_RULES.contains(&tool) && patterns.contains(&format!("{tool}(./**)")) {
        let edits = ChoiceAction::Answer(allow(Grant::Edits));
        lines.push(line(
            'a',
            "Allow all edits of this session",
            "all edits",
            edits,
        ));
    }
    let (edit, reason) = (Purpose::Call, Purpose::Reason);
    lines.push(line(
        'e',
        "Edit, then run",
        "edit",
        ChoiceAction::Write(edit),
    ));
    let no = "No, and tell the model why";
    lines.push(line('n', no, "no, because…", ChoiceAction::Write(reason)));
    lines
}
